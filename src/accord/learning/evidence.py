"""The gain of deviations, estimated from plays and bounded with confidence.

The mediator draws a component c of a mixture and recommends from pi_c. A deviator's loss is a sum
over cells of the rechistory tree (``equilibrium/gap.py``), and each cell is the mean of

    S_b(c) pi_c(r | x) [the player's last decision is a at x] loss / Q_c(x, a)

over plays in which the player explores and the others obey; Q_c is the probability that their own
moves lead to (x, a). One of ``horizon`` sampling policies is drawn for each play: policy e obeys
before layer e, and from there on it plays f pi_c + (1 - f) base. So Q_c is a mean over e. If b and
r first differ from the player's moves at layer h, policy h bounds the cell: its values lie between
0 and

    M = horizon / product over j >= h of (1 - f) base(a_j | x_j).

A deviation that leaves the mediator at x, told r, gains the loss of obeying there, which plays in
which everybody obeys show, minus the loss of what it does instead. The best deviation follows from
one sweep from the last layer to the first: in each row either leave, or add up what can be gained
later. With upper bounds on the losses of obeying and lower bounds on all others the same sweep
bounds the gain of every deviation at once. Infosets that were never seen only add losses, which are
not negative, so the bound covers them too.

Bounds are those of Maurer and Pontil (2009), the empirical Bernstein inequality: for n values in
[0, M] with sample variance V, with probability 1 - delta the mean is at most the sample mean plus

    sqrt(2 V log(2 / delta) / n) + 7 M log(2 / delta) / (3 (n - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryArrays, RechistoryTree
from accord.learning.exploration import spread_behavior
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

FOLLOW = 0.1
"""The share of pi in the policies that explore."""


class Evidence:
    """What plays have shown about one player's deviations.

    Attributes:
        tree: The player's rechistories.
        explored: How many plays the player explored in.
        obeyed: How many plays everybody obeyed in.
    """

    def __init__(self, plex: Treeplex, k: float, behavior: Floats) -> None:
        self.tree, self.behavior = RechistoryTree.build(plex, k), behavior
        self.base = spread_behavior(plex)
        self.horizon = max(1, plex.horizon)
        self.explored = self.obeyed = 0
        n = self.tree.n_cells
        self.loss, self.square = np.zeros(n), np.zeros(n)
        self.obeying, self.obeying_square = np.zeros((2, plex.n_sequences))
        self.passed = np.zeros(plex.n_sequences)  # plays in which obeying led there
        self._rec_reach = np.zeros(self.tree.n_nodes)
        self.obedient = np.zeros(self.tree.n_nodes, np.bool_)
        self.bound = np.zeros(n)
        write_bounds(
            plex.arrays, self.tree.arrays, self.tree.k > 0, self.base, FOLLOW, self.horizon,
            np.ones(self.tree.n_nodes), self.obedient, self.bound,
        )  # fmt: skip

    def explore(self, component: int, path: Sequence[tuple[int, int]], loss: float) -> None:
        """Take in a play in which the player explored."""
        self.explored += 1
        plex, arrays = self.tree.plex.arrays, self.tree.arrays
        moves = np.array(path, np.int32).reshape(-1, 2)
        add_evidence(
            plex, arrays, moves, self.behavior[component], self.base, FOLLOW, self.horizon, loss,
            self._rec_reach, self.loss, self.square,
        )  # fmt: skip

    def obey(self, path: Sequence[tuple[int, int]], loss: float) -> None:
        """Take in a play in which everybody obeyed."""
        self.obeyed += 1
        first = self.tree.plex.first_seq
        seqs = [0, *(int(first[x]) + a for x, a in path)]
        self.obeying[seqs] += loss
        self.obeying_square[seqs] += loss * loss
        self.passed[seqs] += 1.0

    def best(self) -> tuple[float, Modification, Floats]:
        """A promising deviation: its estimated gain, itself, and what each move gains by leaving.

        Where little is known the deviator expects the worst, within about a standard error.
        """
        n, m = max(1, self.explored), max(1, self.obeyed)
        cost = self.loss / n + _errors(self.loss, self.square, n) + self.bound / n
        obeyed = self.obeying / m - _errors(self.obeying, self.obeying_square, m)
        return self._sweep(cost, obeyed)

    def most(self, delta: float) -> float:
        """A bound on the gain of every deviation that holds with probability 1 - delta."""
        tests = int((self.bound > 0.0).sum()) + len(self.obeying)
        n, m, each = self.explored, self.obeyed, delta / tests
        if min(n, m) < 2:
            return math.inf
        low = self.loss / n - bernstein(self.loss, self.square, n, self.bound, each)
        high = self.obeying / m + bernstein(self.obeying, self.obeying_square, m, 1.0, each)
        return self._sweep(np.maximum(low, 0.0), np.minimum(high, 1.0))[0]

    def _sweep(self, cost: Floats, obeyed: Floats) -> tuple[float, Modification, Floats]:
        tree = self.tree
        total, later, leaving = cost.copy(), np.zeros(len(obeyed)), np.zeros(len(obeyed))
        choice = Modification.obey(tree).choice.copy()
        sweep_gains(
            tree.plex.arrays, tree.arrays, tree.first_row, self.obedient, obeyed, total, later,
            leaving, choice,
        )  # fmt: skip
        gain = float(later[0] if tree.k > 0 else obeyed[0] - total[0])
        return gain, Modification(tree, choice), leaving


def bernstein(
    total: Floats | float, square: Floats | float, n: int, bound: Floats | float, delta: float
) -> Any:
    """The margin of the mean of n values in [0, bound], from their sum and sum of squares."""
    logarithm = math.log(2.0 / delta)
    variance = np.maximum(square - np.square(total) / n, 0.0) / (n - 1)
    return np.sqrt(2.0 * variance * logarithm / n) + 7.0 * bound * logarithm / (3.0 * (n - 1))


def _errors(total: Floats, square: Floats, n: int) -> Any:
    """Standard errors of means."""
    variance = np.maximum(square - np.square(total) / n, 0.0) / max(1, n - 1)
    return np.sqrt(variance / n)


@jit
def write_bounds(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    listens: bool,
    base: Floats,
    follow: float,
    horizon: int,
    low: Floats,
    obedient: NDArray[np.bool_],
    bound: Floats,
) -> None:
    """Overwrite ``obedient`` and ``bound``; ``low`` is working memory, 1 at the root.

    The cells of obeying in obedient nodes have no bound and keep 0; nobody needs them.
    """
    obedient[0] = listens
    for x in range(len(plex.parent_seq)):
        seq = plex.parent_seq[x]
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            above = tree.parent[node]
            swap = node < tree.first_external[x]
            obedient[node] = listens and swap and obedient[above] and tree.rec_seq[node] == seq
            if not obedient[node]:
                low[node] = low[above] * ((1.0 - follow) * base[seq] if seq != 0 else 1.0)
            rows = n if swap else 1
            cell = tree.first_cell[node]
            for r in range(rows):
                for a in range(n):
                    if not (obedient[node] and r == a):
                        bound[cell] = horizon / (low[node] * (1.0 - follow) * base[first + a])
                    cell += 1


@jit
def add_evidence(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    path: Ints,
    behavior: Floats,
    base: Floats,
    follow: float,
    horizon: int,
    loss: float,
    rec_reach: Floats,
    total: Floats,
    square: Floats,
) -> None:
    """Add a play's value to every cell that it informs, and its square."""
    if len(path) == 0:
        total[0] += loss
        square[0] += loss * loss
        return
    reach = 0.0
    for policy in range(horizon):
        now = 1.0
        for j in range(len(path)):
            seq = plex.first_seq[path[j, 0]] + path[j, 1]
            if j < policy:
                now *= behavior[seq]
            else:
                now *= follow * behavior[seq] + (1.0 - follow) * base[seq]
        reach += now / horizon
    rec_reach[0] = 1.0
    for j in range(len(path)):
        x = path[j, 0]
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            rec_reach[node] = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
    x, a = path[len(path) - 1]
    first = plex.first_seq[x]
    n = plex.first_seq[x + 1] - first
    for node in range(tree.first_node[x], tree.first_node[x + 1]):
        value = rec_reach[node] * loss / reach
        if value == 0.0:
            continue
        cell = tree.first_cell[node] + a
        if node < tree.first_external[x]:
            for r in range(n):
                seen = value * behavior[first + r]
                total[cell] += seen
                square[cell] += seen * seen
                cell += n
        else:
            total[cell] += value
            square[cell] += value * value


@jit
def sweep_gains(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    first_row: Ints,
    obedient: NDArray[np.bool_],
    obeyed: Floats,
    total: Floats,
    later: Floats,
    leaving: Floats,
    choice: Ints,
) -> None:
    """Find the best deviation; ``later[0]`` becomes its gain.

    ``total`` has the losses of the cells, and ``obeyed`` those of obeying after each sequence. To
    ``later`` is added what can be gained after each sequence by leaving later, and ``leaving`` and
    ``choice`` are overwritten where the deviation leaves the mediator.
    """
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        for node in range(tree.first_node[x + 1] - 1, tree.first_node[x] - 1, -1):
            rows = first_row[node + 1] - first_row[node]
            value = 0.0
            for r in range(rows):
                cell = tree.first_cell[node] + r * n
                best = -1
                for a in range(n):
                    mine = obedient[node] and a == r
                    if not mine and (best < 0 or total[cell + a] < total[cell + best]):
                        best = a
                if not obedient[node]:
                    choice[first_row[node] + r] = best
                    value += total[cell + best]
                    continue
                gain = obeyed[first + r] - total[cell + best] if best >= 0 else -1.0
                if gain > later[first + r]:
                    choice[first_row[node] + r] = best
                    leaving[first + r] = gain
                    value += gain
                else:
                    value += later[first + r]
            if obedient[node]:
                later[plex.parent_seq[x]] += value
            else:
                total[tree.parent_cell[node]] += value
