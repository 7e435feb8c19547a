"""Where Numba keeps compiled kernels on disk.

Machine code depends on the sources of a kernel and of all kernels that it calls, but Numba looks
only at the file of the kernel itself. The kernels of a module are therefore kept in a folder that
is named after a digest of its source and of all that it imports (:func:`sources_of`), of the
versions that matter, and of whether indices are checked; any change there starts a new folder.
Folders that have not been used for a month are deleted, except the last few of each module. They
are in ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder.

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
import re
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np

KEPT_FOLDERS, KEPT_SECONDS = 4, 30 * 24 * 3600
"""A module's folders are kept if they are among the last ones used, or were used lately."""

CHECKSUMS = "checksums.json"

WRITING_SECONDS = 600.0
"""A process has at most this long from writing a kernel to listing its checksums."""

_config: Any = numba.config
_choosing_folder = threading.Lock()
_PACKAGE = Path(__file__).parent


def cache_folder(module: str) -> Path | None:
    """The folder for the kernels of ``module``, from exactly these sources; None without one."""
    home = _cache_home()
    if home is None or not _PACKAGE.is_dir():  # no home folder; sources in an archive
        return None
    versions = (numba.__version__, np.__version__, sys.version)
    digest = hashlib.sha256(repr((versions, bool(_config.BOUNDSCHECK))).encode())
    for name, source in sources_of(module, _sources()).items():
        digest.update(f"{name} {len(source)}\n{source}".encode())
    return home / f"{module.removeprefix('accord.')}-{digest.hexdigest()[:16]}"


def sources_of(module: str, sources: Mapping[str, str]) -> dict[str, str]:
    """The sources that the kernels of ``module`` may depend on: its own and all that it imports.

    All imports count, wherever they stand. Whoever calls a generic function (see ``_jit.py``) may
    contain any of its kernels, so the module that declares the function counts as importing those
    that register kernels for it. A module from outside the package may import anything.
    """
    if module not in sources:
        return dict(sorted(sources.items()))
    found, reached = set(), [module]
    while reached:
        if (name := reached.pop()) in sources and name not in found:
            found.add(name)
            reached += _imported(sources[name])
            for function in _DECLARATION.findall(sources[name]):
                kernel = f"@{function}.kernel_for("
                reached += (other for other, source in sources.items() if kernel in source)
    return {name: sources[name] for name in sorted(found)}


def _imported(source: str) -> Iterator[str]:
    """The modules that are imported, and names in them."""
    for module, names, alone in _IMPORT.findall(source):
        yield module or alone
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))


_IMPORT = re.compile(r"from (accord[\w.]*) import (\([^)]*\)|.*)|import (accord[\w.]*)")
_DECLARATION = re.compile(r"@generic(?:_part)?\ndef (\w+)")


@functools.cache
def _sources() -> dict[str, str]:
    """The sources of all modules of this package, by name."""
    found = {}
    for file in _PACKAGE.rglob("*.py"):
        parts = ("accord", *file.relative_to(_PACKAGE).with_suffix("").parts)
        found[".".join(parts).removesuffix(".__init__")] = file.read_text("utf-8")
    return found


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
def folder_in_use(module: str) -> Path | None:
    """The folder of a module, now marked as used; None if it cannot be written."""
    try:
        if (folder := cache_folder(module)) is None:
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
        if (home := folder_in_use(function.__module__)) is None:
            return None
        own = cls(home / function.__qualname__.replace("<", "").replace(">", ""))
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
    """Delete folders of the same module that nobody seems to use any more."""
    module = newest.name.rpartition("-")[0]
    try:
        others = [folder for folder in newest.parent.glob(f"{module}-*") if folder != newest]
        used = sorted(((folder.stat().st_mtime, folder) for folder in others), reverse=True)
    except OSError:
        return
    for last, folder in used[KEPT_FOLDERS - 1 :]:
        if time.time() - last > KEPT_SECONDS and len(folder.name) == len(newest.name):
            shutil.rmtree(folder, ignore_errors=True)
