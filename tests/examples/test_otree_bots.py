"""oTree's own bots play the example, in an environment of its own (``make otree``).

Where oTree cannot be installed this test is skipped; where ``CI`` is set that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
CASES = ("follows", "dares", "nonsense")
"""What the bots do: one session each, per experiment."""


def make(target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", target], cwd=PROJECT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_bots_complete_both_experiments() -> None:
    if shutil.which("make") is None or not (PROJECT / "Makefile").is_file():
        pytest.skip("needs make, in a checkout")
    if (installed := make("build/otree/.ready")).returncode:
        complain = pytest.fail if os.environ.get("CI") else pytest.skip
        complain(f"oTree cannot be installed: {installed.stderr.strip()[-500:]}")
    played = make("otree")
    assert played.returncode == 0, played.stdout[-2000:] + played.stderr[-2000:]
    said = played.stdout + played.stderr
    assert said.count("Bots completed session") == 2 * len(CASES)
    assert "Traceback" not in said
