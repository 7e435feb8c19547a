"""Validation of chance moves, and the canonical form of their probabilities and labels.

A double stands for all reals that round to it. Probabilities sum to one if some choice of such
reals does, as for three times 1/3. Computed probabilities often miss this by a few units in the
last place; then they are divided by their sum, which makes it true. So a file with exact numbers
can express the probabilities of any game.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, Floats, Ints
from accord._jit import jit
from accord.errors import GameError

CHANCE_TOLERANCE = 1e-9
"""The largest difference from one that the sum of a chance node's probabilities may have."""


def normalize_chance(
    player: NDArray[np.int8], parent: Ints, prob: Floats, n_children: Ints
) -> None:
    """Check and normalize ``prob`` at children of chance nodes, and set it to one elsewhere."""
    chance = np.flatnonzero(player == CHANCE)
    place = np.full(len(player), NO_NODE, np.int32)  # index of a chance node in the sums below
    place[chance] = np.arange(len(chance), dtype=np.int32)
    total, rest, up, down = np.zeros((4, len(chance)))
    if (bad := _sum_chance(parent, place, prob, total, rest, up, down)) != NO_NODE:
        raise GameError(
            "a chance outcome must have positive probability; the one from node "
            f"{parent[bad]} to node {bad} has {prob[bad]}; leave out impossible outcomes"
        )
    if (off := np.flatnonzero(np.abs(total - 1.0) > CHANCE_TOLERANCE)).size:
        node = chance[off[0]]
        raise GameError(
            "the probabilities of a chance node must sum to one; the "
            f"{n_children[node]} outcomes of node {node} sum to {float(total[off[0]])}"
        )
    missing = 1.0 - total - rest
    missing[(-down < missing) & (missing < up)] = 0.0
    if missing.any():
        _divide_chance(parent, place, missing / (1.0 - missing), prob)


def check_chance_labels(
    player: NDArray[np.int8], infoset: Ints, n_children: Ints, rows: Sequence[tuple[str, ...]]
) -> None:
    """Check that each chance node has as many labels as outcomes, or none."""
    at = np.flatnonzero((player == CHANCE) & (infoset != NO_INFOSET))
    sizes = np.array([len(row) for row in rows], np.int64)
    out = (infoset[at] < 0) | (infoset[at] >= len(rows))
    if out.any():
        node = at[int(out.argmax())]
        raise GameError(
            f"a chance node's infoset must be a row of chance_labels or {NO_INFOSET}; node {node} "
            f"has {infoset[node]} and there are {len(rows)} rows"
        )
    if (bad := np.flatnonzero(sizes[infoset[at]] != n_children[at])).size:
        node = at[bad[0]]
        raise GameError(
            f"chance node {node} has {n_children[node]} outcomes but {sizes[infoset[node]]} labels"
        )


def number_chance_labels(
    player: NDArray[np.int8], infoset: Ints, n_children: Ints, rows: list[tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """The distinct rows of chance labels, and ``infoset`` overwritten at chance nodes to match.

    Rows are numbered by their first chance node. Nodes without labels get the numbers of their
    outcomes.
    """
    chance = np.flatnonzero(player == CHANCE)
    row, width = infoset[chance], n_children[chance]
    widths, place = np.unique(width[row == NO_INFOSET], return_inverse=True)
    row[row == NO_INFOSET] = len(rows) + place
    texts = [*rows, *(tuple(map(str, range(n))) for n in widths)]
    known: dict[tuple[str, ...], int] = {}
    row = np.array([known.setdefault(text, len(known)) for text in texts], np.int32)[row]
    used, first = np.unique(row, return_index=True)
    by_first = used[np.argsort(first)]
    rank = np.empty(len(known), np.int32)
    rank[by_first] = np.arange(len(used), dtype=np.int32)
    infoset[chance] = rank[row]
    distinct = list(known)
    return tuple(distinct[r] for r in by_first)


@jit
def _sum_chance(
    parent: Ints, place: Ints, prob: Floats, total: Floats, rest: Floats, up: Floats, down: Floats
) -> int:
    """Add up the outcomes of each chance node, and set ``prob`` to one at all other nodes.

    The sum is ``total`` plus the ``rest`` that rounding has cut off. The reals that round to the
    outcomes sum to anything from ``down`` below that to ``up`` above it. Returns the first node
    whose probability is not positive and finite, or ``NO_NODE``.
    """
    prob[0] = 1.0
    for node in range(1, len(parent)):
        c, p = place[parent[node]], prob[node]
        if c < 0:
            prob[node] = 1.0
        elif 0.0 < p < np.inf:
            smaller, larger = min(total[c], p), max(total[c], p)
            total[c] = smaller + larger
            rest[c] += smaller - (total[c] - larger)
            up[c] += (np.nextafter(p, 2.0) - p) / 2.0
            down[c] += (p - np.nextafter(p, 0.0)) / 2.0
        else:
            return node
    return NO_NODE


@jit
def _divide_chance(parent: Ints, place: Ints, excess: Floats, prob: Floats) -> None:
    """Divide outcomes by the sum of their chance node; ``excess`` is 1 / sum - 1."""
    for node in range(1, len(parent)):
        c = place[parent[node]]
        if c >= 0:
            prob[node] += prob[node] * excess[c]  # rounded once: the excess is tiny
