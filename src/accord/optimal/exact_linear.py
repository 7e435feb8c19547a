"""Linear systems in rational arithmetic, and the vertex of a linear program from its basis.

A solver of linear programs ends with a basis: which variables are off their bounds, and which rows
bind. These are square systems for the vertex and for the duals. A square system A x = b with
integers is solved exactly by refinement: a factorization of A in doubles solves for the residual
again and again, and each time the residual, an exact integer, has about 40 bits less. When x is
known to k bits, the fractions with the smallest denominators that agree with it are found by
continued fractions (J. H. Wilkinson 1963; Z. Wan 2006). They count if they satisfy A x = b exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import highspy
import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from accord._signals import OutOfTime

STEP = 40
"""Bits that a refinement adds."""

MOST_BITS = 20_000
"""Numbers that need more are not looked for."""


class IntegerMatrix(NamedTuple):
    """Entries of a sparse matrix of integers; those in the same place add up."""

    rows: list[int]
    columns: list[int]
    values: list[int]


class Basis(NamedTuple):
    """A vertex of a linear program: what determines it."""

    basic: list[int]  # variables that are not at a bound
    binding: list[int]  # rows that bind

    @classmethod
    def of(cls, highs: highspy.Highs) -> Basis | None:
        """The basis that a solver ended with; None if it has none."""
        basis = highs.getBasis()
        if not basis.valid:
            return None
        inside = highspy.HighsBasisStatus.kBasic
        basic = [j for j, status in enumerate(basis.col_status) if status == inside]
        binding = [i for i, status in enumerate(basis.row_status) if status != inside]
        return cls(basic, binding) if len(basic) == len(binding) else None


def part(matrix: IntegerMatrix, basis: Basis) -> IntegerMatrix:
    """The square part of a matrix that a basis selects."""
    row = {r: place for place, r in enumerate(basis.binding)}
    column = {c: place for place, c in enumerate(basis.basic)}
    found = [
        (row[r], column[c], value)
        for r, c, value in zip(*matrix, strict=True)
        if r in row and c in column
    ]
    return (
        IntegerMatrix(*map(list, zip(*found, strict=True))) if found else IntegerMatrix([], [], [])
    )


def solve_exactly(
    matrix: IntegerMatrix, rhs: Sequence[int], end: float = math.inf, *, transposed: bool = False
) -> list[Fraction] | None:
    """The solution of a square system with integers; None if none is found.

    Args:
        matrix: The entries.
        rhs: The right-hand side, as long as the matrix has rows.
        end: When to give up, a time of ``time.monotonic``.
        transposed: Whether to solve with the transposed matrix.

    Raises:
        OutOfTime: At ``end``.
    """
    size = len(rhs)
    if size == 0:
        return []
    rows, columns = (matrix.columns, matrix.rows) if transposed else (matrix.rows, matrix.columns)
    entries: dict[tuple[int, int], int] = {}
    for r, c, value in zip(rows, columns, matrix.values, strict=True):
        entries[r, c] = entries.get((r, c), 0) + value
    largest = [1] * size
    for (r, _), value in entries.items():
        largest[r] = max(largest[r], abs(value))
    try:
        scaled = [value / largest[r] for (r, _), value in entries.items()]
        places = np.array(list(entries), np.int64)
        factors = splu(csc_matrix((scaled, (places[:, 0], places[:, 1])), (size, size)))
    except (RuntimeError, OverflowError, IndexError):  # singular
        return None
    known, residual, bits, wanted = [0] * size, list(rhs), 0, 2 * STEP
    while bits < MOST_BITS:
        if time.monotonic() > end:
            raise OutOfTime
        step = factors.solve(np.array([r / s for r, s in zip(residual, largest, strict=True)]))
        if not np.isfinite(step).all() or np.abs(step).max(initial=0.0) > 2.0**900:
            return None
        more = [int(math.ldexp(value, STEP)) for value in step.tolist()]
        known = [(old << STEP) + new for old, new in zip(known, more, strict=True)]
        residual = [r << STEP for r in residual]
        for (r, c), value in entries.items():
            residual[r] -= value * more[c]
        bits += STEP
        if bits >= wanted or not any(residual):
            found = _fractions(known, bits)
            if found is not None and _solves(entries, found, rhs):
                return found
            wanted = 2 * bits
    return None


def _fractions(known: Sequence[int], bits: int) -> list[Fraction] | None:
    """Fractions with small denominators that agree with ``known`` / 2^bits."""
    common, found, one = 1, [], 1 << bits
    limit = 1 << (bits // 2 - 2)
    for value in known:
        nearest, rest = divmod(value * common + one // 2, one)
        if abs(rest - one // 2) * limit < one * common:  # the denominators so far are enough
            found.append(Fraction(nearest, common))
            continue
        fraction = Fraction(value, one).limit_denominator(limit)
        common = math.lcm(common, fraction.denominator)
        if common > limit:
            return None
        found.append(fraction)
    return found


def _solves(entries: dict[tuple[int, int], int], x: list[Fraction], rhs: Sequence[int]) -> bool:
    common = math.lcm(*(value.denominator for value in x))
    whole = [value.numerator * (common // value.denominator) for value in x]
    total = [-b * common for b in rhs]
    for (r, c), value in entries.items():
        total[r] += value * whole[c]
    return not any(total)
