"""Optimising: the best equilibrium of a game, exactly.

A two-player zero-sum game takes its sequence-form program (``optimal/zero_sum.py``), any other game
column generation (``optimal/column_generation.py``), round by round until value and bound meet or a
limit is reached. Agent-form deviators cannot ignore the mediator for good, so the AFCE and AFCCE of
a zero-sum game differ in value, and column generation finds them, too. Whatever is returned is
certified by :func:`accord.certify`, which knows nothing of the programs; the value is the
certificate's, too.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Ints
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify
from accord.deviations.notions import NFCCE, NotionLike
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.errors import ArgumentError
from accord.game.tree import Game, checked_game
from accord.optimal.column_generation import OPTIMAL, ColumnGeneration
from accord.optimal.incentives import Incentives
from accord.optimal.objective import WELFARE, ObjectiveLike, as_objective
from accord.optimal.polish import STAKES, is_exact, polished, unpolished
from accord.optimal.zero_sum import constant_sum, nash_equilibrium, payoff_limits
from accord.runs.checkpoint import Checkpoint, Progressed
from accord.runs.folder import RunFolder, new_run, resumed_run
from accord.runs.footprint import SMALLER_K, check_run, optimize_memory
from accord.runs.interrupt import heeding_interrupts
from accord.runs.loop import Progress, part_of
from accord.runs.request import OptimizeRequest
from accord.runs.result import Optimum
from accord.treeplex.form import sequence_form

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
    gap: float = 0.0,
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
        gap: The largest gap that counts as an equilibrium, in payoff units.
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
        gap=gap,
        components=components,
        seconds=seconds,
        target=goal.target,
    )
    if resume and folder is not None and RunFolder.has(folder, request, game):
        return resume_optimize(game, folder, seconds=seconds, start=start, progress=progress)
    search = _Search(game, request, start)  # refuses bad arguments before making a folder
    with new_run(folder, request, game) as files:
        return search.run(seconds, since, files, progress)


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
        return _Search(game, request, start).run(limit, since, files, progress)


def mixture_so_far(game: Game, request: OptimizeRequest, state: dict[str, Any]) -> CorrelatedPolicy:
    """The best mixture of the joint plans in a checkpoint.

    Raises:
        ArgumentError: If it has none: a zero-sum game takes a single step.
    """
    rounds = _Search(game, request, None).rounds
    if rounds is None:
        raise ArgumentError(f"the search for the best equilibrium of {game.name} has just begun")
    rounds.restore(part_of(state, "search_"))
    lottery = rounds.program.solve_separated()
    return unpolished(rounds.program, lottery, request.components)


class _Search:
    """A request and what answers it."""

    def __init__(
        self, game: Game, request: OptimizeRequest, start: CorrelatedPolicy | None
    ) -> None:
        self.game, self.request = game, request
        self.form = sequence_form(game)
        self.objective = as_objective(
            request.objective, game.player_labels,
            minimize=request.minimize, target=request.target,
        )  # fmt: skip
        self.history: list[Checkpoint] = []
        self.rounds: ColumnGeneration | None = None
        alike = constant_sum(self.form) is not None and NFCCE.is_bounded_by(request.notion)
        zero_sum = alike and not request.gap > 0
        needed = optimize_memory(self.form, request.notion, zero_sum=zero_sum)
        check_run(f"optimizing {game.name} at k = {request.notion.written}", needed, SMALLER_K)
        if not zero_sum:
            incentives = Incentives.build(self.form, request.notion)
            plans = [] if start is None else _plans(incentives, start)
            self.rounds = ColumnGeneration(incentives, self.objective, request.gap, plans=plans)

    def run(
        self,
        seconds: float | None,
        since: float,
        files: RunFolder | None,
        progress: Progress | None,
    ) -> Optimum:
        begun = time.perf_counter()
        if self.rounds is None:
            found = self._solve_zero_sum(begun, progress)
        else:
            end = None if seconds is None else since + seconds
            found = self._search(self.rounds, begun, end, files, progress)
        if files is not None:
            files.finish(found.to_json(), found.policy, found.certificate, self.history)
        return found

    def _solve_zero_sum(self, begun: float, progress: Progress | None) -> Optimum:
        policy = nash_equilibrium(self.form)
        least, most = payoff_limits(self.form, policy)
        total = constant_sum(self.form)
        assert total is not None
        values = [self._value((u, total - u)) for u in (least, most)]
        slopes = self.objective.weights or (1.0, 1.0)
        bound = max(self.objective.sign * value for value in values)
        bound += sum(map(abs, slopes)) * abs(most - least)
        now = time.perf_counter() - begun
        gaps = tuple(np.maximum(0.0, [most - least] * 2).tolist())
        best = Progressed(None, self.objective.sign * bound, ZERO_SUM, 1)
        point = Checkpoint(1, gaps[0], gaps, tuple(policy.values().tolist()), now, best=best)
        return self._result(policy, bound, ZERO_SUM, point, interrupted=False, progress=progress)

    def _search(
        self,
        rounds: ColumnGeneration,
        begun: float,
        end: float | None,
        files: RunFolder | None,
        progress: Progress | None,
    ) -> Optimum:
        start = begun
        reserve = 0.0 if end is None else min(POLISHING * (end - begun), LONGEST_POLISHING)
        if files is not None and (state := files.load()) is not None:
            try:
                rounds.restore(part_of(state, "search_"))
                self.history = list(map(Checkpoint.from_json, json.loads(str(state["record"]))))
                start -= float(state["elapsed"])
            except (ArithmeticError, LookupError, TypeError, ValueError):
                raise files.unreadable() from None
        kept, content, past = rounds.saved, None, list(self.history)
        with heeding_interrupts(saves=files is not None) as interruption:
            while True:
                left = None if end is None else end - time.perf_counter()
                with doing(f"round {rounds.iteration + 1:,}"):
                    rounds.advance(None if left is None else max(0.0, left - reserve))
                now = time.perf_counter()
                if files is not None and rounds.saved is not None and rounds.saved is not kept:
                    kept, content = rounds.saved, self._content(rounds.saved, now - start)
                    past = list(self.history)  # up to the saved state
                    files.save(content, past)
                point = self._look(rounds, now - start)
                self.history.append(point)
                late = rounds.late or (end is not None and now >= end - reserve)
                if rounds.finished or late or interruption.requested:
                    break
                if progress is not None:
                    progress(point)
            if files is not None and content is not None:
                files.save(content, past, now=True)
        if interruption.insisted:
            raise KeyboardInterrupt
        assert rounds.lottery is not None
        if rounds.exact:
            with doing("polishing the mixture"):
                left = np.inf if end is None else end - time.perf_counter()
                policy = polished(rounds.program, rounds.lottery, self.request.components, left)
        else:
            policy = unpolished(rounds.program, rounds.lottery, self.request.components)
        self.history.pop()
        point = replace(point, seconds=time.perf_counter() - start)
        return self._result(
            policy, rounds.bound, rounds.source, point,
            interrupted=interruption.requested, progress=progress,
        )  # fmt: skip

    def _result(
        self,
        policy: CorrelatedPolicy,
        bound: float,
        proof: str,
        last: Checkpoint,
        *,
        interrupted: bool,
        progress: Progress | None,
    ) -> Optimum:
        """Certify the mixture; ``bound`` is that of the maximised objective."""
        request, sign = self.request, self.objective.sign
        with doing("certifying the mixture"):
            certificate = certify(self.game, policy, request.notion)
        own = certificate[request.notion]
        value = self._value(certificate.values)
        exact = is_exact(self.form, certificate, request.notion, request.gap)
        if exact:  # rounding may put the value above the bound
            bound = max(bound, sign * value)
        assert last.best is not None
        best = replace(last.best, value=value if exact else None, bound=sign * bound)
        last = replace(
            last,
            gap=own.gap,
            player_gaps=own.player_gaps,
            error=own.error,
            values=certificate.values,
            value_error=max(certificate.value_errors),
            best=best,
        )
        self.history.append(last)
        if progress is not None:
            progress(last)
        return Optimum(
            game=self.game,
            request=request,
            notion=request.notion,
            objective=request.goal,
            value=value,
            bound=sign * bound,
            optimal=bool(exact and bound - sign * value <= OPTIMAL * self._scale(certificate)),
            proof=proof,
            policy=policy,
            certificate=certificate,
            iterations=last.iteration,
            columns=best.columns,
            history=tuple(self.history),
            seconds=last.seconds,
            interrupted=interrupted,
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

    def _value(self, payoffs: tuple[float, ...]) -> float:
        return self.objective.value(payoffs, self.form.leaves.payoff_range)

    def _look(self, rounds: ColumnGeneration, seconds: float) -> Checkpoint:
        """The checkpoint for this moment."""
        assert rounds.lottery is not None
        gaps = tuple(rounds.program.gaps(rounds.lottery).tolist())
        sign = self.objective.sign
        return Checkpoint(
            iteration=rounds.iteration,
            gap=max(gaps),
            player_gaps=gaps,
            values=tuple(self.form.payoffs(rounds.lottery.losses + 1.0).tolist()),
            seconds=seconds,
            best=Progressed(
                sign * rounds.value if rounds.exact else None,
                sign * rounds.bound,
                rounds.source,
                rounds.program.n_columns,
            ),
        )

    def _content(self, state: dict[str, Any], elapsed: float) -> dict[str, Any]:
        """What the checkpoint on disk holds beside the history."""
        content: dict[str, Any] = {"elapsed": np.array(elapsed)}
        return content | {f"search_{name}": value for name, value in state.items()}


def _plans(incentives: Incentives, policy: CorrelatedPolicy) -> list[Ints]:
    """Joint plans of a mixture: its pure components, or draws from the others."""
    rng = np.random.default_rng(0)
    order = np.argsort(-policy.weights, kind="stable")[:MOST_PLANS]
    return [incentives.sampled(policy.behavior[c], rng) for c in order]
