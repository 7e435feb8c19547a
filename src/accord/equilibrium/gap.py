"""The K-EFCE gap, exactly, and the deviation that attains it.

Definition 2 of Song, Mei, Bai 2022: with weights w_t over product policies pi^t,

    gap_i = max over phi of  sum_t w_t ( V_i^{phi o pi_i^t x pi_-i^t} - V_i^{pi^t} ).

For fixed phi the deviator's loss is linear in the products S_b^t pi^t(r | x) l^t(x, a), so the sums

    SWAP      U_b[r, a] = sum_t w_t S_b^t pi^t(r | x) l^t(x, a)
    EXTERNAL  U_b[a]    = sum_t w_t S_b^t l^t(x, a)

over all policies are all that is needed, l being the *immediate* loss. The best phi follows from
one sweep from the last layer to the first: at each rechistory and recommendation take the action
with the least total, and add the node's total to the cell of its parent that it continues. What
arrives at cell 0 is the least loss of any deviation; the actions taken are the witness phi.

The trees of other notions than K-EFCE (``deviations/rechistory.py``) take the same sums and the
same sweep. A cell that obeys whatever is recommended has

    COARSE, OBEDIENT  U_b[obey] = sum_t w_t S_b^t sum_r pi^t(r | x) l^t(x, r).

Memory does not grow with the number of policies: each is added and forgotten. Everything that
evaluates a deviator adds up U with :class:`Deviator`: the regret and the gap here, certificates,
inspections and hindsight through ``equilibrium/evaluation.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.modification import Modification
from accord.deviations.notions import NotionLike
from accord.deviations.rechistory import COARSE, OBEDIENT, RechistoryArrays, RechistoryTree
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import Measured, Measuring
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex, TreeplexArrays
from accord.treeplex.values import compute_cf_loss, immediate_loss, joint_reach


class Deviator:
    """One player with one rechistory tree: the sums U, to which policies are added one by one.

    Fed with a loss of 1 for every play, U holds probabilities: of each rechistory and
    recommendation, for a player who plays toward it.
    """

    def __init__(self, tree: RechistoryTree) -> None:
        self.tree = tree
        self.total = np.zeros(tree.n_cells)  # U
        self._rec_reach = np.zeros(tree.n_nodes)

    def add(self, behaviors: Floats, losses: Floats, weights: Floats) -> None:
        """Add policies and the immediate counterfactual ``losses`` they met, a row for each."""
        plex, tree = self.tree.plex.arrays, self.tree.arrays
        add_deviation_loss(plex, tree, behaviors, losses, weights, self._rec_reach, self.total)

    def taken(self) -> Floats:
        """U, which this deviator then no longer has: for sweeps, which work in place."""
        total = self.total
        self.total = self._rec_reach = np.empty(0)
        return total


class RegretMeter:
    """The K-EFCE regret of one player's policies against whatever happened, Equation (7) of the
    paper, or that of another notion.

    Feed it every policy with the immediate losses it met; ask at any time. Works for one player
    alone against arbitrary opponents, and with weights for the gap of a mixture.

    Args:
        plex: The player's treeplex.
        k: How many recommendations a deviator may see and disobey, or another notion by name.
        budget: Bytes of memory that may be used; by default all that is free.

    Attributes:
        tree: The rechistories of the player.
        total_weight: The sum of the weights of all policies so far.
        own_loss: The weighted sum of their expected losses.
        deviation_loss: The weighted sums of the losses of deviations, by cell of the tree.

    Raises:
        ArgumentError: If ``k`` is neither a K nor a notion with a rechistory tree.
        BudgetError: If there are too many rechistories.
    """

    def __init__(self, plex: Treeplex, k: NotionLike, budget: int | None = None) -> None:
        self.tree = RechistoryTree.build(plex, k, budget)
        self.total_weight = 0.0
        self.own_loss = 0.0
        self._deviator = Deviator(self.tree)
        self.deviation_loss = self._deviator.total  # U
        self._cf_loss = np.zeros(plex.n_sequences)

    def observe(self, behavior: Floats, loss: Floats, weight: float = 1.0) -> None:
        """Add one policy and the immediate counterfactual ``loss`` it met, both over sequences.

        Losses are normalized (:func:`accord.treeplex.immediate_loss`).
        """
        compute_cf_loss(self.tree.plex.arrays, behavior, loss, self._cf_loss)
        self.own_loss += weight * float(self._cf_loss[0])
        self.total_weight += weight
        self._deviator.add(behavior[np.newaxis], loss[np.newaxis], np.array([weight]))

    def regret(self) -> float:
        """The total loss that the best phi would have saved, in normalized losses."""
        return self.best_deviation()[0]

    def best_deviation(self) -> tuple[float, Modification]:
        """The regret and the modification that attains it."""
        least, phi = best_deviation(self.tree, self.deviation_loss.copy())
        return self.own_loss - least, phi

    def forget(self) -> None:
        """Forget all policies."""
        self.total_weight = self.own_loss = 0.0
        self.deviation_loss[:] = 0.0


class MixtureMeter:
    """The K-EFCE gaps of a mixture of joint policies, to which components are added one by one."""

    def __init__(self, form: SequenceForm, k: NotionLike, budget: int | None = None) -> None:
        self.form, self.observed = form, 0
        self.meters = [RegretMeter(plex, k, budget) for plex in form.plexes]
        self._measuring = Measuring(form)

    def observe(self, behaviors: Sequence[Floats], weight: float = 1.0) -> None:
        """Add one component, the behaviors of all players."""
        self.observed += 1
        reach = joint_reach(self.form.plexes, behaviors)
        for i, meter in enumerate(self.meters):
            meter.observe(behaviors[i], immediate_loss(self.form.leaves, i, reach), weight)

    def forget(self) -> None:
        """Forget all components."""
        self.observed = 0
        for meter in self.meters:
            meter.forget()

    def measured(self) -> Measured:
        """Gaps and values of the mixture so far, in payoff units, with their errors."""
        return self._measuring.measured(
            np.array([meter.own_loss for meter in self.meters]),
            np.array([meter.regret() for meter in self.meters]),
            self.meters[0].total_weight,
            self.observed,
        )


def efce_gaps(policy: CorrelatedPolicy, k: NotionLike) -> Floats:
    """``[n_players]`` the K-EFCE gaps of a mixture in payoff units, without witnesses."""
    meter = MixtureMeter(policy.form, k)
    for weight, behaviors in policy.components():
        meter.observe(behaviors, weight)
    return meter.measured().gaps


def best_deviation(tree: RechistoryTree, total: Floats) -> tuple[float, Modification]:
    """The least total loss of any phi and a phi that has it. Ties: obey, else the first.

    Overwrites ``total``, which has the sums U.
    """
    phi = best_continuation(tree, total)
    return float(total[0]), phi


def best_continuation(tree: RechistoryTree, total: Floats) -> Modification:
    """Add to each cell of ``total``, which has the sums U, the loss of all that follows under the
    best phi; return that phi."""
    choice = np.zeros(int(tree.first_row[-1]), np.int32)
    choose_actions(tree.plex.arrays, tree.arrays, tree.first_row, total, choice)
    return Modification(tree, choice)


def add_continuation(phi: Modification, total: Floats) -> None:
    """Add to each cell of ``total``, which has sums U, the loss of all that follows under phi."""
    tree = phi.tree
    sum_chosen(tree.plex.arrays, tree.arrays, tree.first_row, phi.choice, total)


@jit
def add_deviation_loss(
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    behaviors: Floats,
    losses: Floats,
    weights: Floats,
    rec_reach: Floats,
    total: Floats,
) -> None:
    """Add each policy's ``w S_b p(r) l(a)`` to ``total``; overwrite ``rec_reach`` with its S_b.

    Infosets from which on no loss is met, because the others never let the player come there, are
    left out. They are most of a large game, and their S_b are needed nowhere else.
    """
    coarse, agent = tree.kinds[0] == COARSE, tree.kinds[1] == OBEDIENT
    met = np.empty(losses.shape[1], np.bool_)  # whether there is a loss at this sequence or later
    for t in range(len(weights)):
        behavior, loss, weight = behaviors[t], losses[t], weights[t]
        for seq in range(len(met)):
            met[seq] = loss[seq] != 0.0
        for x in range(len(plex.parent_seq) - 1, -1, -1):
            for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
                if met[seq]:
                    met[plex.parent_seq[x]] = True
        rec_reach[0] = 1.0
        total[0] += weight * loss[0]  # leaves before the first decision
        for x in range(len(plex.parent_seq)):
            first = plex.first_seq[x]
            n = plex.first_seq[x + 1] - first
            reached = False
            for seq in range(first, first + n):
                reached = reached or met[seq]
            if not reached:
                continue
            obeyed = 0.0
            if coarse or agent:
                for r in range(first, first + n):
                    obeyed += behavior[r] * loss[r]
            cell = tree.first_cell[tree.first_node[x]]
            for node in range(tree.first_node[x], tree.first_external[x]):
                now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
                rec_reach[node] = now
                if now == 0.0:
                    cell += n + 1 if coarse else n * n
                    continue
                if coarse:
                    total[cell] += weight * now * obeyed
                    for a in range(n):
                        total[cell + 1 + a] += weight * now * loss[first + a]
                    cell += n + 1
                    continue
                for r in range(first, first + n):
                    seen = weight * now * behavior[r]
                    for a in range(first, first + n):
                        total[cell] += seen * loss[a]
                        cell += 1
            for node in range(tree.first_external[x], tree.first_node[x + 1]):
                now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
                rec_reach[node] = now
                if now == 0.0:
                    cell += 1 if agent else n
                    continue
                if agent:
                    total[cell] += weight * now * obeyed
                    cell += 1
                    continue
                for a in range(first, first + n):
                    total[cell] += weight * now * loss[a]
                    cell += 1


@jit
def choose_actions(
    plex: TreeplexArrays, tree: RechistoryArrays, first_row: Ints, total: Floats, choice: Ints
) -> None:
    """Sweep bottom-up: overwrite ``choice`` with the best phi; ``total[0]`` becomes its loss."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        for node in range(tree.first_node[x + 1] - 1, tree.first_node[x] - 1, -1):
            rows = first_row[node + 1] - first_row[node]
            width = (tree.first_cell[node + 1] - tree.first_cell[node]) // rows
            value = 0.0
            for r in range(rows):
                cell = tree.first_cell[node] + r * width
                best = r  # the cell of obeying; at an EXTERNAL node the first action
                for a in range(width):
                    if total[cell + a] < total[cell + best]:
                        best = a
                choice[first_row[node] + r] = best
                value += total[cell + best]
            total[tree.parent_cell[node]] += value


@jit
def sum_chosen(
    plex: TreeplexArrays, tree: RechistoryArrays, first_row: Ints, choice: Ints, total: Floats
) -> None:
    """Sweep bottom-up: add to each cell of ``total`` what follows it when phi is ``choice``."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        for node in range(tree.first_node[x + 1] - 1, tree.first_node[x] - 1, -1):
            rows = first_row[node + 1] - first_row[node]
            width = (tree.first_cell[node + 1] - tree.first_cell[node]) // rows
            value = 0.0
            for r in range(rows):
                value += total[tree.first_cell[node] + r * width + choice[first_row[node] + r]]
            total[tree.parent_cell[node]] += value
