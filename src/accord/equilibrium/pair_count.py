"""The number of relevant pairs of sequences of two players, counted without making them.

A pair of infosets is on a common path if some leaf comes after both. Below an infoset x of the
first player, the second player's infosets on common paths are those that lead to the leaves below
x: the union of as many paths of the second treeplex. If ``v_1, ..., v_n`` are the ends of these
paths in depth-first order and ``W(v)`` is the number of sequences on the path to v, the union has

    sum_j W(v_j) - sum_j W(the last infoset that v_j and v_{j+1} have in common)

sequences. Bottom-up, the ends below the children of x are merged, smaller sets into larger ones, so
a game of n leaves takes O(n log n) steps, however deep it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from accord._arrays import Longs
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex


def count_pairs(form: SequenceForm) -> int:
    """The number of relevant pairs of sequences, the empty ones included, of two players."""
    first, second = form.plexes
    paths = _Paths(second)
    ends = paths.position[_last_infosets(second, form.leaves.seqs[:, 1])]
    own = _last_infosets(first, form.leaves.seqs[:, 0])
    below: list[_Union | None] = [None] * (first.n_infosets + 1)
    for x, end in sorted(set(zip(own.tolist(), ends.tolist(), strict=True))):
        union = below[x]
        if union is None:
            union = below[x] = _Union(paths)
        union.add(end)
    parent = np.append(0, _last_infosets(first, first.parent_seq)).tolist()
    n_actions = np.append(1, first.n_actions).tolist()
    total = 0
    for x in range(first.n_infosets, -1, -1):  # children have larger numbers
        if (union := below[x]) is None:
            continue
        below[x] = None
        total += n_actions[x] * (1 + union.size)
        if x > 0:
            below[parent[x]] = union.merged(below[parent[x]])
    return total


def _last_infosets(plex: Treeplex, seqs: Iterable[int]) -> Longs:
    """1 + the infoset of each sequence; 0 for the empty one."""
    seqs = np.asarray(seqs, np.int64)
    infoset = np.append(-1, np.asarray(plex.seq_infoset[1:], np.int64))
    return np.asarray(1 + infoset[seqs])


class _Paths:
    """The paths of a treeplex, by the depth-first positions of their ends.

    Attributes:
        position: ``[1 + n_infosets]`` the position of 1 + x; first of the empty sequence.
        length: ``[1 + n_infosets]`` the sequences on the path to each position.
    """

    def __init__(self, plex: Treeplex) -> None:
        parent = _last_infosets(plex, plex.parent_seq).tolist()
        children: list[list[int]] = [[] for _ in range(plex.n_infosets + 1)]
        for x, above in enumerate(parent, 1):
            children[above].append(x)
        self.position = np.zeros(plex.n_infosets + 1, np.int64)
        actions = np.append(0, plex.n_actions).tolist()
        lengths = [0] * (plex.n_infosets + 1)
        shared = [0] * (plex.n_infosets + 1)  # the length of the path to the parent
        ahead = [(0, 0)]
        for place in range(plex.n_infosets + 1):
            x, before = ahead.pop()
            self.position[x] = place
            shared[place], lengths[place] = before, before + actions[x]
            ahead += [(child, lengths[place]) for child in reversed(children[x])]
        self.length = lengths
        self._least = [np.array(shared, np.int64)]  # over 1, 2, 4, ... positions from each
        while 2 ** len(self._least) <= len(shared):
            last, step = self._least[-1], 2 ** (len(self._least) - 1)
            self._least.append(np.minimum(last[:-step], last[step:]))

    def common(self, one: int, later: int) -> int:
        """The sequences that the paths to two different positions have in common."""
        # between both, in depth-first order, lies a child of the last infoset that they share
        level = (later - one).bit_length() - 1
        least = self._least[level]
        return int(min(least[one + 1], least[later - 2**level + 1]))


class _Union:
    """A union of paths; ``size`` is the number of sequences on them."""

    def __init__(self, paths: _Paths) -> None:
        self.paths, self.size = paths, 0
        self.ends: list[int] = []

    def add(self, end: int) -> None:
        """Add the path to ``end``."""
        ends, common = self.ends, self.paths.common
        at = bisect_left(ends, end)
        before, after = ends[at - 1] if at else None, ends[at] if at < len(ends) else None
        if after == end:
            return
        self.size += self.paths.length[end]
        self.size -= 0 if before is None else common(before, end)
        self.size -= 0 if after is None else common(end, after)
        self.size += 0 if before is None or after is None else common(before, after)
        ends.insert(at, end)

    def merged(self, other: _Union | None) -> _Union:
        """The union of both, which takes the larger one apart."""
        if other is None:
            return self
        large, small = (self, other) if len(self.ends) >= len(other.ends) else (other, self)
        for end in small.ends:
            large.add(end)
        return large
