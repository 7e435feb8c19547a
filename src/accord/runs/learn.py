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
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord._check import checked_whole
from accord.deviations.notions import NotionLike
from accord.errors import ArgumentError, MismatchError
from accord.game.tree import Game, checked_game
from accord.learning.exploration import needs_treeplexes
from accord.play.discovery import discover
from accord.play.environment import Environment, check_environment
from accord.play.feedback import JOINT, OWN
from accord.play.losses import Losses
from accord.play.venue import venue
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.regret.sampled import SampledMinimizer
from accord.runs.folder import RunFolder, opened_run
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


def learn(
    playable: Game | Environment,
    k: NotionLike = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex | np.random.Generator = 0,
    components: SupportsIndex | None = None,
    method: str | SampledMinimizer = SAMPLED_DEFAULT,
    learning_rate_scale: float = 1.0,
    exploration: str | None = None,
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
            these that the method has.
        folder: A new or empty folder to keep the run in (``runs/folder.py``).
        resume: Whether to continue the run in ``folder`` if there is one. Only episodes may differ;
            the paper's learning rate stays the one for the first request. A run that has played
            them stays as it is, but in an environment it is certified again.
        progress: Called with every checkpoint, and from time to time in between. If it returns
            True, the run ends there. While plays after the last episode measure the result,
            ``fresh`` of the checkpoint is their number.
        workers: In an environment, play in this many processes, each with a copy of it. This helps
            if a step takes a millisecond or more. The number of workers does not change the result.
        ray: In an environment, play on a Ray cluster: ``"local"`` for one on all cores of this
            machine, ``"auto"`` for the cluster that this machine is part of, or ``"HOST:PORT"``.
            There are as many workers as cores, unless ``workers`` says otherwise. The result is the
            same.
        batch: In an environment, play the episodes of an iteration this many times under the same
            policies and learn from their mean; by default once, or 16 times with ``workers`` or
            ``ray``, to keep workers busy.
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
        value_plays: Number of fresh plays to estimate the values from; by default as many as
            ``plays``, and at least one.
        feedback: What the learners see of a play: ``"own"``, each player their own infosets,
            actions and payoffs, as in the paper; or ``"joint"``, the moves of all players, from
            which one learner builds the game and solves it. This takes far fewer episodes if the
            game does not have many more ends than there are episodes. Where it has, players who
            learn for themselves get most of the plays, and plays decide which mixture is saved
            (``docs/theory/joint-plays.md``).
        seconds: Stop after this much wall-clock time in this call, also before all ``episodes``. It
            includes fresh plays, for which the time of as many episodes is reserved.

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
            plexes=plexes, plays=plays, value_plays=value_plays,
        )  # fmt: skip
    else:
        check_environment(playable)
    if batch is None:
        alone = (workers is None and ray is None) or feedback == JOINT
        batch = 1 if alone else WORKER_BATCH
    request = LearnRequest(
        game=playable.source or playable.name if isinstance(playable, Game) else str(playable.name),
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        exploration=exploration,
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
        ray=ray, game=game, plexes=plexes, plays=plays, value_plays=value_plays, since=since,
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
    since: float | None = None,
) -> Learned:
    """Learn as ``request`` asks; everything else is as in :func:`learn`.

    ``since`` is when its seconds began to count, by ``time.perf_counter``; by default now.
    """
    limits = request.seconds, time.perf_counter() if since is None else since
    if isinstance(playable, Game):
        first = RunFolder.first_request(folder, request, playable) if resume else None
        assert isinstance(first, LearnRequest | None)
        asked = first or request
        run = LearningRun(asked, *on_simulator(playable, asked), playable)  # may refuse arguments
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
    if plexes is None and not asked.is_joint:
        plexes = _needed_plexes(playable, asked, game)
    with venue(workers, ray) as where:
        learners = in_environment(playable, asked, plexes, where)
        run = LearningRun(asked, *learners, game, Fresh(playable, values, plays, where))
        with opened_run(folder, request, identity(playable), resume=first is not None) as files:
            return run.run(request.episodes, files, progress, *limits)


def fresh_plays(
    episodes: int, value_plays: SupportsIndex | None, plays: SupportsIndex | None
) -> tuple[int, int]:
    """How many fresh plays estimate the values, and how many bound the gap."""
    bounding = min(MOST_PLAYS, episodes) if plays is None else checked_whole("plays", plays, 0)
    if value_plays is None:
        return max(1, bounding), bounding
    return checked_whole("value_plays", value_plays, 1), bounding


def _refuse_for_games(**given: Any) -> None:
    """Refuse arguments that only environments have."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} is for environments; a game is played on a simulator")


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
    """The name of ``env``, and a digest of all that it declares."""
    losses = Losses(env)
    content = [losses.name, losses.players, losses.worst, losses.best]
    return Identity(losses.name, hashlib.sha256(json.dumps(content).encode()).hexdigest())
