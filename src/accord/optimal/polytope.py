"""Correlation plans: a relaxation that contains every mixture of joint plans.

For two players at K <= 1 this is the polytope of B. von Stengel and F. Forges, *Extensive-form
correlated equilibrium: definition and computational complexity*, 2008: the probabilities xi of
relevant pairs of sequences that satisfy the equations of ``optimal/tuples.py``. The same definition
serves n players and any K. All losses are linear in xi, so the best equilibrium over all xi is one
linear program: maximize the objective subject to E xi = 0 and, for every cell of every player,

    V[b, r] <= U[b, r, a](xi) + sum_{b' continuing (b, r, a)} sum_{r'} V[b', r'],   -1 <= V <= 0,
    loss of obeying (xi) <= U[root](xi) + sum_{first b} sum_r V[b, r] + epsilon.

Every mixture of joint plans has such an xi, so the optimum bounds the value of every K-EFCE from
above. For two players at K <= 1 without chance moves, or with public ones (more generally in
triangle-free games, G. Farina and T. Sandholm, *Polynomial-time computation of optimal correlated
equilibria in two-player extensive-form games with public chance moves and beyond*, 2020), every xi
is a mixture and the bound is exact. Otherwise it may be too large; in small games it rarely is.

The bound is computed from the duals in a way that solver tolerances cannot make wrong
(``optimal/linear.py``). The duals also price joint plans, nearly as those of the optimum do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord._arrays import Floats
from accord.deviations.rechistory import ROOT
from accord.optimal.exact_linear import Basis
from accord.optimal.linear import INFINITY, LinearProgram, run, triples
from accord.optimal.objective import Objective
from accord.optimal.pricing import Multipliers
from accord.optimal.separation import settled_flow
from accord.optimal.tuples import Tuples

SIMPLEX = 2000
"""Tuples up to which the simplex method is quicker than the interior-point method."""


@dataclass(frozen=True, eq=False, repr=False)
class Relaxed:
    """The optimum over correlation plans."""

    bound: float  # of the maximized objective above its center: no K-EFCE exceeds it
    error: float  # by which it was raised because of rounding
    prices: Multipliers  # of joint plans, in units of the objective's scale
    gradient: Floats | None = None  # of the objective, with which they price
    plan: Floats | None = None  # [n_tuples] the optimal xi
    basis: Basis | None = None  # of the program


class Relaxation:
    """The program over all correlation plans that no deviator can exploit."""

    def __init__(self, tuples: Tuples, objective: Objective, epsilon: float) -> None:
        self.tuples, self.objective = tuples, objective
        self.scale = objective.scale(tuples.incentives.form)
        self.program = LinearProgram()
        cost = self._costs()
        self.program.add_variables(1, 1.0, 1.0, cost[:1])  # the empty tuple
        self.program.add_variables(len(tuples) - 1, 0.0, 1.0, cost[1:])
        tuples.add_rows(self.program)
        allowed = tuples.incentives.allowed(epsilon)
        self.cells = [self._add_incentives(i, float(gain)) for i, gain in enumerate(allowed)]
        self.first_objective = self._add_objective()
        self.first_floor = self._add_floors()

    def _costs(self) -> Floats:
        """``[n_tuples]`` what each tuple adds to the minimized objective, if that is linear."""
        objective, unit = self.objective, self.tuples.incentives.unit
        if objective.weights is None:
            return np.zeros(len(self.tuples))
        weights = objective.sign * np.array(objective.weights) * unit / self.scale
        return self.tuples.obeying.dot(weights, len(self.tuples))

    def _add_incentives(self, i: int, allowed: float) -> int:
        """The rows of one player's cells; returns the number of the first."""
        tuples, program = self.tuples, self.program
        tree = tuples.incentives.trees[i]
        row_node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_row))[1:]
        first = program.add_variables(len(row_node), -1.0, 0.0)  # V of all rows but the root's
        decision = first + np.arange(len(row_node))
        deviating, obeying = tuples.deviating[i], tuples.obeying
        own = obeying.rows == i
        upper = np.zeros(tree.n_cells)
        upper[ROOT] = allowed
        return program.add_rows(
            tree.n_cells, -np.inf, upper,
            deviating._replace(values=-deviating.values),
            triples(ROOT, obeying.columns[own], obeying.values[own]),
            triples(
                np.arange(1, tree.n_cells), np.repeat(decision, tree.row_width[1:]), 1.0
            ),
            triples(tree.arrays.parent_cell[row_node], decision, -1.0),
        )  # fmt: skip

    def _add_objective(self) -> int:
        """Variables and rows of the objective, in units of its scale, with payoff_i = offset_i -
        unit_i loss_i; returns the number of the first row."""
        program, objective = self.program, self.objective
        leaves, obeying = self.tuples.incentives.form.leaves, self.tuples.obeying
        n, span = leaves.n_players, leaves.payoff_range
        unit, offsets = self.tuples.incentives.unit, objective.offsets(leaves)
        players = np.arange(n)
        if objective.target is not None:  # payoff + less - more = target
            distance = np.where(span > 0, span, 1.0)
            loss = obeying._replace(values=obeying.values * (unit / distance)[obeying.rows])
            aim = offsets / distance
            more = program.add_variables(n, 0.0, np.abs(aim) + 1.0, 1.0)
            less = program.add_variables(n, 0.0, np.abs(aim) + 1.0, 1.0)
            return program.add_rows(
                n, aim, aim, loss,
                triples(players, more + players, 1.0), triples(players, less + players, -1.0),
            )  # fmt: skip
        unit, offsets = unit / self.scale, offsets / self.scale
        loss = obeying._replace(values=obeying.values * unit[obeying.rows])
        if objective.weights is None:  # least <= payoff
            least = program.add_variables(1, 0.0, 2.0 * (offsets + unit).max(), -1.0)
            return program.add_rows(n, -np.inf, offsets, loss, triples(players, least, 1.0))
        return program.n_rows

    def _add_floors(self) -> int:
        """The limits of losses that floors of payoffs set; returns the number of the first row."""
        incentives, obeying = self.tuples.incentives, self.tuples.obeying
        leaves = incentives.form.leaves
        limit = self.objective.largest_losses(leaves.worst, incentives.unit)
        if np.isinf(limit).all():
            return self.program.n_rows
        return self.program.add_rows(leaves.n_players, -np.inf, np.minimum(limit, 1.0), obeying)

    def solve(self, seconds: float | None = None) -> Relaxed | None:
        """Solve it; None if that fails, or takes too long."""
        method = "ipm" if len(self.tuples) > SIMPLEX else "simplex"
        highs = self.program.solver(seconds, solver=method)
        free = np.arange(1, self.program.n_variables)  # the other limits are implied by the rows
        least, most = self.program.limits(free)
        least[least < 0.0], most[most > 0.0] = -INFINITY, INFINITY
        highs.changeColsBounds(len(free), free.astype(np.int32), least, most)
        if not run(highs):
            return None
        duals = np.array(highs.getSolution().row_dual)
        lowest, error = self.program.safe_bound(duals, self.tuples.incentives.roundings)
        values = np.array(highs.getSolution().col_value)[: len(self.tuples)]
        prices, gradient = self._prices(duals)
        bound, error = -self.scale * lowest, self.scale * error
        return Relaxed(bound, error, prices, gradient, values, Basis.of(highs))

    def _prices(self, duals: Floats) -> tuple[Multipliers, Floats]:
        incentives = self.tuples.incentives
        span, unit = incentives.form.leaves.payoff_range, incentives.unit
        flows = [
            settled_flow(tree, np.maximum(-duals[start : start + tree.n_cells], 0.0))
            for start, tree in zip(self.cells, incentives.trees, strict=True)
        ]
        gradient = np.zeros(len(span))
        if self.objective.weights is None:
            gradient = -duals[self.first_objective : self.first_floor]
            if self.objective.target is not None:
                gradient = gradient / np.where(span > 0, span, 1.0)
        gradient = self.objective.valid_gradient(gradient, span)
        kappa = gradient * unit / self.scale + np.array([flow[ROOT] for flow in flows])
        floor = np.zeros(len(span))
        if len(duals) > self.first_floor:
            floor = np.maximum(-duals[self.first_floor :], 0.0)
            limit = self.objective.largest_losses(incentives.form.leaves.worst, unit)
            floor[np.isinf(limit)] = 0.0
        return Multipliers(kappa + floor, tuple(flows), floor), gradient
