"""The upper bound from joint plays: exact where nothing is left to chance, and never too low."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from accord.certifying.by_play import certify_by_play
from accord.certifying.exact import certify
from accord.certifying.joint_evidence import LARGEST_STEP, JointEvidence
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.game.library import kuhn, matching_pennies
from accord.game.tree import Game
from accord.play.mediated import MediatedPlays
from accord.runs.learn import learn
from accord.runs.solve import solve
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import random_behavior
from tests.support.environments import Hidden, NoisyChicken, Open
from tests.support.policies import grown_game

GAMES = [kuhn(), grown_game(0, 2, 60), grown_game(1, 3, 60)]


def random_policy(game: Game, seed: int, components: int = 3) -> CorrelatedPolicy:
    rng, form = np.random.default_rng(seed), sequence_form(game)
    rows = [
        np.concatenate([random_behavior(plex, rng) for plex in form.plexes])
        for _ in range(components)
    ]
    return CorrelatedPolicy(game, rng.dirichlet(np.ones(components)), np.array(rows))


def recorded(env: Any, policy: CorrelatedPolicy, plays: int, seed: int = 0) -> JointEvidence:
    """Plays in which the players take turns to move at random."""
    mediated = MediatedPlays(env, policy, seed)
    evidence = JointEvidence(mediated.policy)
    turns = [n % len(policy.plexes) for n in range(plays)]
    evidence.record(
        mediated.play(0, plays, turns, lambda episode, i, x, r, n: int(episode.draw() * n))
    )
    return evidence


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES)
def test_without_errors_of_chance_the_bound_is_the_gap(game: Game, k: float) -> None:
    """Chance is told and everything was seen, so nothing but the bonuses stands beside the gap."""
    policy = random_policy(game, 1)
    evidence = recorded(Open(game), policy, 4000)
    none = np.zeros(len(evidence.points.plays))
    exact = certify(game, policy, k)[k].player_gaps
    span = sequence_form(game).leaves.payoff_range
    for i, gap in enumerate(exact):
        found = evidence.obeying(i) - evidence.deviating(i, k, none)
        assert math.isclose(found * span[i], gap, abs_tol=1e-9)


def test_few_plays_bound_little() -> None:
    evidence = recorded(Hidden(kuhn()), random_policy(kuhn(), 0), 3)
    assert evidence.most(0, 1, 0.1) > 0.9


@pytest.mark.parametrize("kind", [Hidden, Open])
@pytest.mark.parametrize("game", GAMES)
def test_the_bound_holds_at_least_as_often_as_it_says(game: Game, kind: Any) -> None:
    """At a confidence of 1/2, in 40 samples of plays; without its margins it would not.

    With rates and random points that other plays have chosen it holds as often, and is smaller.
    """
    delta, policy = 0.5, random_policy(game, 2)
    exact = certify(game, policy, 1)[1].player_gaps
    span = sequence_form(game).leaves.payoff_range
    missed = bare = missed_too = 0
    bounds = np.zeros(2)
    pilot = recorded(kind(game), policy, 150, 1000)
    rates = [pilot.best_rates(i, 1, delta, 1.0) for i in range(len(exact))]
    for seed in range(40):
        evidence = recorded(kind(game), policy, 150, seed)
        none = np.zeros(len(evidence.points.plays))
        for i, gap in enumerate(exact):
            both = evidence.most(i, 1, delta), evidence.most(i, 1, delta, pilot, rates[i])
            bounds += both
            missed += both[0] * span[i] < gap - 1e-12
            missed_too += both[1] * span[i] < gap - 1e-12
            model = evidence.obeying(i) - evidence.deviating(i, 1, none)
            bare += model * span[i] < gap - 1e-9
    assert max(missed, missed_too) <= delta * 40 * len(exact)
    assert bounds[1] < bounds[0]
    if kind is Hidden and game is GAMES[0]:
        assert bare > 10


def test_outcomes_that_never_differ_cost_one_play() -> None:
    """Hidden dealing is random at its point, and everything after it is steady."""
    game = kuhn()
    pilot, evidence = (recorded(Hidden(game), random_policy(game, 0), 3000, s) for s in (1, 2))
    is_random = evidence.random_points(0, pilot)
    inner = np.isnan(evidence.points.loss[:, 0])
    assert 1 < is_random.sum() < inner.sum() / 2
    steady = inner & ~is_random
    assert evidence.points.spread[steady].max() == 0.0
    reached = np.ones(len(inner))
    costs = evidence.costs(0, reached, 1.0, is_random)
    plays = evidence.points.plays
    np.testing.assert_allclose(costs[steady], 1.0 / (8.0 * plays[steady] ** 2))
    np.testing.assert_allclose(costs[is_random], 1.0 / (8.0 * plays[is_random]))
    assert (costs[~inner] == 0.0).all()


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("step", [0.05, 0.3, LARGEST_STEP])
@pytest.mark.parametrize("sign", [-1, 1])
def test_exponential_moments_are_at_most_one(mean: float, step: float, sign: int) -> None:
    """Of three draws with values 0 and 1, enumerated, with the costs of either way."""
    psi = -math.log(1.0 - step) - step
    steady = random = 0.0
    for draws in itertools.product((0, 1), repeat=3):
        chance = math.prod(mean if draw else 1.0 - mean for draw in draws)
        gain = sign * step * sum(draw - mean for draw in draws)
        spread = sum((draw - draws[0]) ** 2 for draw in draws)
        steady += chance * math.exp(gain - step**2 / 8.0 - psi * spread)
        random += chance * math.exp(gain - 3.0 * step**2 / 8.0)
    assert max(steady, random) <= 1.0


@pytest.mark.parametrize("kind", [Hidden, Open])
def test_certificates_of_joint_plays_are_tighter(kind: Any) -> None:
    game = kuhn()
    policy = solve(game, 1, iterations=200, components=20).policy
    exact = certify(game, policy, 1)[1].gap
    own, joint = (
        certify_by_play(kind(game), policy, 1, plays=20_000, feedback=feedback, seed=4)[1]
        for feedback in ("own", "joint")
    )
    assert joint.lower <= exact <= joint.upper < own.upper
    assert not any(joint.vacuous)


def test_several_notions_random_payoffs_and_refusals() -> None:
    env, game = NoisyChicken(), matching_pennies()
    policy = solve(game, 1, iterations=20, components=2).policy
    with pytest.raises(ArgumentError, match="feedback must be one of own, joint; got 'all'"):
        certify_by_play(Hidden(game), policy, 1, plays=100, feedback="all")
    both = certify_by_play(Hidden(game), policy, [0, 1], plays=3000, feedback="joint")
    assert [gap.notion.k for gap in both.gaps] == [0, 1]
    learned = learn(env, 1, episodes=1500, feedback="joint", plays=4000)
    assert learned.certificate is not None
    assert 0.0 <= learned.certificate[1].lower <= learned.certificate[1].upper < 7.0
