"""Finding the treeplex of each player of an environment that can only be played.

:func:`discover` finds them

* by going through every move of every player and of chance, if the environment can be cloned, its
  chance is explicit, and it is not too large: then nothing is missed;
* else by playing, in ways that explore, until many plays in a row have shown nothing new. Then what
  is rare may be missed. Learning stops with an error that says so when it sees an infoset that is
  not in the tree. A tree that grows too large is refused.

Infosets are numbered layer by layer, those that follow the same move in the order of their labels,
so it does not matter in which order they were found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accord._arrays import CHANCE, NO_INFOSET, TERMINAL
from accord.errors import ArgumentError, BudgetError, GameError, ImperfectRecallError
from accord.game.labels import player_name
from accord.play.environment import Environment, chance_law, draw_chance, whose_turn
from accord.treeplex.treeplex import Treeplex

MAX_NODES = 200_000
"""Moves that :func:`discover` goes through before it plays instead."""

MAX_INFOSETS = 100_000
"""Infosets, of all players together, at which :func:`discover` stops playing and gives up."""

PATIENCE = 10_000
"""Plays in a row that must show nothing new before :func:`discover` believes to know the trees."""


@dataclass
class OwnTree:
    """What is known of one player's infosets: what leads to each, and what can be done there."""

    player: str
    parent: dict[str, tuple[str, int] | None] = field(default_factory=dict)
    actions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def see(self, infoset: str, actions: Sequence[str], before: tuple[str, int] | None) -> bool:
        """Note an infoset, the actions there and the own move before it; whether it is new.

        Raises:
            GameError: If the infoset was seen with other actions, or has none.
            ImperfectRecallError: If it was seen after another move.
        """
        here = tuple(actions)
        if not isinstance(infoset, str) or not here or len(set(here)) < len(here):
            raise GameError(
                f"{player_name(self.player)}: an infoset must be a string with one or more "
                f"distinct actions; got {infoset!r} with {here}"
            )
        if infoset not in self.parent:
            self.parent[infoset], self.actions[infoset] = before, here
            return True
        if self.parent[infoset] != before:
            raise ImperfectRecallError(
                self.player,
                infoset,
                (self._history(self.parent[infoset]), self._history(before)),
            )
        if self.actions[infoset] != here:
            raise GameError(
                f"{player_name(self.player)}, infoset {infoset!r}: the actions must always be the "
                f"same; got {here} after {self.actions[infoset]}"
            )
        return False

    def treeplex(self) -> Treeplex:
        """The infosets layer by layer."""
        return treeplex_from_parents(self.parent, self.actions)

    def _history(self, before: tuple[str, int] | None) -> tuple[tuple[str, str], ...]:
        moves: list[tuple[str, str]] = []
        while before is not None:
            infoset, action = before
            moves.append((infoset, self.actions[infoset][action]))
            before = self.parent[infoset]
        return tuple(reversed(moves))


def treeplex_from_parents(
    parent: Mapping[str, tuple[str, int] | None], actions: Mapping[str, Sequence[str]]
) -> Treeplex:
    """A treeplex from labels: before each infoset the own infoset and action, or ``None``.

    Infosets are numbered layer by layer, within a layer by the move before them, then by label.

    Raises:
        GameError: If an infoset follows one that is not there, or follows itself.
    """
    below: dict[tuple[str, int] | None, list[str]] = {}
    for infoset, before in parent.items():
        below.setdefault(before, []).append(infoset)
    order: list[str] = []
    layer = sorted(below.get(None, []))
    while layer:
        order += layer
        moves = [(infoset, a) for infoset in layer for a in range(len(actions[infoset]))]
        layer = [infoset for move in moves for infoset in sorted(below.get(move, []))]
    if len(order) < len(parent):
        lost = min(set(parent) - set(order))
        raise GameError(f"infoset {lost!r} must follow an own move, or none; got {parent[lost]}")
    number = {infoset: x for x, infoset in enumerate(order)}
    moves_before = [parent[infoset] for infoset in order]
    return Treeplex.from_parents(
        [len(actions[infoset]) for infoset in order],
        [NO_INFOSET if move is None else number[move[0]] for move in moves_before],
        [0 if move is None else move[1] for move in moves_before],
        order,
        [tuple(actions[infoset]) for infoset in order],
    )


def discover(
    env: Environment,
    *,
    max_nodes: int = MAX_NODES,
    max_infosets: int = MAX_INFOSETS,
    patience: int = PATIENCE,
    seed: int = 0,
) -> tuple[Treeplex, ...]:
    """The treeplex of each player of ``env``.

    Args:
        env: The environment; its present play is lost.
        max_nodes: How many moves to go through, if it can be cloned, before giving up and playing.
        max_infosets: How many infosets, of all players together, plays may show.
        patience: How many plays in a row must show nothing new.
        seed: Of those plays.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If plays show more than ``max_infosets`` infosets.
        GameError: If the environment is no game with perfect recall.
    """
    if max_nodes < 0 or max_infosets < 1 or patience < 1:
        raise ArgumentError(
            "discover(): max_nodes must be 0 or more, max_infosets and patience 1 or more; "
            f"got {max_nodes}, {max_infosets} and {patience}"
        )
    rng = np.random.default_rng(seed)
    trees = _traversed(env, max_nodes, rng) if getattr(env, "clone", None) else None
    if trees is None:
        trees = _played(env, max_infosets, patience, rng)
    return tuple(tree.treeplex() for tree in trees)


def _traversed(env: Any, max_nodes: int, rng: np.random.Generator) -> list[OwnTree] | None:
    """All infosets, or None if there are more than ``max_nodes`` moves to go through."""
    trees = [OwnTree(str(name)) for name in env.players]
    env.reset(rng)
    Moves = tuple[tuple[str, int] | None, ...]  # the last own move of each player
    rest: list[tuple[Any, Moves]] = [(env.clone(), (None,) * len(trees))]
    seen = 0
    while rest:
        state, moves = rest.pop()
        i = whose_turn(state)
        if i == TERMINAL:
            continue
        if i == CHANCE:
            possible = [a for a, prob in enumerate(chance_law(state)) if prob > 0]
        else:
            label, actions = state.infoset(), state.actions()
            trees[i].see(label, actions, moves[i])
            possible = list(range(len(actions)))
        seen += len(possible)
        if seen > max_nodes:
            return None
        for a in possible:
            after = state.clone()
            after.step(a)
            own = moves if i == CHANCE else (*moves[:i], (label, a), *moves[i + 1 :])
            rest.append((after, own))
    return trees


def _played(env: Any, max_infosets: int, patience: int, rng: np.random.Generator) -> list[OwnTree]:
    """What plays show in which every player explores.

    At each infoset she takes an action in proportion to one more than the infosets known below it,
    as the balanced exploration policies do: so long corridors are walked to their ends.
    """
    trees = [OwnTree(str(name)) for name in env.players]
    tried: list[dict[str, np.ndarray]] = [{} for _ in trees]
    known: list[dict[str, np.ndarray]] = [{} for _ in trees]
    quiet = found = 0
    while quiet < patience:
        quiet += 1
        env.reset(rng)
        moves: list[list[tuple[str, int]]] = [[] for _ in trees]
        fresh: list[list[bool]] = [[] for _ in trees]
        while (i := whose_turn(env)) != TERMINAL:
            if i == CHANCE:
                env.step(draw_chance(env, rng))
                continue
            label, actions = env.infoset(), env.actions()
            fresh[i].append(trees[i].see(label, actions, moves[i][-1] if moves[i] else None))
            if fresh[i][-1]:
                tried[i][label] = np.zeros(len(actions))
                known[i][label] = np.ones(len(actions))
                quiet = 0
                found += 1
                if found > max_infosets:
                    raise BudgetError(
                        f"{env.name} must have at most max_infosets = {max_infosets:,} infosets, "
                        "of all players together, but plays show more and more; call "
                        "discover(env, max_infosets=...) with more and give learn() its plexes, or "
                        "choose a smaller environment",
                        found,
                        max_infosets,
                    )
            share = tried[i][label] / known[i][label]
            action = int(rng.choice(np.flatnonzero(share == share.min())))
            tried[i][label][action] += 1
            moves[i].append((label, action))
            env.step(action)
        for i in range(len(trees)):
            below = 0
            for (label, action), new in zip(reversed(moves[i]), reversed(fresh[i]), strict=True):
                known[i][label][action] += below
                below += new
    return trees
