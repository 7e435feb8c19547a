"""Cost curves: time and memory of an iteration against the size of the game.

On the two families of ``game/library/scaling.py``. In the balanced one the number of infosets X
grows and the horizon stays, so that there is a fixed number of rechistories per infoset: time and
memory should grow like X for any K. In the unbalanced one the horizon H grows, and X with it; the
infosets of layer h have about h^K rechistories each, so time and memory should grow like H^(K+1).
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from accord.game.library import balanced, unbalanced
from accord.game.tree import Game
from accord.learning.self_play import SelfPlay
from accord.treeplex.form import sequence_form
from benchmarks.kefr import kefr
from benchmarks.measure import fitted_exponent, take_turns

METHOD = "prm+"


@dataclass(frozen=True)
class Family:
    """Games of one family, from small to large."""

    make: Callable[[int], Game]
    size: str  # what grows
    sizes: Mapping[int, tuple[int, ...]]  # for each K
    exponents: Mapping[int, float]  # that are expected, for each K


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    families: Mapping[str, Family]
    turns: int
    turn_seconds: float


def _families(infosets: tuple[int, ...], horizons: Mapping[int, tuple[int, ...]]) -> dict[str, Any]:
    return {
        "balanced": Family(
            lambda size: balanced(infosets=size, horizon=2),
            "infosets of each player, X",
            dict.fromkeys((0, 1, 2), infosets),
            dict.fromkeys((0, 1, 2), 1.0),
        ),
        "unbalanced": Family(
            lambda size: unbalanced(horizon=size),
            "horizon of the first player, H",
            horizons,
            {k: k + 1.0 for k in horizons},
        ),
    }


FULL = Effort(
    _families(
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
        {
            0: (300, 1_000, 3_000, 10_000, 30_000),
            1: (100, 200, 400, 800, 1_600),
            2: (25, 50, 100, 200),
        },
    ),
    turns=5,
    turn_seconds=0.1,
)
SMALL = Effort(_families((100, 1_000), {0: (30, 100), 1: (10, 30)}), turns=2, turn_seconds=0.002)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """Curves and fitted exponents of time and memory, for each family and K."""
    curves = []
    for title, family in effort.families.items():
        for k, sizes in family.sizes.items():
            say(f"{title}, K = {k}")
            points = [_point(family.make(size), size, k, effort) for size in sizes]
            fits = {
                what: fitted_exponent(sizes, [point[what] for point in points])
                for what in ("seconds", "bytes")
            }
            curves.append(
                {
                    "family": title,
                    "size": family.size,
                    "k": str(k),
                    "points": points,
                    "fitted": fits,
                    "expected": family.exponents[k],
                }
            )
            say(f"  exponent of time {fits['seconds']:.2f}, of memory {fits['bytes']:.2f}")
    settings = {"turns": effort.turns, "turn_seconds": effort.turn_seconds, "method": METHOD}
    return {"settings": settings, "curves": curves}


def _point(game: Game, size: int, k: int, effort: Effort) -> dict[str, Any]:
    gc.collect()
    tracemalloc.start()
    play: SelfPlay = kefr(sequence_form(game), k, METHOD)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    timing = take_turns({METHOD: play}, effort.turns, effort.turn_seconds)[METHOD]
    return {"size": size, "infosets": list(game.n_infosets), "bytes": held, **asdict(timing)}
