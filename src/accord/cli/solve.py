"""``accord solve``: compute a K-EFCE."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from accord._format import counted, number
from accord.cli.arguments import (
    AsJson,
    Components,
    K,
    OptionalGameName,
    Out,
    Resume,
    choice,
    number_option,
    refuse_with_resume,
    whole_option,
)
from accord.cli.loading import load_game, load_game_of
from accord.cli.outcome import exit_if_interrupted, print_outcome, resumable, within
from accord.cli.progress import Track, shown_progress, tracked
from accord.cli.terminal import announced_compilation, print_json, say
from accord.deviations.notions import EFCE
from accord.errors import ArgumentError
from accord.regret.methods import DEFAULT, METHODS, described

TARGET_MISSED = 1


def solve(
    context: typer.Context,
    game: OptionalGameName = None,
    k: K = EFCE,
    method: Annotated[str, choice(METHODS, f"Regret minimizer: {described(METHODS)}.")] = DEFAULT,
    learning_rate: Annotated[
        float | None,
        number_option(
            "ETA", "Learning rate of wrhedge, for losses in [0, 1]; by default the paper's."
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        whole_option("N", "Stop after N iterations; 1000 if no other limit is given."),
    ] = None,
    target_gap: Annotated[
        float | None,
        number_option("GAP", "Stop at this gap (payoff units), above 0."),
    ] = None,
    seconds: Annotated[
        float | None,
        number_option(
            "S",
            "Stop after S seconds, with the time to load the game and to certify and save the "
            "mixture, which is estimated.",
        ),
    ] = None,
    components: Components = None,
    out: Out = None,
    track: Track = None,
    resume: Resume = None,
    as_json: AsJson = False,
) -> None:
    """Compute a K-EFCE by K-EFR, with its exact gap.

    Exits with 1 if --target-gap was given and not reached.

    \b
    Examples:
        accord solve kuhn_poker -k 1
        accord solve leduc_poker -k 1 --target-gap 0.01 --out runs/leduc
        accord solve --resume runs/leduc --target-gap 0.001
    """
    begun = time.perf_counter()
    if game is None and resume is None:
        raise ArgumentError("give a GAME to solve, or --resume DIR to resume a run")
    if resume is not None:
        refuse_with_resume(context, "k", "method", "learning_rate", "components", "out")

    from accord.runs.folder import RunFolder
    from accord.runs.request import SolveRequest
    from accord.runs.solve import run_solve

    limits: dict[str, Any] = {
        "iterations": iterations,
        "target_gap": target_gap,
        "seconds": seconds,
    }
    folder = out or resume
    with resumable("solve", folder, game), announced_compilation():
        if resume is not None:
            request = RunFolder.open(resume, SolveRequest.command).request
            assert isinstance(request, SolveRequest)
            request = request.continued(**limits)
            loaded = load_game_of(resume, request.game, game)
        else:
            assert game is not None
            loaded = load_game(game)
            request = SolveRequest(
                loaded.source or loaded.name, k.written, method,
                components=components, learning_rate=learning_rate, **limits,
            )  # fmt: skip
        end = None if request.seconds is None else begun + request.seconds
        total = request.limits.total
        with shown_progress(total, end) as bar, tracked(track, loaded, bar) as show:
            solution = run_solve(
                loaded, request, folder=folder, resume=resume is not None, progress=show,
                since=begun,
            )  # fmt: skip
        if as_json:
            print_json(solution.to_json())
        else:
            print_outcome(
                solution,
                f"{solution.game.name}: {solution.request.notion} by {solution.method}, "
                f"{counted(solution.iterations, 'iteration')}",
                f", of the saved mixture of {counted(solution.policy.n_components, 'policy')}",
                folder,
                last=f"gap of the average of all iterates: {number(solution.average_gap)}"
                f"{within(solution.average_gap, solution.average_error)}",
            )
    exit_if_interrupted(solution, "solve", folder, game)
    if solution.target_reached is False:
        say(
            f"target gap {request.target_gap:.4g} not reached: the gap of the average is "
            f"{number(solution.average_gap)}{within(solution.average_gap, solution.average_error)}"
        )
        raise typer.Exit(TARGET_MISSED)
