"""Time limits inside a round: every phase ends, and what was found before still holds."""

from __future__ import annotations

import time

import numpy as np
import pytest

from accord._signals import OutOfTime
from accord.equilibrium.gap import efce_gaps
from accord.game.library import kuhn, signalling
from accord.optimal import column_generation
from accord.optimal.column_generation import ColumnGeneration
from accord.optimal.incentives import Incentives
from accord.optimal.objective import as_objective
from accord.optimal.polish import polished
from accord.treeplex.form import sequence_form
from tests.optimal.test_ties import raked


def search(game, k=1):
    incentives = Incentives.build(sequence_form(game), k)
    return ColumnGeneration(incentives, as_objective("welfare", game.player_labels))


def out_of_time():
    raise OutOfTime


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, "afce"])
def test_a_round_without_time_leaves_all_joint_plans_alike(k, monkeypatch):
    rounds = search(kuhn(players=3), k)
    monkeypatch.setattr(rounds.program, "solve", out_of_time)
    rounds.advance(0.0)
    assert rounds.late
    assert not rounds.exact
    np.testing.assert_allclose(rounds.lottery.weights, 1.0 / rounds.program.n_columns)
    assert rounds.bound == rounds.objective.most(rounds.form)
    gaps = rounds.program.gaps(rounds.lottery)
    assert rounds.lottery.slack > 0.0
    if k == 0:  # otherwise the slack is that of one trigger
        scaled = gaps / rounds.incentives.unit
        assert scaled.max() == pytest.approx(rounds.lottery.slack)


def test_no_prices_are_looked_for_without_time(monkeypatch):
    """Not even what the saddle point needs is built, or compiled."""
    built = []
    monkeypatch.setattr(column_generation.Relaxation, "solve", lambda *_: None)
    monkeypatch.setattr(column_generation, "LargeSearch", lambda *_: built.append(1))
    rounds = search(raked())
    rounds.advance(0.0)
    assert rounds.late
    assert not built


@pytest.mark.slow
def test_a_late_round_can_be_followed_by_others():
    game = signalling()
    rounds, whole = search(game), search(game)
    rounds.advance(0.0)
    for one in (rounds, whole):
        while not one.finished:
            one.advance()
        assert not one.late
    assert rounds.value == pytest.approx(whole.value, abs=1e-9)
    assert rounds.value == pytest.approx(10.0, abs=1e-9)


@pytest.mark.slow
def test_a_late_round_keeps_the_last_solution(monkeypatch):
    rounds = search(kuhn(players=3))
    while not rounds.exact:
        rounds.advance()
    best, bound = rounds.lottery, rounds.bound
    monkeypatch.setattr(rounds.program, "solve", out_of_time)
    rounds.advance(0.0)
    assert rounds.late
    assert rounds.lottery is best
    assert rounds.exact
    assert rounds.bound <= bound


@pytest.mark.slow
def test_a_mixture_is_exact_without_time_to_spare_components():
    rounds = search(signalling())
    while not rounds.finished:
        rounds.advance()
    for seconds in (0.0, np.inf):
        policy = polished(rounds.program, rounds.lottery, None, seconds)
        assert efce_gaps(policy, rounds.incentives.notion).max() <= 1e-9
        assert policy.values().sum() == pytest.approx(10.0, abs=1e-9)
    with pytest.raises(OutOfTime):
        rounds.program.end = time.monotonic() - 1.0
        rounds.program.highs.clearSolver()
        rounds.program.solve()
