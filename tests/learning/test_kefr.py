"""K-EFR: learners alone and in self-play, what they keep, and the gap they know exactly."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.certifying.exact import certify
from accord.equilibrium.gap import RegretMeter, efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.game.library import (
    balanced,
    extended_shapley,
    kuhn,
    random_game,
)
from accord.learning.kefr import KEFR
from accord.learning.self_play import SelfPlay
from accord.regret.wrhedge import WRHedge
from accord.runs.components import Components, default_components
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior, random_behavior
from accord.treeplex.treeplex import Treeplex, treeplexes
from accord.treeplex.values import best_response, immediate_loss, joint_reach
from tests import reference
from tests.support.runs import MINIMIZERS, behaviors, run
from tests.support.strategies import examples, games

pytestmark = pytest.mark.kernels

checked = examples(50)

KS = [0, 1, 2, math.inf]
ks = st.sampled_from(KS)
seeds = st.integers(0, 2**32 - 1)
minimizers = st.sampled_from(list(MINIMIZERS.values()))
GAMES = {
    "kuhn": kuhn(),
    "kuhn3": kuhn(3),
    "four players": random_game(seed=6, players=4, depth=6, actions=3),
    "one player": random_game(seed=15, players=1, depth=4, actions=3),
    "extended shapley": extended_shapley(),
}


def copied(plex: Treeplex) -> Treeplex:
    """A treeplex that shares nothing with the game it came from, labels included."""
    above = plex.seq_infoset[plex.parent_seq]
    action = plex.parent_seq - np.where(above >= 0, plex.first_seq[above], 0)
    return Treeplex.from_parents(plex.n_actions.copy(), above.copy(), action.copy())


# --- a learner alone ------------------------------------------------------------------------------


def test_a_learner_is_made_from_a_treeplex_and_nothing_else():
    """Uncoupled: there is no way to tell it about the game or the others."""
    parameters = inspect.signature(KEFR).parameters
    assert list(parameters) == [
        "plex", "k", "method", "iterations", "averaging", "behavior", "budget",
    ]  # fmt: skip
    plex = Treeplex.from_parents([2, 3, 1], [-1, 0, 1], [0, 1, 2])
    learner = KEFR(plex, 1)
    policy = learner.recommend()
    np.testing.assert_allclose(policy, [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1])
    learner.observe(np.array([0.0, 0.5, 0, 0, 0, 0, 1]))
    assert learner.iteration == 1
    assert 0.0 < learner.regret() < 1.0


@pytest.mark.parametrize("minimizer", MINIMIZERS.values(), ids=MINIMIZERS)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", GAMES)
def test_learners_alone_do_what_they_do_in_self_play(name, k, minimizer):
    """Fed with the losses that the others' policies cause, bit for bit."""
    game, iterations = GAMES[name], 12
    form = sequence_form(game)
    play, kept = run(game, k, minimizer, iterations, averaging=1)
    for i, plex in enumerate(form.plexes):
        learner = KEFR(copied(plex), k, minimizer, iterations=iterations, averaging=1)
        for row in kept:
            np.testing.assert_array_equal(learner.recommend(), form.split(row)[i])
            reach = joint_reach(form.plexes, form.split(row))
            learner.observe(immediate_loss(form.leaves, i, reach))
        assert learner.regret() == play.learners[i].regret()
        assert learner.total_weight == play.learners[i].total_weight == 12 * 13 / 2


def opponents(game, player, own, rng, kind, t):
    """Everybody's policies, given the learner's; ``adaptive`` ones hurt it most, greedily."""
    form = sequence_form(game)
    if kind == "scripted":
        chosen = [pure_behavior(plex, np.full(plex.n_infosets, t) % plex.n_actions)
                  for plex in form.plexes]  # fmt: skip
    else:
        chosen = [random_behavior(plex, rng) for plex in form.plexes]
    chosen[player] = own.copy()
    if kind == "adaptive":
        table = form.leaves
        for j, plex in enumerate(form.plexes):
            if j == player:
                continue
            reach = joint_reach(form.plexes, chosen)
            weight = np.ones(len(table))
            for other in range(form.n_players):
                if other != j:
                    weight *= reach[table.first_reach[other] + table.seqs[:, other]]
            gain = np.bincount(
                table.seqs[:, j], weight * table.payoff[:, player], minlength=plex.n_sequences
            )
            chosen[j] = pure_behavior(plex, best_response(plex, gain)[1])
    return chosen


def literal_policies(game, player, k, iterates, make):
    """What Algorithm 2 recommends to ``player`` in each of the iterations."""
    twins = [
        make(len(reference.actions(game, player, x)), reference.type_one(game, player, k, x),
             reference.type_two(game, player, k, x))
        for x in reference.infosets(game, player)
    ]  # fmt: skip
    policies = []
    for policy in iterates:
        own = [1.0] * reference.n_sequences(game, player)
        for x, twin in enumerate(twins):
            both = (
                *reference.type_one(game, player, k, x),
                *reference.type_two(game, player, k, x),
            )
            twin.observe_time_selection(
                {b: reference.time_selection(game, player, own, x, b) for b in both}
            )
            for a, p in enumerate(twin.recommend()):
                own[reference.sequence(game, player, x, a)] = p
        losses = reference.counterfactual_losses(game, player, policy)
        for x, twin in enumerate(twins):
            twin.observe_loss(
                [
                    losses[reference.sequence(game, player, x, a)]
                    for a in reference.actions(game, player, x)
                ]
            )
        policies.append(own)
    return policies


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scripted", "random", "adaptive"])
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", ["kuhn", "kuhn3", "extended shapley"])
def test_a_learner_against_anybody_is_the_literal_one_and_knows_its_regret(name, k, kind):
    game, rng = GAMES[name], np.random.default_rng(4)
    form = sequence_form(game)
    for player, plex in enumerate(form.plexes):
        learner = KEFR(plex, k, WRHedge(0.8))
        iterates, own = [], []
        for t in range(8):
            own.append(learner.recommend().tolist())
            met = opponents(game, player, np.array(own[-1]), rng, kind, t)
            learner.observe(immediate_loss(form.leaves, player, joint_reach(form.plexes, met)))
            iterates.append([policy.tolist() for policy in met])
            expected = reference.efce_regret(game, player, k, iterates)
            assert learner.regret() == pytest.approx(expected, rel=0, abs=1e-12)
        literal = literal_policies(
            game, player, k, iterates, lambda n, swap, ext: reference.WRHedge(n, swap, ext, 0.8)
        )
        np.testing.assert_allclose(own, literal, rtol=0, atol=1e-12)


@checked
@given(games(max_actions=4), ks, minimizers, seeds)
def test_the_regret_of_a_learner_is_the_regret_of_its_policies(game, k, minimizer, seed):
    rng = np.random.default_rng(seed)
    form = sequence_form(game)
    player = int(rng.integers(game.n_players))
    learner = KEFR(form.plexes[player], k, minimizer, iterations=6)
    iterates = []
    for t in range(6):
        met = opponents(game, player, learner.recommend(), rng, ["random", "scripted"][t % 2], t)
        learner.observe(immediate_loss(form.leaves, player, joint_reach(form.plexes, met)))
        iterates.append([policy.tolist() for policy in met])
        expected = reference.efce_regret(game, player, k, iterates)
        regret, phi = learner.best_deviation()
        assert regret == pytest.approx(expected, rel=0, abs=1e-12)
        assert learner.regret() == regret
    saved = 0.0  # by the modification that is said to be the best
    for policies in iterates:
        joint = [np.array(policy) for policy in policies]
        loss = immediate_loss(form.leaves, player, joint_reach(form.plexes, joint))
        reach = joint_reach([form.plexes[player]], [joint[player]])
        saved += float(loss @ (reach - phi.sequence_form(joint[player])))
    assert regret == pytest.approx(saved, rel=0, abs=1e-12)


def test_the_regret_is_of_what_was_observed():
    """Between policy and losses it is that of the iterations before; losses can be corrected."""
    plex = treeplexes(kuhn())[0]
    rng = np.random.default_rng(0)
    learner, corrected = (KEFR(plex, 1, WRHedge(0.5), averaging=2) for _ in range(2))
    assert learner.regret() == 0.0
    for _ in range(5):
        before = learner.regret()
        learner.recommend()
        assert learner.regret() == pytest.approx(before, rel=1e-12)
        loss = rng.random(plex.n_sequences)
        learner.observe(loss)
        corrected.recommend()
        corrected.observe(rng.random(plex.n_sequences))
        corrected.observe(loss)
        assert corrected.regret() == pytest.approx(learner.regret(), rel=1e-12)
    np.testing.assert_array_equal(learner.recommend(), corrected.recommend())


def test_a_policy_whose_losses_are_never_observed_met_none():
    plex = treeplexes(kuhn())[0]
    silent, told = KEFR(plex, 1), KEFR(plex, 1)
    rng = np.random.default_rng(0)
    for t in range(6):
        np.testing.assert_array_equal(silent.recommend(), told.recommend())
        loss = rng.random(plex.n_sequences) * (t % 2)
        told.observe(loss)
        if t % 2:
            silent.observe(loss)
    assert silent.regret() == told.regret()


@pytest.mark.parametrize("minimizer", MINIMIZERS.values(), ids=MINIMIZERS)
def test_where_policies_are_written_may_be_dirty(minimizer):
    plex = treeplexes(kuhn())[0]
    here = np.full(plex.n_sequences, math.nan)
    learner = KEFR(plex, 1, minimizer, iterations=3, behavior=here)
    assert learner.regret() == 0.0
    clean = KEFR(plex, 1, minimizer, iterations=3)
    for _ in range(3):
        assert learner.recommend() is here
        np.testing.assert_array_equal(here, clean.recommend())
        for one in (learner, clean):
            one.observe(np.linspace(0, 0.1, plex.n_sequences))
    assert learner.regret() == clean.regret() > 0.0


@pytest.mark.parametrize(
    "loss",
    [0.0, [0.0] * 12, [0.0] * 14, [[0.0] * 13], [-0.1] * 13, [math.nan] * 13, [math.inf] * 13],
    ids=str,
)
def test_losses_must_be_losses(loss):
    learner = KEFR(treeplexes(kuhn())[0])
    learner.recommend()
    with pytest.raises(ArgumentError, match="losses must be 13 finite numbers, one per sequence"):
        learner.observe(loss)


def test_there_are_no_losses_before_the_first_policy():
    with pytest.raises(ArgumentError, match="there is no policy yet"):
        KEFR(treeplexes(kuhn())[0]).observe(np.zeros(13))


# --- self-play ------------------------------------------------------------------------------------


def everything(play: SelfPlay):
    """All numbers that a run has produced."""
    yield from (play.iteration, play.behavior, play.reach, play.total_loss, play.gaps())
    for learner in play.learners:
        yield from (learner.iteration, learner.own_loss)
        for name, array in learner.state._asdict().items():
            if name not in {"rates", "rows", "external"}:  # scratch
                yield array


def assert_same_bits(one, other):
    for a, b in zip(everything(one), everything(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("averaging", [0, 1, 2])
@pytest.mark.parametrize("minimizer", MINIMIZERS.values(), ids=MINIMIZERS)
@pytest.mark.parametrize("name", ["kuhn3", "four players", "one player"])
def test_calls_and_threads_change_no_bit(name, minimizer, averaging):
    form = sequence_form(GAMES[name])

    def start(threads):
        return SelfPlay(form, 1, minimizer, iterations=60, averaging=averaging, threads=threads)

    whole, kept = start(1), np.empty((20, form.n_sequences))
    assert whole.advance(60, kept, stride=3) == 20
    for threads in (1, form.n_players):
        split, rows, later = start(threads), 0, np.empty_like(kept)
        for size in (1, 1, 7, 2, 30, 0, 19):
            rows += split.advance(size, later[rows:], stride=3)
        assert rows == 20
        np.testing.assert_array_equal(kept, later)
        assert_same_bits(whole, split)


@checked
@given(games(max_depth=5), ks, minimizers, st.lists(st.integers(0, 9), max_size=6), seeds)
def test_any_split_gives_the_same_bits_on_random_games(game, k, minimizer, sizes, seed):
    form = sequence_form(game)
    total = sum(sizes) + 1
    options = {"iterations": total, "averaging": seed % 3}
    whole = SelfPlay(form, k, minimizer, threads=1, **options)
    split = SelfPlay(form, k, minimizer, threads=1 + seed % 2, **options)
    whole.advance(total)
    for size in (*sizes, 1):
        split.advance(size)
    assert_same_bits(whole, split)


def test_a_large_game_runs_on_threads_and_a_small_one_does_not():
    small = SelfPlay(sequence_form(kuhn()))
    assert small._pool is None
    form = sequence_form(balanced(infosets=60_000, ratio=4.0))
    large, single = SelfPlay(form), SelfPlay(form, threads=1)
    assert large._pool is not None and single._pool is None
    for play in (large, single):
        play.advance(3)
    assert_same_bits(large, single)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 5, 7, 30])
def test_kept_rows_are_every_stride_th_iterate(stride, threads):
    form = sequence_form(kuhn())
    _, everyone = run(kuhn(), 1, iterations=29)
    play = SelfPlay(form, 1, threads=threads)
    kept = np.full((29, form.n_sequences), math.nan)
    rows = play.advance(11, kept, stride)
    rows += play.advance(18, kept[rows:], stride)
    assert rows == 29 // stride
    np.testing.assert_array_equal(kept[:rows], everyone[stride - 1 :: stride])
    assert np.isnan(kept[rows:]).all()


# --- which iterates are saved ---------------------------------------------------------------------


def thinned(components, total, sizes):
    """Run iterates whose content is their number through ``Components``, in calls of ``sizes``."""
    iterates = Components(components, np.ones(1, np.int32))
    done, calls = 0, iter(sizes)
    while done < total:
        size = min(next(calls, total), total - done, iterates.until_full(done))
        assert size >= 1
        room, stride = iterates.make_room(), iterates.stride
        written = [t for t in range(done + 1, done + size + 1) if t % stride == 0]
        assert len(written) <= len(room)
        room[: len(written), 0] = written
        iterates.add(len(written))
        done += size
    times = iterates.take()
    np.testing.assert_array_equal(times, iterates.matrix.behaviors()[:, 0])
    return times, iterates.stride


@examples(300)
@given(
    st.integers(1, 12),
    st.integers(1, 400),
    st.lists(st.integers(1, 60), max_size=20),
    st.lists(st.integers(1, 60), max_size=20),
)
def test_saved_iterates_are_evenly_spaced_up_to_the_last(components, total, sizes, others):
    times, stride = thinned(components, total, sizes)
    np.testing.assert_array_equal(times, thinned(components, total, others)[0])
    assert len(times) == min(components, total)
    assert total - stride < times[-1] <= total
    if total <= components:
        np.testing.assert_array_equal(times, np.arange(1, total + 1))
    if components > 1:
        assert times[0] == stride <= max(1, total // components)
        steps = {late - early for early, late in pairwise(times.tolist())}
        assert max(steps, default=1) - min(steps, default=1) <= stride
    else:
        assert times[-1] == total // stride * stride


def test_how_many_iterates_are_saved_by_default():
    assert Components().wanted == default_components(100) == 1000
    assert default_components(2**20) == 64  # a gibibyte, with as many again while running
    assert default_components(2**40 // 2**10) == 1
    assert Components(None, np.array([2**20])).wanted == 64
    with pytest.raises(ArgumentError, match="components must be at least 1; got 0"):
        Components(0)


# --- the exact gap while running ------------------------------------------------------------------


def mixture(game, kept, power):
    weights = np.arange(1.0, len(kept) + 1) ** power
    return CorrelatedPolicy(game, weights / weights.sum(), kept)


@pytest.fixture
def no_normal_form(monkeypatch):
    """Certificates without the normal-form gap, which tries all pure policies."""

    def refuse(policy):
        raise BudgetError("not asked for", 1, 0)

    monkeypatch.setattr("accord.certifying.exact.measured_nfce_gaps", refuse)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("minimizer", MINIMIZERS.values(), ids=MINIMIZERS)
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.usefixtures("no_normal_form")
def test_the_gap_while_running_is_that_of_the_mixture_of_all_iterates(name, minimizer, power):
    game = GAMES[name]
    for k in KS:
        play, kept = run(game, k, minimizer, 30, averaging=power)
        certificate = certify(game, mixture(game, kept, power), k)
        unit = play.form.leaves.payoff_range.max()
        expected = certificate[k].player_gaps
        np.testing.assert_allclose(play.gaps(), expected, rtol=0, atol=1e-12 * unit)
        np.testing.assert_allclose(play.values(), certificate.values, rtol=0, atol=1e-12 * unit)


@checked
@given(games(max_depth=5), ks, minimizers, st.sampled_from([0, 1, 2]))
def test_the_gap_while_running_is_that_of_the_definition(game, k, minimizer, power):
    play, kept = run(game, k, minimizer, 7, averaging=power)
    weights = np.arange(1.0, 8) ** power
    policy = [
        (float(w), behaviors(game, row))
        for w, row in zip(weights / weights.sum(), kept, strict=True)
    ]
    for i, gap in enumerate(play.gaps()):
        expected, _ = reference.best_deviation(game, i, k, policy)
        worst, best = reference.payoff_range(game, i)
        assert gap == pytest.approx(expected, rel=0, abs=1e-12 * max(1.0, best - worst))
    expected = reference.correlated_values(game, policy)
    np.testing.assert_allclose(play.values(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_the_gap_of_a_long_run_has_not_drifted():
    game = kuhn()
    play, kept = run(game, 1, iterations=2_000, averaging=2)
    expected = efce_gaps(mixture(game, kept, 2), 1)
    assert 0.0 < expected.max() < 1e-6
    np.testing.assert_allclose(play.gaps(), expected, rtol=0, atol=1e-13)


# --- the regret decomposition ---------------------------------------------------------------------


def arbitrary(plex, rng):
    """Any policy: mixed, pure, or nearly so."""
    mixed = random_behavior(plex, rng)
    pure = pure_behavior(plex, rng.integers(0, plex.n_actions))
    share = rng.choice([0.0, 0.01, 1.0])
    return share * mixed + (1 - share) * pure


@checked
@given(games(max_depth=6), ks, st.integers(1, 5), seeds)
def test_regret_is_at_most_the_sum_of_local_regrets(game, k, rounds, seed):
    """Lemma E.2, whatever the iterates."""
    assume(sum(len(reference.rechistories(game, i, k)) for i in range(game.n_players)) < 2000)
    rng = np.random.default_rng(seed)
    form = sequence_form(game)
    iterates = [[arbitrary(plex, rng) for plex in form.plexes] for _ in range(rounds)]
    told = [[policy.tolist() for policy in policies] for policies in iterates]
    for i, plex in enumerate(form.plexes):
        meter = RegretMeter(plex, k)
        for policies in iterates:
            reach = joint_reach(form.plexes, policies)
            meter.observe(policies[i], immediate_loss(form.leaves, i, reach))
        layers = reference.decomposition(game, i, k, told)
        assert len(layers) == plex.horizon
        assert meter.regret() <= sum(swap + external for swap, external in layers) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("minimizer", MINIMIZERS.values(), ids=MINIMIZERS)
def test_regret_of_learners_is_at_most_the_sum_of_local_regrets(minimizer, k):
    game = kuhn(3)
    play, kept = run(game, k, minimizer, 20, averaging=0)
    iterates = [behaviors(game, row) for row in kept]
    for i, learner in enumerate(play.learners):
        layers = reference.decomposition(game, i, k, iterates)
        bound = sum(swap + external for swap, external in layers)
        assert learner.regret() <= bound + 1e-12
        if learner.plex.horizon == 1:  # then there is nothing to decompose
            assert learner.regret() == pytest.approx(bound, rel=0, abs=1e-12)
