"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from accord.deviations.notions import KS, NAMES, Notion, as_notion, checked_k
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.equilibrium.policy import CorrelatedPolicy
    from accord.game.tree import Game

DEVICE = "device"
T = TypeVar("T")


def parse_k(text: str) -> float:
    """Parse a number of deviations, or the name of a notion that has one."""
    return _parsed(checked_k, text)


def parse_notion(text: str) -> Notion:
    """Parse a number of deviations, or the name of a notion."""
    return _parsed(as_notion, text)


def _parsed(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(str(text))  # defaults come through here too
    except ArgumentError as error:
        raise typer.BadParameter(str(error).removeprefix("k ")) from None


def complete_k(incomplete: str) -> list[str]:
    """Complete the name of a notion that has a K in the shell."""
    return [name for name in complete_notion(incomplete) if name.upper() in KS]


def complete_notion(incomplete: str) -> list[str]:
    """Complete the name of a notion in the shell."""
    return [name.lower() for name in NAMES if name.lower().startswith(incomplete.lower())]


def parse_whole(text: str) -> int:
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:  # also for over 4,300 digits
        raise typer.BadParameter(f"must be a whole number; got {text!r:.80}") from None


def parse_number(text: str) -> float:
    """Parse a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise typer.BadParameter(f"must be a number; got {text!r}")
    return value


def parse_memory(text: str) -> int:
    """Parse a number of bytes with a unit, such as ``500MB`` or ``2 GiB``."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kMGT]?)(i?)B", str(text).strip())
    if match is None:
        raise typer.BadParameter(f"must be a size such as 500MB or 2GB; got {text!r}")
    number, prefix, binary = match.groups()
    return int(
        float(number) * (1024 if binary else 1000) ** ("kMGT".find(prefix) + 1 if prefix else 0)
    )


def choice(names: Iterable[str], description: str) -> Any:
    """An option whose value is one of ``names``."""
    known = list(names)

    def parse(text: str) -> str:
        if text in known:
            return text
        raise typer.BadParameter(f"must be one of {', '.join(known)}; got {text!r}")

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return typer.Option(
        parser=parse, metavar=f"[{'|'.join(known)}]", help=description, autocompletion=complete
    )


def complete_game(incomplete: str) -> list[str]:
    """Complete the name of a game in the shell."""
    from accord.interop.load import game_names

    return [name for name in game_names() if name.startswith(incomplete)]


def _game(help_: str = "Library name, OpenSpiel name, or .efg or .nfg file.") -> Any:
    return typer.Argument(
        metavar="GAME", help=help_, autocompletion=complete_game, show_default=False
    )


_PLAYABLE = "Library name, OpenSpiel name, .efg or .nfg file, or environment (FILE.py:NAME)."

GameName = Annotated[str, _game()]
OptionalGameName = Annotated[str | None, _game()]
PlayableName = Annotated[str, _game(_PLAYABLE)]
OptionalPlayableName = Annotated[str | None, _game(_PLAYABLE)]
PolicyName = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help="A .json or .npz file, or `device` for the library's device for GAME.",
        show_default=False,
    ),
]


def k_option(description: str) -> Any:
    """The option ``-k`` for notions that have a K."""
    return typer.Option(
        "-k", parser=parse_k, autocompletion=complete_k, metavar="K", help=description
    )


def notion_option(description: str) -> Any:
    """The option ``-k`` or ``--notion`` for all notions."""
    return typer.Option(
        "-k",
        "--notion",
        parser=parse_notion,
        autocompletion=complete_notion,
        metavar="K",
        help=description,
    )


K = Annotated[
    float,
    k_option(
        "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
        "inf (bce)."
    ),
]
Silence = Annotated[
    float,
    k_option("Deviations after which the mediator is silent: 0 (nfcce), 1 (efce), 2, ..., inf."),
]
Components = Annotated[
    int | None,
    typer.Option(
        parser=parse_whole,
        metavar="N",
        help="Save a mixture of N evenly spaced policies; by default at most 1000.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep the run in this new folder; it can be resumed."),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Resume the run in DIR. Only limits may change; give GAME if its file moved.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


Play = Annotated[
    bool,
    typer.Option(
        "--play",
        help="Play the OpenSpiel game GAME through its states; its tree is never built.",
    ),
]
Payoffs = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="WORST BEST",
        help="The worst and the best payoff of a PettingZoo environment, for every agent.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        parser=parse_whole,
        metavar="N",
        help="Play an environment in N processes. Their number does not change the result.",
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Play an environment on a Ray cluster: HOST:PORT, `auto` for the one that this "
        "machine is part of, or `local` for all cores of this machine. Needs accord[ray].",
        show_default=False,
    ),
]


def environment_source(
    game: str | None, *, play: bool, payoffs: tuple[float, float] | None
) -> dict[str, Any] | None:
    """How to load the environment that the arguments name; None if they name a game."""
    from accord.interop.load_env import names_environment

    if game is None or not (play or names_environment(game)):
        if payoffs is not None:
            raise ArgumentError("--payoffs is for PettingZoo environments, FILE.py:NAME")
        return None
    bounds = None if payoffs is None else list(payoffs)
    return {"source": game, "payoff_bounds": bounds, "play": play}


def refuse_for_games(**options: object) -> None:
    """Refuse options that only environments have."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"--{name} is for environments")


def refuse_with_resume(context: typer.Context, *names: str) -> None:
    """Refuse options that cannot change when a run is resumed."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "-k" if name == "k" else "--" + name.replace("_", "-")
            raise ArgumentError(f"{option} cannot change when a run is resumed; leave it out")


def load_policy_of(name: str, game: Game, policy: str) -> CorrelatedPolicy:
    """The policy in a file, or the library's device for the game called ``name``."""
    from accord.equilibrium.policy import CorrelatedPolicy
    from accord.equilibrium.policy_files import load_policy

    if policy == DEVICE:
        from accord.game.library import library_device

        return CorrelatedPolicy.from_device(game, library_device(name))
    return load_policy(policy, game)


def is_policy(name: str) -> bool:
    """Whether ``name`` is that of a policy, not of a game."""
    return name == DEVICE or Path(name).suffix in (".json", ".npz")
