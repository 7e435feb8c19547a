"""The progress of a run on standard error: a bar on a terminal, a line now and then elsewhere.

With ``--track`` an experiment tracker sees it, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import duration, memory
from accord.cli.terminal import SECONDS_PER_LINE, LongSteps, say

if TYPE_CHECKING:
    from accord.runs.checkpoint import Checkpoint, Seen

WORDS = 75
"""Columns reserved for the words beside the bar and the spaces around them."""

MOST_VALUES = 3
"""The most players whose values are shown."""

COMPILING = 2
"""The first iterations, which do not count for the speed: they may compile kernels."""

Track = Annotated[
    str | None,
    typer.Option(
        metavar="TRACKER",
        help="Also log checkpoints to an experiment tracker: tensorboard:FOLDER, wandb, mlflow or "
        "mlflow:FILE.",
    ),
]


@contextmanager
def shown_progress(total: int | None, end: float | None) -> Iterator[Callable[[Checkpoint], None]]:
    """Yield a function to call with every checkpoint of a run with these limits.

    Args:
        total: Iterations, or episodes if the run plays any.
        end: When the time is up, by ``time.perf_counter``.
    """
    from rich.console import Console

    pace, steps = _Pace(total, end), LongSteps.shown
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield _lines(pace)
        return

    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
    )
    from rich.text import Text

    class State(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            if steps is not None and (words := steps.words) is not None:
                return Text(words)
            left = max(0.0, task.fields["end"] - time.perf_counter())
            return Text("  ".join(filter(None, (task.description, _time_left(left)))))

    with Progress(
        BarColumn(bar_width=min(24, max(4, console.width - WORDS))),
        State(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=total, end=math.inf)
        if steps is not None:
            steps.silent = True

        def show(now: Checkpoint) -> None:
            left = pace.seconds_left(now)
            bar.update(
                task,
                completed=_done(now),
                description=pace.state(now),
                end=time.perf_counter() + left,
            )

        try:
            yield show
        finally:
            if steps is not None:
                steps.silent = False


@contextmanager
def tracked(
    kind: str | None, playable: Any, show: Callable[[Checkpoint], None]
) -> Iterator[Callable[[Checkpoint], None]]:
    """``show``, which also calls the tracker called ``kind`` if there is one."""
    if kind is None:
        yield show
        return
    from accord.exports.trackers import tracker_of

    with tracker_of(kind, playable) as tracker:

        def both(point: Checkpoint) -> None:
            show(point)
            tracker(point)

        yield both


def _lines(pace: _Pace) -> Callable[[Checkpoint], None]:
    said = 0.0

    def show(now: Checkpoint) -> None:
        nonlocal said
        left = pace.seconds_left(now)
        said = max(said, pace.start)
        if now.seconds - said >= SECONDS_PER_LINE:
            said = now.seconds
            say(", ".join(filter(None, (pace.state(now), _time_left(left)))))

    return show


class _Pace:
    """The speed of a run, and when it will end."""

    def __init__(self, total: int | None, end: float | None) -> None:
        self.total, self.end = total, end
        self.first: Checkpoint | None = None  # where counting starts

    def rate(self, now: Checkpoint) -> float:
        """Iterations or episodes per second; 0 before that is known."""
        if self.first is None or now.iteration <= COMPILING:
            self.first = now
        done, took = _done(now) - _done(self.first), now.seconds - self.first.seconds
        return done / took if took > 0 else 0.0

    @property
    def start(self) -> float:
        """When counting started."""
        return self.first.seconds if self.first is not None else 0.0

    def seconds_left(self, now: Checkpoint) -> float:
        """The seconds until the first limit is reached; infinite if that is not known."""
        rate = self.rate(now)
        by_clock = math.inf if self.end is None else self.end - time.perf_counter()
        by_count = math.inf
        if self.total is not None and rate > 0:
            by_count = (self.total - _done(now)) / rate
        return max(0.0, min(by_clock, by_count))

    def state(self, now: Checkpoint) -> str:
        rate = self.rate(now)
        what = "iterations" if now.episodes is None else "episodes"
        speed = f", {rate:,.0f} per second" if rate >= 10 else f", {rate:.2g} per second"
        gap = "" if math.isnan(now.gap) else f", gap {now.gap:.3g}"
        if (region := now.region) is not None:
            found = f"{region.directions:,} directions, {region.vertices:,} vertices"
            return f"{found}, error {region.error:.2g}"
        if (best := now.best) is not None:
            value = "no equilibrium yet" if best.value is None else f"value {best.value:.6g}"
            rounds = f"round {now.iteration:,}, {best.columns:,} plans"
            return f"{rounds}, {value}, bound {best.bound:.6g}{gap}"
        if now.fresh is not None:
            return f"{now.episodes:,} episodes, {now.fresh:,} fresh plays to measure the result"
        seen = "" if now.seen is None or gap else _seen(now, now.seen)
        covered = "" if now.covered is None else f", {now.covered:.0%} of the game seen"
        return f"{_done(now):,} {what}{speed if rate else ''}{gap}{covered}{seen}"


def _seen(now: Checkpoint, seen: Seen) -> str:
    """Running values, and the size of what has been seen."""
    values = " ".join(f"{value:.3g}" for value in now.values[:MOST_VALUES])
    more = " ..." if len(now.values) > MOST_VALUES else ""
    running = f", values {values}{more}" if seen.coverage is not None else ""  # else no plays yet
    full = "" if now.covered is None else ": no room for joint plays, players learn on their own"
    full = (full or ", full") if seen.full else ""
    known = "" if seen.coverage is None else f", {seen.coverage:.0%} of decisions known"
    infosets = f"{seen.infosets:,} infosets in {memory(seen.memory)}{full}"
    return f"{running}, {infosets}{known}"


def _time_left(seconds: float) -> str:
    """In whole seconds, because an estimate is not more exact; empty if it is not known."""
    return f"{duration(round(seconds))} left" if math.isfinite(seconds) else ""


def _done(now: Checkpoint) -> int:
    """What the run counts: episodes if it plays any, iterations if not."""
    return now.iteration if now.episodes is None else now.episodes + (now.fresh or 0)
