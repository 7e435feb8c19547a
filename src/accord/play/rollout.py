"""Plays of an environment with a mediator in some seats and your own agents in the others.

In each play the mediator draws a component of the policy. A seat without an agent obeys. An agent
acts on its own, or hears the recommendation first: until it has disobeyed K times, as with the
mediator of ``mediator/mediator.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord._check import checked_seed, checked_whole
from accord.deviations.notions import NotionLike, checked_k
from accord.equilibrium.agent import Agent
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.errors import ArgumentError, MismatchError
from accord.game.labels import player_name
from accord.play.bounds import noting
from accord.play.environment import Environment, check_environment, quoted
from accord.play.episodes import ENVIRONMENT
from accord.play.losses import Losses
from accord.play.obedient_plays import mean_and_margin
from accord.play.playing import Playing
from accord.play.streams import ROLLOUT, Streams, seed_for

Act = Callable[[str, tuple[str, ...]], Any]
"""``act(infoset, actions)``: the number of an action."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """Payoffs of many plays of an environment. Made by :func:`rollout`."""

    payoffs: Floats  # [n_plays, n_players]
    mean: tuple[float, ...]  # payoff of each player
    margin: tuple[float, ...]  # half the widths of 95% confidence intervals; NaN for one play
    coverage: float | None  # share of recommendations at infosets that the policy knows, where it
    # is not just uniform; None if nobody was told anything

    def __repr__(self) -> str:
        means = (f"{a:.4g} +- {b:.2g}" for a, b in zip(self.mean, self.margin, strict=True))
        return f"Rollout({len(self.payoffs):,} plays, mean {', '.join(means)})"


def rollout(
    env: Environment,
    policy: CorrelatedPolicy | Solved,
    plays: SupportsIndex = 1000,
    *,
    k: NotionLike | None = None,
    agents: Mapping[int | str, Any] | None = None,
    seed: SupportsIndex | np.random.Generator = 0,
) -> Rollout:
    """Play ``env`` with your own agents in some seats, while the others obey the mediator.

    Args:
        env: The environment.
        policy: The policy that the mediator recommends from; uniform where it knows nothing.
        plays: How many plays.
        k: The number of recommendations that a function in ``agents`` may disobey; then the
            mediator is silent, and ``recommended`` is None. By default that of the result, or 1 for
            a policy.
        agents: By name or number of the player: an object with ``act(infoset, actions)``, such as
            ``policy.agent(player)``, or a function ``choose(infoset, actions, recommended)``, which
            also hears what the mediator recommends. Both return the number of an action. If it has
            ``reset()``, that is called before every play.
        seed: The seed of the environment's and the mediator's randomness, or a generator that
            draws one.

    Raises:
        ArgumentError: If an argument is out of range, or an agent returns something else.
        MismatchError: If the policy is for another number of players.
        GameError: If the environment pays outside its bounds, or a play does not end.
        SimulatorError: If the environment raises an exception.
    """
    check_environment(env)
    wanted, start = checked_whole("plays", plays, 1), checked_seed(seed)
    drawn, losses = policy_in(policy), Losses(noting(env))
    if len(losses.players) != len(drawn.plexes):
        raise MismatchError(
            f"{env.name} has {len(losses.players)} players; the policy is for {len(drawn.plexes)}"
        )
    if k is None and (k := getattr(policy, "k", 1)) is None:
        raise ArgumentError("the mediator runs K-EFCE, and this result is another notion; give k")
    most = checked_k(k)
    mediator = [drawn.agent(i, start) for i in range(len(losses.players))]
    seats: list[Act] = [one.act for one in mediator]
    own = numbered_agents(losses.players, agents or {})
    hearing = [_Advised(losses.players[i], agent, mediator[i], most) for i, agent in own.items()]
    for i, seat in zip(own, hearing, strict=True):
        seats[i] = seat.act
    for one in mediator:
        one.warns = False
    playing, streams = Playing(env), Streams(seed_for(ROLLOUT, start), ENVIRONMENT)
    paid = np.empty((wanted, len(seats)))
    for number in range(wanted):
        for one in mediator:
            one.reset(number)
        for seat in hearing:
            seat.reset()
        decision = playing.begin(streams.at(number))
        while decision is not None:
            decision = playing.step(seats[decision.player](decision.infoset, decision.actions))
        payoffs = playing.payoffs()
        losses.of(payoffs)  # refuses payoffs that are outside of their bounds
        paid[number] = payoffs
    told = sum(one.decisions for one in mediator)
    coverage = 1.0 - sum(one.unknown for one in mediator) / told if told else None
    return Rollout(paid, *mean_and_margin(paid), coverage)


def numbered_agents(players: Sequence[str], agents: Mapping[int | str, Any]) -> dict[int, Any]:
    """The agents by the numbers of their players.

    Raises:
        ArgumentError: If a key is neither the name nor the number of a player.
    """
    names = {name: i for i, name in enumerate(players)}
    found = {}
    for player, agent in agents.items():
        i = names.get(player, -1) if isinstance(player, str) else player
        if i not in range(len(players)):
            raise ArgumentError(
                f"agents must be those of {', '.join(players)}, or of numbers from 0 to "
                f"{len(players) - 1}; got {player!r}"
            )
        found[i] = agent
    return found


class _Advised:
    """A seat with an agent, who hears the mediator until they have disobeyed K times."""

    def __init__(self, player: str, agent: Any, mediator: Agent, k: float) -> None:
        if not hasattr(agent, "act") and not callable(agent):
            raise ArgumentError(
                f"the agent of {player_name(player)} must have act(infoset, actions), or be a "
                f"function of (infoset, actions, recommended); got {agent!r}"
            )
        self._player, self._agent, self._mediator, self._k = player, agent, mediator, k
        self._disobeyed = 0

    def reset(self) -> None:
        """Begin the next play."""
        self._disobeyed = 0
        if hasattr(self._agent, "reset"):
            self._agent.reset()

    def act(self, infoset: str, actions: tuple[str, ...]) -> int:
        """The agent's action."""
        told: int | None = None
        if hasattr(self._agent, "act"):
            action = self._agent.act(infoset, actions)
        else:
            if self._disobeyed < self._k:
                told = self._mediator.act(infoset, actions)
            action = self._agent(infoset, actions, told)
        try:
            chosen = checked_whole("action", action, 0, len(actions) - 1)
        except ArgumentError:
            raise ArgumentError(
                f"the agent of {player_name(self._player)} must return the number of an action, 0 "
                f"to {len(actions) - 1}; got {quoted(action)} at infoset {quoted(infoset)}"
            ) from None
        self._disobeyed += told is not None and chosen != told
        return chosen
