"""The web server: its routes, and what answers each of them.

A link is ``/seat/SECRET`` or ``/operator/SECRET``; there are no other pages and no cookies. A
wrong, revoked or foreign secret gets the same answer. Pages are not cached, load nothing and send
no referrer. GET changes nothing but the note that a page was opened; POST answers with a redirect,
so a reload does not send a move again, and moves are idempotent anyway (``serve/hall.py``).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, quote, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from accord.deviations.notions import written_k
from accord.errors import AccordError
from accord.serve.answers import as_json, base_path, fail, page, redirect, refuse, sealed
from accord.serve.export import export
from accord.serve.hall import Hall
from accord.serve.store import reason
from accord.serve.views import WatchedPlay, digest, seat_title

LOG = logging.getLogger("accord.serve")

LARGEST_FORM = 10_000
"""Bytes of a form; ours are far smaller."""

SLOWEST_FORM = 20.0
"""Seconds in which a form must arrive."""

TICK = 0.25
"""Seconds between looks at the clock."""

FAILED_TICK = 10.0
"""Seconds until the next look after one that failed, such as on a full disk."""

LATE = "That move came too late, or you had already made another."

Handler = Callable[[Request, dict[str, str]], Response]


def make_app(hall: Hall, url: str | None = None) -> Starlette:
    """The application for one hall.

    Links to seats start with ``url``; by default with the address at which the operator's browser
    found the server.
    """
    pages = _Pages(hall, url)
    routes = [
        Route("/seat/{token}", pages.seat, methods=["GET"]),
        Route("/seat/{token}/state", pages.seat_state, methods=["GET"]),
        Route("/seat/{token}/act", pages.form(pages.act), methods=["POST"]),
        Route("/seat/{token}/choose", pages.form(pages.choose), methods=["POST"]),
        Route("/operator/{token}", pages.hall_page, methods=["GET"]),
        Route("/operator/{token}/state", pages.hall_state, methods=["GET"]),
        Route("/operator/{token}/create", pages.form(pages.create), methods=["POST"]),
        Route("/operator/{token}/invite-all", pages.form(pages.invite_all), methods=["POST"]),
        Route("/operator/{token}/start-all", pages.form(pages.start_all), methods=["POST"]),
        Route("/operator/{token}/fill-seats", pages.form(pages.fill_seats), methods=["POST"]),
        Route("/operator/{token}/revoke-others", pages.form(pages.revoke_others), methods=["POST"]),
        Route("/operator/{token}/export.csv", pages.export_public, methods=["GET"]),
        Route("/operator/{token}/private.csv", pages.export_private, methods=["GET"]),
        Route("/operator/{token}/play/{play}", pages.play_page, methods=["GET"]),
        Route("/operator/{token}/play/{play}/state", pages.play_state, methods=["GET"]),
        Route(
            "/operator/{token}/play/{play}/{what}", pages.form(pages.play_form), methods=["POST"]
        ),
        Route(
            "/operator/{token}/play/{play}/seat/{player}/{what}",
            pages.form(pages.seat_form),
            methods=["POST"],
        ),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.create_task(_tick(hall))
        yield
        ticking.cancel()

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: refuse, Exception: fail},
        middleware=[Middleware(_Prefix)],
    )
    app.router.redirect_slashes = False  # such redirects would have the address of the request
    return app


class _Prefix:
    """Lets a proxy keep the root path in addresses, or remove it.

    The server has put it before every path; here a second one is taken away.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root, path = scope.get("root_path", ""), scope.get("path", "")
        if root and path.startswith((f"{root}{root}/seat/", f"{root}{root}/operator/")):
            scope = {**scope, "path": path.removeprefix(root)}
        await self.app(scope, receive, send)


async def _tick(hall: Hall) -> None:
    while True:
        await asyncio.sleep(TICK)
        try:
            await run_in_threadpool(hall.tick)
        except Exception as error:
            LOG.error("robots could not move: %s", reason(error))
            await asyncio.sleep(FAILED_TICK)


class _Pages:
    """The handlers. Those that are not ``async`` run in a thread."""

    def __init__(self, hall: Hall, url: str | None) -> None:
        self.hall, self.game, self.url = hall, hall.game.name, url
        k = hall.referee.mediator.k
        self.rules, self.known, self.times = _rules(k), _known(k), _times(hall)

    def form(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """A handler that reads the fields of a form and passes them to ``handler``."""

        async def handle(request: Request) -> Response:
            body = b""
            try:
                async with asyncio.timeout(SLOWEST_FORM):
                    async for piece in request.stream():
                        body += piece
                        if len(body) > LARGEST_FORM:
                            raise HTTPException(413)
            except TimeoutError:
                raise HTTPException(408) from None
            fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
            return await run_in_threadpool(
                handler, request, {name: values[-1] for name, values in fields.items()}
            )

        return handle

    # Players

    def _seat(self, request: Request) -> tuple[str, int]:
        found = self.hall.find_seat(request.path_params["token"])
        if found is None:
            raise HTTPException(404)
        return found

    def seat(self, request: Request) -> Response:
        play, player = self._seat(request)
        self.hall.note_opened(request.path_params["token"])
        view = self.hall.look(play, player)
        note = LATE if "late" in request.query_params else None
        base = base_path(request, "seat")
        left = None if view.until is None else max(0.0, view.until - self.hall.clock())
        return page(
            "seat.html", base=base, game=self.game, view=view, left=left, title=seat_title(view),
            rules=self.rules, note=note, digest=digest(view),
        )  # fmt: skip

    def seat_state(self, request: Request) -> Response:
        play, player = self._seat(request)
        return as_json({"view": digest(self.hall.look(play, player))})

    def act(self, request: Request, fields: dict[str, str]) -> Response:
        play, player = self._seat(request)
        return self._back(
            request,
            lambda: self.hall.act(
                play, player, _whole(fields, "infoset"), _whole(fields, "action")
            ),
        )

    def choose(self, request: Request, fields: dict[str, str]) -> Response:
        play, player = self._seat(request)
        delegate = _one_of(fields, "delegate", ("yes", "no")) == "yes"
        return self._back(request, lambda: self.hall.choose(play, player, delegate))

    def _back(self, request: Request, change: Callable[[], None]) -> Response:
        """Make a player's change, and show their page again."""
        target = base_path(request, "seat")
        try:
            change()
        except AccordError:
            target += "?late"
        return redirect(target)

    # The operator

    def _check_operator(self, request: Request) -> str:
        token: str = request.path_params["token"]
        with self.hall.store.transaction():
            if self.hall.store.find_link(token) != (None, None):
                raise HTTPException(404)
        return base_path(request, "operator")

    def hall_page(self, request: Request) -> Response:
        return self._hall_page(self._check_operator(request))

    def hall_state(self, request: Request) -> Response:
        self._check_operator(request)
        return as_json({"view": digest(*self.hall.list_plays())})

    def _hall_page(
        self, base: str, note: str | None = None, links: Sequence[tuple[str, str]] = ()
    ) -> Response:
        plays = self.hall.list_plays()
        return page(
            "hall.html", base=base, game=self.game, rules=self.known, times=self.times,
            warning=self.hall.warning, plays=plays, digest=digest(*plays),
            note=note, once=secrets.token_urlsafe(12), links=links,
            local=any(map(_is_local, links)),
        )  # fmt: skip

    def create(self, request: Request, fields: dict[str, str]) -> Response:
        base = self._check_operator(request)
        id, count = fields.get("id", "").strip(), _whole(fields, "count")
        with self.hall.store.transaction():
            if not self._is_first(fields):
                return redirect(base)
            try:
                made = self.hall.create(count, id or None)
            except AccordError as error:
                return self._hall_page(base, str(error))
        return redirect(f"{base}/play/{quote(made[0])}" if len(made) == 1 else base)

    def _is_first(self, fields: dict[str, str]) -> bool:
        """Whether this form is sent for the first time, not again by a second click or a reload."""
        if not fields.get("once"):
            raise HTTPException(400)
        with self.hall.store.transaction():
            return self.hall.store.use_form(fields["once"])

    def invite_all(self, request: Request, fields: dict[str, str]) -> Response:
        base = self._check_operator(request)
        links = [
            (f"Play {play}: {name}", self._link(request, secret))
            for play, name, secret in self.hall.invite_missing()
        ]
        return self._hall_page(base, links=links)

    def start_all(self, request: Request, fields: dict[str, str]) -> Response:
        base = self._check_operator(request)
        self.hall.start_ready()
        return redirect(base)

    def fill_seats(self, request: Request, fields: dict[str, str]) -> Response:
        base = self._check_operator(request)
        self.hall.fill_seats()
        return redirect(base)

    def revoke_others(self, request: Request, fields: dict[str, str]) -> Response:
        base = self._check_operator(request)
        token = request.path_params["token"]
        with self.hall.store.transaction():
            self.hall.store.revoke_links(None, None, self.hall.clock(), but=token)
        return redirect(base)

    def export_public(self, request: Request) -> Response:
        return self._export(request, private=False)

    def export_private(self, request: Request) -> Response:
        return self._export(request, private=True)

    def _export(self, request: Request, *, private: bool) -> Response:
        self._check_operator(request)
        name = "plays-private.csv" if private else "plays.csv"
        return sealed(
            Response(
                export(self.hall, private=private),
                media_type="text/csv",
                headers={"Content-Disposition": f'attachment; filename="{name}"'},
            )
        )

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
            once=secrets.token_urlsafe(12),
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

    def play_form(self, request: Request, fields: dict[str, str]) -> Response:
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
        if what not in ("start", "stop"):
            raise HTTPException(404)
        (self.hall.start if what == "start" else self.hall.stop)(play)
        return redirect(f"{base}/play/{quote(play)}")

    def seat_form(self, request: Request, fields: dict[str, str]) -> Response:
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
            robot = _one_of(fields, "robot", ("yes", "no")) == "yes"
            self.hall.set_robot(play, player, robot)
        else:
            raise HTTPException(404)
        return redirect(f"{base}/play/{quote(play)}")

    def _link(self, request: Request, secret: str) -> str:
        base = (self.url or str(request.base_url)).rstrip("/")
        return f"{base}/seat/{secret}"


# Fields and words


def _whole(fields: dict[str, str], name: str) -> int:
    text = fields.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise HTTPException(400)
    return int(text)


def _one_of(fields: dict[str, str], name: str, values: tuple[str, ...]) -> str:
    if (text := fields.get(name, "")) not in values:
        raise HTTPException(400)
    return text


def _is_local(link: tuple[str, str]) -> bool:
    """Whether only this computer can open a link."""
    return urlsplit(link[1]).hostname in ("localhost", "127.0.0.1", "::1")


def _rules(k: float) -> str:
    """The rules of the mediator, in words for players."""
    if k == 0:
        return "The mediator recommends nothing (K = 0): it moves for you, or you play on your own."
    if k == float("inf"):
        return "You may always disobey; the mediator continues to advise you."
    times = "once" if k == 1 else f"{written_k(k)} times"
    return f"You may disobey. After you have disobeyed {times}, the mediator is silent."


def _known(k: float) -> str:
    """The notion and the rules of the mediator, in words for the operator."""
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
