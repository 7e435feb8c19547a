"""A correlated policy as each player meets it: obeying, and deviating.

*Obeying.* Say everybody obeys, and component t of the mixture has weight w_t. A player comes to
infoset x and is told r there, which is sequence (x, r). Three sums describe it:

    prob(x, r)     = sum_t w_t pi^t_{1:h}(x, r) P^t(x)       its probability;
    loss(x, r)     = sum_t w_t pi^t_{1:h}(x, r) L^t(x, r)    its probability times expected loss;
    external(x, r) = sum_t w_t P^t(x)                        the same for a player who heads for it;

P^t(x) is the probability that chance and the others of pi^t allow the player to come to x, and L^t
the counterfactual loss (``treeplex/values.py``). P is L in a game in which every play loses 1.
Losses are in payoff units, measured from a *center*, the player's expected payoff under the
heaviest component. So they are small where plays end, and payoffs that are never paid cost no
digits (``equilibrium/rounding.py``).

*Deviating.* The sums U of ``equilibrium/gap.py``, completed by the sweep for the best phi, are at
cell (b, r, a) the loss of a player who remembers b, is told r, plays a and follows phi from there,
times the probability of b and r. The same sums with 1 for the loss of every play are that
probability; the quotient is what the player expects, given everything they know.

*The two compared.* The *obedient* rechistory at x is that of a player who did all they were told.
Its cells (r, r), added up from the last layer to the first, are the loss of obeying. They are the
same numbers, added in the same order, as those of the best deviation. Rounding is monotone, so the
loss that deviating saves is never negative, and 0 where nothing is gained. In a coarse tree, where
the deviator decides before seeing r, the cells that obey take the place of (r, r).

*Trembling.* All of this may be measured against others whose hands tremble: at each of their
infosets, with probability e, they take an action at random instead of the recommended one, each
with the same probability, and the recommendations continue as planned. For player i the others then
play (1 - e) pi_j + e / A at each infoset, and i's own part stays as it is.

*Correlation plans* have no components. All these sums are linear in xi, so they are added up leaf
by leaf (``equilibrium/correlation_plan.py``), with the expected payoff as center.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.modification import Modification
from accord.deviations.rechistory import ROOT, RechistoryArrays, RechistoryTree
from accord.equilibrium.correlation_plan import CorrelationPlan
from accord.equilibrium.gap import Deviator, add_continuation, best_continuation
from accord.equilibrium.linear_gap import LinearDeviator
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import UNIT, Rounding, count_roundings, settled
from accord.errors import ArgumentError
from accord.treeplex.form import SequenceForm
from accord.treeplex.leaves import CenteredLeaves
from accord.treeplex.strategy import compute_reaches
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex, TreeplexArrays
from accord.treeplex.values import (
    compute_centered_loss,
    compute_cf_loss,
    expected_values,
    respond,
)

BLOCK_NUMBERS = 1 << 16
"""Numbers in the policies that are evaluated by one call of a kernel."""

TREMBLE_ROUNDINGS = 4
"""Operations that make the probability of a move of a trembling hand."""

THREADED = 10_000_000
"""Numbers in a policy from which on each player has a thread."""

ByPlayer = Mapping[int, Sequence[Deviator | LinearDeviator]]
"""The deviators of each player who is evaluated, by the player's number."""


@dataclass(frozen=True, eq=False, repr=False)
class Obedience:
    """One player when everybody obeys, over the player's sequences."""

    plex: Treeplex
    prob: Floats  # [n_sequences] of getting there and being told so
    loss: Floats  # [n_sequences] expected loss of those plays, times that probability
    external: Floats  # [n_sequences] probability that chance and the others allow it
    center: float  # the payoff from which losses are measured
    gain: float  # expected excess of the payoff over the center, where there is one
    stake: float  # the same for a player who sees the component and plays to maximize it
    rounding: Rounding

    def reach(self, x: int) -> float:
        """Probability that an obedient player comes to infoset ``x``."""
        return float(self.prob[self.plex.first_seq[x] : self.plex.first_seq[x + 1]].sum())

    def value(self) -> tuple[float, float]:
        """The player's expected payoff, and its error."""
        loss = float(self.loss[0])
        value = self.center - loss
        return settled(value, float(self.rounding.error(loss, self.gain)) + UNIT * abs(value))

    def error(self, obeying: Floats | float, deviating: Floats | float) -> Floats:
        """The largest error of the difference of these losses, of which the second is a least."""
        bound, stake = self.rounding.error, self.stake
        return np.asarray(bound(obeying, stake) + bound(deviating, stake))

    def saved(self, least_loss: float, obeying: float | None = None) -> tuple[float, float]:
        """What a deviation saves whose loss is ``least_loss``, and its error.

        Obeying loses ``obeying``; by default the loss over whole plays.
        """
        obeying = float(self.loss[0]) if obeying is None else obeying
        return settled(obeying - least_loss, float(self.error(obeying, least_loss)))


def evaluate(
    policy: CorrelatedPolicy,
    deviators: ByPlayer,
    probabilities: ByPlayer | None = None,
    tremble: float = 0.0,
) -> dict[int, Obedience]:
    """Add every component of ``policy`` to all deviators, in one pass over the components.

    Players share nothing, so that in a large game each has a thread.

    Args:
        policy: What is recommended.
        deviators: Fed with the losses that each component brings.
        probabilities: Fed with 1 for the loss of every play.
        tremble: The probability with which each of the others' moves is taken at random.

    Returns:
        For each player in ``deviators``, what happens when everybody obeys.
    """
    form = policy.form
    if policy.plan is not None:
        if tremble:
            raise ArgumentError(
                "trembles are measured for mixtures, and the policy is a correlation plan; take a "
                "sample of its joint plans: policy.sampled(1000)"
            )
        return _evaluate_plan(policy, policy.plan, deviators, probabilities or {})
    sums = {i: Sums(form, i, center) for i, center in centers(policy).items() if i in deviators}
    rows = max(1, BLOCK_NUMBERS // form.n_sequences)
    large = policy.n_components * form.n_sequences > THREADED and len(sums) > 1

    def add(block: Block, i: int) -> None:
        met, met_prob = sums[i].add(block)
        for deviator in deviators[i]:
            deviator.add(block.behaviors[i], met, block.weights)
        for deviator in probabilities[i] if probabilities else ():
            deviator.add(block.behaviors[i], met_prob, block.weights)

    with ThreadPoolExecutor(len(sums)) if large else nullcontext() as pool:
        each = map if pool is None else pool.map
        for start in range(0, policy.n_components, rows):
            block = Block(policy, np.arange(start, min(start + rows, policy.n_components)), tremble)
            for _ in each(partial(add, block), sums):
                pass
    slips = TREMBLE_ROUNDINGS * UNIT if tremble else 0.0
    return {i: own.obedience(policy, slips=slips) for i, own in sums.items()}


def _evaluate_plan(
    policy: CorrelatedPolicy, plan: CorrelationPlan, deviators: ByPlayer, probabilities: ByPlayer
) -> dict[int, Obedience]:
    """:func:`evaluate` for a correlation plan."""
    form, found, told = policy.form, {}, plan.leaf_probabilities()
    for i, center in centers(policy).items():
        if i not in deviators:
            continue
        plex, leaves = form.plexes[i], form.leaves.centered(i, center)
        order = form.leaves.order(i)
        here, allowed = told[order], plan.leaf_probabilities(i)[order]
        seqs = form.leaves.seqs[order, i]
        prob, loss, external = (
            np.bincount(seqs, part, plex.n_sequences).astype(np.float64, copy=False)
            for part in (leaves.prob * here, leaves.loss * here, leaves.prob * allowed)
        )
        for total in (prob, loss):
            _sum_sequences(plex.arrays, total)
        _sum_first(plex.arrays, external)
        for one, losses in [(one, leaves.loss) for one in deviators[i]] + [
            (one, leaves.prob) for one in probabilities.get(i, ())
        ]:
            if not isinstance(one, Deviator) or one.tree.notion.agent:
                raise ArgumentError("a correlation plan has gaps at every K and for EFCCE only")
            plan.add_deviations(i, one.tree, obedient_nodes(one.tree), losses, one.total)
        best, worst = float(form.leaves.best[i]), float(form.leaves.worst[i])
        largest = max(abs(center - best), abs(center - worst))
        roundings = count_roundings(form, i, 1) + plan.roundings
        rounding = Rounding.of(roundings, float(len(seqs)) * plan.steps.n_tuples, largest)
        # No deviator gets to a leaf more often than the others are told to.
        stake = float(leaves.gain @ allowed)
        if form.leaves.spread is None:
            stake = min(stake, max(0.0, best - center))
        gain = float(leaves.gain @ here)
        found[i] = Obedience(plex, prob, loss, external, center, gain, stake, rounding)
    return found


class Block:
    """Some components of a policy.

    Attributes:
        weights: ``[rows]`` their weights.
        behaviors: ``[rows, n_sequences]`` per player.
        reach: ``[rows, n_sequences of all players]``.
    """

    def __init__(
        self,
        policy: CorrelatedPolicy,
        components: NDArray[np.integer[Any]],
        tremble: float = 0.0,
    ) -> None:
        form, joint = policy.form, policy.behavior[components]
        self.weights = policy.weights[components]
        self.behaviors = tuple(np.ascontiguousarray(part) for part in form.split(joint))
        self._first = form.leaves.first_reach
        self.reach = self._reaches(form, self.behaviors)
        self._trembling = None
        if tremble:
            parts = zip(form.plexes, self.behaviors, strict=True)
            self._trembling = self._reaches(form, [trembling(*part, tremble) for part in parts])

    def _reaches(self, form: SequenceForm, behaviors: Sequence[Floats]) -> Floats:
        reach = np.empty((len(self.weights), form.n_sequences))
        starts = self._first[:-1].tolist()
        for plex, own, first in zip(form.plexes, behaviors, starts, strict=True):
            compute_reaches(plex.arrays, own, first, reach)
        return reach

    def reach_for(self, player: int) -> Floats:
        """``reach`` as ``player`` meets it: the others' hands may tremble, the player's do not."""
        if self._trembling is None:
            return self.reach
        own = slice(self._first[player], self._first[player + 1])
        reach = self._trembling.copy()
        reach[:, own] = self.reach[:, own]
        return reach


def trembling(plex: Treeplex, behaviors: Floats, tremble: float) -> Floats:
    """``[rows, n_sequences]`` the policies ``behaviors`` of a player whose hand trembles."""
    uniform = np.append(0.0, np.repeat(1.0 / plex.n_actions, plex.n_actions))
    trembled = (1.0 - tremble) * behaviors + tremble * uniform
    trembled[:, EMPTY_SEQUENCE] = 1.0
    return trembled


def centers(policy: CorrelatedPolicy) -> dict[int, float]:
    """By player the payoff that losses are measured from: that under the heaviest component, or
    under a correlation plan."""
    form = policy.form
    if policy.plan is not None:
        return dict(enumerate(policy.values().tolist()))
    heaviest = Block(policy, np.array([policy.weights.argmax()]))
    values = expected_values(form.leaves, heaviest.reach[0])
    return dict(enumerate(values.tolist()))


class Sums:
    """One player's sums over the components so far, and what the last component brought."""

    def __init__(self, form: SequenceForm, player: int, center: float) -> None:
        self.form, self.player, self.center = form, player, center
        self.plex, self.leaves = form.plexes[player], form.leaves.centered(player, center)
        n = self.plex.n_sequences
        self._sums = np.zeros((3, n))
        self.prob, self.loss, self.external = self._sums
        self._excess = np.zeros(2)  # the sums of Obedience's gain and stake
        self._room = np.empty((3, n))
        self._actions = np.empty(self.plex.n_infosets, np.int32)

    def add(self, block: Block) -> tuple[Floats, Floats]:
        """Add components; return the immediate losses they met, and those with 1 for every play.

        These are ``[rows, n_sequences]``.
        """
        own = block.behaviors[self.player]
        met, met_prob = np.empty_like(own), np.empty_like(own)
        _add_components(
            self.plex.arrays, self.leaves, int(self.form.leaves.first_reach[self.player]),
            block.weights, own, block.reach_for(self.player), met, met_prob,
            self._room, self._actions, self._sums, self._excess,
        )  # fmt: skip
        return met, met_prob

    def obedience(
        self, policy: CorrelatedPolicy, roundings: int = 0, slips: float = 0.0
    ) -> Obedience:
        """The result, if these were all components.

        ``roundings`` are those of further sums, ``slips`` the relative error of a probability that
        trembling has changed.
        """
        excess = policy.excess + slips
        count = count_roundings(self.form, self.player, policy.n_components, excess)
        best, worst = self.form.leaves.best[self.player], self.form.leaves.worst[self.player]
        largest = max(abs(self.center - float(best)), abs(self.center - float(worst)))
        terms = float(policy.n_components) * len(self.form.leaves)
        rounding = Rounding.of(count + roundings, terms, largest)
        return Obedience(
            self.plex, self.prob, self.loss, self.external,
            self.center, float(self._excess[0]), float(self._excess[1]), rounding,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class BestDeviation:
    """A player's best deviation phi, and its loss from every cell onward.

    Losses are multiplied by the probability of the cell or sequence.
    """

    phi: Modification
    loss: Floats  # [n_cells] loss from each cell onward under phi
    obedient: Ints  # [n_infosets] the obedient rechistory; at K = 0 the only one
    obeying: Floats | None  # [n_sequences] loss from each recommended sequence onward when the
    # player obeys; of a coarse deviator [1 + n_infosets], before the play and from each infoset
    # onward; None at K = 0, where nothing is recommended
    prob: Floats | None = None  # [n_cells] the probability, if it was added up

    @classmethod
    def of(cls, deviator: Deviator, probability: Deviator | None = None) -> BestDeviation:
        """Solve for the best deviation; ``probability`` was fed with 1 for every play's loss.

        Both are solved in the memory of their sums, which they then no longer have.
        """
        tree = deviator.tree
        obedient = obedient_nodes(tree)
        obeying = None
        if tree.k:
            obeying = (_coarse_obeying_loss if tree.notion.coarse else _obeying_loss)(
                deviator, obedient
            )
        loss = deviator.taken()
        phi = best_continuation(tree, loss)
        prob = None if probability is None else probability.taken()
        if prob is not None:
            add_continuation(phi, prob)
        return cls(phi, loss, obedient, obeying, prob)

    @property
    def tree(self) -> RechistoryTree:
        return self.phi.tree

    @property
    def least_loss(self) -> float:
        """The expected loss of the deviation over a whole play."""
        return float(self.loss[ROOT])

    def cells(self, x: int) -> Floats:
        """``[rows, cells]`` part of ``loss`` at ``x`` after obeying.

        That is ``[told, played]``, but ``[1, played]`` at K = 0, and of a coarse deviator
        ``[1, 1 + played]``, where the first cell obeys.
        """
        node = self.obedient[x]
        first, end = self.tree.arrays.first_cell[node : node + 2]
        rows = int(self.tree.first_row[node + 1] - self.tree.first_row[node])
        return self.loss[first:end].reshape(rows, -1)

    def chosen(self) -> tuple[Ints, Floats]:
        """``[n_sequences - 1]`` what phi plays after obeying, when told each action, and its loss.

        For deviators who see recommendations.
        """
        tree, counts = self.tree, self.tree.plex.n_actions
        told = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        plays = self.phi.choice[np.repeat(tree.first_row[self.obedient], counts) + told]
        first_cell = np.repeat(tree.arrays.first_cell[self.obedient], counts)
        return plays, self.loss[first_cell + told * np.repeat(counts, counts) + plays]

    def obeying_at(self, x: int) -> Floats:
        """``[rows]`` part of ``obeying`` at ``x``: one per recommendation, or one if coarse."""
        assert self.obeying is not None, "at K = 0 nothing is recommended"
        if self.tree.notion.coarse:
            return self.obeying[1 + x : 2 + x]
        first_seq = self.tree.plex.first_seq
        return self.obeying[first_seq[x] : first_seq[x + 1]]


def obedient_nodes(tree: RechistoryTree) -> Ints:
    """``[n_infosets]`` the rechistory of a player who did all they were told.

    At K = 0 nothing is told, and it is the only rechistory.
    """
    obedient = np.empty(tree.plex.n_infosets, np.int32)
    _find_obedient(tree.plex.arrays, tree.plex.seq_infoset, tree.arrays, obedient)
    return obedient


def _obeying_loss(deviator: Deviator, obedient: Ints) -> Floats:
    """``[n_sequences]`` the loss from each recommended sequence onward when the player obeys."""
    tree, plex = deviator.tree, deviator.tree.plex
    total = np.empty(plex.n_sequences)
    told = np.arange(1, plex.n_sequences) - np.repeat(plex.first_seq[:-1], plex.n_actions)
    first_cell = np.repeat(tree.arrays.first_cell[obedient], plex.n_actions)
    diagonal = first_cell + told * (np.repeat(plex.n_actions, plex.n_actions) + 1)
    total[0] = deviator.total[ROOT]
    total[1:] = deviator.total[diagonal]
    _sum_sequences(plex.arrays, total)
    return total


def _coarse_obeying_loss(deviator: Deviator, obedient: Ints) -> Floats:
    """``[1 + n_infosets]`` the loss before the play, and from each infoset onward, of obeying."""
    tree, plex = deviator.tree, deviator.tree.plex
    total = np.empty(1 + plex.n_infosets)
    total[0] = deviator.total[ROOT]
    total[1:] = deviator.total[tree.arrays.first_cell[obedient]]
    _sum_infosets(plex.parent_seq, plex.seq_infoset, total)
    return total


@jit
def _add_components(
    plex: TreeplexArrays,
    leaves: CenteredLeaves,
    first: int,
    weights: Floats,
    behaviors: Floats,
    reaches: Floats,
    met: Floats,
    met_prob: Floats,
    room: Floats,
    actions: Ints,
    sums: Floats,
    excess: Floats,
) -> None:
    """Overwrite the rows of ``met`` and ``met_prob``; add them up in ``sums`` and ``excess``.

    The player's own sequences start at ``first`` in ``reaches``. ``room`` and ``actions`` are
    working memory.
    """
    cf_loss, cf_prob, gain = room[0], room[1], room[2]
    prob, loss, external = sums[0], sums[1], sums[2]
    for t in range(len(weights)):
        weight, reach = weights[t], reaches[t]
        compute_centered_loss(leaves, reach, met[t], met_prob[t], gain)
        compute_cf_loss(plex, behaviors[t], met[t], cf_loss)
        compute_cf_loss(plex, behaviors[t], met_prob[t], cf_prob)
        gained = 0.0
        for seq in range(len(prob)):
            told = weight * reach[first + seq]
            prob[seq] += told * cf_prob[seq]
            loss[seq] += told * cf_loss[seq]
            external[seq] += weight * cf_prob[seq]
            gained += reach[first + seq] * gain[seq]
            gain[seq] = -gain[seq]
        respond(plex, gain, actions)
        excess[0] += weight * gained
        excess[1] -= weight * gain[0]


@jit
def _sum_sequences(plex: TreeplexArrays, total: Floats) -> None:
    """Add to each sequence's ``total``, and to that before the play, those of all that follow."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        value = 0.0
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            value += total[seq]
        total[plex.parent_seq[x]] += value


@jit
def _sum_first(plex: TreeplexArrays, total: Floats) -> None:
    """Add to each sequence's ``total`` those of the first actions at all that follows."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        total[plex.parent_seq[x]] += total[plex.first_seq[x]]


@jit
def _sum_infosets(parent_seq: Ints, seq_infoset: Ints, total: Floats) -> None:
    """Add to each infoset's ``total``, and to that before the play, those of all that follow."""
    for x in range(len(parent_seq) - 1, -1, -1):
        seq = parent_seq[x]
        above = 0 if seq == 0 else 1 + seq_infoset[seq]
        total[above] += total[1 + x]


@jit
def _find_obedient(
    plex: TreeplexArrays, seq_infoset: Ints, tree: RechistoryArrays, obedient: Ints
) -> None:
    """Overwrite ``obedient`` infoset by infoset, parents first."""
    for x in range(len(plex.parent_seq)):
        seq = plex.parent_seq[x]
        obedient[x] = tree.first_node[x]  # K = 0: EXTERNAL, and the only one
        for node in range(tree.first_node[x], tree.first_external[x]):
            above = tree.parent[node]
            if tree.rec_seq[node] != seq:
                continue
            if seq == 0 or above == obedient[seq_infoset[seq]]:
                obedient[x] = node
                break
