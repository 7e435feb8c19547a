"""Environments by name: made by Python code, or an OpenSpiel game that is to be played.

Code is named as in ``interop/python_files.py``. What it makes is an environment, or a PettingZoo
environment, AEC or parallel, together with its payoff bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.errors import ArgumentError
from accord.interop.python_files import load_python, names_python
from accord.play.environment import check_environment, is_environment, known_package


def load_environment(
    source: str, *, payoff_bounds: Sequence[float] | None = None, play: bool = False
) -> Any:  # an Environment
    """Load an environment by name.

    Args:
        source: ``FILE.py:NAME``, ``MODULE:NAME``, or the name of an OpenSpiel game.
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
    if not names_python(source):
        raise ArgumentError(
            f"an environment is named FILE.py:NAME or MODULE:NAME; got {source!r}; to play an "
            "OpenSpiel game use --play"
        )
    return as_environment(load_python(source), payoff_bounds)


def as_environment(made: Any, payoff_bounds: Sequence[float] | None = None) -> Any:
    """``made`` as an environment, if it is one or a PettingZoo environment with bounds."""
    if known_package(made) == "pettingzoo" and not is_environment(made):
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
