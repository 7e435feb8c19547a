"""Optima in rational numbers, and the proofs that a checker of 200 lines accepts or refuses."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import accord
from accord import GameBuilder, matrix_game, optimize
from accord.deviations.notions import as_notion
from accord.equilibrium.rounding import rounded_up
from accord.game.exact import exact_plays
from accord.game.library import chicken, kuhn, random_game, signalling
from accord.game.rationals import as_rational
from accord.interop.efg import read_efg
from accord.interop.efg_writer import format_efg, write_efg
from accord.optimal import check_proof
from accord.optimal.exact_linear import IntegerMatrix, solve_exactly
from accord.optimal.exact_mixture import ExactLeaves, ExactPlans
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior
from tests import reference
from tests.support.strategies import examples

SHERIFF = "sheriff(item_value=5.0,item_penalty=1.0,sheriff_penalty=1.0,max_bribe=2,"
REFUSALS = (ValueError, LookupError, TypeError, ArithmeticError)


def accepted(found):
    """The value that the checker accepts for an optimum."""
    assert found.optimal
    return check_proof.check(format_efg(found.game), found.rational.proof)


def two_round_public_good():
    """Each of two players gives or keeps, twice; in between they see what the other did."""
    builder = GameBuilder("public good", players="a b")
    builder.move(player="a", infoset="a1", actions="give keep")
    for first in ("give", "keep"):
        builder.move(first, player="b", infoset="b1", actions="give keep")
    for one in ("give", "keep"):
        for two in ("give", "keep"):
            past = f"{one} {two}"
            builder.move(past, player="a", infoset=f"a {past}", actions="give keep")
            for third in ("give", "keep"):
                now = f"{past} {third}"
                builder.move(now, player="b", infoset=f"b {past}", actions="give keep")
                for last in ("give", "keep"):
                    gave = [(one == "give") + (third == "give"), (two == "give") + (last == "give")]
                    total = Fraction(3, 4) * sum(gave) + Fraction(1, 3) * (sum(gave) >= 3)
                    builder.payoff(f"{now} {last}", *(total - g for g in gave))
    return builder.build()


def beer_quiche():
    """Cho and Kreps 1987: the sender is strong with probability 9/10."""
    builder = GameBuilder("beer-quiche", players="sender receiver")
    builder.chance({"strong": "9/10", "weak": "1/10"})
    for kind in ("strong", "weak"):
        builder.move(kind, player="sender", infoset=kind, actions="beer quiche")
    for meal in ("beer", "quiche"):
        builder.move(
            f"strong {meal}", f"weak {meal}", player="receiver", infoset=meal, actions="fight pass"
        )
        for kind in ("strong", "weak"):
            liked = (kind == "strong") == (meal == "beer")
            builder.payoff(f"{kind} {meal} fight", int(liked), int(kind == "weak"))
            builder.payoff(f"{kind} {meal} pass", int(liked) + 2, int(kind == "strong"))
    return builder.build()


@pytest.mark.parametrize(
    ("items", "rounds", "k", "value"),
    [(3, 1, 1, "420/79"), (3, 1, 0, "540/53"), (3, 1, np.inf, "420/79"), (10, 2, 1, "935/103")],
)
def test_published_optima_are_fractions(items, rounds, k, value):
    game = accord.load_game(f"{SHERIFF}max_items={items},num_rounds={rounds})")
    found = optimize(game, k)
    assert found.rational.value == accepted(found) == Fraction(value)
    assert sum(found.rational.weights) == 1
    assert sum(found.rational.payoffs) == Fraction(value)


def test_optima_of_other_games_are_fractions():
    assert accepted(optimize(chicken())) == Fraction(21, 2)
    assert accepted(optimize(chicken(), minimize=True)) == Fraction(36, 5)
    assert accepted(optimize(chicken(), objective="egalitarian")) == Fraction(21, 4)
    assert accepted(optimize(signalling(), 1, {"professor": 1})) == Fraction(13, 2)
    assert accepted(optimize(kuhn(players=3), 1, [1, 0, 0])) == Fraction(-1, 48)
    for game in (beer_quiche(), two_round_public_good()):
        for player in game.player_labels:
            found = optimize(game, 1, {player: 1})
            assert accepted(found) == found.rational.value
            assert float(found.rational.value) == found.value


def test_optima_are_proved_behind_a_shift_that_doubles_hardly_hold():
    shifted = np.array([[(6, 6), (2, 7)], [(7, 2), (0, 0)]]) + 10**15
    found = optimize(matrix_game(np.moveaxis(shifted, -1, 0)))
    assert accepted(found) == 2 * 10**15 + Fraction(21, 2)


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0, 1, 2, np.inf]))
def test_random_games_are_proved_and_agree_with_enumeration(seed, players, k):
    game = random_game(seed=seed, players=players, depth=3, actions=2, chance=0.3, levels=7)
    assume(reference.n_profiles(game) <= 64)
    weights = np.random.default_rng(seed).integers(-2, 3, players).tolist()
    found = optimize(game, k, weights)
    best = reference.best_by_enumeration(game, k, weights, 0.0)
    assert found.value == pytest.approx(best, abs=1e-8)
    if found.rational is not None and found.rational.proof is not None:
        assert accepted(found) == found.rational.value
        assert float(found.rational.value) == pytest.approx(best, abs=1e-8)


def damaged(proof):
    """Copies of a proof, each with one part changed."""
    yield {**proof, "value": str(Fraction(proof["value"]) + Fraction(1, 10**9))}
    yield {**proof, "value": str(Fraction(proof["value"]) - Fraction(1, 10**9))}
    yield {**proof, "plans": proof["plans"][1:]}
    yield {**proof, "gradient": ["2", *proof["gradient"][1:]]}
    yield {**proof, "prices": proof["prices"][1:]}
    yield {**proof, "multipliers": proof["multipliers"][1:]}
    other = copy.deepcopy(proof)
    (a, _), (b, _) = other["plans"][:2]
    move = Fraction(1, 10**12)
    other["plans"][0][0], other["plans"][1][0] = str(Fraction(a) + move), str(Fraction(b) - move)
    yield other
    other = copy.deepcopy(proof)
    label = next(iter(other["plans"][0][1][0]))
    other["plans"][0][1][0][label] = 99  # no such action
    yield other
    other = copy.deepcopy(proof)
    other["multipliers"][0][0] -= len(proof["gradient"])  # the same player, counted from behind
    yield other
    for place in range(min(20, len(proof["multipliers"]))):
        other = copy.deepcopy(proof)
        factor = Fraction(other["multipliers"][place][3])
        other["multipliers"][place][3] = str(factor + Fraction(1, 10**9))
        yield other
        other = copy.deepcopy(other)
        other["multipliers"][place][3] = str(-factor)
        yield other
    for place in range(len(proof["prices"])):
        other = copy.deepcopy(proof)
        other["prices"][place][2] = str(-Fraction(other["prices"][place][2]) - 1)
        yield other
    yield {}


def test_damaged_proofs_are_refused():
    refused = 0
    for game in (chicken(), signalling(), accord.load_game(f"{SHERIFF}max_items=3,num_rounds=1)")):
        found, text = optimize(game), format_efg(game)
        assert accepted(found) == found.rational.value
        for proof in damaged(json.loads(json.dumps(found.rational.proof))):
            try:  # a multiplier may have some slack, but no other value is ever proved
                assert check_proof.check(text, proof) == found.rational.value
            except REFUSALS:
                refused += 1
    assert refused > 40


@pytest.mark.parametrize("place", range(9))
def test_damaged_parts_are_refused(place):
    """The value, plans, weights, gradient, prices and multipliers all matter."""
    game = accord.load_game(f"{SHERIFF}max_items=3,num_rounds=1)")
    proof = json.loads(json.dumps(optimize(game).rational.proof))
    with pytest.raises(REFUSALS):
        check_proof.check(format_efg(game), list(damaged(proof))[place])


def test_a_proof_of_another_game_is_refused():
    proof = optimize(chicken()).rational.proof
    payoffs = np.array([[[0, 7], [2, 6]], [[0, 2], [7, 5]]])
    other = matrix_game(payoffs, players=("row", "col"), actions=[("dare", "yield")] * 2)
    with pytest.raises(REFUSALS):
        check_proof.check(format_efg(other), proof)


def test_the_checker_stands_alone(tmp_path):
    """Plain Python, at most 200 lines, without any package, accepts what a run has written."""
    source = Path(check_proof.__file__).read_text()
    assert len(source.splitlines()) <= 200
    file = tmp_path / "check.py"
    file.write_text(source)
    game = tmp_path / "game.efg"
    write_efg(signalling(), game)
    optimize(signalling(), folder=tmp_path / "run")
    proof = tmp_path / "run" / "proof.json"
    command = [sys.executable, "-I", "-S", file, game, proof]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "proved: no equilibrium is better than 10\n"
    proof.write_text(proof.read_text().replace('"value": "10"', '"value": "11"'))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused: ValueError: the value must be that of the mixture" in done.stderr
    for files in ([], [game], [tmp_path / "nothing.efg", proof]):  # no traceback either
        done = subprocess.run([*command[:4], *files], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("refused: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("number", ["1e999999999", "-1E-99999999", "1e+9_9_9_9_9"])
def test_the_checker_does_not_hang_on_a_number(number):
    """Ten characters can stand for a number with a billion digits."""
    text, found = format_efg(signalling()), optimize(signalling())
    assert found.rational is not None and found.rational.proof is not None
    proof = json.loads(json.dumps(found.rational.proof))
    assert check_proof.check(text, proof) == 10
    for game in (text.replace("{ 4, 10 }", f"{{ {number}, 10 }}"), text.replace("1/2", number)):
        with pytest.raises(ValueError, match="a number is huge"):
            check_proof.check(game, proof)
    parts = {"value": number, "gradient": [number, "1"], "objective": [number, "1"]}
    parts |= {"plans": [[number, proof["plans"][0][1]]]}
    parts |= {"multipliers": [[*proof["multipliers"][0][:3], number]]}
    parts |= {"prices": [[0, None, number, []]]}
    for key, part in parts.items():
        with pytest.raises(ValueError, match="a number is huge"):
            check_proof.check(text, proof | {key: part})


@examples(50)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_systems_are_solved_exactly(seed, size):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-9, 10, (size, size)) + 20 * np.eye(size, dtype=int)
    rows, columns = np.divmod(np.arange(size * size), size)
    matrix = IntegerMatrix(rows.tolist(), columns.tolist(), dense.ravel().tolist())
    rhs = rng.integers(-(10**6), 10**6, size).tolist()
    x = solve_exactly(matrix, rhs)
    assert [sum(int(a) * v for a, v in zip(row, x, strict=True)) for row in dense] == rhs
    y = solve_exactly(matrix, rhs, transposed=True)
    assert [sum(int(a) * v for a, v in zip(row, y, strict=True)) for row in dense.T] == rhs


@pytest.mark.parametrize(
    ("double", "exact"),
    [(0.1, "1/10"), (1 / 3, "1/3"), (47 / 24, "47/24"), (-2.5, "-5/2"), (1e22, "1e22"), (0.0, "0"),
     (0.123456789012345, "0.123456789012345"), (1e-300, "1e-300"), (123 / 1326, "41/442")],
)  # fmt: skip
def test_a_double_stands_for_what_was_written(double, exact):
    assert as_rational(double) == Fraction(exact)


@examples(50)
@given(st.integers(0, 10**6))
def test_exact_plays_round_to_the_game(seed):
    game = random_game(seed=seed, players=2, depth=4, actions=3, chance=0.5, rewards=0.5)
    plays, leaves = exact_plays(game), sequence_form(game).leaves
    assert float(max(paid[0] for _, _, paid in plays)) == leaves.best[0]
    assert float(min(paid[1] for _, _, paid in plays)) == leaves.worst[1]


def test_numbers_of_files_are_kept(tmp_path):
    """Long decimals and large denominators survive reading and writing; sums to one are exact."""
    text = """EFG 2 R "long" { "a" }
    ""
    c "" 1 "" { "l" 0.12345678901234567891 "r" 0.87654321098765432109 } 0
    p "" 1 1 "" { "stop" } 0
    t "" 1 "" { 12345678901234567/3 }
    t "" 2 "" { 0.10000000000000000001 }
    """
    file = tmp_path / "long.efg"
    file.write_text(text)
    game = read_efg(file)
    wanted = [
        (Fraction("0.12345678901234567891"), Fraction(12345678901234567, 3)),
        (Fraction("0.87654321098765432109"), Fraction("0.10000000000000000001")),
    ]
    assert [(chance, paid[0]) for _, chance, paid in exact_plays(game)] == wanted
    write_efg(game, file)
    again = read_efg(file)
    assert [(chance, paid[0]) for _, chance, paid in exact_plays(again)] == wanted
    assert again.digest == game.digest


NOTIONS = ["efcce", "afce", "afcce", "nfce"]


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from(NOTIONS))
def test_other_notions_have_fractions_that_agree_with_enumeration(seed, players, notion):
    game = random_game(seed=seed, players=players, depth=3, actions=2, chance=0.3, levels=7)
    assume(reference.n_profiles(game) <= 64)
    weights = np.random.default_rng(seed).integers(-2, 3, players).tolist()
    found = optimize(game, notion, weights)
    assert found.rational is not None and sum(found.rational.weights) == 1
    if notion == "nfce":
        best = reference.best_nfce(game, weights)
    else:
        best = reference.best_by_enumeration(game, notion.upper(), weights, 0.0)
    assert float(found.rational.value) == pytest.approx(best, abs=1e-8)
    if found.rational.proof is not None:
        assert accepted(found) == found.rational.value
        assert found.bound == rounded_up(found.rational.value)


@pytest.mark.parametrize("notion", NOTIONS[:-1])
def test_gains_of_other_notions_are_those_of_the_certificate(notion):
    """The largest exact gain of every player is positive exactly if the certificate's gap is."""
    form = sequence_form(game := two_round_public_good())
    rng = np.random.default_rng(0)
    for _ in range(20):
        plans = [
            tuple(rng.integers(0, plex.n_actions).astype(np.int32) for plex in form.plexes)
            for _ in range(3)
        ]
        behaviors = [np.concatenate(list(map(pure_behavior, form.plexes, own))) for own in plans]
        policy = accord.CorrelatedPolicy(game, np.full(3, 1 / 3), np.array(behaviors))
        gaps = accord.certify(game, policy, notion)[notion].player_gaps
        gains = ExactPlans(ExactLeaves(form), plans).gaining(
            [Fraction(1, 3)] * 3, as_notion(notion)
        )
        assert {gain.player for gain in gains} == {i for i, gap in enumerate(gaps) if gap > 1e-9}


@pytest.mark.parametrize(
    ("game", "notion", "value"),
    [(chicken(), "efcce", "21/2"), (signalling(), "efcce", "10"), (beer_quiche(), "efcce", "19/5")],
)
def test_coarse_equilibria_are_proved(game, notion, value):
    found = optimize(game, notion)
    assert accepted(found) == Fraction(value)
    assert "in rational arithmetic" in found.proof
    if found.binding:
        other = {**found.rational.proof, "k": 1}  # prices of who leaves before being told
        with pytest.raises(REFUSALS):
            check_proof.check(format_efg(game), other)


def test_floors_have_prices_in_proofs():
    found = optimize(chicken(), objective={"row": 1}, at_least={"col": 4})
    assert accepted(found) == Fraction(77, 13)
    (floor,) = (one for one in found.binding if one.floor is not None)
    assert floor.rational == Fraction(7, 13) and floor.to_json()["rational"] == "7/13"
    proof = json.loads(json.dumps(found.rational.proof))
    for price in ("0", "-7/13", "1"):
        with pytest.raises(REFUSALS):
            check_proof.check(format_efg(chicken()), {**proof, "floors": [[1, "4", price]]})
    with pytest.raises(REFUSALS):  # the mixture pays less
        check_proof.check(format_efg(chicken()), {**proof, "floors": [[1, "5", "7/13"]]})


def test_prices_are_fractions_at_which_nothing_is_gained():
    """Each price is a dual: relaxing one constraint by d adds price times d, to first order."""
    found = optimize(accord.load_game(f"{SHERIFF}max_items=3,num_rounds=1)"))
    assert found.binding and all(one.rational > 0 for one in found.binding)
    assert all(float(one.rational) == one.price for one in found.binding)
    assert found.value == float(Fraction(420, 79))
    assert found.bound == rounded_up(Fraction(420, 79))
    chances = optimize(chicken()).binding
    assert [str(one.rational) for one in chances] == ["3/4", "3/4"]


@examples(30)
@given(st.integers(0, 10**6))
def test_zero_sum_games_have_rational_values(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 5, 2)
    payoffs = rng.integers(-9, 10, (rows, columns))
    game = matrix_game(np.array([payoffs, 3 - payoffs]))
    found = optimize(game, objective={game.player_labels[0]: 1})
    value = accepted(found)
    assert found.rational.payoffs == (value, 3 - value) and found.policy.n_components == 1
    assert float(value) == pytest.approx(linear_value(payoffs), abs=1e-9)


def linear_value(payoffs):
    """The value of a matrix game, by the linear program of its row player."""
    rows, columns = payoffs.shape
    worth = np.hstack([-payoffs.T, np.ones((columns, 1))])
    weights = np.append(np.ones(rows), 0.0)[np.newaxis]
    bounds = [(0, None)] * rows + [(None, None)]
    costs = np.append(np.zeros(rows), -1.0)
    return -linprog(costs, worth, np.zeros(columns), weights, [1.0], bounds).fun


def test_the_value_of_kuhn_poker_is_a_fraction():
    found = optimize(kuhn(), objective=[1, 0])
    assert accepted(found) == Fraction(-1, 18)
    assert str(found) == repr(found) and "value=-1/18" in repr(found)
    assert found.to_json()["exact"]["values"] == ["-1/18", "1/18"]


def test_nearest_payoffs_are_fractions():
    there = optimize(chicken(), payoffs=["5", "5"])
    assert there.rational.value == 0 and there.rational.proved
    beyond = optimize(chicken(), payoffs=["16/3", "16/3"])
    assert (beyond.rational.value, beyond.rational.payoffs[0]) == (
        -Fraction(1, 42),
        Fraction(21, 4),
    )
    assert not beyond.rational.proved and beyond.optimal
