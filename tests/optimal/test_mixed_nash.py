"""Mixed Nash equilibria, by theorems: how many there are, where they lie, and known ones."""

from __future__ import annotations

import numpy as np
import pytest

import accord
from accord.game.library import kuhn, library_game
from accord.optimal.mixed_nash import mixed_nash_payoffs
from accord.optimal.pure_nash import pure_nash_payoffs
from accord.treeplex.form import sequence_form


def both(game):
    form = sequence_form(game)
    pure, mixed = pure_nash_payoffs(form), mixed_nash_payoffs(form)
    assert pure is not None
    assert mixed is not None
    return pure, mixed


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3), (4, 3), (4, 4)])
def test_the_number_of_equilibria_is_odd(shape):
    """Wilson 1971: so it is in almost all games, and equal payoffs have probability 0."""
    rng = np.random.default_rng(7)
    found_mixed = 0
    for _ in range(40):
        pure, mixed = both(accord.matrix_game(rng.random((2, *shape))))
        assert (len(pure) + len(mixed)) % 2 == 1
        found_mixed += len(mixed)
    assert found_mixed > 5


def test_two_by_two_in_closed_form():
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(60):
        a, b = rng.random((2, 2, 2))
        y = (a[1, 1] - a[0, 1]) / (a[0, 0] - a[0, 1] - a[1, 0] + a[1, 1])
        x = (b[1, 1] - b[1, 0]) / (b[0, 0] - b[0, 1] - b[1, 0] + b[1, 1])
        _, mixed = both(accord.matrix_game(np.array([a, b])))
        if 0 < x < 1 and 0 < y < 1:
            wanted = [a[0] @ [y, 1 - y], b[:, 0] @ [x, 1 - x]]
            np.testing.assert_allclose(mixed, [wanted], rtol=1e-9)
            seen += 1
        else:
            assert len(mixed) == 0
    assert seen > 5


def test_known_ones_in_the_region():
    """They are correlated equilibria, so they lie in the region, and not on its best side."""
    found = accord.region(library_game("chicken"), 1)
    assert found.mixed_nash == (pytest.approx((14 / 3, 14 / 3)),)
    assert found.to_json()["mixed_nash"] == [pytest.approx([14 / 3, 14 / 3])]
    hull = np.array([vertex.payoffs for vertex in found[1].vertices])
    turned = np.roll(hull, -1, axis=0) - hull
    inward = np.array([14 / 3, 14 / 3]) - hull
    assert (turned[:, 0] * inward[:, 1] - turned[:, 1] * inward[:, 0] > -1e-9).all()


def test_games_without_an_answer():
    assert mixed_nash_payoffs(sequence_form(kuhn(3))) is None  # three players
    assert mixed_nash_payoffs(sequence_form(kuhn())) is None  # too many plans
    assert accord.region(kuhn(), 1).mixed_nash is None  # zero-sum: all have the same payoffs
    _, mixed = both(library_game("prisoners_dilemma"))
    assert mixed.shape == (0, 2)
