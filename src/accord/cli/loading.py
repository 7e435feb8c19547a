"""Names on the command line become games, environments and policies here.

A name that somebody types may be that of Python code, which is then run. The name in the folder of
a run is not run: the folder may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord._check import as_number
from accord.cli.arguments import refuse_for_games
from accord.errors import ArgumentError, MismatchError

if TYPE_CHECKING:
    from accord.deviations.notions import Notion
    from accord.equilibrium.policy import CorrelatedPolicy
    from accord.game.tree import Game

DEVICE = "device"
POLICY_FORMS = "the folder of a run, a .json or .npz policy, or `device`"


def load_game(name: str) -> Game:
    """The game called ``name``: of the library, of OpenSpiel, in a file, or made by Python code."""
    from accord.interop import load
    from accord.interop.python_files import names_python

    return load.load_python_game(name) if names_python(name) else load.load_game(name)


def load_given(name: str | None) -> Game | None:
    """The game of an option that may be left out."""
    return None if name is None else load_game(name)


def load_game_of(folder: Path, name: str, given: str | None) -> Game:
    """The game of the run in ``folder``: the one that is ``given``, else the one it calls ``name``.

    Raises:
        ArgumentError: If ``name`` is that of Python code.
    """
    if given is not None:
        return load_game(given)
    from accord.reports import source

    return source.load_game_of(folder, name)


def load_playable(
    name: str,
    *,
    play: bool = False,
    history: bool = False,
    payoffs: Sequence[str] | None = None,
    step_seconds: float | None = None,
) -> tuple[Any, dict[str, Any] | None]:
    """The game called ``name``; or an environment, and how a run records it.

    Args:
        name: The name of a game, or of Python code that makes a game or an environment.
        play: Whether to play the OpenSpiel game of this name through its states.
        history: Whether infosets are then whole histories.
        payoffs: The worst and the best payoff of a PettingZoo environment.
        step_seconds: Seconds in which an environment must answer.
    """
    from accord.interop.load import is_game, python_game
    from accord.interop.load_env import as_environment, load_environment
    from accord.interop.python_files import load_python, names_python

    bounds = None if payoffs is None else _bounds(payoffs)
    record: dict[str, Any] = {"source": name, "payoff_bounds": bounds, "play": play}
    record |= {"history": True} if history else {}
    if history and not play:
        raise ArgumentError("--history is for OpenSpiel games that are played: give --play, too")
    if play:
        return _patient(load_environment(**record), step_seconds), record
    made = load_python(name) if names_python(name) else None
    if made is not None and not is_game(made):
        return _patient(as_environment(made, bounds), step_seconds), record
    if payoffs is not None:
        raise ArgumentError("--payoffs is for PettingZoo environments, FILE.py:NAME")
    refuse_for_games(step_seconds=step_seconds)
    return (load_game(name) if made is None else python_game(name, made)), None


def load_playable_of(
    folder: Path,
    given: str | None,
    *,
    play: bool = False,
    history: bool = False,
    payoffs: Sequence[str] | None = None,
    step_seconds: float | None = None,
) -> tuple[Any, dict[str, Any] | None]:
    """The game or environment of the run in ``folder``; arguments override what it records.

    Raises:
        ArgumentError: If it is made by Python code and not ``given``.
        MismatchError: If another environment is ``given``.
    """
    from accord.interop.load_env import load_environment
    from accord.interop.python_files import names_python
    from accord.reports.source import refuse_code
    from accord.runs.folder import RunFolder

    request = RunFolder.open(folder).request
    if not request.in_environment:
        refuse_for_games(
            step_seconds=step_seconds, play=play or None, history=history or None, payoffs=payoffs
        )
        return load_game_of(folder, request.game, given), None
    record = dict(getattr(request, "environment", None) or {})
    if given is not None:
        record["source"] = given
        if names_python(given):
            record["play"] = False
        elif not (play or record.get("play")):
            raise ArgumentError(
                f"{folder} is a run in the environment {request.game}; name that as GAME: "
                "FILE.py:NAME or MODULE:NAME, or the name of an OpenSpiel game with --play; got "
                f"{given!r}"
            )
    elif not record:
        raise ArgumentError(
            f"{folder} is a run that Python code began in {request.game}, so it does not say how "
            "to make that environment; name it, as GAME: FILE.py:NAME or MODULE:NAME, or the name "
            "of an OpenSpiel game with --play"
        )
    elif not record.get("play"):
        refuse_code(folder, record["source"])
    record |= {"play": True} if play else {}
    record |= {"history": True} if history else {}
    record |= {} if payoffs is None else {"payoff_bounds": _bounds(payoffs)}
    env = load_environment(**record)
    if env.name != request.game:
        raise MismatchError(
            f"{folder} is a run in the environment {request.game!r}; GAME must make it, but "
            f"{record['source']} makes {env.name!r}"
        )
    return _patient(env, step_seconds), record


def _bounds(payoffs: Sequence[str]) -> list[float]:
    worst, best = (as_number("--payoffs", payoff) for payoff in payoffs)
    return [worst, best]


def _patient(env: Any, step_seconds: float | None) -> Any:
    """``env``, which must answer within ``step_seconds`` if they are given."""
    if step_seconds is not None:
        if not step_seconds > 0.0:
            raise ArgumentError(f"--step-seconds must be positive; got {step_seconds:g}")
        env.step_seconds = step_seconds
    return env


def is_policy(name: str) -> bool:
    """Whether ``name`` is that of a policy, not of a game."""
    return name == DEVICE or Path(name).suffix in (".json", ".npz")


def run_folder(name: str) -> Path | None:
    """The folder called ``name``; None if it is something else."""
    return Path(name) if name != DEVICE and Path(name).is_dir() else None


def load_policy(name: str, game: Game | str | None) -> CorrelatedPolicy:
    """The policy called ``name``: of a run in a folder, in a file, or the library's device.

    Args:
        name: The folder or file, or ``device``.
        game: The game of the policy, or its name. The folder of a run knows its own.
    """
    if isinstance(game, str):
        game = load_game(game)
    if (folder := run_folder(name)) is not None:
        from accord.reports.source import read_policy_in_game

        return read_policy_in_game(folder, game)
    if not is_policy(name):
        raise ArgumentError(f"a policy must be {POLICY_FORMS}; got {name!r}")
    if game is None:
        raise ArgumentError("a policy can only be read with its game; give --game GAME")
    if name == DEVICE:
        from accord.equilibrium.policy import CorrelatedPolicy
        from accord.game.library import library_device

        return CorrelatedPolicy.from_device(game, library_device(game.name))
    from accord.equilibrium import policy_files

    return policy_files.load_policy(name, game)


def game_and_policy(first: str, second: str | None) -> tuple[str | None, str]:
    """GAME and POLICY from the arguments of a command: both, or only the folder of a run."""
    if second is not None:
        return first, second
    if run_folder(first) is None:
        raise ArgumentError(
            f"POLICY is missing; give GAME and POLICY, which is {POLICY_FORMS}, or the folder of a "
            f"run alone, which {first!r} is not"
        )
    return None, first


def notion_of(policy: str) -> Notion:
    """The notion of the run, if ``policy`` is the folder of one, else EFCE."""
    from accord.deviations.notions import EFCE

    if (folder := run_folder(policy)) is None:
        return EFCE
    from accord.runs.folder import RunFolder

    return RunFolder.open(folder).request.notion


def k_of(policy: str) -> float:
    """The K of the mediator: that of the run, if ``policy`` is the folder of one, else 1."""
    notion = notion_of(policy)
    if notion.k is None:
        raise ArgumentError(
            f"the mediator runs K-EFCE, and {policy} is a run for {notion}: players could gain by "
            "disobeying; certify it at some K and give that with -k"
        )
    return notion.k
