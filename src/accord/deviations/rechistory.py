"""The tree of recommendation histories of one player.

A deviator at infoset x remembers what was recommended to her on the way: a *rechistory* b,
Section 3 of Song, Mei, Bai 2022. With ``(a_1, ..., a_{h-1})`` the actions that lead to x,

* b_{1:h-1} is SWAP (Type I) if fewer than K of its entries differ from the a's: she still sees the
  recommendation at x and may swap it;
* b_{1:h'} is EXTERNAL (Type II) if its K-th mismatch is the last, at h': the mediator is silent
  since.

The pairs (infoset, rechistory) form a tree. Below a SWAP node at x, for each recommendation r and
each infoset x' that follows (x, a), there is a SWAP node if the mismatches so far plus [r != a]
stay below K, else an EXTERNAL node; below an EXTERNAL node there are EXTERNAL nodes. One number
says how a node hangs on its parent: the *cell* (r, a) of the SWAP parent, or the cell (a) of the
EXTERNAL one.

Node 0 and cell 0 stand for "before the first decision". The nodes of infoset x stand together,
SWAP before EXTERNAL; the cells of a node stand together, row r of a SWAP node from ``first_cell +
r * A``. So one multiplication per node gives its time selection S_b (Lines 5-6 of Algorithm 2),

    rec_reach[node] = rec_reach[parent[node]] * behavior[rec_seq[node]],

and one bottom-up pass that adds each node's value to ``parent_cell`` solves for the best deviation
(``equilibrium/gap.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import psutil

from accord._arrays import Ints
from accord._jit import jit
from accord.deviations.counting import (
    EVALUATION,
    Footprint,
    RechistoryCount,
    count_rechistories,
    rechistories_per_infoset,
)
from accord.deviations.notions import clipped_k
from accord.errors import BudgetError
from accord.treeplex.treeplex import Treeplex

ROOT = 0
"""The node, and the cell, before the first decision."""

NO_RECOMMENDATION = 0
"""As ``rec_seq``: the empty sequence, whose behaviour is 1."""

MAX_CELLS = 2**31 - 2


class RechistoryArrays(NamedTuple):
    """What kernels see of a rechistory tree."""

    first_node: Ints  # [n_infosets + 1] nodes of x: first_node[x] .. first_node[x + 1] - 1
    first_external: Ints  # [n_infosets] those from first_external[x] on are EXTERNAL
    parent: Ints  # [n_nodes] ROOT at the first decision
    rec_seq: Ints  # [n_nodes] what was recommended at the parent; NO_RECOMMENDATION if nothing
    parent_cell: Ints  # [n_nodes] the parent's cell that this node continues
    first_cell: Ints  # [n_nodes + 1] cells of a node


@dataclass(frozen=True, eq=False, repr=False)
class RechistoryTree:
    """All (infoset, rechistory) pairs of one player for one K. Make it with :meth:`build`."""

    plex: Treeplex
    k: int  # min(K, H)
    arrays: RechistoryArrays

    @classmethod
    def build(
        cls,
        plex: Treeplex,
        k: SupportsIndex | float,
        budget: int | None = None,
        footprint: Footprint = EVALUATION,
    ) -> RechistoryTree:
        """Grow the tree, or refuse before allocating.

        Args:
            plex: The player's treeplex.
            k: How many recommendations she may disobey: 0, 1, ..., or ``math.inf``.
            budget: Bytes that the tree and what stands on it may take; by default what is free.
            footprint: What will stand on it.

        Raises:
            BudgetError: If they would not fit.
        """
        count = count_rechistories(plex, k)
        check_budget(count, budget, footprint)
        swap, external = rechistories_per_infoset(plex, count.k)
        return cls(plex, count.k, _grown(plex, count.k, swap, external, triggers=False))

    @classmethod
    def build_triggers(cls, plex: Treeplex, budget: int | None = None) -> RechistoryTree:
        """The tree of trigger policies (Section 3.2): obey until (x, r) is recommended, then never.

        It is the tree of K = 1 with one difference: after the recommendation r at x, playing r
        too is a deviation like any other. Obeying on continues no cell: ``parent_cell`` is
        ``ROOT``.
        """
        swap = np.ones(plex.n_infosets)
        external = np.zeros(plex.n_infosets)
        for start, end in zip(plex.layers[1:-1], plex.layers[2:], strict=True):
            above = plex.seq_infoset[plex.parent_seq[start:end]]
            external[start:end] = external[above] + plex.n_actions[above]
        actions = plex.n_actions
        cells = float((swap * actions**2 + external * actions).sum())
        check_budget(RechistoryCount(1, float(swap.sum()), float(external.sum()), cells), budget)
        return cls(plex, clipped_k(plex, 1), _grown(plex, 1, swap, external, triggers=True))

    @property
    def n_nodes(self) -> int:
        """Rechistories, ``ROOT`` included."""
        return len(self.arrays.parent)

    @property
    def n_cells(self) -> int:
        """(rechistory, modification) cells, ``ROOT``'s included."""
        return int(self.arrays.first_cell[-1])

    @cached_property
    def node_infoset(self) -> Ints:
        """``[n_nodes]`` the infoset of each node; ``ROOT`` has -1."""
        sizes = np.diff(self.arrays.first_node)
        infosets = np.repeat(np.arange(self.plex.n_infosets, dtype=np.int32), sizes)
        return np.concatenate([np.array([-1], np.int32), infosets])

    @cached_property
    def first_row(self) -> Ints:
        """``[n_nodes + 1]`` the decisions of a deviator: one per recommendation at a SWAP node, one
        at an EXTERNAL node, one (unused) at ``ROOT``."""
        rows = np.ones(self.n_nodes, np.int64)
        swap = self.is_swap
        rows[swap] = self.plex.n_actions[self.node_infoset[swap]]
        return np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)

    @cached_property
    def is_swap(self) -> Any:
        """``[n_nodes]`` whether the recommendation is seen at the node."""
        swap = np.zeros(self.n_nodes, bool)
        at = self.node_infoset[1:]
        swap[1:] = np.arange(1, self.n_nodes) < self.arrays.first_external[at]
        return swap

    def rechistory(self, node: int) -> tuple[int, ...]:
        """The recommended actions that the deviator remembers at ``node``: the paper's b."""
        recommended: list[int] = []
        while node != ROOT:
            seq = int(self.arrays.rec_seq[node])
            if seq != NO_RECOMMENDATION:
                recommended.append(seq - int(self.plex.first_seq[self.plex.seq_infoset[seq]]))
            node = int(self.arrays.parent[node])
        return tuple(reversed(recommended))

    def __repr__(self) -> str:
        return f"RechistoryTree(k={self.k}, nodes={self.n_nodes}, cells={self.n_cells})"


def check_budget(
    count: RechistoryCount, budget: int | None = None, footprint: Footprint = EVALUATION
) -> None:
    """Refuse a tree that would need more than ``budget`` bytes, with what stands on it."""
    available = int(psutil.virtual_memory().available) if budget is None else budget
    required = count.bytes(footprint)
    if required > available or count.cells > MAX_CELLS:
        raise BudgetError(
            f"at k = {count.k} there are {count.nodes:.4g} rechistories with {count.cells:.4g} "
            f"cells, which need {required:.3g} bytes; {available:.3g} are available and "
            f"at most {MAX_CELLS:.3g} cells are possible; try a smaller k",
            required=int(required),
            available=int(available),
        )


def _grown(plex: Treeplex, k: int, swap: Any, external: Any, *, triggers: bool) -> RechistoryArrays:
    first_node = np.ones(plex.n_infosets + 1, np.int32)
    first_node[1:] += np.cumsum(swap + external).astype(np.int32)
    first_external = (first_node[:-1] + swap).astype(np.int32)
    size = int(first_node[-1])
    parent, rec_seq, parent_cell = (np.zeros(size, np.int32) for _ in range(3))
    first_cell = np.zeros(size + 1, np.int32)
    arrays = RechistoryArrays(first_node, first_external, parent, rec_seq, parent_cell, first_cell)
    deviations = np.zeros(size, np.int32)
    _grow(plex.arrays, plex.seq_infoset, arrays, k, triggers, deviations)
    for array in arrays:
        array.flags.writeable = False
    return arrays


@jit
def _grow(plex: Any, seq_infoset: Any, tree: Any, k: int, triggers: bool, deviations: Any) -> None:
    """Fill ``tree`` and ``deviations`` infoset by infoset, parents first."""
    tree.first_cell[1] = 1
    for x in range(len(plex.parent_seq)):
        swap, external = tree.first_node[x], tree.first_external[x]
        seq = plex.parent_seq[x]
        if seq != 0:
            y = seq_infoset[seq]
            n = plex.first_seq[y + 1] - plex.first_seq[y]
            a = seq - plex.first_seq[y]
            for above in range(tree.first_node[y], tree.first_external[y]):
                for r in range(n):
                    mismatches = deviations[above] + (r != a)
                    seen = mismatches < k
                    if seen:
                        deviations[swap] = mismatches
                        tree.parent[swap] = above
                        tree.rec_seq[swap] = plex.first_seq[y] + r
                        tree.parent_cell[swap] = (
                            0 if triggers else tree.first_cell[above] + r * n + a
                        )
                        swap += 1
                    if not seen or triggers:
                        tree.parent[external] = above
                        tree.rec_seq[external] = plex.first_seq[y] + r
                        tree.parent_cell[external] = tree.first_cell[above] + r * n + a
                        external += 1
            for above in range(tree.first_external[y], tree.first_node[y + 1]):
                tree.parent[external] = above
                tree.parent_cell[external] = tree.first_cell[above] + a
                external += 1
        n = plex.first_seq[x + 1] - plex.first_seq[x]
        for node in range(tree.first_node[x], tree.first_external[x]):
            tree.first_cell[node + 1] = tree.first_cell[node] + n * n
        for node in range(tree.first_external[x], tree.first_node[x + 1]):
            tree.first_cell[node + 1] = tree.first_cell[node] + n
