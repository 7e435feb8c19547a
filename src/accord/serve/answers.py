"""The server's answers: pages, JSON, redirects and errors; none is stored, framed or traced."""

from __future__ import annotations

import json
import logging
import re
import secrets
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from accord.serve.messages import Messages, load_messages
from accord.serve.pages import render
from accord.serve.store import reason

LOG = logging.getLogger("accord.serve")

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}

PADDED_BYTES = 16_384
"""Pages are filled with spaces to a multiple of this many bytes: encryption does not hide lengths,
and they would tell what is recommended to whoever watches the network. Pages of players are all as
long as the longest that the game can have."""

PADDED_JSON_BYTES = 4_096
"""Answers to programs are filled with spaces to a multiple of this many bytes, as pages are."""


def sealed(response: Response) -> Response:
    """An answer with the headers that every answer has."""
    response.headers.update(HEADERS)
    return response


def page(
    template: str,
    status: int = 200,
    t: Messages | None = None,
    length: int = PADDED_BYTES,
    speaks: bool = False,
    **content: Any,
) -> Response:
    """A page that runs its own script, uses its own style and loads nothing else.

    It is filled to a multiple of ``length`` bytes, and in the language of ``t`` if it ``speaks``;
    pages for the operator are in English.
    """
    nonce = secrets.token_urlsafe(12)
    texts = t or load_messages()
    html = render(template, nonce=nonce, t=texts, speaks=speaks, **content).encode()
    response = sealed(HTMLResponse(html + b" " * (-len(html) % length), status))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
        "img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return response


def as_json(
    content: dict[str, Any],
    status: int = 200,
    length: int = PADDED_JSON_BYTES,
    pretty: bool = False,
) -> Response:
    """An answer to a program or a script, filled to a multiple of ``length`` bytes."""
    indent = 2 if pretty else None
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)
    data = text.encode("utf-8", "replace")
    filled = data + b" " * (-len(data) % length)
    return sealed(Response(filled, status, media_type="application/json"))


def redirect(path: str) -> Response:
    """The answer to a form: the browser fetches a page, and a reload does not send it again."""
    return sealed(RedirectResponse(path, status_code=303))


def base_path(request: Request, kind: str) -> str:
    """The path of a person's or the operator's page, behind a proxy too."""
    return f"{request.scope.get('root_path', '')}/{kind}/{request.path_params['token']}"


class Refusals:
    """The answers to wrong requests; they do not tell what there is elsewhere."""

    def __init__(self, t: Messages) -> None:
        self.t = t

    def refuse(self, request: Request, error: Exception) -> Response:
        """The answer to a request that cannot be served."""
        code = error.status_code if isinstance(error, HTTPException) else 500
        if code in (404, 405):
            return self._message(request, 404, "nothing")
        return self._message(request, code, "busy" if code == 429 else "failed")

    def fail(self, request: Request, error: Exception) -> Response:
        """The answer if something is wrong with the server; it does not tell what."""
        LOG.error("a request failed: %s", reason(error))
        return self._message(request, 500, "broken")

    def _message(self, request: Request, status: int, key: str) -> Response:
        head, text = self.t.text(f"errors.{key}"), self.t.text(f"errors.{key}_text")
        if re.search(r"/api(/|$)", request.scope.get("path", "")):
            return as_json({"error": text}, status)
        return page("message.html", status, self.t, speaks=True, head=head, text=text)
