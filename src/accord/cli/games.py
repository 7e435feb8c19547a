"""``accord games``: list the games that Accord can load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord._format import count
from accord.cli.arguments import AsJson
from accord.cli.terminal import announced_compilation, print_json, print_table, print_text

if TYPE_CHECKING:
    from accord.game.library import LibraryGame


def games(as_json: AsJson = False) -> None:
    """List the games of the library, and the OpenSpiel games that are known to load.

    \b
    Example:
        accord games
    """
    from accord.game.library import LIBRARY
    from accord.interop.catalog import OPENSPIEL_GAMES

    with announced_compilation():
        library = [_described(entry) for entry in LIBRARY.values()]
    openspiel = [
        {"name": game.name, "infosets": list(game.infosets), "terminals": game.terminals}
        for game in OPENSPIEL_GAMES
    ]
    if as_json:
        print_json({"library": library, "openspiel": openspiel})
        return
    print_text(
        "Library games, with sizes for default parameters; set others as in kuhn:players=3.\n"
    )
    print_table(
        ("game", "infosets", "terminals", "description"),
        [(game["name"], *_sizes(game), _explained(game)) for game in library],
    )
    print_text("\nOpenSpiel games that are known to load; others may load too.\n")
    print_table(
        ("game", "infosets", "terminals"),
        [(game["name"], *_sizes(game)) for game in openspiel],
    )
    print_text(
        "\nGambit .efg and .nfg files are given by their paths, Python code that makes a game as "
        "FILE.py:NAME."
    )


def _described(entry: LibraryGame) -> dict[str, Any]:
    game = entry.build()
    return {
        "name": entry.name,
        "parameters": entry.parameters,
        "infosets": list(game.n_infosets),
        "terminals": game.n_terminals,
        "description": entry.description,
        "source": entry.source,
        "device": entry.device is not None,
    }


def _explained(game: dict[str, Any]) -> str:
    parameters = ", ".join(f"{key}={value}" for key, value in game["parameters"].items())
    text = f"{game['description']} ({game['source']})"
    return f"{text}; takes {parameters}" if parameters else text


def _sizes(game: dict[str, Any]) -> tuple[str, str]:
    return "/".join(map(str, game["infosets"])), count(game["terminals"])
