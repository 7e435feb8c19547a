"""Stationary distributions without subtractions.

Every minimizer in this package ends by solving the same equation (Line 5 of Algorithm 5 of Song,
Mei, Bai 2022): find p in the simplex with ``p^T = p^T Q`` for a stochastic matrix Q. Only Q's
off-diagonal rates matter, up to a common factor:

    sum_{r != a} p(r) rate[r, a] = p(a) sum_{r != a} rate[a, r]    for every a.

Grassmann, Taksar and Heyman's elimination (Operations Research 33, 1985) removes one state after
another and redirects its rates to the remaining states. It never subtracts, so each probability has
full relative accuracy, however small. A reducible chain has several stationary distributions. Any
of them will do, and the elimination finds one: a state without a rate to the remaining states takes
all of their mass.
"""

from __future__ import annotations

from accord._arrays import Floats
from accord._jit import jit

NO_RATE = 1e-290
"""Rates below this fraction of the largest count as zero; the residual is just as small."""


@jit
def find_stationary(rates: Floats, n: int, p: Floats, first: int) -> None:
    """Overwrite ``p[first : first + n]`` with a stationary distribution of ``rates[: n * n]``.

    ``rates`` is destroyed. If all rates are zero, ``p`` is uniform.
    """
    if n == 2:
        largest = max(rates[1], rates[2])
    else:
        largest = 0.0
        for r in range(n):
            for a in range(n):
                if r != a and rates[r * n + a] > largest:
                    largest = rates[r * n + a]
    scale = 1.0 / largest if largest > 1e-300 else 1e300
    base, total = 0, 1.0
    if not largest > 0.0:
        for state in range(n):
            p[first + state] = 1.0
        total = float(n)
    elif n == 2:
        p[first] = rates[2] * scale
        p[first + 1] = rates[1] * scale
        total = rates[1] * scale + rates[2] * scale
    else:
        for cell in range(n * n):
            rates[cell] *= scale
        for state in range(n - 1, 0, -1):
            leaving = 0.0
            for a in range(state):
                leaving += rates[state * n + a]
            if leaving <= NO_RATE:
                base = state
                break
            inverse = 1.0 / leaving
            for r in range(state):
                share = rates[r * n + state] * inverse
                rates[r * n + state] = share
                if share > 0.0:
                    for a in range(state):
                        rates[r * n + a] += share * rates[state * n + a]

        for state in range(base):
            p[first + state] = 0.0
        p[first + base] = 1.0
        for state in range(base + 1, n):
            mass = 0.0
            for r in range(base, state):
                mass += p[first + r] * rates[r * n + state]
            p[first + state] = mass
            total += mass
            if total > 1e10:  # the next mass may be 1 / NO_RATE times larger; avoid overflow
                for r in range(base, state + 1):
                    p[first + r] /= total
                total = 1.0
    rates[0] = total  # used last where p is: else Numba counts the references to both
    for state in range(base, n):
        p[first + state] /= rates[0]
