"""Random games and correlated policies, and the same things as ``reference`` writes them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from accord.deviations.modification import Modification
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.builder import GameBuilder
from accord.game.library import random_game
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior, random_behavior
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.strategies import games


def chain(*n_actions: int) -> Treeplex:
    """A chain of infosets, each after the first action of the previous one."""
    size = len(n_actions)
    return Treeplex.from_parents(n_actions, range(-1, size - 1), [0] * size)


def entry() -> Game:
    """An entrant enters or stays out; an incumbent who meets them fights or yields."""
    b = GameBuilder(players=["entrant", "incumbent"], name="entry")
    b.move(player="entrant", infoset="start", actions="enter stay")
    b.move("enter", player="incumbent", infoset="entered", actions="fight yield")
    b.payoff("enter fight", -1, -1)
    b.payoff("enter yield", 2, 1)
    b.payoff("stay", 0, 3)
    return b.build()


def grown_game(seed: int, players: int | None = None, most: int = 100) -> Game:
    """A random game of up to ``most`` nodes, at least one player of which decides twice."""
    rng = np.random.default_rng(seed)
    while True:
        actions = int(rng.integers(2, 4))
        game = random_game(
            seed=int(rng.integers(2**32)),
            players=int(rng.integers(1, 4)) if players is None else players,
            depth=int(rng.integers(3, 6)),
            actions=actions,
            min_actions=int(rng.choice([1, 2])),
            observe=float(rng.choice([0.0, 0.3, 0.7, 1.0])),
            chance=float(rng.choice([0.0, 0.2, 0.4])),
            stop=float(rng.choice([0.0, 0.2])),
            rewards=float(rng.choice([0.0, 0.5])),
            levels=int(rng.choice([2, 3, 9, 1001])),
        )
        longest = max(reference.horizon(game, i) for i in range(game.n_players))
        if game.n_nodes <= most and longest >= 2:
            return game


def tiny_games(
    players: int, depth: int, count: Callable[[Game, int], int], most: int
) -> list[tuple[Game, list[int]]]:
    """Eight games, and those of their players who have a few deviations to try.

    Player i has ``count(game, i)``; a few are 4 to ``most``.
    """
    found: list[tuple[Game, list[int]]] = []
    for seed in range(10_000):
        game = random_game(
            seed=seed, players=players, depth=depth, actions=3 if seed % 2 else 2,
            observe=0.5, chance=0.2, stop=0.3, rewards=0.3, levels=5 if seed % 3 else 1001,
        )  # fmt: skip
        some = [
            i
            for i in range(players)
            if reference.horizon(game, i) >= 2 and 4 <= count(game, i) <= most
        ]
        if some:
            found.append((game, some))
        if len(found) == 8:
            return found
    raise AssertionError("there must be eight such games")


def grown_games(players: int | None = None, most: int = 100) -> st.SearchStrategy[Game]:
    """Games in which there is something to deviate from; those of ``games()`` may be trivial."""
    return st.integers(0, 2**32 - 1).map(lambda seed: grown_game(seed, players, most))


def all_games() -> st.SearchStrategy[Game]:
    """Trivial games and others."""
    return st.one_of(games(), grown_games(), grown_games())


def random_behaviors(game: Game, rng: np.random.Generator, pure: float = 0.3) -> list[np.ndarray]:
    """A product policy; each player's part is pure with probability ``pure``."""
    return [
        pure_behavior(plex, rng.integers(plex.n_actions))
        if rng.random() < pure
        else sparse_behavior(plex, rng)
        for plex in sequence_form(game).plexes
    ]


def sparse_behavior(plex: Treeplex, rng: np.random.Generator) -> np.ndarray:
    """A mixed policy in which some infosets have actions of probability 0, or only one."""
    behavior = random_behavior(plex, rng)
    for x in range(plex.n_infosets):
        part = behavior[plex.first_seq[x] : plex.first_seq[x + 1]]
        if rng.random() < 0.3:
            part[rng.random(len(part)) < 0.5] = 0.0
            if not part.any():
                part[rng.integers(len(part))] = 1.0
            part /= part.sum()
    return behavior


def random_policy(
    game: Game, seed: int, components: int | None = None, pure: float | None = None
) -> CorrelatedPolicy:
    """A correlated policy of one to four components, mixed, pure or some of each."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5)) if components is None else components
    share = float(rng.choice([0.0, 0.5, 1.0])) if pure is None else pure
    weights = rng.dirichlet(np.ones(count)) + 1e-3
    return CorrelatedPolicy.from_components(
        game, [(float(w), random_behaviors(game, rng, share)) for w in weights / weights.sum()]
    )


def without_game(policy: CorrelatedPolicy) -> CorrelatedPolicy:
    """The policy as one that knows only its players."""
    return CorrelatedPolicy.of_players(
        policy.name, policy.player_labels, policy.plexes, policy.weights, policy.behavior
    )


def as_reference(policy: CorrelatedPolicy) -> reference.CorrelatedPolicy:
    return [(w, [behavior.tolist() for behavior in bs]) for w, bs in policy.components()]


def phi_as_reference(phi: Modification) -> reference.Modification:
    """The modification as a dictionary over (x, b, recommended) and (x, b)."""
    tree = phi.tree
    found: reference.Modification = {}
    for node in range(ROOT + 1, tree.n_nodes):
        x, b, row = int(tree.node_infoset[node]), tree.rechistory(node), int(tree.first_row[node])
        if tree.is_swap[node]:
            for r in range(int(tree.plex.n_actions[x])):
                found[x, b, r] = int(phi.choice[row + r])
        else:
            found[x, b] = int(phi.choice[row])
    return found


def random_phi(tree: RechistoryTree, rng: np.random.Generator) -> Modification:
    """Any modification; about a third of the recommendations are followed."""
    choice = rng.integers(tree.row_width).astype(np.int32)
    follow = rng.random(len(choice)) < 0.3
    return Modification(tree, np.where(follow, Modification.obey(tree).choice, choice))


OTHER_NOTIONS = ("EFCCE", "AFCE", "AFCCE")
"""Those with a rechistory tree that are not a K-EFCE."""


def all_k(game: Game, i: int) -> list[float]:
    """0, 1, ..., H, more than H, and infinity."""
    horizon = reference.horizon(game, i)
    return [*range(horizon + 1), horizon + 3, math.inf]
