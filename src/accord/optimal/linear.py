"""Linear and mixed-integer programs in blocks, solved by HiGHS.

    minimize cost . x  subject to  lower <= A x <= upper  and  least <= x <= most.

A program is built from blocks of variables and blocks of rows. The entries of a block of rows are
triples (row, variable, coefficient). If HiGHS fails to solve a linear program, :func:`run` tries
again with other settings. If all of them fail, that is an error, never an answer. If the time limit
is reached first, :class:`OutOfTime` is raised.

If all variables have finite limits, *any* vector y of duals bounds the optimum from below,

    min >= sum_rows (y > 0 ? lower : upper) y + sum_j min(d_j least_j, d_j most_j)   with
    d = cost - A^T y

(Neumaier and Shcherbina 2004). A bound that is computed in this way, and lowered by the roundings
of its own sum, holds whatever the tolerances of the solver that found y:
:meth:`LinearProgram.safe_bound`.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from accord._arrays import Bools, Floats, Longs
from accord._signals import OutOfTime, deferred_signals, is_stopping
from accord.equilibrium.rounding import SECOND_ORDER, UNIT
from accord.errors import NumericalError

FEASIBILITY = 1e-10
"""The smallest feasibility tolerance that HiGHS allows."""

INFINITY = highspy.kHighsInf

RETRIES: tuple[dict[str, Any], ...] = (
    {},  # the usual settings, without the last basis
    {"presolve": "off"},
    {"presolve": "off", "simplex_scale_strategy": 0},
    {"presolve": "off", "simplex_strategy": 4},  # the primal simplex method
    {"solver": "ipm"},
    {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
)
"""Settings for a linear program that HiGHS failed to solve, tried in this order."""

_STOPPED = (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt)


class Triples(NamedTuple):
    """Entries of a sparse matrix; entries in the same place add up."""

    rows: Longs
    columns: Longs
    values: Floats

    def dot(self, weights: Floats, size: int) -> Floats:
        """``[size]`` the sum of all rows, each times its weight."""
        return np.bincount(self.columns, self.values * weights[self.rows], size).astype(np.float64)


def triples(rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> Triples:
    """Entries from arrays or numbers, broadcast to one length."""
    parts = np.broadcast_arrays(np.atleast_1d(rows), columns, values)
    return Triples(
        parts[0].astype(np.int64), parts[1].astype(np.int64), parts[2].astype(np.float64)
    )


def solver(**options: object) -> highspy.Highs:
    """A HiGHS solver that prints nothing, uses one core and has tight tolerances."""
    highs: highspy.Highs = highspy.Highs()  # type: ignore[no-untyped-call]
    settings: dict[str, Any] = {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
        **options,
    }
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    return highs


def run_heeding(highs: highspy.Highs) -> None:
    """Run HiGHS. If the user asks to stop, it ends early, with the status ``kInterrupt``.

    No exception may pass through its code, so signals take effect when it has ended.
    """
    with deferred_signals() as arrived:

        def heed(event: Any) -> None:
            event.interrupt(bool(arrived) or is_stopping())  # HiGHS keeps the last answer

        calls: tuple[Any, ...] = (
            highs.cbSimplexInterrupt,
            highs.cbIpmInterrupt,
            highs.cbMipInterrupt,
        )
        for call in calls:
            call.subscribe(heed)
        try:
            highs.run()
        finally:
            for call in calls:
                call.unsubscribe(heed)


def run(highs: highspy.Highs, end: float | None = None) -> bool:
    """Solve a linear program that has an optimum; return whether any settings found it.

    Args:
        highs: The solver with the program.
        end: When to give up, a time of ``time.monotonic``; None keeps the solver's own limit.
    """
    if end is not None:  # HiGHS counts its time limit from the first run
        left = max(0.0, end - time.monotonic())
        highs.setOptionValue("time_limit", float(highs.getRunTime() + left))
    run_heeding(highs)
    for options in RETRIES:
        if highs.getModelStatus() in (highspy.HighsModelStatus.kOptimal, *_STOPPED):
            break
        before = {name: highs.getOptionValue(name)[1] for name in options}
        highs.clearSolver()
        for name, value in options.items():
            highs.setOptionValue(name, value)
        run_heeding(highs)
        for name, value in before.items():
            highs.setOptionValue(name, value)
    return bool(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def run_to_optimum(highs: highspy.Highs, what: str, end: float | None = None) -> None:
    """Solve a linear program that has an optimum, or raise an error.

    Args:
        highs: The solver with the program.
        what: The name of the program in error messages.
        end: When to give up, a time of ``time.monotonic``; by default never.

    Raises:
        NumericalError: If no settings find the optimum.
        OutOfTime: If it is not found by ``end``, or before the user asks to stop.
    """
    if not run(highs, INFINITY if end is None else end):
        if highs.getModelStatus() in _STOPPED:
            raise OutOfTime
        status = highs.modelStatusToString(highs.getModelStatus())
        raise NumericalError(
            f"{what} must have an optimum, but HiGHS reports {status!r} with all settings; please "
            "report this with the game"
        )


class LinearProgram:
    """A program under construction."""

    def __init__(self) -> None:
        self.n_variables = self.n_rows = 0
        self._variables: list[tuple[Floats, Floats, Floats]] = []
        self._limits: list[tuple[Floats, Floats]] = []
        self._entries: list[Triples] = []

    def add_variables(
        self, count: int, least: ArrayLike, most: ArrayLike, cost: ArrayLike = 0.0
    ) -> int:
        """Add a block of variables; return the number of its first variable."""
        block = (np.broadcast_to(part, count).astype(np.float64) for part in (least, most, cost))
        self._variables.append(tuple(block))  # type: ignore[arg-type]
        self.n_variables += count
        return self.n_variables - count

    def add_rows(self, count: int, lower: ArrayLike, upper: ArrayLike, *entries: Triples) -> int:
        """Add a block of rows; return the number of its first row in the program.

        Entries refer to rows by their numbers in the block, from 0, and to variables by their
        numbers in the program.
        """
        self._limits.append(
            (
                np.broadcast_to(lower, count).astype(float),
                np.broadcast_to(upper, count).astype(float),
            )
        )
        self._entries += [part._replace(rows=part.rows + self.n_rows) for part in entries]
        self.n_rows += count
        return self.n_rows - count

    def limits(self, variables: NDArray[np.integer[Any]]) -> tuple[Floats, Floats]:
        """The least and the largest value of each of these variables."""
        least, most, _ = self._joined(self._variables)
        return least[variables], most[variables]

    def solver(
        self, seconds: float | None = None, integral: Bools | None = None, **options: object
    ) -> highspy.Highs:
        """A solver with this program, ready to run."""
        least, most, cost = self._joined(self._variables)
        lower, upper = self._joined(self._limits)
        matrix = self._matrix()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = self.n_rows, self.n_variables
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, least, most
        model.row_lower_, model.row_upper_ = lower, upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = matrix.indptr
        model.a_matrix_.index_ = matrix.indices
        model.a_matrix_.value_ = matrix.data
        if integral is not None:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[int(one)] for one in integral]
        highs = solver(**options)
        if seconds is not None:
            highs.setOptionValue("time_limit", float(seconds))
        highs.passModel(model)
        return highs

    def safe_bound(self, duals: Floats, roundings: int = 0) -> tuple[float, float]:
        """A lower bound on the optimum, for any ``duals``, and how much it was lowered by rounding;
        all variables must have limits.

        Args:
            duals: One per row.
            roundings: How many roundings the coefficients have behind them. They and those made
                here are counted, and the bound is lowered by what they may have changed.
        """
        least, most, cost = self._joined(self._variables)
        lower, upper = self._joined(self._limits)
        duals = np.where(np.isinf(lower), np.minimum(duals, 0.0), duals)
        limit = np.where(duals > 0, lower, upper)
        matrix = self._matrix()
        rest = cost - matrix.T @ duals
        terms = np.concatenate([duals * limit, np.minimum(rest * least, rest * most)])
        size = np.abs(cost) + abs(matrix).T @ np.abs(duals)
        size *= np.maximum(np.abs(least), np.abs(most))
        longest = int(np.bincount(matrix.indices, minlength=1).max(initial=0))
        share = SECOND_ORDER * UNIT * (longest + roundings + 8)
        error = share * float(np.abs(duals * limit).sum() + size.sum())
        return math.fsum(terms) - error, error

    def _matrix(self) -> Any:
        parts = self._entries or [triples([], [], [])]
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return csr_matrix((values, (rows, columns)), (self.n_rows, self.n_variables))

    @staticmethod
    def _joined(blocks: list[Any]) -> tuple[Floats, ...]:
        return tuple(np.concatenate(part) for part in zip(*blocks, strict=True))
