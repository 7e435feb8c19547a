"""A seat of ``accord serve`` for a program: look, wait, choose.

It needs nothing but the standard library. Every request may be repeated, so while the server is
away, such as during a restart, the client tries again for a while.
"""

from __future__ import annotations

import http.client
import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from accord.errors import ArgumentError, MediatorError

PATIENCE = 60.0
"""Seconds for which a client tries again while the server does not answer."""

PAUSE = 0.5
"""Seconds between two tries."""

SECONDS = 25.0
"""Seconds that the server keeps a request for news."""


@dataclass(frozen=True)
class Situation:
    """What a player may see: the same as on the page of the seat."""

    view: str  # changes when anything else but seconds_left does
    status: str  # consent, instructions, quiz, lobby, open, choose, act, wait, over, ...
    round: int | None  # 0 for practice
    rounds: int
    play: str | None
    role: str | None
    infoset: str | None  # what they know, if they have to decide
    actions: Sequence[str]
    recommendation: str | None  # None where the mediator is silent
    seconds_left: float | None
    moves: Sequence[dict[str, Any]]  # their own, with what was recommended
    story: Sequence[Sequence[str]]  # at the end: who did what
    payoffs: dict[str, float]  # at the end
    payoff: float | None  # at the end: their own
    points: float  # in all rounds so far
    money: str | None
    questions: Sequence[dict[str, str]]
    continues: bool  # whether another round follows when they say so
    last: bool  # whether nothing follows
    debrief: Sequence[str]


Decision = Callable[[Situation], str]
"""What a program plays: one of the actions."""


def obey(situation: Situation) -> str:
    """Play what is recommended; the first action where the mediator is silent."""
    return situation.recommendation or situation.actions[0]


class SeatClient:
    """A seat of ``accord serve``. Made by :func:`accord.seat`.

    Attributes:
        url: The private link of the seat.
    """

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        self.url, self.patience = url.rstrip("/"), patience

    def rules(self) -> dict[str, Any]:
        """The rules of the game: ``text``, and ``endings`` with their payoffs if there are few."""
        return self._request("GET", "/rules")

    def look(self) -> Situation:
        """What the player may see now."""
        return Situation(**self._request("GET", ""))

    def wait(self, after: Situation, seconds: float = 60.0) -> Situation:
        """What the player may see as soon as it differs from ``after``, or after some seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            query = urlencode({"after": after.view, "wait": min(left, SECONDS)})
            now = Situation(**self._request("GET", f"/news?{query}"))
            if now.view != after.view:
                return now
        return self.look()

    def act(self, action: str, at: Situation | None = None) -> Situation:
        """Play an action, where the player is asked now or was asked ``at``.

        Raises:
            MediatorError: If it cannot be played, or not any more.
        """
        here = at or self.look()
        if here.status != "act" or action not in here.actions:
            options = ", ".join(map(repr, here.actions)) or "none, because nothing is asked now"
            raise MediatorError(f"the action must be one of: {options}; got {action!r}")
        sent = {"play": here.play, "infoset": here.infoset, "action": action}
        return Situation(**self._request("POST", "/act", sent))

    def choose(self, delegate: bool) -> Situation:
        """At K = 0, let the mediator make all moves, or play alone."""
        sent = {"play": self.look().play, "delegate": delegate}
        return Situation(**self._request("POST", "/choose", sent))

    def agree(self) -> Situation:
        """Agree to the consent form, or say that the instructions were read."""
        return Situation(**self._request("POST", "/step", {"step": self.look().status}))

    def answer(self, answers: Sequence[object]) -> list[bool]:
        """Answer the questions on payoffs; which answers are right."""
        sent = {"answers": [str(one) for one in answers]}
        right: list[bool] = self._request("POST", "/quiz", sent)["right"]
        return right

    def proceed(self) -> Situation:
        """Continue after practice, or after a round."""
        return Situation(**self._request("POST", "/continue", {"play": self.look().play}))

    def play(self, decide: Decision = obey, delegate: bool = True) -> Situation:
        """Play to the end of the session; return what is seen there.

        It agrees to everything, answers questions by the rules, and continues after each round.

        Args:
            decide: What to play, given what the player sees; by default what is recommended.
            delegate: Whether to let the mediator move, at K = 0.
        """
        now = self.look()
        while not now.last and now.status != "declined":
            try:
                now = self._step(now, decide, delegate)
            except MediatorError:  # too late: a robot has moved, or the session has moved on
                now = self.look()
        return now

    def _step(self, now: Situation, decide: Decision, delegate: bool) -> Situation:
        if now.status in ("consent", "instructions"):
            return self.agree()
        if now.status == "quiz":
            paid = {one["ending"]: one["payoffs"] for one in self.rules()["endings"]}
            self.answer([paid[one["ending"]][one["role"]] for one in now.questions])
            return self.look()
        if now.status == "choose":
            return self.choose(delegate)
        if now.status == "act":
            return self.act(decide(now), now)
        return self.proceed() if now.continues else self.wait(now)

    def _request(self, method: str, path: str, sent: Any = None) -> dict[str, Any]:
        return _request(f"{self.url}/api{path}", method, sent, self.patience)

    def __repr__(self) -> str:
        return "SeatClient(...)"  # the link is secret


def seat(url: str, name: str = "", patience: float = PATIENCE) -> SeatClient:
    """Sit down at a seat of ``accord serve``.

    Args:
        url: A private link, ``http://.../seat/...``, or the common one, ``http://.../join/CODE``,
            by which the program comes in.
        name: The name or number that the common link asks for, if it does.
        patience: Seconds for which to try again while the server does not answer.

    Raises:
        ArgumentError: If that is not such a link.
        MediatorError: If the server does not let the program in, or does not answer.
    """
    parts = urlsplit(url)
    base, _, code = url.rstrip("/").rpartition("/join/")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ArgumentError(f"a seat must be a link, http://.../seat/...; got {url!r:.200}")
    if base:
        sent = {"code": code, "name": name, "once": secrets.token_urlsafe(16)}
        return SeatClient(_request(f"{base}/api/join", "POST", sent, patience)["seat"], patience)
    if "/seat/" not in parts.path:
        raise ArgumentError("a seat must be a link that ends in /seat/... or in /join/CODE")
    return SeatClient(url, patience)


def _request(url: str, method: str, sent: Any, patience: float) -> dict[str, Any]:
    """The answer of the server; it is asked again while it is away."""
    data = None if sent is None else json.dumps(sent).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    end = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(asked, timeout=SECONDS + 30) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            if error.code not in (429, 500, 502, 503, 504) or time.monotonic() > end:
                raise _refusal(error) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            if time.monotonic() > end:
                host = urlsplit(url).netloc
                raise MediatorError(f"the server at {host} does not answer: {error}") from None
        time.sleep(PAUSE)


def _refusal(error: urllib.error.HTTPError) -> MediatorError:
    """What the server said, without the link."""
    try:
        text = str(json.load(error)["error"])
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        text = f"the server refused the request with status {error.code}"
    return MediatorError(text)
