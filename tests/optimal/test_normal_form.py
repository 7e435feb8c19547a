"""The best NFCE, by the normal form of a small game, against a linear program over full plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, seed

import accord
from accord.errors import BudgetError
from accord.game.library import kuhn, library_game
from accord.optimal.normal_form import feasible_payoffs
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.command import refused, run_json
from tests.support.strategies import examples, games

MOST = 300
"""Profiles of full plans that the oracle enumerates."""


@pytest.mark.slow
@seed(20291)
@examples(25)
@given(games(max_depth=4, max_actions=2))
def test_the_best_nfce_is_that_of_a_program_over_all_full_plans(game):
    counts = [2 ** len(reference.infosets(game, i)) for i in range(game.n_players)]
    assume(4 <= np.prod(counts) <= MOST)
    for weights in ([1.0] * game.n_players, [1.0] + [0.0] * (game.n_players - 1)):
        found = accord.optimize(game, "nfce", weights)
        span = 1.0 + float(np.abs(sequence_form(game).leaves.payoff).max())
        want = reference.best_nfce(game, weights)
        assert found.value == pytest.approx(want, rel=0, abs=1e-7 * span)
        assert found.optimal
        assert found.gap <= 1e-9 * span
        assert found.bound >= found.value - 1e-9 * span


@seed(30)
@examples(50)
@given(games(max_depth=4, max_actions=2))
def test_feasible_payoffs_are_those_of_all_full_plans(game):
    counts = [2 ** len(reference.infosets(game, i)) for i in range(game.n_players)]
    assume(game.n_players > 1 and np.prod(counts) <= MOST)
    corners = feasible_payoffs(sequence_form(game), (0, 1))
    paid = reference.paid_by_all(game).reshape(-1, game.n_players)[:, :2]
    span = 1.0 + float(np.abs(paid).max())
    for angle in np.linspace(0.0, 2 * np.pi, 40):
        way = np.array([np.cos(angle), np.sin(angle)])
        assert (corners @ way).max() == pytest.approx((paid @ way).max(), rel=0, abs=1e-8 * span)
    for corner in corners:
        assert np.abs(paid - corner).max(axis=1).min() <= 1e-12 * span


def test_large_games_have_no_list_of_feasible_payoffs():
    assert feasible_payoffs(sequence_form(kuhn()), (0, 1)) is not None
    large = sequence_form(accord.load_game("kuhn_poker(players=3)"))
    assert feasible_payoffs(large, (0, 1)) is None


def test_the_signalling_game_of_von_stengel_and_forges():
    """Its only NFCE outcome is that of the pooling equilibrium, while an EFCE signals."""
    game = library_game("signalling")
    assert accord.optimize(game, 1).value == pytest.approx(10)
    found = accord.optimize(game, "nfce")
    assert found.optimal
    assert found.certificate["nfce"].gap == pytest.approx(0, abs=1e-12)
    assert found.values == pytest.approx((0, 6))
    drawn = accord.region(game, [1, "nfce"])
    assert drawn.exact
    (point,) = drawn["nfce"].vertices
    assert point.values == pytest.approx((0, 6))


def test_the_region_is_inside_that_of_every_weaker_notion():
    drawn = accord.region(library_game("chicken"), [0, "efcce", 1, "nfce"])
    assert drawn.exact
    assert [polygon.title for polygon in drawn.polygons][-1] == "NFCE"
    corners = {tuple(np.round(v.values, 9)) for v in drawn["nfce"].vertices}
    assert corners == {(2, 7), (7, 2), (3.6, 3.6), (5.25, 5.25)}  # one decision each: as an EFCE


def test_a_run_is_kept_resumed_and_reported(tmp_path):
    command = ("optimize", "signalling", "-k", "nfce", "--out", tmp_path / "run")
    assert run_json(*command)["value"] == pytest.approx(6)
    assert run_json("optimize", "--resume", tmp_path / "run")["value"] == pytest.approx(6)
    run_json("report", tmp_path / "run")


def test_large_games_are_refused_with_their_numbers_of_plans():
    with pytest.raises(BudgetError, match=r"at most 20,000; .* \(player 1 6561 and player 2"):
        accord.optimize(kuhn(3), "nfce")
    assert "cannot be certified as an NFCE" in refused("optimize", "leduc_poker", "-k", "nfce")
    assert "player 3 6.554e+04" in refused("region", "kuhn:players=3", "-k", "nfce")
