"""Joint plans that a correlation plan mixes.

Where every correlation plan is a mixture (``optimal/polytope.py``), it can be taken apart: choose a
joint plan all of whose tuples have a positive xi, subtract it as often as xi allows, and repeat
until nothing is left. Each step makes at least one xi zero. The joint plan is chosen infoset by
infoset in the order of play: at x the action is the one with the largest xi together with what the
other players have been told so far, as far down the tree as possible.

In other games, and where the choice runs into a dead end, the joint plans found are still good
columns to start from. Nothing depends on them: the program decides which it needs.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from accord._arrays import Bools, Floats, Ints, Longs
from accord._jit import jit
from accord.optimal.tuples import Tuples

NOTHING = 1e-9
"""Smaller remainders of xi count as zero."""


class OrderedInfosets(NamedTuple):
    """All infosets in the order of play. Positions of all players are numbered together."""

    player: Longs
    actions: Longs  # where the infoset stands in a joint plan
    above: Longs  # the position before it
    start: Longs  # the position of its first action
    first: Longs  # [n_infosets + 1] rows[first[x] : first[x + 1]] are the tuples that end there
    rows: Longs


def decomposed(
    tuples: Tuples, xi: Floats, limit: int, end: float = math.inf
) -> list[tuple[float, Ints]]:
    """At most ``limit`` reduced joint plans and their weights, whose mixture is close to ``xi``.

    The search stops at ``end``, a time of ``time.monotonic``.
    """
    kept = np.flatnonzero(xi > NOTHING)
    offsets = np.cumsum([0] + [positions.count for positions in tuples.positions])
    told = np.stack([one[kept] + offsets[i] for i, one in enumerate(tuples.told)], axis=1)
    depth = np.zeros(offsets[-1], np.int64)  # of each position; only sequences are chosen
    for plex, start in zip(tuples.incentives.form.plexes, offsets[:-1], strict=True):
        depth[start + 1 : start + plex.n_sequences] = 1 + plex.depth[plex.seq_infoset[1:]]
    infosets = _in_order_of_play(tuples, kept, offsets)
    left = xi[kept].copy()
    found: list[tuple[float, Ints]] = []
    chosen = np.zeros(offsets[-1], np.bool_)
    while len(found) < limit and len(left) and left[0] > NOTHING and time.monotonic() < end:
        chosen[:] = False
        chosen[offsets[:-1]] = True
        plan = np.zeros(int(tuples.incentives.first_action[-1]), np.int32)
        weight = _take_plan(infosets, told, depth, left, chosen, plan)
        found.append((weight, tuples.incentives.reduced(plan)))
    return found


def _in_order_of_play(tuples: Tuples, kept: Longs, offsets: Longs) -> OrderedInfosets:
    """The infosets, those that come earlier in the game first; ``rows`` index ``kept``."""
    game = tuples.incentives.form.game
    level = np.zeros(len(game.player), np.int64)
    for node in range(1, len(level)):
        level[node] = level[game.parent[node]] + 1
    parts, rows = [], []
    for i, plex in enumerate(tuples.incentives.form.plexes):
        mine = np.flatnonzero(game.player == i)
        earliest = np.full(plex.n_infosets, len(level))
        np.minimum.at(earliest, game.infoset[mine], level[mine])
        x = np.arange(plex.n_infosets)
        parts.append(
            np.stack(
                [
                    earliest,
                    np.full(plex.n_infosets, i),
                    tuples.incentives.first_action[i] + x,
                    offsets[i] + plex.parent_seq,
                    offsets[i] + plex.first_seq[:-1],
                ]
            )
        )
        places = tuples.places[kept, i]
        order = np.argsort(places, kind="stable")
        ends = [
            np.searchsorted(places[order], tuples.positions[i].of_infoset + step) for step in (1, 2)
        ]
        rows += [order[start:end] for start, end in zip(*ends, strict=True)]
    table = np.concatenate(parts, axis=1)
    order = np.argsort(table[0], kind="stable")
    sizes = np.array([len(rows[place]) for place in order], np.int64)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    joined = np.concatenate([np.zeros(0, np.int64), *(rows[place] for place in order)])
    player, actions, above, start = table[1:, order]
    return OrderedInfosets(player, actions, above, start, first, joined)


@jit
def _take_plan(
    infosets: OrderedInfosets, told: Longs, depth: Longs, left: Floats, chosen: Bools, plan: Ints
) -> float:
    """Overwrite ``plan`` with a joint plan whose tuples all have something ``left``, subtract it
    from them and return its weight, if one is found. ``chosen`` has empty positions before."""
    n_players = told.shape[1]
    for place in range(len(infosets.player)):
        if not chosen[infosets.above[place]]:
            continue
        i = infosets.player[place]
        best, deepest = -1, -1
        for row in infosets.rows[infosets.first[place] : infosets.first[place + 1]]:
            if left[row] <= NOTHING:
                continue
            deep, fits = 0, True
            for j in range(n_players):
                if j != i:
                    fits = fits and chosen[told[row, j]]
                    deep += depth[told[row, j]]
            if fits and (deep > deepest or (deep == deepest and left[row] > left[best])):
                best, deepest = row, deep
        action = 0 if best < 0 else told[best, i] - infosets.start[place]
        plan[infosets.actions[place]] = action
        chosen[infosets.start[place] + action] = True
    most = np.inf
    for row in range(len(left)):
        whole = True
        for j in range(n_players):
            whole = whole and chosen[told[row, j]]
        if whole:
            most = min(most, left[row])
    weight = most if most > NOTHING else 0.0
    for row in range(len(left)):
        whole = True
        for j in range(n_players):
            whole = whole and chosen[told[row, j]]
        if whole:
            left[row] = left[row] - most if most > NOTHING else left[row] / 2
    return weight
