"""Handling of Ctrl-C between steps instead of within them.

SIGTERM and SIGHUP are handled in the same way where they raise KeyboardInterrupt, as they do in the
command ``accord``. In a program of the user's own they keep the meaning that they have there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from accord._activity import answer

STOPPING = "stopping after this step"
SAVING = "stopping after this step; saving"

END = b"\0"
"""Not the number of a signal."""


class Interruption:
    """How often the user has asked to stop."""

    noted: ClassVar[int] = 0  # in the whole process

    def __init__(self) -> None:
        self.count = 0  # calls of the handler: one, if several signals arrive within a kernel
        self.answered = 0  # signals

    @property
    def requested(self) -> bool:
        """Whether the user has asked to stop."""
        return self.count > 0

    @property
    def insisted(self) -> bool:
        """Whether the user has asked again."""
        return max(self.count, self.answered) > 1


def noted_interrupts() -> int:
    """How often Ctrl-C has been noted. If this grows during a call, the call stopped early."""
    return Interruption.noted


@contextmanager
def heeding_interrupts(*, saves: bool = False) -> Iterator[Interruption]:
    """In this context Ctrl-C is only noted, and answered at once.

    A second one interrupts as usual, unless the context ``saves`` what would be lost. Outside the
    main thread, where signals do not arrive, the context has no effect.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return

    def note(number: int) -> None:
        interruption.count += 1
        Interruption.noted += 1

    text = SAVING if saves else STOPPING
    with _hearing(note, once=not saves) as numbers, _answering(numbers, text, interruption):
        yield interruption


@contextmanager
def deferring_interrupts() -> Iterator[None]:
    """In this context Ctrl-C has no effect; it takes effect at the end.

    Only for the main thread, and for code that would fail if it were interrupted.
    """
    arrived: list[int] = []
    with _hearing(arrived.append):
        yield
    for number in arrived[:1]:
        signal.raise_signal(number)


@contextmanager
def _hearing(hear: Callable[[int], None], *, once: bool = False) -> Iterator[Container[int]]:
    """In this context signals that would interrupt call ``hear``, the first time or every time.

    Yields their numbers.
    """
    usual = {number: signal.getsignal(number) for number in _interrupting()}

    def handle(number: int, frame: Any) -> None:
        hear(number)
        if once:
            signal.signal(number, usual[number])

    for number in usual:
        signal.signal(number, handle)
    try:
        yield usual
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _interrupting() -> list[int]:
    """SIGINT, unless it is ignored, and the others that raise KeyboardInterrupt."""
    known = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    handlers = {number: signal.getsignal(number) for number in known if number is not None}
    return [
        number
        for number, handler in handlers.items()
        if callable(handler) and (number == signal.SIGINT or _raises(handler))
    ]


def _raises(handler: Any) -> bool:
    """Whether a handler raises KeyboardInterrupt as that of Ctrl-C does, or is of this module."""
    return handler is signal.default_int_handler or getattr(handler, "__module__", "") == __name__


@contextmanager
def _answering(numbers: Container[int], text: str, interruption: Interruption) -> Iterator[None]:
    """Answer with ``text`` when one of the signals arrives, even while a kernel runs.

    Python calls a handler only between two of its own instructions, but writes the number of a
    signal to a pipe at once. A thread waits there; kernels release the GIL, so it can speak.
    """
    if sys.platform == "win32":  # where pipes cannot be used for this
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def wait() -> None:
        while (arrived := os.read(read, 1)) not in (b"", END):
            if arrived[0] in numbers:
                interruption.answered += 1
                answer(text)

    thread = threading.Thread(target=wait, name="accord-interrupts", daemon=True)
    if before == -1:
        thread.start()
    else:  # an event loop, such as a notebook's, listens already
        signal.set_wakeup_fd(before)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        if thread.is_alive():
            os.write(write, END)
            thread.join()
        os.close(write)
        os.close(read)
