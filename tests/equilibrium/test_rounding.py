"""Error bounds of certificates, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify
from accord.certifying.normal_form import nfce_gaps
from accord.equilibrium import rounding
from accord.equilibrium.evaluation import centers
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import settled, settled_all
from accord.errors import GameError
from accord.game.builder import GameBuilder
from accord.game.library import chicken, kuhn, matrix_game
from accord.game.tree import Game
from accord.learning.self_play import SelfPlay
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.exact_certificates import (
    KS,
    assert_within,
    check_certificate,
    check_notions,
    extreme_game,
    extreme_policy,
)
from tests.support.policies import as_reference, random_policy
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

ACCURATE = 1e-9
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@examples(80)
@given(seeds)
def test_every_number_of_a_certificate_is_within_its_error(seed):
    assert check_certificate(seed) >= 6


@pytest.mark.slow
def test_so_is_every_gap_of_other_notions_and_against_trembling_hands():
    assert sum(map(check_notions, range(60))) > 500


@pytest.mark.slow
@examples(40)
@given(seeds)
def test_errors_are_as_small_as_what_is_at_stake(seed):
    """Payoffs that are never paid, and losses that a deviator avoids, do not count."""
    game = extreme_game(seed)
    policy = extreme_policy(game, seed)
    certificate = certify(game, policy, KS)
    exact = reference.exact_policy(game, as_reference(policy))
    for i, center in centers(policy).items():
        stake = reference.exact_stake(game, i, Fraction(center), exact)
        assert certificate.stakes[i] >= (1 - 1e-9) * float(stake) - 1e-290
        shift = abs(Fraction(center) - reference.exact_values(game, exact)[i])
        for gap in certificate.gaps:
            size = stake + shift + abs(Fraction(gap.player_gaps[i]))
            assert gap.player_errors[i] <= 1e-12 * float(size) + 1e-290
            assert gap.player_gaps[i] == 0.0 or abs(gap.player_gaps[i]) > gap.player_errors[i]


@pytest.mark.slow
@examples(40)
@given(seeds)
def test_meters_and_learners_know_their_errors(seed):
    game = extreme_game(seed)
    policy = extreme_policy(game, seed)
    form, exact = sequence_form(game), reference.exact_policy(game, as_reference(policy))
    meter = MixtureMeter(form, 1)
    for weight, behaviors in policy.components():
        meter.observe(behaviors, weight)
    found = meter.measured()
    for i, value in enumerate(reference.exact_values(game, exact)):
        assert_within(found.values[i], found.value_errors[i], value)
        assert_within(found.gaps[i], found.errors[i], reference.exact_gap(game, i, 1, exact))
    if not any(plex.n_infosets for plex in form.plexes):
        return
    play = SelfPlay(form, 1, averaging=1)
    kept = np.empty((5, form.n_sequences))
    play.advance(5, kept)
    average = CorrelatedPolicy(game, np.arange(1.0, 6.0) / 15.0, kept)
    exact = reference.exact_policy(game, as_reference(average))
    found = play.measured()
    for i, value in enumerate(reference.exact_values(game, exact)):
        assert_within(found.values[i], found.value_errors[i], value)
        assert_within(found.gaps[i], found.errors[i], reference.exact_gap(game, i, 1, exact))


# --- what is zero ---------------------------------------------------------------------------------


def three_by_two(unreached: float, gain: float) -> tuple[Game, CorrelatedPolicy]:
    """The row player gains by playing the second row; nobody gets to the last cell."""
    row = [[0.0, 0.0], [gain, 0.0], [0.0, unreached]]
    game = matrix_game([row, np.zeros((3, 2))])
    return game, CorrelatedPolicy.from_device(game, [(1.0, ({"1": "0"}, {"2": "0"}))])


def assert_gains(certificate: Certificate, gain: float) -> None:
    for gap in (*certificate.gaps, certificate.nfce):
        assert gap is not None
        assert gap.gap == gain
        assert gap.error <= ACCURATE * gain
    assert certificate.trigger.gap == gain
    assert certificate["efce"].witnesses[0].first_deviations[0].plays == "1"
    assert "cannot gain" not in str(certificate["efce"].witnesses[0])


@pytest.mark.parametrize("unreached", [1e10, 1e14, 1e16, 1e17, -1e17, 1e300, -1e300])
def test_payoffs_that_are_never_paid_cost_no_digits(unreached):
    assert_gains(certify(*three_by_two(unreached, 1.0)), 1.0)


def test_a_small_gain_beside_a_large_penalty_has_its_witness():
    assert_gains(certify(*three_by_two(-1e9, 0.0005)), 0.0005)


@pytest.mark.parametrize("shift", [1e9, -1e9, 1e12])
def test_a_shift_of_all_payoffs_costs_no_digits(shift):
    b = GameBuilder(players=["one"])
    b.chance({"rare": 1e-20, "often": 1.0})
    b.move("rare", "often", player="one", actions="stay go")
    for chance, stay, go in (("rare", 0.0, 1e17), ("often", 0.0, -0.000244140625)):
        b.payoff([chance, "stay"], shift + stay)
        b.payoff([chance, "go"], shift + go)
    game = b.build()
    stay = dict.fromkeys(game.infoset_labels[0], "stay")
    policy = CorrelatedPolicy.from_device(game, [(1.0, (stay,))])
    gap = certify(game, policy, 1)[1]
    exact = reference.exact_policy(game, as_reference(policy))
    expected = reference.exact_gap(game, 0, 1, exact)
    assert expected > 0
    assert_within(gap.gap, gap.error, expected)
    assert gap.error <= ACCURATE * gap.gap


def test_payoffs_that_cancel_in_one_row_count_in_the_error():
    """Plays that differ in chance moves only share a row; what was added up there is at stake."""
    rng = np.random.default_rng(0)
    probs = np.concatenate([[0.5], rng.dirichlet(np.ones(20)) / 2])
    payoffs = np.concatenate([[0.0], 1e8 * rng.normal(size=20)])  # the likeliest play pays nothing
    payoffs[-1] = (1.0 - probs[:-1] @ payoffs[:-1]) / probs[-1]
    b = GameBuilder(players=["one"])
    b.move(player="one", actions="stay go")
    b.payoff("stay", 0.0)
    b.chance({str(n): p for n, p in enumerate(probs)}, "go")
    for n, payoff in enumerate(payoffs):
        b.payoff(["go", str(n)], payoff)
    game = b.build()
    policy = CorrelatedPolicy.from_device(game, [(1.0, ({"root": "stay"},))])
    expected = reference.exact_gap(game, 0, 1, reference.exact_policy(game, as_reference(policy)))
    gap = certify(game, policy, 1)[1]
    assert_within(gap.gap, gap.error, expected)
    assert abs(Fraction(gap.gap) - expected) > Fraction(1e-12)  # rounding did move it
    assert sequence_form(game).leaves.roundings >= len(payoffs)  # at worst, one after another


def test_a_gain_that_is_only_rounding_is_zero_everywhere():
    """A mixture with equal payoffs that rounding tells apart."""
    game = matrix_game([[[0.1, 0.7, 0.3], [0.3, 0.1, 0.7], [0.7, 0.3, 0.1]], np.zeros((3, 3))])
    third = np.array([1.0, 1 / 3, 1 / 3, 1 / 3])
    certificate = certify(game, CorrelatedPolicy.product(game, [third, third]))
    for gap in (*certificate.gaps, certificate.nfce):
        assert gap is not None
        assert gap.player_gaps == (0.0, 0.0) and gap.relative == 0.0
        assert 0.0 < gap.error < 1e-13
        for witness in gap.witnesses:
            assert witness.gain == 0.0 and witness.first_deviations == ()
            phi = witness.modification
            if gap.notion.deviations:
                assert (phi.choice == phi.obedient().choice).all()
    content = certificate.to_json()
    assert content["gaps"][2]["gap"] == content["trigger_gap"] == content["nfce_gap"] == 0.0


def test_the_rule_for_zero():
    assert settled(3e-16, 4e-16) == (0.0, pytest.approx(7e-16))
    assert settled(-3e-16, 4e-16) == (0.0, pytest.approx(7e-16))
    assert settled(5e-16, 4e-16) == (5e-16, 4e-16)
    values, errors = settled_all(np.array([3.0, -1.0]), np.array([2.0, 2.0]))
    assert values.tolist() == [3.0, 0.0] and errors.tolist() == [2.0, 3.0]


# --- payoffs that cannot be computed with ---------------------------------------------------------


@pytest.mark.parametrize("size", [1e308, 2e305, 5e-324, 1e-310])
def test_games_whose_gaps_would_not_be_finite_are_refused(size):
    game = matrix_game([[[size, -size], [-size, size]], [[-size, size], [size, 0.0]]])
    with pytest.raises(GameError, match=r"player 1 are between .*, which changes no equilibrium"):
        sequence_form(game)
    with pytest.raises(GameError, match="player 1"):
        CorrelatedPolicy.from_device(game, [(1.0, ({"1": "0"}, {"2": "0"}))])


def test_rewards_that_add_up_to_infinity_are_refused():
    b = GameBuilder(players=["one"])
    b.move(player="one", actions="stay go")
    b.reward([], 1e308)
    b.payoff("stay", 1e308)
    b.payoff("go", 0.0)
    with pytest.raises(GameError, match="payoff of a play must be between"):
        sequence_form(b.build())


@pytest.mark.parametrize("factor", [2.0**-990, 2.0**990])
@pytest.mark.parametrize("make", [kuhn, chicken])
def test_the_unit_of_payoffs_does_not_matter(factor, make):
    game = make()
    large = game.replace(reward=game.reward * factor)
    policy = random_policy(game, 3)
    plain = certify(game, policy)
    scaled = certify(large, CorrelatedPolicy(large, policy.weights, policy.behavior))
    for gap, other in zip(plain.gaps, scaled.gaps, strict=True):
        assert np.array(other.player_gaps) / factor == pytest.approx(np.array(gap.player_gaps))
        assert other.error / factor == pytest.approx(gap.error, rel=1e-6)


# --- the normal form ------------------------------------------------------------------------------


def test_any_number_of_pure_components_has_a_normal_form_gap():
    game = chicken()
    one, other = np.array([1.0, 1, 0, 1, 0, 1]), np.array([1.0, 0, 1, 1, 1, 0])
    count, behavior = 10_001, np.array([one] * 6_001 + [other] * 4_000)
    many = CorrelatedPolicy(game, np.full(count, 1 / count), behavior)
    few = CorrelatedPolicy(game, np.array([6_001, 4_000]) / count, np.array([one, other]))
    assert nfce_gaps(many) == pytest.approx(nfce_gaps(few), abs=1e-12)
    assert certify(game, many, 1).nfce_refusal is None
    mixed = behavior.copy()
    mixed[::2] = 0.5 + 0.5 * (behavior[::2] == 1.0)
    mixed[::2] /= np.array([1.0, 1.5, 1.5, 1.0, 1.5, 1.5])  # each from the same four plans
    assert nfce_gaps(CorrelatedPolicy(game, many.weights, mixed)).shape == (2,)


def test_counting_roundings_takes_time_linear_in_the_players(monkeypatch):
    looked = []
    longest = rounding._longest
    monkeypatch.setattr(rounding, "_longest", lambda *a: looked.append(a) or longest(*a))
    form = sequence_form(kuhn(4))
    counts = [rounding.count_roundings(form, i, 10) for i in range(4)]
    assert len(looked) == 2 * 4  # each policy once, and each player's own sweep
    assert counts == [rounding.count_roundings(form, i, 10) for i in range(4)]
