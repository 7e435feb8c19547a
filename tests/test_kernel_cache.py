"""The cache of compiled kernels saves time and never gets in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from accord import _jit, _kernel_cache
from accord._kernel_cache import KEPT_FOLDERS, KEPT_SECONDS, KernelCache, cache_folder

CODE = """
import sys

from numba.core import event
from accord.regret.state import decayed

class Count(event.Listener):
    compiled = 0
    def on_start(self, event): self.compiled += 1
    def on_end(self, event): pass

with event.install_listener("numba:compile", Count()) as count:
    value = decayed(1.0, 0.5, 4)
print(count.compiled, value)
"""


def run(environment: dict[str, str], code: str = CODE) -> str:
    """Use one kernel in a process of its own; how often it was compiled, and its result."""
    given = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=False, env=given | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.strip()


PARTS = """
import numpy as np
from accord.game.library import kuhn
from accord.learning.self_play import SelfPlay
from accord.regret.fixed_point import find_stationary
from accord.regret.regret_matching import match_regrets
from accord.treeplex.form import sequence_form

play = SelfPlay(sequence_form(kuhn()))
play.advance(3)
print(find_stationary.signatures, match_regrets.signatures)
p = np.empty(2)
find_stationary(np.array([0.0, 1.0, 3.0, 0.0]), 2, p, 0)
print(p, len(find_stationary.signatures))
"""


@pytest.mark.slow
def test_what_kernels_call_is_a_part_of_them(tmp_path: Path) -> None:
    """It is compiled for itself, and kept, only if Python calls it too."""
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        assert run(home, PARTS) == "[] []\n[0.75 0.25] 1"
        kept = {path.name.partition("-")[0] for path in tmp_path.rglob("*") if path.is_file()}
        assert kept == {"learning.self_play._self_play", "regret.fixed_point.find_stationary"}


COMPILED, LOADED = "1 0.5", "0 0.5"


@pytest.mark.slow
def test_a_damaged_cache_is_compiled_anew(tmp_path: Path) -> None:
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    assert [run(home), run(home)] == [COMPILED, LOADED]
    (kernel,) = (path for path in tmp_path.rglob("*") if path.is_file())
    content = kernel.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for damaged in (flipped, content[:middle], content[:10], b""):
        kernel.write_bytes(damaged)
        assert run(home) == COMPILED
        assert kernel.read_bytes() != damaged
    assert run(home) == LOADED


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/null to be in the way")
def test_kernels_work_without_a_cache() -> None:
    """Nothing can be written below a file: as with a read-only folder, also for the superuser."""
    nowhere = {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null"}
    assert run(nowhere) == COMPILED


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, content: bytes) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_kernel_cache, "_folder_in_use", lambda: tmp_path / "kernels")
    monkeypatch.setattr(Path, "write_bytes", fail)

    @_jit.jit
    def double(x: float) -> float:
        return 2.0 * x

    assert double(3.0) == 6.0
    assert list((tmp_path / "kernels").iterdir()) == []


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = tmp_path / ".cache" / "accord"
    for given in ("", "relative/path"):  # the XDG specification: both count as unset
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache_folder().parent == usual
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    folder = cache_folder()
    assert folder.parent == tmp_path / "x" / "accord"
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", not numba.config.BOUNDSCHECK)
    assert cache_folder() != folder  # a build with other checks
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "y"))
    assert cache_folder().parent == tmp_path / "y"


def test_folders_that_nobody_uses_are_deleted(tmp_path: Path) -> None:
    names = [f"{i:016x}" for i in range(8)]
    for age, name in enumerate(names):  # two of them lately, the others long ago
        (tmp_path / name).mkdir()
        last = time.time() - (age if age < 2 else KEPT_SECONDS + age)
        os.utime(tmp_path / name, (last, last))
    (tmp_path / "something else").mkdir()
    os.utime(tmp_path / "something else", (0, 0))
    _kernel_cache._delete_old_folders(tmp_path / names[0])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names[:KEPT_FOLDERS], "something else"}


def test_kernels_of_the_same_name_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_kernel_cache, "_folder_in_use", lambda: tmp_path)

    def make(factor: float):
        @_jit.jit
        def scale(x: float) -> float:
            return factor * x

        return scale

    assert [make(2.0)(1.0), make(3.0)(1.0), make(2.0)(1.0)] == [2.0, 3.0, 2.0]
    assert isinstance(make(2.0)._cache, KernelCache)


def test_short_passes_are_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "SHORT", 5)
    calls = []

    @_jit.once
    def total(values: list[float]) -> float:
        calls.append(1)  # Numba could not compile this
        return sum(values)

    assert total([1.0, 2.0]) == 3.0
    assert calls == [1]
