"""What can happen to a run: signals, other processes, forks, lost folders, full disks.

Whatever happens, the files that are there can be read, the run resumes to the same bits as one that
nothing happened to, and no temporary file stays.
"""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord._activity import Listener, listening
from accord._signals import arriving, deferred_signals
from accord.equilibrium import policy_files
from accord.errors import ArgumentError, MismatchError
from accord.game.library import library_game
from accord.game.tree import Game
from accord.runs.components import Components
from accord.runs.folder import RunFolder
from accord.runs.interrupt import SAVING, STOPPING, heeding_interrupts
from accord.runs.iterations import Iterations
from accord.runs.learn import learn
from accord.runs.lock import locked
from accord.runs.loop import CAUTION, Loop
from accord.runs.optimize import optimize
from accord.runs.reading import read_finished, read_run
from accord.runs.request import SolveRequest
from accord.runs.result import Solution
from accord.runs.solve import run_solve, solve
from tests.support.command import process, refused
from tests.support.resuming import resume

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and locks of Unix")

ASKED: dict[str, Any] = {"iterations": 600, "components": 20}


@pytest.fixture(scope="module")
def game() -> Game:
    return library_game("kuhn")


@pytest.fixture(scope="module")
def whole(game: Game) -> Solution:
    """A run that nothing happened to."""
    return solve(game, 1, **ASKED)


def ends_like(folder: Path, game: Game, whole: Solution) -> None:
    """The run in ``folder`` resumes to the same bits, and leaves no temporary file."""
    resumed = resume(game, folder)
    assert (resumed.gap, resumed.average_gap) == (whole.gap, whole.average_gap)
    assert np.array_equal(resumed.policy.behavior, whole.policy.behavior)
    saved = read_finished(RunFolder.open(folder), game)
    assert np.array_equal(saved.policy.behavior, whole.policy.behavior)
    assert saved.result == resumed.to_json()
    assert saved.history == resumed.history
    assert not list(folder.glob(".*"))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class Ears(Listener):
    """Remembers what a run tells."""

    def __init__(self, on: dict[str, Callable[[], None]] | None = None) -> None:
        self.heard: list[str | None] = []
        self.answers: list[str] = []
        self.on = on or {}

    def hear(self, what: str | None) -> None:
        self.heard.append(what)
        if what in self.on:
            self.on.pop(what)()

    def answer(self, text: str) -> None:
        self.answers.append(text)


def interrupt(times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)


# --- signals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "phase", ["saving the checkpoint", "certifying the mixture", "saving the mixture"]
)
def test_ctrl_c_in_every_phase_loses_nothing(
    phase: str, game: Game, whole: Solution, tmp_path: Path
) -> None:
    ears = Ears({phase: interrupt})
    folder = tmp_path / "run"
    try:
        with listening(ears):
            solve(game, 1, **ASKED, folder=folder)
    except KeyboardInterrupt:
        assert phase != "saving the checkpoint"
    else:  # it finished the step first
        assert ears.answers[0] == SAVING
    assert phase not in ears.on
    assert not list(folder.glob(".*"))
    ends_like(folder, game, whole)


def test_a_second_ctrl_c_waits_until_the_run_is_saved(
    game: Game, whole: Solution, tmp_path: Path
) -> None:
    ears = Ears({"saving the checkpoint": lambda: interrupt(3)})
    with listening(ears), pytest.raises(KeyboardInterrupt):
        solve(game, 1, **ASKED, folder=tmp_path / "run")
    assert "certifying the mixture" not in ears.heard
    part = read_run(RunFolder.open(tmp_path / "run"), game)
    assert not part.finished
    assert part.history[-1].iteration == part.result["iterations"] < ASKED["iterations"]
    ends_like(tmp_path / "run", game, whole)


def test_without_a_folder_a_second_ctrl_c_ends_it_at_once(game: Game) -> None:
    def impatient(point: Any) -> None:
        interrupt(2)

    with pytest.raises(KeyboardInterrupt):
        solve(game, 1, iterations=10**6, progress=impatient)


def test_ctrl_c_is_answered_while_the_step_still_runs() -> None:
    """The main thread sleeps in C, as in a kernel, and sees the signal only afterwards."""
    ears = Ears()
    sender = [sys.executable, "-c", f"import os, time; time.sleep(0.2); os.kill({os.getpid()}, 2)"]
    with listening(ears), heeding_interrupts() as interruption:
        libc_sleep = subprocess.Popen(sender)
        deadline = time.monotonic() + 60
        while not ears.answers and time.monotonic() < deadline:
            np.linalg.eigvals(np.random.default_rng(0).random((150, 150)))  # releases the GIL
        libc_sleep.wait()
    assert ears.answers == [STOPPING]
    assert interruption.requested


def test_a_signal_is_answered_once_on_a_busy_machine() -> None:
    """Whoever should answer comes too late: the step has ended."""
    ears = Ears()
    with listening(ears), arriving(lambda number: time.sleep(0.5)):
        with heeding_interrupts() as interruption:
            interrupt()
        assert interruption.requested
        assert ears.answers == [STOPPING]
    assert ears.answers == [STOPPING]


def test_a_signal_that_had_to_wait_counts_once() -> None:
    """Ctrl-C within a linear program takes effect after it, and is not taken for a second one."""
    with listening(Ears()), heeding_interrupts() as interruption:
        with deferred_signals():
            interrupt()
        assert interruption.requested
    assert interruption.answered == 1
    assert not interruption.insisted


def test_signals_that_mean_something_else_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with heeding_interrupts():
        assert signal.getsignal(signal.SIGTERM) is before
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def heard() -> Iterator[None]:
    """Let processes hear SIGHUP, also if the tests were started with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command_saves_and_says_how_to_resume(number: int, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with process("solve", "kuhn", "--seconds", 100, "--out", folder) as started:
        wait_for(folder / "checkpoint.npz")
        started.send_signal(number)
        output, errors = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "kuhn: EFCE by prm+" in output
    said = errors.splitlines()
    assert "stopping after this step; saving" in said
    assert said[-2:] == [f"saved; resume with: accord solve --resume {folder}", "interrupted"]
    assert RunFolder.open(folder).finished


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 100
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert file.exists()


# --- killed -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(
    game: Game, whole: Solution, tmp_path: Path
) -> None:
    from tests.support.killed import killed_after

    folder, rng = tmp_path / "run", random.Random(14)
    for _ in range(12):
        killed_after(rng.uniform(0.0, 0.25), folder)
        for file in folder.glob("[!.]*.json*"):  # temporary files begin with a period
            for line in file.read_text().splitlines():
                json.loads(line)
        if (folder / "run.json").exists():
            files = RunFolder.open(folder)
            if files.finished:
                saved = read_finished(files, game)
                assert saved.result["iterations"] == saved.history[-1].iteration
    if (folder / "run.json").exists():
        ends_like(folder, game, whole)
    else:
        assert solve(game, 1, **ASKED, folder=folder).gap == whole.gap


@pytest.mark.parametrize("last", ["policy.npz", "certificate.json", "run.json", "progress.jsonl"])
def test_a_reader_never_sees_two_states(
    last: str, game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished run is extended, and dies after each of the files that it then writes."""
    folder = tmp_path / "run"
    solve(game, 1, iterations=50, components=10, folder=folder)
    rename = Path.replace

    def rename_and_die(self: Path, target: Path) -> Path:
        rename(self, target)
        if target.name == last and ears.heard[-1] == "saving the mixture":
            raise KeyboardInterrupt
        return target

    ears = Ears()
    monkeypatch.setattr(Path, "replace", rename_and_die)
    with listening(ears), pytest.raises(KeyboardInterrupt):
        resume(game, folder, iterations=100)
    monkeypatch.undo()
    saved = read_finished(RunFolder.open(folder), game)
    assert saved.result["iterations"] == saved.history[-1].iteration == 100
    assert saved.result["average_gap"] == saved.history[-1].gap
    longer = solve(game, 1, iterations=100, components=10)
    assert np.array_equal(saved.policy.behavior, longer.policy.behavior)
    assert accord.certify(game, saved.policy, 1)[1].gap == pytest.approx(saved.result["gap"])


def test_what_killed_processes_left_is_removed(game: Game, whole: Solution, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    left = folder / ".run.json.0123456789abcdef.tmp"
    left.write_text("half")
    old, young = folder / ".report.html.1.tmp", folder / ".report.html.2.tmp"
    for file in (old, young):
        file.write_text("half")
    os.utime(old, (0, 0))
    solve(game, 1, **ASKED, folder=folder)
    assert not left.exists()
    assert not old.exists()
    assert young.exists()  # somebody may be writing it now
    young.unlink()
    (folder / ".checkpoint.npz.77.tmp").write_text("half")
    ends_like(folder, game, whole)


# --- other processes ----------------------------------------------------------------------------


def test_a_second_start_is_refused_and_changes_nothing(game: Game, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    seen = []

    def another(point: Any) -> None:
        if not seen and (folder / "checkpoint.npz").exists():
            before = contents(folder)
            seen.append(refused("solve", "kuhn", "-k", 0, "--out", folder))
            seen.append(refused("solve", "--resume", folder))
            seen.append(refused("learn", "kuhn", "--episodes", 100, "--out", folder))
            assert contents(folder) == before

    solve(game, 1, iterations=300, folder=folder, progress=another)
    assert len(seen) == 3
    assert all("another process is writing to this folder" in text for text in seen)


def test_the_lock_comes_before_the_first_file(game: Game, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(ArgumentError, match="another process is writing"):
        solve(game, 1, iterations=5, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def _try_to_lock(folder: Path) -> None:
    try:
        with locked(folder):
            os._exit(0)
    except ArgumentError:
        os._exit(3)


def test_a_fork_neither_has_the_lock_nor_keeps_it(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    with locked(tmp_path) as lock:
        child = fork.Process(target=_try_to_lock, args=(tmp_path,))
        child.start()
        child.join()
        assert child.exitcode == 3
        sleeper = os.fork()
        if sleeper == 0:  # it would write to the run of its parent
            try:
                lock.check()
            except ArgumentError:
                time.sleep(60)
            os._exit(1)
    with locked(tmp_path):  # although the child still lives
        assert os.waitpid(sleeper, os.WNOHANG) == (0, 0)
    os.kill(sleeper, signal.SIGKILL)
    os.waitpid(sleeper, 0)


# --- disks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", [False, True])
def test_a_folder_deleted_meanwhile(replaced: bool, game: Game, tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def delete(point: Any) -> None:
        if point.iteration > 20 and not (tmp_path / "moved").exists():
            folder.rename(tmp_path / "moved")
            if replaced:
                folder.mkdir()

    with pytest.raises(ArgumentError, match="was deleted, moved or replaced during the run"):
        solve(game, 1, iterations=100, folder=folder, progress=delete)
    assert not replaced or not list(folder.iterdir())
    resumed = resume(game, tmp_path / "moved")
    assert resumed.gap == solve(game, 1, iterations=100).gap


@pytest.mark.slow
def test_a_real_write_that_fails_leaves_the_last_checkpoint(game: Game, tmp_path: Path) -> None:
    """No file may become larger than a few kilobytes: the system refuses the rest."""
    folder = tmp_path / "run"
    solve(game, 1, iterations=5, components=1000, folder=folder)
    before = contents(folder)
    code = f"""
import resource, signal, sys
from accord.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before["checkpoint.npz"])}, resource.RLIM_INFINITY))
sys.argv[1:] = ["solve", "--resume", {str(folder)!r}, "--iterations", "2000"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"error: {folder / 'checkpoint.npz'} cannot be written: File too large"
    )
    assert contents(folder) == before
    longer = resume(game, folder, iterations=2000)
    assert longer.gap == solve(game, 1, iterations=2000).gap


@pytest.mark.parametrize("name", ["checkpoint.npz", "policy.npz", "certificate.json", "run.json"])
def test_a_disk_that_is_full_at_any_file(
    name: str, game: Game, whole: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rename = tmp_path / "run", Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == name and (folder / "run.json").exists():
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ArgumentError, match="cannot be written: No space left on device"):
        solve(game, 1, **ASKED, folder=folder)
    monkeypatch.undo()
    assert not list(folder.glob(".*"))
    ends_like(folder, game, whole)


def test_a_read_only_folder(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def denied(self: Path, *args: Any, **options: Any) -> Any:
        if self.is_relative_to(tmp_path):
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **options)

    monkeypatch.setattr(policy_files.Path, "open", denied)
    with pytest.raises(ArgumentError, match=r"run\.json cannot be written: Permission denied"):
        solve(game, 1, iterations=5, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_convert_follows_no_link_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, link = tmp_path / "mine", tmp_path / "game.efg"
    mine.write_text("mine")
    link.symlink_to(mine)
    (tmp_path / "game.efg.part").symlink_to(mine)
    accord.interop.write_efg(accord.load_game("kuhn"), link)
    assert mine.read_text() == "mine"
    assert not link.is_symlink()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = sorted(tmp_path.iterdir())
    message = refused("convert", "kuhn", tmp_path / "other.efg")
    assert message == f"{tmp_path / 'other.efg'} cannot be written: No space left on device"
    assert sorted(tmp_path.iterdir()) == before


# --- files that do not belong -------------------------------------------------------------------


@pytest.fixture(scope="module")
def others(game: Game, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs that differ from each other in one thing."""
    base = tmp_path_factory.mktemp("others")
    asked: dict[str, Any] = {"iterations": 20, "components": 5}
    solve(game, 1, **asked, folder=base / "this")
    solve(game, 0, **asked, folder=base / "k")
    solve(game, 1, **asked, method="rm", folder=base / "method")
    solve(game, 1, **asked, averaging="uniform", folder=base / "averaging")
    solve(library_game("kuhn:players=3"), 1, **asked, folder=base / "game")
    learn(game, 1, episodes=200, components=5, folder=base / "seed 0")
    learn(game, 1, episodes=200, components=5, seed=1, folder=base / "seed 1")
    return {path.name: path for path in base.iterdir()}


@pytest.mark.parametrize(
    ("one", "other"),
    [*(("this", name) for name in ("k", "method", "averaging", "game")), ("seed 0", "seed 1")],
)
def test_a_checkpoint_of_another_run_is_refused(
    one: str, other: str, game: Game, others: dict[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(others[one], tmp_path / "run"))
    shutil.copy(others[other] / "checkpoint.npz", folder)
    before = contents(folder)
    with pytest.raises(MismatchError, match=r"checkpoint\.npz must belong to the run"):
        if one == "this":
            resume(game, folder, iterations=40)
        else:
            resume(game, folder, episodes=400)
    assert contents(folder) == before


@pytest.mark.parametrize("edit", [{"k": 0}, {"method": "rm"}, {"averaging": "linear"}])
def test_a_request_that_was_edited_is_refused(
    edit: dict[str, Any], game: Game, others: dict[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(others["this"], tmp_path / "run"))
    content = json.loads((folder / "run.json").read_text())
    content["asked"] |= edit
    (folder / "run.json").write_text(json.dumps(content))
    with pytest.raises(MismatchError, match=r"or run\.json was changed"):
        resume(game, folder, iterations=40)
    with pytest.raises(MismatchError, match=r"policy\.npz must belong"):
        read_finished(RunFolder.open(folder), game)


@pytest.mark.parametrize(
    "spoil",
    [
        {"iterates_stride": np.array(-1)},
        {"iterates_stride": np.array(0)},
        {"iterates_stride": np.array(3)},
        {"play_iteration": np.array(-5)},
        {"play_iteration": np.array(10**6)},
        {"play_regret_0": np.zeros(1)},  # NumPy would stretch it
        {"play_loss": np.array(["a", "b"])},
        {"iterates_off": np.zeros((0, 1), np.int8)},
        {"iterates_values": lambda values: np.full_like(values, 255)},  # all NaN
        {"iterates_support": lambda support: support[1:]},
        {"elapsed": np.array(np.inf)},
        {"record": np.array("[]]")},
        {"record": np.array('[{"iteration": 10000}]')},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_a_checkpoint_that_contradicts_itself_is_refused(
    spoil: dict[str, Any], game: Game, others: dict[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(others["this"], tmp_path / "run"))
    with np.load(folder / "checkpoint.npz") as content:
        arrays = dict(content)
    assert set(spoil) <= set(arrays)
    arrays |= {n: new(arrays[n]) if callable(new) else new for n, new in spoil.items()}
    np.savez(folder / "checkpoint.npz", **arrays)
    before = contents(folder)
    message = refused("solve", "--resume", folder, "--iterations", 40)
    assert "checkpoint.npz: is damaged, or was written by another version of Accord" in message
    assert contents(folder) == before


# --- time ---------------------------------------------------------------------------------------


class Ticking:
    """Learners whose iterations each take a second of a clock that only they move."""

    def __init__(self) -> None:
        self.iteration, self.clock = 0, 0.0

    def advance(self, iterations: int, kept: Any, stride: int) -> int:
        self.clock += iterations
        self.iteration += iterations
        return iterations // stride

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        raise AssertionError("nothing was saved")

    def perf_counter(self) -> float:
        return self.clock


class Certifying:
    """An end of ten seconds, and some more for each component, as soon as it is estimated."""

    def __init__(self, iterates: Components, each: float) -> None:
        self.iterates, self.each, self.known = iterates, each, False

    def estimate(self) -> None:
        self.known = True

    def reserve(self, step: float) -> float:
        return step + CAUTION * self.seconds() if self.known else step

    def seconds(self) -> float:
        return 10.0 + self.each * self.iterates.count


@pytest.mark.parametrize("each", [0.0, 0.5])
def test_seconds_leave_time_for_the_end(each: float, monkeypatch: pytest.MonkeyPatch) -> None:
    play, iterates = Ticking(), Components(1000, np.ones(2, np.int32))
    ending = Certifying(iterates, each)
    monkeypatch.setattr("accord.runs.loop.time", play)
    loop = Loop(Iterations(play, iterates, lambda: None))
    loop.run(1000, seconds=60.0, since=-5.0, ending=ending)
    assert 52.0 <= loop.elapsed + CAUTION * ending.seconds() <= 55.0


def test_seconds_count_from_since(game: Game) -> None:
    request = SolveRequest("kuhn", 1, seconds=5.0)
    late = run_solve(game, request, since=time.perf_counter() - 6.0)
    assert late.iterations == 1


# --- live ---------------------------------------------------------------------------------------


def test_a_run_that_is_still_going_can_be_read(game: Game, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    seen: list[Any] = []

    def look(point: Any) -> None:
        if point.iteration > 100 and not seen:
            seen.append(read_run(RunFolder.open(folder), game))

    solve(game, 1, iterations=200, components=10, folder=folder, progress=look)
    (now,) = seen
    assert not now.finished
    assert now.result["iterations"] == now.history[-1].iteration < 200
    assert now.policy.n_components >= 1
    assert read_run(RunFolder.open(folder), game).finished


@pytest.mark.slow
@pytest.mark.parametrize("minimize", [False, True])
def test_a_search_that_is_still_going_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minimize: bool
) -> None:
    from accord.optimal import column_generation

    monkeypatch.setattr(column_generation, "FRESH", 2)
    game, folder = library_game("kuhn:players=3"), tmp_path / "run"
    seen: list[Any] = []

    def look(point: Any) -> None:
        if (folder / "checkpoint.npz").exists() and not seen:
            seen.append(read_run(RunFolder.open(folder), game))
            interrupt()

    found = optimize(game, 1, [1, 0, 0], minimize=minimize, folder=folder, progress=look)
    assert found.interrupted
    assert not seen[0].finished
    exact = accord.certify(game, seen[0].policy, 1)
    assert seen[0].result["players"] == list(exact[1].player_gaps)
    assert seen[0].result["values"] == list(exact.values)
    best = resume(game, folder)
    assert best.optimal
    assert seen[0].result["objective"] == best.objective
    sign = -1 if minimize else 1
    assert sign * seen[0].result["bound"] >= sign * best.value


def test_a_drive_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as some file systems of clusters: the run says so, and ends well."""
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    said: list[str] = []

    class Listens:
        def hear(self, what: str | None) -> None:
            """Nothing."""

        def answer(self, text: str) -> None:
            said.append(text)

        def compiling(self) -> Any:
            return contextlib.nullcontext()

    with listening(Listens()):
        solution = accord.solve(accord.load_game("kuhn"), 1, iterations=20, folder=tmp_path / "run")
    assert len(said) == 1
    assert "is on a drive without locks (No locks available)" in said[0]
    assert (tmp_path / "run" / "policy.npz").exists()
    again = resume(accord.load_game("kuhn"), tmp_path / "run", iterations=30)
    assert again.iterations == 30 > solution.iterations
