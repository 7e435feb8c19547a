"""Pricing: one sweep against all plans, descent, enumeration, the mixed-integer program."""

from __future__ import annotations

import math
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.optimal.enumeration import Enumeration, all_plans, count_plans
from accord.optimal.exact_pricing import price_exactly
from accord.optimal.incentives import Incentives
from accord.optimal.objective import as_objective
from accord.optimal.pricing import Multipliers, Pricing
from accord.optimal.program import Program
from accord.optimal.separation import Separation, settled_flow
from accord.optimal.tuples import Tuples
from accord.treeplex.form import sequence_form
from tests.support.policies import random_policy
from tests.support.strategies import examples, games

pytestmark = pytest.mark.kernels

seeds = st.integers(0, 2**32 - 1)
ks = st.sampled_from([0, 1, 2, math.inf, "efcce", "afce", "afcce"])


def plans_of(plex, limit):
    """The first pure plans of one player, not reduced, and whether they are all."""
    plans = list(islice(product(*(range(n) for n in plex.n_actions)), limit + 1))
    return plans[:limit], len(plans) <= limit


def random_prices(incentives, rng):
    """Prices that are no flow, of which half are 0."""
    flows = []
    for tree in incentives.trees:
        flow = rng.normal(size=tree.n_cells)
        flow[rng.random(tree.n_cells) < 0.5] = 0.0
        flows.append(flow)
    return Multipliers(rng.normal(size=len(flows)), tuple(flows))


def price(incentives, prices, plan):
    """G by its definition, from the plan's column."""
    column = incentives.column(plan)
    total = float(prices.kappa @ column.loss)
    for i, flow in enumerate(prices.flow):
        total -= float(flow[column.cells[i]] @ column.values[i])
    return total


def random_plan(incentives, rng):
    sizes = np.concatenate([plex.n_actions for plex in incentives.form.plexes])
    return incentives.reduced(np.array([rng.integers(n) for n in sizes], np.int32))


@examples(60)
@given(games(), ks, seeds)
def test_a_column_has_the_gaps_of_its_plan(game, k, seed):
    incentives = Incentives.build(sequence_form(game), k)
    plan = random_plan(incentives, np.random.default_rng(seed))
    column, scale = incentives.column(plan), incentives.unit
    policy = CorrelatedPolicy.product(game, incentives.behaviors(plan))
    np.testing.assert_allclose(incentives.payoffs(column.loss), policy.values(), atol=1e-12)
    gaps = efce_gaps(policy, k)
    for i, tree in enumerate(incentives.trees):
        total = np.zeros(tree.n_cells)
        total[column.cells[i]] = column.values[i]
        assert (total <= 0).all()
        separation = Separation(tree, incentives.obedient[i], triggers=False)
        least = separation.least_loss(total)
        assert (column.loss[i] - least) * scale[i] == pytest.approx(gaps[i], abs=1e-12)


@examples(60)
@given(games(), ks, seeds)
def test_reduced_plans_price_like_whole_ones(game, k, seed):
    incentives, rng = Incentives.build(sequence_form(game), k), np.random.default_rng(seed)
    sizes = np.concatenate([plex.n_actions for plex in incentives.form.plexes])
    whole = np.array([rng.integers(n) for n in sizes], np.int32)
    prices = random_prices(incentives, rng)
    reduced = incentives.reduced(whole)
    assert price(incentives, prices, reduced) == pytest.approx(
        price(incentives, prices, whole), abs=1e-12
    )
    np.testing.assert_array_equal(incentives.reduced(reduced), reduced)
    assert Pricing(incentives).price(prices, whole) == pytest.approx(
        price(incentives, prices, whole), abs=1e-12
    )


@examples(60)
@given(games(max_depth=3), ks, seeds)
def test_the_sweep_finds_the_best_plan_of_one_player(game, k, seed):
    incentives, rng = Incentives.build(sequence_form(game), k), np.random.default_rng(seed)
    prices, pricing = random_prices(incentives, rng), Pricing(incentives)
    plan = random_plan(incentives, rng)
    for i, plex in enumerate(incentives.form.plexes):
        pricing.place(prices, plan)
        parts = incentives.split_plan(plan)
        others = plan.copy()
        found = pricing.respond(prices, i, parts[i])
        assert found == pytest.approx(price(incentives, prices, plan), abs=1e-12)
        np.testing.assert_array_equal(incentives.reduced(plan), plan)
        values = []
        plans, complete = plans_of(plex, 100)
        for actions in plans:
            incentives.split_plan(others)[i][:] = actions
            values.append(price(incentives, prices, others))
        assert found <= min(values) + 1e-12
        if complete:
            assert found == pytest.approx(min(values), abs=1e-12)


@examples(40)
@given(games(), ks, seeds)
def test_descent_ends_where_no_player_improves(game, k, seed):
    incentives, rng = Incentives.build(sequence_form(game), k), np.random.default_rng(seed)
    prices, pricing = random_prices(incentives, rng), Pricing(incentives)
    start = random_plan(incentives, rng)
    value, plan = pricing.descend(prices, start, range(game.n_players), 1e-12)
    assert value <= price(incentives, prices, start) + 1e-12
    assert value == pytest.approx(price(incentives, prices, plan), abs=1e-12)
    for i in range(game.n_players):
        pricing.place(prices, plan)
        assert pricing.respond(prices, i, incentives.split_plan(plan.copy())[i]) >= value - 1e-11


@examples(40)
@given(games(max_depth=3), ks)
def test_reduced_plans_are_counted(game, k):
    incentives = Incentives.build(sequence_form(game), k)
    for i, tree in enumerate(incentives.trees):
        plans, complete = plans_of(tree.plex, 300)
        if not complete:
            continue
        plan = np.zeros(int(incentives.first_action[-1]), np.int32)
        reduced = set()
        for actions in plans:
            incentives.split_plan(plan)[i][:] = actions
            reduced.add(tuple(incentives.split_plan(incentives.reduced(plan))[i].tolist()))
        assert count_plans(tree) == len(reduced)
        assert {tuple(row) for row in all_plans(tree).tolist()} == reduced
        assert len(all_plans(tree)) == len(reduced)


@examples(40)
@given(games(max_depth=3), ks, seeds)
def test_enumeration_and_the_mixed_integer_program_agree(game, k, seed):
    incentives, rng = Incentives.build(sequence_form(game), k), np.random.default_rng(seed)
    prices, pricing = random_prices(incentives, rng), Pricing(incentives)
    enumeration = Enumeration(pricing)
    if enumeration.count > 500:
        return
    found = enumeration.cheapest(prices, 3)
    assert found[0][0] == min(value for value, _ in found)
    for value, plan in found:
        assert value == pytest.approx(price(incentives, prices, plan), abs=1e-12)
    for _ in range(5):
        _, plan = pricing.descend(prices, random_plan(incentives, rng), range(game.n_players), 0.0)
        assert found[0][0] <= price(incentives, prices, plan) + 1e-12
    priced = price_exactly(Tuples(incentives, 100_000), prices, None)
    assert priced.plan is not None
    assert price(incentives, prices, priced.plan) == pytest.approx(found[0][0], abs=1e-8)
    assert priced.least <= found[0][0] + 1e-12
    assert priced.least == pytest.approx(found[0][0], abs=1e-7)


@examples(60)
@given(games(), ks, seeds)
def test_a_settled_flow_never_grows(game, k, seed):
    rng = np.random.default_rng(seed)
    for tree in Incentives.build(sequence_form(game), k).trees:
        flow = rng.random(tree.n_cells)
        settled = settled_flow(tree, flow)
        assert (settled <= flow).all()
        rows = np.repeat(np.arange(len(tree.row_width)), tree.row_width)
        leaving = np.bincount(rows, settled)
        node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_row))
        arriving = settled[tree.arrays.parent_cell[node]]
        assert (leaving <= arriving * (1 + 1e-12))[1:].all()  # the first row is that of the root
        np.testing.assert_allclose(settled_flow(tree, settled), settled, rtol=1e-12)


@examples(60)
@given(games(max_depth=3), ks, seeds)
def test_any_prices_bound_every_equilibrium(game, k, seed):
    """Weak duality: any flows prove what no mixture with these gaps exceeds."""
    rng, form = np.random.default_rng(seed), sequence_form(game)
    policy = random_policy(game, seed)
    weights = rng.integers(-2, 3, game.n_players).tolist()
    objective = as_objective(weights, game.player_labels)
    incentives = Incentives.build(form, k)
    enumeration = Enumeration(Pricing(incentives))
    if enumeration.count > 300:
        return
    program = Program(incentives, objective, max(1e-3, float(efce_gaps(policy, k).max())))
    gradient = objective.valid_gradient(np.zeros(game.n_players), form.leaves.payoff_range)
    size = float(rng.choice([0.01, 0.1, 1.0]))
    flows = [settled_flow(tree, size * rng.random(tree.n_cells)) for tree in incentives.trees]
    kappa = gradient * incentives.unit / program.scale + [flow[0] for flow in flows]
    prices = Multipliers(kappa, tuple(flows))
    bound, _ = program.bound(prices, gradient, enumeration.cheapest(prices)[0][0])
    value = objective.value(policy.values(), form.leaves.payoff_range)
    assert value <= float(objective.center(form.leaves)) + bound + 1e-9
