"""Inspections against plain enumeration of the tree, and against the certificate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord._arrays import CHANCE, TERMINAL, Floats
from accord.certifying.exact import certify
from accord.certifying.inspection import inspect, steps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import kuhn, library_device, separation
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import pure_behavior
from tests import reference
from tests.support.policies import all_games, random_policy
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(30)
seeds = st.integers(0, 2**32 - 1)
SEVERAL = (0, 1, 2, math.inf)


@pytest.fixture(scope="module")
def policies() -> dict[str, CorrelatedPolicy]:
    """What runs of several kinds have saved."""
    few: Any = {"components": 20}
    return {
        "1": accord.solve(kuhn(), 1, iterations=60, method="rm", **few).policy,
        "inf": accord.solve(kuhn(), math.inf, iterations=30, **few).policy,
        "0": accord.solve(kuhn(), 0, iterations=30, **few).policy,
        "sep": accord.solve(separation(k=1), 2, iterations=30, **few).policy,
        "l1": accord.learn(kuhn(), 1, episodes=2000, seed=1, **few).policy,
    }


def told_by_enumeration(
    policy: CorrelatedPolicy,
) -> dict[tuple[int, int, int], tuple[float, float]]:
    """(player, infoset, told) to the probability and the payoff of following, node by node."""
    game = policy.game
    form = sequence_form(game)
    rewards = np.zeros((game.n_nodes, game.n_players))
    rewards[game.reward_node] = game.reward
    children: list[list[int]] = [[] for _ in range(game.n_nodes)]
    for node in range(1, game.n_nodes):
        children[game.parent[node]].append(node)
    found: dict[tuple[int, int, int], tuple[float, float]] = {}

    def move(behaviors: Any, node: int) -> float:
        """The probability of the move that leads to ``node``."""
        above = game.parent[node]
        if game.player[above] == CHANCE:
            return float(game.chance_prob[node])
        i, x = game.player[above], game.infoset[above]
        return float(behaviors[i][form.plexes[i].first_seq[x] + game.action[node]])

    def walk(behaviors: Any, weight: float, node: int, prob: float, earned: Any) -> Any:
        """The expected payoffs of plays through ``node``, times their probability."""
        earned = earned + rewards[node]
        if game.player[node] == TERMINAL:
            return prob * earned
        total = np.zeros(game.n_players)
        for child in children[node]:
            share = prob * move(behaviors, child)
            below = walk(behaviors, weight, child, share, earned)
            total += below
            i = int(game.player[node])
            if i != CHANCE:
                key = i, int(game.infoset[node]), int(game.action[child])
                p, v = found.get(key, (0.0, 0.0))
                found[key] = p + weight * share, v + weight * below[i]
        return total

    for weight, behaviors in policy.components():
        walk(behaviors, weight, 0, 1.0, np.zeros(game.n_players))
    return {key: (p, v / p if p else math.nan) for key, (p, v) in found.items()}


def check_told(policy: CorrelatedPolicy) -> int:
    """Compare what is told and what following earns; the number of recommendations compared."""
    seen = inspect(policy, [])
    expected = told_by_enumeration(policy)
    told = 0
    for (i, x, r), (prob, value) in expected.items():
        assert seen.prob(i, x)[r] == pytest.approx(prob, rel=1e-11, abs=1e-15)
        if prob > 0:
            assert seen.follow(i, x)[r] == pytest.approx(value, rel=1e-9, abs=1e-9)
            told += 1
        else:
            assert math.isnan(seen.follow(i, x)[r])
    assert sum(len(one.prob) - 1 for one in seen.obedience) == len(expected)
    return told


@pytest.mark.parametrize("name", ["1", "inf", "sep", "l1"])
def test_an_inspection_says_what_is_told_and_what_following_earns(
    policies: dict[str, CorrelatedPolicy], name: str
) -> None:
    assert check_told(policies[name]) > 5


@checked
@given(all_games(), seeds)
def test_what_is_told_in_any_game(game, seed):
    check_told(random_policy(game, seed))


def check_gains(policy: CorrelatedPolicy) -> None:
    """A deviator starts at their first infosets, so the best answers there are worth the gap."""
    ks = (1, 2, math.inf)
    seen, certificate = inspect(policy, ks), certify(policy.game, policy, ks)
    for k in ks:
        for i, plex in enumerate(seen.form.plexes):
            total = sum(
                p * max(gains)
                for x in plex.children(0)
                for p, gains in zip(seen.prob(i, x), seen.gain(k, i, x), strict=True)
                if p > 0
            )
            assert total == pytest.approx(certificate[k].player_gaps[i], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["1", "inf", "sep", "l1", "0"])
def test_gains_add_up_to_the_gaps(policies: dict[str, CorrelatedPolicy], name: str) -> None:
    check_gains(policies[name])


@checked
@given(all_games(), seeds)
def test_gains_add_up_in_any_game(game, seed):
    check_gains(random_policy(game, seed))


@checked
@given(all_games(), seeds)
def test_obeying_now_never_loses_and_more_deviations_gain_more(game, seed):
    policy = random_policy(game, seed)
    seen = inspect(policy, (1, 2))
    for i, plex in enumerate(seen.form.plexes):
        for x in range(plex.n_infosets):
            prob = seen.prob(i, x)
            for k in (1, 2):
                gain = seen.gain(k, i, x)
                never = np.isnan(gain).all(axis=1)
                assert (np.isnan(gain).any(axis=1) == never).all()
                assert (never == (prob == 0)).all()
                assert (gain.diagonal()[~never] >= 0).all()
            more, less = seen.gain(2, i, x)[~never], seen.gain(1, i, x)[~never]
            assert (more >= less - 1e-9 * seen.form.leaves.payoff_range[i]).all()


def test_plans_add_up_to_the_gap_at_0(policies: dict[str, CorrelatedPolicy]) -> None:
    policy = policies["0"]
    seen, certificate = inspect(policy, [0]), certify(policy.game, policy, 0)
    reach = 1 / 3  # each of the three cards is a first infoset of either player
    for i, plex in enumerate(seen.form.plexes):
        best = 0.0
        for x in range(plex.n_infosets):
            if plex.depth[x] == 0:
                there = sum(seen.prob(i, x)) if i else reach
                plan = seen.plan(i, x)
                assert plan is not None
                best += there * max(plan)
        wanted = certificate.values[i] + certificate[0].player_gaps[i]
        assert best == pytest.approx(wanted, abs=1e-12)


@checked
@given(all_games(), seeds)
def test_plans_in_any_game(game, seed):
    """Plans of the first infosets, and the plays that end before any, are the best deviation."""
    policy = random_policy(game, seed)
    seen, certificate = inspect(policy, [0]), certify(policy.game, policy, 0)
    for i, plex in enumerate(seen.form.plexes):
        external = seen.obedience[i].external
        total, left = 0.0, 1.0
        for x in plex.children(0):
            there = external[plex.first_seq[x]]
            plan = seen.plan(i, x)
            assert (plan is None) == (there == 0)
            if plan is not None:
                total += there * max(plan)
                left -= there
        if left < 1e-12:
            wanted = certificate.values[i] + certificate[0].player_gaps[i]
            assert total == pytest.approx(wanted, abs=1e-9)


def test_recommendations_are_a_distribution(policies: dict[str, CorrelatedPolicy]) -> None:
    game = kuhn()
    passing = [
        pure_behavior(plex, np.zeros(plex.n_infosets, np.int32))
        for plex in sequence_form(game).plexes
    ]
    unreached = 0
    for policy in (*policies.values(), CorrelatedPolicy.product(game, passing)):
        seen = inspect(policy, [])
        for i, plex in enumerate(seen.form.plexes):
            for x in range(plex.n_infosets):
                told, reach = seen.recommended(i, x), seen.obedience[i].reach(x)
                assert reach == pytest.approx(seen.prob(i, x).sum())
                if reach == 0:
                    assert told is None
                    unreached += 1
                else:
                    assert told is not None
                    assert told.sum() == pytest.approx(1.0)
                    assert told * reach == pytest.approx(seen.prob(i, x))
    assert unreached == 6  # nobody who always passes has bet, or sees a bet


def test_a_deviation_goes_on_after_its_first_step() -> None:
    """Against the device of the separation, two deviations are needed: both are listed."""
    device = CorrelatedPolicy.from_device(separation(k=1), library_device("separation:k=1"))
    best = inspect(device, [2]).deviators[2][0]
    found, more = steps(best, (0, 0), 10)
    assert more == 0
    assert [step["depth"] for step in found] == [0, 1, 1]
    assert all(step["told"] != step["plays"] for step in found[:1])
    assert any(step["told"] != step["plays"] for step in found[1:])
    assert sum(step["probability"] for step in found[1:]) == pytest.approx(found[0]["probability"])
    assert steps(best, (0, 0), 1) == (found[:1], 2)


@checked
@given(all_games(), seeds)
def test_steps_follow_the_deviation_to_its_end(game, seed):
    """Their probabilities, layer by layer, are those of a player who plays phi."""
    policy = random_policy(game, seed)
    seen = inspect(policy, SEVERAL)
    for k in SEVERAL:
        for i, plex in enumerate(seen.form.plexes):
            best = seen.deviators[k][i]
            expected = np.zeros(plex.n_sequences)
            for weight, behaviors in policy.components():
                reach = best.phi.sequence_form(behaviors[i])
                expected += weight * reach * external(game, i, behaviors)
            found, more = steps(best, None, 10**6)
            assert more == 0
            visited = np.zeros(plex.n_sequences)
            for step in found:
                seq = plex.first_seq[step["infoset"]] + step["plays"]
                visited[seq] += step["probability"]
                assert step["depth"] == plex.depth[step["infoset"]]
                assert step["probability"] > 0
            assert visited[1:] == pytest.approx(expected[1:], abs=1e-12)


def external(game: Game, i: int, behaviors: tuple[Floats, ...]) -> Floats:
    """Per sequence the probability that chance and the others let player i come to its infoset."""
    said = [behavior.tolist() for behavior in behaviors]
    there = [reference.opponent_reach(game, i, said, x) for x in reference.infosets(game, i)]
    return np.array([1.0, *np.repeat(there, game.n_actions[i])])
