"""Gaps against others whose hands tremble: brute force, an oracle, and games with threats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.certifying.exact import certify
from accord.deviations.notions import LADDER, NFCE
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_files import save_policy
from accord.errors import ArgumentError
from accord.game.builder import GameBuilder
from accord.game.library import library_game
from accord.game.tree import Game
from accord.interop.save import save_game
from tests import reference
from tests.support.command import refused, run, run_json
from tests.support.policies import (
    OTHER_NOTIONS,
    all_games,
    as_reference,
    entry,
    random_policy,
    tiny_games,
)
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

NOTIONS = [notion for notion in LADDER if notion != NFCE]


def with_slips(policy: CorrelatedPolicy, player: int, tremble: float) -> CorrelatedPolicy:
    """The policy that ``player`` meets: every other player's moves are mixed with uniform ones."""
    form, joint = policy.form, policy.behavior.copy()
    for i, (plex, part) in enumerate(zip(form.plexes, form.split(joint), strict=True)):
        if i != player:
            for x in range(plex.n_infosets):
                here = slice(plex.first_seq[x], plex.first_seq[x + 1])
                part[:, here] = (1 - tremble) * part[:, here] + tremble / plex.n_actions[x]
    return CorrelatedPolicy(form.game, policy.weights, joint)


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("notion", OTHER_NOTIONS)
def test_the_gap_is_the_maximum_over_all_deviations_from_others_who_slip(players, notion):
    tried = tiny_games(players, 4, lambda game, i: reference.n_deviations(game, i, notion), 500)
    for seed, (game, some) in enumerate(tried):
        policy, tremble = random_policy(game, seed, components=3), 0.1 * (seed + 1)
        found = certify(game, policy, notion, tremble=tremble).trembled[0]
        for i in some:
            slipped = as_reference(with_slips(policy, i, tremble))
            gap = reference.notion_gap(game, i, notion, slipped)
            assert found.player_gaps[i] == pytest.approx(gap, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_the_gap_at_k_is_the_maximum_over_all_modifications(players, k):
    tried = tiny_games(players, 4, lambda game, i: reference.n_modifications(game, i, k), 500)
    for seed, (game, some) in enumerate(tried):
        policy, tremble = random_policy(game, seed, components=2), 0.2
        found = certify(game, policy, k, tremble=tremble).trembled[0]
        for i in some:
            gap = reference.efce_gap(game, i, k, as_reference(with_slips(policy, i, tremble)))
            assert found.player_gaps[i] == pytest.approx(gap, abs=1e-12)


@examples(50)
@given(all_games(), st.integers(0, 2**32 - 1), st.sampled_from([0.9, 0.3, 0.01, 1e-6]))
def test_each_player_meets_others_who_slip(game, seed, tremble):
    policy = random_policy(game, seed)
    certificate = certify(game, policy, NOTIONS, tremble=tremble)
    plain = certify(game, policy, NOTIONS)
    assert [gap.player_gaps for gap in certificate.gaps] == [gap.player_gaps for gap in plain.gaps]
    for i in range(game.n_players):
        met = certify(game, with_slips(policy, i, tremble), NOTIONS)
        for trembled, gap in zip(certificate.trembled, met.gaps, strict=True):
            allowed = trembled.player_errors[i] + gap.player_errors[i]
            assert abs(trembled.player_gaps[i] - gap.player_gaps[i]) <= allowed


@examples(50)
@given(all_games(), st.integers(0, 2**32 - 1))
def test_the_gains_of_first_deviations_add_up_to_the_trembled_gap(game, seed):
    gaps = certify(game, random_policy(game, seed), NOTIONS, tremble=0.05).trembled
    for gap in gaps:
        if gap.notion.deviations == 0:
            continue
        for own, error, witness in zip(
            gap.player_gaps, gap.player_errors, gap.witnesses, strict=True
        ):
            gains = sum(event.gain for event in witness.first_deviations)
            assert gains == pytest.approx(own, abs=2 * error + 1e-12)


def entry_device(game: Game, reply: str) -> CorrelatedPolicy:
    move = "stay" if reply == "fight" else "enter"
    plan = {"entrant": {"start": move}, "incumbent": {"entered": reply}}
    return CorrelatedPolicy.from_device(game, [(1, plan)])


def test_a_threat_is_found_and_said():
    game = entry()
    certificate = certify(game, entry_device(game, "fight"), 1, tremble=0.01)
    assert certificate[1].gap == 0.0
    assert certificate.trembled[0].player_gaps == pytest.approx((0.0, 0.01))
    assert certificate.is_credible is False
    (threat,) = certificate.threats
    assert threat.gain_there == pytest.approx(2.0)
    assert str(threat) == (
        "player incumbent at 'entered' told 'fight' plays 'yield' instead: gains 2 "
        "(nobody who obeys gets there)"
    )
    assert str(threat) in str(certificate)
    assert certificate.to_json()["credible"] is False


def test_advice_without_threats_is_credible():
    game = entry()
    certificate = certify(game, entry_device(game, "yield"), 1, tremble=0.01)
    assert certificate.is_credible is True
    assert certificate.threats == ()
    assert "given only after a slip of others (probability 0.01) is a best reply" in str(
        certificate
    )


def test_a_threat_behind_many_slips_is_found_although_its_gain_is_tiny():
    game = patient()
    plan = {"1": dict.fromkeys(map(str, range(8)), "wait"), "2": {"end": "lose"}}
    certificate = certify(game, CorrelatedPolicy.from_device(game, [(1, plan)]), 1, tremble=1e-3)
    assert certificate.trembled[0].player_gaps[1] == 0.0  # below the error of the whole gap
    (threat,) = certificate.threats
    assert threat.gain_there == pytest.approx(5.0)


def patient() -> Game:
    """Player 2 moves only if player 1 has moved on eight times."""
    b = GameBuilder(players=2)
    for n in range(8):
        b.move(["on"] * n, player="1", infoset=n, actions="on wait")
        b.payoff([*["on"] * n, "wait"], 0, n)
    b.move(["on"] * 8, player="2", infoset="end", actions="lose win")
    b.payoff([*["on"] * 8, "lose"], 0, -4)
    b.payoff([*["on"] * 8, "win"], 0, 1)
    return b.build()


def test_gains_on_the_path_are_not_threats():
    """Where others' slips change a little what is best, advice is not called incredible."""
    game = library_game("chicken")
    nash = [(2 / 3, "yield"), (1 / 3, "dare")]
    plans = [(p * q, ({"row": a}, {"col": b})) for p, a in nash for q, b in nash]
    certificate = certify(game, CorrelatedPolicy.from_device(game, plans), 1, tremble=0.01)
    assert certificate[1].gap == 0.0
    assert 0.0 < certificate.trembled[0].gap < 0.01
    assert certificate.is_credible is True


def test_nobody_is_advised_at_k_0_or_without_trembles():
    game = entry()
    assert certify(game, entry_device(game, "fight"), 0, tremble=0.01).is_credible is None
    assert certify(game, entry_device(game, "fight"), 1).is_credible is None


@pytest.mark.parametrize("tremble", [-0.1, 1.0, np.nan, np.inf, "a", "1/0", True])
def test_a_tremble_must_be_a_probability(tremble):
    game = entry()
    with pytest.raises(ArgumentError, match="tremble must be"):
        certify(game, entry_device(game, "fight"), 1, tremble=tremble)


def test_a_tremble_may_be_a_fraction():
    game = entry()
    certificate = certify(game, entry_device(game, "fight"), 1, tremble="1/100")
    assert certificate.tremble == 0.01


def test_the_command_says_whether_advice_is_credible(tmp_path):
    game = entry()
    save_game(game, tmp_path / "entry.efg")
    save_policy(entry_device(game, "fight"), tmp_path / "threat.json")
    asked = (tmp_path / "entry.efg", tmp_path / "threat.json", "-k", 1, "--tremble")
    shown = run("certify", *asked, "1/100").stdout
    assert "not credible: after a slip of somebody else, this advice would be disobeyed" in shown
    assert "gains 2 (nobody who obeys gets there)" in shown
    found = run_json("certify", *asked, 0.01)
    assert found["tremble"] == 0.01
    assert found["trembled"][0]["players"] == pytest.approx([0.0, 0.01])
    assert "tremble must be 0, or a probability below 1" in refused("certify", *asked, -1)
