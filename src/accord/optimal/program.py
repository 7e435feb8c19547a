"""The linear program over a set of joint plans.

    maximize   objective(payoffs)
    subject to sum_c w_c = 1,  w >= 0,
               sum_c w_c loss_i(c) = loss_i      for every player i,
               the rows of ``optimal/separation.py``, relaxed by s >= 0.

Columns and rows come as they are needed, and HiGHS continues from its last basis. The slack s costs
more than any row is worth, so it is 0 as soon as the columns allow an equilibrium; until then the
program finds the mixture with the smallest violation.

The duals of player i's rows are a flow y_i on the deviator's tree: a distribution over deviations.
Some of the flow may be lost on the way, as if the deviator then met the worst loss, 0. Together
with a gradient g of the objective, flows price every joint plan (``optimal/pricing.py``), where
kappa_i is g_i unit_i / scale plus the flow that leaves the root. For *every* K-EFCE

    objective <= g . offsets + scale (sum_i epsilon_i y_i[root] - min_c G(c)),

whatever g and y >= 0 are: :meth:`Program.bound`. Objectives and payoffs are measured as
``optimal/objective.py`` says. A floor of player i's payoff is a row loss_i <= limit_i, relaxed by
s, too; its dual nu_i >= 0 is part of kappa_i, and adds nu_i limit_i to what is in the brackets.
Tolerances of the solver cannot make the bound wrong, as the flow is settled first; and what
rounding may change is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord.deviations.rechistory import ROOT
from accord.equilibrium.rounding import SECOND_ORDER, UNIT
from accord.optimal.incentives import Column, Incentives
from accord.optimal.linear import INFINITY, run_to_optimum, solver
from accord.optimal.objective import Objective
from accord.optimal.pricing import Multipliers
from accord.optimal.separation import Separation, settle_flow

VIOLATION = 3e-10
"""Gains up to this make no row; the mixture is polished in the end."""

FIRST_PENALTY = 1e3
LARGEST_PENALTY = 1e9
NO_ENTRY = -1


@dataclass(frozen=True, eq=False, repr=False)
class Lottery:
    """A solution of the program: weights over its columns."""

    weights: Floats  # [n_columns]
    losses: Floats  # [n_players] expected losses, in [-1, 0]
    slack: float  # by which the rows are violated


class _Entries:
    """Sparse entries (place, column, value) to which columns are added."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Floats]] = []

    def append(self, column: int, places: Ints, values: Floats) -> None:
        self._parts.append((places, np.full(len(places), column, np.int32), values))

    def arrays(self) -> tuple[Ints, Ints, Floats]:
        """``(places, columns, values)`` of all entries."""
        if len(self._parts) != 1:
            parts = self._parts or [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
            self._parts = [tuple(np.concatenate(part) for part in zip(*parts, strict=True))]  # type: ignore[list-item]
        return self._parts[0]

    def summed(self, weights: Floats, size: int) -> Floats:
        """``[size]`` the weighted sum of all columns."""
        places, columns, values = self.arrays()
        return np.bincount(places, values * weights[columns], size).astype(np.float64)


class _Player:
    """The rows and columns of one player in the program."""

    def __init__(self, separation: Separation) -> None:
        self.separation = separation
        self.deviating, self.obeying = _Entries(), _Entries()  # U by cell, Obey by sequence
        n_cells, n_rows = separation.tree.n_cells, len(separation.row_node)
        self.row = np.full(n_cells, NO_ENTRY, np.int32)  # the program's row of each cell
        self.variable = np.full(n_rows, NO_ENTRY, np.int32)  # the program's V of each decision
        self.cells = np.zeros(0, np.int32)  # those that have a row, in the order of the rows


class Program:
    """Columns, rows, and a warm solver."""

    def __init__(self, incentives: Incentives, objective: Objective, epsilon: float = 0.0) -> None:
        self.incentives, self.objective = incentives, objective
        self.epsilon = incentives.allowed(epsilon)  # [n_players] in losses
        self.scale = objective.scale(incentives.form)
        self.penalty = FIRST_PENALTY
        self.end: float | None = None  # when to give up, by ``time.monotonic``
        self.plans: list[Ints] = []
        self._known: set[bytes] = set()
        self._losses: list[Floats] = []
        self._players = []
        for tree, obedient in zip(incentives.trees, incentives.obedient, strict=True):
            triggers = epsilon == 0.0 and bool(tree.is_swap.any())
            self._players.append(_Player(Separation(tree, obedient, triggers=triggers)))
        self.highs = solver()
        self._build()

    def _build(self) -> None:
        """The losses of the players, s, and what the objective needs."""
        leaves, objective, highs = self.incentives.form.leaves, self.objective, self.highs
        n, span, unit = leaves.n_players, leaves.payoff_range, self.incentives.unit
        offsets = objective.offsets(leaves)
        for cost in self._costs():
            highs.addCol(float(cost), -INFINITY, INFINITY, 0, [], [])
        self.slack = self._add_variable(self.penalty)
        highs.addRow(1.0, 1.0, 0, [], [])
        for i in range(n):
            highs.addRow(0.0, 0.0, 1, [i], [-1.0])
        if objective.target is not None:
            for i in range(n):  # payoff / range + less - more = target / range
                distance = float(span[i]) or 1.0
                more, less = (self._add_variable(1.0 / self.scale) for _ in range(2))
                aim = float(offsets[i]) / distance
                own = float(unit[i]) / distance
                highs.addRow(aim, aim, 3, [i, more, less], [own, 1.0, -1.0])
        elif objective.weights is None:
            least = self._add_variable(-1.0, -INFINITY)
            for i in range(n):  # least <= payoff_i = offset_i - unit_i loss_i, in scales
                own, most = float(unit[i]) / self.scale, float(offsets[i]) / self.scale
                highs.addRow(-INFINITY, most, 2, [i, least], [own, 1.0])
        self.limit = objective.largest_losses(leaves.worst, unit)
        self.floors = {}  # by player: the row of the floor
        for i in np.flatnonzero(self.limit < np.inf).tolist():
            self.floors[i] = int(highs.getNumRow())
            highs.addRow(-INFINITY, float(self.limit[i]), 2, [i, self.slack], [1.0, -1.0])
        self.variables = np.zeros(0, np.int32)  # of the columns

    def _costs(self) -> Floats:
        """``[n_players]`` the costs of the players' losses; 0 unless the objective is linear."""
        leaves, objective = self.incentives.form.leaves, self.objective
        if objective.weights is None:
            return np.zeros(leaves.n_players)
        return np.asarray(
            objective.sign * np.array(objective.weights) * self.incentives.unit / self.scale
        )

    def aim(self, objective: Objective) -> None:
        """Take another objective; both must be linear. Columns and rows stay."""
        assert objective.linear
        assert self.objective.linear
        self.objective, self.scale = objective, objective.scale(self.incentives.form)
        for i, cost in enumerate(self._costs()):
            self.highs.changeColCost(i, float(cost))
        self.penalize(FIRST_PENALTY)

    def _add_variable(self, cost: float, least: float = 0.0, most: float = INFINITY) -> int:
        self.highs.addCol(cost, least, most, 0, [], [])
        return int(self.highs.getNumCol()) - 1

    @property
    def n_columns(self) -> int:
        """The number of joint plans."""
        return len(self.plans)

    @property
    def n_rows(self) -> int:
        """The number of incentive constraints made so far."""
        return sum(len(player.cells) for player in self._players)

    def add(self, plan: Ints) -> bool:
        """Add a reduced joint plan; False if it is there already."""
        if (key := plan.astype(np.int32).tobytes()) in self._known:
            return False
        self._known.add(key)
        column, number = self.incentives.column(plan), self.n_columns
        index = [np.arange(len(column.loss) + 1, dtype=np.int32)]
        value = [np.concatenate([[1.0], column.loss])]
        for i, player in enumerate(self._players):
            player.deviating.append(number, column.cells[i], column.values[i])
            player.obeying.append(number, column.told[i], column.obeying[i])
            rows, values = self._coefficients(player, column, i)
            index.append(rows)
            value.append(values)
        self.plans.append(plan.copy())
        self._losses.append(column.loss)
        rows = np.concatenate(index).astype(np.int32)
        self.highs.addCol(0.0, 0.0, INFINITY, len(rows), rows, np.concatenate(value))
        self.variables = np.append(self.variables, np.int32(self.highs.getNumCol() - 1))
        return True

    def _coefficients(self, player: _Player, column: Column, i: int) -> tuple[Ints, Floats]:
        """The entries of a new column in the player's rows: Obey - U, or -U."""
        separation = player.separation
        dense = np.zeros(separation.tree.n_cells)
        dense[column.cells[i]] = -column.values[i]
        cells = player.cells
        values = dense[cells]
        if separation.triggers:
            obeying = np.zeros(separation.tree.plex.n_sequences)
            obeying[column.told[i]] = column.obeying[i]
            told = separation.told[cells]
            values += np.where(told > 0, obeying[told], 0.0)
        else:
            values[cells == ROOT] += column.loss[i]
        found = np.flatnonzero(values)
        return player.row[cells[found]], values[found]

    def add_rows(self, i: int, cells: Ints) -> int:
        """Make the rows of these cells of player i that are missing; return how many."""
        player = self._players[i]
        separation, tree = player.separation, player.separation.tree
        new = cells[player.row[cells] == NO_ENTRY]
        if not len(new):
            return 0
        start, highs = int(self.highs.getNumRow()), self.highs
        player.row[new] = np.arange(start, start + len(new), dtype=np.int32)
        player.cells = np.concatenate([player.cells, new])
        rows, columns, values = self._entries(player, new, start)
        decision = separation.cell_row[new]
        first = np.zeros(len(new), bool)  # triggers and the root have no V of their own
        first[:] = (separation.told[new] > 0) if separation.triggers else (new == ROOT)
        known = ~first & (player.variable[decision] != NO_ENTRY)
        slack = np.flatnonzero(first)
        rows = np.concatenate([rows, np.flatnonzero(known), slack])
        columns = np.concatenate(
            [columns, player.variable[decision[known]], np.full(len(slack), self.slack)]
        )
        values = np.concatenate([values, np.ones(int(known.sum())), np.full(len(slack), -1.0)])
        order = np.argsort(rows, kind="stable")
        starts = np.searchsorted(rows[order], np.arange(len(new)))
        most = np.zeros(len(new))
        most[new == ROOT] = self.epsilon[i]
        highs.addRows(
            len(new), np.full(len(new), -INFINITY), most, len(rows), starts.astype(np.int32),
            columns[order].astype(np.int32), values[order],
        )  # fmt: skip
        made = np.unique(decision[~first & (player.variable[decision] == NO_ENTRY)])
        for row in made:  # V <= 0, in its own rows and in that of the cell that it continues
            node = int(separation.row_node[row])
            above = int(player.row[tree.arrays.parent_cell[node]])
            own = new[decision == row]
            index = np.concatenate([[above], player.row[own]]).astype(np.int32)
            value = np.concatenate([[-1.0], np.ones(len(own))])
            highs.addCol(0.0, -INFINITY, 0.0, len(index), index, value)
            player.variable[row] = highs.getNumCol() - 1
        return len(new)

    def _entries(self, player: _Player, new: Ints, start: int) -> tuple[Any, Any, Any]:
        """The entries of all columns in new rows, which start at ``start``."""
        separation = player.separation
        cells, columns, values = player.deviating.arrays()
        here = player.row[cells] >= start
        parts: list[tuple[Any, Any, Any]] = [
            (player.row[cells[here]] - start, columns[here], -values[here])
        ]
        if separation.triggers:
            told = separation.told[new]
            order = np.argsort(told, kind="stable")
            seqs, columns, values = player.obeying.arrays()
            low = np.searchsorted(told[order], seqs)
            high = np.searchsorted(told[order], seqs, side="right")
            high[seqs == 0] = low[seqs == 0]
            counts = high - low
            offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            rows = order[np.repeat(low, counts) + offset]
            parts.append((rows, np.repeat(columns, counts), np.repeat(values, counts)))
        elif (at_root := np.flatnonzero(new == ROOT)).size:
            i = self._players.index(player)
            own = np.array([loss[i] for loss in self._losses])
            parts.append((np.repeat(at_root, len(own)), np.arange(len(own)), own))
        size = self.n_columns
        keys = np.concatenate([part[0].astype(np.int64) * size + part[1] for part in parts])
        unique, inverse = np.unique(keys, return_inverse=True)
        summed = np.bincount(inverse, np.concatenate([part[2] for part in parts]), len(unique))
        return unique // size, self.variables[unique % size], summed

    def solve(self) -> Lottery:
        """Solve with the present rows and columns.

        Raises:
            NumericalError: If HiGHS fails.
            OutOfTime: If that takes until ``end``.
        """
        run_to_optimum(self.highs, "the program over joint plans", self.end)
        values = np.array(self.highs.getSolution().col_value)
        weights = np.maximum(values[self.variables], 0.0)
        losses = values[: self.incentives.form.n_players]
        return Lottery(weights, losses, max(0.0, float(values[self.slack])))

    def solve_separated(self) -> Lottery:
        """Solve with the present columns and all rows that they need."""
        while True:
            lottery = self.solve()
            if not self.separate(lottery):
                return lottery

    def lottery(self, weights: Floats) -> Lottery:
        """The mixture of all columns with these weights, and by how much it violates the rows, made
        or not."""
        slack = 0.0
        for i, player in enumerate(self._players):
            total, obeying = self._sums(player, weights)
            excess, _ = player.separation.violated(total, obeying, float(self.epsilon[i]), 0.0)
            slack = max(slack, excess)
        losses = weights @ np.array(self._losses)
        return Lottery(weights, losses, max(slack, float((losses - self.limit).max())))

    def padded(self, lottery: Lottery) -> Lottery:
        """The lottery with weight 0 for the columns that came later."""
        weights = np.zeros(self.n_columns)
        weights[: len(lottery.weights)] = lottery.weights
        return Lottery(weights, lottery.losses, lottery.slack)

    def cost(self) -> float:
        """The objective of the solved program, which it minimizes."""
        return float(self.highs.getObjectiveValue())

    def point(self, lottery: Lottery) -> Floats:
        """The values of all variables of the program, which must be solved, for a solution."""
        values = np.array(self.highs.getSolution().col_value)
        values[self.variables] = lottery.weights
        return values

    def allow(self, columns: NDArray[np.integer[Any]] | None) -> None:
        """Allow only these columns a weight; None allows all."""
        most = np.full(self.n_columns, INFINITY)
        if columns is not None:
            most[:] = 0.0
            most[columns] = INFINITY
        self.highs.changeColsBounds(self.n_columns, self.variables, np.zeros(self.n_columns), most)

    def separate(self, lottery: Lottery) -> int:
        """Make the rows that a solution violates; return how many."""
        made = 0
        for i, player in enumerate(self._players):
            total, obeying = self._sums(player, lottery.weights)
            allowed = float(self.epsilon[i]) + lottery.slack
            _, cells = player.separation.violated(total, obeying, allowed, VIOLATION)
            made += self.add_rows(i, cells)
        return made

    def _sums(self, player: _Player, weights: Floats) -> tuple[Floats, Floats]:
        """A player's losses in a mixture: U by cell, and of obeying by sequence."""
        tree = player.separation.tree
        obeying = player.obeying.summed(weights, tree.plex.n_sequences)
        return player.deviating.summed(weights, tree.n_cells), obeying

    def prices(self) -> tuple[Multipliers, Floats, float]:
        """Multipliers of the solved program, a gradient of the objective in payoffs, and the price
        that a new column must beat."""
        duals = -np.array(self.highs.getSolution().row_dual)
        leaves = self.incentives.form.leaves
        n = leaves.n_players
        gradient = np.zeros(n)
        if not self.objective.linear:  # it has rows, after those of the weights and the losses
            gradient = duals[n + 1 : 2 * n + 1]
        if self.objective.target is not None:
            gradient = gradient * self.scale
            gradient /= np.where(leaves.payoff_range > 0, leaves.payoff_range, 1.0)
        gradient = self.objective.valid_gradient(gradient, leaves.payoff_range)
        kappa, flows = gradient * self.incentives.unit / self.scale, []
        for i, player in enumerate(self._players):
            separation, tree = player.separation, player.separation.tree
            flow = np.zeros(tree.n_cells)
            flow[player.cells] = np.maximum(duals[player.row[player.cells]], 0.0)
            kappa[i] += 0.0 if separation.triggers else flow[ROOT]
            settle_flow(
                tree.plex.first_seq, tree.node_infoset, tree.arrays, tree.first_row,
                separation.told if separation.triggers else separation.told[:0],
                separation.diagonal, tree.plex.parent_seq, flow, np.zeros(tree.plex.n_sequences),
            )  # fmt: skip
            flows.append(flow)
        floor = np.zeros(n)
        for i, row in self.floors.items():
            floor[i] = max(0.0, duals[row])
        return Multipliers(kappa + floor, tuple(flows), floor), gradient, -float(duals[0])

    def bound(
        self, prices: Multipliers, gradient: Floats, least_price: float, roundings: int = 0
    ) -> tuple[float, float]:
        """An upper bound on the objective above its center of all equilibria, if no joint plan has
        a price below ``least_price``; and by how much it was raised because of rounding.

        The terms of a price have at most ``roundings`` roundings, beside those of the losses. Their
        magnitudes add up to no more than what obeying and all deviations are charged for, since no
        expected loss is above 1; the bound is raised by what rounding may have changed.
        """
        allowed = sum(
            0.0 if player.separation.triggers else float(prices.flow[i][ROOT] * self.epsilon[i])
            for i, player in enumerate(self._players)
        )
        held = 0.0
        if prices.floor is not None:
            held = float(prices.floor @ np.where(self.limit < np.inf, self.limit, 0.0))
        offsets = self.objective.offsets(self.incentives.form.leaves)
        charged = float(np.abs(prices.kappa).sum()) + 2.0 * float(self.masses(prices).sum())
        share = SECOND_ORDER * UNIT * (roundings + self.incentives.roundings)
        size = np.abs(gradient) @ (np.abs(offsets) + self.incentives.unit)
        error = self.scale * share * (charged + allowed + abs(held)) + share * float(size)
        most = allowed + held - least_price
        return float(gradient @ offsets) + self.scale * most + error, error

    def missed(self, payoffs: Floats) -> float:
        """By how much payoffs miss a floor at most, in losses; minus infinity without floors."""
        losses = (self.incentives.form.leaves.worst - payoffs) / self.incentives.unit
        return float((losses - self.limit).max())

    def cells(self, i: int) -> Ints:
        """The cells of player i that have a row."""
        return self._players[i].cells

    def gaps(self, lottery: Lottery) -> Floats:
        """``[n_players]`` the exact K-EFCE gaps of a solution, in payoff units; 0 of those who
        commit."""
        weights, gaps = self.padded(lottery).weights, []
        for i, player in enumerate(self._players):
            total = player.deviating.summed(weights, player.separation.tree.n_cells)
            own = float(np.array([loss[i] for loss in self._losses]) @ weights)
            gap = own - player.separation.least_loss(total)
            gaps.append(0.0 if i in self.incentives.commits else gap)
        return np.array(gaps) * self.incentives.unit

    def mass(self, prices: Multipliers) -> float:
        """The value of a unit of slack at these prices: the flow that starts at rows with slack. If
        the penalty is above its value at the optimum, there is no slack."""
        return float(self.masses(prices).sum())

    def masses(self, prices: Multipliers) -> Floats:
        """``[n_players]`` the flow of each player's deviations: what a gap is worth at these
        prices, by which the objective of a mixture with a small gap may exceed a bound."""
        total = []
        for player, flow in zip(self._players, prices.flow, strict=True):
            separation = player.separation
            start = flow[separation.told > 0].sum() if separation.triggers else flow[ROOT]
            total.append(max(float(start), float(flow[ROOT])))
        return np.array(total)

    def raise_penalty(self) -> bool:
        """Raise the price of violations; False at the limit."""
        if self.penalty >= LARGEST_PENALTY:
            return False
        self.penalize(10.0 * self.penalty)
        return True

    def penalize(self, penalty: float) -> None:
        """Set the price of violations."""
        self.penalty = penalty
        self.highs.changeColCost(self.slack, penalty)
