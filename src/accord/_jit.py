"""The only decorator for compiled kernels, and the folder that caches their machine code.

Numba's disk cache notices edits to the file of a kernel, but not to the kernels that it calls. The
cache folder is therefore named after a digest of the whole package, so any edit or upgrade starts a
new folder. ``NUMBA_CACHE_DIR`` takes precedence if it is set.
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
    """The cache folder for kernels compiled from exactly these sources."""
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
