"""The upper bound from joint plays: exact where nothing is left to chance, and never too low."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from accord.certifying.by_play import certify_by_play
from accord.certifying.exact import certify
from accord.certifying.joint_evidence import RATES, JointEvidence, _growth, most_likely
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
    evidence = JointEvidence(mediated.policy, 1000)
    turns = [n % len(policy.plexes) for n in range(plays)]
    evidence.record(
        mediated.play(0, plays, turns, lambda episode, i, x, r, n: int(episode.draw() * n))
    )
    return evidence


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", GAMES)
def test_without_errors_of_chance_the_bound_is_the_gap(game: Game, k: float) -> None:
    """Chance is told and everything was seen, so only the logarithms stand beside the gap."""
    policy = random_policy(game, 1)
    evidence = recorded(Open(game), policy, 4000)
    none = np.zeros(len(evidence.points.plays))
    theta = max(RATES) * math.sqrt(evidence.tree.plays)
    slack = math.log(len(RATES) / 0.1) / theta
    exact = certify(game, policy, k)[k].player_gaps
    span = sequence_form(game).leaves.payoff_range
    for i, gap in enumerate(exact):
        obeying = evidence.obeying_most(i, 0.1, none) - slack
        deviating = evidence.deviating_least(i, k, 0.1, none) + slack
        assert math.isclose((obeying - deviating) * span[i], gap, abs_tol=1e-9)


def test_few_plays_bound_little() -> None:
    evidence = recorded(Hidden(kuhn()), random_policy(kuhn(), 0), 3)
    assert evidence.most(0, 1, 0.1) > 0.9


@pytest.mark.parametrize("kind", [Hidden, Open])
@pytest.mark.parametrize("game", GAMES)
def test_the_bound_holds_at_least_as_often_as_it_says(game: Game, kind: Any) -> None:
    """At a confidence of 1/2, in 40 samples of plays; without its margins it would not.

    With rates that were chosen by other plays it holds as often, and is smaller.
    """
    delta, policy = 0.5, random_policy(game, 2)
    exact = certify(game, policy, 1)[1].player_gaps
    span = sequence_form(game).leaves.payoff_range
    missed = bare = missed_too = 0
    bounds = np.zeros(2)
    pilot = recorded(kind(game), policy, 150, 1000)
    rates = [pilot.best_rates(i, 1, delta) for i in range(len(exact))]
    for seed in range(40):
        evidence = recorded(kind(game), policy, 150, seed)
        slack = math.log(len(RATES) / 0.5) / (max(RATES) * math.sqrt(evidence.tree.plays))
        none = np.zeros(len(evidence.points.plays))
        for i, gap in enumerate(exact):
            both = [evidence.most(i, 1, delta, chosen) for chosen in (None, rates[i])]
            bounds += both
            missed += both[0] * span[i] < gap - 1e-12
            missed_too += both[1] * span[i] < gap - 1e-12
            model = evidence.obeying_most(i, 0.5, none) - evidence.deviating_least(i, 1, 0.5, none)
            bare += (model - 2.0 * slack) * span[i] < gap - 1e-9
    assert max(missed, missed_too) <= delta * 40 * len(exact)
    assert bounds[1] < bounds[0]
    if kind is Hidden and game is GAMES[0]:
        assert bare > 10


@pytest.mark.parametrize("trials", [5, 40, 300])
def test_chernoff_allows_every_likely_share(trials: int) -> None:
    differing = np.arange(trials + 1.0)
    for log in (1.0, 3.0):
        most = most_likely(differing, np.full(trials + 1, trials), np.full(trials + 1, log))
        assert (np.diff(most) >= 0.0).all() and most[-1] == 0.5
        for q in (0.01, 0.1, 0.3, 0.49):
            assert binom.pmf(differing[most < q], trials, q).sum() <= math.exp(-log)


def test_the_growth_of_exponentials_is_bounded_from_above() -> None:
    for step in (1e-12, 1e-6, 9e-4, 2e-3, 0.5, 5.0):
        exact = sum(step**n / math.factorial(n + 2) for n in range(60))
        assert exact * (1.0 - 1e-9) <= float(_growth(np.array([step]))[0]) <= exact * (1.0 + 1e-3)


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
