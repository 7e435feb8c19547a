"""The figure of docs/theory/notions.md: gaps of the same iterates under every notion, in ten games.

``python tools/docs/notion_gaps.py`` solves each game once for K = 1 with the default method, keeps
every iterate, and certifies the mixture of the first T of them, weighted as ``solve`` weights them,
for every notion. It writes the gaps, in units of the payoff range, to docs/theory/notion-gaps.json,
and the figure to docs/images. ``--draw`` draws it again from the data. The games and the T were
chosen before any gap was computed; a notion whose gap is refused, or does not fit, is left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import accord
from accord.deviations.notions import LADDER
from accord.errors import BudgetError

DOCS = Path(__file__).parents[2] / "docs"
DATA, FIGURE = DOCS / "theory" / "notion-gaps.json", DOCS / "images" / "notion-gaps.svg"

GAMES = {
    "kuhn_poker": "Kuhn poker",
    "kuhn_poker(players=3)": "Kuhn poker, 3 players",
    "leduc_poker": "Leduc poker",
    "liars_dice(dice_sides=4)": "Liar's Dice, 4 sides",
    "goofspiel(imp_info=True,num_cards=3)": "Goofspiel, 3 cards",
    "sheriff(max_bribe=2,max_items=3,num_rounds=1)": "Sheriff, 3 items, 1 round",
    "first_sealed_auction": "First-price auction",
    "tiny_hanabi": "Tiny Hanabi",
    "greenwald_sarfati_1": "Greenwald and Sarfati",
    "random:seed=1,players=3,depth=7,actions=2": "a random game, 3 players",
}
TIMES = (10, 30, 100, 300)
FLOOR = 1e-8
"""Smaller gaps are drawn here."""


def measured(name: str) -> dict[str, list[float | None]]:
    """The gaps of every notion after each number of iterations; None where one was refused."""
    game = accord.load_game(name)
    found: dict[str, list[float | None]] = {str(notion): [] for notion in LADDER}
    for iterations in TIMES:
        policy = accord.solve(game, 1, iterations=iterations, components=iterations).policy
        for notion in LADDER:
            try:
                gaps = accord.certify(game, policy, notion)
                found[str(notion)].append(gaps[notion].relative)
            except (BudgetError, KeyError):  # KeyError: the NFCE of too many mixed components
                found[str(notion)].append(None)
    return found


def draw(data: dict[str, Any]) -> None:
    """Write the figure: one panel per game, one line per notion."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "accord"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(13, 5.4), sharex=True, layout="constrained")
    marks = "ovs^<D>Px"
    for axis, (name, title) in zip(axes.flat, GAMES.items(), strict=True):
        for n, notion in enumerate(map(str, LADDER)):
            points = [
                (t, max(gap, FLOOR))
                for t, gap in zip(TIMES, data[name][notion], strict=True)
                if gap is not None
            ]
            if points:
                axis.loglog(
                    *zip(*points, strict=True), marker=marks[n], ms=4, lw=1.2, color=f"C{n}",
                    label=notion,
                )  # fmt: skip
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("iterations")
    for axis in axes[:, 0]:
        axis.set_ylabel("gap / payoff range")
    lines, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=len(labels), fontsize=9)
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    if "--draw" not in sys.argv:
        DATA.write_text(json.dumps({name: measured(name) for name in GAMES}, indent=1) + "\n")
    draw(json.loads(DATA.read_text()))
