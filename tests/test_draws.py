"""Draws by inverse CDF select what exact arithmetic selects, in Python and in kernels."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord._arrays import Floats
from accord._draws import drawn_from, drawn_until
from accord._jit import jit
from accord.treeplex.strategy import draw_sequence
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels


@jit
def draw_in_kernel(behavior: Floats, first: int, end: int, draw: float) -> int:
    return draw_sequence(behavior, first, end, draw)


@examples(100)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6).filter(any), st.integers(0, 2**20 - 1))
def test_draws_are_those_of_exact_arithmetic(parts: list[int], at: int) -> None:
    total, draw = sum(parts), at / 2**20
    sums = list(accumulate(Fraction(part, total) for part in parts))
    if min(abs(one - Fraction(draw)) for one in sums) < 1e-12:  # rounding may decide
        return
    wanted = next(item for item, until in enumerate(sums) if Fraction(draw) < until)
    law = [part / total for part in parts]
    assert drawn_from(law, draw) == wanted
    behavior = np.array([1.0, *law, 1.0])
    assert draw_in_kernel(behavior, 1, 1 + len(law), draw) == 1 + wanted
    if all(parts):
        assert drawn_until(np.cumsum(law), draw) == wanted


@pytest.mark.parametrize("law", [[0.0, 0.3, 0.7 - 1e-12, 0.0], [0.1] * 3 + [0.7 - 1e-15, 0.0]])
def test_a_rest_of_rounding_goes_to_the_last_that_is_possible(law: list[float]) -> None:
    draw = np.nextafter(1.0, 0.0)
    last = max(item for item, share in enumerate(law) if share > 0.0)
    assert drawn_from(law, draw) == last
    assert draw_in_kernel(np.array(law), 0, len(law), draw) == last
    assert drawn_until(np.cumsum(law[: last + 1]), draw) == min(last, len(law) - 1)
    assert drawn_from(law, 0.0) == draw_in_kernel(np.array(law), 0, len(law), 0.0)
    assert law[drawn_from(law, 0.0)] > 0.0
