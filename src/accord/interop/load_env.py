"""Environments by name: made by Python code, or an OpenSpiel game that is to be played.

Code is named as in ``interop/python_files.py``. What it makes is an environment, or a PettingZoo
environment, AEC or parallel, or a vector environment, whose payoff bounds are given with it or
estimated from plays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.errors import ArgumentError
from accord.interop.python_files import load_python, names_python
from accord.interop.vector_plays import is_vector
from accord.play.environment import check_environment, is_environment, known_package


def load_environment(
    source: str,
    *,
    payoff_bounds: Sequence[float] | None = None,
    play: bool = False,
    history: bool = False,
) -> Any:  # an Environment
    """Load an environment by name.

    Args:
        source: ``FILE.py:NAME``, ``MODULE:NAME``, or the name of an OpenSpiel game.
        payoff_bounds: ``(worst, best)`` of a PettingZoo environment, for all agents; by default
            they are estimated from plays.
        play: Whether ``source`` is the name of an OpenSpiel game.
        history: Whether the infosets of that game are whole histories.

    Raises:
        ArgumentError: If there is no such file, module or name, or what it gives is not an
            environment.
        SimulatorError: If the code raises an exception.
    """
    if play:
        from accord.interop.openspiel_env import OpenSpielEnvironment

        return OpenSpielEnvironment(source, history=history)
    if not names_python(source):
        raise ArgumentError(
            f"an environment is named FILE.py:NAME or MODULE:NAME; got {source!r}; to play an "
            "OpenSpiel game use --play"
        )
    return as_environment(load_python(source), payoff_bounds)


def as_environment(made: Any, payoff_bounds: Sequence[float] | None = None) -> Any:
    """``made`` as an environment, if it is one, or a PettingZoo or vector environment."""
    if is_environment(made):
        return made
    if known_package(made) == "pettingzoo" or is_vector(made):
        from accord.interop.pettingzoo import PettingZooEnvironment

        pair = None if payoff_bounds is None else (payoff_bounds[0], payoff_bounds[1])
        return PettingZooEnvironment(made, pair)
    check_environment(made)
    return made
