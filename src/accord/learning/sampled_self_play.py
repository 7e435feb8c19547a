"""Balanced K-EFR in self-play on a compiled simulator of a loaded game."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord._jit import jit
from accord.deviations.notions import clipped_k
from accord.learning.balanced_kefr import (
    SWRHEDGE,
    BalancedKEFR,
    decides,
    explore,
    follow_losses,
    join,
    refresh_all,
    sample,
)
from accord.learning.estimators import episodes_per_iteration
from accord.play.environment import Environment
from accord.play.simulator import draw_outcome, simulator
from accord.play.table import Table
from accord.regret.rates import LARGEST_RATE, bandit_learning_rate
from accord.regret.regret_matching import match_sampled, observe_sampled
from accord.regret.wrhedge import hedge_sampled, learn_sampled
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex


class BanditSelfPlay:
    """All players of a loaded game learning from episodes that they play with each other.

    Attributes:
        form: The game.
        iteration: How many iterations have been run.
        joint: The arrays of all :class:`BalancedKEFR` learners, one after the other.
        learning_rates: eta of each player.
    """

    def __init__(
        self,
        form: SequenceForm,
        k: SupportsIndex | float,
        episodes: int,
        rng: np.random.Generator,
        *,
        method: int = SWRHEDGE,
        learning_rate_scale: float = 1.0,
        failure_prob: float = 0.05,
    ) -> None:
        self.form, self.rng, self.method = form, rng, method
        self.iteration = 0
        counts, rates = planned_rates(form.plexes, k, episodes, learning_rate_scale, failure_prob)
        self.joint = join(
            [
                BalancedKEFR(plex, k, rate, method).arrays
                for plex, rate in zip(form.plexes, rates, strict=True)
            ]
        )
        self.learning_rates = np.array(rates)
        self._first_infoset = np.cumsum([0, *(plex.n_infosets for plex in form.plexes)])
        self._first_episode = np.cumsum([0, *counts])
        self._simulator = simulator(form.game, form.leaves.best, form.leaves.loss_scale)

    @property
    def n_sequences(self) -> int:
        """Of all players together."""
        return self.form.n_sequences

    @property
    def episodes_per_iteration(self) -> int:
        """Of all players together."""
        return int(self._first_episode[-1])

    def state(self) -> dict[str, Any]:
        """All that going on needs, by name; arrays are views."""
        return {
            "iteration": np.array(self.iteration),
            "rng": np.array(json.dumps(self.rng.bit_generator.state)),
            **self._changing(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a saved :meth:`state`."""
        self.iteration = int(state["iteration"])
        self.rng.bit_generator.state = json.loads(str(state["rng"]))
        for name, array in self._changing().items():
            array[:] = state[name]

    def _changing(self) -> dict[str, Any]:
        """What episodes change, however it is laid out."""
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
        """Run iterations; keep pi^t, if ``stride`` divides t, in the next row of ``kept``."""
        if kept is None:
            kept = np.empty((0, self.form.n_sequences))
            stride = self.iteration + iterations + 1
        rows = _play_iterations(
            self._simulator, self.joint, self._first_infoset, self._first_episode, self.rng,
            self.iteration, iterations, self.method, self.learning_rates, kept, stride,
        )  # fmt: skip
        self.iteration += iterations
        return rows


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


def planned_rates(
    plexes: tuple[Treeplex, ...],
    k: SupportsIndex | float,
    episodes: int,
    learning_rate_scale: float,
    failure_prob: float,
) -> tuple[list[int], list[float]]:
    """Each player's episodes per iteration, and her learning rate if ``episodes`` are played."""
    ks = [clipped_k(plex, k) for plex in plexes]
    counts = [
        episodes_per_iteration(plex.horizon, own) for plex, own in zip(plexes, ks, strict=True)
    ]
    iterations = max(1, episodes // max(1, sum(counts)))
    rates = [
        learning_rate_scale * bandit_learning_rate(plexes, i, own, iterations, failure_prob)
        for i, own in enumerate(ks)
    ]
    return counts, [min(rate, LARGEST_RATE) for rate in rates]


@jit
def _play_iterations(
    game: Any,
    joint: Any,
    first_infoset: Any,
    first_episode: Any,
    rng: Any,
    done: int,
    iterations: int,
    method: int,
    rates: Any,
    kept: Any,
    stride: int,
) -> int:
    """The round-robin protocol; returns how many rows of ``kept`` it wrote.

    What an episode does is :class:`BalancedKEFR`'s ``act`` and ``end_episode``, move by move. It is
    written out because calls between kernels, each with many arrays, would take half of the time.
    """
    infosets, nodes, behavior, regret = joint.infosets, joint.nodes, joint.behavior, joint.regret
    descendants, baseline = joint.descendants, joint.baseline
    scratch, path = joint.scratch, joint.path
    tree, outcomes, loss = game.nodes, game.outcomes, game.loss
    rows = 0
    for t in range(done + 1, done + iterations + 1):
        if t % stride == 0:
            for i in range(len(rates)):
                refresh_all(
                    first_infoset[i], first_infoset[i + 1], t, infosets, nodes, behavior, regret,
                    scratch, method, rates[i],
                )  # fmt: skip
            kept[rows] = behavior
            rows += 1
        for active in range(len(rates)):
            for episode in range(first_episode[active], first_episode[active + 1]):
                target, explores = joint.episode_layer[episode], joint.explores[episode]
                node, length, followed = tree[0], 0, 1.0
                while node.player != TERMINAL:
                    draw = rng.random()
                    i = node.player
                    if i == CHANCE:
                        a = draw_outcome(draw, node.place, node.n_children, outcomes)
                    else:
                        x = first_infoset[i] + node.place
                        if infosets[x].stamp != t and decides(x, t, infosets, nodes, behavior):
                            if method == SWRHEDGE:
                                hedge_sampled(
                                    x, infosets, nodes, behavior, regret, scratch, rates[i]
                                )
                            else:
                                match_sampled(x, infosets, nodes, behavior, regret, scratch)
                        if i == active:
                            a, factor = explore(
                                x, length, draw, infosets, behavior, descendants, target, explores
                            )
                            followed *= factor
                            path[0, length] = x
                            path[1, length] = a
                            length += 1
                        else:
                            a = sample(x, draw, infosets, behavior)
                    node = tree[node.first_child + a]
                if length <= target:
                    continue
                cost = loss[node.place, active]
                x, a = path[0, target], path[1, target]
                if method == SWRHEDGE:
                    learn_sampled(x, a, episode, cost / followed, infosets, nodes, behavior, regret)
                else:
                    observe_sampled(
                        x, a, episode, cost, followed, infosets, nodes, behavior, regret, baseline,
                        scratch,
                    )  # fmt: skip
                    follow_losses(target, length, cost, path, infosets, baseline)
    return rows
