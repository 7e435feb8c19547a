"""How kernels are compiled, and chosen by type. ``_kernel_cache.py`` keeps them on disk."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numba
import numba.extending
import numba.np.linalg
import numpy as np

from accord._kernel_cache import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Release the GIL; division by zero gives inf or NaN; compile no entry for C callbacks."""

INNER_OPTIONS: Any = {**OPTIONS, "no_cpython_wrapper": True}
"""For what only kernels call: compile no entry for Python either."""


def jit(function: Function) -> Function:
    """Compile on first call, release the GIL, cache on disk. Division by zero gives inf or NaN."""
    compiled: Any = numba.njit(**OPTIONS)(function)
    compiled._cache = KernelCache(function)
    return compiled  # type: ignore[no-any-return]


SHORT = 3000
"""Numbers in the arguments of an :func:`once` kernel up to which it is not worth compiling it."""


def once(function: Function) -> Function:
    """As :func:`jit`, for passes made once per game, tree or checkpoint.

    Short ones, as in the games that newcomers try first, are interpreted: in milliseconds, where
    compiling takes hundreds. The tests compile all.
    """
    kernel: Any = jit(function)

    @functools.wraps(function)
    def interpret_or_compile(*arguments: Any) -> Any:
        if sum(map(_count_numbers, arguments)) > SHORT:
            return kernel(*arguments)
        with np.errstate(all="ignore"):
            return function(*arguments)

    return interpret_or_compile  # type: ignore[return-value]


def _count_numbers(argument: Any) -> int:
    if isinstance(argument, tuple):
        return sum(map(_count_numbers, argument))
    return getattr(argument, "size", 1)


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
            @numba.extending.overload(choose, strict=False, jit_options=INNER_OPTIONS)
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


def _import_without_blas() -> None:
    """Import the part of Numba that looks for BLAS, without the search.

    It imports half of SciPy, which takes longer than loading all kernels of a command. Kernels that
    use BLAS still look for it when they are compiled; SciPy is installed with Accord.
    """
    linalg: Any = numba.np.linalg
    found = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = found
    arraymath.ensure_blas = found  # type: ignore[attr-defined]


_import_without_blas()
