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

import numpy as np

from accord._arrays import Floats, Ints
from accord.optimal.tuples import Tuples

NOTHING = 1e-9
"""What is left of xi below this counts as zero."""


def decomposed(tuples: Tuples, xi: Floats, limit: int) -> list[Ints]:
    """At most ``limit`` reduced joint plans whose mixtures come close to ``xi``."""
    form = tuples.incentives.form
    told = [
        tuples.keys // stride % positions.count
        for stride, positions in zip(tuples.strides, tuples.positions, strict=True)
    ]
    depth = []  # of each position; only sequences are chosen
    for plex, positions in zip(form.plexes, tuples.positions, strict=True):
        one = np.zeros(positions.count, np.int64)
        one[1 : plex.n_sequences] = 1 + plex.depth[plex.seq_infoset[1:]]
        depth.append(one)
    rows, order = _rows_by_infoset(tuples), _in_order_of_play(tuples)
    left, plans = xi.copy(), []
    for _ in range(limit):
        if left[0] <= NOTHING:
            break
        plan = np.zeros(int(tuples.incentives.first_action[-1]), np.int32)
        parts = tuples.incentives.split_plan(plan)
        chosen = [np.zeros(positions.count, bool) for positions in tuples.positions]
        for one in chosen:
            one[0] = True
        for i, x in order:
            plex = form.plexes[i]
            if not chosen[i][plex.parent_seq[x]]:
                continue
            here, deep = rows[i, x], np.zeros(len(rows[i, x]), np.int64)
            fits = left[here] > NOTHING
            for j, one in enumerate(chosen):
                if j != i:
                    fits &= one[told[j][here]]
                    deep += depth[j][told[j][here]]
            if fits.any():
                best = here[fits][np.lexsort((-left[here[fits]], -deep[fits]))[0]]
                parts[i][x] = told[i][best] - plex.first_seq[x]
            chosen[i][plex.first_seq[x] + parts[i][x]] = True
        whole = np.ones(len(tuples), bool)
        for j, one in enumerate(chosen):
            whole &= one[told[j]]
        most = float(left[whole].min())
        left[whole] = left[whole] - most if most > NOTHING else left[whole] / 2
        plans.append(tuples.incentives.reduced(plan))
    return plans


def _rows_by_infoset(tuples: Tuples) -> dict[tuple[int, int], np.typing.NDArray[np.int64]]:
    """The tuples in which a player is obedient at an infoset."""
    found = {}
    for i, positions in enumerate(tuples.positions):
        places = tuples.places[:, i]
        order = np.argsort(places, kind="stable")
        for x, node in enumerate(positions.of_infoset):
            start, end = np.searchsorted(places[order], [node + 1, node + 2])
            found[i, x] = order[start:end]
    return found


def _in_order_of_play(tuples: Tuples) -> list[tuple[int, int]]:
    """All ``(player, infoset)``, those that come earlier in the game first."""
    game = tuples.incentives.form.game
    level = np.zeros(len(game.player), np.int64)
    for node in range(1, len(level)):
        level[node] = level[game.parent[node]] + 1
    pairs = []
    for i, plex in enumerate(tuples.incentives.form.plexes):
        mine = np.flatnonzero(game.player == i)
        first = np.full(plex.n_infosets, len(level))
        np.minimum.at(first, game.infoset[mine], level[mine])
        pairs += [(int(first[x]), i, x) for x in range(plex.n_infosets)]
    return [(i, x) for _, i, x in sorted(pairs)]
