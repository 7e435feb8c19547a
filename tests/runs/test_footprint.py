"""The memory that commands are said to take is the memory that they take."""

from __future__ import annotations

import math
import sys

import pytest

import accord
from accord.certifying.footprint import check_memory
from accord.runs.footprint import solve_memory
from accord.treeplex.form import sequence_form
from tests.support.command import run, run_json
from tests.support.peaks import measured

DICE, COINS = "liars_dice(dice_sides=5)", "oshi_zumo(coins=4,horizon=4,size=1)"
MIXED = "balanced:infosets=2000,horizon=2,actions=6"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks that can be reset")
@pytest.mark.parametrize(
    ("command", "game", "cases"),
    [
        ("solve", DICE, ("1", "inf")),
        ("solve", COINS, ("0", "1:wrhedge", "2")),
        ("learn", COINS, ("inf", "1:swrhedge")),
        ("learn", MIXED, ("1",)),
        ("certify", DICE, ("0,1,inf",)),
        ("certify", COINS, ("1",)),
        ("report", COINS, ("1",)),
        ("report", MIXED, ("1",)),
        ("optimize", DICE, ("2",)),
        ("optimize", MIXED, ("2",)),
        ("optimize", "sheriff(num_rounds=3)", ("1:whole",)),
        ("region", MIXED, ("0,1",)),
    ],
)
def test_commands_take_the_memory_that_they_are_said_to_take(command, game, cases):
    """In another process, by what the system says. Column generation is compared up to its first
    linear program, because what its solver takes is not told."""
    for found in measured(command, game, *cases):
        assert found["measured"] == pytest.approx(found["told"], rel=0.25), found


def test_info_tells_it():
    game = accord.load_game("kuhn:players=3")
    (one,) = run_json("info", "kuhn:players=3", "-k", 1)["memory"]
    assert one["solve"] == int(sum(solve_memory(sequence_form(game), 1).values()))
    assert set(one) == {"k", "solve", "learn", "certify", "report", "optimize", "phases"}


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("kuhn", ["program"]),
        ("kuhn:players=3", ["relaxation", "rounds", "certifying", "fractions"]),
        ("sheriff(num_rounds=3)", ["tuples", "averages", "supports", "proof", "certifying"]),
        ("sheriff", ["tuples", "averages", "supports", "certifying"]),
    ],
)
def test_info_tells_every_phase_of_optimize(name, phases):
    (one,) = run_json("info", name, "-k", 1)["memory"]
    assert [phase["phase"] for phase in one["phases"]] == phases
    assert one["optimize"] == max(phase["bytes"] for phase in one["phases"])
    assert all(phase["seconds"] > 0 for phase in one["phases"])
    shown = run("info", name, "-k", 1).stdout
    assert all(phase in shown for phase in phases)


def test_what_the_programs_take_is_known_before_they_are_made(monkeypatch):
    """Trees and tuples of this game fit; HiGHS would take more."""
    game = accord.load_game("sheriff(num_rounds=3)")
    monkeypatch.setattr("accord.certifying.footprint.available_memory", lambda: 20_000_000)
    with pytest.raises(accord.errors.BudgetError, match=r"prices and programs 3\d\.\d MB"):
        accord.optimize(game, 1)


@pytest.mark.parametrize(
    "call", [accord.optimize, lambda game, k: accord.region(game, [0, k])], ids=["best", "region"]
)
@pytest.mark.parametrize("name", ["kuhn:players=3", "kuhn"])
def test_searches_that_do_not_fit_are_refused_with_the_numbers(call, name, monkeypatch):
    monkeypatch.setattr("accord.certifying.footprint.available_memory", lambda: 1000)
    with pytest.raises(
        accord.errors.BudgetError, match=r"kuhn.* takes .* prices .*try a smaller k"
    ):
        call(accord.load_game(name), 1)


def test_a_timed_run_certifies_while_it_learns():
    form = sequence_form(accord.load_game("kuhn:players=3"))
    timed, other = (sum(solve_memory(form, math.inf, timed=one).values()) for one in (True, False))
    assert timed >= other


@pytest.mark.parametrize("call", [accord.solve, accord.learn])
def test_runs_that_do_not_fit_are_refused_with_the_numbers(call, monkeypatch):
    game = accord.load_game("kuhn")
    monkeypatch.setattr("accord.certifying.footprint.available_memory", lambda: 1000)
    limit = {"iterations": 10} if call is accord.solve else {"episodes": 100}
    with pytest.raises(
        accord.errors.BudgetError, match=r"kuhn at k = inf takes .* kept iterates"
    ) as error:
        call(game, math.inf, **limit)
    assert error.value.required > error.value.available == 1000


def test_refusals_say_what_takes_how_much():
    with pytest.raises(accord.errors.BudgetError) as error:
        check_memory("this", {"learners": 2e9, "leaves": 1e6, "nothing": 0.0}, 10**9, "try less")
    assert str(error.value) == (
        "this takes 2 GB of memory (learners 2 GB, leaves 1 MB), and 1 GB are available; try less"
    )
    check_memory("this", {"learners": 1e9}, 10**9, "try less")
