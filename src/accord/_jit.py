"""How kernels are compiled, chosen by type, and cached on disk.

Numba's disk cache notices edits to the file of a kernel, but not to the kernels that it calls. The
cache folder is therefore named after a digest of all sources that kernels are compiled from, so any
edit of them or an upgrade starts a new folder. ``NUMBA_CACHE_DIR`` takes precedence if it is set.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numba
import numba.extending

Function = TypeVar("Function", bound=Callable[..., Any])


OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
"""Release the GIL; division by zero gives inf or NaN."""

WITHOUT_KERNELS = ("runs", "interop", "reports", "serve", "cli")
"""The last packages in the order of imports. They hold no kernels, so no kernel depends on them."""


def jit(function: Function) -> Function:
    """Compile on first call, release the GIL, cache on disk. Division by zero gives inf or NaN."""
    compiled: Any = numba.njit(cache=True, **OPTIONS)(function)
    return compiled  # type: ignore[no-any-return]


class Generic(Protocol):
    """A function with one kernel per type of its first argument."""

    kernels: dict[type, Any]

    def __call__(self, schedule: Any, /, *arguments: Any) -> Any: ...

    def kernel_for(self, kind: type) -> Callable[[Function], Function]:
        """Decorate the kernel for first arguments of type ``kind``, a NamedTuple."""

    def check(self, schedule: Any) -> None:
        """Raise a TypeError if there is no kernel for this argument, before Numba does."""


def generic(declaration: Callable[..., Any]) -> Generic:
    """Declare a function that has one kernel per type of its first argument.

    ``declaration`` gives the name, the parameters and the docstring. A compiled caller contains the
    one kernel that its argument needs and is compiled for nothing else; plain Python finds the
    same kernel. Unlike functions passed as arguments, such calls are cached on disk.
    """
    kernels: dict[type, Any] = {}

    @functools.wraps(declaration)
    def choose(schedule: Any, *arguments: Any) -> Any:
        return kernels[type(schedule)](schedule, *arguments)

    def kernel_for(kind: type) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            @numba.extending.overload(choose, strict=False, jit_options=OPTIONS)
            def find(schedule: Any, *arguments: Any) -> Any:
                return function if getattr(schedule, "instance_class", None) is kind else None

            kernels[kind] = jit(function)
            return kernels[kind]  # type: ignore[no-any-return]

        return register

    def check(schedule: Any) -> None:
        if type(schedule) not in kernels:
            name, kind = declaration.__name__, type(schedule).__name__
            raise TypeError(
                f"{name} has no kernel for {kind}; decorate one with @{name}.kernel_for({kind})"
            )

    choose.kernel_for, choose.check, choose.kernels = kernel_for, check, kernels  # type: ignore[attr-defined]
    return choose  # type: ignore[return-value]


def cache_folder() -> Path:
    """The cache folder for kernels compiled from exactly these sources."""
    digest = hashlib.sha256(numba.__version__.encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        place = source.relative_to(package)
        if place.parts[0] not in WITHOUT_KERNELS:
            digest.update(place.as_posix().encode())
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
