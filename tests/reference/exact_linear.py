"""Linear programs over lotteries in rational arithmetic: the simplex method with Bland's rule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Numbers = Sequence[Fraction]


def best_lottery(
    worth: Numbers, rows: Sequence[Numbers], limits: Numbers
) -> tuple[Fraction, list[Fraction]] | None:
    """max worth . w over w >= 0 with sum w = 1 and rows . w <= limits, and such a w; None if there
    is none."""
    n, m = len(worth), len(rows) + 1
    table = []
    for k, (row, limit) in enumerate(
        zip([*rows, [Fraction(1)] * n], [*limits, Fraction(1)], strict=True)
    ):
        slack = [Fraction(int(j == k)) for j in range(m - 1)]
        sign = -1 if limit < 0 else 1
        line = [sign * Fraction(entry) for entry in (*row, *slack)]
        table.append([*line, *(Fraction(int(j == k)) for j in range(m)), sign * Fraction(limit)])
    own = n + m - 1  # variables before the artificial ones
    basis = [own + k for k in range(m)]
    _climb(table, basis, [Fraction(0)] * own + [Fraction(-1)] * m)
    if any(line[-1] for line, b in zip(table, basis, strict=True) if b >= own):
        return None
    for k, b in enumerate(basis):
        if b >= own:  # at 0: any other variable may replace it
            other = next((j for j in range(own) if table[k][j] and j not in basis), None)
            if other is not None:
                _pivot(table, basis, k, other)
    left = [(line[:own] + line[-1:], b) for line, b in zip(table, basis, strict=True) if b < own]
    table, basis = [line for line, _ in left], [b for _, b in left]
    _climb(table, basis, [*map(Fraction, worth), *[Fraction(0)] * (m - 1)])
    found = [Fraction(0)] * own
    for line, b in zip(table, basis, strict=True):
        found[b] = line[-1]
    weights = found[:n]
    return sum((c * w for c, w in zip(worth, weights, strict=True)), Fraction(0)), weights


def _climb(table: list[list[Fraction]], basis: list[int], worth: list[Fraction]) -> None:
    """Pivot until no variable gains; the feasible sets here are bounded."""
    while True:
        paid = [worth[b] for b in basis]
        for j, own in enumerate(worth):
            if own > sum(p * line[j] for p, line in zip(paid, table, strict=True) if p):
                break
        else:
            return
        ratios = [(line[-1] / line[j], basis[k], k) for k, line in enumerate(table) if line[j] > 0]
        _pivot(table, basis, min(ratios)[2], j)


def _pivot(table: list[list[Fraction]], basis: list[int], k: int, j: int) -> None:
    pivot = table[k][j]
    table[k] = [entry / pivot for entry in table[k]]
    for row, line in enumerate(table):
        if row != k and line[j]:
            factor = line[j]
            table[row] = [a - factor * b for a, b in zip(line, table[k], strict=True)]
    basis[k] = j
