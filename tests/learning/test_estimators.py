"""Loss estimators: who plays what, and that they are unbiased, by enumerating every play.

The second half drives the compiled learners themselves. A learner in a random state is made to
take every path through its treeplex in every one of its episodes; what each play adds to its
minimizers, weighed with the exact probability of the play, must be S_b times the counterfactual
loss, at every (infoset, rechistory, action).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.deviations.rechistory import RechistoryTree
from accord.errors import BudgetError
from accord.game.library import kuhn, library_game
from accord.game.tree import Game
from accord.learning import estimators
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.estimators import sampling_plan, sampling_sets
from accord.regret.rates import episodes_per_iteration
from accord.regret.swrhedge import SWRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.driven import (
    as_rng,
    assert_sums_are_unbiased,
    naive_episodes,
    nodes_of,
    own_path,
    replay,
    tree_of,
)
from tests.support.policies import all_games, all_k, grown_game
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

seeds = st.integers(0, 2**32 - 1)

# --- the plan -------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", range(1, 9))
def test_number_and_sets_of_episodes(horizon: int) -> None:
    """Lemma G.1, and the sets of Algorithms 4 and 7."""
    for k in range(horizon + 1):
        sets = sampling_sets(horizon, k)
        one, two = reference.type_one_episodes(horizon, k), reference.type_two_episodes(horizon, k)
        wanted = [(e[0], tuple(sorted(reference.balanced_layers(e)))) for e in one + two]
        assert sorted(sets) == sorted(wanted)
        assert set(sets[: len(one)]) == set(wanted[: len(one)])  # Type I first
        count = math.comb(horizon + 1, k + 1) + k - 1 if k else horizon
        assert episodes_per_iteration(horizon, k) == len(sets) == count
        assert count <= 3 * horizon * math.comb(horizon, k)


def test_a_player_without_decisions_plays_no_episodes() -> None:
    assert sampling_sets(0, 0) == []
    assert episodes_per_iteration(0, 0) == 0
    plan = sampling_plan(RechistoryTree.build(Treeplex.from_parents([], [], []), 1))
    assert plan.n_episodes == 0


def check_plan(game: Game) -> None:
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in all_k(game, i):
            tree = RechistoryTree.build(plex, k)
            plan = sampling_plan(tree)
            episodes = naive_episodes(game, i, k)
            assert plan.n_episodes == len(episodes) == len(plan.explores)
            for e, episode in enumerate(episodes):
                assert plan.layer[e] == episode[0] - 1
                assert set(np.flatnonzero(plan.explores[e]) + 1) == reference.balanced_layers(
                    episode
                )
            for node in range(1, tree.n_nodes):
                x, b = int(tree.node_infoset[node]), tree.rechistory(node)
                assert episodes[plan.node_episode[node]] == reference.episode_of(game, i, k, x, b)
                weight = reference.sampling_weight(game, i, k, x, b)
                assert plan.node_weight[node] == pytest.approx(weight, rel=1e-14)


@given(all_games())
@examples(40)
def test_the_plan_on_random_games(game: Game) -> None:
    check_plan(game)


@pytest.mark.parametrize("name", ["kuhn", "separation:k=2", "unbalanced:horizon=5,actions=2"])
def test_the_plan_on_library_games(name: str) -> None:
    check_plan(library_game(name))


def test_too_many_episodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "MAX_EPISODES", 5)
    plex = sequence_form(library_game("unbalanced:horizon=4")).plexes[0]
    sampling_plan(RechistoryTree.build(plex, math.inf))  # 4 episodes
    with pytest.raises(BudgetError, match="at k = 1 and horizon 4 one iteration takes 10") as info:
        sampling_plan(RechistoryTree.build(plex, 1))
    assert (info.value.required, info.value.available) == (10, 5)


# --- what is sampled ------------------------------------------------------------------------------

GAMES = [
    *(pytest.param(grown_game(s, 2, 80), id=f"two players {s}") for s in (0, 1, 3, 4, 55, 73)),
    *(pytest.param(grown_game(s, 3, 80), id=f"three players {s}") for s in (0, 1, 3, 53, 58, 63)),
    pytest.param(library_game("signalling"), id="signalling"),
    pytest.param(library_game("separation:k=1"), id="separation"),
    pytest.param(kuhn(), id="kuhn"),
]
"""Some with five decisions in a row, so that every kind of episode is there at K = 2."""

KS = (0, 1, 2, math.inf)


def in_random_state(
    game: Game, k: float, seed: int
) -> tuple[list[BalancedKEFR], list[list[float]]]:
    """A learner per player with random minimizers, and the policies that follow."""
    rng = np.random.default_rng(seed)
    learners = [
        BalancedKEFR(plex, k, SWRHedge(0.7 + i))
        for i, plex in enumerate(sequence_form(game).plexes)
    ]
    for learner in learners:
        arrays = learner.state
        arrays.regret[:] = rng.normal(size=len(arrays.regret))
        arrays.nodes["credit"] = rng.random(len(arrays.nodes))
        learner.begin_iteration()
    return learners, [learner.policy().tolist() for learner in learners]


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_episodes_play_the_sampling_policies(game: Game, k: float) -> None:
    """As a draw goes through [0, 1) the actions come in turn, each for its probability."""
    learners, behaviors = in_random_state(game, k, 1)
    for i, learner in enumerate(learners):
        episodes: list[reference.Episode | None] = [*naive_episodes(game, i, k), None]
        for e, episode in enumerate(episodes):
            law = behaviors[i]
            if episode is not None:
                law = reference.sampling_behavior(game, i, law, episode)
            for x in reference.infosets(game, i):
                if reference.reach(game, i, law, int(learner.tables.parent_seq[x])) == 0.0:
                    continue
                here = [
                    law[reference.sequence(game, i, x, a)] for a in reference.actions(game, i, x)
                ]
                ends = np.cumsum([0.0, *here])
                for a, (start, end) in enumerate(pairwise(ends)):
                    if here[a] == 0.0:
                        continue
                    for draw in (start + 1e-12, end - 1e-12):
                        learner.begin_episode(e if episode is not None else None)
                        replay(learner, law, reference.path(game, i, x))
                        assert learner.act(x, as_rng([draw])) == a


@pytest.mark.slow
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", GAMES)
def test_swrhedge_is_fed_unbiased_estimates(game: Game, k: float) -> None:
    learners, behaviors = in_random_state(game, k, 2)
    for i, learner in enumerate(learners):
        arrays = learner.state
        regret, credit = arrays.regret.copy(), arrays.nodes["credit"].copy()
        mean_regret, mean_credit = np.zeros_like(regret), np.zeros_like(credit)
        for e, episode in enumerate(naive_episodes(game, i, k)):
            law = reference.sampling_behavior(game, i, behaviors[i], episode)
            joint = [law if j == i else other for j, other in enumerate(behaviors)]
            for prob, end in reference.play_law(game, joint):
                if prob == 0.0:
                    continue
                learner.begin_episode(e)
                replay(learner, law, own_path(game, i, end))
                learner.end_episode(reference.normalized_loss(game, i, end.payoffs[i]))
                added, gained = arrays.regret - regret, arrays.nodes["credit"] - credit
                assert_bounded(learner, added)
                mean_regret += prob * added
                mean_credit += prob * gained
                arrays.regret[:], arrays.nodes["credit"] = regret, credit
        assert_sums_are_unbiased(game, i, k, learner, behaviors, mean_regret, mean_credit)


def assert_bounded(learner: BalancedKEFR, added: np.ndarray) -> None:
    """Assumption (i) of Lemma A.3: 0 <= M_b w_b estimate <= 1."""
    tree = tree_of(learner)
    for node, x, _ in nodes_of(learner):
        n = int(tree.plex.n_actions[x])
        cells = added[tree.arrays.first_cell[node] : tree.arrays.first_cell[node + 1]]
        scaled = cells.reshape(-1, n).sum(axis=0)  # SWAP: p(r) S_b estimate(a), summed over r
        assert (scaled >= -1e-12).all()
        assert scaled.max(initial=0.0) <= 1.0 + 1e-12
