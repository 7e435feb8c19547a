"""Shared by claims 2 and 3: runs of growing length, the cost of a fixed gap, and their figures.

The paper's learning rates depend on the length of a run, so each length needs its own run, and the
cost of a fixed gap is the length at which the gaps of these runs pass it. A *series* of runs is

    {"lengths": [...], "gaps": [...], "bounds": [the theorem's], "range": of payoffs, ...}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from accord.reports.chart import DASHES
from accord.reports.colors import MUTED, PAPER
from paper.frame import log_slope

Series = Mapping[str, Any]
Costs = Mapping[float, Mapping[int, float]]
"""A measured quantity, by size and seed."""

Check = tuple[str, str, bool]
"""A claim, the measurement, and whether the claim holds."""

HALF_DECADE = math.sqrt(10)
TAIL = 100.0
"""Slopes of gaps are fitted over the last two decades of lengths."""

TOLERANCE = 0.05
"""By how much a fitted exponent may exceed the claimed one."""

PANEL = (4.6, 3.2)


def lengths(first: float, most: float, step: float) -> Iterator[int]:
    """``first``, ``first * step``, ... up to ``most``, as whole numbers."""
    count = math.floor(math.log(most / first) / math.log(step) + 1e-9)
    return (round(first * step**i) for i in range(count + 1))


def cost(series: Series, target: float) -> float:
    """The length at which the gap passes ``target``, between the last two runs; else infinity."""
    times, gaps = series["lengths"], series["gaps"]
    if gaps[-1] > target:
        return math.inf
    if len(gaps) == 1:
        return float(times[0])
    (before, above), (after, below) = zip(times[-2:], gaps[-2:], strict=True)
    return float(before * (after / before) ** (math.log(above / target) / math.log(above / below)))


def bound_check(every: Sequence[Series]) -> Check:
    """Whether no run has a gap above the theorem's bound."""
    runs, below, speaking = _bounds(every)
    return (
        "the gap is at most the bound",
        f"{below} of {runs} runs; the bound is below the payoff range in {speaking}",
        below == runs and speaking > 0,
    )


def bound_text(every: Sequence[Series]) -> str:
    """How often the gap is at most the bound, and how often it could have been above it."""
    runs, below, speaking = _bounds(every)
    return (
        f"The gap is at most the bound in {below:,} of {runs:,} runs. It could have been above it "
        f"in {speaking:,}; in the others the bound is no smaller than the payoff range."
    )


def _bounds(every: Sequence[Series]) -> tuple[int, int, int]:
    """Runs; those with a gap of at most the bound; those whose bound is below the payoff range."""
    runs = [
        (gap <= bound, bound < series["range"])
        for series in every
        for gap, bound in zip(series["gaps"], series["bounds"], strict=True)
    ]
    below, speaking = (sum(column) for column in zip(*runs, strict=True))
    return len(runs), below, speaking


def slope_check(every: Iterable[Series], length: str) -> Check:
    """Whether gaps fall like one over the square root, where the theorem applies."""
    slopes = [tail_slope(series) for series in every if speaks_of_tail(series)]
    least, most = _ends(slopes) if slopes else (math.nan, math.nan)
    return (
        f"the gap falls at least like ${length}^{{-1/2}}$",
        f"exponents {least:.2f} to {most:.2f} in {len(slopes)} series of runs",
        bool(slopes) and most <= -0.5 + TOLERANCE,
    )


def tail_slope(series: Series) -> float:
    """The exponent of the gap in the length, over the last two decades."""
    tail = _tail(series)
    return log_slope(series["lengths"][tail], series["gaps"][tail])


def speaks_of_tail(series: Series) -> bool:
    """Whether the bound is below the payoff range, which no gap exceeds, on two decades."""
    times, bounds = (series[name][_tail(series)] for name in ("lengths", "bounds"))
    return bool(times[-1] >= 0.99 * TAIL * times[0] and max(bounds) < series["range"])


def slope_text(series: Series) -> str:
    """The slope as shown in a table: in parentheses where it does not count for the verdict."""
    slope = f"{tail_slope(series):.2f}"
    return slope if speaks_of_tail(series) else f"({slope})"


def _tail(series: Series) -> slice:
    times = series["lengths"]
    return slice(sum(time * TAIL < 0.99 * times[-1] for time in times), None)


def median(by_seed: Mapping[int, float]) -> float:
    """The median over seeds."""
    return float(np.median(list(by_seed.values())))


def exponents(costs: Costs) -> tuple[float, float, float]:
    """The exponent of costs in the size: of the medians, and the smallest and largest of one seed.

    Infinite if a cost is infinite.
    """
    if not all(math.isfinite(value) for by_seed in costs.values() for value in by_seed.values()):
        return math.inf, math.inf, math.inf
    sizes = list(costs)
    seeds = costs[sizes[0]]
    by_seed = [log_slope(sizes, [costs[size][seed] for size in sizes]) for seed in seeds]
    return log_slope(sizes, [median(costs[size]) for size in sizes]), *_ends(by_seed)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    kept = list(values)
    return min(kept), max(kept)


def panels(rows: int, columns: int, right: float) -> tuple[Figure, list[Any]]:
    """A grid of empty charts, each with ``right`` inches for labels."""
    width, height = PANEL
    figure = Figure(figsize=(columns * width, rows * height))
    charts = []
    for i in range(rows * columns):
        row, column = divmod(i, columns)
        axes = figure.add_axes(
            (
                (column + 0.6 / width) / columns,
                (rows - 1 - row + 0.55 / height) / rows,
                (1 - (0.6 + right) / width) / columns,
                (1 - 1.0 / height) / rows,
            )
        )
        axes.tick_params(which="both", length=0, pad=5)
        charts.append(axes)
    return figure, charts


def heading(axes: Any, title: str, below: str) -> None:
    """The title of a chart and of its horizontal axis."""
    axes.set_title(title, loc="left", fontsize=10, color=MUTED)
    axes.set_xlabel(below)


def curve(axes: Any, costs: Costs, color: str, dash: int = 0) -> float:
    """Medians over seeds as a curve, the range of seeds as a band; returns the last median."""
    sizes = list(costs)
    middle = [median(costs[size]) for size in sizes]
    low, high = zip(*(_ends(costs[size].values()) for size in sizes), strict=True)
    axes.fill_between(sizes, low, high, color=color, alpha=0.18, lw=0)
    axes.plot(sizes, middle, color=color, ls=DASHES[dash], lw=1.8, marker="o", ms=4, mec=PAPER)
    return middle[-1]


def bound_line(axes: Any, series: Series, color: str) -> None:
    """The theorem's bound, dashed."""
    axes.plot(series["lengths"], series["bounds"], color=color, lw=1.2, ls=(0, (6, 2.5)))


def order_line(axes: Any, lengths: Sequence[float], order: Sequence[float]) -> None:
    """The order of a lower bound, dotted."""
    axes.plot(lengths, order, color=MUTED, lw=1.4, ls=(0, (1, 2)))


def guide(axes: Any, xs: Sequence[float], ys: Sequence[float], label: str) -> None:
    """A thin line to guide the eye."""
    axes.plot(xs, ys, color=MUTED, lw=1.0, ls=(0, (1.5, 2)))
    middle = len(xs) // 2
    axes.annotate(
        label, (xs[middle], ys[middle]), xytext=(-6, 3), textcoords="offset points", ha="right",
        color=MUTED, fontsize=9,
    )  # fmt: skip


def logarithmic(axes: Any) -> None:
    """Make both axes logarithmic."""
    axes.set_xscale("log")
    axes.set_yscale("log")


def over_sizes(axes: Any, sizes: Sequence[float]) -> None:
    """A horizontal axis from the first to the last of these sizes, with a tick at each."""
    axes.set_xlim(sizes[0], sizes[-1])
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
