"""The explicit bounds hold, and the numbers of iterations made from them suffice."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, seed
from hypothesis import strategies as st

from accord.deviations.counting import rechistories_per_infoset
from accord.deviations.notions import clipped_k
from accord.deviations.rechistory import RechistoryTree
from accord.errors import ArgumentError
from accord.game.builder import GameBuilder
from accord.game.library import chicken, kuhn, matching_pennies, matrix_game, separation, shapley
from accord.learning.kefr import KEFR
from accord.learning.self_play import SelfPlay
from accord.learning.theory.bounds import bandit_regret_bound, regret_bound, weight_sums
from accord.learning.theory.plan import plan
from accord.regret.rates import episodes_per_iteration, paper_learning_rate
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior, random_behavior
from accord.treeplex.treeplex import Treeplex, treeplexes
from accord.treeplex.values import immediate_loss, joint_reach
from tests.support.bounds import adversarial_loss, largest_sum
from tests.support.strategies import examples, games

KS = [0, 1, 2, math.inf]
ks = st.sampled_from(KS)
rates = st.sampled_from([1e-3, 0.03, 0.1, 0.3, 1.0, 30.0])
seeds = st.integers(0, 2**32 - 1)


# -- full feedback: the regret bound against adversaries ----------------------------------------


def new_learner(plex, k, rate):
    return KEFR(plex, k, WRHedge(rate), behavior=np.ones(plex.n_sequences))


@pytest.mark.kernels
@seed(20260)
@examples(40)
@given(
    games(players=2, max_depth=5),
    ks,
    rates,
    st.sampled_from(["random", "likeliest", "alternating"]),
    seeds,
)
def test_regret_stays_below_the_bound_whatever_happens(game, k, rate, kind, number):
    rng = np.random.default_rng(number)
    plex = treeplexes(game)[0]
    assume(plex.n_infosets > 0)
    learner = new_learner(plex, k, rate)
    for t in range(1, 41):
        learner.observe(adversarial_loss(plex, learner.recommend(), rng, kind, t))
        assert learner.regret() <= regret_bound(plex, k, rate, t) + 1e-9


@pytest.mark.kernels
@seed(20261)
@examples(30)
@given(games(max_depth=5), ks, rates, st.booleans(), seeds)
def test_regret_stays_below_the_bound_against_players(game, k, rate, spiteful, number):
    rng = np.random.default_rng(number)
    form = sequence_form(game)
    player = int(rng.integers(form.n_players))
    plex = form.plexes[player]
    assume(plex.n_infosets > 0)
    learner = new_learner(plex, k, rate)
    for t in range(1, 31):
        own = learner.recommend().copy()
        met = []
        for _ in range(8 if spiteful else 1):  # the spiteful take what hurts most
            behaviors = [
                pure_behavior(other, rng.integers(0, other.n_actions)) if spiteful
                else random_behavior(other, rng)
                for other in form.plexes
            ]  # fmt: skip
            behaviors[player] = own
            met.append(immediate_loss(form.leaves, player, joint_reach(form.plexes, behaviors)))
        reach = joint_reach([plex], [own])
        learner.observe(max(met, key=lambda loss: float(reach @ loss)))
        assert learner.regret() <= regret_bound(plex, k, rate, t) + 1e-9


def test_bound_is_not_idle():
    """At a good learning rate it is far below T, and an adversary gets within a small factor."""
    plex = treeplexes(matching_pennies())[0]
    iterations = 2000
    rate = math.sqrt(math.log(2) / iterations)
    bound = regret_bound(plex, 0, rate, iterations)
    assert bound < 0.05 * iterations
    learner = new_learner(plex, 0, rate)
    rng = np.random.default_rng(3)
    for _ in range(iterations):
        learner.recommend()
        learner.observe(np.array([0.0, *np.eye(2)[rng.integers(2)]]))
    assert learner.regret() <= bound


# -- the sums that the bounds are made of -------------------------------------------------------


def deciders(game):
    return [plex for plex in treeplexes(game) if plex.n_infosets > 0]


@pytest.mark.kernels
@seed(20262)
@examples(80)
@given(games(max_depth=6), ks)
def test_cost_is_the_largest_over_all_modifications(game, k):
    for plex in deciders(game):
        tree = RechistoryTree.build(plex, k)
        count = np.log(sum(rechistories_per_infoset(plex, tree.k)))
        actions = plex.n_actions
        cost = np.zeros(tree.n_nodes)
        for node in range(1, tree.n_nodes):
            x = tree.node_infoset[node]
            if actions[x] > 1:
                cost[node] = count[x] + math.log(actions[x]) * (
                    actions[x] if tree.is_swap[node] else 1
                )
        slow = 1e-9  # a learning rate at which D / eta is all there is
        expected = largest_sum(tree, cost)
        assert regret_bound(plex, k, slow, 10**60) * slow == pytest.approx(
            expected + slow**2 * 1e60 * chosen_layers(plex), rel=1e-9
        )
        fast = regret_bound(plex, k, 1e6, 10**30)  # and one at which it is nothing
        assert fast == 1e30 * (chosen_layers(plex) > 0)


def chosen_layers(plex):
    return len(set(plex.depth[plex.n_actions > 1].tolist()))


def balanced(plex, h):
    """Definition 6 over sequences: shares by infosets below, in layer h (from 1)."""
    below = np.zeros(plex.n_sequences)
    for x in range(plex.layers[h - 1], plex.layers[h]):
        for y, a in plex.history(x):
            below[plex.first_seq[y] + a] += 1
    behavior = np.zeros(plex.n_sequences)
    for x in range(plex.n_infosets):
        own = slice(plex.first_seq[x], plex.first_seq[x + 1])
        total = below[own].sum()
        behavior[own] = below[own] / total if total else 1 / plex.n_actions[x]
    return behavior


def weight(tree, star, node):
    """w_b of Equations (11) and (12)."""
    plex, k = tree.plex, tree.k
    x = int(tree.node_infoset[node])
    history, b = plex.history(x), tree.rechistory(node)
    wrong = [i for i, (r, (_, a)) in enumerate(zip(b, history, strict=False)) if r != a]
    if tree.is_swap[node]:
        size = min(k - 1, len(history))
        right = [i for i in range(len(history)) if i not in wrong]
        exploring = wrong + right[: size - len(wrong)]
    else:
        exploring = wrong + list(range(len(b), len(history)))
    steps = [star[plex.first_seq[y] + a] for y, a in (history[i] for i in exploring)]
    return math.prod(steps) / plex.n_actions[x]


@pytest.mark.kernels
@seed(20263)
@examples(80)
@given(games(max_depth=6), ks)
def test_weight_sums_bound_every_modification(game, k):
    for plex in deciders(game):
        tree = RechistoryTree.build(plex, k)
        bounds = weight_sums(plex, tree.k)
        assert len(bounds) == plex.horizon
        for h, (swap, external) in enumerate(bounds, start=1):
            star = balanced(plex, h)
            inside = [
                n for n in range(1, tree.n_nodes) if plex.depth[tree.node_infoset[n]] == h - 1
            ]
            for bound, kind in ((swap, True), (external, False)):
                cost = np.zeros(tree.n_nodes)
                for node in inside:
                    if tree.is_swap[node] == kind:
                        cost[node] = 1 / weight(tree, star, node)
                assert largest_sum(tree, cost) <= bound * (1 + 1e-9)


def test_weight_sums_of_an_even_tree_are_those_of_the_paper():
    A, H = 3, 3
    above = [-1] + [x for x in range(4) for _ in range(A)]
    plex = Treeplex.from_parents([A] * 13, above, [0] + [0, 1, 2] * 4)
    assert plex.horizon == H
    for k in range(H + 1):
        for h, (swap, external) in enumerate(weight_sums(plex, k), start=1):
            size = A ** (h - 1)
            assert external == size * math.comb(h - 1, k) * A ** (k + 1)
            if k:
                assert swap == size * math.comb(h - 1, min(k, h) - 1) * A ** min(k, h)


# -- numbers of iterations and episodes ---------------------------------------------------------


def test_matching_pennies_by_hand():
    """H = X = 1, A = 2, range 2: eta_1^2 = D = 2 log 2, so T = (4 eta_1 / eps)^2."""
    asked = plan(matching_pennies(), 1, 0.5)
    assert asked.iterations == math.ceil(32 * math.log(2) / 0.5**2) == 89
    coarse = plan(matching_pennies(), 0, 0.5)  # eta_1 = sqrt(log 2) and D = log 2
    assert coarse.iterations == math.ceil(16 * math.log(2) / 0.5**2) == 45
    assert asked.episodes_per_iteration == coarse.episodes_per_iteration == 2

    # bandit: B = X a e_0 = 2, none EXTERNAL, two infosets in the game, N = 1
    iota = math.log(3 * 2 / 0.05)
    rate = math.sqrt(4 * math.log(8 * 4 / 0.05))
    terms = [
        rate,
        2 * (iota + 2 * math.log(2)) / rate,
        2 * math.sqrt(2 * iota),
        2 * math.sqrt(4 * (iota + 2 * math.log(2))),
    ]
    assert asked.bandit_iterations == math.ceil((2 * sum(terms) / 0.5) ** 2) == 8942
    assert asked.episodes == 2 * 8942


def test_kuhn_by_hand():
    """Each of K = 0, 1 at two layers, of 3 and 3 infosets, with two actions everywhere."""
    log2 = math.log(2)
    plex = treeplexes(kuhn())[0]
    assert (plex.n_infosets, plex.horizon, plex.max_actions) == (6, 2, 2)
    # K = 0: phi bets or checks; only after checking is there more: 6 costs of log 2
    assert regret_bound(plex, 0, 0.5, 10**6) == pytest.approx(10**6)
    assert regret_bound(plex, 0, 1e-3, 10**6) == pytest.approx(2e3 + 1e3 * 6 * log2)
    # K = 1: at each root a SWAP rechistory of cost 2 log 2; below checking, N = 2 rechistories: one
    # SWAP of cost 3 log 2 and one EXTERNAL of cost 2 log 2, both met by the phi that always checks
    assert regret_bound(plex, 1, 1e-3, 10**6) == pytest.approx(2e3 + 1e3 * 3 * 7 * log2)


def test_rates_are_those_of_the_learner():
    """T = ((H eta_1 + D / eta_1) range / eps)^2 with the learner's eta_1."""
    form = sequence_form(kuhn())
    for k in KS:
        needed = 0.0
        for plex, span in zip(form.plexes, form.leaves.payoff_range, strict=True):
            rate = paper_learning_rate(plex, clipped_k(plex, k))
            constant = regret_bound(plex, k, rate * 1e-10, 10**20) * 1e-10
            needed = max(needed, (constant * span / 0.1) ** 2)
        assert plan(kuhn(), k, 0.1).iterations == pytest.approx(needed, rel=1e-8, abs=1)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("game", "epsilon"),
    [(matching_pennies(), 0.2), (chicken(), 1.0), (shapley(), 0.1), (kuhn(), 0.5)],
    ids=str,
)
@pytest.mark.parametrize("k", KS)
def test_planned_iterations_suffice(game, epsilon, k):
    iterations = plan(game, k, epsilon).iterations
    play = SelfPlay(sequence_form(game), k, WRHedge(), iterations=iterations, averaging=0)
    play.advance(iterations)
    assert play.gaps().max() <= epsilon


def bandit_gaps(payoffs, k, iterations, rate, rng):
    """Balanced K-EFR, literally, on a 2x2 game: one episode for each player in each iteration.

    H = 1, so exploration is uniform and a time selection is the weight 1/2.
    """
    low, high = payoffs.min(axis=(1, 2)), payoffs.max(axis=(1, 2))
    losses = (high[:, None, None] - payoffs) / (high - low)[:, None, None]
    cost = np.zeros((2, 2, 2))  # player, recommendation (K = 0: none), action
    policies = np.empty((iterations, 2, 2))
    for t in range(iterations):
        rows = np.exp(-rate * 0.5 * (cost - cost.min(axis=2, keepdims=True)))
        rows /= rows.sum(axis=2, keepdims=True)
        for i in range(2):
            leave, enter = rows[i, 0, 1], rows[i, 1, 0]
            policies[t, i] = rows[i, 0] if k == 0 else np.array([enter, leave]) / (leave + enter)
        for i in range(2):
            other = int(rng.random() < policies[t, 1 - i, 1])
            own = int(rng.integers(2))
            estimate = 2 * (losses[0, own, other] if i == 0 else losses[1, other, own])
            cost[i, :, own] += estimate * (1.0 if k == 0 else policies[t, i])
    joint = np.einsum("ta,tb->ab", policies[:, 0], policies[:, 1]) / iterations
    gaps = []
    for i, table in enumerate((payoffs[0], payoffs[1].T)):
        played = joint if i == 0 else joint.T
        answers = table @ played.T  # [action, recommendation]
        now = np.trace(answers)
        best = answers.max(axis=0).sum() if k else answers.sum(axis=1).max()
        gaps.append(best - now)
    return gaps


@pytest.mark.parametrize("k", [0, 1])
def test_planned_episodes_suffice(k):
    payoffs = np.array([[[0.0, 7.0], [2.0, 6.0]], [[0.0, 2.0], [7.0, 6.0]]])
    asked = plan(matrix_game(payoffs), k, 7.0, confidence=0.9)
    assert asked.episodes == 2  # no more than the payoff range is asked
    asked = plan(matrix_game(payoffs), k, 4.0, confidence=0.9)
    rate = math.sqrt(2 ** (k + 1) * math.log(8 * 4 / 0.1) / asked.bandit_iterations)
    rng = np.random.default_rng(7)
    for _ in range(5):
        assert max(bandit_gaps(payoffs, k, asked.bandit_iterations, rate, rng)) <= 4.0


def test_bandit_bound_of_one_player_and_of_all():
    plex = treeplexes(kuhn())[0]
    alone = bandit_regret_bound(plex, 1, 1e-4, 10**9, 0.05)
    together = bandit_regret_bound(plex, 1, 1e-4, 10**9, 0.05, infosets=12)
    assert regret_bound(plex, 1, 1e-4, 10**9) < alone < together < 10**9
    assert alone < bandit_regret_bound(plex, 1, 1e-4, 10**9, 0.01)
    assert bandit_regret_bound(plex, 1, 1e-4, 1000, 0.05) == 1000


@pytest.mark.parametrize("k", KS)
def test_smaller_gaps_take_longer(k):
    plans = [plan(separation(k=1), k, epsilon) for epsilon in (3.0, 0.9, 0.5, 0.1, 1e-3, 1e-200)]
    assert plans[0].iterations == plans[0].bandit_iterations == 1
    for loose, tight in itertools.pairwise(plans):
        assert loose.iterations < tight.iterations < tight.bandit_iterations
        assert loose.bandit_iterations < tight.bandit_iterations
    assert plans[-1].iterations > 10**399  # an exact integer, not an infinity
    sure, unsure = (
        plan(separation(k=1), k, 0.1, confidence).bandit_iterations
        for confidence in (math.nextafter(1, 0), 0.1)
    )
    assert unsure < sure


@seed(20264)
@examples(40)
@given(games(max_depth=6), rates)
def test_more_deviations_take_longer(game, rate):
    """At one learning rate; the paper's own rate is not monotone in K, since C(H, K) is not."""
    for plex in treeplexes(game):
        bounds = [regret_bound(plex, k, rate, 10**4) for k in (0, 1, 2, 3, math.inf)]
        assert bounds == sorted(bounds)
    first, second = (plan(game, k, 0.1) for k in (0, 1))
    assert first.iterations <= second.iterations
    assert first.bandit_iterations <= second.bandit_iterations


def test_only_the_ratio_of_gap_and_payoffs_matters():
    payoffs = np.array([[[0, 7], [2, 6]], [[0, 2], [7, 6]]])
    for k in KS:
        small = plan(matrix_game(payoffs), k, 0.25)
        large = plan(matrix_game(payoffs * 2**40 + 5), k, 0.25 * 2**40)
        assert small.iterations == large.iterations
        assert small.episodes == large.episodes


def test_nothing_to_learn():
    constant = plan(matrix_game([[[1, 1], [1, 1]], [[2, 2], [2, 2]]]), 1, 1e-9)
    assert (constant.iterations, constant.bandit_iterations, constant.episodes) == (1, 1, 2)
    no_choice = plan(matrix_game([[[1, 2]], [[0, 0]]]), 1, 1e-9)
    assert (no_choice.iterations, no_choice.bandit_iterations) == (1, 1)
    b = GameBuilder("onlooker", players=2)
    b.move(player="1", actions="left right")
    b.payoff("left", 1, 0)
    b.payoff("right", 1, 1)
    onlooker = plan(b.build(), math.inf, 1e-9)  # one cannot choose, the other need not
    assert (onlooker.iterations, onlooker.bandit_iterations, onlooker.episodes) == (1, 1, 1)
    nobody = Treeplex.from_parents([], [], [])
    assert regret_bound(nobody, 1, 0.1, 10) == bandit_regret_bound(nobody, 1, 0.1, 10, 0.1) == 0


def test_numbers_beyond_any_float():
    length = 400
    b = GameBuilder("long", players=1)
    for step in range(length):
        b.move(("on",) * step, player="1", actions="on 1 2 3 4 5 6 7", infoset=step)
        for stop in range(1, 8):
            b.payoff((*("on",) * step, str(stop)), stop)
    b.payoff(("on",) * length, 0)
    game = b.build()
    plex = treeplexes(game)[0]
    assert plex.horizon == length
    for k, choices in ((math.inf, 8**length), (200, math.comb(length, 200) * 8**200)):
        asked = plan(game, k, 0.01)
        for number in (asked.iterations, asked.bandit_iterations):
            assert isinstance(number, int)
            assert choices < number < choices * 10**20
    assert regret_bound(plex, math.inf, 0.01, 10**400) == math.inf  # no float holds it
    assert regret_bound(plex, math.inf, 0.01, 10**9) == 10**9


def test_episodes_are_the_sampling_policies():
    """Algorithms 4 and 7: one episode per (h, W) and per (h, h', W)."""
    for horizon, k in itertools.product(range(7), range(7)):
        if k > horizon:
            continue
        first = sum(math.comb(h - 1, min(k - 1, h - 1)) for h in range(1, horizon + 1) if k > 0)
        second = sum(
            sum(1 for W in itertools.combinations(range(1, h), k)) for h in range(1, horizon + 1)
        )
        assert episodes_per_iteration(horizon, k) == first + second
        assert horizon == 0 or first + second <= 3 * horizon * math.comb(horizon, k)
    assert [episodes_per_iteration(5, 0), episodes_per_iteration(0, 0)] == [5, 0]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_refuses_gaps_that_are_none(epsilon):
    with pytest.raises(ArgumentError, match="target_gap must be positive and finite; got"):
        plan(chicken(), 1, epsilon)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_refuses_probabilities_that_are_none(p):
    with pytest.raises(ArgumentError, match="confidence must be between 0 and 1"):
        plan(chicken(), 1, 0.1, p)
    with pytest.raises(ArgumentError, match="failure_prob"):
        bandit_regret_bound(treeplexes(chicken())[0], 1, 0.1, 10, p)


def test_refuses_other_nonsense():
    plex = treeplexes(kuhn())[0]
    with pytest.raises(ArgumentError, match=r"got 'kuhn'; try accord\.load_game\('kuhn'\)"):
        plan("kuhn", 1, 0.1)
    with pytest.raises(ArgumentError, match="k must be a whole number"):
        plan(chicken(), 1.5, 0.1)
    with pytest.raises(ArgumentError, match="learning_rate must be positive"):
        regret_bound(plex, 1, 0.0, 10)
    with pytest.raises(ArgumentError, match="iterations must be a whole number, 1 or more; got 0"):
        regret_bound(plex, 1, 0.1, 0)
    with pytest.raises(ArgumentError, match="infosets must include the player's own 6"):
        bandit_regret_bound(plex, 1, 0.1, 10, 0.1, infosets=5)
