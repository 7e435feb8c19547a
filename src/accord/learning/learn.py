"""Learning: the one loop around Balanced K-EFR on a loaded game.

Iterations of the round-robin protocol run in compiled blocks on a simulator. The output is the
mixture of evenly spaced iterates, each evaluated in full once; its certificate is exact.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord.deviations.counting import checked_k
from accord.equilibrium.certificate import certify
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.balanced_kefr import SAMPLED_RM, SWRHEDGE
from accord.learning.iterates import Iterates
from accord.learning.run import BLOCK_SECONDS
from accord.learning.self_play import BanditSelfPlay
from accord.regret.wrhedge import LARGEST_RATE
from accord.treeplex.form import sequence_form

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


def learn(
    game: Game,
    k: SupportsIndex | float = 1,
    *,
    episodes: SupportsIndex,
    seed: SupportsIndex = 0,
    components: SupportsIndex | None = None,
    failure_prob: float = 0.05,
    method: str = "swrhedge",
    learning_rate_scale: float = 1.0,
    progress: Callable[[int], object] | None = None,
) -> Learned:
    """Learn a K-EFCE of ``game`` from played episodes, by Balanced K-EFR in self-play.

    The learners only play: each sees its own infosets, actions and payoffs. Same arguments, same
    bits.

    Args:
        game: The game; it is played on a compiled simulator.
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

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
    """
    asked = checked_k(k)
    if not isinstance(game, Game):
        raise ArgumentError(f"learn() needs a game; got {game!r}")
    episodes, seed = _whole("episodes", episodes, 1), _whole("seed", seed, 0)
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
    form = sequence_form(game)
    start = time.perf_counter()
    play = BanditSelfPlay(
        form, asked, episodes, np.random.default_rng(seed),
        method=BANDIT_METHODS[method],
        learning_rate_scale=learning_rate_scale,
        failure_prob=failure_prob,
    )  # fmt: skip
    iterations = episodes // play.episodes_per_iteration
    if iterations < 1:
        raise ArgumentError(
            f"one iteration takes {play.episodes_per_iteration} episodes at k = {k}; got {episodes}"
        )
    iterates = Iterates(form.n_sequences, components)
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

    _, behaviors = iterates.selected()
    policy = CorrelatedPolicy(game, np.full(len(behaviors), 1.0 / len(behaviors)), behaviors)
    certificate = certify(game, policy, asked)
    return Learned(
        game=game,
        k=asked,
        method=method,
        episodes=play.iteration * play.episodes_per_iteration,
        iterations=play.iteration,
        episodes_per_iteration=play.episodes_per_iteration,
        gap=certificate[asked].gap,
        players=certificate[asked].players,
        values=certificate.values,
        policy=policy,
        record=tuple(record),
        seconds=time.perf_counter() - start,
    )


def _whole(name: str, value: SupportsIndex, least: int) -> int:
    """``value`` as a whole number that is at least ``least``."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or whole < least:
        raise ArgumentError(f"{name} must be a whole number, {least} or more; got {value!r}")
    return whole
