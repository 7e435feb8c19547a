"""Learning: the one loop around Balanced K-EFR.

On a loaded game, iterations of the round-robin protocol run in compiled blocks on a simulator; an
environment is played move by move. The output is the mixture of evenly spaced iterates, each
evaluated in full once. Where the game is known its certificate is exact; else what it pays is
estimated from fresh plays, and nothing is said about its gap.
"""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from accord.deviations.counting import checked_k
from accord.equilibrium.certificate import Certificate, certify
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.mixture import Mixture
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.balanced_kefr import SAMPLED_RM, SWRHEDGE
from accord.learning.black_box import EnvironmentSelfPlay, estimated_values
from accord.learning.environment import Environment, discover, is_environment
from accord.learning.folder import RunFolder
from accord.learning.interrupt import heeding_interrupts
from accord.learning.iterates import Iterates
from accord.learning.run import next_block, part_of
from accord.learning.self_play import BanditSelfPlay
from accord.regret.wrhedge import LARGEST_RATE
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

BANDIT_METHODS = {"swrhedge": SWRHEDGE, "rm": SAMPLED_RM}

RECORD_SPACING = 1.1
"""Factor of episodes between entries of the record."""


@dataclass(frozen=True)
class Played:
    """How far a run had come."""

    iteration: int
    episodes: int
    seconds: float  # since the start


@dataclass(frozen=True, eq=False)
class Learned:
    """A K-EFCE as far as it was learned from episodes, with its exact gap."""

    game: Game
    k: float
    method: str
    episodes: int  # that were played
    iterations: int
    episodes_per_iteration: int
    gap: float  # K-EFCE gap of the saved mixture, payoff units
    players: tuple[float, ...]  # the same per player
    values: tuple[float, ...]  # expected payoffs of the saved mixture
    policy: CorrelatedPolicy  # the saved mixture: evenly spaced iterates
    record: tuple[Played, ...]
    seconds: float
    interrupted: bool = False  # by Ctrl-C

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game.name,
            "k": "inf" if math.isinf(self.k) else int(self.k),
            "episodes": self.episodes,
            "iterations": self.iterations,
            "episodes_per_iteration": self.episodes_per_iteration,
            "gap": self.gap,
            "players": list(self.players),
            "components": self.policy.n_components,
            "values": list(self.values),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False)
class LearnedByPlay:
    """What was learned in an environment whose game is not known: no gap can be claimed."""

    name: str
    k: float
    method: str
    episodes: int  # that were played
    iterations: int
    episodes_per_iteration: int
    values: tuple[float, ...]  # mean payoffs of fresh plays of the saved mixture
    margins: tuple[float, ...]  # half the widths of their 95% confidence intervals
    value_plays: int  # how many fresh plays
    policy: Mixture  # the saved mixture: evenly spaced iterates
    record: tuple[Played, ...]
    seconds: float
    interrupted: bool = False  # by Ctrl-C

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object, with no gap."""
        return {
            "game": self.name,
            "k": "inf" if math.isinf(self.k) else int(self.k),
            "episodes": self.episodes,
            "iterations": self.iterations,
            "episodes_per_iteration": self.episodes_per_iteration,
            "gap": None,
            "players": None,
            "components": self.policy.n_components,
            "values": list(self.values),
            "margins": [None if math.isnan(margin) else margin for margin in self.margins],
            "seconds": self.seconds,
        }


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
    progress: Callable[[int], object] | None = None,
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
    progress: Callable[[int], object] | None = None,
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
    progress: Callable[[int], object] | None = None,
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
    progress: Callable[[int], object] | None = None,
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
        folder: A new or empty folder to keep the run in (``learning/folder.py``), on a loaded game;
            it can be resumed with :func:`resume_learn`.
        progress: Called now and then with the number of episodes played.
        game: The game that an environment plays, if it is known. Infosets and actions must have
            the same labels. Nobody learns from it; it gives the treeplexes and the exact gap.
        plexes: The players' treeplexes in an environment; by default they are discovered.
        value_plays: Fresh plays from which values are estimated where the game is not known.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
        MismatchError: If an environment shows an infoset that is not in its player's treeplex.
        GameError: If an environment is no game, or pays what it says cannot be.
    """
    asked = checked_k(k)
    episodes, seed = _whole("episodes", episodes, 1), _whole("seed", seed, 0)
    value_plays = _whole("value_plays", value_plays, 1)
    if components is not None:
        components = _whole("components", components, 1)
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
            "k": "inf" if math.isinf(asked) else int(asked),
            "episodes": episodes,
            "seed": seed,
            "components": components,
            "failure_prob": failure_prob,
            "method": method,
            "learning_rate_scale": learning_rate_scale,
        }
        play = _planned_play(game_or_env, plan)
        files = None if folder is None else RunFolder.create(folder, "learn", game_or_env, plan)
        return _learn_game(game_or_env, plan, play, files, episodes, progress)
    if not is_environment(game_or_env):
        raise ArgumentError(f"learn() needs a game or an environment; got {game_or_env!r}")
    if folder is not None:
        raise ArgumentError("only a run on a loaded game can be kept in a folder and resumed")
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    if game is not None:
        if plexes is not None:
            raise ArgumentError("give game or plexes, not both: the game has its own")
        plexes = sequence_form(game).plexes
    elif plexes is None:
        plexes = discover(game_or_env, seed=seed)
    table = EnvironmentSelfPlay(
        game_or_env, plexes, asked, episodes, rng,
        method=BANDIT_METHODS[method],
        learning_rate_scale=learning_rate_scale,
        failure_prob=failure_prob,
    )  # fmt: skip
    run = _Run(table, episodes, components)
    run.go(episodes, start, progress)
    facts = {"k": asked, "method": method, **run.facts()}
    behaviors = run.iterates.selected()[1]
    weights = np.full(len(behaviors), 1.0 / len(behaviors))
    if game is not None:
        policy = CorrelatedPolicy(game, weights, behaviors)
        return _certified(policy, certify(game, policy, asked), start, facts)
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
        seconds=time.perf_counter() - start,
        **facts,
    )


def resume_learn(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    episodes: SupportsIndex | None = None,
    progress: Callable[[int], object] | None = None,
) -> Learned:
    """Go on with a run of :func:`learn` from its folder.

    A run that was interrupted or killed goes on from its last checkpoint and ends as if nothing had
    happened. A finished one goes on if it is asked for more.

    Args:
        game: The game it was run on.
        folder: Where the run is.
        episodes: How many to play in all, if not as asked before. The paper's learning rate stays
            that of the number asked for first.
        progress: Called now and then with the number of episodes played.

    Raises:
        ParseError: If the folder holds no run.
        MismatchError: If it holds a run of something else or on another game.
    """
    files = RunFolder.open(folder)
    files.check("learn", game)
    plan = files.asked
    until = plan["episodes"] if episodes is None else _whole("episodes", episodes, 1)
    return _learn_game(game, plan, _planned_play(game, plan), files, until, progress)


def _planned_play(game: Game, plan: dict[str, Any]) -> BanditSelfPlay:
    return BanditSelfPlay(
        sequence_form(game),
        math.inf if plan["k"] == "inf" else plan["k"],
        plan["episodes"],
        np.random.default_rng(plan["seed"]),
        method=BANDIT_METHODS[plan["method"]],
        learning_rate_scale=plan["learning_rate_scale"],
        failure_prob=plan["failure_prob"],
    )


def _learn_game(
    game: Game,
    plan: dict[str, Any],
    play: BanditSelfPlay,
    files: RunFolder | None,
    episodes: int,
    progress: Callable[[int], object] | None,
) -> Learned:
    """Run on a loaded game until ``episodes`` are played, from a checkpoint if there is one."""
    start = time.perf_counter()
    run = _Run(play, plan["episodes"], plan["components"])
    if files is not None and (state := files.load()) is not None:
        run.restore(state)
        start -= float(state["elapsed"])
    run.go(episodes, start, progress, files)
    behaviors = run.iterates.selected()[1]
    weights = np.full(len(behaviors), 1.0 / len(behaviors))
    policy = CorrelatedPolicy(game, weights, behaviors)
    k = checked_k(math.inf if plan["k"] == "inf" else plan["k"])
    facts = {"k": k, "method": plan["method"], **run.facts()}
    del run, play, behaviors  # their memory is wanted for the certificate
    certificate = certify(game, policy, k)
    learned = _certified(policy, certificate, start, facts)
    if files is not None:
        files.finish(learned.to_json(), policy, certificate)
    return learned


def _certified(
    policy: CorrelatedPolicy, certificate: Certificate, start: float, facts: dict[str, Any]
) -> Learned:
    return Learned(
        game=policy.game,
        gap=certificate[facts["k"]].gap,
        players=certificate[facts["k"]].players,
        values=certificate.values,
        policy=policy,
        seconds=time.perf_counter() - start,
        **facts,
    )


class _Run:
    """Iterations in blocks, the iterates to save, and how it went."""

    def __init__(
        self,
        play: BanditSelfPlay | EnvironmentSelfPlay,
        episodes: int,
        components: int | None,
    ) -> None:
        self.play = play
        per_iteration = play.episodes_per_iteration
        if not 1 <= per_iteration <= episodes:
            raise ArgumentError(
                f"one iteration takes {per_iteration} episodes; got {episodes}; play more, or try "
                "a smaller k"
                if per_iteration
                else "there must be a decision to learn; nobody has one"
            )
        self.iterates = Iterates(play.n_sequences, components)
        self.iterates.stride = max(1, episodes // per_iteration // self.iterates.components)
        self.record: list[Played] = []
        self.interrupted = False

    def go(
        self,
        episodes: int,
        start: float,
        progress: Callable[[int], object] | None,
        files: RunFolder | None = None,
    ) -> None:
        """Run until another iteration would exceed ``episodes``, or the user interrupts."""
        play, iterates, block = self.play, self.iterates, 1
        iterations = episodes // play.episodes_per_iteration
        with heeding_interrupts() as interruption:
            while play.iteration < iterations and not interruption.requested:
                size = min(block, iterations - play.iteration, iterates.until_full(play.iteration))
                before = time.perf_counter()
                iterates.count += play.advance(size, iterates.room, iterates.stride)
                now = time.perf_counter()
                block = next_block(block, now - before)
                played = play.iteration * play.episodes_per_iteration
                if not self.record or played >= RECORD_SPACING * self.record[-1].episodes:
                    self.record.append(Played(play.iteration, played, now - start))
                if progress is not None:
                    progress(played)
                if files is not None:
                    self.save(files, now - start)
        self.interrupted = interruption.requested
        if files is not None:
            self.save(files, time.perf_counter() - start, now=True)

    def facts(self) -> dict[str, Any]:
        """What the result says of the run."""
        return {
            "episodes": self.play.iteration * self.play.episodes_per_iteration,
            "iterations": self.play.iteration,
            "episodes_per_iteration": self.play.episodes_per_iteration,
            "record": tuple(self.record),
            "interrupted": self.interrupted,
        }

    def save(self, files: RunFolder, elapsed: float, *, now: bool = False) -> None:
        """Write a checkpoint, if it is time for one or ``now``."""
        assert isinstance(self.play, BanditSelfPlay)
        state = {
            "elapsed": np.array(elapsed),
            "record": np.array([tuple(vars(point).values()) for point in self.record], float),
        }
        state |= {f"play_{name}": value for name, value in self.play.state().items()}
        state |= {f"iterates_{name}": value for name, value in self.iterates.state().items()}
        files.save(state, (asdict(point) for point in self.record), now=now)

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a saved checkpoint."""
        assert isinstance(self.play, BanditSelfPlay)
        self.play.restore(part_of(state, "play_"))
        self.iterates.restore(part_of(state, "iterates_"))
        self.record = [Played(int(t), int(n), float(s)) for t, n, s in state["record"]]


def _whole(name: str, value: SupportsIndex, least: int) -> int:
    """``value`` as a whole number that is at least ``least``."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or whole < least:
        raise ArgumentError(f"{name} must be a whole number, {least} or more; got {value!r}")
    return whole
