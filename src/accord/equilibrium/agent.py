"""One player who follows a correlated policy.

In each episode the policy draws one component for all players, and every player draws actions from
their part of it. Agents of the same policy that have the same seed draw the same components, so
they are correlated without talking to each other, even in different processes. Actions come from
streams of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from accord._arrays import Floats
from accord._check import MAX_SEED, checked_whole
from accord.errors import ArgumentError
from accord.treeplex.treeplex import Treeplex

COMPONENT, ACTION = 0, 1
"""The purposes of the random streams."""


class Agent:
    """A player who obeys. Call :meth:`reset` at the start of every episode.

    Attributes:
        player: The name of the player.
        episode: How many episodes have begun; agents must agree on it to be correlated.
    """

    def __init__(
        self, players: Sequence[str], player: int | str, plexes: Sequence[Treeplex],
        weights: Floats, parts: Sequence[Floats], seed: int,
    ) -> None:  # fmt: skip
        named = {name: i for i, name in enumerate(players)}
        i = named.get(player, -1) if isinstance(player, str) else int(player)
        if not 0 <= i < len(players):
            raise ArgumentError(
                f"player must be one of {', '.join(players)}, or a number from 0 to "
                f"{len(players) - 1}; got {player!r}"
            )
        self.player, self._i, self._seed = players[i], i, checked_whole("seed", seed, 0, MAX_SEED)
        self._plex, self._weights, self._part = plexes[i], np.cumsum(weights), parts[i]
        self._number: Mapping[str, int] = {
            label: x for x, label in enumerate(self._plex.infoset_labels)
        }
        self.episode = -1
        self.reset()

    def reset(self, episode: int | None = None) -> None:
        """Begin the next episode, or the one with this number."""
        self.episode = self.episode + 1 if episode is None else episode
        draw = np.random.default_rng([self._seed, COMPONENT, self.episode]).random()
        drawn = int(np.searchsorted(self._weights, draw * self._weights[-1], side="right"))
        self._component = min(drawn, len(self._weights) - 1)
        self._rng = np.random.default_rng([self._seed, ACTION, self._i, self.episode])

    def probabilities(self, infoset: str, actions: Sequence[str] | None = None) -> Floats:
        """The probabilities of the actions at an infoset in this episode.

        At an infoset that the policy does not know they are equal; then ``actions`` must be given.

        Raises:
            ArgumentError: If the infoset is unknown and ``actions`` are not given, or its actions
                are others.
        """
        x = self._number.get(infoset)
        if x is None:
            if not actions:
                raise ArgumentError(
                    f"the policy of player {self.player} does not know the infoset {infoset!r}; "
                    "give its actions for a uniform choice"
                )
            return np.full(len(actions), 1.0 / len(actions))
        if actions is not None and tuple(actions) != tuple(self._plex.action_labels[x]):
            raise ArgumentError(
                f"player {self.player}, infoset {infoset!r}: the policy has the actions "
                f"{tuple(self._plex.action_labels[x])}; got {tuple(actions)}"
            )
        first, end = self._plex.first_seq[x], self._plex.first_seq[x + 1]
        law: Floats = self._part[self._component, first:end]
        return law

    def act(self, infoset: str, actions: Sequence[str] | None = None) -> int:
        """Draw the recommended action at an infoset, as its position among the actions."""
        law = self.probabilities(infoset, actions)
        drawn = int(np.searchsorted(np.cumsum(law), self._rng.random() * law.sum(), side="right"))
        return min(drawn, int(np.flatnonzero(law)[-1]))

    def __repr__(self) -> str:
        return f"Agent({self.player!r}, episode={self.episode})"
