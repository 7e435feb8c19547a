"""Runs of several kinds, made once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.command import run


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of several kinds."""
    base = tmp_path_factory.mktemp("runs")
    few = ["--components", 20]
    run("solve", "kuhn", "-k", 1, "--iterations", 60, *few, "--method", "rm", "--out", base / "1")
    run("solve", "kuhn", "-k", "inf", "--iterations", 30, *few, "--out", base / "inf")
    run("solve", "kuhn", "-k", 0, "--iterations", 30, *few, "--out", base / "0")
    run("solve", "separation:k=1", "-k", 2, "--iterations", 30, *few, "--out", base / "sep")
    for seed in (1, 2):
        run("learn", "kuhn", "--episodes", 2000, "--seed", seed, *few, "--out", base / f"l{seed}")
    return {path.name: path for path in base.iterdir()}


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A run of Kuhn poker to be spoilt."""
    shutil.copytree(folders["1"], tmp_path / "run")
    return tmp_path / "run"
