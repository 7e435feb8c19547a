"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from accord._check import as_number
from accord.deviations.notions import KS, NAMES, Notion, as_notion, checked_k
from accord.errors import ArgumentError

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
    """Parse a finite number, such as ``0.25``, ``1e-6`` or ``1/3``."""
    try:
        return as_number("", str(text))  # defaults come through here too
    except ArgumentError:
        raise typer.BadParameter(f"must be a number; got {text!r}") from None


def parse_memory(text: str) -> int:
    """Parse a number of bytes with a unit, such as ``500MB`` or ``2 GiB``."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kMGT]?)(i?)B", str(text).strip())
    if match is None:
        raise typer.BadParameter(f"must be a size such as 500MB or 2GB; got {text!r}")
    number, prefix, binary = match.groups()
    return int(
        float(number) * (1024 if binary else 1000) ** ("kMGT".find(prefix) + 1 if prefix else 0)
    )


def whole_option(metavar: str, description: str) -> Any:
    """An option whose value is a whole number."""
    return typer.Option(parser=parse_whole, metavar=metavar, help=description)


def number_option(metavar: str, description: str) -> Any:
    """An option whose value is a number."""
    return typer.Option(parser=parse_number, metavar=metavar, help=description)


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


def _game(help_: str) -> Any:
    return typer.Argument(
        metavar="GAME", help=help_, autocompletion=complete_game, show_default=False
    )


def game_option(description: str) -> Any:
    """The option ``--game``."""
    return typer.Option("--game", metavar="GAME", help=description, autocompletion=complete_game)


_GAME = "Library name, OpenSpiel name, .efg or .nfg file, or Python code (FILE.py:NAME)."
_PLAYABLE = (
    "Library name, OpenSpiel name, .efg or .nfg file, or Python code that makes a game or an "
    "environment (FILE.py:NAME)."
)

GameName = Annotated[str, _game(_GAME)]
OptionalGameName = Annotated[str | None, _game(_GAME)]
OptionalPlayableName = Annotated[str | None, _game(_PLAYABLE)]
GameOrRun = Annotated[str, _game(f"{_GAME} Or the folder of a run, which has its own POLICY.")]
PlayableOrRun = Annotated[
    str, _game(f"{_PLAYABLE} Or the folder of a run, which has its own POLICY.")
]
PolicyName = Annotated[
    str | None,
    typer.Argument(
        metavar="POLICY",
        help="The folder of a run, a .json or .npz file, or `device` for the library's device for "
        "GAME.",
        show_default=False,
    ),
]
GameOfPolicy = Annotated[
    str | None,
    game_option("The game that the policy is for, or where the game of the run is now."),
]
GameOfRun = Annotated[
    str | None, game_option("Where the game is now, if it has moved since the run.")
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
    Notion,
    notion_option(
        "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
        "inf (bce); or efcce, afce or afcce."
    ),
]
Silence = Annotated[
    float | None,
    k_option(
        "Deviations after which the mediator is silent: 0 (nfcce), 1 (efce), 2, ..., inf (bce); "
        "by default the K of the run, or 1."
    ),
]
Components = Annotated[
    int | None,
    whole_option("N", "Save a mixture of N evenly spaced policies; by default at most 1000."),
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
Commits = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PLAYER",
        help="A player who commits to what is recommended, whether or not it is best for them; may "
        "be repeated.",
    ),
]
AtLeast = Annotated[
    list[str] | None,
    typer.Option(metavar="PLAYER=VALUE", help="Pay this player at least VALUE; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


Play = Annotated[
    bool,
    typer.Option(
        "--play",
        help="Play the OpenSpiel game GAME through its states; its tree is never built.",
    ),
]
History = Annotated[
    bool,
    typer.Option(
        "--history",
        help="With --play: let an infoset be all that a player was shown and did, for games whose "
        "own labels forget some of it, such as dark_hex.",
    ),
]
Payoffs = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="WORST BEST",
        help="The worst and the best payoff of a PettingZoo environment, for every agent; by "
        "default they are estimated from plays.",
    ),
]
StepSeconds = Annotated[
    float | None,
    number_option(
        "S",
        "Give up an environment that has not answered for S seconds; by default 600, or its "
        "own attribute step_seconds.",
    ),
]
Workers = Annotated[
    int | None,
    whole_option(
        "N", "Play an environment in N processes. Their number does not change the result."
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Play an environment on a Ray cluster: HOST:PORT, `auto` for the one that this "
        "machine is part of, or `local` for all cores of this machine. Needs ray.",
    ),
]


def check_target(target: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written, or that exists unless ``force`` is given."""
    if not target.absolute().parent.is_dir():
        raise ArgumentError(f"{target} cannot be written: there is no folder {target.parent}")
    if target.exists() and not force:
        raise ArgumentError(f"{target} exists; give --force to replace it")


def refuse_for_games(**options: object) -> None:
    """Refuse options that only environments have."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"--{name.replace('_', '-')} is for environments")


def refuse_with_resume(context: typer.Context, *names: str) -> None:
    """Refuse options that cannot change when a run is resumed."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "-k" if name == "k" else "--" + name.replace("_", "-")
            raise ArgumentError(f"{option} cannot change when a run is resumed; leave it out")
