"""``accord learn``: learn a K-EFCE from played episodes."""

from __future__ import annotations

from typing import Annotated

import typer

from accord.cli.arguments import (
    AsJson,
    Components,
    K,
    OptionalGameName,
    Out,
    Resume,
    choice,
    parse_number,
    parse_whole,
    refuse_with_resume,
)
from accord.cli.outcome import exit_if_interrupted, print_outcome, resumable
from accord.cli.progress import shown_progress
from accord.cli.terminal import announced_compilation, print_json
from accord.deviations.notions import written_k
from accord.errors import ArgumentError
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, described


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
    k: K = 1,
    method: Annotated[
        str, choice(SAMPLED_METHODS, f"Regret minimizer: {described(SAMPLED_METHODS)}.")
    ] = SAMPLED_DEFAULT,
    learning_rate_scale: Annotated[
        float,
        typer.Option(
            parser=parse_number,
            metavar="C",
            help="Multiplier on the paper's learning rate; only for swrhedge.",
        ),
    ] = 1.0,
    exploration: Annotated[
        str | None,
        choice(
            ("spread", "balanced", "uniform"),
            "How episodes explore: spread over all ends of the game (the default of prm and rm), "
            "balanced, as in the paper (that of swrhedge), or uniform.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            parser=parse_whole,
            metavar="S",
            help="Random seed; the same seed gives the same result.",
        ),
    ] = 0,
    components: Components = None,
    out: Out = None,
    resume: Resume = None,
    as_json: AsJson = False,
) -> None:
    """Learn a K-EFCE from episodes that the players play with each other.

    The learners only play: each sees its own infosets, actions and payoffs. The gap is exact,
    computed from the whole game, which the learners do not see.

    \b
    Examples:
        accord learn kuhn_poker -k 1 --episodes 100000
        accord learn kuhn_poker --episodes 100000 --method swrhedge --seed 7 --out runs/learned
        accord learn --resume runs/learned --episodes 200000
    """
    if game is None and resume is None:
        raise ArgumentError("give a GAME to learn, or --resume DIR to resume a run")
    if resume is not None:
        options = ("k", "method", "learning_rate_scale", "exploration", "seed", "components", "out")
        refuse_with_resume(context, *options)
    elif episodes is None:
        raise ArgumentError("give --episodes N, the number of episodes to play")

    from accord.interop.load import load_game
    from accord.runs.folder import RunFolder
    from accord.runs.learn import learn as learn_game
    from accord.runs.learn import resume_learn
    from accord.runs.request import LearnRequest

    folder = out or resume
    with resumable("learn", folder), announced_compilation():
        if resume is not None:
            request = RunFolder.open(resume, LearnRequest.command).request
            assert isinstance(request, LearnRequest)
            with shown_progress(episodes or request.episodes, None) as show:
                learned = resume_learn(
                    load_game(game or request.game), resume, episodes=episodes, progress=show
                )
        elif game is not None and episodes is not None:
            loaded = load_game(game)
            with shown_progress(episodes, None) as show:
                learned = learn_game(
                    loaded,
                    k,
                    episodes=episodes,
                    seed=seed,
                    components=components,
                    method=method,
                    learning_rate_scale=learning_rate_scale,
                    exploration=exploration,
                    folder=out,
                    progress=show,
                )
        if as_json:
            print_json(learned.to_json())
        else:
            print_outcome(
                learned,
                f"{learned.game.name}: {written_k(learned.k)}-EFCE learned by {learned.method} "
                f"from {learned.episodes:,} episodes, {learned.iterations:,} iterations",
                f", of the saved mixture of {learned.policy.n_components:,} policies",
                folder,
            )
    exit_if_interrupted(learned, "learn", folder)
