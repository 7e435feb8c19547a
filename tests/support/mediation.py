"""Games whose timing matters, and damaged states of plays."""

from __future__ import annotations

import copy
import random
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


def mutants(state: Any, rng: random.Random) -> Any:
    """The state with one value replaced, at any depth."""
    state = copy.deepcopy(state)
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inside in list(items):
            places.append((value, key))
            if isinstance(inside, (dict, list)):
                visit(inside)

    visit(state)
    value, key = rng.choice(places)
    if isinstance(value, dict) and rng.random() < 0.2:
        del value[key]
    else:
        value[key] = rng.choice([None, True, -1, 7, 10**30, 0.5, "", "x", [], {}, [[0]], [[0, 9]]])
    return state
