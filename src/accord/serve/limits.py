"""Limits on how often somebody may ask: a bucket of requests per link that fills up again.

A page asks once in a second and a half, a program about as often, because it can wait for news. Far
more requests are a mistake or an attack; they get the status 429 and change nothing. Wrong codes
have one bucket for everybody, so that nobody can try them all.
"""

from __future__ import annotations

import threading
import time

from starlette.exceptions import HTTPException

RATE = 20.0
"""Requests per second and link, in the long run."""

BURST = 100.0
"""Requests at once."""

MOST_BUCKETS = 10_000


class Limiter:
    """The buckets of all links."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self.rate, self.burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and when that was
        self._lock = threading.Lock()

    def check(self, who: str) -> None:
        """Take a request from the bucket.

        Raises:
            HTTPException: With the status 429 if the bucket is empty.
        """
        now = time.monotonic()
        with self._lock:
            left, before = self._left.get(who, (self.burst, now))
            left = min(self.burst, left + (now - before) * self.rate)
            if left < 1:
                raise HTTPException(429, headers={"Retry-After": "1"})
            if len(self._left) >= MOST_BUCKETS and who not in self._left:
                self._left.clear()
            self._left[who] = left - 1, now
