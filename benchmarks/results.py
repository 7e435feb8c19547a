"""The file of results: one JSON object that holds the measurements of each part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "docs" / "benchmarks"
"""The folder in which ``make bench`` keeps its results."""

FILE = "results.json"
FORMAT = {"format": "accord-benchmarks", "version": 1}
DIGITS = 5
"""Significant digits that are kept; no measurement is more precise."""


def load(folder: Path) -> dict[str, Any]:
    """The parts measured so far; empty if there is no file."""
    path = folder / FILE
    if not path.exists():
        return {}
    parts: dict[str, Any] = json.loads(path.read_text())["parts"]
    return parts


def save(folder: Path, parts: dict[str, Any]) -> None:
    """Write all parts, one line per record, so that measuring again is a small diff."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(written(FORMAT | {"parts": parts}))


def written(value: Any) -> str:
    """Measurements as JSON, rounded."""
    return _written(_rounded(value)) + "\n"


def _written(value: Any, indent: str = "\n") -> str:
    """``value`` as JSON. Whatever holds no further object fits on one line."""
    if not _holds_object(value):
        return json.dumps(value, allow_nan=False)
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_written(item, inner)}" for key, item in value.items()]
        return "{" + inner + f",{inner}".join(items) + indent + "}"
    return "[" + inner + f",{inner}".join(_written(item, inner) for item in value) + indent + "]"


def _holds_object(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(
        isinstance(item, dict) or _holds_object(item) for item in items
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
