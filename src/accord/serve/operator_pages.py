"""The operator's pages: the session with its people, plays and data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from urllib.parse import quote, urlsplit

import segno
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from accord.deviations.notions import written_k
from accord.errors import AccordError
from accord.serve.answers import as_json, base_path, page, redirect, sealed
from accord.serve.export import codebook, export
from accord.serve.fields import Fields, one_of, whole
from accord.serve.hall import Hall
from accord.serve.room import Room
from accord.serve.store import OPERATOR
from accord.serve.summary import summarize, summary_csv
from accord.serve.tables import links_csv, payments_csv
from accord.serve.views import WatchedPlay, digest


class OperatorPages:
    """The handlers of the operator's pages."""

    def __init__(self, room: Room, url: str | None) -> None:
        self.room, self.hall, self.url = room, room.hall, url
        self.game = self.hall.game.name
        treatments = self.hall.treatments.values()
        self.known = " ".join(
            f"{one.name}: {_known(one.k, one.mediated)}"
            if len(treatments) > 1
            else _known(one.k, one.mediated)
            for one in treatments
        )
        self.times = _times(self.hall)
        self.credibility = [
            (one.name if len(treatments) > 1 else "the device", said[0], said[1:])
            for one in treatments
            if one.judged is not None
            for said in (one.judged.credibility(),)
        ]

    def _check_operator(self, request: Request) -> str:
        token: str = request.path_params["token"]
        with self.hall.store.transaction():
            if self.hall.store.find_link(token, self.hall.clock()) != OPERATOR:
                raise HTTPException(404)
        return base_path(request, "operator")

    def hall_page(self, request: Request) -> Response:
        return self._hall_page(request, self._check_operator(request))

    def hall_state(self, request: Request) -> Response:
        self._check_operator(request)
        return as_json({"view": self._digest()})

    def _digest(self) -> str:
        return digest(*self.hall.list_plays(), *self.room.guests(), self.room.state())

    def _hall_page(
        self,
        request: Request,
        base: str,
        note: str | None = None,
        links: Sequence[tuple[str, str]] = (),
    ) -> Response:
        with self.hall.store.transaction():
            plays, guests, state = self.hall.list_plays(), self.room.guests(), self.room.state()
        return page(
            "hall.html", base=base, game=self.game, rules=self.known, times=self.times,
            credibility=self.credibility, warning=self.hall.warning, plays=plays, guests=guests,
            state=state,
            design=self.room.design, treatments=list(self.hall.treatments),
            digest=digest(*plays, *guests, state), address=self._address(request),
            note=note, once=secrets.token_urlsafe(12), links=links, table=links_csv(links),
            local=any(map(_is_local, links)), here_only=_is_local(("", self._address(request))),
        )  # fmt: skip

    def poster(self, request: Request) -> Response:
        """The address, its QR code and the code, to be shown to everybody."""
        base, address = self._check_operator(request), self._address(request)
        state = self.room.state()
        picture = segno.make(f"{address}/join/{state.code}", error="m", micro=False)
        drawn = picture.svg_inline(border=2, omitsize=True, dark="#000", light="#fff")
        return page(
            "poster.html", base=base, game=self.game, address=address, code=state.code,
            here=self.room.messages("join.here", count=len(self.room.guests())),
            digest=self._digest(), t=self.room.messages, qr=Markup(drawn),
        )  # fmt: skip

    def session_form(self, request: Request, fields: Fields) -> Response:
        """What the operator does with the whole session."""
        base = self._check_operator(request)
        what = request.path_params["what"]
        if what == "links":
            return self._hall_page(request, base, links=[
                (name, self._link(request, secret)) for name, secret in self.room.invite_list()
            ])  # fmt: skip
        actions = {
            "open": lambda: self.room.set_doors(True),
            "close": lambda: self.room.set_doors(False),
            "code": self.room.renew_code,
            "match": self.room.begin,
            "fill": self.room.fill,
            "pause": self.hall.pause,
            "continue": self.hall.proceed,
            "end": self.room.end,
        }
        if what not in actions:
            raise HTTPException(404)
        actions[what]()
        return redirect(base)

    def person_form(self, request: Request, fields: Fields) -> Response:
        """What the operator does with one person."""
        base, what = self._check_operator(request), request.path_params["what"]
        people = {str(one.id): one for one in self.room.guests()}
        if (person := people.get(request.path_params["person"])) is None:
            raise HTTPException(404)
        if what == "invite":
            if not self._is_first(fields):
                return redirect(base)  # keep the link that was shown
            link = person.name, self._link(request, self.room.invite(person.id))
            return self._hall_page(request, base, links=[link])
        if what != "remove":
            raise HTTPException(404)
        self.room.remove(person.id)
        return redirect(base)

    def create(self, request: Request, fields: Fields) -> Response:
        base = self._check_operator(request)
        id, count = fields.get("id", "").strip(), whole(fields, "count")
        with self.hall.store.transaction():
            if not self._is_first(fields):
                return redirect(base)
            try:
                made = self.hall.create(count, id or None, self._treatment(fields))
            except AccordError as error:
                return self._hall_page(request, base, str(error))
        return redirect(f"{base}/play/{quote(made[0])}" if len(made) == 1 else base)

    def _treatment(self, fields: Fields) -> str | None:
        """The treatment of new plays; None to draw one."""
        return one_of({"": "", **fields}, "treatment", ("", *self.hall.treatments)) or None

    def _is_first(self, fields: Fields) -> bool:
        """Whether this form is sent for the first time, not again by a second click or a reload."""
        if not fields.get("once"):
            raise HTTPException(400)
        with self.hall.store.transaction():
            return self.hall.store.use_form(fields["once"])

    def invite_all(self, request: Request, fields: Fields) -> Response:
        base = self._check_operator(request)
        links = [
            (f"Play {play}: {name}", self._link(request, secret))
            for play, name, secret in self.hall.invite_missing()
        ]
        return self._hall_page(request, base, links=links)

    def start_all(self, request: Request, fields: Fields) -> Response:
        base = self._check_operator(request)
        self.hall.start_ready()
        return redirect(base)

    def fill_seats(self, request: Request, fields: Fields) -> Response:
        base = self._check_operator(request)
        self.hall.fill_seats()
        return redirect(base)

    def revoke_others(self, request: Request, fields: Fields) -> Response:
        base = self._check_operator(request)
        token = request.path_params["token"]
        with self.hall.store.transaction():
            self.hall.store.revoke_links(None, self.hall.clock(), but=token)
        return redirect(base)

    def export_public(self, request: Request) -> Response:
        return self._table(request, "plays.csv", lambda: export(self.hall, private=False))

    def export_private(self, request: Request) -> Response:
        return self._table(request, "plays-private.csv", lambda: export(self.hall, private=True))

    def export_payments(self, request: Request) -> Response:
        return self._table(request, "payments.csv", lambda: payments_csv(self.room.guests()))

    def export_summary(self, request: Request) -> Response:
        return self._table(request, "summary.csv", lambda: summary_csv(self.hall))

    def export_codebook(self, request: Request) -> Response:
        return self._table(request, "codebook.csv", codebook)

    def _table(self, request: Request, name: str, make: Callable[[], str]) -> Response:
        self._check_operator(request)
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return sealed(Response(make(), media_type="text/csv", headers=disposition))

    def results(self, request: Request) -> Response:
        """Shares obeyed and mean payoffs, which tell the operator something about moves."""
        base = self._check_operator(request)
        return page(
            "results.html", base=base, game=self.game, summary=summarize(self.hall),
            several=len(self.hall.treatments) > 1,
        )  # fmt: skip

    def play_page(self, request: Request) -> Response:
        base = self._check_operator(request)
        return self._play_page(request, base, [])

    def _play_page(self, request: Request, base: str, links: list[tuple[str, str]]) -> Response:
        reveal = request.query_params.get("reveal") == "yes"
        play = self._watch(request, reveal)
        ready = all(seat.robot or seat.invited for seat in play.seats)
        return page(
            "play.html", base=base, game=self.game, play=play, links=links, reveal=reveal,
            ready=ready, digest=digest(play), local=any(map(_is_local, links)),
            once=secrets.token_urlsafe(12), table=links_csv(links),
            several=len(self.hall.treatments) > 1, restarts=self.hall.may_restart(play.id),
            threats=self.hall.treatments[play.treatment].threats,
        )  # fmt: skip

    def play_state(self, request: Request) -> Response:
        self._check_operator(request)
        reveal = request.query_params.get("reveal") == "yes"
        return as_json({"view": digest(self._watch(request, reveal))})

    def _watch(self, request: Request, reveal: bool) -> WatchedPlay:
        try:
            return self.hall.watch(request.path_params["play"], reveal)
        except AccordError:
            raise HTTPException(404) from None

    def play_form(self, request: Request, fields: Fields) -> Response:
        base, play = self._check_operator(request), request.path_params["play"]
        what = request.path_params["what"]
        seats = self._watch(request, False).seats
        if what == "invite-all":
            links = [
                (seat.name, self._link(request, self.hall.invite(play, seat.number)))
                for seat in seats
                if not (seat.robot or seat.invited)
            ]
            return self._play_page(request, base, links)
        if what == "restart":
            if self._is_first(fields) and self.hall.may_restart(play):
                play = self.hall.restart(play)
            return redirect(f"{base}/play/{quote(play)}")
        if what not in ("start", "stop"):
            raise HTTPException(404)
        (self.hall.start if what == "start" else self.hall.stop)(play)
        return redirect(f"{base}/play/{quote(play)}")

    def seat_form(self, request: Request, fields: Fields) -> Response:
        base, play = self._check_operator(request), request.path_params["play"]
        what, seats = request.path_params["what"], self._watch(request, False).seats
        numbers = {str(seat.number): seat.number for seat in seats}
        if (player := numbers.get(request.path_params["player"])) is None:
            raise HTTPException(404)
        if what == "invite":
            if not self._is_first(fields):
                return redirect(f"{base}/play/{quote(play)}")  # keep the link that was shown
            links = [(seats[player].name, self._link(request, self.hall.invite(play, player)))]
            return self._play_page(request, base, links)
        if what == "revoke":
            self.hall.revoke(play, player)
        elif what == "rename":
            self.hall.rename(play, player, fields.get("name", ""))
        elif what == "robot":
            robot = one_of(fields, "robot", ("yes", "no")) == "yes"
            self.hall.set_robot(play, player, robot)
        else:
            raise HTTPException(404)
        return redirect(f"{base}/play/{quote(play)}")

    def _link(self, request: Request, secret: str) -> str:
        return f"{self._address(request)}/seat/{secret}"

    def _address(self, request: Request) -> str:
        """Where people find the server: by default as the operator's browser did."""
        return (self.url or str(request.base_url)).rstrip("/")


# Words


def _is_local(link: tuple[str, str]) -> bool:
    """Whether only this computer can open a link."""
    return urlsplit(link[1]).hostname in ("localhost", "127.0.0.1", "::1")


def _known(k: float, mediated: bool = True) -> str:
    """The notion and the rules of the mediator, in words for the operator."""
    if not mediated:
        return "nobody advises anybody."
    if k == 0:
        return "NFCCE (K = 0): nothing is recommended. The mediator moves for those who let it."
    if k == float("inf"):
        return "BCE (K = infinity): the mediator always advises, whatever players do."
    name, times = ("EFCE", "once") if k == 1 else (f"{written_k(k)}-EFCE", f"{written_k(k)} times")
    return f"{name} (K = {written_k(k)}): the mediator is silent to players who disobeyed {times}."


def _times(hall: Hall) -> str:
    """The time limits, in words for the operator."""
    if hall.pace is not None:
        return f"Each round lasts {hall.pace:g} seconds."
    if hall.limit is not None:
        return f"A robot moves for players who have not answered after {hall.limit:g} seconds."
    return "There is no time limit."
