"""The name of a library game is the text that builds it again, such as ``separation:k=2``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from accord.game.tree import Game

P = ParamSpec("P")


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
