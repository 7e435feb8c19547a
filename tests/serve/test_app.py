"""The server over a socket: what pages, answers, headers, errors and logs give away."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import accord
from accord.serve.connections import PromptConnection
from accord.serve.hall import Hall
from tests.support.labels import NASTY, nasty_game
from tests.support.policies import random_policy
from tests.support.server import (
    Answer,
    Client,
    Clock,
    device_policy,
    open_hall,
    operator_link,
    plain,
    running,
)

LATE = "That move came too late, or you had already made another."


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return open_hall(tmp_path / "plays.db", device_policy("chicken"), clock=Clock())


@pytest.fixture
def server(hall: Hall) -> Iterator[str]:
    with running(hall) as url:
        yield url


@pytest.fixture
def operator(hall: Hall, server: str) -> Client:
    return Client(server + operator_link(hall))


def links_of(page: str) -> list[str]:
    return re.findall(r"http://[^<\s]+/seat/[\w-]+", page)


def two_seats(operator: Client, start: bool = True) -> list[Client]:
    operator.post("/create", once=str(len(operator.get().text)), count=1, id="")
    seats = [Client(link) for link in links_of(operator.post("/play/1/invite-all").text)]
    assert len(seats) == 2
    if start:
        assert operator.post("/play/1/start").status == 303
    return seats


def told(page: str) -> str | None:
    found = re.search(r"The mediator recommends <strong>(.*?)</strong>", page)
    return found and found[1]


def test_a_play_over_the_web(operator: Client) -> None:
    row, col = two_seats(operator, start=False)
    assert "Not started yet" in row.get().text
    assert "The page has been opened." in operator.get("/play/1").text
    operator.post("/play/1/start")
    for seat, other in ((row, col), (col, row)):
        page = seat.get().text
        assert "Your turn" in page
        mine = told(page)
        before = other.get().text
        assert seat.post("/act", infoset=0, action=["dare", "yield"].index(mine)).status == 303
        if seat is row:
            assert "Please wait" in row.get().text
            assert clean(other.get().text) == clean(before)
    for seat in (row, col):
        text = plain(seat.get().text)
        assert "The play is over You earned" in text
        assert "What happened row: " in text
    finished = plain(operator.get("/play/1").text)
    assert "Play 1 over" in finished


def clean(page: str) -> str:
    """A page without what differs each time."""
    return re.sub(r'nonce="[\w-]+"', "", page)


def test_pages_are_sealed(operator: Client) -> None:
    row, _ = two_seats(operator)
    answers = [
        operator.get(), operator.get("/play/1"), operator.get("/export.csv"), row.get(),
        row.get("/state"), row.post("/act", infoset=0, action=0), row.get("/nothing"),
        operator.get("/private.csv"),
    ]  # fmt: skip
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-robots-tag"] == "noindex"
        assert answer.headers["x-frame-options"] == "DENY"
        for header in ("cross-origin-opener-policy", "cross-origin-resource-policy"):
            assert answer.headers[header] == "same-origin"
        assert "server" not in answer.headers
        assert "set-cookie" not in answer.headers
        if answer.headers.get("content-type", "").startswith("text/html"):
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'nonce-")
            assert "unsafe" not in policy
            assert not re.search(r'(?:src|href)="(?:https?:)?//', answer.text)


def test_polling_tells_only_what_the_page_shows(operator: Client) -> None:
    row, col = two_seats(operator)
    before = col.get("/state")
    assert json.loads(before.text).keys() == {"view"}
    assert json.loads(before.text)["view"] in col.get().text
    row.post("/act", infoset=0, action=0)
    assert col.get("/state").text == before.text
    col.post("/act", infoset=0, action=0)
    assert col.get("/state").text != before.text


@pytest.mark.slow
def test_pages_do_not_depend_on_what_others_are_told(tmp_path: Path) -> None:
    """The same own recommendation, another one for the other player: the same page and answers."""
    seen: dict[str, set[str]] = {}
    plans, lengths = set(), set()
    for seed in range(12):
        hall = open_hall(tmp_path / f"{seed}.db", device_policy("chicken"), seed=seed)
        with running(hall) as server:
            hall.create()
            row, col = (Client(f"{server}/seat/{hall.invite('1', i)}") for i in (0, 1))
            hall.start("1")
            page, other = row.get().text, col.get().text
            col.post("/act", infoset=0, action=["dare", "yield"].index(told(other)))
            assert clean(row.get().text) == clean(page)
            answers = [page, row.get("/state").text, row.get("/nothing").text]
            secret = row.path.split("/")[-1]
            text = "\n".join(answers).replace(secret, "SECRET")
            seen.setdefault(told(page), set()).add(clean(text))
            plans.add((told(page), told(other)))
            lengths.add(len(page.encode()))
    assert plans == {("yield", "yield"), ("yield", "dare"), ("dare", "yield")}
    assert [len(pages) for pages in seen.values()] == [1, 1]
    assert len(lengths) == 1  # which encryption does not hide


def test_double_clicks_reloads_and_late_answers(operator: Client) -> None:
    row, col = two_seats(operator)
    first = row.post("/act", infoset=0, action=0)
    assert first.status == 303
    assert row.post("/act", infoset=0, action=0).headers["location"] == first.headers["location"]
    late = row.post("/act", infoset=0, action=1)
    assert late.headers["location"] == first.headers["location"] + "?late"
    assert LATE in row.get("?late").text
    assert LATE not in row.get().text
    assert plain(row.get().text).count("played dare") == 1
    col.post("/act", infoset=0, action=1)
    assert "You earned 7" in plain(row.get().text)
    assert "You earned 2" in plain(col.get().text)


def test_at_the_same_moment(operator: Client) -> None:
    """Twenty requests at once, half of them another move: one of the two moves counts."""
    seats = two_seats(operator)
    answers: list[Answer] = []

    def click(action: int) -> None:
        answers.append(seats[0].post("/act", infoset=0, action=action))

    threads = [threading.Thread(target=click, args=(n % 2,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    locations = [answer.headers["location"].endswith("?late") for answer in answers]
    assert len(locations) == 20
    assert locations.count(True) == 10
    assert plain(seats[0].get().text).count("played") == 1


def test_wrong_links_all_get_the_same_answer(operator: Client, hall: Hall, server: str) -> None:
    row, col = two_seats(operator)
    revoked = col.path
    hall.revoke("1", 1)
    guess = Client(server)
    answers = {
        clean(guess.get(path).text)
        for path in (
            revoked, revoked + "/state", "/seat/nonsense", "/seat/" + "x" * 43, "/join/NO", "/seat",
            "/operator/nonsense", "/operator/" + row.path.split("/")[-1], "/nowhere",
            "/seat/" + operator.path.split("/")[-1], row.path + "/act", "/seat/%00", "/seat/%C3%A9",
        )
    }  # fmt: skip
    assert len(answers) == 1
    assert "This link does not work, or no longer." in answers.pop()
    # the router neither redirects to whatever host a request names, nor stumbles over numbers
    for path in (row.path + "/", operator.path + "/", "/seat/x/", "//evil.example/seat/x"):
        answer = guess.get(path, Host="evil.example")
        assert answer.status == 404
        assert "evil" not in str(answer)
    number = "9" * 5000
    assert guess.post(f"/operator/x/play/1/seat/{number}/robot").status == 404
    for path in (row.path + "/act", row.path + "/choose"):
        assert guess.post(path).status == 400
    assert guess.post(revoked + "/act", infoset=0, action=0).status == 404


@pytest.mark.parametrize("fields", [{}, {"infoset": 0}, {"infoset": "x", "action": 0},
    {"infoset": -1, "action": 0}, {"infoset": "9" * 50, "action": 0},
    {"infoset": "٣", "action": 0}])  # fmt: skip
def test_nonsense_is_refused(operator: Client, fields: dict[str, Any]) -> None:
    row, _ = two_seats(operator)
    before = clean(row.get().text)
    answer = row.post("/act", **fields)
    assert answer.status == 400
    assert "This did not work" in answer.text
    assert clean(row.get().text) == before


def test_large_forms_are_refused(operator: Client) -> None:
    row, _ = two_seats(operator)
    assert row.post("/act", infoset="0" * 20_000, action=0).status == 413


def test_forms_that_never_end_are_refused(
    operator: Client, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.serve.fields.SLOWEST_FORM", 0.2)
    row, _ = two_seats(operator)
    host, port = urlsplit(server).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as slow:
        head = f"POST {row.path}/act HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\ninfoset="
        slow.sendall(head.encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("first", [b"", b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_headers_that_never_end_are_refused(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr("accord.serve.connections.SLOWEST_HEAD", 0.5)
    with running(hall) as server:
        host, port = urlsplit(server).netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as slow:
            if first:
                slow.sendall(first)
                assert slow.recv(100).startswith(b"HTTP/1.1 404 ")
            slow.sendall(b"GET /seat/x HTTP/1.1\r\nHost:")
            while slow.recv(100_000):
                pass  # the rest of the answer, and then the end of the connection


def test_answers_do_not_wait_for_acknowledgements(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def note(self: PromptConnection, last: Any) -> None:
        own = self.transport.get_extra_info("socket")
        seen.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(PromptConnection, "_expect_after", note)
    with running(hall) as server:
        assert Client(server).get("/nothing").status == 404
    assert seen
    assert all(seen)


def test_the_length_of_a_page_does_not_tell_who_decides(operator: Client) -> None:
    seats = two_seats(operator, start=False)
    lengths = {len(seat.get().text.encode()) for seat in seats}  # not started
    operator.post("/play/1/start")
    for seat in seats:
        lengths.add(len(seat.get().text.encode()))
        seat.post("/act", infoset=0, action=0)
        lengths.add(len(seat.get().text.encode()))  # waits, and then it is over
    assert len(lengths) == 1


def long_labels() -> accord.Game:
    """Chicken after a choice; every label has its own length, far above that of a page."""
    b = accord.GameBuilder(players=["a" * 3000, "b"])
    b.move(player="a" * 3000, infoset="<" * 5000, actions=["x", "y" * 20_000])
    b.move(["x"], ["y" * 20_000], player="b", infoset="z" * 9000, actions=["é" * 16_384, "&"])
    for n, first in enumerate(["x", "y" * 20_000]):
        for m, second in enumerate(["é" * 16_384, "&"]):
            b.payoff([first, second], n, m)
    return b.build()


def test_the_length_of_a_page_tells_nothing_however_long_labels_are(tmp_path: Path) -> None:
    game, lengths, told_lengths = long_labels(), set(), set()
    for seed in range(6):
        policy = random_policy(game, 1, components=2, pure=0.0)
        hall = open_hall(tmp_path / f"{seed}.db", policy, seed=seed, clock=Clock())
        with running(hall) as server:
            operator = Client(server + operator_link(hall))
            seats = two_seats(operator, start=False)
            lengths |= {len(seat.get().text.encode()) for seat in seats}
            operator.post("/play/1/start")
            for seat in seats:
                text = seat.get().text
                told_lengths.add(len(told(text) or ""))
                lengths.add(len(text.encode()))
                seat.post("/act", infoset=0, action=seed % 2)
            lengths |= {len(seat.get().text.encode()) for seat in seats}
    assert len(told_lengths) > 2
    assert len(lengths) == 1


def test_a_full_disk_does_not_hide_a_page(
    operator: Client, hall: Hall, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """That a page was opened cannot be noted then, but the page can be shown."""
    row, _ = two_seats(operator)

    def fail(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(hall.store, "note_opened", fail)
    assert "Your turn" in row.get().text
    assert "OperationalError: database or disk is full" in caplog.text


HALF = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nx"


@pytest.mark.parametrize("sent", [b"", HALF[:12], HALF], ids=["nothing", "half a line", "a form"])
def test_idle_connections_do_not_keep_others_out(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """If there are too many, the oldest that wait for their clients are closed."""
    monkeypatch.setattr(PromptConnection, "most", 20)
    with running(hall) as server, contextlib.ExitStack() as stack:
        place = urlsplit(server).hostname, urlsplit(server).port
        idle = [stack.enter_context(socket.create_connection(place)) for _ in range(60)]
        for one in idle:
            with contextlib.suppress(OSError):
                one.sendall(sent)
        seats = two_seats(Client(server + operator_link(hall)))
        assert [seat.get().status for seat in seats] == [200, 200]
        for one in idle[:20]:
            one.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""


def test_failures_say_nothing(
    operator: Client, hall: Hall, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    row, _ = two_seats(operator)

    def fail(*_: Any) -> None:
        raise RuntimeError("the secret plan is yield")

    with monkeypatch.context() as patched:
        patched.setattr(hall, "look", fail)
        answer = row.get()
    assert answer.status == 500
    assert "Nothing was lost" in answer.text
    assert "plan" not in answer.text
    ours = [record.getMessage() for record in caplog.records if record.name == "accord.serve"]
    assert "a request failed: RuntimeError" in ours
    assert row.get().status == 200


def test_the_log_says_why_the_database_fails(
    operator: Client, hall: Hall, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    row, _ = two_seats(operator)

    def fail(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(hall, "look", fail)
        answer = row.get()
    assert answer.status == 500
    assert "full" not in answer.text
    assert "a request failed: OperationalError: database or disk is full" in caplog.text


def test_logs_have_neither_links_nor_recommendations(
    operator: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "accord"):
        seats = two_seats(operator)
        for seat in seats:
            seat.get()
            seat.get()
            seat.post("/act", infoset=0, action=0)
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert text.splitlines() == [
        "play 1: started",
        "play 1: player row is asked, decision 1",
        "play 1: player col is asked, decision 1",
        "play 1: player row moved, decision 1",
        "play 1: player col moved, decision 1",
        "play 1: is over",
    ]


def test_links_begin_with_the_address_that_players_use(hall: Hall) -> None:
    with running(hall) as local:
        operator = Client(local + operator_link(hall))
        operator.post("/create", once="a", count=1, id="")
        page = operator.post("/play/1/invite-all")
        assert all(link.startswith(local) for link in links_of(page.text))
        assert "Only this computer can open these links" in page.text
        assert "Only this computer" not in operator.get("/play/1").text
    with running(hall, url="http://lab.example/accord/") as local:
        operator = Client(local + operator_link(hall))
        page = operator.post("/play/1/seat/0/invite", once="b")
        assert links_of(page.text)[0].startswith("http://lab.example/accord/seat/")
        assert "Only this computer" not in page.text


def test_players_are_not_told_the_rules_when_it_is_over(operator: Client) -> None:
    seats = two_seats(operator)
    assert "is called disobeying" in seats[0].get().text
    for seat in seats:
        seat.post("/act", infoset=0, action=0)
    assert "is called disobeying" not in seats[0].get().text


def test_the_operators_forms(operator: Client, hall: Hall) -> None:
    assert operator.post("/create", once="a", count=3, id="").status == 303
    operator.post("/create", once="a", count=3, id="")  # sent twice
    assert len(hall.list_plays()) == 3
    assert (
        operator.post("/create", once="b", count=1, id="room 4")
        .headers["location"]
        .endswith("/play/room%204")
    )
    assert "already a play" in operator.post("/create", once="c", count=1, id="room 4").text
    assert "Play room 4 open" in plain(operator.get("/play/room%204").text)
    operator.post("/play/1/seat/0/rename", name="Ann <b>")
    assert "Ann &lt;b&gt;" in operator.get("/play/1").text
    operator.post("/play/1/seat/1/robot", robot="yes")
    (link,) = links_of(operator.post("/play/1/invite-all").text)  # not for robots
    ann = Client(link)
    assert "Ann <b>, you play as row" in plain(ann.get().text)
    assert links_of(operator.post("/play/1/invite-all").text) == []  # nobody loses a link
    (again,) = links_of(operator.post("/play/1/seat/0/invite", once="x").text)
    assert ann.get().status == 404
    ann = Client(again)
    reload = operator.post("/play/1/seat/0/invite", once="x")
    assert (reload.status, links_of(reload.text)) == (303, [])
    assert ann.get().status == 200  # so a reload does not make the link useless
    for path in ("/create", "/play/1/seat/0/invite"):
        assert operator.post(path, count=1).status == 400
    operator.post("/play/1/start")
    ann.post("/act", infoset=0, action=0)
    assert "The play is over" in ann.get().text
    operator.post("/play/1/seat/0/revoke")
    assert ann.get().status == 404
    operator.post("/play/2/stop")
    assert "Play 2 stopped" in plain(operator.get("/play/2").text)
    for path in ("/play/9", "/play/9/state"):
        assert operator.get(path).status == 404
    for path in (
        "/play/1/fly",
        "/play/1/seat/0/fly",
        "/play/1/seat/7/revoke",
        "/play/9/start",
        "/play/1/seat/00/revoke",
        "/play/1/seat/-1/revoke",
        "/play/1/seat/x/revoke",
    ):
        assert operator.post(path).status == 404
    assert operator.post("/play/1/seat/0/robot", robot="maybe").status == 400


def test_many_plays_at_once_for_the_operator(operator: Client, hall: Hall, server: str) -> None:
    operator.post("/create", once="a", count=3, id="")
    hall.set_robot("2", 0, True)
    page = operator.post("/invite-all")
    links = links_of(page.text)
    assert len(set(links)) == 5
    opened = [hall.find_seat(link.rsplit("/", 1)[1]) for link in links]
    assert sorted(opened) == [("1", 0), ("1", 1), ("2", 1), ("3", 0), ("3", 1)]
    assert "Play 2: col" in plain(page.text)
    assert links_of(operator.post("/invite-all").text) == []  # nobody loses a link
    operator.post("/create", once="b", count=1, id="")
    assert operator.post("/start-all").status == 303
    statuses = {play.id: play.status for play in hall.list_plays()}
    assert statuses == {"1": "running", "2": "running", "3": "running", "4": "open"}
    guess = Client(server + "/operator/x")
    assert guess.post("/invite-all").status == guess.post("/start-all").status == 404


def test_robots_play_for_those_who_have_not_come(operator: Client, hall: Hall) -> None:
    operator.post("/create", once="a", count=3, id="")
    hall.set_robot("3", 0, True)
    ann = Client(f"http://{operator.host}/seat/{hall.invite('1', 0)}")
    hall.invite("2", 0)
    assert "row: link not opened; col: no link" in plain(operator.get().text)
    ann.get()
    page = plain(operator.get().text)
    assert "row: page opened; col: no link" in page
    assert "row (robot): ready; col: no link" in page
    hall.start("1")
    assert "row: must decide; col: must decide, no link" in plain(operator.get().text)
    assert operator.post("/fill-seats").status == 303
    robots = {play.id: [robot for _, robot, _ in play.seats] for play in hall.list_plays()}
    assert robots == {"1": [False, True], "2": [True, True], "3": [True, True]}
    assert "Let robots play in empty seats" not in operator.get().text
    ann.post("/act", infoset=0, action=0)
    assert "The play is over" in ann.get().text
    assert Client(f"http://{operator.host}/operator/x").post("/fill-seats").status == 404


def test_players_without_names_are_more_than_numbers(tmp_path: Path) -> None:
    policy = random_policy(accord.load_game("kuhn"), 1, components=2, pure=1.0)
    hall = open_hall(tmp_path / "plays.db", policy)
    with running(hall) as server:
        operator = Client(server + operator_link(hall))
        first, _ = two_seats(operator)
        assert "You play as player 1" in plain(first.get().text)
        seats = "player 1: must decide; player 2: waits, link not opened"
        assert seats in plain(operator.get().text)
        for player in (0, 1):
            hall.set_robot("1", player, True)
        page = plain(first.get().text)
        assert " player 2: " in page.partition("What happened")[2]
        operator.post("/play/1/seat/0/rename", name="Ann")
        assert "Ann, you play as player 1" in plain(first.get().text)
        seats = plain(operator.get("/play/1").text)
        assert "Ann as player 1 Finished" in seats
        assert "player 2 Finished" in seats
        operator.post("/play/1/seat/0/rename", name=" ")
        assert plain(first.get().text).count("You play as player 1") == 2  # title and heading


def test_watching(operator: Client) -> None:
    row, _ = two_seats(operator)
    mine = told(row.get().text)
    row.post("/act", infoset=0, action=0)
    page = plain(operator.get("/play/1").text)
    assert "Waits, 1 decision made." in page
    assert "dare" not in page
    assert "yield" not in page
    asked = plain(operator.get("/play/1?reveal=yes").text)
    assert f"told {mine} , played dare" in asked
    states = [operator.get(path).text for path in ("/play/1/state", "/play/1/state?reveal=yes")]
    assert states[0] != states[1]
    assert states[0] == operator.get("/play/1/state").text


def test_exports_over_the_web(operator: Client) -> None:
    for seat in two_seats(operator):
        seat.post("/act", infoset=0, action=1)
    public, private = operator.get("/export.csv"), operator.get("/private.csv")
    assert public.headers["content-type"].startswith("text/csv")
    assert 'filename="plays.csv"' in public.headers["content-disposition"]
    assert len(public.text.splitlines()) == len(private.text.splitlines()) == 3
    assert "recommended" in private.text
    assert "recommended" not in public.text


def test_operator_links_can_be_revoked(operator: Client, hall: Hall, server: str) -> None:
    other = Client(server + operator_link(hall))
    assert other.get().status == 200
    operator.post("/revoke-others")
    assert other.get().status == 404
    assert operator.get().status == 200


def test_behind_a_proxy(hall: Hall) -> None:
    """Under a path, with TLS at the proxy: links lead back through it."""
    with running(hall, root_path="/lab", forwarded_allow_ips="127.0.0.1") as server:
        operator = Client(server + operator_link(hall))
        forwarded = {"X-Forwarded-Proto": "https", "Host": "games.example.org"}
        operator.post("/create", once="a", count=1, id="")
        answer = operator.request("POST", "/play/1/invite-all", {}, **forwarded)
        links = re.findall(r"https://games\.example\.org/lab/seat/([\w-]+)", answer.text)
        assert len(links) == 2
        actions = re.findall(r'action="([^"]+)"', answer.text)
        assert actions
        assert all(path.startswith("/lab/operator/") for path in actions)
        seat = Client(f"{server}/seat/{links[0]}")
        operator.post("/play/1/start")
        assert f'action="/lab/seat/{links[0]}/act"' in seat.get().text
        location = seat.post("/act", infoset=0, action=0).headers["location"]
        assert location == f"/lab/seat/{links[0]}"
        kept = Client(f"{server}/lab/seat/{links[0]}")  # a proxy that does not remove /lab
        assert clean(kept.get().text) == clean(seat.get().text)
        assert Client(f"{server}/lab{operator.path}").get("/play/1").status == 200


def test_forwarded_headers_of_strangers_are_ignored(hall: Hall) -> None:
    with running(hall, forwarded_allow_ips="10.9.8.7") as server:
        operator = Client(server + operator_link(hall))
        operator.post("/create", once="a", count=1, id="")
        headers = {"X-Forwarded-Proto": "https"}
        assert "https://" not in operator.request("POST", "/play/1/invite-all", {}, **headers).text


def test_k_0_over_the_web(tmp_path: Path) -> None:
    hall = open_hall(tmp_path / "plays.db", device_policy("chicken"), k=0, limit=60, clock=Clock())
    with running(hall) as server:
        operator = Client(server + operator_link(hall))
        row, col = two_seats(operator)
        assert "Your choice" in row.get().text
        assert "After that the mediator makes all your moves." in plain(row.get().text)
        assert row.post("/choose", delegate="perhaps").status == 400
        row.post("/choose", delegate="yes")
        row.post("/choose", delegate="yes")
        assert "The mediator moves for you." in row.get().text
        assert row.post("/choose", delegate="no").headers["location"].endswith("?late")
        col.post("/choose", delegate="no")
        assert "The mediator is silent." in col.get().text
        col.post("/act", infoset=0, action=0)
        assert "The play is over" in row.get().text
        assert "the mediator played" in plain(row.get().text)


def test_labels_are_only_text(tmp_path: Path) -> None:
    game = nasty_game()
    hall = open_hall(tmp_path / "plays.db", random_policy(game, 1, components=2))
    with running(hall) as server:
        operator = Client(server + operator_link(hall))
        operator.post("/create", once="a", count=1, id="")
        seats = [Client(link) for link in links_of(operator.post("/play/1/invite-all").text)]
        operator.post("/play/1/start")
        pages = [operator.get().text]
        while hall.watch("1").status == "running":
            for n, seat in enumerate(seats):
                view = hall.look("1", n)
                pages.append(seat.get().text)
                if view.number is not None:
                    seat.post("/act", infoset=view.number, action=0)
        pages += [seat.get().text for seat in seats] + [operator.get("/play/1").text]
    assert NASTY not in "".join(pages)
    assert not any("<img" in page or "\x1b" in page for page in pages)


@pytest.mark.slow
def test_200_plays_at_once(tmp_path: Path) -> None:
    """400 seats, each with a page, polls and moves, from 16 threads: nothing is lost."""
    policy = random_policy(accord.load_game("kuhn"), 1, components=3, pure=0.0)
    hall = open_hall(tmp_path / "plays.db", policy)
    plays = hall.create(200)
    seats = [(play, i, hall.invite(play, i)) for play in plays for i in (0, 1)]
    for play in plays:
        hall.start(play)
    made: dict[tuple[str, int, int], int] = {}
    broken: list[object] = []

    def person(share: list[tuple[str, int, str]], server: str) -> None:
        client = Client(server)
        left = list(share)
        while left and not broken:
            for seat in list(left):
                play, i, token = seat
                page = client.get(f"/seat/{token}")
                if page.status != 200:
                    broken.append(page)
                    return
                if "The play is over" in page.text:
                    left.remove(seat)
                elif field := re.search(r'name="infoset" value="(\d+)"', page.text):
                    x, a = int(field[1]), (int(play) + i) % 2
                    answer = client.post(f"/seat/{token}/act", infoset=x, action=a)
                    if answer.status != 303 or "late" in answer.headers["location"]:
                        broken.append(answer)
                    made[play, i, x] = a
                else:
                    client.get(f"/seat/{token}/state")

    with running(hall) as server:
        shares = [seats[n::16] for n in range(16)]
        threads = [threading.Thread(target=person, args=(one, server)) for one in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
    assert broken == []
    assert {hall.watch(play).status for play in plays} == {"over"}
    kept = {
        (play, i, move.infoset): move.action
        for play in plays
        for i, seat in enumerate(hall.referee.resume(json.loads(hall.store.play(play).state)).seats)
        for move in seat.moves
    }
    assert kept == made
