"""Reports of runs in environments, whose games are not known.

The page of a run shows the values and the bounds on the gap from fresh plays, the deviations that
were found, and what the mixture recommends at the first infosets. The page of several runs shows
their bounds side by side.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accord.equilibrium.policy import CorrelatedPolicy
from accord.runs.played_run import PlayedRun

MOST_INFOSETS = 200
"""How many infosets of each player the page shows."""


@dataclass(frozen=True, eq=False)
class Advice:
    """The mean recommendation at one infoset."""

    infoset: str
    actions: tuple[tuple[str, float], ...]  # with their probabilities


@dataclass(frozen=True, eq=False)
class PlayedView:
    """What the page shows."""

    run: PlayedRun
    infosets: tuple[int, ...]  # of each player
    advice: tuple[tuple[Advice, ...], ...]  # of each player


@dataclass(frozen=True, eq=False)
class PlayedComparison:
    """Several runs side by side. Runs that differ only in their seeds and episodes are a group."""

    game: str | None  # None if there are several
    labels: tuple[str, ...]  # of the groups
    runs: tuple[tuple[int, PlayedRun], ...]  # with the rank of their group

    @property
    def bounded(self) -> tuple[tuple[int, PlayedRun], ...]:
        """The runs with bounds on their gap."""
        return tuple(one for one in self.runs if one[1].certificate is not None)

    @property
    def best(self) -> int | None:
        """The rank of the run with the smallest upper bound, if all have one and the same K."""
        uppers = [run.result["upper"] for _, run in self.runs if run.certificate is not None]
        ks = {(run.digest, run.request.k) for _, run in self.runs}
        if len(uppers) < len(self.runs) or len(ks) > 1:
            return None
        return uppers.index(min(uppers))


def view_of(run: PlayedRun) -> PlayedView:
    """What the page of a run shows."""
    policy = run.policy
    return PlayedView(
        run=run,
        infosets=tuple(plex.n_infosets for plex in policy.plexes),
        advice=tuple(_advice(policy, i) for i in range(len(policy.plexes))),
    )


def compare_played(runs: Sequence[PlayedRun]) -> PlayedComparison:
    """Group the runs, and name the groups by what tells them apart."""
    options = [
        {
            name: value
            for name, value in {**run.request.to_json(), "game": run.result["game"]}.items()
            if name not in ("seed", "episodes", "environment")
        }
        for run in runs
    ]
    keys = [json.dumps([run.digest, one]) for run, one in zip(runs, options, strict=True)]
    ranks = {key: rank for rank, key in enumerate(dict.fromkeys(keys))}
    differ = [name for name in options[0] if len({str(one[name]) for one in options}) > 1]
    labels = {
        key: ", ".join(_worded(name, one[name]) for name in differ) or str(one["method"])
        for key, one in zip(keys, options, strict=True)
    }
    return PlayedComparison(
        game=runs[0].result["game"] if len({run.digest for run in runs}) == 1 else None,
        labels=tuple(labels[key] for key in ranks),
        runs=tuple((ranks[key], run) for key, run in zip(keys, runs, strict=True)),
    )


def _worded(name: str, value: Any) -> str:
    if name in ("game", "method"):
        return str(value)
    return f"K = {value}" if name == "k" else f"{name.replace('_', ' ')} {value}"


def _advice(policy: CorrelatedPolicy, i: int) -> tuple[Advice, ...]:
    plex = policy.plexes[i]
    mean = (policy.weights @ policy.split(policy.behavior)[i]).tolist()
    shown = range(min(plex.n_infosets, MOST_INFOSETS))
    return tuple(
        Advice(
            plex.infoset_labels[x],
            tuple(zip(plex.action_labels[x], mean[int(plex.first_seq[x]) :], strict=False)),
        )
        for x in shown
    )
