"""PettingZoo environments, AEC or parallel, with discrete actions.

What PettingZoo calls an observation may forget; an infoset must not. By default an infoset is
therefore the whole history of an agent's own observations and actions, which makes perfect recall
true by construction. A parallel environment is converted: its agents move one after the other, and
none sees what the others did before all have moved.

An agent's payoff is the sum of her rewards, as ``last()`` tells them when her turn comes; that they
are those of the ``rewards`` after each step is checked, since environments that forget to set
``_cumulative_rewards`` back would pay twice. Illegal actions are those that an ``action_mask``, in
the observation or in the info, leaves out. A truncated play is over like any other. All randomness
must come from the seed that PettingZoo's ``reset`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accord._arrays import TERMINAL
from accord.errors import ArgumentError, GameError, MissingDependencyError
from accord.interop.own_history import digest, history_after
from accord.play.environment import checked_bounds

LONGEST_OBSERVATION = 64
"""Numbers of an observation that are written out in a label; longer ones are hashed."""


class PettingZooEnvironment:
    """An :class:`~accord.play.environment.Environment` of a PettingZoo environment.

    Args:
        env: A ``pettingzoo.AECEnv`` or ``pettingzoo.ParallelEnv``.
        payoff_bounds: ``(worst, best)`` of each agent, or one pair for all: no play may pay less,
            or more. PettingZoo does not say.
        label: What to call what an agent is shown, ``label(agent, observation) -> str``. If it is
            given it must hold all that she has seen and done: then it is the infoset.
        name: By default what PettingZoo's metadata say.

    Raises:
        ArgumentError: If ``env`` is no such environment, does not know its agents beforehand, or an
            action space is not discrete, or ``payoff_bounds`` are no pairs.
        GameError: If ``payoff_bounds`` are not finite, or the wrong way round.
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
            from gymnasium.spaces import Discrete
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
        self.name = name or str(env.metadata.get("name", env))
        if not getattr(env, "possible_agents", None):
            raise ArgumentError(
                f"{self.name}: an environment must have possible_agents, all that may ever play"
            )
        self._agents = list(env.possible_agents)
        self._number = {agent: i for i, agent in enumerate(self._agents)}
        self.players = tuple(map(str, self._agents))
        for agent in self._agents:
            if not isinstance(env.action_space(agent), Discrete):
                raise ArgumentError(
                    f"{self.name}: actions must be discrete; agent {agent} has "
                    f"{env.action_space(agent)}"
                )
        try:
            bounds = np.array(payoff_bounds, dtype=np.float64)
        except (TypeError, ValueError):
            bounds = np.empty(0)
        if bounds.shape not in ((2,), (len(self.players), 2)):
            raise ArgumentError(
                f"{self.name}: payoff_bounds must be (worst, best), or one such pair for each of "
                f"the {len(self.players)} agents; got {payoff_bounds!r}"
            )
        pairs = np.broadcast_to(bounds, (len(self.players), 2)).tolist()
        self.payoff_bounds = tuple((worst, best) for worst, best in pairs)
        checked_bounds(self)

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play, seeded from ``rng``."""
        self.env.reset(seed=int(rng.integers(2**31)))
        self._paid = dict.fromkeys(self._agents, 0.0)
        self._due = dict.fromkeys(self._agents, 0.0)  # rewards since last() told of them
        self._before = dict.fromkeys(self._agents, "")  # what each has seen and done
        self._advance()

    def turn(self) -> int:
        """The agent to move, or ``TERMINAL``."""
        return TERMINAL if self._agent is None else self._number[self._agent]

    def infoset(self) -> str:
        """The own observations and actions so far, or what the given ``label`` says."""
        return self._infoset

    def actions(self) -> Sequence[str]:
        """The numbers of the legal actions."""
        return [str(action) for action in self._legal]

    def step(self, action: int) -> None:
        """Make a move."""
        move = self._legal[action]
        if self._label is None:
            self._before[self._agent] = history_after(self._infoset, str(move))
        self.env.step(move)
        self._advance()

    def payoffs(self) -> Sequence[float]:
        """The rewards of each agent, summed."""
        return [self._paid[agent] for agent in self._agents]

    def _advance(self) -> None:
        """Go on to the next agent that has a decision; collect rewards on the way."""
        self._agent: Any = None
        self._note_rewards()
        while self.env.agents:
            agent = self.env.agent_selection
            observation, reward, terminated, truncated, info = self.env.last()
            self._pay(agent, float(reward))
            if not (terminated or truncated):
                self._agent = agent
                self._enter(agent, observation, info)
                return
            self.env.step(None)
            if agent in self.env.agents:
                raise GameError(f"{self.name}: step(None) must remove agent {agent}, who is done")
            self._note_rewards()
        for agent, due in self._due.items():
            if due:
                raise GameError(
                    f"{self.name}: agent {agent} got a reward of {due:g} at the end and was "
                    "removed before last() told her; who is done must stay until her step(None)"
                )

    def _note_rewards(self) -> None:
        """Add the rewards of the last step to what is due."""
        for agent, reward in self.env.rewards.items():
            if agent not in self._due:
                raise GameError(
                    f"{self.name}: agent {agent} must be one of its possible_agents "
                    f"{', '.join(self.players)}"
                )
            self._due[agent] += float(reward)

    def _pay(self, agent: Any, reward: float) -> None:
        due = self._due[agent]
        if abs(reward - due) > 1e-6 * max(1.0, abs(due)):
            raise GameError(
                f"{self.name}: last() must tell agent {agent} the sum of her rewards since her "
                f"last step, {due:g}; it says {reward:g}; step() must set _cumulative_rewards of "
                "the agent who moves to 0 and then accumulate rewards"
            )
        self._paid[agent] += reward
        self._due[agent] = 0.0

    def _enter(self, agent: Any, observation: Any, info: Any) -> None:
        """Note what ``agent`` sees and may do."""
        space: Any = self.env.action_space(agent)
        count = int(space.n)
        mask = observation.get("action_mask") if isinstance(observation, dict) else None
        if mask is None and isinstance(info, dict):
            mask = info.get("action_mask")
        if mask is not None and np.shape(mask) != (count,):
            raise GameError(
                f"{self.name}: the action_mask of agent {agent} must have one entry for each of "
                f"her {count} actions; its shape is {np.shape(mask)}"
            )
        legal = range(count) if mask is None else np.flatnonzero(mask).tolist()
        if not legal:
            raise GameError(f"{self.name}: agent {agent} must have a legal action; her mask is 0")
        self._legal = [int(space.start) + action for action in legal]
        if self._label is not None:
            self._infoset = self._label(str(agent), observation)
            return
        self._infoset = self._before[agent] + observation_label(observation)
        if len(legal) < count:
            self._infoset += f" (legal {' '.join(map(str, self._legal))})"


def observation_label(observation: Any) -> str:
    """An observation as a short string: written out if it is small, hashed if not.

    Raises:
        GameError: If it is made of something else than numbers and strings.
    """
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
    if array.dtype.hasobject:
        raise GameError(
            "an observation must be made of numbers and strings, in arrays, tuples, lists or "
            f"dictionaries; got {type(observation).__name__}; give a label for it"
        )
    if array.size > LONGEST_OBSERVATION:
        kind = f"{array.dtype.str} {array.shape} ".encode()
        return digest(kind + np.ascontiguousarray(array).tobytes())
    return " ".join(str(value) for value in array.reshape(-1).tolist())
