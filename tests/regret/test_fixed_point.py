"""Stationary distributions: exact where that can be, never wrong, never NaN."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accord.regret.fixed_point import find_stationary
from tests import reference
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(300)


def solved(rates) -> np.ndarray:
    """What the kernel finds, written into the middle of a longer vector."""
    matrix = np.array(rates, float)
    n = len(matrix)
    p = np.full(n + 3, 7.0)
    find_stationary(matrix.ravel(), n, p, 2)
    assert (p[:2] == 7.0).all() and p[-1] == 7.0  # the rest is nobody's business
    return p[2:-1]


def residual(p, rates) -> Fraction:
    """The largest imbalance of a state relative to the largest rate, without rounding."""
    n = len(rates)
    exact = [[Fraction(float(rates[r][a])) for a in range(n)] for r in range(n)]
    mass = [Fraction(float(v)) for v in p]
    largest = max((exact[r][a] for r in range(n) for a in range(n) if r != a), default=0)
    if largest == 0:
        return Fraction(0)
    return max(
        abs(sum(mass[r] * exact[r][a] - mass[a] * exact[a][r] for r in range(n) if r != a))
        for a in range(n)
    ) / Fraction(largest)


def matrices(entries):
    return st.integers(1, 8).flatmap(
        lambda n: st.lists(st.lists(entries, min_size=n, max_size=n), min_size=n, max_size=n)
    )


def powers(lowest: float, highest: float):
    return st.floats(lowest, highest).map(lambda exponent: 10.0**exponent)


wild = st.one_of(
    st.just(0.0), st.floats(0.0, 2.0), powers(-323, 300), st.sampled_from([5e-324, 1e-290, 1e300])
)

# The second state is nearly absorbing, the third more so: masses grow by 1e90 and by 1e290.
TOWER = [[0, 1, 0], [1e-90, 0, 1], [0, 2e-290, 0]]


@checked
@given(matrices(wild))
@example(TOWER)
@example([[0, 1e-320], [3e-320, 0]])
@example([[0, 1e-320, 0], [3e-320, 0, 0], [0, 1e-320, 0]])
def test_whatever_the_rates_the_answer_is_a_stationary_distribution(rates):
    p = solved(rates)
    assert np.isfinite(p).all()
    assert (p >= 0.0).all()
    assert abs(p.sum() - 1.0) < 1e-14
    assert residual(p, rates) < 1e-14


@checked
@given(matrices(powers(-20, 20)))
def test_irreducible_chains_have_full_relative_accuracy(rates):
    p, exact = solved(rates), np.array(reference.stationary(rates))
    assert (exact > 0.0).all()
    np.testing.assert_allclose(p, exact, rtol=1e-13, atol=0.0)


@checked
@given(matrices(st.one_of(st.just(0.0), st.just(0.0), powers(-5, 5))), st.randoms())
def test_reducible_chains_stay_in_their_closed_classes(rates, random):
    p = solved(rates)
    closed = {state for states in reference.closed_classes(rates) for state in states}
    assert set(np.flatnonzero(p).tolist()) <= closed
    assert residual(p, rates) < 1e-14
    if len(reference.closed_classes(rates)) == 1:  # then there is only one answer
        np.testing.assert_allclose(p, reference.stationary(rates), rtol=1e-13, atol=0.0)
        order = list(range(len(rates)))
        random.shuffle(order)
        shuffled = np.array(rates)[np.ix_(order, order)]
        np.testing.assert_allclose(solved(shuffled), p[order], rtol=1e-13, atol=0.0)


def test_an_almost_absorbing_state_keeps_what_little_the_others_have():
    p = solved(TOWER)
    assert p[2] == 1.0
    assert p[1] == pytest.approx(2e-290)
    assert p[0] == 0.0  # 2e-380


@pytest.mark.parametrize("n", range(1, 9))
def test_without_rates_all_states_are_equal(n):
    np.testing.assert_array_equal(solved(np.zeros((n, n))), np.full(n, 1 / n))


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("absorbing", [0, 1, -1])
def test_an_absorbing_state_takes_all(n, absorbing):
    rates = np.ones((n, n))
    rates[absorbing] = 0.0
    np.testing.assert_array_equal(solved(rates), np.eye(n)[absorbing])


@pytest.mark.parametrize("n", range(2, 9))
def test_rates_from_a_state_to_itself_do_not_matter(n):
    rates = np.random.default_rng(n).random((n, n)) * 1e-300
    expected = solved(rates)
    for diagonal in (0.0, 1.0, 1e300):
        np.fill_diagonal(rates, diagonal)
        np.testing.assert_array_equal(solved(rates), expected)


@pytest.mark.parametrize("n", range(1, 9))
def test_equal_rows_are_the_answer(n):
    """Rates that do not depend on the state: external regrets alone."""
    weights = 10.0 ** np.random.default_rng(n).uniform(-30, 30, n)
    np.testing.assert_allclose(
        solved(np.tile(weights, (n, 1))), weights / weights.sum(), rtol=1e-14, atol=0.0
    )
