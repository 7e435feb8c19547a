"""Games by name.

The form of a name determines where the game comes from:

    ``kuhn.efg``, ``pd.nfg``     a file, because it ends in ``.efg`` or ``.nfg``
    ``kuhn:players=3``           a library game with parameters, because of the colon
    ``kuhn_poker(players=3)``    an OpenSpiel game with parameters, because of the brackets
    ``kuhn``                     the library's game of that name if there is one, else OpenSpiel's

So where both have a plain name the library takes precedence, and ``name()`` always means OpenSpiel.
OpenSpiel is imported only for names that are neither files nor library games.

A game that Python code makes has a name too, ``beer.py:game`` (``interop/python_files.py``).
:func:`load_python_game` runs the code; :func:`load_game` never does.
"""

from __future__ import annotations

import os
import re
import reprlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from accord._activity import doing
from accord._format import shortened
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.interop.python_files import full_name, load_python, names_python
from accord.play.environment import is_environment, known_package

FORMS = (
    "a game is a library name (separation:k=1), an OpenSpiel name (leduc_poker, "
    "kuhn_poker(players=3)) or the path of an .efg or .nfg file"
)


def load_game(name: str | os.PathLike[str] | Any, *, max_nodes: int | None = None) -> Game:
    """Load a game by library name, OpenSpiel name, or path of an ``.efg`` or ``.nfg`` file.

    Games of pygambit and OpenSpiel are taken as well, as by :func:`from_gambit` and
    :func:`load_openspiel`.

    Where the library and OpenSpiel both have a plain name, the library takes precedence; ``name()``
    always means OpenSpiel.

    Args:
        name: The name or path, or the game of another package.
        max_nodes: OpenSpiel games with more nodes are refused; by default two million.

    Raises:
        ArgumentError: If there is no such game, in which case similar names are suggested, or if it
            does not take these parameters.
        ParseError: If a file cannot be read.
        GameError: If the game does not have perfect recall, or is not valid for another reason.
        BudgetError: If the game is too large.
    """
    if not isinstance(name, str | os.PathLike):
        return _converted(name, max_nodes)
    text = os.fspath(name).strip()
    with doing(f"loading {shortened(text, 60)}"):
        return _load(text, max_nodes)


def _converted(game: Any, max_nodes: int | None) -> Game:
    """A game object, recognized by its methods, so that its package need not be there."""
    if isinstance(game, Game):
        return game
    if hasattr(game, "to_efg"):
        from accord.interop.gambit import from_gambit

        return from_gambit(game)
    if hasattr(game, "new_initial_state"):
        from accord.interop.openspiel import load_openspiel

        return load_openspiel(game, max_nodes=max_nodes)
    raise ArgumentError(
        f"load_game() needs a name, a path, or a game of pygambit or OpenSpiel; got {game!r}"
    )


def load_python_game(text: str) -> Game:
    """Run the Python code called ``text``, such as ``beer.py:game``, and return the game it makes.

    Raises:
        ArgumentError: If there is no such file, module, name or parameter, or what it gives is not
            a game.
        SimulatorError: If the code raises an exception.
    """
    with doing(f"loading {shortened(text, 60)}"):
        return python_game(text, load_python(text))


def python_game(text: str, made: Any) -> Game:
    """``made`` by the code called ``text``, as a game.

    Raises:
        ArgumentError: If it is not a game.
    """
    if not is_game(made):
        if is_environment(made) or known_package(made) is not None:
            raise ArgumentError(
                f"{text} is an environment, which can only be played, and this needs a game; learn "
                f"in it with accord learn {text} --episodes N, or make a game of it with "
                "accord.Game.from_environment(env)"
            )
        raise ArgumentError(
            f"{text} must be a game or a function that returns one; got {reprlib.repr(made)}"
        )
    return _converted(made, None).replace(source=full_name(text))


def is_game(thing: Any) -> bool:
    """Whether ``thing`` is a game, of Accord, pygambit or OpenSpiel."""
    return (
        isinstance(thing, Game) or hasattr(thing, "to_efg") or hasattr(thing, "new_initial_state")
    )


def _load(text: str, max_nodes: int | None) -> Game:
    if names_python(text):
        raise ArgumentError(
            f"{text} names Python code, which is run only if it is named on the command line; in "
            "Python, import it and call it"
        )
    if (ending := text.lower()[-4:]) in (".efg", ".nfg"):
        from accord.interop.efg import read_efg
        from accord.interop.nfg import read_nfg

        read = read_efg if ending == ".efg" else read_nfg
        return read(text).replace(source=str(Path(text).resolve()))

    from accord.game.library import LIBRARY, library_game

    base, mark = _split(text)
    if base in LIBRARY and mark != "(":
        return library_game(text)

    from accord.interop.openspiel import load_openspiel

    try:
        return load_openspiel(text, max_nodes=max_nodes)
    except ArgumentError:
        if _openspiel_has(base) and mark != ":":
            raise  # OpenSpiel has the game, but refuses these parameters
    raise ArgumentError(f"there is no game {text!r}; {_advice(text, base, mark)}")


def game_names() -> list[str]:
    """Plain names of all library games and of the OpenSpiel games that can be loaded."""
    from accord.game.library import LIBRARY
    from accord.interop.openspiel_games import openspiel_names

    return [*LIBRARY, *(name for name in openspiel_names() if name not in LIBRARY)]


def _split(text: str) -> tuple[str, str]:
    """The plain name and the mark after it: a colon, a bracket, or nothing."""
    found = re.search("[:(]", text)
    return (text[: found.start()].strip(), found[0]) if found else (text, "")


def _openspiel_has(base: str) -> bool:
    """Whether OpenSpiel knows this name, even if it cannot load the game."""
    import pyspiel

    return base in pyspiel.registered_names()


def _advice(text: str, base: str, mark: str) -> str:
    from accord.game.library import LIBRARY

    given = text[len(base) + 1 :].removesuffix(")")
    if base in LIBRARY:
        written = f"{base}:{given}" if given else base
        return f"{base} is a library game, whose parameters follow a colon; try {written}"
    if mark == ":" and _openspiel_has(base):
        return f"{base} is an OpenSpiel game, whose parameters are in brackets; try {base}({given})"
    if text and Path(text).exists():
        return f"a file with a game must end in .efg or .nfg; {FORMS}"
    if close := get_close_matches(base.lower(), game_names()):
        return f"did you mean {' or '.join(close)}?"
    return FORMS
