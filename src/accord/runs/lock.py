"""The lock of a run's folder: one process at a time.

The lock belongs to the process that took it, and ends with it however it ends. A forked child does
not have it, and does not keep it alive.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from accord._activity import answer
from accord.errors import ArgumentError

ASKING = 0.1
"""Seconds in which others may have asked whether a folder is held, which holds it for a moment."""


class Lock:
    """A folder that this process holds."""

    def __init__(self, folder: Path, handle: int | None) -> None:
        self.folder, self.process = folder, os.getpid()
        self._handle = handle  # of the folder; None if the system cannot lock folders

    def check(self) -> None:
        """Refuse to write to a folder that is not this process's, or not the same any more."""
        if os.getpid() != self.process:
            raise ArgumentError(
                f"{self.folder}: a forked process cannot continue the run of its parent; start the "
                "run in the child, with a folder of its own"
            )
        if self._handle is None:
            return
        try:
            same = os.path.samestat(os.fstat(self._handle), self.folder.stat())
        except OSError:
            same = False
        if not same:
            raise ArgumentError(
                f"{self.folder} was deleted, moved or replaced during the run; nothing more can be "
                "saved there; if it was moved, resume the run where it is now"
            )

    def release(self) -> None:
        """Let others have the folder; a child only forgets it, and its parent keeps it."""
        if self._handle is None:
            return
        import fcntl

        if os.getpid() == self.process:
            with suppress(OSError):  # a drive without locks; closing the folder releases others
                fcntl.flock(self._handle, fcntl.LOCK_UN)
        os.close(self._handle)
        self._handle = None


_held: set[Lock] = set()


def _forget() -> None:
    """A forked child holds nothing."""
    for lock in _held:
        lock.release()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def is_held(folder: Path) -> bool:
    """Whether a process holds ``folder``; also True where that cannot be known.

    On network drives that do not share locks of folders, only processes of this computer count.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


@contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Hold ``folder`` against other processes, on systems that can lock folders.

    Raises:
        ArgumentError: If another process holds it.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield Lock(folder, None)
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ArgumentError(f"{folder} must be a writable folder: {error.strerror}") from None
    lock = Lock(folder, handle)
    try:
        try:
            _patiently(lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            raise ArgumentError(
                f"{folder}: another process is writing to this folder; wait for it, or stop it"
            ) from None
        except OSError as error:
            answer(
                f"{folder} is on a drive without locks ({error.strerror}), so nothing keeps "
                "another process from writing there, too; start no other run in this folder"
            )
        _held.add(lock)
        yield lock
    finally:
        _held.discard(lock)
        lock.release()


def _patiently(lock: Callable[[], None]) -> None:
    """Call ``lock``, again for a moment as long as another process holds the folder."""
    end = time.monotonic() + ASKING
    while True:
        try:
            return lock()
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(ASKING / 10)
