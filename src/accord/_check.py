"""Checks of common arguments, so that all functions refuse them in the same words."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

from accord.errors import ArgumentError

LARGEST = 2**63 - 1
"""The largest whole number that fits an array of 64-bit integers."""

MAX_SEED = 2**128 - 1
"""Seeds have at most as many bits as NumPy draws for a fresh one."""


def checked_whole(name: str, value: SupportsIndex, least: int, most: float = LARGEST) -> int:
    """Return ``value`` as a whole number from ``least`` to ``most``.

    Raises:
        ArgumentError: If it is not one.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or whole < least:
        raise ArgumentError(f"{name} must be a whole number, {least} or more; got {value!r}")
    if whole > most:
        digits = f"{float(most):.2g}"
        raise ArgumentError(f"{name} must be a whole number, at most {digits}; got a larger one")
    return whole


def check_positive(name: str, value: float) -> None:
    """Raise an ArgumentError unless ``value`` is positive and finite."""
    if not (math.isfinite(value) and value > 0):
        raise ArgumentError(f"{name} must be positive and finite; got {value}")


def check_probability(name: str, value: float) -> None:
    """Raise an ArgumentError unless ``value`` is strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ArgumentError(f"{name} must be between 0 and 1, both excluded; got {value}")
