"""What an episode costs as the game grows, and how much of that is memory: ``episode_cost.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    sizes: tuple[int, int]
    episodes: int
    repeats: int
    traced: int


FULL = Effort((1_000, 1_000_000), episodes=150_000, repeats=7, traced=2_000)
SMALL = Effort((100, 1_000), episodes=1_000, repeats=2, traced=20)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """Time per episode in a small and a large game of the balanced family."""
    say(" and ".join(f"{size:,} infosets" for size in effort.sizes))
    cost: dict[str, Any] = import_module("benchmarks.episode_cost").episode_cost(
        effort.sizes, episodes=effort.episodes, repeats=effort.repeats, traced=effort.traced
    )
    return cost
