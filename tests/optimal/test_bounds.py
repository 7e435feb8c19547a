"""What ``optimize`` and ``region`` call proved, against rational arithmetic, over 30 decades."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accord import GameBuilder, matrix_game, optimize, region
from accord.errors import NumericalError
from accord.optimal.column_generation import ColumnGeneration
from accord.optimal.linear import LinearProgram, triples
from accord.runs import choosing
from accord.runs import optimize as optimizing
from tests.support.exact_bounds import (
    check_bounds,
    check_optimum,
    check_region,
    check_tree_bounds,
)

CHICKEN = np.array([[(6.0, 6.0), (2.0, 7.0)], [(7.0, 2.0), (0.0, 0.0)]])


def test_no_exact_equilibrium_beats_a_bound():
    assert sum(map(check_bounds, range(120))) > 60


def test_no_exact_equilibrium_of_a_tree_beats_a_bound():
    assert sum(map(check_tree_bounds, range(60))) > 20


def test_the_best_equilibrium_in_rational_arithmetic():
    assert sum(map(check_optimum, range(100))) > 50


def test_no_exact_equilibrium_is_outside_of_a_region():
    assert sum(map(check_region, range(60))) > 1000


def test_a_payoff_that_is_missed_by_little_is_not_called_optimal():
    """One cell pays the column player 7 + 3e-9, and the cell that the row player prefers 5e-9 less:
    the solver's tolerance must not decide whether the value is -8 or -6."""
    table = [
        [(3.0, -7.999999998), (-5.999999998, -0.999999998), (2.0, -8.000000003)],
        [(8.000000003, 6.999999998), (-0.999999998, 4.000000001), (-5.999999999, -4.0)],
        [(-3.000000002, -5.999999999), (-8.999999998, -7.999999997), (5.999999999, 7.000000003)],
    ]
    game = matrix_game(np.moveaxis(np.array(table), -1, 0))
    row, col = game.player_labels
    found = optimize(game, math.inf, [1, -2], commits=row, at_least={col: 7.000000003})
    assert found.bound >= -8.000000007
    if found.optimal:
        assert found.value == pytest.approx(-8.000000007, rel=0, abs=1e-12)
    else:
        assert found.lacking == pytest.approx(5e-9, rel=1e-3)
        assert "optimal up to a payoff that is 5e-09 too small" in repr(found)


def test_a_huge_loss_that_nobody_takes_does_not_lower_the_bound():
    for a, b in product((0.0005, 0.0003), (0.0, 1e-5)):
        table = [[(0, 0), (-1e9, -1e9)], [(-1e9, -1e9), (a, b)]]
        found = optimize(matrix_game(table))
        assert Fraction(found.bound) >= Fraction(a) + Fraction(b)


def test_the_bound_of_a_program_holds_in_rational_arithmetic():
    """The bound of any duals, with coefficients of all sizes, against the same sum in fractions."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        size = 10.0 ** rng.integers(-12, 13, (3, 4))
        matrix = rng.normal(size=(3, 4)) * size
        cost, most, upper = rng.normal(size=4) * 1e6, 10.0 ** rng.integers(-6, 7, 4), rng.random(3)
        program = LinearProgram()
        program.add_variables(4, -most, most, cost)
        rows, columns = np.divmod(np.arange(12), 4)
        program.add_rows(3, -math.inf, upper, triples(rows, columns, matrix.ravel()))
        duals = -rng.random(3) * 10.0 ** rng.integers(-9, 10, 3)
        exact = sum(Fraction(y) * Fraction(b) for y, b in zip(duals, upper, strict=True))
        for j in range(4):
            rest = Fraction(cost[j]) - sum(
                Fraction(y) * Fraction(a) for y, a in zip(duals, matrix[:, j], strict=True)
            )
            exact -= abs(rest) * Fraction(most[j])
        assert Fraction(program.safe_bound(duals)[0]) <= exact


def test_a_value_above_the_bound_is_an_error(monkeypatch):
    """A bound that is wrong by more than rounding is reported, not raised to the value."""
    proved = ColumnGeneration._tighten_bound
    monkeypatch.setattr(
        ColumnGeneration,
        "_tighten_bound",
        lambda self, bound, *rest: proved(self, (10.0, 0.0), *rest),
    )
    with pytest.raises(NumericalError, match="exceeds the bound"):
        optimize(matrix_game(np.moveaxis(CHICKEN, -1, 0)))
    with pytest.raises(NumericalError, match="beyond a proved bound"):
        region(matrix_game(np.moveaxis(CHICKEN, -1, 0)), 1)


def almost_dominated(edge):
    """Matching pennies or, as likely, a choice of a that costs them ``edge`` and gives b 1."""
    builder = GameBuilder("edge", players="a b")
    builder.chance({"left": "1/2", "right": "1/2"})
    builder.move("left", player="a", actions="H T")
    builder.move("left H", "left T", player="b", infoset="b", actions="H T")
    for history, won in (("H H", 1), ("H T", 0), ("T H", 0), ("T T", 1)):
        builder.payoff(f"left {history}", won, 1 - won)
    builder.move("right", player="a", infoset="gift", actions="keep give")
    builder.payoff("right keep", edge, 0)
    builder.payoff("right give", 0, 1)
    return builder.build()


def test_a_mixture_with_a_gap_is_not_proved_optimal(monkeypatch):
    """Without polishing the solver's tolerance leaves a gap that its error bound does not cover."""
    monkeypatch.setattr(optimizing, "polished", lambda program, lottery, *_: _tilted(program))
    monkeypatch.setattr(choosing, "rational_mixture", lambda *_: None)
    found = optimize(matrix_game(np.moveaxis(CHICKEN, -1, 0)))
    assert 0 < found.error < found.gap < 1e-8
    assert found.met
    assert not found.optimal
    assert "optimal up to a gap of" in repr(found)


def _tilted(program):
    """The best mixture of Chicken, moved a little outside the equilibria."""
    from accord import CorrelatedPolicy

    plans = [plan for plan in program.plans if plan.sum() < 2]
    weights = {0: 0.5 + 1e-10, 1: 0.25 - 0.5e-10}
    behavior = [np.concatenate(program.incentives.behaviors(plan)) for plan in plans]
    game = program.incentives.form.game
    return CorrelatedPolicy(game, [weights[int(plan.sum())] for plan in plans], behavior)


@pytest.mark.parametrize("edge", [1e-7, 1e-9, 1e-11])
def test_what_is_proved_optimal_is_an_equilibrium(edge):
    """In every equilibrium player b is worth 1/4, because a keeps what they can."""
    found = optimize(almost_dominated(edge), 1, {"b": 1})
    assert not found.optimal or found.value == pytest.approx(0.25, abs=1e-6)
    polygon = region(almost_dominated(edge), 1)[1]
    for vertex in polygon.vertices if polygon.exact else ():
        assert vertex.payoffs[1] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("objective", ["welfare", "egalitarian"])
@pytest.mark.parametrize("shift", [0.0, 1e9, 1e15])
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e15, 1e280])
def test_payoffs_of_any_size(objective, shift, size):
    """Scaled and shifted payoffs have the same equilibria, as far as doubles can hold them."""
    table = CHICKEN * size + shift * size
    found = optimize(matrix_game(np.moveaxis(table, -1, 0)), 1, objective)
    assert found.optimal
    best = (10.5 if objective == "welfare" else 5.25) * size
    players = 2 if objective == "welfare" else 1
    assert found.value - players * shift * size == pytest.approx(
        best, rel=1e-9, abs=shift * size * 1e-15
    )


@pytest.mark.parametrize("chance", [1e-6, 1e-9, 1e-12, 1e-100, 1e-300])
def test_chances_of_any_size(chance):
    builder = GameBuilder("rare", players=["row", "col"])
    builder.chance({"rare": chance, "usual": 1 - chance})
    builder.move("rare", player="row", actions="C D")
    builder.move("rare C", "rare D", player="col", infoset="col", actions="C D")
    for row, col in product(range(2), repeat=2):
        builder.payoff(f"rare {'CD'[row]} {'CD'[col]}", *map(float, CHICKEN[row, col]))
    builder.payoff("usual", 0, 0)
    found = optimize(builder.build())
    assert found.optimal
    assert found.value == pytest.approx(10.5 * chance, rel=1e-9, abs=0)
