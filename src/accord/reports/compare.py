"""Several runs side by side, as a typed view.

Runs that differ only in their seeds are one group: one curve, with a band from the best to the
worst of them. Gaps are compared in payoff units if all runs are of one game, and as shares of each
game's payoff range if not.

Runs in environments have no curve, because their gaps are only bounded, and only at the end. The
bounds are drawn against the numbers of episodes, so a group may have several of these.

Runs that optimized have no curve either, since they end with gap 0. Their objectives, values,
bounds, payoffs and devices stand side by side.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from accord.reports.view import ComparisonView, Group, OptimumRow, RunFacts


def compare(runs: Sequence[RunFacts], optima: Sequence[OptimumRow] = ()) -> ComparisonView:
    """Group the runs, name the groups, and find the best run; ``optima`` are those that optimized,
    with their devices."""
    grouped: dict[str, list[RunFacts]] = {}
    for run in runs:
        same = {one.name: one.value for one in run.requests if one.name not in _varied(run)}
        key = json.dumps([run.learned, run.digest, same], sort_keys=True)
        grouped.setdefault(key, []).append(run)
    labels = _labels([group[0] for group in grouped.values()])
    groups = [
        Group(label, tuple(group)) for label, group in zip(labels, grouped.values(), strict=True)
    ]
    known, others = ([run for run in runs if run.knows_game == knows] for knows in (True, False))
    several = len({run.digest for run in known}) > 1
    one_game = not several and len({run.digest for run in others}) <= 1
    return ComparisonView(
        game=runs[0].game if one_game and len({run.game for run in runs}) == 1 else None,
        groups=tuple(groups),
        relative=several,
        best=None
        if optima and len(optima) == len(runs)
        else _best([run for group in groups for run in group.runs]),
        optima=tuple(optima),
    )


def _varied(run: RunFacts) -> tuple[str, ...]:
    """The options in which the runs of a group may differ."""
    return ("seed",) if run.knows_game else ("seed", "episodes", "environment")


def _best(runs: list[RunFacts]) -> int | None:
    """The rank of the smallest gap, or of the smallest upper bound where all have bounds.

    There is none if runs have different notions, or nothing by which all can be compared: gaps as
    shares of the payoff ranges, or bounds in one environment.
    """
    if len({run.notion for run in runs}) > 1:
        return None
    found = [run.relative for run in runs]
    if all(run.bounds for run in runs) and len({run.digest for run in runs}) == 1:
        found = [None if run.bounds is None else run.bounds.upper for run in runs]
    gaps = [gap for gap in found if gap is not None]
    return gaps.index(min(gaps)) if len(gaps) == len(runs) else None


def _labels(runs: list[RunFacts]) -> list[str]:
    """A label for each group, from the first few options that tell all groups apart."""
    options = [_options(run) for run in runs]
    names = list(dict.fromkeys(name for one in options for name in one))
    differ = [name for name in names if len({json.dumps(one.get(name)) for one in options}) > 1]
    used: list[str] = [name for name in ("game", "K", "method") if name in differ] or ["method"]
    rest = [name for name in differ if name not in used]
    while True:
        labels = [", ".join(one[name][1] for name in used if name in one) for one in options]
        if len(set(labels)) == len(labels) or not rest:
            return labels
        used.append(rest.pop(0))


def _options(run: RunFacts) -> dict[str, tuple[Any, str]]:
    """By name: the value of each option of a run, and how a label writes it."""
    how = "learned" if run.learned else "optimized" if run.best else "solved"
    how = how if run.knows_game else "learned in an environment"
    k = run.notion.symbol if run.k is None else f"K = {run.notion.symbol}"
    shown = {
        "game": (run.game, run.game),
        "K": (k, k),
        "method": (run.method, run.method),
        "how": (how, how),
    }
    for one in run.requests:
        if one.name not in ("game", "k", "method", *_varied(run)):
            when = " requested at first" if one.is_limit else ""
            text = f"{one.name.replace('_', ' ')} {one.value}{when}"
            shown[one.name] = one.value, text
    return shown
