"""Exact pricing by a mixed-integer program.

A joint plan is an integral correlation plan (``optimal/tuples.py``): if what every player alone
is told is 0 or 1, the equations make every xi the product of its positions. So the least price G(c)
over all joint plans is the minimum of a linear form in xi over the polytope with these variables
integral. The relaxation is strong, often exact, and HiGHS solves it by branch and bound. Stopped
early it still has a lower bound, which is all that a bound on the value needs.

HiGHS works to tolerances, so its bound is lowered by ``PRICE_MARGIN`` before it counts.
"""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np

from accord._arrays import Bools, Floats, Ints
from accord.optimal.linear import LinearProgram, run_heeding
from accord.optimal.pricing import Multipliers
from accord.optimal.tuples import Tuples

PRICE_MARGIN = 1e-9
"""In units of the objective's spread: ten times the tolerance of HiGHS."""


class Priced(NamedTuple):
    """The outcome of exact pricing."""

    plan: Ints | None  # the best joint plan found
    least: float  # no joint plan has a smaller price


def price_exactly(tuples: Tuples, prices: Multipliers, seconds: float | None) -> Priced:
    """The cheapest joint plan, or as much as can be said about it in ``seconds``."""
    cost = plan_prices(tuples, prices)
    program = LinearProgram()
    program.add_variables(1, 1.0, 1.0, cost[:1])  # the empty tuple
    program.add_variables(len(tuples) - 1, 0.0, 1.0, cost[1:])
    tuples.add_rows(program)
    alone = (tuples.places > 0).sum(axis=1) <= 1
    highs = program.solver(
        seconds, alone, mip_rel_gap=0.0, mip_abs_gap=1e-10, mip_feasibility_tolerance=1e-9
    )
    run_heeding(highs)
    info = highs.getInfo()
    bound = float(info.mip_dual_bound)
    plan = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        plan = read_plan(tuples, np.array(highs.getSolution().col_value) > 0.5)
    return Priced(plan, bound - PRICE_MARGIN)


def plan_prices(tuples: Tuples, prices: Multipliers) -> Floats:
    """``[n_tuples]`` what each tuple adds to the price of a joint plan that tells it."""
    cost = tuples.obeying.dot(prices.kappa, len(tuples))
    for i, flow in enumerate(prices.flow):
        cost -= tuples.deviating[i].dot(flow, len(tuples))
    return cost


def read_plan(tuples: Tuples, told: Bools) -> Ints:
    """The reduced joint plan that tells these tuples."""
    incentives = tuples.incentives
    plan = np.zeros(int(incentives.first_action[-1]), np.int32)
    parts = incentives.split_plan(plan)
    chosen = (tuples.places > 0).sum(axis=1) == 1
    chosen &= told
    for row in np.flatnonzero(chosen):
        i = int(np.argmax(tuples.places[row] > 0))
        tree, positions = incentives.trees[i], tuples.positions[i]
        node = int(tuples.places[row, i]) - 1
        position = int(tuples.keys[row] // tuples.strides[i] % positions.count)
        parts[i][tree.node_infoset[node]] = position - int(positions.first[node])
    return incentives.reduced(plan)
