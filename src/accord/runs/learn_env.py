"""Learning in an environment: K-EFR in self-play, from episodes only.

Nothing is enumerated first. Tables grow as plays show new infosets
(``learning/growing_self_play.py``), and the output is a mixture of evenly spaced components. The
game is unknown, so the gap is bounded from fresh plays at the end (``runs/certify_by_play.py``). If
the game is given, its exact gap is computed on the way; the learners do not see it.

The paper's methods cannot grow: their sampling plan and learning rate count the infosets. For them
the treeplexes are discovered first (``play/discovery.py``).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from accord._arrays import Floats
from accord._check import checked_whole
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.mixture import Mixture
from accord.equilibrium.rounding import Measured
from accord.errors import AccordError, ArgumentError, BudgetError, MismatchError
from accord.game.tree import Game
from accord.learning.environment_self_play import EnvironmentSelfPlay
from accord.learning.growing_self_play import GrowingSelfPlay
from accord.play.discovery import discover
from accord.play.environment import Environment, check_environment
from accord.play.episodes import Player
from accord.play.losses import Losses
from accord.play.own_tree import OwnTree
from accord.play.rollout import QUANTILE, estimated_values
from accord.play.venue import Venue, venue
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.regret.rates import DEFAULT_FAILURE_PROB
from accord.regret.sampled import SampledMinimizer
from accord.runs.activity import doing
from accord.runs.certify_by_play import (
    CONFIDENCE,
    FEWEST_PLAYS,
    PlayCertificate,
    bounded_by_play,
)
from accord.runs.checkpoint import Seen, numbers
from accord.runs.folder import RunFolder, new_run, resumed_run
from accord.runs.growing_iterates import GrowingIterates, mixture_of
from accord.runs.known_game import Certified, Learning
from accord.runs.loop import Loop, Progress
from accord.runs.request import LearnRequest, split_method
from accord.runs.result import Learned, LearnedByPlay
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

WORKER_BATCH = 16
"""How often the episodes of an iteration are played, by default, if workers share them."""

MOST_PLAYS = 10_000
"""Fresh plays after a run, by default, if it had at least as many episodes."""

VALUE_SEED = 1
"""Added to the seed of a run for the plays after it."""


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
    workers: SupportsIndex | None = None,
    ray: str | None = None,
    batch: SupportsIndex | None = None,
    memory: SupportsIndex | None = None,
    source: Mapping[str, Any] | None = None,
    plexes: Sequence[Treeplex] | None = None,
    value_plays: SupportsIndex | None = None,
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
    value_plays: SupportsIndex | None = None,
) -> Learned | LearnedByPlay:
    """Learn a K-EFCE of a game that can only be played, by K-EFR in self-play.

    Like :func:`learn`, but in an environment. If playing fails, for example because the environment
    raises an exception, the error has what was learned until then as its attribute ``learned``, and
    a run with a folder can be resumed.

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
        folder: A new or empty folder to keep the run in; it can be resumed with
            :func:`resume_learn`.
        resume: Whether to continue the run in ``folder`` if there is one. Only episodes may
            differ; a run that has played them is certified again and otherwise stays as it is.
        progress: Called with every checkpoint, and from time to time in between.
        workers: Play in so many processes, each with a copy of the environment. This helps if a
            step takes a millisecond or more. The number of workers does not change the result.
        ray: Play on a Ray cluster: ``"local"`` for one on all cores of this machine, ``"auto"``
            for the cluster that this machine is part of, or ``"HOST:PORT"``. There are as many
            workers as cores, unless ``workers`` says otherwise. The result is the same.
        batch: Play the episodes of an iteration so many times under the same policies and learn
            from their mean; by default once, or 16 times with ``workers`` or ``ray``, to keep
            workers busy.
        memory: Bytes that the learners' tables and the components may take together. When the
            tables are full, infosets that are new are not added, and everybody plays uniformly
            there. By default an error says when memory ends. The result takes as much again.
        source: How the environment was made; it is noted in ``run.json``.
        game: The game that the environment plays, if it is known. Infosets and actions must have
            the same labels. No learner sees it; it gives the exact gap.
        plexes: The players' treeplexes, if they are known; by default the learners meet them.
        value_plays: Number of fresh plays to estimate the values from, if the game is not known,
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
    growing = {"folder": folder, "workers": workers, "ray": ray, "batch": batch, "memory": memory}
    if batch is None:
        batch = 1 if workers is None and ray is None else WORKER_BATCH
    request = LearnRequest(
        game=str(env.name),
        k=k,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        seed=seed,  # type: ignore[arg-type]
        components=components,  # type: ignore[arg-type]
        learning_rate_scale=learning_rate_scale,
        failure_prob=failure_prob,
        exploration=exploration,
        environment=dict(source or {}),
        batch=batch,  # type: ignore[arg-type]
        memory=memory,  # type: ignore[arg-type]
        **split_method(SAMPLED_METHODS, method),
    )
    plays = _fresh_plays(value_plays, request.episodes)
    if not grows(request):
        if given := [name for name, value in growing.items() if value is not None]:
            raise ArgumentError(
                f"{request.method} with {request.exploration} exploration takes no {given[0]} in "
                "an environment, because the paper's sampling plan counts the infosets below every "
                "move, and its learning rate all of them, before the first episode; use prm or rm "
                f"with spread or uniform exploration, or leave {given[0]} out"
            )
        return _learn_planned(env, request, game, plexes, plays, progress)
    if resume and folder is not None and RunFolder.has(folder, request, identity(env)):  # type: ignore[arg-type]
        if game is not None or plexes is not None:
            raise ArgumentError("game and plexes cannot be given when a run is resumed")
        return resume_learn_env(
            env, folder, episodes=episodes, progress=progress, workers=workers, ray=ray,
            value_plays=plays,
        )  # fmt: skip
    with venue(workers, ray) as where:
        run = EnvironmentRun(env, request, game, plexes, plays, where)
        with new_run(folder, request, identity(env)) as files:  # type: ignore[arg-type]
            return run.run(request.episodes, files, progress)


def resume_learn_env(
    env: Environment,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Progress | None = None,
    workers: SupportsIndex | None = None,
    ray: str | None = None,
    value_plays: SupportsIndex | None = None,
) -> LearnedByPlay:
    """Resume a run of :func:`learn_env` from its folder, as :func:`resume_learn` does."""
    check_environment(env)
    with (
        resumed_run(folder, LearnRequest.command, identity(env)) as files,  # type: ignore[arg-type]
        venue(workers, ray) as where,
    ):
        request = files.request
        assert isinstance(request, LearnRequest)
        until = request.episodes if episodes is None else checked_whole("episodes", episodes, 1)
        plays = _fresh_plays(value_plays, until)
        run = EnvironmentRun(env, request, None, None, plays, where)
        learned = run.run(until, files, progress)
    assert isinstance(learned, LearnedByPlay)
    return learned


def _fresh_plays(given: SupportsIndex | None, episodes: int) -> int:
    return min(MOST_PLAYS, episodes) if given is None else checked_whole("value_plays", given, 1)


def checked(
    env: Environment,
    mixture: Mixture,
    k: float,
    plays: int,
    seed: int,
    player: Player | None = None,
) -> tuple[PlayCertificate | None, str | None]:
    """A certificate from ``plays`` plays, or the reason why there is none."""
    try:
        if plays < (least := FEWEST_PLAYS * len(env.players)):
            return None, f"bounds on the gap need at least {least} plays; there were {plays}"
        return bounded_by_play(env, mixture, k, plays, CONFIDENCE, seed + 1, player), None
    except BudgetError as error:
        return None, str(error)


def grows(request: LearnRequest) -> bool:
    """Whether the method can learn without knowing the treeplexes."""
    return bool(request.minimizer.whole_plays) and request.exploration != "balanced"


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


class EnvironmentRun:
    """A request, the learners for it, and the components to save."""

    def __init__(
        self,
        env: Environment,
        request: LearnRequest,
        game: Game | None,
        plexes: Sequence[Treeplex] | None,
        value_plays: int,
        where: Venue,
    ) -> None:
        self.env, self.request, self.game, self.value_plays = env, request, game, value_plays
        self.where = where
        if game is not None and len(game.player_labels) != len(env.players):
            raise MismatchError(
                f"{env.name} has {len(env.players)} players; the game {game.name} has "
                f"{len(game.player_labels)}"
            )
        half = None if request.memory is None else request.memory // 2
        self.selfplay = GrowingSelfPlay(
            env, request.k, request.seed, method=request.minimizer, plexes=plexes,
            exploration=request.exploration, batch=request.batch, memory=half,
            player=None if where.is_here else where.player(env, request.seed),
        )  # fmt: skip
        each = self.each = self.selfplay.episodes_per_iteration
        if not 1 <= each <= request.episodes:
            raise ArgumentError(
                f"episodes must be at least {each}, enough for one iteration; got "
                f"{request.episodes}"
                if each
                else "the game must have a decision to learn, but no player has one"
            )
        iterations = request.episodes // each
        self.iterates = GrowingIterates(
            request.components, iterations, self.selfplay.averages, half
        )
        self.meter = None if game is None else _GameMeter(game, request.k, self)
        measure = self._measure if self.meter is None else self.meter.measure
        self.loop = Loop(self.selfplay, self.iterates, measure, each, self._look)  # type: ignore[arg-type]

    def _measure(self) -> Measured | None:
        return None

    def _look(self) -> tuple[Seen, tuple[float, ...]]:
        values, margins, _ = self._running_values()
        play = self.selfplay
        return Seen(play.n_infosets, play.n_bytes, margins, play.is_full), values

    def run(
        self, episodes: int, files: RunFolder | None, progress: Progress | None
    ) -> Learned | LearnedByPlay:
        """Play until another iteration would exceed ``episodes``, and measure the result."""
        loop, begun = self.loop, time.perf_counter()
        try:
            loop.run(episodes // self.each, files=files, progress=progress)
        except AccordError as error:
            loop.elapsed = time.perf_counter() - begun
            continued = loop.begun and self.selfplay.iteration
            if files is not None and continued:
                loop._save(files, loop.elapsed, now=True)
            if self.iterates.count and continued:
                error.learned = self._result(self._mixture(), *self._running_values())
            raise
        finally:
            self.selfplay.close()
        if not self.iterates.count:  # interrupted before the first was kept: take this one
            self.iterates.stride = 1
            self.selfplay.advance(1, self.iterates)
        if self.meter is not None:
            return self.meter.certified(self)
        mixture = self._mixture()
        try:
            learned = self._measured(mixture)
        except AccordError as error:
            error.learned = self._result(mixture, *self._running_values())
            raise
        if files is not None:
            bounds = learned.certificate or learned
            files.finish(learned.to_json(), mixture, bounds, loop.history)  # type: ignore[arg-type]
        return learned

    def _measured(self, mixture: Mixture) -> LearnedByPlay:
        """The result, with values and bounds from fresh plays."""
        env, plays, seed = self.env, self.value_plays, self.request.seed + VALUE_SEED
        values = estimated_values(env, mixture, plays, seed, self.where.player(env, seed))
        with doing("bounding the gap by fresh plays"):
            player = self.where.player(env, seed + 1)
            bounds = checked(env, mixture, self.request.k, plays, seed, player)
        return self._result(mixture, *values, plays, *bounds)

    def facts(self) -> dict[str, Any]:
        """The fields that all results share."""
        return {
            "request": self.request,
            "k": self.request.k,
            "method": self.request.method,
            "episodes": self.selfplay.iteration * self.each,
            "iterations": self.selfplay.iteration,
            "episodes_per_iteration": self.each,
            "seconds": self.loop.elapsed,
            "interrupted": self.loop.interrupted,
        }

    def _mixture(self) -> Mixture:
        return mixture_of(str(self.env.name), self.iterates.selected(), self.selfplay.trees)

    def _running_values(self) -> tuple[tuple[float, ...], tuple[float, ...], int]:
        """Mean payoffs of the episodes in which everybody followed pi^t, with their margins."""
        plays, paid, squares = self.selfplay.paid
        mean = paid / np.maximum(plays, 1)
        variance = np.maximum(squares / np.maximum(plays, 1) - mean * mean, 0.0)
        margin = np.where(plays > 1, QUANTILE * np.sqrt(variance / np.maximum(plays, 1)), np.nan)
        return tuple(mean.tolist()), tuple(margin.tolist()), int(plays[0])

    def _result(
        self,
        mixture: Mixture,
        values: tuple[float, ...],
        margins: tuple[float, ...],
        plays: int,
        certificate: PlayCertificate | None = None,
        refusal: str | None = None,
    ) -> LearnedByPlay:
        return LearnedByPlay(
            name=str(self.env.name), values=values, margins=margins, value_plays=plays,
            policy=mixture, certificate=certificate, refusal=refusal,
            history=tuple(self.loop.history), **self.facts(),
        )  # fmt: skip


class _GameMeter:
    """The exact gaps and values of the components kept so far, in a game with the same labels."""

    def __init__(self, game: Game, k: float, run: EnvironmentRun) -> None:
        self.form, self.k, self.iterates = sequence_form(game), k, run.iterates
        self.trees = run.selfplay.trees
        self.plexes = self.form.plexes
        self.number = [
            {label: x for x, label in enumerate(plex.infoset_labels)} for plex in self.plexes
        ]
        uniform = [np.concatenate([[1.0], np.repeat(1.0 / plex.n_actions, plex.n_actions)])
                   for plex in self.plexes]  # fmt: skip
        self.uniform = np.concatenate(uniform)
        self._restart()

    def _restart(self) -> None:
        self.meter = MixtureMeter(self.form, self.k)
        self.measured, self.stride = 0, self.iterates.stride

    def measure(self) -> Measured | None:
        """Gaps and values of all players, or ``None`` if nothing has been kept."""
        if self.iterates.stride != self.stride:
            self._restart()
        rows = self.iterates.rows[self.measured :]
        for joint in self.translated(rows):
            self.meter.observe(self.form.split(joint))
        self.measured += len(rows)
        return self.meter.measured() if self.measured else None

    def translated(self, rows: Sequence[Sequence[Floats]]) -> Floats:
        """The components as policies of the game; uniform where nothing was seen."""
        columns = [
            self._columns(i, tree, first)
            for i, (tree, first) in enumerate(
                zip(self.trees, self.form.leaves.first_reach, strict=False)
            )
        ]
        joint = np.tile(self.uniform, (len(rows), 1))
        for c, row in enumerate(rows):
            for i, part in enumerate(row):
                joint[c, columns[i][: len(part)]] = part
        return joint

    def _columns(self, i: int, tree: OwnTree, first: int) -> np.ndarray:
        """The sequence in the game, of all players together, of each sequence in ``tree``."""
        plex, columns = self.plexes[i], np.full(tree.n_sequences, first, np.int64)
        for x, label in enumerate(tree.labels):
            y = self.number[i].get(label)
            if y is None or tuple(plex.action_labels[y]) != tree.actions[x]:
                raise MismatchError(
                    f"the game must have the infosets and actions of the environment, but lacks "
                    f"{label!r} of player {tree.player} with the actions {tree.actions[x]}"
                )
            start = tree.first_seq[x]
            n = len(tree.actions[x])
            columns[start : start + n] = first + plex.first_seq[y] + np.arange(n)
        return columns

    def certified(self, run: EnvironmentRun) -> Learned:
        """The result, with the exact gap of the saved mixture."""
        behaviors = self.translated(self.iterates.selected())
        weights = np.full(len(behaviors), 1.0 / len(behaviors))
        assert run.game is not None
        policy = CorrelatedPolicy(run.game, weights, behaviors)
        meter = MixtureMeter(self.form, self.k)
        for weight, parts in policy.components():
            meter.observe(parts, weight)
        return Learned(
            game=run.game, policy=policy, history=tuple(run.loop.history),
            **numbers(meter.measured()), **run.facts(),
        )  # fmt: skip


def _learn_planned(
    env: Environment,
    request: LearnRequest,
    game: Game | None,
    plexes: Sequence[Treeplex] | None,
    value_plays: int,
    progress: Progress | None,
) -> Learned | LearnedByPlay:
    """Learn with a method that must know the treeplexes."""
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
        return Certified(play, request, game).run(request.episodes, None, progress)
    learning = Learning(play, request)
    learning.play(request.episodes, None, progress)
    players = tuple(map(str, env.players))
    mixture = Mixture(str(env.name), players, tuple(plexes), *learning.mixture())
    values, margins = estimated_values(env, mixture, value_plays, request.seed + VALUE_SEED)
    certificate, refusal = checked(env, mixture, request.k, value_plays, request.seed + 1)
    return LearnedByPlay(
        name=str(env.name), values=values, margins=margins, value_plays=value_plays,
        policy=mixture, certificate=certificate, refusal=refusal, **learning.facts(),
    )  # fmt: skip
