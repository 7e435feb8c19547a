"""Vector environments: many plays of one game, stepped together.

Gymnasium's ``VectorEnv`` steps ``num_envs`` copies of an environment with one call. Here each copy
is a *lane* in which a game of several agents is played, who all move at once. Gymnasium knows only
one agent, so its spaces tell the agents apart:

- ``single_action_space`` is a ``MultiDiscrete``, or a ``Dict`` or ``Tuple`` of ``Discrete``, with
  an entry for each agent; or ``Discrete`` if the copies are agents, as SuperSuit makes them of a
  PettingZoo environment: those of the first play, then those of the second, and so on.
- Observations are a ``Dict`` by agent, a ``Tuple``, or arrays whose second axis is the agents'.
  Gymnasium sorts the keys of a ``Dict``, so with one the agents must be given in their order.
- Rewards likewise. Where Gymnasium allows only one number for each play, they are in
  ``infos["rewards"]``.

Vector environments in PettingZoo's style, with ``possible_agents`` and dictionaries by agent, need
nothing of this. A lane has the interface of a PettingZoo parallel environment, so that whatever is
true of one play is said in one place (``interop/pettingzoo.py``).

All lanes begin together, with a seed for each of them if ``reset`` takes a list, as Gymnasium's own
vector environments do, and else with one seed. A lane whose play has ended is not looked at until
all have ended, whatever it resets itself to. Only with a seed for each lane and
``AutoresetMode.DISABLED`` lanes begin again one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import ArgumentError, GameError
from accord.interop.action_masks import given_mask

Moves = Mapping[Any, int]
"""The moves of the agents in one lane."""


class VectorPlays:
    """The plays of a vector environment.

    Args:
        env: The vector environment.
        name: The name of the game, for errors.
        agents: The names of the agents, if the spaces do not have them.

    Attributes:
        count: The number of lanes.
        agents: The names of the agents.
        spaces: The space of the actions of each agent.
        begins_alone: Whether a lane can begin while others are played.

    Raises:
        ArgumentError: If its spaces do not say who the agents are.
    """

    def __init__(self, env: Any, name: str, agents: Sequence[str] | None = None) -> None:
        from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

        self.env, self.name = env, name
        self.agents, self.spaces = _agents_of(env, name, agents)
        self._flat = len(self.spaces) == 1 < len(self.agents)
        each = len(self.agents) if self._flat else 1
        self.spaces = self.spaces * each if self._flat else self.spaces
        self.count, rest = divmod(int(env.num_envs), each)
        if rest or not self.count:
            raise ArgumentError(
                f"{name}: num_envs must be a multiple of the {each} agents; it is {env.num_envs}"
            )
        mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
        self._resets_nothing = getattr(mode, "name", mode) == "DISABLED"
        inner = getattr(env, "unwrapped", env)
        self._seeds_each = isinstance(inner, (SyncVectorEnv, AsyncVectorEnv)) and not self._flat
        self.begins_alone = self._resets_nothing and self._seeds_each
        self._seen: Any = None
        self._infos: Any = {}
        self._rewards = np.zeros((self.count, len(self.agents)))
        self._over = np.ones((self.count, len(self.agents)), np.bool_)
        self._done: set[int] = set()  # lanes that have begun or made a step, and not been told
        self._failed: dict[int, Exception] = {}

    def begin(self, seeds: Mapping[int, int]) -> None:
        """Begin a play in each of these lanes, with its seed; all others end.

        If lanes can begin alone, others are not touched.
        """
        self._attempt(seeds, lambda: self._reset(seeds))

    def step(self, rounds: Mapping[int, Moves]) -> None:
        """Make the moves of these lanes; in others anybody makes any move."""
        self._attempt(rounds, lambda: self._step(rounds))

    def result(self, lane: int, act: Callable[[], None]) -> None:
        """Make sure that the lane has moved, by ``act`` if nobody has moved all of them.

        Raises:
            Exception: The one of the environment, if it failed.
        """
        if lane not in self._done:
            act()
        self._done.discard(lane)
        if (error := self._failed.pop(lane, None)) is not None:
            raise error

    def observation(self, lane: int, p: int) -> Any:
        """What agent p is shown in a lane."""
        return self._part(self._seen, lane, p)

    def info(self, lane: int, p: int) -> dict[str, Any]:
        """The action mask of agent p, if the infos have one."""
        if isinstance(self._infos, (list, tuple)):  # SuperSuit's
            return dict(self._part(self._infos, lane, p))
        own = self._infos.get(self.agents[p])
        masks = own.get("action_mask") if isinstance(own, dict) else None
        if masks is not None:
            return {"action_mask": masks[lane]}
        masks = self._infos.get("action_mask")
        return {} if masks is None else {"action_mask": self._part(masks, lane, p)}

    def ended(self, lane: int) -> tuple[list[float], list[bool]]:
        """The rewards of the last step, and whether each agent's play is over."""
        return self._rewards[lane].tolist(), self._over[lane].tolist()

    def _attempt(self, lanes: Mapping[int, object], act: Callable[[], None]) -> None:
        """Act; an error is raised later, in every lane that it is about."""
        try:
            act()
        except Exception as error:
            self._failed.update(dict.fromkeys(lanes, error))
        self._done.update(lanes)

    def _reset(self, seeds: Mapping[int, int]) -> None:
        lanes, first = list(seeds), next(iter(seeds.values()))
        some = self.begins_alone and len(lanes) < self.count and self._seen is not None
        seed: Any = first
        if self._seeds_each:
            spare = None if some else first
            seed = [seeds.get(lane, spare) for lane in range(self.count)]
        self._seen, self._infos = self._cleared(lanes, seed) if some else self.env.reset(seed=seed)
        self._over[lanes] = False

    def _cleared(self, lanes: Sequence[int], seed: Any = None) -> Any:
        """Reset only these lanes."""
        mask = np.zeros(self.count, np.bool_)
        mask[list(lanes)] = True
        return self.env.reset(seed=seed, options={"reset_mask": mask})

    def _step(self, rounds: Mapping[int, Moves]) -> None:
        if self._resets_nothing:
            idle = [n for n in range(self.count) if n not in rounds and self._over[n].all()]
            if idle:
                self._seen, _ = self._cleared(idle)
        moves = np.array(
            [
                [rounds[lane][agent] if agent in rounds.get(lane, ()) else self._any(lane, p)
                 for p, agent in enumerate(self.agents)]
                for lane in range(self.count)
            ]
        )  # fmt: skip
        told = self.env.step(self._actions(moves))
        self._seen, rewards, terminated, truncated, self._infos = told
        over = self._table(terminated, np.bool_) | self._table(truncated, np.bool_)
        self._rewards = self._paid(rewards, over.all(axis=1))
        self._over |= over

    def _any(self, lane: int, p: int) -> int:
        """A legal action of agent p, in a lane where nobody looks."""
        start = int(getattr(self.spaces[p], "start", 0))
        mask = given_mask(self.observation(lane, p), self.info(lane, p))
        return start if mask is None else start + int(np.argmax(mask))

    def _actions(self, moves: NDArray[np.int64]) -> Any:
        """The moves of all lanes, as ``env.step`` takes them."""
        if self._flat:
            return moves.reshape(-1)
        kind = _action_space(self.env)
        if callable(kind) or hasattr(kind, "keys"):
            return {agent: moves[:, p] for p, agent in enumerate(self.agents)}
        return moves if hasattr(kind, "nvec") else tuple(moves.T)

    def _part(self, batch: Any, lane: int, p: int) -> Any:
        """The part of a batch that agent p has in a lane."""
        if isinstance(batch, dict) and self.agents[p] in batch:
            return _taken(batch[self.agents[p]], lane)
        if isinstance(batch, tuple) and not self._flat:
            return _taken(batch[p], lane)
        return _taken(batch, lane * len(self.agents) + p if self._flat else (lane, p))

    def _table(self, batch: Any, kind: Any) -> NDArray[Any]:
        """``[lanes, agents]`` from one entry per agent, or one for all agents of a lane."""
        shape = self.count, len(self.agents)
        if isinstance(batch, dict):
            batch = [batch[agent] for agent in self.agents]
        if isinstance(batch, (list, tuple)):
            table = np.asarray(batch, kind).T
        else:
            table = np.asarray(batch, kind)
            table = table.reshape(shape) if self._flat else table
        if table.shape == (self.count,) and kind is np.bool_:
            table = np.repeat(table[:, np.newaxis], shape[1], axis=1)
        if table.shape != shape:
            raise GameError(
                f"{self.name}: a step must give {shape[1]} rewards, one for each agent, in each of "
                f"{shape[0]} plays; got an array of shape {table.shape}; where Gymnasium allows "
                'one reward for each play, put all of them into infos["rewards"]'
            )
        return table

    def _paid(self, rewards: Any, over: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The rewards of all agents, which may be in the infos."""
        infos = self._infos if isinstance(self._infos, dict) else {}
        final = infos.get("final_info", {})  # with AutoresetMode.SAME_STEP
        if "rewards" not in infos and "rewards" not in final:
            return self._table(rewards, np.float64)
        paid = np.zeros((self.count, len(self.agents)))
        if "rewards" in infos:
            paid[:] = self._table(infos["rewards"], np.float64)
        if "rewards" in final:
            paid[over] = self._table(final["rewards"], np.float64)[over]
        return paid


class Lane:
    """One lane of a vector environment, with the interface of a PettingZoo parallel environment."""

    def __init__(self, plays: VectorPlays, number: int) -> None:
        self.plays, self.number = plays, number
        self.possible_agents, self.agents = list(plays.agents), list(plays.agents)

    def action_space(self, agent: Any) -> Any:
        """The actions of an agent."""
        return self.plays.spaces[self.possible_agents.index(agent)]

    def reset(self, seed: int) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Begin a play."""
        self.plays.result(self.number, lambda: self.plays.begin({self.number: seed}))
        self.agents = list(self.possible_agents)
        return self._shown()

    def step(self, moves: Moves) -> tuple[Any, Any, Any, Any, Any]:
        """Make the moves of all agents."""
        self.plays.result(self.number, lambda: self.plays.step({self.number: moves}))
        rewards, over = self.plays.ended(self.number)
        paid = dict(zip(self.possible_agents, rewards, strict=True))
        ends = dict(zip(self.possible_agents, over, strict=True))
        played, self.agents = self.agents, [one for one in self.agents if not ends[one]]
        seen, infos = self._shown()
        return seen, {agent: paid[agent] for agent in played}, ends, {}, infos

    def _shown(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        numbers = [(agent, self.possible_agents.index(agent)) for agent in self.agents]
        seen = {agent: self.plays.observation(self.number, p) for agent, p in numbers}
        return seen, {agent: self.plays.info(self.number, p) for agent, p in numbers}


def is_vector(env: Any) -> bool:
    """Whether ``env`` is a vector environment, of Gymnasium or in PettingZoo's style."""
    needed = ("num_envs", "reset", "step")
    return not isinstance(env, type) and all(hasattr(env, name) for name in needed)


def _action_space(env: Any) -> Any:
    """The space of one copy; SuperSuit calls it ``action_space``."""
    return getattr(env, "single_action_space", None) or env.action_space


def _agents_of(env: Any, name: str, agents: Sequence[str] | None) -> tuple[list[Any], list[Any]]:
    """The agents, and their spaces of actions; one space if the copies are the agents."""
    kind, seen = _action_space(env), getattr(env, "single_observation_space", None)
    names: list[Any] = list(agents or getattr(env, "possible_agents", None) or ())
    if callable(kind):
        spaces = [kind(agent) for agent in names]
    elif hasattr(kind, "keys"):
        spaces = [kind[agent] for agent in names or kind.keys()]
    elif hasattr(kind, "nvec"):
        spaces = [kind[p] for p in range(len(kind.nvec))]
    elif isinstance(getattr(kind, "spaces", None), tuple):
        spaces = list(kind.spaces)
    else:
        spaces = [kind]
    if not names and any(hasattr(space, "keys") for space in (kind, seen)):
        raise ArgumentError(
            f"{name}: Gymnasium sorts the entries of a Dict, so give the agents in the order of "
            "their rewards: PettingZooEnvironment(env, agents=[...]), or as possible_agents of env"
        )
    names = names or list(map(str, range(len(spaces))))
    if len(names) < 2 or len(spaces) not in (1, len(names)):
        raise ArgumentError(
            f"{name}: the actions of a vector environment must have a part for each agent; "
            f"single_action_space is {kind}, and the agents are {', '.join(map(str, names))}; use "
            "MultiDiscrete, or a Dict or Tuple of Discrete; if each copy is one agent, name the "
            "agents: PettingZooEnvironment(env, agents=[...])"
        )
    return names, spaces


def _taken(batch: Any, index: Any) -> Any:
    """One entry of a batch, of arrays in dictionaries or tuples."""
    if isinstance(batch, dict):
        return {key: _taken(value, index) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_taken(value, index) for value in batch)
    return batch[index]
