"""Commands that end when they are asked to, whatever they are doing.

Ctrl-C raises an exception when Python comes to its next instruction. A kernel, a library or a
simulator in native code may not come to one for minutes. So a thread ends the process if two
seconds after a signal it still runs. A step of a run, which is saved when it ends, is given the
time that it takes: there only a second signal ends the process, and what was saved before is kept.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from accord._signals import arriving, interrupting, is_stoppable

GRACE_SECONDS = 2.0
"""Between a signal and the end of a process that has not ended by itself."""

ENDED = "interrupted in the middle of a step; what was saved before is kept"


@contextmanager
def ending_when_asked(is_saving: Callable[[], bool], end: Callable[[], None]) -> Iterator[None]:
    """In this context call ``end`` two seconds after a signal, or after the second one in a run.

    If files are being written then, ``is_saving()``, it is called afterwards.
    """
    numbers, closed = frozenset(interrupting()), threading.Event()
    asked = 0

    def hear(number: int) -> None:
        nonlocal asked
        if number not in numbers:
            return
        asked += 1
        if asked > 1 or not is_stoppable():
            threading.Thread(target=wait, name="accord-end", daemon=True).start()

    def wait() -> None:
        if not closed.wait(GRACE_SECONDS):
            while is_saving() and not closed.wait(0.1):
                pass
            if not closed.is_set():
                end()

    try:
        with arriving(hear):
            yield
    finally:
        closed.set()


def end_process(code: int) -> None:
    """End this process and its workers, now."""
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes is not None else ():
        child.kill()
    os._exit(code)
