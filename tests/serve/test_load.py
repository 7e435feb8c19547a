"""Two hundred people in a hundred plays of five rounds, while the server is killed again and again.

Nothing is lost, and nobody is shown what belongs to somebody else: what each person was told and
played, round by round, is what the export has.
"""

from __future__ import annotations

import csv
import http.client
import json
import random
import re
import socket
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import process
from tests.support.server import Client

PEOPLE, ROUNDS, KILLS, THREADS = 200, 5, 3, 16


class Server:
    """The real command, which can be killed and started again at the same place."""

    def __init__(self, data: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = int(listener.getsockname()[1])
        self.options = (
            "serve", "chicken", "device", "--data", data, "--port", self.port,
            "--rounds", ROUNDS, "--match", "random", "--rematch", "strangers", "--roles", "random",
            "--ask", "number",
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        self.process = process(*self.options)
        self.operator = Client(re.search(r"http\S+", self.process.stdout.readline())[0])
        self.code = re.search(r"code (\w+)", self.process.stdout.readline())[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, path: str, sent: Any = None) -> tuple[int, Any]:
        """An answer of the interface, however often the server is away in between."""
        while True:
            try:
                with closing(
                    http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                ) as line:
                    data = None if sent is None else json.dumps(sent)
                    line.request("GET" if sent is None else "POST", path, data)
                    answer = line.getresponse()
                    return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)


class Person:
    """Somebody who obeys in two thirds of the rounds, and remembers everything."""

    def __init__(self, server: Server, number: int) -> None:
        self.server, self.number = server, number
        self.told: dict[int, tuple[str, str, str]] = {}  # by round: role, told, played
        self.path = ""
        self.ended: dict[str, Any] = {}

    def step(self) -> bool:
        """Do what is to be done; return whether everything is over."""
        if not self.path:
            sent = {"code": self.server.code, "name": str(self.number), "once": f"n{self.number}"}
            status, answer = self.server.ask("/api/join", sent)
            assert status == 201, answer
            self.path = "/seat/" + answer["seat"].rsplit("/", 1)[1] + "/api"
            return False
        status, now = self.server.ask(self.path)
        assert status == 200, now
        if now["status"] == "instructions":
            self.server.ask(f"{self.path}/step", {"step": "instructions"})
        elif now["status"] == "act":
            rng = random.Random(f"{self.number} {now['round']}")
            told = now["recommendation"]
            other = next(action for action in now["actions"] if action != told)
            played = told if rng.random() < 2 / 3 else other
            known = self.told.setdefault(now["round"], (now["role"], told, played))
            assert known == (now["role"], told, played)  # the same however often one looks
            sent = {"play": now["play"], "infoset": now["infoset"], "action": played}
            status, answer = self.server.ask(f"{self.path}/act", sent)
            assert status == 200, answer
        elif now["continues"]:
            self.server.ask(f"{self.path}/continue", {"play": now["play"]})
        self.ended = now
        return bool(now["last"])


def until(true: Any, seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.2)


@pytest.mark.slow
def test_200_people_in_100_plays_of_5_rounds_with_kills(tmp_path: Path) -> None:
    server = Server(tmp_path / "p.db")
    people = [Person(server, n) for n in range(PEOPLE)]
    broken: list[BaseException] = []

    def live(share: list[Person]) -> None:
        left = list(share)
        try:
            while left and not broken:
                left = [person for person in left if not person.step()]
                time.sleep(0.05)
        except BaseException as error:  # told by the test
            broken.append(error)

    threads = [
        threading.Thread(target=live, args=(people[n::THREADS],), daemon=True)
        for n in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    until(lambda: broken or f"{PEOPLE} people wait" in server.operator.get().text)
    assert server.operator.post("/session/match").status == 303
    for kill in range(KILLS):
        seen = sum(len(person.told) for person in people)
        wanted = PEOPLE * ROUNDS * (kill + 1) // (KILLS + 1)
        until(lambda seen=seen, wanted=wanted: broken or sum(len(p.told) for p in people) >= wanted)
        server.kill()
        time.sleep(0.3)
        server.start()
    for thread in threads:
        thread.join(timeout=300)
    assert broken == []
    assert not any(thread.is_alive() for thread in threads)
    table = server.operator.get("/private.csv").text
    payments = {row["name"]: row for row in read(server.operator.get("/payments.csv").text)}
    server.kill()

    rows = [row for row in read(table) if row["status"] == "over"]
    assert len(rows) == PEOPLE * ROUNDS
    kept: dict[int, dict[int, tuple[str, str, str]]] = {}
    earned: dict[int, float] = {}
    together: dict[str, list[str]] = {}
    for row in rows:
        assert (row["by"], row["decision"]) == ("player", "1")
        assert row["shown"] <= row["time"]
        number = int(row["person_name"])
        entry = row["player"], row["recommended"], row["action"]
        kept.setdefault(number, {})[int(row["round"])] = entry
        earned[number] = earned.get(number, 0.0) + float(row["payoff"])
        together.setdefault(row["play"], []).append(row["person"])
    assert kept == {person.number: person.told for person in people}
    assert len(together) == PEOPLE // 2 * ROUNDS
    assert all(len(set(pair)) == 2 for pair in together.values())
    for person in people:
        assert person.ended["points"] == earned[person.number]
        assert float(payments[str(person.number)]["points"]) == earned[person.number]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))
