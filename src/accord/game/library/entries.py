"""What every entry of the library has: the name of its games and, perhaps, a device.

The name of a library game is the text that builds it again, such as ``separation:k=2``.

A device draws one pure policy per player before the game, and recommends its actions when infosets
are reached. It is the mediator of Section 2 of Song, Mei, Bai 2022. As plain data it is a list of
weighted draws, each with one mapping per player from infoset labels to action labels. Weights are
positive and sum to one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec

from accord.game.tree import Game

P = ParamSpec("P")

Draws = tuple[tuple[float, tuple[Mapping[str, str], ...]], ...]
"""A device as plain data."""


def named(name: str) -> Callable[[Callable[P, Game]], Callable[P, Game]]:
    """Decorate a constructor so that its games are called ``name:parameter=value,...``."""

    def decorate(build: Callable[P, Game]) -> Callable[P, Game]:
        signature = inspect.signature(build)

        @wraps(build)
        def built(*args: P.args, **kwargs: P.kwargs) -> Game:
            given = signature.bind(*args, **kwargs).arguments
            text = ",".join(f"{key}={value}" for key, value in given.items())
            return build(*args, **kwargs).replace(name=f"{name}:{text}" if text else name)

        return built

    return decorate
