"""The look of all plots: an empty chart, its axes and labels, and a figure as a file.

Curves are labeled where they end. Plots in a page take the page's colors, so that dark pages
have dark plots.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from accord._format import power_of_ten, pretty, visible
from accord.reports.colors import FAINT, INK, LIGHT, MUTED, PAPER, VARIABLES

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
"""Gaps below this are rounding and not drawn on a logarithmic axis."""


class Plot(Figure):
    """A figure that notebooks show, with or without pyplot."""

    def _repr_png_(self) -> bytes:
        return to_png(self, dpi=100)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in our style, and without a warning where the font lacks a letter of a label."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def margin(labels: Iterable[str]) -> float:
    """The inches that labels at the end of curves need."""
    return 0.3 + 0.078 * max(map(len, labels), default=0)


def chart(size: tuple[float, float], margin: float, below: float = 0.0) -> tuple[Figure, Any]:
    """An empty chart with ``margin`` inches on its right, and room ``below`` for a legend."""
    width, height = size
    figure = Plot(figsize=size)
    bottom = 0.55 + below
    axes = figure.add_axes(
        (0.6 / width, bottom / height, 1 - (0.6 + margin) / width, 1 - (0.4 + bottom) / height)
    )
    axes.tick_params(which="both", length=0, pad=5)
    return figure, axes


def decades(axes: Any, *, x: bool = True) -> None:
    """Ticks at powers of ten, few enough to be read."""
    for axis in (axes.xaxis, axes.yaxis) if x else (axes.yaxis,):
        decades_of(axis)


def decades_of(axis: Any) -> None:
    """Ticks at powers of ten on one logarithmic axis."""
    low, high = axis.get_view_interval()
    axis.set_minor_formatter(NullFormatter())
    if math.log10(high / low) >= 1.2:
        axis.set_major_locator(LogLocator(numticks=8))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(lambda value, _: _tick(value))


def _tick(value: float) -> str:
    """A number that fits beside an axis."""
    return pretty(value, 2) if value < 1e4 else power_of_ten(value, 1)


def end_labels(axes: Any, labels: list[tuple[float, str, str]]) -> None:
    """Names at the right end of curves, moved apart where they would overlap."""
    bottom, top = axes.get_window_extent().y0, axes.get_window_extent().y1
    gap = 12 * axes.figure.dpi / 72
    places = []
    for value, text, color in sorted(labels):
        y = float(axes.transData.transform((axes.get_xlim()[1], value))[1])
        places.append([min(max(y, bottom), top), text, color])
    for lower, upper in pairwise(places):
        upper[0] = max(upper[0], lower[0] + gap)
    over = places[-1][0] - top if places else 0.0
    if over > 0:
        places[-1][0] -= over
        for upper, lower in zip(places[::-1], places[-2::-1], strict=False):
            lower[0] = min(lower[0], upper[0] - gap)
    for y, text, color in places:
        axes.annotate(
            text, (1.0, (y - bottom) / (top - bottom)), xycoords="axes fraction", xytext=(7, 0),
            textcoords="offset points", va="center", color=color, fontsize=9.5,
            annotation_clip=False,
        )  # fmt: skip


def plain(text: str) -> str:
    """A label for matplotlib to show as it is, on one line and without mathematics."""
    return visible(text).replace("\n", " ").replace("$", r"\$")


def to_png(figure: Figure, dpi: int = 160) -> bytes:
    """A figure as a PNG file."""
    with drawing():
        file = io.BytesIO()
        FigureCanvasAgg(figure)
        figure.savefig(file, format="png", dpi=dpi)
        return file.getvalue()


def to_pdf(figure: Figure) -> bytes:
    """A figure as a PDF file."""
    with drawing():
        file = io.BytesIO()
        FigureCanvasAgg(figure)
        figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Creator": "Accord"})
        return file.getvalue()


def to_svg(figure: Figure) -> str:
    """A figure as an SVG file, with its text as text."""
    with drawing():
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "Accord"})
        return file.getvalue()


def to_inline(svg: str, name: str, label: str) -> Markup:
    """An SVG file as an element of a page, with the page's colors.

    Its ids start with ``name``; ``label`` says what is drawn to readers who cannot see it.
    """
    text = svg[svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    for variable, color in LIGHT.items():
        text = text.replace(color, VARIABLES[variable])
    text = text.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans'")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{name}-", text)
    head, _, rest = text.partition(">")
    head = re.sub(r' (width|height|version|xmlns:xlink)="[^"]*"', "", head)
    title = escape(visible(label))
    return Markup(f'{head} role="img" aria-label="{title}">{rest}'.replace("xlink:href", "href"))
