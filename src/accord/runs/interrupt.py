"""Handling of Ctrl-C between steps instead of within them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Whether the user has asked to stop."""

    requested = False
    noted = 0  # how many, in the whole process


def noted_interrupts() -> int:
    """How often Ctrl-C has been noted. If this grows during a call, the call stopped early."""
    return Interruption.noted


@contextmanager
def heeding_interrupts() -> Iterator[Interruption]:
    """In this context the first Ctrl-C is only noted; a second one interrupts as usual.

    Outside the main thread, where signals do not arrive, the context has no effect.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        interruption.requested = True
        Interruption.noted += 1
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
