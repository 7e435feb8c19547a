"""The memory that budgets count with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from accord._memory import available_memory, cgroup_room
from accord.deviations.counting import RechistoryCount
from accord.deviations.rechistory import check_budget
from accord.errors import BudgetError


def group(folder: Path, limit: str, usage: int, cache: int, *, version: int) -> None:
    """The files of one control group."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current", "inactive_file")
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cache}\n")


def test_control_groups_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("0::/user/job\n")
    root = tmp_path / "fs"
    group(root / "user" / "job", "max", 1, 1, version=2)
    group(root / "user", "1000", 400, 150, version=2)
    assert list(cgroup_room(tmp_path / "list", root)) == [750]
    group(root / "user" / "job", "600", 300, 0, version=2)
    assert list(cgroup_room(tmp_path / "list", root)) == [300, 750]


def test_control_groups_of_version_1(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("5:cpu,memory:/job\n3:pids:/job\n")
    root = tmp_path / "fs"
    group(root / "memory" / "job", "1000", 400, 150, version=1)
    group(root / "memory", "9223372036854771712", 0, 0, version=1)  # no limit
    assert list(cgroup_room(tmp_path / "list", root)) == [750]


@pytest.mark.parametrize("content", ["many\n", "", "1000 1000\n"])
def test_control_groups_that_cannot_be_read_set_no_limit(tmp_path: Path, content: str) -> None:
    assert list(cgroup_room(tmp_path / "none", tmp_path)) == []
    (tmp_path / "list").write_text("0::/\n")
    (tmp_path / "memory.max").write_text(content)
    assert list(cgroup_room(tmp_path / "list", tmp_path)) == []


def test_no_more_than_the_free_memory() -> None:
    assert 0 < available_memory() <= psutil.virtual_memory().total


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory that are kept")
def test_ulimit_is_seen() -> None:
    code = """
import resource
from accord._memory import available_memory
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
assert 0 < available_memory() < 1 << 30, available_memory()
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr


def test_budgets_count_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.deviations.rechistory.available_memory", lambda: 1000)
    with pytest.raises(BudgetError, match="1e") as refused:
        check_budget(RechistoryCount(1, 100.0, 100.0, 1000.0))
    assert refused.value.available == 1000
