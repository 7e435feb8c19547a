"""``accord serve``: its options and messages, and the real command killed at any moment."""

from __future__ import annotations

import csv
import logging
import re
import shlex
import signal
import socket
import sys
import threading
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

import accord
from accord.cli.main import app
from accord.cli.serve import Seldom
from accord.serve.store import OPERATOR
from tests.support.command import process, refused, run
from tests.support.mediation import crossed, delayed
from tests.support.policies import random_policy
from tests.support.server import Client, device_policy, open_hall, threatened_entry


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The configurations with which a server would have run."""
    import uvicorn

    seen: list[Any] = []

    def note(self: Any, sockets: list[socket.socket]) -> None:
        seen.append(self.config)
        for one in sockets:
            one.close()

    monkeypatch.setattr(uvicorn.Server, "run", note)
    return seen


def test_what_is_printed(tmp_path: Path, no_server: list[Any]) -> None:
    result = run("serve", "chicken", "device", "--data", tmp_path / "p.db", "--port", 0)
    assert re.match(r"chicken: open http://127\.0\.0\.1:\d+/operator/[\w-]{43}\n", result.stdout)
    assert "Whoever has the first link is the operator." in result.stdout
    assert re.search(r"People come in at http://\S+ with the code [A-Z2-9]{6}\.\n", result.stdout)
    assert f"stopped; all plays are in {tmp_path / 'p.db'}" in result.stderr
    (config,) = no_server
    assert not config.access_log  # it would have the links
    assert not config.server_header


def test_for_a_room_the_link_has_an_address_that_others_can_open(
    tmp_path: Path, no_server: list[Any]
) -> None:
    for host, named in (("0.0.0.0", r"[^/:]+"), ("::", r"\[.+\]|[^/:]+")):
        if host == "::" and not socket.has_ipv6:
            continue
        data = ("--data", tmp_path / "p.db", "--port", 0, "--host", host)
        result = run("serve", "chicken", "device", *data)
        found = re.match(rf"chicken: open http://({named}):\d+/operator/", result.stdout)
        assert found and found[1].strip("[]") != host


def test_behind_a_proxy(tmp_path: Path, no_server: list[Any]) -> None:
    options = (
        "--data",
        tmp_path / "p.db",
        "--port",
        0,
        "--root-path",
        "/lab/",
        "--proxy",
        "10.0.0.1",
    )
    result = run("serve", "chicken", "device", *options, "--url", "https://example.org/lab/")
    assert "open https://example.org/lab/operator/" in result.stdout
    (config,) = no_server
    assert config.root_path == "/lab"
    assert config.forwarded_allow_ips == "10.0.0.1"
    assert re.search(r":\d+/lab/operator/", run("serve", "chicken", "device", *options).stdout)


def test_every_start_has_its_own_operator_link(tmp_path: Path, no_server: list[Any]) -> None:
    arguments = ("serve", "chicken", "device", "--data", tmp_path / "p.db", "--port", 0)
    texts = [run(*arguments).stdout for _ in range(2)]
    first, second = (re.search(r"/operator/([\w-]+)", text)[1] for text in texts)
    assert first != second
    hall = open_hall(tmp_path / "p.db", device_policy("chicken"))
    with hall.store.transaction():
        now = hall.clock()
        assert hall.store.find_link(first, now) == hall.store.find_link(second, now) == OPERATOR


def saved(folder: Path, game: accord.Game) -> tuple[Path, Path]:
    accord.interop.write_efg(game, folder / "game.efg")
    loaded = accord.load_game(folder / "game.efg")
    accord.save_policy(random_policy(loaded, 1, components=2), folder / "policy.json")
    return folder / "game.efg", folder / "policy.json"


@pytest.mark.parametrize(("fee", "warned"), [(1, True), (3, False)])
def test_a_warning_about_negative_pay(
    tmp_path: Path, no_server: list[Any], fee: float, warned: bool
) -> None:
    game, policy = tmp_path / "g.efg", tmp_path / "p.npz"
    accord.save_game(threatened_entry().game, game)
    accord.save_policy(threatened_entry(), policy)
    pay = ("--rounds", 5, "--rate", 0.5, "--fee", fee, "--currency", "EUR")
    said = run("serve", game, policy, *pay, "--data", tmp_path / "p.db").stderr
    text = "whoever earns -1 in every round ends with -1.50 EUR; a larger --fee keeps pay from"
    assert (text in said) == warned


def test_warnings_about_time(tmp_path: Path, no_server: list[Any]) -> None:
    game, policy = saved(tmp_path, crossed(stop=True))
    options = ("--data", tmp_path / "p.db", "--port", 0)
    assert "warning: this game has no timing" in run("serve", game, policy, *options).stderr
    assert "cannot have a fixed length" in refused("serve", game, policy, *options, "--pace", 3)
    game, policy = saved(tmp_path, delayed())
    options = ("--data", tmp_path / "q.db", "--port", 0)
    assert "the same length (--pace)" in run("serve", game, policy, *options).stderr
    assert "the same length" not in run("serve", game, policy, *options, "--pace", 3).stderr


def test_a_policy_that_is_no_equilibrium_at_this_k(tmp_path: Path, no_server: list[Any]) -> None:
    arguments = ("serve", "separation:k=1", "device", "--port", 0)
    for k, warned in ((0, False), (1, False), (2, True)):
        said = run(*arguments, "-k", k, "--data", tmp_path / f"{k}.db").stderr
        assert ("warning: at K = 2 player 1 can gain 0.5 by disobeying" in said) == warned
    game = accord.load_game("chicken")
    kind = accord.CorrelatedPolicy.from_device(game, [(1, ({"row": "yield"}, {"col": "yield"}))])
    accord.save_policy(kind, tmp_path / "kind.json")
    options = ("-k", 0, "--data", tmp_path / "kind.db", "--port", 0)
    said = run("serve", "chicken", tmp_path / "kind.json", *options).stderr
    assert "player row can gain 1 by playing on their own; give -k" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("chicken device --limit 0", "limit must be positive and finite; got 0"),
        ("chicken device --limit x", "must be a number; got 'x'"),
        ("chicken device --limit 3 --pace 3", "give either a time limit or a pace"),
        ("chicken device --root-path lab", "--root-path must start with /; got 'lab'"),
        ("chicken device --port 99999999", "--port must be 0 to 65535; got 99999999"),
        ("chicken device --host nowhere.invalid", "cannot listen at nowhere.invalid"),
        ("chicken device --host 192.0.2.7", "--host must be an address of this computer"),
        ("chicken device --host=", "--host must be an address of this computer; to listen at all"),
        ("chicken device --host " + "a" * 100, "--host must be the name or an address of this"),
        ("chicken device --host é..", "--host must be the name or an address of this computer"),
        ("chicken device --url example.org", "--url must be like https://example.org/lab; got"),
        ("chicken device --url https://", "--url must be like"),
        ("kuhn device", "the library has no device for kuhn"),
    ],
)
def test_bad_use(arguments: str, message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused("serve", *arguments.split())
    assert not (tmp_path / "plays.db").exists()


def test_databases_of_others(tmp_path: Path, no_server: list[Any]) -> None:
    options = ("--data", tmp_path / "p.db", "--port", 0)
    run("serve", "chicken", "device", *options)
    assert "has plays with another K" in refused("serve", "chicken", "device", *options, "-k", 2)
    assert "another game" in refused("serve", "signalling", "device", *options)
    said = refused("serve", "chicken", "device", *options, "--treatment", "alone=none")
    assert "the game, policy, K and treatments with which it was made" in said
    missing = tmp_path / "nowhere" / "p.db"
    assert "No such file" in refused("serve", "chicken", "device", "--data", missing)
    refusal = refused("serve", "chicken", "device", "--data", tmp_path, "--port", 0)
    assert "cannot be opened as a file" in refusal


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = ("--data", tmp_path / "p.db", "--port", listener.getsockname()[1])
        refusal = refused("serve", "chicken", "device", *options)
    assert refusal.endswith("in use; choose another port with --port, or 0 for a free one")


def test_a_database_that_others_can_read(tmp_path: Path, no_server: list[Any]) -> None:
    arguments = ("serve", "chicken", "device", "--data", tmp_path / "p.db", "--port", 0)
    assert "warning" not in run(*arguments).stderr
    (tmp_path / "p.db").chmod(0o644)
    assert "p.db is secret, but others can read it; use chmod 600" in run(*arguments).stderr


def test_without_starlette(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = refused("serve", "chicken", "device")
    assert re.search(r"try: pip install .*'starlette>=\S+' 'uvicorn>=\S+'$", said)


def test_help_shows_examples_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_server: list[Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^ +accord (serve.*)$", run("serve", "--help").stdout, re.M)
    assert len(examples) == 4
    run("solve", "chicken", "--iterations", 50, "--out", "runs/chicken")
    for n, example in enumerate(examples):
        run("serve", *shlex.split(example)[1:], "--port", 0, *_own_data(example, n))


def _own_data(example: str, n: int) -> tuple[str, ...]:
    return () if "--data" in example else ("--data", f"{n}.db")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def started(*arguments: object, **options: Any) -> tuple[Any, str]:
    """The real command, when it listens, and its operator link."""
    server = process("serve", "chicken", "device", *arguments, **options)
    line = server.stdout.readline()
    found = re.search(r"open (http\S+)", line)
    assert found, line + server.stderr.read()
    return server, found[1]


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_slow_clients(tmp_path: Path) -> None:
    port = free_port()
    server, _ = started("--data", tmp_path / "p.db", "--port", port)
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"POST /seat/x/act HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nx")
        time.sleep(0.5)
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "stopped; all plays are in" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_idle_connections_fill_neither_the_server_nor_its_log(tmp_path: Path) -> None:
    """More of them than the process may have files open."""
    resource = pytest.importorskip("resource")
    files = 150
    server, link = started(
        "--data", tmp_path / "p.db", "--port", free_port(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
    )  # fmt: skip
    place = urlsplit(link)
    idle = []
    for _ in range(files + 50):
        idle.append(socket.create_connection((place.hostname, place.port)))
    operator = Client(link)
    for _ in range(10):
        assert operator.get().status == 200
    for one in idle:
        one.close()
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=60)
    assert len(said) < 2000


def test_the_same_trouble_is_not_logged_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log, seen = logging.getLogger("accord.test"), []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    handler.addFilter(Seldom())
    log.addHandler(handler)
    try:
        for n in range(1000):
            log.error("play %s is stuck", n)
            log.warning("another kind %d", n % 3)
        now[0] += 60
        log.error("play %s is stuck", "x")
    finally:
        log.removeHandler(handler)
    assert len(seen) == 21
    assert seen[-1] == "play x is stuck (and 990 more such lines before)"


@pytest.mark.parametrize("place", range(3))
def test_a_damaged_database_is_refused(tmp_path: Path, place: int, no_server: list[Any]) -> None:
    options = ("chicken", "device", "--data", tmp_path / "p.db", "--port", 0)
    run("serve", *options)
    hall = open_hall(tmp_path / "p.db", device_policy("chicken"))
    for play in hall.create(50):
        hall.start(play)
    hall.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    hall.store.close()
    content = bytearray((tmp_path / "p.db").read_bytes())
    middle = len(content) * (place + 1) // 4 // 4096 * 4096
    content[middle : middle + 8192] = bytes(range(256)) * 32
    (tmp_path / "p.db").write_bytes(content)
    result = CliRunner().invoke(app, ["serve", *map(str, options)])
    assert result.exit_code in (0, 2)  # some damage is in rows that are not read at the start
    assert "Accord itself" not in result.stderr


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path: Path) -> None:
    """The server is killed twice while sixty people play; nobody loses a move."""
    options = ("--data", tmp_path / "p.db", "--port", free_port())
    server, link = started(*options)
    operator = Client(link)
    operator.post("/create", once="a", count=30, id="")
    seats = []
    for play in range(1, 31):
        page = operator.post(f"/play/{play}/invite-all").text
        seats += [
            (str(play), i, url)
            for i, url in enumerate(re.findall(r"http://[^<\s]+/seat/[\w-]+", page))
        ]
        operator.post(f"/play/{play}/start")
    assert len(seats) == 60
    done: dict[tuple[str, int], int] = {}

    def person(share: list[tuple[str, int, str]]) -> None:
        for play, i, url in share:
            action = (int(play) + i) % 2
            while True:
                try:
                    answer = Client(url).post("/act", infoset=0, action=action)
                except (OSError, HTTPException):
                    time.sleep(0.05)  # the server is away
                    continue
                assert answer.status == 303
                assert "late" not in answer.headers["location"]
                done[play, i] = action
                break
            time.sleep(0.1)

    people = [threading.Thread(target=person, args=(seats[n::4],), daemon=True) for n in range(4)]
    for one in people:
        one.start()
    for pause in (0.3, 0.2):
        time.sleep(pause)
        server.kill()
        server.communicate()
        server, _ = started(*options)
    for one in people:
        one.join(timeout=60)
        assert not one.is_alive()
    assert len(done) == 60
    text = operator.get("/private.csv").text
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "stopped; all plays are in" in errors
    assert "Traceback" not in errors
    kept = {}
    for row in csv.DictReader(text.splitlines()):
        assert row["by"] == "player"
        place = row["play"], ["row", "col"].index(row["player"])
        kept[place] = ["dare", "yield"].index(row["action"])
    assert kept == done


def test_threats_that_disobedience_shows(tmp_path: Path, no_server: list[Any]) -> None:
    b = accord.GameBuilder(players=["entrant", "incumbent"], name="entry")
    b.move(player="entrant", infoset="start", actions="enter stay")
    b.move("enter", player="incumbent", infoset="entered", actions="fight yield")
    b.payoff("enter fight", -1, -1)
    b.payoff("enter yield", 2, 1)
    b.payoff("stay", 0, 3)
    accord.interop.write_efg(b.build(), tmp_path / "entry.efg")
    game = accord.load_game(tmp_path / "entry.efg")
    for objective, warned in (("welfare", False), ({"incumbent": 1}, True)):
        found = accord.optimize(game, 1, objective)
        accord.save_policy(found.policy, tmp_path / f"{warned}.json")
        options = ("--data", tmp_path / f"{warned}.db", "--port", 0)
        said = run("serve", tmp_path / "entry.efg", tmp_path / f"{warned}.json", *options).stderr
        assert ("warning: the device is not credible" in said) == warned
        assert ("at 'entered' told 'fight' plays 'yield' instead: gains 2" in said) == warned
