"""PettingZoo environments, AEC or parallel, with discrete actions.

A PettingZoo observation may leave out what an agent knew before; an infoset must not. By default an
infoset is therefore the whole history of an agent's own observations and actions, which gives
perfect recall by construction. A parallel environment is converted: its agents move one after
another, and none sees the moves of the others before all have moved.

The payoff of an agent is the sum of the rewards that ``last()`` reports when the agent's turn
comes. They are compared with the ``rewards`` after each step, because environments that do not
reset ``_cumulative_rewards`` would pay twice. An action is illegal if an ``action_mask``, in the
observation or in the info, excludes it. A truncated play counts as finished. All randomness must
come from the seed that PettingZoo's ``reset`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accord._arrays import TERMINAL
from accord.equilibrium.agent import Agent
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.mixture import Mixture
from accord.errors import ArgumentError, GameError, MissingDependencyError
from accord.interop.own_history import digest, history_after
from accord.play.environment import checked_bounds

LONGEST_OBSERVATION = 64
"""The most numbers of an observation that a label lists; larger observations are hashed."""

Names = tuple[str, ...]

PASSED_ON = ("agents", "agent_selection", "rewards")
"""What is read after every step."""


class PettingZooEnvironment:
    """An :class:`~accord.play.environment.Environment` of a PettingZoo environment.

    Args:
        env: A ``pettingzoo.AECEnv`` or ``pettingzoo.ParallelEnv``.
        payoff_bounds: ``(worst, best)`` of each agent, or one pair for all: no play may pay less or
            more. PettingZoo does not provide them.
        label: A function ``label(agent, observation) -> str`` that names infosets. Its labels must
            contain everything that the agent has seen and done.
        name: Name of the game; by default the name in PettingZoo's metadata.

    Raises:
        ArgumentError: If ``env`` is not such an environment, has no ``possible_agents``, an action
            space is not discrete, or ``payoff_bounds`` are not pairs.
        GameError: If ``payoff_bounds`` are not finite, or worst > best.
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
                f"{self.name}: an environment must have possible_agents, all its agents"
            )
        self._agents = list(env.possible_agents)
        self._number = {agent: i for i, agent in enumerate(self._agents)}
        self.players = tuple(map(str, self._agents))
        self._spaces: dict[Any, tuple[int, int]] = {}  # first action and number of actions
        for agent in self._agents:
            space = env.action_space(agent)
            if not isinstance(space, Discrete):
                raise ArgumentError(
                    f"{self.name}: actions must be discrete; agent {agent} has {space}"
                )
            self._spaces[agent] = int(space.start), int(space.n)
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
        self._facts = innermost(self.env)
        self._paid = dict.fromkeys(self._agents, 0.0)
        self._due = dict.fromkeys(self._agents, 0.0)  # rewards that last() has not reported yet
        self._before = dict.fromkeys(self._agents, "")  # the history of each agent
        self._advance()

    def turn(self) -> int:
        """The agent to move, or ``TERMINAL``."""
        return TERMINAL if self._agent is None else self._number[self._agent]

    def infoset(self) -> str:
        """The agent's observations and actions so far, or the result of ``label``."""
        return self._infoset

    def actions(self) -> Sequence[str]:
        """The numbers of the legal actions."""
        return self._names

    def step(self, action: int) -> None:
        """Make a move."""
        move = self._legal[action]
        if self._label is None:
            self._before[self._agent] = history_after(self._infoset, str(move))
        self.env.step(move)
        self._advance()

    def payoffs(self) -> Sequence[float]:
        """The sum of the rewards of each agent."""
        return [self._paid[agent] for agent in self._agents]

    def agent(
        self, policy: Mixture | CorrelatedPolicy, agent: Any, seed: int = 0
    ) -> PettingZooAgent:
        """An agent that follows ``policy`` in any copy of this PettingZoo environment."""
        return PettingZooAgent(self, agent, policy.agent(str(agent), seed))

    def _advance(self) -> None:
        """Advance to the next agent that has a decision, and collect rewards."""
        self._agent: Any = None
        self._note_rewards()
        facts = self._facts
        while facts.agents:
            agent = facts.agent_selection
            observation, reward, terminated, truncated, info = self.env.last()
            self._pay(agent, self._number_of(agent, reward))
            if not (terminated or truncated):
                self._agent = agent
                self._enter(agent, observation, info)
                return
            self.env.step(None)
            if agent in facts.agents:
                raise GameError(f"{self.name}: step(None) must remove the finished agent {agent}")
            self._note_rewards()
        for agent, due in self._due.items():
            if due:
                raise GameError(
                    f"{self.name}: agent {agent} got a reward of {due:g} at the end, but was "
                    "removed before last() reported it; a finished agent must stay until its "
                    "step(None)"
                )

    def _note_rewards(self) -> None:
        """Add the rewards of the last step to those that ``last()`` must report."""
        for agent, reward in self._facts.rewards.items():
            if agent not in self._due:
                raise GameError(
                    f"{self.name}: agent {agent} must be one of its possible_agents "
                    f"{', '.join(self.players)}"
                )
            self._due[agent] += self._number_of(agent, reward)

    def _number_of(self, agent: Any, reward: Any) -> float:
        try:
            return float(reward)
        except (TypeError, ValueError):
            raise GameError(
                f"{self.name}: the rewards of agent {agent} must be numbers; got {reward!r}"
            ) from None

    def _pay(self, agent: Any, reward: float) -> None:
        due = self._due[agent]
        if abs(reward - due) > 1e-6 * max(1.0, abs(due)):
            raise GameError(
                f"{self.name}: last() must report to agent {agent} the sum of its rewards since "
                f"its last step, {due:g}; it reports {reward:g}; step() must set "
                "_cumulative_rewards of the agent that moves to 0 and then accumulate rewards"
            )
        self._paid[agent] += reward
        self._due[agent] = 0.0

    def _enter(self, agent: Any, observation: Any, info: Any) -> None:
        """Store the legal actions and the infoset of ``agent``."""
        self._legal, self._names, seen = self._shown(agent, observation, info)
        self._infoset = seen if self._label is not None else self._before[agent] + seen

    def _shown(self, agent: Any, observation: Any, info: Any) -> tuple[list[int], Names, str]:
        """The legal actions of ``agent``, their names, and what they observe."""
        start, count = self._spaces[agent]
        mask = observation.get("action_mask") if isinstance(observation, dict) else None
        if mask is None and isinstance(info, dict):
            mask = info.get("action_mask")
        if mask is not None and np.shape(mask) != (count,):
            raise GameError(
                f"{self.name}: the action_mask of agent {agent} must have one entry for each of "
                f"its {count} actions; got shape {np.shape(mask)}"
            )
        legal = range(count) if mask is None else np.flatnonzero(mask).tolist()
        if not legal:
            raise GameError(
                f"{self.name}: agent {agent} must have a legal action; its action_mask is all 0"
            )
        moves = [start + action for action in legal]
        names = tuple(map(str, moves))
        if self._label is not None:
            return moves, names, self._label(str(agent), observation)
        seen = observation_label(observation)
        return moves, names, seen if len(legal) == count else f"{seen} (legal {' '.join(names)})"


class PettingZooAgent:
    """An agent that follows a learned policy in PettingZoo's own loop.

    Call :meth:`reset` whenever the environment is reset, and :meth:`act` whenever it is the agent's
    turn.
    """

    def __init__(self, env: PettingZooEnvironment, name: Any, agent: Agent) -> None:
        self._env, self._name, self._agent, self._before = env, name, agent, ""

    def reset(self) -> None:
        """Begin the next episode."""
        self._agent.reset()
        self._before = ""

    def act(self, observation: Any, info: Any = None) -> int:
        """The action to give to ``env.step``, from what ``env.last()`` reports."""
        moves, names, seen = self._env._shown(self._name, observation, info)
        whole = seen if self._env._label is not None else self._before + seen
        chosen = self._agent.act(whole, names)
        self._before = history_after(whole, names[chosen])
        return moves[chosen]


def innermost(env: Any) -> Any:
    """The environment inside wrappers that pass on its agents and rewards unchanged.

    Every wrapper passes attributes on by a call, which takes longer than many a step.
    """
    from pettingzoo.utils.wrappers import BaseWrapper, OrderEnforcingWrapper

    passing = (BaseWrapper.__getattr__, OrderEnforcingWrapper.__getattr__)
    while isinstance(env, BaseWrapper) and type(env).__getattr__ in passing:
        if any(name in vars(env) or hasattr(type(env), name) for name in PASSED_ON):
            break
        env = env.env
    return env


def observation_label(observation: Any) -> str:
    """An observation as a string, in full if it is small and hashed otherwise.

    Different observations have different labels: the notation is that of Python, with arrays as
    nested brackets without commas, so that it can be read back. The ``action_mask`` of a dictionary
    is only mentioned, because the legal actions are part of the infoset's label anyway.

    Raises:
        GameError: If it contains anything other than numbers and strings.
    """
    if isinstance(observation, dict):
        entries = (
            "action_mask"
            if key == "action_mask" and _is_mask(value)
            else f"{key!r}: {observation_label(value)}"
            for key, value in sorted(observation.items(), key=lambda item: repr(item[0]))
        )
        return "{" + ", ".join(entries) + "}"
    if isinstance(observation, tuple):
        return "(" + "".join(f"{observation_label(part)}, " for part in observation) + ")"
    if isinstance(observation, list):
        return "[" + "".join(f"{observation_label(part)}, " for part in observation) + "]"
    if isinstance(observation, np.generic):
        observation = observation.item()
    if observation is None or isinstance(observation, (str, bytes, bool, int, float, complex)):
        return repr(observation)
    array = np.asarray(observation)
    if array.dtype.hasobject:
        raise GameError(
            "an observation must consist of numbers and strings, in arrays, tuples, lists or "
            f"dictionaries; got {type(observation).__name__}; pass a label function instead"
        )
    if array.size > LONGEST_OBSERVATION:
        kind = f"{array.dtype.str} {array.shape} ".encode()
        return f"#{digest(kind + np.ascontiguousarray(array).tobytes())}"
    if array.size == 0:
        return f"[{array.shape}]"
    return _nested(array.tolist())


def _nested(values: Any) -> str:
    """The entries of an array in brackets, one pair per axis."""
    if not isinstance(values, list):
        return repr(values)
    return "[" + " ".join(map(_nested, values)) + "]"


def _is_mask(value: Any) -> bool:
    """Whether all entries are 0 or 1, so that the legal actions determine the array."""
    mask = np.asarray(value)
    return mask.ndim == 1 and mask.dtype.kind in "biuf" and bool(((mask == 0) | (mask == 1)).all())
