"""Correlation plans: a relaxation that contains every mixture of joint plans.

For two players at K <= 1 this is the polytope of B. von Stengel and F. Forges, *Extensive-form
correlated equilibrium: definition and computational complexity*, 2008: the probabilities xi of
relevant pairs of sequences that satisfy the equations of ``optimal/tuples.py``. The same definition
serves n players and any K. All losses are linear in xi, so the best equilibrium over all xi is one
linear program: maximise the objective subject to E xi = 0 and, for every cell of every player,

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
from accord.optimal.linear import LinearProgram, run, triples
from accord.optimal.objective import Objective
from accord.optimal.pricing import Multipliers
from accord.optimal.separation import settled_flow
from accord.optimal.tuples import Tuples

SIMPLEX = 2000
"""Tuples up to which the simplex method is quicker than the interior-point method."""


@dataclass(frozen=True, eq=False, repr=False)
class Relaxed:
    """The optimum over correlation plans."""

    bound: float  # of the maximised objective: no K-EFCE exceeds it
    prices: Multipliers  # of joint plans, in units of the objective
    gradient: Floats | None = None  # of the objective, with which they price
    plan: Floats | None = None  # [n_tuples] the optimal xi


class Relaxation:
    """The program over all correlation plans that no deviator can exploit."""

    def __init__(self, tuples: Tuples, objective: Objective, epsilon: float) -> None:
        self.tuples, self.objective = tuples, objective
        self.program = LinearProgram()
        self.program.add_variables(1, 1.0, 1.0)  # the empty tuple
        self.program.add_variables(len(tuples) - 1, 0.0, 1.0)
        tuples.add_rows(self.program)
        self._cells = [self._add_incentives(i, epsilon) for i in range(tuples.n_players)]
        self._objective_rows = self._add_objective()

    def _add_incentives(self, i: int, epsilon: float) -> int:
        """The rows of one player's cells; returns the number of the first."""
        tuples, program = self.tuples, self.program
        tree, leaves = tuples.incentives.trees[i], tuples.incentives.form.leaves
        row_node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_row))[1:]
        first = program.add_variables(len(row_node), -1.0, 0.0)  # V of all rows but the root's
        decision = first + np.arange(len(row_node))
        deviating, obeying = tuples.deviating[i], tuples.obeying
        own = obeying.rows == i
        upper = np.zeros(tree.n_cells)
        upper[ROOT] = epsilon * leaves.loss_scale[i]
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
        """Variables and rows of the objective, with payoff_i = worst_i - range_i loss_i; returns
        the number of the first row."""
        program, objective = self.program, self.objective
        leaves, obeying = self.tuples.incentives.form.leaves, self.tuples.obeying
        n, span, worst = leaves.n_players, leaves.payoff_range, leaves.worst
        players = np.arange(n)
        if objective.target is not None:  # payoff + less - more = target
            unit = np.where(span > 0, span, 1.0)
            loss = obeying._replace(values=obeying.values * (span / unit)[obeying.rows])
            aim = (worst - np.array(objective.target)) / unit
            more = program.add_variables(n, 0.0, np.abs(aim) + 1.0, 1.0)
            less = program.add_variables(n, 0.0, np.abs(aim) + 1.0, 1.0)
            return program.add_rows(
                n, aim, aim, loss,
                triples(players, more + players, 1.0), triples(players, less + players, -1.0),
            )  # fmt: skip
        loss = obeying._replace(values=obeying.values * span[obeying.rows])
        if objective.weights is None:  # least <= payoff
            least = program.add_variables(1, worst.min(), leaves.best.max(), -1.0)
            return program.add_rows(n, -np.inf, worst, loss, triples(players, least, 1.0))
        weights = objective.sign * np.array(objective.weights)
        cost = program.add_variables(1, -np.abs(weights) @ span - 1.0, np.abs(weights) @ span, 1.0)
        total = triples(0, loss.columns, loss.values * weights[loss.rows])
        return program.add_rows(1, 0.0, 0.0, total, triples(0, cost, -1.0))

    def solve(self, seconds: float | None = None) -> Relaxed | None:
        """Solve it; None if that fails, or takes too long."""
        method = "ipm" if len(self.tuples) > SIMPLEX else "simplex"
        highs = self.program.solver(seconds, solver=method)
        if not run(highs):
            return None
        duals = np.array(highs.getSolution().row_dual)
        bound = -self.program.safe_bound(duals)
        if self.objective.weights is not None:
            leaves = self.tuples.incentives.form.leaves
            bound += self.objective.sign * float(np.array(self.objective.weights) @ leaves.worst)
        values = np.array(highs.getSolution().col_value)[: len(self.tuples)]
        return Relaxed(bound, *self._prices(duals), values)

    def _prices(self, duals: Floats) -> tuple[Multipliers, Floats]:
        incentives = self.tuples.incentives
        span = incentives.form.leaves.payoff_range
        flows = [
            settled_flow(tree, np.maximum(-duals[start : start + tree.n_cells], 0.0))
            for start, tree in zip(self._cells, incentives.trees, strict=True)
        ]
        gradient = np.zeros(len(span))
        if self.objective.weights is None:
            gradient = -duals[self._objective_rows :]
            if self.objective.target is not None:
                gradient = gradient / np.where(span > 0, span, 1.0)
        gradient = self.objective.valid_gradient(gradient, span)
        kappa = gradient * span + np.array([flow[ROOT] for flow in flows])
        return Multipliers(kappa, tuple(flows)), gradient
