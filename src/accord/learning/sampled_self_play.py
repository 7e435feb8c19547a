"""Learning by self-play: all players of a loaded game learning from episodes.

The game is played on a compiled simulator, by kernels that do what the learners do, move by move
(``learning/whole_plays.py``, ``learning/balanced_kefr.py``). Each learner sees only its own
infosets, actions and losses. ``learning/environment_self_play.py`` does the same in an environment.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import clipped_k
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.balanced_self_play import play_balanced
from accord.learning.estimators import join_plans
from accord.learning.exploration import checked_exploration
from accord.learning.whole_plays import WholePlayKEFR, join_policies
from accord.learning.whole_self_play import play_whole
from accord.play.simulator import simulator
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

    learner: Callable[..., Any]  # the class of the learners
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
        self,
        form: SequenceForm,
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        minimizer: SampledMinimizer,
        exploration: str | None,
        budget: int | None,
    ) -> None:
        self.form, self.rng, self.iteration = form, rng, 0
        exploration = checked_exploration(minimizer.explorations, exploration)
        self._shared, counts = count_episodes(form.plexes, k, minimizer, exploration)
        self.episodes_per_iteration = self._shared + sum(counts)
        iterations = max(1, episodes // max(1, self.episodes_per_iteration))
        self.schedule = minimizer.schedule(form.plexes, k, iterations)
        self._simulator = simulator(form.game, form.leaves.best, form.leaves.loss_scale)
        self._first_infoset = np.cumsum([0, *(plex.n_infosets for plex in form.plexes)])
        self._first_episode = np.cumsum([0, *counts])
        self._horizon = max([1, *(plex.horizon for plex in form.plexes)])
        learners = [
            self.learner(
                plex, k, minimizer,
                exploration=exploration, budget=budget, schedule=self.schedule, player=i,
            )
            for i, plex in enumerate(form.plexes)
        ]  # fmt: skip
        states = [learner.state for learner in learners]
        self.joint = join(states, counts, minimizer.numbers_per_cell)
        self._join(learners, minimizer)

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
    def _join(self, learners: Sequence[Any], minimizer: SampledMinimizer) -> None:
        """Take what the kernel needs from the learners, apart from their state."""

    @abstractmethod
    def _play(self, iterations: int, kept: Floats, stride: int) -> int:
        """Run the kernel."""


class BalancedSelfPlay(SampledSelfPlay):
    """Balanced K-EFR for all players; keeps single iterates."""

    learner = BalancedKEFR

    def _join(self, learners: Sequence[BalancedKEFR], minimizer: SampledMinimizer) -> None:
        self._plan = join_plans([learner.plan.arrays for learner in learners])
        self._path = np.zeros((2, self._horizon), np.int32)

    def _play(self, iterations: int, kept: Floats, stride: int) -> int:
        return play_balanced(
            self.schedule, self._simulator, self.joint, self._plan, self._path,
            self._first_infoset, self._first_episode, self.rng, self.iteration, iterations,
            kept, stride,
        )  # fmt: skip


class WholePlaySelfPlay(SampledSelfPlay):
    """Learning from whole plays, for all players; keeps averages of stretches of iterates."""

    learner = WholePlayKEFR

    def _join(self, learners: Sequence[WholePlayKEFR], minimizer: SampledMinimizer) -> None:
        form = self.form
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
