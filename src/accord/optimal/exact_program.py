"""Linear programs with integral rows, solved in doubles and then exactly.

    minimize cost . x  subject to  A x <= b,  x >= 0,

in which some rows are equations, some variables are free, and A and b have integers. HiGHS solves
it in doubles, each row divided by its largest entry; :meth:`ExactProgram.vertex` then solves the
basis that it ended with in rational arithmetic (``optimal/exact_linear.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from accord._arrays import Floats
from accord.optimal.exact_linear import Basis, IntegerMatrix, part, solve_exactly
from accord.optimal.linear import INFINITY, run, solver

Row = dict[int, int]
"""The entries of a row by variable."""


class ExactProgram:
    """A program to which variables and rows are added; solving it again starts warm."""

    def __init__(self) -> None:
        self.highs = solver()
        self.n_variables = 0
        self.n_rows = 0
        self._limits: list[int] = []
        self._sizes: list[int] = []
        self._entries = IntegerMatrix([], [], [])

    def add_variables(self, costs: Sequence[float], *, free: bool = False) -> int:
        """Add variables with these costs; return the number of the first."""
        for cost in costs:
            self.highs.addCol(float(cost), -INFINITY if free else 0.0, INFINITY, 0, [], [])
        self.n_variables += len(costs)
        return self.n_variables - len(costs)

    def add_row(self, row: Mapping[int, int], limit: int = 0, *, equal: bool = False) -> None:
        """Add a row, at most or exactly ``limit``."""
        entries = {j: value for j, value in row.items() if value}
        size = max(map(abs, entries.values()), default=1)
        upper = limit / size
        values = [value / size for value in entries.values()]
        self.highs.addRow(upper if equal else -INFINITY, upper, len(values), list(entries), values)
        self._entries.rows.extend([self.n_rows] * len(entries))
        self._entries.columns.extend(entries)
        self._entries.values.extend(entries.values())
        self._limits.append(limit)
        self._sizes.append(size)
        self.n_rows += 1

    def solve(self, end: float) -> Floats | None:
        """The optimum in doubles; None if none is found by ``end``, by ``time.monotonic``."""
        if not run(self.highs, end):
            return None
        return np.array(self.highs.getSolution().col_value)

    def vertex(self, end: float) -> list[Fraction] | None:
        """The vertex at which :meth:`solve` ended, exactly; None if that is none.

        Raises:
            OutOfTime: At ``end``.
        """
        basis = Basis.of(self.highs)
        if basis is None:
            return None
        limits = [self._limits[r] for r in basis.binding]
        found = solve_exactly(part(self._entries, basis), limits, end)
        if found is None:
            return None
        vertex = dict(zip(basis.basic, found, strict=True))
        return [vertex.get(j, Fraction(0)) for j in range(self.n_variables)]

    def prices(self) -> list[float]:
        """The duals of the rows, which are at least 0, in units of the rows as they were given."""
        duals = (-np.array(self.highs.getSolution().row_dual)).tolist()
        return [dual / size for dual, size in zip(duals, self._sizes, strict=True)]
