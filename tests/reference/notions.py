"""Gaps of the coarse and agent-form notions, by brute force over all deviations of a tiny game.

A deviation is a dictionary. It is played by walking the game tree, against each component of the
policy, and keeps no cells and no rechistories:

* EFCCE: ``(x,)`` obeys (None) or leaves with an action, for a player who has obeyed so far;
  ``(x, y)`` is the action at x of a player who left at the earlier infoset y.
* AFCE: ``(x, r)`` is the action at x of a player who has obeyed so far and is told r.
* AFCCE: ``(x,)`` as for EFCCE. In both agent forms the player obeys after a deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.reference.game import actions, infosets, node_children, node_rewards, path
from tests.reference.policies import prob
from tests.reference.types import CHANCE, Behaviors, CorrelatedPolicy
from tests.reference.values import correlated_values

OBEDIENT = -1  # has obeyed so far
DONE = -2  # has deviated, and obeys from now on

Deviation = dict[tuple[int, ...], int | None]


def options(game: Any, i: int, notion: str) -> dict[tuple[int, ...], list[int | None]]:
    """What a deviation may choose, and where."""
    found: dict[tuple[int, ...], list[int | None]] = {}
    for x in infosets(game, i):
        every: list[int | None] = list(actions(game, i, x))
        if notion == "AFCE":
            found |= {(x, r): every for r in actions(game, i, x)}
        else:
            found[x,] = [None, *every]
        if notion == "EFCCE":
            found |= {(x, y): every for y, _ in path(game, i, x)}
    return found


def n_deviations(game: Any, i: int, notion: str) -> int:
    return math.prod(map(len, options(game, i, notion).values()))


def deviations(game: Any, i: int, notion: str) -> Iterator[Deviation]:
    """All deviations of player i."""
    assert notion in ("EFCCE", "AFCE", "AFCCE"), notion
    choices = options(game, i, notion)
    for chosen in product(*choices.values()):
        yield dict(zip(choices, chosen, strict=True))


def deviation_value(
    game: Any, i: int, notion: str, deviation: Deviation, behaviors: Behaviors
) -> float:
    """V_i of a player who plays ``deviation`` while all others obey ``behaviors``."""

    def decide(x: int, state: int) -> Iterator[tuple[float, int, int]]:
        """(probability, action, next state) at x. A state >= 0 is the infoset that i left at."""
        told = [(prob(game, i, behaviors[i], x, r), r) for r in actions(game, i, x)]
        if state >= 0:
            action = deviation[x, state]
            assert action is not None
            yield 1.0, action, state
        elif state == DONE:
            yield from ((p, r, DONE) for p, r in told)
        elif notion == "AFCE":
            for p, r in told:
                action = deviation[x, r]
                assert action is not None
                yield p, action, OBEDIENT if action == r else DONE
        elif (action := deviation[x,]) is None:
            yield from ((p, r, OBEDIENT) for p, r in told)
        else:
            yield 1.0, action, x if notion == "EFCCE" else DONE

    def walk(node: int, state: int) -> float:
        value = node_rewards(game)[node][i]
        below = node_children(game)[node]
        j, x = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            value += sum(float(game.chance_prob[child]) * walk(child, state) for child in below)
        elif j == i:
            value += sum(p * walk(below[a], after) for p, a, after in decide(x, state) if p > 0)
        elif j >= 0:
            for a in actions(game, j, x):
                if (p := prob(game, j, behaviors[j], x, a)) > 0:
                    value += p * walk(below[a], state)
        return value

    return walk(0, OBEDIENT)


def notion_gap(game: Any, i: int, notion: str, policy: CorrelatedPolicy) -> float:
    """Player i's gap of ``"EFCCE"``, ``"AFCE"`` or ``"AFCCE"``, by trying every deviation."""
    best = max(
        sum(w * deviation_value(game, i, notion, one, behaviors) for w, behaviors in policy)
        for one in deviations(game, i, notion)
    )
    return best - correlated_values(game, policy)[i]
