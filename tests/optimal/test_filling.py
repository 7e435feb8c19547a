"""The order of filling: it sweeps out the cheapest joint plan, or refuses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.equilibrium.filling import DEFINE, FILL, IMPLIED, Filling
from accord.game.library import chicken, random_game, signalling
from accord.optimal.exact_pricing import read_plan
from accord.optimal.incentives import Incentives
from accord.optimal.tuples import Tuples
from accord.treeplex.form import sequence_form
from tests.optimal.test_polytope import plan_tuples
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels


def tuples_of(game, k):
    return Tuples(Incentives.build(sequence_form(game), k), 100_000)


@examples(60)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.3]),
    st.sampled_from([0, 1]),
)  # fmt: skip
def test_the_sweep_finds_the_cheapest_joint_plan(seed, observe, chance, k):
    """Against all joint plans, for any costs of tuples; without chance there always is a sweep."""
    game = random_game(
        seed=seed, players=2, depth=4, actions=2, observe=observe, chance=chance, stop=0.2
    )
    tuples = tuples_of(game, k)
    filling = Filling.of(tuples)
    if filling is None:
        assert chance > 0.0
        return
    sizes = np.concatenate([plex.n_actions for plex in sequence_form(game).plexes])
    if np.prod(sizes.astype(float)) > 500:
        return
    cost = np.random.default_rng(seed).normal(size=len(tuples))
    costs = [
        float(cost @ plan_tuples(tuples, np.array(plan, np.int32)))
        for plan in product(*map(range, sizes))
    ]
    least, told = filling.cheapest(cost)
    assert least == pytest.approx(min(costs), abs=1e-12)
    assert cost[told].sum() == pytest.approx(least, abs=1e-12)
    np.testing.assert_array_equal(plan_tuples(tuples, read_plan(tuples, told)), told)


@examples(30)
@given(st.integers(0, 2**32 - 1))
def test_any_shares_satisfy_all_equations(seed):
    rng = np.random.default_rng(seed)
    game = random_game(seed=seed, players=2, depth=5, actions=2, observe=0.5, chance=0.0)
    tuples = tuples_of(game, 1)
    filling, groups = Filling.of(tuples), tuples.groups
    xi = np.zeros(len(tuples))
    xi[0] = 1.0
    for group in filling.order:
        members = groups.members[groups.first[group] : groups.first[group + 1]]
        if filling.use[group] == FILL:
            xi[members] = xi[groups.head[group]] * rng.dirichlet(np.ones(len(members)))
        else:
            xi[groups.head[group]] = xi[members].sum()
    count, entries = tuples.equations()
    rows = np.bincount(entries.rows, entries.values * xi[entries.columns], count)
    np.testing.assert_allclose(rows, 0.0, atol=1e-14)


def test_a_simultaneous_move_is_filled_one_player_first():
    filling = Filling.of(tuples_of(chicken(), 1))
    assert np.bincount(filling.use).tolist() == [3, 2, 1]
    assert (FILL, DEFINE, IMPLIED) == (0, 1, 2)


def test_private_chance_moves_leave_no_order():
    assert Filling.of(tuples_of(signalling(), 1)) is None


def test_more_players_or_listening_deviators_leave_no_order():
    assert Filling.of(tuples_of(chicken(), 1)) is not None
    three = random_game(seed=1, players=3, depth=4, actions=2)
    assert Filling.of(tuples_of(three, 1)) is None
    longer = random_game(seed=3, players=2, depth=5, actions=2, observe=1.0, chance=0.0)
    assert Filling.of(tuples_of(longer, 2)) is None
