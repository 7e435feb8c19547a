"""Handling of Ctrl-C between steps instead of within them.

SIGTERM and SIGHUP are handled in the same way where they raise KeyboardInterrupt, as they do in the
command ``accord``. In a program of the user's own they keep the meaning that they have there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from accord._activity import answer
from accord._signals import arriving, hearing, stoppable

STOPPING = "stopping after this step"
SAVING = "stopping after this step; saving"


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

    left = False

    def speak(number: int) -> None:
        if number in numbers and not left:
            interruption.answered += 1
            answer(SAVING if saves else STOPPING)

    try:
        with (
            hearing(note, once=not saves) as numbers,
            arriving(speak),
            stoppable(lambda: interruption.count > 0 or interruption.answered > 0),
        ):
            yield interruption
    finally:
        left = True
        if interruption.requested and not interruption.answered:  # the thread was too slow
            answer(SAVING if saves else STOPPING)
