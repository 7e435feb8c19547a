"""How kernels are compiled, and chosen by type.

A kernel is a Python function that Numba compiles when it is called with arguments of new types, and
keeps on disk where ``_kernel_cache.py`` says. Only what Numba documents is used here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numba
import numba.extending

from accord._activity import compiling
from accord._kernel_cache import KernelFolder

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
"""Release the GIL; division by zero gives inf or NaN."""

_config: Any = numba.config
_typeof_impl: Any = numba.extending.typeof_impl


def jit(function: Function) -> Function:
    """Compile on first call, release the GIL, cache on disk. Division by zero gives inf or NaN."""
    return function if _config.DISABLE_JIT else Kernel(function)  # type: ignore[return-value]


def part(function: Function) -> Function:
    """Compile into each kernel that calls it, in place of the call, and nowhere else.

    Numba compiles what a kernel calls for itself, and again with the kernel: four times what is
    nested four deep. A part is compiled as often as calls of it are written. It suits short
    functions, and those that are called at one place.
    """
    if _config.DISABLE_JIT:
        return function
    return numba.njit(inline="always", **OPTIONS)(function)  # type: ignore[no-any-return]


class Kernel:
    """A compiled function, for Python and for other kernels to call.

    It stands between Python and Numba's own object, the dispatcher, because Numba raises an error
    where it cannot keep a kernel, and trusts the files that it finds.
    """

    in_use: ClassVar[list[Kernel]] = []
    kept: ClassVar[bool] = True  # on disk

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._dispatcher: Any = None
        self._folder: KernelFolder | None = None
        self._sealed = 0  # for how many types of arguments it was compiled when last sealed

    def __call__(self, *arguments: Any) -> Any:
        if (dispatcher := self._dispatcher) is None:
            return self._call_first(*arguments)
        try:
            result = dispatcher(*arguments)
        except OSError:  # of Numba, which cannot write: kernels open no files
            Kernel.keep_no_more()
            return self.dispatcher(*arguments)
        if len(dispatcher.overloads) > self._sealed:
            for kernel in tuple(Kernel.in_use):  # with this one, those that it calls
                kernel._seal()
        return result

    def _call_first(self, *arguments: Any) -> Any:
        _ = self.dispatcher
        known = self._folder is not None and not self._folder.is_empty()
        with nullcontext() if known else compiling():
            return self(*arguments)

    @property
    def dispatcher(self) -> Any:
        """What Numba made of the function."""
        if self._dispatcher is None:
            self._folder = KernelFolder.open(self.py_func) if Kernel.kept else None
            dispatcher = self._folder and self._folder.kept(self.py_func, OPTIONS)
            if dispatcher is None:
                self._folder, dispatcher = None, numba.njit(**OPTIONS)(self.py_func)
            self._dispatcher, self._sealed = dispatcher, 0
            Kernel.in_use.append(self)
        return self._dispatcher

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments that it has been compiled for, or loaded from disk for."""
        return [] if self._dispatcher is None else list(self._dispatcher.signatures)

    def _seal(self) -> None:
        """Let the folder list what Numba has written."""
        dispatcher = self._dispatcher
        if dispatcher is not None and len(dispatcher.overloads) > self._sealed:
            self._sealed = len(dispatcher.overloads)
            if self._folder is not None and dispatcher.stats.cache_misses:
                self._folder.seal()

    @classmethod
    def keep_no_more(cls) -> None:
        """From now on compile all kernels in memory."""
        cls.kept = False
        for kernel in cls.in_use:
            kernel._dispatcher = None
        cls.in_use.clear()


@_typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
def _type_within_kernels(kernel: Kernel, context: Any) -> Any:
    return numba.typeof(kernel.dispatcher)  # type: ignore[no-untyped-call]


class Generic(Protocol):
    """A function with one kernel per type of its first argument."""

    kernels: dict[type, Any]

    def __call__(self, schedule: Any, /, *arguments: Any) -> Any: ...

    def kernel_for(self, kind: type, *, compiled: bool = True) -> Callable[[Function], Function]:
        """Decorate the kernel for first arguments of type ``kind``, a NamedTuple.

        A kernel from outside this package ends the use of the cache on disk, which would not notice
        when it is edited. One that is not ``compiled`` is plain Python, and much slower.
        """

    def is_compiled(self, schedule: Any) -> bool:
        """Whether the kernel for this argument is compiled."""

    def check(self, schedule: Any) -> None:
        """Raise a TypeError if there is no kernel for this argument, before Numba does."""


def generic_part(declaration: Callable[..., Any]) -> Generic:
    """Declare a :func:`generic` function that is compiled in place of its calls, as a :func:`part`.

    Then nothing in the caller can fail, and Numba need not count references to its arrays.
    """
    return generic(declaration, inline="always")


def generic(
    declaration: Callable[..., Any], *, inline: Literal["never", "always"] = "never"
) -> Generic:
    """Declare a function that has one kernel per type of its first argument.

    ``declaration`` gives the name, the parameters and the docstring. A compiled caller contains the
    one kernel that its argument needs and is compiled for nothing else; plain Python finds the
    same kernel. Unlike functions passed as arguments, such calls are cached on disk. A kernel may
    also be plain Python; then only Python can call it.
    """
    kernels: dict[type, Any] = {}
    plain: set[type] = set()  # those whose kernels are not compiled

    @functools.wraps(declaration)
    def choose(schedule: Any, *arguments: Any) -> Any:
        return kernels[type(schedule)](schedule, *arguments)

    def kernel_for(kind: type, *, compiled: bool = True) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            if not compiled:
                kernels[kind] = function
                plain.add(kind)
                return function

            @numba.extending.overload(choose, strict=False, jit_options=OPTIONS, inline=inline)
            def find(schedule: Any, *arguments: Any) -> Any:
                return function if getattr(schedule, "instance_class", None) is kind else None

            if not function.__module__.startswith("accord."):
                Kernel.keep_no_more()
            kernels[kind] = jit(function)
            return kernels[kind]  # type: ignore[no-any-return]

        return register

    def check(schedule: Any) -> None:
        if type(schedule) not in kernels:
            name, kind = declaration.__name__, type(schedule).__name__
            raise TypeError(
                f"{name} has no kernel for {kind}; decorate one with @{name}.kernel_for({kind})"
            )

    def is_compiled(schedule: Any) -> bool:
        return type(schedule) not in plain

    choose.kernel_for, choose.check, choose.kernels = kernel_for, check, kernels  # type: ignore[attr-defined]
    choose.is_compiled = is_compiled  # type: ignore[attr-defined]
    return choose  # type: ignore[return-value]
