"""The prices of binding constraints: they prove the bound, and what they price binds."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.certifying.exact import certify
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.evaluation import BestDeviation, evaluate
from accord.equilibrium.gap import Deviator
from accord.game.library import chicken, matrix_game, signalling
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests.support.strategies import examples, games


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans())
def test_prices_prove_the_bound_of_a_matrix_game(seed, players, minimize):
    """For every profile: the objective minus what the priced deviations gain is at most the value.
    So no correlated equilibrium is better. Nothing of the package checks it."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=players)
    pay = rng.integers(-4, 5, size=(players, *sizes)).astype(float)
    game = matrix_game(pay)
    weights = rng.integers(-2, 3, size=players)
    found = optimize(game, 1, weights.tolist(), minimize=minimize)
    assert found.optimal
    if found.columns == 1:  # a zero-sum game, which has no prices
        return
    sign = -1.0 if minimize else 1.0
    labels = list(game.player_labels)
    for profile in product(*map(range, sizes)):
        worth = sign * float(weights @ pay[(slice(None), *profile)])
        for one in found.binding:
            i = labels.index(one.player)
            if profile[i] == int(one.told):
                other = (*profile[:i], int(one.plays), *profile[i + 1 :])
                worth -= one.price * (pay[(i, *other)] - pay[(i, *profile)])
        assert worth <= sign * found.value + 1e-6


@examples(25)
@given(games(max_players=3), st.sampled_from([1, math.inf, "afce"]))
def test_what_has_a_price_binds(game, k):
    """The best deviation that begins where a constraint has a price gains nothing."""
    found = optimize(game, k)
    prices = [one.price for one in found.binding]
    assert prices == sorted(prices, reverse=True)
    if not found.optimal:
        return
    form = sequence_form(game)
    trees = [RechistoryTree.build(plex, 1 if k != "afce" else k) for plex in form.plexes]
    deviators = {i: [Deviator(tree)] for i, tree in enumerate(trees)}
    evaluate(found.policy, deviators)
    best = [BestDeviation.of(own[0]) for own in deviators.values()]
    for one in found.binding:
        i = list(game.player_labels).index(one.player)
        plex, span = form.plexes[i], form.leaves.payoff_range[i]
        x = list(plex.infoset_labels).index(one.infoset)
        r, a = (plex.action_labels[x].index(name) for name in (one.told, one.plays))
        gain = best[i].obeying_at(x)[r] - best[i].cells(x)[r, a]
        assert abs(gain) <= 1e-7 * span


def test_prices_are_slopes():
    """Chicken: along the border of the region, a payoff of one costs the other 7/13."""
    found = optimize(chicken(), 1, {"row": 1}, at_least={"col": 4})
    floor = next(one for one in found.binding if one.floor is not None)
    assert floor.price == pytest.approx(7 / 13)
    more = optimize(chicken(), 1, {"row": 1}, at_least={"col": 4.1})
    assert more.value == pytest.approx(found.value - 0.1 * floor.price)


@pytest.mark.parametrize("k", [0, 1, "efcce"])
def test_a_small_gap_is_worth_its_price(k):
    """With one decision per player an allowed gap relaxes one constraint of each."""
    exact = optimize(chicken(), k)
    loose = optimize(chicken(), k, target_gap=0.01)
    worth = sum(one.price for one in exact.binding)
    assert loose.value == pytest.approx(exact.value + 0.01 * worth, abs=1e-6)


def test_words_and_json(tmp_path):
    found = optimize(signalling(), 1, {"professor": 1}, folder=tmp_path / "run")
    words = "player student at 'bad' told 'X', would play 'Y': binding, price 0.5"
    assert words in map(str, found.binding)
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["result"]["binding"]
    assert words in [one["text"] for one in kept]
    alone = optimize(signalling(), 0, {"professor": 1})
    assert str(alone.binding[0]) == (
        "player student would ignore all recommendations: binding, price 1"
    )
    coarse = optimize(signalling(), "efcce", {"professor": 1})
    assert "before being told, would play" in str(coarse.binding[0])


def test_players_who_commit_have_no_price():
    game = accord.load_game("persuasion")
    found = optimize(game, 1, {"prosecutor": 1}, commits="prosecutor")
    assert {one.player for one in found.binding} == {"judge"}
    assert certify(game, found.policy, 1, commits="prosecutor")[1].gap == 0.0


def test_large_games_have_prices_too(monkeypatch):
    from accord.optimal import large

    monkeypatch.setattr(large, "LARGE", 10)
    found = optimize(chicken(), 1)
    monkeypatch.setattr(large, "LARGE", 0)
    again = optimize(chicken(), 1)
    for one in (found, again):
        assert sum(price.price for price in one.binding) == pytest.approx(1.5, abs=0.05)
