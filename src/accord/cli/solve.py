"""``accord solve``: compute a K-EFCE."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.arguments import (
    AsJson,
    OptionalGameName,
    parse_k,
    parse_number,
    parse_whole,
    refuse_with_resume,
    written_k,
)
from accord.cli.progress import shown_progress
from accord.cli.terminal import (
    announced_compilation,
    number,
    print_json,
    print_table,
    print_text,
    say,
)
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.equilibrium.certificate import Certificate
    from accord.learning.run import Solution

TARGET_MISSED = 1
INTERRUPTED = 130


class Method(StrEnum):
    """Regret minimizers, as the command line calls them."""

    WRHEDGE = "wrhedge"
    RM = "rm"
    RM_PLUS = "rm+"
    PREDICTIVE_RM_PLUS = "prm+"


def solve(
    context: typer.Context,
    game: OptionalGameName = None,
    k: Annotated[
        float,
        typer.Option(
            "-k",
            parser=parse_k,
            metavar="K",
            help="How many recommendations a deviator may see and disobey: 0, 1, ..., inf.",
        ),
    ] = 1,
    method: Annotated[
        Method,
        typer.Option(help="Regret minimizer; wrhedge is the paper's, prm+ usually the quickest."),
    ] = Method.PREDICTIVE_RM_PLUS,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            parser=parse_number,
            metavar="ETA",
            help="Of wrhedge, for losses in [0, 1]; by default the paper's.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="Stop after N iterations; 1000 if no other end is given.",
        ),
    ] = None,
    target_gap: Annotated[
        float | None,
        typer.Option(parser=parse_number, metavar="GAP", help="Stop at this gap (payoff units)."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(parser=parse_number, metavar="S", help="Stop after S seconds."),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="Save N evenly spaced iterates; by default 1000.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the run in a new folder; it can be resumed."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Go on with the run in this folder; new limits may be given, nothing else.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute a K-EFCE by K-EFR, and say exactly how far it is from one.

    Exits with 1 if --target-gap was given and not reached.

    \b
    Examples:
        accord solve kuhn_poker -k 1
        accord solve leduc_poker -k 1 --target-gap 0.01 --out runs/leduc
        accord solve --resume runs/leduc --target-gap 0.001
    """
    if (game is None) == (resume is None):
        raise ArgumentError("give either a GAME to solve or --resume DIR to go on with a run")
    if resume is not None:
        refuse_with_resume(context, "k", "method", "learning_rate", "components", "out")

    from accord.interop.load import load_game
    from accord.learning.folder import RunFolder
    from accord.learning.run import DEFAULT_ITERATIONS, resume_solve
    from accord.learning.run import solve as solve_game

    with announced_compilation():
        if game is not None:
            loaded = load_game(game)
        elif resume is not None:
            asked = RunFolder.open(resume).asked
            if iterations is None and target_gap is None and seconds is None:
                iterations, target_gap, seconds = (
                    asked[name] for name in ("iterations", "target_gap", "seconds")
                )
            loaded = load_game(asked["game"])
        endless = iterations is None and target_gap is None and seconds is None
        with shown_progress(DEFAULT_ITERATIONS if endless else iterations, seconds) as show:
            if resume is not None:
                solution = resume_solve(
                    loaded,
                    resume,
                    iterations=iterations,
                    target_gap=target_gap,
                    seconds=seconds,
                    progress=show,
                )
            else:
                solution = solve_game(
                    loaded,
                    k,
                    method=method.value,
                    iterations=iterations,
                    target_gap=target_gap,
                    seconds=seconds,
                    components=components,
                    learning_rate=learning_rate,
                    folder=out,
                    progress=show,
                )
        certificate = None if as_json else _certified(solution)
    folder = out or resume
    if as_json:
        print_json(solution.to_json())
    elif certificate is not None:
        _print(solution, certificate)
        if folder is not None:
            names = ", ".join(sorted(path.name for path in folder.iterdir()))
            print_text(f"\nWritten to {folder}: {names}.")
    if solution.interrupted:
        if folder is not None:
            say(f"saved; go on with: accord solve --resume {shlex.quote(str(folder))}")
        raise typer.Exit(INTERRUPTED)
    if solution.target_reached is False:
        say(f"target gap {target_gap:.4g} not reached: the gap is {number(solution.gap)}")
        raise typer.Exit(TARGET_MISSED)


def _certified(solution: Solution) -> Certificate:
    from accord.equilibrium.certificate import certify

    return certify(solution.game, solution.policy, solution.k)


def _print(solution: Solution, certificate: Certificate) -> None:
    from accord.treeplex.form import sequence_form

    scale = sequence_form(solution.game).leaves.loss_scale
    relative = [gap * float(unit) for gap, unit in zip(solution.players, scale, strict=True)]
    print_text(
        f"{solution.game.name}: {written_k(solution.k)}-EFCE by {solution.method}, "
        f"{solution.iterations:,} iterations in {solution.seconds:.3g} s\n"
    )
    print_table(
        ("player", "gap", "relative", "value"),
        [
            (label, number(gap), number(share), number(value))
            for label, gap, share, value in zip(
                solution.game.player_labels,
                solution.players,
                relative,
                solution.values,
                strict=True,
            )
        ],
    )
    print_text(f"\ngap {number(solution.gap)}, {number(max(relative))} of the payoff range")
    print_text(
        f"saved mixture of {solution.policy.n_components:,} policies: gap "
        f"{number(solution.saved_gap)}"
    )
    best = max(certificate.gaps[0].witnesses, key=lambda witness: witness.gain)
    print_text(f"best deviation from it: {best}")
