"""Seats for programs: what a page shows and its buttons do, as JSON.

The interface lies behind the same private links as the pages, and shows the same: the view of one
person (``serve/views.py``). Answers are filled to a common length, as pages are. A program waits
for news by a *long poll*: the server answers as soon as the view differs from the one that the
program has, or after ``wait`` seconds. ``serve/api_description.py`` has it all as OpenAPI.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from accord.errors import AccordError
from accord.serve.answers import as_json, page
from accord.serve.api_description import describe
from accord.serve.fields import read_body
from accord.serve.room import JoinError
from accord.serve.seat_pages import SeatPages
from accord.serve.views import PersonView, digest

LONGEST_WAIT = 25.0
"""Seconds after which a long poll is answered without news; proxies give up after 30 or 60."""

GLANCE, LOOK = 0.1, 1.0
"""Seconds between looks of a long poll if something has changed, and if nothing has."""

Body = dict[str, Any]
JsonHandler = Callable[[Request, Body], Response]


def body(handler: JsonHandler) -> Callable[[Request], Awaitable[Response]]:
    """A handler that reads a JSON object and passes it to ``handler``, in a thread."""

    async def handle(request: Request) -> Response:
        text = await read_body(request)
        try:
            found = json.loads(text or b"{}")
        except (ValueError, RecursionError):
            raise HTTPException(400) from None
        if not isinstance(found, dict):
            raise HTTPException(400)
        return await run_in_threadpool(handler, request, found)

    return handle


class SeatApi:
    """The handlers of the interface."""

    def __init__(self, pages: SeatPages, url: str | None) -> None:
        self.pages, self.room, self.hall, self.url = pages, pages.room, pages.hall, url
        self.length = pages.length

    def description(self, request: Request) -> Response:
        """The interface as OpenAPI."""
        return as_json(describe(self._address(request)), pretty=True)

    def description_page(self, request: Request) -> Response:
        """The interface for people."""
        return page("api.html", spec=describe(self._address(request)))

    def _address(self, request: Request) -> str:
        return (self.url or str(request.base_url)).rstrip("/")

    def join(self, request: Request, sent: Body) -> Response:
        if not self.pages.is_code(_text(sent, "code")):
            raise HTTPException(404)
        once = _text(sent, "once", "") or None
        try:
            token = self.room.join(_text(sent, "name", ""), once)
        except JoinError as error:
            shown = self.room.messages.text(str(error), name=_text(sent, "name", ""))
            return as_json({"error": shown}, 409)
        return as_json({"seat": f"{self._address(request)}/seat/{quote(token)}"}, 201)

    # One seat

    def look(self, request: Request) -> Response:
        person = self.pages.person(request)
        self.hall.note_opened(request.path_params["token"])
        return self._shown(person)

    def _shown(self, person: int, status: int = 200) -> Response:
        view = self.room.look(person)
        self.pages.note_shown(view, person)
        return as_json(self._as_object(view, person), status, self.length)

    def _as_object(self, view: PersonView, person: int) -> dict[str, Any]:
        """What a page shows, by name."""
        seat, t = view.seat, self.room.messages
        until = view.until if seat is None else seat.until or view.until
        questions = self.pages.questions(view, person)
        return {
            "view": digest(view),
            "status": view.stage if seat is None else seat.status,
            "round": view.round,
            "rounds": self.room.design.rounds,
            "play": None if seat is None else seat.play,
            "role": None if seat is None else seat.player,
            "infoset": None if seat is None else seat.infoset,
            "actions": [] if seat is None else list(seat.actions),
            "recommendation": None if seat is None else seat.told,
            "seconds_left": None if until is None else max(0.0, until - self.hall.clock()),
            "moves": []
            if seat is None
            else [
                {"infoset": m.infoset, "recommended": m.told, "action": m.action, "by": m.by}
                for m in seat.moves
            ],
            "story": [] if seat is None else [list(one) for one in seat.story],
            "payoffs": {} if seat is None else dict(seat.payoffs),
            "payoff": None if seat is None else seat.payoff,
            "points": view.points,
            "money": view.money,
            "questions": [
                {
                    "text": t.text("quiz.question", story=one.ending, role=one.role),
                    "ending": one.ending,
                    "role": one.role,
                }
                for one in questions
            ],
            "continues": view.proceeds,
            "last": view.last,
            "debrief": list(view.debrief),
        }

    async def news(self, request: Request) -> Response:
        """The view as soon as it is another one, or after some seconds."""
        person = await run_in_threadpool(self.pages.person, request)
        after = request.query_params.get("after", "")
        try:
            wait = float(request.query_params.get("wait", LONGEST_WAIT))
        except ValueError:
            raise HTTPException(400) from None
        end = time.monotonic() + max(0.0, min(wait, LONGEST_WAIT))  # 0 if it is not a number
        seen, looked = -1, 0.0
        while True:
            now = time.monotonic()
            if (seen != self.hall.changes and now >= looked + GLANCE) or now >= looked + LOOK:
                seen, looked = self.hall.changes, now
                view = await run_in_threadpool(self._hear_and_look, person)
                if digest(view) != after:
                    break
            if now >= end or await request.is_disconnected():
                break
            await asyncio.sleep(GLANCE)
        return await run_in_threadpool(self._shown, person)

    def _hear_and_look(self, person: int) -> PersonView:
        self.room.rounds.hear(person)
        return self.room.look(person)

    def rules(self, request: Request) -> Response:
        person = self.pages.person(request)
        rules = self.room.rules_of(person)
        endings = [
            {
                "ending": str(one),
                "moves": [list(move) for move in one.moves],
                "payoffs": dict(zip(rules.roles, one.payoffs, strict=True)),
            }
            for one in rules.endings
        ]
        text = rules.as_text(self.room.messages)
        own, consent = self.room.design.instructions, self.room.design.consent
        return as_json(
            {
                "text": "\n\n".join(filter(None, (own, text))),
                "consent": consent,
                "roles": list(rules.roles),
                "endings": endings,
            }
        )

    def act(self, request: Request, sent: Body) -> Response:
        person = self.pages.person(request)
        play, infoset, action = (_text(sent, name) for name in ("play", "infoset", "action"))

        def move() -> None:
            x, a = self.room.find_move(person, play, infoset, action)
            self.room.act(person, x, a, play)

        return self._changed(person, move)

    def choose(self, request: Request, sent: Body) -> Response:
        person, play = self.pages.person(request), _text(sent, "play")
        if type(delegate := sent.get("delegate")) is not bool:
            raise HTTPException(400)
        return self._changed(person, lambda: self.room.choose(person, delegate, play))

    def step(self, request: Request, sent: Body) -> Response:
        person, step = self.pages.person(request), _text(sent, "step")
        if step not in ("consent", "refuse", "instructions"):
            raise HTTPException(400)
        return self._changed(
            person,
            lambda: (
                self.room.refuse(person) if step == "refuse" else self.room.pass_step(person, step)
            ),
        )

    def quiz(self, request: Request, sent: Body) -> Response:
        person, answers = self.pages.person(request), sent.get("answers")
        if not isinstance(answers, list) or len(answers) > 100:
            raise HTTPException(400)
        if self.room.look(person).stage != "quiz":
            return as_json({"error": self.room.messages.text("page.late")}, 409)
        return as_json({"right": self.room.answer(person, [str(one)[:30] for one in answers])})

    def proceed(self, request: Request, sent: Body) -> Response:
        person, play = self.pages.person(request), _text(sent, "play")
        return self._changed(person, lambda: self.room.proceed(person, play))

    def _changed(self, person: int, change: Callable[[], None]) -> Response:
        """Make a person's change, and show their view; why it was refused is not told."""
        try:
            change()
        except AccordError:
            return as_json({"error": self.room.messages.text("page.late")}, 409)
        return self._shown(person)


def _text(sent: Body, name: str, default: str | None = None) -> str:
    value = sent.get(name, default)
    if not isinstance(value, str):
        raise HTTPException(400)
    return value
