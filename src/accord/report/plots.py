"""Plots: how the gap fell, the gaps by number of deviations, runs side by side.

Each is drawn wide, for paper and screens, and narrow, for phones. Colours are close to Okabe and
Ito's, which people with any colour vision can tell apart; curves are labelled where they end.
Inside a page the colours become CSS variables, so that dark pages have dark plots.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from accord.report.summary import bound_at
from accord.report.words import number, shortened, visible

INK, MUTED, FAINT, PAPER = "#1b1f24", "#57606a", "#d8dee4", "#ffffff"
SERIES = ("#0072b2", "#c8550a", "#00805d", "#a8447f", "#5b5bd6", "#7a6a00")
VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    FAINT: "var(--line)",
    PAPER: "var(--paper)",
    **{colour: f"var(--p{i})" for i, colour in enumerate(SERIES)},
}
WIDE, HALF, NARROW = (10.4, 4.5), (5.4, 3.6), (4.0, 3.7)
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
    "text.color": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "none",
    "svg.hashsalt": "accord",
    "lines.solid_capstyle": "round",
}
FLOOR = 1e-17
"""Gaps below this are rounding and stand on no logarithmic axis."""

ROOM = 1.5
"""Decades above the curves within which the bound is drawn."""


def convergence(summary: dict[str, Any], *, narrow: bool = False) -> Figure | None:
    """The exact gap on the way, the paper's bound, and what a slope of -1/2 looks like."""
    points = summary["record"]
    drawn = [point for point in points if point["gap"] > FLOOR]
    if not drawn:
        return None
    learned = summary["command"] == "learn"
    per = _per_iteration(points) if learned else 1.0
    xs = [point["iteration"] * per for point in drawn]
    gaps = [point["gap"] for point in drawn]
    with drawing():
        figure, axes = chart(NARROW if narrow else WIDE, margin(map(_name, summary["players"])))
        axes.set_xscale("log")
        axes.set_yscale("log")
        labels = []
        several = 1 < len(summary["players"]) <= 4
        for i, player in enumerate(summary["players"]):
            ys = [point["players"][i] for point in points]
            keep = [(p["iteration"] * per, y) for p, y in zip(points, ys, strict=True) if y > FLOOR]
            if not keep or not several:
                continue
            axes.plot(*zip(*keep, strict=True), color=SERIES[i % len(SERIES)], lw=1.1, alpha=0.9)
            labels.append((keep[-1][1], _name(player), SERIES[i % len(SERIES)]))
        marker = "o" if len(drawn) < 3 else None
        axes.plot(xs, gaps, color=INK, lw=2.2, marker=marker, ms=4)
        labels.append((gaps[-1], "largest" if several else "gap", INK))
        low, high = min(*gaps, *(y for y, _, _ in labels)) / 2, 2.2 * max(gaps)
        _slope(axes, xs, gaps)
        high = _draw_bound(axes, summary["bound"], xs, per, high, narrow)
        last = xs[-1]
        axes.set_xlim(min(xs[0], last / 10), last)
        axes.set_ylim(max(low, FLOOR), high)
        decades(axes)
        axes.set_xlabel("episodes" if learned else "iterations")
        axes.set_title(
            f"{_k_text(summary)}-EFCE gap, payoff units", loc="left", fontsize=10, color=MUTED
        )
        end_labels(axes, labels)
        return figure


def gaps_by_k(summary: dict[str, Any], *, narrow: bool = False) -> Figure | None:
    """Each player's gap for each number of deviations."""
    gaps = [gap for gap in summary["gaps"] if "gap" in gap]
    values = [value for gap in gaps for value in gap["players"] if value > FLOOR]
    if not values:
        return None
    with drawing():
        figure, axes = chart(NARROW if narrow else HALF, margin(map(_name, summary["players"])))
        axes.set_yscale("log")
        places = np.arange(len(gaps))
        players = summary["players"]
        lowest = len(values) < len(gaps) * len(players)
        floor = min(values) / (4 if lowest else 1.5)
        for i in range(len(players)):
            shift = (i - (len(players) - 1) / 2) * 0.12
            ys = np.array([max(gap["players"][i], 0.0) for gap in gaps])
            zero = ys <= FLOOR
            colour = SERIES[i % len(SERIES)]
            axes.plot(places + shift, np.where(zero, np.nan, ys), color=colour, lw=1.0, alpha=0.5)
            axes.plot((places + shift)[~zero], ys[~zero], "o", color=colour, ms=7)
            axes.plot(
                (places + shift)[zero],
                np.full(zero.sum(), floor),
                "v",
                color=colour,
                ms=6,
                mfc=PAPER,
            )
        high = max(max(values) * 2, 12 * floor / 1.6)
        axes.set_ylim(floor / 1.6, high)
        axes.set_xlim(-0.5, len(gaps) - 0.5)
        axes.set_xticks(places, [f"K = {'∞' if g['k'] == 'inf' else g['k']}" for g in gaps])
        axes.grid(visible=False, axis="x")
        decades(axes, x=False)
        axes.set_title(
            "gap by deviations allowed, payoff units", loc="left", fontsize=10, color=MUTED
        )
        if len(players) > 1:
            last = gaps[-1]["players"]
            end_labels(
                axes,
                [
                    (last[i] if last[i] > FLOOR else floor, _name(player), SERIES[i % len(SERIES)])
                    for i, player in enumerate(players)
                ],
            )
        return figure


def overlay(
    groups: Sequence[dict[str, Any]], x: str, y: str, *, narrow: bool = False
) -> Figure | None:
    """Runs side by side: one curve per group, with a band where a group has several runs.

    A group's place among all of them is its colour, so that it has the same one on every axis.

    Args:
        groups: ``{label, runs, axes}``, each run a list of points as in a summary's record; a group
            is drawn if ``x`` is one of its axes.
        x: ``"iteration"``, ``"episodes"`` or ``"seconds"``.
        y: ``"gap"`` or ``"relative"``.
        narrow: For phones.
    """
    curves = []
    for rank, group in enumerate(groups):
        if x not in group["axes"]:
            continue
        runs = [
            [(p[x], p[y]) for p in run if p[x] is not None and p[x] > 0 and p[y] > FLOOR]
            for run in group["runs"]
        ]
        if runs := [run for run in runs if run]:
            curves.append((rank, group["label"], runs))
    if not curves:
        return None
    with drawing():
        below = narrow or len(curves) > 10
        room_right = 0.15 if below else margin(f"{label} (9 seeds)" for _, label, _ in curves)
        room = 0.2 * len(curves) if below else 0.0
        width, height = NARROW if narrow else WIDE
        figure, axes = chart((width, height + room), room_right, room)
        axes.set_xscale("log")
        axes.set_yscale("log")
        labels, handles = [], []
        for rank, label, runs in curves:
            colour, dash = SERIES[rank % len(SERIES)], DASHES[rank // len(SERIES) % len(DASHES)]
            grid, ys = _common_grid(runs)
            middle = np.exp(np.median(np.log(ys), axis=0))
            if len(runs) > 1:
                axes.fill_between(
                    grid, ys.min(axis=0), ys.max(axis=0), color=colour, alpha=0.18, lw=0
                )
            name = _plain(label) if len(runs) == 1 else f"{_plain(label)} ({len(runs)} seeds)"
            handles += axes.plot(grid, middle, color=colour, ls=dash, lw=2.0, label=name)
            labels.append((float(middle[-1]), name, colour))
        every = [value for _, _, runs in curves for run in runs for _, value in run]
        end = max(point for _, _, runs in curves for run in runs for point, _ in run)
        begin = min(point for _, _, runs in curves for run in runs for point, _ in run)
        axes.set_xlim(min(begin, end / 10), end)
        axes.set_ylim(max(min(every) / 2, FLOOR), max(every) * 2)
        decades(axes)
        axes.set_xlabel({"iteration": "iterations"}.get(x, x))
        unit = "payoff units" if y == "gap" else "share of the payoff range"
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


def to_png(figure: Figure) -> bytes:
    """A figure as a PNG file."""
    with drawing():
        file = io.BytesIO()
        FigureCanvasAgg(figure)
        figure.savefig(file, format="png", dpi=160)
        return file.getvalue()


def to_svg(figure: Figure) -> str:
    """A figure as an SVG file, with its text as text."""
    with drawing():
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "Accord"})
        return file.getvalue()


def to_inline(svg: str, name: str, label: str) -> str:
    """An SVG file for the middle of a page: its colours are the page's, its ids its own."""
    text = svg[svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = text.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans'")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{name}-", text)
    head, _, rest = text.partition(">")
    head = re.sub(r' (width|height|version|xmlns:xlink)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{label}">{rest}'.replace("xlink:href", "href")


@contextmanager
def drawing() -> Iterator[None]:
    """The style; and labels in letters that the font lacks are no reason to complain."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def margin(labels: Iterable[str]) -> float:
    """Inches that labels at the end of curves need."""
    return 0.3 + 0.078 * max(map(len, labels), default=0)


def chart(size: tuple[float, float], margin: float, below: float = 0.0) -> tuple[Figure, Any]:
    """An empty chart with ``margin`` inches right of it, and room ``below`` for a legend."""
    width, height = size
    figure = Figure(figsize=size)
    bottom = 0.55 + below
    axes = figure.add_axes(
        (0.6 / width, bottom / height, 1 - (0.6 + margin) / width, 1 - (0.4 + bottom) / height)
    )
    axes.tick_params(which="both", length=0, pad=5)
    return figure, axes


def _draw_bound(
    axes: Any, bound: dict[str, Any], xs: list[float], per: float, high: float, narrow: bool
) -> float:
    """Draw the paper's bound if it is near; else say where it is. The new top of the chart."""
    at_end = bound_at(bound, max(1.0, xs[-1] / per))
    if not at_end:
        return high
    if at_end <= high * 10**ROOM:
        grid = np.geomspace(xs[0], max(xs[-1], xs[0] * 10), 60)
        axes.plot(
            grid, [bound_at(bound, max(1.0, x / per)) for x in grid],
            color=MUTED, lw=1.3, ls=(0, (6, 2.5)),
        )  # fmt: skip
        axes.annotate(
            "paper's bound", (xs[-1], _begin_of_label(bound, xs, per, narrow)), xytext=(-3, 2),
            textcoords="offset points",
            ha="right", va="bottom", color=MUTED, fontsize=9,
        )  # fmt: skip
        return max(high, at_end * 6)
    axes.annotate(
        f"↑ paper's bound: {number(at_end, 3)} at the end" + ("" if narrow else ", off the chart"),
        (0.99, 0.985), xycoords="axes fraction", ha="right", va="top", color=MUTED, fontsize=9,
    )  # fmt: skip
    return high


def _begin_of_label(bound: dict[str, Any], xs: list[float], per: float, narrow: bool) -> float:
    """The bound where its label begins: from there on the line is below it."""
    share = 0.5 if narrow else 0.15
    x = xs[-1] ** (1 - share) * min(xs[0], xs[-1] / 10) ** share
    return bound_at(bound, max(1.0, x / per))


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
        f"slope {number(-1)}/2", (middle, height / math.sqrt(middle)), xytext=(4, 3),
        textcoords="offset points", color=MUTED, fontsize=9,
    )  # fmt: skip


def end_labels(axes: Any, labels: list[tuple[float, str, str]]) -> None:
    """Names at the right end of curves, moved apart where they would overlap."""
    bottom, top = axes.get_window_extent().y0, axes.get_window_extent().y1
    gap = 12 * axes.figure.dpi / 72
    places = []
    for value, text, colour in sorted(labels):
        y = float(axes.transData.transform((axes.get_xlim()[1], value))[1])
        places.append([min(max(y, bottom), top), text, colour])
    for lower, upper in pairwise(places):
        upper[0] = max(upper[0], lower[0] + gap)
    over = places[-1][0] - top if places else 0.0
    if over > 0:
        places[-1][0] -= over
        for upper, lower in zip(places[::-1], places[-2::-1], strict=False):
            lower[0] = min(lower[0], upper[0] - gap)
    for y, text, colour in places:
        axes.annotate(
            text, (1.0, (y - bottom) / (top - bottom)), xycoords="axes fraction", xytext=(7, 0),
            textcoords="offset points", va="center", color=colour, fontsize=9.5,
            annotation_clip=False,
        )  # fmt: skip


def decades(axes: Any, *, x: bool = True) -> None:
    """Ticks at powers of ten, few enough to be read."""
    for axis in (axes.xaxis, axes.yaxis) if x else (axes.yaxis,):
        low, high = axis.get_view_interval()
        axis.set_minor_formatter(NullFormatter())
        if math.log10(high / low) >= 1.2:
            axis.set_major_locator(LogLocator(numticks=8))
        else:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(lambda value, _: number(value, 2))


def _common_grid(runs: list[list[tuple[float, float]]]) -> tuple[Any, Any]:
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


def _per_iteration(points: list[dict[str, Any]]) -> float:
    last = points[-1]
    return float(last["episodes"] or last["iteration"]) / float(last["iteration"])


def _k_text(summary: dict[str, Any]) -> str:
    return "∞" if summary["k"] == "inf" else str(summary["k"])


def _name(player: str) -> str:
    return _plain(f"player {shortened(player, 14)}")


def _plain(text: str) -> str:
    """A label as it is: no mathematics in it."""
    return visible(text).replace("\n", " ").replace("$", r"\$")
