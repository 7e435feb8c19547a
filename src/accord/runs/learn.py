"""Learning a loaded game: K-EFR in self-play on a compiled simulator, from episodes only.

The output is a mixture of evenly spaced components: iterates, or averages of a few. The exact gap
of the components kept so far is computed on the way; the learners do not see it. Environments are
learned in ``runs/learn_env.py``.
"""

from __future__ import annotations

import os
from typing import SupportsIndex, overload

import numpy as np

from accord._check import checked_whole
from accord.deviations.notions import NotionLike, written_k
from accord.game.tree import Game, checked_game
from accord.learning.episode_play import count_episodes
from accord.learning.exploration import checked_exploration
from accord.learning.simulator_play import SimulatorPlay
from accord.play.environment import Environment
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.regret.sampled import SampledMinimizer
from accord.runs.folder import RunFolder, new_run, resumed_run
from accord.runs.footprint import check_run, learn_memory
from accord.runs.known_game import Certified, saved_components
from accord.runs.learn_env import learn_env, resume_learn_env
from accord.runs.loop import Progress
from accord.runs.request import LearnRequest, split_method
from accord.runs.result import Learned, LearnedByPlay
from accord.treeplex.form import sequence_form


@overload
def learn(
    game: Game,
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
) -> Learned: ...


@overload
def learn(
    game: Environment,
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
) -> LearnedByPlay: ...


def learn(
    game: Game | Environment,
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
) -> Learned | LearnedByPlay:
    """Learn a K-EFCE of ``game`` from played episodes, by K-EFR in self-play.

    The learners only play: each sees its own infosets, actions and payoffs. The same arguments give
    the same bits. Ctrl-C ends the run after the current step; the result then says how far it got.
    An environment is learned by :func:`learn_env`, which takes more arguments.

    Args:
        game: The game, which is played on a compiled simulator, or an :class:`Environment`.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names.
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
        folder: A new or empty folder to keep the run in (``runs/folder.py``); it can be resumed
            with :func:`resume_learn`.
        resume: Whether to continue the run in ``folder`` if there is one. A run that has played
            these episodes is returned as it is.
        progress: Called with every checkpoint, and from time to time in between.

    Raises:
        ArgumentError: If an argument is out of range.
        MismatchError: If the run to be resumed has other arguments, apart from the episodes.
        BudgetError: If the run does not fit into memory.
    """
    if not isinstance(game, (Game, str, os.PathLike)):
        return learn_env(
            game, k, episodes=episodes, seed=seed, components=components, method=method,
            learning_rate_scale=learning_rate_scale,
            exploration=exploration, folder=folder, resume=resume, progress=progress,
        )  # fmt: skip
    checked_game(game)
    request = LearnRequest(
        game=game.source or game.name,
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        exploration=exploration,
        **split_method(SAMPLED_METHODS, method),
    )
    if resume and folder is not None and RunFolder.has(folder, request, game):
        return resume_learn(game, folder, episodes=episodes, progress=progress)
    learning = _on_simulator(game, request)  # refuses bad arguments before making a folder
    with new_run(folder, request, game) as files:
        return learning.run(request.episodes, files, progress)


@overload
def resume_learn(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Progress | None = None,
) -> Learned: ...


@overload
def resume_learn(
    game: Environment,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Progress | None = None,
) -> LearnedByPlay: ...


def resume_learn(
    game: Game | Environment,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Progress | None = None,
) -> Learned | LearnedByPlay:
    """Resume a run of :func:`learn` from its folder.

    A run that was interrupted or killed continues from its last checkpoint and ends as if nothing
    had happened. A finished one continues if it is asked for more episodes.

    Args:
        game: The game or the environment of the run.
        folder: The folder of the run.
        episodes: How many to play in total; by default as requested at first. The paper's learning
            rate stays the one for the first request.
        progress: Called with every checkpoint, and from time to time in between.

    Raises:
        ParseError: If the folder does not hold a readable run.
        MismatchError: If it holds a run of another command or of another game, or if one of its
            files belongs to another run.
    """
    if not isinstance(game, Game):
        return resume_learn_env(game, folder, episodes=episodes, progress=progress)
    with resumed_run(folder, LearnRequest.command, game) as files:
        request = files.request
        assert isinstance(request, LearnRequest)
        until = request.episodes if episodes is None else checked_whole("episodes", episodes, 1)
        return _on_simulator(game, request).run(until, files, progress)


def _on_simulator(game: Game, request: LearnRequest) -> Certified:
    form = sequence_form(game)
    minimizer = request.minimizer
    exploration = checked_exploration(minimizer.explorations, request.exploration)
    shared, own = count_episodes(form.plexes, request.k, minimizer, exploration)
    iterations = request.episodes // max(1, shared + sum(own))
    components = saved_components(form.plexes, request)[0] if any(own) else 1
    needed = learn_memory(form, request.k, minimizer, components=components, iterations=iterations)
    check_run(f"learning {game.name} at k = {written_k(request.k)}", needed)
    play = SimulatorPlay(
        form,
        request.k,
        request.episodes,
        np.random.default_rng(request.seed),
        method=minimizer,
        exploration=exploration,
    )
    return Certified(play, request, game)
