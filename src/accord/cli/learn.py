"""``accord learn``: learn a K-EFCE from played episodes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from accord._format import counted
from accord.cli.arguments import (
    AsJson,
    Components,
    K,
    OptionalPlayableName,
    Out,
    Payoffs,
    Play,
    Ray,
    Resume,
    Workers,
    choice,
    parse_memory,
    parse_number,
    parse_whole,
    refuse_for_games,
    refuse_with_resume,
)
from accord.cli.loading import load_playable, load_playable_of
from accord.cli.outcome import exit_if_interrupted, print_outcome, print_played, resumable
from accord.cli.progress import shown_progress
from accord.cli.terminal import announced_compilation, print_json
from accord.errors import ArgumentError
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, described


def learn(
    context: typer.Context,
    game: OptionalPlayableName = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="Play at most N episodes, in whole iterations; needed except with --resume.",
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
    play: Play = False,
    payoffs: Payoffs = None,
    workers: Workers = None,
    ray: Ray = None,
    batch: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="B",
            help="Play the episodes of an iteration in an environment B times under the same "
            "policies; by default once, or 16 times with --workers or --ray.",
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            parser=parse_memory,
            metavar="SIZE",
            help="Memory for what is learned in an environment, such as 2GB; when it is full, "
            "infosets that are new are not learned.",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    resume: Resume = None,
    as_json: AsJson = False,
) -> None:
    """Learn a K-EFCE from episodes that the players play with each other.

    The learners only play: each sees its own infosets, actions and payoffs. The gap is exact,
    computed from the whole game, which the learners do not see. GAME may also be an environment,
    FILE.py:NAME or MODULE:NAME, or with --play an OpenSpiel game of any size. Its game is not
    known, so the gap is bounded from fresh plays. To resume a run of Python code, name it again.

    \b
    Examples:
        accord learn kuhn_poker -k 1 --episodes 100000
        accord learn kuhn_poker --episodes 100000 --method swrhedge --seed 7 --out runs/learned
        accord learn --resume runs/learned --episodes 200000
        accord learn env.py:make_env -k 1 --episodes 10000 --out runs/env
        accord learn chess --play --episodes 100
    """
    if game is None and resume is None:
        raise ArgumentError("give a GAME to learn, or --resume DIR to resume a run")
    if resume is not None:
        options = ("k", "method", "learning_rate_scale", "exploration", "seed", "components", "out")
        refuse_with_resume(context, *options, "play", "payoffs", "batch", "memory")
    elif episodes is None:
        raise ArgumentError("give --episodes N, the number of episodes to play")

    from accord.runs.folder import RunFolder
    from accord.runs.learn import learn as learn_game
    from accord.runs.learn import resume_learn
    from accord.runs.learn_env import learn_env, resume_learn_env
    from accord.runs.request import LearnRequest
    from accord.runs.result import Learned, LearnedByPlay

    learned: Learned | LearnedByPlay
    folder = out or resume
    with resumable("learn", folder, game), announced_compilation():
        if resume is not None:
            request = RunFolder.open(resume, LearnRequest.command).request
            assert isinstance(request, LearnRequest)
            made, record = load_playable_of(resume, game)
            with shown_progress(episodes or request.episodes, None) as show:
                if record is not None:
                    learned = resume_learn_env(
                        made, resume, episodes=episodes, progress=show, workers=workers, ray=ray
                    )
                else:
                    refuse_for_games(workers=workers, ray=ray)
                    learned = resume_learn(made, resume, episodes=episodes, progress=show)
        elif game is not None and episodes is not None:
            asked: dict[str, Any] = {
                "episodes": episodes, "seed": seed, "components": components, "method": method,
                "learning_rate_scale": learning_rate_scale, "exploration": exploration,
                "folder": out,
            }  # fmt: skip
            made, record = load_playable(game, play=play, payoffs=payoffs)
            if record is None:
                refuse_for_games(workers=workers, ray=ray, batch=batch, memory=memory)
            with shown_progress(episodes, None) as show:
                if record is not None:
                    learned = learn_env(
                        made, k, source=record, workers=workers, ray=ray, batch=batch,
                        memory=memory, progress=show, **asked,
                    )  # fmt: skip
                else:
                    learned = learn_game(made, k, progress=show, **asked)
        if as_json:
            print_json(learned.to_json())
        elif isinstance(learned, LearnedByPlay):
            print_played(learned, folder)
        else:
            print_outcome(
                learned,
                f"{learned.game.name}: {learned.request.notion} learned by {learned.method} "
                f"from {counted(learned.episodes, 'episode')}, "
                f"{counted(learned.iterations, 'iteration')}",
                f", of the saved mixture of {counted(learned.policy.n_components, 'policy')}",
                folder,
            )
    exit_if_interrupted(learned, "learn", folder, game)
