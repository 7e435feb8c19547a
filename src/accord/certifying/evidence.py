"""The gain of deviations, estimated from plays and bounded with confidence.

The mediator draws a component c of a mixture and recommends from pi_c. A deviator's loss is a sum
over cells of the rechistory tree (``equilibrium/gap.py``), and each cell is the mean of

    S_b(c) pi_c(r | x) [the player's last decision is a at x] loss / Q_c(x, a)

over plays in which the player explores and the others obey; Q_c is the probability that their own
moves lead to (x, a). One of several sampling policies is drawn for each play: policy e obeys before
layer e, and from there on it plays f pi_c + (1 - f) base. So Q_c is a weighted mean over e. The
weights are those with which obedient plays reach the layers.

A deviation that leaves the mediator at x, told r, gains the loss of obeying there, minus the loss
of what it does instead. Plays in which everybody obeys estimate the former. One sweep from the last
layer to the first finds the best deviation: in each row it either leaves, or adds up what can be
gained later. Infosets that no exploring play has seen are accounted for: after leaving they only
add losses, which are not negative, so they may be left out; and a deviation that leaves in one of
them gains at most the loss of the obedient plays that get there.

*The upper bound* needs no union over deviations. The gap is the gain of the best deviation phi,
which is unknown but does not depend on the plays. Let d be the sum of its cells in one play, and
let V >= d be what that sum would be if every row led to the last move. For a fixed rate l > 0, with
probability 1 - delta,

    E d  >=  mean of (d / V) log(1 + l V) / l  -  log(1 / delta) / (l n),

and for the loss h of obeying in the rows that phi leaves, and a fixed rate k > 0,

    E h  <=  (k mean of h  +  log(1 / delta) / m) / (1 - exp(-k)).

Both right sides are sums over cells and a constant, so the same sweep finds their largest
difference over all deviations, which is at least the difference for phi. ``docs/theory/bandit.md``
has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.certifying.footprint import check_memory, derived_bytes
from accord.deviations.counting import count_rechistories
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryArrays, RechistoryTree
from accord.treeplex.strategy import spread_behavior
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

FOLLOW = 0.1
"""f, the share of pi in the policies that explore."""


TYPICAL_LOSS = 0.5
"""The rate k is chosen to be best for this loss of obeying. Any number gives a valid bound."""


class Evidence:
    """Estimates, from plays, of what each cell of one player's deviations loses.

    Without ``estimates``, which take by far the most memory, it only counts obedient plays, and
    there is no bound (:meth:`most`).

    Attributes:
        tree: The player's rechistories.
        obedient: Whether the player has always obeyed at each of them.
        weights: The probabilities of the sampling policies.
        explored: The number of plays in which the player explored.
        obeyed: The number of plays in which everybody obeyed.
    """

    def __init__(
        self, plex: Treeplex, k: float, behavior: Floats, *, estimates: bool = True
    ) -> None:
        self.tree, self.behavior, self.estimates = (
            RechistoryTree.build(plex, k),
            behavior,
            estimates,
        )
        self.base = spread_behavior(plex)
        self.weights = np.full(max(1, plex.horizon), 1.0 / max(1, plex.horizon))
        self.explored = self.obeyed = 0
        n = self.tree.n_cells if estimates else 0
        self.loss, self.square, self.damped = np.zeros(n), np.zeros(n), np.zeros(n)
        self.rate, self.undamped = 0.0, 0  # of damping, and how many plays came before it
        self.obeying, self.unseen = np.zeros((2, plex.n_sequences))
        self.passed = np.zeros(plex.n_sequences)  # plays in which obeying led there
        self._rec_reach = np.zeros(self.tree.n_nodes)
        self.obedient = np.zeros(self.tree.n_nodes, np.bool_)
        write_obedient(plex.arrays, self.tree.arrays, self.tree.k > 0, self.obedient)
        self.doubt = np.zeros(n)
        self._reached = np.ones(len(self.weights))  # plays in which obeying reached each layer
        self.plan()

    def plan(self) -> None:
        """Choose the sampling policies by the obedient plays so far, before the player explores."""
        self.weights = self._reached / self._reached.sum()
        plex = self.tree.plex
        if self.estimates:
            write_doubts(
                plex.arrays, plex.depth, self.tree.arrays, self.base, self.weights, self.obedient,
                self.doubt,
            )  # fmt: skip

    def explore(self, component: int, path: Sequence[tuple[int, int]], loss: float) -> None:
        """Add a play in which the player explored."""
        self.explored += 1
        plex, arrays = self.tree.plex.arrays, self.tree.arrays
        moves = np.array(path, np.int32).reshape(-1, 2)
        add_evidence(
            plex, arrays, moves, self.behavior[component], self.base, self.weights, loss,
            self.tree.k > 0, self.rate, self._rec_reach, self.loss, self.square, self.damped,
        )  # fmt: skip

    def obey(self, path: Sequence[tuple[int, int]], loss: float, *, complete: bool = True) -> None:
        """Add a play in which everybody obeyed; it may end outside the tree."""
        self.obeyed += 1
        first = self.tree.plex.first_seq
        seqs = [0, *(int(first[x]) + a for x, a in path)]
        self.obeying[seqs] += loss
        self.passed[seqs] += 1.0
        self._reached[: len(path)] += 1.0
        if not complete:
            self.unseen[seqs[-1]] += loss

    def damp(self, plays: int, delta: float) -> None:
        """Choose the rate at which the next ``plays`` plays are damped, for :meth:`most`.

        It is the best rate for the deviation that is best if obeying always has the largest loss.
        """
        n, m = max(1, self.explored), max(1, self.obeyed)
        leaves = self._sweep(self._pessimistic(), self.passed / m, np.zeros(len(self.passed)))[1]
        second = self._chosen(leaves, self.damped) / n
        self.damped[:] = 0.0
        self.rate = math.sqrt(2.0 * math.log(1.0 / delta) / (max(1, plays) * max(second, 1.0 / n)))
        self.undamped = self.explored

    def most(self, delta: float) -> float:
        """A bound on the gain of every deviation that holds with probability 1 - delta."""
        n, m, logarithm = self.explored - self.undamped, self.obeyed, math.log(2.0 / delta)
        if min(n, m) < 1 or self.rate == 0.0 or not self.estimates:
            return math.inf
        rate = math.sqrt(2.0 * logarithm / (TYPICAL_LOSS * m))
        scale = rate / -math.expm1(-rate)
        margin = logarithm * (scale / rate / m + 1.0 / (self.rate * n))
        unseen = scale * self.unseen / m
        return self._sweep(self.damped / n, scale * self.obeying / m, unseen)[0] + margin

    def _pessimistic(self) -> Floats:
        """The losses of the cells, made larger by about a standard error and one play.

        Infosets where no play ended get nothing added: they are many, but rarely reached.
        """
        n, tree = max(1, self.explored), self.tree
        cost: Floats = self.loss / n + _errors(self.loss, self.square, n)
        if tree.plex.n_infosets:
            starts = tree.arrays.first_cell[tree.arrays.first_node[:-1]]
            known = np.add.reduceat(self.loss, starts) > 0.0
            sizes = np.diff([*starts.tolist(), tree.n_cells])
            cost[starts[0] :] += np.repeat(known, sizes) * self.doubt[starts[0] :] / n
        return cost

    def _sweep(self, cost: Floats, obeyed: Floats, unseen: Floats) -> tuple[float, Modification]:
        """The best deviation and its gain, by these losses of cells and of obeying."""
        tree, total, later = self.tree, cost.copy(), unseen.copy()
        choice = Modification.obey(tree).choice.copy()
        sweep_gains(
            tree.plex.arrays, tree.arrays, tree.first_row, self.obedient, obeyed, total, later,
            choice,
        )  # fmt: skip
        gain = float(later[0] if tree.k > 0 else obeyed[0] - total[0])
        return gain, Modification(tree, choice)

    def _chosen(self, phi: Modification, cells: Floats) -> float:
        """The sum of the cells of a deviation, from where it leaves the mediator."""
        tree = self.tree
        taken = np.zeros(tree.n_cells, np.bool_)
        return float(
            add_up(
                tree.plex.arrays, tree.arrays, tree.first_row, self.obedient, phi.choice, cells,
                taken,
            )
        )  # fmt: skip


def check_evidence(
    plexes: Sequence[Treeplex], k: float, budget: int | None = None, *, estimates: bool = True
) -> None:
    """Refuse evidence about the deviations of all players that does not fit into memory.

    Raises:
        BudgetError: If it takes more than ``budget`` bytes, by default all that is free.
    """
    counts = [count_rechistories(plex, k) for plex in plexes]
    held = sum(one.tree_bytes + 9 * one.nodes + 4 * one.rows for one in counts)
    parts = {"rechistories": held + derived_bytes(counts)}
    if estimates:
        parts["sums"] = sum(32.0 * one.cells for one in counts)
        parts["the search for the best"] = max(24.0 * one.cells for one in counts)
    advice = "give more memory, or try a smaller k"
    check_memory("bounding the gain of every deviation", parts, budget, advice)


def _errors(total: Floats, square: Floats, n: int) -> Any:
    """Standard errors of means."""
    variance = np.maximum(square - np.square(total) / n, 0.0) / max(1, n - 1)
    return np.sqrt(variance / n)


@jit
def write_obedient(
    plex: TreeplexArrays, tree: RechistoryArrays, listens: bool, obedient: NDArray[np.bool_]
) -> None:
    """Overwrite ``obedient``: at which rechistories a player who ``listens`` always obeyed."""
    obedient[0] = listens
    for x in range(len(plex.parent_seq)):
        seq = plex.parent_seq[x]
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            swap = node < tree.first_external[x]
            above = obedient[tree.parent[node]]
            obedient[node] = listens and swap and above and tree.rec_seq[node] == seq


@jit
def write_doubts(
    plex: TreeplexArrays,
    depth: Ints,
    tree: RechistoryArrays,
    base: Floats,
    weights: Floats,
    obedient: NDArray[np.bool_],
    doubt: Floats,
) -> None:
    """Overwrite ``doubt``: the value of a cell in one play, about the largest.

    If b and r first differ from the player's moves at layer h, sampling policy h shows that values
    are at most 1 / (its weight times the product over j >= h of (1 - f) base(a_j | x_j)), times the
    probability of the recommendations from h on. For these it is assumed that all actions are
    recommended equally often. Obeying in obedient nodes keeps 0; nobody needs it.
    """
    low, share = np.ones(len(tree.parent)), np.ones(len(tree.parent))
    low[0] = weights[0]
    width = np.ones(len(tree.parent))  # actions at the infoset of each node
    for x in range(len(plex.parent_seq)):
        seq = plex.parent_seq[x]
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            above = tree.parent[node]
            swap = node < tree.first_external[x]
            width[node] = n
            if obedient[node]:
                low[node] = weights[depth[x]]
            else:
                low[node] = low[above] * ((1.0 - FOLLOW) * base[seq] if seq != 0 else 1.0)
                share[node] = share[above] / (width[above] if tree.rec_seq[node] != 0 else 1.0)
            rows = n if swap else 1
            cell = tree.first_cell[node]
            for r in range(rows):
                for a in range(n):
                    if not (obedient[node] and r == a):
                        most = 1.0 / (low[node] * (1.0 - FOLLOW) * base[first + a])
                        doubt[cell] = most * share[node] / rows
                    cell += 1


@jit
def add_evidence(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    path: Ints,
    behavior: Floats,
    base: Floats,
    weights: Floats,
    loss: float,
    listens: bool,
    rate: float,
    rec_reach: Floats,
    total: Floats,
    square: Floats,
    damped: Floats,
) -> None:
    """Add a play's value to every cell that it informs, its square, and its damped value.

    Without a rate, ``damped`` gets the value times V. Summed over the cells of a deviation that is
    at least the square of their sum.
    """
    if len(path) == 0:
        total[0] += loss
        square[0] += loss * loss
        damped[0] += math.log1p(rate * loss) / rate if rate > 0.0 else loss * loss
        return
    reach = 0.0
    for policy in range(len(weights)):
        now = weights[policy]
        for j in range(len(path)):
            seq = plex.first_seq[path[j, 0]] + path[j, 1]
            if j < policy:
                now *= behavior[seq]
            else:
                now *= FOLLOW * behavior[seq] + (1.0 - FOLLOW) * base[seq]
        reach += now
    rec_reach[0] = 1.0
    obeyed = 1.0
    for j in range(len(path)):
        x = path[j, 0]
        obeyed *= behavior[plex.first_seq[x] + path[j, 1]]
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            rec_reach[node] = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
    most = loss / reach * (max(1.0 - obeyed, 0.0) if listens else 1.0)  # V
    damping = most
    if rate > 0.0:
        damping = math.log1p(rate * most) / (rate * most) if most > 0.0 else 0.0
    x, a = path[len(path) - 1]
    first = plex.first_seq[x]
    n = plex.first_seq[x + 1] - first
    for node in range(tree.first_node[x], tree.first_node[x + 1]):
        value = rec_reach[node] * loss / reach
        if value == 0.0:
            continue
        cell = tree.first_cell[node] + a
        swap = node < tree.first_external[x]
        for r in range(n if swap else 1):
            seen = value * behavior[first + r] if swap else value
            total[cell] += seen
            square[cell] += seen * seen
            damped[cell] += seen * damping
            cell += n


@jit
def sweep_gains(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    first_row: Ints,
    obedient: NDArray[np.bool_],
    obeyed: Floats,
    total: Floats,
    later: Floats,
    choice: Ints,
) -> None:
    """Find the best deviation; ``later[0]`` becomes its gain.

    ``total`` has the losses of the cells, and ``obeyed`` those of obeying after each sequence. What
    can be gained after each sequence, by leaving later, is added to ``later``. ``choice`` is
    overwritten where the deviation leaves the mediator, and after that.
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
                    value += gain
                else:
                    value += later[first + r]
            if obedient[node]:
                later[plex.parent_seq[x]] += value
            else:
                total[tree.parent_cell[node]] += value


@jit
def add_up(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    first_row: Ints,
    obedient: NDArray[np.bool_],
    choice: Ints,
    cells: Floats,
    taken: NDArray[np.bool_],
) -> float:
    """The sum of ``cells`` over the rows of a deviation that it reaches after it has left.

    ``taken`` is overwritten: whether the deviation takes each cell.
    """
    total = 0.0
    taken[0] = True
    if not obedient[0]:
        total += cells[0]
    for x in range(len(plex.parent_seq)):
        n = plex.first_seq[x + 1] - plex.first_seq[x]
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            if not taken[tree.parent_cell[node]]:
                continue
            for r in range(first_row[node + 1] - first_row[node]):
                a = choice[first_row[node] + r]
                cell = tree.first_cell[node] + r * n + a
                taken[cell] = True
                if not (obedient[node] and a == r):
                    total += cells[cell]
    return total
