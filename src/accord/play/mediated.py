"""Plays of an environment in which a mediator recommends from a mixture.

In each episode the mediator draws a component of the mixture. Everybody follows it, unless the
caller chooses for a player. At an infoset that the policy does not know, because no play had shown
it when the policy was learned, the recommendation is uniform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from accord._arrays import NO_INFOSET
from accord._draws import drawn_from, drawn_until
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import MismatchError
from accord.play.environment import Environment
from accord.play.episodes import ACTIONS, Choose, Episode, Executor, LocalExecutor
from accord.play.own_tree import OwnTree
from accord.play.streams import Streams

NOBODY = -1
"""Stands for the active player of an episode in which everybody obeys."""

COMPONENTS = 2
"""The purpose of the random stream that draws components."""

Deviate = Callable[[Episode, int, int, int, int], int]
"""``deviate(episode, player, infoset, recommended, n_actions)``: the action to take instead."""


class MediatedPlays:
    """An environment, a mixture, and episodes that have the same bits wherever they are played.

    Attributes:
        trees: The infosets of each player, those of the policy first.
    """

    def __init__(
        self,
        env: Environment,
        policy: CorrelatedPolicy,
        seed: int,
        executor: Executor | None = None,
    ) -> None:
        if len(env.players) != len(policy.plexes):
            raise MismatchError(
                f"{env.name} has {len(env.players)} players; the policy is for {len(policy.plexes)}"
            )
        self.policy = policy
        self.trees = list(map(OwnTree.of, map(str, env.players), policy.plexes))
        self._executor = LocalExecutor(env, seed) if executor is None else executor
        self._draws = Streams(seed, ACTIONS).draws
        self._components = Streams(seed, COMPONENTS)
        self._weights = np.cumsum(policy.weights)
        self._parts = policy.split(policy.behavior)

    def play(
        self,
        first: int,
        end: int,
        active: Sequence[int] | int = NOBODY,
        deviate: Deviate | None = None,
    ) -> list[Episode]:
        """Episodes ``first`` to ``end - 1``; ``deviate`` chooses for the active player of each."""
        if isinstance(active, int):
            active = [active] * (end - first)
        choose = self._obey if deviate is None else self._deviating(deviate)
        episodes = []
        for number, who in zip(range(first, end), active, strict=True):
            episode = Episode(number, who, self.trees, choose, self._draws)
            draw, episode.chance = self._components.at(number).random(2).tolist()
            episode.component = drawn_until(self._weights, draw)
            episodes.append(episode)
        self._executor.play(episodes)
        return episodes

    def recommended(self, component: int, i: int, x: int, n_actions: int) -> list[float]:
        """The probabilities of the actions of player i at infoset x."""
        tree = self.trees[i]
        if x == NO_INFOSET or (first := tree.first_seq[x]) >= self._parts[i].shape[1]:
            return [1.0 / n_actions] * n_actions
        row: list[float] = self._parts[i][component, first : first + n_actions].tolist()
        return row

    def _obey(self, episode: Episode, i: int, x: int, n_actions: int) -> int:
        return drawn_from(self.recommended(episode.component, i, x, n_actions), episode.draw())

    def _deviating(self, deviate: Deviate) -> Choose:
        def choose(episode: Episode, i: int, x: int, n_actions: int) -> int:
            action = self._obey(episode, i, x, n_actions)
            return action if i != episode.active else deviate(episode, i, x, action, n_actions)

        return choose

    def close(self) -> None:
        """Stop playing."""
        self._executor.close()
