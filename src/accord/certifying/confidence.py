"""Confidence bounds on means.

*Two sides.* Empirical Bernstein bounds (Maurer and Pontil 2009): simple, and the same on both
sides.

*From below, by betting* (Waudby-Smith and Ramdas 2024). Let X_1, ..., X_n be independent with mean
mu and values in [-1, 1], and lambda_t in [0, 1/2) a function of X_1, ..., X_{t-1}. Then

    W_n(m) = product over t of (1 + lambda_t (X_t - m))

is not negative for m <= 1, and W_n(mu) has mean 1, factor by factor. So by Markov's inequality it
exceeds 1 / delta with probability at most delta. W_n decreases in m, so with probability 1 - delta
mu is at least the largest m with W_n(m) >= 1 / delta. With
``lambda_t = sqrt(2 log(1 / delta) / (n V_{t-1}))``, V being the variance so far, that is about
``sqrt(2 V log(1 / delta) / n)`` below the sample mean: a good bet for a small variance needs no
more than to look.
"""

from __future__ import annotations

import math

import numpy as np

from accord._arrays import Floats

LARGEST_BET = 0.45
"""The largest lambda; below 1/2, so that no play ends the betting."""

STEPS = 50
"""How many times the interval that holds the bound is halved."""


def bernstein(values: Floats, delta: float) -> float:
    """The mean of values in [0, 1] is at most their sample mean plus this, with 1 - delta.

    ``sqrt(2 V log(2 / delta) / n) + 7 log(2 / delta) / (3 (n - 1))``, with V the sample variance.
    By symmetry it is also at least the sample mean minus this, again with 1 - delta.
    """
    n, logarithm = len(values), math.log(2.0 / delta)
    deviation = math.sqrt(2.0 * float(values.var(ddof=1)) * logarithm / n)
    return deviation + 7.0 * logarithm / (3.0 * (n - 1))


def mean_at_least(values: Floats, delta: float) -> float:
    """With probability 1 - delta the mean of independent values in [-1, 1] is at least this."""
    n, logarithm = len(values), math.log(1.0 / delta)
    bets = np.minimum(np.sqrt(2.0 * logarithm / (n * _variances(values))), LARGEST_BET)
    low, high = -1.0, 1.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if np.log1p(bets * (values - middle)).sum() >= logarithm:
            low = middle
        else:
            high = middle
    return low


def _variances(values: Floats) -> Floats:
    """The variance of the values before each one, as if one more pair had been 1/2 off."""
    count = np.arange(1.0, len(values) + 1.0)
    mean = np.cumsum(values) / (count + 1.0)
    squares = 0.25 + np.cumsum(np.square(values - mean))
    return np.concatenate([[0.25], squares[:-1] / count[:-1]])
