"""``accord learn``: learn a K-EFCE from played episodes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from accord._format import counted
from accord.cli.arguments import (
    AsJson,
    Components,
    History,
    K,
    OptionalPlayableName,
    Out,
    Payoffs,
    Play,
    Ray,
    Resume,
    StepSeconds,
    Workers,
    choice,
    game_option,
    number_option,
    parse_memory,
    refuse_for_games,
    refuse_with_resume,
    whole_option,
)
from accord.cli.loading import load_game_of, load_given, load_playable, load_playable_of
from accord.cli.outcome import (
    exit_if_interrupted,
    joint_advice,
    played,
    print_bounds,
    print_outcome,
    resumable,
)
from accord.cli.progress import Track, shown_progress, tracked
from accord.cli.terminal import announced_compilation, print_json
from accord.deviations.notions import EFCE
from accord.errors import ArgumentError
from accord.play.feedback import FEEDBACKS, OWN
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, described


def learn(
    context: typer.Context,
    game: OptionalPlayableName = None,
    episodes: Annotated[
        int | None,
        whole_option(
            "N", "Play at most N episodes, in whole iterations; needed except with --resume."
        ),
    ] = None,
    k: K = EFCE,
    method: Annotated[
        str, choice(SAMPLED_METHODS, f"Regret minimizer: {described(SAMPLED_METHODS)}.")
    ] = SAMPLED_DEFAULT,
    learning_rate_scale: Annotated[
        float,
        number_option("C", "Multiplier on the paper's learning rate; only for swrhedge."),
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
        whole_option("S", "Random seed; the same seed gives the same result."),
    ] = 0,
    feedback: Annotated[
        str,
        choice(
            FEEDBACKS,
            "What learners see of a play: own, each player their own infosets, actions and payoff, "
            "as in the paper; or joint, all moves of everybody, which takes far fewer episodes.",
        ),
    ] = OWN,
    components: Components = None,
    play: Play = False,
    history: History = False,
    known: Annotated[
        str | None,
        game_option("The game that an environment plays, if you have it, for the exact gap."),
    ] = None,
    payoffs: Payoffs = None,
    workers: Workers = None,
    ray: Ray = None,
    step_seconds: StepSeconds = None,
    batch: Annotated[
        int | None,
        whole_option(
            "B",
            "Play the episodes of an iteration in an environment B times under the same "
            "policies; by default once, or 16 times with --workers or --ray.",
        ),
    ] = None,
    plays: Annotated[
        int | None,
        whole_option(
            "N",
            "Bound the gap in an environment from N fresh plays, or not at all with 0; by "
            "default as many as episodes, at most 10000.",
        ),
    ] = None,
    value_plays: Annotated[
        int | None,
        whole_option(
            "N",
            "Estimate the values in an environment from N fresh plays; by default as many as "
            "--plays.",
        ),
    ] = None,
    checkpoint_plays: Annotated[
        int | None,
        whole_option(
            "N",
            "Bound the gap in an environment from N fresh plays at checkpoints, too, whenever "
            "episodes have doubled; by default not at all.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        number_option(
            "S", "Stop after S seconds, also before all episodes, with the time for fresh plays."
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            parser=parse_memory,
            metavar="SIZE",
            help="Memory for what is learned in an environment, such as 2GB; when it is full, "
            "infosets that are new are not learned, and joint plays continue with own feedback.",
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY",
            help="Start from a policy: the folder of a run, or a .npz or .json file; for prm and "
            "rm.",
        ),
    ] = None,
    out: Out = None,
    track: Track = None,
    resume: Resume = None,
    as_json: AsJson = False,
) -> None:
    """Learn a K-EFCE from episodes that the players play with each other.

    The learners only play: each sees its own infosets, actions and payoffs. The gap is exact,
    computed from the whole game, which the learners do not see. GAME may also be an environment,
    FILE.py:NAME or MODULE:NAME, or with --play an OpenSpiel game of any size. If you do not give
    its game with --game, the gap is bounded from fresh plays. To resume a run of Python code, name
    it again.

    \b
    Examples:
        accord learn kuhn_poker -k 1 --episodes 100000
        accord learn kuhn_poker --episodes 100000 --method swrhedge --seed 7 --out runs/learned
        accord learn --resume runs/learned --episodes 200000
        accord learn env.py:make_env -k 1 --episodes 10000 --out runs/env
        accord learn chess --play --episodes 100
    """
    begun = time.perf_counter()
    if game is None and resume is None:
        raise ArgumentError("give a GAME to learn, or --resume DIR to resume a run")
    if resume is not None:
        options = ("k", "method", "learning_rate_scale", "exploration", "seed", "components", "out")
        refuse_with_resume(context, *options, "batch", "memory", "feedback")
    elif episodes is None:
        raise ArgumentError("give --episodes N, the number of episodes to play")

    from accord.runs.folder import RunFolder
    from accord.runs.learn import fresh_plays, run_learn
    from accord.runs.learn import learn as learn_game
    from accord.runs.request import LearnRequest

    folder, given = out or resume, None
    end = None if seconds is None else begun + seconds
    with resumable("learn", folder, game), announced_compilation():
        if resume is not None:
            request = RunFolder.open(resume, LearnRequest.command).request
            assert isinstance(request, LearnRequest)
            wanted = request.episodes if episodes is None and seconds is not None else episodes
            request = request.continued(episodes=wanted, seconds=seconds)
            made, record = load_playable_of(
                resume, game, play=play, history=history, payoffs=payoffs,
                step_seconds=step_seconds,
            )  # fmt: skip
            if record is None:
                refuse_for_games(
                    workers=workers,
                    ray=ray,
                    game=known,
                    plays=plays,
                    value_plays=value_plays,
                    checkpoint_plays=checkpoint_plays,
                )
            elif known is not None or request.known is not None:
                given = load_game_of(resume, request.known or "", known)
            total = request.episodes
            if record is not None and given is None:
                total += sum(fresh_plays(total, value_plays, plays))
            with shown_progress(total, end) as bar, tracked(track, made, bar) as show:
                learned = run_learn(
                    made, request, folder=resume, resume=True, progress=show, workers=workers,
                    ray=ray, game=given, plays=plays, value_plays=value_plays,
                    start=_start(start, made, record), checkpoint_plays=checkpoint_plays,
                    since=begun,
                )  # fmt: skip
        else:
            assert game is not None and episodes is not None
            made, record = load_playable(
                game, play=play, history=history, payoffs=payoffs, step_seconds=step_seconds
            )
            if record is None:
                refuse_for_games(
                    workers=workers, ray=ray, batch=batch, memory=memory, game=known, plays=plays,
                    value_plays=value_plays, checkpoint_plays=checkpoint_plays,
                )  # fmt: skip
            given, total = load_given(known), episodes
            if record is not None and given is None:
                total += sum(fresh_plays(episodes, value_plays, plays))
            with shown_progress(total, end) as bar, tracked(track, made, bar) as show:
                learned = learn_game(
                    made, k, episodes=episodes, seed=seed, components=components, method=method,
                    learning_rate_scale=learning_rate_scale, exploration=exploration, folder=out,
                    source=record, workers=workers, ray=ray, batch=batch, memory=memory,
                    game=given, progress=show, feedback=feedback, plays=plays,
                    value_plays=value_plays, seconds=seconds, start=_start(start, made, record),
                    checkpoint_plays=checkpoint_plays,
                )  # fmt: skip
        if as_json:
            print_json(learned.to_json())
        elif learned.game is None:
            print_bounds(learned, folder)
        else:
            print_outcome(
                learned,
                f"{learned.game.name}: {learned.request.notion} learned by {learned.method} "
                f"from {played(learned)}",
                f", of the saved mixture of {counted(learned.policy.n_components, 'policy')}",
                folder,
                last=joint_advice(learned),
            )
    exit_if_interrupted(learned, "learn", folder, game)


def _start(path: Path | None, made: Any, record: Any) -> Any:
    """The policy to start from, if there is one."""
    if path is None:
        return None
    from accord.equilibrium.policy_files import load_policy

    return load_policy(path, made if record is None else None)
