"""From the solution of a program to a mixture that is exact.

HiGHS satisfies rows up to 1e-10, leaves dust among the weights, and returns one of many vertices.
So the mixture is cleaned: components that can be spared without loss of value are dropped, one by
one, lightest first; the rest is moved by the smallest correction that satisfies all binding rows,

    delta = A^+ (b - A x)   over the variables x that are not at a bound,

which leaves only rounding. The gap of the result is measured by the code that certifies any other
policy, and of several attempts the one with the smallest gap counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress

import highspy
import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import lsqr

from accord._arrays import Floats
from accord._signals import OutOfTime
from accord.certifying.certificate import Certificate
from accord.deviations.notions import Notion
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, NumericalError
from accord.optimal.linear import INFINITY, run_heeding, solver
from accord.optimal.program import Lottery, Program
from accord.treeplex.form import SequenceForm

EXACT = 1e-9
"""The largest gap of an exact mixture, in units of the players' payoff ranges."""

ROUNDED = 1e-15
"""A gap of at most this, in the same units, is rounding."""

STAKES = 100.0
"""Payoff ranges that are larger than this many stakes are those of plays that nobody gets to. They
say nothing about what an exact mixture is."""

DUST = (1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 0.0)
"""Limits below which weights are dropped, tried in this order until the mixture is exact."""

BINDING = 1e-8
SPARSE_SECONDS = 5.0
"""The most time to spend on sparing components."""

LIMITED_SECONDS = 60.0
"""The most time for one mixed-integer program with a limited number of components."""


def is_exact(certificate: Certificate, notion: Notion, gap: float = 0.0) -> bool:
    """Whether a certified mixture is an equilibrium, or has at most this gap, as far as its error
    bound can tell."""
    own = certificate[notion]
    pairs = zip(own.player_gaps, own.player_errors, strict=True)
    return all(mine <= gap + error for mine, error in pairs)


def is_nearly_exact(
    form: SequenceForm, certificate: Certificate, notion: Notion, gap: float = 0.0
) -> bool:
    """Whether a certified mixture is an equilibrium, or has at most this gap, up to a tolerance of
    the solver."""
    own, stakes = certificate[notion], np.array(certificate.stakes)
    unit = np.maximum(np.minimum(form.leaves.payoff_range, STAKES * stakes), gap)
    allowed = gap + np.maximum(EXACT * unit, own.player_errors)
    return bool((np.array(own.player_gaps) <= allowed).all())


def polished(
    program: Program,
    lottery: Lottery,
    components: int | None = None,
    seconds: float = math.inf,
) -> CorrelatedPolicy:
    """The mixture of a solution, exact and as sparse as it can easily be made.

    If rounding leaves a gap, or the time is too short, it is the mixture with the smallest gap.

    Args:
        program: The program.
        lottery: A solution that violates nothing.
        components: The largest number of components; by default as many as are left.
        seconds: The time that this may take.

    Raises:
        ArgumentError: If no mixture with so few components was found.
    """
    end = time.monotonic() + seconds
    lottery = program.padded(lottery)
    least, best = np.inf, _policy(program, lottery.weights)
    for policy in _candidates(program, lottery, components, end):
        gaps = efce_gaps(policy, program.incentives.notion)
        excess = float((gaps / program.incentives.unit - program.epsilon).max())
        excess = max(excess, program.missed(policy.values()))
        if excess < least:
            least, best = excess, policy
        if least <= ROUNDED or (least <= EXACT and time.monotonic() > end):
            break
    return best


def _candidates(
    program: Program, lottery: Lottery, components: int | None, end: float
) -> Iterator[CorrelatedPolicy]:
    """Mixtures that may be exact, the best first."""
    try:
        sparse = _spared(program, lottery, min(end, time.monotonic() + SPARSE_SECONDS))
    except (NumericalError, OutOfTime):
        sparse = None
    if components is not None and ((sparse or lottery).weights > 0).sum() > components:
        sparse = _limited(program, components, end)
    if sparse is not None:
        for dust in DUST:
            if (weights := _corrected(program, sparse, dust)) is not None:
                yield _policy(program, weights)
            if time.monotonic() > end:
                break
    if components is None:
        yield unpolished(program, lottery)


def unpolished(
    program: Program, lottery: Lottery, components: int | None = None
) -> CorrelatedPolicy:
    """The mixture without dust."""
    weights = np.where(lottery.weights > DUST[4], lottery.weights, 0.0)
    if components is not None:
        weights[np.argsort(-weights, kind="stable")[components:]] = 0.0
    return _policy(program, weights)


def _limited(program: Program, components: int, end: float) -> Lottery:
    """The best solution on at most ``components`` of the columns, by a mixed-integer program."""
    most = program.n_columns
    while True:
        model = program.highs.getLp()
        left = min(LIMITED_SECONDS, max(1.0, end - time.monotonic()))
        highs = solver(mip_feasibility_tolerance=1e-9, time_limit=left)
        highs.passModel(model)
        first = highs.getNumCol()
        for variable in program.variables:  # w <= chosen, and at most ``components`` chosen
            highs.addCol(0.0, 0.0, 1.0, 0, [], [])
            chosen = int(highs.getNumCol()) - 1
            highs.changeColIntegrality(chosen, highspy.HighsVarType.kInteger)
            highs.addRow(-INFINITY, 0.0, 2, [int(variable), chosen], [1.0, -1.0])
        index = np.arange(first, first + most, dtype=np.int32)
        highs.addRow(-INFINITY, float(components), most, index, np.ones(most))
        highs.changeColBounds(program.slack, 0.0, EXACT / 100)
        run_heeding(highs)
        info = highs.getInfo()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            raise ArgumentError(
                f"no equilibrium with at most {components} components was found; allow more "
                "components, a larger gap, or start from other plans"
            )
        values = np.array(highs.getSolution().col_value)
        program.allow(np.flatnonzero(values[program.variables] > DUST[2]))
        try:
            lottery = program.solve()
            if not program.separate(lottery) and lottery.slack <= EXACT / 10:
                return lottery
        finally:
            program.allow(None)


def _spared(program: Program, lottery: Lottery, end: float) -> Lottery:
    """An equally good solution on fewer columns, by a greedy search until ``end``. The program is
    left solved for it.

    Raises:
        OutOfTime: If the program cannot even be solved for the columns of ``lottery``.
    """
    kept = np.flatnonzero(lottery.weights > 0)
    program.allow(kept)
    program.end = end
    try:
        best = program.solve_separated()
        last: Lottery | None = best
        goal = program.cost() + EXACT / 10
        with suppress(OutOfTime):
            for column in kept[np.argsort(lottery.weights[kept], kind="stable")]:
                if time.monotonic() > end:
                    break
                rest = np.flatnonzero(best.weights > 0)
                rest = rest[rest != column]
                if best.weights[column] == 0.0 or not len(rest):
                    continue
                program.allow(rest)
                last = None
                last = program.solve_separated()
                if program.cost() <= goal and last.slack <= lottery.slack + EXACT / 10:
                    best = last
        if last is best:
            return best
        program.allow(np.flatnonzero(best.weights > 0))
        program.end = None  # it was solved before, so this is quick
        return program.solve_separated()
    finally:
        program.end = None
        program.allow(None)


def _corrected(program: Program, lottery: Lottery, dust: float) -> Floats | None:
    """The weights without dust, moved so that binding rows bind exactly; None if nothing is left
    of them."""
    model = program.highs.getLp()
    matrix = csc_matrix(
        (model.a_matrix_.value_, model.a_matrix_.index_, model.a_matrix_.start_),
        (model.num_row_, model.num_col_),
    )
    lower, upper = np.array(model.row_lower_), np.array(model.row_upper_)
    point = program.point(lottery)
    weights = point[program.variables]
    point[program.variables] = np.where(weights > dust, weights, 0.0)
    activity = matrix @ point
    below, above = np.abs(activity - lower) < BINDING, np.abs(activity - upper) < BINDING
    binding = np.flatnonzero(below | above)
    free = np.flatnonzero(np.abs(point) > 0)
    part = matrix[binding][:, free]
    goal = np.where(above, upper, lower)[binding]
    for _ in range(3):
        error = goal - matrix[binding] @ point
        if not np.abs(error).max(initial=0.0) > 1e-15:
            break
        point[free] += lsqr(part, error, atol=1e-16, btol=1e-16, iter_lim=10 * len(free))[0]
    weights = np.maximum(point[program.variables], 0.0)
    total = float(weights.sum())
    return np.asarray(weights / total) if 0.0 < total < math.inf else None


def _policy(program: Program, weights: Floats) -> CorrelatedPolicy:
    """The mixture as a policy, heaviest component first."""
    kept = [int(c) for c in np.argsort(-weights, kind="stable") if weights[c] > 0]
    incentives = program.incentives
    behavior = np.array([np.concatenate(incentives.behaviors(program.plans[c])) for c in kept])
    chosen = weights[kept]
    return CorrelatedPolicy(incentives.form.game, chosen / chosen.sum(), behavior)
