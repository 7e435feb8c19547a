"""Small programs that turn an approximate saddle point into an exact one.

The program over correlation plans (``optimal/polytope.py``) is too large for most games, but an
approximate saddle point says which part of it matters. Both restrictions are the same program:

* *Few tuples, all cells.* Only kept tuples may be told. Its solution is a correlation plan that no
  deviator can exploit, an exact equilibrium, if the slack of the incentive constraints is 0. It is
  the best one if the optimum needs no other tuples.
* *All tuples, few cells.* Deviators may only pass kept cells, those of the averaged flow. A V
  without rows is 0, the worst for a deviator, so the program is a relaxation, and its duals are a
  flow that bounds all equilibria. If no other constraint binds, the bound is the optimum.

An averaged plan mixes almost all tuples, because the optimal face is large. A perturbed run has a
small support: its prices have noise, half the sum of one random number per *sequence of each
player*, so that ties break alike whatever the other player was told.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np

from accord._arrays import Bools, Floats, Longs
from accord.equilibrium.sharing import Sharing, find_shares, spread
from accord.optimal.linear import LinearProgram, Triples, triples
from accord.optimal.saddle import Sides
from accord.optimal.sharing import (
    complete_flow,
    keep_alive,
    keep_large,
)


class Restricted(NamedTuple):
    """A solution of a restricted program."""

    solved: bool  # whether HiGHS found the optimum
    plan: Floats  # [n_tuples] the correlation plan, shared exactly
    slack: float  # by how much a deviator may gain, in losses
    flow: Floats  # [n_cells + n_players] the duals of the cells
    gradient: Floats  # [n_players] of the objective
    floor: Floats  # [n_players] the duals of the floors


def kept_tuples(sides: Sides, plan: Floats, least: float) -> Bools:
    """``[n_tuples]`` those with at least the share ``least`` of their head, and the largest."""
    kept = np.zeros(sides.n_tuples, np.bool_)
    kept[0] = True
    keep_large(sides.plan, plan, least, kept)
    return kept


def kept_cells(sides: Sides, flow: Floats, least: float) -> Bools:
    """``[n_cells]`` those that have a flow of at least ``least``, as all before them have."""
    kept = flow[: sides.n_cells] >= least
    kept[sides.root] = True
    return kept


def own_noise(sides: Sides, rng: np.random.Generator) -> Floats:
    """``[n_tuples]`` half the sum of random numbers of the players' own sequences."""
    noise = np.zeros(sides.n_tuples)
    for told, positions in zip(sides.tuples.told, sides.tuples.positions, strict=True):
        noise[sides.number] += rng.random(positions.count)[told] / 2.0
    return noise


def told_by_one(sides: Sides) -> float:
    """How many tuples a joint plan tells: the one with the first member of every share."""
    share, amount = np.zeros(sides.n_tuples), np.zeros(sides.n_tuples)
    share[sides.plan.first[sides.plan.size > 0]] = 1.0
    amount[0] = 1.0
    spread(sides.plan, share, 0.0, amount, np.zeros(sides.n_tuples))
    return float(amount.sum())


def solve_restricted(
    sides: Sides, tuples: Bools, cells: Bools | None, penalty: float, **options: Any
) -> Restricted:
    """Solve the program over the kept ``tuples`` and ``cells``; None keeps all cells that matter.

    Args:
        sides: Mediator and deviators.
        tuples: Those that may be told.
        cells: Those that deviators may pass.
        penalty: The cost of a unit of slack, in units of the objective's scale; 0 allows none.
        options: Settings of HiGHS.
    """
    program = LinearProgram()
    index = np.flatnonzero(tuples)
    column = np.full(sides.n_tuples, -1)
    column[index] = np.arange(len(index))
    program.add_variables(1, 1.0, 1.0)  # the empty tuple
    program.add_variables(len(index) - 1, 0.0, 1.0)
    _add_steps(program, sides.plan, tuples, column)
    row, col, value = _losses(sides, index)
    n = len(sides.root)
    losses = program.add_variables(n, -1.0, 0.0)
    own = row >= sides.n_cells
    players = np.arange(n)
    program.add_rows(
        n, 0.0, 0.0,
        triples(row[own] - sides.n_cells, col[own], value[own]),
        triples(players, losses + players, -1.0),
    )  # fmt: skip
    if cells is None:
        cells = np.zeros(sides.n_cells, np.bool_)
        cells[row[~own]] = True
        cells[sides.root] = True
    deviating = ~own
    deviating[deviating] = cells[row[deviating]]
    entries = triples(row[deviating], col[deviating], -value[deviating])
    first, place = _add_incentives(program, sides, cells, losses, entries, penalty)
    floors = program.add_rows(
        n, -np.inf, np.minimum(sides.limit, 1.0), triples(players, losses + players, 1.0)
    )
    objective = _add_objective(program, sides, losses)
    highs = program.solver(**options)
    highs.run()
    solution = highs.getSolution()
    values, duals = np.array(solution.col_value), np.array(solution.row_dual)
    flow = np.zeros(sides.n_cells + n)
    flow[: sides.n_cells][cells] = np.maximum(-duals[first + place[cells]], 0.0)
    gradient = np.zeros(n)
    if program.n_rows > objective:
        gradient = -duals[objective:]
    if sides.objective.target is not None:
        span = sides.incentives.form.leaves.payoff_range
        gradient /= np.where(span > 0, span, 1.0)
    slack = float(values[losses + n : losses + 2 * n].max()) if penalty else 0.0
    return Restricted(
        highs.getModelStatus() == highspy.HighsModelStatus.kOptimal,
        _shared(sides, index, values[: len(index)]), slack, flow, gradient,
        np.maximum(-duals[floors : floors + n], 0.0),
    )  # fmt: skip


def completed(sides: Sides, flow: Floats, usual: Floats) -> Floats:
    """The flow, where it ends early continued like the ``usual`` one."""
    flow = np.nan_to_num(flow)
    complete_flow(sides.flow, usual, flow)
    return flow


def _shared(sides: Sides, index: Longs, values: Floats) -> Floats:
    """The plan with these values, whose shares add up exactly."""
    plan, share = np.zeros(sides.n_tuples), np.zeros(sides.n_tuples)
    plan[index] = np.where(values > 1e-11, values, 0.0)
    find_shares(sides.plan, plan, share)
    plan[:] = 0.0
    plan[0] = 1.0
    spread(sides.plan, share, 0.0, plan, np.zeros(sides.n_tuples))
    return plan


def _add_steps(program: LinearProgram, plan: Sharing, kept: Bools, column: Longs) -> None:
    """The equations of the steps whose heads are kept."""
    for sums in (False, True):
        steps = np.flatnonzero(kept[plan.head] & ((plan.size < 0) == sums))
        sizes = np.abs(plan.size[steps]).astype(np.int64)
        rows = np.repeat(np.arange(len(steps)), sizes)
        offset = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members = plan.first[steps][rows] + offset
        members = plan.parts[members] if sums else members
        here = kept[members]
        program.add_rows(
            len(steps), 0.0, 0.0,
            triples(rows[here], column[members[here]], 1.0),
            triples(np.arange(len(steps)), column[plan.head[steps]], -1.0),
        )  # fmt: skip


def _losses(sides: Sides, index: Longs) -> tuple[Longs, Longs, Floats]:
    """The entries of the losses at these tuples: cells, numbers in ``index``, values."""
    start = sides.losses.start
    sizes = (start[index + 1] - start[index]).astype(np.int64)
    columns = np.repeat(np.arange(len(index)), sizes)
    offset = np.arange(len(columns)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    entry = start[index][columns] + offset
    return sides.losses.cell[entry].astype(np.int64), columns, sides.losses.value[entry]


def _add_incentives(
    program: LinearProgram,
    sides: Sides,
    cells: Bools,
    losses: int,
    entries: Triples,
    penalty: float,
) -> tuple[int, Longs]:
    """A row for every kept cell, and the slack; returns the first row, and where each cell's is.

    ``entries`` are the losses in the cells. Marks the cells that continue to kept ones, too.
    """
    flow, n = sides.flow, len(sides.root)
    steps = np.zeros(len(flow.head), np.bool_)
    keep_alive(flow, cells, steps)
    place = np.cumsum(cells) - 1
    rows = np.flatnonzero(steps)
    if penalty:
        program.add_variables(n, 0.0, 1.0, penalty)
    decision = program.add_variables(len(rows), -1.0, 0.0)
    sizes = flow.size[rows].astype(np.int64)
    own = np.repeat(np.arange(len(rows)), sizes)
    offset = np.arange(len(own)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    member = flow.first[rows][own] + offset
    here = cells[member]
    upper = np.zeros(int(cells.sum()))
    upper[place[sides.root]] = sides.epsilon
    parts = [
        entries._replace(rows=place[entries.rows]),
        triples(place[member[here]], decision + own[here], 1.0),
        triples(place[flow.head[rows]], decision + np.arange(len(rows)), -1.0),
        triples(place[sides.root], losses + np.arange(n), 1.0),
    ]
    if penalty:
        parts.append(triples(place[sides.root], losses + n + np.arange(n), -1.0))
    return program.add_rows(len(upper), -np.inf, upper, *parts), place


def _add_objective(program: LinearProgram, sides: Sides, losses: int) -> int:
    """The objective in units of its scale; returns the number of its first row, if it has any."""
    objective, leaves = sides.objective, sides.incentives.form.leaves
    unit, offsets, scale = sides.incentives.unit, sides.offsets, sides.scale
    n, first = leaves.n_players, program.n_rows
    players = np.arange(n)
    if objective.target is not None:  # payoff + less - more = target
        distance = np.where(leaves.payoff_range > 0, leaves.payoff_range, 1.0)
        aim, own = offsets / distance, unit / distance
        far = np.abs(aim) + own
        more, less = (program.add_variables(n, 0.0, far, 1.0 / scale) for _ in range(2))
        program.add_rows(
            n, aim, aim, triples(players, losses + players, own),
            triples(players, more + players, 1.0), triples(players, less + players, -1.0),
        )  # fmt: skip
    elif objective.weights is None:  # least <= payoff
        most = offsets / scale
        limit = float((np.abs(most) + unit / scale).max())
        least = program.add_variables(1, -limit, limit, -1.0)
        program.add_rows(
            n, -np.inf, most,
            triples(players, losses + players, unit / scale), triples(players, least, 1.0),
        )  # fmt: skip
    else:
        kappa = sides.kappa(objective.sign * np.array(objective.weights))
        limit = float(np.abs(kappa).sum())
        cost = program.add_variables(1, -limit, limit, 1.0)
        program.add_rows(1, 0.0, 0.0, triples(0, losses + players, kappa), triples(0, cost, -1.0))
        return program.n_rows
    return first
