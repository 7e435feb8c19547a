"""Small PettingZoo environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


class Pennies(AECEnv):
    """Matching pennies after the toss of a public coin; after tails nobody may use the edge.

    Two edges are worth nothing to anybody; an edge against a side loses.
    """

    metadata = {"name": "pennies"}  # noqa: RUF012

    def __init__(self, nothing: bool = False) -> None:
        super().__init__()
        self.nothing = nothing
        self.possible_agents = ["even", "odd"]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Dict(
            {"observation": spaces.MultiBinary(1), "action_mask": spaces.MultiBinary(3)}
        )

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.coin = int(np.random.default_rng(seed).integers(2))
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = "even"
        self.moves: list[int] = []

    def observe(self, agent: str) -> Any:
        mask = np.array([1, 1, self.coin], np.int8) * (not self.nothing)
        return {"observation": np.array([self.coin], np.int8), "action_mask": mask}

    def step(self, action: int | None) -> None:
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.moves.append(int(action))  # type: ignore[arg-type]
        self._clear_rewards()
        if len(self.moves) == 2:
            self.rewards = dict(zip(self.agents, self.paid(*self.moves), strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[len(self.moves) % 2]
        self._accumulate_rewards()

    @staticmethod
    def paid(even: int, odd: int) -> tuple[float, float]:
        edges = float((odd == 2) - (even == 2))
        won = edges if 2 in (even, odd) else float(even == odd) - float(even != odd)
        return won, -won


class Repeated(Pennies):
    """Two rounds of meeting at one of two places; only the last round is shown."""

    metadata = {"name": "repeated"}  # noqa: RUF012

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def observe(self, agent: str) -> Any:
        """The moves of the last complete round, without their order: it forgets."""
        done = self.moves[: len(self.moves) // 2 * 2]
        return np.array(sorted(done[-2:]), np.int8)

    def step(self, action: int | None) -> None:
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.moves.append(int(action))  # type: ignore[arg-type]
        self._clear_rewards()
        if len(self.moves) % 2 == 0:
            met = float(self.moves[-1] == self.moves[-2])
            self.rewards = dict.fromkeys(self.agents, met)
        if len(self.moves) == 4:
            self.truncations = dict.fromkeys(self.agents, True)
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[len(self.moves) % 2]
        self._accumulate_rewards()


class Continuous(Pennies):
    """What cannot be learned here."""

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0.0, 1.0)


class _Together(ParallelEnv):
    """Both choose a place at the same time, and are paid if it is the same."""

    metadata = {"name": "together"}  # noqa: RUF012
    render_mode = None

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2, start=5)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(1)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        return dict.fromkeys(self.agents, 0), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        agents, self.agents = self.agents, []
        assert set(actions.values()) <= {5, 6}
        paid = float(len(set(actions.values())) == 1)
        return (
            dict.fromkeys(agents, 0),
            dict.fromkeys(agents, paid),
            dict.fromkeys(agents, True),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )


class WrongTogether(_Together):
    """It breaks a rule of PettingZoo."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        seen, infos = super().reset(seed, options)
        if self.rule == "unseen":
            del seen["b"]
        if self.rule == "unknown":
            self.agents.append("third")
        return seen, None if self.rule == "stays" else infos

    def step(self, actions: dict[str, int]) -> Any:
        seen, rewards, *ends, infos = super().step(actions)
        if self.rule == "reward":
            rewards["a"] = None
        if self.rule == "stays":
            self.agents = list(self.possible_agents)
        return seen, rewards, *ends, infos


class Leaving(ParallelEnv):
    """Whoever leaves is paid 1 and is out; who stays twice is paid 5 for each who stayed alone."""

    metadata = {"name": "leaving"}  # noqa: RUF012
    render_mode = None

    def __init__(self) -> None:
        self.possible_agents = ["a", "b", "c"]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(4)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self.round = list(self.possible_agents), 1
        return dict.fromkeys(self.agents, 3), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        agents = self.agents
        gone = {agent: self.round == 2 or actions[agent] == 0 for agent in agents}
        paid = {agent: 1.0 if actions[agent] == 0 else 5.0 * (self.round - 1) for agent in agents}
        self.agents = [agent for agent in agents if not gone[agent]]
        self.round += 1
        seen = dict.fromkeys(agents, len(self.agents))
        return seen, paid, gone, dict.fromkeys(agents, False), {agent: {} for agent in agents}


class Wrong(Pennies):
    """Pennies that break a rule of PettingZoo."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule
        if rule == "nobody":
            del self.possible_agents

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        if self.rule == "agents":
            self.rewards["third"] = 0.0

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.MultiBinary(3) if self.rule == "space" else spaces.Discrete(3)

    def observe(self, agent: str) -> Any:
        if self.rule == "mask":
            return {"observation": 0, "action_mask": np.ones(2)}
        return object() if self.rule == "observation" else super().observe(agent)

    def step(self, action: int | None) -> None:
        if action is None and self.rule == "stays":
            return
        told = self._cumulative_rewards[self.agent_selection]
        super().step(action)
        if self.rule == "twice" and action is not None:
            self._cumulative_rewards["odd"] += told + 1.0
        if self.rule == "reward":
            self.rewards = dict.fromkeys(self.agents)  # type: ignore[assignment]
        if self.rule == "vanish" and len(self.moves) == 2:
            self.rewards = {"even": 1.0, "odd": -1.0}
            self.agents = []


class Told(Pennies):
    """Only the mask, in the info, tells how the coin fell."""

    def observe(self, agent: str) -> Any:
        return 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        mask = np.array([1, 1, self.coin], np.int8)
        self.infos = {agent: {"action_mask": mask} for agent in self.agents}


def together() -> ParallelEnv[str, int, int]:
    return _Together()
