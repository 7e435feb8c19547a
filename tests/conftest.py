"""What tests share: Hypothesis profiles, the order, fixtures.

Functions and classes that tests import are in ``tests/support``, the plain twins of the kernels in
``tests/reference``.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.command import run

# A shell that runs the suite in the background lets it ignore Ctrl-C, and so would every process
# that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run; with --hypothesis-profile=quick a fifth of them.
settings.register_profile("all", derandomize=True, deadline=None, database=None, max_examples=100)
settings.register_profile("quick", settings.get_profile("all"), max_examples=20)
settings.load_profile("all")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with many slow tests first, so that no worker is left with one at the end."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of several kinds, by name; tests only read them."""
    base = tmp_path_factory.mktemp("runs")
    few = ["--components", 20]
    run("solve", "kuhn", "-k", 1, "--iterations", 60, *few, "--method", "rm", "--out", base / "1")
    run("solve", "kuhn", "-k", "inf", "--iterations", 30, *few, "--out", base / "inf")
    run("solve", "kuhn", "-k", 0, "--iterations", 30, *few, "--out", base / "0")
    run("solve", "separation:k=1", "-k", 2, "--iterations", 30, *few, "--out", base / "sep")
    for seed in (1, 2):
        run("learn", "kuhn", "--episodes", 2400, "--seed", seed, *few, "--out", base / f"l{seed}")
    return {path.name: path for path in base.iterdir()}


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A run of Kuhn poker that a test may change."""
    return Path(shutil.copytree(folders["1"], tmp_path / "run"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, started once for a file of tests."""
    from tests.support.browser import chromium  # it needs Selenium

    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A Ray on this machine, started once."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else workers starve on a busy machine
    import ray

    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        ray.init(
            "local",
            num_cpus=2,
            object_store_memory=100_000_000,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=folder,
        )
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()
