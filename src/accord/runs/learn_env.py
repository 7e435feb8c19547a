"""Learning in an environment: K-EFR in self-play, from episodes only.

Nothing is enumerated first: tables grow as plays show new infosets (``runs/environment_run.py``).
For the paper's methods, whose sampling plan and learning rate count the infosets, the treeplexes
are discovered first (``play/discovery.py``).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from accord._check import checked_whole
from accord.deviations.notions import NotionLike
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.episode_play import needs_treeplexes
from accord.play.discovery import discover
from accord.play.environment import Environment, check_environment
from accord.play.losses import Losses
from accord.play.venue import venue
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.regret.sampled import SampledMinimizer
from accord.runs.environment_run import EnvironmentRun
from accord.runs.folder import RunFolder, new_run, resumed_run
from accord.runs.loop import Progress
from accord.runs.request import LearnRequest, split_method
from accord.runs.result import Learned, LearnedByPlay
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

WORKER_BATCH = 16
"""How often the episodes of an iteration are played, by default, if workers share them."""

MOST_PLAYS = 10_000
"""Fresh plays after a run, by default, if it had at least as many episodes."""


@overload
def learn_env(
    env: Environment,
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
    game: Game,
) -> Learned: ...


@overload
def learn_env(
    env: Environment,
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
    plexes: Sequence[Treeplex] | None = None,
    plays: SupportsIndex | None = None,
) -> LearnedByPlay: ...


def learn_env(
    env: Environment,
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
) -> Learned | LearnedByPlay:
    """Learn a K-EFCE of a game that can only be played, by K-EFR in self-play.

    Like :func:`learn`, but in an environment. If playing fails, for example because the environment
    raises an exception, the error has what was learned until then as its attribute ``learned``, and
    a run with a folder can be resumed.

    Args:
        env: The :class:`Environment`.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names.
        episodes: Episodes to play; a last iteration that would exceed them is not started.
        seed: The seed of all randomness, or a generator that draws one.
        components: Number of components to save, as in :func:`learn`.
        method: As in :func:`learn`.
        learning_rate_scale: As in :func:`learn`.
        exploration: As in :func:`learn`.
        folder: A new or empty folder to keep the run in; it can be resumed with
            :func:`resume_learn`.
        resume: Whether to continue the run in ``folder`` if there is one. Only episodes may
            differ; a run that has played them is certified again and otherwise stays as it is.
        progress: Called with every checkpoint, and from time to time in between.
        workers: Play in this many processes, each with a copy of the environment. This helps if a
            step takes a millisecond or more. The number of workers does not change the result.
        ray: Play on a Ray cluster: ``"local"`` for one on all cores of this machine, ``"auto"``
            for the cluster that this machine is part of, or ``"HOST:PORT"``. There are as many
            workers as cores, unless ``workers`` says otherwise. The result is the same.
        batch: Play the episodes of an iteration this many times under the same policies and learn
            from their mean; by default once, or 16 times with ``workers`` or ``ray``, to keep
            workers busy.
        memory: Bytes that the learners' tables and the components may take together. When the
            tables are full, infosets that are new are not added, and everybody plays uniformly
            there. By default an error says when memory ends. The result takes as much again.
        source: How the environment was made; it is noted in ``run.json``.
        game: The game that the environment plays, if it is known. Infosets and actions must have
            the same labels. No learner sees it; it gives the exact gap.
        plexes: The players' treeplexes, if they are known; by default the learners meet them.
        plays: Number of fresh plays to estimate the values from, if the game is not known,
            and of as many more to bound the gap from (:func:`certify_by_play`). By default as many
            as ``episodes``, but at most 10,000.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the tables do not fit into memory.
        GameError: If the environment is not a game with perfect recall, or pays outside its bounds.
        SimulatorError: If the environment raises an exception.
    """
    check_environment(env)
    if game is not None and plexes is not None:
        raise ArgumentError("give game or plexes, not both: the treeplexes follow from the game")
    if batch is None:
        batch = 1 if workers is None and ray is None else WORKER_BATCH
    request = LearnRequest(
        game=str(env.name),
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        exploration=exploration,
        environment=dict(source or {}),
        batch=batch,  # type: ignore[arg-type]
        memory=memory,  # type: ignore[arg-type]
        **split_method(SAMPLED_METHODS, method),
    )
    plays = _fresh_plays(plays, request.episodes)
    if resume and folder is not None and RunFolder.has(folder, request, identity(env)):
        if game is not None or plexes is not None:
            raise ArgumentError("game and plexes cannot be given when a run is resumed")
        return resume_learn_env(
            env, folder, episodes=episodes, progress=progress, workers=workers, ray=ray,
            plays=plays,
        )  # fmt: skip
    with venue(workers, ray) as where:
        run = EnvironmentRun(env, request, game, _known(env, request, game, plexes), plays, where)
        with new_run(folder, request, identity(env)) as files:
            return run.run(request.episodes, files, progress)


def resume_learn_env(
    env: Environment,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Progress | None = None,
    workers: SupportsIndex | None = None,
    ray: str | None = None,
    plays: SupportsIndex | None = None,
) -> LearnedByPlay:
    """Resume a run of :func:`learn_env` from its folder, as :func:`resume_learn` does."""
    check_environment(env)
    with (
        resumed_run(folder, LearnRequest.command, identity(env)) as files,
        venue(workers, ray) as where,
    ):
        request = files.request
        assert isinstance(request, LearnRequest)
        until = request.episodes if episodes is None else checked_whole("episodes", episodes, 1)
        plays = _fresh_plays(plays, until)
        run = EnvironmentRun(env, request, None, _known(env, request, None, None), plays, where)
        learned = run.run(until, files, progress)
    assert isinstance(learned, LearnedByPlay)
    return learned


def _fresh_plays(given: SupportsIndex | None, episodes: int) -> int:
    return min(MOST_PLAYS, episodes) if given is None else checked_whole("plays", given, 1)


def _known(
    env: Environment,
    request: LearnRequest,
    game: Game | None,
    plexes: Sequence[Treeplex] | None,
) -> Sequence[Treeplex] | None:
    """The treeplexes, if they are given or the method needs to know them."""
    assert request.exploration is not None
    if plexes is not None or not needs_treeplexes(request.minimizer, request.exploration):
        return plexes
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
