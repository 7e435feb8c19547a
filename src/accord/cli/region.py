"""``accord region``: the payoffs of two players in all equilibria, as numbers and as a picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord._format import fraction, number, small_fraction
from accord.cli.arguments import (
    AsJson,
    Commits,
    GameName,
    check_target,
    notion_option,
    number_option,
)
from accord.cli.loading import load_game
from accord.cli.progress import shown_progress
from accord.cli.terminal import (
    INTERRUPTED,
    announced_compilation,
    print_json,
    print_table,
    print_text,
    say,
)
from accord.deviations.notions import Notion
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.runs.region import PayoffPolygon, Region

NOT_REACHED = 1
PICTURES = (".svg", ".png", ".pdf", ".html")


def region(
    game: GameName,
    k: Annotated[
        list[Notion] | None,
        notion_option(
            "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
            "inf (bce); or efcce, afce, afcce, or, in a small game, nfce. May be repeated; by "
            "default 0 and 1, whose region is that of every larger K."
        ),
    ] = None,
    players: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="The two players; by default the first two."),
    ] = None,
    commits: Commits = None,
    tolerance: Annotated[
        float,
        number_option(
            "ERROR",
            "Largest distance between what is found and what is possible (share of the "
            "payoff ranges).",
        ),
    ] = 1e-6,  # as in runs/region.py
    seconds: Annotated[float | None, number_option("S", "Stop after S seconds.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the region: a .svg, .png or .pdf file, or an .html page with the device of "
            "every point.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the payoffs that two players can have in equilibrium, one polygon per K or notion.

    Exits with 1 if a polygon may miss more than --tolerance, for example because --seconds came
    first.

    \b
    Examples:
        accord region chicken --out chicken.svg
        accord region signalling -k 0 --notion efcce -k 1 --json
        accord region "kuhn_poker(players=3)" -k 1 --players 0 2 --tolerance 0.001
    """
    if out is not None:
        if out.suffix.lower() not in PICTURES:
            raise ArgumentError(f"FILE must end in .svg, .png, .pdf or .html; got {str(out)!r}")
        check_target(out, force=force)

    from accord.runs.region import region as find_region

    begun = time.perf_counter()
    with announced_compilation():
        loaded = load_game(game)
        end = None if seconds is None else begun + seconds
        if seconds is not None and seconds > 0.0:
            seconds = max(0.0, seconds - (time.perf_counter() - begun))
        with shown_progress(None, end) as show:
            found = find_region(
                loaded,
                k or (0, 1),
                players=players,
                commits=commits or (),
                tolerance=tolerance,
                seconds=seconds,
                progress=show,
            )
        if out is not None:
            from accord.reports.write import write_region

            write_region(found, out)
        _print(found, out, as_json=as_json)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)
    if not found.reached:
        say(
            f"the tolerance {found.tolerance:g} is not reached: a polygon may miss up to "
            f"{found.error:.3g} of the payoff ranges"
        )
        raise typer.Exit(NOT_REACHED)


def _print(found: Region, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    from accord.game.labels import committed, player_name

    a, b = found.players
    directions = f"{found.directions} direction" + ("" if found.directions == 1 else "s")
    print_text(
        f"{found.game.name}{committed(found.commits)}: payoffs of {player_name(a)} and "
        f"{player_name(b)}, {directions} in "
        f"{found.seconds:.3g} s"
    )
    for polygon in found.polygons:
        print_text(f"\n{_title(polygon)}")
        print_table(
            (a, b, "welfare", "components", "gap"),
            [(*v.shown, v.policy.n_components, number(v.gap)) for v in polygon.vertices],
            left=0,
        )
        if (best := polygon.welfare) is not None:
            print_text(
                f"best welfare {best.shown[2]} at ({', '.join(best.shown[:2])})"
                + _unless_proved(sum(best.values), polygon.welfare_bound)
            )
    if found.nash is not None:
        points = ", ".join(f"({_payoff(x)}, {_payoff(y)})" for x, y in found.nash)
        kind = "Nash" if found.zero_sum else "pure Nash"
        print_text(f"\npayoffs of {kind} equilibria: {points or 'none'}")
    if found.mixed_nash:
        points = ", ".join(f"({_payoff(x)}, {_payoff(y)})" for x, y in found.mixed_nash)
        print_text(f"payoffs of mixed Nash equilibria: {points}")
    if found.minmax is not None:
        print_text(f"minmax payoffs: ({', '.join(map(fraction, found.minmax))})")
    if out is not None:
        print_text(f"\nDrawn in {out}.")


def _title(polygon: PayoffPolygon) -> str:
    count = len(polygon.vertices)
    kind = {0: "nothing found", 1: "a point", 2: "a segment"}.get(count, f"{count} vertices")
    state = f"error {polygon.error:.2g} of the payoff ranges"
    if polygon.exact:
        state = "exact"
    elif polygon.met:
        state = f"exact up to a gap of {number(polygon.gap)}"
    return f"{polygon.title}: {kind}, {state}"


def _payoff(value: float) -> str:
    """Seven digits, which hide rounding; or the fraction that it is up to rounding."""
    exact = small_fraction(value)
    return f"{round(value, 12) + 0.0:.7g}" if exact is None else fraction(exact)


def _unless_proved(value: float, bound: float) -> str:
    return "" if bound - value <= 1e-8 * max(1.0, abs(bound)) else f", at most {_payoff(bound)}"
