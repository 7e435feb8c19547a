"""K-EFR for the coarse and agent-form notions: regrets by brute force, bounds, and whole runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, seed
from hypothesis import strategies as st

import accord
from accord.deviations.counting import count_learned, count_rechistories
from accord.deviations.notions import NAMES, as_notion, bounding_k
from accord.deviations.rechistory import COARSE, EXTERNAL, SWAP, RechistoryTree
from accord.errors import ArgumentError
from accord.game.library import kuhn, library_game, random_game
from accord.learning.kefr import KEFR
from accord.learning.self_play import SelfPlay
from accord.learning.tables import Tables
from accord.learning.theory.bounds import regret_bound
from accord.learning.theory.matching_bound import choices_at_once, matching_bound
from accord.regret.methods import SAMPLED_METHODS
from accord.regret.regret_matching import RegretMatching
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import treeplexes
from tests import reference
from tests.support.bounds import adversarial_loss
from tests.support.environments import Hidden
from tests.support.policies import grown_game
from tests.support.runs import MINIMIZERS, behaviors, run
from tests.support.strategies import examples, games

pytestmark = pytest.mark.kernels

NOTIONS = ["EFCCE", "AFCE", "AFCCE"]
notions = st.sampled_from(NOTIONS)
MOST_DEVIATIONS = 3_000
RM = RegretMatching(plus=False, predictive=False)


@seed(20281)
@examples(40)
@given(games(max_depth=4, max_actions=3), notions, st.sampled_from(list(MINIMIZERS.values())))
def test_the_gap_of_self_play_is_the_gap_by_brute_force(game, notion, minimizer):
    """Also with weights: every iterate counts as often as it should."""
    form = sequence_form(game)
    tries = [reference.n_deviations(game, i, notion) for i in range(game.n_players)]
    assume(1 < max(tries) <= MOST_DEVIATIONS)
    play, kept = run(game, notion, minimizer, 4, averaging=1)
    total = sum(range(1, 5))
    policy = [(t / total, behaviors(game, row)) for t, row in enumerate(kept, 1)]
    for i, gap in enumerate(play.gaps()):
        expected = reference.notion_gap(game, i, notion, policy)
        assert gap == pytest.approx(expected, rel=0, abs=1e-9 * form.leaves.payoff_range[i])


@seed(20282)
@examples(60)
@given(
    games(players=2, max_depth=5), notions, st.sampled_from([RM, RegretMatching(decay=0.2)]),
    st.sampled_from(["random", "likeliest", "alternating"]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_regret_matching_keeps_its_bound(game, notion, method, kind, number):
    """Against any losses, at every T; and each step keeps the size that the proof needs."""
    rng, plex = np.random.default_rng(number), treeplexes(game)[0]
    assume(plex.n_infosets > 0)
    power = 2 if method.plus else 0
    learner = KEFR(plex, notion, method, averaging=power)
    bound, at_once = matching_bound(plex, notion, method, power), choices_at_once(plex, notion)
    for t in range(1, 26):
        learner.observe(adversarial_loss(plex, learner.recommend(), rng, kind, t))
        assert learner.regret() / learner.total_weight <= bound.average(t) + 1e-9
        assert squared_gains(learner) <= at_once + 1e-9


def squared_gains(learner: KEFR) -> float:
    """The squared norm of the regrets of the last iteration, from their definition."""
    plex, tree, state = learner.plex, learner.tree, learner.state
    total = 0.0
    for node in range(1, tree.n_nodes):
        x = int(tree.node_infoset[node])
        own = slice(plex.first_seq[x], plex.first_seq[x + 1])
        p, loss = state.behavior[own], state.cf_loss[own]
        if len(p) > 1 and tree.kind[node] == SWAP:
            gains = p[:, None] * (loss[:, None] - loss[None, :])
        elif len(p) > 1 and tree.kind[node] in (COARSE, EXTERNAL):
            gains = p @ loss - loss
        else:
            continue
        total += float(np.square(state.rec_reach[node] * gains).sum())
    return total


@seed(20283)
@examples(60)
@given(
    games(players=2, max_depth=5), notions, st.sampled_from([0.03, 0.3, 3.0]),
    st.sampled_from(["random", "likeliest", "alternating"]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_wrhedge_keeps_its_bound(game, notion, rate, kind, number):
    rng, plex = np.random.default_rng(number), treeplexes(game)[0]
    assume(plex.n_infosets > 0)
    learner = KEFR(plex, notion, WRHedge(rate))
    for t in range(1, 26):
        learner.observe(adversarial_loss(plex, learner.recommend(), rng, kind, t))
        assert learner.regret() <= regret_bound(plex, notion, rate, t) + 1e-9


def test_the_bounds_by_hand():
    """A player of Kuhn poker: 3 cards, two decisions of two actions each, one after the other."""
    plex = treeplexes(kuhn())[0]
    log2 = math.log(2)
    assert [choices_at_once(plex, one) for one in ("efcce", "afce", "afcce", 1)] == [3, 2, 2, 2]
    cells = [float(matching_bound(plex, one, RM, 0).constant) for one in NOTIONS]
    assert cells == pytest.approx([6 * 3, 12 * 2, 6 * 2])
    costs = {"efcce": 6 * log2 + 3 * log2, "afce": 6 * 2 * log2, "afcce": 6 * log2}
    for notion, cost in costs.items():
        assert regret_bound(plex, notion, 1e-3, 10**6) == pytest.approx(2e3 + 1e3 * cost)


@seed(20284)
@examples(40)
@given(games(max_depth=6, max_actions=3), st.sampled_from([0, 1, 2, math.inf, *NOTIONS]))
def test_tables_are_counted_before_they_are_made(game, notion):
    """Made at once or infoset by infoset, they are the same."""
    minimizer = SAMPLED_METHODS["prm"].config
    for plex in treeplexes(game):
        made = Tables.of(plex, notion, minimizer)
        count = count_learned(plex, notion)
        assert made.n_nodes == 1 + count.nodes
        assert made.n_cells == 1 + count.cells
        assert count.nodes <= count_rechistories(plex, notion).nodes
        grown = Tables(notion, minimizer)
        for x in range(plex.n_infosets):
            grown.add(int(plex.parent_seq[x]), int(plex.n_actions[x]))
        for name in ("parent", "rec_seq"):
            a, b = (one.arrays.nodes[name][: one.n_nodes] for one in (made, grown))
            np.testing.assert_array_equal(a, b)
        assert (grown.n_nodes, grown.n_cells) == (made.n_nodes, made.n_cells)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("game", [kuhn(), library_game("signalling"), grown_game(0, 3, 80)])
def test_self_play_alone_and_on_threads_have_the_same_bits(game, notion):
    form = sequence_form(game)
    together = SelfPlay(form, notion, "prm+")
    apart = SelfPlay(form, notion, "prm+", threads=2)
    together.advance(30)
    apart.advance(30)
    np.testing.assert_array_equal(together.gaps(), apart.gaps())


@pytest.mark.slow
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", ["kuhn", "separation:k=1", "greenwald_sarfati_1"])
def test_gaps_fall(name, notion):
    """Full feedback, own plays and joint plays all end near an equilibrium of the notion."""
    game = library_game(name)
    span = float(sequence_form(game).leaves.payoff_range.max())
    assert accord.solve(game, notion, iterations=1000).gap < 1e-3 * span
    assert accord.learn(game, notion, episodes=60_000).gap < 0.02 * span
    assert accord.learn(game, notion, episodes=3_000, feedback="joint").gap < 0.02 * span


def test_the_notions_are_not_the_same_thing():
    """An AFCE of this game leaves a gain to those who may go on to deviate, and is not an EFCCE."""
    differs = 0
    for number in range(6):
        game = random_game(seed=number, players=2, depth=6, actions=2)
        policy = accord.solve(game, "afce", iterations=400).policy
        gaps = {k: accord.certify(game, policy, k)[k].gap for k in ("afce", "efcce", 2)}
        assert gaps["afce"] <= gaps[2] + 1e-9
        differs += gaps["efcce"] > 10 * gaps["afce"] + 1e-3
    assert differs >= 2


@pytest.mark.parametrize("notion", NOTIONS)
def test_an_environment_gives_what_the_simulator_gives_and_bounds(notion):
    """The learners meet the same infosets; bounds are those of a K that bounds the notion."""
    game = kuhn()
    learned = accord.learn(Hidden(game), notion, episodes=1_200)
    assert learned.game is None
    gap = learned.certificate[notion]
    assert gap.player_lower == (0.0, 0.0)
    exact = accord.certify(game, learned.policy.in_game(game), notion)[notion]
    assert all(map(float.__le__, exact.player_gaps, gap.player_upper))
    assert "no deviation" in str(learned.certificate)
    again = accord.learn(Hidden(game), notion, episodes=1_200, game=game)
    assert again.gap == pytest.approx(exact.gap, abs=1e-12)


def test_workers_play_the_same_episodes():
    here = accord.learn(Hidden(kuhn()), "efcce", episodes=200, batch=16)
    there = accord.learn(Hidden(kuhn()), "efcce", episodes=200, batch=16, workers=2)
    np.testing.assert_array_equal(here.policy.behavior, there.policy.behavior)


def test_a_bounding_k_bounds():
    trees = [one for one in NAMES.values() if not one.has_no_tree]
    for one, k in itertools.product(trees, range(4)):
        assert one.is_bounded_by(as_notion(k)) == (k >= bounding_k(one))


@pytest.mark.parametrize("notion", ["lce", "nfce"])
def test_notions_without_a_tree_are_refused(notion):
    for call in (
        lambda: accord.solve(kuhn(), notion),
        lambda: accord.learn(kuhn(), notion, episodes=10),
        lambda: accord.certify_by_play(Hidden(kuhn()), accord.solve(kuhn(), iterations=2), notion),
        lambda: RechistoryTree.build(treeplexes(kuhn())[0], notion),
    ):
        with pytest.raises(ArgumentError, match=f"'efcce', 'afce' or 'afcce'; got '{notion}'"):
            call()


def test_the_papers_episodes_are_for_a_k():
    for options in ({"method": "swrhedge"}, {"exploration": "balanced"}):
        with pytest.raises(ArgumentError, match="learn it with prm or rm"):
            accord.learn(kuhn(), "efcce", episodes=100, **options)
