"""How fast the gap falls, in payoff units: the certificate is the judge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from accord.game.library import chicken, kuhn, matrix_game, signalling
from accord.interop.openspiel import load_openspiel
from accord.learning.self_play import SelfPlay
from accord.regret.methods import METHODS
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import sequence_form
from tests.support.runs import MINIMIZERS, run

pytestmark = pytest.mark.slow


def final_gap(game, k, minimizer, iterations, averaging):
    play = SelfPlay(
        sequence_form(game), k, minimizer, iterations=iterations, averaging=averaging, threads=1
    )
    play.advance(iterations)
    return float(play.gaps().max())


@pytest.mark.parametrize("k", [0, 1, math.inf])
@pytest.mark.parametrize(
    ("game", "first"),
    [(chicken(), 3_000), (signalling(), 3_000), (kuhn(), 10_000)],
    ids=["chicken", "signalling", "kuhn"],
)
def test_wrhedge_at_the_rate_of_the_paper_converges_in_its_order(game, first, k):
    """gap ~ T^(-1/2), once T is large enough for its constant."""
    times = [first, 3 * first, 10 * first]
    gaps = [final_gap(game, k, WRHedge(), T, 0) for T in times]
    slope = np.polyfit(np.log(times), np.log(gaps), 1)[0]
    assert -0.6 < slope < -0.44


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("name", MINIMIZERS)
@pytest.mark.parametrize("game", [chicken(), kuhn(3), signalling()], ids=lambda game: game.name)
def test_every_method_converges(game, name, k):
    """In a tenth of the payoff range at the paper's cautious rate, else in a hundredth."""
    averaging = {"prm+": 2, "decaying": 2, "rm+": 1}.get(name, 0)
    early, late = (final_gap(game, k, MINIMIZERS[name], T, averaging) for T in (50, 5000))
    unit = float(sequence_form(game).leaves.payoff_range.max())
    assert late < early / 2
    assert late < unit * (0.1 if isinstance(MINIMIZERS[name], WRHedge) else 0.01)


@pytest.mark.parametrize(
    ("name", "iterations", "gap"),
    [
        ("kuhn_poker(players=3)", 1000, 5e-5),
        ("kuhn_poker(players=3)", 10_000, 1e-7),
        ("goofspiel(imp_info=True,num_cards=4,points_order=descending)", 10_000, 1e-7),
        ("leduc_poker", 2000, 1e-3),
        ("sheriff", 300, 0.02),
    ],
)
def test_the_default_method_is_fast(name, iterations, gap):
    """At K = 1, in payoff units; about twice what was measured, or better."""
    game = load_openspiel(name)
    assert final_gap(game, 1, METHODS["prm+"].config, iterations, 2) < gap


def test_a_zero_sum_game_is_solved_to_its_value():
    play, _ = run(kuhn(), 1, iterations=2000, averaging=2)
    np.testing.assert_allclose(play.values(), [-1 / 18, 1 / 18], rtol=0, atol=1e-5)


def test_dominated_actions_vanish():
    dilemma = matrix_game([[[3, 0], [5, 1]], [[3, 5], [0, 1]]])
    for minimizer in MINIMIZERS.values():
        play, kept = run(dilemma, 1, minimizer, 2000, averaging=0)
        assert play.gaps().max() < 0.2
        assert kept[-1, [2, 5]].min() > 0.9  # defect
