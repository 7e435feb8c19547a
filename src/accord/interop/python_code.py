"""A game as Python code that builds it with a :class:`~accord.game.builder.GameBuilder`.

The code is a function that returns the game: to change a game, write its code, edit it and run it.
The game that it builds has the same digest, so policies of one fit the other. Only payoffs of whole
plays are written, as in ``.efg`` files.
"""

from __future__ import annotations

from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from accord._arrays import CHANCE, NO_NODE, TERMINAL
from accord._files import write_whole
from accord.game.exact import chances_at, exact_rewards
from accord.game.rationals import as_rational
from accord.game.tree import Game, checked_game
from accord.interop.efg_writer import written


def write_python(game: Game, path: str | PathLike[str]) -> None:
    """Write the Python code that builds a game; see :func:`format_python`.

    Raises:
        ArgumentError: If the file cannot be written.
    """
    data = format_python(game).encode("utf-8", errors="backslashreplace")
    write_whole(Path(fspath(path)), data)


def format_python(game: Game) -> str:
    """The Python code of a function ``game()`` that builds a game with a ``GameBuilder``."""
    checked_game(game)
    histories = _histories(game)
    payoffs = exact_rewards(game)
    outcomes = _outcomes(game)
    lines = _head(game)
    for node in range(game.n_nodes):
        mover = int(game.player[node])
        path = _written(histories[node])
        if mover == TERMINAL:
            lines.append(f"    b.payoff({', '.join([path, *map(_number, payoffs[node])])})")
        elif mover == CHANCE:
            after = f", {path}" if histories[node] else ""
            chances = ", ".join(f"{label!r}: {p}" for label, p in outcomes[node].items())
            lines.append(f"    b.chance({{{chances}}}{after})")
        else:
            x = int(game.infoset[node])
            after = f"{path}, " if histories[node] else ""
            lines.append(
                f"    b.move({after}player={game.player_labels[mover]!r}, "
                f"infoset={game.infoset_labels[mover][x]!r}, "
                f"actions={_written(game.action_labels[mover][x])})"
            )
    return "\n".join([*lines, "    return b.build()", ""])


def _head(game: Game) -> list[str]:
    return [
        f"# The game {game.name!r}. Edit it, and call game() or run: accord solve FILE.py",
        "",
        "from accord import Game, GameBuilder",
        "",
        "",
        "def game() -> Game:",
        f"    b = GameBuilder({game.name!r}, players={list(game.player_labels)!r})",
    ]


def _histories(game: Game) -> list[tuple[str, ...]]:
    """The moves from the root to each node."""
    found: list[tuple[str, ...]] = []
    for node in range(game.n_nodes):
        above = int(game.parent[node])
        found.append(() if above == NO_NODE else (*found[above], game.history(node)[-1]))
    return found


def _outcomes(game: Game) -> dict[int, dict[str, str]]:
    """The probability of each outcome, as code, by chance node."""
    below: dict[int, list[int]] = {}
    for node in range(1, game.n_nodes):  # siblings in the order of their actions
        above = int(game.parent[node])
        if game.player[above] == CHANCE:
            below.setdefault(above, []).append(node)
    found: dict[int, dict[str, str]] = {}
    for above, nodes in below.items():
        labels = game.chance_labels[int(game.infoset[above])]
        doubles = game.chance_prob[nodes].tolist()
        chances = zip(chances_at(game, nodes), doubles, strict=True)
        numbers = [_number(p) if float(p) == double else repr(double) for p, double in chances]
        found[above] = dict(zip(labels, numbers, strict=True))
    return found


def _written(labels: Any) -> str:
    """Labels as the builder takes them: one string if none has blanks, else a list."""
    plain = all(label and not any(map(str.isspace, label)) for label in labels)
    return repr(" ".join(labels)) if plain else repr(list(labels))


def _number(value: Fraction) -> str:
    """A number as code: a literal if that stands for it, else a text such as ``'1/3'``."""
    rounded = float(value)
    if Fraction(repr(rounded)) == value and as_rational(rounded) == value:
        return repr(rounded).removesuffix(".0")
    return repr(written(value))
