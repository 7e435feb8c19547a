"""The pages of participants: coming in, and everything behind their private link.

A handler that is not ``async`` runs in a thread. POST answers with a redirect, so a reload does not
send a move again; forms name their play, so a click on an old page does not count in a later one.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from functools import cached_property
from typing import Any
from urllib.parse import quote

from markupsafe import escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from accord.errors import AccordError
from accord.serve.answers import PADDED_BYTES, as_json, base_path, page, redirect
from accord.serve.fields import Fields, one_of, whole
from accord.serve.limits import Limiter
from accord.serve.pages import render
from accord.serve.room import JoinError, Room
from accord.serve.rules import Question, as_html
from accord.serve.views import (
    LONGEST_NAME,
    PersonView,
    Round,
    SeatView,
    digest,
    fullest_views,
    width,
)

SPARE = 4_096
"""Bytes of the texts around a quiz; an eighth of them for those around a line of the debriefing."""

COOKIE, REMEMBERED = "accord-seat", 86_400
"""A device remembers the link of who came in last, for so many seconds; only the door reads it."""

LONG = math.pi * 1e-300
"""A number that is long on a page."""


class SeatPages:
    """The handlers of participants' pages."""

    def __init__(self, room: Room, limiter: Limiter) -> None:
        self.room, self.hall, self.t, self.limiter = room, room.hall, room.messages, limiter
        self.game = self.hall.game.name
        self.consent = as_html(room.design.consent or "")

    def person(self, request: Request) -> int:
        """The person whose link that is; they have been heard of."""
        token = request.path_params["token"]
        found = self.room.find(token)
        if found is None:
            raise HTTPException(404)
        self.limiter.check(f"person {found}")
        self.room.rounds.hear(found)
        return found

    def seat(self, request: Request) -> Response:
        person = self.person(request)
        self.hall.note_opened(request.path_params["token"])
        note = self.t("page.late") if "late" in request.query_params else None
        return self._show(request, person, note=note)

    def _show(
        self,
        request: Request,
        person: int,
        note: str | None = None,
        marks: list[bool] | None = None,
        typed: list[str] | None = None,
    ) -> Response:
        view = self.room.look(person)
        self.note_shown(view, person)
        until = view.until if view.seat is None else view.seat.until or view.until
        return page(
            "seat.html", t=self.t, length=self.length, base=base_path(request, "seat"), view=view,
            left=None if until is None else max(0.0, until - self.hall.clock()),
            title=self._title(view), note=note, digest=digest(view), marks=marks, typed=typed,
            questions=self.questions(view, person), **self._content(person, view.seat),
        )  # fmt: skip

    def _content(self, person: int, seat: SeatView | None) -> dict[str, Any]:
        """What the page needs beside the view, which is the same for all plays."""
        rules, players = self.room.rules_of(person), self.hall.game.player_labels
        return {
            "game": self.game,
            "rules": rules,
            "rounds": self.room.design.rounds,
            "consent": self.consent,
            "knows": seat is not None and self.hall.game.n_infosets[players.index(seat.player)] > 1,
            "mediated": self.room.is_mediated(person),
            "speaks": True,
        }

    def questions(self, view: PersonView, person: int) -> tuple[Question, ...]:
        """The quiz, if somebody is at it."""
        return self.room.rules_of(person).questions(person) if view.stage == "quiz" else ()

    def note_shown(self, view: PersonView, person: int) -> None:
        """Remember when a decision was first shown."""
        if view.seat is not None and view.seat.status == "act":
            self.hall.note_shown(view.seat.play, self.room.player(person))

    def _title(self, view: PersonView) -> str:
        """How a person is addressed: by the name that the operator gave them, and by role."""
        if view.seat is None:
            return view.name or self.game
        own = self.t.role(view.seat.player)
        if view.room or view.seat.name in (own, view.seat.player):
            return self.t.text("page.you_play", role=own)
        return self.t.text("page.named_you_play", name=view.seat.name, role=own)

    def state(self, request: Request) -> Response:
        return as_json({"view": digest(self.room.look(self.person(request)))})

    def act(self, request: Request, fields: Fields) -> Response:
        person = self.person(request)
        infoset, action = whole(fields, "infoset"), whole(fields, "action")
        return self._back(
            request, lambda: self.room.act(person, infoset, action, fields.get("play"))
        )

    def choose(self, request: Request, fields: Fields) -> Response:
        person = self.person(request)
        delegate = one_of(fields, "delegate", ("yes", "no")) == "yes"
        return self._back(request, lambda: self.room.choose(person, delegate, fields.get("play")))

    def step(self, request: Request, fields: Fields) -> Response:
        person = self.person(request)
        step = one_of(fields, "step", ("consent", "refuse", "instructions"))
        if step == "refuse":
            self.room.refuse(person)
        else:
            self.room.pass_step(person, step)
        return redirect(base_path(request, "seat"))

    def quiz(self, request: Request, fields: Fields) -> Response:
        person = self.person(request)
        if self.room.look(person).stage != "quiz":
            return redirect(base_path(request, "seat"))
        count = len(self.room.rules_of(person).questions(person))
        typed = [fields.get(f"q{n}", "")[:30] for n in range(count)]
        marks = self.room.answer(person, typed)
        if all(marks):
            return redirect(base_path(request, "seat"))
        return self._show(request, person, self.t("quiz.wrong"), marks, typed)

    def proceed(self, request: Request, fields: Fields) -> Response:
        person = self.person(request)
        return self._back(request, lambda: self.room.proceed(person, fields.get("play")))

    def _back(self, request: Request, change: Callable[[], None]) -> Response:
        """Make a person's change, and show their page again."""
        target = base_path(request, "seat")
        try:
            change()
        except AccordError:
            target += "?late"
        return redirect(target)

    # Coming in

    def door(self, request: Request) -> Response:
        """The page on which people type the code."""
        return self._join_page(f"{request.scope.get('root_path', '')}/", "code")

    def knock(self, request: Request, fields: Fields) -> Response:
        code = fields.get("given", "")
        root = request.scope.get("root_path", "")
        if not self.is_code(code):
            return self._join_page(f"{root}/", "code", "join.no_such_code", code)
        return redirect(f"{root}/join/{quote(self.room.code)}")

    def entrance(self, request: Request) -> Response:
        """The page behind the code, which asks for a name if the design says so."""
        self.check_code(request)
        asks = self.room.design.asks if self.room.is_open else "closed"
        return self._join_page(self._entrance(request), asks, back=self._known_seat(request))

    def _known_seat(self, request: Request) -> str | None:
        """The seat of whoever came in on this device before, perhaps by the same QR code."""
        token = request.cookies.get(COOKIE, "")
        known = bool(token) and self.room.find(token) is not None
        return f"{request.scope.get('root_path', '')}/seat/{quote(token)}" if known else None

    def enter(self, request: Request, fields: Fields) -> Response:
        self.check_code(request)
        given = fields.get("given", "")
        try:
            token = self.room.join(given, fields.get("once") or None)
        except JoinError as error:
            asks = self.room.design.asks if self.room.is_open else "closed"
            back = self._known_seat(request)
            return self._join_page(self._entrance(request), asks, str(error), given, back)
        answer = redirect(f"{request.scope.get('root_path', '')}/seat/{token}")
        answer.set_cookie(
            COOKIE, token, REMEMBERED, path=f"{request.scope.get('root_path', '')}/join",
            secure=request.url.scheme == "https", httponly=True, samesite="lax",
        )  # fmt: skip
        return answer

    def check_code(self, request: Request) -> None:
        """Answer as to any wrong link unless the address has the code."""
        if not self.is_code(request.path_params["code"]):
            raise HTTPException(404)

    def is_code(self, code: str) -> bool:
        """Whether that is the code; wrong ones are limited in number."""
        if self.room.is_code(code):
            return True
        self.limiter.check("wrong codes")
        return False

    def _entrance(self, request: Request) -> str:
        return f"{request.scope.get('root_path', '')}/join/{quote(self.room.code)}"

    def _join_page(
        self, action: str, asks: str, note: str = "", given: str = "", back: str | None = None
    ) -> Response:
        shown = " ".join(given.split())[:60]
        return page(
            "join.html", t=self.t, speaks=True, action=action, asks=asks, given=shown,
            back=back, once=secrets.token_urlsafe(12),
            note=self.t(note, name=shown) if note and asks != "closed" else None,
        )  # fmt: skip

    @cached_property
    def length(self) -> int:
        """Bytes of the longest page that somebody can see in this session; all have as many."""
        game, design, t = self.hall.game, self.room.design, self.t
        rounds = (Round(design.rounds, max(map(t.role, game.player_labels), key=len), -LONG),)
        lengths, views = [], fullest_views(game)
        for seat in views:
            for rules in self.room.rules.values():
                view = PersonView(
                    name="&" * LONGEST_NAME, room=True, stage="seat", round=design.rounds,
                    seat=seat, proceeds=True, rounds=rounds * design.rounds, points=-LONG,
                    money=design.money(-1e12), last=True, debrief=(), until=None,
                )  # fmt: skip
                html = render(
                    "seat.html", t=t, base="x" * 200, view=view, left=1e6, title="&" * 200,
                    note=t("quiz.wrong"), digest="x" * 24, marks=None, typed=None, questions=(),
                    nonce="x" * 16, speaks=True, game=self.game, rules=rules,
                    rounds=design.rounds, consent="", knows=True, mediated=True,
                )  # fmt: skip
                lengths.append(len(html.encode()))
                lengths[-1] += sum(len(str(escape(one)).encode()) for one in rules.endings)
        lines = sum(len(view.moves) for view in views if view.status == "over") * design.rounds
        widest = max(
            (width(word) for view in views for word in (view.infoset, view.told) if word), default=0
        )
        more = (lines + game.n_players) * (3 * widest + SPARE // 8) + len(self.consent.encode())
        return PADDED_BYTES * math.ceil((max(lengths) + more + SPARE) / PADDED_BYTES)
