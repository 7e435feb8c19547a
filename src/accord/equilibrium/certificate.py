"""How far a correlated policy is from equilibrium, exactly, and the deviation that proves it.

For each notion asked for, a certificate holds every player's gap in payoff units and the best
deviation that attains it, both as a modification phi and in words. Notions are the K-EFCE, of which
K = 0 is the NFCCE, K = 1 the EFCE and K = infinity the behavioural (BCE) one, and the coarse and
agent-form ones of ``deviations/notions.py``. Gaps are not clamped: they cannot be negative, because
phi may obey, except at K = 0. Two related gaps come with them: the trigger gap (eq. trigger-def)
and the normal-form (NFCE) gap.

Every number has an error bound: the exact one differs from it by no more
(``equilibrium/rounding.py``). A gap or value that its error bound cannot tell from 0 is 0 here, so
that files, terminal and reports agree on what is zero.

Except at K = 0, the gain of phi splits into its *first* deviations: obey up to infoset x, be told r
there, play something else and continue with phi. Each such event has a probability and a gain, and
the gains add up to the gap (this is the decomposition behind Proposition trigger). A coarse
deviator leaves at x before being told r.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from accord._above import DISPLAY, FRAMES, call_above
from accord.deviations.counting import count_rechistories
from accord.deviations.modification import Modification
from accord.deviations.notions import BCE, EFCE, LADDER, NFCCE, NFCE, Notion, NotionLike, as_notion
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.correlated import CorrelatedPolicy, Solved, checked_policy
from accord.equilibrium.evaluation import BestDeviation, Obedience, evaluate
from accord.equilibrium.footprint import check_certifying
from accord.equilibrium.gap import Deviator
from accord.equilibrium.normal_form import measured_nfce_gaps
from accord.equilibrium.rounding import settled
from accord.errors import BudgetError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.form import SequenceForm, sequence_form

SMALL = 1e8
"""Cells times components up to which a certificate has the whole ladder: well under a second."""


@dataclass(frozen=True)
class FirstDeviation:
    """One way to leave the mediator: told ``told`` at ``infoset``, play ``plays`` instead.

    A coarse deviator plays it before being told, and ``told`` is None. In the best trigger
    ``plays`` may equal ``told``: it ignores the mediator only afterwards.
    """

    player: str
    infoset: str
    told: str | None
    plays: str
    gain: float  # added to the player's expected payoff
    probability: float  # of getting there by obeying and, unless coarse, being told this

    def __str__(self) -> str:
        if self.told is None:
            does = f"plays {self.plays!r} before being told anything"
        elif self.plays == self.told:
            does = f"told {self.told!r} obeys, then listens no more"
        else:
            does = f"told {self.told!r} plays {self.plays!r} instead"
        return (
            f"{player_name(self.player)} at {self.infoset!r} {does}: gains {self.gain:.4g}; "
            f"reached with probability {self.probability:.3g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Witness:
    """A player's best deviation: the modification, its gain, and where it starts."""

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
    """The gap of one notion."""

    notion: Notion
    player_gaps: tuple[float, ...]  # in payoff units
    player_errors: tuple[float, ...]  # the exact gaps differ from these by at most this much
    relative: float  # the largest gap in units of that player's payoff range
    witnesses: tuple[Witness, ...]  # one per player; none for the NFCE

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def gap(self) -> float:
        """The paper's K-EFCE gap: the maximum over players."""
        return max(self.player_gaps)

    @property
    def error(self) -> float:
        """The exact ``gap`` differs from this one by at most this much."""
        return max(self.player_errors)

    @property
    def sum(self) -> float:
        """The sum over players, which OpenSpiel reports."""
        return math.fsum(self.player_gaps)

    def __repr__(self) -> str:
        return f"Gap({self.notion}, gap={self.gap:.4g}, relative={self.relative:.4g})"


@dataclass(frozen=True)
class TriggerGap:
    """The gap of trigger policies, and the best trigger."""

    gap: float
    trigger: FirstDeviation | None
    error: float  # the exact gap differs by at most this much


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The exact gaps of a correlated policy. Made by :func:`certify`."""

    game: str
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    value_errors: tuple[float, ...]  # the exact values differ from these by at most this much
    stakes: tuple[float, ...]  # expected gain of each player if they saw the component drawn and
    # played for what is above their value; no gap is much larger, whatever payoffs are never paid
    gaps: tuple[Gap, ...]  # one per notion asked for, without the NFCE
    trigger: TriggerGap
    nfce: Gap | None  # None if it was refused
    nfce_refusal: str | None  # the reason

    @property
    def nfce_gap(self) -> float | None:
        """The NFCE gap; None if it was refused."""
        return None if self.nfce is None else self.nfce.gap

    def __getitem__(self, k: NotionLike) -> Gap:
        wanted = as_notion(k)
        found = {gap.notion: gap for gap in (*self.gaps, self.nfce) if gap is not None}
        if wanted not in found:
            raise KeyError(f"there is no gap of {wanted}; there are: {', '.join(map(str, found))}")
        return found[wanted]

    def to_json(self) -> dict[str, Any]:
        """The certificate as one JSON object; ``k`` is a number, ``"inf"`` or null."""
        return {
            "game": self.game,
            "values": list(self.values),
            "value_errors": list(self.value_errors),
            "gaps": [
                {
                    "notion": gap.notion.name,
                    "k": None if gap.k is None else gap.notion.written,
                    "gap": gap.gap,
                    "error": gap.error,
                    "relative": gap.relative,
                    "sum": gap.sum,
                    "players": list(gap.player_gaps),
                    "player_errors": list(gap.player_errors),
                    "witness": [_witness_to_json(w) for w in gap.witnesses],
                }
                for gap in self.gaps
            ],
            "trigger_gap": self.trigger.gap,
            "trigger_error": self.trigger.error,
            "trigger": None if self.trigger.trigger is None else vars(self.trigger.trigger),
            "nfce_gap": self.nfce_gap,
            "nfce_error": None if self.nfce is None else self.nfce.error,
            "nfce_players": None if self.nfce is None else list(self.nfce.player_gaps),
            "nfce_refusal": self.nfce_refusal,
        }

    def to_frame(self) -> Any:
        """A pandas data frame with one row per notion and player.

        Its columns are ``notion``, ``k`` (NaN where there is none), ``player``, ``gap``, ``value``
        and ``deviation``, the best one in words. It needs the extra ``accord[pandas]``.
        """
        return call_above(FRAMES, "certificate_frame", self)

    def __repr__(self) -> str:
        gaps = ", ".join(f"{gap.notion}: {gap.gap:.4g}" for gap in self.gaps)
        return f"Certificate({self.game!r}, gaps={{{gaps}}})"

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "certificate_html", self))


def certify(
    game: Game,
    policy: CorrelatedPolicy | Solved,
    k: NotionLike | Iterable[NotionLike] | None = None,
    *,
    budget: int | None = None,
) -> Certificate:
    """The exact gaps of ``policy`` in ``game``, with witnesses.

    Args:
        game: The game the policy is for.
        policy: Any correlated policy, however it was made, or a result that has one, such as a
            :class:`Solution`.
        k: One notion or several. A number is a K: 0 (NFCCE), 1 (EFCE), 2, ..., ``math.inf`` (BCE).
            A name is any of ``"nfcce"``, ``"efcce"``, ``"efce"``, ``"afcce"``, ``"afce"``,
            ``"bce"``, ``"nfce"``. By default all of them and K = 2 in a small game, and 0, 1 and
            infinity in a large one.
        budget: Bytes of memory that may be used; by default all that is free.

    Raises:
        ArgumentError: If ``k`` has something that is neither a whole number nor infinity nor a
            name, or if ``game`` is not a game or ``policy`` not a policy.
        MismatchError: If the policy is for another game.
        BudgetError: If there are too many rechistories.
    """
    policy = checked_policy(game, policy)
    form = sequence_form(policy.game)
    notions = _usual(form, policy) if k is None else _notions(k)
    deviators = Deviators.of(form, notions, budget)
    return deviators.certificate(policy, evaluate(policy, deviators.by_player()))


@dataclass(frozen=True, eq=False)
class Deviators:
    """Everybody who may deviate from a policy: by notion and player, and by triggers."""

    form: SequenceForm
    notions: Sequence[Notion]
    of_notions: Sequence[Sequence[Deviator]]  # for each notion one per player
    triggers: Sequence[Deviator]  # one per player

    @classmethod
    def of(cls, form: SequenceForm, notions: Sequence[Notion], budget: int | None) -> Deviators:
        """New ones, which have seen no policy.

        Raises:
            BudgetError: If there are too many rechistories.
        """
        check_certifying(form, notions, budget)
        return cls(
            form,
            notions,
            [
                [Deviator(RechistoryTree.build(plex, notion, budget)) for plex in form.plexes]
                for notion in notions
            ],
            [Deviator(RechistoryTree.build_triggers(plex, budget)) for plex in form.plexes],
        )

    def by_player(self) -> dict[int, tuple[Deviator, ...]]:
        """All deviators of each player."""
        return dict(enumerate(zip(*self.of_notions, self.triggers, strict=True)))

    def certificate(
        self,
        policy: CorrelatedPolicy,
        obedience: Mapping[int, Obedience],
        solved: Mapping[Notion, Sequence[BestDeviation]] | None = None,
    ) -> Certificate:
        """The certificate of ``policy``, of which the deviators have seen all components.

        ``solved`` has the best deviations of notions that are solved already.
        """
        form, solved = self.form, solved or {}
        values = [obedience[i].value() for i in range(form.n_players)]
        nfce, refusal = _nfce(form, policy)
        return Certificate(
            game=form.game.name,
            values=tuple(value for value, _ in values),
            value_errors=tuple(error for _, error in values),
            stakes=tuple(obedience[i].stake for i in range(form.n_players)),
            gaps=tuple(
                _gap(form, notion, solved.get(notion) or map(BestDeviation.of, own), obedience)
                for notion, own in zip(self.notions, self.of_notions, strict=True)
            ),
            trigger=_trigger_gap(form, self.triggers, obedience),
            nfce=nfce,
            nfce_refusal=refusal,
        )


def _notions(k: NotionLike | Iterable[NotionLike]) -> list[Notion]:
    """The notions asked for that have a tree, each once."""
    given = [k] if isinstance(k, str) or not isinstance(k, Iterable) else k
    return [notion for notion in dict.fromkeys(map(as_notion, given)) if notion != NFCE]


def _usual(form: SequenceForm, policy: CorrelatedPolicy) -> list[Notion]:
    """The ladder if it is cheap, else the three best known K."""
    ladder = _notions(LADDER)
    cells = sum(count_rechistories(plex, notion).cells for plex in form.plexes for notion in ladder)
    return ladder if cells * policy.n_components <= SMALL else [NFCCE, EFCE, BCE]


def _gap(
    form: SequenceForm,
    notion: Notion,
    deviations: Iterable[BestDeviation],
    obedience: Mapping[int, Obedience],
) -> Gap:
    gaps, witnesses = [], []
    for i, best in enumerate(deviations):
        obeying = None if best.obeying is None else float(best.obeying[0])
        gap, error = obedience[i].saved(best.least_loss, obeying)
        phi = best.phi
        events: tuple[FirstDeviation, ...] = ()
        if gap and obeying is not None:
            events = _first_deviations(form, i, best, obedience[i])
        elif obeying is not None:
            phi = Modification.obey(best.tree)
        gaps.append((gap, error))
        witnesses.append(Witness(form.game.player_labels[i], gap, phi, events))
    return _made(form, notion, gaps, tuple(witnesses))


def _made(
    form: SequenceForm,
    notion: Notion,
    gaps: Sequence[tuple[float, float]],
    witnesses: tuple[Witness, ...] = (),
) -> Gap:
    """The gap of a notion from the players' gaps and their errors."""
    player_gaps, player_errors = zip(*gaps, strict=True)
    relative = float((np.array(player_gaps) * form.leaves.loss_scale).max())
    return Gap(notion, player_gaps, player_errors, relative, witnesses)


def _nfce(form: SequenceForm, policy: CorrelatedPolicy) -> tuple[Gap | None, str | None]:
    """The NFCE gap, or the reason why it was refused."""
    try:
        return _made(form, NFCE, measured_nfce_gaps(policy)), None
    except BudgetError as error:
        return None, str(error)


def _first_deviations(
    form: SequenceForm, i: int, best: BestDeviation, obeyed: Obedience
) -> tuple[FirstDeviation, ...]:
    plex, tree, coarse = best.tree.plex, best.tree, best.tree.notion.coarse
    found = []
    left = np.zeros(plex.n_sequences, bool)  # phi has left the mediator at or before this sequence
    for x in range(plex.n_infosets):
        here = slice(plex.first_seq[x], plex.first_seq[x + 1])
        cells, obeying = best.cells(x), best.obeying_at(x)
        plays = best.phi.choice[tree.first_row[best.obedient[x]] :][: len(cells)]
        leaves = plays != np.arange(len(cells))  # the number of the row is the cell that obeys
        before = left[plex.parent_seq[x]]
        left[here] = before | leaves  # the one decision of a coarse deviator counts for all r
        for r in np.flatnonzero(leaves & ~before).tolist():
            told, action = (None, int(plays[r]) - 1) if coarse else (r, int(plays[r]))
            saved = float(obeying[r] - cells[r, plays[r]])
            found.append(_event(form, i, x, told, action, saved, obeyed))
    return tuple(sorted(found, key=lambda event: -event.gain))


def _trigger_gap(
    form: SequenceForm, triggers: Sequence[Deviator], obedience: Mapping[int, Obedience]
) -> TriggerGap:
    """The best single trigger of any player; the gap is 0 if no trigger gains."""
    found: FirstDeviation | None = None
    low = high = -math.inf  # what the exact gap is between
    for i, trigger in enumerate(triggers):
        best, obeyed = BestDeviation.of(trigger), obedience[i]
        if best.obeying is None:  # the player never decides
            continue
        plex, (plays, least) = best.tree.plex, best.chosen()
        saved, errors = best.obeying[1:] - least, obeyed.error(best.obeying[1:], least)
        low, high = max(low, (saved - errors).max()), max(high, (saved + errors).max())
        seq = int(saved.argmax())
        if found is None or saved[seq] > found.gain:
            x = int(plex.seq_infoset[1 + seq])
            told = 1 + seq - int(plex.first_seq[x])
            found = _event(form, i, x, told, int(plays[seq]), float(saved[seq]), obeyed)
    if found is None:
        return TriggerGap(0.0, None, 0.0)
    gap, error = settled(found.gain, float(max(high - found.gain, found.gain - low)))
    return TriggerGap(gap, replace(found, gain=gap), error)


def _event(
    form: SequenceForm, i: int, x: int, r: int | None, a: int, saved: float, obeyed: Obedience
) -> FirstDeviation:
    plex = form.plexes[i]
    return FirstDeviation(
        player=form.game.player_labels[i],
        infoset=plex.infoset_labels[x],
        told=None if r is None else plex.action_labels[x][r],
        plays=plex.action_labels[x][a],
        gain=saved,
        probability=obeyed.reach(x) if r is None else float(obeyed.prob[plex.first_seq[x] + r]),
    )


def _plan(phi: Modification) -> str:
    """A K = 0 modification in words: its actions at the infosets that it can reach."""
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
