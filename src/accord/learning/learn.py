"""Learning: the one loop around Balanced K-EFR.

On a loaded game, iterations of the round-robin protocol run in compiled blocks on a simulator; an
environment is played move by move. The output is the mixture of evenly spaced iterates, each
evaluated in full once. Where the game is known its certificate is exact; else what it pays is
estimated from fresh plays, and nothing is said about its gap.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from accord.deviations.counting import checked_k
from accord.equilibrium.certificate import certify
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.mixture import Mixture
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.balanced_kefr import SAMPLED_RM, SWRHEDGE
from accord.learning.black_box import EnvironmentSelfPlay, estimated_values
from accord.learning.environment import Environment, discover, is_environment
from accord.learning.iterates import Iterates
from accord.learning.run import BLOCK_SECONDS
from accord.learning.self_play import BanditSelfPlay
from accord.regret.wrhedge import LARGEST_RATE
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Floats, Treeplex

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
    progress: Callable[[int], object] | None = None,
    game: Game | None = None,
    plexes: Sequence[Treeplex] | None = None,
    value_plays: SupportsIndex = 10_000,
) -> Learned | LearnedByPlay:
    """Learn a K-EFCE from played episodes, by Balanced K-EFR in self-play.

    The learners only play: each sees its own infosets, actions and payoffs. Same arguments, same
    bits.

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
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {
        "method": BANDIT_METHODS[method],
        "learning_rate_scale": learning_rate_scale,
        "failure_prob": failure_prob,
    }
    start = time.perf_counter()
    play: BanditSelfPlay | EnvironmentSelfPlay
    if isinstance(game_or_env, Game):
        if game is not None or plexes is not None:
            raise ArgumentError("game and plexes are for environments; a game has its own")
        game = game_or_env
        play = BanditSelfPlay(sequence_form(game), asked, episodes, rng, **options)
    elif is_environment(game_or_env):
        if game is not None:
            if plexes is not None:
                raise ArgumentError("give game or plexes, not both: the game has its own")
            plexes = sequence_form(game).plexes
        elif plexes is None:
            plexes = discover(game_or_env, seed=seed)
        play = EnvironmentSelfPlay(game_or_env, plexes, asked, episodes, rng, **options)
    else:
        raise ArgumentError(f"learn() needs a game or an environment; got {game_or_env!r}")
    per_iteration = play.episodes_per_iteration
    if not 1 <= per_iteration <= episodes:
        raise ArgumentError(
            f"one iteration takes {per_iteration} episodes at k = {k}; got {episodes}"
            if per_iteration
            else "there must be a decision to learn; nobody has one"
        )
    behaviors, record = _run(play, episodes // per_iteration, components, start, progress)
    weights = np.full(len(behaviors), 1.0 / len(behaviors))
    facts: dict[str, Any] = {
        "k": asked,
        "method": method,
        "episodes": play.iteration * per_iteration,
        "iterations": play.iteration,
        "episodes_per_iteration": per_iteration,
        "record": record,
    }
    if game is None:
        env: Any = game_or_env
        mixture = Mixture(
            env.name, tuple(map(str, env.players)), tuple(plexes or ()), weights, behaviors
        )
        values, margins = estimated_values(env, mixture, value_plays, rng)
        return LearnedByPlay(
            name=env.name,
            values=values,
            margins=margins,
            value_plays=value_plays,
            policy=mixture,
            seconds=time.perf_counter() - start,
            **facts,
        )
    policy = CorrelatedPolicy(game, weights, behaviors)
    del behaviors  # the policy has its own copy
    certificate = certify(game, policy, asked)
    return Learned(
        game=game,
        gap=certificate[asked].gap,
        players=certificate[asked].players,
        values=certificate.values,
        policy=policy,
        seconds=time.perf_counter() - start,
        **facts,
    )


def _run(
    play: BanditSelfPlay | EnvironmentSelfPlay,
    iterations: int,
    components: int | None,
    start: float,
    progress: Callable[[int], object] | None,
) -> tuple[Floats, tuple[Played, ...]]:
    """Run the iterations in blocks; the iterates to save, and how it went."""
    iterates = Iterates(play.n_sequences, components)
    iterates.stride = max(1, iterations // iterates.components)
    record: list[Played] = []
    block = 1
    while play.iteration < iterations:
        size = min(block, iterations - play.iteration, iterates.until_full(play.iteration))
        before = time.perf_counter()
        iterates.count += play.advance(size, iterates.room, iterates.stride)
        now = time.perf_counter()
        if now - before < BLOCK_SECONDS / 2:
            block *= 2
        elif now - before > 2 * BLOCK_SECONDS:
            block = max(1, block // 2)
        played = play.iteration * play.episodes_per_iteration
        if not record or played >= RECORD_SPACING * record[-1].episodes:
            record.append(Played(play.iteration, played, now - start))
        if progress is not None:
            progress(played)
    return iterates.selected()[1], tuple(record)


def _whole(name: str, value: SupportsIndex, least: int) -> int:
    """``value`` as a whole number that is at least ``least``."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or whole < least:
        raise ArgumentError(f"{name} must be a whole number, {least} or more; got {value!r}")
    return whole
