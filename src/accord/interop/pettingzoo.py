"""PettingZoo environments, AEC, parallel or vector environments, with discrete actions.

A PettingZoo observation may leave out what an agent knew before; an infoset must not. By default an
infoset is therefore the whole history of an agent's own observations and actions, which gives
perfect recall by construction. The payoff of an agent is the sum of its rewards
(``interop/pettingzoo_turns.py``). An action is illegal if an ``action_mask``, in the observation or
in the info, excludes it. A truncated play counts as finished. All randomness must come from the
seed that PettingZoo's ``reset`` takes. A vector environment has many plays, which are stepped
together (``interop/vector_plays.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from accord._arrays import TERMINAL
from accord.equilibrium.agent import Agent
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, GameError, MissingDependencyError
from accord.interop.action_masks import given_mask, is_mask, legal_actions
from accord.interop.own_history import digest, history_after
from accord.interop.pettingzoo_turns import SimultaneousTurns, Turns
from accord.interop.vector_plays import Lane, VectorPlays, is_vector
from accord.play.environment import checked_bounds

LONGEST_OBSERVATION = 64
"""The most numbers of an observation that a label lists; larger observations are hashed."""

REMEMBERED = 1 << 14
"""The most small arrays whose labels are remembered."""

Names = tuple[str, ...]


class PettingZooEnvironment:
    """An :class:`~accord.play.environment.Environment` of a PettingZoo environment.

    Args:
        env: A ``pettingzoo.AECEnv``, a ``pettingzoo.ParallelEnv``, or a vector environment, such as
            a ``gymnasium.vector.VectorEnv``, whose spaces have a part for each agent. Its plays
            are stepped together.
        payoff_bounds: ``(worst, best)`` of each agent, or one pair for all: no play may pay less or
            more. PettingZoo does not provide them. None, the default, has them estimated from
            plays; bounds on the gap then hold only if no other payoffs exist.
        label: A function ``label(agent, observation) -> str`` that names infosets. Its labels must
            contain everything that the agent has seen and done.
        observe: A function ``observe(agent, observation)`` that sees each observation before it
            joins the agent's history, and returns what the agent is to remember of it: numbers
            rounded or put into bins, or fewer of them. The fewer different ones there are, the
            fewer infosets, and the more is learned about each.
        name: Name of the game; by default the name in PettingZoo's metadata.
        agents: The names of the agents of a vector environment, in the order of its rewards; by
            default its ``possible_agents``, or numbers.

    Attributes:
        together: The plays of a vector environment; else None.

    Raises:
        ArgumentError: If ``env`` is not such an environment, has no ``possible_agents``, an action
            space is not discrete, or ``payoff_bounds`` are not pairs.
        GameError: If ``payoff_bounds`` are not finite, or worst > best.
        MissingDependencyError: If PettingZoo is not installed.
    """

    def __init__(
        self,
        env: Any,
        payoff_bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
        *,
        label: Callable[[str, Any], str] | None = None,
        observe: Callable[[str, Any], Any] | None = None,
        name: str | None = None,
        agents: Sequence[str] | None = None,
    ) -> None:
        try:
            import pettingzoo
            from gymnasium.spaces import Discrete
        except ImportError as error:
            raise MissingDependencyError("pettingzoo", "pettingzoo") from error
        parallel, vector = isinstance(env, pettingzoo.ParallelEnv), is_vector(env)
        if not (parallel or vector or isinstance(env, pettingzoo.AECEnv)):
            raise ArgumentError(
                "env must be a pettingzoo.AECEnv, a pettingzoo.ParallelEnv or a vector "
                f"environment; got {env!r}"
            )
        if agents is not None and not vector:
            raise ArgumentError("agents are for vector environments; others name their own")
        if label is not None and observe is not None:
            raise ArgumentError(
                "give label or observe, not both: label names whole infosets, and observe changes "
                "the observations that their default names are made of"
            )
        self.env, self._label, self._observe = env, label, observe
        self.name = name or str((getattr(env, "metadata", None) or {}).get("name", env))
        self.together = VectorPlays(env, self.name, agents) if vector else None
        if self.together is not None:
            env, parallel = Lane(self.together, 0), True
        if not getattr(env, "possible_agents", None):
            raise ArgumentError(
                f"{self.name}: an environment must have possible_agents, all its agents"
            )
        self._play = SimultaneousTurns(env, self.name) if parallel else Turns(env, self.name)
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
        self.payoff_bounds = self._stated(payoff_bounds)
        if self.payoff_bounds is not None:
            checked_bounds(self)

    def _stated(self, given: Any) -> tuple[tuple[float, float], ...] | None:
        """The bounds as pairs, one for each agent; None if none are given."""
        if given is None:
            return None
        try:
            bounds = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            bounds = np.empty(0)
        if bounds.shape not in ((2,), (len(self.players), 2)):
            raise ArgumentError(
                f"{self.name}: payoff_bounds must be (worst, best), or one such pair for each of "
                f"the {len(self.players)} agents; got {given!r}"
            )
        pairs = np.broadcast_to(bounds, (len(self.players), 2)).tolist()
        return tuple((worst, best) for worst, best in pairs)

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play, seeded from ``rng``."""
        self._play.reset(self.drawn_seed(rng))
        self._before = dict.fromkeys(self._agents, "")  # the history of each agent
        self._enter()

    def drawn_seed(self, rng: np.random.Generator) -> int:
        """The seed of a play, as :meth:`reset` draws it."""
        return int(rng.integers(2**31))

    def in_lane(self, number: int) -> PettingZooEnvironment:
        """The plays in one lane of a vector environment."""
        assert self.together is not None
        lane = copy(self)
        lane._play = SimultaneousTurns(Lane(self.together, number), self.name)
        return lane

    def round_with(self, action: int) -> dict[Any, int] | None:
        """The moves of all agents, if an action completes the round of a lane."""
        assert isinstance(self._play, SimultaneousTurns)
        return self._play.round_with(self._legal[action])

    def turn(self) -> int:
        """The agent to move, or ``TERMINAL``."""
        agent = self._play.agent
        return TERMINAL if agent is None else self._number[agent]

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
            self._before[self._play.agent] = history_after(self._infoset, str(move))
        self._play.step(move)
        self._enter()

    def payoffs(self) -> Sequence[float]:
        """The sum of the rewards of each agent."""
        return [self._play.paid[agent] for agent in self._agents]

    def agent(self, policy: CorrelatedPolicy, agent: Any, seed: int = 0) -> PettingZooAgent:
        """An agent that follows ``policy`` in any copy of this PettingZoo environment."""
        return PettingZooAgent(self, agent, policy.agent(str(agent), seed))

    def _enter(self) -> None:
        """Store the legal actions and the infoset of the agent to move."""
        play = self._play
        if play.agent is not None:
            self._legal, self._names, seen = self._shown(play.agent, play.observation, play.info)
            self._infoset = seen if self._label is not None else self._before[play.agent] + seen

    def _shown(self, agent: Any, observation: Any, info: Any) -> tuple[list[int], Names, str]:
        """The legal actions of ``agent``, their names, and what they observe."""
        start, count = self._spaces[agent]
        legal = legal_actions(given_mask(observation, info), count, self.name, agent)
        moves = [start + action for action in legal]
        names = tuple(map(str, moves))
        if self._label is not None:
            return moves, names, self._label(str(agent), observation)
        if self._observe is not None:
            observation = self._observe(str(agent), observation)
        seen = observation_label(observation)
        return moves, names, seen if len(legal) == count else f"{seen} (legal {' '.join(names)})"


class PettingZooAgent:
    """An agent that follows a learned policy in PettingZoo's own loop.

    Call :meth:`reset` whenever the environment is reset, and :meth:`act` whenever it is the agent's
    turn.
    """

    def __init__(self, env: PettingZooEnvironment, name: Any, agent: Agent) -> None:
        self._env, self._name, self._agent, self._before = env, name, agent, ""
        count = env._spaces[name][1]
        self._masked = any(len(actions) < count for actions in agent.plex.action_labels)

    def reset(self) -> None:
        """Begin the next episode."""
        self._agent.reset()
        self._before = ""

    def act(self, observation: Any, info: Any = None) -> int:
        """The action to give to ``env.step``, from what ``env.last()`` reports.

        Raises:
            ArgumentError: If there is no ``action_mask``, and the policy was learned with masks; or
                if the observation cannot follow, because :meth:`reset` was not called.
        """
        if self._masked and given_mask(observation, info) is None:
            raise ArgumentError(
                f"{self._env.name}: the policy of agent {self._name} was learned with action "
                "masks, but neither the observation nor the info has an action_mask; give both: "
                "act(observation, info)"
            )
        moves, names, seen = self._env._shown(self._name, observation, info)
        whole = seen if self._env._label is not None else self._before + seen
        chosen = self._agent.act(whole, names)
        self._before = history_after(whole, names[chosen])
        return moves[chosen]


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
            if key == "action_mask" and is_mask(value)
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
    if array.size <= LONGEST_OBSERVATION:
        return _small_array_label(array.dtype, array.shape, array.tobytes())
    kind = f"{array.dtype.str} {array.shape} ".encode()
    return f"#{digest(kind + array.tobytes())}"


@lru_cache(REMEMBERED)
def _small_array_label(dtype: np.dtype[Any], shape: tuple[int, ...], content: bytes) -> str:
    """The entries of an array in brackets, one pair per axis."""
    if 0 in shape:
        return f"[{shape}]"
    return _nested(np.frombuffer(content, dtype).reshape(shape).tolist())


def _nested(values: Any) -> str:
    if not isinstance(values, list):
        return repr(values)
    return "[" + " ".join(map(_nested, values)) + "]"
