"""Correlation plans as policies, against the mixture of all joint plans that they draw."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.certifying.inspection import certify_and_inspect
from accord.deviations.notions import AFCE, EFCE, NFCCE
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.correlation_plan import CorrelationPlan, PlanSteps
from accord.equilibrium.evaluation import evaluate
from accord.equilibrium.filling import Filling
from accord.equilibrium.gap import Deviator
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import UNIT
from accord.errors import ArgumentError, MismatchError, ParseError, PolicyError
from accord.game.library import random_game
from accord.mediator.hindsight import Hindsight
from accord.mediator.seat import Move
from accord.optimal.incentives import Incentives
from accord.optimal.tuples import Tuples
from accord.play.obedient_plays import obedient_plays
from accord.treeplex.form import sequence_form
from tests.support.strategies import examples

seeds = st.integers(0, 2**32 - 1)


def played(seed, chance=0.0, depth=4):
    return random_game(
        seed=seed, players=2, depth=depth, actions=2, observe=0.5, chance=chance, stop=0.2
    )


def random_shares(steps, rng, pure):
    """Shares of all steps, of which about this part has one member."""
    share = np.zeros(steps.n_tuples)
    for first, size in zip(steps.sharing.first, steps.sharing.size, strict=True):
        if size < 0:
            continue
        own = rng.dirichlet(np.ones(size))
        if rng.random() < pure:
            own = np.eye(size)[rng.integers(size)]
        share[first : first + size] = own
    return share


def random_plan(game, seed, pure=0.8):
    steps = PlanSteps.of_game(sequence_form(game))
    rng = np.random.default_rng(seed)
    return CorrelatedPolicy.of_plan(CorrelationPlan(steps, random_shares(steps, rng, pure)))


def enumerated(policy, limit=500):
    """The mixture of all draws, each with the product of its shares; None if there are too many."""
    plan = policy.plan
    sharing, share = plan.steps.sharing, plan.share
    options, weights = [], []
    for first, size in zip(sharing.first, sharing.size, strict=True):
        own = share[first : first + max(size, 0)]
        kept = np.flatnonzero(own)
        middle = np.cumsum(own) - own / 2.0
        options.append(middle[kept] if len(kept) else np.zeros(1))
        weights.append(own[kept] if len(kept) else np.ones(1))
    if np.prod([float(len(one)) for one in options]) > limit:
        return None
    drawn = [plan.drawn(np.array(uniform)) for uniform in product(*options)]
    chosen = np.array([np.prod(one) for one in product(*weights)])
    return CorrelatedPolicy(policy.game, chosen / chosen.sum(), np.array(drawn))


@pytest.mark.kernels
@examples(40)
@given(seeds, st.sampled_from([0.0, 0.3]))
def test_it_has_the_gaps_and_values_of_all_that_it_draws(seed, chance):
    game = played(seed, chance)
    try:
        policy = random_plan(game, seed)
    except ArgumentError:  # private chance
        assume(False)
    mixture = enumerated(policy)
    assume(mixture is not None)
    assert mixture.is_mute()
    np.testing.assert_allclose(policy.values(), mixture.values(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(policy.mean_behavior(), mixture.mean_behavior(), rtol=0, atol=1e-12)
    found, want = (
        accord.certify(game, one, [0, "efcce", 1, 2, "bce"]) for one in (policy, mixture)
    )
    for own, other in zip(found.gaps, want.gaps, strict=True):
        assert own.notion == other.notion
        np.testing.assert_allclose(own.player_gaps, other.player_gaps, rtol=0, atol=1e-12)
    assert found.trigger.gap == pytest.approx(want.trigger.gap, abs=1e-12)
    assert found.nfce is None and "does not list" in found.nfce_refusal
    everybody = dict.fromkeys(range(2), ())
    for i, own in evaluate(policy, everybody).items():
        other = evaluate(mixture, everybody)[i]
        shift = own.center - other.center  # losses are measured from other centers
        np.testing.assert_allclose(own.prob, other.prob, rtol=0, atol=1e-12)
        np.testing.assert_allclose(own.external, other.external, rtol=0, atol=1e-12)
        np.testing.assert_allclose(own.loss, other.loss + shift * other.prob, rtol=0, atol=1e-12)
        assert own.stake >= own.gain - 1e-12


@pytest.mark.kernels
@examples(15)
@given(seeds, st.sampled_from([0, 1, 2, np.inf]))
def test_hindsight_is_that_of_the_mixture(seed, k):
    game = played(seed)
    policy = random_plan(game, seed)
    mixture = enumerated(policy)
    assume(mixture is not None)
    for i in range(2):
        own, other = Hindsight(policy, i, k), Hindsight(mixture, i, k)
        assert own.best == pytest.approx(other.best, abs=1e-12)
        tree = own.tree
        for x in tree.plex.children(0):
            for a in range(tree.plex.n_actions[x]):
                told = None if k == 0 else a
                for one in (own, other):
                    if one._prob[one._cell(*one._find([Move(x, told, a)]), a)] == 0.0:
                        break
                else:
                    assert own.deviating([Move(x, told, a)]) == pytest.approx(
                        other.deviating([Move(x, told, a)]), abs=1e-9
                    )


@examples(20)
@given(seeds)
def test_amounts_are_as_accurate_as_they_say(seed):
    """Against shares divided by their sums, multiplied and added in rational numbers."""
    steps = PlanSteps.of_game(sequence_form(played(seed)))
    plan = CorrelationPlan(steps, random_shares(steps, np.random.default_rng(seed), 0.2))
    sharing = steps.sharing
    exact = [Fraction(1)] * steps.n_tuples
    for head, first, size in zip(sharing.head, sharing.first, sharing.size, strict=True):
        if size < 0:
            exact[head] = sum(exact[part] for part in sharing.parts[first : first - size])
            continue
        own = [Fraction(one) for one in plan.share[first : first + size]]
        for m, one in enumerate(own, first):
            exact[m] = exact[head] * one / sum(own)
    for found, want in zip(plan.amount, exact, strict=True):
        assert abs(Fraction(found) - want) <= Fraction(plan.roundings * UNIT) * want


def test_the_steps_do_not_depend_on_k():
    for seed in range(5):
        form = sequence_form(played(seed))
        one = PlanSteps.of(Filling.of(Tuples(Incentives.build(form, 1), 100_000)))
        two = PlanSteps.of_game(form)
        assert np.array_equal(one.keys, two.keys) and np.array_equal(one.number, two.number)
        for a, b in zip(one.sharing, two.sharing, strict=True):
            assert np.array_equal(a, b)


def test_files_keep_every_bit_and_are_checked(tmp_path):
    game = accord.load_game("sheriff(num_rounds=1)")
    policy = random_plan(game, 1, pure=0.3)
    path = tmp_path / "plan.npz"
    accord.save_policy(policy, path)
    again = accord.load_policy(path, game)
    assert np.array_equal(again.plan.share, policy.plan.share)
    assert np.array_equal(again.plan.amount, policy.plan.amount)
    assert repr(again) == repr(policy)
    with pytest.raises(ArgumentError, match=r"saved as \.npz"):
        accord.save_policy(policy, tmp_path / "plan.json")
    with pytest.raises(ArgumentError, match="give the game"):
        accord.load_policy(path)
    with pytest.raises(MismatchError):
        accord.load_policy(path, accord.load_game("sheriff(num_rounds=2)"))
    arrays = dict(np.load(path))
    for name, value, error in (
        ("shares", arrays["shares"][:-1], PolicyError),
        ("shares", -arrays["shares"], PolicyError),
        ("shares", arrays["shares"] * 1.1, PolicyError),
        ("shares", np.full_like(arrays["shares"], np.nan), PolicyError),
        ("shares", arrays["shares"].astype(int), ParseError),
        ("infosets_1", arrays["infosets_1"][::-1], PolicyError),
    ):
        np.savez(tmp_path / "damaged.npz", **{**arrays, name: value})
        with pytest.raises(error, match=r"damaged\.npz"):
            accord.load_policy(tmp_path / "damaged.npz", game)


def test_it_is_played_like_a_mixture():
    game = accord.load_game("sheriff(num_rounds=1)")
    policy = random_plan(game, 7, pure=0.0)
    mean = obedient_plays(policy, 4000, 0)
    assert (np.abs(mean.mean - policy.values()) <= 2.0 * mean.margin).all()
    mediator = accord.Mediator(game, policy, 1, seed=5)
    for _ in range(20):
        play = mediator.begin()
        again = mediator.resume(play.to_json())
        told = []
        for one in (play, again):
            seat = one.seat(0)
            told.append(seat.recommend(sequence_form(game).plexes[0].infoset_labels[0]))
        assert told[0] == told[1]
    agents = [policy.agent(i, 3) for i in range(2)]
    together = policy.split(policy.drawn(np.random.default_rng([3, 0, 0])))
    for agent, part, plex in zip(agents, together, policy.plexes, strict=True):
        law = agent.probabilities(plex.infoset_labels[0])
        assert np.array_equal(law, part[plex.first_seq[0] : plex.first_seq[1]])
    paid = accord.rollout(accord.OpenSpielEnvironment("sheriff(num_rounds=1)"), policy, 400)
    assert (np.abs(paid.mean - policy.values()) <= 3.0 * np.array(paid.margin)).all()


def test_its_device_lists_plays():
    game = accord.load_game("sheriff(num_rounds=1)")
    policy = random_plan(game, 7, pure=0.5)
    device = policy.device(3)
    assert len(device.plans) == 3
    assert device.rest + sum(plan.probability for plan in device.plans) == pytest.approx(1.0)
    assert [plan.probability for plan in device.plans] == sorted(
        (plan.probability for plan in device.plans), reverse=True
    )
    whole = policy.device(10_000)
    assert whole.is_complete
    want = policy.sampled(20_000).device(3)
    for one, other in zip(device.plans, want.plans, strict=True):
        assert one.probability == pytest.approx(other.probability, abs=0.02)
    with pytest.raises(ArgumentError, match="off the path"):
        policy.device(off_path=True)


def test_what_it_lacks_is_refused():
    game = accord.load_game("sheriff(num_rounds=1)")
    policy = random_plan(game, 1)
    agents = [Deviator(RechistoryTree.build(plex, "afce")) for plex in policy.plexes]
    with pytest.raises(ArgumentError, match="at every K"):
        evaluate(policy, {0: agents[:1]})
    notions = [EFCE, AFCE, NFCCE]
    certificate, seen = certify_and_inspect(policy, notions, [1.0])
    assert [gap.notion for gap in certificate.gaps] == [EFCE, NFCCE]
    assert list(seen.deviators) == [1.0]
    assert policy.n_components == 0
    assert policy.size.startswith("correlation plan over")
    for use in (
        lambda: policy.weights, lambda: policy.behavior, lambda: list(policy.components()),
        lambda: accord.certify(game, policy, 1, tremble=0.1),
        lambda: accord.certify(game, policy, "afce"), lambda: accord.certify(game, policy, "lce"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=r"policy\.sampled\(1000\)"):
            use()
    with pytest.raises(AttributeError):
        policy.nothing  # noqa: B018
    sample = policy.sampled(50, 3)
    assert sample.n_components == 50 and sample.is_mute()
    with pytest.raises(ArgumentError):
        policy.sampled(0)
    dealt = random_game(seed=1, players=3, depth=3, actions=2)
    with pytest.raises(ArgumentError, match="two players"):
        PlanSteps.of_game(sequence_form(dealt))
