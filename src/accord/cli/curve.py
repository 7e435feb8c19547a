"""``accord curve``: the best equilibrium against a parameter of the game."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._check import as_number
from accord._format import number
from accord.cli.arguments import AsJson, AtLeast, Commits, GameName, notion_option, number_option
from accord.cli.loading import load_game
from accord.cli.optimize import floors_of, parsed_objective
from accord.cli.terminal import (
    INTERRUPTED,
    announced_compilation,
    print_json,
    print_table,
    print_text,
    say,
)
from accord.deviations.notions import EFCE, Notion
from accord.errors import ArgumentError, GameError
from accord.game.rationals import as_rational

if TYPE_CHECKING:
    from accord.game.tree import Game
    from accord.runs.curve import Curve

NOT_PROVED = 1
MOST = 100_000


def curve(
    game: GameName,
    parameter: Annotated[
        str,
        typer.Argument(
            metavar="PARAMETER",
            help="X=FROM:TO:STEP: the name that stands for the parameter in GAME, and its values; "
            "or a list such as X=1,2,5.",
            show_default=False,
        ),
    ],
    ks: Annotated[
        list[Notion] | None,
        notion_option("As in optimize; by default 1. May be repeated: each has a curve."),
    ] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="OBJECTIVE",
            help="As in optimize; by default welfare. May be repeated: each has a curve.",
        ),
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize", help="Minimize the objectives instead.")
    ] = False,
    commits: Commits = None,
    at_least: AtLeast = None,
    seconds: Annotated[
        float | None,
        number_option("S", "Stop each point after S seconds."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the points here, and draw curve.svg and curve.html, a page with the device "
            "of each point; the same command continues a curve.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best equilibrium for many values of a parameter: values, bounds and payoffs.

    Exits with 1 if the value of a point is not proved to be the best.

    \b
    Examples:
        accord curve persuasion:prior=x x=0.05:0.95:0.05 --objective player=prosecutor
        accord curve "sheriff(num_rounds=1,max_items=n)" n=1:3:1 -k 0 -k 1 --out runs/sheriff
    """
    name, xs = parsed_parameter(parameter)
    place = re.compile(rf"(?<==)\s*{re.escape(name)}\s*(?=[,)]|$)")
    if not place.search(game):
        raise ArgumentError(
            f"GAME must have the parameter, such as kuhn:players={name}; got {game!r}, which has "
            f"no ={name}"
        )
    goals = [parsed_objective(one) for one in objectives or ["welfare"]]

    from accord.runs.curve import curve as find_curve

    done = 0

    def show(point: str, result: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        say(f"{done}: {point}, value {number(result['value'])}")

    def make(x: float) -> Game:
        given = place.sub(written(x), game)
        try:
            return load_game(given)
        except (ArgumentError, GameError) as error:
            raise ArgumentError(f"{given}: {error}") from error

    try:
        with announced_compilation():
            found = find_curve(
                make, xs, ks or [EFCE],
                goals, minimize=minimize, commits=commits or (),
                at_least=floors_of(at_least), seconds=seconds, name=game, parameter=name,
                folder=out, progress=show,
            )  # fmt: skip
    except KeyboardInterrupt:
        if out is not None:
            say("points that are done are kept; repeat the command to continue")
        raise typer.Exit(INTERRUPTED) from None
    if out is not None:
        from accord.reports.write import write_curve

        write_curve(found, out)
    _print(found, out, as_json=as_json)
    if not all(point.optimal for one in found.series for point in one.points):
        say("not all points are proved optimal; the table has their bounds")
        raise typer.Exit(NOT_PROVED)


def parsed_parameter(text: str) -> tuple[str, list[float]]:
    """The name and the values written as ``x=0:1:0.05`` or ``x=1,2,5``.

    Raises:
        ArgumentError: If it is neither.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    try:
        if not equals or not name.isidentifier():
            raise ValueError
        if ":" not in values:
            return name, [as_number("a value", one) for one in values.split(",")]
        start, end, step = (as_rational(as_number("a value", one)) for one in values.split(":"))
        if step <= 0 or end < start or (end - start) / step > MOST:
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ArgumentError(
            "the parameter must be NAME=FROM:TO:STEP with FROM at most TO, a positive STEP and at "
            f"most {MOST:,} values, or NAME=1,2,5; got {text!r}"
        ) from None
    return name, [float(start + n * step) for n in range(int((end - start) / step) + 1)]


def written(x: float) -> str:
    """A value in the name of a game; whole numbers without a point."""
    return str(int(x)) if x == int(x) else repr(x)


def _print(found: Curve, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    for one in found.series:
        print_text(f"{found.name}: {one.notion}, {one.objective}\n")
        print_table(
            (found.parameter, "value", "bound", *found.players),
            [
                (
                    f"{point.x:g}",
                    number(point.value),
                    "proved" if point.optimal else number(point.bound),
                    *map(number, point.values),
                )
                for point in one.points
            ],
            left=0,
        )
        print_text("")
    if out is not None:
        print_text(f"Kept in {out}; drawn in {out / 'curve.svg'} and {out / 'curve.html'}.")
