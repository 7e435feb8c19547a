"""Environments to learn in: loaded games that hide, and games that never were loaded."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord.game.tree import Game
from accord.play.episodes import Episode, LocalExecutor
from accord.play.own_tree import OwnTree
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from tests.reference.game import node_children, terminals


class Hidden:
    """A loaded game that can only be played; chance is drawn inside."""

    def __init__(self, game: Game) -> None:
        leaves = sequence_form(game).leaves
        self.game, self.name, self.players = game, game.name, game.player_labels
        self.payoff_bounds = list(zip(leaves.worst.tolist(), leaves.best.tolist(), strict=True))
        self.node = 0
        self.rng: Any = None
        self.paid = {end.node: end.payoffs for end in terminals(game)}
        self.children = node_children(game)

    def reset(self, rng: np.random.Generator) -> None:
        self.rng, self.node = rng, 0
        self.settle()

    def settle(self) -> None:
        while self.game.player[self.node] == CHANCE:
            law = np.cumsum(self.probabilities())
            self.node = self.children[self.node][int(np.searchsorted(law, self.rng.random()))]

    def turn(self) -> int:
        return int(self.game.player[self.node])

    def infoset(self) -> str:
        return self.game.infoset_labels[self.turn()][int(self.game.infoset[self.node])]

    def actions(self) -> Sequence[str]:
        return self.game.action_labels[self.turn()][int(self.game.infoset[self.node])]

    def probabilities(self) -> Sequence[float]:
        return [float(self.game.chance_prob[child]) for child in self.children[self.node]]

    def step(self, action: int) -> None:
        assert self.turn() != TERMINAL
        self.node = self.children[self.node][action]
        self.settle()

    def payoffs(self) -> Sequence[float]:
        return self.paid[self.node]


class Open(Hidden):
    """A game as an environment with explicit chance, which can be cloned."""

    def settle(self) -> None:
        pass

    def actions(self) -> Sequence[str]:
        if self.turn() == CHANCE:
            return [str(a) for a in range(len(self.children[self.node]))]
        return super().actions()

    def clone(self) -> Open:
        return copy.copy(self)


class NoisyChicken:
    """Chicken, at the same time, with payoffs that are 0 or 7, right only on average."""

    name = "noisy chicken"
    players = ("ann", "bob")
    payoff_bounds = ((0.0, 7.0), (0.0, 7.0))
    means = (((6.0, 6.0), (2.0, 7.0)), ((7.0, 2.0), (0.0, 0.0)))  # of (yield, dare)

    def reset(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.done: list[int] = []

    def turn(self) -> int:
        return len(self.done) if len(self.done) < 2 else TERMINAL

    def infoset(self) -> str:
        return "the road"

    def actions(self) -> Sequence[str]:
        return ("yield", "dare")

    def step(self, action: int) -> None:
        self.done.append(action)

    def payoffs(self) -> Sequence[float]:
        means = self.means[self.done[0]][self.done[1]]
        return [7.0 * (self.rng.random() < mean / 7.0) for mean in means]


class Strange:
    """Two players who see a new number in every play, and move twice each."""

    name, players, payoff_bounds = "strange", ("ann", "bob"), ((0.0, 1.0), (0.0, 1.0))
    digits = 9

    def reset(self, rng: np.random.Generator) -> None:
        self.seen = rng.random(2)
        self.done: list[int] = []

    def turn(self) -> int:
        return len(self.done) % 2 if len(self.done) < 4 else TERMINAL

    def infoset(self) -> str:
        i = self.turn()
        return f"{self.seen[i]:.{self.digits}f} {self.done[i::2]}"

    def actions(self) -> Sequence[str]:
        return ("left", "right")

    def step(self, action: int) -> None:
        self.done.append(action)

    def payoffs(self) -> Sequence[float]:
        return [float(self.done[0] == self.done[1]), float(self.done[2] != self.done[3])]


class Forgetful:
    """One player who moves twice and does not remember what they did."""

    name, players, payoff_bounds = "forgetful", ("me",), ((0.0, 1.0),)

    def reset(self, rng: np.random.Generator) -> None:
        self.done: list[int] = []

    def turn(self) -> int:
        return 0 if len(self.done) < 2 else TERMINAL

    def infoset(self) -> str:
        return f"move {len(self.done)}"

    def actions(self) -> Sequence[str]:
        return ("left", "right")

    def step(self, action: int) -> None:
        self.done.append(action)

    def payoffs(self) -> Sequence[float]:
        return [float(self.done[0] == self.done[1])]


def payoffs_of(env: Any, plexes: Sequence[Treeplex], actions: Sequence[int]) -> Sequence[float]:
    """The payoffs of a play with these actions, at infosets of these treeplexes."""
    rest, trees = iter(actions), list(map(OwnTree.of, env.players, plexes))
    episode = Episode(0, -1, trees, lambda *_: next(rest), lambda number: float)
    LocalExecutor(env, 0).play([episode])
    assert not episode.fresh
    return episode.payoffs
