"""One player who follows a correlated policy.

In each episode the policy draws one product policy for all players, and every player draws actions
from their part of it. Agents of the same policy that have the same seed draw the same ones, so they
are correlated without talking to each other, even in different processes. Actions come from streams
of their own.

An agent notices when an episode cannot have come to an infoset from the one before, as happens if
:meth:`Agent.reset` was forgotten. It counts the infosets that its policy does not know, and warns
at the first one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord._check import MAX_SEED, checked_whole
from accord._draws import drawn_from
from accord.equilibrium.validation import split_joint
from accord.errors import ArgumentError
from accord.treeplex.treeplex import Treeplex

LONGEST_QUOTE = 200
"""Characters of a label that a warning shows."""

COMPONENT, ACTION = 0, 1
"""The purposes of the random streams."""

UNKNOWN = -2
"""In place of an infoset that the policy does not know."""


class Agent:
    """A player who obeys. Call :meth:`reset` at the start of every episode.

    Attributes:
        player: The name of the player.
        plex: The player's treeplex, as far as the policy knows it.
        episode: How many episodes have begun; agents must agree on it to be correlated.
        decisions: How many actions it has drawn.
        unknown: How many of them at infosets that the policy does not know, where it is uniform.
        warns: Whether to warn at the first of these.
    """

    def __init__(
        self, players: Sequence[str], player: int | str, plexes: Sequence[Treeplex],
        draw: Callable[[np.random.Generator], Floats], seed: int,
    ) -> None:  # fmt: skip
        named = {name: i for i, name in enumerate(players)}
        i = named.get(player, -1) if isinstance(player, str) else int(player)
        if not 0 <= i < len(players):
            raise ArgumentError(
                f"player must be one of {', '.join(players)}, or a number from 0 to "
                f"{len(players) - 1}; got {player!r}"
            )
        self.player, self._i, self._seed = players[i], i, checked_whole("seed", seed, 0, MAX_SEED)
        self.plex, self._plexes, self._draw = plexes[i], plexes, draw
        self._number: Mapping[str, int] = {
            label: x for x, label in enumerate(self.plex.infoset_labels)
        }
        self.decisions = self.unknown = 0
        self.warns = True
        self.episode = -1
        self.reset()

    def reset(self, episode: int | None = None) -> None:
        """Begin the next episode, or the one with this number."""
        self.episode = self.episode + 1 if episode is None else episode
        drawn = self._draw(np.random.default_rng([self._seed, COMPONENT, self.episode]))
        self._behavior = split_joint(self._plexes, drawn)[self._i]
        self._last = NO_INFOSET  # the infoset of the last action in this episode
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
        if actions is not None and tuple(actions) != tuple(self.plex.action_labels[x]):
            raise ArgumentError(
                f"player {self.player}, infoset {infoset!r}: the policy has the actions "
                f"{tuple(self.plex.action_labels[x])}; got {tuple(actions)}"
            )
        first, end = self.plex.first_seq[x], self.plex.first_seq[x + 1]
        law: Floats = self._behavior[first:end]
        return law

    def act(self, infoset: str, actions: Sequence[str] | None = None) -> int:
        """Draw the recommended action at an infoset, as its position among the actions.

        Raises:
            ArgumentError: If the infoset cannot follow the last one in an episode; and as
                :meth:`probabilities`.
        """
        law = self.probabilities(infoset, actions)
        self._enter(infoset)
        return drawn_from(law.tolist(), self._rng.random() * law.sum())

    def _enter(self, infoset: str) -> None:
        """Note where the player is."""
        self.decisions += 1
        x = self._number.get(infoset, UNKNOWN)
        if x == UNKNOWN:
            self.unknown += 1
            if self.warns:
                self.warns = False
                warnings.warn(
                    f"the policy of player {self.player} does not know the infoset "
                    f"{infoset[:LONGEST_QUOTE]!r} and plays uniformly there; either it has not "
                    "seen the whole game (agent.unknown counts such decisions), or reset() was "
                    "not called at the start of the episode, or the environment is another one",
                    stacklevel=3,
                )
        elif not self._follows(x):
            last = "one that the policy does not know"
            if self._last != UNKNOWN:
                last = repr(self.plex.infoset_labels[self._last])
            raise ArgumentError(
                f"player {self.player}: the infoset {infoset!r} cannot follow {last} in an "
                "episode; call reset() at the start of every episode"
            )
        self._last = x

    def _follows(self, x: int) -> bool:
        """Whether infoset x is the last one or can come after it in an episode."""
        if self._last in (NO_INFOSET, x):
            return True
        while (before := int(self.plex.parent_seq[x])) > 0:
            x = int(self.plex.seq_infoset[before])
            if x == self._last:
                return True
        return False

    def __repr__(self) -> str:
        return f"Agent({self.player!r}, episode={self.episode})"
