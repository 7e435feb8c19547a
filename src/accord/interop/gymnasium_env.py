"""The class behind :func:`accord.deviator_env`; importing it takes Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from numpy.typing import NDArray

from accord._arrays import NO_INFOSET
from accord._draws import drawn_from, drawn_until
from accord.equilibrium.policy import CorrelatedPolicy
from accord.play.bounds import noting
from accord.play.deviator import SILENT, chosen, observation, observation_sizes
from accord.play.environment import Environment
from accord.play.losses import Losses
from accord.play.own_tree import UNSEEN_SEQUENCE, OwnTree
from accord.play.playing import PendingDecision, Playing
from accord.treeplex.treeplex import EMPTY_SEQUENCE

Seen = NDArray[np.int64]


class DeviatorEnv(gymnasium.Env[Seen, Any]):
    """One player's seat beside a mediator. Made by :func:`accord.deviator_env`.

    Attributes:
        player: The number of the player.
        k: How many recommendations they may disobey.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, env: Environment, policy: CorrelatedPolicy, player: int, k: float) -> None:
        self.player, self.k = player, k
        self._policy, self._losses, self._playing = policy, Losses(noting(env)), Playing(env)
        self._plex = policy.plexes[player]
        self._trees = list(map(OwnTree.of, map(str, env.players), policy.plexes))
        self._parts = policy.split(policy.behavior)
        self._weights = np.cumsum(policy.weights)
        self._decision: PendingDecision | None = None
        self._over = True
        self.observation_space = MultiDiscrete(observation_sizes(self._plex))
        self.action_space = Discrete(max(1, int(self._plex.max_actions)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin a play, and go on to the player's first decision."""
        super().reset(seed=seed, options=options)
        self._component = drawn_until(self._weights, self.np_random.random())
        self._last = [EMPTY_SEQUENCE] * len(self._trees)
        self._heard: list[int] = []
        self._left, self._over = self.k, False
        self._advance(self._playing.begin(self.np_random))
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Take an action, and go on to the player's next decision or to the end."""
        if self._over:
            raise gymnasium.error.ResetNeeded("the play is over; call reset first")
        if (decision := self._decision) is not None:
            recommended = self._heard[-1]
            taken = chosen(action, recommended, len(decision.actions))
            self._left -= recommended not in (SILENT, taken)
            self._move(self.player, taken)
            self._advance(self._playing.step(taken))
        reward, self._over = 0.0, self._decision is None
        if self._over:
            payoffs = self._playing.payoffs()
            self._losses.of(payoffs)  # refuses payoffs that are outside of their bounds
            reward = float(payoffs[self.player])
        return self._observation(), reward, self._over, False, self._info()

    def _advance(self, decision: PendingDecision | None) -> None:
        """Let the others obey until the player decides, who then hears a recommendation."""
        while decision is not None:
            i, n = decision.player, len(decision.actions)
            self._x = self._trees[i].find(decision.infoset, decision.actions, self._last[i])
            silent = i == self.player and self._left <= 0
            told = SILENT if silent else drawn_from(self._law(i, n), self.np_random.random())
            if i == self.player:
                self._heard.append(told)
                break
            self._move(i, told)
            decision = self._playing.step(told)
        self._decision = decision

    def _law(self, i: int, n: int) -> list[float]:
        """The probabilities of the recommendations to player i at the present infoset."""
        if self._x == NO_INFOSET:
            return [1.0 / n] * n
        first = self._trees[i].first_seq[self._x]
        law: list[float] = self._parts[i][self._component, first : first + n].tolist()
        return law

    def _move(self, i: int, action: int) -> None:
        first = self._trees[i].first_seq
        self._last[i] = UNSEEN_SEQUENCE if self._x == NO_INFOSET else first[self._x] + action

    def _observation(self) -> Seen:
        if self._decision is None:
            return observation(self._plex, NO_INFOSET, ())
        return observation(self._plex, self._x, self._heard)

    def _info(self) -> dict[str, Any]:
        mask = np.zeros(int(self.action_space.n), np.int8)  # type: ignore[attr-defined]
        if (decision := self._decision) is None:
            mask[:] = 1
            return {"infoset": None, "actions": (), "recommendation": None, "action_mask": mask,
                    "deviations_left": self._left}  # fmt: skip
        mask[: len(decision.actions)] = 1
        told = self._heard[-1]
        return {
            "infoset": decision.infoset,
            "actions": decision.actions,
            "recommendation": None if told == SILENT else told,
            "action_mask": mask,
            "deviations_left": self._left,
        }
