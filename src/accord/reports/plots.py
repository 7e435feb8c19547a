"""Plots: the gap during a run, the gaps by number of deviations, and runs side by side.

Each is drawn wide, for paper and screens, and narrow, for phones.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import ScaledTranslation

from accord._format import pretty, shortened
from accord.deviations.notions import k_symbol
from accord.game.labels import player_name
from accord.reports.chart import (
    DASHES,
    FLOOR,
    HALF,
    NARROW,
    WIDE,
    chart,
    decades,
    decades_of,
    drawing,
    end_labels,
    margin,
    plain,
)
from accord.reports.colors import INK, MUTED, PAPER, SERIES, color_of
from accord.reports.view import Axis, Course, Group, PlayerView, RunView
from accord.runs.checkpoint import Checkpoint

ROOM = 1.5
"""Decades above the curves within which the bound is drawn."""

MOST_MARGIN = 0.5
"""Share of a chart's width from which on the names of curves are put below it."""

MOST_CURVES = 6
"""The most players whose values are drawn."""

COVERAGE = 1.1
"""The inches of the chart of coverage, below that of values."""

Curve = list[tuple[float, float]]


def convergence(run: Course, *, narrow: bool = False) -> Figure | None:
    """The exact gap during a run, a bound that covers it, and what a slope of -1/2 looks like.

    If the game is not known, what plays have shown instead (:func:`learning`).
    """
    facts = run.facts
    drawn = [moment for moment in facts.history if moment.gap > FLOOR]
    if not drawn:
        return learning(run, narrow=narrow)
    per = _per_iteration(facts.history) if facts.learned else 1.0
    xs = [moment.iteration * per for moment in drawn]
    gaps = [moment.gap for moment in drawn]
    high = 2.2 * max(gaps)
    bound, name = run.bound, "bound" if narrow else _bound_name(run)
    at_end = 0.0 if bound is None else bound.at(max(1.0, xs[-1] / per))
    near = 0.0 < at_end <= high * 10**ROOM
    with drawing():
        names = [*map(_name, run.players), *([name] if near else [])]
        figure, axes = chart(NARROW if narrow else WIDE, margin(names))
        axes.set_xscale("log")
        axes.set_yscale("log")
        labels = []
        several = 1 < len(run.players) <= 4
        for player in run.players if several else ():
            keep = [
                (moment.iteration * per, moment.player_gaps[player.index])
                for moment in facts.history
                if moment.player_gaps[player.index] > FLOOR
            ]
            if keep:
                color = color_of(player.index)
                axes.plot(*zip(*keep, strict=True), color=color, lw=1.1, alpha=0.9)
                labels.append((keep[-1][1], _name(player), color))
        marker = "o" if len(drawn) < 3 else None
        axes.plot(xs, gaps, color=INK, lw=2.2, marker=marker, ms=4)
        labels.append((gaps[-1], "largest" if several else "gap", INK))
        low = min(*gaps, *(y for y, _, _ in labels)) / 2
        _slope(axes, xs, gaps)
        if near and bound is not None:
            grid = np.geomspace(xs[0], max(xs[-1], xs[0] * 10), 60)
            ys = [bound.at(max(1.0, x / per)) for x in grid]
            axes.plot(grid, ys, color=MUTED, lw=1.3, ls=(0, (6, 2.5)))
            labels.append((at_end, name, MUTED))
            high = max(high, at_end * 6)
        elif at_end:
            _say_bound(axes, f"{name}: {pretty(at_end, 3)} at the end", narrow)
        last = xs[-1]
        axes.set_xlim(min(xs[0], last / 10), last)
        axes.set_ylim(max(low, FLOOR), high)
        decades(axes)
        axes.set_xlabel("episodes" if facts.learned else "iterations")
        with_k = "" if facts.k is None else f" (K = {k_symbol(facts.k)})"
        title = f"{facts.notion} gap{with_k}, payoff units"
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        end_labels(axes, labels)
        return figure


def learning(run: Course, *, narrow: bool = False) -> Figure | None:
    """Values of recent plays during a run in an environment, below them the coverage, and below
    that bounds on the gap, if there were any before the end."""
    moments = run.facts.learning
    if len(moments) < 2:
        return None
    xs = [moment.episodes or 0 for moment, _ in moments]
    bounds = [
        (x, seen.lower, seen.upper)
        for x, (_, seen) in zip(xs, moments, strict=True)
        if seen.lower is not None
    ]
    below = 1 + run.facts.has_curve_of_bounds
    with drawing():
        width, height = NARROW if narrow else WIDE
        space = below * COVERAGE
        names = [*map(_name, run.players), "coverage", *(["gap at most"] if below > 1 else [])]
        figure, axes = chart((width, height + space), margin(names), space)
        labels = []
        for player in run.players[:MOST_CURVES]:
            i, color = player.index, color_of(player.index)
            ys = np.array([moment.values[i] for moment, _ in moments])
            spread = np.array([seen.margins[i] for _, seen in moments])
            axes.fill_between(xs, ys - spread, ys + spread, color=color, alpha=0.15, lw=0)
            axes.plot(xs, ys, color=color, lw=1.6)
            labels.append((float(ys[-1]), _name(player), color))
        axes.set_title("values of recent episodes", loc="left", fontsize=10, color=MUTED)
        place, low, gap = axes.get_position(), 0.55 / (height + space), 0.4 / (height + space)
        each = (place.y0 - low - below * gap) / below
        more = [
            figure.add_axes((place.x0, low + n * (each + gap), place.width, each))
            for n in reversed(range(below))
        ]
        known = [math.nan if seen.coverage is None else seen.coverage for _, seen in moments]
        more[0].plot(xs, known, color=INK, lw=1.6)
        more[0].set_ylim(0.0, 1.05)
        more[0].set_yticks([0.0, 0.5, 1.0], ["0", "1/2", "1"])
        if below > 1:
            _bounds(more[1], bounds)
        for one in (axes, *more):
            one.tick_params(which="both", length=0, pad=5)
            one.set_xscale("log")
            one.set_xlim(min(xs[0], xs[-1] / 10), xs[-1])
            decades_of(one.xaxis)
        for one in (axes, *more[:-1]):
            one.set_xticklabels([])
        more[-1].set_xlabel("episodes")
        end_labels(axes, labels)
        end_labels(more[0], [(known[-1], "coverage", INK)] if math.isfinite(known[-1]) else [])
        return figure


def _bounds(axes: Any, bounds: Sequence[tuple[int, Any, Any]]) -> None:
    """Bounds on the gap at checkpoints, as bars between them."""
    xs, lower, upper = zip(*bounds, strict=True)
    axes.fill_between(xs, lower, upper, color=INK, alpha=0.15, lw=0)
    for ends in (lower, upper):
        axes.plot(xs, ends, color=INK, lw=1.2, marker="o", ms=3)
    axes.set_ylim(bottom=0.0 if min(lower) >= 0.0 else None)
    end_labels(axes, [(upper[-1], "gap at most", INK), (lower[-1], "at least", INK)])


def gaps_by_k(run: RunView, *, narrow: bool = False) -> Figure | None:
    """Each player's gap for each number of deviations; None if all are tiny."""
    rows = [row for row in run.gaps if row.player_gaps]
    values = [value for row in rows for value in row.player_gaps if value > FLOOR]
    if not values or not run.are_gaps_drawn:
        return None
    with drawing():
        figure, axes = chart(NARROW if narrow else HALF, margin(map(_name, run.players)))
        axes.set_yscale("log")
        places = np.arange(len(rows))
        n_players = len(run.players)
        lowest = len(values) < len(rows) * n_players
        floor = min(values) / (4 if lowest else 1.5)
        for i in range(n_players):
            at = places + (i - (n_players - 1) / 2) * 0.12
            ys = np.array([max(row.player_gaps[i], 0.0) for row in rows])
            zero = ys <= FLOOR
            color = color_of(i)
            axes.plot(at, np.where(zero, np.nan, ys), color=color, lw=1.0, alpha=0.5)
            axes.plot(at[~zero], ys[~zero], "o", color=color, ms=7)
            axes.plot(at[zero], np.full(zero.sum(), floor), "v", color=color, ms=6, mfc=PAPER)
        high = max(max(values) * 2, 12 * floor / 1.6)
        axes.set_ylim(floor / 1.6, high)
        axes.set_xlim(-0.5, len(rows) - 0.5)
        axes.set_xticks(places, [f"K = {row.notion.symbol}" for row in rows])
        axes.grid(visible=False, axis="x")
        decades(axes, x=False)
        title = "gap by deviations allowed, payoff units"
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        if n_players > 1:
            last = [value if value > FLOOR else floor for value in rows[-1].player_gaps]
            end_labels(axes, [(last[p.index], _name(p), color_of(p.index)) for p in run.players])
        return figure


def overlay(
    groups: Sequence[Group], x: Axis, *, relative: bool, narrow: bool = False
) -> Figure | None:
    """Runs side by side: one curve per group, with a band where a group has several runs.

    A group has the same color on every axis, which comes from its rank among all groups.

    Args:
        groups: The runs; a group is drawn if ``x`` is one of its axes.
        x: What the horizontal axis measures.
        relative: Whether gaps are shares of the payoff range.
        narrow: For phones.
    """
    curves = [
        (rank, plain(group.label), runs)
        for rank, group in enumerate(groups)
        if x in group.axes and (runs := _curves(group, x, relative))
    ]
    if not curves:
        return None
    with drawing():
        width, height = NARROW if narrow else WIDE
        room_right = margin(f"{label} (9 seeds)" for _, label, _ in curves)
        below = narrow or len(curves) > 10 or room_right > MOST_MARGIN * width
        room = 0.0
        if below:
            curves = [(rank, _wrapped(label, width), runs) for rank, label, runs in curves]
            room = 0.2 * sum(1 + label.count("\n") for _, label, _ in curves)
            room_right = 0.15
        figure, axes = chart((width, height + room), room_right, room)
        axes.set_xscale("log")
        axes.set_yscale("log")
        labels, handles = [], []
        for rank, label, runs in curves:
            color, dash = color_of(rank), DASHES[rank // len(SERIES) % len(DASHES)]
            grid, ys = _common_grid(runs)
            middle = np.exp(np.median(np.log(ys), axis=0))
            if len(runs) > 1:
                low, high = ys.min(axis=0), ys.max(axis=0)
                axes.fill_between(grid, low, high, color=color, alpha=0.18, lw=0)
            name = label if len(runs) == 1 else f"{label} ({len(runs)} seeds)"
            handles += axes.plot(grid, middle, color=color, ls=dash, lw=2.0, label=name)
            labels.append((float(middle[-1]), name, color))
        points = [point for _, _, runs in curves for run in runs for point in run]
        xs, ys = zip(*points, strict=True)
        axes.set_xlim(min(*xs, max(xs) / 10), max(xs))
        axes.set_ylim(max(min(ys) / 2, FLOOR), max(ys) * 2)
        decades(axes)
        axes.set_xlabel(x.unit)
        unit = "share of the payoff range" if relative else "payoff units"
        axes.set_title(f"exact gap, {unit}", loc="left", fontsize=10, color=MUTED)
        if below:
            axes.legend(
                handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.0),
                bbox_transform=axes.transAxes
                + ScaledTranslation(-0.1, -0.45, figure.dpi_scale_trans),
                fontsize=8.5,
            )  # fmt: skip
        else:
            end_labels(axes, labels)
        return figure


def bounds_by_play(groups: Sequence[Group], *, narrow: bool = False) -> Figure | None:
    """The bounds on the gap of each run in an environment, against its episodes."""
    drawn = [
        (rank, run.episodes, run.bounds.lower, run.bounds.upper)
        for rank, group in enumerate(groups)
        for run in group.runs
        if run.bounds is not None and run.episodes
    ]
    if not drawn:
        return None
    with drawing():
        width, height = NARROW if narrow else WIDE
        names = {rank: plain(_wrapped(groups[rank].label, width)) for rank, *_ in drawn}
        room = (
            0.2 * sum(1 + name.count("\n") for name in names.values()) if len(groups) > 1 else 0.0
        )
        figure, axes = chart((width, height + room), 0.15, room)
        axes.set_xscale("log")
        handles: dict[int, Any] = {}
        xs = [episodes for _, episodes, _, _ in drawn]
        for n, (rank, episodes, lower, upper) in enumerate(drawn):
            # those after equally many episodes side by side
            at = episodes * 1.06 ** (xs[:n].count(episodes) - (xs.count(episodes) - 1) / 2)
            handles[rank] = axes.errorbar(
                [at], [(lower + upper) / 2], [(upper - lower) / 2], fmt="none", lw=2.0, capsize=5,
                ecolor=color_of(rank), capthick=2.0, label=names[rank],
            )  # fmt: skip
        axes.set_xlim(min(xs) / 2, max(xs) * 2)
        if max(xs) < 10 * min(xs):  # there may be no power of ten among them
            ends = sorted({min(xs), max(xs)})
            axes.set_xticks(ends, [f"{episodes:,}" for episodes in ends])
        axes.set_ylim(min(0.0, *(low for _, _, low, _ in drawn)), 1.05 * max(u for *_, u in drawn))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("episodes")
        title = "the gap is in this interval, payoff units"
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        if room:
            axes.legend(
                handles=[handles[rank] for rank in sorted(handles)], frameon=False,
                loc="upper left", bbox_to_anchor=(0.0, 0.0), fontsize=8.5,
                bbox_transform=axes.transAxes
                + ScaledTranslation(-0.1, -0.45, figure.dpi_scale_trans),
            )  # fmt: skip
        return figure


def _bound_name(run: Course) -> str:
    """The bound's name; for a run from episodes it is about the average of all iterates."""
    if run.facts.learned:
        return "bound, all iterates"
    return "paper's bound" if run.bound is not None and run.bound.of_paper else "proved bound"


def _say_bound(axes: Any, text: str, narrow: bool) -> None:
    """Say where the bound is if it is too far away to be drawn."""
    axes.annotate(
        f"↑ {text}" + ("" if narrow else ", off the chart"),
        (0.99, 0.985), xycoords="axes fraction", ha="right", va="top", color=MUTED, fontsize=9,
    )  # fmt: skip


def _slope(axes: Any, xs: list[float], gaps: list[float]) -> None:
    """A line that falls like one over the square root, just above the curve."""
    if xs[-1] < 4 * xs[0]:
        return
    begin, end = xs[0] * (xs[-1] / xs[0]) ** 0.25, xs[-1]
    later = [(x, gap) for x, gap in zip(xs, gaps, strict=True) if x >= begin]
    height = 1.7 * max(gap * math.sqrt(x) for x, gap in later)
    axes.plot(
        [begin, end], [height / math.sqrt(begin), height / math.sqrt(end)],
        color=MUTED, lw=1.0, ls=(0, (1.5, 2)),
    )  # fmt: skip
    middle = math.sqrt(begin * end)
    axes.annotate(
        f"slope {pretty(-1)}/2", (middle, height / math.sqrt(middle)), xytext=(4, 3),
        textcoords="offset points", color=MUTED, fontsize=9,
    )  # fmt: skip


def _curves(group: Group, x: Axis, relative: bool) -> list[Curve]:
    """The points of each run that a logarithmic chart can show; no run without any."""
    runs = []
    for run in group.runs:
        curve = []
        for moment in run.history:
            gap = run.relative_to_range(moment.player_gaps) if relative else moment.gap
            place = x.of(moment)
            if place is not None and place > 0 and gap > FLOOR:
                curve.append((place, gap))
        if curve:
            runs.append(curve)
    return runs


def _common_grid(runs: list[Curve]) -> tuple[Any, Any]:
    """``(grid, [run, point])``: several curves at the same places, where all of them have been."""
    if len(runs) == 1:
        grid, ys = (np.array(column, float) for column in zip(*runs[0], strict=True))
        return grid, ys[None]
    low, high = max(run[0][0] for run in runs), min(run[-1][0] for run in runs)
    grid = np.geomspace(low, high, 80) if low < high else np.array([high], float)
    rows = []
    for run in runs:
        xs, ys = (np.log(np.array(column, float)) for column in zip(*run, strict=True))
        rows.append(np.exp(np.interp(np.log(grid), xs, ys)))
    return grid, np.array(rows)


def _per_iteration(history: Sequence[Checkpoint]) -> float:
    """Episodes per iteration."""
    last = history[-1]
    return (last.episodes or last.iteration) / last.iteration


def _wrapped(label: str, width: float) -> str:
    """``label`` in lines that fit below a chart of this many inches."""
    return textwrap.fill(label, int((width - 1.2) / 0.075))


def _name(player: PlayerView) -> str:
    return plain(player_name(shortened(player.label, 14)))
