"""K-EFR with full feedback (Algorithm 2): the twin of ``accord.learning.self_play``."""

from __future__ import annotations

import math
from typing import Any

from tests.reference.fixed_point import imbalance
from tests.reference.game import (
    actions,
    clip,
    horizon,
    infosets,
    max_actions,
    n_players,
    n_sequences,
    sequence,
)
from tests.reference.policies import at_infoset
from tests.reference.rechistories import time_selections, type_one, type_two
from tests.reference.types import Behaviors, MakeMinimizer
from tests.reference.values import counterfactual_losses


def full_feedback_rate(game: Any, i: int, K: float, iterations: int) -> float:
    """Equation (9), for losses in [0, 1]."""
    K, H, A = clip(game, i, K), horizon(game, i), max_actions(game, i)
    return math.sqrt(math.comb(H, K) * len(infosets(game, i)) * A**K * math.log(A) / iterations)


def kefr(game: Any, K: float | str, iterations: int, make: MakeMinimizer) -> list[Behaviors]:
    """Algorithm 2 for all players together; the product policy of every iteration."""
    minimizers = all_minimizers(game, K, make)
    iterates = []
    for _ in range(iterations):
        behaviors = [[1.0] * n_sequences(game, i) for i in range(n_players(game))]
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):  # layer by layer
                minimizers[i][x].observe_time_selection(time_selections(game, i, K, x, behavior))
                for a, p in enumerate(minimizers[i][x].recommend()):
                    behavior[sequence(game, i, x, a)] = p
        _observe_losses(game, minimizers, behaviors)
        iterates.append(behaviors)
    return iterates


def replay_kefr(game: Any, K: float | str, iterates: list[Behaviors], make: MakeMinimizer) -> float:
    """Feed the iterates of another implementation to the minimizers; the worst ``imbalance``.

    Zero, to rounding, exactly if every policy is a stationary distribution of the rates that the
    iterates before it imply, whichever one was chosen where several exist.
    """
    minimizers = all_minimizers(game, K, make)
    worst = 0.0
    for behaviors in iterates:
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):
                minimizer = minimizers[i][x]
                minimizer.observe_time_selection(time_selections(game, i, K, x, behavior))
                minimizer.p = at_infoset(game, i, x, behavior)
                worst = max(worst, imbalance(minimizer.p, minimizer.rates()))
        _observe_losses(game, minimizers, behaviors)
    return worst


def all_minimizers(game: Any, K: float | str, make: MakeMinimizer) -> list[list[Any]]:
    return [
        [
            make(i, len(actions(game, i, x)), type_one(game, i, K, x), type_two(game, i, K, x))
            for x in infosets(game, i)
        ]
        for i in range(n_players(game))
    ]


def _observe_losses(game: Any, minimizers: list[list[Any]], behaviors: Behaviors) -> None:
    for i in range(n_players(game)):
        losses = counterfactual_losses(game, i, behaviors)
        for x in infosets(game, i):
            minimizers[i][x].observe_loss(at_infoset(game, i, x, losses))
