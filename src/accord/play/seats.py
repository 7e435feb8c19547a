"""Plays of an environment with a mediator in some seats and your own agents in the others.

In each play the mediator draws a component of the policy. A seat without an agent obeys. An agent
acts on its own, or hears the recommendation first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord._check import checked_seed, checked_whole
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.errors import ArgumentError, MismatchError
from accord.game.labels import player_name
from accord.play.environment import Environment, check_environment, quoted
from accord.play.episodes import ENVIRONMENT
from accord.play.losses import Losses
from accord.play.playing import Playing
from accord.play.rollout import mean_and_margin
from accord.play.streams import Streams

Act = Callable[[str, tuple[str, ...]], Any]
"""``act(infoset, actions)``: the number of an action."""


@dataclass(frozen=True, eq=False)
class SeatedPlays:
    """Payoffs of many plays of an environment. Made by :func:`rollout`."""

    payoffs: Floats  # [n_plays, n_players]
    mean: tuple[float, ...]  # payoff of each player
    margin: tuple[float, ...]  # half the widths of 95% confidence intervals; NaN for one play

    def __repr__(self) -> str:
        means = (f"{a:.4g} +- {b:.2g}" for a, b in zip(self.mean, self.margin, strict=True))
        return f"SeatedPlays({len(self.payoffs):,} plays, mean {', '.join(means)})"


def rollout(
    env: Environment,
    policy: CorrelatedPolicy | Solved,
    plays: SupportsIndex = 1000,
    *,
    agents: Mapping[int | str, Any] | None = None,
    seed: SupportsIndex | np.random.Generator = 0,
) -> SeatedPlays:
    """Play ``env`` with your own agents in some seats, while the others obey the mediator.

    Args:
        env: The environment.
        policy: The policy that the mediator recommends from; uniform where it knows nothing.
        plays: How many plays.
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
    drawn, losses = policy_in(policy), Losses(env)
    if len(losses.players) != len(drawn.plexes):
        raise MismatchError(
            f"{env.name} has {len(losses.players)} players; the policy is for {len(drawn.plexes)}"
        )
    mediator = [drawn.agent(i, start) for i in range(len(losses.players))]
    seats: list[Act] = [one.act for one in mediator]
    own = _numbered(losses.players, agents or {})
    for i, agent in own.items():
        seats[i] = _seat(losses.players[i], agent, mediator[i].act)
    playing, streams = Playing(env), Streams(start, ENVIRONMENT)
    paid = np.empty((wanted, len(seats)))
    for number in range(wanted):
        for one in mediator:
            one.reset(number)
        for agent in own.values():
            if hasattr(agent, "reset"):
                agent.reset()
        decision = playing.begin(streams.at(number))
        while decision is not None:
            decision = playing.step(seats[decision.player](decision.infoset, decision.actions))
        payoffs = playing.payoffs()
        losses.of(payoffs)  # refuses payoffs that are outside of their bounds
        paid[number] = payoffs
    return SeatedPlays(paid, *mean_and_margin(paid))


def _numbered(players: Sequence[str], agents: Mapping[int | str, Any]) -> dict[int, Any]:
    """The agents by the numbers of their players."""
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


def _seat(player: str, agent: Any, hear: Act) -> Act:
    """What a seat with an agent does; ``hear`` draws the recommendation."""
    if not hasattr(agent, "act") and not callable(agent):
        raise ArgumentError(
            f"the agent of {player_name(player)} must have act(infoset, actions), or be a "
            f"function of (infoset, actions, recommended); got {agent!r}"
        )

    def seat(infoset: str, actions: tuple[str, ...]) -> int:
        if hasattr(agent, "act"):
            action = agent.act(infoset, actions)
        else:
            action = agent(infoset, actions, hear(infoset, actions))
        try:
            return checked_whole("action", action, 0, len(actions) - 1)
        except ArgumentError:
            raise ArgumentError(
                f"the agent of {player_name(player)} must return the number of an action, 0 to "
                f"{len(actions) - 1}; got {quoted(action)} at infoset {quoted(infoset)}"
            ) from None

    return seat
