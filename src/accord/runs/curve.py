"""The best equilibrium against a parameter of the game, for one objective and notion or several.

Each point is a run of :func:`accord.optimize`. Where consecutive games have the same infosets and
actions, the joint plans of the last optimum are the first columns of the next. In a folder a curve
is a sweep (``runs/sweep.py``): points that are done are not computed again.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord._above import DISPLAY, call_above
from accord._check import Number, as_number
from accord.deviations.notions import NotionLike, as_notion
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.tree import Game, checked_game
from accord.optimal.objective import (
    EGALITARIAN,
    WELFARE,
    Objective,
    ObjectiveLike,
    as_objective,
    objective_text,
)
from accord.runs.optimize import optimize
from accord.runs.sweep import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 100_000
MOST_PLANS = 40
"""Plans of the device of a point that are kept, the likeliest."""

NAMES = (WELFARE, EGALITARIAN)


@dataclass(frozen=True)
class CurvePoint:
    """The best equilibrium at one value of the parameter."""

    x: float
    value: float
    bound: float  # no equilibrium has a better value
    optimal: bool  # whether both meet
    values: tuple[float, ...]  # expected payoffs of all players
    components: int
    device: tuple[dict[str, Any], ...] = ()  # the likeliest plans: probability, and what is told


@dataclass(frozen=True)
class CurveSeries:
    """The points of one notion and objective."""

    notion: str  # its name
    objective: str  # as results have it
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class Curve:
    """Value, bound and payoffs of best equilibria against a parameter."""

    name: str  # of the game
    parameter: str
    players: tuple[str, ...]
    series: tuple[CurveSeries, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as one JSON object."""
        return {
            "game": self.name,
            "parameter": self.parameter,
            "players": list(self.players),
            "series": [
                {
                    "notion": one.notion,
                    "objective": one.objective,
                    "points": [
                        {**vars(p), "values": list(p.values), "device": list(p.device)}
                        for p in one.points
                    ],
                }
                for one in self.series
            ],
        }

    def plot(self) -> Figure:
        """The values against the parameter, with bounds where they are not met."""
        figure: Figure = call_above(DISPLAY, "curve_plot", self)
        return figure

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "curve_html", self))


def curve(
    game: Callable[[float], Game],
    at: Iterable[Number],
    k: NotionLike | Sequence[NotionLike] = 1,
    objective: ObjectiveLike | list[ObjectiveLike] = WELFARE,
    *,
    minimize: bool = False,
    commits: str | Iterable[str] = (),
    at_least: Mapping[str, Number] | None = None,
    seconds: float | None = None,
    name: str | None = None,
    parameter: str = "x",
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[str, Any], object] | None = None,
) -> Curve:
    """Find the best equilibrium at several values of a parameter.

    Args:
        game: Makes the game from the parameter.
        at: The values of the parameter.
        k: One notion or several.
        objective: As in :func:`optimize`; of several, in a list, each has a curve of its own.
        minimize: Whether to minimize the objective.
        commits: The labels of players who commit.
        at_least: The least payoffs of some players.
        seconds: For each point.
        name: Of the game, in results; by default that of the first game.
        parameter: Its name.
        folder: Keep each point in this folder, and skip those that are there: the same call
            continues a curve that was stopped.
        progress: Called with the name and result of every point.

    Raises:
        ArgumentError: If an argument is out of range, or a point has no such equilibrium.
        MismatchError: If the folder has a point with other arguments.
        SweepError: If points failed, after all others are done.
    """
    xs = [as_number("a value of the parameter", x) for x in at]
    if not xs or not all(map(math.isfinite, xs)) or len(set(xs)) < len(xs):
        raise ArgumentError("a curve needs at least one value, all finite and different")
    if len(xs) > MOST_POINTS:
        raise ArgumentError(f"a curve has at most {MOST_POINTS:,} points; got {len(xs):,}")
    given: list[Any] = list(k) if isinstance(k, list | tuple) else [k]
    notions = [as_notion(one) for one in given]
    goals: list[Any] = list(objective) if _are_several(objective) else [objective]  # type: ignore[arg-type]
    first = checked_game(game(xs[0]))
    labels = first.player_labels
    fixed = [commits] if isinstance(commits, str) else list(commits)
    floors = {who: as_number("a payoff", least) for who, least in (at_least or {}).items()}
    written, tasks = {}, {}
    for notion in notions:
        for n, goal in enumerate(goals):
            made = as_objective(goal, labels, minimize=minimize)
            text = objective_text(made.written(labels), minimize=made.minimize)
            written[notion, n] = text
            for x in xs:
                tasks[f"k={notion.written},o={n},{parameter}={x!r}"] = {
                    "x": x,
                    "k": notion.written,
                    "objective": made.written(labels),
                    "minimize": made.minimize,
                    "commits": fixed,
                    "at_least": floors,
                }
    last: list[CorrelatedPolicy] = []

    def job(_: Path, x: float, **asked: Any) -> dict[str, Any]:
        now = game(x)
        found = optimize(now, start=_moved(last, now), seconds=seconds, **asked)
        last[:] = [found.policy]
        content = found.to_json()
        kept = ("value", "bound", "optimal", "values", "components")
        device = [
            {"probability": plan["probability"], "told": plan["told"]}
            for plan in found.policy.device(MOST_PLANS).to_json()["plans"]
        ]
        return {**{key: content[key] for key in kept}, "device": device}

    with tempfile.TemporaryDirectory(prefix="accord-") as aside:
        done = sweep(job, tasks, aside if folder is None else folder, progress=progress)
    series = []
    for (notion, n), text in written.items():
        names = [f"k={notion.written},o={n},{parameter}={x!r}" for x in xs]
        points = (_point(x, **done[one]) for x, one in zip(xs, names, strict=True))
        series.append(CurveSeries(notion.name, text, tuple(points)))
    return Curve(name or first.name, parameter, tuple(labels), tuple(series))


def _point(x: float, *, values: list[float], device: Sequence[Any] = (), **kept: Any) -> CurvePoint:
    """A point as it is kept in a folder; older ones have no device."""
    return CurvePoint(x, values=tuple(values), device=tuple(device), **kept)


def _are_several(objective: Any) -> bool:
    """Whether this is a list of objectives, and not the weights of one."""
    return isinstance(objective, list) and any(
        one in NAMES if isinstance(one, str) else isinstance(one, Mapping | Sequence | Objective)
        for one in objective
    )


def _moved(last: list[CorrelatedPolicy], game: Game) -> CorrelatedPolicy | None:
    """The last optimum in another game with the same infosets and actions; else None."""
    if not last or last[0].plan is not None:
        return None
    before = last[0].form.game
    same = all(
        list(getattr(before, part)) == list(getattr(game, part))
        for part in ("player_labels", "infoset_labels", "action_labels")
    )
    return CorrelatedPolicy(game, last[0].weights, last[0].behavior) if same else None
