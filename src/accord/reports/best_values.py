"""Values of best equilibria: against a parameter of the game, and round by round of a search.

On a curve each notion and objective has a line. Where a value is not proved to be the best, a light
band reaches up to the bound. A search has two lines, the best value found and the bound on it.
"""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from accord.reports.chart import DASHES, WIDE, chart, drawing, end_labels, margin, plain
from accord.reports.colors import INK, MUTED, color_of
from accord.runs.curve import Curve, CurveSeries
from accord.runs.result import Optimum

SIZE = (8.0, 3.8)


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


def progress_of_bounds(found: Optimum) -> Figure:
    """Plot the best value found, and the bound on it, after each round of a search."""
    rounds = [(point.iteration, point.best) for point in found.history if point.best is not None]
    with drawing():
        figure, axes = chart(SIZE, margin(["bound", "value"]))
        bounds = [(at, best.bound) for at, best in rounds if abs(best.bound) < 1e300]
        values = [(at, best.value) for at, best in rounds if best.value is not None]
        labels = []
        for name, curve, color, dash in (
            ("bound", bounds, MUTED, (0, (6, 2.5))),
            ("value", values, INK, "-"),
        ):
            if curve:
                xs, ys = zip(*curve, strict=True)
                marker = "o" if len(curve) < 3 else None
                axes.step(xs, ys, where="post", color=color, lw=1.8, ls=dash, marker=marker, ms=4)
                labels.append((ys[-1], name, color))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlim(rounds[0][0] - 0.5, rounds[-1][0] + 0.5)
        axes.set_xlabel("rounds")
        title = f"{plain(found.objective)} of {plain(found.game.name)}"
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        end_labels(axes, labels)
        return figure
