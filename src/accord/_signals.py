"""Ctrl-C, SIGTERM and SIGHUP: who hears them, and whether the user has asked to stop.

Code that must not be interrupted in the middle, such as a linear program in foreign code, defers
the signals and asks now and then whether one has come: :func:`deferred_signals`. Code that runs for
long inside one step of a run asks :func:`is_stopping`, or :func:`check_time`, and gives up if so.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

TICK_SECONDS = 0.5
"""Between two calls of :func:`ticking`."""

END = b"\0"
"""Not the number of a signal."""

_asked: list[Callable[[], bool]] = []
_ears: list[Callable[[int], None]] = []
_ticks: list[Callable[[], None]] = []


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """In this context steps end early once ``asked()`` is true."""
    _asked.append(asked)
    try:
        yield
    finally:
        _asked.remove(asked)


def is_stopping() -> bool:
    """Whether the user has asked the present run to stop."""
    return bool(_asked) and _asked[-1]()


def is_stoppable() -> bool:
    """Whether something runs that ends by itself when the user asks to stop."""
    return bool(_asked)


class OutOfTime(Exception):
    """The time limit was reached, or the user asked to stop, before a step was done."""


def check_time(end: float | None = None) -> None:
    """Raise OutOfTime if it is ``end``, a time of ``time.monotonic``, or the user asked to stop."""
    if is_stopping() or (end is not None and time.monotonic() >= end):
        raise OutOfTime


@contextmanager
def deferred_signals() -> Iterator[Sequence[int]]:
    """In this context Ctrl-C has no effect; it takes effect at the end.

    Yields the signals that have come so far. Outside the main thread, where none arrive, the
    context has no effect.
    """
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return
    with hearing(arrived.append):
        yield arrived
    for number in arrived[:1]:
        handler = signal.getsignal(number)
        if callable(handler):  # raising the signal again would count it twice
            handler(number, None)


@contextmanager
def hearing(hear: Callable[[int], None], *, once: bool = False) -> Iterator[Container[int]]:
    """In this context signals that would interrupt call ``hear``, the first time or every time.

    Only for the main thread. Yields their numbers.
    """
    usual = {number: signal.getsignal(number) for number in interrupting()}

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


@contextmanager
def arriving(hear: Callable[[int], None]) -> Iterator[None]:
    """In this context ``hear`` is called, in a thread, when any signal arrives, even while a kernel
    runs. Contexts may be nested.

    Python calls a handler only between two of its own instructions, but writes the number of a
    signal to a pipe at once. The thread waits there; kernels release the GIL, so it can act.
    Without effect outside the main thread, on Windows, and where an event loop, such as a
    notebook's, listens already.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    _ears.append(hear)
    try:
        with _listening() if len(_ears) == 1 else nullcontext():
            yield
    finally:
        _ears.remove(hear)


@contextmanager
def _listening() -> Iterator[None]:
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def wait() -> None:
        while (arrived := os.read(read, 1)) not in (b"", END):
            for hear in tuple(_ears):
                hear(arrived[0])

    thread = threading.Thread(target=wait, name="accord-signals", daemon=True)
    if before == -1:
        thread.start()
    else:
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


@contextmanager
def ticking(tick: Callable[[], None]) -> Iterator[None]:
    """In this context ``tick`` is called twice a second, in the middle of whatever Python runs;
    what it raises is raised there.

    Without effect outside the main thread, on Windows, and where SIGALRM means something else.
    """
    number = getattr(signal, "SIGALRM", None)
    if (
        number is None
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(number) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(number, lambda *_: tick())
    signal.siginterrupt(number, False)  # calls of the system go on
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    _ticks.append(tick)
    try:
        yield
    finally:
        _ticks.remove(tick)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(number, signal.SIG_DFL)


def is_ticking() -> bool:
    """Whether there is a context of :func:`ticking`; to enter another has no effect."""
    return bool(_ticks)


def interrupting() -> list[int]:
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
