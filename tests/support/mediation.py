"""Games whose timing matters, and damaged states of plays."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import accord
from accord.game.tree import Game


def crossed(stop: bool) -> Game:
    """Heads: Ann decides before Bob; tails: after. If ``stop``, the first may end the play."""
    b = accord.GameBuilder("crossed", players=["Ann", "Bob"])
    b.chance(outcomes={"heads": 0.5, "tails": 0.5})
    b.move("heads", player="Ann", infoset="a", actions="stop go")
    b.move("tails", player="Bob", infoset="b", actions="stop go")
    for first in ("go",) if stop else ("go", "stop"):
        b.move(f"heads {first}", player="Bob", infoset="b", actions="stop go")
        b.move(f"tails {first}", player="Ann", infoset="a", actions="stop go")
    for side in ("heads", "tails"):
        if stop:
            b.payoff(f"{side} stop", 0, 0)
        for second in ("stop", "go"):
            for first in ("go",) if stop else ("go", "stop"):
                b.payoff(f"{side} {first} {second}", 1, 1)
    return b.build()


def delayed() -> Game:
    """Bob decides at once after heads, and after tails only if Ann lets him."""
    b = accord.GameBuilder("delayed", players=["Ann", "Bob"])
    b.chance(outcomes={"heads": 0.5, "tails": 0.5})
    b.move("tails", player="Ann", infoset="a", actions="stop go")
    b.move("heads", "tails go", player="Bob", infoset="b", actions="l r")
    b.payoff("tails stop", 0, 0)
    for way in ("heads", "tails go"):
        b.payoff(f"{way} l", 1, 0)
        b.payoff(f"{way} r", 0, 1)
    return b.build()


def overtaken() -> Game:
    """After heads Ann decides while Bob does; Bob decides again and should not know the coin."""
    b = accord.GameBuilder("overtaken", players=["Ann", "Bob"])
    b.chance(outcomes={"heads": 0.5, "tails": 0.5})
    b.move("heads", player="Ann", infoset="a", actions="l r")
    ways = ("heads l", "heads r", "tails")
    b.move(*ways, player="Bob", infoset="first", actions="on")
    b.move(*(f"{way} on" for way in ways), player="Bob", infoset="again", actions="l r")
    for way in ways:
        for action in "lr":
            b.payoff(f"{way} on {action}", 1, 1)
    return b.build()


def substitutes() -> Game:
    """Either Ann or Carl lets Bob decide, and Bob should not know who."""
    b = accord.GameBuilder("substitutes", players=["Ann", "Bob", "Carl"])
    b.chance(outcomes={"heads": 0.5, "tails": 0.5})
    b.move("heads", player="Ann", infoset="a", actions="stop go")
    b.move("tails", player="Carl", infoset="c", actions="stop go")
    b.move("heads go", "tails go", player="Bob", infoset="b", actions="l r")
    for side in ("heads", "tails"):
        b.payoff(f"{side} stop", 0, 0, 0)
        for action in "lr":
            b.payoff(f"{side} go {action}", 1, 1, 1)
    return b.build()


WRONG = [None, True, False, 0, 1, -1, 7, 10**30, 0.5, "", "0", [], {}, [[0]], [[0, 9]], [[True, 0]]]


def mutants(state: Any) -> Iterator[Any]:
    """The state with one value removed or replaced, in every way that is easily tried."""
    for path in list(_paths(state)):
        for wrong in (*WRONG, ...):
            damaged = copy.deepcopy(state)
            inside = damaged
            for key in path[:-1]:
                inside = inside[key]
            if wrong is ...:
                del inside[path[-1]]
            else:
                inside[path[-1]] = wrong
            yield damaged


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    """The ways to every value inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inside in items:
        yield (key,)
        if isinstance(inside, (dict, list)):
            yield from ((key, *more) for more in _paths(inside))
