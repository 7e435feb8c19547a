"""Confidence bounds on means fail at most as often as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from accord.certifying.confidence import bernstein, mean_at_least


def test_the_two_sided_bound_is_maurer_and_pontils() -> None:
    values = np.random.default_rng(0).random(50)
    n, delta = len(values), 0.1
    logarithm = math.log(2 / delta)
    wanted = math.sqrt(2 * values.var(ddof=1) * logarithm / n) + 7 * logarithm / (3 * (n - 1))
    assert bernstein(values, delta) == pytest.approx(wanted)


def wealth(values: list[float], m: float, delta: float, least: float) -> float:
    """What a gambler has after all bets, written play by play."""
    n, money, total, squares = len(values), 1.0, 0.0, 0.25
    for t, value in enumerate(values):
        variance = squares / max(t, 1)
        bet = min(math.sqrt(2 * math.log(1 / delta) / (n * variance)), 0.9 / (1 - least))
        money *= 1 + bet * (value - m)
        total += value
        squares += (value - total / (t + 2)) ** 2
    return money


@pytest.mark.parametrize("least", [-1.0, 0.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_where_the_gambler_has_enough(seed: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.uniform(least, 1, 60) * (rng.random(60) < 0.5)
    bound = mean_at_least(values, 0.1, least)
    assert wealth(values.tolist(), bound, 0.1, least) == pytest.approx(10.0, rel=1e-6)
    assert bound < values.mean()


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(([0.0, 1.0, -1.0], [0.9, 0.06, 0.04]), id="rare"),
        pytest.param(([1.0, -1.0], [0.5, 0.5]), id="a coin"),
        pytest.param(([0.02, -1.0], [0.98, 0.02]), id="rare and large"),
        pytest.param(([0.3], [1.0]), id="constant"),
        pytest.param(([0.0, 1.0], [0.1, 0.9]), id="not negative"),
        pytest.param(([0.0, 0.05], [0.02, 0.98]), id="not negative and small"),
    ],
)
def test_coverage_of_betting(law: tuple[list[float], list[float]]) -> None:
    """At delta = 0.2 at most 0.2 of 500 bounds are too high, up to 3 standard errors."""
    values, probabilities = np.array(law[0]), np.array(law[1])
    rng, mean, wrong = np.random.default_rng(3), float(values @ probabilities), 0
    least = min(0.0, float(values.min())) and -1.0
    for _ in range(500):
        wrong += mean_at_least(rng.choice(values, 100, p=probabilities), 0.2, least) > mean + 1e-12
    assert wrong <= 100 + 3 * math.sqrt(500 * 0.2 * 0.8)


def test_values_that_are_not_negative_allow_larger_bets() -> None:
    """Few values with little variance: then the largest bet decides how close the bound is."""
    values = np.random.default_rng(1).uniform(0.5, 0.6, 60)
    far = float(values.mean()) - mean_at_least(values, 0.01)
    near = float(values.mean()) - mean_at_least(values, 0.01, 0.0)
    assert near < 0.6 * far


def test_betting_needs_less_than_the_range() -> None:
    """With little variance the bound is much closer than a bound that knows only the range."""
    values = np.where(np.random.default_rng(1).random(2000) < 0.05, 0.5, 0.0)
    margin = float(values.mean()) - mean_at_least(values, 0.01)
    normal = math.sqrt(2 * math.log(1 / 0.01) * float(values.var()) / 2000)
    assert 0.8 * normal < margin < 1.2 * normal
