"""The pages of the room over a socket: coming in, rounds, the operator, what they give away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.serve.answers import PADDED_BYTES
from accord.serve.design import Design
from accord.serve.room import Room
from tests.support.pages import Page
from tests.support.server import (
    Client,
    Clock,
    open_hall,
    open_room,
    operator_link,
    plain,
    running,
    threatened_entry,
)

FULL = {
    "rounds": 2, "quiz": True, "practice": True, "consent": "May we?", "ask": "name",
    "instructions": "Be *kind*.", "rate": 0.5, "fee": 4, "currency": "EUR",
}  # fmt: skip


def clean(page: str) -> str:
    """A page without what differs each time."""
    return re.sub(r'nonce="[\w-]+"|name="once" value="[\w-]+"', "", page)


def enter(server: str, room: Room, name: str = "") -> Client:
    door = Client(server)
    answer = door.post(f"/join/{room.code}", given=name, once=f"{name} {len(room.guests())}")
    assert answer.status == 303
    return Client(server + answer.headers["location"])


def step(client: Client, room: Room) -> str:
    """Do what the page asks for, following the mediator; return the heading of the page."""
    page = client.get().text
    head = re.search(r'<h2 id="head">(.*?)</h2>', page)[1]
    play = re.search(r'name="play" value="([^"]+)"', page)
    sent = {"play": play[1]} if play else {}
    if head == "Consent":
        client.post("/step", step="consent")
    elif head == "Instructions":
        client.post("/step", step="instructions")
    elif head == "A few questions":
        person = room.find(client.path.split("/")[-1])
        questions = room.rules_of(person).questions(person)
        client.post("/quiz", **{f"q{n}": one.answer for n, one in enumerate(questions)})
    elif head == "Your turn":
        infoset = re.search(r'name="infoset" value="(\d+)"', page)[1]
        told = re.search(r"recommends <strong>(.*?)</strong>", page)
        labels = re.findall(r'name="action" value="\d+">(.*?)</button>', page)
        action = labels.index(told[1]) if told else 0
        answer = client.post("/act", infoset=infoset, action=action, **sent)
        assert "late" not in answer.headers["location"]
    elif "/continue" in page:
        client.post("/continue", **sent)
    return head


def to_the_end(clients: list[Client], room: Room) -> list[str]:
    seen: list[str] = []
    for _ in range(60):
        heads = [step(client, room) for client in clients]
        seen += heads
        if all("In all rounds together" in client.get().text for client in clients):
            return seen
    raise AssertionError(f"not everybody came to the end: {heads}")


def test_who_scans_the_code_again_can_continue(tmp_path: Path) -> None:
    """On the same device, also when the doors are closed; elsewhere nothing is known of them."""
    room = open_room(tmp_path / "p.db", design=Design(ask="name"), clock=Clock())
    with running(room) as server:
        door, path = Client(server), f"/join/{room.code}"
        came = door.post(path, given="Ann", once="a")
        kept, *limits = came.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "Path=/join", "SameSite=lax"} <= set(limits)
        seat = came.headers["location"]
        words = "already come in on this device"
        for _ in range(2):
            again = door.get(path, Cookie=kept).text
            assert words in plain(again) and f'href="{seat}"' in again
            assert words not in plain(door.get(path).text)
            room.set_doors(False)
        operator = operator_link(room.hall).rsplit("/", 1)[1]
        for other in (operator, "x", ""):
            assert words not in plain(door.get(path, Cookie=f"accord-seat={other}").text)
        assert "Instructions" in plain(door.get(seat).text)
        room.remove(room.find(seat.rsplit("/", 1)[1]))
        assert words not in plain(door.get(path, Cookie=kept).text)


def test_a_session_from_the_door_to_the_pay(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", "signalling", Design(**FULL), clock=Clock())
    with running(room) as server:
        door = Client(server)
        assert "Code" in plain(door.get("/").text)
        assert "no session with this code" in plain(door.post("/", given="WRONG1").text)
        answer = door.post("/", given=room.code.lower())
        assert answer.headers["location"] == f"/join/{room.code}"
        assert "Your name" in plain(door.get(answer.headers["location"]).text)
        ann, bob = enter(server, room, "Ann"), enter(server, room, "Bob")
        assert "already" in plain(door.post(f"/join/{room.code}", given="ann").text)
        assert "Be <em>kind</em>." not in ann.get().text  # first the consent
        ann.post("/step", step="consent")
        assert "Be <em>kind</em>." in ann.get().text
        seen = to_the_end([ann, bob], room)
        assert {"Consent", "A few questions", "Waiting room", "Your turn"} <= set(seen)
        for client, other in ((ann, "Bob"), (bob, "Ann")):
            page = plain(client.get().text)
            assert "You are paid" in page and "EUR" in page
            assert "Looking back" in page
            assert other not in page
        operator = Client(server + operator_link(room.hall))
        page = plain(operator.get().text)
        assert "Ann finished" in page
        for path in ("private.csv", "payments.csv", "summary.csv", "codebook.csv"):
            assert operator.get(f"/{path}").headers["content-type"].startswith("text/csv")
        results = plain(operator.get("/results").text)
        assert "100 %" in results


def test_a_wrong_quiz_answer_is_marked(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", design=Design(quiz=True), clock=Clock())
    with running(room) as server:
        ann = enter(server, room)
        ann.post("/step", step="instructions")
        person = room.find(ann.path.split("/")[-1])
        right = [one.answer for one in room.rules_of(person).questions(person)]
        page = ann.post("/quiz", q0="<b>", q1=right[1], q2=right[2]).text
        assert page.count('aria-invalid="true"') == 1
        assert "&lt;b&gt;" in page and "<b>" not in page
        assert ann.post("/quiz", q0=right[0], q1=right[1], q2=right[2]).status == 303
        assert "Waiting room" in plain(ann.get().text)
        assert ann.post("/quiz", q0="1").status == 303  # too late, and harmless


def test_an_old_page_does_not_count_in_a_later_round(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", design=Design(rounds=2), clock=Clock())
    with running(room) as server:
        clients = [enter(server, room) for _ in range(2)]
        for client in clients:
            step(client, room)  # the instructions
        old = re.search(r'name="play" value="([^"]+)"', clients[0].get().text)[1]
        for _ in range(2):
            for client in clients:
                step(client, room)
        assert "Round 2 of 2" in plain(clients[0].get().text)
        late = clients[0].post("/act", infoset=0, action=0, play=old)
        assert late.headers["location"].endswith("?late")
        assert clients[0].post("/continue", play=old).status == 303
        assert "Your turn" in plain(clients[0].get().text)


def test_pages_are_sealed_and_load_nothing(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", design=Design(**FULL), clock=Clock())
    with running(room) as server:
        operator = Client(server + operator_link(room.hall))
        ann, bob = enter(server, room, "Ann"), enter(server, room, "Bob")
        answers = [Client(server).get(path) for path in ("/", f"/join/{room.code}", "/join/NO")]
        answers += [operator.get(path) for path in ("", "/poster", "/results")]
        for _ in range(25):
            answers.append(ann.get())
            for client in (ann, bob):
                step(client, room)
        for answer in answers:
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert "set-cookie" not in answer.headers
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'") and "unsafe" not in policy
            page = Page(answer.text)
            here = ("/seat/", "/join/", "/operator/", "/")
            assert all(one.split("=", 1)[1].startswith(here) for one in page.outside)
            assert len(answer.text.encode()) % PADDED_BYTES == 0


@pytest.mark.parametrize("game", ["chicken", "signalling"])
def test_all_pages_of_a_session_have_one_length(tmp_path: Path, game: str) -> None:
    """From reading the rules to the end, whatever is recommended and whoever decides."""
    lengths = set()
    design = Design(rounds=2, quiz=True, practice=True)
    for seed in range(3):
        room = open_room(tmp_path / f"{seed}.db", game, design, seed=seed, clock=Clock())
        with running(room) as server:
            clients = [enter(server, room) for _ in range(2)]
            for _ in range(12):
                for client in clients:
                    lengths.add(len(client.get().text.encode()))
                    step(client, room)
    assert len(lengths) == 1


@pytest.mark.slow
def test_pages_do_not_depend_on_what_others_are_told_or_do(tmp_path: Path) -> None:
    """The same own recommendation and moves, other plans and people: the same pages and states."""
    seen: dict[Any, set[str]] = {}
    plans = set()
    for seed in range(14):
        design = Design(rounds=2, roles="fixed", debrief="own")
        room = open_room(tmp_path / f"{seed}.db", "chicken", design, seed=seed, clock=Clock())
        with running(room) as server:
            clients = [enter(server, room) for _ in range(2)]
            for client in clients:
                client.post("/step", step="instructions")
            row, col = sorted(clients, key=lambda c: "as col" in plain(c.get().text))
            known: list[str] = []
            for _ in range(2):
                page = row.get().text
                told = [re.search(r"recommends <strong>(.*?)</strong>", c.get().text)[1]
                        for c in (row, col)]  # fmt: skip
                plans.add(tuple(told))
                known.append(told[0])
                step(col, room)  # the other answers, and nothing changes
                state = row.get("/state").text
                assert clean(row.get().text) == clean(page)
                text = clean(page + state).replace(row.path.split("/")[-1], "SECRET")
                seen.setdefault(tuple(known), set()).add(text)
                step(row, room)
                known.append(re.search(r"col: <span class=\"label\">(\w+)", row.get().text)[1])
                known.append(re.search(r"earned\">(\S+)<", row.get().text)[1])
                for client in clients:
                    step(client, room)
    assert len(plans) == 3
    assert all(len(pages) == 1 for pages in seen.values())
    assert len(seen) >= 4


def test_others_who_come_wait_or_play_change_nothing(tmp_path: Path) -> None:
    design = Design(rounds=2, match="random", rematch="strangers")
    room = open_room(tmp_path / "p.db", design=design, clock=Clock())
    with running(room) as server:
        clients = [enter(server, room) for _ in range(4)]
        for client in clients:
            step(client, room)
        lobby = clean(clients[0].get().text)
        late = enter(server, room)
        assert clean(clients[0].get().text) == lobby
        room.begin()
        page = clean(clients[0].get().text)
        step(late, room)  # and waits
        assert clean(clients[0].get().text) == page
        mine = re.search(r'name="play" value="([^"]+)"', page)[1]
        for client in clients[1:]:
            if f'name="play" value="{mine}"' not in client.get().text:
                step(client, room)
                step(client, room)
                assert clean(clients[0].get().text) == page


def test_the_operators_forms(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", design=Design(rounds=2, match="random"), clock=Clock())
    with running(room) as server:
        operator = Client(server + operator_link(room.hall))
        clients = [enter(server, room) for _ in range(3)]
        for client in clients:
            step(client, room)
        assert "3 people wait" in plain(operator.get().text)
        assert operator.post("/session/match").status == 303
        assert "1 person waits" in plain(operator.get().text)
        operator.post("/session/pause")
        assert "Pause" in plain(clients[0].get().text)
        operator.post("/session/continue")
        operator.post("/session/fill")
        assert "Your turn" in plain(clients[2].get().text)
        operator.post("/session/close")
        assert "No more people are let in" in plain(Client(server).get(f"/join/{room.code}").text)
        assert "No more" in plain(Client(server).post(f"/join/{room.code}", given="x").text)
        operator.post("/session/open")
        code = room.code
        operator.post("/session/code")
        assert Client(server).get(f"/join/{code}").status == 404
        link = re.search(
            r"http://[^<\s]+/seat/[\w-]+", operator.post("/person/1/invite", once="a").text
        )
        assert clients[0].get().status == 404
        assert Client(link[0]).get().status == 200
        assert operator.post("/person/1/invite", once="a").status == 303  # a reload
        operator.post("/person/2/remove")
        assert clients[1].get().status == 404
        play = room.look(1).seat.play
        again = operator.post(f"/play/{play}/restart", once="r").headers["location"]
        assert operator.post(f"/play/{play}/restart", once="r").status == 303
        assert room.look(1).seat.play == again.rsplit("/", 1)[1]
        operator.post("/session/end")
        assert "The play was stopped" in plain(clients[2].get().text)
        for path in ("/session/fly", "/person/99/invite", "/person/1/fly"):
            assert operator.post(path, once="x").status == 404
        stranger = Client(server + "/operator/x")
        for path in ("/session/end", "/person/1/remove"):
            assert stranger.post(path).status == 404
        for path in ("/poster", "/results", "/payments.csv", "/summary.csv", "/codebook.csv"):
            assert stranger.get(path).status == 404


def test_nobody_can_try_all_codes(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", clock=Clock())
    with running(room) as server:
        door = Client(server)
        answers = [door.get(f"/join/WRONG{n}").status for n in range(200)]
        assert answers[0] == 404 and 429 in answers
        assert door.get(f"/join/{room.code}").status == 200  # the right one still works


def test_one_link_cannot_flood_the_server(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", clock=Clock())
    with running(room) as server:
        ann, bob = enter(server, room), enter(server, room)
        answers = [ann.get("/state") for _ in range(400)]
        assert answers[-1].status == 429
        assert "Too many requests" in answers[-1].text
        assert bob.get().status == 200


def test_pages_in_another_language(tmp_path: Path) -> None:
    from accord.serve.messages import load_messages

    path = tmp_path / "xx.toml"
    path.write_text('language = "pt"\n[titles]\njoin = "Olá"\n[errors]\nnothing = "Nada"\n')
    messages = load_messages(str(path))
    room = open_room(tmp_path / "p.db", messages=messages, clock=Clock())
    with running(room) as server:
        page = Client(server).get("/").text
        assert '<html lang="pt">' in page and "Olá" in page
        assert "Nada" in Client(server).get("/nowhere").text
        assert '<html lang="en">' in Client(server + operator_link(room.hall)).get().text


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
def test_every_stage_in_every_language(tmp_path: Path, language: str) -> None:
    """No English is left on the pages of a whole session, and all have one length."""
    from accord.serve.messages import load_messages

    messages, english = load_messages(language), load_messages()
    room = open_room(
        tmp_path / "p.db", design=Design(**FULL), messages=messages, clock=Clock(), limit=60
    )
    seen, lengths = [], set()
    with running(room) as server:
        clients = [enter(server, room, name) for name in ("Ann", "Bob")]
        for _ in range(14):
            for client in clients:
                page = client.get().text
                seen.append(page)
                lengths.add(len(page.encode()))
                seat = accord.seat(f"{server}{client.path}")
                now = seat.look()
                if not now.last and now.status not in ("lobby", "wait"):
                    seat._step(now, accord.serve.obey, True)
                    seen.append(client.get().text)
                    lengths.add(len(seen[-1].encode()))
    text = "\n".join(seen)
    assert f'<html lang="{language}">' in text
    stages = ("consent", "instructions", "quiz", "lobby", "act", "wait", "over")
    for stage in stages:
        assert str(messages(f"titles.{stage}")) in text
    for key in ("rules.mediator_free", "act.after_robot_told", "debrief.title", "consent.agree"):
        assert str(messages(key)) in text
        assert str(english(key)) not in text
    assert len(lengths) == 1


def test_the_operator_sees_threats(tmp_path: Path) -> None:
    room = Room(open_hall(tmp_path / "p.db", threatened_entry(), clock=Clock()))
    people = [room.find(room.join()) for _ in range(2)]
    for person in people:
        room.pass_step(person, "instructions")
    for _ in range(2):
        for person in people:
            seat = room.look(person).seat
            if seat.status == "act":  # the entrant enters, and the incumbent fights
                room.act(person, seat.number, 0, seat.play)
    with running(room) as server:
        operator = Client(server + operator_link(room.hall))
        page = plain(operator.get().text)
        assert "The device is not credible: after a slip of somebody else, this advice" in page
        assert "player incumbent at 'entered' told 'fight' plays 'yield' instead" in page
        assert "threat" not in plain(operator.get("/play/1").text)
        shown = plain(operator.get("/play/1?reveal=yes").text)
        assert (
            "told fight (a threat: told only after somebody else disobeyed), played fight" in shown
        )
        assert shown.count("a threat") == 1
    credible = open_room(tmp_path / "q.db", "chicken", clock=Clock())
    with running(credible) as server:
        page = plain(Client(server + operator_link(credible.hall)).get().text)
        assert "The device is credible: " in page
