"""Balanced K-EFR in self-play: all players of a game learning from episodes.

:class:`SampledSelfPlay` plays a loaded game on a compiled simulator, :class:`EnvironmentSelfPlay`
plays an environment one move at a time. The learners are the same (``learning/balanced_kefr.py``),
and each sees only its own infosets, actions and losses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.deviations.notions import clipped_k
from accord.learning.balanced_kefr import BalancedKEFR, explore
from accord.learning.estimators import PlanArrays, episodes_per_iteration, join_plans
from accord.play.environment import Environment
from accord.play.simulator import SimulatorArrays, draw_outcome, simulator
from accord.play.table import Table
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import (
    SampledArrays,
    SampledMinimizer,
    join,
    observe_episode,
    recommend_at,
    refresh_all,
    sample,
    update_reach,
)
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex


class SampledSelfPlay:
    """All players of a loaded game learning from episodes that they play with each other.

    Attributes:
        form: The game.
        iteration: How many iterations have been run.
        schedule: The minimizers' schedule for all players.
        joint: The state of all learners, one player after the other.
    """

    def __init__(
        self,
        form: SequenceForm,
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        *,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        exploration: str = "balanced",
        budget: int | None = None,
    ) -> None:
        self.form, self.rng = form, rng
        self.iteration = 0
        counts, iterations = planned_episodes(form.plexes, k, episodes)
        self.schedule = configured(SAMPLED_METHODS, method).schedule(form.plexes, k, iterations)
        learners = [
            BalancedKEFR(
                plex, k, method,
                exploration=exploration, budget=budget, schedule=self.schedule, player=i,
            )
            for i, plex in enumerate(form.plexes)
        ]  # fmt: skip
        self.joint = join([learner.state for learner in learners], counts)
        self._plan = join_plans([learner.plan.arrays for learner in learners])
        self._path = np.zeros((2, max(1, self._plan.explores.shape[1])), np.int32)
        self._first_infoset = np.cumsum([0, *(plex.n_infosets for plex in form.plexes)])
        self._first_episode = np.cumsum([0, *counts])
        self._simulator = simulator(form.game, form.leaves.best, form.leaves.loss_scale)

    @property
    def n_sequences(self) -> int:
        """The number of sequences of all players together."""
        return self.form.n_sequences

    @property
    def episodes_per_iteration(self) -> int:
        """The number of episodes that all players together sample in an iteration."""
        return int(self._first_episode[-1])

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name; arrays are views."""
        return {
            "iteration": np.array(self.iteration),
            "rng": np.array(json.dumps(self.rng.bit_generator.state)),
            **self._changing(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`."""
        self.iteration = int(state["iteration"])
        self.rng.bit_generator.state = json.loads(str(state["rng"]))
        for name, array in self._changing().items():
            array[:] = state[name]

    def _changing(self) -> dict[str, Any]:
        """The arrays that episodes change, however they are laid out."""
        joint = self.joint
        return {
            "stamp": joint.infosets["stamp"],
            "rec_reach": joint.nodes["rec_reach"],
            "credit": joint.nodes["credit"],
            "behavior": joint.behavior,
            "regret": joint.regret,
            "baseline": joint.baseline,
        }

    def advance(self, iterations: int, kept: Floats | None = None, stride: int = 1) -> int:
        """Run ``iterations``; if ``stride`` divides t, write pi^t to the next row of ``kept``."""
        if kept is None:
            kept = np.empty((0, self.form.n_sequences))
            stride = self.iteration + iterations + 1
        rows = _play_iterations(
            self.schedule, self._simulator, self.joint, self._plan, self._path,
            self._first_infoset, self._first_episode, self.rng, self.iteration, iterations,
            kept, stride,
        )  # fmt: skip
        self.iteration += iterations
        return rows


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
        exploration: str = "balanced",
    ) -> None:
        self.table, self.rng = Table(env, plexes), rng
        self.iteration = 0
        plexes = self.table.plexes
        counts, iterations = planned_episodes(plexes, k, episodes)
        self.episodes_per_iteration = sum(counts)
        schedule = configured(SAMPLED_METHODS, method).schedule(plexes, k, iterations)
        self.learners = tuple(
            BalancedKEFR(plex, k, method, exploration=exploration, schedule=schedule, player=i)
            for i, plex in enumerate(plexes)
        )

    @property
    def n_sequences(self) -> int:
        """The number of sequences of all players together."""
        return sum(plex.n_sequences for plex in self.table.plexes)

    def advance(self, iterations: int, kept: Floats, stride: int = 1) -> int:
        """Run ``iterations``; if ``stride`` divides t, write pi^t to the next row of ``kept``."""
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


def planned_episodes(
    plexes: Sequence[Treeplex], k: SupportsIndex | float, episodes: int
) -> tuple[list[int], int]:
    """Each player's episodes per iteration, and the iterations that ``episodes`` allow."""
    counts = [episodes_per_iteration(plex.horizon, clipped_k(plex, k)) for plex in plexes]
    return counts, max(1, episodes // max(1, sum(counts)))


@jit
def _play_iterations(
    schedule: Any,
    game: SimulatorArrays,
    joint: SampledArrays,
    plan: PlanArrays,
    path: Ints,
    first_infoset: NDArray[np.int64],
    first_episode: NDArray[np.int64],
    rng: np.random.Generator,
    done: int,
    iterations: int,
    kept: Floats,
    stride: int,
) -> int:
    """The round-robin protocol; returns how many rows of ``kept`` it wrote.

    An episode does what :class:`BalancedKEFR`'s ``act`` and ``end_episode`` do, move by move. It is
    written out because calls between kernels, each with many arrays, would take half the time.
    """
    infosets, nodes, behavior, regret = joint.infosets, joint.nodes, joint.behavior, joint.regret
    baseline, scratch, descendants = joint.baseline, joint.scratch, plan.descendants
    tree, outcomes, losses = game.nodes, game.outcomes, game.loss
    rows = 0
    for t in range(done + 1, done + iterations + 1):
        if t % stride == 0:
            for i in range(len(first_infoset) - 1):
                refresh_all(
                    schedule, i, first_infoset[i], first_infoset[i + 1], t,
                    infosets, nodes, behavior, regret, scratch,
                )  # fmt: skip
            kept[rows] = behavior
            rows += 1
        for active in range(len(first_infoset) - 1):
            for episode in range(first_episode[active], first_episode[active + 1]):
                target, explores = plan.layer[episode], plan.explores[episode]
                node, length, followed = tree[0], 0, 1.0
                while node.player != TERMINAL:
                    draw = rng.random()
                    i = node.player
                    if i == CHANCE:
                        a = draw_outcome(draw, node.place, node.n_children, outcomes)
                    else:
                        x = first_infoset[i] + node.place
                        if infosets[x].stamp != t and update_reach(x, t, infosets, nodes, behavior):
                            recommend_at(schedule, i, x, infosets, nodes, behavior, regret, scratch)
                        if i == active:
                            a, factor = explore(
                                x, length, draw, target, explores, descendants, infosets, behavior
                            )
                            followed *= factor
                            path[0, length] = x
                            path[1, length] = a
                            length += 1
                        else:
                            a = sample(x, draw, infosets, behavior)
                    node = tree[node.first_child + a]
                if length > target:  # else the play ended before it reached that layer
                    observe_episode(
                        schedule, episode, target, length, losses[node.place, active], followed,
                        path, infosets, nodes, behavior, regret, baseline, scratch,
                    )  # fmt: skip
    return rows
