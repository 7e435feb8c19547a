"""The theorem about regret matching: its lemmas on the compiled minimizers, and the bound."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given, seed
from hypothesis import strategies as st

import accord
from accord.deviations.notions import clipped_k
from accord.deviations.rechistory import RechistoryTree
from accord.game.library import chicken, kuhn, matching_pennies, separation
from accord.learning.kefr import KEFR
from accord.learning.theory.guarantee import solve_bound
from accord.learning.theory.matching_bound import choices_at_once, covers, matching_bound
from accord.learning.theory.plan import plan
from accord.regret.methods import AVERAGING, METHODS
from accord.regret.regret_matching import RegretMatching
from accord.treeplex.treeplex import Treeplex, treeplexes
from tests.support.bounds import adversarial_loss, largest_sum
from tests.support.strategies import examples, games

KS = [0, 1, 2, math.inf]
KINDS = ["random", "likeliest", "alternating"]
PLUS = [
    RegretMatching(predictive=predictive, decay=decay)
    for predictive in (False, True)
    for decay in (0.0, 0.2, 0.4)
]
RM = RegretMatching(plus=False, predictive=False)
DEFAULT = RegretMatching(decay=0.2)
"""The method of solve."""

ks = st.sampled_from(KS)
seeds = st.integers(0, 2**32 - 1)


def constant(plex: Treeplex, k: float, method: RegretMatching, power: int) -> float:
    return float(matching_bound(plex, clipped_k(plex, k), method, power).constant)


def gains(learner: KEFR) -> np.ndarray:
    """``[n_cells]`` the regrets of the last iteration, straight from their definition."""
    plex, tree, state = learner.plex, learner.tree, learner.state
    found = np.zeros(tree.n_cells)
    for node in range(1, tree.n_nodes):
        x = int(tree.node_infoset[node])
        own = slice(plex.first_seq[x], plex.first_seq[x + 1])
        p, loss = state.behavior[own], state.cf_loss[own]
        first, last = tree.arrays.first_cell[node], tree.arrays.first_cell[node + 1]
        if tree.is_swap[node]:
            regret = p[:, None] * (loss[:, None] - loss[None, :])
        else:
            regret = p @ loss - loss
        found[first:last] = state.rec_reach[node] * regret.reshape(-1)
    return found


@pytest.mark.kernels
@pytest.mark.slow
@seed(20270)
@examples(60)
@given(
    games(players=2, max_depth=5), ks, st.sampled_from(PLUS), st.integers(0, 2),
    st.sampled_from(KINDS), seeds,
)  # fmt: skip
def test_every_step_of_the_proof(game, k, method, power, kind, number):
    rng = np.random.default_rng(number)
    plex = treeplexes(game)[0]
    assume(plex.n_infosets > 0)
    learner = KEFR(plex, k, method, averaging=power)
    tree, at_once = learner.tree, choices_at_once(plex)
    first = tree.arrays.first_node
    weighted, tails = np.zeros(tree.n_cells), np.zeros((0, tree.n_cells))
    squares, last = 0.0, np.zeros(tree.n_cells)
    for t in range(1, 26):
        learner.observe(adversarial_loss(plex, learner.recommend(), rng, kind, t))
        for x in range(plex.n_infosets):  # exactly one rechistory comes true
            if plex.n_actions[x] > 1:
                total = learner.state.rec_reach[first[x] : first[x + 1]].sum()
                assert total == pytest.approx(1.0)
        gain, omega = gains(learner), (t + 1.0) ** -method.decay
        assert gain @ gain <= at_once + 1e-9  # step 2
        theta = np.maximum(learner.state.regret + (last if method.predictive else 0.0), 0.0)
        assert theta @ gain == pytest.approx(0.0, abs=1e-9)  # step 1, orthogonality
        error = omega * gain - (last if method.predictive else 0.0)
        squares, last = squares + error @ error, omega * gain
        weighted += t**power * gain
        tails = np.vstack([tails, np.zeros(tree.n_cells)]) + omega * gain
        sums = np.maximum(learner.state.regret + omega * gain, 0.0)  # Q_t
        assert sums @ sums <= squares + 1e-9
        factor = 4.0 if method.predictive else 1.0
        size = factor * at_once * sum((s + 1.0) ** (-2 * method.decay) for s in range(1, t + 1))
        assert squares <= size + 1e-9
        assert (tails <= sums + 1e-9).all()  # step 3: every tail, not only the whole sum
        grown = t**power * (t + 1) ** method.decay
        assert (weighted <= grown * sums + 1e-9 * grown).all()  # step 4
        own = clipped_k(plex, k)
        cells = float(matching_bound(plex, own, RM, 0).constant) / at_once if at_once else 0.0
        norm = math.sqrt(cells * (sums @ sums))
        assert learner.regret() <= grown * (norm + 1e-9)  # step 5
        average = learner.regret() / learner.total_weight
        bound = math.sqrt(constant(plex, k, method, power) * (t + 1)) / t
        assert average <= bound + 1e-9


@pytest.mark.kernels
@seed(20271)
@examples(40)
@given(games(players=2, max_depth=5), ks, st.sampled_from(KINDS), seeds)
def test_plain_regret_matching(game, k, kind, number):
    rng = np.random.default_rng(number)
    plex = treeplexes(game)[0]
    assume(plex.n_infosets > 0)
    learner = KEFR(plex, k, RM)
    size = constant(plex, k, RM, 0)
    for t in range(1, 31):
        learner.observe(adversarial_loss(plex, learner.recommend(), rng, kind, t))
        assert learner.regret() <= math.sqrt(size * t) + 1e-9


@pytest.mark.kernels
@seed(20272)
@examples(60)
@given(games(max_depth=6), ks)
def test_the_number_of_cells_is_the_largest_over_all_modifications(game, k):
    for plex in treeplexes(game):
        if plex.n_infosets and (at_once := choices_at_once(plex)):
            tree = RechistoryTree.build(plex, k)
            actions = plex.n_actions[tree.node_infoset[1:]]
            rows = np.where(tree.is_swap[1:], actions, 1) * (actions > 1)
            expected = largest_sum(tree, np.concatenate([[0.0], rows]))
            assert constant(plex, k, RM, 0) == pytest.approx(expected * at_once, rel=1e-9)


@seed(20273)
@examples(60)
@given(games(max_depth=4))
def test_choices_at_once_by_trying_every_way(game):
    for plex in treeplexes(game):
        branching = [s for s in range(plex.n_sequences) if len(plex.children(s)) > 1]
        ways = itertools.product(*(plex.children(s) for s in branching))
        most = 0
        for way in itertools.islice(ways, 5000):
            chosen = dict(zip(branching, way, strict=True))
            total, queue = 0, [0]
            while queue:
                s = queue.pop()
                for x in [chosen[s]] if s in chosen else plex.children(s):
                    total += int(plex.n_actions[x]) - 1
                    queue.extend(range(plex.first_seq[x], plex.first_seq[x + 1]))
            most = max(most, total)
        if math.prod(len(plex.children(s)) for s in branching) <= 5000:
            assert choices_at_once(plex) == most


@pytest.mark.slow
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", ["rm", "rm+", "prm+"])
@pytest.mark.parametrize("game", [matching_pennies(), chicken(), separation(k=1), kuhn()])
def test_solve_keeps_the_promise(game, name, k):
    """The gap that solve reports, of the weighted average of all iterates, at every checkpoint."""
    method = METHODS[name]
    form = accord.treeplex.sequence_form(game)
    bound = solve_bound(form, k, method.config, None, AVERAGING[method.averaging])
    assert bound is not None
    found = accord.solve(game, k, method=name, iterations=3000, components=1)
    for point in found.history:
        assert point.gap <= bound.at(point.iteration) + 1e-12
    assert bound.at(3000) < max(bound.ranges)  # it says something at the end


def test_the_bound_is_not_idle():
    """Random losses alone bring the regret within a small factor of the bound."""
    plex, rng = treeplexes(matching_pennies())[0], np.random.default_rng(5)
    for method, power, share in ((RM, 0, 0.3), (RegretMatching(predictive=False), 1, 0.1)):
        worst = 0.0
        for _ in range(5):
            learner = KEFR(plex, 0, method, averaging=power)
            for _ in range(400):
                learner.recommend()
                learner.observe(np.array([0.0, *np.eye(2)[rng.integers(2)]]))
            worst = max(worst, learner.regret() / learner.total_weight)
        bound = matching_bound(plex, 0, method, power).average(400)
        assert share * bound < worst <= bound


def test_the_constants_by_hand():
    kuhn_first = treeplexes(kuhn())[0]  # 3 cards, 2 decisions of 2 actions each
    assert choices_at_once(kuhn_first) == 2
    assert constant(kuhn_first, 0, RM, 0) == pytest.approx(2 * 6)
    assert constant(kuhn_first, 1, RM, 0) == pytest.approx(2 * 3 * (2 + 2 + 1))
    plex = treeplexes(matching_pennies())[0]
    assert constant(plex, 1, DEFAULT, 2) == pytest.approx(9 * 4 * 2 / 0.6)
    assert matching_bound(plex, 1, DEFAULT, 2).average(10**4) == pytest.approx(
        math.sqrt(120 * 10_001) / 10**4
    )
    assert matching_bound(plex, 1, RM, 0).average(1) == 1.0


@pytest.mark.parametrize("method", [RM, DEFAULT])
def test_iterations_are_enough_and_hardly_more(method):
    bound = matching_bound(treeplexes(kuhn())[0], 1, method, 0)
    for accuracy in (0.3, 1e-3):
        enough = bound.iterations(Decimal(accuracy))
        assert bound.average(enough) <= accuracy < bound.average(0.99 * enough - 3)
    assert bound.iterations(Decimal("1e-200")) > 10**399


def test_what_the_theorem_covers():
    assert covers(DEFAULT, 2)
    assert covers(RM, 0)
    assert not covers(RM, 1)
    assert not covers(RegretMatching(decay=0.5), 2)
    assert not covers(RegretMatching(plus=False, decay=0.2), 0)


def test_the_numbers_in_the_documentation():
    first = [treeplexes(kuhn())[i] for i in (0, 1)]
    for method, power, shown in ((RM, 0, 48_002), (RegretMatching(predictive=False), 1, 192_002)):
        tenth = Decimal("0.1") / 4
        numbers = [matching_bound(plex, 1, method, power).iterations(tenth) for plex in first]
        assert max(numbers) == shown


def test_plans_grow_with_k():
    plans = [plan(kuhn(), k, 0.1).default_iterations for k in KS]
    assert plans == sorted(plans)
    assert plan(kuhn(), 1, 5.0).default_iterations == 1
