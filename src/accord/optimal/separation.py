"""The deviations that a mixture of joint plans invites.

The incentives of player i against a mixture w are the rows

    V[b, r] <= sum_c w_c U_c[b, r, a] + sum_{b' continuing (b, r, a)} sum_{r'} V[b', r'],   V <= 0,

one per cell, where V[b, r] is the least loss of a deviator who is told r at b. A mixture is a
K-EFCE if the least loss of deviating from the start is not less than the loss of obeying, minus
epsilon. For K >= 1 (or an AFCE) and epsilon = 0 that is the same as: at no sequence (x, r) does an
obedient player gain by playing another action a,

    sum_c w_c Obey_c(x, r) <=
        sum_c w_c U_c[b, r, a] + sum_{b' continuing (b, r, a)} sum_{r'} V[b', r'],

with b the obedient rechistory. These are the *triggers*. They need no V at obedient rechistories.

There are many cells, but few matter. The rows are therefore made when they are needed: the sweep of
``equilibrium/gap.py`` finds the best deviation phi from the present mixture, and the cells that phi
passes after a violated trigger (or, if there are no triggers, from the start) become rows. A V
without rows is 0, the worst for the deviator, which is always allowed. So the program is never too
strict, and it is exact when nothing is violated.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.rechistory import ROOT, RechistoryArrays, RechistoryTree
from accord.equilibrium.gap import choose_actions
from accord.treeplex.treeplex import TreeplexArrays


class Separation:
    """Finds the cells of one player whose rows a mixture violates."""

    def __init__(self, tree: RechistoryTree, obedient: Ints, *, triggers: bool) -> None:
        self.tree, self.obedient, self.triggers = tree, obedient, triggers
        order = np.argsort(tree.arrays.parent_cell[1:], kind="stable") + 1
        self.order = order.astype(np.int32)  # nodes by the cell that they continue
        ends = np.arange(tree.n_cells + 1)
        self.first = np.searchsorted(tree.arrays.parent_cell[order], ends).astype(np.int32)
        rows = np.diff(tree.first_row)
        self.row_node = np.repeat(np.arange(tree.n_nodes, dtype=np.int32), rows)
        decisions = np.arange(len(self.row_node), dtype=np.int32)
        self.cell_row = np.repeat(decisions, tree.row_width)  # [n_cells] the deviator's decision
        self.told = np.zeros(tree.n_cells, np.int32)  # the sequence of a trigger's row, else 0
        self.diagonal = np.zeros(tree.plex.n_sequences, np.int32)  # the cell of obeying
        if triggers:
            _mark_triggers(tree.plex.arrays, tree.arrays, obedient, self.told, self.diagonal)

    def violated(
        self, total: Floats, obeying: Floats, allowed: float, tolerance: float
    ) -> tuple[float, Ints]:
        """The largest violation, and the cells that the best deviation passes where it gains.

        Args:
            total: ``[n_cells]`` the sum U of the mixture.
            obeying: ``[n_sequences]`` the losses of obeying from each sequence on.
            allowed: The gain that counts as none.
            tolerance: Smaller violations are ignored.
        """
        tree = self.tree
        best, choice = self._best(total)
        if self.triggers:
            cells = np.flatnonzero(self.told).astype(np.int32)
            gains = obeying[self.told[cells]] - best[cells]
        else:
            cells = np.array([ROOT], np.int32)
            gains = np.array([obeying[0] - best[ROOT]])
        gains -= allowed
        if not len(gains) or gains.max() <= tolerance:
            return 0.0, cells[:0]
        passed = np.zeros(tree.n_cells, np.bool_)
        start = cells[gains > tolerance]
        passed[start] = True
        _pass_on(tree.arrays, tree.first_row, self.order, self.first, choice, best, start, passed)
        return float(gains.max()), np.flatnonzero(passed).astype(np.int32)

    def least_loss(self, total: Floats) -> float:
        """The loss of the best deviation."""
        return float(self._best(total)[0][ROOT])

    def _best(self, total: Floats) -> tuple[Floats, Ints]:
        """``[n_cells]`` the loss from each cell on under the best phi; the choices of phi."""
        tree = self.tree
        best, choice = total.copy(), np.zeros(int(tree.first_row[-1]), np.int32)
        choose_actions(tree.plex.arrays, tree.arrays, tree.first_row, best, choice)
        return best, choice


def settled_flow(tree: RechistoryTree, flow: Floats) -> Floats:
    """The flow from the root, less where more leaves a decision than arrives."""
    flow, none = flow.copy(), np.zeros(0, np.int32)
    settle_flow(
        tree.plex.first_seq, tree.node_infoset, tree.arrays, tree.first_row, none, none,
        tree.plex.parent_seq, flow, np.zeros(tree.plex.n_sequences),
    )  # fmt: skip
    return flow


@jit
def _mark_triggers(
    plex: TreeplexArrays, tree: RechistoryArrays, obedient: Ints, told: Ints, diagonal: Ints
) -> None:
    """Overwrite ``told`` at the cells (r, a), a != r, of obedient nodes, and ``diagonal``."""
    for x in range(len(plex.parent_seq)):
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        cell = tree.first_cell[obedient[x]]
        for r in range(n):
            diagonal[first + r] = cell + r * n + r
            for a in range(n):
                if a != r:
                    told[cell + r * n + a] = first + r


@jit
def _pass_on(
    tree: RechistoryArrays,
    first_row: Ints,
    order: Ints,
    first: Ints,
    choice: Ints,
    best: Floats,
    start: Ints,
    passed: np.typing.NDArray[np.bool_],
) -> None:
    """Mark the cells that phi passes after those in ``start``, as far as anything is gained."""
    pending = [start[0] for _ in range(0)]  # empty, of a type that Numba can infer
    for cell in start:
        pending.append(cell)
    while len(pending) > 0:
        cell = pending.pop()
        for place in range(first[cell], first[cell + 1]):
            node = order[place]
            rows = first_row[node + 1] - first_row[node]
            width = (tree.first_cell[node + 1] - tree.first_cell[node]) // rows
            for r in range(rows):
                after = tree.first_cell[node] + r * width + choice[first_row[node] + r]
                if best[after] < 0.0 and not passed[after]:
                    passed[after] = True
                    pending.append(after)


@jit
def settle_flow(
    first_seq: Ints,
    node_infoset: Ints,
    tree: RechistoryArrays,
    first_row: Ints,
    told: Ints,
    diagonal: Ints,
    plex_parent: Ints,
    flow: Floats,
    obeyed: Floats,
) -> None:
    """Scale ``flow`` down where more leaves a decision than arrives, and take the flow of triggers
    away from the cells of obeying. ``obeyed`` is overwritten."""
    triggers = len(told) > 0
    for seq in range(len(obeyed)):
        obeyed[seq] = 0.0
    for node in range(1, len(tree.parent)):
        x = node_infoset[node]
        rows = first_row[node + 1] - first_row[node]
        n = (tree.first_cell[node + 1] - tree.first_cell[node]) // rows
        for r in range(rows):
            row = tree.first_cell[node] + r * n
            if (
                triggers
                and n > 0
                and (told[row] > 0 or told[row + n - 1] > 0 or diagonal[first_seq[x] + r] == row)
            ):
                for a in range(n):  # triggers start flows
                    obeyed[first_seq[x] + r] += flow[row + a]
                continue
            arriving = flow[tree.parent_cell[node]]
            leaving = 0.0
            for a in range(n):
                leaving += flow[row + a]
            if leaving > arriving:
                for a in range(n):
                    flow[row + a] *= arriving / leaving
    if triggers:
        for x in range(len(plex_parent)):
            for seq in range(first_seq[x], first_seq[x + 1]):
                obeyed[seq] += obeyed[plex_parent[x]]
                flow[diagonal[seq]] -= obeyed[seq]
