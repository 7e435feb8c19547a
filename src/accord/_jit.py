"""How kernels are compiled, and chosen by type. ``_kernel_cache.py`` keeps them on disk."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numba
import numba.core.codegen
import numba.core.compiler
import numba.core.compiler_machinery
import numba.core.registry
import numba.core.typed_passes
import numba.extending
import numpy as np

from accord._kernel_cache import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


OPTIONS: Any = {
    "nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True,
    "boundscheck": None,
}  # fmt: skip
"""Release the GIL; division by zero gives inf or NaN; compile no entry for C callbacks; check
bounds if ``NUMBA_BOUNDSCHECK`` says so."""


class Kernel(numba.core.registry.CPUDispatcher):
    """A compiled function. Kernels that call it contain it as a part (:class:`Part`)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, targetoptions=dict(OPTIONS))
        self._cache = KernelCache(function)
        self._part: Any = numba.core.registry.CPUDispatcher(
            function, targetoptions=dict(OPTIONS), pipeline_class=Part
        )

    @property
    def _numba_type_(self) -> Any:
        """What it is in other kernels."""
        return self._part._numba_type_


def jit(function: Function) -> Function:
    """Compile on first call, release the GIL, cache on disk. Division by zero gives inf or NaN."""
    return Kernel(function)  # type: ignore[return-value]


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


class PartLibrary(numba.core.codegen.JITCodeLibrary):
    """Code that is linked into that of a kernel, and optimised and run only there."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> PartLibrary:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """The kernel does it (``_kernel_cache.py``)."""


class PartLowering(numba.core.typed_passes.NativeLowering):
    """Numba's pass that writes the code, here without an entry for Python."""

    _name = "accord_part_lowering"

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        state.library = PartLibrary(state.targetctx.codegen(), name)  # type: ignore[no-untyped-call]
        state.flags.no_cpython_wrapper = True
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]


_machinery: Any = numba.core.compiler_machinery
_machinery.register_pass(mutates_CFG=True, analysis_only=False)(PartLowering)


class Part(numba.core.compiler.Compiler):
    """The compiler of what kernels call.

    Numba's own compiles and optimises every function for itself, and then again as part of each
    caller: three times what is nested three deep. Here only the kernel that Python calls is
    optimised, with all its parts.
    """

    def define_pipelines(self) -> list[Any]:
        (manager,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        lowering = numba.core.typed_passes.NativeLowering
        manager.passes = [
            (PartLowering if kind is lowering else kind, what) for kind, what in manager.passes
        ]
        manager.finalize()
        return [manager]


PART_OPTIONS: Any = {**OPTIONS, "pipeline_class": Part}


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
            @numba.extending.overload(choose, strict=False, jit_options=PART_OPTIONS)
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
