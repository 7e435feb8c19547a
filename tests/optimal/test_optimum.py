"""The best equilibrium against programs over all profiles and modifications, and published ones."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.certifying.exact import certify
from accord.deviations.notions import LADDER
from accord.game.library import chicken, random_game, signalling
from accord.game.tree import Game
from accord.optimal import column_generation
from accord.optimal.column_generation import ColumnGeneration
from accord.optimal.incentives import Incentives
from accord.optimal.objective import Objective, as_objective
from accord.runs.optimize import optimize
from accord.runs.solve import solve
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.strategies import examples, games

SHERIFF = (
    "sheriff(item_penalty=1.0,item_value=5.0,max_bribe=2,max_items={},num_rounds={},"
    "sheriff_penalty=1.0)"
)
GOOFSPIEL = "goofspiel(imp_info=True,num_cards=3,points_order=ascending,returns_type=total_points)"

ks = st.sampled_from([0, 1, 2, math.inf])
weights = st.lists(st.integers(-2, 2), min_size=3, max_size=3)


def check(found: accord.runs.Optimum, want: float, gap: float = 0.0) -> None:
    """The value is right, proved, and that of an exact mixture of different pure plans."""
    assert found.optimal
    assert found.value == pytest.approx(want, rel=0, abs=1e-9)
    assert found.bound == pytest.approx(want, rel=0, abs=1e-7)
    check_mixture(found, gap)


def check_mixture(found: accord.runs.Optimum, gap: float = 0.0) -> None:
    game, policy = found.game, found.policy
    scale = sequence_form(game).leaves.loss_scale
    own = certify(game, policy, found.notion)[found.notion]
    assert own.player_gaps == found.player_gaps
    assert all(g * s <= gap * s + 1e-9 for g, s in zip(own.player_gaps, scale, strict=True))
    assert set(np.unique(policy.behavior)) <= {0.0, 1.0}
    assert len(np.unique(policy.behavior, axis=0)) == policy.n_components
    assert policy.weights.min() > 1e-11
    np.testing.assert_allclose(policy.values(), found.values, rtol=0, atol=1e-12)


def tiny(game: Game, k: float) -> bool:
    """Whether everything can be enumerated."""
    return reference.n_profiles(game) <= 150 and all(
        reference.n_modifications(game, i, k) <= 250 for i in range(game.n_players)
    )


@pytest.mark.slow
@examples(60)
@given(games(max_players=3), ks, weights, st.sampled_from([0.0, 0.0, 0.1]))
def test_it_is_the_best_of_all_profiles(game, k, numbers, gap):
    assume(tiny(game, k))
    numbers = numbers[: game.n_players]
    found = optimize(game, k, numbers, target_gap=gap)
    if found.policy.n_components > 1 or set(np.unique(found.policy.behavior)) <= {0.0, 1.0}:
        check(found, reference.best_by_enumeration(game, k, numbers, gap), gap)
    else:  # a zero-sum game: one product component
        assert found.optimal
        want = reference.best_by_enumeration(game, k, numbers, gap)
        assert found.value == pytest.approx(want, rel=0, abs=1e-9)


@pytest.mark.slow
@examples(30)
@given(games(max_players=3), ks)
def test_the_worst_off_player_cannot_be_better_off(game, k):
    assume(tiny(game, k))
    found = optimize(game, k, "egalitarian")
    assert found.optimal
    assert found.value == pytest.approx(reference.best_egalitarian(game, k), rel=0, abs=1e-9)
    assert found.value == min(found.values)


def test_value_and_payoffs_are_next_to_the_rational_ones():
    """Rounded one by one, the payoffs of the policy and its value differed in their last bit."""
    name = "random:seed=103,players=1,depth=2,actions=2,observe=0,chance=.2,levels=2"
    game = accord.load_game(name)
    found = optimize(game, 0, "egalitarian")
    assert found.rational is not None
    assert found.values == tuple(map(float, found.rational.payoffs))
    assert found.value == min(found.values) == float(found.rational.value)


NAMES = ["EFCCE", "AFCE", "AFCCE"]


def tiny_for(game: Game, notion: str) -> bool:
    """Whether everything can be enumerated, for a notion that is not a K-EFCE."""
    return reference.n_profiles(game) <= 60 and all(
        reference.n_deviations(game, i, notion) <= 200 for i in range(game.n_players)
    )


@pytest.mark.slow
@examples(60)
@given(
    games(max_players=3), st.sampled_from(NAMES), weights, st.sampled_from([0.0, 0.0, 0.1])
)  # fmt: skip
def test_it_is_the_best_of_all_profiles_for_other_notions(game, notion, numbers, gap):
    assume(tiny_for(game, notion))
    numbers = numbers[: game.n_players]
    found = optimize(game, notion.lower(), numbers, target_gap=gap)
    want = reference.best_by_enumeration(game, notion, numbers, gap)
    assert (found.notion.name, found.k) == (notion, None)
    assert found.optimal
    assert found.value == pytest.approx(want, rel=0, abs=1e-9)
    own = certify(game, found.policy, notion)[notion].player_gaps
    assert max(own) <= gap + 1e-9 * max(1.0, *sequence_form(game).leaves.payoff_range)
    if notion != "EFCCE" or gap > 0:  # else it may be a zero-sum game, with one product component
        check(found, want, gap)


@pytest.mark.slow
@examples(20)
@given(games(max_players=2), st.sampled_from(NAMES))
def test_the_worst_off_player_cannot_be_better_off_in_other_notions(game, notion):
    assume(tiny_for(game, notion))
    found = optimize(game, notion, "egalitarian")
    assert found.optimal
    assert found.value == pytest.approx(reference.best_egalitarian(game, notion), rel=0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["enumeration", "mixed-integer program"])
def test_other_proofs_lead_to_the_same_optimum_in_other_notions(way, monkeypatch):
    monkeypatch.setattr(column_generation.Relaxation, "solve", lambda *_: None)
    monkeypatch.setattr(Objective, "most", lambda *_: 1e6)
    if way == "mixed-integer program":
        monkeypatch.setattr(column_generation, "ENUMERATED", 0)
        monkeypatch.setattr(column_generation.Filling, "of", lambda _: None)
    tried = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        notion, players = NAMES[seed % 3], int(rng.integers(1, 4))
        game = random_game(
            seed=seed, players=players, depth=4, actions=2, observe=0.5, chance=0.2, stop=0.2
        )
        if not tiny_for(game, notion) or reference.n_profiles(game) < 4:
            continue
        numbers = rng.integers(-2, 3, players).tolist()
        found = optimize(game, notion, numbers, target_gap=0.05)
        assert way in found.proof
        check(found, reference.best_by_enumeration(game, notion, numbers, 0.05), 0.05)
        tried += 1
        if tried == 15:
            break
    assert tried == 15


@pytest.mark.slow
@examples(25)
@given(games(players=2), weights)
def test_stronger_notions_leave_less(game, numbers):
    """If the gap of one notion bounds that of another, its equilibria are fewer."""
    notions = [one for one in LADDER if not one.has_no_tree]
    best = {one: optimize(game, one, numbers[:2]) for one in notions}
    assert all(found.optimal for found in best.values())
    for one, other in product(notions, notions):
        if one.is_bounded_by(other):
            assert best[other].value <= best[one].value + 1e-9


def test_agent_forms_of_a_zero_sum_game_differ():
    """Who is told to stay out twice gains only by disobeying twice."""
    b = accord.GameBuilder("in or out", players=2)
    b.move(player="1", infoset="first", actions="in out")
    for first in ("in", "out"):
        b.move(first, player="1", infoset=f"after {first}", actions="in out")
        for second in ("in", "out"):
            won = first == second == "in"
            b.payoff(f"{first} {second}", won, -won)
    game = b.build()
    least = {k: optimize(game, k, {"1": 1}, minimize=True) for k in (0, "efcce", 1, 2)}
    assert {found.value for found in least.values()} == {1.0}
    for notion in ("afce", "afcce"):
        check(optimize(game, notion, {"1": 1}, minimize=True), 0.0)
        check(optimize(game, notion, {"1": 1}), 1.0)


@pytest.mark.slow
@examples(40)
@given(
    st.integers(0, 2**32 - 1), st.integers(3, 5), st.integers(2, 3), weights,
    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
)  # fmt: skip
def test_efce_is_the_optimum_of_the_polytope(seed, depth, actions, numbers, observe):
    game = random_game(
        seed=seed, players=2, depth=depth, actions=actions, observe=observe, chance=0.0, stop=0.2,
        levels=1001,
    )  # fmt: skip
    assume(4 <= len(sequence_form(game).leaves) <= 120)
    found = optimize(game, 1, numbers[:2])
    assert found.optimal
    want = reference.best_efce_by_polytope(game, numbers[:2])
    assert found.value == pytest.approx(want, rel=0, abs=1e-9)
    check_mixture(found)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["enumeration", "sweep", "mixed-integer program"])
def test_other_proofs_lead_to_the_same_optimum(way, monkeypatch):
    """Without the relaxation and the free bound, pricing must prove everything."""
    monkeypatch.setattr(column_generation.Relaxation, "solve", lambda *_: None)
    monkeypatch.setattr(ColumnGeneration, "_relax_nearly", lambda *_: None)
    monkeypatch.setattr(Objective, "most", lambda *_: 1e6)
    if way != "enumeration":
        monkeypatch.setattr(column_generation, "ENUMERATED", 0)
    if way == "mixed-integer program":
        monkeypatch.setattr(column_generation.Filling, "of", lambda _: None)
    swept = way == "sweep"  # two players at K <= 1 without chance
    tried = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        k = seed % 2 if swept else (0, 1, 2, math.inf)[seed % 4]
        players = 2 if swept else int(rng.integers(1, 4))
        game = random_game(
            seed=seed, players=players, depth=4, actions=3, observe=0.5,
            chance=0.0 if swept else 0.3, stop=0.2,
        )  # fmt: skip
        if not tiny(game, k) or reference.n_profiles(game) < 4:
            continue
        numbers = rng.integers(-2, 3, players).tolist()
        found = optimize(game, k, numbers, target_gap=0.05)
        assert way in found.proof
        want = reference.best_by_enumeration(game, k, numbers, 0.05)
        check(found, want, 0.05)
        objective = as_objective(numbers, game.player_labels)
        rounds = ColumnGeneration(Incentives.build(sequence_form(game), k), objective, 0.05)
        while not rounds.finished:
            rounds.advance()
        center = float(objective.center(rounds.form.leaves))
        assert center + rounds.bound >= want - 1e-9
        egalitarian = optimize(game, k, "egalitarian", target_gap=1e-300)
        assert egalitarian.optimal
        tried += 1
        if tried == 20:
            break
    assert tried == 20


@pytest.mark.slow
@examples(20)
@given(games(players=2), ks)
def test_no_equilibrium_found_by_learning_exceeds_the_bound(game, k):
    """Weak duality: the bound for its own gap holds for every mixture with that gap."""
    solution = solve(game, k, iterations=50)
    gap = max(0.0, solution.gap)
    values = np.array(solution.policy.values())
    for objective, value in (("welfare", values.sum()), ("egalitarian", values.min())):
        assert optimize(game, k, objective, target_gap=gap).bound >= value - 1e-9
    assert optimize(game, k, [1, -1], target_gap=gap, minimize=True).bound <= (
        values[0] - values[1] + 1e-9
    )


@pytest.mark.slow
@examples(20)
@given(games(players=2), weights)
def test_more_deviations_leave_less(game, numbers):
    """K-EFCE shrink as K grows, so their best values fall."""
    values = [optimize(game, k, numbers[:2]).value for k in (0, 1, 2, math.inf)]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(values))


# --- known values ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "rounds", "k", "welfare"),
    [
        (3, 1, 1, 420 / 79),
        (3, 1, math.inf, 420 / 79),
        (10, 1, 1, 2.693470083482),
        (5, 2, 1, 10.0),
        (5, 2, 0, 12.5),
    ],
)
def test_sheriff(items, rounds, k, welfare):
    check(optimize(accord.load_game(SHERIFF.format(items, rounds)), k), welfare)


@pytest.mark.slow
def test_an_optimum_of_the_relaxation_that_comes_apart_needs_no_other_program(monkeypatch):
    """It is taken as it is: then the program is only solved to spare components."""
    monkeypatch.setattr(column_generation.Program, "prices", None)
    check(optimize(accord.load_game("sheriff(num_rounds=2)")), 0.75)


@pytest.mark.slow
def test_a_team_has_an_equilibrium_at_once(monkeypatch):
    """Also where the relaxation is too large, and nothing is proved."""
    monkeypatch.setattr(column_generation, "TUPLES", 0)
    monkeypatch.setattr(column_generation, "MOST_TUPLES", 0)
    monkeypatch.setattr(column_generation, "ENUMERATED", 0)
    b = accord.GameBuilder("team", players=2)
    b.chance({"left": 0.5, "right": 0.5})
    for side in ("left", "right"):
        b.move(side, player="1", infoset=side, actions="l r")
        for told in ("l", "r"):
            b.move(f"{side} {told}", player="2", infoset=told, actions="l r")
            for guess in ("l", "r"):
                won = float(side[0] == guess)
                b.payoff(f"{side} {told} {guess}", won, won)
    found = optimize(b.build())
    assert (found.value, found.iterations) == (2.0, 1)
    assert 2.0 <= found.bound < 2.0 + 1e-13
    check_mixture(found)


@pytest.mark.slow
def test_goofspiel():
    game = accord.load_game(GOOFSPIEL)
    few = optimize(game, tremble=0.0)
    check(few, 6.0)
    assert few.policy.n_components <= 2
    found = optimize(game)  # prefers credible advice to few plans
    check(found, 6.0)
    assert accord.certify(game, found, 1, tremble=0.01).is_credible
    assert not accord.certify(game, few, 1, tremble=0.01).is_credible


@pytest.mark.slow
def test_goofspiel_at_every_notion():
    """EFCE are EFCCE, which are NFCCE; here the least welfare of all is the same, and an AFCE has
    less."""
    game = accord.load_game(GOOFSPIEL)
    least = [optimize(game, k, minimize=True) for k in (1, "efcce", 0)]
    for found in least:
        check(found, 182 / 55)
    check(optimize(game, "afce", minimize=True), 2.4)
    for notion in ("efcce", "afce", "afcce"):
        check(optimize(game, notion), 6.0)


def test_chicken():
    check(optimize(chicken()), 10.5)
    check(optimize(chicken(), minimize=True), 7.2)
    assert sorted(optimize(chicken()).policy.weights.tolist()) == pytest.approx(
        [1 / 4, 1 / 4, 1 / 2]
    )


@pytest.mark.slow
def test_signalling():
    check(optimize(signalling()), 10.0)
    check(optimize(signalling(), 1, {"professor": 1}), 6.5)


@pytest.mark.slow
def test_kuhn_with_three_players():
    """Two players cannot hold the first below -1/48 + ..., nor help them above -1/48."""
    found = optimize(accord.load_game("kuhn_poker(players=3)"), 1, [1, 0, 0])
    check(found, -1 / 48)
