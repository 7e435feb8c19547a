"""Correlated equilibria of extensive-form games: computed, learned, certified and run.

    import accord

    game = accord.load_game("kuhn_poker")
    solution = accord.solve(game, k=1, iterations=1000)
    print(solution.gap)

The public names are listed in ``__init__.pyi``. Each is imported when it is first used (PEP 562),
so ``import accord`` loads none of its dependencies.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

_HOME = {
    alias.name: statement.module
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8")).body
    if isinstance(statement, ast.ImportFrom)
    for alias in statement.names
}
"""The module of each public name."""

__all__ = [*sorted(_HOME), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("accord")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'accord' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
