"""Several runs side by side, as a typed view.

Runs that differ only in their seeds are one group: one curve, with a band from the best to the
worst of them. Gaps are compared in payoff units if all runs are of one game, and as shares of each
game's payoff range if not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from accord.reports.view import ComparisonView, Group, RunFacts


def compare(runs: Sequence[RunFacts]) -> ComparisonView:
    """Group the runs, name the groups, and find the best run."""
    grouped: dict[str, list[RunFacts]] = {}
    for run in runs:
        same = {one.name: one.value for one in run.requests if one.name != "seed"}
        key = json.dumps([run.learned, run.digest, same], sort_keys=True)
        grouped.setdefault(key, []).append(run)
    labels = _labels([group[0] for group in grouped.values()])
    pairs = list(zip(labels, grouped.values(), strict=True))
    rows = tuple((label, run) for label, group in pairs for run in group)
    return ComparisonView(
        game=runs[0].game if len({run.digest for run in runs}) == 1 else None,
        groups=tuple(
            Group(label, group[0].learned, tuple(run.history for run in group))
            for label, group in pairs
        ),
        runs=rows,
        best=_best([run for _, run in rows]),
    )


def _best(runs: list[RunFacts]) -> int | None:
    """The rank of the smallest relative gap, if all runs have the same notion and a gap."""
    gaps = [run.relative for run in runs if run.relative is not None]
    if len({run.notion for run in runs}) > 1 or len(gaps) < len(runs):
        return None
    return gaps.index(min(gaps))


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
    k = run.notion.symbol if run.k is None else f"K = {run.notion.symbol}"
    shown = {
        "game": (run.game, run.game),
        "K": (k, k),
        "method": (run.method, run.method),
        "how": (how, how),
    }
    for one in run.requests:
        if one.name not in ("game", "k", "method", "seed"):
            when = " requested at first" if one.is_limit else ""
            text = f"{one.name.replace('_', ' ')} {one.value}{when}"
            shown[one.name] = one.value, text
    return shown
