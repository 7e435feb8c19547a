"""Correlation plans: a lottery over joint plans, with one number per relevant tuple.

For a lottery over joint plans, xi[tuple] is the probability that all players are told their
sequences (``equilibrium/relevant.py``). Where correlation plans can be filled in
(``equilibrium/filling.py``), xi is a share at every FILL, and any shares make one. So such a plan
is a policy by itself, however many joint plans it mixes:

* *A draw* takes one pass over the steps (``equilibrium/sharing.py``). Every share gives its head to
  one member at random, and a sum tells its head if it tells a member. Shares are drawn
  independently of what was told before, so a tuple is told with probability xi, and what is told
  with nobody else is each player's plan.
* *Losses* are linear in xi. A leaf at which the players' sequences are s is reached with xi[s]
  times the probability of chance. A deviator i who was last told t, and plays toward the leaf,
  reaches it with xi[t, s_-i] times that probability (:meth:`CorrelationPlan.add_deviations`).

A joint plan has the first action wherever a player's own earlier recommendations never lead, so a
deviator hears nothing new: such a policy is mute, and t does not change after the first deviation.

Shares are doubles and stand for themselves divided by their sum. No sum of xi has terms of both
signs, so that its relative error is at most the number of roundings on the way to it
(:attr:`CorrelationPlan.roundings`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from accord._arrays import Bools, Floats, Ints, Longs
from accord._jit import jit
from accord.deviations.rechistory import COARSE, RechistoryArrays, RechistoryTree
from accord.equilibrium.filling import Filling
from accord.equilibrium.relevant import RelevantTuples
from accord.equilibrium.rounding import UNIT
from accord.equilibrium.sharing import Sharing, draw, find_shares, plan_sharing, spread
from accord.equilibrium.validation import SUM_ROUNDING, SUM_TOLERANCE, split_joint
from accord.errors import ArgumentError, PolicyError
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import EMPTY_SEQUENCE, TreeplexArrays

NEVER = -1
"""Stands for what a deviator was told last, at rechistories that never come up."""


@dataclass(frozen=True, eq=False, repr=False)
class PlanSteps:
    """The steps that make all correlation plans of a game. Entries are tuples in their order."""

    form: SequenceForm
    keys: Longs  # [n_tuples] of all tuples, sorted
    strides: Longs  # [n_players] the key of a tuple is the sum of strides times sequences
    number: Ints  # [n_tuples] the entry of each tuple
    sharing: Sharing

    @classmethod
    def of(cls, filling: Filling[Any]) -> PlanSteps:
        """The steps of a filling."""
        tuples = filling.tuples
        sharing, number = plan_sharing(filling)
        return cls(tuples.form, tuples.keys, tuples.strides, number, sharing)

    @classmethod
    def of_game(cls, form: SequenceForm) -> PlanSteps:
        """The steps of a game, made once.

        Raises:
            ArgumentError: If it is not known how to fill in correlation plans of this game.
        """
        if form not in _known:
            filling = Filling.of(RelevantTuples.of_sequences(form)) if form.n_players == 2 else None
            if filling is None:
                raise ArgumentError(
                    "a correlation plan needs a game of two players without chance moves, or a "
                    f"triangle-free one; {form.game.name} is neither"
                )
            _known[form] = cls.of(filling)
        return _known[form]

    @property
    def n_tuples(self) -> int:
        return len(self.keys)

    def entries(self, keys: Longs) -> Ints:
        """The entries of relevant tuples with these keys."""
        return np.asarray(self.number[np.searchsorted(self.keys, keys)])

    def own(self, player: int) -> Ints:
        """``[n_sequences]`` the entries that tell ``player`` each sequence, and nobody else any."""
        count = self.form.plexes[player].n_sequences
        return self.entries(np.arange(count) * self.strides[player])


_known: WeakKeyDictionary[SequenceForm, PlanSteps] = WeakKeyDictionary()


class CorrelationPlan:
    """A lottery over joint plans. Immutable and validated.

    Attributes:
        steps: The steps of the game's correlation plans.
        share: ``[n_tuples]`` the share of each entry in its head; 0 for sums.
        amount: ``[n_tuples]`` xi.
        roundings: The relative error of xi is at most this many units.
    """

    def __init__(self, steps: PlanSteps, share: Floats) -> None:
        """Check shares, and multiply them.

        Raises:
            PolicyError: If they are not non-negative numbers that sum to one at every step.
        """
        share = np.array(share, np.float64)
        if share.shape != (steps.n_tuples,):
            raise PolicyError(
                f"a correlation plan of {steps.form.game.name} needs {steps.n_tuples:,} shares; "
                f"got shape {share.shape}"
            )
        if not (np.isfinite(share) & (share >= 0.0)).all():
            raise PolicyError("the shares of a correlation plan must be finite and not negative")
        off = np.zeros(1)
        largest = _normalize_shares(steps.sharing, share, SUM_ROUNDING, off)
        if largest > SUM_TOLERANCE:
            raise PolicyError(
                f"the shares of a step must sum to one; some sum differs by {largest:.3g}"
            )
        self.steps, self.share = steps, share
        self.amount, unused = np.zeros(steps.n_tuples), np.zeros(steps.n_tuples)
        self.amount[0] = 1.0
        spread(steps.sharing, share, 0.0, self.amount, unused)
        self.roundings = _count_roundings(steps.sharing, math.ceil(off[0] / UNIT), unused)
        for array in (self.share, self.amount):
            array.flags.writeable = False

    @classmethod
    def of_amounts(cls, steps: PlanSteps, amount: Floats) -> CorrelationPlan:
        """The plan with the shares of ``amount``, by entry; even ones where nothing arrives."""
        share = np.zeros(steps.n_tuples)
        find_shares(steps.sharing, amount, share)
        return cls(steps, share)

    @property
    def form(self) -> SequenceForm:
        return self.steps.form

    def reach(self) -> Floats:
        """``[n_sequences]`` the probability that each player is told each sequence."""
        own = [self.amount[self.steps.own(i)] for i in range(self.form.n_players)]
        return np.concatenate(own)

    def mean_behavior(self) -> Floats:
        """``[n_sequences]`` the expected joint plan."""
        mean = self.reach()
        for plex, part in zip(self.form.plexes, split_joint(self.form.plexes, mean), strict=True):
            part[plex.first_seq[:-1]] += np.maximum(1.0 - part[plex.parent_seq], 0.0)
        return mean

    def drawn(self, uniform: Floats) -> Floats:
        """``[n_sequences]`` a joint plan as pure behaviors, drawn with one number per step."""
        told = np.zeros(self.steps.n_tuples, np.bool_)
        told[0] = True
        draw(self.steps.sharing, self.share, uniform, told)
        parts = []
        for i, plex in enumerate(self.form.plexes):
            part = told[self.steps.own(i)].astype(np.float64)
            if plex.n_infosets:
                heard = np.add.reduceat(part[1:], plex.first_seq[:-1] - 1) > 0.0
                part[plex.first_seq[:-1][~heard]] = 1.0
            parts.append(part)
        return np.concatenate(parts)

    @property
    def n_steps(self) -> int:
        """How many numbers a draw takes."""
        return len(self.steps.sharing.head)

    def leaf_probabilities(self, silent: int | None = None) -> Floats:
        """``[n_leaves]`` the probability that the players are told the sequences that lead to each
        leaf, without that of chance; whatever player ``silent`` is told."""
        return np.asarray(self.amount[self.steps.entries(self._leaf_keys(silent))])

    def _leaf_keys(self, silent: int | None = None) -> Longs:
        seqs = self.form.leaves.seqs.astype(np.int64)
        if silent is not None:
            seqs[:, silent] = EMPTY_SEQUENCE
        return np.asarray(seqs @ self.steps.strides)

    def add_deviations(
        self, player: int, tree: RechistoryTree, obedient: Ints, loss: Floats, total: Floats
    ) -> None:
        """Add to ``total``, by cell of a deviator's tree, what they lose there at all leaves.

        ``loss`` is ``[n_leaves]``, in the order of ``player``, and ``obedient`` has the rechistory
        of a player who obeys, by infoset.
        """
        steps, plex, leaves = self.steps, tree.plex, self.form.leaves
        obeys = np.zeros(tree.n_nodes, np.bool_)
        obeys[obedient] = True
        arriving = np.zeros(tree.n_nodes, np.int64)
        _find_arriving(plex.arrays, plex.seq_infoset, tree.arrays, obeys, arriving)
        order = leaves.order(player)
        rest = self._leaf_keys(player)[order]
        seqs = leaves.seqs[order, player]
        _add_leaves(
            plex.arrays, plex.seq_infoset, tree.arrays, obeys, arriving, seqs, rest, loss,
            steps.keys, int(steps.strides[player]), steps.number, self.amount, total,
        )  # fmt: skip


@jit
def _normalize_shares(sharing: Sharing, share: Floats, close: float, off: Floats) -> float:
    """Scale the shares of each step to the sum 1, but not if they are as ``close`` as that;
    overwrite ``off`` with how far those are at most. Shares of sums become 0. Return the largest
    distance of all."""
    largest = 0.0
    share[0] = 1.0
    for step in range(len(sharing.head)):
        first, size = sharing.first[step], sharing.size[step]
        if size < 0:
            share[sharing.head[step]] = 0.0
            continue
        total = 0.0
        for m in range(first, first + size):
            total += share[m]
        far = abs(total - 1.0)
        largest = max(largest, far)
        if far <= close:
            off[0] = max(off[0], far)
        elif total > 0.0:
            for m in range(first, first + size):
                share[m] /= total
    return largest


@jit
def _count_roundings(sharing: Sharing, units: int, count: Floats) -> int:
    """The most roundings on the way to any amount, if sums of shares are off by ``units``;
    ``count`` is room."""
    most = 0.0
    count[0] = 0.0
    for step in range(len(sharing.head)):
        head, first, size = sharing.head[step], sharing.first[step], sharing.size[step]
        if size < 0:
            count[head] = 0.0
            for place in range(first, first - size):
                count[head] = max(count[head], count[sharing.parts[place]])
            count[head] -= size
            most = max(most, count[head])
        for m in range(first, first + size):
            count[m] = count[sharing.head[step]] + size + 3 + units
            most = max(most, count[m])
    return int(most)


@jit
def _find_arriving(
    plex: TreeplexArrays, seq_infoset: Ints, tree: RechistoryArrays, obeys: Bools, arriving: Longs
) -> None:
    """Overwrite ``arriving``, by node the sequence that a deviator was told last: after the first
    deviation they hear nothing new, always the first action. ``obeys`` says where there was none.
    """
    for node in range(1, len(arriving)):
        above, seq = tree.parent[node], tree.rec_seq[node]
        arriving[node] = arriving[above]
        if seq == 0 or arriving[above] == NEVER:
            continue
        if obeys[above]:
            arriving[node] = seq
        elif plex.first_seq[seq_infoset[seq]] != seq:
            arriving[node] = NEVER


@jit
def _add_leaves(
    plex: TreeplexArrays,
    seq_infoset: Ints,
    tree: RechistoryArrays,
    obeys: Bools,
    arriving: Longs,
    seqs: Ints,
    rest: Longs,
    loss: Floats,
    keys: Longs,
    stride: int,
    number: Ints,
    amount: Floats,
    total: Floats,
) -> None:
    """Add to ``total`` the losses of all leaves; ``rest`` has the keys of what others are told."""
    coarse = tree.kinds[0] == COARSE
    for leaf in range(len(seqs)):
        lost, others, seq = loss[leaf], rest[leaf], seqs[leaf]
        if lost == 0.0:
            continue
        if seq == 0:
            total[0] += lost * amount[number[np.searchsorted(keys, others)]]
            continue
        x = seq_infoset[seq]
        first = plex.first_seq[x]
        n, a = plex.first_seq[x + 1] - first, seq - first
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            told, cell = arriving[node], tree.first_cell[node]
            if told == NEVER:
                continue
            now = lost * amount[number[np.searchsorted(keys, others + told * stride)]]
            hears = node < tree.first_external[x]
            if hears and coarse:
                obeyed = number[np.searchsorted(keys, others + seq * stride)]
                total[cell] += lost * amount[obeyed]
                total[cell + 1 + a] += now
            elif hears and obeys[node]:
                for r in range(n):
                    heard = number[np.searchsorted(keys, others + (first + r) * stride)]
                    total[cell + r * n + a] += lost * amount[heard]
            else:  # the first action is recommended, or nothing
                total[cell + a] += now
