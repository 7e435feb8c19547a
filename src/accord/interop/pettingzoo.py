"""PettingZoo environments, AEC or parallel, with discrete actions.

What PettingZoo calls an observation may forget; an infoset must not. By default an infoset is
therefore the whole history of an agent's own observations and actions, which makes perfect recall
true by construction. A parallel environment is converted: its agents move one after the other, and
none sees what the others did before all have moved.

An agent's payoff is the sum of her rewards. Illegal actions are those that an ``action_mask``, in
the observation or in the info, leaves out. A truncated play is over like any other. All randomness
must come from the seed that PettingZoo's ``reset`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from accord.errors import ArgumentError, GameError, MissingDependencyError
from accord.game.tree import TERMINAL

LONGEST = 64
"""Numbers of an observation that are written out in a label; longer ones are hashed."""


class PettingZooEnvironment:
    """An :class:`~accord.learning.environment.Environment` of a PettingZoo environment.

    Args:
        env: A ``pettingzoo.AECEnv`` or ``pettingzoo.ParallelEnv``.
        payoff_bounds: ``(worst, best)`` of each agent, or one pair for all: no play may pay less,
            or more. PettingZoo does not say.
        label: What to call what an agent is shown, ``label(agent, observation) -> str``. If it is
            given it must hold all that she has seen and done: then it is the infoset.
        name: By default what PettingZoo's metadata say.

    Raises:
        ArgumentError: If ``env`` is no such environment, or an action space is not discrete.
        MissingDependencyError: If PettingZoo is not installed.
    """

    def __init__(
        self,
        env: Any,
        payoff_bounds: tuple[float, float] | Sequence[tuple[float, float]],
        *,
        label: Callable[[str, Any], str] | None = None,
        name: str | None = None,
    ) -> None:
        try:
            import pettingzoo
            from pettingzoo.utils.conversions import parallel_to_aec
        except ImportError as error:
            raise MissingDependencyError("pettingzoo", "pettingzoo") from error
        if isinstance(env, pettingzoo.ParallelEnv):
            env = parallel_to_aec(env)
        if not isinstance(env, pettingzoo.AECEnv):
            raise ArgumentError(
                f"env must be a pettingzoo.AECEnv or a pettingzoo.ParallelEnv; got {env!r}"
            )
        self.env, self._label = env, label
        self._agents = list(env.possible_agents)
        self._number = {agent: i for i, agent in enumerate(self._agents)}
        self.name = name or str(env.metadata.get("name", env))
        self.players = tuple(map(str, self._agents))
        for agent in self._agents:
            if not hasattr(env.action_space(agent), "n"):
                raise ArgumentError(
                    f"{self.name}: actions must be discrete; agent {agent} has "
                    f"{env.action_space(agent)}"
                )
        pairs: Any = payoff_bounds
        if np.ndim(pairs) == 1:
            pairs = [pairs] * len(self.players)
        self.payoff_bounds = tuple((float(worst), float(best)) for worst, best in pairs)

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play, seeded from ``rng``."""
        self.env.reset(seed=int(rng.integers(2**31)))
        self._paid = dict.fromkeys(self._agents, 0.0)
        self._history: dict[Any, list[str]] = {agent: [] for agent in self._agents}
        self._advance()

    def turn(self) -> int:
        """The agent to move, or ``TERMINAL``."""
        return TERMINAL if self._agent is None else self._number[self._agent]

    def infoset(self) -> str:
        """The own observations and actions so far, or what the given ``label`` says."""
        if self._label is not None:
            return self._label(str(self._agent), self._observation)
        return " / ".join([*self._history[self._agent], observation_label(self._observation)])

    def actions(self) -> Sequence[str]:
        """The numbers of the legal actions."""
        return [str(action) for action in self._legal]

    def step(self, action: int) -> None:
        """Make a move."""
        move = self._legal[action]
        seen = observation_label(self._observation) if self._label is None else ""
        self._history[self._agent] += [seen, f"action {move}"]
        self.env.step(move)
        self._advance()

    def payoffs(self) -> Sequence[float]:
        """The rewards of each agent, summed."""
        return [self._paid[agent] for agent in self._agents]

    def _advance(self) -> None:
        """Go on to the next agent that has a decision; collect rewards on the way."""
        self._agent: Any = None
        while self.env.agents:
            agent = self.env.agent_selection
            observation, reward, terminated, truncated, info = self.env.last()
            self._paid[agent] += float(reward)
            if not (terminated or truncated):
                self._agent, self._observation = agent, observation
                self._legal = self._legal_actions(agent, observation, info)
                return
            self.env.step(None)

    def _legal_actions(self, agent: Any, observation: Any, info: Any) -> list[int]:
        space: Any = self.env.action_space(agent)
        first, count = int(getattr(space, "start", 0)), int(space.n)
        mask = observation.get("action_mask") if isinstance(observation, dict) else None
        if mask is None and isinstance(info, dict):
            mask = info.get("action_mask")
        legal = range(count) if mask is None else np.flatnonzero(mask).tolist()
        if not legal:
            raise GameError(f"{self.name}: agent {agent} must have a legal action; her mask is 0")
        return [first + int(action) for action in legal]


def observation_label(observation: Any) -> str:
    """An observation as a short string: written out if it is small, hashed if not."""
    if isinstance(observation, dict):
        rest = {key: value for key, value in observation.items() if key != "action_mask"}
        if set(rest) == {"observation"}:
            return observation_label(rest["observation"])
        return ", ".join(f"{key}: {observation_label(rest[key])}" for key in sorted(rest))
    if isinstance(observation, (tuple, list)):
        return "(" + ", ".join(map(observation_label, observation)) + ")"
    if observation is None or isinstance(observation, (str, bytes)):
        return str(observation)
    array = np.asarray(observation)
    if array.size > LONGEST:
        kind = f"{array.dtype.str} {array.shape} ".encode()
        return sha256(kind + np.ascontiguousarray(array).tobytes()).hexdigest()[:32]
    return " ".join(str(value) for value in array.reshape(-1).tolist())
