"""Strategy modifications phi and their execution.

A K-EFCE strategy modification phi (Definition 1 of Song, Mei, Bai 2022) swaps the recommendation
at every SWAP rechistory and picks an action at every EXTERNAL one. It is a vector over the rows of
a :class:`~accord.deviations.rechistory.RechistoryTree`:
``choice[first_row[node] + r]`` is phi(x, b, r) at a SWAP node, and ``choice[first_row[node]]`` is
phi(x, b) at an EXTERNAL one. In the trees of other notions a choice is the number of a cell in its
row: at a COARSE node 0 obeys and 1 + a leaves to play a, and at an OBEDIENT node there is only 0.

:meth:`Modification.execute` is Algorithm 1. :meth:`Modification.sequence_form` is the exact policy
that it induces, by Lemma D.1:

    (phi o pi)_{1:h}(x, a) = sum over rechistories b at x of S_b * [phi took the path to x]
                             * sum_r pi(r | x) [phi(x, b, r) = a]        (SWAP), or [phi(x, b) = a].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.rechistory import (
    EXTERNAL,
    ROOT,
    SWAP,
    RechistoryArrays,
    RechistoryTree,
)
from accord.errors import ArgumentError
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex, TreeplexArrays


@dataclass(frozen=True, eq=False, repr=False)
class Modification:
    """One player's strategy modification phi."""

    tree: RechistoryTree
    choice: Ints  # [n_rows] the action, or cell, at each (rechistory, recommendation)

    def __post_init__(self) -> None:
        limit, chosen = self.tree.row_width, self.choice  # nothing is chosen in the row of ROOT
        if len(chosen) != len(limit) or ((chosen < 0) | (chosen >= limit))[1:].any():
            raise ArgumentError(
                f"a modification must choose a valid action in each of the "
                f"{len(limit)} rows of its rechistory tree; got {len(chosen)} choices"
            )

    @property
    def plex(self) -> Treeplex:
        """The treeplex of the player who deviates."""
        return self.tree.plex

    @classmethod
    def obey(cls, tree: RechistoryTree) -> Modification:
        """Follow every recommendation; take the first action where there is none."""
        choice = np.arange(int(tree.first_row[-1])) - np.repeat(
            tree.first_row[:-1], np.diff(tree.first_row)
        )
        return cls(tree, choice.astype(np.int32))

    def obedient(self) -> Modification:
        """The modification of the same tree that follows every recommendation."""
        return Modification.obey(self.tree)

    def execute(
        self, infosets: Iterable[int], recommend: Callable[[int], int]
    ) -> Iterator[tuple[int, int]]:
        """Algorithm 1: play phi o pi.

        Args:
            infosets: The player's infosets in the order in which the game reveals them. Each may
                depend on the action yielded before it.
            recommend: Draws the recommendation of pi at an infoset. Called only where the mediator
                speaks and the deviator listens: for a K-EFCE, while b is Type I.

        Yields:
            ``(infoset, action taken)`` for each of the ``infosets``.
        """
        tree, plex = self.tree, self.tree.plex
        seq, cell = EMPTY_SEQUENCE, ROOT  # the player's last move, and the cell that it took

        def told(x: int) -> int:
            recommended = recommend(x)
            if not 0 <= recommended < plex.n_actions[x]:
                raise ArgumentError(
                    f"a recommendation at infoset {x} must be one of its {plex.n_actions[x]} "
                    f"actions; got {recommended}"
                )
            return recommended

        for x in infosets:
            if not 0 <= x < plex.n_infosets or plex.parent_seq[x] != seq:
                raise ArgumentError(
                    f"infoset {x} does not follow the infosets and actions before it"
                )
            node = self.continuing(x, cell)
            kind, row = int(tree.kind[node]), int(tree.first_row[node])
            cell = int(tree.arrays.first_cell[node])
            if kind == SWAP:  # b is Type I
                recommended = told(x)
                action = int(self.choice[row + recommended])
                cell += recommended * int(plex.n_actions[x]) + action
            elif kind == EXTERNAL:  # b is Type II: its last mismatch was the K-th
                action = int(self.choice[row])
                cell += action
            elif self.choice[row] == 0:  # obeys whatever is recommended
                action = told(x)
            else:  # leaves before seeing it
                action = int(self.choice[row]) - 1
                cell += 1 + action
            seq = int(plex.first_seq[x]) + action
            yield x, action

    def continuing(self, x: int, cell: int) -> int:
        """The node of ``x`` that continues ``cell``."""
        arrays = self.tree.arrays
        first, end = int(arrays.first_node[x]), int(arrays.first_node[x + 1])
        return first + int(np.flatnonzero(arrays.parent_cell[first:end] == cell)[0])

    def sequence_form(self, behavior: Floats) -> Floats:
        """``[n_sequences]`` the reach of phi o pi, where pi has this ``behavior``."""
        reach = np.zeros(self.tree.plex.n_sequences)
        visits = np.zeros(self.tree.n_nodes)
        _modify(
            self.tree.plex.arrays, self.tree.arrays, self.tree.node_infoset, self.tree.first_row,
            self.choice, behavior, visits, reach,
        )  # fmt: skip
        return reach

    def __repr__(self) -> str:
        return f"Modification(k={self.tree.k}, rows={len(self.choice)})"


@jit
def _modify(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    node_infoset: Ints,
    first_row: Ints,
    choice: Ints,
    behavior: Floats,
    visits: Floats,
    reach: Floats,
) -> None:
    """Overwrite ``visits`` with the probability that phi reaches each node, given that the game
    leads there, and ``reach`` with the sequence form of phi o pi."""
    visits[0] = 1.0
    reach[:] = 0.0
    reach[0] = 1.0
    for x in range(len(plex.parent_seq)):
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            above = tree.parent[node]
            seq = tree.rec_seq[node]
            chance = visits[above]
            if above != 0 and chance > 0.0:
                # The recommendation gives the parent's row, whose choice must lead to x.
                rows = first_row[above + 1] - first_row[above]
                width = (tree.first_cell[above + 1] - tree.first_cell[above]) // rows
                r = seq - plex.first_seq[node_infoset[above]] if rows > 1 else 0
                chosen = tree.first_cell[above] + r * width + choice[first_row[above] + r]
                if chosen != tree.parent_cell[node]:
                    chance = 0.0
                chance *= behavior[seq]
            visits[node] = chance
            if chance == 0.0:
                continue
            kind = tree.kinds[0] if node < tree.first_external[x] else tree.kinds[1]
            taken = choice[first_row[node]]
            if kind == SWAP:
                for r in range(n):
                    reach[first + choice[first_row[node] + r]] += chance * behavior[first + r]
            elif kind == EXTERNAL:
                reach[first + taken] += chance
            elif taken == 0:  # obeys
                for r in range(first, first + n):
                    reach[r] += chance * behavior[r]
            else:
                reach[first + taken - 1] += chance
