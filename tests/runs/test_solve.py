"""solve(): what it returns, when it stops, and what it refuses."""

from __future__ import annotations

import json
import math
import time
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest

import accord
from accord.certifying.exact import certify
from accord.equilibrium.gap import efce_gaps
from accord.errors import ArgumentError, BudgetError, MismatchError
from accord.game.builder import GameBuilder
from accord.game.library import balanced, chicken, kuhn, shapley, signalling
from accord.learning.self_play import SelfPlay
from accord.regret.methods import AVERAGING, METHODS
from accord.regret.regret_matching import RegretMatching
from accord.regret.wrhedge import WRHedge
from accord.runs.iterations import next_checkpoint
from accord.runs.solve import solve
from accord.treeplex.form import sequence_form
from tests.support.runs import run


def test_it_is_public():
    assert accord.solve is solve
    assert accord.runs.Solution is type(solve(chicken(), iterations=1))


# --- the solution ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("method", METHODS)
def test_the_solution_is_that_of_self_play(method, k):
    game = kuhn()
    solution = solve(game, k, method=method, iterations=137)
    play, kept = run(
        game, k, METHODS[method].config, 137, averaging=AVERAGING[METHODS[method].averaging]
    )
    assert solution.game is game
    assert (solution.k, solution.method, solution.iterations) == (k, method, 137)
    assert solution.average_player_gaps == tuple(play.gaps())
    assert solution.average_gap == max(solution.average_player_gaps)
    assert solution.average_values == tuple(play.values())
    assert solution.target_reached is None
    assert solution.seconds > 0
    # All iterates fit, so the saved mixture is the whole average.
    np.testing.assert_allclose(solution.policy.behavior, kept, rtol=1e-15)
    weights = np.arange(1.0, 138) ** AVERAGING[METHODS[method].averaging]
    np.testing.assert_allclose(solution.policy.weights, weights / weights.sum(), rtol=1e-13)
    assert solution.gap == pytest.approx(solution.average_gap, rel=0, abs=1e-12)
    assert solution.gap == max(solution.player_gaps)
    np.testing.assert_allclose(solution.values, solution.average_values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.policy.values(), solution.values, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, math.inf])
@pytest.mark.parametrize("components", [1, 2, 7, 50, 1000])
def test_the_gap_is_that_of_the_policy(components, k):
    solution = solve(signalling(), k, iterations=333, components=components)
    assert solution.policy.n_components == min(components, 333)
    certificate = certify(signalling(), solution.policy, k)
    assert solution.gap == certificate[k].gap
    assert solution.gap == pytest.approx(efce_gaps(solution.policy, k).max(), abs=1e-12)
    whole = solve(signalling(), k, iterations=333)
    assert solution.average_gap == whole.average_gap  # whatever is saved
    if components < 333:
        assert solution.gap != solution.average_gap
    else:
        assert solution.gap == pytest.approx(solution.average_gap, rel=0, abs=1e-12)


def test_saved_iterates_are_iterates_with_their_own_weights():
    game, components = kuhn(), 10
    _, kept = run(game, 1, WRHedge(), 1003, averaging=2)
    solution = solve(
        game, method="wrhedge", iterations=1003, averaging="quadratic", components=components
    )
    times = []
    for row in solution.policy.behavior:
        close = np.flatnonzero(np.abs(kept - row).max(axis=1) < 1e-15)
        assert len(close) == 1
        times.append(int(close[0]) + 1)
    assert times[-1] > 1003 - 64 and np.ptp(np.diff(times)) <= 64  # every 64th was at hand
    weights = np.array(times, float) ** 2
    np.testing.assert_allclose(solution.policy.weights, weights / weights.sum(), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_same_inputs_same_bits(method):
    options = {"method": method, "iterations": 700, "components": 33}
    one, other = (solve(kuhn(3), 1, **options) for _ in range(2))
    threaded = solve(kuhn(3), 1, **options, threads=3)
    for again in (other, threaded):
        assert (one.gap, one.player_gaps, one.values) == (
            again.gap,
            again.player_gaps,
            again.values,
        )
        assert one.average_player_gaps == again.average_player_gaps
        assert one.average_values == again.average_values
        np.testing.assert_array_equal(one.policy.behavior, again.policy.behavior)
        np.testing.assert_array_equal(one.policy.weights, again.policy.weights)
        assert [c.gap for c in one.history] == [c.gap for c in again.history]


def test_the_size_of_blocks_changes_no_bit(monkeypatch):
    """However fast the machine seems to be."""
    one = solve(kuhn(), iterations=500, components=20)
    clock = iter(range(10**9))
    monkeypatch.setattr("accord.runs.loop.time.perf_counter", lambda: next(clock) * 7.0)
    other = solve(kuhn(), iterations=500, components=20)
    assert other.seconds > 1000
    assert one.average_player_gaps == other.average_player_gaps
    np.testing.assert_array_equal(one.policy.behavior, other.policy.behavior)


def test_a_million_components_of_a_short_run():
    solution = solve(chicken(), iterations=5, components=1_000_000)
    assert solution.policy.n_components == 5


def test_a_solution_cannot_be_changed():
    solution = solve(chicken(), iterations=2)
    with pytest.raises(FrozenInstanceError):
        solution.average_gap = 0.0


@pytest.mark.parametrize("k", [0, 1, math.inf])
def test_the_summary_is_json(k):
    solution = solve(kuhn(), k, iterations=20, components=4)
    told = json.loads(json.dumps(solution.to_json()))
    assert list(told) == [
        "game", "k", "method", "iterations", "gap", "players", "error", "average_gap",
        "average_error", "components", "values", "value_error", "seconds",
    ]  # fmt: skip
    assert told["game"] == "kuhn"
    assert told["k"] == ("inf" if k == math.inf else k)
    assert told["components"] == 4
    assert told["players"] == list(solution.player_gaps) and len(told["values"]) == 2
    assert (told["gap"], told["average_gap"]) == (solution.gap, solution.average_gap)


# --- the record -----------------------------------------------------------------------------------


def test_the_record_is_the_gap_at_checkpoints_a_tenth_apart():
    game, seen = kuhn(), []
    solution = solve(game, 1, iterations=400, progress=seen.append)
    assert tuple(seen) == solution.history
    at = [checkpoint.iteration for checkpoint in solution.history]
    assert at[:12] == list(range(1, 13)) and at[-1] == 400
    for early, late in pairwise(at[:-1]):
        assert late == next_checkpoint(early) == early + max(1, early // 10)
    assert at[-1] <= next_checkpoint(at[-2])
    play = SelfPlay(sequence_form(game), 1, RegretMatching(decay=0.2), averaging=2)
    for checkpoint in solution.history:
        play.advance(checkpoint.iteration - play.iteration)
        assert checkpoint.player_gaps == tuple(play.gaps())
        assert checkpoint.values == tuple(play.values())
        assert checkpoint.gap == max(checkpoint.player_gaps)
    times = [checkpoint.seconds for checkpoint in solution.history]
    assert times == sorted(times) and times[-1] <= solution.seconds
    assert (solution.average_gap, solution.average_player_gaps) == (
        solution.history[-1].gap,
        solution.history[-1].player_gaps,
    )


# --- when it stops --------------------------------------------------------------------------------


def test_it_runs_a_thousand_iterations_unless_told():
    assert solve(chicken()).iterations == 1000


def test_it_stops_at_the_first_checkpoint_that_reaches_the_target():
    solution = solve(kuhn(), 1, target_gap=0.01)
    assert solution.target_reached is True
    assert solution.average_gap <= 0.01
    assert all(checkpoint.gap > 0.01 for checkpoint in solution.history[:-1])
    missed = solve(kuhn(), 1, target_gap=1e-9, iterations=solution.iterations)
    assert missed.target_reached is False
    assert missed.iterations == solution.iterations
    assert missed.average_gap == solution.average_gap
    beyond_default = solve(kuhn(), 1, method="wrhedge", target_gap=0.1)
    assert beyond_default.iterations > 1000 and beyond_default.target_reached


def test_it_stops_when_the_time_is_over():
    solve(kuhn(3), 1, iterations=2)  # compiles
    start = time.perf_counter()
    solution = solve(kuhn(3), 1, seconds=0.5)
    assert time.perf_counter() - start >= 0.125  # certifying is estimated after a quarter
    assert solution.iterations > 100
    assert solution.target_reached is None
    assert solution.history[-1].iteration == solution.iterations
    assert solve(kuhn(), seconds=0).iterations == 1
    both = solve(kuhn(), 1, seconds=0, target_gap=1e-9)
    assert both.target_reached is False


def test_time_is_noticed_between_checkpoints(monkeypatch):
    """Every reading of the clock takes a second; late checkpoints are far apart."""
    clock = iter(range(10**9))
    monkeypatch.setattr("accord.runs.loop.time.perf_counter", lambda: float(next(clock)))
    solution = solve(kuhn(), 1, seconds=400.0)
    assert 100 < solution.iterations < 250  # one at a time, and two readings for each
    last, before = solution.history[-1].iteration, solution.history[-2].iteration
    assert last < next_checkpoint(before)


# --- methods --------------------------------------------------------------------------------------


def test_methods_can_be_configured():
    plain = solve(kuhn(), 1, method="wrhedge", iterations=50, learning_rate=0.4)
    given = solve(kuhn(), 1, method=WRHedge(0.4), iterations=50)
    assert given.method == plain.method == "wrhedge"
    assert given.player_gaps == plain.player_gaps
    for method, minimizer in (
        ("rm", RegretMatching(plus=False, predictive=False)),
        ("rm", RegretMatching(plus=False, predictive=True)),  # predictive only with plus
        ("rm+", RegretMatching(plus=True, predictive=False)),
        ("prm+", RegretMatching(decay=0.2)),
    ):
        configured = solve(kuhn(), 1, method=minimizer, iterations=50)
        assert configured.method == method
        assert configured.player_gaps == solve(kuhn(), 1, method=method, iterations=50).player_gaps


def test_wrhedge_follows_the_iteration_when_their_number_is_not_given():
    unknown = solve(kuhn(), 1, method="wrhedge", seconds=1e9, target_gap=0.3)
    anytime = solve(kuhn(), 1, method=WRHedge(anytime=True), iterations=unknown.iterations)
    known = solve(kuhn(), 1, method="wrhedge", iterations=unknown.iterations)
    assert unknown.player_gaps == anytime.player_gaps != known.player_gaps


@pytest.mark.parametrize(
    ("method", "averaging"),
    [(method, averaging) for method in METHODS for averaging in ("uniform", "linear", "quadratic")],
)
def test_averaging(method, averaging):
    power = {"uniform": 0, "linear": 1, "quadratic": 2}[averaging]
    solution = solve(shapley(), 1, method=method, iterations=9, averaging=averaging)
    weights = np.arange(1.0, 10) ** power
    np.testing.assert_allclose(solution.policy.weights, weights / weights.sum(), rtol=1e-14)
    same = AVERAGING[METHODS[method].averaging] == power
    default = solve(shapley(), 1, method=method, iterations=9)
    assert (default.policy.weights == solution.policy.weights).all() == same


# --- what it refuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iterations": 0}, "iterations must be a whole number, 1 or more; got 0"),
        ({"iterations": -5}, "iterations must be a whole number, 1 or more; got -5"),
        ({"iterations": 2.5}, "iterations must be a whole number, 1 or more; got 2.5"),
        ({"iterations": math.inf}, "iterations must be a whole number, 1 or more; got inf"),
        ({"iterations": "10"}, "iterations must be a whole number, 1 or more; got '10'"),
        ({"components": 0}, "components must be a whole number, 1 or more; got 0"),
        ({"components": 1.5}, "components must be a whole number, 1 or more; got 1.5"),
        ({"threads": 0}, "threads must be a whole number, 1 or more; got 0"),
        ({"threads": -2}, "threads must be a whole number, 1 or more; got -2"),
        ({"target_gap": -0.1}, "target_gap must be non-negative and finite; got -0.1"),
        ({"target_gap": math.nan}, "target_gap must be non-negative and finite; got nan"),
        ({"target_gap": 0.0}, "target_gap must be positive; got 0"),
        ({"seconds": -1}, "seconds must be non-negative and finite; got -1"),
        ({"seconds": math.nan}, "seconds must be non-negative and finite; got nan"),
        ({"method": "foo"}, f"method must be one of {', '.join(METHODS)}; got 'foo'"),
        ({"method": None}, f"method must be one of {', '.join(METHODS)}, a configured"),
        ({"averaging": "foo"}, "averaging must be one of uniform, linear, quadratic; got 'foo'"),
        ({"learning_rate": 0.1}, "prm+ has no learning rate"),
        ({"learning_rate": 0.1, "method": "rm"}, "rm has no learning rate"),
        (
            {"learning_rate": 0.1, "method": RegretMatching(predictive=False)},
            "rm+ has no learning rate",
        ),
        ({"learning_rate": 0.1, "method": WRHedge(0.2)}, "give the learning rate once"),
        (
            {"learning_rate": math.nan, "method": "wrhedge"},
            "learning_rate must be positive and at most 1e+100; got nan",
        ),
        (
            {"learning_rate": 0.0, "method": "wrhedge"},
            "learning_rate must be positive and at most 1e+100; got 0.0",
        ),
        (
            {"learning_rate": -1.0, "method": "wrhedge"},
            "learning_rate must be positive and at most 1e+100; got -1.0",
        ),
        ({"method": WRHedge()}, "give iterations, a learning_rate, or anytime=True"),
        ({"k": -1}, "k must be a whole number of deviations, 0 or more, or infinity, or one of"),
        ({"k": 1.5}, "afcce, afce, bce, lce, nfce; got 1.5"),
        ({"k": math.nan}, "k must be a whole number of deviations"),
        ({"k": "LCE"}, "'efcce', 'afce' or 'afcce'; got 'lce'"),
        ({"k": "strong"}, "got 'strong'"),
    ],
    ids=str,
)  # fmt: skip
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(ArgumentError) as caught:
        solve(kuhn(), **arguments)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_numbers_of_numpy_are_numbers():
    solution = solve(kuhn(), np.int64(1), iterations=np.int32(10), components=np.uint8(3))
    assert (solution.k, solution.iterations, solution.policy.n_components) == (1, 10, 3)


def test_too_many_rechistories_are_refused_before_anything_is_allocated():
    b = GameBuilder("long", players=1)
    for step in range(60):
        b.move(("on",) * step, player="1", actions="on off", infoset=step)
        b.payoff((*("on",) * step, "off"), step % 7)
    b.payoff(("on",) * 60, 0)
    with pytest.raises(BudgetError, match="try a smaller k") as caught:
        solve(b.build(), math.inf, iterations=1)
    assert caught.value.required > 2**60 > caught.value.available


def test_a_large_game_is_solved_on_threads_with_the_same_bits():
    game = balanced(infosets=20_000, ratio=4.0)
    one = solve(game, 1, iterations=3)
    other = solve(game, 1, iterations=3, threads=1)
    assert one.player_gaps == other.player_gaps
    np.testing.assert_array_equal(one.policy.behavior, other.policy.behavior)


# --- cells that are run again ---------------------------------------------------------------------


def test_a_run_is_resumed_where_there_is_one(tmp_path):
    arguments = {"folder": tmp_path / "run", "resume": True}
    first = solve(kuhn(), 1, iterations=20, **arguments)
    again = solve(kuhn(), 1, iterations=20, **arguments)
    assert (again.iterations, again.gap) == (first.iterations, first.gap)
    assert np.array_equal(again.policy.behavior, first.policy.behavior)
    longer = solve(kuhn(), 1, iterations=50, **arguments)
    assert longer.gap == solve(kuhn(), 1, iterations=50).gap
    assert solve(kuhn(), 1, **arguments).iterations == 50  # the first request had 20


def test_a_run_that_took_its_time_is_returned_as_it_is(tmp_path):
    arguments = {"folder": tmp_path / "run", "resume": True}
    first = solve(kuhn(), 1, seconds=0.01, **arguments)
    # What it took may be less than what it may take, by what its end was thought to need.
    assert solve(kuhn(), 1, seconds=first.seconds, **arguments).iterations == first.iterations
    more = {"seconds": first.seconds + 3600, "iterations": first.iterations + 10}
    assert solve(kuhn(), 1, **more, **arguments).iterations > first.iterations


def test_another_run_is_not_resumed(tmp_path):
    folder = tmp_path / "run"
    solve(kuhn(), 1, iterations=5, folder=folder, resume=True)
    with pytest.raises(MismatchError, match="holds a run with k = 1, not 2; only limits can"):
        solve(kuhn(), 2, iterations=5, folder=folder, resume=True)
    with pytest.raises(MismatchError, match="digest"):
        solve(chicken(), 1, iterations=5, folder=folder, resume=True)
    with pytest.raises(MismatchError, match="of 'solve', not of 'learn'"):
        accord.learn(kuhn(), 1, episodes=300, folder=folder, resume=True)
    with pytest.raises(ArgumentError, match="new or empty folder"):
        solve(kuhn(), 1, iterations=5, folder=folder)


def test_learning_and_optimizing_are_resumed_too(tmp_path):
    arguments = {"folder": tmp_path / "learned", "resume": True}
    learned = accord.learn(kuhn(), 1, episodes=600, **arguments)
    assert accord.learn(kuhn(), 1, episodes=600, **arguments).gap == learned.gap
    assert accord.learn(kuhn(), 1, episodes=900, **arguments).episodes > learned.episodes
    arguments = {"folder": tmp_path / "best", "resume": True}
    best = accord.optimize(chicken(), 1, **arguments)
    assert accord.optimize(chicken(), 1, **arguments).value == best.value
