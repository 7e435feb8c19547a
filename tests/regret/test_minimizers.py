"""Minimizers against their literal twins, and against what their theory promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.errors import ArgumentError
from accord.game.library import balanced, kuhn, random_game, shapley, signalling
from accord.learning.kefr import KEFR
from accord.regret.rates import paper_learning_rate
from accord.regret.regret_matching import Matching, RegretMatching
from accord.regret.wrhedge import LearningRate, WRHedge
from accord.treeplex.treeplex import Treeplex, treeplexes
from tests import reference
from tests.support.runs import OneInfoset, behaviors, run
from tests.support.strategies import examples, games

pytestmark = pytest.mark.kernels

checked = examples(100)

KS = [0, 1, 2, math.inf]
NOTIONS = ["EFCCE", "AFCE", "AFCCE"]
MATCHING = {
    "rm": RegretMatching(plus=False, predictive=False),
    "rm+": RegretMatching(plus=True, predictive=False),
    "prm+": RegretMatching(plus=True, predictive=True),
}
METHODS = {
    "rm": Matching(False, False, 0.0),
    "rm+": Matching(True, False, 0.0),
    "prm+": Matching(True, True, 0.0),
}
GAMES = {
    "kuhn": kuhn(),
    "kuhn3": kuhn(3),
    "signalling": signalling(),
    "four actions": random_game(seed=9, players=3, depth=5, actions=4),
}

ROUNDING = 1e-10
"""Of imbalances: regrets that are 0 but for rounding, divided by 1e-6 (``reference.imbalance``)."""


# --- K-EFR is the literal algorithm, iterate by iterate -------------------------------------------


def literal_wrhedge(game, k, iterations, rate):
    """Algorithm 2 with all A^A experts; ``rate`` None is the paper's."""

    def make(i, n_actions, swap, external):
        own = {"EFCCE": 0, "AFCE": 1, "AFCCE": 0}.get(k, k)
        eta = reference.full_feedback_rate(game, i, own, iterations) if rate is None else rate
        return reference.WRHedge(n_actions, swap, external, eta)

    return reference.kefr(game, k, iterations, make)


def largest_difference(kept, literal):
    return max(
        np.abs(row - np.concatenate(policies)).max()
        for row, policies in zip(kept, literal, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [*KS, *NOTIONS])
@pytest.mark.parametrize("rate", [None, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", GAMES)
def test_wrhedge_is_the_literal_algorithm(name, k, rate):
    game, iterations = GAMES[name], 4 if name == "four actions" else 40
    _, kept = run(game, k, WRHedge(rate), iterations)
    # the rechistories of the EFCCE come true together, so rates of 100 magnify rounding
    rounding = 1e-11 if k in NOTIONS else 1e-12
    assert largest_difference(kept, literal_wrhedge(game, k, iterations, rate)) < rounding
    assert largest_difference(kept[1:], [behaviors(game, row) for row in kept[:-1]]) > 1e-3


def experts(game, k):
    """How many (b, psi) the literal algorithm keeps."""
    return sum(
        len(reference.actions(game, i, x)) ** len(reference.actions(game, i, x))
        for i in range(game.n_players)
        for x, _ in reference.rechistories(game, i, k)
    )


@examples(60)
@given(
    games(max_depth=5, max_actions=4),
    st.sampled_from([*KS, *NOTIONS]),
    st.sampled_from([None, 3.0, 30.0]),
)
def test_wrhedge_is_the_literal_algorithm_on_random_games(game, k, rate):
    assume(1 < experts(game, k) < 10_000)
    _, kept = run(game, k, WRHedge(rate), 6)
    assert largest_difference(kept, literal_wrhedge(game, k, 6, rate)) < 1e-12


def literal_matching(kind):
    return lambda _, n_actions, swap, external: reference.RegretMatching(
        n_actions, swap, external, kind
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [*KS, *NOTIONS])
@pytest.mark.parametrize("kind", MATCHING)
@pytest.mark.parametrize("name", GAMES)
def test_regret_matching_is_the_literal_algorithm(name, kind, k):
    """Chains may be reducible, and then any of their stationary distributions will do."""
    game, iterations = GAMES[name], 12 if name == "four actions" else 40
    _, kept = run(game, k, MATCHING[kind], iterations)
    iterates = [behaviors(game, row) for row in kept]
    assert reference.replay_kefr(game, k, iterates, literal_matching(kind)) < ROUNDING


@checked
@given(games(max_depth=5, max_actions=4), st.sampled_from(KS), st.sampled_from(list(MATCHING)))
def test_regret_matching_is_the_literal_algorithm_on_random_games(game, k, kind):
    assume(sum(len(reference.rechistories(game, i, k)) for i in range(game.n_players)) < 500)
    _, kept = run(game, k, MATCHING[kind], 10)
    iterates = [behaviors(game, row) for row in kept]
    assert reference.replay_kefr(game, k, iterates, literal_matching(kind)) < ROUNDING


@pytest.mark.parametrize("kind", MATCHING)
@pytest.mark.parametrize("name", ["kuhn", "signalling", "four actions"])
def test_external_regret_matching_has_one_answer(name, kind):
    """At K = 0 the stationary distribution is unique, so the iterates themselves are equal.

    Not so in three-player Kuhn, which begins with ties that only rounding decides.
    """
    game = GAMES[name]
    _, kept = run(game, 0, MATCHING[kind], 25)
    assert largest_difference(kept, reference.kefr(game, 0, 25, literal_matching(kind))) < 1e-12


class Decaying(reference.RegretMatching):
    """The losses of iteration t count (t + 1) ** -decay: they are taken up in the next."""

    decay, t = 0.3, 1

    def observe_loss(self, loss):
        self.t += 1
        super().observe_loss([value * self.t**-self.decay for value in loss])


@pytest.mark.slow
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", GAMES)
def test_decaying_weights_of_regrets(name, k):
    game, iterations = GAMES[name], 12 if name == "four actions" else 40
    _, kept = run(game, k, RegretMatching(decay=Decaying.decay), iterations)
    iterates = [behaviors(game, row) for row in kept]
    worst = reference.replay_kefr(game, k, iterates, lambda _, *shape: Decaying(*shape, "prm+"))
    assert worst < ROUNDING


def test_the_ways_to_match_regrets_differ():
    ways = [*MATCHING.values(), RegretMatching(decay=0.3)]
    iterates = [run(kuhn(), 1, minimizer, 30)[1] for minimizer in ways]
    for one, other in itertools.combinations(iterates, 2):
        assert np.abs(one - other).max() > 1e-2


@pytest.mark.parametrize("decay", [-0.1, 1.0, 2.0, math.nan])
def test_decay_must_be_a_decay(decay):
    with pytest.raises(ArgumentError, match=r"decay must be in \[0, 1\); got"):
        RegretMatching(decay=decay)


# --- one infoset, arbitrary time selections and losses --------------------------------------------

shapes = st.tuples(st.integers(2, 4), st.integers(0, 3), st.integers(0, 3)).filter(
    lambda shape: shape[1] + shape[2] > 0
)
seeds = st.integers(0, 2**32 - 1)
adversaries = st.sampled_from(["random", "likeliest", "least likely", "alternating", "huge"])


def play(minimizer, shape, seed, kind, iterations):
    """Let the compiled ``minimizer`` face an adversary; the rounds ``(S, p, loss)``.

    Time selections are any numbers in [0, 1], many of them 0 or 1 and some tiny; the adversary
    knows the policy when choosing the losses.
    """
    n, rng = shape[0], np.random.default_rng(seed)
    rounds = []
    for t in range(iterations):
        S = rng.random(minimizer.n_nodes) ** rng.choice([0.0, 1.0, 3.0, 60.0])
        S[rng.random(minimizer.n_nodes) < 0.3] = 0.0
        p = minimizer.recommend(S)
        loss = rng.random(n)
        if kind == "likeliest":
            loss = np.eye(n)[np.argmax(p)]
        elif kind == "least likely":
            loss = 1.0 - np.eye(n)[np.argmin(p)]
        elif kind == "alternating":
            loss = np.eye(n)[t % n]
        elif kind == "huge":
            loss = loss * 1e3
        minimizer.observe(loss)
        rounds.append((S, p, loss))
    return rounds


def labeled(rounds, shape):
    """Rounds as the oracles want them; rechistories are called by their number."""
    _, n_swap, n_external = shape
    names = [(b,) for b in range(n_swap + n_external)]
    told = [
        (dict(zip(names, S.tolist(), strict=True)), p.tolist(), loss.tolist())
        for S, p, loss in rounds
    ]
    return told, names[:n_swap], names[n_swap:]


@checked
@given(shapes, seeds, adversaries, st.sampled_from([1e-3, 0.1, 1.0, 5.0]))
def test_wrhedge_with_arbitrary_time_selections_is_the_literal_one(shape, seed, kind, rate):
    rate = rate / 1e3 if kind == "huge" else rate
    rounds = play(OneInfoset(*shape, LearningRate(np.array([rate]), 0.0)), shape, seed, kind, 12)
    told, swap, external = labeled(rounds, shape)
    twin = reference.WRHedge(shape[0], swap, external, rate)
    for S, p, loss in told:
        twin.observe_time_selection(S)
        if max(S.values()) > 0:
            assert p == pytest.approx(twin.recommend(), rel=0, abs=1e-12)
        else:  # nothing is selected, so anything will do
            assert p == pytest.approx([1 / shape[0]] * shape[0])
        twin.p = p
        twin.observe_loss(loss)


@checked
@given(shapes, seeds, adversaries, st.sampled_from([1e-4, 1e-2, 0.3, 1.0, 30.0]))
def test_wrhedge_keeps_the_promise_of_its_lemma_at_every_round(shape, seed, kind, rate):
    """Lemma A.2, with its constants, for every rechistory."""
    rounds = play(OneInfoset(*shape, LearningRate(np.array([rate]), 0.0)), shape, seed, kind, 40)
    told, swap, external = labeled(rounds, shape)
    for t in (1, 2, 5, 10, 20, 40):
        regrets = reference.wide_range_regrets(told[:t], swap, external)
        bounds = reference.wide_range_bounds(told[:t], swap, external, rate)
        for b, regret in regrets.items():
            assert regret <= bounds[b] + 1e-9


@checked
@given(shapes, seeds, adversaries, st.sampled_from(list(METHODS)))
def test_regret_matching_keeps_the_promise_of_its_theory(shape, seed, kind, method):
    """No pair's regret exceeds the root of all squared gains, RM and RM+; predictive RM+: of
    twice all squared errors of prediction (Farina, Kroer, Sandholm 2021, Theorem 3)."""
    _, n_swap, _ = shape
    rounds = play(OneInfoset(*shape, METHODS[method]), shape, seed, kind, 40)
    scale = 1e3 if kind == "huge" else 1.0
    last = None
    total, budget = 0.0, 0.0
    for S, p, loss in rounds:
        swaps = S[:n_swap, None, None] * p[:, None] * (loss[:, None] - loss[None, :])
        constants = S[n_swap:, None] * (p @ loss - loss)[None, :]
        gain = np.concatenate([swaps.ravel(), constants.ravel()]) / scale
        predicted = last if method == "prm+" and last is not None else np.zeros_like(gain)
        budget += (2.0 if method == "prm+" else 1.0) * float(((gain - predicted) ** 2).sum())
        total, last = total + gain, gain
        assert total.max() <= math.sqrt(budget) + 1e-9


@checked
@given(shapes, seeds, adversaries, st.sampled_from(list(METHODS)))
def test_regret_matching_with_arbitrary_time_selections_is_the_literal_one(
    shape, seed, kind, method
):
    rounds = play(OneInfoset(*shape, METHODS[method]), shape, seed, kind, 25)
    told, swap, external = labeled(rounds, shape)
    twin = reference.RegretMatching(shape[0], swap, external, method)
    for S, p, loss in told:
        twin.observe_time_selection(S)
        assert reference.imbalance(p, twin.rates()) < ROUNDING
        twin.p = p
        twin.observe_loss(loss)


@pytest.mark.parametrize("method", [LearningRate(np.array([0.7]), 0.0), *METHODS.values()])
def test_a_time_selection_may_come_back_from_zero(method):
    """What was lost while S_b was 0 does not count for b, and S_b = 0 hides no other loss."""
    shape = (3, 2, 1)
    one, other = (OneInfoset(*shape, method) for _ in range(2))
    on, off = np.array([0.5, 0.4, 1.0]), np.zeros(3)
    for minimizer, missed in ((one, [1.0, 0.0, 0.0]), (other, [0.0, 0.0, 0.9])):
        minimizer.recommend(on)
        minimizer.observe(np.array([0.9, 0.2, 0.4]))
        minimizer.recommend(off)
        minimizer.observe(np.array(missed))
        minimizer.recommend(off)
        minimizer.observe(np.zeros(3))
    np.testing.assert_array_equal(one.recommend(on), other.recommend(on))
    assert np.ptp(one.state.behavior[one.first :]) > 0.01


# --- learning rates -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", [*GAMES.values(), balanced(infosets=30, horizon=3, actions=3)])
def test_the_rate_is_the_one_of_the_paper(game, k):
    for i, plex in enumerate(treeplexes(game)):
        learner = KEFR(plex, k, WRHedge(), iterations=500)
        expected = reference.full_feedback_rate(game, i, k, 500)
        assert learner.schedule.rate[0] == pytest.approx(expected, rel=1e-12)
        tripled = KEFR(plex, k, WRHedge(scale=3.0), iterations=500)
        assert tripled.schedule.rate[0] == pytest.approx(3 * expected, rel=1e-12)


def test_a_multiple_of_the_rate_is_that_rate():
    rate = reference.full_feedback_rate(shapley(), 0, 1, 20)
    _, scaled = run(shapley(), 1, WRHedge(scale=5.0), 20)
    _, given_rate = run(shapley(), 1, WRHedge(5.0 * rate), 20)
    np.testing.assert_allclose(scaled, given_rate, rtol=0, atol=1e-13)


def test_the_anytime_rate_is_that_of_the_current_iteration():
    plex = Treeplex.from_parents([3], [-1], [0])
    learner = KEFR(plex, 0, WRHedge(scale=2.0, anytime=True))
    rng = np.random.default_rng(0)
    total = np.zeros(3)
    for t in range(1, 30):
        rate = 2.0 * math.sqrt(math.log(3) / t)
        expected = np.exp(-rate * total) / np.exp(-rate * total).sum()
        np.testing.assert_allclose(learner.recommend()[1:], expected, rtol=1e-12)
        loss = rng.random(3)
        learner.observe(np.array([0.0, *loss]))
        total += loss


def test_a_rate_for_trees_beyond_any_float():
    """C(3000, 1500) is no float."""
    plex = Treeplex.from_parents([1] * 2999 + [2], np.arange(-1, 2999), np.zeros(3000, np.int32))
    assert math.isfinite(paper_learning_rate(plex, 1500))
    assert paper_learning_rate(Treeplex.from_parents([1], [-1], [0]), 1) == 1.0
    assert paper_learning_rate(Treeplex.from_parents([], [], []), 0) == 1.0


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e101])
@pytest.mark.parametrize("name", ["learning_rate", "scale"])
def test_rates_must_be_positive_and_not_absurd(name, value):
    with pytest.raises(ArgumentError, match=f"WRHedge: {name} must be positive and at most 1e"):
        WRHedge(**{name: value})


def test_the_paper_rate_needs_the_number_of_iterations():
    plex = treeplexes(kuhn())[0]
    with pytest.raises(ArgumentError, match="give iterations, a learning_rate, or anytime=True"):
        KEFR(plex, 1, WRHedge())


@pytest.mark.parametrize("minimizer", MATCHING.values(), ids=MATCHING)
def test_regret_matching_does_not_care_about_the_unit_of_losses(minimizer):
    plex = treeplexes(kuhn(3))[0]
    one, other = KEFR(plex, 1, minimizer), KEFR(plex, 1, minimizer)
    rng = np.random.default_rng(1)
    for _ in range(40):
        np.testing.assert_array_equal(one.recommend(), other.recommend())
        loss = rng.random(plex.n_sequences)
        one.observe(loss)
        other.observe(loss * 2.0**-30)
