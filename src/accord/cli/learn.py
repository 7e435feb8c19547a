"""``accord learn``: learn a K-EFCE from played episodes."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from accord.cli.progress import SECONDS_PER_LINE, duration
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
    from accord.learning.learn import Learned


INTERRUPTED = 130


class BanditMethod(StrEnum):
    """Minimizers fed with sampled losses, as the command line calls them."""

    SWRHEDGE = "swrhedge"
    RM = "rm"


def learn(
    context: typer.Context,
    game: OptionalGameName = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="Play at most N episodes, in whole iterations.",
            show_default=False,
        ),
    ] = None,
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
        BanditMethod,
        typer.Option(
            help="swrhedge is the paper's; rm, regret matching around baselines, has no guarantee "
            "and is usually much better."
        ),
    ] = BanditMethod.SWRHEDGE,
    learning_rate_scale: Annotated[
        float,
        typer.Option(
            parser=parse_number,
            metavar="C",
            help="Multiplier on the paper's learning rate; only for swrhedge.",
        ),
    ] = 1.0,
    seed: Annotated[
        int, typer.Option(parser=parse_whole, metavar="S", help="Same seed, same result.")
    ] = 0,
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
            help="Go on with the run in this folder; more --episodes may be given, nothing else.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn a K-EFCE by Balanced K-EFR, from episodes that the players play with each other.

    The learners only play: each sees its own infosets, actions and payoffs. The gap is exact,
    computed afterwards from the game.

    \b
    Examples:
        accord learn kuhn_poker -k 1 --episodes 100000
        accord learn kuhn_poker --episodes 100000 --method rm --seed 7 --out runs/learned
        accord learn --resume runs/learned --episodes 200000
    """
    if (game is None) == (resume is None):
        raise ArgumentError("give either a GAME to learn or --resume DIR to go on with a run")
    if resume is not None:
        options = ("k", "method", "learning_rate_scale", "seed", "components", "out")
        refuse_with_resume(context, *options)
    elif episodes is None:
        raise ArgumentError("give --episodes: how many to play")

    from accord.interop.load import load_game
    from accord.learning.folder import RunFolder
    from accord.learning.learn import learn as learn_game
    from accord.learning.learn import resume_learn

    with announced_compilation():
        if game is not None and episodes is not None:
            loaded = load_game(game)
            with _shown_progress(episodes) as show:
                learned = learn_game(
                    loaded,
                    k,
                    episodes=episodes,
                    seed=seed,
                    components=components,
                    method=method.value,
                    learning_rate_scale=learning_rate_scale,
                    folder=out,
                    progress=show,
                )
        elif resume is not None:
            asked = RunFolder.open(resume).asked
            with _shown_progress(episodes or asked["episodes"]) as show:
                learned = resume_learn(
                    load_game(asked["game"]), resume, episodes=episodes, progress=show
                )
        certificate = None if as_json else _certified(learned)
    folder = out or resume
    if as_json:
        print_json(learned.to_json())
    elif certificate is not None:
        _print(learned, certificate)
        if folder is not None:
            names = ", ".join(sorted(path.name for path in folder.iterdir()))
            print_text(f"\nWritten to {folder}: {names}.")
    if learned.interrupted:
        if folder is not None:
            say(f"saved; go on with: accord learn --resume {shlex.quote(str(folder))}")
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _shown_progress(total: int) -> Iterator[Callable[[int], None]]:
    """Yield what is to be called with the number of episodes played so far."""
    from rich.console import Console

    begun: list[float] = []  # when the first step was done, which may have compiled kernels
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)

    def state(played: int) -> str:
        now = time.perf_counter()
        if not begun:
            begun.extend((now, played))
        rate = (played - begun[1]) / max(now - begun[0], 1e-9)
        if not rate:
            return f"{played:,} episodes"
        left = duration((total - played) / rate)
        return f"{played:,} episodes, {rate:,.0f} per second, {left} left"

    if not console.is_terminal:
        said = time.perf_counter()

        def line(played: int) -> None:
            nonlocal said
            if time.perf_counter() - said >= SECONDS_PER_LINE:
                said = time.perf_counter()
                say(state(played))

        yield line
        return

    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda played: bar.update(task, completed=played, description=state(played))


def _certified(learned: Learned) -> Certificate:
    from accord.equilibrium.certificate import certify

    return certify(learned.game, learned.policy, learned.k)


def _print(learned: Learned, certificate: Certificate) -> None:
    from accord.treeplex.form import sequence_form

    scale = sequence_form(learned.game).leaves.loss_scale
    relative = [gap * float(unit) for gap, unit in zip(learned.players, scale, strict=True)]
    print_text(
        f"{learned.game.name}: {written_k(learned.k)}-EFCE learned by {learned.method} from "
        f"{learned.episodes:,} episodes, {learned.iterations:,} iterations in "
        f"{learned.seconds:.3g} s\n"
    )
    print_table(
        ("player", "gap", "relative", "value"),
        [
            (label, number(gap), number(share), number(value))
            for label, gap, share, value in zip(
                learned.game.player_labels, learned.players, relative, learned.values, strict=True
            )
        ],
    )
    print_text(
        f"\ngap {number(learned.gap)}, {number(max(relative))} of the payoff range, of the saved "
        f"mixture of {learned.policy.n_components:,} policies"
    )
    best = max(certificate.gaps[0].witnesses, key=lambda witness: witness.gain)
    print_text(f"best deviation from it: {best}")
