"""The file of results: one JSON object with what each part measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "docs" / "benchmarks"
"""Where the results of ``make bench`` are kept."""

FILE = "results.json"
FORMAT = {"format": "accord-benchmarks", "version": 1}
DIGITS = 5
"""Significant digits that are kept: no measurement has more."""


def load(folder: Path) -> dict[str, Any]:
    """The parts measured so far; none if there is no file."""
    path = folder / FILE
    if not path.exists():
        return {}
    parts: dict[str, Any] = json.loads(path.read_text())["parts"]
    return parts


def save(folder: Path, parts: dict[str, Any]) -> None:
    """Write all parts."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(FORMAT | {"parts": _rounded(parts)}, indent=1, allow_nan=False)
    text = re.sub(r"\[\s([^][{}]*?)\s\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    (folder / FILE).write_text(text + "\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
