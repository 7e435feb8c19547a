"""Two-player zero-sum games: one product component with gap 0 at every K."""

from __future__ import annotations

import math

import numpy as np
import pytest

import accord
from accord.certifying.exact import certify
from accord.game.library import chicken, kuhn, matrix_game, random_game, signalling
from accord.optimal.zero_sum import constant_sum
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form


def zero_sum_game(seed: int, constant: float = 0.0) -> accord.Game:
    """A random game in which what one player gains the other loses."""
    game = random_game(seed=seed, players=2, depth=4, actions=3, chance=0.3, levels=1001)
    reward = game.reward.copy()
    reward[:, 1] = -reward[:, 0]
    terminal = game.player[game.reward_node] == accord.TERMINAL
    reward[terminal, 1] += constant
    return game.replace(reward=reward)


def test_what_counts_as_zero_sum():
    assert constant_sum(sequence_form(kuhn())) == 0.0
    assert constant_sum(sequence_form(kuhn(players=3))) is None
    assert constant_sum(sequence_form(chicken())) is None
    assert constant_sum(sequence_form(signalling())) is None
    assert constant_sum(sequence_form(zero_sum_game(3, 7.0))) == pytest.approx(7.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_product_has_no_gap_at_any_k(seed):
    game = zero_sum_game(seed, constant=seed)
    values = []
    for k in (0, 1, math.inf):
        found = optimize(game, k, [1, 0])
        assert found.optimal
        assert found.policy.n_components == 1
        assert found.gap <= 1e-9
        values.append(found.value)
    gaps = certify(game, found.policy, (0, 1, 2, math.inf)).gaps
    assert max(gap.gap for gap in gaps) <= 1e-9
    least = optimize(game, 1, [1, 0], minimize=True)
    np.testing.assert_allclose(values, least.value, rtol=0, atol=1e-9)
    assert optimize(game, 1).value == pytest.approx(seed, abs=1e-9)


def test_with_a_gap_all_payoffs_of_zero_sum_games_may_differ():
    game = matrix_game([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]], name="pennies")
    exact = optimize(game, 1, [1, 0])
    assert exact.optimal
    assert exact.value == 0.0 <= exact.bound < 1e-12
    loose = optimize(game, 1, [1, 0], target_gap=0.25)
    assert loose.optimal
    assert 0.0 < loose.value <= 0.25 + 1e-9
    assert loose.gap == pytest.approx(0.25)


@pytest.mark.slow
def test_leduc():
    found = optimize(accord.load_game("leduc_poker"), math.inf, [1, 0])
    assert found.optimal
    assert found.value == pytest.approx(-0.08560642407800, abs=1e-9)
    assert found.gap <= 1e-9
