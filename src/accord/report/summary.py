"""The numbers of a run's report, as plain dictionaries: everything that is shown, nothing of how.

The paper's bound on the gap after T iterations at its learning rate is, per player, the smaller of
her payoff range and ``c / sqrt(T)`` (``learning/plan.py``); the gap's bound is the largest of them.
"""

from __future__ import annotations

import math
from typing import Any

from accord.deviations.counting import count_rechistories
from accord.deviations.notions import clipped_k
from accord.deviations.rechistory import check_budget
from accord.equilibrium.certificate import Certificate, Witness, certify
from accord.equilibrium.inspection import Inspection, Step, inspect, steps
from accord.errors import ArgumentError, BudgetError
from accord.learning.bounds import bandit_regret_bound, regret_bound
from accord.regret.rates import bandit_learning_rate, paper_learning_rate
from accord.report.inspector import inspector_data
from accord.report.runs import Run, too_much, work
from accord.report.words import k_key
from accord.runs.learn import learn
from accord.treeplex.form import SequenceForm, sequence_form

SHOWN = (0, 1, 2, math.inf)
"""The numbers of deviations that every report has."""

MOST_STEPS = 40
FAILURE_PROB = float((learn.__kwdefaults__ or {})["failure_prob"])
QUICK = 1e9
"""Cells times components up to which the inspector shows a K that is not the run's own."""

LONG = 10**60
"""Iterations after which no bound is still the whole payoff range."""


def summarise(run: Run) -> tuple[dict[str, Any], Inspection]:
    """Everything that the report of ``run`` says, and what its inspector looks at."""
    form = sequence_form(run.game)
    refused = _refusals(run)
    wanted = [k for k in sorted({*SHOWN, run.k}) if k not in refused]
    certificate = certify(run.game, run.policy, wanted)
    seen = inspect(run.policy, [k for k in wanted if k == run.k or work(run.policy, k) <= QUICK])
    spans = [float(span) for span in form.leaves.payoff_range]
    scale = [float(unit) for unit in form.leaves.loss_scale]
    result = run.result
    summary = {
        "game": run.game.name,
        "players": list(run.game.player_labels),
        "infosets": list(run.game.n_infosets),
        "nodes": run.game.n_nodes,
        "k": k_key(run.k),
        "command": run.command,
        "method": run.method,
        "seed": run.asked.get("seed"),
        "iterations": result.get("iterations"),
        "episodes": result.get("episodes"),
        "seconds": result.get("seconds"),
        "components": run.policy.n_components,
        "average_gap": None if run.learned else result.get("gap"),
        "saved_gap": result.get("gap" if run.learned else "saved_gap"),
        "values": list(certificate.values),
        "worst": [float(v) for v in form.leaves.worst],
        "best": [float(v) for v in form.leaves.best],
        "ranges": spans,
        "gaps": [_gap(certificate, k, refused, scale) for k in sorted({*SHOWN, run.k})],
        "trigger_gap": certificate.trigger.gap,
        "nfce_gap": certificate.nfce_gap,
        "bound": _bound(run, form),
        "record": [
            {
                "iteration": point.iteration,
                "episodes": point.episodes,
                "gap": point.gap,
                "relative": max(g * s for g, s in zip(point.players, scale, strict=True)),
                "players": list(point.players),
                "seconds": point.seconds,
            }
            for point in run.record
        ],
        "deviations": [
            _deviation(seen, i, k, witness)
            for k in wanted
            for i, witness in enumerate(certificate[k].witnesses)
        ],
        "inspector": inspector_data(seen, run.k),
        "asked": run.asked,
        "versions": run.versions,
        "digest": run.game.digest,
    }
    return summary, seen


def bound_at(bound: dict[str, Any], iterations: float) -> float:
    """The paper's bound on the gap after so many iterations, payoff units."""
    return max(
        (
            min(span, c / math.sqrt(iterations))
            for span, c in zip(bound["ranges"], bound["constants"], strict=True)
        ),
        default=0.0,
    )


def _refusals(run: Run) -> dict[float, str]:
    """Why some K are left out."""
    refused: dict[float, str] = {}
    for k in sorted({*SHOWN, run.k}):
        if (reason := too_much(run.policy, k)) is not None:
            refused[k] = reason
            continue
        try:
            for plex in sequence_form(run.game).plexes:
                check_budget(count_rechistories(plex, k))
        except BudgetError as error:
            refused[k] = str(error)
    if len(refused) == len({*SHOWN, run.k}):
        raise ArgumentError(f"{run.folder} is too large for a report: {refused[0]}")
    return refused


def _gap(
    certificate: Certificate, k: float, refused: dict[float, str], scale: list[float]
) -> dict[str, Any]:
    if k in refused:
        return {"k": k_key(k), "refused": refused[k]}
    gap = certificate[k]
    return {
        "k": k_key(k),
        "gap": gap.gap,
        "relative": max(g * s for g, s in zip(gap.player_gaps, scale, strict=True)),
        "players": list(gap.player_gaps),
    }


def _deviation(seen: Inspection, i: int, k: float, witness: Witness) -> dict[str, Any]:
    """A player's best deviation: its first place, the way there, and what follows."""
    plex = seen.form.plexes[i]
    one = seen.deviators[k][i] if k in seen.deviators else None
    numbers = {event.infoset: -1 for event in witness.first_deviations}
    for x, label in enumerate(plex.infoset_labels):
        if label in numbers:
            numbers[label] = x
    places = [
        {
            "x": (x := numbers[event.infoset]),
            "action": list(plex.action_labels[x]).index(event.plays),
            "infoset": event.infoset,
            "told": event.told,
            "plays": event.plays,
            "gain": event.gain,
            "probability": event.probability,
        }
        for event in witness.first_deviations
    ]
    start: tuple[int, int] | None = None
    way: list[list[str]] = []
    if witness.first_deviations:
        first = witness.first_deviations[0]
        x = numbers[first.infoset]
        start = x, list(plex.action_labels[x]).index(first.told)
        way = [[plex.infoset_labels[y], plex.action_labels[y][a]] for y, a in plex.history(x)]
    found: list[Step] = []
    more = 0
    plans = not k and plex.n_infosets and witness.gain > 0
    if one is not None and (start is not None or plans):
        found, more = steps(one, start, MOST_STEPS)
    return {
        "k": k_key(k),
        "player": i,
        "gain": witness.gain,
        "text": str(witness),
        "places": places[:MOST_STEPS],
        "more_places": max(0, len(places) - MOST_STEPS),
        "way": way,
        "steps": [
            {
                **step,
                "label": plex.infoset_labels[step["infoset"]],
                "told": None
                if step["told"] is None
                else plex.action_labels[step["infoset"]][step["told"]],
                "plays": plex.action_labels[step["infoset"]][step["plays"]],
                "action": step["plays"],
            }
            for step in found
        ],
        "more_steps": more,
    }


def _bound(run: Run, form: SequenceForm) -> dict[str, Any]:
    """The constants c of the paper's bound, per player who has a choice."""
    infosets = sum(plex.n_infosets for plex in form.plexes)
    failure_prob = float(run.asked.get("failure_prob") or FAILURE_PROB)
    constants, ranges = [], []
    for i, plex in enumerate(form.plexes):
        if plex.max_actions == 1:
            continue
        own = clipped_k(plex, run.k)
        if run.learned:
            rate = bandit_learning_rate(form.plexes, i, own, LONG, failure_prob)
            regret = bandit_regret_bound(plex, own, rate, LONG, failure_prob, infosets=infosets)
        else:
            rate = paper_learning_rate(plex, own) / math.sqrt(LONG)
            regret = regret_bound(plex, own, rate, LONG)
        ranges.append(float(form.leaves.payoff_range[i]))
        constants.append(regret / math.sqrt(LONG) * ranges[-1])
    theorem = "bandit" if run.learned else "full"
    return {
        "theorem": theorem,
        "constants": constants,
        "ranges": ranges,
        "failure_prob": failure_prob if run.learned else None,
    }
