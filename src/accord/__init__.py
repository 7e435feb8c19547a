"""Correlated equilibria of extensive-form games: computed, learned, certified and run.

    import accord

    game = accord.load_game("kuhn_poker")
    solution = accord.solve(game, k=1, iterations=1000)
    print(solution.gap)

The public names are listed in ``__init__.pyi``. Each is imported when it is first used, so ``import
accord`` loads none of its dependencies. Building blocks are in the packages listed there, such as
``accord.treeplex``.
"""

from __future__ import annotations

from accord._lazy import lazy_names

_find, __dir__ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("accord")
    else:
        value = _find(name)
    globals()[name] = value
    return value
