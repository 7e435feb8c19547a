"""Connections that time out if no request arrives, and that send answers without delay.

The server limits the time that a form may take (``serve/app.py``). Without a limit for headers as
well, somebody could open connections, send half a header in each, and use up all connections that
the system allows.

An answer is sent in two pieces. The system would keep the second until the first is acknowledged,
which can take 40 ms, and asyncio turns this off only for sockets that name their protocol.
"""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SLOWEST_HEAD = 20.0
"""Seconds in which the header of a request must arrive."""


class PromptConnection(H11Protocol):
    """Closes itself if no request arrives in time, and sends everything at once."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        own = transport.get_extra_info("socket")
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expect_after(None)

    def on_response_complete(self) -> None:
        last = self.cycle
        super().on_response_complete()  # starts the next request, if it has arrived already
        self._expect_after(last)

    def _expect_after(self, last: RequestResponseCycle | None) -> None:
        self.loop.call_later(SLOWEST_HEAD, self._give_up, last)

    def _give_up(self, last: RequestResponseCycle | None) -> None:
        """Close the connection unless a request has come after ``last``, which was answered."""
        if self.cycle is last:
            self.transport.close()
