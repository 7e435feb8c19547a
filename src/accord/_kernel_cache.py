"""Where Numba keeps compiled kernels on disk.

Machine code depends on the sources of a kernel and of all kernels that it calls, but Numba looks
only at the file of the kernel itself. The folder is therefore named after a digest of all sources
that kernels are compiled from, of the versions that matter, and of whether indices are checked; any
change starts a new folder. Folders that have not been used for a month are deleted, except the last
few. They are in ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder.

Each kernel has a folder of its own in there, with a list of checksums. Numba trusts what it finds,
so that a folder which does not match its list is deleted before Numba looks, and the kernel is
compiled again. If the folder changed a moment ago, another process may be writing there; it is then
left alone.

The cache only saves time. Without a folder, or if it cannot be written because it is read-only or
the disk is full, kernels are compiled in memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

WITHOUT_KERNELS = ("runs", "exports", "reports", "serve", "cli")
"""The last packages in the order of imports. They hold no kernels, so no kernel depends on them."""

KEPT_FOLDERS, KEPT_SECONDS = 4, 30 * 24 * 3600
"""Folders of other sources are kept if they are among the last ones used, or were used lately."""

CHECKSUMS = "checksums.json"

WRITING_SECONDS = 600.0
"""A process has at most this long from writing a kernel to listing its checksums."""

_config: Any = numba.config
_choosing_folder = threading.Lock()


def cache_folder() -> Path | None:
    """The folder for kernels compiled from exactly these sources; None if there can be none."""
    home, package = _cache_home(), Path(__file__).parent
    if home is None or not package.is_dir():  # no home folder; sources in an archive
        return None
    versions = (numba.__version__, np.__version__, sys.version)
    digest = hashlib.sha256(repr((versions, bool(_config.BOUNDSCHECK))).encode())
    for source in sorted(package.rglob("*.py")):
        place = source.relative_to(package)
        if place.parts[0] not in WITHOUT_KERNELS:
            digest.update(place.as_posix().encode())
            digest.update(source.read_bytes())
    return home / digest.hexdigest()[:16]


def _cache_home() -> Path | None:
    if _config.CACHE_DIR:
        return Path(_config.CACHE_DIR) / "accord"
    try:
        if sys.platform == "win32":
            home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            home = Path.home() / "Library" / "Caches"
        else:
            home = Path(os.environ.get("XDG_CACHE_HOME", ""))
            if not home.is_absolute():  # the specification: empty and relative paths are ignored
                home = Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return home / "accord"


@functools.cache
def folder_in_use() -> Path | None:
    """The folder, now marked as used; None if it cannot be written."""
    try:
        if (folder := cache_folder()) is None:
            return None
        new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return None
    if new:
        _delete_old_folders(folder)
    return folder


class KernelFolder:
    """The folder of one kernel."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, function: Callable[..., Any]) -> KernelFolder | None:
        """The folder of a kernel, with nothing damaged in it; None if there is no cache."""
        if (home := folder_in_use()) is None:
            return None
        name = f"{function.__module__}.{function.__qualname__}".removeprefix("accord.")
        own = cls(home / name.replace("<", "").replace(">", ""))
        try:
            own.path.mkdir(exist_ok=True)
            if own.is_intact():
                return own
            if own.is_being_written():
                return None
            shutil.rmtree(own.path)
            own.path.mkdir(exist_ok=True)
        except OSError:
            return None
        return own

    def is_intact(self) -> bool:
        """Whether the files are exactly those that :meth:`seal` listed."""
        try:
            listed = json.loads((self.path / CHECKSUMS).read_bytes())
        except FileNotFoundError:
            listed = {}
        except ValueError:
            return False
        return bool(listed == self._checksums())

    def is_being_written(self) -> bool:
        """Whether a process may be writing here, and has not listed everything yet."""
        last = max((file.stat().st_mtime for file in self._files()), default=0.0)
        return time.time() - last < WRITING_SECONDS

    def is_empty(self) -> bool:
        """Whether nothing has been kept so far."""
        return not (self.path / CHECKSUMS).exists()

    def seal(self) -> None:
        """List the files that Numba has written."""
        new = self.path / f"{CHECKSUMS}.{uuid.uuid4().hex[:8]}"
        try:
            new.write_text(json.dumps(self._checksums()))
            new.replace(self.path / CHECKSUMS)
        except OSError:  # next time the kernel is compiled again
            with contextlib.suppress(OSError):
                new.unlink()

    def _checksums(self) -> dict[str, str]:
        return {
            file.relative_to(self.path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in self._files()
            if file.parent != self.path  # Numba writes into folders
        }

    def _files(self) -> list[Path]:
        return [file for file in self.path.rglob("*") if file.is_file()]

    def kept(self, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        """``function`` to be compiled with ``options`` and kept here; None if Numba refuses."""
        with _choosing_folder:
            before, _config.CACHE_DIR = _config.CACHE_DIR, str(self.path)
            try:
                dispatcher: Any = numba.njit(cache=True, **options)(function)
            except RuntimeError:  # "no locator available", for example for a file in an archive
                return None
            finally:
                _config.CACHE_DIR = before
        place = dispatcher.stats.cache_path
        return dispatcher if Path(place).is_relative_to(self.path) else None


def _delete_old_folders(newest: Path) -> None:
    """Delete folders of other sources that nobody seems to use any more."""
    try:
        others = [folder for folder in newest.parent.iterdir() if folder != newest]
        used = sorted(((folder.stat().st_mtime, folder) for folder in others), reverse=True)
    except OSError:
        return
    for last, folder in used[KEPT_FOLDERS - 1 :]:
        if time.time() - last > KEPT_SECONDS and len(folder.name) == len(newest.name):
            shutil.rmtree(folder, ignore_errors=True)
