"""The picture of a curve: values of best equilibria against a parameter of the game.

Each notion and objective has a line. Where a value is not proved to be the best, a light band
reaches up to the bound. In pages and notebooks readers choose a point, and see its payoffs and its
device (``templates/curve.js``).
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from accord._format import pretty
from accord.game.labels import player_name
from accord.reports.chart import DASHES, NARROW, WIDE, chart, drawing, end_labels, margin, plain
from accord.reports.colors import MUTED, color_of
from accord.reports.page import render
from accord.reports.touch import with_layer
from accord.reports.view import Picture
from accord.runs.curve import Curve, CurveSeries


def curve_page(found: Curve) -> str:
    """The picture and its devices as a page of its own."""
    drawn = touchable_curve(found)
    names = [_name(found, one) for one in found.series]
    return render(
        "curve_page.html", found=found, names=names, drawn=drawn, touch=curve_data(found), data={}
    )


def touchable_curve(found: Curve) -> Picture:
    """The picture with a layer in which the points can be clicked."""
    spots = [
        {"x": point.x, "y": point.value,
            "text": f"{found.parameter} = {pretty(point.x)}: {pretty(point.value)}, {name}"}
        for one in found.series
        for name in [_name(found, one)]
        for point in one.points
    ]  # fmt: skip
    figures = drawn_curve(found), drawn_curve(found, narrow=True)
    return Picture(*(with_layer(figure, curve_label(found), spots, "-1") for figure in figures))


def curve_label(found: Curve) -> str:
    """What the picture shows."""
    return f"The value of the best equilibrium of {found.name} against {found.parameter}"


def curve_data(found: Curve) -> dict[str, Any]:
    """What the page needs to show the point that a reader chooses."""
    return {
        "parameter": found.parameter,
        "players": list(map(player_name, found.players)),
        "series": [
            {
                "name": _name(found, one),
                "points": [
                    {
                        "x": point.x,
                        "value": point.value,
                        "bound": None if point.optimal else point.bound,
                        "values": list(point.values),
                        "plans": list(point.device),
                    }
                    for point in one.points
                ],
            }
            for one in found.series
        ],
    }


def drawn_curve(found: Curve, *, narrow: bool = False) -> Figure:
    """The values of all series; ``narrow`` for phones, with the names in a legend."""
    names = [plain(_name(found, one)) for one in found.series]
    with drawing():
        if narrow:
            figure, axes = chart(NARROW, 0.15, 0.18 * len(names))
        else:
            figure, axes = chart(WIDE, margin(names))
        labels = []
        for n, one in enumerate(found.series):
            xs, values = [p.x for p in one.points], [p.value for p in one.points]
            color, dash = color_of(n), DASHES[n % len(DASHES)]
            marker = "o" if len(xs) <= 30 else None
            axes.plot(xs, values, color=color, lw=1.8, ls=dash, marker=marker, ms=3, label=names[n])
            if not all(p.optimal for p in one.points):
                axes.fill_between(xs, values, [p.bound for p in one.points], color=color, alpha=0.2)
            labels.append((values[-1], names[n], color))
        axes.set_xlabel(plain(found.parameter))
        title = "value" if narrow else f"{found.name}: the value of the best equilibrium"
        axes.set_title(plain(title), loc="left", fontsize=10, color=MUTED)
        if narrow:
            axes.legend(
                frameon=False, fontsize=9, loc="upper left", borderaxespad=0.0,
                bbox_to_anchor=(0.0, -0.5 / (NARROW[1] * axes.get_position().height)),
            )  # fmt: skip
        else:
            end_labels(axes, labels)
        return figure


def _name(found: Curve, one: CurveSeries) -> str:
    """What tells a series from the others."""
    parts = []
    if len({other.notion for other in found.series}) > 1:
        parts.append(one.notion)
    if len({other.objective for other in found.series}) > 1 or not parts:
        parts.append(one.objective)
    return ", ".join(parts)
