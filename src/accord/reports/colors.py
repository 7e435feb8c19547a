"""The colors of reports: of light, dark and printed pages, of plots and of trees.

A palette gives each CSS variable of a page its color. ``p0``, ``p1``, ... are those of players and
of curves; they are close to Okabe and Ito's, which people with any color vision can tell apart.
Plots are drawn in the light palette; inside a page their colors become the page's variables.
"""

from __future__ import annotations

SERIES = ("#0072b2", "#c8550a", "#00805d", "#a8447f", "#5b5bd6", "#7a6a00")
INK, MUTED, FAINT, PAPER = "#1b1f24", "#57606a", "#d8dee4", "#ffffff"
DARK_SERIES = ("#58b4ee", "#f5975b", "#3fc79a", "#e58fc0", "#a5a6ff", "#d6c34a")

LIGHT = {
    "paper": PAPER,
    "panel": "#f6f8fa",
    "ink": INK,
    "muted": MUTED,
    "line": FAINT,
    "accent": "#0a5c9e",
    "accent-soft": "#e3f0fa",
    "warn": "#b3261e",
    **{f"p{i}": color for i, color in enumerate(SERIES)},
}
DARK = {
    "paper": "#0f1419",
    "panel": "#181f27",
    "ink": "#e8edf2",
    "muted": "#9ba7b4",
    "line": "#2d3742",
    "accent": "#7cc0f5",
    "accent-soft": "#17304a",
    "warn": "#ff9d92",
    **{f"p{i}": color for i, color in enumerate(DARK_SERIES)},
}
PRINT = LIGHT | {"ink": "#000000", "muted": "#444444", "line": "#cccccc", "accent-soft": "#eef4fa"}

VARIABLES = {name: f"var(--{name})" for name in LIGHT}
"""The palette of a page, whichever it is."""


def color_of(rank: int) -> str:
    """The color of the player or curve with this rank."""
    return SERIES[rank % len(SERIES)]
