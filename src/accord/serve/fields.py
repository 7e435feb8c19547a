"""The fields of forms, read from a request with limits on size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

LARGEST_FORM = 10_000
"""Bytes of a form; ours are far smaller."""

SLOWEST_FORM = 20.0
"""Seconds in which a form must arrive."""

Fields = dict[str, str]
Handler = Callable[[Request, Fields], Response]


async def read_body(request: Request) -> bytes:
    """The body of a request, if it is small and arrives in time."""
    body = b""
    try:
        async with asyncio.timeout(SLOWEST_FORM):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST_FORM:
                    raise HTTPException(413)
    except TimeoutError:
        raise HTTPException(408) from None
    return body


def form(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler that reads the fields of a form and passes them to ``handler``, in a thread."""

    async def handle(request: Request) -> Response:
        body = await read_body(request)
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        return await run_in_threadpool(
            handler, request, {name: values[-1] for name, values in fields.items()}
        )

    return handle


def whole(fields: Fields, name: str) -> int:
    """A field that must be a whole number, 0 or more."""
    text = fields.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise HTTPException(400)
    return int(text)


def one_of(fields: Fields, name: str, values: tuple[str, ...]) -> str:
    """A field that must be one of these."""
    if (text := fields.get(name, "")) not in values:
        raise HTTPException(400)
    return text
