"""Calls against the data flow: a result draws itself, and the drawing is at the other end.

Imports go one way (``docs/architecture.md``), so that a game or a policy knows nothing of pages and
plots. In a notebook it has to show itself all the same. Its method then calls the function that
draws it by name, and the module is imported at that moment. A game is made of an environment in the
same way. Nothing else is found so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

DISPLAY = "accord.reports.display"
"""Results as HTML and as plots."""

DRAWING = "accord.reports.drawing"
"""Games as drawings."""

FRAMES = "accord.exports.frames"
"""Results as pandas data frames."""

LATEX = "accord.exports.latex"
"""Certificates as LaTeX tables."""

WALK = "accord.play.walk"
"""Environments as games."""


def call_above(module: str, function: str, *arguments: Any) -> Any:
    """Call a function of a module that comes later in the data flow."""
    return getattr(import_module(module), function)(*arguments)
