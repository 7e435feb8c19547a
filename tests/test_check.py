"""Checks of common arguments."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accord._check import as_number
from accord.errors import ArgumentError


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (2, 2.0), (0.1, 0.1), (np.float32(0.5), 0.5), (np.array(0.5), 0.5), (np.int64(3), 3.0),
        (Fraction(1, 3), 1 / 3), (Decimal("0.1"), 0.1), ("1/3", 1 / 3), (" -2 / 7 ", -2 / 7),
        ("+1/2", 0.5), ("0.25", 0.25), ("1e-3", 0.001), ("7", 7.0), (math.inf, math.inf),
        (f"{10**400}/{3 * 10**400}", 1 / 3),
    ],
)  # fmt: skip
def test_numbers_may_be_written_as_fractions(given: Any, number: float) -> None:
    assert as_number("weight", given) == number


def test_nan_stays_nan() -> None:
    assert math.isnan(as_number("weight", math.nan))


@pytest.mark.parametrize(
    "given",
    [
        "", "a", "1/0", "1/-2", "1/2/3", "1.5/2", "nan", "inf", "1e999", "9" * 5000,
        "1/" + "9" * 5000,
        f"{10**400}/1", 10**400, True, None, [0.5], (1, 3), np.array([0.5]), b"1/2", 1j,
    ],
)  # fmt: skip
def test_what_is_not_a_number_is_refused(given: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"^weight must be a number, such as 0.25 or \"1/4\"; got"
    ):
        as_number("weight", given)
