"""The picture of a curve: values of best equilibria against a parameter of the game.

Each notion and objective has a line. Where a value is not proved to be the best, a light band
reaches up to the bound.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from accord.reports.chart import DASHES, WIDE, chart, drawing, end_labels, margin, plain
from accord.reports.colors import MUTED, color_of
from accord.runs.curve import Curve, CurveSeries


def drawn_curve(found: Curve) -> Figure:
    """The values of all series."""
    names = [plain(_name(found, one)) for one in found.series]
    with drawing():
        figure, axes = chart(WIDE, margin(names))
        labels = []
        for n, one in enumerate(found.series):
            xs, values = [p.x for p in one.points], [p.value for p in one.points]
            color, dash = color_of(n), DASHES[n % len(DASHES)]
            marker = "o" if len(xs) <= 30 else None
            axes.plot(xs, values, color=color, lw=1.8, ls=dash, marker=marker, ms=3)
            if not all(p.optimal for p in one.points):
                axes.fill_between(xs, values, [p.bound for p in one.points], color=color, alpha=0.2)
            labels.append((values[-1], names[n], color))
        axes.set_xlabel(plain(found.parameter))
        axes.set_title(plain(f"{found.name}: the value of the best equilibrium"), loc="left",
                       fontsize=10, color=MUTED)  # fmt: skip
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
