"""The tree of recommendation histories of one player.

A deviator at infoset x remembers the recommendations on the path to x: a *rechistory* b, Section 3
of Song, Mei, Bai 2022. With ``(a_1, ..., a_{h-1})`` the actions that lead to x,

* b_{1:h-1} is SWAP (Type I) if fewer than K of its entries differ from the a's: the deviator still
  sees the recommendation at x and may swap it;
* b_{1:h'} is EXTERNAL (Type II) if its last entry, at h', is its K-th mismatch: the mediator has
  been silent since.

The pairs (infoset, rechistory) form a tree. Below a SWAP node at x, for each recommendation r and
each infoset x' that follows (x, a), there is a SWAP node if the mismatches so far plus [r != a]
stay below K, else an EXTERNAL node; below an EXTERNAL node there are EXTERNAL nodes. A node
continues one *cell* of its parent: (r, a) if the parent is SWAP, (a) if it is EXTERNAL.

Node 0 and cell 0 stand for "before the first decision". The nodes of infoset x are consecutive,
SWAP before EXTERNAL; so are the cells of a node, where row r of a SWAP node starts at ``first_cell
+ r * A``. So one multiplication per node gives its time selection S_b (Lines 5-6 of Algorithm 2),

    rec_reach[node] = rec_reach[parent[node]] * behavior[rec_seq[node]],

and one bottom-up pass that adds each node's value to ``parent_cell`` solves for the best deviation
(``equilibrium/gap.py``).

*Other notions* (``deviations/notions.py``) have trees of the same shape, with other kinds of nodes:

* COARSE, in place of SWAP: the deviator decides before seeing the recommendation. One row: the
  first cell obeys, the others leave and play a. Nodes after obedience continue the first cell.
* OBEDIENT, in place of EXTERNAL: the deviator obeys. One row with one cell, which all nodes below
  continue; their ``rec_seq`` is the sequence that leads to them.

In every row of every tree the cell to take for obeying is the one whose number in the row is the
number of the row in its node: (r, r) at a SWAP node, the first cell elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord._memory import available_memory
from accord.deviations.counting import (
    EVALUATION,
    Footprint,
    RechistoryCount,
    count_rechistories,
    count_triggers,
    rechistories_per_infoset,
    triggers_per_infoset,
)
from accord.deviations.notions import (
    EFCE,
    Notion,
    NotionLike,
    as_notion,
    check_tree,
    clipped_k,
)
from accord.errors import BudgetError
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

ROOT = 0
"""The node, and the cell, before the first decision."""

NO_RECOMMENDATION = 0
"""Stands for a ``rec_seq`` where there is none: the empty sequence, whose behavior is 1."""

SWAP, COARSE, EXTERNAL, OBEDIENT = range(4)
"""The kinds of nodes."""

MAX_CELLS = 2**31 - 2
"""The largest number of cells that int32 indices allow."""


class RechistoryArrays(NamedTuple):
    """The arrays of a rechistory tree that kernels use."""

    first_node: Ints  # [n_infosets + 1] nodes of x: first_node[x] .. first_node[x + 1] - 1
    first_external: Ints  # [n_infosets] those from first_external[x] on are of the second kind
    parent: Ints  # [n_nodes] ROOT at the first decision
    rec_seq: Ints  # [n_nodes] the sequence recommended at the parent, or NO_RECOMMENDATION
    parent_cell: Ints  # [n_nodes] the parent's cell that this node continues
    first_cell: Ints  # [n_nodes + 1] cells of a node: first_cell[node] .. first_cell[node + 1] - 1
    kinds: Ints  # [2] SWAP or COARSE, and EXTERNAL or OBEDIENT


@dataclass(frozen=True, eq=False, repr=False)
class RechistoryTree:
    """All (infoset, rechistory) pairs of one player for one notion, usually a K-EFCE.

    Use :meth:`build` to make one.
    """

    plex: Treeplex
    k: int  # min(K, H)
    arrays: RechistoryArrays
    notion: Notion

    @classmethod
    def build(
        cls,
        plex: Treeplex,
        k: NotionLike,
        budget: int | None = None,
        footprint: Footprint = EVALUATION,
    ) -> RechistoryTree:
        """Build the tree, or refuse before allocating memory.

        Args:
            plex: The player's treeplex.
            k: The number of recommendations that the deviator may disobey: 0, 1, ..., or
                ``math.inf``; or another notion by name, such as ``"efcce"``.
            budget: Bytes that the tree and the arrays on it may use; by default all free memory.
            footprint: The size of those arrays.

        Raises:
            ArgumentError: If ``k`` is neither a K nor a notion with such a tree.
            BudgetError: If they do not fit.
        """
        notion = as_notion(k)
        check_tree(notion)
        count = count_rechistories(plex, notion)
        check_budget(count, budget, footprint)
        swap, external = rechistories_per_infoset(plex, count.k, coarse=notion.coarse)
        arrays = _grown(plex, notion, count.k, swap, external, triggers=False)
        return cls(plex, count.k, arrays, notion)

    @classmethod
    def build_triggers(cls, plex: Treeplex, budget: int | None = None) -> RechistoryTree:
        """The tree of trigger policies (Section 3.2): obey until (x, r) is recommended, then never.

        It is the tree of K = 1 with one difference: after the recommendation r at x, playing r is a
        deviation like any other action. A node after obedience continues no cell: its
        ``parent_cell`` is ``ROOT``.
        """
        check_budget(count_triggers(plex), budget)
        arrays = _grown(plex, EFCE, 1, *triggers_per_infoset(plex), triggers=True)
        return cls(plex, clipped_k(plex, 1), arrays, EFCE)

    @property
    def n_nodes(self) -> int:
        """Number of rechistories, including ``ROOT``."""
        return len(self.arrays.parent)

    @property
    def n_cells(self) -> int:
        """Number of (rechistory, modification) cells, including that of ``ROOT``."""
        return int(self.arrays.first_cell[-1])

    @cached_property
    def node_infoset(self) -> Ints:
        """``[n_nodes]`` the infoset of each node; -1 at ``ROOT``."""
        sizes = np.diff(self.arrays.first_node)
        infosets = np.repeat(np.arange(self.plex.n_infosets, dtype=np.int32), sizes)
        return np.concatenate([np.array([-1], np.int32), infosets])

    @cached_property
    def first_row(self) -> Ints:
        """``[n_nodes + 1]`` rows of a node. A row is a decision of the deviator: one per
        recommendation at a SWAP node, one at any other node, one (unused) at ``ROOT``."""
        rows = np.ones(self.n_nodes, np.int32)
        swap = self.is_swap
        rows[swap] = self.plex.n_actions[self.node_infoset[swap]]
        first = np.zeros(self.n_nodes + 1, np.int32)
        np.cumsum(rows, dtype=np.int32, out=first[1:])
        return first

    @cached_property
    def is_swap(self) -> NDArray[np.bool_]:
        """``[n_nodes]`` whether the deviator sees the recommendation before deciding."""
        swap = np.zeros(self.n_nodes, bool)
        swap[1:] = self.kind[1:] == SWAP
        return swap

    @cached_property
    def kind(self) -> Ints:
        """``[n_nodes]`` the kind of each node; EXTERNAL at ``ROOT``, where nothing is decided."""
        kind = np.full(self.n_nodes, EXTERNAL, np.int32)
        at = self.node_infoset[1:]
        after = np.arange(1, self.n_nodes, dtype=np.int32) >= self.arrays.first_external[at]
        kind[1:] = self.arrays.kinds[after.astype(np.int32)]
        return kind

    @cached_property
    def row_width(self) -> Ints:
        """``[n_rows]`` the number of cells in each row. The rows of a node follow each other, so
        that the cells of all rows, in order, are all cells."""
        rows = np.diff(self.first_row)
        return np.repeat(np.diff(self.arrays.first_cell) // rows, rows)

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
        k = self.k if self.notion.k is not None else self.notion
        return f"RechistoryTree(k={k}, nodes={self.n_nodes}, cells={self.n_cells})"


def check_budget(
    count: RechistoryCount, budget: int | None = None, footprint: Footprint = EVALUATION
) -> None:
    """Refuse a tree that, with the arrays on it, needs more than ``budget`` bytes."""
    available = available_memory() if budget is None else budget
    required = count.bytes(footprint)
    if required > available or count.cells > MAX_CELLS:
        counted = f"{count.nodes:.4g} rechistories with {count.cells:.4g} cells"
        if not count.nodes:
            counted = f"{count.cells:.4g} pairs of sequences"
        raise BudgetError(
            f"at k = {count.k} there are {counted}, which need {required:.3g} bytes; "
            f"{available:.3g} are available and at most {MAX_CELLS:.3g} cells are possible; try a "
            "smaller k",
            required=int(required),
            available=int(available),
        )


def _grown(
    plex: Treeplex, notion: Notion, k: int, swap: Floats, external: Floats, *, triggers: bool
) -> RechistoryArrays:
    """The tree with these numbers of nodes of the first and the second kind per infoset."""
    first_node = np.ones(plex.n_infosets + 1, np.int32)
    first_node[1:] += np.cumsum(swap + external).astype(np.int32)
    first_external = (first_node[:-1] + swap).astype(np.int32)
    size = int(first_node[-1])
    parent, rec_seq, parent_cell = (np.zeros(size, np.int32) for _ in range(3))
    first_cell = np.zeros(size + 1, np.int32)
    kinds = [COARSE if notion.coarse else SWAP, OBEDIENT if notion.agent else EXTERNAL]
    arrays = RechistoryArrays(
        first_node, first_external, parent, rec_seq, parent_cell, first_cell,
        np.array(kinds, np.int32),
    )  # fmt: skip
    deviations = np.zeros(size, np.int32)
    _grow(plex.arrays, plex.seq_infoset, arrays, k, triggers, deviations)
    for array in arrays:
        array.flags.writeable = False
    return arrays


@jit
def _grow(
    plex: TreeplexArrays,
    seq_infoset: Ints,
    tree: RechistoryArrays,
    k: int,
    triggers: bool,
    deviations: Ints,
) -> None:
    """Overwrite ``tree`` and ``deviations``, infoset by infoset, parents first."""
    tree.first_cell[1] = 1
    coarse, agent = tree.kinds[0] == COARSE, tree.kinds[1] == OBEDIENT
    for x in range(len(plex.parent_seq)):
        swap, external = tree.first_node[x], tree.first_external[x]
        seq = plex.parent_seq[x]
        if seq != 0:
            y = seq_infoset[seq]
            n = plex.first_seq[y + 1] - plex.first_seq[y]
            a = seq - plex.first_seq[y]
            for above in range(tree.first_node[y], tree.first_external[y]):
                if coarse:
                    tree.parent[swap] = tree.parent[external] = above
                    tree.rec_seq[swap] = seq  # obeyed
                    tree.parent_cell[swap] = tree.first_cell[above]
                    tree.parent_cell[external] = tree.first_cell[above] + 1 + a
                    swap += 1
                    external += 1
                    continue
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
                tree.rec_seq[external] = seq if agent else 0
                tree.parent_cell[external] = tree.first_cell[above] + (0 if agent else a)
                external += 1
        n = plex.first_seq[x + 1] - plex.first_seq[x]
        for node in range(tree.first_node[x], tree.first_external[x]):
            tree.first_cell[node + 1] = tree.first_cell[node] + (n + 1 if coarse else n * n)
        for node in range(tree.first_external[x], tree.first_node[x + 1]):
            tree.first_cell[node + 1] = tree.first_cell[node] + (1 if agent else n)
