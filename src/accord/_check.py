"""Checks of common arguments, so that all functions refuse them in the same words."""

from __future__ import annotations

import math
import operator
import re
import reprlib
import sys
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

from accord.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.random import Generator

LARGEST_INT = 2**63 - 1
"""The largest whole number that fits an array of 64-bit integers."""

MAX_SEED = 2**128 - 1
"""Seeds have at most as many bits as NumPy draws for a fresh one."""


Number = SupportsFloat | str
"""What :func:`as_number` takes: 0.25, ``Fraction(1, 4)``, ``"1/4"``."""

_FRACTION = re.compile(r"\s*([+-]?[0-9]+)\s*/\s*([0-9]+)\s*")


def as_number(name: str, value: Number) -> float:
    """Return a number that may be written as a fraction: 0.25, ``Fraction(1, 4)``, ``"1/4"``.

    A text is rounded to the nearest float once, so ``"1/3"`` is the float ``1 / 3``. Infinity and
    NaN are returned if ``value`` is such a float, and refused as a text.

    Raises:
        ArgumentError: If it is not a number.
    """
    try:
        if isinstance(value, str):
            parts = _FRACTION.fullmatch(value)
            number = float(value) if parts is None else int(parts[1]) / int(parts[2])
            if math.isfinite(number):
                return number
        elif not isinstance(value, bool) and not getattr(value, "ndim", 0):
            return float(value)
    except (TypeError, ValueError, ArithmeticError):  # such as "a", too many digits, "1/0"
        pass
    raise ArgumentError(
        f'{name} must be a number, such as 0.25 or "1/4"; got {reprlib.repr(value)}'
    )


def checked_whole(name: str, value: SupportsIndex, least: int, most: float = LARGEST_INT) -> int:
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


def checked_seed(seed: SupportsIndex | Generator) -> int:
    """Return ``seed`` as a whole number, 0 or more; a generator draws one.

    Raises:
        ArgumentError: If it is neither.
    """
    from numpy.random import Generator  # here, because the command line must start quickly

    if isinstance(seed, Generator):
        return int(seed.integers(LARGEST_INT, endpoint=True))
    return checked_whole("seed", seed, 0, MAX_SEED)


def check_positive(name: str, value: float) -> None:
    """Raise an ArgumentError unless ``value`` is positive and finite."""
    if not 0 < value <= sys.float_info.max:
        raise ArgumentError(f"{name} must be positive and finite; got {value}")


def check_probability(name: str, value: float) -> None:
    """Raise an ArgumentError unless ``value`` is strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ArgumentError(f"{name} must be between 0 and 1, both excluded; got {value}")
