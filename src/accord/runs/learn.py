"""Learning from episodes: K-EFR in self-play, of a game or in an environment.

A game is played on a compiled simulator. An environment can only be played: nothing is enumerated
first, and tables grow as plays show new infosets. For the paper's methods, whose sampling plan and
learning rate count the infosets, the treeplexes are discovered first (``play/discovery.py``). Both
are one run (``runs/learning_run.py``), whose gap is exact if the game is known.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from accord._check import checked_whole
from accord.certifying.by_play import FEWEST_PLAYS
from accord.deviations.notions import NotionLike
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.errors import ArgumentError, MismatchError
from accord.game.tree import Game, checked_game
from accord.learning.exploration import Explore, named_exploration, needs_treeplexes
from accord.learning.warm_start import WarmStart
from accord.play.bounds import Bounded, bounded, bounds_of, is_estimated
from accord.play.discovery import discover
from accord.play.environment import Environment, check_environment
from accord.play.feedback import JOINT, OWN
from accord.play.venue import venue
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.regret.sampled import SampledMinimizer
from accord.regret.swrhedge import SWRHedge
from accord.runs.folder import CHECKPOINT, RunFolder, opened_run
from accord.runs.learning_run import Fresh, LearningRun, in_environment, on_simulator
from accord.runs.loop import Progress
from accord.runs.request import LearnRequest, split_method
from accord.runs.result import Learned
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

WORKER_BATCH = 16
"""How often the episodes of an iteration are played, by default, if workers share them."""

MOST_PLAYS = 10_000
"""Fresh plays after a run, by default, if it had at least as many episodes."""


VALUE_PLAYS = 1_000
"""Fresh plays that estimate the values, by default, at most, if none bound the gap."""


def learn(
    playable: Game | Environment,
    k: NotionLike = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex | np.random.Generator = 0,
    components: SupportsIndex | None = None,
    method: str | SampledMinimizer = SAMPLED_DEFAULT,
    learning_rate_scale: float = 1.0,
    exploration: str | Explore | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    workers: SupportsIndex | None = None,
    ray: str | None = None,
    batch: SupportsIndex | None = None,
    memory: SupportsIndex | None = None,
    source: Mapping[str, Any] | None = None,
    game: Game | None = None,
    plexes: Sequence[Treeplex] | None = None,
    plays: SupportsIndex | None = None,
    value_plays: SupportsIndex | None = None,
    feedback: str = OWN,
    seconds: float | None = None,
    start: CorrelatedPolicy | Solved | None = None,
    checkpoint_plays: SupportsIndex | None = None,
) -> Learned:
    """Learn a K-EFCE of a game from played episodes, by K-EFR in self-play.

    The learners only play: each sees its own infosets, actions and payoffs. The same arguments give
    the same bits. Ctrl-C ends the run after the current step; the result then says how far it got.
    If playing fails, for example because an environment raises an exception, the error has what was
    learned until then as its attribute ``learned``, and a run with a folder can be resumed.

    Args:
        playable: The game, which is played on a compiled simulator, or an :class:`Environment`.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names; or ``"efcce"``, ``"afce"`` or ``"afcce"``,
            which the paper's method ``"swrhedge"`` does not learn.
        episodes: Episodes to play; a last iteration that would exceed them is not started.
        seed: The seed of all randomness, or a generator that draws one.
        components: Number of components to save, evenly spaced. By default 1,000, or fewer if they
            would take over 1 GiB; with whole plays also fewer, but at least 50, if they would take
            longer than the episodes.
        method: ``"prm"``, predictive regret matching on whole plays; ``"rm"``, the same without
            prediction; ``"swrhedge"``, the paper's Balanced K-EFR, whose guarantee is about the
            uniform average of all iterates; or a configured :class:`SampledRegretMatching` or
            :class:`SWRHedge`.
        learning_rate_scale: Multiplier on the paper's learning rate; only for ``"swrhedge"``.
        exploration: How episodes explore: ``"spread"`` over all ends of the game (``"prm"`` and
            ``"rm"``), ``"balanced"`` as in the paper, or ``"uniform"``; by default the first of
            these that the method has. Or, for ``"prm"`` and ``"rm"``, a function
            ``explore(player, infoset, actions)`` of the player's number, the label of the infoset
            and those of its actions, which returns a positive weight for each action.
        folder: A new or empty folder to keep the run in (``runs/folder.py``).
        resume: Whether to continue the run in ``folder`` if there is one. Only episodes may differ;
            the paper's learning rate stays the one for the first request. A run that has played
            them stays as it is, but in an environment it is certified again.
        progress: Called with every checkpoint, and from time to time in between. Its ``policy`` is
            the mixture that the run would save now, made only if it is asked for. If the function
            returns True, the run ends there. While plays after the last episode measure the result,
            ``fresh`` of the checkpoint is their number.
        workers: In an environment, play in this many processes, each with a copy of it. This helps
            if a step takes a millisecond or more. The number of workers does not change the result.
        ray: In an environment, play on a Ray cluster: ``"local"`` for one on all cores of this
            machine, ``"auto"`` for the cluster that this machine is part of, or ``"HOST:PORT"``.
            There are as many workers as cores, unless ``workers`` says otherwise. The result is the
            same.
        batch: In an environment, play the episodes of an iteration this many times under the same
            policies and learn from their mean; by default once, or 16 times with ``workers`` or
            ``ray``, to keep workers busy, and as often as fits into a vector environment.
        memory: Bytes that the learners' tables and the components may take together in an
            environment. When the tables are full, infosets that are new are not added, and
            everybody plays uniformly there. By default an error says when memory ends. The result
            takes as much again, and bounding its gap, too. With joint feedback half of the tables'
            memory is for joint histories. When they are full, progress says so, and the players
            continue with their own feedback; in the end the better of both mixtures is saved.
        source: How the environment was made; it is noted in ``run.json``.
        game: The game that the environment plays, if it is known. Infosets and actions must have
            the same labels. No learner sees it; it gives the exact gap.
        plexes: The players' treeplexes in the environment, if they are known; by default the
            learners meet them.
        plays: Number of fresh plays to bound the gap from, if the game is not known
            (:func:`certify_by_play`); with 0 there are no bounds. By default as many as
            ``episodes``, but at most 10,000.
        value_plays: Number of fresh plays to estimate the values and the coverage from; by default
            as many as ``plays``, and without these as many as ``episodes``, but at most 1,000.
        feedback: What the learners see of a play: ``"own"``, each player their own infosets,
            actions and payoffs, as in the paper; or ``"joint"``, the moves of all players, from
            which one learner builds the game and solves it. This takes far fewer episodes if the
            game does not have many more ends than there are episodes. Where it has, players who
            learn for themselves get most of the plays, and plays decide which mixture is saved.
            With more than about 30 ends for each episode they get all plays after the first 500
            (``docs/theory/joint-plays.md``).
        seconds: Stop after this much wall-clock time in this call, also before all ``episodes``. It
            includes fresh plays, for which the time of as many episodes is reserved.
        start: A policy to start from, such as :func:`load_policy` reads, or a result that has one:
            a *warm start* of ``"prm"`` or ``"rm"``. The first iterates play its mean; what it
            correlates is learned again. The saved mixture has none of its components.
        checkpoint_plays: Number of fresh plays to bound the gap from at checkpoints, too, if the
            game is not known: whenever episodes have doubled. They cost time and are not among the
            ``episodes``. Each pair of bounds holds with 95% confidence; that all of a run hold at
            the same time is less certain. By default there are none.

    Raises:
        ArgumentError: If an argument is out of range.
        MismatchError: If the run to be resumed has other arguments, apart from the episodes.
        BudgetError: If the run does not fit into memory.
        GameError: If an environment is not a game with perfect recall, or pays outside its bounds.
        SimulatorError: If an environment raises an exception.
    """
    since = time.perf_counter()
    known = isinstance(playable, (Game, str, os.PathLike))  # checked_game() refuses names
    if known:
        checked_game(playable)
        _refuse_for_games(
            workers=workers, ray=ray, batch=batch, memory=memory, source=source, game=game,
            plexes=plexes, plays=plays, value_plays=value_plays, checkpoint_plays=checkpoint_plays,
        )  # fmt: skip
    else:
        check_environment(playable)
    if batch is None:
        shared = workers is not None or ray is not None
        batch = 1 if feedback == JOINT else WORKER_BATCH if shared else _lanes_batch(playable)
    request = LearnRequest(
        game=playable.source or playable.name if isinstance(playable, Game) else str(playable.name),
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        exploration=named_exploration(exploration),
        environment=None if known else dict(source or {}),
        known=None if game is None else game.source or game.name,
        batch=batch,  # type: ignore[arg-type]
        memory=memory,  # type: ignore[arg-type]
        feedback=feedback,
        seconds=seconds,
        **split_method(SAMPLED_METHODS, method),
    )
    return run_learn(
        playable, request, folder=folder, resume=resume, progress=progress, workers=workers,
        ray=ray, game=game, plexes=plexes, plays=plays, value_plays=value_plays, start=start,
        checkpoint_plays=checkpoint_plays, since=since,
    )  # fmt: skip


def run_learn(
    playable: Game | Environment,
    request: LearnRequest,
    *,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    workers: SupportsIndex | None = None,
    ray: str | None = None,
    game: Game | None = None,
    plexes: Sequence[Treeplex] | None = None,
    plays: SupportsIndex | None = None,
    value_plays: SupportsIndex | None = None,
    start: CorrelatedPolicy | Solved | None = None,
    checkpoint_plays: SupportsIndex | None = None,
    since: float | None = None,
) -> Learned:
    """Learn as ``request`` asks; everything else is as in :func:`learn`.

    ``since`` is when its seconds began to count, by ``time.perf_counter``; by default now.
    """
    limits = request.seconds, time.perf_counter() if since is None else since
    warm = None if start is None else _warm_start(playable, start)
    if warm is not None:
        request = replace(request, start=warm.digest)
    if isinstance(playable, Game):
        first = RunFolder.first_request(folder, request, playable) if resume else None
        assert isinstance(first, LearnRequest | None)
        asked = first or request
        _check_start(folder, asked, warm)
        learners = on_simulator(playable, asked, warm)  # may refuse arguments
        run = LearningRun(asked, *learners, playable)
        with opened_run(folder, request, playable, resume=first is not None) as files:
            return run.run(request.episodes, files, progress, *limits)
    if game is not None and plexes is not None:
        raise ArgumentError("give game or plexes, not both: the treeplexes follow from the game")
    if game is not None and len(game.player_labels) != len(playable.players):
        raise MismatchError(
            f"{playable.name} has {len(playable.players)} players; the game {game.name} has "
            f"{len(game.player_labels)}"
        )
    values, plays = fresh_plays(request.episodes, value_plays, plays)
    first = RunFolder.first_request(folder, request, identity(playable)) if resume else None
    assert isinstance(first, LearnRequest | None)
    asked = first or request
    if (asked.known is None) != (game is None):
        began = "without its game" if asked.known is None else "with its game"
        raise MismatchError(f"{folder} holds a run that began {began}; resume it in this way")
    if asked.is_joint and plexes is not None:
        raise ArgumentError("plexes are for feedback='own'; joint plays show the infosets")
    if plexes is not None and warm is not None:
        raise ArgumentError("give start or plexes, not both: the policy has treeplexes")
    _check_start(folder, asked, warm)
    if plexes is None and not asked.is_joint:
        plexes = _needed_plexes(playable, asked, game)
    env = bounded(playable, asked.seed, asked.bounds)
    _check_unit(env, asked)
    with venue(workers, ray) as where:
        fresh = Fresh(env, values, plays, where, _checkpoint_plays(env, checkpoint_plays))
        players = in_environment(env, asked, plexes, where, warm)
        if first is None:
            stated = {"bounds": bounds_of(env).tolist(), "estimated": is_estimated(env)}
            asked = request = replace(asked, **stated)
        run = LearningRun(asked, *players, game, fresh)
        with opened_run(folder, request, identity(playable), resume=first is not None) as files:
            return run.run(request.episodes, files, progress, *limits)


def _lanes_batch(playable: Any) -> int:
    """How often the episodes of an iteration fit into the lanes of a vector environment."""
    together = getattr(playable, "together", None)
    return 1 if together is None else max(1, together.count // (1 + len(playable.players)))


def _warm_start(playable: Game | Environment, given: CorrelatedPolicy | Solved) -> WarmStart:
    """The policy to start from, in the game if it is known."""
    policy = policy_in(given)
    if isinstance(playable, Game):
        if policy.game is None:
            policy = policy.in_game(playable)
        elif policy.game.digest != playable.digest:
            raise MismatchError(
                f"the policy to start from must be one of {playable.name}; it is one of "
                f"{policy.game.name}"
            )
        return WarmStart(policy, playable.player_labels)
    return WarmStart(policy, tuple(map(str, playable.players)))


def _check_start(
    folder: str | os.PathLike[str] | None, asked: LearnRequest, warm: WarmStart | None
) -> None:
    """Refuse another start than that of a run which is resumed."""
    if warm is not None and asked.start != warm.digest:
        raise MismatchError(
            f"{folder} holds a run that started from another policy, or from none; resume it "
            "without start"
        )
    begun = folder is not None and (Path(folder) / CHECKPOINT).exists()
    if warm is None and asked.start is not None and not begun:
        raise ArgumentError(
            f"{folder} holds a run that was to start from a policy and has no checkpoint yet; give "
            "that policy again as start"
        )


def fresh_plays(
    episodes: int, value_plays: SupportsIndex | None, plays: SupportsIndex | None
) -> tuple[int, int]:
    """How many fresh plays estimate the values, and how many bound the gap."""
    bounding = min(MOST_PLAYS, episodes) if plays is None else checked_whole("plays", plays, 0)
    if value_plays is None:
        return bounding or min(VALUE_PLAYS, episodes), bounding
    return checked_whole("value_plays", value_plays, 1), bounding


def _checkpoint_plays(env: Environment, plays: SupportsIndex | None) -> int:
    """How many fresh plays bound the gap at a checkpoint."""
    if plays is None:
        return 0
    count, least = checked_whole("checkpoint_plays", plays, 0), FEWEST_PLAYS * len(env.players)
    if 0 < count < least:
        raise ArgumentError(f"checkpoint_plays must be 0 or at least {least}; got {count}")
    return count


def _refuse_for_games(**given: Any) -> None:
    """Refuse arguments that only environments have."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} is for environments; a game is played on a simulator")


def _check_unit(env: Any, request: LearnRequest) -> None:
    """Refuse bounds that may widen for a method whose losses must be in [0, 1]."""
    if isinstance(env, Bounded) and isinstance(request.minimizer, SWRHedge):
        raise ArgumentError(
            f"{request.method} needs payoff bounds that are stated and never widened, because its "
            "learning rate is for losses in [0, 1]; state payoff_bounds that no play exceeds and "
            "begin a new run, or learn with prm or rm"
        )


def _needed_plexes(
    env: Environment, request: LearnRequest, game: Game | None
) -> Sequence[Treeplex] | None:
    """The treeplexes, if the method needs to know them."""
    assert request.exploration is not None
    if not needs_treeplexes(request.minimizer, request.exploration):
        return None
    return discover(env, seed=request.seed) if game is None else sequence_form(game).plexes


@dataclass(frozen=True)
class Identity:
    """What a run folder remembers of an environment, in place of a game."""

    name: str
    digest: str


def identity(env: Environment) -> Identity:
    """The name of ``env``, and a digest of it and its players; payoff bounds may be widened."""
    name = str(env.name)
    content = [name, list(map(str, env.players))]
    return Identity(name, hashlib.sha256(json.dumps(content).encode()).hexdigest())
