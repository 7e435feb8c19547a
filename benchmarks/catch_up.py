"""CPU time of ``learn`` until its gap is the one that MCCFR has after a million episodes.

First, with seeds of their own, MCCFR plays its episodes, and a bisection finds the smallest number
in a grid after which the median gap of what ``learn`` saves is at most MCCFR's. Then both are
timed, with other seeds, in turns: MCCFR on its episodes, ``learn`` on that number of them. The gaps
of the timed runs are computed too, to see whether the number was right.

Counted is the time from making the learner to having the mixture or the average policy in memory,
with the iterates that ``learn`` keeps. Loading the game, compiling and the exact gap, which neither
needs to learn, are not counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import accord
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.regret.methods import SAMPLED_DEFAULT
from accord.runs.iterations import Iterations
from accord.runs.learning_run import on_simulator
from accord.runs.loop import Loop
from accord.runs.request import LearnRequest
from accord.treeplex.form import SequenceForm, sequence_form
from benchmarks.bandit import averaged_gap, learned_gap
from benchmarks.games import GAMES
from benchmarks.measure import Timing
from benchmarks.peers import OutcomeSampling

SPACING = 1.25
"""Between neighbors in the grid of numbers of episodes."""

FEWEST = 1_000
"""The first of them, about."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    episodes: int  # of MCCFR
    seeds: int  # of the search: turns, turns + 1, ...
    turns: int  # with seeds 0, 1, ...


FULL = Effort(GAMES, episodes=1_000_000, seeds=5, turns=3)
SMALL = Effort({"Kuhn": GAMES["Kuhn"]}, episodes=2_000, seeds=3, turns=2)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """CPU time of ``learn`` and of MCCFR to about the same gap, on every game."""
    games = []
    for title, name in effort.games.items():
        say(title)
        form = sequence_form(accord.load_game(name))
        games.append({"title": title, **_race(form, effort)})
    settings = {name: getattr(effort, name) for name in ("episodes", "seeds", "turns")}
    return {"settings": settings | {"spacing": SPACING}, "games": games}


def _race(form: SequenceForm, effort: Effort) -> dict[str, Any]:
    seeds = range(effort.turns, effort.turns + effort.seeds)
    target = median(_averaged(form, effort.episodes, seed)[1] for seed in seeds)
    needed = _episodes_to(form, target, seeds, effort.episodes)
    if needed is None:
        return {"target": target, "episodes": None}
    _learned(form, needed, seed=0)  # warms up
    own, peer = [], []
    for seed in range(effort.turns):
        peer.append(_averaged(form, effort.episodes, seed))
        own.append(_learned(form, needed, seed))
    return {
        "target": target,
        "episodes": needed,
        "learn": _summary(own),
        "peer": _summary(peer),
    }


def _summary(runs: list[tuple[float, float]]) -> dict[str, Any]:
    seconds, gaps = zip(*runs, strict=True)
    return {**asdict(Timing.of(seconds)), "gap": median(gaps)}


def _episodes_to(form: SequenceForm, target: float, seeds: range, most: int) -> int | None:
    """The smallest number in the grid with a median gap of at most ``target``, by bisection.

    None if even ``most`` are too few.
    """

    def suffices(count: int) -> bool:
        gaps = (learned_gap(form, 1, count, seed, SAMPLED_DEFAULT) for seed in seeds)
        return median(gaps) <= target

    steps = int(math.log(most / FEWEST) / math.log(SPACING))
    grid = [int(most / SPACING**i) for i in range(steps, -1, -1)]
    found = bisect_left(grid, True, key=suffices)
    return grid[found] if found < len(grid) else None


def _learned(form: SequenceForm, episodes: int, seed: int) -> tuple[float, float]:
    """CPU time of what ``learn`` does, without its exact gaps on the way; and the gap."""
    request = LearnRequest(form.game.name, 1, episodes=episodes, seed=seed)
    start = process_time()
    play, components = on_simulator(form.game, request)
    Loop(Iterations(play, components, lambda: None)).run(episodes // play.episodes_per_iteration)
    weights = np.full(len(components.take()), 1.0 / components.count)
    behaviors = components.matrix.behaviors()
    seconds = process_time() - start
    gaps = efce_gaps(CorrelatedPolicy(form.game, weights, behaviors), 1)
    return seconds, float((gaps * form.leaves.loss_scale).max())


def _averaged(form: SequenceForm, episodes: int, seed: int) -> tuple[float, float]:
    """CPU time of MCCFR; and the gap."""
    start = process_time()
    peer = OutcomeSampling(form.game, seed)
    peer.advance(episodes // peer.episodes_per_iteration)
    return process_time() - start, averaged_gap(form, peer)
