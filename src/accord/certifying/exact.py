"""Certifying a correlated policy: every player's exact gap for several notions, in one pass.

Each notion has one deviator per player, who adds up the losses that a deviation can meet
(``equilibrium/gap.py``), and trigger policies have another. One pass over the components feeds them
all (``equilibrium/evaluation.py``); then each is solved for its best deviation, which is compared
with obeying. ``certifying/certificate.py`` has the results.

The others' hands may *tremble*: at each infoset, with probability e, they take an action at random.
Then a player comes to every infoset that their own recommendations allow, also to those that nobody
reaches who obeys, and a second pass measures whether the advice there is a best reply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from accord._check import Number, as_number
from accord.certifying.certificate import Certificate, FirstDeviation, Gap, TriggerGap, Witness
from accord.certifying.footprint import check_certifying, trigger_counts
from accord.certifying.normal_form import measured_nfce_gaps
from accord.deviations.counting import count_cells
from accord.deviations.notions import (
    BCE,
    EFCE,
    LADDER,
    NFCCE,
    NFCE,
    Notion,
    NotionLike,
    as_notion,
    outcome_notion,
)
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.evaluation import BestDeviation, Obedience, evaluate
from accord.equilibrium.gap import Deviator
from accord.equilibrium.linear_gap import BestLinearDeviation, LinearDeviator
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.equilibrium.rounding import settled
from accord.errors import ArgumentError, BudgetError
from accord.game.labels import as_players
from accord.game.tree import Game
from accord.interop.any_policy import is_source, policy_from
from accord.treeplex.form import SequenceForm

LARGE_TREES = 1e6
"""Cells of all players from which on a tree is replaced by a smaller one that says the same."""

LADDER_WORK = 1e8
"""Cells times components up to which a certificate has the whole ladder: well under a second."""


TREMBLE = 0.01
"""How often hands slip unless something else is asked for."""

EQUILIBRIUM = 1e-9
"""Gap, as a share of the payoff range, up to which a policy counts as an equilibrium."""

JUDGED_CELLS, JUDGED_LEAVES = 200_000, 5_000_000
"""Advice off the path is judged up to so many cells of deviators, and so many leaves of all
components together; in larger games it would cost too much beside the rest."""


def certify(
    game: Game,
    policy: CorrelatedPolicy | Solved | Any,
    k: NotionLike | Iterable[NotionLike] | None = None,
    *,
    tremble: Number = 0.0,
    commits: str | Iterable[str] = (),
    budget: int | None = None,
) -> Certificate:
    """The exact gaps of ``policy`` in ``game``, with witnesses.

    Args:
        game: The game the policy is for.
        policy: Any correlated policy, however it was made, or a result that has one, such as a
            :class:`Solution`; or what :func:`accord.interop.policy_from` takes: a network or
            another function, a policy or agents of OpenSpiel, or a list of them.
        k: One notion or several. A number is a K: 0 (NFCCE), 1 (EFCE), 2, ..., ``math.inf`` (BCE).
            A name is any of ``"nfcce"``, ``"efcce"``, ``"efce"``, ``"afcce"``, ``"afce"``,
            ``"bce"``, ``"lce"``, ``"nfce"``. By default all of them and K = 2 in a small game, and
            0, 1 and infinity in a large one.
        tremble: Measure the gaps a second time, ``certificate.trembled``, against others who at
            each infoset, with this probability, take an action at random. Advice that is
            given only after a slip then counts, too: ``certificate.threats`` lists what a player
            would disobey.
        commits: The labels of players who commit to the recommendations. Their gaps count as 0.
        budget: Bytes of memory that may be used; by default all that is free.

    Raises:
        ArgumentError: If ``k`` has something that is neither a whole number nor infinity nor a
            name, if ``game`` is not a game or ``policy`` not a policy, if ``tremble`` is neither 0
            nor a probability below 1, or if a player who commits is unknown.
        MismatchError: If the policy is for another game.
        BudgetError: If there are too many rechistories.
    """
    if is_source(policy):
        policy = policy_from(game, policy)
    policy = checked_policy(game, policy)
    form = policy.form
    notions = _usual(form, policy) if k is None else _notions(k)
    _check_notions(policy, notions)
    slip = checked_tremble(tremble)
    fixed = as_players(commits, game.player_labels)
    deviators = Deviators.of(form, notions, budget, mute=policy.is_mute(), commits=fixed)
    obedience = evaluate(policy, deviators.by_player())
    certificate = deviators.certificate(policy, obedience)
    if not slip:
        return certificate
    del deviators
    trembled = _trembled_gaps(policy, notions, slip, obedience, budget, fixed)
    return replace(certificate, tremble=slip, trembled=trembled)


def certify_judged(
    policy: CorrelatedPolicy, notion: Notion, tremble: float, commits: Iterable[str] = ()
) -> Certificate:
    """Certify a policy of a known game, and judge its advice off the path if that costs little."""
    form, slip = policy.form, 0.0
    advised = notion.deviations and not notion.foresight  # at K = 0 nobody is
    if advised and policy.plan is None:
        leaves, cells = policy.n_components * len(form.leaves), count_cells(form.plexes, notion)
        slip = tremble if leaves <= JUDGED_LEAVES and cells <= JUDGED_CELLS else 0.0
    return certify(form.game, policy, notion, tremble=slip, commits=commits)


def judged_equilibrium(policy: CorrelatedPolicy, notion: Notion) -> Certificate | None:
    """The certificate that judges advice off the path; None if nothing rests on that advice: the
    policy is no equilibrium, or nobody could judge it at little cost."""
    try:
        found = certify_judged(policy, notion, TREMBLE)
    except BudgetError:
        return None
    exact = all(gap.relative <= EQUILIBRIUM for gap in found.gaps)
    return found if exact and found.is_credible is not None else None


def checked_tremble(tremble: Number) -> float:
    """Return ``tremble`` as a float: 0, or a probability below 1.

    Raises:
        ArgumentError: If it is neither.
    """
    slip = as_number("tremble", tremble)
    if not 0.0 <= slip < 1.0:
        raise ArgumentError(
            f"tremble must be 0, or a probability below 1 such as 0.01; got {tremble}"
        )
    return slip


@dataclass(frozen=True, eq=False)
class Deviators:
    """Everybody who may deviate from a policy: by notion and player, and by triggers."""

    form: SequenceForm
    notions: Sequence[Notion]
    of_notions: Sequence[Sequence[Deviator | LinearDeviator]]  # for each notion one per player
    triggers: Sequence[Deviator]  # one per player; none if there are too many
    commits: tuple[int, ...] = ()  # the players who do not deviate at all

    @classmethod
    def of(
        cls,
        form: SequenceForm,
        notions: Sequence[Notion],
        budget: int | None,
        *,
        mute: bool = False,
        commits: tuple[int, ...] = (),
    ) -> Deviators:
        """New ones, which have seen no policy.

        If the policy is ``mute``, it does not help to disobey more than once. Where the trees are
        large, those of K = 1 then stand for all K beyond.

        Raises:
            BudgetError: If there are too many rechistories.
        """
        trees = [
            outcome_notion(notion)
            if mute and count_cells(form.plexes, notion) > LARGE_TREES
            else notion
            for notion in notions
        ]
        check_certifying(form, trees, budget)
        triggered = form.plexes if trigger_counts(form) else ()
        return cls(
            form,
            notions,
            _deviators(form, trees, budget),
            [Deviator(RechistoryTree.build_triggers(plex, budget)) for plex in triggered],
            commits,
        )

    def by_player(self) -> dict[int, tuple[Deviator | LinearDeviator, ...]]:
        """All deviators of each player."""
        everybody = [*self.of_notions, *([self.triggers] if self.triggers else [])]
        return {i: tuple(own[i] for own in everybody) for i in range(self.form.n_players)}

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
        nfce, refusal = _nfce(form, policy, self.commits)
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
                _gap(
                    form,
                    notion,
                    solved.get(notion) or map(_solved, own),
                    obedience,
                    commits=self.commits,
                )
                for notion, own in zip(self.notions, self.of_notions, strict=True)
            ),
            trigger=_trigger_gap(form, self.triggers, obedience, self.commits),
            nfce=nfce,
            nfce_refusal=refusal,
            commits=tuple(form.game.player_labels[i] for i in self.commits),
        )


def _notions(k: NotionLike | Iterable[NotionLike]) -> list[Notion]:
    """The notions asked for that have a tree, each once."""
    given = [k] if isinstance(k, str) or not isinstance(k, Iterable) else k
    return [notion for notion in dict.fromkeys(map(as_notion, given)) if notion != NFCE]


def _usual(form: SequenceForm, policy: CorrelatedPolicy) -> list[Notion]:
    """The ladder if it is cheap, else the three best known K."""
    ladder = measurable(policy, _notions(LADDER))
    cells = sum(count_cells(form.plexes, notion) for notion in ladder)
    return ladder if cells * max(1, policy.n_components) <= LADDER_WORK else [NFCCE, EFCE, BCE]


def measurable(policy: CorrelatedPolicy, notions: Sequence[Notion]) -> list[Notion]:
    """The notions whose gaps a policy has: the deviators of some know more than the tuples of a
    correlation plan say."""
    if policy.plan is None:
        return list(notions)
    return [notion for notion in notions if not (notion.agent or notion.linear)]


def _check_notions(policy: CorrelatedPolicy, notions: Sequence[Notion]) -> None:
    """Refuse notions whose gap the policy does not have."""
    known = measurable(policy, notions)
    for notion in notions:
        if notion not in known:
            raise ArgumentError(
                f"the gap of {notion} needs a mixture, and the policy is a correlation plan, which "
                "has gaps at every K and for EFCCE; take a sample: policy.sampled(1000)"
            )


def _deviators(
    form: SequenceForm, notions: Sequence[Notion], budget: int | None
) -> list[list[Deviator | LinearDeviator]]:
    """For each notion one deviator per player, who has seen no policy."""
    return [
        [
            LinearDeviator(plex)
            if notion.linear
            else Deviator(RechistoryTree.build(plex, notion, budget))
            for plex in form.plexes
        ]
        for notion in notions
    ]


def _solved(deviator: Deviator | LinearDeviator) -> BestDeviation | BestLinearDeviation:
    if isinstance(deviator, LinearDeviator):
        return BestLinearDeviation.of(deviator)
    return BestDeviation.of(deviator)


def _trembled_gaps(
    policy: CorrelatedPolicy,
    notions: Sequence[Notion],
    tremble: float,
    planned: Mapping[int, Obedience],
    budget: int | None,
    commits: tuple[int, ...],
) -> tuple[Gap, ...]:
    """The gaps against others whose hands tremble; ``planned`` is what happens if none does."""
    form = policy.form
    own = _deviators(form, notions, budget)
    by_player = {i: [each[i] for each in own] for i in range(form.n_players)}
    obedience = evaluate(policy, by_player, tremble=tremble)
    return tuple(
        _gap(form, notion, map(_solved, each), obedience, planned, commits)
        for notion, each in zip(notions, own, strict=True)
    )


def _gap(
    form: SequenceForm,
    notion: Notion,
    deviations: Iterable[BestDeviation | BestLinearDeviation],
    obedience: Mapping[int, Obedience],
    planned: Mapping[int, Obedience] | None = None,
    commits: tuple[int, ...] = (),
) -> Gap:
    """The gap of a notion; ``planned`` is what happens if no hand trembles, if some may."""
    gaps, witnesses = [], []
    for i, best in enumerate(deviations):
        if i in commits:
            gaps.append((0.0, 0.0))
            witnesses.append(Witness(form.game.player_labels[i], 0.0, best.phi, (), commits=True))
            continue
        obeying = None if best.obeying is None else float(best.obeying[0])
        gap, error = obedience[i].saved(best.least_loss, obeying)
        phi = best.phi
        events: tuple[FirstDeviation, ...] = ()
        if obeying is not None and planned is not None:
            events = _trembled_deviations(form, i, best, obedience[i], planned[i])
        elif obeying is not None and gap:
            events = tuple(event for *_, event in _first_deviations(form, i, best, obedience[i]))
        if obeying is not None and not events:
            phi = phi.obedient()
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


def _nfce(
    form: SequenceForm, policy: CorrelatedPolicy, commits: tuple[int, ...]
) -> tuple[Gap | None, str | None]:
    """The NFCE gap, or the reason why it was refused."""
    if policy.plan is not None:
        return None, "a correlation plan does not list the joint plans that it mixes"
    try:
        gaps = measured_nfce_gaps(policy)
        for i in commits:
            gaps[i] = (0.0, 0.0)
        return _made(form, NFCE, gaps), None
    except BudgetError as error:
        return None, str(error)


def _first_deviations(
    form: SequenceForm, i: int, best: BestDeviation | BestLinearDeviation, obeyed: Obedience
) -> list[tuple[int, int | None, float, FirstDeviation]]:
    """Where phi leaves the mediator, largest gain first: infoset, recommendation, loss there."""
    if isinstance(best, BestLinearDeviation):
        found = _linear_events(form, i, best, obeyed)
    else:
        found = _events(form, i, best, obeyed)
    return sorted(found, key=lambda one: -one[-1].gain)


def _linear_events(
    form: SequenceForm, i: int, best: BestLinearDeviation, obeyed: Obedience
) -> list[tuple[int, int | None, float, FirstDeviation]]:
    """Where a linear deviator first does anything but ask where they are, and obey."""
    plex, choice = best.phi.plex, best.phi.choice
    found: list[tuple[int, int | None, float, FirstDeviation]] = []
    left = np.zeros(plex.n_sequences, bool)

    def leave(x: int, r: int | None, chosen: int, obeying: float, loss: float) -> None:
        asks = None if chosen >= 0 else plex.infoset_labels[-1 - chosen]
        event = _event(form, i, x, r, max(chosen, 0), obeying - loss, obeyed)
        found.append((x, r, loss, event if asks is None else replace(event, plays="", asks=asks)))

    for x in range(plex.n_infosets):
        above, here = int(plex.parent_seq[x]), slice(plex.first_seq[x], plex.first_seq[x + 1])
        left[here] = left[above]
        if left[above]:
            continue
        if choice[x, above] != -1 - x:
            left[here] = True
            obeying = float(best.obeying[here].sum())
            leave(x, None, int(choice[x, above]), obeying, float(best.loss[x, above]))
            continue
        for r, seq in enumerate(range(here.start, here.stop)):
            if choice[x, seq] != r:
                left[seq] = True
                leave(x, r, int(choice[x, seq]), float(best.obeying[seq]), float(best.loss[x, seq]))
    return found


def _events(
    form: SequenceForm, i: int, best: BestDeviation, obeyed: Obedience
) -> list[tuple[int, int | None, float, FirstDeviation]]:
    """Where a deviator on a rechistory tree first does anything but obey."""
    plex, tree, coarse = best.tree.plex, best.tree, best.tree.notion.coarse
    found: list[tuple[int, int | None, float, FirstDeviation]] = []
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
            loss = float(cells[r, plays[r]])
            event = _event(form, i, x, told, action, float(obeying[r]) - loss, obeyed)
            found.append((x, told, loss, event))
    return found


def _trembled_deviations(
    form: SequenceForm,
    i: int,
    best: BestDeviation | BestLinearDeviation,
    obeyed: Obedience,
    planned: Obedience,
) -> tuple[FirstDeviation, ...]:
    """Where phi leaves the mediator and gains: first where nobody comes who obeys.

    Such places are reached with tiny probabilities, so that the rounding error of the whole gap may
    be larger than what is gained there. The error at a place is in proportion to its probability.
    """
    events = []
    excess = max(0.0, float(form.leaves.best[i]) - obeyed.center)
    for x, r, loss, event in _first_deviations(form, i, best, obeyed):
        bound = partial(obeyed.rounding.error, gain=event.probability * excess)
        if event.gain > float(bound(loss + event.gain) + bound(loss)):
            prob = planned.reach(x) if r is None else planned.prob[form.plexes[i].first_seq[x] + r]
            events.append(replace(event, planned=float(prob)))
    return tuple(sorted(events, key=lambda event: (not event.is_off_path, -event.gain_there)))


def _trigger_gap(
    form: SequenceForm,
    triggers: Sequence[Deviator],
    obedience: Mapping[int, Obedience],
    commits: tuple[int, ...],
) -> TriggerGap:
    """The best single trigger of any player; the gap is 0 if no trigger gains, and NaN if there are
    too many triggers."""
    if not triggers:
        return TriggerGap(math.nan, None, math.nan)
    found: FirstDeviation | None = None
    low = high = -math.inf  # what the exact gap is between
    for i, trigger in enumerate(triggers):
        best, obeyed = BestDeviation.of(trigger), obedience[i]
        if best.obeying is None or i in commits:  # the player never decides, or never deviates
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
