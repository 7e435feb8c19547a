"""Environments by name: a function or class in a Python file or module, or an OpenSpiel game.

    ``env.py:make_env``        the function, class or object ``make_env`` in the file ``env.py``
    ``my.package:make_env``    the same in an installed module, or one in the current folder
    ``leduc_poker``            OpenSpiel's game of that name, if it is to be *played*

A function or class is called without arguments. What it returns is an environment, or a PettingZoo
environment, AEC or parallel, together with its payoff bounds.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accord.errors import ArgumentError, SimulatorError
from accord.play.environment import check_environment, is_environment

NAME = re.compile(r"(?P<place>.+\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)")


def names_environment(text: str) -> bool:
    """Whether ``text`` has the form of an environment's name, not of a game's."""
    return NAME.fullmatch(text) is not None


def load_environment(
    source: str, *, payoff_bounds: Sequence[float] | None = None, play: bool = False
) -> Any:  # an Environment
    """Load an environment by name.

    Args:
        source: See above.
        payoff_bounds: ``(worst, best)`` of a PettingZoo environment, for all agents.
        play: Whether ``source`` is the name of an OpenSpiel game.

    Raises:
        ArgumentError: If there is no such file, module or name, or what it gives is not an
            environment.
        SimulatorError: If the code raises an exception.
    """
    if play:
        from accord.interop.openspiel_env import OpenSpielEnvironment

        return OpenSpielEnvironment(source)
    match = NAME.fullmatch(source)
    if match is None:
        raise ArgumentError(
            f"an environment is named FILE.py:NAME or MODULE:NAME; got {source!r}; to play an "
            "OpenSpiel game use --play"
        )
    place, name = match["place"], match["name"]
    try:
        module = _file(Path(place)) if place.endswith(".py") else _module(place)
        if not hasattr(module, name):
            raise ArgumentError(f"{place} has no {name!r}")
        thing = getattr(module, name)
        made = thing() if callable(thing) and not is_environment(thing) else thing
    except ArgumentError:
        raise
    except Exception as error:
        raise SimulatorError(f"{source} raised {type(error).__name__}: {error}") from error
    return as_environment(made, payoff_bounds)


def as_environment(made: Any, payoff_bounds: Sequence[float] | None = None) -> Any:
    """``made`` as an environment, if it is one or a PettingZoo environment with bounds."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(made).__mro__}
    if "pettingzoo" in kinds and not is_environment(made):
        from accord.interop.pettingzoo import PettingZooEnvironment

        if payoff_bounds is None:
            raise ArgumentError(
                f"{made} is a PettingZoo environment, which does not say what it can pay; give "
                "--payoffs WORST BEST, or return accord.PettingZooEnvironment(env, payoff_bounds)"
            )
        worst, best = payoff_bounds
        return PettingZooEnvironment(made, (worst, best))
    check_environment(made)
    return made


def _file(path: Path) -> Any:
    if not path.is_file():
        raise ArgumentError(f"{path} must be a Python file, but there is none")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # for pickling
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ArgumentError(
            f"there is no module {error.name!r}; give the path of a file as FILE.py:NAME, or "
            "install the module"
        ) from None
