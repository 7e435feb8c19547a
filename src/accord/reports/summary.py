"""The page of one run as a typed view: the facts in its folder, and its mixture evaluated.

If the game is known, everything is evaluated for the saved mixture, at K = 0, 1, 2, infinity and
the run's own K. A K that takes too much time or memory is left out, and the view says why. The gaps
of other notions are there if they are cheap.

If not, there are the values and the bounds on the gap from plays, the deviations that plays found,
and what the mixture recommends at the first infosets of each player.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from accord._arrays import CHANCE
from accord.certifying.certificate import Certificate, Witness
from accord.certifying.exact import certify_judged
from accord.certifying.inspection import Inspection, certify_and_inspect, steps
from accord.certifying.inspection import Step as Move
from accord.deviations.counting import count_rechistories
from accord.deviations.notions import Notion, written_k
from accord.deviations.rechistory import check_budget
from accord.equilibrium.device import RARE, Device
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.learning.theory.guarantee import GapBound, learn_bound, solve_bound
from accord.play.obedient_plays import MOST_REACHED
from accord.reports.inspector import inspector_data
from accord.reports.source import Source, evaluated, shown_ks
from accord.reports.tree import tree_view
from accord.reports.view import (
    NEGLIGIBLE,
    Advice,
    DeviationStep,
    DeviationView,
    GapRow,
    OptimumRow,
    Place,
    PlayerView,
    RunView,
)
from accord.runs.reading import Reached
from accord.runs.region import Region, region
from accord.runs.request import LearnRequest, OptimizeRequest, SolveRequest, commits_of
from accord.runs.run_file import AnyRequest
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.leaves import LeafTable
from accord.treeplex.treeplex import Treeplex

MOST_STEPS = 40
"""Steps, and first deviations, that are listed."""

MOST_INFOSETS = 200
"""Infosets of each player with mean recommendations, if the game is not known."""

LISTED_PLANS = 20
"""Plans of a device that is listed."""

MOST_TOLD = 300
"""Recommendations, in all plans, of a device that is listed."""

MOST_REST = 0.01
"""Probability of all plans that are not listed; if it is larger, none are."""

SEARCH = 100_000
"""Steps of the search for plans: a tenth of a second."""

MOST_LEAVES, MOST_DIRECTIONS, ROUGH = 250, 60, 1e-5
"""The size of a game whose region is drawn, and how precisely: that takes a few seconds."""

MARKED = 0.05
"""Share of a deviation's gain from which on one of its places is marked in the tree."""


def summarize(source: Source) -> RunView:
    """Evaluate the saved mixture of a run, as far as its game is known."""
    return _played(source) if source.game is None else _evaluated(source, source.game)


def _evaluated(source: Source, game: Game) -> RunView:
    """The saved mixture, evaluated in its game."""
    form, facts, policy = sequence_form(game), source.facts, source.policy
    ks = shown_ks(facts.notion)
    refused = _refusals(source, ks)
    wanted = [k for k in ks if k not in refused]
    notions, inspected = evaluated(form, facts.notion, max(1, policy.n_components), wanted)
    device = small_device(policy)  # first, for the search takes memory
    commits = commits_of(source.request)
    certificate, seen = certify_and_inspect(policy, notions, inspected, commits)
    players = players_of_policy(policy, certificate.values)
    deviations = tuple(
        _deviation(seen, player, gap.notion, witness)
        for gap in certificate.gaps
        if gap.k is not None or gap.notion == facts.notion
        for player, witness in zip(players, gap.witnesses, strict=True)
    )
    judged = None
    if isinstance(source.request, OptimizeRequest):
        judged = certify_judged(policy, facts.notion, source.request.tremble, commits)
    own = [deviation for deviation in deviations if deviation.notion == facts.notion]
    return RunView(
        facts=facts,
        players=players,
        n_nodes=game.n_nodes,
        n_components=policy.n_components,
        n_tuples=0 if policy.plan is None else policy.plan.steps.n_tuples,
        gaps=tuple(_gap_row(certificate, k, refused) for k in ks),
        notions=tuple(
            GapRow(gap.notion, gap.player_gaps, gap.relative)
            for gap in certificate.all_gaps
            if gap.k is None
        ),
        trigger_gap=None if math.isnan(certificate.trigger.gap) else certificate.trigger.gap,
        error=max(gap.error for gap in certificate.all_gaps),
        bound=bound_of(source.request, form),
        deviations=deviations,
        region=None if facts.best is None else _small_region(game, facts.notion, commits),
        device=device,
        tree=tree_view(game, seen.recommended, _marked(own), judged),
        inspector=_script_data(seen, facts.k, players),
        credible=None if judged is None else judged.is_credible,
        threats=() if judged is None else tuple(map(str, judged.threats)),
    )


def _played(source: Source) -> RunView:
    """The estimates and bounds that plays give for a mixture whose game is not known."""
    facts, policy = source.facts, source.policy
    players, bounds = players_of_policy(policy, facts.values, facts.margins), facts.bounds
    return RunView(
        facts=facts,
        players=players,
        bound=None,
        n_components=policy.n_components,
        deviations=()
        if bounds is None
        else tuple(
            DeviationView(facts.notion, player, found.gain, found=found)
            for player, found in zip(players, bounds.found, strict=True)
        ),
        advice=advice_of(policy, source.reached),
    )


def advice_of(
    policy: CorrelatedPolicy, reached: Reached = (), most: int = MOST_INFOSETS
) -> tuple[tuple[Advice, ...], ...]:
    """The mean recommendations over all components, at some infosets of each player.

    They are those that most plays ``reached``, or else the first ones.
    """
    found = []
    parts = policy.split(policy.mean_behavior())
    for i, (plex, part) in enumerate(zip(policy.plexes, parts, strict=True)):
        shares = dict(reached[i]) if reached else {}
        rest = (x for x in range(plex.n_infosets) if x not in shares)
        mean: list[float] = part.tolist()
        found.append(
            tuple(
                Advice(
                    plex.infoset_labels[x],
                    tuple(zip(plex.action_labels[x], mean[int(plex.first_seq[x]) :], strict=False)),
                    shares.get(x, 0.0 if len(shares) < MOST_REACHED else None) if reached else None,
                )
                for x in islice(chain(shares, rest), most)
            )
        )
    return tuple(found)


def _small_region(game: Game, notion: Notion, commits: tuple[str, ...]) -> Region | None:
    """The region of the first two players; None if it would take long, or there is only one."""
    if game.n_players < 2 or len(sequence_form(game).leaves) > MOST_LEAVES:
        return None
    return region(game, notion, commits=commits, tolerance=ROUGH, directions=MOST_DIRECTIONS)


def optimum_row(source: Source) -> OptimumRow:
    """A run that optimized, for a page of several."""
    facts, policy = source.facts, source.policy
    device = None if source.game is None else small_device(policy)
    return OptimumRow(facts, players_of_policy(policy, facts.values), device)


def small_device(policy: CorrelatedPolicy) -> Device | None:
    """Nearly all plans that the mixture draws; None if they are too many for a page."""
    if policy.plan is not None and (policy.form.game.player == CHANCE).any():
        return None
    plans = policy.likeliest_plans(LISTED_PLANS, least=RARE, work=SEARCH)
    device = Device.of(policy.form, plans, policy)
    told = sum(len(part) for plan in device.plans for part in plan.told)
    return device if device.rest <= MOST_REST and told <= MOST_TOLD else None


def _refusals(source: Source, ks: list[float]) -> dict[float, str]:
    """Why some K are left out."""
    refused: dict[float, str] = {}
    for k in ks:
        if (reason := source.refusal(k)) is not None:
            refused[k] = reason
            continue
        try:
            for plex in source.policy.plexes:
                check_budget(count_rechistories(plex, k))
        except BudgetError as error:
            refused[k] = str(error)
    if len(refused) == len(ks):
        raise ArgumentError(f"{source.facts.folder} is too large for a report: {refused[0]}")
    return refused


def players_of(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    plexes: Sequence[Treeplex] = (),
    margins: Sequence[float] | None = None,
    leaves: LeafTable | None = None,
) -> tuple[PlayerView, ...]:
    """All players, with their expected payoffs.

    If the game is known, its ``leaves`` have the range of payoffs. If not, the values are
    estimates, with their ``margins``.
    """
    return tuple(
        PlayerView(
            index=i,
            label=label,
            name=player_name(label),
            n_infosets=plexes[i].n_infosets if plexes else 0,
            value=float(values[i]),
            worst=math.nan if leaves is None else float(leaves.worst[i]),
            best=math.nan if leaves is None else float(leaves.best[i]),
            margin=None if leaves is not None else math.nan if margins is None else margins[i],
        )
        for i, label in enumerate(labels)
    )


def players_of_policy(
    policy: CorrelatedPolicy, values: Sequence[float], margins: Sequence[float] | None = None
) -> tuple[PlayerView, ...]:
    """The players of a policy, with their expected payoffs when everybody obeys."""
    leaves = None if policy.game is None else policy.form.leaves
    return players_of(
        policy.player_labels, values, plexes=policy.plexes, margins=margins, leaves=leaves
    )


def _gap_row(certificate: Certificate, k: float, refused: dict[float, str]) -> GapRow:
    if k in refused:
        return GapRow(Notion(k), refusal=refused[k])
    gap = certificate[k]
    return GapRow(gap.notion, gap.player_gaps, gap.relative)


def bound_of(asked: AnyRequest, form: SequenceForm) -> GapBound | None:
    """The bound that a theorem gives for a run, if one covers it."""
    if isinstance(asked, SolveRequest):
        return solve_bound(form, asked.notion, asked.minimizer, asked.iterations, asked.power)
    if isinstance(asked, LearnRequest) and not asked.is_joint:
        return learn_bound(form, asked.notion, asked.minimizer, asked.episodes, asked.exploration)
    return None


def _deviation(
    seen: Inspection, player: PlayerView, notion: Notion, witness: Witness
) -> DeviationView:
    """A player's best deviation: its first places, the way to the best one, and what follows."""
    plex = seen.form.plexes[player.index]
    places = _places(plex, witness)
    way: tuple[DeviationStep, ...] = ()
    start: tuple[int, int] | None = None
    if places:
        first = places[0]
        if first.told is not None:
            start = first.infoset, plex.action_labels[first.infoset].index(first.told)
        way = tuple(
            _step(plex, depth, x, a, a, None)
            for depth, (x, a) in enumerate(plex.history(first.infoset))
        )
    k = notion.k
    has_plan = k == 0 and player.n_infosets > 0 and witness.gain > 0
    found: list[Move] = []
    more = 0
    if k is not None and k in seen.deviators and (places or has_plan):
        found, more = steps(seen.deviators[k][player.index], start, MOST_STEPS)
    return DeviationView(
        notion=notion,
        player=player,
        gain=witness.gain,
        places=places[:MOST_STEPS],
        more_places=max(0, len(places) - MOST_STEPS),
        way=way,
        steps=tuple(
            _step(
                plex,
                len(way) + one["depth"],
                one["infoset"],
                one["told"],
                one["plays"],
                one["probability"],
            )
            for one in found
        ),
        more_steps=more,
        commits=witness.commits,
    )


def _places(plex: Treeplex, witness: Witness) -> tuple[Place, ...]:
    """The first deviations, with the numbers of their infosets and actions."""
    labels = {event.infoset for event in witness.first_deviations}
    infosets = {label: x for x, label in enumerate(plex.infoset_labels) if label in labels}
    return tuple(
        Place(
            infoset=(x := infosets[event.infoset]),
            label=event.infoset,
            told=event.told,
            plays=event.plays,
            action=plex.action_labels[x].index(event.plays),
            gain=event.gain,
            probability=event.probability,
        )
        for event in witness.first_deviations
    )


def _step(
    plex: Treeplex, depth: int, x: int, told: int | None, plays: int, probability: float | None
) -> DeviationStep:
    actions = plex.action_labels[x]
    return DeviationStep(
        depth=depth,
        infoset=x,
        label=plex.infoset_labels[x],
        told=None if told is None else actions[told],
        plays=actions[plays],
        action=plays,
        probability=probability,
    )


def _marked(deviations: list[DeviationView]) -> set[tuple[int, int, int]]:
    """The moves of the best of these deviations, for the tree; none if it gains next to nothing."""
    best = max(deviations, key=lambda deviation: deviation.gain, default=None)
    if best is None or best.gain <= NEGLIGIBLE * best.player.span:
        return set()
    places = [place for place in best.places if place.gain > MARKED * best.gain]
    moves: list[DeviationStep | Place] = [*best.steps, *places]
    return {(best.player.index, move.infoset, move.action) for move in moves}


def _script_data(
    seen: Inspection, k: float | None, players: tuple[PlayerView, ...]
) -> dict[str, Any]:
    """The inspector's numbers, the K that it can show, and the players' names."""
    data = inspector_data(seen, k)
    infosets = [infoset for player in data["players"] for infoset in player["infosets"]]
    held = {one for infoset in infosets for one in infoset["gain"]}
    held |= {"0" for infoset in infosets if infoset["plan"]}
    ks = [one for k in sorted(seen.deviators) if (one := str(written_k(k))) in held]
    names = [player.name for player in players]
    negligible = [NEGLIGIBLE * player.span for player in players]
    return {**data, "ks": ks, "names": names, "negligible": negligible}
