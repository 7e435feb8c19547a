"""A game as one treeplex per player and a leaf table: the input of learning and certificates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from accord._arrays import Floats
from accord.game.tree import Game, checked_game
from accord.treeplex.leaves import LeafTable, leaf_table
from accord.treeplex.treeplex import Treeplex, treeplexes


@dataclass(frozen=True, eq=False)
class Form:
    """The treeplex of each player and a leaf table: of a game, or of what plays have shown."""

    plexes: tuple[Treeplex, ...]
    leaves: LeafTable

    @property
    def n_players(self) -> int:
        return len(self.plexes)

    @cached_property
    def n_sequences(self) -> int:
        """Sequences of all players together: the length of joint vectors."""
        return int(self.leaves.first_reach[-1])

    def split(self, joint: Floats) -> tuple[Floats, ...]:
        """The part of each player in a joint vector over all players' sequences, as views."""
        starts = self.leaves.first_reach
        return tuple(joint[..., starts[i] : starts[i + 1]] for i in range(self.n_players))

    def payoffs(self, loss: Floats) -> Floats:
        """``[n_players]`` expected payoffs, from expected losses of whole plays."""
        return np.asarray(self.leaves.best - loss * self.leaves.payoff_range)


@dataclass(frozen=True, eq=False, repr=False)
class SequenceForm(Form):
    """The treeplex of each player and the leaf table of one game."""

    game: Game

    def __repr__(self) -> str:
        return f"SequenceForm({self.game!r}, leaves={len(self.leaves)})"


# Does not store the forms: each holds its game, so no game would ever be freed.
_parts: WeakKeyDictionary[Game, tuple[tuple[Treeplex, ...], LeafTable]] = WeakKeyDictionary()


def sequence_form(game: Game) -> SequenceForm:
    """The sequence form of ``game``. Its parts are computed once and live as long as the game.

    Raises:
        ArgumentError: If ``game`` is not a :class:`accord.Game`.
    """
    checked_game(game)
    if (parts := _parts.get(game)) is None:
        plexes = treeplexes(game)
        parts = _parts[game] = plexes, leaf_table(game, plexes)
    return SequenceForm(*parts, game)
