"""Mixed Nash equilibria of small two-player games, by enumeration of supports.

Take the reduced normal form (``optimal/normal_form.py``) with payoffs A and B. For supports I and J
of the same size, an equilibrium (x, y) on them makes both players indifferent,

    A[I, J] y = u 1,   sum y = 1;      B[I, J]^T x = v 1,   sum x = 1,

and it is one if x and y are not negative and no plan pays more: A y <= u, x B <= v. In a game that
is not degenerate every equilibrium has supports of equal size, so all are found. In a degenerate
one those are found whose system has one solution, and some that are not found lie between them.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from accord._arrays import Floats
from accord.optimal.normal_form import Plans, plan_counts
from accord.treeplex.form import SequenceForm

MOST_SUPPORTS = 20_000
"""Pairs of supports that are tried; it takes about a second."""

FLAT = 1e-9
"""What counts as 0, in units of the payoff ranges."""


def mixed_nash_payoffs(form: SequenceForm) -> Floats | None:
    """``[n, 2]`` the payoffs of the equilibria that are not pure, each once.

    None if there are not two players, or if they have too many plans.
    """
    if form.n_players != 2:
        return None
    counts = plan_counts(form)
    if max(counts) > 1000 or math.comb(int(sum(counts)), int(counts[0])) > MOST_SUPPORTS:
        return None
    table = Plans.of(form)
    if table is None:
        return None
    span = np.where(form.leaves.payoff_range > 0, form.leaves.payoff_range, 1.0)
    first, second = ((table.payoffs[..., i] - form.leaves.worst[i]) / span[i] for i in (0, 1))
    found: list[Floats] = []
    for size in range(2, min(first.shape) + 1):
        for rows in combinations(range(first.shape[0]), size):
            for columns in combinations(range(first.shape[1]), size):
                y = _indifferent(first[np.ix_(rows, columns)])
                x = _indifferent(second[np.ix_(rows, columns)].T)
                if x is None or y is None:
                    continue
                paid, lost = first[:, columns] @ y, x @ second[list(rows)]
                u, v = float(x @ paid[list(rows)]), float(lost[list(columns)] @ y)
                if (paid > u + FLAT).any() or (lost > v + FLAT).any():
                    continue
                point = np.array([u, v])
                if not any(np.abs(point - one).max() <= FLAT for one in found):
                    found.append(point)
    return np.array(found).reshape(-1, 2) * span + form.leaves.worst


def _indifferent(payoffs: Floats) -> Floats | None:
    """The only positive mixture of columns for which all rows pay the same; None without one."""
    n = len(payoffs)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = payoffs, -1.0, 1.0
    right = np.zeros(n + 1)
    right[n] = 1.0
    try:
        solution = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solution).all() or np.abs(system @ solution - right).max() > FLAT:
        return None
    mixture = solution[:n]
    return None if mixture.min() <= FLAT else np.asarray(mixture)
