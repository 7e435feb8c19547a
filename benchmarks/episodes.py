"""What an episode costs as the game grows, and how much of that is memory: ``episode_cost.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.episode_cost import SIZES, episode_cost


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    sizes: tuple[int, int]
    episodes: int
    repeats: int
    traced: int


FULL = Effort(SIZES, episodes=150_000, repeats=7, traced=2_000)
SMALL = Effort((100, 1_000), episodes=1_000, repeats=2, traced=20)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """Time per episode in a small and a large game of the balanced family."""
    say(" and ".join(f"{size:,} infosets" for size in effort.sizes))
    return episode_cost(
        effort.sizes, episodes=effort.episodes, repeats=effort.repeats, traced=effort.traced
    )
