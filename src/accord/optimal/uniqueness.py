"""Whether all best equilibria have the same payoffs.

The equilibria whose objective reaches the best value form a face of the polytope of all. On it, two
linear programs per player find the least and the largest payoff:

* over correlation plans (``optimal/polytope.py``), which include every equilibrium. If the least
  and the largest payoff of everybody coincide, payoffs are unique. Where every correlation plan is
  a mixture of joint plans (``equilibrium/filling.py``), a difference shows that they are not;
* else over the joint plans that the search has found, all of whose mixtures in the program are
  equilibria. A difference shows that payoffs are not unique.

If neither answers, nothing is said.
"""

from __future__ import annotations

import time

import numpy as np

from accord._arrays import Floats
from accord._signals import OutOfTime
from accord.equilibrium.filling import Filling
from accord.errors import NumericalError
from accord.optimal.column_generation import ColumnGeneration
from accord.optimal.linear import INFINITY, run, triples
from accord.optimal.objective import Objective
from accord.optimal.polytope import Relaxation
from accord.optimal.program import Program
from accord.optimal.tuples import Tuples

SAME = 1e-6
"""Payoffs are the same if they differ by at most this part of the player's unit of losses."""

FACE = 1e-9
"""An objective that misses the best by at most this part of its spread reaches it."""

MOST_TUPLES = 2_000
"""Larger programs over correlation plans would take longer than the search itself."""

SECONDS = 5.0


def payoffs_are_unique(rounds: ColumnGeneration) -> bool | None:
    """Whether all equilibria with the best objective have the same payoffs; None if not known.

    The search must have met its bound.
    """
    if rounds.objective.target is not None:
        return None
    end = time.monotonic() + SECONDS
    tuples = rounds.tuples
    exact = False
    if tuples is not None and len(tuples) <= MOST_TUPLES:
        spread = _over_correlation_plans(tuples, rounds, end)
        if spread is not None and spread.max() <= SAME:
            return True
        exact = spread is not None and Filling.of(tuples) is not None
    if exact:
        return False
    spread = _over_joint_plans(rounds, end)
    return False if spread is not None and spread.max() > SAME else None


def _face(rounds: ColumnGeneration) -> tuple[Floats, Floats]:
    """``[n_rows, n_players]`` and limits: rows . losses <= limits where the objective is best."""
    objective, leaves, unit = rounds.objective, rounds.form.leaves, rounds.incentives.unit
    scale, value = rounds.program.scale, rounds.value - FACE * rounds.program.scale
    if objective.weights is not None:  # value <= -weights . unit losses, above the center
        weights = objective.sign * np.array(objective.weights) * unit / scale
        return weights[np.newaxis], np.array([-value / scale])
    return np.diag(unit / scale), (objective.offsets(leaves) - value) / scale


def _over_correlation_plans(tuples: Tuples, rounds: ColumnGeneration, end: float) -> Floats | None:
    """``[n_players]`` the spread of the losses on the face; None if a program fails."""
    n, nothing = rounds.form.n_players, Objective((0.0,) * rounds.form.n_players)
    floored = Objective(nothing.weights, floor=rounds.objective.floor)
    relaxation = Relaxation(tuples, floored, rounds.epsilon)
    rows, limits = _face(rounds)
    obeying = tuples.obeying
    for row, limit in zip(rows, limits, strict=True):
        relaxation.program.add_rows(
            1, -INFINITY, float(limit),
            triples(0, obeying.columns, obeying.values * row[obeying.rows]),
        )  # fmt: skip
    highs = relaxation.program.solver()
    size = relaxation.program.n_variables
    ends = np.zeros((n, 2))
    for i in range(n):
        own = obeying.rows == i
        cost = np.bincount(obeying.columns[own], obeying.values[own], size).astype(float)
        for side, sign in enumerate((1.0, -1.0)):
            highs.changeColsCost(size, np.arange(size, dtype=np.int32), sign * cost)
            if not run(highs, end):
                return None
            ends[i, side] = sign * float(highs.getObjectiveValue())
    return np.asarray(ends[:, 1] - ends[:, 0])


def _over_joint_plans(rounds: ColumnGeneration, end: float) -> Floats | None:
    """``[n_players]`` the spread of the losses on the face, over the joint plans found so far."""
    n = rounds.form.n_players
    first = Objective((1.0,) + (0.0,) * (n - 1), floor=rounds.objective.floor)
    program = Program(rounds.incentives, first, rounds.epsilon)
    for row, limit in zip(*_face(rounds), strict=True):
        program.highs.addRow(
            -INFINITY, float(limit), n + 1,
            np.arange(n + 1, dtype=np.int32), np.append(row, -1.0),
        )  # fmt: skip
    for plan in rounds.program.plans:
        program.add(plan)
    program.end = end
    ends = np.zeros((n, 2))
    try:
        for i in range(n):
            for side, minimize in enumerate((False, True)):
                weights = tuple(float(i == j) for j in range(n))
                program.aim(Objective(weights, minimize, floor=rounds.objective.floor))
                lottery = program.solve_separated()
                if lottery.slack > FACE:
                    return None
                ends[i, side] = lottery.losses[i]
    except (OutOfTime, NumericalError):
        return None
    return np.asarray(ends[:, 1] - ends[:, 0])
