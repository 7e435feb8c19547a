"""Kernels that check their bounds compute the same bits as those that users run.

Tests marked ``kernels`` run with the checks in ``make test``; by this test they speak of both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from tests.support.kernels import digests

ROOT = Path(__file__).parents[1]


@pytest.mark.kernels
@pytest.mark.slow
def test_both_builds_compute_the_same_bits() -> None:
    checked = not numba.config.BOUNDSCHECK  # the build that this process does not have
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": str(int(checked))}
    command = [sys.executable, "-m", "tests.support.kernels"]
    other = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    assert json.loads(other.stdout) == digests()
