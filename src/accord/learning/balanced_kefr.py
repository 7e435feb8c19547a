"""Balanced K-EFR, Algorithms 3 and 8 of Song, Mei, Bai 2022: a K-EFCE from bandit feedback.

In each iteration the players take turns (the round-robin protocol of the appendix): while the
others play pi^t, player i plays the episodes of their sampling plan (``learning/estimators.py``)
and feeds the losses to the minimizers at the infosets that the episodes target.

Work is done only where an episode goes. The policy pi^t(. | x) is computed when an episode first
reaches x (``regret/sampled.py``). An estimate is zero except at the infoset and action that the
episode played at its target layer, and it concerns only the rechistories that the episode informs.
So an episode takes equally many steps in a game of a million infosets and in a game of ten, but
more time in the larger one, which does not fit into the cache (``benchmarks/episode_cost.py``).

A minimizer changes only after its policy for the iteration has been computed, so updating it at
once gives the same result as updating it at the end of the iteration.
"""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from accord._arrays import Floats, Ints
from accord.deviations.notions import checked_k
from accord.learning.episode_learner import EpisodeLearner, observe_play
from accord.learning.estimators import planned_tables
from accord.learning.exploration import SamplingPolicies, planned_policies
from accord.regret.methods import SAMPLED_METHODS, configured
from accord.regret.sampled import (
    Notes,
    SampledArrays,
    SampledMinimizer,
    observe_episode,
    recommend_at,
)
from accord.treeplex.treeplex import Treeplex

NO_EPISODE = -1
"""Informs no rechistory."""


class BalancedKEFR(EpisodeLearner):
    """One player's Balanced K-EFR learner, the paper's.

    Args:
        plex: The player's treeplex.
        k: How many recommendations a deviator may disobey.
        method: A minimizer for the paper's episodes: ``"swrhedge"`` or a configured
            :class:`SWRHedge`.
        iterations: The paper's T, for its learning rate; not needed if the rate is given.
        exploration: How episodes explore: ``"balanced"``, as in the paper, or ``"uniform"``.
        budget: Bytes that the learner may use; by default the free memory.
        schedule: The minimizer's schedule for all players; by default for this player alone.
        player: The index of this player in ``schedule``.
        batch: How many times each episode of an iteration is played.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory, or an iteration would take more
            than ten million episodes.
    """

    averages_iterates = False

    def __init__(
        self,
        plex: Treeplex,
        k: SupportsIndex | float,
        method: str | SampledMinimizer = "swrhedge",
        *,
        iterations: int | None = None,
        exploration: str = "balanced",
        budget: int | None = None,
        schedule: Any | None = None,
        player: int = 0,
        batch: int = 1,
    ) -> None:
        minimizer, k = configured(SAMPLED_METHODS, method), checked_k(k)
        if schedule is None:
            schedule = minimizer.schedule((plex,), k, iterations)
        for kernel in (recommend_at, observe_episode):
            kernel.check(schedule)
        self.plan, tables = planned_tables(plex, k, minimizer, exploration, budget)
        policies = planned_policies(plex, self.plan.layer, self.plan.explores, exploration)
        policies = policies._replace(episodes=policies.episodes * np.int32(batch))
        super().__init__(tables, policies, TargetLayers(float(batch)), schedule, player)


class TargetLayers(NamedTuple):
    """How losses are estimated at the layer that an episode targets."""

    batch: float  # how many times each episode of an iteration is played


@observe_play.kernel_for(TargetLayers)
def observe_target(
    estimator: TargetLayers,
    schedule: Any,
    policies: SamplingPolicies,
    first: int,
    end: int,
    policy: int,
    path: Ints,
    length: int,
    loss: float,
    reach: Floats,
    notes: Notes,
    state: SampledArrays,
) -> None:
    """Feed an episode to the minimizer at the infoset that it reached at its target layer."""
    infosets, nodes, behavior, regret = state.infosets, state.nodes, state.behavior, state.regret
    target, explores = policies.column[policy], policies.explores
    # If the play ended before that layer, what follows reads an older path and informs nobody. With
    # a branch around it Numba would count references to all arrays, a tenth of an episode's time.
    informing = policy if target < length else NO_EPISODE
    followed = 1.0
    for j in range(target):
        if not explores[policy, j]:
            followed *= behavior[infosets[path[0, j]].first_seq + path[1, j]]
    observe_episode(
        schedule, informing, target, loss / estimator.batch, followed, path,
        infosets, nodes, behavior, regret,
    )  # fmt: skip
