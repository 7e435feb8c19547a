"""Games to files. The ending of the name decides the format."""

from __future__ import annotations

import os
from pathlib import Path

from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.interop.efg import write_efg
from accord.interop.nfg import write_nfg
from accord.interop.python_code import write_python

WRITERS = {".efg": write_efg, ".nfg": write_nfg, ".py": write_python}


def save_game(game: Game, path: str | os.PathLike[str]) -> None:
    """Write a game to a file, whose ending decides the format.

    ``.efg`` and ``.nfg`` are Gambit's formats of the tree and of the strategic form, which
    :func:`accord.load_game` reads. ``.py`` is Python code that builds the game with a
    :class:`accord.GameBuilder`.

    Raises:
        ArgumentError: If the path has another ending, or the file cannot be written.
        GameError: If the rewards along a play add up to more than a double can hold.
        BudgetError: If the strategic form has more than a million profiles of plans.
    """
    if (write := WRITERS.get(Path(path).suffix.lower())) is None:
        raise ArgumentError(
            f"the path of a game must end in {', '.join(WRITERS)}; got {os.fspath(path)!r}"
        )
    write(game, path)
