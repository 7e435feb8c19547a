"""Arguments that many functions take, refused in the same words everywhere."""

from __future__ import annotations

import operator
import os
import reprlib
from typing import SupportsIndex

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


def checked_whole(name: str, value: SupportsIndex, least: int) -> int:
    """``value`` as a whole number that is at least ``least``.

    Raises:
        ArgumentError: If it is none.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or whole < least:
        raise ArgumentError(f"{name} must be a whole number, {least} or more; got {value!r}")
    return whole
