"""The web server: its routes, and what answers each of them.

A link is ``/seat/SECRET`` or ``/operator/SECRET``; ``/join/CODE`` is the address that all people
share, and ``/`` asks for its code; programs find the same under ``/seat/SECRET/api``, which
``/api`` describes. There are no cookies. A wrong, revoked or foreign link gets the
same answer. Pages are not cached, load nothing and send no referrer. GET changes nothing but the
note that something was shown; POST answers with a redirect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from accord.serve.answers import Refusals
from accord.serve.api import SeatApi, body
from accord.serve.fields import form
from accord.serve.limits import Limiter
from accord.serve.operator_pages import OperatorPages
from accord.serve.room import Room
from accord.serve.seat_pages import SeatPages
from accord.serve.store import reason

LOG = logging.getLogger("accord.serve")

TICK = 0.25
"""Seconds between looks at the clock."""

FAILED_TICK = 10.0
"""Seconds until the next look after one that failed, such as on a full disk."""


def make_app(room: Room, url: str | None = None) -> Starlette:
    """The application for one session.

    Links start with ``url``; by default with the address at which the operator's browser found the
    server.
    """
    refusals, pages = Refusals(room.messages), SeatPages(room, Limiter())
    app = Starlette(
        routes=[
            *_seat_routes(pages),
            *_api_routes(SeatApi(pages, url)),
            *_operator_routes(room, url),
        ],
        lifespan=_lifespan(room),
        exception_handlers={HTTPException: refusals.refuse, Exception: refusals.fail},
        middleware=[Middleware(_Prefix)],
    )
    app.router.redirect_slashes = False  # such redirects would have the address of the request
    return app


def _seat_routes(pages: SeatPages) -> list[Route]:
    return [
        Route("/", pages.door, methods=["GET"]),
        Route("/", form(pages.knock), methods=["POST"]),
        Route("/join/{code}", pages.entrance, methods=["GET"]),
        Route("/join/{code}", form(pages.enter), methods=["POST"]),
        Route("/seat/{token}", pages.seat, methods=["GET"]),
        Route("/seat/{token}/state", pages.state, methods=["GET"]),
        Route("/seat/{token}/act", form(pages.act), methods=["POST"]),
        Route("/seat/{token}/choose", form(pages.choose), methods=["POST"]),
        Route("/seat/{token}/step", form(pages.step), methods=["POST"]),
        Route("/seat/{token}/quiz", form(pages.quiz), methods=["POST"]),
        Route("/seat/{token}/continue", form(pages.proceed), methods=["POST"]),
    ]


def _api_routes(api: SeatApi) -> list[Route]:
    seat = "/seat/{token}/api"
    return [
        Route("/api", api.description_page, methods=["GET"]),
        Route("/api/openapi.json", api.description, methods=["GET"]),
        Route("/api/join", body(api.join), methods=["POST"]),
        Route(seat, api.look, methods=["GET"]),
        Route(f"{seat}/news", api.news, methods=["GET"]),
        Route(f"{seat}/rules", api.rules, methods=["GET"]),
        Route(f"{seat}/act", body(api.act), methods=["POST"]),
        Route(f"{seat}/choose", body(api.choose), methods=["POST"]),
        Route(f"{seat}/step", body(api.step), methods=["POST"]),
        Route(f"{seat}/quiz", body(api.quiz), methods=["POST"]),
        Route(f"{seat}/continue", body(api.proceed), methods=["POST"]),
    ]


def _operator_routes(room: Room, url: str | None) -> list[Route]:
    pages, here = OperatorPages(room, url), "/operator/{token}"
    play = f"{here}/play/{{play}}"
    return [
        Route(here, pages.hall_page, methods=["GET"]),
        Route(f"{here}/state", pages.hall_state, methods=["GET"]),
        Route(f"{here}/poster", pages.poster, methods=["GET"]),
        Route(f"{here}/export.csv", pages.export_public, methods=["GET"]),
        Route(f"{here}/private.csv", pages.export_private, methods=["GET"]),
        Route(f"{here}/payments.csv", pages.export_payments, methods=["GET"]),
        Route(f"{here}/summary.csv", pages.export_summary, methods=["GET"]),
        Route(f"{here}/codebook.csv", pages.export_codebook, methods=["GET"]),
        Route(f"{here}/results", pages.results, methods=["GET"]),
        Route(f"{here}/create", form(pages.create), methods=["POST"]),
        Route(f"{here}/invite-all", form(pages.invite_all), methods=["POST"]),
        Route(f"{here}/start-all", form(pages.start_all), methods=["POST"]),
        Route(f"{here}/fill-seats", form(pages.fill_seats), methods=["POST"]),
        Route(f"{here}/revoke-others", form(pages.revoke_others), methods=["POST"]),
        Route(f"{here}/session/{{what}}", form(pages.session_form), methods=["POST"]),
        Route(f"{here}/person/{{person}}/{{what}}", form(pages.person_form), methods=["POST"]),
        Route(play, pages.play_page, methods=["GET"]),
        Route(f"{play}/state", pages.play_state, methods=["GET"]),
        Route(f"{play}/{{what}}", form(pages.play_form), methods=["POST"]),
        Route(f"{play}/seat/{{player}}/{{what}}", form(pages.seat_form), methods=["POST"]),
    ]


def _lifespan(room: Room) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.create_task(_tick(room))
        yield
        ticking.cancel()

    return lifespan


class _Prefix:
    """Lets a proxy keep the root path in addresses, or remove it.

    The server has put it before every path; here a second one is taken away.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root, path = scope.get("root_path", ""), scope.get("path", "")
        if root and path.startswith(f"{root}{root}/"):
            scope = {**scope, "path": path.removeprefix(root)}
        await self.app(scope, receive, send)


async def _tick(room: Room) -> None:
    while True:
        await asyncio.sleep(TICK)
        try:
            await run_in_threadpool(room.tick)
        except Exception as error:
            LOG.error("robots could not move: %s", reason(error))
            await asyncio.sleep(FAILED_TICK)
