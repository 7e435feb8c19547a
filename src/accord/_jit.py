"""The one decorator of every compiled kernel, and the folder its machine code is cached in.

Numba's disk cache notices edits of the file a kernel is in, not of the kernels it calls. The cache
folder is therefore named by a digest of the whole package: any edit, any upgrade, starts a new one.
``NUMBA_CACHE_DIR``, when set, wins.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile on first call, release the GIL, cache on disk. Division by zero gives inf or NaN."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled  # type: ignore[no-any-return]


def cache_folder() -> Path:
    """The folder of compiled kernels that belongs to exactly these sources."""
    digest = hashlib.sha256(numba.__version__.encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return home / "accord" / digest.hexdigest()[:16]


_config: Any = numba.config
if not _config.CACHE_DIR:
    _config.CACHE_DIR = str(cache_folder())
