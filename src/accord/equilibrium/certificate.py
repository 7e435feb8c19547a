"""How far a correlated policy is from equilibrium, exactly, and the deviation that proves it.

A certificate holds, for each K asked for, the K-EFCE gap of every player in payoff units
(unclamped: for K >= 1 a gap cannot be negative, because phi may obey; at K = 0 it can) and her
best deviation, both as a modification phi and in words. Beside them stand the gaps of
neighbouring notions: the trigger gap (eq. trigger-def), the NFCCE gap, which is the one at K = 0,
the behavioural (BCE) gap, which is the one at K = infinity, and the normal-form gap.

For K >= 1 the gain of phi splits into its *first* deviations: obey up to infoset x, be told r
there, play something else and go on as phi says. Each such event has a probability and a gain,
and the gains add up to the gap (this is the decomposition behind Proposition trigger).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.modification import Modification
from accord.deviations.notions import checked_k, written_k
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.correlated import CorrelatedPolicy, check_policy
from accord.equilibrium.gap import add_deviation_loss, choose_actions
from accord.equilibrium.normal_form import nfce_gaps
from accord.errors import BudgetError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.values import compute_cf_loss, compute_loss, joint_reach


@dataclass(frozen=True)
class FirstDeviation:
    """One way to leave the mediator: told ``told`` at ``infoset``, play ``plays`` instead.

    The best trigger may play what it is told: it leaves by not listening afterwards.
    """

    player: str
    infoset: str
    told: str
    plays: str
    gain: float  # what it adds to the player's expected payoff
    probability: float  # that she gets there by obeying and is told this

    def __str__(self) -> str:
        plays = (
            "obeys, then listens no more"
            if self.plays == self.told
            else f"plays {self.plays!r} instead"
        )
        return (
            f"{player_name(self.player)} at {self.infoset!r} told {self.told!r} {plays}: gains "
            f"{self.gain:.4g}; reached with probability {self.probability:.3g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Witness:
    """A player's best deviation: the modification, its gain, and what it does first."""

    player: str
    gain: float
    modification: Modification
    first_deviations: tuple[FirstDeviation, ...]  # by gain, largest first; empty at K = 0

    def __str__(self) -> str:
        if not self.modification.tree.plex.n_infosets:
            return f"{player_name(self.player)} never decides"
        if self.modification.tree.k == 0:
            return f"{player_name(self.player)} {_plan(self.modification)}: gains {self.gain:.4g}"
        if not self.first_deviations:
            return f"{player_name(self.player)} cannot gain by deviating"
        more = len(self.first_deviations) - 1
        places = "place" if more == 1 else "places"
        return str(self.first_deviations[0]) + (f" (and {more} more such {places})" if more else "")

    def __repr__(self) -> str:
        return (
            f"Witness({self.player!r}, gain={self.gain:.4g}, "
            f"first_deviations={len(self.first_deviations)})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Gap:
    """The gap at one K."""

    k: float
    player_gaps: tuple[float, ...]  # in payoff units
    relative: float  # the largest gap in units of that player's payoff range
    witnesses: tuple[Witness, ...]

    @property
    def gap(self) -> float:
        """The paper's K-EFCE gap: the maximum over players."""
        return max(self.player_gaps)

    @property
    def sum(self) -> float:
        """The sum over players, which OpenSpiel reports."""
        return math.fsum(self.player_gaps)

    def __repr__(self) -> str:
        return f"Gap(k={self.k}, gap={self.gap:.4g}, relative={self.relative:.4g})"


@dataclass(frozen=True)
class TriggerGap:
    """The gap of trigger policies, and the best trigger."""

    gap: float
    trigger: FirstDeviation | None


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What :func:`certify` found."""

    game: str
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    gaps: tuple[Gap, ...]  # one per K asked for
    trigger: TriggerGap
    nfce_gap: float | None  # None if refused
    nfce_refusal: str | None  # why

    def __getitem__(self, k: float) -> Gap:
        for gap in self.gaps:
            if gap.k == k:
                return gap
        known = ", ".join(str(gap.k) for gap in self.gaps) or "none"
        raise KeyError(f"there is no gap at K = {k!r}; K asked for: {known}")

    def to_json(self) -> dict[str, Any]:
        """The certificate as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game,
            "values": list(self.values),
            "gaps": [
                {
                    "k": written_k(gap.k),
                    "gap": gap.gap,
                    "relative": gap.relative,
                    "sum": gap.sum,
                    "players": list(gap.player_gaps),
                    "witness": [_witness_to_json(w) for w in gap.witnesses],
                }
                for gap in self.gaps
            ],
            "trigger_gap": self.trigger.gap,
            "trigger": None if self.trigger.trigger is None else vars(self.trigger.trigger),
            "nfce_gap": self.nfce_gap,
            "nfce_refusal": self.nfce_refusal,
        }

    def __repr__(self) -> str:
        gaps = ", ".join(f"{gap.k}: {gap.gap:.4g}" for gap in self.gaps)
        return f"Certificate({self.game!r}, gaps={{{gaps}}})"


def certify(
    game: Game,
    policy: CorrelatedPolicy,
    k: float | SupportsIndex | Iterable[float | SupportsIndex] = (0, 1, math.inf),
    *,
    budget: int | None = None,
) -> Certificate:
    """The exact gaps of ``policy`` in ``game``, with witnesses.

    Args:
        game: The game the policy is for.
        policy: Whatever produced it.
        k: One K or several: 0, 1, ..., ``math.inf``.
        budget: Bytes that may be used; by default what is free.

    Raises:
        ArgumentError: If some K is not a whole number or infinity; or if there is no game, or no
            policy.
        MismatchError: If the policy is for another game.
        BudgetError: If there are too many rechistories.
    """
    check_policy(game, policy)
    ks = [checked_k(one) for one in (k if isinstance(k, Iterable) else [k])]
    form = sequence_form(policy.game)
    evaluators = [
        [_Evaluator(RechistoryTree.build(plex, k, budget)) for plex in form.plexes] for k in ks
    ]
    triggers = [_Evaluator(RechistoryTree.build_triggers(plex, budget)) for plex in form.plexes]
    obeying = _add_up(form, policy, [*evaluators, triggers])
    try:
        nfce, refusal = float(nfce_gaps(policy).max()), None
    except BudgetError as error:
        nfce, refusal = None, str(error)
    return Certificate(
        game=game.name,
        values=tuple(map(float, form.payoffs(obeying.loss))),
        gaps=tuple(
            _gap(form, k, players, obeying) for k, players in zip(ks, evaluators, strict=True)
        ),
        trigger=_trigger_gap(form, triggers, obeying),
        nfce_gap=nfce,
        nfce_refusal=refusal,
    )


class _Evaluator:
    """Adds up U for one player and one rechistory tree, and solves for the best deviation."""

    def __init__(self, tree: RechistoryTree) -> None:
        self.tree = tree
        self.total = np.zeros(tree.n_cells)
        self.rec_reach = np.zeros(tree.n_nodes)
        self.choice = np.zeros(int(tree.first_row[-1]), np.int32)

    def add(self, behavior: Floats, loss: Floats, weight: float) -> None:
        tree = self.tree
        add_deviation_loss(
            tree.plex.arrays, tree.arrays, behavior, loss, weight, self.rec_reach, self.total
        )

    def obey(self) -> Floats:
        """``[n_sequences]`` what she loses who obeys, at and after each sequence she is told to
        play; before :meth:`solve`, and if recommendations are seen at all.

        It is added up from the same numbers in the same order as the loss of the best deviation.
        Rounding is monotone, so the difference is never negative, and 0 where nothing is gained.
        """
        tree, plex = self.tree, self.tree.plex
        self.obedient = np.empty(plex.n_infosets, np.int32)
        _find_obedient(plex.arrays, plex.seq_infoset, tree.arrays, self.obedient)
        loss, total = np.empty(plex.n_sequences), np.empty(plex.n_sequences)
        loss[0] = self.total[0]
        told = np.arange(1, plex.n_sequences) - np.repeat(plex.first_seq[:-1], plex.n_actions)
        first_cell = np.repeat(tree.arrays.first_cell[self.obedient], plex.n_actions)
        diagonal = first_cell + told * (np.repeat(plex.n_actions, plex.n_actions) + 1)
        loss[1:] = self.total[diagonal]
        compute_cf_loss(plex.arrays, np.ones(plex.n_sequences), loss, total)
        return total

    def solve(self) -> float:
        """The least loss of any deviation; ``total`` and ``choice`` are those of the best one."""
        tree = self.tree
        choose_actions(tree.plex.arrays, tree.arrays, tree.first_row, self.total, self.choice)
        return float(self.total[0])


@dataclass(frozen=True, eq=False)
class _Obeying:
    """What happens when everybody obeys, per player."""

    loss: Floats  # [n_players] expected loss of a play
    seq_prob: tuple[Floats, ...]  # [n_sequences] probability of getting there and being told so


def _add_up(
    form: SequenceForm, policy: CorrelatedPolicy, evaluators: list[list[_Evaluator]]
) -> _Obeying:
    """Feed every component to every evaluator."""
    sizes = [plex.n_sequences for plex in form.plexes]
    obeying = _Obeying(np.zeros(form.n_players), tuple(np.zeros(size) for size in sizes))
    losses, sums = (tuple(np.empty(size) for size in sizes) for _ in range(2))
    for weight, behaviors in policy.components():
        reach = joint_reach(form.plexes, behaviors)
        for i, own in enumerate(form.split(reach)):
            plex, leaves = form.plexes[i].arrays, form.leaves.arrays[i]
            compute_loss(leaves._replace(loss=leaves.prob), reach, losses[i])
            compute_cf_loss(plex, behaviors[i], losses[i], sums[i])
            obeying.seq_prob[i][:] += weight * own * sums[i]
            compute_loss(leaves, reach, losses[i])
            compute_cf_loss(plex, behaviors[i], losses[i], sums[i])
            obeying.loss[i] += weight * sums[i][0]
            for players in evaluators:
                players[i].add(behaviors[i], losses[i], weight)
    return obeying


def _gap(form: SequenceForm, k: float, players: list[_Evaluator], obeying: _Obeying) -> Gap:
    saved, witnesses = [], []
    for i, one in enumerate(players):
        told = one.obey() if one.tree.k else np.array([obeying.loss[i]])
        saved.append(float(told[0]) - one.solve())
        witnesses.append(
            Witness(
                form.game.player_labels[i],
                float(saved[i] * form.leaves.payoff_range[i]),
                Modification(one.tree, one.choice),
                _first_deviations(form, i, one, told, obeying) if one.tree.k else (),
            )
        )
    return Gap(k, tuple(w.gain for w in witnesses), max(saved), tuple(witnesses))


def _first_deviations(
    form: SequenceForm, i: int, one: _Evaluator, told: Floats, obeying: _Obeying
) -> tuple[FirstDeviation, ...]:
    plex, tree, obedient = one.tree.plex, one.tree, one.obedient
    n_actions = plex.n_actions
    found = []
    leaves = np.zeros(plex.n_sequences, bool)  # phi has left the mediator before this sequence
    for x in range(plex.n_infosets):
        first, n = int(plex.first_seq[x]), int(n_actions[x])
        rows = one.choice[tree.first_row[obedient[x]] :][:n]
        before = leaves[plex.parent_seq[x]]
        for r in range(n):
            leaves[first + r] = before or rows[r] != r
            if before or rows[r] == r:
                continue
            cell = int(tree.arrays.first_cell[obedient[x]]) + r * n + int(rows[r])
            saved = told[first + r] - one.total[cell]
            found.append(_event(form, i, x, r, int(rows[r]), float(saved), obeying))
    return tuple(sorted(found, key=lambda event: -event.gain))


def _trigger_gap(form: SequenceForm, players: list[_Evaluator], obeying: _Obeying) -> TriggerGap:
    """The best single trigger of any player; the gap is 0 if no trigger gains."""
    best: FirstDeviation | None = None
    for i, one in enumerate(players):
        told = one.obey()
        one.solve()
        plex, tree = one.tree.plex, one.tree
        for x in range(plex.n_infosets):
            node, n = int(tree.arrays.first_node[x]), int(plex.n_actions[x])
            cells = one.total[tree.arrays.first_cell[node] :][: n * n].reshape(n, n)
            saved = told[plex.first_seq[x] :][:n] - cells.min(axis=1)
            r = int(saved.argmax())
            event = _event(form, i, x, r, int(cells[r].argmin()), float(saved[r]), obeying)
            if best is None or event.gain > best.gain:
                best = event
    return TriggerGap(0.0 if best is None else best.gain, best)


def _event(
    form: SequenceForm, i: int, x: int, r: int, a: int, saved: float, obeying: _Obeying
) -> FirstDeviation:
    actions = form.plexes[i].action_labels[x]
    return FirstDeviation(
        player=form.game.player_labels[i],
        infoset=form.plexes[i].infoset_labels[x],
        told=actions[r],
        plays=actions[a],
        gain=saved * float(form.leaves.payoff_range[i]),
        probability=float(obeying.seq_prob[i][form.plexes[i].first_seq[x] + r]),
    )


def _plan(phi: Modification) -> str:
    """A K = 0 modification in words: the plan that ignores the mediator, where it can get to."""
    plex = phi.tree.plex
    steps = []
    reached = np.zeros(plex.n_sequences, bool)
    reached[0] = True
    for x in range(plex.n_infosets):
        if reached[plex.parent_seq[x]]:
            a = int(phi.choice[phi.tree.first_row[phi.tree.arrays.first_node[x]]])
            reached[plex.first_seq[x] + a] = True
            steps.append(f"{plex.action_labels[x][a]!r} at {plex.infoset_labels[x]!r}")
    shown = ", ".join(steps[:4]) + (f" and {len(steps) - 4} more" if len(steps) > 4 else "")
    return f"ignores every recommendation and plays {shown}"


def _witness_to_json(witness: Witness) -> dict[str, Any]:
    return {
        "player": witness.player,
        "gain": witness.gain,
        "text": str(witness),
        "deviations": [vars(event) for event in witness.first_deviations],
    }


@jit
def _find_obedient(plex: Any, seq_infoset: Any, tree: Any, obedient: Any) -> None:
    """Overwrite ``obedient[x]`` with the rechistory at x of a player who was told what she did."""
    for x in range(len(plex.parent_seq)):
        seq = plex.parent_seq[x]
        for node in range(tree.first_node[x], tree.first_external[x]):
            above = tree.parent[node]
            if tree.rec_seq[node] != seq:
                continue
            if seq == 0 or above == obedient[seq_infoset[seq]]:
                obedient[x] = node
                break
