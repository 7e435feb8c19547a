"""The server's answers: pages, redirects and errors, none of which is stored, framed or traced."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

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

FILLED = 16_384
"""Pages are filled with spaces to a multiple of this many bytes: encryption does not hide lengths,
and they would tell what is recommended to whoever watches the network."""


def sealed(response: Response) -> Response:
    """An answer with the headers that every answer has."""
    response.headers.update(HEADERS)
    return response


def page(template: str, status: int = 200, **content: Any) -> Response:
    """A page that runs its own script, uses its own style and loads nothing else."""
    nonce = secrets.token_urlsafe(12)
    html = render(template, nonce=nonce, **content).encode()
    response = sealed(HTMLResponse(html + b" " * (-len(html) % FILLED), status))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
        "img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return response


def as_json(content: dict[str, str]) -> Response:
    """An answer to a script."""
    return sealed(JSONResponse(content))


def redirect(path: str) -> Response:
    """The answer to a form: the browser fetches a page, and a reload does not send it again."""
    return sealed(RedirectResponse(path, status_code=303))


def base_path(request: Request, kind: str) -> str:
    """The path of a seat's or the operator's page, behind a proxy too."""
    return f"{request.scope.get('root_path', '')}/{kind}/{request.path_params['token']}"


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a wrong request; it does not tell what there is elsewhere."""
    code = error.status_code if isinstance(error, HTTPException) else 500
    if code in (404, 405):
        head, text = "Nothing here", "This link does not work, or no longer. Ask for a new one."
        return page("message.html", 404, head=head, text=text)
    head, text = "This did not work", "Go back and try again."
    return page("message.html", code, head=head, text=text)


def fail(request: Request, error: Exception) -> Response:
    """The answer if something is wrong with the server; it does not tell what."""
    LOG.error("a request failed: %s", reason(error))
    head, text = "Something went wrong", "Nothing was lost. Go back and try again."
    return page("message.html", 500, head=head, text=text)
