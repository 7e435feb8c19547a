"""Correlated policies for a game of which only the players' treeplexes are known.

A policy learned by playing episodes has weights over product policies, like any correlated policy
(``equilibrium/policy.py``). But the treeplexes do not say how the players' moves and chance
determine payoffs, so no gap can be computed. The files are the same: once the game is known,
:func:`accord.load_policy` reads them as policies of that game.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord._above import FRAMES, call_above
from accord._arrays import Floats
from accord.equilibrium.agent import Agent
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Weights over product policies of players with these treeplexes."""

    name: str  # of the environment in which it was learned
    player_labels: tuple[str, ...]
    plexes: tuple[Treeplex, ...]
    weights: Floats  # [n_components] positive, sum to one
    behavior: Floats  # [n_components, n_sequences] joint behaviours, player after player

    @property
    def n_components(self) -> int:
        return len(self.weights)

    def split(self, joint: Floats) -> tuple[Floats, ...]:
        """Each player's part of a joint vector over the sequences of all players, as views."""
        ends = np.cumsum([plex.n_sequences for plex in self.plexes])
        return tuple(np.split(joint, ends[:-1], axis=-1))

    def components(self) -> Iterator[tuple[float, tuple[Floats, ...]]]:
        """``(weight, (behavior of each player))`` of every component, as views."""
        for weight, joint in zip(self.weights, self.behavior, strict=True):
            yield float(weight), self.split(joint)

    def trees(self) -> list[dict[str, Any]]:
        """The players' treeplexes in plain lists, as files have them."""
        return [
            {
                "player": label,
                "infosets": list(plex.infoset_labels),
                "actions": [list(actions) for actions in plex.action_labels],
                "parent_seq": plex.parent_seq.tolist(),
            }
            for label, plex in zip(self.player_labels, self.plexes, strict=True)
        ]

    def agent(self, player: int | str, seed: int = 0) -> Agent:
        """A player who obeys, as that of :meth:`accord.CorrelatedPolicy.agent`."""
        parts = self.split(self.behavior)
        return Agent(self.player_labels, player, self.plexes, self.weights, parts, seed)

    def to_frame(self) -> Any:
        """A pandas data frame, like that of :meth:`accord.CorrelatedPolicy.to_frame`."""
        return call_above(FRAMES, "policy_frame", self)

    def __repr__(self) -> str:
        return f"Mixture({self.name!r}, components={self.n_components})"


def as_mixture(policy: Mixture | CorrelatedPolicy) -> Mixture:
    """``policy`` without its game.

    Raises:
        ArgumentError: If it is not a policy.
    """
    if isinstance(policy, Mixture):
        return policy
    if not isinstance(policy, CorrelatedPolicy):
        raise ArgumentError(
            f"policy must be an accord.Mixture or an accord.CorrelatedPolicy; got {policy!r}"
        )
    game = policy.game
    return Mixture(
        game.name, game.player_labels, sequence_form(game).plexes, policy.weights, policy.behavior
    )
