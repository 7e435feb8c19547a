"""Balanced K-EFR in self-play on a compiled simulator of a loaded game."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from accord._jit import jit
from accord.deviations.counting import clipped_k
from accord.game.tree import CHANCE, TERMINAL
from accord.learning.balanced_kefr import (
    SWRHEDGE,
    BalancedKEFR,
    bandit_learning_rate,
    explore,
    join,
    learn,
    refresh,
    sample,
)
from accord.learning.estimators import episodes_per_iteration
from accord.learning.simulator import simulator
from accord.regret.wrhedge import LARGEST_RATE
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Floats


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
        ks = [clipped_k(plex, k) for plex in form.plexes]
        counts = [
            episodes_per_iteration(plex.horizon, own)
            for plex, own in zip(form.plexes, ks, strict=True)
        ]
        iterations = max(1, episodes // sum(counts))
        rates = [
            min(
                LARGEST_RATE,
                learning_rate_scale
                * bandit_learning_rate(form.plexes, i, own, iterations, failure_prob),
            )
            for i, own in enumerate(ks)
        ]
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
    def episodes_per_iteration(self) -> int:
        """Of all players together."""
        return int(self._first_episode[-1])

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
    """The round-robin protocol; returns how many rows of ``kept`` it wrote."""
    infosets, nodes, behavior, regret = joint.infosets, joint.nodes, joint.behavior, joint.regret
    descendants, scratch, path = joint.descendants, joint.scratch, joint.path
    player, node_infoset, first_edge = game.player, game.infoset, game.first_edge
    child, cumulative, loss = game.child, game.cumulative, game.loss
    rows = 0
    for t in range(done + 1, done + iterations + 1):
        if t % stride == 0:
            for i in range(len(rates)):
                for x in range(first_infoset[i], first_infoset[i + 1]):
                    refresh(x, t, infosets, nodes, behavior, regret, scratch, method, rates[i])
            kept[rows] = behavior
            rows += 1
        for active in range(len(rates)):
            for episode in range(first_episode[active], first_episode[active + 1]):
                target, explores = joint.episode_layer[episode], joint.explores[episode]
                node, length, followed = 0, 0, 1.0
                while player[node] != TERMINAL:
                    edge = first_edge[node]
                    draw = rng.random()
                    i = player[node]
                    if i == CHANCE:
                        while draw >= cumulative[edge]:
                            edge += 1
                    else:
                        x = first_infoset[i] + node_infoset[node]
                        refresh(x, t, infosets, nodes, behavior, regret, scratch, method, rates[i])
                        if i == active:
                            a, factor = explore(
                                x, draw, infosets, behavior, descendants, target, explores
                            )
                            followed *= factor
                            path[0, length] = x
                            path[1, length] = a
                            length += 1
                        else:
                            a = sample(x, draw, infosets, behavior)
                        edge += a
                    node = child[edge]
                cost = loss[node_infoset[node], active]
                learn(
                    episode, target, length, cost, followed, path, infosets, nodes,
                    behavior, regret, joint.baseline, scratch, method,
                )  # fmt: skip
    return rows
