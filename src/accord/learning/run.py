"""Solving: the one loop around K-EFR.

Iterations run in compiled blocks. Between blocks the loop looks at the clock and at the gap: at
checkpoints a tenth apart, the exact K-EFCE gap of the weighted average of all iterates is
computed and recorded. How the work is split into blocks changes no bit of the result.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

from accord.deviations.counting import checked_k
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import efce_gaps
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.iterates import Iterates
from accord.learning.kefr import Minimizer, SelfPlay
from accord.regret.regret_matching import DECAY, RegretMatching
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import sequence_form

METHODS = ("wrhedge", "rm", "rm+", "prm+")
AVERAGING = {"uniform": 0, "linear": 1, "quadratic": 2}
DEFAULT_ITERATIONS = 1000
BLOCK_SECONDS = 0.25
"""How long a block of iterations should take, so that a clock or a keyboard is heard."""


@dataclass(frozen=True)
class Checkpoint:
    """What was known after some iterations."""

    iteration: int
    gap: float  # of the weighted average of all iterates, payoff units, maximum over players
    players: tuple[float, ...]  # per player
    values: tuple[float, ...]  # expected payoffs of that average
    seconds: float  # since the start


@dataclass(frozen=True, eq=False)
class Solution:
    """A K-EFCE as far as it was computed, with its exact gap."""

    game: Game
    k: float
    method: str
    iterations: int
    gap: float  # K-EFCE gap of the weighted average of all iterates, payoff units
    players: tuple[float, ...]  # the same per player
    values: tuple[float, ...]  # expected payoffs of that average
    policy: CorrelatedPolicy  # the saved mixture: evenly spaced iterates
    saved_gap: float  # K-EFCE gap of the saved mixture
    record: tuple[Checkpoint, ...]
    seconds: float
    target_reached: bool | None  # None if no target was given

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game.name,
            "k": "inf" if math.isinf(self.k) else int(self.k),
            "method": self.method,
            "iterations": self.iterations,
            "gap": self.gap,
            "players": list(self.players),
            "saved_gap": self.saved_gap,
            "components": self.policy.n_components,
            "values": list(self.values),
            "seconds": self.seconds,
        }


def solve(
    game: Game,
    k: SupportsIndex | float = 1,
    *,
    method: str | Minimizer = "prm+",
    iterations: int | None = None,
    target_gap: float | None = None,
    seconds: float | None = None,
    components: int | None = None,
    learning_rate: float | None = None,
    averaging: str | None = None,
    threads: int | None = None,
    progress: Callable[[Checkpoint], object] | None = None,
) -> Solution:
    """Compute a K-EFCE of ``game`` by K-EFR in self-play.

    Runs until the first of ``iterations``, ``target_gap`` and ``seconds`` is reached; by default
    1,000 iterations. Same arguments, same bits, unless ``seconds`` ends the run.

    Args:
        game: The game.
        k: How many recommendations a deviator may see and disobey: 0, 1, ..., ``math.inf``.
        method: ``"prm+"`` (predictive regret matching plus), ``"rm+"``, ``"rm"``, ``"wrhedge"``
            (the paper's), or a configured :class:`WRHedge` or :class:`RegretMatching`.
        iterations: The largest number of iterations.
        target_gap: Stop at a checkpoint whose gap, in payoff units, is at most this.
        seconds: Stop after this much wall-clock time.
        components: Iterates to save, evenly spaced; by default 1,000, fewer if they take over 1
            GiB.
        learning_rate: Of ``"wrhedge"``, for losses in [0, 1]; by default the paper's. When the
            number of iterations is not given the paper's rate follows the iteration.
        averaging: How iterates are weighed: ``"uniform"``, ``"linear"`` or ``"quadratic"`` in
            their number. By default quadratic for ``"prm+"``, linear for ``"rm+"``, else uniform.
        threads: 1, or more for one thread per player; by default as the size of the game suggests.
        progress: Called with every checkpoint.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
    """
    asked = checked_k(k)
    counts = (("iterations", iterations), ("components", components), ("threads", threads))
    for what, value in counts:
        _check_count(what, value)
    limit = _checked_limit(iterations, target_gap, seconds)
    name, minimizer, power = _configured(method, averaging, learning_rate, iterations)
    form = sequence_form(game)
    play = SelfPlay(form, asked, minimizer, iterations=iterations, averaging=power, threads=threads)
    iterates = Iterates(form.n_sequences, components)
    record: list[Checkpoint] = []
    start = time.perf_counter()
    block = 1
    checkpoint: float = 1
    while True:
        size = int(min(block, checkpoint - play.iteration, iterates.until_full(play.iteration)))
        before = time.perf_counter()
        iterates.count += play.advance(size, iterates.room, iterates.stride)
        now = time.perf_counter()
        if now - before < BLOCK_SECONDS / 2:
            block *= 2
        elif now - before > 2 * BLOCK_SECONDS:
            block = max(1, block // 2)
        late = seconds is not None and now - start >= seconds
        if play.iteration < checkpoint and not late:
            continue
        record.append(_measure(play, now - start))
        if progress is not None:
            progress(record[-1])
        reached = target_gap is not None and record[-1].gap <= target_gap
        if reached or late or play.iteration == limit:
            break
        checkpoint = min(next_checkpoint(play.iteration), limit)

    times, behaviors = iterates.selected()
    weights = times.astype(float) ** power
    policy = CorrelatedPolicy(game, weights / weights.sum(), behaviors)
    last = record[-1]
    del play  # its memory is wanted for the gap of the saved mixture
    return Solution(
        game=game,
        k=asked,
        method=name,
        iterations=last.iteration,
        gap=last.gap,
        players=last.players,
        values=last.values,
        policy=policy,
        saved_gap=float(efce_gaps(policy, asked).max()),
        record=tuple(record),
        seconds=time.perf_counter() - start,
        target_reached=None if target_gap is None else last.gap <= target_gap,
    )


def next_checkpoint(iteration: int) -> int:
    """The iteration after ``iteration`` at which the gap is computed: a tenth more."""
    return iteration + max(1, iteration // 10)


def _measure(play: SelfPlay, seconds: float) -> Checkpoint:
    gaps, values = play.gaps(), play.values()
    return Checkpoint(
        play.iteration,
        float(gaps.max()),
        tuple(map(float, gaps)),
        tuple(map(float, values)),
        seconds,
    )


def _check_count(name: str, value: SupportsIndex | None) -> None:
    try:
        whole = 1 if value is None else operator.index(value)
    except TypeError:
        whole = 0
    if whole < 1:
        raise ArgumentError(f"{name} must be a whole number, at least 1; got {value!r}")


def _checked_limit(
    iterations: int | None, target_gap: float | None, seconds: float | None
) -> float:
    """The largest number of iterations: infinite if something else ends the run."""
    for name, value in (("target_gap", target_gap), ("seconds", seconds)):
        if value is not None and not value >= 0:
            raise ArgumentError(f"{name} must be non-negative; got {value}")
    if iterations is not None:
        return iterations
    return DEFAULT_ITERATIONS if target_gap is None and seconds is None else math.inf


def _configured(
    method: str | Minimizer,
    averaging: str | None,
    learning_rate: float | None,
    iterations: int | None,
) -> tuple[str, Minimizer, int]:
    """The method's name, the minimizer, and the power of t that weighs iterates."""
    if isinstance(method, (WRHedge, RegretMatching)):
        minimizer: Minimizer = method
    elif method == "wrhedge":
        anytime = learning_rate is None and iterations is None
        minimizer = WRHedge(learning_rate, anytime=anytime)
    elif method in METHODS:
        predictive = method == "prm+"
        decay = DECAY if predictive else 0.0
        minimizer = RegretMatching(method != "rm", predictive, decay)
    else:
        raise ArgumentError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    if isinstance(minimizer, WRHedge):
        name = "wrhedge"
        if minimizer is method and learning_rate is not None:
            raise ArgumentError(
                "give the learning rate once: as learning_rate, or in the configured WRHedge"
            )
    else:
        name = ("prm+" if minimizer.predictive else "rm+") if minimizer.plus else "rm"
        if learning_rate is not None:
            raise ArgumentError(f"only wrhedge has a learning rate; {name} has none")
    if averaging is None:
        averaging = {"prm+": "quadratic", "rm+": "linear"}.get(name, "uniform")
    if averaging not in AVERAGING:
        raise ArgumentError(f"averaging must be one of {', '.join(AVERAGING)}; got {averaging!r}")
    return name, minimizer, AVERAGING[averaging]
