"""Resuming a run without repeating its arguments, as ``accord solve --resume DIR`` does."""

from __future__ import annotations

import os
from typing import Any

from accord.runs.folder import RunFolder
from accord.runs.learn import run_learn
from accord.runs.optimize import run_optimize
from accord.runs.solve import run_solve

RUNS: dict[str, Any] = {"solve": run_solve, "learn": run_learn, "optimize": run_optimize}


def resume(playable: Any, folder: str | os.PathLike[str], **limits: Any) -> Any:
    """Continue the run in ``folder``; new limits replace the old."""
    request = RunFolder.open(folder).request.continued(**limits)
    return RUNS[request.command](playable, request, folder=folder, resume=True)
