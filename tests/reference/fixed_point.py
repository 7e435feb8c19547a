"""Stationary distributions in exact integers: the twin of ``accord.regret.fixed_point``."""

from __future__ import annotations

from collections.abc import Iterable

from tests.reference.types import Matrix


def stationary(rates: Matrix) -> list[float]:
    """A stationary distribution of the chain that goes from r to a at rate ``rates[r][a]``.

    The Markov chain tree theorem in exact integers: the probability of a is proportional to the sum
    over spanning trees towards a, which is a minor of the Laplacian. With several closed classes
    each gets the same share, so without any rates the answer is uniform.
    """
    classes = closed_classes(rates)
    p = [0.0] * len(rates)
    for states in classes:
        trees = []
        for root in states:
            rest = [s for s in states if s != root]
            trees.append(_determinant(_laplacian(rates, states, rest)))
        for s, t in zip(states, trees, strict=True):
            p[s] = t / sum(trees) / len(classes)  # exact integers, one rounding
    return p


def closed_classes(rates: Matrix) -> list[list[int]]:
    states = range(len(rates))
    reaches = [[r == a or rates[r][a] > 0 for a in states] for r in states]
    for k in states:
        for r in states:
            for a in states:
                reaches[r][a] = reaches[r][a] or (reaches[r][k] and reaches[k][a])
    classes = []
    for r in states:
        ahead = [a for a in states if reaches[r][a]]
        if all(reaches[a][r] for a in ahead) and ahead[0] == r:
            classes.append(ahead)
    return classes


def _laplacian(rates: Matrix, states: list[int], rest: list[int]) -> list[list[int]]:
    """Rows and columns ``rest`` of the Laplacian among ``states``, scaled to integers."""
    ratios = {(r, a): float(rates[r][a]).as_integer_ratio() for r in states for a in states}
    scale = max(denominator for _, denominator in ratios.values())  # all are powers of two
    rate = {key: n * (scale // d) for key, (n, d) in ratios.items()}
    return [
        [sum(rate[r, s] for s in states if s != r) if r == a else -rate[r, a] for a in rest]
        for r in rest
    ]


def _determinant(matrix: list[list[int]]) -> int:
    """Of a matrix of integers, by fraction-free elimination (Bareiss)."""
    m = [list(row) for row in matrix]
    sign, last = 1, 1
    for k in range(len(m) - 1):
        if m[k][k] == 0:
            swap = next((r for r in range(k + 1, len(m)) if m[r][k] != 0), None)
            if swap is None:
                return 0
            m[k], m[swap], sign = m[swap], m[k], -sign
        for r in range(k + 1, len(m)):
            for c in range(k + 1, len(m)):
                m[r][c] = (m[r][c] * m[k][k] - m[r][k] * m[k][c]) // last
        last = m[k][k]
    return sign * m[-1][-1] if m else 1


def imbalance(p: Iterable[float], rates: Matrix, floor: float = 1e-6) -> float:
    """How far p is from a stationary distribution, relative to the largest rate (or ``floor``)."""
    p = [float(v) for v in p]
    states = range(len(p))
    worst = max(abs(sum(p) - 1), -min(p))
    scale = max([floor] + [rates[r][a] for r in states for a in states if r != a])
    for a in states:
        inflow = sum(p[r] * rates[r][a] for r in states if r != a)
        outflow = p[a] * sum(rates[a][s] for s in states if s != a)
        worst = max(worst, abs(inflow - outflow) / scale)
    return worst


def is_stationary(p: Iterable[float], rates: Matrix, tol: float = 1e-9) -> bool:
    return imbalance(p, rates) <= tol
