"""Connections that time out if no request arrives, that are limited in number, and that send
answers without delay.

The server limits the time that a form may take (``serve/app.py``). Without a limit for headers as
well, somebody could open connections, send half a header in each, and use up all connections that
the system allows. For the same reason only so many are open at a time: if there is one more, the
oldest that waits for its client is closed, so whoever sends a request at once is answered at once.

An answer is sent in two pieces. The system would keep the second until the first is acknowledged,
which can take 40 ms, and asyncio turns this off only for sockets that name their protocol.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import ClassVar
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SLOWEST_HEAD = 20.0
"""Seconds in which the header of a request must arrive."""

MOST_CONNECTIONS = 1000
OTHER_FILES = 64
"""Files that the server has open beside its connections, at most."""

BACKLOG = 1000
"""Connections that the system keeps until they are accepted, all at once if there are so many."""


class PromptConnection(H11Protocol):
    """Closes itself if no request arrives in time, and sends everything at once."""

    most: ClassVar[int] = MOST_CONNECTIONS
    _open: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[PromptConnection, None]]] = (
        WeakKeyDictionary()
    )  # by server, oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        own = transport.get_extra_info("socket")
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        together = self._open.setdefault(self.loop, {})
        if len(together) >= self.most:
            oldest = next((one for one in together if one.waits_for_client), self)
            together.pop(oldest, None)
            oldest.transport.abort()
        if not transport.is_closing():
            together[self] = None
        self._expect_after(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open[self.loop].pop(self, None)
        super().connection_lost(exc)

    @property
    def waits_for_client(self) -> bool:
        """Whether nobody but the client can make this connection go on."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

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


def allowed_connections() -> tuple[int, int]:
    """How many connections this process may have, and how many more may wait to be accepted, after
    asking the system for enough files.
    """
    if sys.platform == "win32":
        return MOST_CONNECTIONS, BACKLOG
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + BACKLOG + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = (wanted if soft == resource.RLIM_INFINITY else min(soft, wanted)) - OTHER_FILES
    backlog = max(1, min(BACKLOG, room // 4))
    return max(1, room - backlog), backlog
