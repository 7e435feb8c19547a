"""Who moves next in a PettingZoo environment, what they are shown, and what they have been paid.

In an AEC environment agents take turns (:class:`Turns`). The payoff of an agent is the sum of the
rewards that ``last()`` reports when the agent's turn comes. They are compared with the ``rewards``
after each step, because environments that do not reset ``_cumulative_rewards`` would pay twice.

In a parallel environment all agents move at once (:class:`SimultaneousTurns`). Here they move one
after another, and the environment makes its step when all have moved, so that none sees the moves
of the others before. PettingZoo's own conversion does the same, more slowly.
"""

from __future__ import annotations

from typing import Any

from accord.errors import GameError

PASSED_ON = ("agents", "agent_selection", "rewards")
"""What is read after every step of an AEC environment."""


class _Stepping:
    """One play after another of an environment.

    Attributes:
        agent: The agent to move; None when the play is over.
        observation: What this agent is shown.
        info: What else this agent is told.
        paid: The sum of the rewards of each agent.
    """

    agent: Any
    observation: Any
    info: Any
    paid: dict[Any, float]

    def __init__(self, env: Any, name: str) -> None:
        self.env, self.name = env, name


class Turns(_Stepping):
    """The plays of an AEC environment."""

    def reset(self, seed: int) -> None:
        """Begin a new play."""
        self.env.reset(seed=seed)
        self._facts = innermost(self.env)
        self.paid = dict.fromkeys(self.env.possible_agents, 0.0)
        self._due = dict(self.paid)  # rewards that last() has not reported yet
        self._advance()

    def step(self, move: int) -> None:
        """Make the agent's move."""
        self.env.step(move)
        self._advance()

    def _advance(self) -> None:
        """Advance to the next agent that has a decision, and collect rewards."""
        self.agent = None
        self._note_rewards()
        facts = self._facts
        while facts.agents:
            agent = facts.agent_selection
            observation, reward, terminated, truncated, info = self.env.last()
            self._pay(agent, _number(self.name, agent, reward))
            if not (terminated or truncated):
                self.agent, self.observation, self.info = agent, observation, info
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
            _check_known(self.name, agent, self._due)
            self._due[agent] += _number(self.name, agent, reward)

    def _pay(self, agent: Any, reward: float) -> None:
        due = self._due[agent]
        if abs(reward - due) > 1e-6 * max(1.0, abs(due)):
            raise GameError(
                f"{self.name}: last() must report to agent {agent} the sum of its rewards since "
                f"its last step, {due:g}; it reports {reward:g}; step() must set "
                "_cumulative_rewards of the agent that moves to 0 and then accumulate rewards"
            )
        self.paid[agent] += reward
        self._due[agent] = 0.0


class SimultaneousTurns(_Stepping):
    """The plays of a parallel environment."""

    def reset(self, seed: int) -> None:
        """Begin a new play."""
        self._seen, self._infos = self.env.reset(seed=seed)
        self.paid = dict.fromkeys(self.env.possible_agents, 0.0)
        self._begin_round(self.env.agents)

    def step(self, move: int) -> None:
        """Note the agent's move; if it was the last one of the round, make all of them."""
        self._moves[self.agent] = move
        if len(self._moves) == len(self._round):
            self._seen, rewards, terminated, truncated, self._infos = self.env.step(self._moves)
            for agent, reward in rewards.items():
                _check_known(self.name, agent, self.paid)
                self.paid[agent] += _number(self.name, agent, reward)
            over = {agent for ends in (terminated, truncated) for agent in ends if ends[agent]}
            self._begin_round([agent for agent in self.env.agents if agent not in over])
        else:
            self._show(self._round[len(self._moves)])

    def round_with(self, move: int) -> dict[Any, int] | None:
        """The moves of the round, if this one completes it."""
        if len(self._moves) + 1 < len(self._round):
            return None
        return {**self._moves, self.agent: move}

    def _begin_round(self, agents: list[Any]) -> None:
        self._round, self._moves = list(agents), dict[Any, int]()
        if self._round:
            self._show(self._round[0])
        else:
            self.agent = None

    def _show(self, agent: Any) -> None:
        _check_known(self.name, agent, self.paid)
        if agent not in self._seen:
            raise GameError(f"{self.name}: agent {agent} must move, but got no observation")
        self.agent, self.observation = agent, self._seen[agent]
        self.info = self._infos.get(agent) if isinstance(self._infos, dict) else None


def _check_known(name: str, agent: Any, known: dict[Any, float]) -> None:
    if agent not in known:
        raise GameError(
            f"{name}: agent {agent} must be one of its possible_agents {', '.join(map(str, known))}"
        )


def _number(name: str, agent: Any, reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise GameError(
            f"{name}: the rewards of agent {agent} must be numbers; got {reward!r}"
        ) from None


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
