"""A bar chart of the recommendations that obedient players get at each infoset.

Each bar is an infoset and is divided by the probabilities of its recommendations, given that
everybody has obeyed so far. The infosets are those that are reached most often.
"""

from __future__ import annotations

import re

import numpy as np
from matplotlib.figure import Figure

from accord._format import one_line, percent, shortened
from accord.certifying.inspection import Inspection, inspect
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.labels import player_name
from accord.reports.chart import Plot, drawing, plain
from accord.reports.colors import INK, MUTED, PAPER, color_of

MOST_BARS = 24

WIDTH, BAR = 8.0, 0.3
"""Inches."""

LETTER = 0.075
"""The width of a letter inside a bar, in inches."""

INFOSET_LETTERS = 30
"""Letters of the name of an infoset."""

DARK_ENOUGH = 0.7
"""The opacity from which on a part of a bar has a label in the color of the paper."""


def marginals(policy: CorrelatedPolicy) -> Figure | None:
    """The chart, or None if no player decides anything."""
    seen = inspect(policy, [])
    places = _places(seen)
    if not places:
        return None
    with drawing():
        height = 0.5 + BAR * len(places)
        names = _names(seen, places)
        left = (0.3 + 0.085 * max(map(len, names))) / WIDTH
        width = 1 - 1.1 / WIDTH - left
        figure = Plot(figsize=(WIDTH, height))
        axes = figure.add_axes((left, 0.1 / height, width, BAR * len(places) / height))
        axes.tick_params(length=0, pad=5)
        for row, (player, x) in enumerate(places):
            _bar(axes, seen, row, player, x, LETTER / (width * WIDTH))
        axes.set_yticks(range(len(places)), names)
        for label, (player, _) in zip(axes.get_yticklabels(), places, strict=True):
            label.set_color(color_of(player))
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_xticks([])
        title = "recommendations at each infoset, and how often it is reached"
        axes.set_title(title, loc="left", x=(0.02 - left) / width, fontsize=10, color=MUTED)
        return figure


def _places(seen: Inspection) -> list[tuple[int, int]]:
    """Player and infoset of each bar, in the order of the game."""
    reached = [
        (float(seen.prob(player, x).sum()), player, x)
        for player, plex in enumerate(seen.form.plexes)
        for x in range(plex.n_infosets)
    ]
    most = sorted((one for one in reached if one[0] > 0), key=lambda one: -one[0])[:MOST_BARS]
    return sorted((player, x) for _, player, x in most)


def _names(seen: Inspection, places: list[tuple[int, int]]) -> list[str]:
    """Player and infoset of each bar."""
    names = []
    for player, plex in enumerate(seen.form.plexes):
        who = player_name(shortened(seen.form.game.player_labels[player], 14))
        labels = [one_line(plex.infoset_labels[x]) for i, x in places if i == player]
        names += [plain(f"{who} at {label}") for label in telling(labels)]
    return names


def telling(labels: list[str]) -> list[str]:
    """Labels short enough for a plot: long ones without the words that all of them have."""
    words = [re.findall(r"\[[^\]]*\]|[^\s\[]+\s*|.", label) for label in labels]
    common = set[str]().union(*words).intersection(*words)
    parts = ["".join(word for word in own if word not in common) for own in words]
    return [
        label
        if len(label) <= INFOSET_LETTERS
        else shortened(part.strip() or label, INFOSET_LETTERS)
        for label, part in zip(labels, parts, strict=True)
    ]


def _bar(axes: object, seen: Inspection, row: int, player: int, x: int, letter: float) -> None:
    """One infoset: its recommendations from left to right, then how often it is reached.

    ``letter`` is the width of a letter as a part of the bar.
    """
    prob = seen.prob(player, x)
    reach = float(prob.sum())
    actions = seen.form.plexes[player].action_labels[x]
    start = 0.0
    shades = np.linspace(0.95, 0.3, len(actions))
    for action, share, shade in zip(actions, (prob / reach).tolist(), shades, strict=True):
        axes.barh(  # type: ignore[attr-defined]
            row, share, left=start, height=0.72, color=color_of(player), alpha=shade,
            edgecolor=PAPER, linewidth=1.0,
        )  # fmt: skip
        text = plain(f"{shortened(action, 18)} {percent(share)}")
        if share > letter * (len(text) + 1):
            axes.text(  # type: ignore[attr-defined]
                start + share / 2, row, text, ha="center", va="center", fontsize=8.5,
                color=PAPER if shade > DARK_ENOUGH else INK,
            )  # fmt: skip
        start += share
    axes.text(  # type: ignore[attr-defined]
        1.01, row, f"{percent(reach)} of plays", va="center", fontsize=8.5, color=MUTED
    )
