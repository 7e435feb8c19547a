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

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.notions import checked_k
from accord.deviations.rechistory import RechistoryTree
from accord.learning.episode_learner import EpisodeLearner
from accord.learning.estimators import sampling_plan
from accord.regret.methods import SAMPLED_METHODS, configured
from accord.regret.sampled import (
    Infosets,
    SampledMinimizer,
    footprint,
    new_sampled,
    observe_episode,
    recommend_at,
    sample,
)
from accord.treeplex.treeplex import Treeplex


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

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory, or an iteration would take more
            than ten million episodes.
    """

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
    ) -> None:
        minimizer = configured(SAMPLED_METHODS, method)
        tree = RechistoryTree.build(plex, checked_k(k), budget, footprint(minimizer))
        if schedule is None:
            schedule = minimizer.schedule((plex,), tree.k, iterations)
        for kernel in (recommend_at, observe_episode):
            kernel.check(schedule)
        self.plan = sampling_plan(tree, exploration)
        self.n_episodes = self.plan.n_episodes
        state = new_sampled(
            tree, minimizer, episode=self.plan.node_episode, weight=self.plan.node_weight
        )
        super().__init__(tree, schedule, player, state)
        self._followed = 1.0

    def begin_episode(self, episode: int | None = None) -> None:
        super().begin_episode(episode)
        self._followed = 1.0

    def _explore(self, x: int, draw: float) -> int:
        action, followed = explore(
            x, self._layer, draw, int(self.plan.layer[self._episode]),
            self.plan.explores[self._episode], self.plan.descendants, self.state.infosets,
            self.state.behavior,
        )  # fmt: skip
        self._followed *= followed
        return int(action)

    def _observe(self, loss: float) -> None:
        own, target = self.state, int(self.plan.layer[self._episode])
        if self._layer > target:  # else the play ended before it reached that layer
            observe_episode(
                self.schedule, self._episode, target, self._layer, loss, self._followed,
                self._path, own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
            )  # fmt: skip


@jit
def explore(
    x: int,
    layer: int,
    draw: float,
    target: int,
    explores: NDArray[np.bool_],
    descendants: Ints,
    infosets: Infosets,
    behavior: Floats,
) -> tuple[int, float]:
    """Draw an action at ``x`` for an episode that explores at layers where ``explores``.

    Also returns pi^t(a | x) if the action was drawn from pi^t before layer ``target``, else 1.
    """
    first, n = infosets[x].first_seq, infosets[x].n_actions
    if layer > target or not explores[layer]:
        a = sample(x, draw, infosets, behavior)
        return a, behavior[first + a] if layer < target else 1.0
    total = 0
    if layer < target:
        for seq in range(first, first + n):
            total += descendants[seq, target]
    if total == 0:
        return min(int(draw * n), n - 1), 1.0
    rest = int(draw * total)
    for a in range(n):
        rest -= descendants[first + a, target]
        if rest < 0:
            return a, 1.0
    return n - 1, 1.0
