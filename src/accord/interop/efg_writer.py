"""From a :class:`Game` to the text of an ``.efg`` file. ``efg.py`` describes the format.

Gambit reads numbers exactly and requires the probabilities of an event to sum to exactly one. A
game holds doubles. Each double stands for the interval of reals that round to it, so we look for
one number in each interval such that they sum to one: first the simplest rationals (three times
1/3), then the shortest decimals, with last digits shifted within the intervals. OpenSpiel can read
these: it accepts rationals of 32-bit integers and any decimals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.equilibrium.policy_files import write_whole
from accord.errors import GameError
from accord.game.tree import Game, checked_game, total_rewards
from accord.interop.efg_tokens import distinct

_LARGEST_DENOMINATOR = 10**9
_SMALL_DENOMINATOR = 1000


def write_efg(game: Game, path: str | PathLike[str]) -> None:
    """Write a game to a Gambit ``.efg`` file. The file appears only when it is complete.

    Raises:
        GameError: If the rewards along a play add up to more than a double can hold.
        ArgumentError: If the file cannot be written.
    """
    data = format_efg(game).encode("utf-8", errors="backslashreplace")
    write_whole(Path(fspath(path)), lambda file: file.write(data))


def format_efg(game: Game) -> str:
    """The text of the ``.efg`` file of a game.

    Raises:
        GameError: If the rewards along a play add up to more than a double can hold.
    """
    payoffs = _payoffs(checked_game(game))
    children = np.argsort(game.parent, kind="stable")[1:]  # without the root, which has no parent
    start = np.searchsorted(game.parent[children], np.arange(game.n_nodes + 1)).tolist()
    decisions: dict[tuple[int, int], str] = {}
    events: dict[tuple[int, tuple[float, ...]], str] = {}
    outcomes: dict[bytes, str] = {}
    rows: set[int] = set()  # rows of chance_labels whose number an event already has
    spare = len(game.chance_labels)  # last number used for further events with the same labels

    players = " ".join(map(quoted, game.player_labels))
    lines = [f"EFG 2 R {quoted(game.name)} {{ {players} }}", '""', ""]
    for node, (i, x) in enumerate(zip(game.player.tolist(), game.infoset.tolist(), strict=True)):
        if i == TERMINAL:
            pays = payoffs[node].tobytes()
            if pays not in outcomes:
                numbers = ", ".join(map(written, payoffs[node].tolist()))
                outcomes[pays] = f't "" {len(outcomes) + 1} "" {{ {numbers} }}'
            lines.append(outcomes[pays])
        elif i == CHANCE:
            below = children[start[node] : start[node + 1]]
            probs = tuple(game.chance_prob[below].tolist())
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


def _decision(game: Game, player: int, x: int) -> str:
    actions = " ".join(map(quoted, game.action_labels[player][x]))
    label = quoted(game.infoset_labels[player][x])
    return f'p "" {player + 1} {x + 1} {label} {{ {actions} }} 0'


def _event(game: Game, row: int, number: int, probs: tuple[float, ...]) -> str:
    labels = distinct(game.chance_labels[row])  # OpenSpiel merges outcomes with equal labels
    outcomes = zip(map(quoted, labels), _exact_probabilities(probs), strict=True)
    return f'c "" {number} "" {{ {" ".join(f"{label} {p}" for label, p in outcomes)} }} 0'


def _payoffs(game: Game) -> Floats:
    """``[n_nodes, n_players]`` sums of the rewards from the root to each node."""
    total = total_rewards(game, np.arange(game.n_nodes))
    if not np.isfinite(total).all():
        node = int(np.argwhere(~np.isfinite(total))[0][0])
        raise GameError(
            "the rewards along a play must add up to a finite number; they do not on the path to "
            f"node {node}; rescale the payoffs"
        )
    return total + 0.0  # no negative zero


def quoted(label: str) -> str:
    """A label in quotation marks."""
    text = label.replace('"', '\\"')
    return f'"{text} "' if text.endswith("\\") else f'"{text}"'


@lru_cache(maxsize=4096)
def written(value: float) -> str:
    """A short number without exponent that reads back as the same double."""
    text = repr(value)
    if len(text) > 10:
        simple = Fraction(value).limit_denominator(_SMALL_DENOMINATOR)
        if abs(simple.numerator) < 2**31 and float(simple) == value:
            return str(simple)
    text = format(Decimal(text), "f")
    return text.removesuffix(".0")


@lru_cache(maxsize=4096)
def _exact_probabilities(probs: tuple[float, ...]) -> tuple[str, ...]:
    """Numbers that sum to exactly one and read back as the same doubles.

    They exist for the probabilities of a game (``game/chance.py``), except in borderline cases of
    rounding; there the doubles are first divided by their sum.
    """
    simple = _as_rationals(probs)
    if simple is not None:
        return simple
    total = sum(map(Fraction, probs))
    exact = [Fraction(p) / total for p in probs]
    decimals = _as_decimals(probs) or _as_decimals(tuple(map(float, exact)))
    return decimals or tuple(map(str, exact))


def _as_rationals(probs: Sequence[float]) -> tuple[str, ...] | None:
    found = [_simple_rational(p) for p in probs]
    simple = [p for p in found if p is not None]
    if len(simple) < len(found):
        return None
    common = 1
    for denominator in {p.denominator for p in simple}:
        common = math.lcm(common, denominator)
        if common > _LARGEST_DENOMINATOR**2:  # unrelated denominators will not sum to one
            return None
    if sum(p.numerator * (common // p.denominator) for p in simple) != common:
        return None
    return tuple(map(str, simple))


@lru_cache(maxsize=4096)
def _simple_rational(value: float) -> Fraction | None:
    limit = 10
    while limit <= _LARGEST_DENOMINATOR:
        simple = Fraction(value).limit_denominator(limit)
        if float(simple) == value:
            return simple
        limit *= 10
    return None


def _as_decimals(probs: Sequence[float]) -> tuple[str, ...] | None:
    """The shortest decimals, with last digits shifted within rounding so that the sum is one."""
    digits = 4 + max(len(format(Decimal(repr(p)), "f").partition(".")[2]) for p in probs)
    one = 10**digits
    units = [int(Fraction(repr(p)) * one) for p in probs]
    missing = one - sum(units)
    for j in sorted(range(len(probs)), key=lambda j: -probs[j]):
        if not missing:
            break
        p = Fraction(probs[j])
        lowest = (p + Fraction(math.nextafter(probs[j], 0.0))) / 2 * one
        highest = (p + Fraction(math.nextafter(probs[j], 2.0))) / 2 * one
        shifted = min(max(units[j] + missing, math.floor(lowest) + 1), math.ceil(highest) - 1)
        missing -= shifted - units[j]
        units[j] = shifted
    return None if missing else tuple(_decimal(n, digits) for n in units)


def _decimal(units: int, digits: int) -> str:
    text = str(units).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").removesuffix(".")
