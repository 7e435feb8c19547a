"""The oracles of the tests: plain Python that shares nothing with what it checks.

Imported where they are used, so that drawing pages does not need the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import naive
from policies import as_naive, random_policy

__all__ = ["as_naive", "naive", "random_policy"]
