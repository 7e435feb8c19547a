"""From a :class:`Game` to the text of an ``.efg`` file. ``efg.py`` describes the format.

Gambit reads numbers exactly and requires the probabilities of an event to sum to exactly one. So
the numbers that are written are those that the game's doubles stand for (``game/exact.py``).
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord._files import write_whole
from accord.errors import GameError
from accord.game.exact import Rationals, chances_at, exact_rewards
from accord.game.rationals import LARGEST_DENOMINATOR
from accord.game.tree import Game, checked_game, total_rewards
from accord.interop.efg_tokens import distinct


def write_efg(game: Game, path: str | PathLike[str]) -> None:
    """Write a game to a Gambit ``.efg`` file. The file appears only when it is complete.

    Raises:
        GameError: If the rewards along a play add up to more than a double can hold.
        ArgumentError: If the file cannot be written.
    """
    data = format_efg(game).encode("utf-8", errors="backslashreplace")
    write_whole(Path(fspath(path)), data)


def format_efg(game: Game) -> str:
    """The text of the ``.efg`` file of a game.

    Raises:
        GameError: If the rewards along a play add up to more than a double can hold.
    """
    _check_payoffs(checked_game(game))
    payoffs = exact_rewards(game)
    children = np.argsort(game.parent, kind="stable")[1:]  # without the root, which has no parent
    start = np.searchsorted(game.parent[children], np.arange(game.n_nodes + 1)).tolist()
    decisions: dict[tuple[int, int], str] = {}
    events: dict[tuple[int, Rationals], str] = {}
    outcomes: dict[tuple[Rationals, str], str] = {}
    rows: set[int] = set()  # rows of chance_labels whose number an event already has
    spare = len(game.chance_labels)  # last number used for further events with the same labels

    players = " ".join(map(quoted, game.player_labels))
    lines = [f"EFG 2 R {quoted(game.name)} {{ {players} }}", _comment(game), ""]
    for node, (i, x) in enumerate(zip(game.player.tolist(), game.infoset.tolist(), strict=True)):
        if i == TERMINAL:
            pays = payoffs[node], game.outcomes.get(node, "")
            if pays not in outcomes:
                numbers = ", ".join(map(written, pays[0]))
                outcomes[pays] = f't "" {len(outcomes) + 1} {quoted(pays[1])} {{ {numbers} }}'
            lines.append(outcomes[pays])
        elif i == CHANCE:
            probs = chances_at(game, children[start[node] : start[node + 1]].tolist())
            if (x, probs) not in events:
                spare += x in rows
                events[x, probs] = _event(game, x, spare if x in rows else x + 1, probs)
                rows.add(x)
            lines.append(events[x, probs])
        else:
            if (i, x) not in decisions:
                decisions[i, x] = _decision(game, i, x)
            lines.append(decisions[i, x])
    return "\n".join(lines) + "\n"


def _comment(game: Game) -> str:
    """The comment; OpenSpiel reads none with quotation marks in it."""
    return quoted(game.comment.replace('"', "'"))


def _decision(game: Game, player: int, x: int) -> str:
    actions = " ".join(map(quoted, game.action_labels[player][x]))
    label = quoted(game.infoset_labels[player][x])
    return f'p "" {player + 1} {x + 1} {label} {{ {actions} }} 0'


def _event(game: Game, row: int, number: int, probs: Rationals) -> str:
    labels = distinct(game.chance_labels[row])  # OpenSpiel merges outcomes with equal labels
    outcomes = zip(map(quoted, labels), map(_chance, probs), strict=True)
    return f'c "" {number} "" {{ {" ".join(f"{label} {p}" for label, p in outcomes)} }} 0'


def _chance(value: Fraction) -> str:
    """A probability; OpenSpiel accepts fractions of 32-bit integers and any decimals."""
    return str(value) if value.denominator <= LARGEST_DENOMINATOR else written(value)


def _check_payoffs(game: Game) -> None:
    total = total_rewards(game, np.arange(game.n_nodes))
    if not np.isfinite(total).all():
        node = int(np.argwhere(~np.isfinite(total))[0][0])
        raise GameError(
            "the rewards along a play must add up to a finite number; they do not on the path to "
            f"node {node}; rescale the payoffs"
        )


def quoted(label: str) -> str:
    """A label in quotation marks."""
    text = label.replace('"', '\\"')
    return f'"{text} "' if text.endswith("\\") else f'"{text}"'


@lru_cache(maxsize=4096)
def written(value: Fraction) -> str:
    """A number as files have it: a decimal if it is one, else a fraction."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return str(value)
    with localcontext() as context:
        context.prec = len(str(value.numerator)) + len(str(value.denominator)) + 400
        text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    return text.rstrip("0").removesuffix(".") if "." in text else text
