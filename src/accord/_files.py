"""Opening files that others wrote."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

NOT_A_FILE = "must be a file, not a device, pipe or socket"


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """``path``, open for reading. Neither a pipe, which might never answer, nor a device such as
    ``/dev/zero``, which might never end, is opened, nor a link to one.

    Raises:
        OSError: If it cannot be opened or is not a file.
    """
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, NOT_A_FILE)


def _open_at_once(path: str, flags: int) -> int:
    """Open ``path`` without waiting, as one would for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All that is in a file, opened as :func:`open_file` does."""
    with open_file(path) as file:
        return file.read()
