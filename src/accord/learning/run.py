"""Solving: the one loop around K-EFR.

Iterations run in compiled blocks. Between blocks the loop looks at the clock and at the gap: at
checkpoints a tenth apart, the exact K-EFCE gap of the weighted average of all iterates is
computed and recorded. How the work is split into blocks changes no bit of the result.
"""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, SupportsIndex

import numpy as np

from accord.deviations.counting import checked_k
from accord.equilibrium.certificate import certify
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import efce_gaps
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.learning.folder import RunFolder
from accord.learning.interrupt import heeding_interrupts
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
    interrupted: bool = False  # by Ctrl-C

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
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[Checkpoint], object] | None = None,
) -> Solution:
    """Compute a K-EFCE of ``game`` by K-EFR in self-play.

    Runs until the first of ``iterations``, ``target_gap`` and ``seconds`` is reached; by default
    1,000 iterations. Same arguments, same bits, unless ``seconds`` ends the run. Ctrl-C ends it
    too, after the current step; the solution then says how far it came.

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
        folder: A new or empty folder to keep the run in (``learning/folder.py``); it can be resumed
            with :func:`resume_solve`.
        progress: Called with every checkpoint.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
    """
    if folder is not None and not isinstance(method, str):
        raise ArgumentError("a run with a folder must name its method, so that it can be resumed")
    asked: dict[str, Any] = {
        "game": game.source or game.name,
        "k": "inf" if math.isinf(checked_k(k)) else int(k),
        "method": method,
        "iterations": iterations,
        "target_gap": target_gap,
        "seconds": seconds,
        "components": components,
        "learning_rate": learning_rate,
        "averaging": averaging,
        "threads": threads,
    }
    run = _SolveRun(game, asked)
    files = None if folder is None else RunFolder.create(folder, "solve", game, asked)
    return run.go(files, progress)


def resume_solve(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    iterations: int | None = None,
    target_gap: float | None = None,
    seconds: float | None = None,
    progress: Callable[[Checkpoint], object] | None = None,
) -> Solution:
    """Go on with a run of :func:`solve` from its folder.

    A run that was interrupted or killed goes on from its last checkpoint and ends as if nothing had
    happened. A finished one goes on if it is asked for more.

    Args:
        game: The game it was run on.
        folder: Where the run is.
        iterations: The largest number of iterations, if not as asked before. The paper's learning
            rate stays that of the number asked for first.
        target_gap: The gap to stop at, if not as asked before.
        seconds: How long to go on, if not as asked before.
        progress: Called with every checkpoint.

    Raises:
        ParseError: If the folder holds no run.
        MismatchError: If it holds a run of something else or on another game.
    """
    files = RunFolder.open(folder)
    files.check("solve", game)
    asked = files.asked
    if iterations is not None or target_gap is not None or seconds is not None:
        asked |= {"target_gap": target_gap, "seconds": seconds, "until": iterations}
    return _SolveRun(game, asked).go(files, progress)


class _SolveRun:
    """One run of K-EFR: what was asked, the players, what they have come to."""

    def __init__(self, game: Game, asked: dict[str, Any]) -> None:
        self.k = checked_k(math.inf if asked["k"] == "inf" else asked["k"])
        for what in ("iterations", "components", "threads"):
            _check_count(what, asked[what])
        self.target_gap, self.seconds = asked["target_gap"], asked["seconds"]
        self.limit = _checked_limit(
            asked.get("until", asked["iterations"]), self.target_gap, self.seconds
        )
        self.name, minimizer, self.power = _configured(
            asked["method"], asked["averaging"], asked["learning_rate"], asked["iterations"]
        )
        self.form = sequence_form(game)
        self.play = SelfPlay(
            self.form, self.k, minimizer,
            iterations=asked["iterations"], averaging=self.power, threads=asked["threads"],
        )  # fmt: skip
        self.iterates = Iterates(self.form.n_sequences, asked["components"])
        self.record: list[Checkpoint] = []

    def go(
        self, files: RunFolder | None, progress: Callable[[Checkpoint], object] | None
    ) -> Solution:
        """Run until a limit is reached or the user interrupts."""
        start = time.perf_counter()
        if files is not None and (state := files.load()) is not None:
            self._restore(state)
            start -= float(state["elapsed"])
        begun = time.perf_counter()
        play, block = self.play, 1
        with heeding_interrupts() as interruption:
            while not self._done():
                checkpoint = min(next_checkpoint(play.iteration), self.limit)
                free = self.iterates.until_full(play.iteration)
                size = int(min(block, checkpoint - play.iteration, free))
                before = time.perf_counter()
                self.iterates.count += play.advance(size, self.iterates.room, self.iterates.stride)
                now = time.perf_counter()
                block = next_block(block, now - before)
                late = self.seconds is not None and now - begun >= self.seconds
                stop = late or interruption.requested
                if play.iteration == checkpoint or stop:
                    self.record.append(_measure(play, now - start))
                    if progress is not None:
                        progress(self.record[-1])
                if files is not None:
                    self._save(files, now - start, now=stop)
                if stop:
                    break
        elapsed = time.perf_counter() - start
        if files is not None:
            self._save(files, elapsed, now=True)
        solution = self._solution(elapsed, interrupted=interruption.requested)
        if files is not None:
            certificate = certify(self.form.game, solution.policy, self.k)
            files.finish(solution.to_json(), solution.policy, certificate)
        return solution

    def _done(self) -> bool:
        if self.play.iteration >= self.limit:
            return True
        return bool(
            self.target_gap is not None and self.record and self.record[-1].gap <= self.target_gap
        )

    def _save(self, files: RunFolder, elapsed: float, *, now: bool) -> None:
        record = {
            "record_iteration": np.array([point.iteration for point in self.record], np.int64),
            "record_players": np.array([point.players for point in self.record]),
            "record_values": np.array([point.values for point in self.record]),
            "record_seconds": np.array([point.seconds for point in self.record]),
        }
        state = {"elapsed": np.array(elapsed), **record}
        state |= {f"play_{name}": value for name, value in self.play.state().items()}
        state |= {f"iterates_{name}": value for name, value in self.iterates.state().items()}
        files.save(state, (asdict(point) for point in self.record), now=now)

    def _restore(self, state: dict[str, Any]) -> None:
        self.play.restore(part_of(state, "play_"))
        self.iterates.restore(part_of(state, "iterates_"))
        record = part_of(state, "record_")
        self.record = [
            Checkpoint(int(t), float(max(players)), tuple(players), tuple(values), float(seconds))
            for t, players, values, seconds in zip(
                record["iteration"], record["players"].tolist(), record["values"].tolist(),
                record["seconds"], strict=True,
            )
        ]  # fmt: skip

    def _solution(self, elapsed: float, *, interrupted: bool) -> Solution:
        times, behaviors = self.iterates.selected()
        weights = times.astype(float) ** self.power
        policy = CorrelatedPolicy(self.form.game, weights / weights.sum(), behaviors)
        last = self.record[-1]
        del self.play  # its memory is wanted for the gap of the saved mixture
        return Solution(
            game=self.form.game,
            k=self.k,
            method=self.name,
            iterations=last.iteration,
            gap=last.gap,
            players=last.players,
            values=last.values,
            policy=policy,
            saved_gap=float(efce_gaps(policy, self.k).max()),
            record=tuple(self.record),
            seconds=elapsed,
            target_reached=None if self.target_gap is None else last.gap <= self.target_gap,
            interrupted=interrupted,
        )


def next_checkpoint(iteration: int) -> int:
    """When the gap is next computed after ``iteration``: at 1, 2, ..., then a tenth apart."""
    checkpoint = 1
    while checkpoint <= iteration:
        checkpoint += max(1, checkpoint // 10)
    return checkpoint


def next_block(block: int, seconds: float) -> int:
    """How many iterations to run at once, if ``block`` of them took ``seconds``."""
    if seconds < BLOCK_SECONDS / 2:
        return block * 2
    return max(1, block // 2) if seconds > 2 * BLOCK_SECONDS else block


def part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The entries whose names begin with ``prefix``, without it."""
    return {name[len(prefix) :]: v for name, v in state.items() if name.startswith(prefix)}


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
