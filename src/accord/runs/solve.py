"""Solving: K-EFR in self-play until the K-EFCE gap is small.

The gap is that of the weighted average of all iterates. It is exact and comes for free from the
learners' sums (``learning/kefr.py``).
"""

from __future__ import annotations

import io
import math
import os
import time
from dataclasses import replace
from functools import partial

import numpy as np

from accord._activity import doing
from accord._arrays import Floats, Ints
from accord.certifying.exact import certify
from accord.deviations.notions import NotionLike
from accord.equilibrium.archive import write_arrays
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.tree import Game, checked_game
from accord.learning.self_play import SelfPlay
from accord.regret.methods import DEFAULT, METHODS
from accord.regret.state import Minimizer
from accord.runs.checkpoint import Checkpoint
from accord.runs.components import Components, vectors_of
from accord.runs.folder import RunFolder, opened_run
from accord.runs.footprint import check_run, solve_memory
from accord.runs.iterations import Iterations
from accord.runs.loop import CAUTION, Loop, Progress
from accord.runs.request import Limits, SolveRequest, split_method
from accord.runs.result import Solution
from accord.treeplex.form import sequence_form

MOST_MEASURED = 100
"""Components that are certified to measure how long all of them will take."""


def solve(
    game: Game,
    k: NotionLike = 1,
    *,
    method: str | Minimizer = DEFAULT,
    iterations: int | None = None,
    target_gap: float | None = None,
    seconds: float | None = None,
    components: int | None = None,
    learning_rate: float | None = None,
    averaging: str | None = None,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """Compute a K-EFCE of ``game`` by K-EFR in self-play.

    Runs until the first of ``iterations``, ``target_gap`` and ``seconds`` is reached; by default
    1,000 iterations. The same arguments give the same bits, unless ``seconds`` ends the run. Ctrl-C
    ends it too, after the current step; the solution then says how far it got.

    Args:
        game: The game.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names, or ``"efcce"``, ``"afce"`` or ``"afcce"``.
        method: ``"prm+"`` (predictive regret matching plus), ``"rm+"``, ``"rm"``, ``"dcfr"``
            (discounted regret matching), ``"wrhedge"`` (the paper's), or a configured
            :class:`WRHedge`, :class:`RegretMatching` or :class:`DiscountedRegretMatching`.
        iterations: The largest number of iterations.
        target_gap: Stop at a checkpoint at which the gap of the average of all iterates, in payoff
            units, is at most this even if its error is added. Must be positive: iterates only
            approach an equilibrium.
        seconds: Stop after this much wall-clock time. It includes compiling kernels, and certifying
            and saving the mixture, whose cost is measured on a small part of it.
        components: Number of evenly spaced iterates to save; by default 1,000, fewer if they take
            over 1 GiB.
        learning_rate: The learning rate of ``"wrhedge"``, for losses in [0, 1]; by default the
            paper's. Without ``iterations``, iteration t uses the paper's rate for T = t.
        averaging: How iterates are weighted: ``"uniform"``, ``"linear"`` or ``"quadratic"`` in
            their number. By default quadratic for ``"prm+"`` and ``"dcfr"``, linear for ``"rm+"``,
            else uniform.
        threads: The number of threads, of which at most one per player is used; by default chosen
            by the size of the game.
        folder: A new or empty folder to keep the run in (``runs/folder.py``).
        resume: Whether to continue the run in ``folder`` if there is one. It continues from its
            last checkpoint and ends as if nothing had happened. Only the limits may differ; without
            any they are those of the first request, whose learning rate stays in any case. A run
            that has reached these limits is returned as it is; here ``seconds`` counts all the time
            that the run has taken.
        progress: Called with every checkpoint, and from time to time in between. If it returns
            True, the run ends there.

    Raises:
        ArgumentError: If an argument is out of range.
        MismatchError: If the run to be resumed has other arguments, apart from the limits.
        BudgetError: If the run does not fit into memory.
    """
    since = time.perf_counter()
    checked_game(game)
    request = SolveRequest(
        game=game.source or game.name,
        k=k,  # type: ignore[arg-type]
        iterations=iterations,
        target_gap=target_gap,
        seconds=seconds,
        components=components,
        learning_rate=learning_rate,
        averaging=averaging,
        threads=threads,
        **split_method(METHODS, method),
    )
    if resume and seconds is not None and RunFolder.first_request(folder, request, game):
        assert folder is not None
        spent = RunFolder.open(folder).seconds
        last = 1 if spent >= seconds else iterations
        request = replace(request, seconds=max(0.0, seconds - spent), iterations=last)
    return run_solve(game, request, folder=folder, resume=resume, progress=progress, since=since)


def run_solve(
    game: Game,
    request: SolveRequest,
    *,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    since: float | None = None,
) -> Solution:
    """Solve as ``request`` asks; everything else is as in :func:`solve`.

    ``since`` is when its seconds began to count, by ``time.perf_counter``; by default now.
    """
    since = time.perf_counter() if since is None else since
    first = RunFolder.first_request(folder, request, checked_game(game)) if resume else None
    assert isinstance(first, SolveRequest | None)
    asked = first or request
    limits = request.limits if request.limits.given else asked.limits
    solving = _Solving(game, asked)  # refuses bad arguments before making a folder
    with opened_run(folder, request, game, resume=first is not None) as files:
        return solving.run(limits, since, files, progress)


class _Solving:
    """A request and the learners for it."""

    def __init__(self, game: Game, request: SolveRequest) -> None:
        self.game, self.request = game, request
        form = sequence_form(game)
        needed = solve_memory(
            form, request.k, request.minimizer,
            components=request.components, iterations=request.iterations,
            timed=request.seconds is not None,
        )  # fmt: skip
        check_run(f"solving {game.name} at k = {request.notion.written}", needed)
        self.play = SelfPlay(
            form, request.k, request.minimizer,
            iterations=request.iterations, averaging=request.power, threads=request.threads,
        )  # fmt: skip
        self.iterates = Components(request.components, vectors_of(form.plexes))

    def run(
        self, limits: Limits, since: float, files: RunFolder | None, progress: Progress | None
    ) -> Solution:
        """Run until a limit is reached, and certify the saved mixture."""
        steps = Iterations(self.play, self.iterates, self.play.measured, mixed=self.mixed)
        loop = Loop(steps, files, progress)
        target = limits.target_gap
        loop.run(
            math.inf if limits.total is None else limits.total,
            enough=None if target is None else partial(_is_enough, target),
            seconds=limits.seconds,
            since=since,
            ending=_Certifying(self, saves=files is not None),
        )
        loop.conclude()
        last, history = loop.history[-1], tuple(loop.history)
        elapsed, interrupted = loop.elapsed, loop.interrupted
        del loop, steps, self.play  # their memory is needed for the gap of the saved mixture
        policy = self.policy(self.iterates.take(), self.iterates.matrix.behaviors())
        solution = Solution(
            game=self.game,
            request=self.request,
            iterations=last.iteration,
            average_gap=last.gap,
            average_player_gaps=last.player_gaps,
            average_error=last.error,
            average_values=last.values,
            average_value_error=last.value_error,
            policy=policy,
            history=history,
            seconds=elapsed,
            target_reached=None if target is None else last.reaches(target),
            interrupted=interrupted,
        )
        if files is not None:
            files.finish(solution)
        return solution

    def latest(self, count: int) -> tuple[Ints, Floats]:
        """``(iterations, behaviors)`` of the last kept iterates, at most ``count``."""
        first, kept = (
            max(0, self.iterates.count - count),
            self.iterates.matrix.kept[: self.iterates.count],
        )
        return self.iterates.times()[first:], kept[first:]

    def mixed(self, index: np.ndarray) -> CorrelatedPolicy:
        """The mixture of the kept iterates with these numbers."""
        return self.policy(self.iterates.times()[index], self.iterates.matrix.kept[index])

    def policy(self, times: Ints, behaviors: Floats) -> CorrelatedPolicy:
        """The mixture of the iterates with these numbers."""
        weights = times.astype(float) ** self.request.power
        return CorrelatedPolicy(self.game, weights / weights.sum(), behaviors)


def _is_enough(target: float, point: Checkpoint) -> bool:
    """Whether the gap is at most ``target``, or cannot be told from 0."""
    return point.reaches(target) or point.gap == 0.0


class _Certifying:
    """The end of a run: certifying and saving the mixture, timed on a few components."""

    def __init__(self, solving: _Solving, *, saves: bool) -> None:
        self.solving, self.iterates, self.saves = solving, solving.iterates, saves
        self.fixed = 0.0  # seconds
        self.each = 0.0  # for each component of the mixture
        self.packing = 0.0  # for each iterate that is written

    def reserve(self, step: float) -> float:
        """Another step must fit, and then the end, for the iterates kept so far."""
        saved = min(self.iterates.count, self.iterates.wanted)
        written = self.iterates.count + saved  # the checkpoint and the mixture
        return step + CAUTION * (self.fixed + self.each * saved + self.packing * written)

    def estimate(self) -> None:
        """Certify and pack one component, then several."""
        with doing("measuring how long certifying will take"):
            self._time_certifying(1)  # this may compile kernels
            self.fixed = self._time_certifying(1)
            several = int(min(max(10.0, 0.5 / self.fixed), MOST_MEASURED, self.iterates.count))
            more = max(1, several - 1)
            self.each = max(0.0, self._time_certifying(several) - self.fixed) / more
            if self.saves:
                one = self._time_packing(1)
                self.packing = max(0.0, self._time_packing(several) - one) / more
                self.fixed += 2 * one  # the checkpoint and the mixture

    def _time_certifying(self, components: int) -> float:
        mixture = self.solving.policy(*self.solving.latest(components))
        begun = time.perf_counter()
        certify(self.solving.game, mixture, self.solving.request.k)
        return time.perf_counter() - begun

    def _time_packing(self, components: int) -> float:
        _, behaviors = self.solving.latest(components)
        begun = time.perf_counter()
        write_arrays(io.BytesIO(), self.iterates.matrix.packed(behaviors)._asdict())
        return time.perf_counter() - begun
