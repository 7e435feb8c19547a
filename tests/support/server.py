"""A server with its hall, in this process, and a client that talks to it over a socket."""

from __future__ import annotations

import html
import http.client
import re
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import uvicorn

import accord
from accord.equilibrium.policy import CorrelatedPolicy
from accord.mediator.mediator import Mediator
from accord.mediator.referee import Referee
from accord.mediator.timing import TimingWarning
from accord.serve.app import make_app
from accord.serve.connections import PromptConnection
from accord.serve.design import Design
from accord.serve.hall import Hall
from accord.serve.room import Room
from accord.serve.store import Store


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def device_policy(name: str) -> CorrelatedPolicy:
    return CorrelatedPolicy.from_device(accord.load_game(name), accord.library_device(name))


def open_hall(
    path: Path, policy: CorrelatedPolicy, k: float = 1, seed: int | None = 1, **options: Any
) -> Hall:
    mediator = Mediator(policy.game, policy, k, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TimingWarning)
        referee = Referee(mediator)
    about = {what: str(value) for what, value in mediator.identity.items()}
    return Hall(referee, Store(path, about), **options)


def open_room(
    path: Path, game: str = "chicken", design: Design | None = None, **options: Any
) -> Room:
    """A session with the device of a library game, continued if the file exists."""
    messages = options.pop("messages", None)
    return Room(open_hall(path, device_policy(game), **options), design, messages)


def threatened_entry() -> accord.CorrelatedPolicy:
    """An entrant stays out because the incumbent is told to fight, which nobody would do."""
    b = accord.GameBuilder(players=["entrant", "incumbent"], name="entry")
    b.move(player="entrant", infoset="start", actions="enter stay")
    b.move("enter", player="incumbent", infoset="entered", actions="fight yield")
    b.payoff("enter fight", -1, -1)
    b.payoff("enter yield", 2, 1)
    b.payoff("stay", 0, 3)
    device = [(1, ({"start": "stay"}, {"entered": "fight"}))]
    return accord.CorrelatedPolicy.from_device(b.build(), device)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Client:
    """A person without a browser: one connection per request, no redirects."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def request(self, method: str, path: str = "", fields: Any = None, **headers: str) -> Answer:
        body = None if fields is None else urlencode(fields)
        with closing(http.client.HTTPConnection(self.host, timeout=60)) as connection:
            connection.request(method, self.path + path, body, headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode())

    def get(self, path: str = "", **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def post(self, path: str, **fields: object) -> Answer:
        return self.request("POST", path, fields)


@contextmanager
def running(
    served: Hall | Room, listen: int = 0, *, url: str | None = None, **options: Any
) -> Iterator[str]:
    """The address of a server that runs while the block does, at a free port by default.

    ``url`` is what the links of its seats begin with, as in ``accord serve --url``.
    """
    listener = socket.create_server(("127.0.0.1", listen))
    room = served if isinstance(served, Room) else Room(served)
    config = uvicorn.Config(
        make_app(room, url), log_config=None, log_level="critical", access_log=False,
        server_header=False, http=PromptConnection, **options,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()
        assert not thread.is_alive()


def operator_link(hall: Hall) -> str:
    with hall.store.transaction():
        return "/operator/" + hall.store.make_link(None, hall.clock())


def plain(page: str) -> str:
    """The text of a page, without its style and script."""
    body = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.S)
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", body).split()))
