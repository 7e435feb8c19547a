"""What the reference functions pass around."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

CHANCE = -1
TERMINAL = -2

once_per_game = lru_cache(maxsize=50)  # bounded, so that games of long test runs can go
remember = lru_cache(maxsize=50_000)

Behavior = list[float]
Behaviors = list[Behavior]
CorrelatedPolicy = list[tuple[float, Behaviors]]
Rechistory = tuple[int, ...]
Modification = dict[tuple[Any, ...], int]  # (x, b, recommended) or (x, b) -> action
