"""What is not a game, refused where it is given as one."""

from __future__ import annotations

import os
import reprlib

from accord.errors import ArgumentError
from accord.game.tree import Game


def checked_game(game: object) -> Game:
    """``game``, if it is one.

    Raises:
        ArgumentError: If it is anything else; for a name or a path the message says how to load it.
    """
    if isinstance(game, Game):
        return game
    advice = f"; try accord.load_game({game!r})" if isinstance(game, (str, os.PathLike)) else ""
    raise ArgumentError(f"game must be an accord.Game; got {reprlib.repr(game)}{advice}")
