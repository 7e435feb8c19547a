"""Saddle points: bounds that hold whatever the prices, exact plans, and the same bits again."""

from __future__ import annotations

import math
import signal
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.certifying.exact import certify
from accord.equilibrium.filling import Filling
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.pair_count import count_pairs
from accord.equilibrium.relevant import count_tuples
from accord.equilibrium.sharing import find_shares, spread
from accord.errors import ArgumentError, BudgetError
from accord.game.library import random_game, signalling
from accord.optimal import large
from accord.optimal.incentives import Incentives
from accord.optimal.large import LargeSearch, large_filling
from accord.optimal.objective import as_objective
from accord.optimal.program import Program
from accord.optimal.saddle import Prices, Saddle, Sides
from accord.optimal.tuples import Tuples
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests import reference
from tests.optimal.test_polytope import plan_tuples
from tests.support.strategies import examples

SHERIFF = "sheriff(num_rounds=2)"

seeds = st.integers(0, 2**32 - 1)
notions = st.sampled_from([0, 1, "efcce"])
objectives = st.sampled_from(["welfare", [1, 0], [-1, 2], "egalitarian"])


def played(seed, depth=4):
    return random_game(
        seed=seed, players=2, depth=depth, actions=2, observe=0.5, chance=0.0, stop=0.2
    )


def sides_of(game, k=1, objective="welfare", epsilon=0.0):
    tuples = Tuples(Incentives.build(sequence_form(game), k), 1_000_000)
    filling = Filling.of(tuples)
    assert filling is not None
    return Sides(filling, as_objective(objective, game.player_labels), epsilon)


def random_plan(incentives, rng):
    sizes = np.concatenate([plex.n_actions for plex in incentives.form.plexes])
    return incentives.reduced(rng.integers(0, sizes).astype(np.int32))


@pytest.mark.kernels
@examples(40)
@given(seeds, notions)
def test_a_plan_has_the_losses_and_gaps_of_its_joint_plan(seed, k):
    """Against the columns of the program, which come from other kernels."""
    sides = sides_of(played(seed), k)
    incentives = sides.incentives
    program = Program(incentives, sides.objective)
    rng = np.random.default_rng(seed)
    plan = random_plan(incentives, rng)
    program.add(plan)
    xi = np.zeros(sides.n_tuples)
    xi[sides.number] = plan_tuples(sides.tuples, plan)
    losses, gains = sides.averaged(xi)
    lottery = program.lottery(np.ones(1))
    np.testing.assert_allclose(losses, lottery.losses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gains * incentives.unit, program.gaps(lottery), rtol=0, atol=1e-12)


@pytest.mark.kernels
@examples(40)
@given(seeds, notions, objectives, st.sampled_from([0.0, 0.1]))
def test_no_prices_give_a_bound_that_an_equilibrium_beats(seed, k, objective, gap):
    """Averaged prices, damaged ones and nonsense, against the best of all profiles."""
    game = played(seed, 3)
    assume(reference.n_profiles(game) <= 60)
    found = optimize(game, k, objective, target_gap=gap)
    assert found.optimal
    sides = sides_of(game, k, objective, gap)
    rng = np.random.default_rng(seed)
    run = Saddle(sides, 4.0)
    for _ in range(50):
        run.step()
    center = float(sides.objective.center(sides.incentives.form.leaves))
    size = len(run.flow)
    damaged = run.flow * rng.uniform(0.0, 2.0, size) + rng.normal(size=size)
    for flow in (run.flow, damaged, rng.normal(size=size), np.full(size, np.nan)):
        for gradient in (run.prices.gradient, rng.normal(size=2)):
            bound, error = sides.bound(Prices(flow, gradient, np.zeros(2), np.zeros(0)))
            assert error >= 0.0
            assert found.value <= center + bound + 1e-12


@pytest.mark.slow
@examples(25)
@given(seeds, notions, objectives, st.sampled_from([0.0, 0.1]), st.booleans())
def test_it_finds_what_column_generation_finds(seed, k, objective, gap, minimize):
    game = played(seed)
    minimize = minimize and objective != "egalitarian"
    want = optimize(game, k, objective, minimize=minimize, target_gap=gap)
    assume(want.optimal and want.proof != "the sequence form of the zero-sum game")
    with mock.patch.object(large, "LARGE", 0):
        found = optimize(game, k, objective, minimize=minimize, target_gap=gap)
    sign = -1.0 if minimize else 1.0
    assert sign * found.bound >= sign * want.value - 1e-9
    spread = as_objective(objective, game.player_labels).scale(sequence_form(game))
    assert abs(found.bound - want.value) <= 2e-3 * spread
    if found.gap <= gap + 1e-9:
        assert sign * found.value <= sign * want.value + 1e-8


@pytest.mark.slow
@examples(25)
@given(
    seeds, st.sampled_from([2, 3]), st.sampled_from([0.0, 0.4]), st.sampled_from([0, 1, "efcce"])
)
def test_no_method_has_a_bound_below_enumeration(seed, players, chance, k):
    """Column generation and saddle points, stopped early or not, also with three players and with
    chance that only some see, where there is a relaxation or a search."""
    game = random_game(
        seed=seed, players=players, depth=3, actions=2, observe=0.3, chance=chance, stop=0.2
    )
    assume(1 < reference.n_profiles(game) <= 60)
    weights = np.random.default_rng(seed).integers(-2, 3, players).astype(float)
    assume(weights.any())
    best = reference.best_by_enumeration(game, k if k != "efcce" else "EFCCE", weights)
    for size in (large.LARGE, 0):
        for seconds in (0.0, None):
            with mock.patch.object(large, "LARGE", size):
                found = optimize(game, k, weights.tolist(), seconds=seconds)
            assert best <= found.bound + 1e-9
            if found.gap <= found.error:
                assert found.value <= best + 1e-7


@pytest.mark.slow
def test_averages_are_a_policy_where_no_mixture_was_found(tmp_path):
    """Stopped early, the search ends with the averaged plan, whose certificate is exact."""
    game = accord.load_game(SHERIFF)

    def stop(point):
        if point.iteration >= 200:
            signal.raise_signal(signal.SIGINT)

    with mock.patch.object(large, "LARGE", 0):
        found = optimize(game, folder=tmp_path / "run", progress=stop)
    assert found.interrupted and found.policy.plan is not None
    assert found.policy.n_components == found.to_json()["components"] == 0
    sides = sides_of(game)  # by other kernels
    losses, gains = sides.averaged(np.array(found.policy.plan.amount))
    unit = sides.incentives.unit
    np.testing.assert_allclose(found.player_gaps, gains * unit, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.values, sides.incentives.payoffs(losses), rtol=0, atol=1e-12)
    assert found.value <= found.bound + found.gap * 100
    again = accord.load_policy(tmp_path / "run", game)
    np.testing.assert_array_equal(again.plan.share, found.policy.plan.share)
    for k in (1, 2, math.inf):
        assert accord.certify(game, again, k)[k].gap == pytest.approx(found.gap, abs=1e-12)
    page = accord.report(found).html
    assert "Tuples of the correlation plan" in page
    reused = optimize(game, start=found, seconds=60)
    assert reused.gap <= reused.error


@pytest.mark.slow
def test_sheriff_is_proved_by_the_cells_that_bind():
    with mock.patch.object(large, "LARGE", 0):
        found = optimize(accord.load_game(SHERIFF))
    assert found.optimal
    assert found.value == pytest.approx(0.75, abs=1e-9)
    assert found.proof.startswith("correlation plans over relevant tuples")
    assert found.policy.is_mute()
    assert len(found.history) > 5
    for point in found.history:  # a plan with a small gap is worth hardly more than the bound
        if point.best.value is not None:
            assert point.best.value >= -0.1
    bounds = [point.best.bound for point in found.history]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.slow
def test_a_run_that_is_resumed_has_the_same_bits(tmp_path):
    game = accord.load_game(SHERIFF)

    class Stop(Exception):
        pass

    seen = []

    def interrupt(point):
        seen.append(point.iteration)
        if len(seen) == 20:
            raise Stop

    with mock.patch.object(large, "LARGE", 0):
        want = optimize(game, folder=tmp_path / "whole")
        with pytest.raises(Stop):
            optimize(game, folder=tmp_path / "parts", progress=interrupt)
        found = optimize(game, folder=tmp_path / "parts", resume=True)
    assert found.value == want.value
    assert found.bound == want.bound
    np.testing.assert_array_equal(found.policy.weights, want.policy.weights)
    np.testing.assert_array_equal(found.policy.behavior, want.policy.behavior)


@pytest.mark.kernels
def test_a_search_continues_from_its_state_in_every_phase():
    game = accord.load_game(SHERIFF)
    filling = Filling.of(Tuples(Incentives.build(sequence_form(game), 1), 100_000))
    objective = as_objective("welfare", game.player_labels)
    search, phases = LargeSearch(filling, objective), set()
    while not search.finished:
        search.advance(min(100, search.next_look() - search.iteration))
        if search.phase in phases:
            continue
        phases.add(search.phase)
        other = LargeSearch(filling, objective)
        other.restore({name: np.array(value) for name, value in search.state().items()})
        other.advance(7)
        again = LargeSearch(filling, objective)
        again.restore({name: np.array(value) for name, value in search.state().items()})
        again.advance(3)
        again.advance(4)
        for one, two in zip(other.state().items(), again.state().items(), strict=True):
            assert one[0] == two[0]
            np.testing.assert_array_equal(one[1], two[1])
    assert phases == {large.AVERAGING, large.SUPPORTING, large.PROVING, large.DONE}
    with pytest.raises(ValueError, match="plan_regret"):
        damaged = dict(search.state())
        damaged["averages_plan_regret"] = np.zeros(3)
        LargeSearch(filling, objective).restore(damaged)


def test_shares_of_a_plan_give_it_back():
    sides = sides_of(played(3, 5))
    run = Saddle(sides, 2.0)
    for _ in range(20):
        run.step()
    share, plan = np.zeros(sides.n_tuples), np.zeros(sides.n_tuples)
    find_shares(sides.plan, run.plan, share)
    plan[0] = 1.0
    spread(sides.plan, share, 0.0, plan, np.zeros(sides.n_tuples))
    np.testing.assert_allclose(plan, run.plan, rtol=0, atol=1e-12)


@examples(30)
@given(seeds, st.sampled_from([2, 3]))
def test_tuples_are_counted_without_making_them(seed, players):
    game = random_game(seed=seed, players=players, depth=4, actions=2, observe=0.5, chance=0.3)
    form = sequence_form(game)
    assert count_tuples(form) == len(Tuples(Incentives.build(form, 1), 1_000_000))
    if players == 2:
        assert count_pairs(form) == count_tuples(form)


def test_games_that_cannot_be_filled_or_do_not_fit_are_refused():
    assert large_filling(Incentives.build(sequence_form(signalling()), 1)) is None
    incentives = Incentives.build(sequence_form(played(3)), 1)
    with mock.patch.object(large, "LARGE", 0):
        assert large_filling(Incentives.build(sequence_form(signalling()), 1)) is None
        assert large_filling(incentives) is not None
        with (
            mock.patch.object(large, "BYTES_PER_TUPLE", 1e15),
            pytest.raises(BudgetError, match="tuples"),
        ):
            large_filling(incentives)


@pytest.mark.slow
@examples(25)
@given(seeds, st.sampled_from([2, 3]), st.sampled_from([0.0, 0.4]))
def test_more_deviations_change_no_outcome(seed, players, chance):
    """Random mixtures that say nothing new have the same gap for every K >= 1; optimize finds
    such a mixture, whatever K is."""
    rng = np.random.default_rng(seed)
    game = random_game(
        seed=seed, players=players, depth=5, actions=2, observe=0.5, chance=chance, stop=0.2
    )
    incentives = Incentives.build(sequence_form(game), 1)
    plans = {random_plan(incentives, rng).tobytes() for _ in range(4)}
    behavior = np.array(
        [np.concatenate(incentives.behaviors(np.frombuffer(p, np.int32).copy())) for p in plans]
    )
    policy = accord.CorrelatedPolicy(game, np.full(len(plans), 1 / len(plans)), behavior)
    assert policy.is_mute()
    want = efce_gaps(policy, 1)
    for k in (2, math.inf):  # these build the rechistories of K
        np.testing.assert_allclose(efce_gaps(policy, k), want, rtol=0, atol=1e-12)
        own = certify(game, policy, k)[k]
        np.testing.assert_allclose(own.player_gaps, want, rtol=0, atol=1e-9)


def test_a_policy_that_goes_on_speaking_is_not_mute():
    game = accord.load_game("separation:k=1")
    policy = accord.CorrelatedPolicy.from_device(game, accord.library_device("separation:k=1"))
    gaps = certify(game, policy, (1, 2))
    assert gaps[1].gap < gaps[2].gap
    assert not policy.is_mute()


@pytest.mark.slow
@examples(25)
@given(seeds, st.sampled_from([0, 1]), st.floats(0.0, 1.0), st.booleans())
def test_floors_hold_in_large_games(seed, k, share, egalitarian):
    """Against column generation."""
    game = played(seed)
    objective = "egalitarian" if egalitarian else [1, 0]
    most = optimize(game, k, [0, 1])
    least = optimize(game, k, [0, 1], minimize=True)
    assume(most.proof != "the sequence form of the zero-sum game")
    floor = least.value + share * (most.value - least.value)
    label = game.player_labels[1]
    want = optimize(game, k, objective, at_least={label: floor})
    with mock.patch.object(large, "LARGE", 0):
        found = optimize(game, k, objective, at_least={label: floor})
    spread = as_objective(objective, game.player_labels).scale(sequence_form(game))
    assert found.bound >= want.value - 1e-9 * (1 + spread)
    if found.met:
        assert found.value == pytest.approx(want.value, abs=1e-6 * (1 + spread))
        assert found.values[1] >= floor - 1e-6 * (1 + abs(floor))


def test_floors_that_nobody_can_have_are_refused_in_large_games():
    game = accord.load_game("sheriff(num_rounds=1)")
    most = optimize(game, 1, [0, 1]).value
    with (
        mock.patch.object(large, "LARGE", 0),
        pytest.raises(ArgumentError, match="at least"),
    ):
        optimize(game, 1, [1, 0], at_least={"1": most + 0.5})
