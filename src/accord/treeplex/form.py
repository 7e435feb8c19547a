"""A game as its players' treeplexes and its leaves: all that learning and certificates read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from accord._arrays import Floats
from accord.game.tree import Game, checked_game
from accord.treeplex.leaves import LeafTable, leaf_table
from accord.treeplex.treeplex import Treeplex, treeplexes


@dataclass(frozen=True, eq=False, repr=False)
class SequenceForm:
    """The treeplex of each player and the leaf table of one game."""

    game: Game
    plexes: tuple[Treeplex, ...]
    leaves: LeafTable

    @property
    def n_players(self) -> int:
        return len(self.plexes)

    @cached_property
    def n_sequences(self) -> int:
        """Of all players together: the length of joint vectors."""
        return int(self.leaves.first_reach[-1])

    def split(self, joint: Floats) -> tuple[Floats, ...]:
        """The part of each player in a joint vector over everybody's sequences, as views."""
        starts = self.leaves.first_reach
        return tuple(joint[..., starts[i] : starts[i + 1]] for i in range(self.n_players))

    def payoffs(self, loss: Floats) -> Floats:
        """Expected losses of whole plays, ``[n_players]``, as payoffs."""
        return np.asarray(self.leaves.best - loss * self.leaves.payoff_range)

    def __repr__(self) -> str:
        return f"SequenceForm({self.game!r}, leaves={len(self.leaves)})"


# Not the forms themselves: they hold the game, so no game would ever go.
_parts: WeakKeyDictionary[Game, tuple[tuple[Treeplex, ...], LeafTable]] = WeakKeyDictionary()


def sequence_form(game: Game) -> SequenceForm:
    """The sequence form of ``game``; its parts are made once and live as long as the game.

    Raises:
        ArgumentError: If it is no game.
    """
    checked_game(game)
    if (parts := _parts.get(game)) is None:
        plexes = treeplexes(game)
        parts = _parts[game] = plexes, leaf_table(game, plexes)
    return SequenceForm(game, *parts)
