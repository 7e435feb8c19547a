"""Games from and to pygambit, if it is installed.

pygambit reads and writes ``.efg`` and ``.nfg`` text, and so does Accord (``efg.py``, ``nfg.py``);
that text is what passes between them, so labels change as those modules describe.
"""

from __future__ import annotations

import io
from typing import Any

from accord.errors import ArgumentError, MissingDependencyError
from accord.game.tree import Game, checked_game
from accord.interop.efg import format_efg, parse_efg
from accord.interop.nfg import parse_nfg


def from_gambit(game: Any) -> Game:
    """The game of a ``pygambit.Game``, in extensive or strategic form.

    Raises:
        ArgumentError: If it is something else.
        GameError: If it does not have perfect recall.
    """
    if not all(hasattr(game, name) for name in ("title", "to_efg", "to_nfg")):
        raise ArgumentError(f"from_gambit() needs a pygambit.Game; got {game!r}")
    if _is_tree(game):
        return parse_efg(game.to_efg(), game.title or "game")
    return parse_nfg(game.to_nfg(), game.title or "game")


def _is_tree(game: Any) -> bool:
    """Whether it is in extensive form: an attribute up to pygambit 16, then a class of its own."""
    return bool(getattr(game, "is_tree", hasattr(game, "append_move")))


def to_gambit(game: Game) -> Any:
    """A game as a ``pygambit.Game`` in extensive form.

    Raises:
        MissingDependencyError: If pygambit is not installed.
        ArgumentError: If pygambit does not accept a label of the game, as one of several lines.
    """
    checked_game(game)
    try:
        import pygambit
    except ImportError:
        raise MissingDependencyError("pygambit", "gambit") from None
    gambit: Any = pygambit
    try:
        return gambit.read_efg(io.StringIO(format_efg(game)))
    except ValueError as error:
        raise ArgumentError(
            f"pygambit must accept the labels of the game {game.name!r}, but says: {error}; change "
            "them with game.replace(), or in the Python code that `accord convert` writes"
        ) from None
