"""Learning: K-EFR in self-play, from episodes only.

:func:`learn` plays a loaded game on a compiled simulator, :func:`learn_env` an environment move by
move. The output is a mixture of evenly spaced components: iterates, or averages of a few. If the
game is known, the exact gap of the components kept so far is computed on the way; the learners do
not see it. If not, the payoffs of the mixture are estimated from fresh plays at the end, and no gap
is claimed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, SupportsIndex, overload

import numpy as np

from accord._arrays import Floats
from accord._check import checked_whole
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.mixture import Mixture
from accord.equilibrium.rounding import Measured
from accord.errors import ArgumentError, MismatchError
from accord.game.tree import Game, checked_game
from accord.learning.sampled_self_play import EnvironmentSelfPlay, SampledSelfPlay
from accord.play.discovery import discover
from accord.play.environment import Environment, is_environment, missing_attributes
from accord.play.rollout import estimated_values
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.regret.rates import DEFAULT_FAILURE_PROB
from accord.regret.sampled import SampledMinimizer
from accord.runs.activity import doing
from accord.runs.checkpoint import numbers
from accord.runs.folder import RunFolder, new_run, resumed_run
from accord.runs.iterates import Iterates
from accord.runs.loop import Loop, Progress
from accord.runs.request import LearnRequest, split_method
from accord.runs.result import Learned, LearnedByPlay
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.treeplex import Treeplex

WHOLE_PLAYS_SINCE = 2
"""The first version of run folders in which ``rm`` learns from whole plays."""

FEWEST_COMPONENTS = 50
"""How many components are saved by default, at least, however long it takes."""


def learn(
    game: Game,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    method: str | SampledMinimizer = SAMPLED_DEFAULT,
    learning_rate_scale: float = 1.0,
    failure_prob: float = DEFAULT_FAILURE_PROB,
    exploration: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Learned:
    """Learn a K-EFCE of ``game`` from played episodes, by K-EFR in self-play.

    The learners only play: each sees its own infosets, actions and payoffs. The same arguments give
    the same bits. Ctrl-C ends the run after the current step; the result then says how far it got.
    To learn from a simulator, use :func:`learn_env`.

    Args:
        game: The game, which is played on a compiled simulator.
        k: How many recommendations a deviator may see and disobey: 0, 1, ..., ``math.inf``.
        episodes: Episodes to play; a last iteration that would exceed them is not started.
        seed: The seed of all randomness.
        components: Number of components to save, evenly spaced. By default 1,000, or fewer if they
            would take over 1 GiB; with whole plays also fewer, but at least 50, if they would take
            longer than the episodes.
        method: ``"prm"``, predictive regret matching on whole plays; ``"rm"``, the same without
            prediction; ``"swrhedge"``, the paper's Balanced K-EFR, whose guarantee is about the
            uniform average of all iterates; or a configured :class:`SampledRegretMatching` or
            :class:`SWRHedge`.
        learning_rate_scale: Multiplier on the paper's learning rate; only for ``"swrhedge"``.
        failure_prob: The probability with which the paper's guarantee may fail; enters its
            learning rate.
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
        BudgetError: If the rechistories do not fit into memory.
    """
    if is_environment(game):
        raise ArgumentError(f"learn() takes a game; for an environment call learn_env({game!r})")
    checked_game(game)
    request = LearnRequest(
        game=game.source or game.name,
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        failure_prob=failure_prob,
        exploration=exploration,
        **split_method(SAMPLED_METHODS, method),
    )
    if resume and folder is not None and RunFolder.has(folder, request, game):
        return resume_learn(game, folder, episodes=episodes, progress=progress)
    learning = _on_simulator(game, request)  # refuses bad arguments before making a folder
    with new_run(folder, request, game) as files:
        return learning.run(request.episodes, files, progress)


def resume_learn(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Resume a run of :func:`learn` from its folder.

    A run that was interrupted or killed continues from its last checkpoint and ends as if nothing
    had happened. A finished one continues if it is asked for more episodes.

    Args:
        game: The game of the run.
        folder: The folder of the run.
        episodes: How many to play in total; by default as requested at first. The paper's learning
            rate stays the one for the first request.
        progress: Called with every checkpoint, and from time to time in between.

    Raises:
        ParseError: If the folder does not hold a readable run.
        MismatchError: If it holds a run of another command or of another game, or one of an earlier
            version whose method this version does not have, or if one of its files belongs to
            another run.
    """
    with resumed_run(folder, LearnRequest.command, checked_game(game)) as files:
        request = files.request
        assert isinstance(request, LearnRequest)
        if files.version < WHOLE_PLAYS_SINCE and request.method == "rm":
            raise MismatchError(
                f"{files.path} holds a run of rm as it was before Accord learned from whole plays; "
                "its policy can be certified and reported, but to continue it use the version of "
                "Accord that began it, or start a new run"
            )
        until = request.episodes if episodes is None else checked_whole("episodes", episodes, 1)
        return _on_simulator(game, request).run(until, files, progress)


@overload
def learn_env(
    env: Environment,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    method: str | SampledMinimizer = SAMPLED_DEFAULT,
    learning_rate_scale: float = 1.0,
    failure_prob: float = DEFAULT_FAILURE_PROB,
    exploration: str | None = None,
    progress: Progress | None = None,
    game: Game,
) -> Learned: ...


@overload
def learn_env(
    env: Environment,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    method: str | SampledMinimizer = SAMPLED_DEFAULT,
    learning_rate_scale: float = 1.0,
    failure_prob: float = DEFAULT_FAILURE_PROB,
    exploration: str | None = None,
    progress: Progress | None = None,
    plexes: Sequence[Treeplex] | None = None,
    value_plays: SupportsIndex = 10_000,
) -> LearnedByPlay: ...


def learn_env(
    env: Environment,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    method: str | SampledMinimizer = SAMPLED_DEFAULT,
    learning_rate_scale: float = 1.0,
    failure_prob: float = DEFAULT_FAILURE_PROB,
    exploration: str | None = None,
    progress: Progress | None = None,
    game: Game | None = None,
    plexes: Sequence[Treeplex] | None = None,
    value_plays: SupportsIndex = 10_000,
) -> Learned | LearnedByPlay:
    """Learn a K-EFCE of a game that can only be played, by K-EFR in self-play.

    Like :func:`learn`, but in an environment.

    Args:
        env: The :class:`Environment`.
        k: How many recommendations a deviator may see and disobey: 0, 1, ..., ``math.inf``.
        episodes: Episodes to play; a last iteration that would exceed them is not started.
        seed: The seed of all randomness.
        components: Number of components to save, as in :func:`learn`.
        method: As in :func:`learn`.
        learning_rate_scale: As in :func:`learn`.
        failure_prob: As in :func:`learn`.
        exploration: As in :func:`learn`.
        progress: Called with every checkpoint, and from time to time in between.
        game: The game that the environment plays, if it is known. Infosets and actions must have
            the same labels. No learner sees it; it gives the treeplexes and the exact gap.
        plexes: The players' treeplexes; by default they are discovered.
        value_plays: Number of fresh plays to estimate the values from, if the game is not known.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory, or the environment shows too many
            infosets.
        MismatchError: If the environment shows an infoset that is not in its player's treeplex.
        GameError: If the environment is not a game, or pays outside its bounds.
    """
    if not is_environment(env):
        missing = missing_attributes(env)
        flaw = f"lacks {', '.join(missing)}" if missing else "is a class, not an instance"
        raise ArgumentError(
            f"learn_env() needs an environment; got {env!r}, which {flaw}; for a loaded game call "
            "learn()"
        )
    if game is not None and plexes is not None:
        raise ArgumentError("give game or plexes, not both: the treeplexes follow from the game")
    request = LearnRequest(
        game=env.name,
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        failure_prob=failure_prob,
        exploration=exploration,
        **split_method(SAMPLED_METHODS, method),
    )
    plays = checked_whole("value_plays", value_plays, 1)
    rng = np.random.default_rng(request.seed)
    if game is not None:
        plexes = sequence_form(game).plexes
    elif plexes is None:
        plexes = discover(env, seed=request.seed)
    play = EnvironmentSelfPlay(
        env, plexes, request.k, request.episodes, rng,
        method=request.minimizer, exploration=request.exploration,
    )  # fmt: skip
    if game is not None:
        return _Certified(play, request, game).run(request.episodes, None, progress)
    learning = _Learning(play, request)
    weights, behaviors = learning.play(request.episodes, None, progress)
    players = tuple(map(str, env.players))
    mixture = Mixture(env.name, players, tuple(plexes), weights, behaviors)
    values, margins = estimated_values(env, mixture, plays, rng)
    return LearnedByPlay(
        name=env.name,
        values=values,
        margins=margins,
        value_plays=plays,
        policy=mixture,
        **learning.facts(),
    )


def _on_simulator(game: Game, request: LearnRequest) -> _Certified:
    play = SampledSelfPlay.of(
        sequence_form(game),
        request.k,
        request.episodes,
        np.random.default_rng(request.seed),
        method=request.minimizer,
        exploration=request.exploration,
    )
    return _Certified(play, request, game)


class _Learning:
    """A request, the learners for it, and the iterates to save."""

    def __init__(self, play: SampledSelfPlay | EnvironmentSelfPlay, request: LearnRequest) -> None:
        each, episodes = play.episodes_per_iteration, request.episodes
        if not 1 <= each <= episodes:
            raise ArgumentError(
                f"episodes must be at least {each}, enough for one iteration; got {episodes}; play "
                "more, or try a smaller k"
                if each
                else "the game must have a decision to learn, but no player has one"
            )
        self.request, self.each = request, each
        components, play.averages = _saved(play, request)
        self.iterates = Iterates(play.n_sequences, components)
        self.iterates.stride = max(1, episodes // each // self.iterates.components)
        self.loop = Loop(play, self.iterates, self._measure, each)

    def _measure(self) -> Measured | None:
        """Gaps and values of all players, if they are known."""
        return None

    def play(
        self, episodes: int, files: RunFolder | None, progress: Progress | None
    ) -> tuple[Floats, Floats]:
        """Play until another iteration would exceed ``episodes``; return weights and behaviors."""
        loop, iterates = self.loop, self.iterates
        loop.run(episodes // self.each, files=files, progress=progress)
        if iterates.count == 0:  # interrupted before the first was kept: take the next
            iterates.count = loop.play.advance(1, iterates.make_room(), 1)
        _, behaviors = iterates.selected()
        return np.full(len(behaviors), 1.0 / len(behaviors)), behaviors

    def facts(self) -> dict[str, Any]:
        """The fields that all results share."""
        return {
            "request": self.request,
            "k": self.request.k,
            "method": self.request.method,
            "episodes": self.loop.play.iteration * self.each,
            "iterations": self.loop.play.iteration,
            "episodes_per_iteration": self.each,
            "seconds": self.loop.elapsed,
            "interrupted": self.loop.interrupted,
        }


def _saved(
    play: SampledSelfPlay | EnvironmentSelfPlay, request: LearnRequest
) -> tuple[int | None, int]:
    """How many components to save, and how many iterates each of them averages.

    An iterate costs as much as the episodes that visit as many infosets. If each component averages
    several, iterates in total may cost half of the episodes; components come first.
    """
    most = play.averages
    if most == 1:
        return request.components, 1
    visits = request.episodes * sum(plex.horizon for plex in play.plexes)
    affordable = visits // (2 * sum(plex.n_infosets for plex in play.plexes))
    components = request.components
    if components is None:
        components = Iterates.default_components(play.n_sequences)
        components = min(components, max(FEWEST_COMPONENTS, affordable))
    return components, max(1, min(most, affordable // components))


class _Certified(_Learning):
    """Learning a known game: the gap of the iterates kept so far is measured on the way."""

    def __init__(
        self, play: SampledSelfPlay | EnvironmentSelfPlay, request: LearnRequest, game: Game
    ) -> None:
        super().__init__(play, request)
        self.game = game
        self.meter = _KeptMeter(sequence_form(game), request.k, self.iterates)

    def _measure(self) -> Measured | None:
        return self.meter.measure()

    def run(self, episodes: int, files: RunFolder | None, progress: Progress | None) -> Learned:
        """Play, and certify the saved mixture."""
        policy = CorrelatedPolicy(self.game, *self.play(episodes, files, progress))
        facts, history = self.facts(), tuple(self.loop.history)
        del self.loop  # its memory is needed for the certificate
        with doing("measuring the gap of the mixture"):
            last = numbers(self.meter.measure_selected())
        if history:  # fewer iterates may be saved than were kept
            history = (*history[:-1], replace(history[-1], **last))
        learned = Learned(game=self.game, policy=policy, history=history, **last, **facts)
        del self.meter
        if files is not None:
            files.finish(learned.to_json(), policy, learned.certificate, history)
        return learned


class _KeptMeter:
    """The gaps and values of the uniform mixture of the iterates kept so far.

    Each iterate is measured once, unless they have been thinned in between.
    """

    def __init__(self, form: SequenceForm, k: float, iterates: Iterates) -> None:
        self.form, self.k, self.iterates = form, k, iterates
        self.meter = MixtureMeter(form, k)
        self.measured, self.stride = 0, iterates.stride

    def measure(self) -> Measured | None:
        """Gaps and values of all players, or ``None`` if nothing has been kept."""
        iterates = self.iterates
        if iterates.stride != self.stride:
            self.meter = MixtureMeter(self.form, self.k)
            self.measured, self.stride = 0, iterates.stride
        for joint in iterates.kept[self.measured : iterates.count]:
            self.meter.observe(self.form.split(joint))
        self.measured = iterates.count
        return self.meter.measured() if self.measured else None

    def measure_selected(self) -> Measured:
        """The same for the iterates that are saved."""
        _, behaviors = self.iterates.selected()
        if len(behaviors) < self.iterates.count:
            self.meter = MixtureMeter(self.form, self.k)
            for joint in behaviors:
                self.meter.observe(self.form.split(joint))
        else:
            self.measure()
        return self.meter.measured()
