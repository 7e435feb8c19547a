"""Learning by self-play: all players of a game learning from episodes.

:class:`SampledSelfPlay` plays a loaded game on a compiled simulator, :class:`EnvironmentSelfPlay`
plays an environment one move at a time. The learners are the same (``learning/whole_plays.py``,
``learning/balanced_kefr.py``), and each sees only its own infosets, actions and losses.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import clipped_k
from accord.learning.averaging import add_iterate, is_sampled, write_average
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.balanced_self_play import play_balanced
from accord.learning.estimators import join_plans
from accord.learning.exploration import checked_exploration
from accord.learning.whole_plays import WholePlayKEFR, join_policies
from accord.learning.whole_self_play import play_whole
from accord.play.environment import Environment
from accord.play.simulator import simulator
from accord.play.table import Table
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.rates import episodes_per_iteration
from accord.regret.sampled import SampledArrays, SampledMinimizer, join
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex


class SampledSelfPlay(ABC):
    """All players of a loaded game learning from episodes that they play with each other.

    Attributes:
        form: The game.
        iteration: How many iterations have been run.
        schedule: The minimizers' schedule for all players.
        joint: The state of all learners, one player after the other.
        episodes_per_iteration: The number of episodes that all players together play in one.
        averages: How many iterates each row of :meth:`advance` averages.
    """

    joint: SampledArrays
    averages = 1

    @staticmethod
    def of(
        form: SequenceForm,
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        *,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        exploration: str | None = None,
        budget: int | None = None,
    ) -> SampledSelfPlay:
        """Self-play with ``method``: of whole plays or of the paper's episodes, as it needs."""
        minimizer = configured(SAMPLED_METHODS, method)
        kind = WholePlaySelfPlay if minimizer.whole_plays else BalancedSelfPlay
        return kind(form, k, episodes, rng, minimizer, exploration, budget)

    def __init__(
        self, form: SequenceForm, rng: np.random.Generator, schedule: Any, each: int
    ) -> None:
        self.form, self.rng, self.schedule, self.episodes_per_iteration = form, rng, schedule, each
        self.iteration = 0
        self._simulator = simulator(form.game, form.leaves.best, form.leaves.loss_scale)
        self._first_infoset = np.cumsum([0, *(plex.n_infosets for plex in form.plexes)])
        self._horizon = max([1, *(plex.horizon for plex in form.plexes)])

    @property
    def plexes(self) -> tuple[Treeplex, ...]:
        """The treeplexes of all players."""
        return self.form.plexes

    @property
    def n_sequences(self) -> int:
        """The number of sequences of all players together."""
        return self.form.n_sequences

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name; arrays are views."""
        return {
            "iteration": np.array(self.iteration),
            "rng": np.array(json.dumps(self.rng.bit_generator.state)),
            **self._changing(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`, array by array, each of which is then gone."""
        self.iteration = int(state["iteration"])
        self.rng.bit_generator.state = json.loads(str(state["rng"]))
        for name, array in self._changing().items():
            array[:] = state.pop(name)

    def _changing(self) -> dict[str, Any]:
        """The arrays that episodes change, however they are laid out."""
        joint = self.joint
        changing: dict[str, Any] = {
            name: joint.nodes[name]
            for name in ("rec_reach", "credit")
            if name in (joint.nodes.dtype.names or ())
        }
        return {
            "stamp": joint.infosets["stamp"],
            "behavior": joint.behavior,
            "regret": joint.regret,
            **changing,
        }

    def advance(self, iterations: int, kept: Floats | None = None, stride: int = 1) -> int:
        """Run ``iterations``; at every multiple of ``stride`` write the next row of ``kept``.

        Returns how many rows were written.
        """
        if kept is None:
            kept = np.empty((0, self.form.n_sequences))
            stride = (self.averages + 1) * (self.iteration + iterations + 1)  # beyond any sample
        rows = self._play(iterations, kept, stride)
        self.iteration += iterations
        return rows

    @abstractmethod
    def _play(self, iterations: int, kept: Floats, stride: int) -> int:
        """Run the kernel."""


class BalancedSelfPlay(SampledSelfPlay):
    """Balanced K-EFR for all players; keeps single iterates."""

    def __init__(
        self,
        form: SequenceForm,
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        minimizer: SampledMinimizer,
        exploration: str | None,
        budget: int | None,
    ) -> None:
        exploration = checked_exploration(minimizer.explorations, exploration)
        shared, counts = count_episodes(form.plexes, k, minimizer, exploration)
        each = shared + sum(counts)
        schedule = minimizer.schedule(form.plexes, k, max(1, episodes // max(1, each)))
        super().__init__(form, rng, schedule, each)
        learners = [
            BalancedKEFR(
                plex, k, minimizer,
                exploration=exploration, budget=budget, schedule=schedule, player=i,
            )
            for i, plex in enumerate(form.plexes)
        ]  # fmt: skip
        states = [learner.state for learner in learners]
        self.joint = join(states, counts, minimizer.numbers_per_cell)
        self._plan = join_plans([learner.plan.arrays for learner in learners])
        self._first_episode = np.cumsum([0, *counts])
        self._path = np.zeros((2, self._horizon), np.int32)

    def _play(self, iterations: int, kept: Floats, stride: int) -> int:
        return play_balanced(
            self.schedule, self._simulator, self.joint, self._plan, self._path,
            self._first_infoset, self._first_episode, self.rng, self.iteration, iterations,
            kept, stride,
        )  # fmt: skip


class WholePlaySelfPlay(SampledSelfPlay):
    """Learning from whole plays, for all players; keeps averages of stretches of iterates."""

    def __init__(
        self,
        form: SequenceForm,
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        minimizer: SampledMinimizer,
        exploration: str | None,
        budget: int | None,
    ) -> None:
        exploration = checked_exploration(minimizer.explorations, exploration)
        self._shared, counts = count_episodes(form.plexes, k, minimizer, exploration)
        each = self._shared + sum(counts)
        schedule = minimizer.schedule(form.plexes, k, max(1, episodes // max(1, each)))
        super().__init__(form, rng, schedule, each)
        learners = [
            WholePlayKEFR(
                plex, k, minimizer,
                exploration=exploration, budget=budget, schedule=schedule, player=i,
            )
            for i, plex in enumerate(form.plexes)
        ]  # fmt: skip
        states = [learner.state for learner in learners]
        self.joint = join(states, counts, minimizer.numbers_per_cell)
        self.sampling = minimizer.sampling
        self.averages = self.sampling.averages
        self._policies = join_policies([learner.policies for learner in learners])
        sizes = [len(learner.policies.episodes) for learner in learners]
        self._first_policy = np.cumsum([0, *sizes])
        starts = np.cumsum([0, *(plex.n_sequences for plex in form.plexes)])
        self._parent_seq = np.concatenate(
            [plex.parent_seq + starts[i] for i, plex in enumerate(form.plexes)]
        ).astype(np.int32)
        self._everywhere = max(learner.tree.k for learner in learners) > 1
        self._path = np.zeros((form.n_players, 2, self._horizon), np.int32)
        self._lengths = np.zeros(form.n_players, np.int64)
        self._own_reach = np.zeros(self._horizon + 1)
        self._reach = np.ones(form.n_sequences)
        self.total = np.zeros(form.n_sequences)

    def _changing(self) -> dict[str, Any]:
        sequences = self.joint.sequences
        return {
            **super()._changing(),
            "baseline": sequences["baseline"],
            "plays": sequences["plays"],
            "total": self.total,
        }

    def _play(self, iterations: int, kept: Floats, stride: int) -> int:
        sampling = self.sampling
        return play_whole(
            self.schedule, self._simulator, self.joint, self._policies, self._first_policy,
            self._shared, sampling.baseline_rate, sampling.trace, self._path, self._lengths,
            self._own_reach, self._first_infoset, self._parent_seq, self.rng, self.iteration,
            iterations, self._everywhere, self.averages, self._reach, self.total, kept, stride,
        )  # fmt: skip


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


def count_episodes(
    plexes: Sequence[Treeplex],
    k: SupportsIndex | float,
    minimizer: SampledMinimizer,
    exploration: str,
) -> tuple[int, list[int]]:
    """How many episodes of an iteration all players share, and how many each has alone."""
    if minimizer.whole_plays and exploration != "balanced":
        own = [int(plex.n_infosets > 0) for plex in plexes]
        return minimizer.sampling.shared if any(own) else 0, own
    return 0, [episodes_per_iteration(plex.horizon, clipped_k(plex, k)) for plex in plexes]
