"""Optima in which players get at least so much, and equilibria with given payoffs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.certifying.exact import certify
from accord.errors import ArgumentError
from accord.game.library import chicken, random_game, signalling
from accord.optimal.polygon import distances, hull, nearest_mixture
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests import reference
from tests.optimal.test_optimum import tiny
from tests.support.strategies import examples, games

weights = st.lists(st.integers(-2, 2), min_size=3, max_size=3)
shares = st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3)


@pytest.mark.slow
@examples(40)
@given(games(max_players=3), st.sampled_from([0, 1, math.inf]), weights, shares)
def test_floors_hold_and_nothing_better_is_left(game, k, numbers, high):
    """Against a program over all profiles, floors anywhere between the least and the largest payoff
    that equilibria pay a player."""
    assume(tiny(game, k))
    numbers = numbers[: game.n_players]
    eye = np.eye(game.n_players)
    most = [reference.best_by_enumeration(game, k, one) for one in eye]
    least = [-reference.best_by_enumeration(game, k, -one) for one in eye]
    pairs = zip(least, most, high, strict=False)
    floor = np.array([round(low + share * (top - low), 6) for low, top, share in pairs])
    want = reference.best_by_enumeration(game, k, numbers, floor=floor)
    lower = reference.best_by_enumeration(game, k, numbers, floor=floor - 1e-5)
    assume(math.isinf(want) == math.isinf(lower))  # else rounding decides
    at_least = dict(zip(game.player_labels, floor.tolist(), strict=True))
    if math.isinf(want):
        with pytest.raises(ArgumentError, match=r"at least|in every equilibrium"):
            optimize(game, k, numbers, at_least=at_least)
        return
    found = optimize(game, k, numbers, at_least=at_least)
    assert found.optimal
    span = sequence_form(game).leaves.payoff_range
    assert (np.array(found.values) >= floor - 1e-8 * (1 + span)).all()
    assert found.value == pytest.approx(want, rel=0, abs=1e-7)
    assert found.bound >= want - 1e-9


@pytest.mark.parametrize("k", [0, 1, math.inf, "efcce", "afce", "afcce"])
def test_chicken_with_a_floor(k):
    """Between (5.25, 5.25) and (7, 2) the border of the region is a segment."""
    found = optimize(chicken(), k, {"row": 1}, at_least={"col": 4})
    assert found.optimal
    assert found.values == (pytest.approx(77 / 13), pytest.approx(4.0))
    assert found.to_json()["at_least"] == {"col": 4.0}
    if found.rational is not None:
        assert str(found.rational.value) == "77/13"


def test_a_floor_that_rounding_misses_is_held():
    """A payoff of -0.038 may be some units in the last place less, as sums are."""
    payoff = -0.038
    for _ in range(6):
        payoff = math.nextafter(payoff, -1.0)
    builder = accord.GameBuilder(players="a")
    builder.move(player="a", actions="x")
    builder.payoff("x", payoff)
    assert optimize(builder.build(), 0, at_least={"a": -0.038}).optimal
    assert not optimize(builder.build(), 0, at_least={"a": -0.0379999999999}).optimal


def test_a_floor_that_does_not_bind_changes_nothing():
    free, held = optimize(signalling(), 1), optimize(signalling(), 1, at_least={"student": 0})
    assert held.value == pytest.approx(free.value, rel=0, abs=1e-9)
    assert held.optimal


def test_egalitarian_and_committed_players_may_have_floors():
    found = optimize(chicken(), 1, "egalitarian", at_least={"row": "11/2"})
    assert found.values[0] == pytest.approx(5.5)
    assert found.value == pytest.approx(found.values[1])
    fixed = optimize(chicken(), 1, {"row": 1}, commits="row", at_least={"col": 6})
    assert fixed.values == (pytest.approx(27 / 7), pytest.approx(6))  # b = a / 2, 7 - 7 a / 2 = 6


def test_too_much_is_refused():
    with pytest.raises(ArgumentError, match="no equilibrium pays everybody"):
        optimize(chicken(), 1, at_least={"row": 6, "col": 6})
    with pytest.raises(ArgumentError, match="gets 0 in every equilibrium of this zero-sum game"):
        optimize(accord.load_game("matching_pennies"), 1, at_least={"row": 0.5})
    with pytest.raises(ArgumentError, match="no player 'x'"):
        optimize(chicken(), 1, at_least={"x": 1})
    with pytest.raises(ArgumentError, match="finite"):
        optimize(chicken(), 1, at_least={"row": math.inf})


def test_a_run_with_a_floor_is_kept(tmp_path):
    asked = {"objective": {"row": 1}, "at_least": {"col": 4}, "folder": tmp_path / "run"}
    optimize(chicken(), 1, **asked)
    written = json.loads((tmp_path / "run" / "run.json").read_text())["asked"]
    assert written["at_least"] == {"col": 4.0}
    assert optimize(chicken(), 1, **asked, resume=True).value == pytest.approx(77 / 13)


def test_payoffs_are_found_or_the_nearest():
    found = optimize(chicken(), 1, payoffs=[5, 5])
    assert found.values == (pytest.approx(5), pytest.approx(5))
    assert found.gap == 0.0
    far = optimize(chicken(), 1, payoffs=["11/2", 5])
    assert far.optimal
    assert far.value == pytest.approx(-0.0164835, abs=1e-6)
    for payoffs in ([1], [1, 2, 3], [1, math.nan], ["a", 1]):
        with pytest.raises(ArgumentError, match="payoff"):
            optimize(chicken(), 1, payoffs=payoffs)
    with pytest.raises(ArgumentError, match="not both"):
        optimize(chicken(), 1, {"row": 1}, payoffs=[5, 5])


def test_a_region_has_a_policy_at_each_of_its_points():
    game = random_game(3, players=3, depth=3, actions=2)
    region = accord.region(game, [0, 1], players=game.player_labels[:2], tolerance=1e-4)
    rng = np.random.default_rng(0)
    for k in (0, 1):
        corners = np.array([vertex.payoffs for vertex in region[k].vertices])
        for _ in range(5):
            point = rng.dirichlet(np.ones(len(corners))) @ corners
            policy = region.policy_at(point, k)
            np.testing.assert_allclose(policy.values()[:2], point, rtol=0, atol=1e-9)
            assert certify(game, policy, k)[k].gap <= 1e-9
        outside = corners.max(axis=0) + 1.0
        nearest = region.policy_at(outside, k).values()[:2]
        assert (nearest <= corners.max(axis=0) + 1e-9).all()
    with pytest.raises(ArgumentError, match="two finite numbers"):
        region.policy_at([1.0])


@given(st.integers(0, 10**6))
def test_the_nearest_mixture_of_corners(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(-3, 4, size=(int(rng.integers(1, 6)), 2)).astype(float)
    polygon, point = points[hull(points, 1e-9)], rng.uniform(-4, 4, 2)
    weights = nearest_mixture(polygon, point)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).sum() <= 3
    away = float(np.linalg.norm(weights @ polygon - point))
    assert away == pytest.approx(float(distances(point[None], polygon)[0]), rel=0, abs=1e-9)
