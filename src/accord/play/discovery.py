"""Finding the treeplex of each player of an environment that can only be played.

:func:`discover` works in one of two ways:

* If the environment can be cloned, its chance is explicit, and it is not too large, it traverses
  every move of every player and of chance. Then nothing is missed.
* Otherwise it plays, with all players exploring, until many plays in a row have shown nothing new.
  Then rare infosets may be missed; if learning reaches one later, it stops with an error that says
  so. A tree that grows too large is refused.

Infosets are numbered layer by layer, and after the same move in the order of their labels, so the
order in which they were found does not matter.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord._check import checked_seed
from accord.errors import ArgumentError, BudgetError
from accord.play.environment import Environment, chance_law, whose_turn
from accord.play.own_tree import OwnTree
from accord.play.playing import Playing
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

MAX_DISCOVERED = 200_000
"""Moves that :func:`discover` traverses before it plays instead."""

MAX_INFOSETS = 100_000
"""Infosets of all players together beyond which :func:`discover` gives up."""

PATIENCE = 10_000
"""Plays in a row that must show nothing new before :func:`discover` stops."""


def discover(
    env: Environment,
    *,
    max_nodes: int = MAX_DISCOVERED,
    max_infosets: int = MAX_INFOSETS,
    patience: int = PATIENCE,
    seed: SupportsIndex | np.random.Generator = 0,
) -> tuple[Treeplex, ...]:
    """The treeplex of each player of ``env``.

    Args:
        env: The environment; its current play is lost.
        max_nodes: How many moves to traverse, if it can be cloned, before playing instead.
        max_infosets: How many infosets of all players together plays may show.
        patience: How many plays in a row must show nothing new.
        seed: The seed of those plays, or a generator that draws one.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If plays show more than ``max_infosets`` infosets.
        GameError: If the environment is not a game with perfect recall.
    """
    if max_nodes < 0 or max_infosets < 1 or patience < 1:
        raise ArgumentError(
            "discover(): max_nodes must be 0 or more, max_infosets and patience 1 or more; "
            f"got {max_nodes}, {max_infosets} and {patience}"
        )
    rng = np.random.default_rng(checked_seed(seed))
    trees = _traversed(env, max_nodes, rng) if getattr(env, "clone", None) else None
    if trees is None:
        trees = _played(env, max_infosets, patience, rng)
    return tuple(tree.treeplex() for tree in trees)


def _traversed(env: Any, max_nodes: int, rng: np.random.Generator) -> list[OwnTree] | None:
    """All infosets, or None if there are more than ``max_nodes`` moves."""
    trees = [OwnTree(str(name)) for name in env.players]
    env.reset(rng)
    rest: list[tuple[Any, tuple[int, ...]]] = [(env.clone(), (EMPTY_SEQUENCE,) * len(trees))]
    seen = 0
    while rest:
        state, last = rest.pop()
        i = whose_turn(state)
        if i == TERMINAL:
            continue
        if i == CHANCE:
            possible = [a for a, prob in enumerate(chance_law(state)) if prob > 0]
        else:
            actions = tuple(state.actions())
            x, _ = trees[i].see(state.infoset(), actions, last[i])
            possible = list(range(len(actions)))
        seen += len(possible)
        if seen > max_nodes:
            return None
        for a in possible:
            after = state.clone()
            after.step(a)
            own = last if i == CHANCE else (*last[:i], trees[i].first_seq[x] + a, *last[i + 1 :])
            rest.append((after, own))
    return trees


def _played(env: Any, max_infosets: int, patience: int, rng: np.random.Generator) -> list[OwnTree]:
    """The infosets seen in plays in which every player explores.

    At each infoset the player takes an action in proportion to one plus the number of infosets
    known below it, like the balanced exploration policies, so that plays reach the ends of long
    corridors.
    """
    trees = [OwnTree(str(name)) for name in env.players]
    playing = Playing(env)
    tried: list[list[np.ndarray]] = [[] for _ in trees]
    known: list[list[np.ndarray]] = [[] for _ in trees]
    quiet = found = 0
    while quiet < patience:
        quiet += 1
        moves: list[list[tuple[int, int, bool]]] = [[] for _ in trees]
        last = [EMPTY_SEQUENCE] * len(trees)
        decision = playing.begin(rng)
        while decision is not None:
            i, label, actions, _ = decision
            x, fresh = trees[i].see(label, actions, last[i])
            if fresh:
                tried[i].append(np.zeros(len(actions)))
                known[i].append(np.ones(len(actions)))
                quiet = 0
                found += 1
                if found > max_infosets:
                    raise BudgetError(
                        f"{env.name} must have at most max_infosets = {max_infosets:,} infosets "
                        "of all players together, but plays keep showing more; call "
                        "discover(env, max_infosets=...) with a larger limit and give its result "
                        "to learn() as plexes, or choose a smaller environment",
                        found,
                        max_infosets,
                    )
            share = tried[i][x] / known[i][x]
            action = int(rng.choice(np.flatnonzero(share == share.min())))
            tried[i][x][action] += 1
            moves[i].append((x, action, fresh))
            last[i] = trees[i].first_seq[x] + action
            decision = playing.step(action)
        for i in range(len(trees)):
            below = 0
            for x, action, fresh in reversed(moves[i]):
                known[i][x][action] += below
                below += fresh
    return trees
