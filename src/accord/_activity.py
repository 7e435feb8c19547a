"""What a run is doing between and after its iterations, told to whoever listens.

Certifying and saving a large run takes minutes. The command line listens and shows what happens;
without a listener nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Listener(Protocol):
    """Somebody who shows what is being done."""

    def hear(self, what: str | None) -> None:
        """Hear what is being done from now on; ``None`` if nothing that takes long."""

    def answer(self, text: str) -> None:
        """Show ``text`` at once."""

    def compiling(self) -> AbstractContextManager[None]:
        """Surround the compilation of a kernel, which may take seconds."""
        return nullcontext()


_listeners: list[Listener] = []
_doing: list[str] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """In this context ``listener`` hears what is being done, and nobody else does."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Tell the listener that ``what`` is being done in this context."""
    _doing.append(what)
    _tell()
    try:
        yield
    finally:
        _doing.pop()
        _tell()


def answer(text: str) -> None:
    """Tell the listener something at once, such as that Ctrl-C was noticed."""
    for listener in _listeners[-1:]:
        listener.answer(text)


def compiling() -> AbstractContextManager[None]:
    """Let the listener surround the compilation of a kernel."""
    return _listeners[-1].compiling() if _listeners else nullcontext()


def _tell() -> None:
    for listener in _listeners[-1:]:
        listener.hear(_doing[-1] if _doing else None)
