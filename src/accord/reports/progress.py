"""The value of an objective and the bound on it, round by round."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from accord.reports.chart import chart, drawing, end_labels, margin, plain
from accord.reports.colors import INK, MUTED
from accord.runs.result import Optimum

SIZE = (8.0, 3.8)


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
