"""A run as a folder of files that others can open.

``policy.npz`` is the saved mixture and ``certificate.json`` its certificate, ``progress.jsonl`` has
one line per checkpoint, and ``run.json`` says what was asked, of which game, and of which versions.
Each file is written under a temporary name and renamed.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.equilibrium.certificate import Certificate
    from accord.learning.learn import Learned
    from accord.learning.run import Solution


def claim_folder(folder: Path) -> None:
    """Make sure of a new or empty folder before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = next(folder.iterdir(), None)
    except OSError as error:
        raise ArgumentError(f"{folder} must be a folder to write to: {error.strerror}") from None
    if taken is not None:
        raise ArgumentError(
            f"{folder} must be a new or empty folder; it has {taken.name!r} in it, and nothing is "
            "overwritten; choose another one"
        )


def write_run(
    folder: Path,
    command: str,
    asked: dict[str, Any],
    solution: Solution | Learned,
    certificate: Certificate,
) -> None:
    """Write everything about a finished run to a folder that was claimed."""
    from accord.equilibrium.files import save_policy

    save_policy(solution.policy, folder / "policy.npz")
    _write_lines(folder / "certificate.json", certificate.to_json())
    _write_lines(folder / "progress.jsonl", *(asdict(point) for point in solution.record))
    _write_lines(
        folder / "run.json",
        {
            "format": "accord-run",
            "version": 1,
            "command": command,
            "asked": asked,
            "game": solution.game.name,
            "digest": solution.game.digest,
            "result": solution.to_json(),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("accord", "numpy", "numba", "open_spiel")},
            },
        },
    )


def _write_lines(path: Path, *contents: dict[str, Any]) -> None:
    """One JSON object per line."""
    from accord.equilibrium.files import write_whole

    text = "".join(json.dumps(content, allow_nan=False) + "\n" for content in contents)
    write_whole(path, lambda file: file.write(text.encode()))
