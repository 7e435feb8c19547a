"""Reading files that others wrote, and writing files that are always whole."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO

from accord.errors import ArgumentError, ParseError

NOT_A_FILE = "must be a file, not a device, pipe or socket"

STALE_SECONDS = 3600.0
"""Age of a temporary file that nobody can still be writing."""


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


def opened(path: Path) -> BinaryIO:
    """``path``, opened as :func:`open_file` does.

    Raises:
        ParseError: If it cannot be opened or is not a file.
    """
    try:
        return open_file(path)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise ParseError(str(path), 0, 0, f"cannot be read: {reason(error)}") from None


def write_whole(path: Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name, then rename it: nobody sees it half-written.

    ``content`` is what it contains, or a function that writes it. The temporary file is new, in the
    same folder, and has a name that nobody can predict. If ``path`` is a symbolic link, the link is
    replaced, not the file that it points to.
    """
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    try:
        file = temporary.open("xb")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{path} cannot be written: {reason(error)}") from None
    try:
        with file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ArgumentError(f"{path} cannot be written: {reason(error)}") from None
        raise


def remove_temporaries(folder: Path, names: Collection[str] = ()) -> None:
    """Remove what killed processes left: temporary files of ``names``, and all old ones.

    The caller must be the only writer of the files called ``names``.
    """
    for file in folder.glob(".*.tmp"):
        own = file.name[1:].rsplit(".", 2)[0] in names
        with suppress(OSError):
            if own or time.time() - file.stat().st_mtime > STALE_SECONDS:
                file.unlink()


def reason(error: Exception) -> str:
    """Why a file could not be opened, read or written."""
    return str(getattr(error, "strerror", None) or error)
