"""Gaps at K = 0, 2 and infinity of what ``learn`` saves, and of what it used to save.

Before it learned from whole plays, ``learn`` used one layer of each episode, and its default was
regret matching on that (``rm``). ``layered_rm.json`` holds the gaps of that code, measured by the
same functions with the same seeds:

    git worktree add ../layered 376d4f6
    PYTHONPATH=../layered/src python -m benchmarks.other_k
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import accord
from accord.deviations.rechistory import RechistoryTree
from accord.errors import BudgetError
from accord.treeplex.form import SequenceForm, sequence_form
from benchmarks.bandit import learned_gap, quartiles
from benchmarks.games import GAMES
from benchmarks.kefr import KS
from benchmarks.results import written

BUDGET = 2**30
"""Bytes that one player's rechistories may take; what needs more is left out."""

LAYERED = Path(__file__).with_name("layered_rm.json")
COMMIT = "376d4f6"
"""The last one whose ``learn`` used one layer of each episode."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    episodes: int
    seeds: int  # 0, 1, ...


FULL = Effort(GAMES, episodes=1_000_000, seeds=5)
SMALL = Effort({"Kuhn": GAMES["Kuhn"]}, episodes=1_000, seeds=3)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """Gaps of the default of ``learn`` on every game, beside those of the code before it."""
    return {
        "settings": {"episodes": effort.episodes, "seeds": effort.seeds, "commit": COMMIT},
        "games": gaps_of("prm", effort, say),
        "before": json.loads(LAYERED.read_text())["games"],
    }


def gaps_of(method: str, effort: Effort, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The relative K-EFCE gaps of what ``learn`` saves."""
    games = []
    for title, name in effort.games.items():
        say(f"{title}, {method}")
        form = sequence_form(accord.load_game(name))
        gaps = []
        for k, value in KS.items():
            if k != "1" and _fits(form, value):
                sample = [
                    learned_gap(form, value, effort.episodes, seed, method)
                    for seed in range(effort.seeds)
                ]
                gaps.append({"k": k, **quartiles(sample)})
        games.append({"title": title, "gaps": gaps})
    return games


def _fits(form: SequenceForm, k: float) -> bool:
    try:
        for plex in form.plexes:
            RechistoryTree.build(plex, k, BUDGET)
    except BudgetError:
        return False
    return True


if __name__ == "__main__":
    measured: list[dict[str, Any]] = []
    for game in GAMES.items():
        measured += gaps_of("rm", replace(FULL, games=dict([game])), print)
        LAYERED.write_text(written({"commit": COMMIT, "games": measured}))
