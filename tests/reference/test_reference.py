"""The oracles of ``reference`` against each other, against facts by hand, and against the paper."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

from accord._arrays import CHANCE
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import (
    chicken,
    library_device,
    library_game,
    matrix_game,
    random_game,
    separation,
)
from tests import reference
from tests.support.policies import as_reference

# --- games ----------------------------------------------------------------------------------------


def random_behavior(game, i, rng, pure=False):
    behavior = [1.0]
    for x in reference.infosets(game, i):
        n = len(reference.actions(game, i, x))
        p = np.eye(n)[rng.integers(n)] if pure else rng.dirichlet(np.ones(n))
        behavior += p.tolist()
    return behavior


def random_behaviors(game, rng, pure=False):
    return [random_behavior(game, i, rng, pure) for i in range(reference.n_players(game))]


def random_policy(game, rng, size=3, pure=False):
    weights = rng.dirichlet(np.ones(size)).tolist()
    return [(w, random_behaviors(game, rng, pure)) for w in weights]


def pure(game, *actions):
    """The product policy of a game in which each player has one infoset."""
    return [reference.pure_behavior(game, i, [a]) for i, a in enumerate(actions)]


def device_of(name):
    """A game of the library, and its device."""
    game = library_game(name)
    return game, as_reference(CorrelatedPolicy.from_device(game, library_device(name)))


def even_tree(H, A):
    """Both players move at once at each of H layers, with A actions, and see the moves."""
    infosets = sum(A ** (2 * h) for h in range(H))
    return library_game(f"balanced:infosets={infosets},horizon={H},actions={A},ratio=1")


def uneven(seed, **shape):
    """With chance, hidden moves, rewards on the way, and plays that end early."""
    return random_game(
        seed=seed, min_actions=2, observe=0.5, chance=0.2, stop=0.2, rewards=0.5, **shape
    )


TINY = [uneven(seed, depth=4, actions=2) for seed in (15, 16, 27, 47, 52, 61, 74)]
UNEVEN = [
    uneven(22, players=2, depth=6, actions=3),
    uneven(15, players=3, depth=6, actions=3),
    uneven(19, players=2, depth=7, actions=2),
]
EVEN = even_tree(3, 2)
GAMES = TINY + UNEVEN


def players(game):
    return range(reference.n_players(game))


# --- the game -------------------------------------------------------------------------------------


def test_the_random_games_are_varied():
    horizons = {reference.horizon(game, i) for game in GAMES for i in players(game)}
    sizes = {
        len(reference.actions(game, i, x))
        for game in GAMES
        for i in players(game)
        for x in reference.infosets(game, i)
    }
    assert horizons >= {1, 2, 3}
    assert sizes == {2, 3}
    assert any((game.player == CHANCE).any() for game in GAMES)


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_values_by_the_tree_are_values_by_terminals_and_by_losses(game):
    rng = np.random.default_rng(0)
    behaviors = random_behaviors(game, rng)
    values = reference.expected_values(game, behaviors)
    law = reference.play_law(game, behaviors)
    assert sum(p for p, _ in law) == pytest.approx(1)
    for i in players(game):
        assert sum(p * z.payoffs[i] for p, z in law) == pytest.approx(values[i])
        payoff = reference.immediate_payoffs(game, i, behaviors)
        form = reference.sequence_form(game, i, behaviors[i])
        assert sum(p * u for p, u in zip(form, payoff, strict=True)) == pytest.approx(values[i])
        worst, best = reference.payoff_range(game, i)
        loss = reference.counterfactual_losses(game, i, behaviors)[0]
        assert best - loss * (best - worst) == pytest.approx(values[i])


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_counterfactual_losses_satisfy_their_recursion(game):
    rng = np.random.default_rng(1)
    behaviors = random_behaviors(game, rng)
    for i in players(game):
        ell = reference.immediate_losses(game, i, behaviors)
        L = reference.counterfactual_losses(game, i, behaviors)
        for x in reference.infosets(game, i):
            for a in reference.actions(game, i, x):
                seq = reference.sequence(game, i, x, a)
                later = sum(
                    reference.prob(game, i, behaviors[i], y, c)
                    * L[reference.sequence(game, i, y, c)]
                    for y in reference.children(game, i, x, a)
                    for c in reference.actions(game, i, y)
                )
                assert L[seq] == pytest.approx(ell[seq] + later)
                # Lemma B.3 (b), losses in [0, 1].
                assert -1e-12 <= L[seq] <= reference.opponent_reach(game, i, behaviors, x) + 1e-12


def test_opponent_reach_sums_to_one_in_every_layer_of_an_even_tree():
    # Lemma B.1 (a).
    game = separation(k=1)
    behaviors = random_behaviors(game, np.random.default_rng(2))
    for i in players(game):
        for h in (1, 2):
            total = sum(
                reference.reach(game, i, behaviors[i], reference.sequence(game, i, x, a))
                * reference.opponent_reach(game, i, behaviors, x)
                for x in reference.infosets(game, i)
                if reference.layer(game, i, x) == h
                for a in reference.actions(game, i, x)
            )
            assert total == pytest.approx(1)


# --- rechistories ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("H", "A"), [(3, 2), (4, 2), (3, 3)])
def test_rechistories_are_counted_by_the_closed_form(H, A):
    game = even_tree(H, A)
    for K in range(H + 2):
        k = min(K, H)
        for x in reference.infosets(game, 0):
            h = reference.layer(game, 0, x)
            swap = sum(math.comb(h - 1, j) * (A - 1) ** j for j in range(k))
            external = math.comb(h - 1, k) * (A - 1) ** k
            assert reference.rechistory_counts(game, 0, K)[x] == (swap, external)


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_time_selections_sum_to_one(game):
    # Exactly one rechistory happens, whatever is recommended on the way to x.
    rng = np.random.default_rng(3)
    for i in players(game):
        behavior = random_behavior(game, i, rng)
        for K in range(4):
            for x in reference.infosets(game, i):
                both = reference.type_one(game, i, K, x) + reference.type_two(game, i, K, x)
                assert len(set(both)) == len(both)
                total = sum(reference.time_selection(game, i, behavior, x, b) for b in both)
                assert total == pytest.approx(1)


# --- modifications --------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_three_ways_to_execute_a_modification_agree(game):
    rng = np.random.default_rng(4)
    for i in players(game):
        for K in (0, 1, 2, math.inf):
            phi = reference.random_modification(game, i, K, rng)
            behaviors = random_behaviors(game, rng)
            form = reference.modified_reach(game, i, K, phi, behaviors[i])
            assert reference.lemma_reach(game, i, K, phi, behaviors[i]) == pytest.approx(form)
            law = reference.execution_law(game, i, K, phi, behaviors)
            for z in reference.terminals(game):
                others = reference.others_reach(game, i, behaviors, z.seqs)
                assert law[z.node] == pytest.approx(z.chance * others * form[z.seqs[i]])


def test_algorithm_1_samples_from_its_law():
    game = UNEVEN[0]
    rng = np.random.default_rng(5)
    phi = reference.random_modification(game, 0, 1, rng)
    behaviors = random_behaviors(game, rng)
    law = reference.execution_law(game, 0, 1, phi, behaviors)
    counts = dict.fromkeys(law, 0)
    n = 4000
    for _ in range(n):
        node, _ = reference.execute(game, 0, 1, phi, behaviors, rng=rng)
        counts[node] += 1
    for node, p in law.items():
        assert abs(counts[node] / n - p) < 5 * math.sqrt(p * (1 - p) / n) + 1e-12


def test_lemma_general_balancing_mu_as_printed_counts_its_second_sum_a_times():
    # The second sum runs over b_{1:h}, but nothing in it depends on b_h. Two layers of two actions,
    # K = 1, the uniform policy, and phi that always takes action 0: it surely plays 0, then 0.
    game = even_tree(2, 2)
    phi = dict.fromkeys(reference.slots(game, 0, 1), 0)
    pi = reference.uniform_behavior(game, 0)
    first = reference.first_infosets(game, 0)[0]
    x = reference.children(game, 0, first, 0)[0]
    one = two = 0.0
    for b1, b2 in product((0, 1), repeat=2):
        told = reference.prob(game, 0, pi, first, b1)
        if b1 == 0:  # dev(a_1, b_1) <= K - 1
            taken = (phi[first, (), b1] == 0) * (phi[x, (b1,), b2] == 0)
            one += taken * told * reference.prob(game, 0, pi, x, b2)
        else:  # dev(a_1, b_1) = K, tau_K = 1
            two += (phi[first, (), b1] == 0) * (phi[x, (b1,)] == 0) * told
    assert (one, two) == (0.5, 1.0)  # printed: a probability of 1.5
    mended = reference.lemma_reach(game, 0, 1, phi, pi)[reference.sequence(game, 0, x, 0)]
    assert mended == one + two / 2 == 1


@pytest.mark.parametrize("K", [0, 1, 2])
def test_modified_policies_visit_every_layer_once(K):
    # Corollary D.3, in a game where every play passes every layer.
    game = separation(k=1)
    rng = np.random.default_rng(21)
    behaviors = random_behaviors(game, rng)

    def score(x, b):
        S = reference.time_selection(game, 0, behaviors[0], x, b)
        return S * reference.opponent_reach(game, 0, behaviors, x)

    phi = reference.random_modification(game, 0, K, rng)
    for h in (1, 2):
        assert reference.layer_sum(game, 0, K, phi, h, score=score) == pytest.approx(1)


@pytest.mark.parametrize("game", TINY, ids=lambda g: g.name)
def test_the_identity_gains_nothing(game):
    policy = random_policy(game, np.random.default_rng(6))
    values = reference.correlated_values(game, policy)
    for i in players(game):
        if not reference.horizon(game, i):
            continue
        for K in (1, 2):
            phi = reference.identity_modification(game, i, K)
            assert reference.modified_value(game, i, K, phi, policy) == pytest.approx(values[i])


# --- gaps -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("game", TINY, ids=lambda g: g.name)
def test_brute_force_is_the_recursion_and_the_witness_attains_it(game, pure):
    policy = random_policy(game, np.random.default_rng(7), size=2, pure=pure)
    values = reference.correlated_values(game, policy)
    for i in players(game):
        for K in (0, 1, 2, math.inf):
            gap, phi = reference.best_deviation(game, i, K, policy)
            assert set(phi) == set(reference.slots(game, i, K))
            witness = reference.modified_value(game, i, K, phi, policy) - values[i]
            assert witness == pytest.approx(gap, abs=1e-12)
            if reference.n_modifications(game, i, K) <= 10_000:
                assert reference.efce_gap(game, i, K, policy) == pytest.approx(gap, abs=1e-12)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_gaps_stand_in_the_order_of_the_propositions(game, pure):
    # Propositions 3, 4 and C.4.
    policy = random_policy(game, np.random.default_rng(8), pure=pure)
    for i in players(game):
        gaps = [reference.best_deviation(game, i, K, policy)[0] for K in (0, 1, 2, 3, math.inf)]
        assert all(low <= high + 1e-12 for low, high in pairwise(gaps))
        X = len(reference.infosets(game, i))
        A = max(
            (len(reference.actions(game, i, x)) for x in reference.infosets(game, i)), default=1
        )
        trigger = reference.best_trigger(game, i, policy)
        assert -1e-12 <= trigger <= gaps[1] + 1e-12
        assert gaps[1] <= X * A * trigger + 1e-12
        if (
            math.prod(len(reference.actions(game, i, x)) for x in reference.infosets(game, i))
            <= 200
        ):
            assert reference.trigger_gap(game, i, policy) == pytest.approx(trigger, abs=1e-12)
            assert reference.nfcce_gap(game, i, policy) == pytest.approx(gaps[0], abs=1e-12)
            assert gaps[-1] <= reference.nfce_gap(game, i, policy) + 1e-12


def test_enumeration_refuses_what_is_too_large():
    with pytest.raises(ValueError, match="modifications"):
        next(reference.modifications(EVEN, 0, 2))


def test_a_correlated_equilibrium_of_chicken():
    game = chicken()  # actions: dare, yield
    policy = [(1 / 3, pure(game, a, b)) for a, b in ((1, 1), (0, 1), (1, 0))]
    for i in (0, 1):
        assert reference.correlated_values(game, policy)[i] == pytest.approx(5)
        # Told to yield: 4 against 3.5 for daring. Told to dare: 7 against 6. Told nothing: 14/3.
        assert reference.efce_gap(game, i, 1, policy) == pytest.approx(0)
        assert reference.nfce_gap(game, i, policy) == pytest.approx(0)
        assert reference.efce_gap(game, i, 0, policy) == pytest.approx(14 / 3 - 5)
        assert reference.trigger_gap(game, i, policy) == pytest.approx(0)
    assert reference.efce_gap(game, 0, 1, [(1.0, pure(game, 0, 0))]) == pytest.approx(2)
    # A product policy tells nothing: all gaps are the best response's, 4 to yield, 3.5 to dare.
    mixed = [(1.0, [[1.0, 0.5, 0.5], [1.0, 0.5, 0.5]])]
    for K in (0, 1, 2):
        assert reference.efce_gap(game, 0, K, mixed) == pytest.approx(0.25)


@pytest.mark.parametrize("K", [0, 1, 2])
def test_the_separation_example(K):
    game, policy = device_of(f"separation:k={K}")
    assert reference.correlated_values(game, policy)[0] == pytest.approx(0.5)
    assert reference.best_deviation(game, 0, K, policy)[0] == pytest.approx(0)
    gap, phi = reference.best_deviation(game, 0, K + 1, policy)
    assert gap == pytest.approx(0.5)
    assert reference.modified_value(game, 0, K + 1, phi, policy) == pytest.approx(1)
    if K:  # told nothing, every layer is a guess: half lead towards 1, half to 1/2
        blind = 0.5 ** (K + 1) * 1.5
        assert reference.best_deviation(game, 0, 0, policy)[0] == pytest.approx(blind - 0.5)
    for L in range(5):
        assert reference.best_deviation(game, 1, L, policy)[0] == 0


def test_one_coin_per_layer_is_the_mixture_of_all_pure_policies():
    game, coins = device_of("separation:k=1")
    labels = list(game.infoset_labels[0])
    mixture = []
    for choice in product((0, 1), repeat=len(labels)):
        at = dict(zip(labels, choice, strict=True))
        told = [[at[label] for label in game.infoset_labels[i]] for i in (0, 1)]
        behaviors = [reference.pure_behavior(game, i, told[i]) for i in (0, 1)]
        mixture.append((1 / 2 ** len(labels), behaviors))
    for K in (0, 1, 2):
        gap = reference.best_deviation(game, 0, K, coins)[0]
        assert reference.best_deviation(game, 0, K, mixture)[0] == pytest.approx(gap)


def test_the_separation_example_as_printed_is_wrong_for_k_0():
    game = matrix_game([[[0.5, 1], [1, 0.5]], [[0, 0], [0, 0]]])
    policy = [(1 / 2, pure(game, a, a)) for a in (0, 1)]
    assert reference.efce_gap(game, 0, 0, policy) == pytest.approx(1 / 4)  # not 0
    assert reference.efce_gap(game, 0, 1, policy) == pytest.approx(1 / 2)


def test_an_infinity_efce_that_is_no_nfce():
    # The example of Proposition C.4; the paper needs > 1/20, it is 1/4.
    game, policy = device_of("foresight")
    assert reference.correlated_values(game, policy)[0] == pytest.approx(0.5)
    assert reference.best_deviation(game, 0, math.inf, policy)[0] == pytest.approx(0)
    assert reference.nfce_gap(game, 0, policy) == pytest.approx(1 / 4)


# --- minimizers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("A", [1, 2, 3, 5, 8])
def test_stationary_distributions(A):
    rng = np.random.default_rng(A)
    for scale in (1.0, 30.0, 300.0):  # rates down to 1e-300
        rates = np.exp(-scale * rng.random((A, A)) * 2)
        p = reference.stationary(rates.tolist())
        assert reference.is_stationary(p, rates.tolist())
        # each flow in itself balances to rounding, however small
        for a in range(A):
            others = [r for r in range(A) if r != a]
            inflow = sum(p[r] * rates[r, a] for r in others)
            assert p[a] * sum(rates[a, r] for r in others) == pytest.approx(inflow, rel=1e-9)
    assert reference.stationary([[0.0] * A for _ in range(A)]) == pytest.approx([1 / A] * A)


def test_stationary_distributions_of_reducible_chains():
    # 0 and 1 swap at unequal rates, 3 is absorbing, 2 leads to both.
    rates = [[0, 1, 0, 0], [3, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]]
    p = reference.stationary(rates)
    assert p == pytest.approx([0.375, 0.125, 0, 0.5])
    assert reference.is_stationary([0.75, 0.25, 0, 0], rates)
    assert reference.is_stationary([0, 0, 0, 1], rates)
    assert not reference.is_stationary([0, 0, 1, 0], rates)
    assert not reference.is_stationary([0.8, 0.25, 0, -0.05], rates)
    assert reference.stationary([[0, 1, 1], [0, 0, 0], [5, 0, 0]]) == pytest.approx([0, 1, 0])


def test_wrhedge_starts_with_the_paper_weights():
    # Equal mass for every b, uniform over its modifications.
    minimizer = reference.WRHedge(3, [(0,), (1,)], [(2,)], 0.1)
    mass = {b: sum(q for (c, _), q in minimizer.q.items() if c == b) for b in [(0,), (1,), (2,)]}
    assert list(mass.values()) == pytest.approx([1 / 3] * 3)
    assert len(minimizer.q) == 2 * 27 + 3


@pytest.mark.parametrize(("A", "eta"), [(2, 0.3), (3, 0.1), (3, 2.0), (2, 50.0)])
def test_wrhedge_keeps_the_promise_of_its_lemma_at_every_round(A, eta):
    rng = np.random.default_rng(10 * A)
    swap, external = [(0,), (1,)], [(2,), (3,)]
    minimizer = reference.WRHedge(A, swap, external, eta)
    rounds = []
    for t in range(40):
        S = dict(zip(swap + external, rng.random(4).tolist(), strict=True))
        minimizer.observe_time_selection(S)
        p = list(minimizer.recommend())
        loss = [0.0] * A
        loss[int(np.argmax(p))] = 1.0 if t % 3 else 5.0  # adversarial
        minimizer.observe_loss(loss)
        rounds.append((S, p, loss))
        regrets = reference.wide_range_regrets(rounds, swap, external)
        bounds = reference.wide_range_bounds(rounds, swap, external, eta)
        assert all(regrets[b] <= bounds[b] + 1e-9 for b in regrets)


def test_wrhedge_factorizes_over_recommended_actions():
    # Hedge over all A^A maps without any of them: masses and matrices from sums of A x A losses.
    rng = np.random.default_rng(22)
    swap, external, eta = [(0,), (1,)], [(2,)], 0.7
    minimizer = reference.WRHedge(3, swap, external, eta)
    R = {b: np.zeros((3, 3)) for b in swap} | {b: np.zeros(3) for b in external}
    c = dict.fromkeys(R, 0.0)
    for _ in range(15):
        S = dict(zip(R, rng.random(3).tolist(), strict=True))
        minimizer.observe_time_selection(S)
        p = np.array(minimizer.recommend())
        matrix, total = np.zeros((3, 3)), 0.0
        for b, sums in R.items():
            weights = np.exp(-eta * sums)
            mass = S[b] * math.exp(c[b]) * weights.mean(axis=-1).prod()
            matrix += mass * weights / weights.sum(axis=-1, keepdims=True)
            total += mass
        assert np.array(minimizer.rates()) == pytest.approx(matrix / total)
        loss = rng.random(3)
        minimizer.observe_loss(loss.tolist())
        for b in R:
            R[b] += S[b] * (np.outer(p, loss) if b in swap else loss)
            c[b] += eta * math.exp(-eta * loss.max()) * S[b] * float(p @ loss)


def test_swrhedge_with_equal_losses_and_their_bound_is_wrhedge():
    rng = np.random.default_rng(12)
    swap, external = [(0,)], [(1,), (2,)]
    exact = reference.WRHedge(3, swap, external, 0.4)
    sampled = reference.SWRHedge(3, swap, external, 0.4, loss_bound=2.0)
    for _ in range(10):
        S = dict(zip(swap + external, rng.random(3).tolist(), strict=True))
        exact.observe_time_selection(S)
        sampled.observe_time_selection(S)
        assert sampled.recommend() == pytest.approx(exact.recommend())
        loss = [2.0, *rng.random(2).tolist()]
        exact.observe_loss(loss)
        sampled.observe_losses(dict.fromkeys(S, loss))


def test_swrhedge_weighs_each_estimate_by_its_own_rechistory():
    # One round by hand: external b, c with S = 1; only b has seen that action 0 is bad.
    minimizer = reference.SWRHedge(2, [], [(0,), (1,)], 1.0, loss_bound=1.0)
    minimizer.observe_time_selection({(0,): 1.0, (1,): 1.0})
    assert minimizer.recommend() == pytest.approx([0.5, 0.5])
    minimizer.observe_losses({(0,): [1.0, 0.0], (1,): [0.0, 0.0]})
    kept = math.exp(-1) * 0.5
    weights = [math.exp(kept - 1), math.exp(kept), 1, 1]
    minimizer.observe_time_selection({(0,): 1.0, (1,): 1.0})
    p = (weights[0] + weights[2]) / sum(weights)
    assert minimizer.recommend() == pytest.approx([p, 1 - p])


@pytest.mark.parametrize("kind", ["rm", "rm+", "prm+"])
def test_regret_matching_with_one_external_pair_is_the_textbook_one(kind):
    rng = np.random.default_rng(13)
    minimizer = reference.RegretMatching(3, [], [()], kind)
    regret, last = np.zeros(3), np.zeros(3)
    for _ in range(20):
        minimizer.observe_time_selection({(): 1.0})
        p = np.array(minimizer.recommend())
        weight = np.maximum(regret + (last if kind == "prm+" else 0), 0)
        want = weight / weight.sum() if weight.sum() > 0 else np.full(3, 1 / 3)
        assert p == pytest.approx(want)
        loss = rng.random(3)
        minimizer.observe_loss(loss.tolist())
        last = p @ loss - loss
        regret = regret + last if kind == "rm" else np.maximum(regret + last, 0)


@pytest.mark.parametrize("kind", ["rm", "rm+"])
def test_regret_matching_stands_still_in_the_direction_of_its_weights(kind):
    # Blackwell's condition: the weights are orthogonal to (rm: the next) regrets.
    rng = np.random.default_rng(14)
    swap, external = [(0,), (1,)], [(2,)]
    minimizer = reference.RegretMatching(3, swap, external, kind)
    for _ in range(20):
        minimizer.observe_time_selection(dict(zip(swap + external, rng.random(3), strict=True)))
        minimizer.recommend()
        before = {key: minimizer.weight(key) for key in minimizer.regret}
        minimizer.observe_loss(rng.random(3).tolist())
        assert sum(w * minimizer.last[key] for key, w in before.items()) == pytest.approx(0)


# --- K-EFR, regrets -------------------------------------------------------------------------------


def hedge(rate):
    return lambda i, A, swap, external: reference.WRHedge(A, swap, external, rate)


def matching(kind):
    return lambda i, A, swap, external: reference.RegretMatching(A, swap, external, kind)


@pytest.mark.slow
@pytest.mark.parametrize("K", [0, 1, 2])
@pytest.mark.parametrize("make", [hedge(0.5), matching("rm"), matching("rm+"), matching("prm+")])
def test_kefr_bounds_its_regret_by_local_regrets(K, make):
    game = UNEVEN[0]
    iterates = reference.kefr(game, K, 12, make)
    assert reference.replay_kefr(game, K, iterates, make) < 1e-9
    for i in players(game):
        regret = reference.efce_regret(game, i, K, iterates)
        parts = reference.decomposition(game, i, K, iterates)
        assert regret <= sum(swap + external for swap, external in parts) + 1e-9
        # Online to batch: the regret is the gap of the uniform mixture of the iterates.
        gap, _ = reference.best_deviation(game, i, K, [(1 / 12, bs) for bs in iterates])
        worst, best = reference.payoff_range(game, i)
        assert gap * 12 == pytest.approx(regret * (best - worst))


def test_replay_notices_a_policy_that_is_not_stationary():
    game = UNEVEN[0]
    make = hedge(0.5)
    iterates = reference.kefr(game, 1, 3, make)
    iterates[2] = random_behaviors(game, np.random.default_rng(15))
    assert reference.replay_kefr(game, 1, iterates, make) > 1e-3


@pytest.mark.parametrize("K", [0, 1, 2])
def test_the_decomposition_holds_for_any_iterates(K):
    rng = np.random.default_rng(16)
    for game in GAMES:
        iterates = [random_behaviors(game, rng) for _ in range(3)]
        for i in players(game):
            regret = reference.efce_regret(game, i, K, iterates)
            parts = reference.decomposition(game, i, K, iterates)
            assert regret <= sum(swap + external for swap, external in parts) + 1e-9


@pytest.mark.parametrize("K", [0, 1])
def test_the_decomposition_is_exact_with_one_layer(K):
    rng = np.random.default_rng(23)
    game = matrix_game(rng.normal(size=(2, 3, 3)))
    iterates = [random_behaviors(game, rng, pure=True) for _ in range(9)]
    for i in (0, 1):
        regret = reference.efce_regret(game, i, K, iterates)
        [(swap, external)] = reference.decomposition(game, i, K, iterates)
        assert regret == pytest.approx(swap if K else external)
        assert (external if K else swap) == 0


@pytest.mark.parametrize("game", TINY, ids=lambda g: g.name)
def test_maxima_over_modifications_by_recursion_are_those_by_trying_all(game):
    rng = np.random.default_rng(17)
    for i in players(game):
        for K in (0, 1, 2):
            if reference.n_modifications(game, i, K) > 1000:
                continue
            scores = {key: rng.normal() for key in reference.rechistories(game, i, K)}

            def score(x, b, scores=scores):
                return scores[x, b]

            for h in range(1, reference.horizon(game, i) + 1):
                best = max(
                    reference.layer_sum(game, i, K, phi, h, score=score)
                    for phi in reference.modifications(game, i, K)
                )
                assert reference.max_layer_sum(game, i, K, h, score) == pytest.approx(best)


@pytest.mark.parametrize("K", [0, 1])
def test_kefr_finds_an_equilibrium(K):
    game = chicken()
    iterates = reference.kefr(game, K, 150, matching("rm+"))
    policy = [(1 / 150, bs) for bs in iterates]
    assert max(reference.efce_gap(game, i, K, policy) for i in (0, 1)) < 0.15


# --- bandit feedback ------------------------------------------------------------------------------


def test_fill():
    assert reference.fill({1, 3, 8}, 5) == (1, 2, 3, 4, 8)  # the paper's example
    assert reference.fill((), 0) == ()
    assert reference.fill({2}, 1) == (2,)


@pytest.mark.parametrize("H", [1, 2, 3, 4, 5])
def test_episodes_are_as_many_as_the_lemma_says(H):
    for K in range(H + 3):
        k = min(K, H)
        total = reference.type_one_episodes(H, K) + reference.type_two_episodes(H, K)
        assert len(set(total)) == len(total) == math.comb(H + 1, k + 1) + k - 1
    assert reference.type_two_episodes(H, 0) == [(h, 0, ()) for h in range(1, H + 1)]


@pytest.mark.parametrize("game", [*GAMES, EVEN], ids=lambda g: g.name)
def test_the_balanced_policies_balance(game):
    # Lemma B.5: X_h A in an even tree, not more in any.
    rng = np.random.default_rng(18)
    for i in players(game):
        for h in range(1, reference.horizon(game, i) + 1):
            star = reference.balanced_behavior(game, i, h)
            behavior = random_behavior(game, i, rng)
            phi = reference.random_modification(game, i, 1, rng)
            here = [x for x in reference.infosets(game, i) if reference.layer(game, i, x) == h]
            pairs = sum(len(reference.actions(game, i, x)) for x in here)
            A = max(len(reference.actions(game, i, x)) for x in here)
            for form in (
                reference.sequence_form(game, i, behavior),
                reference.modified_reach(game, i, 1, phi, behavior),
            ):
                total = sum(
                    form[seq] / reference.reach(game, i, star, seq)
                    for x in here
                    for seq in (
                        reference.sequence(game, i, x, a) for a in reference.actions(game, i, x)
                    )
                )
                assert total <= len(here) * A + 1e-9
                if game is EVEN:
                    assert total == pytest.approx(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("K", [0, 1, 2, 3])
@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_loss_estimators_are_unbiased_and_bounded(game, K):
    rng = np.random.default_rng(19)
    behaviors = random_behaviors(game, rng)
    for i in players(game):
        losses = reference.counterfactual_losses(game, i, behaviors)
        facts = reference.estimator_facts(game, i, K, behaviors)
        planned = set(reference.episodes(game, i, K))
        for (x, b), (mean, largest) in facts.items():
            assert reference.episode_of(game, i, K, x, b) in planned
            want = [
                losses[reference.sequence(game, i, x, a)] for a in reference.actions(game, i, x)
            ]
            assert mean == pytest.approx(want)
            assert largest <= 1 + 1e-9


@pytest.mark.parametrize("K", [1, 2])
def test_weights_keep_the_bounds_of_the_bandit_proofs(K):
    # Equations (37) and (38), uneven trees too.
    for game in [*GAMES, EVEN]:
        for i in players(game):
            k = reference.clip(game, i, K)
            for h in range(1, reference.horizon(game, i) + 1):
                here = [x for x in reference.infosets(game, i) if reference.layer(game, i, x) == h]
                A = max(len(reference.actions(game, i, x)) for x in reference.infosets(game, i))

                def swap(x, b, game=game, i=i):
                    first = b in reference.type_one(game, i, K, x)
                    return 1 / reference.sampling_weight(game, i, K, x, b) if first else 0.0

                def external(x, b, game=game, i=i):
                    first = b in reference.type_one(game, i, K, x)
                    return 0.0 if first else 1 / reference.sampling_weight(game, i, K, x, b)

                bound = len(here) * math.comb(h - 1, min(k, h) - 1) * A ** min(k, h)
                assert reference.max_layer_sum(game, i, K, h, swap) <= bound + 1e-9
                bound = len(here) * math.comb(h - 1, k) * A ** (k + 1)
                assert reference.max_layer_sum(game, i, K, h, external) <= bound + 1e-9


@pytest.mark.parametrize("K", [0, 1, 2])
def test_balanced_kefr_runs(K):
    game = TINY[0]
    rng = np.random.default_rng(20)

    def make(i, A, swap, external):
        rate = reference.bandit_rate(game, i, K, 5, 0.1)
        return reference.SWRHedge(A, swap, external, rate)

    played = []

    def play(t, i, episode, behaviors):
        played.append((t, i, episode))
        return reference.sample_play(game, behaviors, rng)

    iterates = reference.balanced_kefr(game, K, 5, make, play)
    assert len(iterates) == 5
    assert len(played) == 5 * sum(len(reference.episodes(game, i, K)) for i in players(game))
    for behaviors in iterates:
        for i in players(game):
            for x in reference.infosets(game, i):
                total = sum(
                    reference.prob(game, i, behaviors[i], x, a)
                    for a in reference.actions(game, i, x)
                )
                assert total == pytest.approx(1)
