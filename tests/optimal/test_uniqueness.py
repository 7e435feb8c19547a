"""Whether all optima have the same payoffs, against programs over all profiles."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.game.library import battle_of_the_sexes, chicken, kuhn, signalling
from accord.runs.optimize import optimize
from tests import reference
from tests.optimal.test_optimum import tiny
from tests.support.strategies import examples, games

weights = st.lists(st.integers(-2, 2), min_size=3, max_size=3)


@pytest.mark.slow
@examples(60)
@given(games(max_players=3), st.sampled_from([0, 1, math.inf]), weights)
def test_what_is_said_is_true(game, k, numbers):
    assume(tiny(game, k))
    numbers = numbers[: game.n_players]
    found = optimize(game, k, numbers)
    spread = reference.payoff_spread(game, k, numbers)
    if found.unique is True:
        assert spread <= 1e-5
    elif found.unique is False:
        assert spread >= 1e-8


@pytest.mark.parametrize(
    ("game", "objective", "unique"),
    [
        (chicken(), "welfare", True),
        (chicken(), "egalitarian", True),
        (battle_of_the_sexes(), "welfare", False),
        (signalling(), "welfare", False),
        (signalling(), {"professor": 1}, True),
        (kuhn(), "welfare", True),
    ],
)
def test_known_games(game, objective, unique):
    found = optimize(game, 1, objective)
    assert found.unique is unique
    assert found.to_json()["unique"] is unique


def test_floors_and_commitment_count():
    """Welfare is the same on the whole edge from truth to persuasion; a floor leaves one point."""
    game = accord.load_game("persuasion")
    assert optimize(game, 1, commits="prosecutor").unique is False
    held = optimize(game, 1, commits="prosecutor", at_least={"prosecutor": 0.6})
    assert held.unique is True


def test_an_optimum_that_is_not_proved_says_nothing():
    found = optimize(accord.load_game("kuhn_poker(players=3)"), 1, [1, 0, 0], seconds=0.0)
    assert found.unique is None
