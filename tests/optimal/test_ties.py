"""Chance that only some see: relaxations whose equations are tied by multipliers."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.equilibrium.filling import DEFINE, FILL, TIED, Filling
from accord.game.library import kuhn
from accord.optimal import column_generation
from accord.optimal.incentives import Incentives
from accord.optimal.large import LargeSearch
from accord.optimal.objective import as_objective
from accord.optimal.polytope import Relaxation
from accord.optimal.saddle import Prices, Saddle, Sides
from accord.optimal.tuples import Tuples
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests import reference
from tests.optimal.test_polytope import plan_tuples
from tests.optimal.test_saddle import random_plan
from tests.support.strategies import examples

seeds = st.integers(0, 2**32 - 1)


def raked():
    """Kuhn poker whose winner pays a tenth of what they win: not a zero-sum game any more."""
    game = kuhn()
    return game.replace(reward=np.where(game.reward > 0, 0.9, 1.0) * game.reward)


def dealt(seed, types=2):
    """Each player is dealt a type in private; the second may see what the first does."""
    rng = np.random.default_rng(seed)
    b = accord.GameBuilder(players="1 2", name=f"deals {seed}")
    pairs = list(product(range(types), repeat=2))
    odds = rng.integers(1, 5, len(pairs)).tolist()
    chances = [Fraction(one, sum(odds)) for one in odds]
    b.chance(dict(zip((f"{s}-{t}" for s, t in pairs), chances, strict=True)))
    seen = bool(rng.integers(2))
    for s, t in pairs:
        b.move(f"{s}-{t}", player="1", infoset=f"type {s}", actions="l r")
        for first in "lr":
            known = f"type {t} {first}" if seen else f"type {t}"
            b.move(f"{s}-{t} {first}", player="2", infoset=known, actions="l r")
            for second in "lr":
                b.payoff(f"{s}-{t} {first} {second}", *rng.integers(-3, 4, 2).tolist())
    return b.build()


def tied(game, k=1):
    tuples = Tuples(Incentives.build(sequence_form(game), k), 100_000)
    filling = Filling.of(tuples, tie=True)
    assert filling is not None
    return filling


@pytest.mark.kernels
@examples(40)
@given(seeds, st.sampled_from([0, 1]))
def test_every_game_of_two_players_can_be_filled_in(seed, k):
    """With ties, which joint plans satisfy; without, private deals to both players have none."""
    game = dealt(seed, 3)
    filling = tied(game, k)
    tuples, use = filling.tuples, filling.use
    assert len(filling.order) == np.isin(use, (FILL, DEFINE)).sum()
    assert TIED in use
    assert Filling.of(tuples) is None
    sides = Sides(filling, as_objective("welfare", game.player_labels))
    plan = plan_tuples(tuples, random_plan(tuples.incentives, np.random.default_rng(seed)))
    xi = np.zeros(len(tuples))
    xi[sides.number] = plan
    np.testing.assert_array_equal(sides.violations(xi), 0.0)


@pytest.mark.kernels
@examples(60)
@given(seeds, st.sampled_from([0, 1]), st.sampled_from(["welfare", [1, 0], [-1, 2]]))
def test_no_prices_give_a_bound_that_an_equilibrium_beats(seed, k, objective):
    """Averaged prices, damaged ones and nonsense, against the best of all profiles."""
    game = dealt(seed)
    goal = as_objective(objective, game.player_labels)
    best = reference.best_by_enumeration(game, k, np.array(goal.weights))
    sides = Sides(tied(game, k), goal)
    rng = np.random.default_rng(seed)
    run = Saddle(sides, 4.0)
    for _ in range(50):
        run.step()
    center = float(goal.center(sides.incentives.form.leaves))
    own = run.prices
    for size in (0.0, 1.0, 1e6):
        tie = own.tie + size * rng.normal(size=len(own.tie))
        for flow in (own.flow, own.flow + size * rng.normal(size=len(own.flow))):
            bound, error = sides.bound(Prices(flow, own.gradient, own.floor, tie))
            assert error >= 0.0
            assert best <= center + bound + 1e-12 * (1 + size)


@pytest.mark.slow
@examples(20)
@given(seeds, st.sampled_from([0, 1]))
def test_the_bound_approaches_that_of_the_linear_program(seed, k):
    """From above: together with the ties the filling has all equations."""
    game = dealt(seed, 3)
    filling = tied(game, k)
    objective = as_objective("welfare", game.player_labels)
    want = Relaxation(filling.tuples, objective, 0.0).solve()
    search = LargeSearch(filling, objective)
    search.relax(time.monotonic() + 60.0)
    scale = search.sides.scale
    assert want.bound - want.error - 1e-9 * scale <= search.bound <= want.bound + 0.02 * scale


def test_raked_kuhn_poker_without_a_linear_program():
    """Prices and bound of the saddle point take the place of the relaxation's."""
    game = raked()
    want = optimize(game)
    assert want.optimal
    with mock.patch.object(column_generation.Relaxation, "solve", return_value=None):
        found = optimize(game)
    assert found.gap <= found.error
    assert found.value == pytest.approx(want.value, abs=1e-9)
    spread = as_objective("welfare", game.player_labels).scale(sequence_form(game))
    assert want.value - 1e-12 <= found.bound <= want.value + 2e-3 * spread
