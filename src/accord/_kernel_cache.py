"""Compiled kernels on disk.

There is one file per kernel and types of arguments: a SHA-256 digest, then a pickle of the types
and of the machine code. A file is loaded only if its digest matches, so a damaged one is as good as
a missing one: the kernel is compiled again. The cache only saves time. If its folder cannot be
written, because it is read-only or the disk is full, kernels are compiled in memory.

Machine code depends on the sources of a kernel and of all kernels that it calls. The folder is
therefore named after a digest of all sources that kernels are compiled from, of the versions of
Python and Numba, and of whether indices are checked; any change starts a new folder. Folders that
have not been used for a month are deleted, except the last few.

The folder is in ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import shutil
import sys
import time
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.caching as numba_caching
import numba.core.compiler as numba_compiler
import numba.core.serialize as numba_serialize
from numba.core.runtime.nrt import rtsys

_rebuild: Any = numba_compiler.CompileResult._rebuild
_dumps: Any = numba_serialize.dumps

WITHOUT_KERNELS = ("runs", "exports", "reports", "serve", "cli")
"""The last packages in the order of imports. They hold no kernels, so no kernel depends on them."""

KEPT_FOLDERS, KEPT_SECONDS = 4, 30 * 24 * 3600
"""Folders of other sources are kept if they are among the last ones used, or were used lately."""

DIGEST_SIZE = 32


def cache_folder() -> Path | None:
    """The folder for kernels compiled from exactly these sources; None if there is no home."""
    config: Any = numba.config
    versions = (numba.__version__, sys.version_info[:2], bool(config.BOUNDSCHECK))
    digest = hashlib.sha256(repr(versions).encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        place = source.relative_to(package)
        if place.parts[0] not in WITHOUT_KERNELS:
            digest.update(place.as_posix().encode())
            digest.update(source.read_bytes())
    home = _cache_home()
    return None if home is None else home / digest.hexdigest()[:16]


def _cache_home() -> Path | None:
    config: Any = numba.config
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
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
def _folder_in_use() -> Path | None:
    """The folder, now marked as used."""
    folder = cache_folder()
    if folder is not None and folder.is_dir():
        _ignore_errors(os.utime, folder)
    return folder


def _ignore_errors(action: Callable[..., Any], *arguments: Any) -> None:
    with contextlib.suppress(OSError):
        action(*arguments)


class KernelCache(numba_caching._Cache):
    """The cache of one kernel, in the place of Numba's own."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(_folder_in_use())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Numba's way to empty a cache; here the name of the folder says what is valid."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for arguments of these types; None if it must be compiled.

        Numba's own cache refreshes the context first. Only the compiler needs that, and does it
        itself; it takes longer than loading all kernels of a command.
        """
        rtsys.initialize(target_context)
        kernel = self._load(sig, target_context)
        if kernel is None:
            _import_without_blas()
        return kernel

    def _load(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled or (path := self._path(sig, target_context.codegen())) is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[DIGEST_SIZE:]).digest() != content[:DIGEST_SIZE]:
            return None
        try:
            kinds, reduced = pickle.loads(content[DIGEST_SIZE:])
            return _rebuild(target_context, *reduced) if kinds == sig else None
        except Exception:  # intact, but from other libraries; whatever the reason, compile
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel if there is room for it."""
        for environment in data._find_referenced_environments():  # of its parts, as when loading
            data.codegen.set_env(environment.env_name, environment)
        path = self._path(sig, data.codegen)
        if not self._enabled or path is None or data.lifted or data.library.has_dynamic_globals:
            return
        content = _dumps((sig, data._reduce()))
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}")
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                _delete_old_folders(path.parent)
            temporary.write_bytes(hashlib.sha256(content).digest() + content)
            temporary.replace(path)
        except OSError:
            _ignore_errors(temporary.unlink)

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        if (folder := _folder_in_use()) is None:
            return None
        code, cells = self._function.__code__, self._function.__closure__ or ()
        values = [value for value in code.co_consts if not isinstance(value, types.CodeType)]
        values += [cell.cell_contents for cell in cells]
        key = repr((sig, codegen.magic_tuple(), code.co_code, values))
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        digest = hashlib.sha256(f"{name} {key}".encode()).hexdigest()[:24]
        return folder / f"{name.removeprefix('accord.')}-{digest}".replace("<", "").replace(">", "")


@functools.cache
def _import_without_blas() -> None:
    """Import the part of Numba's compiler that looks for BLAS, without the search.

    It imports half of SciPy. Kernels that use BLAS still look for it when they are compiled; SciPy
    is installed with Accord.
    """
    import numba.np.linalg

    linalg: Any = numba.np.linalg
    found = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = found
    arraymath.ensure_blas = found  # type: ignore[attr-defined]


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
