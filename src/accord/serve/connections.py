"""Connections that do not wait forever for a request.

The server gives forms a time (``serve/app.py``), but without this somebody could open connections,
send half a header in each, and use up all that the system allows.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SLOWEST_HEAD = 20.0
"""Seconds in which the header of a request must arrive."""


class PromptConnection(H11Protocol):
    """Closes itself if no request arrives in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def _expect(self) -> None:
        self.loop.call_later(SLOWEST_HEAD, self._give_up, self.cycle)

    def _give_up(self, last: RequestResponseCycle | None) -> None:
        """Close the connection unless a request has come since the last one."""
        if self.cycle is last and (last is None or last.response_complete):
            self.transport.close()
