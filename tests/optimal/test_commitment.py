"""Players who commit: persuasion, leaders, and the certificates and proofs of what they reach."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import accord
from accord.certifying.exact import certify
from accord.equilibrium.filling import Filling
from accord.errors import ArgumentError
from accord.game.library import chicken, greenwald_sarfati_1, matrix_game, persuasion
from accord.interop.efg_writer import format_efg
from accord.optimal.check_proof import check
from accord.optimal.incentives import Incentives
from accord.optimal.large import LargeSearch
from accord.optimal.objective import as_objective
from accord.optimal.tuples import Tuples
from accord.runs.optimize import optimize
from accord.treeplex.form import sequence_form
from tests import reference
from tests.optimal.test_optimum import tiny, tiny_for
from tests.support.strategies import examples, games

NOTIONS = [0, 1, 2, math.inf, "efcce", "afce", "afcce"]

weights = st.lists(st.integers(-2, 2), min_size=3, max_size=3)


@pytest.mark.parametrize("k", NOTIONS)
def test_the_prosecutor_convicts_twice_as_often_as_there_is_guilt(k):
    found = optimize(persuasion(), k, {"prosecutor": 1}, commits="prosecutor")
    assert found.optimal
    assert found.value == pytest.approx(0.6, rel=0, abs=1e-12)
    assert found.gap == 0.0
    assert found.certificate.commits == ("prosecutor",)
    alone = optimize(persuasion(), 1, {"prosecutor": 1})
    assert alone.value == pytest.approx(0.0, rel=0, abs=1e-12)


def test_the_prosecutors_device_has_two_signals():
    """Guilty defendants always get the signal to convict, innocent ones in 3 of 7 cases."""
    found = optimize(persuasion(), 1, {"prosecutor": 1}, commits="prosecutor")
    assert found.rational is not None
    assert found.rational.value == Fraction(3, 5)
    convicting = {"guilty": 0.0, "innocent": 0.0}
    for weight, plan in zip(found.policy.weights, found.policy.device().plans, strict=True):
        report, verdict = (dict(part) for part in plan.told)
        for state in convicting:
            convicting[state] += weight * (verdict[report[state]] == "convict")
    assert convicting["guilty"] == pytest.approx(1.0)
    assert convicting["innocent"] == pytest.approx(3 / 7)


@pytest.mark.slow
@examples(60)
@given(games(max_players=3), st.sampled_from([0, 1, 2, math.inf]), weights, st.data())
def test_it_is_the_best_of_all_profiles_that_bind_the_others(game, k, numbers, data):
    assume(tiny(game, k))
    fixed = data.draw(st.sets(st.integers(0, game.n_players - 1), min_size=1))
    _check_best(game, k, k, numbers, sorted(fixed))


@pytest.mark.slow
@examples(40)
@given(games(max_players=3), st.sampled_from(["EFCCE", "AFCE", "AFCCE"]), weights, st.data())
def test_it_is_the_best_for_other_notions_too(game, notion, numbers, data):
    assume(tiny_for(game, notion))
    fixed = data.draw(st.sets(st.integers(0, game.n_players - 1), min_size=1))
    _check_best(game, notion.lower(), notion, numbers, sorted(fixed))


def _check_best(game, k, notion, numbers, fixed):
    numbers = numbers[: game.n_players]
    labels = [game.player_labels[i] for i in fixed]
    found = optimize(game, k, numbers, commits=labels)
    want = reference.best_by_enumeration(game, notion, numbers, commits=fixed)
    assert found.optimal
    assert found.value == pytest.approx(want, rel=0, abs=1e-9)
    assert found.bound == pytest.approx(want, rel=0, abs=1e-7)
    assert found.certificate.commits == tuple(labels)
    assert all(found.player_gaps[i] == 0.0 for i in fixed)
    free = certify(game, found.policy, k)[k]  # the others are held to what they are told
    for i in set(range(game.n_players)) - set(fixed):
        assert free.player_gaps[i] == found.player_gaps[i]
    if found.rational is not None and found.rational.proof is not None:
        value = check(format_efg(game), json.loads(json.dumps(found.rational.proof)))
        assert float(value) == pytest.approx(want, rel=0, abs=1e-9)


@examples(30)
@given(games(max_players=3), st.sampled_from([0, 1, "efcce"]), st.integers(0, 2))
def test_nobody_loses_by_being_able_to_commit(game, k, leader):
    leader %= game.n_players
    label = game.player_labels[leader]
    alone, committed = (optimize(game, k, {label: 1}, commits=c) for c in ((), label))
    assume(alone.optimal)
    assert committed.value >= alone.value - 1e-9


def test_a_leader_with_signals_gets_what_the_program_of_conitzer_and_korzhyk_says():
    """V. Conitzer and D. Korzhyk, *Commitment to correlated strategies*, 2011: the leader chooses
    the best distribution over profiles from which the follower does not gain."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        pay = rng.integers(-5, 6, size=(2, 3, 3)).astype(float)
        game = matrix_game(pay, name="leader")
        leader = game.player_labels[0]
        costs, rows = -pay[0].ravel(), []
        for told, other in product(range(3), range(3)):
            gain = np.zeros((3, 3))
            gain[:, told] = pay[1][:, other] - pay[1][:, told]
            rows.append(gain.ravel())
        program = linprog(costs, rows, np.zeros(9), np.ones((1, 9)), [1.0])
        found = optimize(game, 1, {leader: 1}, commits=leader)
        assert found.value == pytest.approx(-program.fun, rel=0, abs=1e-9)


def test_if_everybody_commits_only_the_game_is_in_the_way():
    found = optimize(chicken(), 1, commits=["row", "col"])
    assert found.value == 12.0
    assert str(found.certificate.nobody_gains()) == (
        "player row and player col commit; no other player can gain by deviating"
    )


@pytest.mark.parametrize("fixed", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("k", [0, 1])
def test_the_saddle_point_of_committed_players(fixed, k):
    """Bounds of the search for large games hold, and value and bound meet."""
    game = greenwald_sarfati_1()
    objective = as_objective([1, -1], game.player_labels)
    incentives = Incentives.build(sequence_form(game), k, commits=fixed)
    filling = Filling.of(Tuples(incentives, 10_000))
    assert filling is not None
    search = LargeSearch(filling, objective)
    best = reference.best_by_enumeration(game, k, [1, -1], commits=fixed)
    center = float(objective.center(incentives.form.leaves))
    for _ in range(12):
        search.advance(search.next_look() - search.iteration)
        assert search.bound + center >= best - 1e-9
        if search.finished:
            break
    losses, gains = search.look()
    assert (gains[list(fixed)] == 0.0).all()
    assert search.bound + center == pytest.approx(best, rel=0, abs=0.15)
    assert search.sides.value(losses) + center == pytest.approx(best, rel=0, abs=0.15)


def test_a_proof_that_charges_somebody_who_commits_is_refused():
    game = persuasion()
    found = optimize(game, 1, {"prosecutor": 1}, commits="prosecutor")
    assert found.rational is not None
    proof = json.loads(json.dumps(found.rational.proof))
    text = format_efg(game)
    assert check(text, proof) == Fraction(3, 5)
    assert proof["commits"] == [0]
    without = {**proof, "commits": []}
    with pytest.raises(ValueError, match="player 1 gains"):
        check(text, without)
    of_the_other = {**proof, "commits": [0, 1]}
    with pytest.raises(ValueError, match="commit"):
        check(text, of_the_other)
    alone = optimize(game, 1, {"prosecutor": 1})
    assert alone.rational is not None
    stolen = {**json.loads(json.dumps(alone.rational.proof)), "commits": [0]}
    with pytest.raises(ValueError, match="commit"):
        check(text, stolen)


def test_a_certificate_says_who_commits():
    game = persuasion()
    policy = optimize(game, 1, {"prosecutor": 1}, commits="prosecutor").policy
    held, free = certify(game, policy, 1, commits=["prosecutor"]), certify(game, policy, 1)
    assert held.to_json()["commits"] == ["prosecutor"]
    assert free.to_json()["commits"] == []
    assert held[1].gap == 0.0
    assert free[1].player_gaps == (pytest.approx(0.4), 0.0)
    assert str(held[1].witnesses[0]) == "player prosecutor commits to what is recommended"
    assert "prosecutor commits; no other player" in str(held)
    assert held.trigger.gap == 0.0
    assert held.nfce_gap == 0.0
    trembling = certify(game, policy, 1, commits="prosecutor", tremble=0.1)
    assert trembling.trembled[0].player_gaps[0] == 0.0


def test_the_region_of_committed_players_contains_that_of_others():
    game = persuasion()
    held = accord.region(game, 1, commits="prosecutor")
    assert held.commits == ("prosecutor",)
    assert held.exact
    assert max(v.payoffs[0] for v in held[1].vertices) == pytest.approx(0.6)
    assert max(v.payoffs[1] for v in held[1].vertices) == pytest.approx(1.0)
    zero_sum = accord.region(accord.load_game("matching_pennies"), 1, commits="row")
    assert len(zero_sum[1].vertices) > 1


def test_a_run_keeps_who_commits(tmp_path):
    folder = tmp_path / "run"
    optimize(persuasion(), 1, {"prosecutor": 1}, commits="prosecutor", folder=folder)
    asked = json.loads((folder / "run.json").read_text())["asked"]
    assert asked["commits"] == ["prosecutor"]
    assert json.loads((folder / "certificate.json").read_text())["commits"] == ["prosecutor"]


def test_unknown_players_cannot_commit():
    with pytest.raises(ArgumentError, match="no player 'sender'; the players are 'prosecutor'"):
        optimize(persuasion(), 1, commits="sender")
    with pytest.raises(ArgumentError, match="no player 'x'"):
        certify(chicken(), optimize(chicken(), 1).policy, 1, commits=["row", "x"])
    with pytest.raises(ArgumentError, match="prior"):
        persuasion(1.0)
