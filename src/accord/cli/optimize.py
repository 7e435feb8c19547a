"""``accord optimize``: the best equilibrium. ``accord reduce``: a small one with its values."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord._format import counted, number
from accord.cli.arguments import (
    AsJson,
    GameOfRun,
    OptionalGameName,
    Out,
    Resume,
    notion_option,
    parse_number,
    parse_whole,
    refuse_with_resume,
)
from accord.cli.loading import load_game, load_game_of
from accord.cli.outcome import exit_if_interrupted, print_outcome, resumable
from accord.cli.progress import shown_progress
from accord.cli.terminal import announced_compilation, line_width, print_json, say
from accord.deviations.notions import EFCE, Notion
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.equilibrium.policy import CorrelatedPolicy
    from accord.game.tree import Game
    from accord.optimal.objective import ObjectiveLike
    from accord.runs.result import Optimum

NOT_PROVED = 1

MOST_LINES = 40
"""Lines of the longest device that is printed."""

OBJECTIVES = "welfare, egalitarian, player=NAME, weights=1,0,-1/2 (one per player), or keep"

TargetGap = Annotated[
    float,
    typer.Option(
        parser=parse_number,
        metavar="EPS",
        help="Gap that an equilibrium may have (payoff units).",
    ),
]
Components = Annotated[
    int | None,
    typer.Option(parser=parse_whole, metavar="N", help="Use at most N components."),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        parser=parse_number,
        metavar="S",
        help="Stop after S seconds, with the time to load the game.",
    ),
]


def optimize(
    context: typer.Context,
    game: OptionalGameName = None,
    k: Annotated[
        Notion,
        notion_option(
            "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
            "inf (bce); or efcce, afce or afcce."
        ),
    ] = EFCE,
    objective: Annotated[
        str,
        typer.Option(
            metavar="OBJECTIVE",
            help=f"{OBJECTIVES} (the values of the run given with --from).",
        ),
    ] = "welfare",
    minimize: Annotated[
        bool, typer.Option("--minimize", help="Minimise the objective instead.")
    ] = False,
    target_gap: TargetGap = 0.0,
    components: Components = None,
    seconds: Seconds = None,
    out: Out = None,
    resume: Resume = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="RUN", help="Start from the mixture saved in this run."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best equilibrium exactly: its value, a proof, and a small mixture of pure plans.

    Exits with 1 if the value is not proved to be the best: because --seconds or --components came
    first, or because the game is too large for a proof.

    \b
    Examples:
        accord optimize chicken -k 1
        accord optimize signalling -k 1 --objective player=professor
        accord optimize greenwald_sarfati_1 --notion efcce
        accord optimize "kuhn_poker(players=3)" --objective weights=1,0,0 --out runs/kuhn3
    """
    begun = time.perf_counter()
    if game is None and resume is None and source is None:
        raise ArgumentError("give a GAME to optimize, or --resume DIR to resume a run")
    if resume is not None:
        names = ("k", "objective", "minimize", "target_gap", "components", "out")
        refuse_with_resume(context, *names)

    from accord.runs.folder import RunFolder
    from accord.runs.optimize import optimize as optimize_game
    from accord.runs.optimize import resume_optimize
    from accord.runs.request import OptimizeRequest

    with resumable("optimize", out or resume, game), announced_compilation():
        if resume is not None:
            request = RunFolder.open(resume, OptimizeRequest.command).request
            assert isinstance(request, OptimizeRequest)
            loaded = load_game_of(resume, request.game, game)
            start = _start(source, loaded)
            limit = request.seconds if seconds is None else seconds
            with shown_progress(None, None if limit is None else begun + limit) as show:
                found = resume_optimize(
                    loaded, resume, seconds=seconds, start=start, progress=show, since=begun
                )
        else:
            if source is not None:
                loaded = load_game_of(source, RunFolder.open(source).request.game, game)
            else:
                assert game is not None
                loaded = load_game(game)
            start = _start(source, loaded)
            with shown_progress(None, None if seconds is None else begun + seconds) as show:
                found = optimize_game(
                    loaded,
                    k,
                    _parsed(objective),
                    minimize=minimize,
                    target_gap=target_gap,
                    components=components,
                    seconds=seconds,
                    start=start,
                    folder=out,
                    progress=show,
                    since=begun,
                )
        _print(found, out or resume, as_json=as_json)
    _exit(found, out or resume, game)


def reduce(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    k: Annotated[Notion | None, notion_option("By default the notion of the run.")] = None,
    target_gap: TargetGap = 0.0,
    components: Components = None,
    seconds: Seconds = None,
    game: GameOfRun = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Turn the mixture of a run into a small exact one with the same values.

    Short for `accord optimize --from RUN --objective keep`. If no equilibrium has these values, the
    nearest ones are taken: the value printed is minus the distance, in payoff ranges.

    \b
    Example:
        accord reduce runs/kuhn3 --out runs/kuhn3-small
    """
    from accord.runs.folder import RunFolder
    from accord.runs.optimize import optimize as optimize_game

    begun = time.perf_counter()
    with resumable("optimize", out, game), announced_compilation():
        request = RunFolder.open(run).request
        loaded = load_game_of(run, request.game, game)
        with shown_progress(None, None if seconds is None else begun + seconds) as show:
            found = optimize_game(
                loaded,
                request.notion if k is None else k,
                "keep",
                target_gap=target_gap,
                components=components,
                seconds=seconds,
                start=_start(run, loaded),
                folder=out,
                progress=show,
                since=begun,
            )
        _print(found, out, as_json=as_json)
    _exit(found, out, game)


def _parsed(text: str) -> ObjectiveLike:
    """The objective written as ``text``."""
    kind, equals, argument = text.strip().partition("=")
    if kind == "player" and equals:
        return {argument: 1}
    if kind == "weights" and equals:
        return argument.split(",")
    if kind in ("welfare", "egalitarian", "keep") and not equals:
        return kind
    raise ArgumentError(f"--objective must be {OBJECTIVES}; got {text!r}")


def _start(run: Path | None, game: Game) -> CorrelatedPolicy | None:
    """The mixture that a run saved, if there is one to start from."""
    from accord.runs.folder import RunFolder
    from accord.runs.reading import read_finished

    return None if run is None else read_finished(RunFolder.open(run), game).policy


def _print(found: Optimum, folder: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    value, bound = (_shown(found, one) for one in (found.value, found.bound))
    plans = _plans(found)
    unlisted = plans is None and folder is not None
    more = f"; accord device {shlex.quote(str(folder))} lists its plans" if unlisted else ""
    print_outcome(
        found,
        f"{found.game.name}: {found.notion}, {found.objective} {value}, "
        f"{'proved optimal' if found.optimal else f'bound {bound}'}; "
        f"{counted(found.iterations, 'round')}, {counted(found.columns, 'joint plan')}",
        f"\nmixture of {counted(found.policy.n_components, 'component')}{more}\n"
        f"bound {bound}, from {found.proof}",
        folder,
        plans,
    )


def _plans(found: Optimum) -> str | None:
    """The device, if it is small."""
    from accord.reports.summary import small_device

    device = small_device(found.policy)
    text = None if device is None else device.to_text(line_width())
    return None if text is None or text.count("\n") >= MOST_LINES else text


def _shown(found: Optimum, value: float) -> str:
    """A value of the objective, or 0 where it is only rounding."""
    from accord.equilibrium.rounding import settled

    return f"{settled(value, found.game.n_players * found.value_error)[0]:.9g}"


def _exit(found: Optimum, folder: Path | None, game: str | None) -> None:
    exit_if_interrupted(found, "optimize", folder, game)
    if not found.optimal:
        value, bound = (_shown(found, one) for one in (found.value, found.bound))
        if found.history[-1].best is not None and found.history[-1].best.value is None:
            say(f"not proved optimal: the mixture has a gap of {number(found.gap)}")
        else:
            say(f"not proved optimal: the value is {value}, the bound {bound}")
        raise typer.Exit(NOT_PROVED)
