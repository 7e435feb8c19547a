"""The public names of Accord, with their addresses."""

from __future__ import annotations

import accord


def public_names() -> set[str]:
    """``accord.solve``, ``accord.treeplex.Treeplex`` and so on; not those of ``accord.errors``."""
    packages = {name: getattr(accord, name) for name in set(dir(accord)) - set(accord.__all__)}
    return {f"accord.{name}" for name in accord.__all__} | {
        f"accord.{package}.{name}"
        for package, module in packages.items()
        for name in getattr(module, "__all__", ())
    }
