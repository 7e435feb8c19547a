"""optimize(): limits, folders, resuming, Ctrl-C, starting from a mixture, and what it refuses."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import accord
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, MismatchError, NumericalError, ParseError
from accord.game.library import chicken, in_out, kuhn, signalling
from accord.optimal import column_generation, linear
from accord.optimal.column_generation import ColumnGeneration
from accord.optimal.large import LargeSearch
from accord.optimal.objective import Objective
from accord.runs.choosing import Choice
from accord.runs.folder import RunFolder
from accord.runs.optimize import optimize
from accord.runs.reading import read_finished
from accord.runs.solve import solve
from tests.optimal.test_ties import raked
from tests.support.resuming import resume

KEYS = [
    "game", "notion", "k", "objective", "commits", "at_least", "value", "bound", "optimal",
    "credible", "gap", "players", "error", "components", "values", "value_error", "unique",
    "binding", "iterations", "columns", "seconds", "exact",
]  # fmt: skip
GAME = kuhn(players=3)
FIRST = [1, 0, 0]


def same(one, other):
    """Everything but the time."""
    a, b = one.to_json(), other.to_json()
    assert {**a, "seconds": 0} == {**b, "seconds": 0}
    np.testing.assert_array_equal(one.policy.weights, other.policy.weights)
    np.testing.assert_array_equal(one.policy.behavior, other.policy.behavior)


def test_it_is_public():
    assert accord.optimize is optimize
    found = optimize(chicken())
    assert isinstance(found, accord.runs.Optimum)
    assert list(found.to_json()) == KEYS
    assert repr(found) == "Optimum('chicken', k=1, objective='welfare', value=21/2, optimal)"
    json.dumps(found.to_json(), allow_nan=False)


def test_a_player_who_is_alone():
    found = optimize(in_out(), math.inf)
    assert (found.value, found.optimal) == (1.0, True)
    assert 1.0 <= found.bound < 1.0 + 1e-13
    assert found.policy.n_components == 1


def test_minimized_values_and_bounds_have_their_own_sign():
    found = optimize(chicken(), minimize=True)
    assert found.objective == "minimize welfare"
    assert found.value == pytest.approx(7.2)
    assert found.bound <= found.value
    assert found.optimal


@pytest.mark.slow
@pytest.mark.parametrize("minimize", [False, True])
def test_an_objective_that_is_constant_only_needs_an_equilibrium(minimize):
    """The payoffs of three-player Kuhn poker add up to 0, but for rounding."""
    found = optimize(accord.load_game("kuhn_poker(players=3)"), 1, minimize=minimize)
    assert found.optimal
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.gap <= 1e-9


@pytest.mark.slow
def test_the_same_request_gives_the_same_bits():
    same(optimize(GAME, 1, FIRST), optimize(GAME, 1, FIRST))


# --- limits ---------------------------------------------------------------------------------------


def test_out_of_time_it_returns_what_it_has():
    found = optimize(GAME, 1, FIRST, seconds=0.0)
    assert not found.optimal
    assert found.iterations == 1
    assert 3 <= found.bound < 3 + 1e-13  # of the best play: nothing else is known yet
    assert found.gap == pytest.approx(accord.certify(GAME, found.policy, 1)[1].gap)


def test_a_limit_of_time_leaves_enough_to_certify(monkeypatch):
    """Certifying is measured before the first round, which may take all the time there is."""
    certified, advance, given = Choice.certified, ColumnGeneration.advance, []

    def slowly(self, policy, exact=None):
        time.sleep(0.3)
        return certified(self, policy, exact)

    def take(self, seconds=None):
        given.append(seconds)
        advance(self, seconds)

    monkeypatch.setattr(Choice, "certified", slowly)
    monkeypatch.setattr(ColumnGeneration, "advance", take)
    optimize(chicken(), seconds=2.0)
    assert given[0] <= 2.0 - 2 * 0.3 - 0.3
    optimize(chicken())
    assert given[-1] is None


def test_out_of_time_nothing_is_certified_twice(monkeypatch):
    certified, calls = Choice.certified, []

    def count(self, policy, exact=None):
        calls.append(policy)
        return certified(self, policy, exact)

    monkeypatch.setattr(Choice, "certified", count)
    optimize(GAME, 1, FIRST, seconds=0.0)
    assert len(calls) == 1


@pytest.mark.slow
def test_every_round_is_reported():
    seen = []
    found = optimize(GAME, 1, FIRST, progress=seen.append)
    assert [point.iteration for point in seen] == list(range(1, found.iterations + 1))
    assert tuple(seen) == found.history
    bounds = [point.best.bound for point in seen]
    assert bounds == sorted(bounds, reverse=True)
    assert seen[-1].best.value == found.value
    assert seen[-1].best.columns == found.columns


def test_few_components():
    most = optimize(chicken(), components=3)
    assert (most.policy.n_components, most.optimal) == (3, True)
    for components in (1, 2):
        found = optimize(chicken(), components=components)
        assert found.policy.n_components <= components
        assert found.gap <= 1e-9
        assert found.value == pytest.approx(9.0)
        assert not found.optimal
        assert found.bound == pytest.approx(10.5)
    matching = accord.matrix_game([[[1, -1], [-1, 1]], [[-1, 1], [1, -0.9]]])  # no pure equilibrium
    with pytest.raises(ArgumentError, match="no equilibrium with at most 1 components"):
        optimize(matching, components=1)


# --- starting from a mixture ----------------------------------------------------------------------


@pytest.mark.slow
def test_keep_has_the_values_of_a_saved_mixture():
    solution = solve(GAME, 1, iterations=300)
    found = optimize(GAME, 1, "keep", start=solution.policy, target_gap=max(solution.gap, 0.0))
    assert found.optimal
    assert found.value == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found.values, solution.policy.values(), rtol=0, atol=1e-8)
    assert found.policy.n_components < 60
    assert found.gap <= solution.gap + 1e-9


def test_keep_comes_as_near_as_an_equilibrium_can():
    """Both chicken out: (6, 6), but no equilibrium has a welfare above 10.5."""
    game = chicken()
    both = max(optimize(game, 1, target_gap=100.0).policy.components(), key=lambda part: part[0])[1]
    start = CorrelatedPolicy.product(game, both)
    assert start.values().tolist() == [6, 6]
    found = optimize(game, 1, "keep", start=start)
    assert found.optimal
    span = accord.treeplex.sequence_form(game).leaves.payoff_range[0]
    assert found.value == pytest.approx(-(12 - 10.5) / span)
    assert sum(found.values) == pytest.approx(10.5)


def test_a_mixture_of_another_game_is_refused():
    policy = solve(signalling(), 1, iterations=1).policy
    with pytest.raises(MismatchError):
        optimize(chicken(), start=policy)


# --- folders --------------------------------------------------------------------------------------


@pytest.fixture
def often(monkeypatch):
    """Start afresh every other round, and save every time."""
    save = RunFolder.save
    monkeypatch.setattr(column_generation, "FRESH", 2)
    monkeypatch.setattr(
        RunFolder,
        "save",
        lambda self, arrays, record, *, now=False: save(self, arrays, record, now=True),
    )


@pytest.mark.slow
def test_a_run_can_be_read_back(tmp_path):
    found = optimize(signalling(), 1, {"professor": 1}, folder=tmp_path / "run")
    files = RunFolder.open(tmp_path / "run")
    saved = read_finished(files, signalling())
    assert saved.result == found.to_json()
    assert saved.history == found.history
    np.testing.assert_array_equal(saved.policy.weights, found.policy.weights)
    again = resume(signalling(), tmp_path / "run")
    same(again, found)
    with pytest.raises(ArgumentError, match="new or empty folder"):
        optimize(signalling(), folder=tmp_path / "run")
    with pytest.raises(MismatchError, match="resume it with accord optimize --resume"):
        accord.solve(signalling(), folder=tmp_path / "run", resume=True)
    with pytest.raises(MismatchError):
        resume(chicken(), tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 2, 3, 6])
def test_a_run_that_breaks_off_ends_with_the_same_bits(tmp_path, stop, often, monkeypatch):
    whole = optimize(GAME, 1, FIRST)
    advance, rounds = ColumnGeneration.advance, []

    def break_off(self, seconds=None):
        if len(rounds) == stop:
            raise KeyboardInterrupt
        rounds.append(1)
        advance(self, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(ColumnGeneration, "advance", break_off)
        with pytest.raises(KeyboardInterrupt):
            optimize(GAME, 1, FIRST, folder=tmp_path / "run")
    assert (tmp_path / "run" / "checkpoint.npz").exists() == (stop > 2)
    same(resume(GAME, tmp_path / "run"), whole)


@pytest.mark.slow
def test_prices_that_were_found_are_found_only_once(tmp_path, often, monkeypatch):
    """A clock may end the search for them, so a run that is resumed takes those that it has."""
    monkeypatch.setattr(column_generation.Relaxation, "solve", lambda *_: None)
    monkeypatch.setattr(column_generation, "FRESH", 1000)
    game, advance = raked(), ColumnGeneration.advance
    whole = optimize(game)
    assert whole.iterations > 2

    def break_off(self, seconds=None):
        if self.iteration == 2:
            raise KeyboardInterrupt
        advance(self, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(ColumnGeneration, "advance", break_off)
        with pytest.raises(KeyboardInterrupt):
            optimize(game, folder=tmp_path / "run")
    monkeypatch.setattr(LargeSearch, "relax", None)
    same(resume(game, tmp_path / "run"), whole)


@pytest.mark.slow
def test_a_run_that_is_killed_ends_with_the_same_bits(tmp_path, often):
    code = f"""
import os, signal
from accord.optimal import column_generation
from accord.runs.folder import RunFolder
from accord.game.library import kuhn
from accord.runs.optimize import optimize
save = RunFolder.save
def save_and_die(self, arrays, record, *, now=False):
    save(self, arrays, record, now=True)
    os.kill(os.getpid(), signal.SIGKILL)
RunFolder.save, column_generation.FRESH = save_and_die, 2
optimize(kuhn(players=3), 1, {FIRST!r}, folder={str(tmp_path / "run")!r})
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not RunFolder.open(tmp_path / "run").finished
    same(resume(GAME, tmp_path / "run"), optimize(GAME, 1, FIRST))


@pytest.mark.slow
def test_ctrl_c_ends_it_after_the_round(tmp_path):
    def interrupt(point):
        if point.iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    found = optimize(GAME, 1, FIRST, folder=tmp_path / "run", progress=interrupt)
    assert found.interrupted
    assert found.iterations == 2
    assert not found.optimal
    same(resume(GAME, tmp_path / "run"), optimize(GAME, 1, FIRST))


@pytest.mark.slow
def test_a_damaged_checkpoint_is_refused(tmp_path, often):
    optimize(GAME, 1, FIRST, folder=tmp_path / "run")
    with np.load(tmp_path / "run" / "checkpoint.npz") as content:
        arrays = {name: content[name] for name in content.files if name != "search_plans"}
    np.savez(tmp_path / "run" / "checkpoint.npz", **arrays)
    with pytest.raises(ParseError, match="another version of Accord"):
        resume(GAME, tmp_path / "run")


def test_the_folder_keeps_the_objective_however_it_was_given(tmp_path):
    for given in ({"professor": 1}, [0, 1], Objective((0.0, 1.0))):
        found = optimize(signalling(), 1, given, folder=tmp_path / "run", resume=True)
        assert (found.objective, found.value) == ("player=professor", pytest.approx(6.5))
    asked = json.loads((tmp_path / "run" / "run.json").read_text())["asked"]
    assert asked["objective"] == {"student": 0.0, "professor": 1.0}
    with pytest.raises(MismatchError):
        optimize(signalling(), 1, {"student": 1}, folder=tmp_path / "run", resume=True)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": -1}, "k must be a whole number"),
        ({"objective": "best"}, "objective must be"),
        ({"objective": {"nobody": 1}}, "no player 'nobody'"),
        ({"objective": "keep"}, "saved mixture"),
        ({"target_gap": -0.1}, "target_gap must be non-negative"),
        ({"target_gap": math.nan}, "target_gap must be non-negative"),
        ({"seconds": -1}, "seconds must be non-negative"),
        ({"components": 0}, "components must be a whole number, 1 or more"),
    ],
)
def test_bad_arguments_are_refused_before_a_folder_is_made(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        optimize(chicken(), folder=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_something_else_than_a_game_is_refused():
    with pytest.raises(ArgumentError, match="game"):
        optimize("chicken")


def test_a_failing_solver_is_an_error(monkeypatch):
    monkeypatch.setattr(linear, "run", lambda *_: False)
    monkeypatch.setattr(column_generation.Relaxation, "solve", lambda *_: None)
    with pytest.raises(NumericalError, match="HiGHS reports"):
        optimize(chicken())
