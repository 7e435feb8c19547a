"""Confidence bounds on means.

*On both sides*, empirical Bernstein bounds (Maurer and Pontil 2009), which are simple.

*From below*, bounds by betting (Waudby-Smith and Ramdas 2024), which are tighter. Let X_1, ..., X_n
be independent with mean mu and values in [c, 1], c >= -1, and let the bet lambda_t in
[0, 1 / (1 - c)) be a function of X_1, ..., X_{t-1}. Then

    W_n(m) = product over t of (1 + lambda_t (X_t - m))

is not negative for m <= 1, and W_n(mu) has mean 1, factor by factor. By Markov's inequality it
exceeds 1 / delta with probability at most delta. W_n decreases in m, so with probability 1 - delta
mu is at least the largest m with W_n(m) >= 1 / delta.

Any bets give a valid bound; good ones make it tight. With a constant bet lambda, log W_n(m) is
about n lambda (mean - m) - n lambda^2 V / 2, where V is the variance of the values. So the bound is
about log(1 / delta) / (n lambda) + lambda V / 2 below the sample mean. The best bet is
``sqrt(2 log(1 / delta) / (n V))``, and the distance is then ``sqrt(2 V log(1 / delta) / n)``. The
bet lambda_t uses V_{t-1}, the variance of the values before X_t, in place of V.
"""

from __future__ import annotations

import math

import numpy as np

from accord._arrays import Floats

LARGEST_BET = 0.9
"""The largest bet, as a share of the one that could make a factor 0: if all values are at least c,
then X_t - m is at least c - 1, and a bet below 1 / (1 - c) keeps every factor positive."""

BISECTIONS = 50
"""The number of bisections that find the bound."""


def bernstein(values: Floats, delta: float) -> float:
    """The margin of an empirical Bernstein bound on the mean of independent values in [0, 1].

    It is ``sqrt(2 V log(2 / delta) / n) + 7 log(2 / delta) / (3 (n - 1))``, with V the sample
    variance. With probability 1 - delta the mean is at most the sample mean plus this margin. By
    symmetry, again with probability 1 - delta, it is at least the sample mean minus this margin.
    """
    n, logarithm = len(values), math.log(2.0 / delta)
    deviation = math.sqrt(2.0 * float(values.var(ddof=1)) * logarithm / n)
    return deviation + 7.0 * logarithm / (3.0 * (n - 1))


def mean_at_least(values: Floats, delta: float, least: float = -1.0) -> float:
    """A lower bound on the mean of independent values, with probability 1 - delta.

    The values are in [``least``, 1], where ``least`` is at least -1.
    """
    n, logarithm = len(values), math.log(1.0 / delta)
    largest = LARGEST_BET / (1.0 - least)
    bets = np.minimum(np.sqrt(2.0 * logarithm / (n * _variances(values))), largest)
    low, high = least, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if np.log1p(bets * (values - middle)).sum() >= logarithm:
            low = middle
        else:
            high = middle
    return low


def _variances(values: Floats) -> Floats:
    """``[n]`` the variance of the values before each one.

    The mean counts one more value, 0, and the sum of squares one more deviation, 1/2, so that the
    first few values do not make the variance too small.
    """
    count = np.arange(1.0, len(values) + 1.0)
    mean = np.cumsum(values) / (count + 1.0)
    squares = 0.25 + np.cumsum(np.square(values - mean))
    return np.concatenate([[0.25], squares[:-1] / count[:-1]])
