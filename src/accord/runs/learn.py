"""Learning: Balanced K-EFR in self-play, from episodes only.

A loaded game is played on a compiled simulator, an environment move by move. The output is the
mixture of evenly spaced iterates. Where the game is known, the gap of those kept so far is computed
on the way, which no learner sees; else what they pay is estimated from fresh plays at the end, and
nothing is said about the gap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, SupportsIndex, overload

import numpy as np

from accord._arrays import Floats
from accord._check import checked_whole
from accord.deviations.notions import checked_k, read_k, written_k
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.mixture import Mixture
from accord.errors import ArgumentError
from accord.game.tree import Game, checked_game
from accord.learning.balanced_kefr import SAMPLED_RM, SWRHEDGE
from accord.learning.sampled_self_play import BanditSelfPlay, EnvironmentSelfPlay
from accord.play.discovery import discover
from accord.play.environment import Environment, is_environment, missing_attributes
from accord.play.rollout import estimated_values
from accord.regret.rates import LARGEST_RATE
from accord.runs.folder import RunFolder
from accord.runs.iterates import Iterates
from accord.runs.loop import Checkpoint, Run
from accord.runs.result import Learned, LearnedByPlay
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.treeplex import Treeplex

BANDIT_METHODS = {"swrhedge": SWRHEDGE, "rm": SAMPLED_RM}


@overload
def learn(
    game_or_env: Game,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    failure_prob: float = 0.05,
    method: str = "swrhedge",
    learning_rate_scale: float = 1.0,
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[Checkpoint], object] | None = None,
) -> Learned: ...


@overload
def learn(
    game_or_env: Environment,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    failure_prob: float = 0.05,
    method: str = "swrhedge",
    learning_rate_scale: float = 1.0,
    progress: Callable[[Checkpoint], object] | None = None,
    game: Game,
) -> Learned: ...


@overload
def learn(
    game_or_env: Environment,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    failure_prob: float = 0.05,
    method: str = "swrhedge",
    learning_rate_scale: float = 1.0,
    progress: Callable[[Checkpoint], object] | None = None,
    plexes: Sequence[Treeplex] | None = None,
    value_plays: SupportsIndex = 10_000,
) -> LearnedByPlay: ...


def learn(
    game_or_env: Game | Environment,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    failure_prob: float = 0.05,
    method: str = "swrhedge",
    learning_rate_scale: float = 1.0,
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[Checkpoint], object] | None = None,
    game: Game | None = None,
    plexes: Sequence[Treeplex] | None = None,
    value_plays: SupportsIndex = 10_000,
) -> Learned | LearnedByPlay:
    """Learn a K-EFCE from played episodes, by Balanced K-EFR in self-play.

    The learners only play: each sees its own infosets, actions and payoffs. Same arguments, same
    bits. Ctrl-C ends the run after the current step; the result then says how far it came.

    Args:
        game_or_env: A loaded game, which is played on a compiled simulator, or an
            :class:`Environment`.
        k: How many recommendations a deviator may see and disobey: 0, 1, ..., ``math.inf``.
        episodes: Episodes to play; a last iteration that would exceed them is not begun.
        seed: Of all randomness.
        components: Iterates to save, evenly spaced; by default 1,000, fewer if they take over 1
            GiB.
        failure_prob: The probability with which the paper's guarantee may fail; enters its
            learning rate.
        method: ``"swrhedge"``, the paper's, or ``"rm"``, regret matching around baselines, which
            has no guarantee and mostly gets much further.
        learning_rate_scale: Multiplier on the paper's learning rate; only for ``"swrhedge"``.
        folder: A new or empty folder to keep the run in (``runs/folder.py``), on a loaded game;
            it can be resumed with :func:`resume_learn`.
        progress: Called with every checkpoint, and now and then in between.
        game: The game that an environment plays, if it is known. Infosets and actions must have
            the same labels. Nobody learns from it; it gives the treeplexes and the exact gap.
        plexes: The players' treeplexes in an environment; by default they are discovered.
        value_plays: Fresh plays from which values are estimated where the game is not known.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory, or an environment shows too many
            infosets.
        MismatchError: If an environment shows an infoset that is not in its player's treeplex.
        GameError: If an environment is no game, or pays what it says cannot be.
    """
    asked = checked_k(k)
    episodes, seed = checked_whole("episodes", episodes, 1), checked_whole("seed", seed, 0)
    value_plays = checked_whole("value_plays", value_plays, 1)
    if components is not None:
        components = checked_whole("components", components, 1)
    if method not in BANDIT_METHODS:
        raise ArgumentError(f"method must be one of {', '.join(BANDIT_METHODS)}; got {method!r}")
    if not 0.0 < failure_prob < 1.0:
        raise ArgumentError(f"failure_prob must be between 0 and 1; got {failure_prob}")
    if not 0.0 < learning_rate_scale <= LARGEST_RATE:
        raise ArgumentError(
            f"learning_rate_scale must be positive and at most {LARGEST_RATE:g}; "
            f"got {learning_rate_scale}"
        )
    if method != "swrhedge" and learning_rate_scale != 1.0:
        raise ArgumentError(f"only swrhedge has a learning rate; {method} has none")
    if isinstance(game_or_env, Game):
        if game is not None or plexes is not None:
            raise ArgumentError("game and plexes are for environments; a game has its own")
        plan = {
            "game": game_or_env.source or game_or_env.name,
            "k": written_k(asked),
            "episodes": episodes,
            "seed": seed,
            "components": components,
            "failure_prob": failure_prob,
            "method": method,
            "learning_rate_scale": learning_rate_scale,
        }
        learning = _planned(game_or_env, plan)  # refuses before there is a folder
        files = None if folder is None else RunFolder.create(folder, "learn", game_or_env, plan)
        with nullcontext() if files is None else files.held():
            return learning.learn(episodes, files, progress)
    if not is_environment(game_or_env):
        if isinstance(game_or_env, (str, os.PathLike)):
            checked_game(game_or_env)
        missing = ", ".join(missing_attributes(game_or_env)) or "an instance, not a class"
        raise ArgumentError(
            f"learn() needs a game or an environment; got {game_or_env!r}, which lacks {missing}"
        )
    if folder is not None:
        raise ArgumentError("only a run on a loaded game can be kept in a folder and resumed")
    if game is not None and plexes is not None:
        raise ArgumentError("give game or plexes, not both: the game has its own")
    rng = np.random.default_rng(seed)
    if game is not None:
        plexes = sequence_form(game).plexes
    elif plexes is None:
        plexes = discover(game_or_env, seed=seed)
    table = EnvironmentSelfPlay(
        game_or_env, plexes, asked, episodes, rng,
        method=BANDIT_METHODS[method],
        learning_rate_scale=learning_rate_scale,
        failure_prob=failure_prob,
    )  # fmt: skip
    learning = _Learning(table, game, asked, method, episodes, components)
    if game is not None:
        return learning.learn(episodes, None, progress)
    weights, behaviors = learning.play(episodes, None, progress)
    mixture = Mixture(
        game_or_env.name, tuple(map(str, game_or_env.players)), tuple(plexes), weights, behaviors
    )
    values, margins = estimated_values(game_or_env, mixture, value_plays, rng)
    return LearnedByPlay(
        name=game_or_env.name,
        values=values,
        margins=margins,
        value_plays=value_plays,
        policy=mixture,
        **learning.facts(),
    )


def resume_learn(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Callable[[Checkpoint], object] | None = None,
) -> Learned:
    """Go on with a run of :func:`learn` from its folder.

    A run that was interrupted or killed goes on from its last checkpoint and ends as if nothing had
    happened. A finished one goes on if it is asked for more.

    Args:
        game: The game it was run on.
        folder: Where the run is.
        episodes: How many to play in all, if not as asked before. The paper's learning rate stays
            that of the number asked for first.
        progress: Called with every checkpoint, and now and then in between.

    Raises:
        ParseError: If the folder holds no run.
        MismatchError: If it holds a run of something else or on another game.
    """
    files = RunFolder.open(folder, "learn")
    files.check(game)
    plan = files.asked
    until = plan["episodes"] if episodes is None else checked_whole("episodes", episodes, 1)
    with files.held():
        return _planned(game, plan).learn(until, files, progress)


def _planned(game: Game, plan: dict[str, Any]) -> _Learning:
    k = read_k(plan["k"])
    play = BanditSelfPlay(
        sequence_form(game),
        k,
        plan["episodes"],
        np.random.default_rng(plan["seed"]),
        method=BANDIT_METHODS[plan["method"]],
        learning_rate_scale=plan["learning_rate_scale"],
        failure_prob=plan["failure_prob"],
    )
    return _Learning(play, game, k, plan["method"], plan["episodes"], plan["components"])


class _Learning:
    """Learners, the iterates to save, and what is known about them."""

    def __init__(
        self,
        play: BanditSelfPlay | EnvironmentSelfPlay,
        game: Game | None,
        k: float,
        method: str,
        episodes: int,
        components: int | None,
    ) -> None:
        each = play.episodes_per_iteration
        if not 1 <= each <= episodes:
            raise ArgumentError(
                f"one iteration takes {each} episodes; got {episodes}; play more, or try a smaller "
                "k"
                if each
                else "there must be a decision to learn; nobody has one"
            )
        self.game, self.k, self.method, self.each = game, k, method, each
        self.iterates = Iterates(play.n_sequences, components)
        self.iterates.stride = max(1, episodes // each // self.iterates.components)
        self.meter = None if game is None else _KeptMeter(sequence_form(game), k, self.iterates)
        self.run = Run(play, self.iterates, self._measure, each)

    def _measure(self) -> tuple[Floats, Floats] | None:
        return None if self.meter is None else self.meter.measure()

    def play(
        self,
        episodes: int,
        files: RunFolder | None,
        progress: Callable[[Checkpoint], object] | None,
    ) -> tuple[Floats, Floats]:
        """Play until another iteration would exceed ``episodes``: the saved weights, behaviors."""
        run, iterates = self.run, self.iterates
        run.go(episodes // self.each, files=files, progress=progress)
        if iterates.count == 0:  # interrupted before the first was kept: take the next
            iterates.count = run.play.advance(1, iterates.room, 1)
        _, behaviors = iterates.selected()
        return np.full(len(behaviors), 1.0 / len(behaviors)), behaviors

    def learn(
        self,
        episodes: int,
        files: RunFolder | None,
        progress: Callable[[Checkpoint], object] | None,
    ) -> Learned:
        """The same in a known game, with the gap of what is saved."""
        assert self.game is not None
        assert self.meter is not None
        policy = CorrelatedPolicy(self.game, *self.play(episodes, files, progress))
        facts, record = self.facts(), tuple(self.run.record)
        del self.run  # its memory is wanted for the certificate
        gaps, values = self.meter.measure_selected()
        last: dict[str, Any] = {
            "gap": float(gaps.max()),
            "players": tuple(gaps.tolist()),
            "values": tuple(values.tolist()),
        }
        if record:  # what is saved may be less than what was kept
            record = (*record[:-1], replace(record[-1], **last))
        learned = Learned(
            game=self.game,
            policy=policy,
            record=record,
            **last,
            **facts,
        )
        del self.meter
        if files is not None:
            files.write_record(point.to_json() for point in record)
            files.finish(learned.to_json(), policy, learned.certificate)
        return learned

    def facts(self) -> dict[str, Any]:
        """What every result says of its run."""
        return {
            "k": self.k,
            "method": self.method,
            "episodes": self.run.play.iteration * self.each,
            "iterations": self.run.play.iteration,
            "episodes_per_iteration": self.each,
            "seconds": self.run.elapsed,
            "interrupted": self.run.interrupted,
        }


class _KeptMeter:
    """The gaps and values of the uniform mixture of the iterates kept so far.

    Each iterate is measured once, unless they have been thinned in between.
    """

    def __init__(self, form: SequenceForm, k: float, iterates: Iterates) -> None:
        self.form, self.k, self.iterates = form, k, iterates
        self.meter = MixtureMeter(form, k)
        self.measured, self.stride = 0, iterates.stride

    def measure(self) -> tuple[Floats, Floats] | None:
        """``(gaps, values)`` of all players, or ``None`` if nothing has been kept."""
        iterates = self.iterates
        if iterates.stride != self.stride:
            self.meter = MixtureMeter(self.form, self.k)
            self.measured, self.stride = 0, iterates.stride
        for joint in iterates.kept[self.measured : iterates.count]:
            self.meter.observe(self.form.split(joint))
        self.measured = iterates.count
        return (self.meter.gaps(), self.meter.values()) if self.measured else None

    def measure_selected(self) -> tuple[Floats, Floats]:
        """The same of those that are saved."""
        _, behaviors = self.iterates.selected()
        if len(behaviors) < self.iterates.count:
            self.meter = MixtureMeter(self.form, self.k)
            for joint in behaviors:
                self.meter.observe(self.form.split(joint))
        else:
            self.measure()
        return self.meter.gaps(), self.meter.values()
