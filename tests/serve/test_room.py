"""The room: coming in, steps, rounds, roles, pay, leaving, pauses, treatments and restarts."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

import accord
from accord.errors import ArgumentError, MediatorError
from accord.mediator.mediator import Mediator
from accord.mediator.referee import Referee
from accord.serve.design import Design, Listed, Treatment, identity, read_people
from accord.serve.export import COLUMNS, PRIVATE, PUBLIC, codebook, export
from accord.serve.hall import Hall
from accord.serve.room import JoinError, Room
from accord.serve.store import Store
from accord.serve.summary import MeanPayoff, Share, summarize, summary_csv
from accord.serve.tables import payments_csv
from tests.support.server import Clock, device_policy, open_hall, open_room, threatened_entry


def room_of(
    tmp_path: Path, game: str = "chicken", clock: Clock | None = None, **design: Any
) -> Room:
    options = {key: design.pop(key) for key in ("limit", "pace") if key in design}
    return open_room(
        tmp_path / "plays.db", game, Design(**design), clock=clock or Clock(), **options
    )


def come(room: Room, count: int, ready: bool = True) -> list[int]:
    """People who have come in, and have read everything."""
    people = [room.find(room.join(f"person {n}")) for n in range(count)]
    assert all(people)
    if ready:
        for person in people:
            pass_all(room, person)
    return people


def pass_all(room: Room, person: int) -> None:
    while (stage := room.look(person).stage) in ("consent", "instructions", "quiz"):
        room.pass_step(person, stage)


def move(room: Room, person: int, obey: bool = True) -> None:
    """One decision of somebody who is asked for one."""
    seat = room.look(person).seat
    if seat is None or seat.status != "act":
        return
    told = 0 if seat.told is None else seat.actions.index(seat.told)
    room.act(person, seat.number, told if obey else (told + 1) % len(seat.actions), seat.play)


def play(room: Room, people: list[int], obey: bool = True) -> None:
    """Everybody decides until all plays are over."""
    for _ in range(20):
        for person in people:
            move(room, person, obey)


def mates(room: Room, person: int) -> set[int]:
    """Whoever sits in somebody's present play."""
    with room.store.transaction():
        play, _ = room.store.seat_of(person)
        return {seat.person for seat in room.store.seats(play)}


# Coming in


def test_coming_in(tmp_path: Path) -> None:
    room = room_of(tmp_path, ask="name")
    assert room.is_code(f" {room.code[:3].lower()}-{room.code[3:]} ")
    assert not room.is_code("") and not room.is_code(room.code[:-1])
    ann = room.find(room.join("  Ann   Lee "))
    assert room.look(ann).name == "Ann Lee"
    for name, error in (("ann lee", "join.taken"), (" ", "join.empty")):
        with pytest.raises(JoinError, match=error):
            room.join(name)
    room.set_doors(open=False)
    with pytest.raises(JoinError, match=r"join\.closed"):
        room.join("Bob")
    room.set_doors(open=True)
    assert room.find(room.join("Bob")) != ann
    old = room.code
    room.renew_code()
    assert not room.is_code(old)


def test_a_form_that_is_sent_twice_lets_one_person_in(tmp_path: Path) -> None:
    room = room_of(tmp_path, ask="name")
    first, again = room.join("Ann", "form 1"), room.join("Ann", "form 1")
    assert room.find(first) is None  # the answer to the first may have been lost
    assert room.find(again) == 1
    assert len(room.guests()) == 1


def test_steps_come_in_order(tmp_path: Path) -> None:
    room = room_of(tmp_path, consent="May we?", quiz=True, practice=True)
    person = room.find(room.join())
    assert room.look(person).stage == "consent"
    room.pass_step(person, "quiz")  # not yet
    assert room.look(person).stage == "consent"
    room.pass_step(person, "consent")
    assert room.look(person).stage == "instructions"
    room.pass_step(person, "instructions")
    questions = room.rules_of(person).questions(person)
    assert room.answer(person, ["x"] * 3) == [False] * 3
    assert room.answer(person, []) == [False] * 3
    assert room.look(person).stage == "quiz"
    assert room.answer(person, [str(one.answer) for one in questions]) == [True] * 3
    view = room.look(person)
    assert (view.stage, view.round, view.seat.status) == ("seat", 0, "act")
    with pytest.raises(MediatorError, match="not over"):
        room.proceed(person)
    move(room, person)
    view = room.look(person)
    assert view.proceeds and view.seat.status == "over"
    assert (view.points, view.rounds) == (0, ())
    room.proceed(person)
    assert room.look(person).stage == "lobby"


def test_who_refuses_does_not_play(tmp_path: Path) -> None:
    room = room_of(tmp_path, consent="May we?")
    people = come(room, 3, ready=False)
    room.refuse(people[0])
    assert room.look(people[0]).stage == "declined"
    pass_all(room, people[0])
    for person in people[1:]:
        pass_all(room, person)
    assert room.look(people[1]).stage == room.look(people[2]).stage == "seat"
    assert room.look(people[0]).stage == "declined"


def test_invited_people_only_do_what_is_asked_for(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    room.hall.create()
    person = room.find(room.hall.invite("1", 0))
    assert room.look(person).seat.status == "open"
    (folder := tmp_path / "other").mkdir()
    room = room_of(folder, quiz=True, practice=True)
    room.hall.create()
    person = room.find(room.hall.invite("1", 1))
    assert room.look(person).stage == "instructions"
    pass_all(room, person)
    assert room.look(person).round == 0
    play(room, [person])
    room.proceed(person)
    view = room.look(person)
    assert (view.seat.play, view.seat.player, view.seat.status) == ("1", "col", "open")


# Matching and rounds


def test_by_arrival_a_play_begins_when_enough_people_wait(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    people = come(room, 3)
    assert [room.look(person).stage for person in people] == ["seat", "seat", "lobby"]
    assert mates(room, people[0]) == set(people[:2])
    people += come(room, 1)
    assert mates(room, people[3]) == set(people[2:])


def test_at_random_the_operator_begins(tmp_path: Path) -> None:
    room = room_of(tmp_path, match="random")
    people = come(room, 4)
    assert {room.look(person).stage for person in people} == {"lobby"}
    assert room.state().waiting == 4
    assert room.begin() == 2
    assert {room.look(person).stage for person in people} == {"seat"}
    (late,) = come(room, 1)
    assert room.begin() == 0
    assert room.fill() == 1
    assert mates(room, late) == {late, None}


@pytest.mark.parametrize("roles", ["fixed", "rotating", "random"])
def test_partners_stay_together(tmp_path: Path, roles: str) -> None:
    room = room_of(tmp_path, rounds=4, roles=roles)
    people = come(room, 4)
    first, had = mates(room, people[0]), []
    for round in range(1, 5):
        assert room.look(people[0]).round == round
        assert mates(room, people[0]) == first
        had.append(room.look(people[0]).seat.player)
        play(room, people)
        for person in people:
            room.proceed(person)
    if roles == "fixed":
        assert len(set(had)) == 1
    if roles == "rotating":
        assert had[0] == had[2] != had[1] == had[3]
    assert room.look(people[0]).last
    assert len(room.look(people[0]).rounds) == 4


@pytest.mark.parametrize("match", ["arrival", "random"])
@pytest.mark.parametrize(("roles", "rounds"), [("fixed", 5), ("rotating", 5), ("random", 5)])
def test_perfect_strangers_meet_once(tmp_path: Path, match: str, roles: str, rounds: int) -> None:
    room = room_of(tmp_path, rounds=rounds, match=match, rematch="perfect", roles=roles)
    people, met, rng = come(room, 12), Counter[frozenset[int]](), Random(1)
    room.begin()
    while left := [person for person in people if not room.look(person).last]:
        person = rng.choice(left)  # everybody is as fast as they are
        view = room.look(person)
        if view.proceeds:
            room.proceed(person)
        elif view.seat is not None and view.seat.status == "act":
            met.update([frozenset(mates(room, person))])
            move(room, person)
    assert sum(met.values()) == rounds * 12
    assert set(met.values()) == {2}  # each pair was seen by two people, in one round
    assert room.state().met_again == ()


@pytest.mark.parametrize("match", ["arrival", "random"])
def test_strangers_wait_until_nobody_plays(tmp_path: Path, match: str) -> None:
    room = room_of(tmp_path, rounds=2, match=match, rematch="strangers")
    people = come(room, 4)
    room.begin()
    one, other = sorted({frozenset(mates(room, person)) for person in people}, key=min)
    play(room, list(one))
    for person in one:
        room.proceed(person)
    assert {room.look(person).stage for person in one} == {"lobby"}
    play(room, list(other))
    for person in other:
        room.proceed(person)
    assert {room.look(person).round for person in people} == {2}


def test_a_list_says_who_plays_with_whom(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,group,role\nAnn,1,col\nBob,2,\nCem,1,\nDora,2,row\n")
    listed = tuple(read_people(path, ("row", "col"), ("mediator",)))
    room = room_of(tmp_path, match="list", people=listed)
    with pytest.raises(JoinError, match=r"join\.not_listed"):
        room.join("Eve")
    links = dict(room.invite_list())
    assert list(links) == ["Ann", "Bob", "Cem", "Dora"]
    assert room.invite_list() == []  # nobody loses a link
    ids = {name: room.find(token) for name, token in links.items()}
    for name in ("Ann", "Bob", "Dora"):
        pass_all(room, ids[name])
    assert room.look(ids["Ann"]).stage == "lobby"
    assert mates(room, ids["Bob"]) == {ids["Bob"], ids["Dora"]}
    pass_all(room, ids["Cem"])
    players = {name: room.look(person).seat.player for name, person in ids.items()}
    assert players == {"Ann": "col", "Bob": "col", "Cem": "row", "Dora": "row"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who\nAnn\n", "first line has name and group; it has who"),
        ("name,group\n,1\n", "line 2: name and group must not be empty"),
        ("name,group\nAnn,1\nann,2\n", "every name must be there once; 'ann'"),
        ("name,group\nA,1\nB,1\nC,1\n", "at most 2 people; group 1 has 3"),
        ("name,group,role\nA,1,king\n", "line 2: the role must be one of row, col; got 'king'"),
        ("name,group,role\nA,1,row\nB,1,row\n", "two people of group 1 have the same role"),
        ("name,group,treatment\nA,1,x\n", "treatment must be one of mediator; got 'x'"),
        ("name,group\n", "at least one name"),
        ("", "it has nothing"),
    ],
)
def test_bad_lists(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=message):
        read_people(path, ("row", "col"), ("mediator",))


def test_lists_as_spreadsheets_save_them(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("\ufeffname;group;role\r\nZoë;1;col\r\nBob;1;\r\n".encode())
    first, second = read_people(path, ("row", "col"), ("mediator",))
    assert (first, second) == (Listed("Zoë", "1", 1), Listed("Bob", "1"))
    path.write_bytes("name;group\r\nZoë;1\r\n".encode("cp1252"))
    with pytest.raises(ArgumentError, match="must be saved as UTF-8"):
        read_people(path, ("row", "col"), ("mediator",))


def test_a_missing_list(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_people(tmp_path / "no.csv", ("row", "col"), ())


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"rounds": 0}, "rounds must be 1 to 1000; got 0"),
        ({"rematch": "friends"}, "rematch must be one of partners, strangers, perfect"),
        ({"fee": -1.0}, "fee must be at least 0"),
        ({"fee": float("nan")}, "fee must be at least 0"),
        ({"rate": -1}, "rate must be positive"),
        ({"gone": 0}, "gone must be positive"),
        ({"match": "list"}, "give a file with their names"),
        ({"people": (Listed("Ann", "1"),)}, "give a file with their names"),
    ],
)
def test_bad_designs(design: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Design(**design)


def test_pay(tmp_path: Path) -> None:
    room = room_of(tmp_path, rounds=2, rate=0.5, fee=4, currency="EUR", ask="name")
    people = come(room, 2)
    earned = Counter[int]()
    for _ in range(2):
        play(room, people)
        for person in people:
            earned[person] += room.look(person).seat.payoff
            room.proceed(person)
    for person in people:
        view = room.look(person)
        assert view.points == earned[person]
        assert view.money == f"{4 + earned[person] / 2:.2f} EUR"
    rows = list(csv.DictReader(io.StringIO(payments_csv(room.guests()))))
    assert [row["name"] for row in rows] == ["person 0", "person 1"]
    assert [float(row["points"]) for row in rows] == [earned[p] for p in people]
    assert [float(row["pay"]) for row in rows] == [4 + earned[p] / 2 for p in people]
    assert {row["currency"] for row in rows} == {"EUR"}
    assert Design().money(7) is None


# Leaving, pausing, restarting


def test_who_leaves_is_replaced_and_may_come_back(tmp_path: Path) -> None:
    clock = Clock()
    room = room_of(tmp_path, "signalling", clock, rounds=2, gone=60, roles="fixed")
    people = come(room, 2)
    student = next(p for p in people if room.look(p).seat.player == "student")
    professor = next(p for p in people if p != student)
    room.tick()
    clock.now += 59
    room.rounds.hear(student)
    room.tick()
    assert room.look(professor).stage == "seat"
    clock.now += 1
    room.tick()
    assert [one.doing for one in room.guests()].count("left") == 1
    move(room, student)
    assert room.look(student).seat.status == "over"  # a robot played as the professor
    room.proceed(student)  # the partner is away, and does not keep anybody waiting
    assert room.look(student).round == 2
    room.rounds.hear(professor)
    move(room, student)
    assert room.look(professor).seat.status == "act"
    move(room, professor)
    assert room.look(student).last


@pytest.mark.parametrize("match", ["arrival", "random"])
def test_among_strangers_a_robot_sits_for_somebody_who_has_left(tmp_path: Path, match: str) -> None:
    clock = Clock()
    room = room_of(tmp_path, clock=clock, match=match, rounds=4, rematch="strangers", gone=60)
    *others, leaver = people = come(room, 4)
    room.begin()
    room.tick()
    for round in (1, 2, 3, 4):
        here = people if round == 4 else others
        assert {room.look(person).round for person in others} == {round}
        clock.now += 60
        for person in here:
            room.rounds.hear(person)
        room.tick()
        play(room, here)
        if round == 3:
            room.rounds.hear(leaver)  # they come back, and play the next round with the others
            room.proceed(leaver)
        for person in others:
            room.proceed(person)
    assert all(len(room.look(person).rounds) == 4 for person in others)
    assert [one.round for one in room.look(leaver).rounds] == [1, 4]
    rows = list(csv.DictReader(io.StringIO(export(room.hall, private=True))))
    assert Counter((row["round"], row["by"]) for row in rows) == {
        ("1", "player"): 3, ("1", "robot"): 1, ("2", "player"): 3, ("2", "robot"): 1,
        ("3", "player"): 3, ("3", "robot"): 1, ("4", "player"): 4,
    }  # fmt: skip


def test_if_wanted_a_play_stops_when_somebody_leaves(tmp_path: Path) -> None:
    clock = Clock()
    room = room_of(tmp_path, clock=clock, rounds=2, gone=60, stop=True)
    people = come(room, 2)
    room.tick()
    clock.now += 50
    room.rounds.hear(people[0])
    clock.now += 20
    room.tick()
    view = room.look(people[0])
    assert (view.seat.status, view.proceeds, view.points) == ("stopped", True, 0)


def test_the_operator_can_remove_somebody(tmp_path: Path) -> None:
    room = room_of(tmp_path, "signalling")
    token = room.join()
    other = room.find(room.join())
    person = room.find(token)
    for one in (person, other):
        pass_all(room, one)
    room.remove(person)
    assert room.find(token) is None
    play(room, [other])
    assert room.look(other).seat.status == "over"
    with pytest.raises(ArgumentError, match="no person 99"):
        room.remove(99)
    new = room.invite(other)
    assert room.find(new) == other


def test_nobody_waits_for_somebody_who_does_not_say_continue(tmp_path: Path) -> None:
    clock = Clock()
    room = room_of(tmp_path, clock=clock, rounds=2, limit=40)
    people = come(room, 2)
    play(room, people)
    room.proceed(people[0])
    assert room.look(people[1]).until == clock.now + 40
    clock.now += 40
    room.tick()
    assert room.look(people[0]).round == 2


def test_a_pause_stops_all_clocks(tmp_path: Path) -> None:
    clock = Clock()
    room = room_of(tmp_path, clock=clock, limit=30, gone=60)
    people = come(room, 3)
    clock.now += 29
    room.hall.pause()
    clock.now += 1000
    room.tick()
    assert room.look(people[0]).stage == "paused"
    assert room.look(people[2]).stage == "paused"
    with pytest.raises(MediatorError, match="not your turn"):
        room.act(people[0], 0, 0)
    late = come(room, 1)
    assert room.look(late[0]).stage == "paused"
    room.store.close()
    room = room_of(tmp_path, clock=clock, limit=30, gone=60)  # also over a restart
    assert room.look(people[0]).stage == "paused"
    room.hall.proceed()
    room.tick()
    assert room.look(people[0]).seat.until == clock.now + 30
    assert room.look(late[0]).stage == "seat"
    play(room, people + late)
    assert room.look(people[0]).seat.status == "over"


def test_one_play_begins_again(tmp_path: Path) -> None:
    room = room_of(tmp_path, rounds=2)
    people = come(room, 2)
    play(room, people, obey=False)
    before = room.look(people[0])
    assert before.seat.status == "over"
    new = room.hall.restart(before.seat.play)
    view = room.look(people[0])
    assert (view.seat.play, view.seat.status, view.round) == (new, "act", 1)
    assert view.points == 0
    play(room, people)
    assert len(room.look(people[0]).rounds) == 1
    room.hall.restart(new)
    for person in people:
        room.proceed(person) if room.look(person).proceeds else None
    play(room, people)
    for person in people:
        room.proceed(person)
    assert room.look(people[0]).round == 2


def test_a_play_does_not_begin_again_when_its_people_play_another(tmp_path: Path) -> None:
    room = room_of(tmp_path, rounds=3, practice=True)
    people = come(room, 2)
    practice = room.look(people[0]).seat.play
    assert room.hall.may_restart(practice)
    play(room, people)
    for person in people:
        room.proceed(person)
    first = room.look(people[0]).seat.play
    assert not room.hall.may_restart(practice)
    play(room, people)
    for person in people:
        room.proceed(person)
    assert room.look(people[0]).round == 2
    assert not room.hall.may_restart(first)
    with pytest.raises(MediatorError, match="play another"):
        room.hall.restart(first)
    assert len(room.look(people[0]).rounds) == 1
    second = room.look(people[0]).seat.play
    assert room.hall.may_restart(second)
    room.end()
    assert not room.hall.may_restart(second)


def test_the_end_of_everything(tmp_path: Path) -> None:
    room = room_of(tmp_path, rounds=3)
    people = come(room, 5)
    play(room, people[:2])
    earned = room.look(people[0]).points
    room.proceed(people[0])
    room.end()
    assert room.state().ended
    with pytest.raises(JoinError, match=r"join\.closed"):
        room.join()
    assert room.look(people[0]).stage == "finished"
    assert room.look(people[0]).points == earned
    assert room.look(people[4]).stage == "finished"
    view = room.look(people[2])
    assert (view.seat.status, view.last, view.proceeds) == ("stopped", True, False)
    assert room.begin() == room.fill() == 0


# Debriefing


def test_looking_back(tmp_path: Path) -> None:
    room = room_of(tmp_path, rounds=2)
    people = come(room, 2)
    play(room, people)
    assert room.look(people[0]).debrief == ()
    for person in people:
        room.proceed(person)
    play(room, people, obey=False)
    lines = room.look(people[0]).debrief
    role = room.look(people[0]).seat.player
    assert lines[0] == f"If everybody follows the mediator, {role} earns 5.25 on average."
    assert lines[1] == "Round 1 of 2: You followed every recommendation."
    assert lines[2].startswith("Round 2 of 2: At your turn you were told ")
    assert "following from there on was worth" in lines[2]
    assert len(lines) == 3


@pytest.mark.parametrize("debrief", ["none", "own", "all"])
def test_what_the_others_were_told_is_shown_only_if_allowed(tmp_path: Path, debrief: str) -> None:
    room = room_of(tmp_path, debrief=debrief)
    people = come(room, 2)
    play(room, people)
    lines = room.look(people[0]).debrief
    assert any("was told" in line for line in lines) == (debrief == "all")
    assert bool(lines) == (debrief != "none")


def test_looking_back_at_a_place_where_nobody_comes_who_obeys(tmp_path: Path) -> None:
    """The device never sends Y from a good student with these plans; the student disobeys."""
    game = accord.load_game("signalling")
    device = [(1, ({"good": "X", "bad": "X"}, {"X": "refuse", "Y": "refuse"}))]
    policy = accord.CorrelatedPolicy.from_device(game, device)
    mediator = Mediator(game, policy, 1, 1)
    about = {what: str(value) for what, value in mediator.identity.items()}
    room = Room(Hall(Referee(mediator), Store(tmp_path / "p.db", about), clock=Clock()))
    people = come(room, 2)
    play(room, people, obey=False)
    student = next(p for p in people if room.look(p).seat.player == "student")
    professor = next(p for p in people if p != student)
    assert any("your move at best" in line for line in room.look(student).debrief)
    lines = room.look(professor).debrief
    assert "You came to Y only because somebody had disobeyed." in lines


@pytest.mark.parametrize("obey", [True, False])
def test_looking_back_at_a_threat(tmp_path: Path, obey: bool) -> None:
    room = Room(open_hall(tmp_path / "p.db", threatened_entry(), clock=Clock()))
    people = {room.look(person).seat.player: person for person in come(room, 2)}
    move(room, people["entrant"], obey=False)
    move(room, people["incumbent"], obey)
    lines = room.look(people["incumbent"]).debrief
    assert lines[1:] == (
        "You were told fight at your turn only because somebody had disobeyed. It was a threat "
        "that nobody should carry out: yield was worth 2 more on average.",
    )
    assert not any("threat" in line for line in room.look(people["entrant"]).debrief)
    rows = list(csv.DictReader(io.StringIO(export(room.hall, private=True))))
    assert [row["threat"] for row in rows] == ["0", "1"]
    assert "threat" not in export(room.hall, private=False).splitlines()[0]


# Treatments


def two_treatments(tmp_path: Path, **design: Any) -> Room:
    policy, clock = device_policy("chicken"), Clock()
    treatments = [
        Treatment(Referee(Mediator(policy.game, policy, 1, 1))),
        Treatment(Referee(Mediator(policy.game, policy, 0, 2)), "alone", mediated=False),
    ]
    store = Store(tmp_path / "plays.db", identity(treatments))
    return Room(Hall(treatments, store, clock=clock), Design(**design))


def test_treatments_are_balanced_and_kept(tmp_path: Path) -> None:
    room = two_treatments(tmp_path, rounds=3, rematch="strangers", match="random")
    people = come(room, 12)
    room.begin()
    assigned = {one.id: one.treatment for one in room.guests()}
    assert Counter(assigned.values()) == {"mediator": 6, "alone": 6}
    for _ in range(3):
        for person in people:
            view = room.look(person)
            assert (view.seat.told is not None) == (assigned[person] == "mediator")
            assert {assigned[mate] for mate in mates(room, person)} == {assigned[person]}
        play(room, people)
        for person in people:
            room.proceed(person)
    rows = list(csv.DictReader(io.StringIO(export(room.hall, private=True))))
    assert Counter(row["treatment"] for row in rows) == {"mediator": 18, "alone": 18}
    assert {row["recommended"] for row in rows if row["treatment"] == "alone"} == {""}
    assert {row["obeyed"] for row in rows if row["treatment"] == "mediator"} == {"1"}
    assert room.look(people[0]).last
    for person in people:
        assert bool(room.look(person).debrief) == (assigned[person] == "mediator")
    means = summarize(room.hall).payoffs
    assert {(one.treatment, one.expected) for one in means} == {("mediator", 5.25), ("alone", None)}


def test_who_does_not_take_part_leaves_nobody_alone_in_a_treatment(tmp_path: Path) -> None:
    room = two_treatments(tmp_path, consent="May we?", gone=60)
    lost = [room.find(room.join()) for _ in range(2)]
    room.refuse(lost[0])
    room.rounds.leave(lost[1])
    for _ in range(8):
        pass_all(room, room.find(room.join()))
    counts = Counter(one.treatment for one in room.guests() if one.id not in lost)
    assert counts == {"mediator": 4, "alone": 4}
    assert room.state().waiting == 0


def test_without_a_mediator_nobody_reads_about_one(tmp_path: Path) -> None:
    room = two_treatments(tmp_path)
    assert "computer program" not in room.rules["alone"].as_text(room.messages)
    assert "computer program" in room.rules["mediator"].as_text(room.messages)


# Data


def test_one_row_per_decision(tmp_path: Path) -> None:
    clock = Clock()
    room = room_of(tmp_path, "signalling", clock, rounds=2, ask="name", practice=True)
    people = come(room, 2)
    for person in people:
        play(room, [person])
        room.proceed(person)
    for _ in range(2):
        for _ in range(3):
            for person in people:
                view = room.look(person)
                if view.seat.status == "act":
                    room.hall.note_shown(view.seat.play, room.player(person))
                    clock.now += 5
                    room.hall.note_shown(view.seat.play, room.player(person))
                    move(room, person)
        for person in people:
            room.proceed(person)
    rows = list(csv.DictReader(io.StringIO(export(room.hall, private=True))))
    assert tuple(rows[0]) == PRIVATE == tuple(COLUMNS)
    counted = [row for row in rows if row["round"] in ("1", "2")]
    assert len(counted) == 4
    points = Counter[str]()
    for row in counted:
        points[row["person"]] += float(row["payoff"])
        assert float(row["earnings"]) == points[row["person"]]
        assert row["chance"] in ("good", "bad")
        assert row["obeyed"] == "1"
        assert row["person_name"].startswith("person ")
        shown, made = (datetime.fromisoformat(row[what]) for what in ("shown", "time"))
        assert (made - shown).total_seconds() == 5
    assert {row["by"] for row in rows if row["round"] == "0"} == {"player", "robot"}
    public = list(csv.DictReader(io.StringIO(export(room.hall, private=False))))
    assert tuple(public[0]) == PUBLIC
    assert not set(PUBLIC) & {"name", "person", "person_name", "recommended", "obeyed", "by"}
    book = {row["column"]: row["meaning"] for row in csv.DictReader(io.StringIO(codebook()))}
    assert book == COLUMNS


def test_names_are_no_formulas(tmp_path: Path) -> None:
    room = room_of(tmp_path, ask="name")
    for name in ("=1+1", "@x", "+2", "-3"):
        pass_all(room, room.find(room.join(name)))
    rows = csv.DictReader(io.StringIO(export(room.hall, private=True)))
    assert {row["person_name"] for row in rows} == {"'=1+1", "'@x", "'+2", "'-3"}


def test_shares_and_means(tmp_path: Path) -> None:
    room = room_of(tmp_path, rounds=2)
    people = come(room, 4)
    play(room, people)
    for person in people:
        room.proceed(person)
    play(room, people, obey=False)
    summary = summarize(room.hall)
    found = {
        (one.round, one.player, one.infoset): (one.decisions, one.obeyed) for one in summary.shares
    }
    assert found[None, None, None] == (8, 4)
    assert found[1, None, None] == (4, 4)
    assert found[2, None, None] == (4, 0)
    assert found[None, "row", "row"] == found[None, "row", None] == (4, 2)
    assert found[1, "row", "row"] == (2, 2)
    assert found[2, "row", "row"] == (2, 0)
    with room.store.transaction():
        payoffs = [room.hall.payoffs(row.id) for row in room.store.plays()]
    for player, mean in enumerate(summary.payoffs):
        own = [row[player] for row in payoffs]
        assert (mean.plays, mean.mean, mean.expected) == (4, sum(own) / 4, 5.25)
        low, high = mean.interval
        assert low <= mean.mean <= high
    same = MeanPayoff("mediator", "row", 2, 7.0, 0.0, 5.25)
    assert same.interval == (-math.inf, math.inf)  # not from 7 to 7
    rows = list(csv.DictReader(io.StringIO(summary_csv(room.hall))))
    assert {row["what"] for row in rows} == {"obeyed", "payoff"}


def test_robots_do_not_count_as_obedient(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    (person,) = come(room, 1)
    room.fill()
    play(room, [person], obey=False)
    summary = summarize(room.hall)
    assert [one.obeyed for one in summary.shares] == [0] * 5
    assert [one.plays for one in summary.payoffs] == [1]  # the robot's payoff is nobody's


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 10), (50, 100), (1, 1)])
def test_intervals_are_those_of_clopper_and_pearson(k: int, n: int) -> None:
    """At the ends the tails of the binomial distribution have 2.5 percent."""
    from scipy.stats import binom

    low, high = Share("mediator", None, None, None, n, k).interval
    assert low <= k / n <= high
    if k > 0:
        assert binom.sf(k - 1, n, low) == pytest.approx(0.025)
    if k < n:
        assert binom.cdf(k, n, high) == pytest.approx(0.025)


# Restarts


def test_another_process_continues_at_any_moment(tmp_path: Path) -> None:
    """A room that is thrown away after every request: everybody still gets to the end."""
    design = {
        "rounds": 3,
        "rematch": "strangers",
        "practice": True,
        "quiz": True,
        "match": "random",
    }
    clock = Clock()
    room = room_of(tmp_path, clock=clock, **design)
    people = come(room, 4, ready=False)
    done = Counter[tuple[int, int | None]]()

    def renewed() -> Room:
        room.store.close()
        return room_of(tmp_path, clock=clock, **design)

    for _ in range(60):
        for person in people:
            room = renewed()
            view = room.look(person)
            if view.stage in ("instructions", "quiz"):
                room.pass_step(person, view.stage)
            elif view.seat is not None and view.seat.status == "act":
                move(room, person)
                done[person, view.round] += 1
            elif view.proceeds:
                room.proceed(person)
        if room.state().waiting == 4:
            room.begin()
    assert all(room.look(person).last for person in people)
    assert done == {(person, round): 1 for person in people for round in range(4)}
    assert all(len(room.look(person).rounds) == 3 for person in people)
