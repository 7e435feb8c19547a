"""The order in which a correlation plan of two players can be filled in.

The equations of ``equilibrium/relevant.py`` are *groups*: for a player, an infoset x of theirs and
a sequence s of the other player, the members xi[(x, a), s] add up to the head xi[before x, s]. For
two players at K <= 1, whose positions are sequences, every group gets one of three uses:

* FILL: the head is known; the members share it, in any way.
* DEFINE: the members are known; the head is their sum.
* IMPLIED: it follows from other groups.

Two groups with the same head meet if their infosets x and y lie on a common path. If these meetings
form a forest, one end u of each may go first: the root of a tree is filled, and each further group
w, of the infoset y, follows from the group u, of the infoset x, next to it on the way to the root:

    xi[.., (y, a)] = sum_r xi[(x, r), (y, a)]        for every a (it is DEFINEd),
    sum_a xi[.., (y, a)] = sum_r sum_a xi[(x, r), (y, a)] = sum_r xi[(x, r), ..] = head of w.

The head of a DEFINE is such a sum, so at that head this group must be the root of its tree. If no
forest contradicts this and every xi comes from one use, then FILLs in any shares give all solutions
of the equations, and the solutions are the mixtures of those in which every FILL has one member:
joint plans. Games without chance moves and triangle-free games (G. Farina and T. Sandholm 2020) are
like this; G. Farina, C. K. Ling, F. Fang and T. Sandholm, *Efficient regret minimization algorithm
for extensive-form correlated equilibrium*, 2019, filled theirs in a similar order.

Where chance is private, meetings form cycles: each infoset after one player's deal meets those
after several deals of the other. A meeting of x and y that would close a cycle has members xi[(x,
r), (y, a)] between two groups that are known already. They are filled in from one side, and the
equations of the other side,

* TIED: sum_r xi[(x, r), (y, a)] = xi[.., (y, a)]    for every a,

are left to whoever uses the filling. FILLs in any shares then give a superset of the solutions.

So the cheapest joint plan for any costs of tuples takes one sweep (:meth:`Filling.cheapest`): last
use first, a FILL adds the cost of its cheapest member to that of its head, and a DEFINE adds the
cost of its head to those of its members.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from accord._arrays import Bools, Floats, Ints, Longs
from accord._jit import jit
from accord.equilibrium.relevant import RelevantTuples

T = TypeVar("T", bound=RelevantTuples)

FILL, DEFINE, IMPLIED, TIED = range(4)
UNDEFINED = -1


class Filling(Generic[T]):
    """The uses of all groups, in order. Use :meth:`of` to make one."""

    def __init__(self, tuples: T, use: Ints, order: Longs) -> None:
        self.tuples, self.use, self.order = tuples, use, order

    @staticmethod
    def of(tuples: T, *, tie: bool = False) -> Filling[T] | None:
        """The filling of all tuples; None if there is none. Equations that cannot be part of it
        are TIED if ``tie`` is True; by default there are none of these."""
        plexes = tuples.form.plexes
        if tuples.n_players != 2 or any(
            positions.count != plex.n_sequences
            for positions, plex in zip(tuples.positions, plexes, strict=True)
        ):
            return None
        groups = tuples.groups
        meetings, defines = _meetings(tuples)
        depth = np.zeros(len(tuples), np.int64)
        for plex, told in zip(plexes, tuples.told, strict=True):
            depth += np.append(0, 1 + plex.depth[plex.seq_infoset[1:]])[told]
        order = np.argsort(groups.head[meetings[:, 0]], kind="stable")
        meetings, defines = meetings[order], defines[order]
        first = np.searchsorted(groups.head[meetings[:, 0]], np.arange(len(tuples) + 1))
        use = np.full(len(groups.head), FILL, np.int32)
        if not _choose_uses(
            np.argsort(depth, kind="stable"), first, meetings, defines,
            groups.first, groups.members, tie, use, np.full(len(tuples), UNDEFINED),
        ):  # fmt: skip
            return None
        by_head = np.argsort(groups.head, kind="stable")
        first_by_head = np.searchsorted(groups.head[by_head], np.arange(len(tuples) + 1))
        steps = np.empty(int((use <= DEFINE).sum()), np.int64)
        if not _sort_steps(
            groups.head, groups.first, groups.members, groups.of, by_head, first_by_head, use, steps
        ):
            return None
        return Filling(tuples, use, steps)

    def cheapest(self, cost: Floats) -> tuple[float, Bools]:
        """The least cost of a joint plan, and which tuples it tells. Nothing may be TIED."""
        groups = self.tuples.groups
        total, chosen = cost.copy(), np.zeros(len(groups.head), np.int64)
        told = np.zeros(len(cost), np.bool_)
        told[0] = True
        _sweep(groups.head, groups.first, groups.members, self.use, self.order, total, chosen, told)
        return float(total[0]), told


def _meetings(tuples: RelevantTuples) -> tuple[Longs, Longs]:
    """Per pair of infosets on a common path, the groups of both with the same head; and the first
    of the groups that define the members of each: ``[n, 2, most actions]``."""
    plexes, of, strides = tuples.form.plexes, tuples.groups.of, tuples.strides
    at = np.flatnonzero((tuples.told[0] > 0) & (tuples.told[1] > 0))
    for plex, one in zip(plexes, tuples.told, strict=True):  # told the first action at both
        at = at[np.isin(one[at], plex.first_seq[:-1])]
    x = [plex.seq_infoset[one[at]] for plex, one in zip(plexes, tuples.told, strict=True)]
    first = [one[at] for one in tuples.told]
    widest = max(int(plex.n_actions.max(initial=1)) for plex in plexes)
    groups, defines = np.zeros((len(at), 2), np.int64), np.full((len(at), 2, widest), UNDEFINED)
    for i in (0, 1):
        j = 1 - i
        above = plexes[j].parent_seq[x[j]].astype(np.int64)
        member = tuples.find(first[i] * strides[i] + above * strides[j])
        groups[:, i] = of[member, i]  # the infoset of i, with what comes before that of j
        for a in range(widest):  # xi[(x_i, a), before x_j] is a sum over the group of x_j
            here = np.flatnonzero(a < plexes[i].n_actions[x[i]])
            key = (first[i][here] + a) * strides[i] + first[j][here] * strides[j]
            defines[here, i, a] = of[tuples.find(key), j]
    return groups, defines


@jit
def _choose_uses(
    heads: Longs,
    first_meeting: Longs,
    meetings: Longs,
    defines: Longs,
    first: Longs,
    members: Longs,
    tie: bool,
    use: Ints,
    defined: Longs,
) -> bool:
    """Overwrite ``use``, all FILL before, and ``defined``, by tuple the group that DEFINEs it;
    False if that contradicts itself. ``heads`` come in order of depth."""
    reached = np.zeros(len(use), np.bool_)
    used = np.zeros(len(meetings), np.bool_)
    degree = np.zeros(len(use), np.int64)
    for e in range(len(meetings)):
        degree[meetings[e, 0]] += 1
        degree[meetings[e, 1]] += 1
    for head in heads:
        if defined[head] != UNDEFINED:
            use[defined[head]] = DEFINE
            reached[defined[head]] = True
        if tie:
            for e in range(first_meeting[head], first_meeting[head + 1]):
                for group in meetings[e]:
                    reached[group] |= use[group] == TIED
        left = first_meeting[head + 1] - first_meeting[head]
        while left > 0:
            root, grown = UNDEFINED, False
            for e in range(first_meeting[head], first_meeting[head + 1]):
                if used[e]:
                    continue
                if reached[meetings[e, 0]] and reached[meetings[e, 1]]:  # a cycle
                    if not tie:
                        return False
                    used[e] = grown = True
                    left -= 1
                    for a in range(first[meetings[e, 1] + 1] - first[meetings[e, 1]]):
                        use[defines[e, 1, a]] = TIED
                    continue
                for side in range(2):
                    known, new = meetings[e, 1 - side], meetings[e, side]
                    if reached[known]:
                        used[e] = reached[new] = grown = True
                        left -= 1
                        use[new] = IMPLIED
                        for a in range(first[new + 1] - first[new]):
                            if defined[members[first[new] + a]] != UNDEFINED:
                                return False
                            defined[members[first[new] + a]] = defines[e, side, a]
                        break
                    if not reached[new] and (root == UNDEFINED or degree[new] > degree[root]):
                        root = new
            if left > 0 and not grown:
                reached[root] = True
    return True


@jit
def _sort_steps(
    head: Longs,
    first: Longs,
    members: Longs,
    of: Longs,
    by_head: Longs,
    first_by_head: Longs,
    use: Ints,
    steps: Longs,
) -> bool:
    """Overwrite ``steps`` with the groups that FILL or DEFINE, each after all that it needs; False
    if there is no such order, or a tuple comes from no group or from two."""
    known = np.zeros(len(of), np.bool_)
    waiting = first[1:] - first[:-1]
    pending = np.empty(len(of), np.int64)
    pending[0], top, count, found = 0, 1, 0, 1
    known[0] = True
    while top > 0:
        top -= 1
        now = pending[top]
        for place in range(first_by_head[now], first_by_head[now + 1]):
            group = by_head[place]
            if use[group] != FILL:
                continue
            steps[count] = group
            count += 1
            for m in members[first[group] : first[group + 1]]:
                if known[m]:
                    return False
                known[m] = True
                found += 1
                pending[top] = m
                top += 1
        for i in range(of.shape[1]):
            group = of[now, i]
            if group == UNDEFINED or use[group] != DEFINE:
                continue
            waiting[group] -= 1
            if waiting[group] == 0:
                steps[count] = group
                count += 1
                if known[head[group]]:
                    return False
                known[head[group]] = True
                found += 1
                pending[top] = head[group]
                top += 1
    return count == len(steps) and found == len(of)


@jit
def _sweep(
    head: Longs,
    first: Longs,
    members: Longs,
    use: Ints,
    steps: Longs,
    cost: Floats,
    chosen: Longs,
    told: Bools,
) -> None:
    """Add to the ``cost`` of each tuple that of all that follows from it; overwrite ``chosen``, the
    cheapest member of each FILL, and ``told``, which is True only for the empty tuple before."""
    for place in range(len(steps) - 1, -1, -1):
        group = steps[place]
        if use[group] == DEFINE:
            for m in members[first[group] : first[group + 1]]:
                cost[m] += cost[head[group]]
            continue
        best = members[first[group]]
        for m in members[first[group] : first[group + 1]]:
            if cost[m] < cost[best]:
                best = m
        chosen[group] = best
        cost[head[group]] += cost[best]
    for group in steps:
        if use[group] == FILL:
            if told[head[group]]:
                told[chosen[group]] = True
        else:
            for m in members[first[group] : first[group + 1]]:
                if told[m]:
                    told[head[group]] = True
