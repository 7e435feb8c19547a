"""The bounds along a run: they hold at every iteration, and at the end they are the plan's."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

import accord
from accord.deviations.notions import clipped_k
from accord.game.library import chicken, kuhn, matching_pennies, prisoners_dilemma, separation
from accord.learning.self_play import SelfPlay
from accord.learning.theory.bounds import bandit_regret_bound, regret_bound
from accord.learning.theory.guarantee import GapBound, learn_bound, solve_bound
from accord.learning.theory.matching_bound import MatchingBound
from accord.learning.theory.plan import plan
from accord.regret.discounted import DiscountedRegretMatching
from accord.regret.rates import episodes_per_iteration, paper_learning_rate
from accord.regret.regret_matching import RegretMatching
from accord.regret.sampled_matching import SampledRegretMatching
from accord.regret.swrhedge import SWRHedge
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import sequence_form

KS = [0, 1, 2, math.inf]
TIMES = (1, 7, 100, 5000, 10**6)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_a_fixed_rate_has_the_bound_of_that_rate_at_every_iteration(k, scale):
    form = sequence_form(kuhn())
    bound = solve_bound(form, k, WRHedge(scale=scale), 5000, 0)
    rates = [scale * paper_learning_rate(plex, clipped_k(plex, k)) for plex in form.plexes]
    for t in TIMES:
        expected = max(
            4.0 * regret_bound(plex, k, rate / math.sqrt(5000), t) / t
            for plex, rate in zip(form.plexes, rates, strict=True)
        )
        assert bound.at(t) == pytest.approx(expected, rel=1e-9)
    given = solve_bound(form, k, WRHedge(learning_rate=0.01), None, 0)
    assert given.at(100) == pytest.approx(
        max(0.04 * regret_bound(plex, k, 0.01, 100) for plex in form.plexes)
    )


@pytest.mark.parametrize("k", [0, 1])
def test_the_old_line_is_crossed_and_the_new_curve_is_not(k):
    """A constant over sqrt(t) is no bound along a run that is planned for a larger T."""
    game, planned = prisoners_dilemma(), 10**6
    form = sequence_form(game)
    play = SelfPlay(form, k, WRHedge(), iterations=planned, averaging=0)
    bound = solve_bound(form, k, WRHedge(), planned, 0)
    crossed = False
    for t in (10, 100, 1000, 3000, 10_000):
        play.advance(t - play.iteration)
        gap = play.gaps().max()
        assert gap <= bound.at(t)
        crossed |= gap > bound.at(planned) * math.sqrt(planned / t)
    assert crossed


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", [matching_pennies(), chicken(), kuhn(), separation(k=1)])
def test_gaps_of_wrhedge_stay_below_the_curve(game, k):
    found = accord.solve(game, k, method="wrhedge", iterations=3000, components=1)
    bound = solve_bound(sequence_form(game), k, WRHedge(), 3000, 0)
    assert found.history
    for point in found.history:
        assert point.gap <= bound.at(point.iteration) + 1e-12
    assert bound.at(3000) < max(bound.ranges)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("game", [kuhn(), separation(k=1), chicken()])
def test_at_the_planned_end_the_bound_is_that_of_the_plan(game, k):
    form = sequence_form(game)
    each = sum(episodes_per_iteration(plex.horizon, clipped_k(plex, k)) for plex in form.plexes)
    for epsilon in (0.3, 1e-3):
        planned = plan(game, k, epsilon, confidence=0.9)
        full, bandit = planned.iterations, planned.bandit_iterations
        method = SWRHedge(failure_prob=0.1)
        pairs = [
            (full, solve_bound(form, k, WRHedge(), full, 0)),
            (bandit, learn_bound(form, k, method, bandit * each, "balanced")),
        ]
        for iterations, bound in pairs:
            assert bound.at(iterations) == pytest.approx(epsilon, rel=1e-2)
            assert bound.at(iterations) <= epsilon
            assert bound.iterations(epsilon) == iterations


@pytest.mark.parametrize("k", [0, 1, math.inf])
def test_the_bandit_curve(k):
    """Bound 2 at the planned end; elsewhere above Bound 2 for that t alone."""
    form, episodes, p = sequence_form(kuhn()), 10**7, 0.05
    bound = learn_bound(form, k, SWRHedge(), episodes, "balanced")
    assert bound.failure_prob == p
    each = sum(episodes_per_iteration(plex.horizon, clipped_k(plex, k)) for plex in form.plexes)
    planned = episodes // each
    rates = SWRHedge().schedule(form.plexes, k, planned).rates

    def at_one(t):
        return max(
            4.0 * bandit_regret_bound(plex, k, rate, t, p, infosets=12) / t
            for plex, rate in zip(form.plexes, rates, strict=True)
        )

    assert bound.at(planned) == pytest.approx(at_one(planned), rel=1e-9)
    assert bound.at(planned) < 4.0
    for t in (10**5, planned // 3, 3 * planned):
        assert bound.at(t) >= at_one(t) * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [0, 1])
def test_gaps_of_swrhedge_stay_below_the_curve(k, seed):
    """All iterates are saved, so the mixture is the average that the theorem is about."""
    game, episodes = matching_pennies(), 20_000
    found = accord.learn(
        game, k, method="swrhedge", episodes=episodes, components=episodes, seed=seed
    )
    bound = learn_bound(sequence_form(game), k, SWRHedge(), episodes, "balanced")
    assert found.policy.n_components == found.iterations
    for point in found.history:
        assert point.gap <= bound.at(point.iteration)
    assert bound.at(found.iterations) < max(bound.ranges)


@pytest.mark.parametrize(
    ("method", "iterations", "power"),
    [
        (WRHedge(anytime=True), None, 0),
        (WRHedge(), None, 0),
        (WRHedge(), 100, 1),
        (DiscountedRegretMatching(), 100, 2),
        (RegretMatching(plus=False), 100, 1),
        (RegretMatching(decay=0.6), 100, 2),
    ],
)
def test_runs_that_no_theorem_covers(method, iterations, power):
    assert solve_bound(sequence_form(kuhn()), 1, method, iterations, power) is None


def test_episodes_that_no_theorem_covers():
    form = sequence_form(kuhn())
    assert learn_bound(form, 1, SampledRegretMatching(), 1000, "balanced") is None
    assert learn_bound(form, 1, SWRHedge(), 1000, "uniform") is None
    assert learn_bound(form, 1, SWRHedge(learning_rate=0.1), 1000, "balanced") is not None


def test_a_bound_is_never_above_the_payoff_range():
    curves = tuple(MatchingBound(Decimal(c)) for c in (100, 10**500, 1))
    bound = GapBound(curves, (4.0, 0.5, 3.0), None, of_paper=False)
    assert bound.at(1) == 4.0
    assert bound.at(10**6) == 0.5
    assert bound.iterations(0.4) > 10**499
    assert bound.iterations(5.0) == 1
    assert GapBound((), (), None, of_paper=True).at(1) == 0.0
