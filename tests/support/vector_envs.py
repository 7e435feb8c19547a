"""One game as a Gymnasium environment, a PettingZoo environment and vector environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from pettingzoo import ParallelEnv

AGENTS = ("row", "column")


class Matching(gymnasium.Env[Any, Any]):
    """Up to three rounds of coordination with private signals; row may end it with action 2.

    All rewards are in the info, because Gymnasium has only one.
    """

    metadata = {"name": "matching"}  # noqa: RUF012
    observation_space = spaces.Dict({agent: spaces.Discrete(20) for agent in AGENTS})
    action_space = spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.rounds, self.signs = 0, self.np_random.integers(0, 2, 2)
        return self.seen(), {}

    def seen(self) -> dict[str, int]:
        return {agent: int(sign) for agent, sign in zip(AGENTS, self.signs, strict=True)}

    def step(self, action: Any) -> Any:
        row, column = map(int, action)
        self.rounds += 1
        paid = (row == column) * (1.0 + self.signs % 2) - [0.0, 0.5 * (row == 2)]
        self.signs = self.np_random.integers(0, 2, 2) + 2 * (row + 3 * column)
        over = self.rounds == 3 or row == 2
        return self.seen(), 0.0, over, False, {"rewards": paid}


class MatchingInParallel(ParallelEnv):
    """The same game, as a PettingZoo environment."""

    metadata = {"name": "matching"}  # noqa: RUF012
    possible_agents = list(AGENTS)  # noqa: RUF012

    def __init__(self) -> None:
        self.game = Matching()

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.agents = list(AGENTS)
        return self.game.reset(seed=seed)

    def step(self, actions: dict[str, int]) -> Any:
        seen, _, over, _, info = self.game.step([actions[agent] for agent in AGENTS])
        if over:
            self.agents = []
        paid = dict(zip(AGENTS, info["rewards"].tolist(), strict=True))
        return seen, paid, dict.fromkeys(AGENTS, over), dict.fromkeys(AGENTS, False), {}


class Cards(VectorEnv[Any, Any, Any]):
    """A simulator that has all its plays in arrays: one round with private cards.

    Row may not take action 2 with card 0. ``fails`` is the step that raises an exception.
    """

    metadata = {"name": "cards", "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    possible_agents = AGENTS

    def __init__(self, copies: int = 16, fails: int | None = None) -> None:
        self.num_envs, self.steps, self.fails = copies, 0, fails
        one = {"card": spaces.Discrete(3), "action_mask": spaces.MultiBinary(3)}
        self.single_observation_space = spaces.Dict({agent: spaces.Dict(one) for agent in AGENTS})
        self.single_action_space = spaces.Dict({agent: spaces.Discrete(3) for agent in AGENTS})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:  # type: ignore[override]
        super().reset(seed=seed)
        return self.deal(), {}

    def deal(self) -> dict[str, Any]:
        self.cards = self.np_random.integers(0, 3, (self.num_envs, 2))
        self.masks = np.ones((self.num_envs, 2, 3), np.int8)
        self.masks[self.cards[:, 0] == 0, 0, 2] = 0
        return {
            agent: {"card": self.cards[:, p], "action_mask": self.masks[:, p]}
            for p, agent in enumerate(AGENTS)
        }

    def step(self, actions: Any) -> Any:
        self.steps += 1
        if self.steps == self.fails:
            raise RuntimeError("out of memory")
        every = np.arange(self.num_envs)
        moves = np.stack([actions[agent] for agent in AGENTS], axis=1)
        for p in range(2):
            assert self.masks[every, p, moves[:, p]].all(), "an illegal move"
        same, good = moves[:, 0] == moves[:, 1], moves == self.cards
        paid = good + np.stack([same, ~same], axis=1).astype(float)
        over = np.ones(self.num_envs, np.bool_)
        return self.deal(), paid, over, ~over, {}


class Agents(VectorEnv[Any, Any, Any]):
    """Matching pennies, in which each copy is one agent, as in the wrappers of SuperSuit."""

    metadata = {"name": "pennies"}  # noqa: RUF012

    def __init__(self, copies: int = 8) -> None:
        self.num_envs = copies
        self.single_action_space = spaces.Discrete(2)
        self.single_observation_space = spaces.Box(0.0, 1.0, (2,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:  # type: ignore[override]
        return np.zeros((self.num_envs, 2)), [{}] * self.num_envs

    def step(self, actions: Any) -> Any:
        same = (actions[::2] == actions[1::2]).astype(float)
        paid = np.stack([same, -same], axis=1).reshape(-1)
        over = np.ones(self.num_envs, np.bool_)
        return np.zeros((self.num_envs, 2)), paid, over, ~over, [{}] * self.num_envs


class ByAgent:
    """Vector environment in PettingZoo's style: dictionaries by agent. Actions begin at 1."""

    metadata = {"name": "by agent"}  # noqa: RUF012
    possible_agents = list(AGENTS)  # noqa: RUF012
    num_envs = 6

    def single_action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2, start=1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.rng, self.rounds = np.random.default_rng(seed), 0
        return self.seen(), {}

    def seen(self) -> dict[str, Any]:
        return {agent: self.rng.integers(0, 2, self.num_envs) for agent in AGENTS}

    def step(self, actions: dict[str, Any]) -> Any:
        self.rounds += 1
        same = (actions["row"] == actions["column"]).astype(float)
        over = np.full(self.num_envs, self.rounds == 2)
        paid = {"row": same, "column": 1.0 - same}
        never = np.zeros(self.num_envs, np.bool_)
        return self.seen(), paid, dict.fromkeys(AGENTS, over), dict.fromkeys(AGENTS, never), {}
