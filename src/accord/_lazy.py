"""Public names that are imported when they are first used (PEP 562).

A package lists its public names in ``__init__.pyi``, once each, as imports: ``from
accord.game.tree import Game as Game``, or ``from accord import game as game`` for a module. Type
checkers read this list, and so does :func:`lazy_names`. Importing a package therefore loads none of
its modules.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def lazy_names(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of the package whose ``__init__.py`` is given.

    ``__all__`` is an attribute, too; it has no modules, so ``import *`` imports none.
    """

    @cache
    def homes() -> dict[str, str]:
        """The module that each public name is imported from."""
        listed = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8")).body
        imports = (line for line in listed if isinstance(line, ast.ImportFrom))
        return {alias.name: str(line.module) for line in imports for alias in line.names}

    def get(name: str) -> object:
        if name == "__all__":
            return sorted(name for name, home in homes().items() if home != package)
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes()[name]
        if home == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home), name)

    return get, lambda: sorted(homes())
