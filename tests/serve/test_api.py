"""Seats for programs: the JSON interface, its description, the client and the tools."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as McpClient

import accord
from accord.errors import ArgumentError, MediatorError
from accord.serve.api_description import STATUSES, describe
from accord.serve.app import make_app
from accord.serve.client import SeatClient, Situation, obey
from accord.serve.design import Design
from accord.serve.room import Room
from accord.serve.tools import HINTS, make_tools
from tests.support.policies import random_policy
from tests.support.server import Answer, Client, Clock, open_hall, open_room, running


def as_program(client: Client, path: str, sent: Any) -> Answer:
    import http.client
    from contextlib import closing

    with closing(http.client.HTTPConnection(client.host, timeout=60)) as connection:
        connection.request("POST", client.path + path, json.dumps(sent))
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, headers, answer.read().decode())


def sit(server: str, room: Room, count: int = 2) -> list[SeatClient]:
    return [accord.seat(f"{server}/join/{room.code}", f"bot {n}") for n in range(count)]


def play_together(seats: list[SeatClient], **options: Any) -> list[Situation]:
    ends: dict[int, Situation] = {}

    def run(n: int) -> None:
        ends[n] = seats[n].play(**options)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(seats))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(ends) == len(seats)
    return [ends[n] for n in range(len(seats))]


def test_two_programs_play_a_session(tmp_path: Path) -> None:
    design = Design(
        rounds=2, quiz=True, practice=True, consent="May we?", ask="name", rate=0.5, fee=1
    )
    room = open_room(tmp_path / "p.db", "signalling", design)
    with running(room) as server:
        ends = play_together(sit(server, room))
        for end in ends:
            assert end.last
            assert end.status == "over"
            assert end.money is not None
            assert all(move["recommended"] == move["action"] for move in end.moves)
            assert "You followed every recommendation." in end.debrief[1]
        assert {(guest.rounds, guest.opened) for guest in room.guests()} == {(2, True)}


def test_a_program_may_disobey(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db")

    def contrary(now: Situation) -> str:
        return next(action for action in now.actions if action != now.recommendation)

    with running(room) as server:
        ends = play_together(sit(server, room), decide=contrary)
        assert all(move["recommended"] != move["action"] for end in ends for move in end.moves)


def test_at_k_0_programs_choose(tmp_path: Path) -> None:
    for delegate in (True, False):
        room = open_room(tmp_path / f"{delegate}.db", k=0)
        with running(room) as server:
            for end in play_together(sit(server, room), delegate=delegate):
                assert {move["by"] for move in end.moves} == {"mediator" if delegate else "player"}


KINDS = {"string": str, "number": (int, float), "integer": int, "null": type(None),
    "boolean": bool, "array": list, "object": dict}  # fmt: skip


def check_form(found: dict[str, Any], schema: dict[str, Any]) -> None:
    """The part of JSON Schema that the description uses."""
    assert list(found) == schema["required"] == list(schema["properties"])
    for name, form in schema["properties"].items():
        if "enum" in form:
            assert found[name] in form["enum"]
            continue
        kinds = [form["type"]] if isinstance(form["type"], str) else form["type"]
        assert any(isinstance(found[name], KINDS[kind]) for kind in kinds), name


def test_the_description_is_that_of_the_server(tmp_path: Path) -> None:
    """Every path exists, every route is described, and views have the described form."""
    room = open_room(tmp_path / "p.db", design=Design(quiz=True, rounds=2), clock=Clock())
    spec = describe("http://x")
    routes = {
        (re.sub("{token}", "{seat}", route.path), method.lower())
        for route in make_app(room).routes
        if "/api" in route.path and route.path not in ("/api", "/api/openapi.json")
        for method in route.methods - {"HEAD"}
    }
    assert routes == {
        (path, method)
        for path, item in spec["paths"].items()
        for method in item
        if method != "parameters"
    }
    schema = spec["components"]["schemas"]["View"]
    assert list(Situation.__dataclass_fields__) == schema["required"]
    assert STATUSES.keys() == HINTS.keys()
    seen = set()
    with running(room) as server:
        served = json.loads(Client(server).get("/api/openapi.json").text)
        assert served == describe(server)
        page = Client(server).get("/api").text
        for path in spec["paths"]:
            assert path in page
        seats = sit(server, room)
        for _ in range(20):
            for seat in seats:
                found = json.loads(Client(seat.url).get("/api").text)
                check_form(found, schema)
                seen.add(found["status"])
                now = Situation(**found)
                if now.status not in ("lobby", "wait") and not now.last:
                    seen.add(seat._step(now, obey, True).status)
    assert seen >= {"instructions", "quiz", "lobby", "act", "wait", "over"}


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/act", {}), ("/act", []), ("/act", {"play": 1, "infoset": "row", "action": "dare"}),
        ("/choose", {"play": "1", "delegate": "yes"}), ("/step", {"step": "fly"}),
        ("/quiz", {"answers": "x"}), ("/quiz", {}), ("/continue", {}),
    ],
)  # fmt: skip
def test_nonsense_is_refused(tmp_path: Path, path: str, sent: Any) -> None:
    room = open_room(tmp_path / "p.db", clock=Clock())
    with running(room) as server:
        (seat, _) = sit(server, room)
        client = Client(seat.url + "/api")
        before = client.get().text
        answer = as_program(client, path, sent)
        assert answer.status == 400
        assert json.loads(answer.text).keys() == {"error"}
        assert client.get().text == before


def test_wrong_links_and_late_moves(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", clock=Clock())
    with running(room) as server:
        answers = {
            Client(server).get(path).text
            for path in ("/seat/x/api", "/seat/x/api/rules", "/seat/x/api/news", "/seat/y/api")
        }
        assert len(answers) == 1
        assert "does not work" in json.loads(answers.pop())["error"]
        with pytest.raises(MediatorError, match="does not work"):
            accord.seat(f"{server}/seat/nonsense").look()
        with pytest.raises(MediatorError, match="does not work"):
            accord.seat(f"{server}/join/WRONG1")
        row, col = sit(server, room)
        for one in (row, col):
            one.agree()
        now = row.look()
        row.act("dare", now)
        assert row.act("dare", now).status == "wait"  # the same again changes nothing
        with pytest.raises(MediatorError, match="too late, or you had already made another"):
            row.act("yield", now)
        with pytest.raises(MediatorError, match="one of: none, because nothing is asked now"):
            row.act("dare")
        with pytest.raises(MediatorError, match="one of: 'dare', 'yield'; got 'fly'"):
            col.act("fly")
        sent = {"play": now.play, "infoset": "row", "action": "fly"}
        assert as_program(Client(col.url), "/api/act", sent).status == 409
        assert (
            as_program(Client(col.url), "/api/choose", {"play": "1", "delegate": True}).status
            == 409
        )
        room.set_doors(open=False)
        with pytest.raises(MediatorError, match="No more people are let in"):
            sit(server, room, 1)


def test_links_that_are_none() -> None:
    for url in ("", "x", "ftp://a/seat/b", "http:///seat/x", "http://a.example/operator/x"):
        with pytest.raises(ArgumentError, match="a seat must be a link"):
            accord.seat(url)


def test_a_server_that_is_away() -> None:
    with pytest.raises(MediatorError, match=r"127\.0\.0\.1:9 does not answer"):
        accord.seat("http://127.0.0.1:9/seat/secret", patience=0.1).look()
    assert "secret" not in repr(accord.seat("http://127.0.0.1:9/seat/secret"))


def test_a_client_outlives_a_restart(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db")
    with running(room) as server:
        port = int(server.rsplit(":", 1)[1])
        row, col = sit(server, room)
        row.agree()
    room.store.close()
    done: list[Situation] = []
    thread = threading.Thread(target=lambda: done.append(row.play()), daemon=True)
    thread.start()
    time.sleep(0.7)
    with running(open_room(tmp_path / "p.db"), listen=port):
        col.play()
        thread.join(timeout=60)
    assert done[0].status == "over"


def test_news_come_when_there_are_some(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db")
    with running(room) as server:
        row, col = sit(server, room)
        for one in (row, col):
            one.agree()
        row.act(obey(row.look()))
        before = row.look()
        assert row.wait(before, 0.3).view == before.view  # nothing has happened
        news = f"/api/news?after={before.view}&wait=nan"
        assert Client(row.url).get(news).status == 200  # no number, no wait
        found: list[Situation] = []
        thread = threading.Thread(target=lambda: found.append(row.wait(before, 60)), daemon=True)
        thread.start()
        time.sleep(0.5)
        assert not found
        col.act(obey(col.look()))
        thread.join(timeout=60)
        assert found[0].status == "over"
        assert Client(row.url).get("/api/news?wait=x").status == 400


# What the interface gives away


def texts(seat: SeatClient) -> str:
    """All that a program can read at a moment."""
    client = Client(seat.url + "/api")
    secret = seat.url.rsplit("/", 1)[1]
    answers = [client.get(path).text for path in ("", "/rules", "/news?wait=0")]
    return "\n".join(answers).replace(secret, "SECRET")


@pytest.mark.slow
def test_answers_do_not_depend_on_what_others_are_told_or_do(tmp_path: Path) -> None:
    """The same own recommendation, another one for the other player: the same answers."""
    seen: dict[Any, set[str]] = {}
    plans, lengths = set(), set()
    for seed in range(12):
        room = open_room(tmp_path / f"{seed}.db", seed=seed, clock=Clock())
        with running(room) as server:
            seats = sit(server, room)
            for one in seats:
                one.agree()
            row, col = sorted(seats, key=lambda one: one.look().role == "col")
            before, told = texts(row), (row.look().recommendation, col.look().recommendation)
            col.act(obey(col.look()))
            assert texts(row) == before
            seen.setdefault(told[0], set()).add(before)
            plans.add(told)
            lengths |= {len(Client(one.url).get("/api").text.encode()) for one in seats}
            row.act(obey(row.look()))
            lengths |= {len(Client(one.url).get("/api").text.encode()) for one in seats}
    assert len(plans) == 3
    assert [len(found) for found in seen.values()] == [1, 1]
    assert len(lengths) == 1  # which encryption does not hide


def test_the_interface_shows_what_the_page_shows(tmp_path: Path) -> None:
    """Everything that a program reads is on the page of the same seat."""
    policy = random_policy(accord.load_game("kuhn"), 1, components=3, pure=0.0)
    room = Room(open_hall(tmp_path / "p.db", policy, clock=Clock()), Design(debrief="all"))
    with running(room) as server:
        seats = sit(server, room)
        for _ in range(10):
            for seat in seats:
                now, page = seat.look(), Client(seat.url).get().text
                shown = [now.infoset, now.recommendation, *now.actions, *now.debrief]
                shown += [what for _, what in now.story]
                for text in filter(None, shown):
                    assert text in page
                if now.status == "instructions":
                    seat.agree()
                elif now.status == "act":
                    seat.act(now.actions[0], now)
        assert seats[0].look().debrief


def test_answers_are_sealed(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", clock=Clock())
    with running(room) as server:
        (seat, _) = sit(server, room)
        client = Client(seat.url)
        for path in ("/api", "/api/rules", "/api/news?wait=0", "/api/nothing"):
            answer = client.get(path)
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert "access-control-allow-origin" not in answer.headers
            assert seat.url.rsplit("/", 1)[1] not in answer.text


# Tools for agents


def call(tools: Any, name: str, **arguments: Any) -> Any:
    """What an agent reads when it calls a tool."""

    async def ask() -> Any:
        async with McpClient(tools) as agent:
            result = await agent.call_tool(name, arguments)
            text = "\n".join(part.text for part in result.content)
            return text, result.structured_content, result.is_error

    return asyncio.run(ask())


def test_agents_have_a_seat(tmp_path: Path) -> None:
    """Two scripted agents, one obedient and one not, from the rules to the payoffs."""
    room = open_room(tmp_path / "p.db", design=Design(rounds=2, quiz=True))
    with running(room) as server:
        seats = sit(server, room)
        agents = [make_tools(one) for one in seats]
        for agent, seat in zip(agents, seats, strict=True):
            assert "row: dare, col: yield -> row 7, col 2" in call(agent, "rules")[0]
            assert call(agent, "situation")[1]["status"] == "instructions"
            assert "not asked" in call(agent, "recommendation")[0]
            call(agent, "proceed")
            asked = call(agent, "situation")[1]["questions"]
            paid = {one["ending"]: one["payoffs"] for one in seat.rules()["endings"]}
            right = [paid[q["ending"]][q["role"]] for q in seat.look().questions]
            assert len(asked) == len(right) == 3
            assert call(agent, "answer", answers=[99.0] * 3)[1] == {"right": [False] * 3}
            assert call(agent, "answer", answers=right)[1] == {"right": [True] * 3}
        for round in (1, 2):
            for agent, obedient in zip(agents, (True, False), strict=True):
                now = call(agent, "situation")[1]
                assert now["round"] == f"{round} of 2"
                told = call(agent, "recommendation")[0]
                assert now["recommendation"] == told
                other = next(one for one in now["actions"] if one != told)
                assert call(agent, "choose", action="fly")[2]
                done = call(agent, "choose", action=told if obedient else other)[1]
                assert done["your_moves"][0]["recommended"] == told
            for agent in agents:
                end = call(agent, "wait", seconds=1)[1]
                assert end["status"] == "over"
                assert len(end["what_happened"]) == 2
                call(agent, "proceed")
        assert call(agents[0], "situation")[1]["next"] == "Nothing follows."
    shares = {(one.round, one.player): one.share for one in summarized(room)}
    assert shares[None, None] == 0.5


def summarized(room: Room) -> Any:
    from accord.serve.summary import summarize

    return summarize(room.hall).shares


@pytest.mark.slow
def test_tools_do_not_tell_what_others_are_told(tmp_path: Path) -> None:
    seen: dict[Any, set[str]] = {}
    plans = set()
    for seed in range(12):
        room = open_room(tmp_path / f"{seed}.db", seed=seed, clock=Clock())
        with running(room) as server:
            seats = sit(server, room)
            for one in seats:
                one.agree()
            row, col = sorted(seats, key=lambda one: one.look().role == "col")
            tools = make_tools(row)

            def read(tools: Any = tools) -> str:
                names = ("rules", "situation", "recommendation", "wait")
                return "\n".join(str(call(tools, name)) for name in names)

            before, told = read(), (row.look().recommendation, col.look().recommendation)
            col.act(obey(col.look()))
            assert read() == before
            assert row.url.rsplit("/", 1)[1] not in before  # nor the link
            seen.setdefault(told[0], set()).add(before)
            plans.add(told)
    assert len(plans) == 3
    assert [len(found) for found in seen.values()] == [1, 1]


def test_tools_at_k_0(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", k=0, clock=Clock())
    with running(room) as server:
        seats = sit(server, room)
        for seat in seats:
            seat.agree()
        for seat in seats:
            tools = make_tools(seat)
            assert call(tools, "situation")[1]["next"] == "Call delegate."
            call(tools, "delegate", yes=True)
        assert call(make_tools(seats[0]), "situation")[1]["status"] == "over"
