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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Floats, Ints
from accord._check import Number, as_number
from accord.certifying.certificate import Certificate
from accord.certifying.exact import TREMBLE, checked_tremble
from accord.deviations.notions import EFCE, NFCCE, NotionLike, outcome_notion
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.equilibrium.rounding import UNIT, rounded_up
from accord.errors import ArgumentError, NumericalError
from accord.game.labels import as_players, player_name
from accord.game.tree import Game, checked_game
from accord.optimal.binding import BindingConstraint, binding_constraints, proved_constraints
from accord.optimal.column_generation import OPTIMAL, RELAXED, ColumnGeneration
from accord.optimal.exact_linear import Basis
from accord.optimal.incentives import Incentives
from accord.optimal.large import LargeSearch, large_filling
from accord.optimal.normal_form import NormalForm
from accord.optimal.objective import KEEP, WELFARE, Objective, ObjectiveLike, as_objective
from accord.optimal.polish import EXACT as POLISHED
from accord.optimal.polish import STAKES, is_exact, is_nearly_exact, polished, unpolished
from accord.optimal.polytope import Relaxation
from accord.optimal.proof import Rational
from accord.optimal.uniqueness import payoffs_are_unique
from accord.optimal.zero_sum import constant_sum, nash_equilibrium, payoff_limits
from accord.runs.checkpoint import Checkpoint, Progressed
from accord.runs.choosing import Choice, Found
from accord.runs.folder import RunFolder, opened_run, part_of
from accord.runs.footprint import SMALLER_K, check_run
from accord.runs.loop import CAUTION, Loop, Progress
from accord.runs.phases import PROVING, optimize_memory
from accord.runs.request import OptimizeRequest
from accord.runs.result import Optimum
from accord.runs.saddle_steps import OptimumSearch, SaddleSteps
from accord.treeplex.form import SequenceForm, sequence_form

START_PLANS = 200
"""Joint plans that are taken from a mixture to start from."""

POLISHING, LONGEST_POLISHING = 0.1, 10.0
"""The part of the time that is kept for the mixture after the search, at most this many seconds."""

IN_FRACTIONS = ", in rational arithmetic"

CREDIBLE = "the program over all joint plans whose advice is credible"

RAISED = 1e-8
"""Rounding may have raised a bound that is met by at most this part of the objective's spread."""

ZERO_SUM = "the sequence form of the zero-sum game"


def optimize(
    game: Game,
    k: NotionLike = 1,
    objective: ObjectiveLike = WELFARE,
    *,
    minimize: bool = False,
    target_gap: float = 0.0,
    components: int | None = None,
    credible: bool = False,
    tremble: Number = TREMBLE,
    commits: str | Iterable[str] = (),
    at_least: Mapping[str, Number] | None = None,
    payoffs: Sequence[Number] | None = None,
    seconds: float | None = None,
    start: CorrelatedPolicy | Solved | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Optimum:
    """Find the best equilibrium of ``game``, exactly, as a small mixture of pure joint plans.

    Runs until the value is proved to be the best, or until ``seconds`` have passed. Ctrl-C ends it
    too, after the current round. The result has a bound that no equilibrium can beat. In a large
    game the search may end without a proof: ``optimal`` is False, and the bound is not met.

    Args:
        game: The game.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE). Or another notion: ``"efcce"``, ``"afce"``, ``"afcce"``; or
            ``"nfce"`` in a game with at most 20,000 profiles of plans.
        objective: ``"welfare"``, the sum of payoffs; ``"egalitarian"``, the smallest payoff; a
            weighted sum, ``[1, 0, -1]`` or ``{"row": 1, "col": "-1/2"}``, so that ``{"row": 1}`` is
            one player's payoff; an :class:`~accord.optimal.objective.Objective`; or ``"keep"``, the
            payoffs of ``start``, as nearly as an equilibrium can have them: the value is minus the
            distance, in payoff ranges.
        minimize: Whether to minimize the objective.
        target_gap: The gap that an equilibrium may have, in payoff units; by default only exact
            equilibria count.
        components: The largest number of components; by default as many as a vertex has.
        credible: Whether advice off the path must be credible: a best reply where only slips of
            others lead. By default, of the equilibria with the best value, one is chosen that
            threatens as little as possible, but threats may remain.
        tremble: The probability with which others slip at each infoset, which decides whether such
            advice is credible; 0 leaves it arbitrary.
        commits: The labels of players who commit to what they are recommended, whether or not it
            is best for them: the sender of Bayesian persuasion, a Stackelberg leader, a mechanism.
        at_least: The least payoffs of some players, by label: other equilibria do not count.
        payoffs: Find an equilibrium with these payoffs, one per player, or else with the nearest
            there are, instead of the best for ``objective``. The value is minus the distance, in
            payoff ranges, as for ``"keep"``.
        seconds: Stop after this much wall-clock time.
        start: A mixture to start from, or a result that has one, such as a solution.
        folder: A new or empty folder to keep the run in (``runs/folder.py``).
        resume: Whether to continue the run in ``folder`` if there is one. It continues from its
            last checkpoint and ends as if nothing had happened. Only ``seconds`` may differ.
        progress: Called with a checkpoint after every round.

    Raises:
        ArgumentError: If an argument is out of range, or no equilibrium was found with so few
            components or with advice that is credible.
        MismatchError: If ``start`` is for another game, or the run to be resumed has other
            arguments, apart from ``seconds``.
        BudgetError: If the rechistories do not fit into memory.
        NumericalError: If the linear programs fail.
    """
    since = time.perf_counter()
    request, start = optimize_request(
        game, k, objective, minimize=minimize, target_gap=target_gap, components=components,
        credible=credible, tremble=tremble, commits=commits, at_least=at_least, payoffs=payoffs,
        seconds=seconds, start=start,
    )  # fmt: skip
    return run_optimize(
        game, request, start, folder=folder, resume=resume, progress=progress, since=since
    )


def optimize_request(
    game: Game,
    k: NotionLike,
    objective: ObjectiveLike,
    *,
    minimize: bool = False,
    target_gap: float = 0.0,
    components: int | None = None,
    credible: bool = False,
    tremble: Number = TREMBLE,
    commits: str | Iterable[str] = (),
    at_least: Mapping[str, Number] | None = None,
    payoffs: Sequence[Number] | None = None,
    seconds: float | None = None,
    start: CorrelatedPolicy | Solved | None = None,
) -> tuple[OptimizeRequest, CorrelatedPolicy | None]:
    """The request that :func:`optimize` makes from its arguments, and the mixture to start from."""
    checked_game(game)
    policy = None if start is None else checked_policy(game, start)
    target = None if policy is None else tuple(map(float, policy.values()))
    if payoffs is not None:
        objective, target = KEEP, _point(game, payoffs, objective)
    labels = game.player_labels
    goal = as_objective(objective, labels, minimize=minimize, target=target, at_least=at_least)
    floors = zip(labels, goal.floor or (), strict=False)
    request = OptimizeRequest(
        game=game.source or game.name,
        k=k,  # type: ignore[arg-type]  # the request checks it
        objective=goal.written(game.player_labels),
        minimize=goal.minimize,
        target_gap=target_gap,
        components=components,
        credible=credible,
        tremble=checked_tremble(tremble),
        seconds=seconds,
        target=goal.target,
        commits=tuple(labels[i] for i in as_players(commits, labels)),
        at_least={who: least for who, least in floors if least > -math.inf} or None,
    )
    return request, policy


def _point(game: Game, payoffs: Sequence[Number], objective: ObjectiveLike) -> tuple[float, ...]:
    """The point that ``payoffs`` are, which replaces the objective."""
    if not (isinstance(objective, str) and objective in (WELFARE, KEEP)):
        raise ArgumentError("give an objective or payoffs, not both")
    point = tuple(as_number("a payoff", payoff) for payoff in payoffs)
    if len(point) != game.n_players or not all(map(math.isfinite, point)):
        raise ArgumentError(
            f"payoffs must be {game.n_players} finite numbers, one per player; got "
            f"{', '.join(map(str, payoffs)) or 'none'}"
        )
    return point


def run_optimize(
    game: Game,
    request: OptimizeRequest,
    start: CorrelatedPolicy | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    since: float | None = None,
) -> Optimum:
    """Optimize as ``request`` asks; everything else is as in :func:`optimize`.

    ``since`` is when its seconds began to count, by ``time.perf_counter``; by default now.
    """
    since = time.perf_counter() if since is None else since
    first = RunFolder.first_request(folder, request, checked_game(game)) if resume else None
    assert isinstance(first, OptimizeRequest | None)
    asked = first or request
    seconds = asked.seconds if request.seconds is None else request.seconds
    search = _Optimizing(game, asked, start)  # refuses bad arguments before making a folder
    with opened_run(folder, request, game, resume=first is not None) as files:
        return search.run(seconds, since, files, progress)


def mixture_so_far(game: Game, request: OptimizeRequest, state: dict[str, Any]) -> CorrelatedPolicy:
    """The best mixture of the joint plans in a checkpoint.

    Raises:
        ArithmeticError, LookupError, TypeError, ValueError: If it has none.
    """
    optimizing = _Optimizing(game, request, None)
    optimizing.search.restore(state)
    return optimizing.mixture()


class _Optimizing:
    """A request and the search that answers it."""

    def __init__(
        self, game: Game, request: OptimizeRequest, start: CorrelatedPolicy | None
    ) -> None:
        self.game, self.request = game, request
        form = self.form = sequence_form(game)
        objective = self.objective = as_objective(
            request.objective, game.player_labels,
            minimize=request.minimize, target=request.target, at_least=request.at_least,
        )  # fmt: skip
        self.commits = as_players(request.commits, game.player_labels)
        alike = constant_sum(form) is not None and NFCCE.is_bounded_by(request.notion)
        zero_sum = alike and not request.target_gap > 0 and not self.commits
        self.table = None
        programmed = outcome_notion(request.notion)  # what the programs are about
        if request.notion.foresight and not zero_sum:
            self.table = NormalForm.of(form)
            form, programmed, start = self.table.form, EFCE, None
            self.form = form
        what = f"optimizing {game.name} at k = {request.notion.written}"
        check_run(what, optimize_memory(form, programmed, zero_sum=zero_sum), SMALLER_K)
        self.search: OptimumSearch
        if zero_sum:
            self.search = _ZeroSum(form, objective)
        else:
            incentives = Incentives.build(form, programmed, commits=self.commits)
            check_run(what, optimize_memory(form, programmed, incentives=incentives), SMALLER_K)
            filling = large_filling(incentives)
            if filling is not None:
                self.search = SaddleSteps(LargeSearch(filling, objective, request.target_gap))
                return
            plans = [] if start is None else _plans(incentives, start)
            self.search = _ColumnRounds(
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
        choice = Choice(sequence_form(self.game), self.request, self.objective, self.commits)
        ending = _Ending(end - time.perf_counter(), self, choice)
        if time.perf_counter() < end < math.inf:
            ending.estimate()  # a round may take all the time there is
        loop.run(seconds=seconds, since=since, ending=ending)
        left = 0.0 if loop.interrupted else end - time.perf_counter()
        policy = self.mixture(left)
        with doing("proving the optimum"):
            more = 0.0 if loop.interrupted else min(PROVING, max(0.0, end - time.perf_counter()))
            stop = time.monotonic() + more
            found = choice.chosen(choice.in_fractions(policy, stop), stop)
            rational = choice.rational(found, self.search.solved, stop)
        took = loop.seconds()
        if rational is not None and not is_exact(found.certificate, self.request.notion):
            # Beside huge payoffs, doubles and the numbers they stand for are different games.
            rational, found = None, choice.certified(policy)
        optimum = self._optimum(found, rational, loop, took)
        if files is not None:
            files.finish(optimum)
        return optimum

    def mixture(self, seconds: float = math.inf) -> CorrelatedPolicy:
        """The best mixture found so far, which may be polished for so long."""
        return self._played(self.search.policy(self.request.components, seconds))

    def draft(self) -> CorrelatedPolicy | None:
        """The mixture of the moment, as it is; None before there is one."""
        draft = self.search.draft()
        return None if draft is None else self._played(draft)

    def _played(self, policy: CorrelatedPolicy) -> CorrelatedPolicy:
        """The policy in the game itself, also if the programs are about its normal form."""
        return policy if self.table is None else self.table.played(policy)

    def _optimum(
        self, found: Found, rational: Rational | None, loop: Loop, seconds: float
    ) -> Optimum:
        """The result, whose numbers conclude the history."""
        request, sign, last = self.request, self.objective.sign, loop.history[-1].best
        certificate = found.certificate
        assert last is not None
        own = certificate[request.notion]
        value = self.objective.value(certificate.values, self.form.leaves.payoff_range)
        exact = is_exact(certificate, request.notion, request.target_gap)
        near = exact or is_nearly_exact(self.form, certificate, request.notion, request.target_gap)
        lacks = self.objective.shortfalls(certificate.values) - _payoff_errors(certificate)
        exact = exact and not (lacks > 0).any()
        near = near and not self._misses(certificate)
        error = self._value_error(certificate)
        missing = sign * (last.bound - value)
        worth = math.fsum(w * e for w, e in zip(self.search.worth, own.player_errors, strict=True))
        if exact and missing < -(error + worth):
            raise NumericalError(
                f"the value {value!r} of an equilibrium exceeds the bound {last.bound!r} by more "
                "than rounding can explain; please report this with the game"
            )
        scale = self._scale(certificate)
        rounding = error + min(self.search.error, RAISED * scale) + 16 * UNIT * abs(last.bound)
        met = missing <= rounding + OPTIMAL * scale
        best = replace(last, value=value if near else None)
        proved = rational is not None and rational.proved
        if rational is not None:
            value = float(rational.value)
        if rational is not None and rational.proved:
            listed = rational.proof is not None and not isinstance(self.search, _ZeroSum)
            source = RELAXED if listed else best.proof
            bound = sign * rounded_up(int(sign) * rational.value)
            best = replace(best, value=value, bound=bound, proof=f"{source}{IN_FRACTIONS}")
        elif found.best and not met:
            best, met = replace(best, value=value, bound=value, proof=CREDIBLE), True
        settled = (proved or (near and met)) and best.proof != CREDIBLE
        honest = not request.credible or certificate.is_credible is True
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
            optimal=exact and (proved or met) and honest,
            met=proved or (near and met),
            lacking=max(0.0, float(lacks.max())),
            rational=rational,
            proof=best.proof,
            policy=found.policy,
            certified=certificate,
            iterations=self.search.iteration,
            columns=best.columns,
            binding=self._binding(rational) if settled else (),
            unique=self.search.unique() if settled else None,
            history=tuple(loop.history),
            seconds=seconds,
            interrupted=loop.interrupted,
        )

    def _binding(self, rational: Rational | None) -> tuple[BindingConstraint, ...]:
        """The constraints that hold the value back: those of the proof, if there is one."""
        if rational is None or rational.proof is None or isinstance(self.search, _ZeroSum):
            return self.search.binding
        return proved_constraints(self.form, rational.proof)

    def _misses(self, certificate: Certificate) -> bool:
        """Whether somebody gets less than they must, by more than solver and rounding explain.

        Raises:
            ArgumentError: If the search is over: then no equilibrium pays that much.
        """
        allowed = POLISHED * self.form.leaves.payoff_range + _payoff_errors(certificate)
        shortfalls = self.objective.shortfalls(certificate.values)
        misses = np.flatnonzero(shortfalls > allowed).tolist()
        if misses and isinstance(self.search, _ZeroSum):
            i, labels = misses[0], self.game.player_labels
            raise ArgumentError(
                f"{player_name(labels[i])} gets {certificate.values[i]:.6g} in every equilibrium "
                f"of this zero-sum game; {(self.request.at_least or {})[labels[i]]:g} is too much"
            )
        return bool(misses)

    def _value_error(self, certificate: Certificate) -> float:
        """How far rounding may have moved the value of the objective."""
        errors, objective = np.array(certificate.value_errors), self.objective
        sizes = np.abs(certificate.values)
        if objective.weights is not None:
            weights = np.abs(objective.weights)
            return float(weights @ errors + 4 * UNIT * (weights @ sizes))
        if objective.target is None:
            return float(errors.max())
        span = self.form.leaves.payoff_range
        unit = np.where(span > 0, span, 1.0)
        return float((errors / unit).sum() + 4 * UNIT * (sizes / unit).sum())

    def _scale(self, certificate: Certificate) -> float:
        """The spread of the objective; plays that nobody gets to do not count."""
        spread = self.objective.scale(self.form)
        if self.objective.target is not None:
            return spread  # in units of the payoff ranges
        at_stake = np.abs(certificate.values) + np.array(certificate.stakes)
        weights = self.objective.weights
        size = at_stake.max() if weights is None else np.abs(weights) @ at_stake
        return min(spread, STAKES * float(size)) or spread


def _payoff_errors(certificate: Certificate) -> Floats:
    """``[n_players]`` the errors of the payoffs, and some units in their last place: a floor of
    0.038 is also held by what a sum that should be 0.038 is rounded to."""
    rounding = 16 * UNIT * np.abs(certificate.values)
    return np.asarray(np.array(certificate.value_errors) + rounding)


class _Ending:
    """The end of a run: a part of ``seconds`` is kept for polishing the mixture, or more if
    certifying it takes longer."""

    def __init__(self, seconds: float, optimizing: _Optimizing, choice: Choice) -> None:
        self.polishing = min(POLISHING * seconds, LONGEST_POLISHING)
        self.certifying = 0.0
        self.optimizing, self.choice = optimizing, choice

    def estimate(self) -> None:
        """Certify the mixture of the moment: once to compile kernels, again to measure."""
        if (draft := self.optimizing.draft()) is None:
            return
        for _ in range(1 if self.certifying else 2):
            begun = time.monotonic()
            self.choice.in_fractions(draft, begun)
            self.certifying = time.monotonic() - begun

    def reserve(self, step: float) -> float:
        """The seconds that are kept; a round ends by itself when the others have passed."""
        return max(self.polishing, CAUTION * self.certifying)


class _ZeroSum(OptimumSearch):
    """The sequence-form program of a two-player zero-sum game: a single step."""

    def __init__(self, form: SequenceForm, objective: Objective) -> None:
        self.form, self.objective = form, objective
        self.worth = np.full(2, 2.0 * sum(map(abs, objective.weights or (1.0, 1.0))))
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

    def unique(self) -> bool | None:
        """All equilibria of a zero-sum game have the same payoffs."""
        return True

    def policy(self, components: int | None, seconds: float = math.inf) -> CorrelatedPolicy:
        """The equilibrium, which has one component."""
        assert self.equilibrium is not None
        return self.equilibrium


class _ColumnRounds(OptimumSearch):
    """Column generation, round by round."""

    def __init__(self, rounds: ColumnGeneration) -> None:
        self.rounds = rounds

    @property
    def worth(self) -> Floats:  # type: ignore[override]
        """As far as the present bound says."""
        return self.rounds.worth

    @property
    def solved(self) -> tuple[Relaxation, Basis] | None:  # type: ignore[override]
        """That of the present objective."""
        return self.rounds.solved

    @property
    def error(self) -> float:  # type: ignore[override]
        """That of the present bound."""
        return self.rounds.error

    @property
    def binding(self) -> tuple[BindingConstraint, ...]:
        """The constraints that have a price at the present bound."""
        rounds = self.rounds
        if rounds.multipliers is None:
            return ()
        scale, floor = rounds.program.scale, rounds.objective.floor
        return binding_constraints(rounds.incentives, rounds.multipliers, scale, floor)

    def unique(self) -> bool | None:
        """Whether all optima have the same payoffs, if the bound is met; None if not known."""
        return payoffs_are_unique(self.rounds) if self.rounds.exact else None

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
        center = rounds.objective.center(rounds.form.leaves)
        value = float(sign * (center + Fraction(rounds.value))) if rounds.exact else None
        bound = sign * rounded_up(center + Fraction(rounds.bound))
        return Checkpoint(
            iteration=self.iteration,
            gap=max(gaps),
            player_gaps=gaps,
            values=tuple(rounds.incentives.payoffs(rounds.lottery.losses).tolist()),
            seconds=seconds,
            best=Progressed(value, bound, rounds.source, rounds.program.n_columns),
        )

    def draft(self) -> CorrelatedPolicy:
        """The last solution, or before the first one all joint plans alike."""
        program, lottery = self.rounds.program, self.rounds.lottery
        return unpolished(program, lottery or self.rounds.evenly())

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
    if policy.plan is not None:
        return [incentives.sampled(policy.drawn(rng), rng) for _ in range(START_PLANS)]
    order = np.argsort(-policy.weights, kind="stable")[:START_PLANS]
    return [incentives.sampled(policy.behavior[c], rng) for c in order]
