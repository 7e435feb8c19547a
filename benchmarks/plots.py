"""The plots of the benchmark page, in the style of reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from accord._format import pretty as number
from accord.reports.chart import DASHES, STYLE, end_labels
from accord.reports.colors import INK, MUTED, SERIES

Curve = tuple[Sequence[float], Sequence[float]]
Look = tuple[str, Any]  # color and dashes

WIDTH = 8.4
COLUMNS = 2
LEGEND_COLUMNS = 3
PANEL_HEIGHT = 2.3
FLOOR = 1e-5
"""Smaller gaps are drawn here; joint plays end with a gap of zero in some games."""
PROGRAMS = ("Accord", "OpenSpiel", "LiteEFG")
MARKERS = ("o", "s", "D")
LEARNERS = {
    "Accord joint": ("Accord joint", SERIES[4], DASHES[0]),
    "Accord prm": ("Accord prm", SERIES[0], DASHES[0]),
    "Accord swrhedge": ("Accord swrhedge", SERIES[2], DASHES[3]),
    "OpenSpiel OS-MCCFR": ("OpenSpiel MCCFR", SERIES[1], DASHES[1]),
    "LiteEFG OS-MCCFR": ("LiteEFG MCCFR", SERIES[3], DASHES[2]),
}
"""Those who learn from episodes: what a curve is called where it ends, and its look."""


def iteration_times(part: Mapping[str, Any], default: str) -> Figure:
    """Per game, where everybody stands on an axis of time; K-EFR as a range and its ``default``."""
    games = part["games"]
    peers = [entry["name"] for entry in games[0]["entrants"] if entry["program"] != "Accord"]
    look = {name: SERIES[1 + rank % (len(SERIES) - 1)] for rank, name in enumerate(peers)}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.1 + 0.42 * len(games)))
        axes = figure.add_axes(_inside(figure, left=1.4, right=2.15, bottom=0.55, top=0.4))
        for row, game in enumerate(games):
            timed = [entry for entry in game["entrants"] if "seconds" in entry]
            own = {e["name"]: e["seconds"] for e in timed if e["program"] == "Accord"}
            axes.plot(
                [min(own.values()), max(own.values())], [row, row],
                color=SERIES[0], lw=7, alpha=0.3, solid_capstyle="butt",
            )  # fmt: skip
            axes.plot(own[default], row, "o", color=SERIES[0], ms=7)
            for entry in timed:
                if entry["program"] != "Accord":
                    marker = MARKERS[PROGRAMS.index(entry["program"])]
                    axes.plot(
                        entry["seconds"], row, marker, color=look[entry["name"]], ms=6, alpha=0.9
                    )
        axes.set_xscale("log")
        axes.set_yticks(range(len(games)), [game["title"] for game in games])
        axes.set_ylim(len(games) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.tick_params(which="both", length=0, pad=5)
        _decades(axes.xaxis)
        axes.set_title("CPU seconds per iteration", loc="left", fontsize=10, color=MUTED)
        handles = [
            Line2D([], [], color=SERIES[0], marker="o", ms=7, ls="", label=default),
            Line2D([], [], color=SERIES[0], lw=7, alpha=0.3, label="K-EFR, all"),
        ]
        handles += [
            Line2D(
                [], [], color=look[name], ls="", ms=6, label=name,
                marker=MARKERS[PROGRAMS.index(name.split()[0])],
            )
            for name in peers
        ]  # fmt: skip
        axes.legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02))
        return figure


def panels(curves: Mapping[str, Mapping[str, Curve]], x: str, title: str) -> Figure:
    """One small chart per key, logarithmic, with the same curves in each and one legend below."""
    names = list(dict.fromkeys(name for panel in curves.values() for name in panel))
    looks = _looks(names)
    rows = -(-len(curves) // COLUMNS)
    below = 0.62 + 0.21 * -(-len(names) // LEGEND_COLUMNS)
    with mpl.rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(WIDTH, PANEL_HEIGHT * rows + below + 0.25))
        grid = figure.add_gridspec(
            rows, COLUMNS, wspace=0.2, hspace=0.45,
            **_edges(figure, left=0.6, right=0.15, bottom=below, top=0.6),
        )  # fmt: skip
        figure.text(
            0.02, 1 - 0.22 / figure.get_figheight(), title, fontsize=10, color=MUTED, va="center"
        )
        for place, (panel, lines) in enumerate(curves.items()):
            axes = figure.add_subplot(grid[place // COLUMNS, place % COLUMNS])
            for name, (xs, ys) in lines.items():
                color, dashes = looks[name]
                marker = "o" if len(xs) < 8 else None
                axes.plot(xs, ys, color=color, ls=dashes, lw=1.6, marker=marker, ms=3.5)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(panel, loc="left", fontsize=9.5, color=INK)
            axes.tick_params(which="both", length=0, pad=4, labelsize=8)
            for axis in (axes.xaxis, axes.yaxis):
                _decades(axis)
            if place // COLUMNS == rows - 1:
                axes.set_xlabel(x)
        handles = [
            Line2D([], [], color=looks[name][0], ls=looks[name][1], lw=1.8, label=name)
            for name in names
        ]
        figure.legend(
            handles=handles, frameon=False, loc="lower left", ncols=LEGEND_COLUMNS, fontsize=8.5,
            bbox_to_anchor=(0.04, 0.0),
        )  # fmt: skip
        return figure


def learning(games: Sequence[Mapping[str, Any]], limits: tuple[float, float]) -> Figure:
    """One chart per game, all with the same axes: medians against episodes, bands of quartiles."""
    rows = -(-len(games) // COLUMNS)
    with mpl.rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(WIDTH, PANEL_HEIGHT * rows + 0.8))
        grid = figure.add_gridspec(
            rows, COLUMNS, wspace=0.68, hspace=0.36,
            **_edges(figure, left=0.5, right=1.45, bottom=0.55, top=0.6),
        )  # fmt: skip
        figure.text(
            0.02, 1 - 0.22 / figure.get_figheight(),
            "exact EFCE gap, share of the payoff range: median and quartiles",
            fontsize=10, color=MUTED, va="center",
        )  # fmt: skip
        for place, game in enumerate(games):
            axes = figure.add_subplot(grid[place // COLUMNS, place % COLUMNS])
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_ylim(limits[0] / 1.3, limits[1] * 1.3)
            axes.set_title(game["title"], loc="left", fontsize=9.5, color=INK)
            axes.tick_params(which="both", length=0, pad=4, labelsize=8)
            ends = []
            for name, (label, color, dashes) in LEARNERS.items():
                points = [point for point in game["gaps"] if point["name"] == name]
                if not points:
                    continue
                xs = [point["episodes"] for point in points]
                low, middle, high = (
                    [max(limits[0], point[key]) for point in points]
                    for key in ("low", "gap", "high")
                )
                axes.fill_between(xs, low, high, color=color, alpha=0.2, lw=0)
                axes.plot(xs, middle, color=color, ls=dashes, lw=1.6, marker="o", ms=3)
                ends.append((middle[-1], label, color))
            for axis in (axes.xaxis, axes.yaxis):
                _decades(axis)
            if place // COLUMNS == rows - 1:
                axes.set_xlabel("episodes")
            end_labels(axes, ends)
        return figure


def _looks(names: Sequence[str]) -> dict[str, Look]:
    """Colors in the order of names, dashes by program: Accord's lines are solid."""
    looks: dict[str, Look] = {}
    for rank, name in enumerate(names):
        program = name.split()[0]
        dashes = DASHES[PROGRAMS.index(program)] if program in PROGRAMS else DASHES[0]
        looks[name] = SERIES[rank % len(SERIES)], dashes
    return looks


def _inside(
    figure: Figure, *, left: float, right: float, bottom: float, top: float
) -> tuple[float, float, float, float]:
    """Margins in inches as the rectangle that they leave."""
    edges = _edges(figure, left=left, right=right, bottom=bottom, top=top)
    return (
        edges["left"],
        edges["bottom"],
        edges["right"] - edges["left"],
        edges["top"] - edges["bottom"],
    )


def _edges(
    figure: Figure, *, left: float, right: float, bottom: float, top: float
) -> dict[str, float]:
    width, height = figure.get_figwidth(), figure.get_figheight()
    return {
        "left": left / width,
        "right": 1 - right / width,
        "bottom": bottom / height,
        "top": 1 - top / height,
    }


def _decades(axis: Any) -> None:
    """Ticks at powers of ten, few enough to be read; between them too where there are few."""
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_locator(LogLocator(numticks=7))
    low, high = axis.get_view_interval()
    if high < 50 * low:
        subs = (1.0, 2.0, 5.0) if high > 10 * low else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(lambda value, _: number(value, 2))
