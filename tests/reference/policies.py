"""Policies and reach probabilities: the twin of ``accord.treeplex.strategy``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.reference.game import (
    actions,
    infosets,
    n_sequences,
    node_chance,
    node_sequences,
    pair,
    path,
    sequence,
    terminals,
)
from tests.reference.types import Behavior, Behaviors, Terminal


def prob(game: Any, i: int, behavior: Behavior, x: int, a: int) -> float:
    """pi_i(a | x)."""
    return float(behavior[sequence(game, i, x, a)])


def at_infoset(game: Any, i: int, x: int, vector: list[float]) -> list[float]:
    return [float(vector[sequence(game, i, x, a)]) for a in actions(game, i, x)]


def reach(game: Any, i: int, behavior: Behavior, seq: int) -> float:
    """pi_{i,1:h}(x, a), Equation (3)."""
    if seq == 0:
        return 1.0
    x, a = pair(game, i, seq)
    total = prob(game, i, behavior, x, a)
    for xk, ak in path(game, i, x):
        total *= prob(game, i, behavior, xk, ak)
    return total


def sequence_form(game: Any, i: int, behavior: Behavior) -> list[float]:
    return [reach(game, i, behavior, seq) for seq in range(n_sequences(game, i))]


def others_reach(game: Any, i: int, behaviors: Behaviors, seqs: tuple[int, ...]) -> float:
    """prod_{j != i} pi_{j,1:h}."""
    total = 1.0
    for j, seq in enumerate(seqs):
        if j != i:
            total *= reach(game, j, behaviors[j], seq)
    return total


def plays_against(game: Any, i: int, behaviors: Behaviors) -> list[tuple[float, Terminal]]:
    """Every terminal history with its probability if player i plays to get there.

    With ``i = -1`` everybody follows ``behaviors``.
    """
    forms = [sequence_form(game, j, behavior) for j, behavior in enumerate(behaviors)]
    return [
        (z.chance * math.prod(forms[j][seq] for j, seq in enumerate(z.seqs) if j != i), z)
        for z in terminals(game)
    ]


def opponent_reach(game: Any, i: int, behaviors: Behaviors, x: int) -> float:
    """p^{pi_-i}_{1:h}(x), Equation (16)."""
    return sum(
        node_chance(game, node) * others_reach(game, i, behaviors, node_sequences(game, node))
        for node in range(len(game.player))
        if game.player[node] == i and game.infoset[node] == x
    )


def uniform_behavior(game: Any, i: int) -> Behavior:
    return [
        1.0,
        *(1 / len(actions(game, i, x)) for x in infosets(game, i) for _ in actions(game, i, x)),
    ]


def pure_behavior(game: Any, i: int, choice: Iterable[int]) -> Behavior:
    """The policy that takes ``choice[x]`` at each infoset x."""
    behavior = [1.0] + [0.0] * (n_sequences(game, i) - 1)
    for x, a in enumerate(choice):
        behavior[sequence(game, i, x, a)] = 1.0
    return behavior


def pure_choices(game: Any, i: int, limit: int = 300_000) -> Iterator[tuple[int, ...]]:
    """All pure policies, as the action taken at each infoset."""
    count = math.prod(len(actions(game, i, x)) for x in infosets(game, i))
    if count > limit:
        raise ValueError(f"{count} pure policies, more than {limit}")
    return product(*(actions(game, i, x) for x in infosets(game, i)))


def sample(weights: list[float], rng: np.random.Generator) -> int:
    u = rng.random() * sum(weights)
    for a, p in enumerate(weights):
        u -= p
        if u < 0:
            return a
    return max(a for a, p in enumerate(weights) if p > 0)
