"""Balanced K-EFR in self-play on an environment that can only be played.

The learners are the same as on loaded games (``learning/balanced_kefr.py``), asked one move at a
time. What they learn cannot be certified, because nobody knows the game; what it pays is estimated
from fresh plays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np

from accord.equilibrium.mixture import Mixture
from accord.learning.balanced_kefr import SWRHEDGE, BalancedKEFR
from accord.learning.environment import Environment, Table
from accord.learning.self_play import planned_rates
from accord.treeplex.treeplex import Floats, Treeplex

QUANTILE = 1.959963984540054
"""Of the normal distribution, for 95% confidence intervals."""


class EnvironmentSelfPlay:
    """All players of an environment learning from episodes that they play with each other.

    Attributes:
        table: Where they play.
        learners: One per player.
        iteration: How many iterations have been run.
    """

    def __init__(
        self,
        env: Environment,
        plexes: Sequence[Treeplex],
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        *,
        method: int = SWRHEDGE,
        learning_rate_scale: float = 1.0,
        failure_prob: float = 0.05,
    ) -> None:
        self.table, self.rng = Table(env, plexes), rng
        self.iteration = 0
        counts, rates = planned_rates(
            self.table.plexes, k, episodes, learning_rate_scale, failure_prob
        )
        self.episodes_per_iteration = sum(counts)
        self.learners = tuple(
            BalancedKEFR(plex, k, rate, method)
            for plex, rate in zip(self.table.plexes, rates, strict=True)
        )

    @property
    def n_sequences(self) -> int:
        """Of all players together."""
        return sum(plex.n_sequences for plex in self.table.plexes)

    def advance(self, iterations: int, kept: Floats, stride: int = 1) -> int:
        """Run iterations; keep pi^t, if ``stride`` divides t, in the next row of ``kept``."""
        learners, rng = self.learners, self.rng
        rows = 0
        for _ in range(iterations):
            self.iteration += 1
            for learner in learners:
                learner.begin_iteration()
            if self.iteration % stride == 0:
                kept[rows] = np.concatenate([learner.policy() for learner in learners])
                rows += 1
            for active, sampler in enumerate(learners):
                for episode in range(sampler.n_episodes):
                    for i, learner in enumerate(learners):
                        learner.begin_episode(episode if i == active else None)
                    payoffs = self.table.play(rng, lambda i, x: learners[i].act(x, rng))
                    for learner, loss in zip(learners, self.table.losses(payoffs), strict=True):
                        learner.end_episode(loss)
        return rows


def estimated_values(
    env: Environment, policy: Mixture, plays: int, rng: np.random.Generator
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean payoffs when everybody obeys, and half the widths of their 95% confidence intervals."""
    table = Table(env, policy.plexes)
    first = [plex.first_seq.tolist() for plex in policy.plexes]
    components = rng.choice(policy.n_components, size=plays, p=policy.weights)
    paid = np.empty((plays, len(first)))
    for n, c in enumerate(components):
        behaviors = policy.split(policy.behavior[c])

        def act(i: int, x: int, behaviors: tuple[Floats, ...] = behaviors) -> int:
            law = np.cumsum(behaviors[i][first[i][x] : first[i][x + 1]])
            return int(np.searchsorted(law, rng.random() * law[-1], side="right"))

        payoffs = table.play(rng, act)
        table.losses(payoffs)  # refuses what is out of bounds
        paid[n] = payoffs
    spread = paid.std(axis=0, ddof=1) if plays > 1 else np.full(len(first), math.nan)
    margins = QUANTILE * spread / math.sqrt(plays)
    return tuple(map(float, paid.mean(axis=0))), tuple(map(float, margins))
