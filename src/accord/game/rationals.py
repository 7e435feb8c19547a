"""The rational number that a double stands for, as ``game/exact.py`` defines it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational

from accord._check import Number

DIGITS = 15
"""Every decimal with at most so many digits can be read from its double."""

LARGEST_DENOMINATOR = 10**9


@lru_cache(maxsize=65536)
def as_rational(value: float) -> Fraction:
    """The number that a double stands for."""
    decimal = Fraction(text := repr(value))
    if len(text.partition("e")[0].replace(".", "").strip("-0")) <= DIGITS:
        return decimal
    simple = simplest(value)
    small = simple is not None and abs(simple.numerator) < 2**31  # what other programs can read
    return simple if simple is not None and small else decimal


@lru_cache(maxsize=65536)
def simplest(value: float) -> Fraction | None:
    """The fraction with the smallest denominator that rounds to a double, if that is small."""
    limit = 10
    while limit <= LARGEST_DENOMINATOR:
        fraction = Fraction(value).limit_denominator(limit)
        if float(fraction) == value:
            return fraction
        limit *= 10
    return None


def written_otherwise(numbers: Mapping[float, Fraction]) -> dict[float, Fraction]:
    """Those of the numbers, by their doubles, that the doubles do not stand for."""
    return {value: number for value, number in numbers.items() if as_rational(value) != number}


def exact_number(value: Number) -> Fraction:
    """A number as it was given: a text or a whole number as written, and of a float the number
    that it stands for. Decimals that are too small for a double are 0: their denominators could
    have any number of digits."""
    decimal = isinstance(value, Decimal) or (isinstance(value, str) and "/" not in value)
    if decimal and not float(value):
        return Fraction(0)
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str):
        try:
            return Fraction("".join(value.split()))
        except ValueError:  # more digits than Python reads
            return as_rational(float(value))
    return as_rational(float(value))


def remember(
    numbers: dict[float, Fraction], values: Iterable[float], given: Iterable[Number]
) -> None:
    """Add the numbers that were ``given`` to those known by their doubles, the ``values``.

    A double stands for one number: the one that was given first.
    """
    for value, number in zip(values, given, strict=True):
        if isinstance(number, float) or not math.isfinite(value):
            continue
        if value and value not in numbers:
            numbers[float(value)] = exact_number(number)
