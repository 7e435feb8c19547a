"""Solving: K-EFR in self-play until the K-EFCE gap is small.

The gap is that of the weighted average of all iterates, exact and free: the learners' own sums
have it (``learning/kefr.py``).
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, SupportsIndex

from accord._arrays import Floats
from accord.deviations.notions import checked_k, read_k, written_k
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import efce_gaps
from accord.errors import ArgumentError
from accord.game.tree import Game, checked_game
from accord.learning.kefr import Minimizer
from accord.learning.self_play import SelfPlay
from accord.regret.regret_matching import DECAY, RegretMatching
from accord.regret.wrhedge import WRHedge
from accord.runs.folder import RunFolder
from accord.runs.iterates import Iterates
from accord.runs.loop import Checkpoint, Run
from accord.runs.result import Solution
from accord.treeplex.form import sequence_form

METHODS = ("wrhedge", "rm", "rm+", "prm+")
AVERAGING = {"uniform": 0, "linear": 1, "quadratic": 2}
DEFAULT_ITERATIONS = 1000


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
        folder: A new or empty folder to keep the run in (``runs/folder.py``); it can be resumed
            with :func:`resume_solve`.
        progress: Called with every checkpoint, and now and then in between.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
    """
    checked_game(game)
    if folder is not None and not isinstance(method, str):
        raise ArgumentError("a run with a folder must name its method, so that it can be resumed")
    asked: dict[str, Any] = {
        "game": game.source or game.name,
        "k": written_k(checked_k(k)),
        "method": method,
        "iterations": iterations,
        "target_gap": target_gap,
        "seconds": seconds,
        "components": components,
        "learning_rate": learning_rate,
        "averaging": averaging,
        "threads": threads,
    }
    solving = _Solving(game, asked)  # refuses before there is a folder
    files = None if folder is None else RunFolder.create(folder, "solve", game, asked)
    with nullcontext() if files is None else files.held():
        return solving.go(files, progress)


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
        progress: Called with every checkpoint, and now and then in between.

    Raises:
        ParseError: If the folder holds no run.
        MismatchError: If it holds a run of something else or on another game.
    """
    files = RunFolder.open(folder, "solve")
    files.check(game)
    asked = files.asked
    if iterations is not None or target_gap is not None or seconds is not None:
        asked |= {"target_gap": target_gap, "seconds": seconds, "until": iterations}
    with files.held():
        return _Solving(game, asked).go(files, progress)


class _Solving:
    """What was asked, checked, and the learners for it."""

    def __init__(self, game: Game, asked: dict[str, Any]) -> None:
        self.game = game
        self.k = read_k(asked["k"])
        for what in ("iterations", "components", "threads"):
            _check_count(what, asked[what])
        self.target_gap, self.seconds = asked["target_gap"], asked["seconds"]
        self.limit = _checked_limit(
            asked.get("until", asked["iterations"]), self.target_gap, self.seconds
        )
        self.name, minimizer, self.power = _configured(
            asked["method"], asked["averaging"], asked["learning_rate"], asked["iterations"]
        )
        form = sequence_form(game)
        self.play = SelfPlay(
            form, self.k, minimizer,
            iterations=asked["iterations"], averaging=self.power, threads=asked["threads"],
        )  # fmt: skip
        self.iterates = Iterates(form.n_sequences, asked["components"])

    def _measure(self) -> tuple[Floats, Floats]:
        return self.play.gaps(), self.play.values()

    def go(
        self, files: RunFolder | None, progress: Callable[[Checkpoint], object] | None
    ) -> Solution:
        """Run to the end."""
        run = Run(self.play, self.iterates, self._measure)
        run.go(
            self.limit,
            target_gap=self.target_gap,
            seconds=self.seconds,
            files=files,
            progress=progress,
        )
        last, record = run.record[-1], tuple(run.record)
        elapsed, interrupted = run.elapsed, run.interrupted
        del run, self.play  # their memory is wanted for the gap of the saved mixture
        times, behaviors = self.iterates.selected()
        weights = times.astype(float) ** self.power
        policy = CorrelatedPolicy(self.game, weights / weights.sum(), behaviors)
        solution = Solution(
            game=self.game,
            k=self.k,
            method=self.name,
            iterations=last.iteration,
            gap=last.gap,
            players=last.players,
            values=last.values,
            policy=policy,
            saved_gap=float(efce_gaps(policy, self.k).max()),
            record=record,
            seconds=elapsed,
            target_reached=None if self.target_gap is None else last.gap <= self.target_gap,
            interrupted=interrupted,
        )
        if files is not None:
            files.finish(solution.to_json(), solution.policy, solution.certificate)
        return solution


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
