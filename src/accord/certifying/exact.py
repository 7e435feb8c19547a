"""Certifying a correlated policy: every player's exact gap for several notions, in one pass.

Each notion has one deviator per player, who adds up the losses that a deviation can meet
(``equilibrium/gap.py``), and trigger policies have another. One pass over the components feeds them
all (``equilibrium/evaluation.py``); then each is solved for its best deviation, which is compared
with obeying. ``certifying/certificate.py`` has the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from accord.certifying.certificate import Certificate, FirstDeviation, Gap, TriggerGap, Witness
from accord.certifying.footprint import check_certifying
from accord.certifying.normal_form import measured_nfce_gaps
from accord.deviations.counting import count_rechistories
from accord.deviations.modification import Modification
from accord.deviations.notions import BCE, EFCE, LADDER, NFCCE, NFCE, Notion, NotionLike, as_notion
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.evaluation import BestDeviation, Obedience, evaluate
from accord.equilibrium.gap import Deviator
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.equilibrium.rounding import settled
from accord.errors import BudgetError
from accord.game.tree import Game
from accord.treeplex.form import SequenceForm

SMALL = 1e8
"""Cells times components up to which a certificate has the whole ladder: well under a second."""


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
    form = policy.form
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
            players=form.game.player_labels,
            infosets=sum(plex.n_infosets for plex in form.plexes),
            confidence=None,
            plays=None,
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
    return Gap(
        notion=notion,
        player_gaps=player_gaps,
        player_errors=player_errors,
        player_lower=tuple(gap - error for gap, error in gaps),
        player_upper=tuple(gap + error for gap, error in gaps),
        vacuous=(False,) * len(gaps),
        relative=float((np.array(player_gaps) * form.leaves.loss_scale).max()),
        witnesses=witnesses,
    )


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
