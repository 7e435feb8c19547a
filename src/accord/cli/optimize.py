"""``accord optimize``: the best equilibrium. ``accord reduce``: a small one with its values."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord._format import counted, fraction, number
from accord.cli.arguments import (
    AsJson,
    AtLeast,
    Commits,
    GameOfRun,
    OptionalGameName,
    Out,
    Resume,
    notion_option,
    number_option,
    refuse_with_resume,
    whole_option,
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

TREMBLE = 0.01
"""How often others slip by default: a copy of the one in ``certifying/exact.py``, imported late."""

MOST_LINES = 40
"""Lines of the longest device that is printed."""

MOST_BINDING = 5
"""Constraints that are printed; the report has more, and --json all."""

OBJECTIVES = "welfare, egalitarian, player=NAME, weights=1,0,-1/2 (one per player), or keep"

TargetGap = Annotated[
    float,
    number_option("EPS", "Gap that an equilibrium may have (payoff units)."),
]
MostComponents = Annotated[
    int | None,
    whole_option("N", "Use at most N components."),
]
Seconds = Annotated[
    float | None,
    number_option(
        "S", "Stop after S seconds, with the time to load the game, compile kernels and certify."
    ),
]


def optimize(
    context: typer.Context,
    game: OptionalGameName = None,
    k: Annotated[
        Notion,
        notion_option(
            "How many recommendations a deviator may see and disobey: 0 (nfcce), 1 (efce), 2, ..., "
            "inf (bce); or efcce, afce, afcce, or, in a small game, nfce."
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
        bool, typer.Option("--minimize", help="Minimize the objective instead.")
    ] = False,
    target_gap: TargetGap = 0.0,
    components: MostComponents = None,
    credible: Annotated[
        bool,
        typer.Option("--credible", help="Allow no advice off the path that would be disobeyed."),
    ] = False,
    tremble: Annotated[
        float,
        number_option(
            "E",
            "Judge advice off the path by others who slip with probability E at each infoset; "
            "0 leaves it arbitrary.",
        ),
    ] = TREMBLE,
    commits: Commits = None,
    at_least: AtLeast = None,
    payoffs: Annotated[
        str | None,
        typer.Option(
            metavar="3.2,5.1",
            help="Instead of --objective: an equilibrium with these payoffs, one per player, or "
            "the nearest that there are.",
        ),
    ] = None,
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

    Of the devices with this value it takes one that threatens as little as possible.

    Exits with 1 if the value is not proved to be the best: because --seconds or --components came
    first, or because the game is too large for a proof.

    \b
    Examples:
        accord optimize chicken -k 1
        accord optimize signalling -k 1 --objective player=professor
        accord optimize greenwald_sarfati_1 --notion efcce
        accord optimize signalling --credible
        accord optimize persuasion --objective player=prosecutor --commits prosecutor
        accord optimize chicken --objective player=row --at-least col=4
        accord optimize chicken --payoffs 5,5
        accord optimize "kuhn_poker(players=3)" --objective weights=1,0,0 --out runs/kuhn3
    """
    begun = time.perf_counter()
    if game is None and resume is None and source is None:
        raise ArgumentError("give a GAME to optimize, or --resume DIR to resume a run")
    if resume is not None:
        names = ("k", "objective", "minimize", "target_gap", "components", "commits")
        more = ("credible", "tremble", "at_least", "payoffs", "out")
        refuse_with_resume(context, *names, *more)

    from accord.runs.folder import RunFolder
    from accord.runs.optimize import optimize_request, run_optimize
    from accord.runs.request import OptimizeRequest

    with resumable("optimize", out or resume, game), announced_compilation():
        if resume is not None:
            request = RunFolder.open(resume, OptimizeRequest.command).request
            assert isinstance(request, OptimizeRequest)
            request = request.continued(seconds=seconds)
            loaded = load_game_of(resume, request.game, game)
            start = _start(source, loaded)
        else:
            if source is not None:
                loaded = load_game_of(source, RunFolder.open(source).request.game, game)
            else:
                assert game is not None
                loaded = load_game(game)
            request, start = optimize_request(
                loaded, k, parsed_objective(objective), minimize=minimize, target_gap=target_gap,
                components=components, credible=credible, tremble=tremble,
                commits=commits or (), at_least=floors_of(at_least),
                payoffs=None if payoffs is None else payoffs.split(","), seconds=seconds,
                start=_start(source, loaded),
            )  # fmt: skip
        with shown_progress(None, _end(begun, request.seconds)) as show:
            found = run_optimize(
                loaded, request, start, folder=out or resume, resume=resume is not None,
                progress=show, since=begun,
            )  # fmt: skip
        _print(found, out or resume, as_json=as_json)
    _exit(found, out or resume, game)


def reduce(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    k: Annotated[Notion | None, notion_option("By default the notion of the run.")] = None,
    target_gap: TargetGap = 0.0,
    components: MostComponents = None,
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
    from accord.runs.optimize import optimize_request, run_optimize
    from accord.runs.request import commits_of

    begun = time.perf_counter()
    with resumable("optimize", out, game), announced_compilation():
        notion, name = (asked := RunFolder.open(run).request).notion, asked.game
        loaded = load_game_of(run, name, game)
        request, start = optimize_request(
            loaded, notion if k is None else k, "keep", target_gap=target_gap,
            components=components, commits=commits_of(asked), seconds=seconds,
            start=_start(run, loaded),
        )  # fmt: skip
        with shown_progress(None, _end(begun, seconds)) as show:
            found = run_optimize(loaded, request, start, folder=out, progress=show, since=begun)
        _print(found, out, as_json=as_json)
    _exit(found, out, game)


def _end(begun: float, seconds: float | None) -> float | None:
    """When the time is up, if it is limited."""
    return None if seconds is None else begun + seconds


def parsed_objective(text: str) -> ObjectiveLike:
    """The objective written as ``text``."""
    kind, equals, argument = text.strip().partition("=")
    if kind == "player" and equals:
        return {argument: 1}
    if kind == "weights" and equals:
        return argument.split(",")
    if kind in ("welfare", "egalitarian", "keep") and not equals:
        return kind
    raise ArgumentError(f"--objective must be {OBJECTIVES}; got {text!r}")


def floors_of(given: list[str] | None) -> dict[str, str]:
    """The least payoffs written as PLAYER=VALUE."""
    floors: dict[str, str] = {}
    for text in given or ():
        player, equals, payoff = text.rpartition("=")
        if not equals or player in floors:
            raise ArgumentError(
                f"--at-least must be PLAYER=VALUE, once for each player; got {text!r}"
            )
        floors[player] = payoff
    return floors


def _start(run: Path | None, game: Game) -> CorrelatedPolicy | None:
    """The mixture that a run saved, if there is one to start from."""
    from accord.runs.folder import RunFolder
    from accord.runs.reading import read_finished

    return None if run is None else read_finished(RunFolder.open(run), game).policy


def _print(found: Optimum, folder: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    value, bound = _value(found), _shown(found, found.bound)
    if found.rational is not None and found.rational.proved:
        bound = fraction(found.rational.value)
    plans = _plans(found)
    unlisted = plans is None and folder is not None
    more = f"; accord device {shlex.quote(str(folder))} lists its plans" if unlisted else ""
    print_outcome(
        found,
        f"{found.game.name}: {found.notion}{found.request.conditions}, "
        f"{found.objective} {value}, {_verdict(found, bound)}; "
        f"{counted(found.iterations, 'round')}, {counted(found.columns, 'joint plan')}",
        f"\n{'mixture of ' if found.policy.plan is None else ''}{found.policy.size}{more}\n"
        f"bound {bound}, from {found.proof}{_uniqueness(found)}{_distance(found)}",
        folder,
        plans,
        _binding(found),
    )


def _uniqueness(found: Optimum) -> str:
    """Whether there are other optima with other payoffs."""
    words = {True: "every optimum has these payoffs", False: "other optima have other payoffs"}
    return "" if found.unique is None else f"\n{words[found.unique]}"


def _distance(found: Optimum) -> str:
    """How far the payoffs are from those that were wanted, if they are not the same."""
    wanted, far = found.request.target, _shown(found, -found.value)
    if wanted is None or far in ("0", "-0"):
        return ""
    which = "the nearest of an equilibrium are" if found.optimal else "the nearest found are"
    return (
        f"\nwanted payoffs {', '.join(map(number, wanted))}; {which} {far} away (the sum of the "
        "differences, in units of the payoff ranges)"
    )


def _binding(found: Optimum) -> str | None:
    """The constraints with the highest prices."""
    if not found.binding:
        return None
    lines = [f"  {one}" for one in found.binding[:MOST_BINDING]]
    more = len(found.binding) - len(lines)
    rest = [f"  and {counted(more, 'more constraint')}"] if more > 0 else []
    head = (
        f"incentives that limit {found.objective} (price: what one unit of slack would add to it):"
    )
    return "\n".join([head, *lines, *rest])


def _value(found: Optimum) -> str:
    """The value of the objective, as a fraction if it is known as such."""
    if found.rational is None:
        return _shown(found, found.value)
    exact, rounded = fraction(found.rational.value), f"{float(found.rational.value):.9g}"
    return exact if exact == rounded else f"{exact} = {rounded}"


def _verdict(found: Optimum, bound: str) -> str:
    """What is proved, in words."""
    if found.optimal:
        exact = found.rational is not None and found.rational.proved
        return "proved optimal" if exact else "proved optimal to 1e-9"
    return f"optimal up to {found.flaw}" if found.met else f"bound {bound}"


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
        if found.met:
            say(f"not proved optimal: the mixture is, up to {found.flaw}")
        elif found.history[-1].best is not None and found.history[-1].best.value is None:
            say(f"not proved optimal: the mixture has a gap of {number(found.gap)}")
        else:
            say(f"not proved optimal: the value is {value}, the bound {bound}")
        raise typer.Exit(NOT_PROVED)
