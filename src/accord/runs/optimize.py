"""Optimising: the best equilibrium of a game, exactly.

A two-player zero-sum game takes its sequence-form program (``optimal/zero_sum.py``), any other game
column generation (``optimal/column_generation.py``), round by round until value and bound meet or a
limit is reached. Agent-form deviators cannot ignore the mediator for good, so the AFCE and AFCCE of
a zero-sum game differ in value, and column generation finds them, too. Whatever is returned is
certified by :func:`accord.certify`, which knows nothing of the programs; the value is the
certificate's, too.
"""

from __future__ import annotations

import math
import os
import time
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Ints
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify
from accord.deviations.notions import NFCCE, NotionLike
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.game.tree import Game, checked_game
from accord.optimal.column_generation import OPTIMAL, ColumnGeneration
from accord.optimal.incentives import Incentives
from accord.optimal.objective import WELFARE, Objective, ObjectiveLike, as_objective
from accord.optimal.polish import STAKES, is_exact, polished, unpolished
from accord.optimal.zero_sum import constant_sum, nash_equilibrium, payoff_limits
from accord.runs.checkpoint import Checkpoint, Progressed
from accord.runs.folder import RunFolder, new_run, part_of, resumed_run
from accord.runs.footprint import SMALLER_K, check_run, optimize_memory
from accord.runs.loop import Loop, Progress, Steps
from accord.runs.request import OptimizeRequest
from accord.runs.result import Optimum
from accord.treeplex.form import SequenceForm, sequence_form

MOST_PLANS = 200
"""Joint plans that are taken from a mixture to start from."""

POLISHING, LONGEST_POLISHING = 0.1, 10.0
"""The part of the time that is kept for the mixture after the search, at most this many seconds."""

ZERO_SUM = "the sequence form of the zero-sum game"


def optimize(
    game: Game,
    k: NotionLike = 1,
    objective: ObjectiveLike = WELFARE,
    *,
    minimize: bool = False,
    target_gap: float = 0.0,
    components: int | None = None,
    seconds: float | None = None,
    start: CorrelatedPolicy | Solved | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    since: float | None = None,
) -> Optimum:
    """Find the best equilibrium of ``game``, exactly, as a small mixture of pure joint plans.

    Runs until the value is proved to be the best, or until ``seconds`` have passed. Ctrl-C ends it
    too, after the current round. The result has a bound that no equilibrium can beat. In a large
    game the search may end without a proof: ``optimal`` is False, and the bound is not met.

    Args:
        game: The game.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE). Or another notion: ``"efcce"``, ``"afce"``, ``"afcce"``.
        objective: ``"welfare"``, the sum of payoffs; ``"egalitarian"``, the smallest payoff; a
            weighted sum, ``[1, 0, -1]`` or ``{"row": 1, "col": "-1/2"}``, so that ``{"row": 1}`` is
            one player's payoff; an :class:`~accord.optimal.objective.Objective`; or ``"keep"``, the
            payoffs of ``start``, as nearly as an equilibrium can have them: the value is minus the
            distance, in payoff ranges.
        minimize: Whether to minimise the objective.
        target_gap: The gap that an equilibrium may have, in payoff units; by default only exact
            equilibria count.
        components: The largest number of components; by default as many as a vertex has.
        seconds: Stop after this much wall-clock time.
        start: A mixture to start from, or a result that has one, such as a solution.
        folder: A new or empty folder to keep the run in; it can be resumed with
            :func:`resume_optimize`.
        resume: Whether to continue the run in ``folder`` if there is one.
        progress: Called with a checkpoint after every round.
        since: When ``seconds`` began to count, by ``time.perf_counter``; by default now.

    Raises:
        ArgumentError: If an argument is out of range, or no equilibrium with so few components was
            found.
        MismatchError: If ``start`` is for another game, or the run to be resumed has other
            arguments, apart from ``seconds``.
        BudgetError: If the rechistories do not fit into memory.
        NumericalError: If the linear programs fail.
    """
    since = time.perf_counter() if since is None else since
    checked_game(game)
    target = None
    if start is not None:
        start = checked_policy(game, start)
        target = tuple(map(float, start.values()))
    goal = as_objective(objective, game.player_labels, minimize=minimize, target=target)
    request = OptimizeRequest(
        game=game.source or game.name,
        k=k,  # type: ignore[arg-type]  # the request checks it
        objective=goal.written(game.player_labels),
        minimize=goal.minimize,
        target_gap=target_gap,
        components=components,
        seconds=seconds,
        target=goal.target,
    )
    if resume and folder is not None and RunFolder.has(folder, request, game):
        return resume_optimize(game, folder, seconds=seconds, start=start, progress=progress)
    optimizing = _Optimizing(game, request, start)  # refuses bad arguments before making a folder
    with new_run(folder, request, game) as files:
        return optimizing.run(seconds, since, files, progress)


def resume_optimize(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    start: CorrelatedPolicy | None = None,
    progress: Progress | None = None,
    since: float | None = None,
) -> Optimum:
    """Resume a run of :func:`optimize` from its folder.

    A run that was interrupted or killed continues from its last checkpoint and ends as if nothing
    had happened.

    Args:
        game: The game of the run.
        folder: The folder of the run.
        seconds: How many seconds to continue; by default as many as the first request had.
        start: The mixture that the run started from, if it had one and has no checkpoint yet.
        progress: Called with a checkpoint after every round.
        since: When ``seconds`` began to count, by ``time.perf_counter``; by default now.

    Raises:
        ParseError: If the folder does not hold a readable run.
        MismatchError: If it holds a run of another command or of another game, or one of its files
            belongs to another run.
    """
    since = time.perf_counter() if since is None else since
    with resumed_run(folder, OptimizeRequest.command, checked_game(game)) as files:
        request = files.request
        assert isinstance(request, OptimizeRequest)
        limit = request.seconds if seconds is None else seconds
        return _Optimizing(game, request, start).run(limit, since, files, progress)


def mixture_so_far(game: Game, request: OptimizeRequest, state: dict[str, Any]) -> CorrelatedPolicy:
    """The best mixture of the joint plans in a checkpoint.

    Raises:
        ArithmeticError, LookupError, TypeError, ValueError: If it has none.
    """
    search = _Optimizing(game, request, None).search
    search.restore(state)
    return search.policy(request.components)


class _Optimizing:
    """A request and the search that answers it."""

    def __init__(
        self, game: Game, request: OptimizeRequest, start: CorrelatedPolicy | None
    ) -> None:
        self.game, self.request = game, request
        form = self.form = sequence_form(game)
        objective = self.objective = as_objective(
            request.objective, game.player_labels,
            minimize=request.minimize, target=request.target,
        )  # fmt: skip
        alike = constant_sum(form) is not None and NFCCE.is_bounded_by(request.notion)
        zero_sum = alike and not request.target_gap > 0
        needed = optimize_memory(form, request.notion, zero_sum=zero_sum)
        check_run(f"optimizing {game.name} at k = {request.notion.written}", needed, SMALLER_K)
        self.search: _Search
        if zero_sum:
            self.search = _ZeroSum(form, objective)
        else:
            incentives = Incentives.build(form, request.notion)
            plans = [] if start is None else _plans(incentives, start)
            self.search = _Rounds(
                ColumnGeneration(incentives, objective, request.target_gap, plans=plans)
            )

    def run(
        self,
        seconds: float | None,
        since: float,
        files: RunFolder | None,
        progress: Progress | None,
    ) -> Optimum:
        """Search until the value is proved or a limit is reached, and certify the mixture."""
        loop = Loop(self.search, files, progress)
        end = math.inf if seconds is None else since + seconds
        ending = _Polishing(end - time.perf_counter())
        loop.run(seconds=seconds, since=since, ending=ending)
        policy = self.search.policy(self.request.components, end - time.perf_counter())
        took = loop.seconds()
        with doing("certifying the mixture"):
            certificate = certify(self.game, policy, self.request.notion)
        found = self._optimum(policy, certificate, loop, took)
        if files is not None:
            files.finish(found.to_json(), found.policy, found.certificate, found.history)
        return found

    def _optimum(
        self, policy: CorrelatedPolicy, certificate: Certificate, loop: Loop, seconds: float
    ) -> Optimum:
        """The result, whose numbers conclude the history."""
        request, sign, last = self.request, self.objective.sign, loop.history[-1].best
        assert last is not None
        own = certificate[request.notion]
        value = self.objective.value(certificate.values, self.form.leaves.payoff_range)
        exact = is_exact(self.form, certificate, request.notion, request.target_gap)
        bound = sign * last.bound
        if exact:  # rounding may put the value above the bound
            bound = max(bound, sign * value)
        best = replace(last, value=value if exact else None, bound=sign * bound)
        loop.conclude(
            gap=own.gap,
            player_gaps=own.player_gaps,
            error=own.error,
            values=certificate.values,
            value_error=max(certificate.value_errors),
            seconds=seconds,
            best=best,
        )
        return Optimum(
            game=self.game,
            request=request,
            value=value,
            bound=best.bound,
            optimal=bool(exact and bound - sign * value <= OPTIMAL * self._scale(certificate)),
            proof=best.proof,
            policy=policy,
            certified=certificate,
            iterations=self.search.iteration,
            columns=best.columns,
            history=tuple(loop.history),
            seconds=seconds,
            interrupted=loop.interrupted,
        )

    def _scale(self, certificate: Certificate) -> float:
        """The spread of the objective; plays that nobody gets to do not count."""
        spread = self.objective.scale(self.form.leaves)
        if self.objective.target is not None:
            return spread  # in units of the payoff ranges
        at_stake = np.abs(certificate.values) + np.array(certificate.stakes)
        weights = self.objective.weights
        size = at_stake.max() if weights is None else np.abs(weights) @ at_stake
        return min(spread, STAKES * float(size)) or spread


class _Polishing:
    """The end of a run: a part of ``seconds`` is kept for polishing and certifying the mixture."""

    def __init__(self, seconds: float) -> None:
        self.seconds = min(POLISHING * seconds, LONGEST_POLISHING)

    def estimate(self) -> None:
        """Nothing to measure: polishing takes what it gets."""

    def reserve(self, step: float) -> float:
        """The seconds that are kept; a round ends by itself when the others have passed."""
        return self.seconds


class _Search(Steps):
    """The search for the best equilibrium. Its checkpoints say how far it is."""

    @abstractmethod
    def policy(self, components: int | None, seconds: float = math.inf) -> CorrelatedPolicy:
        """The best mixture found, of at most so many components; it may take ``seconds``."""


class _ZeroSum(_Search):
    """The sequence-form program of a two-player zero-sum game: a single step."""

    def __init__(self, form: SequenceForm, objective: Objective) -> None:
        self.form, self.objective = form, objective
        self.equilibrium: CorrelatedPolicy | None = None

    @property
    def iteration(self) -> int:
        """1 if the program is solved."""
        return int(self.finished)

    @property
    def finished(self) -> bool:
        """Whether the program is solved."""
        return self.equilibrium is not None

    def advance(self, iterations: int, seconds: float | None) -> None:
        """Solve the program."""
        if iterations:
            self.equilibrium = nash_equilibrium(self.form)
            self.least, self.most = payoff_limits(self.form, self.equilibrium)

    def look(self, seconds: float) -> Checkpoint:
        """The equilibrium, and a bound from the payoffs that player 1 can have in any."""
        total = constant_sum(self.form)
        assert self.equilibrium is not None and total is not None
        span, sign = self.form.leaves.payoff_range, self.objective.sign
        ends = (self.objective.value((u, total - u), span) for u in (self.least, self.most))
        slopes = self.objective.weights or (1.0, 1.0)
        bound = max(sign * value for value in ends)
        bound += sum(map(abs, slopes)) * abs(self.most - self.least)
        gaps = (max(0.0, self.most - self.least),) * 2
        values = tuple(self.equilibrium.values().tolist())
        best = Progressed(None, sign * bound, ZERO_SUM, 1)
        return Checkpoint(1, gaps[0], gaps, values, seconds, best=best)

    def policy(self, components: int | None, seconds: float = math.inf) -> CorrelatedPolicy:
        """The equilibrium, which has one component."""
        assert self.equilibrium is not None
        return self.equilibrium


class _Rounds(_Search):
    """Column generation, round by round."""

    def __init__(self, rounds: ColumnGeneration) -> None:
        self.rounds = rounds

    @property
    def iteration(self) -> int:
        """How many rounds there were."""
        return self.rounds.iteration

    @property
    def finished(self) -> bool:
        """Whether another round cannot improve anything, or the last one ran out of time."""
        return self.rounds.finished or self.rounds.late

    def advance(self, iterations: int, seconds: float | None) -> None:
        """Make a round, which may take ``seconds``."""
        for _ in range(iterations):
            with doing(f"round {self.iteration + 1:,}"):
                self.rounds.advance(seconds)

    def look(self, seconds: float) -> Checkpoint:
        """The best mixture of the joint plans found so far, and the bound."""
        rounds, sign = self.rounds, self.rounds.objective.sign
        assert rounds.lottery is not None
        gaps = tuple(rounds.program.gaps(rounds.lottery).tolist())
        value = sign * rounds.value if rounds.exact else None
        return Checkpoint(
            iteration=self.iteration,
            gap=max(gaps),
            player_gaps=gaps,
            values=tuple(rounds.form.payoffs(rounds.lottery.losses + 1.0).tolist()),
            seconds=seconds,
            best=Progressed(value, sign * rounds.bound, rounds.source, rounds.program.n_columns),
        )

    def policy(self, components: int | None, seconds: float = math.inf) -> CorrelatedPolicy:
        """The best mixture of the joint plans found so far, polished if it is an equilibrium."""
        program, lottery = self.rounds.program, self.rounds.lottery
        if lottery is None:  # no round was made since the search was restored
            lottery = program.solve_separated()
        if not self.rounds.exact:
            return unpolished(program, lottery, components)
        with doing("polishing the mixture"):
            return polished(program, lottery, components, seconds)

    @property
    def saved_iteration(self) -> int | None:
        """The round that began afresh from what it saved."""
        saved = self.rounds.saved
        return None if saved is None else int(saved["iteration"])

    def state(self) -> dict[str, Any]:
        """What that round began from, by name."""
        return {f"search_{name}": value for name, value in (self.rounds.saved or {}).items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.rounds.restore(part_of(state, "search_"))


def _plans(incentives: Incentives, policy: CorrelatedPolicy) -> list[Ints]:
    """Joint plans of a mixture: its pure components, or draws from the others."""
    rng = np.random.default_rng(0)
    order = np.argsort(-policy.weights, kind="stable")[:MOST_PLANS]
    return [incentives.sampled(policy.behavior[c], rng) for c in order]
