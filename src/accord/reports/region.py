"""The picture of a region: one polygon per notion, mostly nested, and equilibria that stand out.

Polygons are labeled on their right, by lines to a place that belongs to no smaller polygon. Those
that are equal share a label. Where the outer polygon reaches visibly beyond the inner one it is
dashed. Light outlines show what players can get at all, and from where on each gets at least their
minmax payoff. They may leave the picture, which belongs to the regions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from accord._arrays import Floats
from accord._format import shortened
from accord.game.labels import player_name
from accord.optimal.polygon import area, distances
from accord.reports.chart import chart, drawing, margin, plain
from accord.reports.colors import INK, MUTED, PAPER, color_of
from accord.runs.region import PayoffPolygon, Region, RegionVertex

SIZE, SLIM = (7.6, 5.0), (4.0, 4.2)
VISIBLE = 2e-3
"""Distances below this part of the picture cannot be seen."""

PADDING = 0.06
LEAST = 0.25
"""The part of an axis that a region must keep if all feasible payoffs are to be in the picture."""

COLUMNS = 3
"""Of the legend."""

LINE = 0.055
"""The height of a line of a label, as a part of the picture."""


def picture(
    found: Region, *, marked: tuple[float, float] | None = None, narrow: bool = False
) -> Figure:
    """The polygons of all notions, the best welfare of each, and Nash equilibria.

    Args:
        found: The region.
        marked: The payoffs of a run, which get a mark too.
        narrow: For phones.
    """
    groups = _groups(found)
    low, high = _limits(found)
    size = high - low
    feasible, minmax = _visible_feasible(found, low, high), _visible_minmax(found, low, high)
    with drawing():
        names = [_group_name(group) for group in groups]
        best = any(_best(group[-1]) for group in groups)
        outlines = [feasible is not None, minmax is not None, marked is not None]
        n_marks = sum(map(bool, (best, found.nash, found.mixed_nash, *outlines)))
        below = 0.25 + 0.2 * (len(groups) + n_marks if narrow else max(0, n_marks - 1) // COLUMNS)
        beside = 0.2 if narrow else margin(line for name in names for line in name.split("\n"))
        figure, axes = chart(SLIM if narrow else SIZE, beside, below)
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        if feasible is not None:
            axes.add_patch(Polygon(feasible, fill=False, edgecolor=MUTED, lw=1.2, ls=":"))
        if minmax is not None:
            (x, y), (right, top) = minmax, high
            axes.plot([x, x, right], [top, y, y], color=MUTED, lw=0.9, ls="-.", zorder=0.9)
        for rank, group in enumerate(groups):
            _draw(axes, group[-1], color_of(rank), size)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4 if narrow else 7, steps=(1, 2, 2.5, 5, 10)))
        _make_room(axes)
        handles = _mark(axes, found, groups)
        if feasible is not None:
            handles.append(Line2D([], [], ls=":", color=MUTED, lw=1.2, label="feasible payoffs"))
        if minmax is not None:
            handles.append(Line2D([], [], ls="-.", color=MUTED, lw=0.9, label="minmax payoffs"))
        if marked is not None:
            axes.plot(*marked, "*", color=INK, mec=PAPER, mew=1.0, ms=15, zorder=6)
            handles.append(Line2D([], [], ls="", marker="*", color=INK, ms=11, label="this run"))
        axes.set_xlabel(_axis(found.players[0]))
        axes.set_title(_axis(found.players[1]), loc="left", fontsize=10, color=MUTED)
        if narrow:
            handles = [
                Line2D(
                    [], [], color=color_of(rank), lw=6, alpha=0.5, label=name.replace("\n", ", ")
                )
                for rank, name in enumerate(names)
            ] + handles
        else:
            _label(axes, groups, names, size)
        axes.legend(
            handles=handles, frameon=False, fontsize=9, ncols=1 if narrow else COLUMNS,
            loc="upper left", bbox_to_anchor=(0.0, 0.0), borderaxespad=0.0, handletextpad=0.5,
            bbox_transform=axes.transAxes + ScaledTranslation(-0.1, -0.5, figure.dpi_scale_trans),
        )  # fmt: skip
        return figure


def _make_room(axes: Any) -> None:
    """Move the left of the picture where its numbers are long."""
    ticks = axes.yaxis.get_major_formatter().format_ticks(axes.yaxis.get_majorticklocs())
    more = 0.08 * max(0, max(map(len, ticks)) - 4) / axes.figure.get_figwidth()
    box = axes.get_position()
    axes.set_position((box.x0 + more, box.y0, box.width - more, box.height))


def _groups(found: Region) -> list[list[PayoffPolygon]]:
    """The polygons with those that are equal together, the largest first."""
    groups: list[list[PayoffPolygon]] = []
    for polygon in sorted(found.polygons, key=lambda one: -_area(one)):
        if groups and _same(groups[-1][-1], polygon):
            groups[-1].append(polygon)
        else:
            groups.append([polygon])
    return groups


def _same(one: PayoffPolygon, other: PayoffPolygon) -> bool:
    """Whether two nested polygons are equal, as far as the numbers tell."""
    corners = [_corners(one), _corners(other)]
    if not all(map(len, corners)):
        return False
    span = np.ptp(np.concatenate(corners), axis=0)
    unit = np.where(span > 0, span, 1.0)
    a, b = (corner / unit for corner in corners)
    return float(max(distances(a, b).max(), distances(b, a).max())) <= 1e-6


def _area(polygon: PayoffPolygon) -> float:
    """The area up to rounding, so that equal polygons stay in their order."""
    corners = _corners(polygon)
    return float(f"{area(corners):.6g}") if len(corners) > 2 else 0.0


def _corners(polygon: PayoffPolygon) -> Floats:
    return np.array([vertex.payoffs for vertex in polygon.vertices]).reshape(-1, 2)


def _limits(found: Region) -> tuple[Floats, Floats]:
    """The corners of the picture."""
    places = [_corners(polygon) for polygon in found.polygons]
    places += [np.array(polygon.outer) for polygon in found.polygons]
    points = np.concatenate(places)
    low, high = points.min(axis=0), points.max(axis=0)
    size = high - low
    flat = size <= 1e-6 * max(1.0, float(np.abs(points).max()))
    if found.feasible:
        corners = np.array(found.feasible)
        all_in = flat | (size >= LEAST * np.ptp(corners, axis=0))
        low = np.where(all_in, np.minimum(low, corners.min(axis=0)), low)
        high = np.where(all_in, np.maximum(high, corners.max(axis=0)), high)
        size = high - low
        flat = size <= 1e-6 * max(1.0, float(np.abs(corners).max()))
    spare = np.where(flat, max(float(size.max()), 1.0) / 4, PADDING * size)
    return low - spare, high + spare


def _visible_feasible(found: Region, low: Floats, high: Floats) -> Floats | None:
    """The corners of what is feasible, if their polygon passes through the picture."""
    if not found.feasible:
        return None
    corners = np.array(found.feasible)
    frame = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    return None if not distances(frame, corners).any() else corners


def _visible_minmax(found: Region, low: Floats, high: Floats) -> tuple[float, float] | None:
    """The minmax payoffs, if the lines above and to the right of them are in the picture."""
    if found.minmax is None:
        return None
    x, y = map(float, found.minmax)
    inside = x <= high[0] and y <= high[1] and (x >= low[0] or y >= low[1])
    return (x, y) if inside else None


def _group_name(group: list[PayoffPolygon]) -> str:
    """A line such as ``K = 0 (NFCCE)`` for each notion."""
    return "\n".join(polygon.title for polygon in group)


def _axis(player: str) -> str:
    name = player if player[:1].isalpha() else player_name(player)
    return f"payoff of {plain(shortened(name, 40))}"


def _draw(axes: Any, polygon: PayoffPolygon, color: str, size: Floats) -> None:
    corners, outer = _corners(polygon), np.array(polygon.outer)
    if len(corners) > 2:
        axes.add_patch(Polygon(corners, facecolor=color, alpha=0.18, lw=0))
        axes.add_patch(Polygon(corners, fill=False, edgecolor=color, lw=1.8, joinstyle="round"))
    elif len(corners) == 2:
        axes.plot(*corners.T, color=color, lw=3.0)
    elif len(corners):
        axes.plot(*corners.T, "o", color=color, ms=8)
    unseen = len(corners) and distances(outer / size, corners / size).max() <= VISIBLE
    if not unseen:
        ring = np.concatenate([outer, outer[:1]])
        axes.plot(*ring.T, color=color, lw=1.2, ls=(0, (4, 2.5)))


def _mark(axes: Any, found: Region, groups: list[list[PayoffPolygon]]) -> list[Any]:
    """Draw the points that stand out; return what the legend shows."""
    handles = []
    best_of = [_best(group[-1]) for group in groups]
    for rank, best in enumerate(best_of):
        if best is not None:
            axes.plot(*best.payoffs, "o", color=color_of(rank), mec=PAPER, mew=1.2, ms=9, zorder=4)
    if any(best_of):
        handles.append(Line2D([], [], ls="", marker="o", color=MUTED, ms=8, label="best welfare"))
    if found.nash:
        axes.plot(
            *np.array(found.nash).T, "D", mfc="none", mec=INK, mew=1.2, ms=6, ls="", zorder=5,
            clip_on=False,
        )  # fmt: skip
        kind = "Nash" if found.zero_sum else "pure Nash"
        label = f"{kind} equilibri{'um' if len(found.nash) == 1 else 'a'}"
        handles.append(Line2D([], [], ls="", marker="D", mfc="none", mec=INK, ms=6, label=label))
    if found.mixed_nash:
        axes.plot(
            *np.array(found.mixed_nash).T, "X", mfc=PAPER, mec=INK, mew=1.0, ms=7, ls="", zorder=5,
            clip_on=False,
        )  # fmt: skip
        label = f"mixed Nash equilibri{'um' if len(found.mixed_nash) == 1 else 'a'}"
        handles.append(Line2D([], [], ls="", marker="X", mfc=PAPER, mec=INK, ms=7, label=label))
    return handles


def _best(polygon: PayoffPolygon) -> RegionVertex | None:
    """The best welfare, unless it is the same everywhere."""
    sums = [sum(vertex.values) for vertex in polygon.vertices]
    alike = len(sums) > 1 and max(sums) - min(sums) <= 1e-9 * max(1.0, abs(max(sums)))
    return None if alike else polygon.welfare


def _label(axes: Any, groups: list[list[PayoffPolygon]], names: list[str], size: Floats) -> None:
    """Names on the right, each with a line to its polygon."""
    low = np.array([axes.get_xlim()[0], axes.get_ylim()[0]])
    anchors = []
    for rank, group in enumerate(groups):
        inner = _corners(groups[rank + 1][-1]) if rank + 1 < len(groups) else np.zeros((0, 2))
        anchors.append(_anchor(group[-1], inner, size))
    heights = [float((anchor - low)[1] / size[1]) for anchor in anchors]
    order = sorted(range(len(groups)), key=lambda rank: heights[rank])
    places: dict[int, float] = {}
    top = -np.inf
    for rank in order:
        half = LINE * len(groups[rank]) / 2
        places[rank] = max(min(heights[rank], 1.0 - half), top + half)
        top = places[rank] + half
    over = max(0.0, top - 1.0)
    for rank in order:
        axes.annotate(
            names[rank], tuple(anchors[rank]), xycoords="data",
            xytext=(1.02, places[rank] - over), textcoords="axes fraction", va="center",
            color=color_of(rank), fontsize=9.5, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color_of(rank), "lw": 0.8, "shrinkA": 2,
                        "shrinkB": 3},
        )  # fmt: skip


def _anchor(polygon: PayoffPolygon, inner: Floats, size: Floats) -> Floats:
    """A place of the polygon's border as far right as possible, well away from the inner one."""
    corners = _corners(polygon)
    corners = corners if len(corners) else np.array(polygon.outer)
    after = np.roll(corners, -1, axis=0)
    shares = np.linspace(0.0, 1.0, 21)[:, None, None]
    border = (corners + shares * (after - corners)).reshape(-1, 2)
    away = distances(border / size, inner / size) if len(inner) else np.ones(len(border))
    clear = away >= min(0.05, 0.7 * float(away.max()))
    return np.asarray(border[clear][np.argmax(border[clear][:, 0])])
