"""What obedient players are told at each infoset, as a bar chart.

Each bar is an infoset and is divided by the probabilities of its recommendations, given that
everybody has obeyed so far. The infosets are those that are reached most often.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from accord._format import one_line, percent, shortened
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.inspection import Inspection, inspect
from accord.game.labels import player_name
from accord.reports.chart import chart, drawing, plain
from accord.reports.colours import INK, MUTED, PAPER, colour_of

MOST_BARS = 24

WIDTH, BAR = 8.0, 0.3
"""Inches."""

LETTER = 0.009
"""The width of a letter of a label, as a part of a bar."""

DARK_ENOUGH = 0.7
"""The opacity from which on a part of a bar has a label in the colour of the paper."""


def marginals(policy: CorrelatedPolicy) -> Figure | None:
    """The chart, or None if no player decides anything."""
    seen = inspect(policy, [])
    places = _places(seen)
    if not places:
        return None
    with drawing():
        height = 0.5 + BAR * len(places)
        figure, axes = chart((WIDTH, height), 1.1)
        names = [_name(seen, player, x) for player, x in places]
        left = (0.3 + 0.085 * max(map(len, names))) / WIDTH
        axes.set_position((left, 0.1 / height, 1 - 1.1 / WIDTH - left, BAR * len(places) / height))
        for row, (player, x) in enumerate(places):
            _bar(axes, seen, row, player, x)
        axes.set_yticks(range(len(places)), names)
        for label, (player, _) in zip(axes.get_yticklabels(), places, strict=True):
            label.set_color(colour_of(player))
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_xticks([])
        title = "recommendations at each infoset, and how often it is reached"
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
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


def _name(seen: Inspection, player: int, x: int) -> str:
    name = player_name(shortened(seen.form.game.player_labels[player], 14))
    return plain(f"{name}  {shortened(one_line(seen.form.plexes[player].infoset_labels[x]), 30)}")


def _bar(axes: object, seen: Inspection, row: int, player: int, x: int) -> None:
    """One infoset: its recommendations from left to right, then how often it is reached."""
    prob = seen.prob(player, x)
    reach = float(prob.sum())
    actions = seen.form.plexes[player].action_labels[x]
    start = 0.0
    shades = np.linspace(0.95, 0.3, len(actions))
    for action, share, shade in zip(actions, (prob / reach).tolist(), shades, strict=True):
        axes.barh(  # type: ignore[attr-defined]
            row, share, left=start, height=0.72, color=colour_of(player), alpha=shade,
            edgecolor=PAPER, linewidth=1.0,
        )  # fmt: skip
        text = plain(f"{shortened(action, 18)} {percent(share)}")
        if share > LETTER * len(text) + 0.02:
            axes.text(  # type: ignore[attr-defined]
                start + share / 2, row, text, ha="center", va="center", fontsize=8.5,
                color=PAPER if shade > DARK_ENOUGH else INK,
            )  # fmt: skip
        start += share
    axes.text(  # type: ignore[attr-defined]
        1.01, row, f"{percent(reach)} of plays", va="center", fontsize=8.5, color=MUTED
    )
