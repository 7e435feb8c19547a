"""Ctrl-C between steps, not within them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Whether the user has asked to stop."""

    requested = False
    noted = 0  # of all interruptions in this process


def noted_interrupts() -> int:
    """How many Ctrl-C were noted so far: if more after a call than before, it stopped early."""
    return Interruption.noted


@contextmanager
def heeding_interrupts() -> Iterator[Interruption]:
    """While this is open the first Ctrl-C is only noted; a second one interrupts as usual.

    Outside the main thread, where signals do not arrive, nothing is changed.
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
