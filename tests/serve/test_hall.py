"""The hall: plays in a database, people, robots, time."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import itertools
import json
import random
import sqlite3
import stat
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.errors import AccordError, ArgumentError, MediatorError, MismatchError
from accord.serve.export import PRIVATE, PUBLIC, export
from accord.serve.hall import Hall
from accord.serve.store import OPERATOR, OPERATOR_SECONDS, hash_link
from accord.serve.views import SeatView, digest
from tests.support.fuzzing import mutated_json
from tests.support.mediation import crossed, delayed
from tests.support.policies import random_policy
from tests.support.server import Clock, device_policy, open_hall


def hall_of(tmp_path: Path, name: str = "chicken", **options: Any) -> Hall:
    clock = options.pop("clock", Clock())
    return open_hall(tmp_path / "plays.db", device_policy(name), clock=clock, **options)


def views(hall: Hall, play: str) -> list[SeatView]:
    return [hall.look(play, player) for player in range(hall.game.n_players)]


def follow(hall: Hall, play: str, player: int) -> None:
    view = hall.look(play, player)
    action = 0 if view.told is None else view.actions.index(view.told)
    hall.act(play, player, view.number, action)


def play_on(hall: Hall, play: str) -> None:
    while any(view.status == "act" for view in views(hall, play)):
        for player, view in enumerate(views(hall, play)):
            if view.status == "act":
                follow(hall, play, player)


# A play from beginning to end


def test_a_play_from_beginning_to_end(tmp_path: Path) -> None:
    hall = hall_of(tmp_path, "signalling")
    (play,) = hall.create()
    assert [view.status for view in views(hall, play)] == ["open", "open"]
    assert [view.infoset for view in views(hall, play)] == [None, None]
    with pytest.raises(MediatorError, match="not your turn"):
        hall.act(play, 0, 0, 0)
    hall.start(play)
    hall.start(play)
    student, professor = views(hall, play)
    assert student.status == "act"
    assert student.infoset in ("good", "bad")
    assert student.told in student.actions
    assert professor.status == "wait"
    assert (professor.infoset, professor.told, professor.actions) == (None, None, ())
    follow(hall, play, 0)
    student, professor = views(hall, play)
    assert (student.status, professor.status) == ("wait", "act")
    assert [move.told == move.action for move in student.moves] == [True]
    follow(hall, play, 1)
    for view in views(hall, play):
        assert view.status == "over"
        assert view.payoff == dict(view.payoffs)[view.name]
        assert [who for who, _ in view.story] == ["chance", "student", "professor"]


def test_what_the_others_do_changes_nothing_before_the_round_is_over(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    before = hall.look(play, 1)
    follow(hall, play, 0)
    assert hall.look(play, 1) == before
    assert digest(hall.look(play, 1)) == digest(before)
    follow(hall, play, 1)
    assert digest(hall.look(play, 1)) != digest(before)


def test_every_view_is_free_of_others_recommendations(tmp_path: Path) -> None:
    """Views do not depend on what others were told: same moves, same view."""
    policy = random_policy(accord.load_game("kuhn"), 1, components=3, pure=0.0)
    seen: dict[Any, set[str]] = {}
    for seed in range(10):
        hall = open_hall(tmp_path / f"{seed}.db", policy, seed=seed, clock=Clock())
        (play,) = hall.create()
        hall.start(play)
        while hall.watch(play).status == "running":
            for player, view in enumerate(views(hall, play)):
                shown = json.dumps([view.infoset, view.told, view.actions, view.status])
                own = tuple((move.infoset, move.told, move.action) for move in view.moves)
                seen.setdefault((player, own, view.infoset, view.told), set()).add(shown)
                if view.status == "act":
                    hall.act(play, player, view.number, 0)
    assert all(len(kinds) == 1 for kinds in seen.values())


def transcripts(hall: Hall, play: str, clock: Clock) -> dict[Any, tuple[Any, ...]]:
    """For each question to a player, with all they know then: what they could see before, and when.

    Players answer at once or let time run out, as a function of what they know; and they try moves
    at infosets where they are not.
    """
    game, began, asked = hall.game, clock.now, {}
    seen: list[list[Any]] = [[] for _ in game.player_labels]
    hall.start(play)
    while not all(view.status == "over" for view in views(hall, play)):
        for i in range(game.n_players):
            view = hall.look(play, i)
            known = (i, view.status, view.number, view.told, view.moves)
            if view.status in ("act", "choose"):
                asked.setdefault(known, tuple(seen[i]))
            if view.status == "over":
                continue
            guess = len(seen[i]) % max(1, game.n_infosets[i])
            answer = None
            if guess != view.number and not view.moves:
                with pytest.raises(AccordError) as error:
                    hall.act(play, i, guess, 0)
                answer = str(error.value)
            until = None if view.until is None else view.until - began
            shown = dataclasses.replace(view, play="", until=until)
            seen[i].append((clock.now - began, shown, answer))
            rng = random.Random(str(known))
            if view.status == "choose":
                hall.choose(play, i, rng.random() < 0.5)
            elif view.status == "act" and rng.random() < 0.7:
                hall.act(play, i, view.number, rng.randrange(len(view.actions)))
        clock.now += 5
        hall.tick()
    return asked


@pytest.mark.slow
def test_at_a_pace_players_see_nothing_that_they_may_not_know(tmp_path: Path) -> None:
    """In random games, whatever chance, plans and others do: same knowledge, same past.

    The moments too are the same at a pace; without one they are not, so the test can see them.
    """
    differing = {}
    for times in ({"pace": 10}, {"limit": 10}):
        pasts: dict[Any, set[Any]] = {}
        for seed in range(8):
            clock = Clock()
            game = accord.load_game(f"random:seed={seed},players=3,depth=5,observe=0.3,chance=0.3")
            if not accord.timing(game).exists:
                continue
            policy = random_policy(game, seed, components=2, pure=0.5)
            k = (0, 1, 2, float("inf"))[seed % 4]
            path = tmp_path / f"{seed} {times}.db"
            hall = open_hall(path, policy, k, seed, clock=clock, **times)
            for play in hall.create(10):
                for known, past in transcripts(hall, play, clock).items():
                    pasts.setdefault((seed, known), set()).add(past)
        differing[next(iter(times))] = sum(len(past) > 1 for past in pasts.values())
    assert differing["pace"] == 0
    assert differing["limit"] > 0


# The same result


def test_a_double_click_is_one_move(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    for _ in range(3):
        hall.act(play, 0, 0, 1)
    with pytest.raises(MediatorError, match="already played"):
        hall.act(play, 0, 0, 0)
    assert len(hall.look(play, 0).moves) == 1
    follow(hall, play, 1)
    assert hall.watch(play).status == "over"
    hall.act(play, 0, 0, 1)  # a late click changes nothing, too
    with pytest.raises(MediatorError, match="already played"):
        hall.act(play, 0, 0, 0)


@pytest.mark.parametrize(("infoset", "action"), [(0, 9), (9, 0), (1, 0)])
def test_moves_that_do_not_exist(tmp_path: Path, infoset: int, action: int) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    before = hall.look(play, 0)
    with pytest.raises(AccordError):
        hall.act(play, 0, infoset, action)
    assert hall.look(play, 0) == before
    play_on(hall, play)
    assert hall.watch(play).status == "over"


def test_another_process_continues_at_any_moment(tmp_path: Path) -> None:
    """A hall that is thrown away after every request ends as one that is kept."""
    policy = random_policy(accord.load_game("kuhn"), 1, components=3, pure=0.0)
    ends = []
    for fresh in (False, True):
        path, clock = tmp_path / f"{fresh}.db", Clock()
        hall = open_hall(path, policy, clock=clock)
        plays = hall.create(5)
        for play in plays:
            hall.start(play)
        while any(hall.watch(play).status == "running" for play in plays):
            for play, player in itertools.product(plays, (0, 1)):
                if fresh:
                    hall.store.close()
                    hall = open_hall(path, policy, seed=99, clock=clock)
                if hall.look(play, player).status == "act":
                    follow(hall, play, player)
        ends.append([hall.watch(play, reveal=True) for play in plays])
    assert ends[0] == ends[1]


def test_two_halls_on_one_database(tmp_path: Path) -> None:
    policy = device_policy("chicken")
    one, other = (open_hall(tmp_path / "plays.db", policy, seed=s, clock=Clock()) for s in (1, 2))
    (play,) = one.create()
    other.start(play)
    follow(one, play, 0)
    assert other.look(play, 0).status == "wait"
    follow(other, play, 1)
    assert one.look(play, 0) == other.look(play, 0)
    assert one.look(play, 0).status == "over"


# Robots and time


def test_robots_follow(tmp_path: Path) -> None:
    hall = hall_of(tmp_path, "signalling")
    for play in hall.create(10):
        hall.set_robot(play, 1, True)
        hall.start(play)
        follow(hall, play, 0)
        seen = hall.watch(play, reveal=True)
        assert seen.status == "over"
        assert [move.told == move.action for move in seen.seats[1].moves] == [True]
        assert seen.seats[1].robot
        assert [move.by for seat in seen.seats for move in seat.moves] == ["player", "robot"]


def test_a_robot_takes_over(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    hall.set_robot(play, 0, True)
    assert hall.look(play, 0).status == "wait"
    hall.set_robot(play, 0, False)
    hall.set_robot(play, 1, True)
    assert hall.watch(play).status == "over"


def test_robots_alone_finish_when_they_start(tmp_path: Path) -> None:
    hall = hall_of(tmp_path, k=0)
    (play,) = hall.create()
    for player in (0, 1):
        hall.set_robot(play, player, True)
    hall.start(play)
    seen = hall.watch(play)
    assert seen.status == "over"
    assert [move.by for seat in seen.seats for move in seat.moves] == ["mediator", "mediator"]


def test_time_limits(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, "signalling", limit=30, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    assert hall.look(play, 0).until == clock.now + 30
    clock.now += 29.9
    hall.tick()
    told = hall.look(play, 0).told
    assert told is not None
    clock.now += 0.1
    hall.tick()
    student, professor = views(hall, play)
    assert (student.status, student.moves[0].action) == ("wait", told)
    assert professor.until == clock.now + 30  # the whole time for the next
    with pytest.raises(MediatorError, match="already played"):  # too late
        view = hall.watch(play, reveal=True).seats[0].moves[0]
        x = hall.game.infoset_labels[0].index(view.infoset)
        other = next(a for a in (0, 1) if hall.game.action_labels[0][x][a] != told)
        hall.act(play, 0, x, other)
    clock.now += 30
    hall.tick()
    assert hall.watch(play).status == "over"


def test_whoever_looks_first_sees_the_robots_move(tmp_path: Path) -> None:
    """So it does not take a tick longer if somebody was late."""
    clock = Clock()
    hall = hall_of(tmp_path, "signalling", limit=30, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    clock.now += 30
    assert [view.status for view in views(hall, play)] == ["wait", "act"]


def test_one_damaged_play_does_not_stop_the_others(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, limit=30, clock=clock)
    first, second = hall.create(2)
    for play in (first, second):
        hall.start(play)
    with hall.store.transaction():
        row = hall.store.play(first)
        hall.store.save_play(dataclasses.replace(row, state="{}"))
    clock.now += 30
    hall.tick()
    assert hall.watch(second).status == "over"


def test_a_damaged_play_does_not_stop_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, limit=30, clock=clock)
    first, second = hall.create(2)
    for play in (first, second):
        hall.start(play)
    with hall.store.transaction():
        row = hall.store.play(first)
        hall.store.save_play(dataclasses.replace(row, state="{}"))
    hall.store.close()
    hall = hall_of(tmp_path, limit=30, clock=clock)
    assert f"play {first} cannot continue: a play's state must come from" in caplog.text
    assert [play.status for play in hall.list_plays()] == ["running", "running"]
    caplog.clear()
    clock.now += 30
    for _ in range(5):
        hall.tick()
    assert hall.watch(second).status == "over"
    assert caplog.text.count("robots could not move") == 1  # not at every tick


DAMAGE = (
    ("asked", "x"), ("asked", "[]"), ("asked", '{"0": "soon"}'), ("created", "x"), ("ended", "x"),
    ("base", "x"), ("state", "{"), ("state", "[]"), ("state", "[" * 100_000), ("status", "lost"),
)  # fmt: skip


@pytest.mark.parametrize(("column", "value"), DAMAGE)
def test_one_unreadable_row_breaks_nothing_else(tmp_path: Path, column: str, value: str) -> None:
    """The operator still sees, starts and exports the other plays, also after a restart."""
    clock = Clock()
    hall = hall_of(tmp_path, clock=clock, limit=30)
    first, second, third = hall.create(3)
    hall.start(first)
    for play in (second, third):
        for player in (0, 1):
            hall.set_robot(play, player, True)
    with sqlite3.connect(tmp_path / "plays.db") as data:
        data.execute(f"UPDATE plays SET {column} = ? WHERE id IN (?, ?)", (value, first, second))
    data.close()
    for _ in range(2):
        hall.start_ready()
        hall.tick()
        hall.fill_seats()
        hall.invite_missing()
        assert {play.id for play in hall.list_plays()} == {first, second, third}
        assert hall.watch(third).status == "over"
        assert f"\n{third}," in export(hall, private=False)
        assert f"\n{third}," in export(hall, private=True)
        hall.store.close()
        hall = hall_of(tmp_path, clock=clock, limit=30)


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_state_is_refused(tmp_path: Path, seed: int) -> None:
    hall, rng = hall_of(tmp_path, "separation:k=1"), random.Random(seed)
    (play,) = hall.create()
    hall.start(play)
    follow(hall, play, 0)
    with hall.store.transaction():
        row = hall.store.play(play)
        state = json.dumps(mutated_json(json.loads(row.state), rng))
        hall.store.save_play(dataclasses.replace(row, state=state))
    with contextlib.suppress(AccordError):
        views(hall, play)


def test_the_log_does_not_tell_who_disobeyed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At K = 1 the mediator is silent after a deviation, but the log is not."""
    logs = []
    for disobeys in (False, True):
        (folder := tmp_path / str(disobeys)).mkdir()
        hall = hall_of(folder, "separation:k=1")
        caplog.clear()
        with caplog.at_level("INFO", "accord"):
            (play,) = hall.create()
            hall.start(play)
            while any(view.status == "act" for view in views(hall, play)):
                player = next(i for i, view in enumerate(views(hall, play)) if view.status == "act")
                view = hall.look(play, player)
                told = 0 if view.told is None else view.actions.index(view.told)
                hall.act(play, player, view.number, told ^ disobeys)
        logs.append(caplog.messages)
    assert logs[0] == logs[1]
    assert sum("is asked, decision 2" in line for line in logs[0]) > 0


def test_a_restart_gives_everybody_their_time_again(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, limit=30, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    hall.store.close()
    clock.now += 500
    hall = hall_of(tmp_path, limit=30, clock=clock)
    hall.tick()
    assert hall.look(play, 0).status == "act"
    assert hall.look(play, 0).until == clock.now + 30


def test_a_restart_after_the_clock_was_set_back(tmp_path: Path) -> None:
    for options in ({}, {"limit": 30}, {"pace": 30}):
        (folder := tmp_path / "-".join(options)).mkdir(exist_ok=True)
        clock = Clock()
        hall = hall_of(folder, "signalling", clock=clock, **options)
        (play,) = hall.create()
        hall.start(play)
        hall.store.close()
        clock.now -= 500
        hall = hall_of(folder, "signalling", clock=clock, **options)
        assert hall.look(play, 0).status == "act"
        assert hall.look(play, 0).until == (clock.now + 30 if options else None)


def test_finished_plays_do_not_wait_again_after_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, pace=30, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    play_on(hall, play)
    assert [view.status for view in views(hall, play)] == ["wait", "wait"]
    hall.store.close()
    clock.now -= 500
    hall = hall_of(tmp_path, pace=30, clock=clock)
    assert [view.status for view in views(hall, play)] == ["wait", "wait"]
    clock.now += 30
    assert [view.status for view in views(hall, play)] == ["over", "over"]


def test_a_restart_asks_everybody_at_once_who_was_asked_one_after_another(tmp_path: Path) -> None:
    """In a game without rounds, each player is asked when it is their turn."""
    clock = Clock()
    hall = hall_of(tmp_path, limit=100, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    with hall.store.transaction():
        row = hall.store.play(play)
        hall.store.save_play(dataclasses.replace(row, asked={0: 1000.0, 1: 1050.0}))
    hall.store.close()
    clock.now += 80
    hall = hall_of(tmp_path, limit=100, clock=clock)
    assert [view.status for view in views(hall, play)] == ["act", "act"]
    assert [view.until for view in views(hall, play)] == [clock.now + 100] * 2


@pytest.mark.parametrize("jump", [-1e6, 1e6])
def test_setting_the_computers_clock_changes_nobodys_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    hall = hall_of(tmp_path, clock=None, limit=1000)
    (play,) = hall.create()
    hall.start(play)
    before = hall.look(play, 0)
    set_to = time.time() + jump
    monkeypatch.setattr(time, "time", lambda: set_to)
    hall.tick()
    assert hall.look(play, 0) == before
    assert before.status == "act"


@pytest.mark.parametrize("pace", [5, 20, 60])
def test_a_restart_at_another_pace_gives_everybody_their_time(tmp_path: Path, pace: int) -> None:
    policy = random_policy(accord.load_game("kuhn"), 1, components=2, pure=0.0)
    clock = Clock()
    hall = open_hall(tmp_path / "p.db", policy, pace=20, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    hall.act(play, 0, hall.look(play, 0).number, 0)
    assert [seat.doing for seat in hall.watch(play).seats] == ["waits", "waits"]
    clock.now += 23
    assert hall.look(play, 1).status == "act"
    assert [seat.doing for seat in hall.watch(play).seats] == ["waits", "must decide"]
    listed = [doing for _, _, doing in hall.list_plays()[0].seats]
    assert listed == ["waits, no link", "must decide, no link"]
    hall.store.close()
    clock.now += 500
    hall = open_hall(tmp_path / "p.db", policy, pace=pace, clock=clock)
    assert hall.look(play, 1).until == clock.now + pace
    hall.act(play, 1, hall.look(play, 1).number, 1)
    clock.now += pace
    assert hall.look(play, 0).status == "act"
    assert hall.look(play, 0).until == clock.now + pace


def test_at_a_pace_only_the_round_decides_when_one_is_asked(tmp_path: Path) -> None:
    """Bob decides at once after heads, and after Ann after tails; by the clock it is the same."""
    policy = random_policy(delayed(), 1, components=2, pure=0.0)
    asked, histories = set(), set()
    for seed in range(12):
        clock = Clock()
        hall = open_hall(tmp_path / f"{seed}.db", policy, seed=seed, pace=10, clock=clock)
        assert hall.warning is None
        (play,) = hall.create()
        hall.start(play)
        began = clock.now
        for _ in range(60):
            for player, view in enumerate(views(hall, play)):
                if view.status != "act":
                    continue
                if player == 1:
                    asked.add(clock.now - began)
                if seed % 2:  # some answer at once, others never
                    hall.act(play, player, view.number, 1)
            hall.tick()
            clock.now += 0.5
        assert views(hall, play)[1].status == "over"
        histories.add(hall.watch(play).story[0])
    assert histories == {("chance", "heads"), ("chance", "tails")}
    assert min(asked) == 10
    assert max(asked) < 20


def test_times_that_make_no_sense(tmp_path: Path) -> None:
    for options, message in (
        ({"limit": 0}, "limit must be positive"),
        ({"pace": -1}, "pace must be positive"),
        ({"pace": 1, "limit": 1}, "either a time limit or a pace"),
    ):
        with pytest.raises(ArgumentError, match=message):
            hall_of(tmp_path, **options)
    policy = random_policy(crossed(stop=True), 1, components=2)
    with pytest.raises(ArgumentError, match="this game has no timing"):
        open_hall(tmp_path / "other.db", policy, pace=1)


# K = 0


def test_at_k_0_people_choose_first(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, "signalling", k=0, limit=30, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    assert [view.status for view in views(hall, play)] == ["choose", "choose"]
    hall.choose(play, 0, delegate=False)
    assert [view.status for view in views(hall, play)] == ["wait", "choose"]
    with pytest.raises(MediatorError):
        hall.choose(play, 0, delegate=True)
    clock.now += 20
    hall.choose(play, 1, delegate=True)
    student = hall.look(play, 0)
    assert (student.status, student.told) == ("act", None)
    assert student.until == clock.now + 30
    hall.act(play, 0, student.number, 0)
    assert hall.look(play, 1).status == "over"


def test_at_k_0_the_same_choice_again_changes_nothing(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, k=0, limit=30, clock=clock)
    alone, together = hall.create(2)
    with pytest.raises(MediatorError, match="not running"):
        hall.choose(alone, 0, delegate=True)
    for play, delegate in ((alone, False), (together, True)):
        hall.start(play)
        for player in (0, 1):
            hall.choose(play, player, delegate)
    until = hall.look(alone, 0).until
    clock.now += 20
    hall.choose(alone, 0, delegate=False)
    assert hall.look(alone, 0).until == until  # it is no way to get more time
    assert hall.watch(together).status == "over"
    hall.choose(together, 1, delegate=True)  # the second of two clicks
    with pytest.raises(MediatorError, match="already chosen"):
        hall.choose(together, 1, delegate=False)


def test_at_k_0_the_time_of_a_delegation_is_not_that_of_a_move(tmp_path: Path) -> None:
    hall = hall_of(tmp_path, k=0)
    (play,) = hall.create()
    hall.set_robot(play, 0, True)
    hall.start(play)
    hall.choose(play, 1, delegate=True)
    table = rows(export(hall, private=True))
    assert [(row["by"], row["time"]) for row in table] == [("mediator", "")] * 2
    with hall.store.transaction():
        assert hall.store.robot_moves(play) == set()


def test_at_other_k_there_is_nothing_to_choose(tmp_path: Path) -> None:
    hall = hall_of(tmp_path, "signalling", k=1)
    (play,) = hall.create()
    hall.start(play)
    for player in (0, 1):
        before = hall.look(play, player)
        for delegate in (True, False):
            with pytest.raises(MediatorError, match="nothing to choose"):
                hall.choose(play, player, delegate)
        assert hall.look(play, player) == before


def test_at_k_0_time_limits_delegate(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, k=0, limit=30, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    clock.now += 30
    hall.tick()
    assert hall.watch(play).status == "over"


# Links


def test_links_are_stored_hashed_and_can_be_revoked(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    first, other = hall.invite(play, 0), hall.invite(play, 1)
    assert len(first) >= 40
    assert hall.find_seat(first) == (play, 0)
    assert hall.find_seat(other) == (play, 1)
    second = hall.invite(play, 0)
    assert hall.find_seat(first) is None
    assert hall.find_seat(second) == (play, 0)
    hall.revoke(play, 0)
    assert hall.find_seat(second) is None
    assert hall.find_seat(other) == (play, 1)
    assert hall.find_seat("") is None
    assert hall.find_seat(hash_link(other)) is None
    hall.store.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for token in (first, second, other):
        assert token.encode() not in content
        assert hash_link(token).encode() in content


def test_the_operators_link_is_no_seat(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    with hall.store.transaction():
        token = hall.store.make_link(None, 0.0)
        assert hall.store.find_link(token, hall.clock()) == OPERATOR
    assert hall.find_seat(token) is None


def test_links_of_the_operator_expire(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, clock=clock)
    with hall.store.transaction():
        (play,) = hall.create()
        operator, seat = hall.store.make_link(None, clock()), hall.invite(play, 0)
        clock.now += OPERATOR_SECONDS - 1
        assert hall.store.find_link(operator, clock()) == OPERATOR
        clock.now += 1
        assert hall.store.find_link(operator, clock()) is None
    assert hall.find_seat(seat) == (play, 0)


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    hall.create()
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {hall.store.path.suffix + end: 0o600 for end in ("", "-wal", "-shm")}


# The database


def test_databases_of_others(tmp_path: Path) -> None:
    hall_of(tmp_path).store.close()
    with pytest.raises(MismatchError, match="has plays with another game"):
        hall_of(tmp_path, "signalling")
    with pytest.raises(MismatchError, match="another K"):
        hall_of(tmp_path, k=2)
    (tmp_path / "text.db").write_text("not a database, but long enough to look at" * 100)
    with pytest.raises(ArgumentError, match="not a database of accord serve"):
        open_hall(tmp_path / "text.db", device_policy("chicken"))
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE birds (name TEXT)")
    foreign.close()
    with pytest.raises(ArgumentError, match="not a database of accord serve"):
        open_hall(tmp_path / "foreign.db", device_policy("chicken"))


@pytest.mark.parametrize("step", ["add_event", "save_play"])
def test_a_failed_request_changes_nothing(tmp_path: Path, monkeypatch: Any, step: str) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    before = hall.watch(play, reveal=True)

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(hall.store, step, fail)
        with pytest.raises(OSError, match="disk full"):
            follow(hall, play, 0)
    assert hall.watch(play, reveal=True) == before
    play_on(hall, play)
    assert hall.watch(play).status == "over"


@pytest.mark.parametrize("renamed", [False, True])
def test_a_change_that_cannot_be_committed_is_undone(
    tmp_path: Path, monkeypatch: Any, renamed: bool
) -> None:
    """As on a full disk: nothing of it is left in the file or in memory, and the next works."""
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    before = hall.watch(play, reveal=True)

    class FullDisk:
        def __init__(self, db: sqlite3.Connection) -> None:
            self.db = db

        def execute(self, statement: str, *values: Any) -> Any:
            if statement == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return self.db.execute(statement, *values)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.db, name)

    with monkeypatch.context() as patched:
        patched.setattr(hall.store, "_db", FullDisk(hall.store._db))
        with pytest.raises(sqlite3.OperationalError, match="full"):
            follow(hall, play, 0)
    if renamed:
        hall.rename(play, 0, "row")
    assert hall.watch(play, reveal=True) == before
    hall.rename(play, 0, "Ann")
    hall.store.close()
    hall = hall_of(tmp_path)
    assert hall.look(play, 0).name == "Ann"
    play_on(hall, play)
    assert hall.watch(play).status == "over"


def test_names_of_plays_and_people(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    assert hall.create(2) == ["1", "2"]
    assert hall.create(1, "room 4") == ["room 4"]
    assert hall.create() == ["3"]
    for bad in ("room 4", "", "../x", "a/b", "x" * 41, "<b>"):
        with pytest.raises(ArgumentError, match=r"name of a play|already a play"):
            hall.create(1, bad)
    for count in (0, 501):
        with pytest.raises(ArgumentError, match="number of plays must be 1 to 500"):
            hall.create(count)
    hall.rename("1", 0, "  Ann\n Lee  " + "x" * 100)
    assert hall.look("1", 0).name.startswith("Ann Lee xxx")
    assert len(hall.look("1", 0).name) == 60
    hall.rename("1", 0, " ")
    assert hall.look("1", 0).name == "row"
    with pytest.raises(ArgumentError, match="there is no play"):
        hall.look("9", 0)
    with pytest.raises(ArgumentError, match="there is no player 2"):
        hall.rename("1", 2, "x")


def test_stopping(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    hall.stop(play)
    assert [view.status for view in views(hall, play)] == ["stopped", "stopped"]
    with pytest.raises(MediatorError, match="not your turn"):
        hall.act(play, 0, 0, 0)
    hall.start(play)
    assert hall.watch(play).status == "stopped"


# Watching and exporting


def test_the_operator_sees_recommendations_only_when_asked(tmp_path: Path) -> None:
    hall = hall_of(tmp_path)
    (play,) = hall.create()
    hall.start(play)
    follow(hall, play, 0)
    seen = hall.watch(play)
    assert [seat.moves for seat in seen.seats] == [(), ()]
    assert [seat.decisions for seat in seen.seats] == [1, 0]
    assert [seat.doing for seat in seen.seats] == ["waits", "must decide"]
    assert hall.watch(play, reveal=True).seats[0].moves != ()
    seats = (("row", False, "waits, no link"), ("col", False, "must decide, no link"))
    assert [listed.seats for listed in hall.list_plays()] == [seats]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_exports(tmp_path: Path) -> None:
    hall = hall_of(tmp_path, "signalling")
    done, running, opened = hall.create(3)
    hall.rename(done, 0, "Ann")
    hall.set_robot(done, 1, True)
    for play in (done, running):
        hall.start(play)
        follow(hall, play, 0)
    public, private = (export(hall, private=flag) for flag in (False, True))
    assert public.splitlines()[0] == ",".join(PUBLIC)
    assert private.splitlines()[0] == ",".join(PRIVATE)
    table = rows(public)
    assert {row["play"] for row in table} == {done}
    assert "Ann" not in public
    for secret in ("recommended", "robot"):  # a robot's move is what was recommended
        assert secret not in public
    payoffs = dict(hall.look(done, 0).payoffs)
    assert float(table[0]["payoff"]) == payoffs["Ann"]
    table = rows(private)
    assert Counter(row["play"] for row in table) == {done: 2, running: 2, opened: 2}
    assert [row["recommended"] == row["action"] for row in table] == [True] * 6
    assert [row["by"] for row in table[:2]] == ["player", "robot"]
    assert table[0]["name"] == "Ann"
    assert table[0]["time"].startswith("1970-01-01T00:16:40")
    key = json.loads(hall.store.play(done).state)["play"]["key"]
    assert key not in public + private


def test_the_end_is_exported_when_players_may_see_it(tmp_path: Path) -> None:
    clock = Clock()
    hall = hall_of(tmp_path, pace=10, clock=clock)
    (play,) = hall.create()
    hall.start(play)
    for player in (0, 1):
        follow(hall, play, player)
    assert [view.status for view in views(hall, play)] == ["wait", "wait"]
    assert rows(export(hall, private=False)) == []
    clock.now += 10
    assert [view.status for view in views(hall, play)] == ["over", "over"]
    assert len(rows(export(hall, private=False))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_people(tmp_path: Path, seed: int) -> None:
    """Everything at random, also nonsense: plays end, and every answered move is kept."""
    rng, clock = random.Random(seed), Clock()
    policy = random_policy(accord.load_game("kuhn"), seed, components=3, pure=0.0)
    hall = open_hall(tmp_path / "plays.db", policy, limit=5, clock=clock)
    plays = hall.create(6)
    made: dict[tuple[str, int, int], int] = {}
    for step in range(250):
        clock.now += rng.random() / 10
        play, player = rng.choice(plays), rng.randrange(2)
        if step % 50 == 49:
            hall.store.close()
            hall = open_hall(tmp_path / "plays.db", policy, limit=5, clock=clock)
        kind = rng.random()
        if kind < 0.1:
            hall.start(play)
        elif kind < 0.12:
            hall.set_robot(play, player, rng.random() < 0.5)
        elif kind < 0.2:
            hall.tick()
        else:
            infoset, action = rng.randrange(6), rng.randrange(2)
            view = hall.look(play, player)
            if view.number is not None and rng.random() < 0.7:
                infoset = view.number
            try:
                hall.act(play, player, infoset, action)
            except AccordError:
                continue
            made[play, player, infoset] = action
    for play in plays:
        hall.start(play)
    for _ in range(20):
        clock.now += 6
        hall.tick()
    for play in plays:
        session = hall.referee.resume(json.loads(hall.store.play(play).state))
        assert session.is_over
        for player, seat in enumerate(session.seats):
            for move in seat.moves:
                expected = made.pop((play, player, move.infoset), move.action)
                assert move.action == expected
    assert made == {}
