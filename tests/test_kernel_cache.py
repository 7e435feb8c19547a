"""The cache of compiled kernels saves time and never gets in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numba
import pytest

from accord import _kernel_cache
from accord._activity import Listener, listening
from accord._jit import Kernel, jit
from accord._kernel_cache import (
    CHECKSUMS,
    KEPT_FOLDERS,
    KEPT_SECONDS,
    WRITING_SECONDS,
    cache_folder,
    folder_in_use,
    sources_of,
)

CODE = """
from accord.regret.state import decayed

value = decayed(1.0, 0.5, 4)
stats = decayed.dispatcher.stats
print("loaded" if stats.cache_hits else "compiled", stats.cache_path is not None, value)
"""
COMPILED, LOADED, IN_MEMORY = "compiled True 0.5", "loaded True 0.5", "compiled False 0.5"


def run(environment: dict[str, str], code: str = CODE) -> str:
    """Use one kernel in a process of its own; whether it was compiled, or kept, and its result."""
    given = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=False, env=given | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.strip()


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache for this process."""
    monkeypatch.setattr(_kernel_cache, "folder_in_use", lambda module: tmp_path)
    monkeypatch.setattr(Kernel, "kept", True)
    monkeypatch.setattr(Kernel, "in_use", [])
    return tmp_path


def make_kernels() -> tuple[Any, Any]:
    @jit
    def double(x: float) -> float:
        return 2.0 * x

    @jit
    def quadruple(x: float) -> float:
        return double(double(x))

    return double, quadruple


@pytest.mark.slow
def test_kernels_are_kept_on_disk(tmp_path: Path) -> None:
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    assert [run(home), run(home)] == [COMPILED, LOADED]
    assert [run(home | {"NUMBA_BOUNDSCHECK": "1"}) for _ in range(2)] == [COMPILED, LOADED]
    (tmp_path / "other").mkdir()
    assert run({"NUMBA_CACHE_DIR": str(tmp_path / "other")}) == COMPILED
    assert files_below(tmp_path / "other" / "accord")


def uses(folder: Path) -> tuple[bool, bool]:
    """Whether a kernel was loaded from disk when it was used, and whether it is kept there."""
    double, _ = make_kernels()
    assert double(3.0) == 6.0
    stats = double.dispatcher.stats
    return bool(stats.cache_hits), stats.cache_path is not None


@pytest.mark.slow
def test_a_damaged_cache_is_compiled_anew(folder: Path) -> None:
    assert [uses(folder), uses(folder)] == [(False, True), (True, True)]
    files = files_below(folder)
    assert len(files) == 3  # Numba's index, the machine code and the checksums
    for kept in files:
        content = kept.read_bytes()
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        for damaged in (flipped, content[:middle], b"", None):
            kept.unlink() if damaged is None else kept.write_bytes(damaged)
            assert uses(folder) == (False, False)  # perhaps another process is writing there
            for path in files_below(folder):
                last = time.time() - WRITING_SECONDS - 1.0
                os.utime(path, (last, last))
            assert uses(folder) == (False, True)
            assert uses(folder) == (True, True)


@pytest.mark.slow
def test_what_kernels_call_is_kept_too(tmp_path: Path) -> None:
    """The second command of a user finds what the first one compiled."""
    code = """
from accord.game.library import kuhn
from accord.learning.self_play import SelfPlay
from accord.treeplex.form import sequence_form

SelfPlay(sequence_form(kuhn())).advance(3)
from accord._jit import Kernel
print(*sorted(kernel.__name__ for kernel in Kernel.in_use if kernel.dispatcher.stats.cache_misses))
"""
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    compiled = run(home, code).split()
    assert {"_self_play", "find_stationary", "_grow"} <= set(compiled)
    sealed = {path.parent.name for path in (tmp_path / "accord").rglob(CHECKSUMS)}
    assert sealed == set(compiled)
    assert run(home, code) == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/null to be in the way")
def test_kernels_work_without_a_cache() -> None:
    """Nothing can be written below a file: as with a read-only folder, also for the superuser."""
    nowhere = {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null"}
    assert run(nowhere) == IN_MEMORY


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)  # the last thing that Numba does to keep a kernel
    monkeypatch.setattr(Path, "replace", fail)
    double, quadruple = make_kernels()
    assert quadruple(3.0) == 12.0
    assert double(3.0) == 6.0
    assert files_below(folder) == []


def test_a_disk_that_is_full_for_checksums_leaves_nothing_that_is_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, content: str) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", fail)
        assert make_kernels()[1](3.0) == 12.0
    assert files_below(folder)
    assert not list(folder.rglob(f"{CHECKSUMS}*"))
    _, quadruple = make_kernels()
    assert quadruple(3.0) == 12.0
    assert not quadruple.dispatcher.stats.cache_hits


def test_the_folder_may_vanish(folder: Path) -> None:
    double, quadruple = make_kernels()
    assert double(3.0) == 6.0
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert double(3) == 6.0  # for whole numbers it is compiled again, and kept
    assert quadruple(3) == 12.0
    assert files_below(folder)


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    module = "accord.regret.state"
    usual = tmp_path / ".cache" / "accord"
    for given in ("", "relative/path"):  # the XDG specification: both count as unset
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache_folder(module).parent == usual
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    folder = cache_folder(module)
    assert folder.parent == tmp_path / "x" / "accord"
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", not numba.config.BOUNDSCHECK)
    assert cache_folder(module) != folder  # a build with other checks
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "y"))
    assert cache_folder(module).parent == tmp_path / "y" / "accord"


SOURCES = {
    "accord": "",
    "accord._jit": "def jit(function): ...",
    "accord.game.labels": "",
    "accord.game.tree": "from accord.game import labels\n\n\nclass Game: ...",
    "accord.game.text": "import accord.game.tree",
    "accord.regret": "",
    "accord.regret.state": "from accord._jit import generic\n\n\n@generic\ndef recommend(x): ...",
    "accord.regret.hedge": (
        "from accord.regret.rates import (\n    RATE,\n)\nfrom accord.regret.state import recommend"
        "\n\n\n@recommend.kernel_for(int)\ndef hedge(x): ..."
    ),
    "accord.regret.rates": "RATE = 1.0",
    "accord.learning.play": (
        "from accord._jit import jit\nfrom accord.regret.state import recommend\n\n\n@jit\n"
        "def play(x):\n    return recommend(x)"
    ),
    "accord.optimal.pricing": (
        "from accord._jit import jit\n\n\n@jit\ndef price(x):\n    return x\n\n\n"
        "def priced(game):\n    from accord.game.tree import Game"
    ),
}


def test_kernels_depend_on_what_their_module_imports() -> None:
    def found(module: str) -> set[str]:
        sources = sources_of(module, SOURCES)
        assert sources.items() <= SOURCES.items()
        return {name.removeprefix("accord.") for name in sources}

    assert found("accord.game.text") == {"game.text", "game.tree", "game.labels"}
    assert found("accord.optimal.pricing") == {
        "optimal.pricing",
        "_jit",
        "game.tree",
        "game.labels",
    }
    recommend = {"_jit", "regret.state", "regret.hedge", "regret.rates"}  # with its kernel
    assert found("accord.regret.state") == recommend
    assert found("accord.regret.hedge") == recommend
    assert found("accord.learning.play") == recommend | {"learning.play"}
    assert sources_of("somebody.elses", SOURCES) == SOURCES


@pytest.mark.parametrize("module", ["accord.learning.play", "accord.optimal.pricing"])
def test_an_edit_of_what_a_kernel_depends_on_starts_a_new_folder(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, source in SOURCES.items():
        path = tmp_path.joinpath(*name.split("."))
        place = path / "__init__.py" if name.count(".") == 0 else path.with_suffix(".py")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source)
    monkeypatch.setattr(_kernel_cache, "_PACKAGE", tmp_path / "accord")

    def folder() -> Path:
        _kernel_cache._sources.cache_clear()
        return cache_folder(module)

    try:
        before = folder()
        for file in files_below(tmp_path):
            name = ".".join(file.relative_to(tmp_path).with_suffix("").parts)
            source = file.read_text()
            file.write_text(f"{source}\n")
            changed = folder() != before
            assert changed == (name in sources_of(module, SOURCES)), name
            file.write_text(source)
            assert folder() == before
    finally:
        _kernel_cache._sources.cache_clear()


def test_a_folder_in_use_is_marked_and_old_ones_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = [f"regret.state-{i:016x}" for i in range(8)]
    for number, name in enumerate(names[1:]):  # one of them lately, the others long ago
        (tmp_path / name).mkdir()
        last = time.time() - (1.0 if number == 0 else KEPT_SECONDS + number)
        os.utime(tmp_path / name, (last, last))
    others = {"something else", f"regret.hedge-{0:016x}", "regret.state-other"}
    for name in others:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    monkeypatch.setattr(_kernel_cache, "cache_folder", lambda module: tmp_path / names[0])
    folder_in_use.cache_clear()
    try:
        assert folder_in_use("accord.regret.state") == tmp_path / names[0]
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {*names[:KEPT_FOLDERS], *others}
        os.utime(tmp_path / names[0], (0, 0))
        folder_in_use.cache_clear()
        assert folder_in_use("accord.regret.state") == tmp_path / names[0]
        assert time.time() - (tmp_path / names[0]).stat().st_mtime < 60
    finally:
        folder_in_use.cache_clear()


def test_other_packages_keep_their_own_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "theirs")
    assert make_kernels()[0](3.0) == 6.0
    assert numba.config.CACHE_DIR == "theirs"
    assert files_below(folder)


def test_kernels_of_the_same_name_do_not_mix(folder: Path) -> None:
    def make(factor: float) -> Callable[[float], float]:
        @jit
        def scale(x: float) -> float:
            return factor * x

        return scale

    assert [make(2.0)(1.0), make(3.0)(1.0), make(2.0)(1.0)] == [2.0, 3.0, 2.0]
    assert files_below(folder)


OUTSIDE = """
from typing import NamedTuple

from accord.regret.sampled import observe_at
from accord._jit import Kernel, jit

class Schedule(NamedTuple):
    rate: float

@observe_at.kernel_for(Schedule)
def learn(schedule, x):
    return schedule.rate * {factor}

@jit
def call(schedule, x):
    return observe_at(schedule, x)

print(call(Schedule(2.0), 1), Kernel.in_use[0].dispatcher.stats.cache_path)
"""


@pytest.mark.slow
def test_edits_outside_the_package_are_noticed(tmp_path: Path) -> None:
    # Python's own bytecode does not notice an edit of equal length within the same second
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    home["PYTHONDONTWRITEBYTECODE"] = "1"
    for factor in (2, 3):
        (tmp_path / "outside.py").write_text(OUTSIDE.format(factor=factor))
        assert run(home, "import outside") == f"{2.0 * factor} None"


def test_only_compiling_is_announced(folder: Path) -> None:
    class Count(Listener):
        compiled = 0

        def compiling(self) -> AbstractContextManager[None]:
            self.compiled += 1
            return nullcontext()

    with listening(count := Count()):
        for expected in (1, 1):  # then it is loaded
            double, _ = make_kernels()
            assert double(3.0) == double(3.0) == 6.0
            assert count.compiled == expected


def test_numba_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)

    def double(x: float) -> float:
        return 2.0 * x

    assert jit(double) is double
