"""Objectives: what can be written, what they are worth, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import ArgumentError
from accord.game.library import chicken, kuhn, signalling
from accord.optimal.objective import Objective, as_objective, objective_text
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests.support.strategies import examples

PLAYERS = ("row", "col", "third")


@pytest.mark.parametrize(
    ("given", "value", "text"),
    [
        ("welfare", 6.0, "welfare"),
        ([1, 1.0, "1"], 6.0, "welfare"),
        ("egalitarian", 1.0, "egalitarian"),
        ({"col": 1}, 2.0, "player=col"),
        ((0, 1, 0), 2.0, "player=col"),
        ([1, 0, -1], -2.0, "weights=1,0,-1"),
        ({"third": -1, "row": 1}, -2.0, "weights=1,0,-1"),
        (np.array([0.5, 1.0, 2.0]), 8.5, "weights=0.5,1,2"),
        (["1/2", Fraction(-1, 4), 0], 0.0, "weights=0.5,-0.25,0"),
        ({"row": 2}, 2.0, "weights=2,0,0"),
        ([0, 0, 0], 0.0, "weights=0,0,0"),
        (Objective((0.0, 3.0, 0.0)), 6.0, "weights=0,3,0"),
    ],
)
def test_what_objectives_are_worth(given, value, text):
    objective = as_objective(given, PLAYERS)
    assert objective.value((1.0, 2.0, 3.0), np.ones(3)) == value
    written = objective.written(PLAYERS)
    assert objective_text(written) == text
    assert objective_text(written, minimize=True) == f"minimize {text}"
    read = json.loads(json.dumps(written))
    assert as_objective(read, PLAYERS) == objective


def test_keep_is_minus_a_distance_in_payoff_ranges():
    objective = as_objective("keep", PLAYERS, target=(1.0, 2.0, 5.0))
    assert objective.value((1.0, 2.0, 5.0), np.array([1.0, 2.0, 4.0])) == 0.0
    assert objective.value((2.0, 1.0, 6.0), np.array([1.0, 2.0, 4.0])) == -1.75
    assert objective.value((1.0, 2.0, 6.0), np.array([1.0, 2.0, 0.0])) == -1.0  # constant payoff


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "objective must be 'welfare', 'egalitarian' or 'keep'"),
        ("wellfare", "got 'wellfare'"),
        ("player=col", "a mapping from players to weights; got 'player=col'"),
        ({"nobody": 1}, "no player 'nobody'; the players are 'row', 'col', 'third'"),
        ({}, "must have the weight of some player of 'row', 'col', 'third'"),
        ([1, 2], "weights must be 3 finite numbers, one per player; got 1, 2"),
        ([], "got none"),
        ([1, 2, "x"], "a weight must be a number, such as 0.25 or \"1/4\"; got 'x'"),
        ([1, 2, math.inf], "finite"),
        ({"row": math.nan}, "finite"),
        ("keep", "keeps the payoffs of a saved mixture"),
        (Objective((1.0, 0.0)), "must be for 3 players; got one for 2"),
        (3, "got 3"),
        (None, "got None"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ArgumentError, match=message):
        as_objective(given, PLAYERS)


def test_an_objective_has_its_own_direction():
    least = Objective((1.0, 0.0, 0.0), minimize=True)
    assert as_objective(least, PLAYERS) == as_objective(least, PLAYERS, minimize=True) == least
    with pytest.raises(ArgumentError, match="says itself whether it is minimized"):
        as_objective(Objective((1.0, 0.0, 0.0)), PLAYERS, minimize=True)


@pytest.mark.parametrize("text", ["egalitarian", "keep"])
def test_what_cannot_be_minimized(text):
    with pytest.raises(ArgumentError, match="can only be maximized"):
        as_objective(text, PLAYERS, minimize=True, target=(0, 0, 0))


@examples(100)
@given(
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.sampled_from(["welfare", "egalitarian", {"row": 1}, [1, 0, -1], "keep"]),
    st.booleans(),
)
def test_every_valid_gradient_bounds_the_objective(payoffs, gradient, wanted, minimize):
    minimize = minimize and wanted not in ("egalitarian", "keep")
    objective = as_objective(wanted, PLAYERS, minimize=minimize, target=(1.0, 2.0, 3.0))
    span = np.array([2.0, 5.0, 0.0])
    valid = objective.valid_gradient(np.array(gradient), span)
    bound = float(valid @ (np.array(payoffs) - np.array(objective.target or 0.0)))
    assert objective.sign * objective.value(payoffs, span) <= bound + 1e-12
    if objective.linear:
        assert objective.sign * objective.value(payoffs, span) == pytest.approx(bound, abs=1e-12)


def test_one_player_with_all_information():
    def most(game, given, **options):
        form, objective = sequence_form(game), as_objective(given, game.player_labels, **options)
        found = objective.center(form.leaves) + Fraction(objective.most(form))
        assert 0 <= found - round(found) < 1e-13
        return round(found)

    assert most(chicken(), "welfare") == 12
    assert most(chicken(), "egalitarian") == 7
    assert most(chicken(), [1, 0], minimize=True) == 0
    game = signalling()  # chance moves first: good students are accepted, bad ones refused
    assert most(game, {"professor": 1}) == 8
    scale = as_objective("welfare", game.player_labels).scale(sequence_form(game))
    assert math.isclose(scale, 4.0)  # of what can be expected before chance moves


def test_rounding_does_not_vary_an_objective():
    form = sequence_form(kuhn(players=3))
    leaves = form.leaves
    total = leaves.payoff.sum(axis=1) / leaves.prob
    assert 0 < np.ptp(total) < 1e-12
    assert as_objective("welfare", PLAYERS).scale(form) == 1.0
    assert 0.0005 < as_objective([1, 1, 0.999], PLAYERS).scale(form) < 0.006


def test_an_objective_that_varies_by_rounding_only_is_constant():
    """The payoffs of three players in Kuhn poker add up to 0 in every play, up to rounding."""
    game = kuhn(players=3)
    objective = as_objective("welfare", game.player_labels)
    assert objective.scale(sequence_form(game)) == 1.0
    found = optimize(game, 1, "welfare")
    assert found.optimal
    assert found.value == pytest.approx(0.0, abs=1e-9)
