"""Learning by self-play in an environment whose treeplexes are known, one move at a time.

The learners are those of ``learning/sampled_self_play.py``. The paper's methods need treeplexes,
because their sampling plan and learning rate count the infosets. Other methods learn while the
treeplexes grow (``learning/growing_self_play.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord.learning.averaging import add_iterate, is_sampled, write_average
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.exploration import checked_exploration
from accord.learning.sampled_self_play import count_episodes
from accord.learning.whole_plays import WholePlayKEFR
from accord.play.environment import Environment
from accord.play.table import Table
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import SampledMinimizer
from accord.treeplex.treeplex import Treeplex


class EnvironmentSelfPlay:
    """All players of an environment learning from episodes that they play with each other.

    Attributes:
        table: The environment, in numbers instead of labels.
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
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        exploration: str | None = None,
    ) -> None:
        self.table, self.rng = Table(env, plexes), rng
        self.iteration = 0
        plexes = self.table.plexes
        minimizer = configured(SAMPLED_METHODS, method)
        exploration = checked_exploration(minimizer.explorations, exploration)
        self._shared, counts = count_episodes(plexes, k, minimizer, exploration)
        self.episodes_per_iteration = self._shared + sum(counts)
        iterations = max(1, episodes // max(1, self.episodes_per_iteration))
        schedule = minimizer.schedule(plexes, k, iterations)
        kind = WholePlayKEFR if minimizer.whole_plays else BalancedKEFR
        self.learners = tuple(
            kind(plex, k, minimizer, exploration=exploration, schedule=schedule, player=i)
            for i, plex in enumerate(plexes)
        )
        self._whole_plays, self.averages = minimizer.whole_plays, minimizer.sampling.averages
        self._everywhere = max(learner.tree.k for learner in self.learners) > 1
        self._totals = [np.zeros(plex.n_sequences) for plex in plexes]
        self._reach = [np.ones(plex.n_sequences) for plex in plexes]

    @property
    def plexes(self) -> tuple[Treeplex, ...]:
        """The treeplexes of all players."""
        return self.table.plexes

    @property
    def n_sequences(self) -> int:
        """The number of sequences of all players together."""
        return sum(plex.n_sequences for plex in self.plexes)

    def advance(self, iterations: int, kept: Floats, stride: int = 1) -> int:
        """Run ``iterations``; at every multiple of ``stride`` write the next row of ``kept``."""
        rows = 0
        for _ in range(iterations):
            self.iteration += 1
            for learner in self.learners:
                learner.begin_iteration()
            if is_sampled(self.iteration, stride, self.averages):
                for i in range(len(self.learners)):
                    self._add_iterate(i)
                if self.iteration % stride == 0:
                    kept[rows] = np.concatenate(list(map(self._average, range(len(self.learners)))))
                    rows += 1
            for episode in range(self._shared):
                self._play([episode] * len(self.learners))
            for active, sampler in enumerate(self.learners):
                told: list[int | None] = [None] * len(self.learners)
                for told[active] in range(self._shared, sampler.n_episodes):
                    self._play(told)
        return rows

    def _play(self, episodes: Sequence[int | None]) -> None:
        """Play one episode, whose number each learner is told."""
        learners, rng = self.learners, self.rng
        for learner, episode in zip(learners, episodes, strict=True):
            learner.begin_episode(episode)
        payoffs = self.table.play(rng, lambda i, x: learners[i].act(x, rng))
        for learner, loss in zip(learners, self.table.losses(payoffs), strict=True):
            learner.end_episode(loss)

    def _add_iterate(self, i: int) -> None:
        if self._whole_plays:
            learner = self.learners[i]
            own, plex = learner.state, learner.tree.plex
            add_iterate(
                learner.schedule, i, 0, plex.n_infosets, self.iteration, self._everywhere,
                plex.parent_seq, own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
                self._reach[i], self._totals[i],
            )  # fmt: skip

    def _average(self, i: int) -> Floats:
        if not self._whole_plays:
            return self.learners[i].policy()
        average = np.empty_like(self._totals[i])
        write_average(self.learners[i].state.infosets, self._totals[i], average)
        return average
