"""Devices that threaten as little as possible: known games, brute force, and bad arguments."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given

import accord
from accord.certifying.exact import certify
from accord.deviations.notions import EFCE
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.builder import GameBuilder
from accord.game.tree import Game
from accord.interop.efg_writer import format_efg
from accord.interop.save import save_game
from accord.optimal.check_proof import check
from accord.optimal.exact_mixture import ExactLeaves, ExactPlans
from accord.runs import choosing
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior
from tests.support.command import refused, run, run_json
from tests.support.policies import all_games, entry
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels


def firms(pays: tuple[int, ...] = (0, 6, 1, -2)) -> Game:
    """Three firms enter or wait, at once, and then stay or quit; ``pays`` by how many stay."""
    names = ["firm 1", "firm 2", "firm 3"]
    b = GameBuilder(players=names, name="firms")
    for first in ((), *product(("enter", "wait")), *product(("enter", "wait"), repeat=2)):
        b.move(" ".join(first), player=names[len(first)], infoset="start", actions="enter wait")
    for first in product(("enter", "wait"), repeat=3):
        inside = [i for i in range(3) if first[i] == "enter"]
        for n, player in enumerate(inside):
            others = " and ".join(names[i] for i in inside if i != player)
            for later in product(("stay", "quit"), repeat=n):
                b.move(
                    " ".join(first + later), player=names[player],
                    infoset=f"with {others}" if others else "alone", actions="stay quit",
                )  # fmt: skip
        for later in product(("stay", "quit"), repeat=len(inside)):
            staying = [i for i, action in zip(inside, later, strict=True) if action == "stay"]
            paid = [-1 if i in inside else 0 for i in range(3)]
            for i in staying:
                paid[i] = pays[len(staying)]
            b.payoff(" ".join(first + later), *paid)
    return b.build()


def horse() -> Game:
    """Selten's horse: the best equilibrium needs advice that player 2 would not follow."""
    b = GameBuilder(players=["1", "2", "3"], name="horse")
    b.move(player="1", infoset="start", actions="D C")
    b.move("C", player="2", infoset="after C", actions="d c")
    b.move("D", player="3", infoset="end", actions="L R")
    b.move("C d", player="3", infoset="end", actions="L R")
    b.payoff("D L", 3, 3, 2)
    b.payoff("D R", 0, 0, 0)
    b.payoff("C d L", 4, 4, 0)
    b.payoff("C d R", 0, 0, 1)
    b.payoff("C c", 1, 1, 1)
    return b.build()


def test_of_two_equally_good_devices_the_one_without_a_threat_is_taken():
    found = accord.optimize(entry(), 1)
    assert found.values == (2.0, 1.0)
    assert found.certificate.is_credible is True
    assert found.to_json()["credible"] is True
    assert found.rational is not None
    check(format_efg(entry()), found.rational.proof)
    assert found.optimal


def test_a_threat_that_the_value_needs_stays_and_is_said():
    found = accord.optimize(entry(), 1, {"incumbent": 1})
    assert found.rational is not None and found.rational.value == 3
    (threat,) = found.certificate.threats
    assert (threat.infoset, threat.told) == ("entered", "fight")


def test_credible_advice_may_cost_some_of_the_objective():
    found = accord.optimize(entry(), 1, {"incumbent": 1}, credible=True)
    assert found.value == found.bound == 1.0
    assert found.optimal
    assert found.certificate.is_credible is True
    assert "credible" in found.proof
    assert found.rational is not None and found.rational.proof is None


@pytest.mark.parametrize("credible", [False, True])
def test_a_firm_alone_in_the_market_stays(credible):
    game = firms()
    threats = certify(game, accord.optimize(game, 1, tremble=0).policy, 1, tremble=0.01).threats
    assert any(threat.infoset == "alone" for threat in threats)
    found = accord.optimize(game, 1, credible=credible)
    assert found.rational is not None and found.rational.value == Fraction(10, 3)
    assert found.rational.proof is not None
    assert found.optimal
    assert found.certificate.is_credible is True
    text = str(found.policy.device(off_path=True))
    assert "quit" not in text


@pytest.mark.parametrize("k", [1, 2, float("inf")])
def test_deviators_learn_nothing_new_from_the_device_that_is_chosen(k):
    found = accord.optimize(firms(), k)
    assert found.policy.is_mute()
    assert found.gap == 0.0
    assert found.optimal


def test_the_horse_has_a_threat_at_its_best_value_and_none_at_nearly_the_same():
    best = accord.optimize(horse(), 1)
    assert best.rational is not None and best.rational.value == 8
    assert [(threat.infoset, threat.told) for threat in best.certificate.threats] == [
        ("after C", "c")
    ]
    losses = []
    for tremble in (0.1, 0.01, 0.001):
        found = accord.optimize(horse(), 1, credible=True, tremble=tremble)
        assert found.optimal
        assert found.gap == 0.0
        assert found.certificate.is_credible is True
        losses.append(8.0 - found.value)
    assert 0.1 > losses[0] > 5 * losses[1] > 25 * losses[2] > 0.0  # in proportion to the slips


def test_without_trembles_nothing_is_judged():
    found = accord.optimize(entry(), 1, tremble=0)
    assert found.certificate.is_credible is None
    assert found.to_json()["credible"] is None


def test_the_objective_that_keeps_payoffs_keeps_them_without_the_threat():
    game = firms()
    start = accord.optimize(game, 1, tremble=0)
    found = accord.optimize(game, 1, "keep", start=start)
    assert found.values == pytest.approx(start.values, abs=1e-8)
    assert found.certificate.is_credible is True
    assert found.optimal


def all_devices(game: Game) -> list[CorrelatedPolicy]:
    """All devices of a small game that always draw the same pure joint plan."""
    form = sequence_form(game)
    spaces = [product(*map(range, plex.n_actions.tolist())) for plex in form.plexes]
    found = []
    for plan in product(*spaces):
        parts = (np.array(part, np.int32) for part in plan)
        behavior = np.concatenate([*map(pure_behavior, form.plexes, parts)])
        found.append(CorrelatedPolicy(game, np.ones(1), behavior[np.newaxis]))
    return found


def n_devices(game: Game) -> int:
    return int(np.prod([float(n) for plex in sequence_form(game).plexes for n in plex.n_actions]))


@examples(60)
@given(all_games())
def test_the_value_stays_and_if_a_pure_device_is_credible_the_chosen_one_is(game):
    plain, found = (accord.optimize(game, 1, tremble=e) for e in (0.0, 0.01))
    assert found.optimal == plain.optimal
    assert (found.rational is None) == (plain.rational is None)
    if found.rational is not None and plain.rational is not None:
        assert found.rational.value == plain.rational.value
        assert (found.rational.proof is None) == (plain.rational.proof is None)
        assert found.value == float(found.rational.value)
    assert found.gap == 0.0 or not plain.optimal
    if not plain.optimal or n_devices(game) > 300:
        return
    for device in all_devices(game):
        certificate = certify(game, device, EFCE, tremble=0.01)
        best = abs(sum(certificate.values) - plain.value) <= 1e-9
        if certificate[1].gap == 0.0 and best and certificate.is_credible:
            assert found.certificate.is_credible is True
            break


@examples(30)
@given(all_games())
def test_trembled_payoffs_agree_with_the_evaluation_in_doubles(game):
    form = sequence_form(game)
    rng = np.random.default_rng(0)
    plans = []
    for _ in range(3):
        parts = [rng.integers(plex.n_actions).astype(np.int32) for plex in form.plexes]
        plans.append(tuple(parts))
    weights = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    exact = ExactPlans(ExactLeaves(form), plans, tremble=Fraction(1, 10))
    behavior = [np.concatenate([*map(pure_behavior, form.plexes, plan)]) for plan in plans]
    policy = CorrelatedPolicy(game, np.array([0.5, 0.25, 0.25]), np.array(behavior))
    certificate = certify(game, policy, 1, tremble=0.1)
    gaining = {(gain.player, gain.told) for gain in exact.gaining(weights, EFCE)}
    for i, witness in enumerate(certificate.trembled[0].witnesses):
        plex = form.plexes[i]
        for event in witness.first_deviations:
            x = plex.infoset_labels.index(event.infoset)
            told = plex.first_seq[x] + plex.action_labels[x].index(event.told)
            assert (i, told) in gaining
        if not any(player == i for player, _ in gaining):
            assert (
                certificate.trembled[0].player_gaps[i] <= certificate.trembled[0].player_errors[i]
            )


def test_bad_arguments_are_refused():
    game = entry()
    for tremble in (-0.1, 1.0, 2, float("nan"), "often"):
        with pytest.raises(ArgumentError, match="tremble"):
            accord.optimize(game, 1, tremble=tremble)
    for arguments, message in [
        ({"tremble": 0}, "credible needs a tremble above 0"),
        ({"k": 0}, "credible needs a K of at least 1"),
        ({"k": "afce"}, "credible needs a K of at least 1"),
        ({"target_gap": 0.5}, "credible needs target_gap = 0"),
        ({"objective": "keep", "start": accord.optimize(game)}, "got payoffs to keep"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            accord.optimize(game, **{"k": 1, "credible": True, **arguments})


def test_the_command_says_whether_the_device_is_credible(tmp_path):
    save_game(entry(), tmp_path / "entry.efg")
    game = str(tmp_path / "entry.efg")
    assert "\ncredible: " in run("optimize", game).stdout
    threat = run("optimize", game, "--objective", "player=incumbent").stdout
    assert "not credible: " in threat
    assert "at 'entered' told 'fight' plays 'yield' instead: gains 2" in threat
    found = run_json("optimize", game, "--objective", "player=incumbent", "--credible")
    assert (found["value"], found["credible"], found["optimal"]) == (1.0, True, True)
    assert "tremble must be 0" in refused("optimize", game, "--tremble", "-0.1")
    assert "credible needs a tremble" in refused("optimize", game, "--credible", "--tremble", "0")


def test_if_no_credible_equilibrium_is_found_the_error_says_what_to_try(monkeypatch):
    monkeypatch.setattr(choosing, "CHOOSING", -1.0)  # no time
    with pytest.raises(ArgumentError, match=r"no equilibrium of entry was found.*try another"):
        accord.optimize(entry(), 1, {"incumbent": 1}, credible=True)
    found = accord.optimize(entry(), 1)  # the first optimum stays
    assert found.optimal
    assert found.certificate.is_credible is False


@pytest.mark.parametrize(("objective", "said"), [("welfare", "is credible"), ("player", "Threats")])
def test_a_report_says_whether_the_device_is_credible(tmp_path, objective, said):
    game = entry()
    goal = "welfare" if objective == "welfare" else {"incumbent": 1}
    save_game(game, tmp_path / "entry.efg")
    loaded = accord.load_game(str(tmp_path / "entry.efg"))
    accord.optimize(loaded, 1, goal, folder=tmp_path / "run")
    run("report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert said in page
    told = "at &#39;entered&#39; told &#39;fight&#39; plays &#39;yield&#39; instead: gains 2"
    assert (told in page) == (objective == "player")
