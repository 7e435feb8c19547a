"""Shared types, and the two caches that keep recursion affordable."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

CHANCE = -1
TERMINAL = -2

Behavior = list[float]
"""Over the sequences of one player; entry 0, the empty sequence, is 1."""

Behaviors = list[Behavior]
"""A product policy: one behavior per player."""

CorrelatedPolicy = list[tuple[float, Behaviors]]
"""Weighted product policies."""

Rechistory = tuple[int, ...]
"""Recommended actions, the first recommendation first."""

Modification = dict[tuple[Any, ...], int]
"""The action that phi takes at ``(x, b, recommended)`` (Type I) or ``(x, b)`` (Type II)."""

Matrix = list[list[float]]
"""Rates of a Markov chain: ``rates[r][a]`` leads from r to a."""

MakeMinimizer = Callable[[int, int, tuple[Rechistory, ...], tuple[Rechistory, ...]], Any]
"""Makes a minimizer from player, number of actions, Type-I and Type-II rechistories."""

Episode = tuple[Any, ...]
"""(h, W) of Algorithm 7, or (h, h', W) of Algorithm 4; W is sorted."""


class Terminal(NamedTuple):
    """A terminal history."""

    node: int
    seqs: tuple[int, ...]  # per player: their last sequence
    chance: float  # probability of the chance moves
    payoffs: tuple[float, ...]  # per player: the sum of all rewards on the way


once_per_game = lru_cache(maxsize=50)
"""Bounded, so that games of a long test session can be freed."""

remember = lru_cache(maxsize=50_000)
