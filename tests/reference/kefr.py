"""K-EFR, full feedback."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tests.reference.game import (
    actions,
    clip,
    counterfactual_losses,
    horizon,
    infosets,
    n_players,
    n_sequences,
    sequence,
)
from tests.reference.minimizers import imbalance
from tests.reference.rechistories import time_selection, type_one, type_two
from tests.reference.types import Behavior, Behaviors, Rechistory

Make = Callable[[int, int, tuple[Rechistory, ...], tuple[Rechistory, ...]], Any]
"""Makes a minimizer from player, number of actions, Type-I and Type-II rechistories."""


def full_feedback_rate(game: Any, i: int, K: float, iterations: int) -> float:
    """Eq. (equation:learning-rate-full-feedback), for losses in [0, 1]."""
    K, H, A = clip(game, i, K), horizon(game, i), _max_actions(game, i)
    return math.sqrt(math.comb(H, K) * len(infosets(game, i)) * A**K * math.log(A) / iterations)


def _max_actions(game: Any, i: int) -> int:
    return max((len(actions(game, i, x)) for x in infosets(game, i)), default=1)


def _minimizers(game: Any, K: float, make: Make) -> list[list[Any]]:
    return [
        [
            make(i, len(actions(game, i, x)), type_one(game, i, K, x), type_two(game, i, K, x))
            for x in infosets(game, i)
        ]
        for i in range(n_players(game))
    ]


def _time_selections(
    game: Any, i: int, K: float, x: int, behavior: Behavior
) -> dict[Rechistory, float]:
    both = [*type_one(game, i, K, x), *type_two(game, i, K, x)]
    return {b: time_selection(game, i, behavior, x, b) for b in both}


def _at(game: Any, i: int, x: int, vector: list[float]) -> list[float]:
    return [float(vector[sequence(game, i, x, a)]) for a in actions(game, i, x)]


def kefr(game: Any, K: float, iterations: int, make: Make) -> list[Behaviors]:
    """Algorithm 2 for all players together; the product policy of every iteration."""
    minimizers = _minimizers(game, K, make)
    iterates = []
    for _ in range(iterations):
        behaviors = [[1.0] * n_sequences(game, i) for i in range(n_players(game))]
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):  # layer by layer
                minimizers[i][x].observe_time_selection(_time_selections(game, i, K, x, behavior))
                for a, p in enumerate(minimizers[i][x].recommend()):
                    behavior[sequence(game, i, x, a)] = p
        _observe_losses(game, minimizers, behaviors)
        iterates.append(behaviors)
    return iterates


def _observe_losses(game: Any, minimizers: list[list[Any]], behaviors: Behaviors) -> None:
    for i in range(n_players(game)):
        losses = counterfactual_losses(game, i, behaviors)
        for x in infosets(game, i):
            minimizers[i][x].observe_loss(_at(game, i, x, losses))


def replay_kefr(game: Any, K: float, iterates: list[Behaviors], make: Make) -> float:
    """Feed the iterates of another implementation to the minimizers; the worst ``imbalance``.

    Zero, to rounding, exactly if every policy is a stationary distribution of the rates that the
    iterates before it imply, whichever one was chosen where several exist.
    """
    minimizers = _minimizers(game, K, make)
    worst = 0.0
    for behaviors in iterates:
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):
                minimizer = minimizers[i][x]
                minimizer.observe_time_selection(_time_selections(game, i, K, x, behavior))
                minimizer.p = _at(game, i, x, behavior)
                worst = max(worst, imbalance(minimizer.p, minimizer.rates()))
        _observe_losses(game, minimizers, behaviors)
    return worst
