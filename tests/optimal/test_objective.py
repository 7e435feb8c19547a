"""Objectives: what can be written, what they are worth, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import ArgumentError
from accord.game.library import chicken, kuhn, signalling
from accord.optimal.free_play import free_bound
from accord.optimal.objective import parsed_objective
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests.support.strategies import examples

PLAYERS = ("row", "col", "third")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("welfare", 6.0),
        ("egalitarian", 1.0),
        ("player=col", 2.0),
        ("weights=1,0,-1", -2.0),
        ("weights= 0.5, 1e0, 2", 8.5),
    ],
)
def test_what_objectives_are_worth(text, value):
    objective = parsed_objective(text, PLAYERS)
    assert objective.value((1.0, 2.0, 3.0), np.ones(3)) == value
    assert objective.name == text


def test_keep_is_minus_a_distance_in_payoff_ranges():
    objective = parsed_objective("keep", PLAYERS, target=(1.0, 2.0, 5.0))
    assert objective.value((1.0, 2.0, 5.0), np.array([1.0, 2.0, 4.0])) == 0.0
    assert objective.value((2.0, 1.0, 6.0), np.array([1.0, 2.0, 4.0])) == -1.75
    assert objective.value((1.0, 2.0, 6.0), np.array([1.0, 2.0, 0.0])) == -1.0  # constant payoff


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "objective must be welfare, egalitarian, player=NAME"),
        ("wellfare", "got 'wellfare'"),
        ("welfare=1", "got 'welfare=1'"),
        ("player", "got 'player'"),
        ("player=nobody", "no player 'nobody'; the players are 'row', 'col', 'third'"),
        ("weights=1,2", "weights must be 3 finite numbers .* got '1,2'"),
        ("weights=1,2,x", "got '1,2,x'"),
        ("weights=1,2,inf", "finite"),
        ("weights=1,2,nan", "finite"),
        ("keep", "keeps the payoffs of a saved mixture"),
        (3, "objective must be a text"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ArgumentError, match=message):
        parsed_objective(text, PLAYERS)


@pytest.mark.parametrize("text", ["egalitarian", "keep"])
def test_what_cannot_be_minimised(text):
    with pytest.raises(ArgumentError, match="can only be maximised"):
        parsed_objective(text, PLAYERS, minimize=True, target=(0, 0, 0))


@examples(100)
@given(
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.sampled_from(["welfare", "egalitarian", "player=row", "weights=1,0,-1", "keep"]),
    st.booleans(),
)
def test_every_valid_gradient_bounds_the_objective(payoffs, gradient, text, minimize):
    minimize = minimize and text not in ("egalitarian", "keep")
    objective = parsed_objective(text, PLAYERS, minimize=minimize, target=(1.0, 2.0, 3.0))
    if text != "keep":
        objective = parsed_objective(text, PLAYERS, minimize=minimize)
    span = np.array([2.0, 5.0, 0.0])
    valid = objective.valid_gradient(np.array(gradient), span)
    bound = float(valid @ np.array(payoffs)) - objective.offset(valid)
    assert objective.sign * objective.value(payoffs, span) <= bound + 1e-12
    if objective.linear:
        assert objective.sign * objective.value(payoffs, span) == pytest.approx(bound, abs=1e-12)


def test_one_player_with_all_information():
    assert free_bound(chicken(), parsed_objective("welfare", ("row", "col"))) == 12
    assert free_bound(chicken(), parsed_objective("egalitarian", ("row", "col"))) == 7
    weights = parsed_objective("weights=1,0", ("row", "col"), minimize=True)
    assert free_bound(chicken(), weights) == 0
    game = signalling()  # chance moves first: good students are accepted, bad ones refused
    assert free_bound(game, parsed_objective("player=professor", game.player_labels)) == 8
    scale = parsed_objective("welfare", game.player_labels).scale(sequence_form(game).leaves)
    assert math.isclose(scale, 8.0)


def test_rounding_does_not_vary_an_objective():
    leaves = sequence_form(kuhn(players=3)).leaves
    total = leaves.payoff.sum(axis=1) / leaves.prob
    assert 0 < np.ptp(total) < 1e-12
    assert parsed_objective("welfare", PLAYERS).scale(leaves) == 1.0
    assert parsed_objective("weights=1,1,0.999", PLAYERS).scale(leaves) == pytest.approx(0.006)


def test_an_objective_that_varies_by_rounding_only_is_constant():
    """The payoffs of three players in Kuhn poker add up to 0 in every play, up to rounding."""
    game = kuhn(players=3)
    objective = parsed_objective("welfare", game.player_labels)
    assert objective.scale(sequence_form(game).leaves) == 1.0
    found = optimize(game, 1, "welfare")
    assert found.optimal
    assert found.value == pytest.approx(0.0, abs=1e-9)
