"""Sweeps: what is done is kept, in this process and on a real Ray."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from accord.errors import (
    ArgumentError,
    MismatchError,
    MissingDependencyError,
    ParseError,
    SweepError,
)
from accord.game.library import library_game
from accord.regret.methods import METHODS, SAMPLED_METHODS
from accord.runs.solve import solve
from accord.runs.sweep import sweep
from tests.support.command import process, refused, run, run_json
from tests.support.resuming import resume

TASKS = {"two": {"x": 2}, "three": {"x": 3}, "four": {"x": 4}}


def square(folder: Path, x: int) -> dict[str, Any]:
    """Counts how often it was called in its folder."""
    with (folder / "calls").open("a") as calls:
        calls.write("*")
    (folder / "deep").mkdir(exist_ok=True)
    (folder / "deep" / "file").write_bytes(bytes([x, 0, 255]))
    return {"square": x * x, "pair": (x, x)}


def square_unless_three(folder: Path, x: int) -> int:
    if x == 3:
        raise ArithmeticError("three\nis too many")
    return x * x


def calls(folder: Path) -> dict[str, int]:
    return {path.parent.name: len(path.read_text()) for path in folder.glob("*/calls")}


@pytest.fixture(params=[None, pytest.param("ray", marks=pytest.mark.slow)])
def where(request: pytest.FixtureRequest) -> str | None:
    """Both ways to run."""
    return None if request.param is None else str(request.getfixturevalue("address"))


# What a sweep promises, in either way


def test_results_and_files(tmp_path: Path, where: str | None) -> None:
    seen = {}
    results = sweep(square, TASKS, tmp_path, ray=where, progress=seen.__setitem__)
    assert list(results) == list(TASKS)
    assert results["three"] == {"square": 9, "pair": [3, 3]}  # as it will be read
    assert seen == results
    for name, task in TASKS.items():
        assert (tmp_path / name / "deep" / "file").read_bytes() == bytes([task["x"], 0, 255])
        kept = json.loads((tmp_path / name / "result.json").read_text())
        assert kept == {"task": task, "result": results[name]}
    assert {path.name for path in tmp_path.iterdir()} == {
        *TASKS,
        *(f".{name}.json" for name in TASKS),
    }


def test_what_is_done_is_skipped(tmp_path: Path, where: str | None) -> None:
    first = sweep(square, {"two": {"x": 2}}, tmp_path, ray=where)
    seen: dict[str, Any] = {}
    again = sweep(square, TASKS, tmp_path, ray=where, progress=seen.__setitem__)
    assert calls(tmp_path) == {"two": 1, "three": 1, "four": 1}
    assert again["two"] == first["two"]
    assert seen == again
    (tmp_path / "three" / "result.json").unlink()  # as if killed before the end
    assert sweep(square, TASKS, tmp_path, ray=where) == again
    assert calls(tmp_path) == {"two": 1, "three": 2, "four": 1}  # it found its files


def test_a_failure_does_not_lose_the_others(tmp_path: Path, where: str | None) -> None:
    with pytest.raises(SweepError) as caught:
        sweep(square_unless_three, TASKS, tmp_path, ray=where)
    assert str(caught.value) == (
        "1 of 3 tasks failed, the others are done: three: ArithmeticError: three is too many"
    )
    assert caught.value.failed == {"three": "ArithmeticError: three is too many"}
    assert isinstance(caught.value.__cause__, ArithmeticError)
    done = sorted(path.parent.name for path in tmp_path.glob("*/result.json"))
    assert done == ["four", "two"]


@pytest.mark.parametrize("result", [float("nan"), {1, 2}])
def test_a_result_that_is_no_json_is_a_failure(
    tmp_path: Path, where: str | None, result: Any
) -> None:
    def job(folder: Path, x: int) -> Any:
        return result if x == 3 else x

    with pytest.raises(SweepError, match="three: a result must be writable as JSON"):
        sweep(job, TASKS, tmp_path, ray=where)
    assert not (tmp_path / "three" / "result.json").exists()
    assert (tmp_path / "four" / "result.json").exists()


# What it refuses, before anything runs


@pytest.mark.parametrize("finished", [True, False])
def test_another_task_of_the_same_name(tmp_path: Path, finished: bool) -> None:
    sweep(square, {"one": {"x": 1}}, tmp_path)
    if not finished:
        (tmp_path / "one" / "result.json").unlink()
    before = (tmp_path / "one" / "calls").read_text()
    with pytest.raises(MismatchError, match=r'one must hold the task {"x": 7}, but holds {"x": 1}'):
        sweep(square, {"other": {"x": 5}, "one": {"x": 7}}, tmp_path)
    assert (tmp_path / "one" / "calls").read_text() == before
    assert not (tmp_path / "other").exists()


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "diary.txt").write_text("mine")
    with pytest.raises(ArgumentError, match="nothing is overwritten"):
        sweep(square, {"one": {"x": 1}}, tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["one", "diary.txt"]


def test_a_broken_result(tmp_path: Path) -> None:
    sweep(square, {"one": {"x": 1}}, tmp_path)
    (tmp_path / "one" / "result.json").write_text("{")
    with pytest.raises(ParseError, match=r"result\.json:1:2: not readable JSON"):
        sweep(square, {"one": {"x": 1}}, tmp_path)


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a b", "ü", "-k"])
def test_names_that_are_no_folders(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match="valid name of a folder"):
        sweep(square, {name: {"x": 1}}, tmp_path)


def test_tasks_must_be_json(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="task 'one' must be writable as JSON"):
        sweep(square, {"one": {"x": float("inf")}}, tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="must be a writable folder"):
        sweep(square, {"one": {"x": 1}}, tmp_path / "file")


def test_no_tasks(tmp_path: Path) -> None:
    assert sweep(square, {}, tmp_path) == {}


# Ctrl-C


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    def job(folder: Path, x: int) -> int:
        if x == 3 and not (folder / "begun").exists():
            (folder / "begun").touch()
            raise KeyboardInterrupt
        return x

    with pytest.raises(KeyboardInterrupt):
        sweep(job, TASKS, tmp_path)
    assert [path.parent.name for path in tmp_path.glob("*/result.json")] == ["two"]
    assert sweep(job, TASKS, tmp_path) == {"two": 2, "three": 3, "four": 4}


def test_a_run_that_was_stopped_early_is_no_result(tmp_path: Path) -> None:
    """Solving notes the first Ctrl-C and returns what it has: the sweep must not keep that."""
    game = library_game("kuhn")

    def job(folder: Path, iterations: int) -> int:
        if (folder / "run" / "run.json").exists():
            return resume(game, folder / "run").iterations
        return solve(
            game,
            iterations=iterations,
            folder=folder / "run",
            progress=lambda point: (
                os.kill(os.getpid(), signal.SIGINT) if point.iteration == 3 else None
            ),
        ).iterations

    tasks = {"run": {"iterations": 50}}
    with pytest.raises(KeyboardInterrupt):
        sweep(job, tasks, tmp_path)
    assert not (tmp_path / "run" / "result.json").exists()
    assert sweep(job, tasks, tmp_path) == {"run": 50}


# Ray


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("nonsense", "must be 'local', 'auto' or HOST:PORT; got 'nonsense'"),
        ("127.0.0.1:", "must be 'local', 'auto' or HOST:PORT"),
        ("127.0.0.1:1", "no Ray cluster answers at '127.0.0.1:1'"),
        ("host.invalid:6379", "no Ray cluster answers at 'host.invalid:6379'"),
    ],
)
def test_bad_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str, message: str
) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ArgumentError, match=message):
        sweep(square, TASKS, tmp_path, ray=bad)


def test_ray_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ray>="):
        sweep(square, TASKS, tmp_path, ray="local")


@pytest.mark.slow
def test_a_worker_that_dies(tmp_path: Path, address: str) -> None:
    def job(folder: Path, x: int) -> int:
        if x == 3:
            os._exit(1)
        return x

    with pytest.raises(SweepError, match="1 of 3 tasks failed, the others are done: three: "):
        sweep(job, TASKS, tmp_path, ray=address)
    assert (tmp_path / "four" / "result.json").exists()


# The command


@pytest.mark.slow
def test_solving_all_combinations(tmp_path: Path) -> None:
    arguments = ("sweep", "kuhn", "separation:k=1", "-k", 0, "-k", "inf", "--method", "rm+")
    arguments += ("--method", "prm+", "--iterations", 20, "--out", tmp_path)
    runs = run_json(*arguments)["runs"]
    assert len(runs) == 8
    game = library_game("separation:k=1")
    for kept in runs:
        resumed = resume(library_game(kept["game"]), kept["folder"])
        assert (resumed.gap, resumed.iterations) == (kept["gap"], 20)
    assert {(kept["game"], kept["k"], kept["method"]) for kept in runs} == {
        (name, k, method)
        for name in ("kuhn", game.name)
        for k in (0, "inf")
        for method in ("rm+", "prm+")
    }
    text = run(*arguments).stdout
    assert [line.split()[-1] for line in text.splitlines()[1:9]] == [
        f"{kept['gap']:.4g}" for kept in runs
    ]
    assert f"accord report {tmp_path}/*" in text
    run("report", *(kept["folder"] for kept in runs[:4]), "--out", tmp_path / "comparison.html")


def test_learning_with_seeds(tmp_path: Path) -> None:
    arguments = ("sweep", "kuhn", "--episodes", 600, "--seeds", 2, "--method", "rm")
    runs = run_json(*arguments, "--out", tmp_path)["runs"]
    assert [Path(kept["folder"]).name for kept in runs] == ["kuhn-k1-rm-seed0", "kuhn-k1-rm-seed1"]
    assert [(kept["seed"], kept["method"]) for kept in runs] == [(0, "rm"), (1, "rm")]
    assert runs[0]["gap"] != runs[1]["gap"]
    assert all(590 < kept["episodes"] <= 600 for kept in runs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either --iterations, to solve, or --episodes, to learn"),
        (("--iterations", 5, "--episodes", 5), "give either"),
        (("--iterations", 5, "--seeds", 2), "--seeds needs --episodes"),
        (("--iterations", 0), "--iterations must be at least 1; got 0"),
        (("--iterations", 5, "--method", "swrhedge"), f"one of {', '.join(METHODS)}; got"),
        (
            ("--episodes", 500, "--method", "prm+"),
            f"one of {', '.join(SAMPLED_METHODS)}; got 'prm+'",
        ),
        (("kuhn()", "--iterations", 5), "'kuhn' and 'kuhn()' would both be kept in"),
        (("nosuchgame", "--iterations", 5), "1 of 2 tasks failed, the others are done: nosuchgame"),
        (("--iterations", 5, "--ray", "nonsense"), "must be 'local', 'auto' or HOST:PORT"),
    ],
)
def test_bad_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[Any, ...], message: str
) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    result = run("sweep", "kuhn", *arguments, "--out", tmp_path / "out", code=2)
    assert result.stdout == ""
    assert message in result.stderr.splitlines()[-1]
    if "nosuchgame" not in arguments:
        assert not (tmp_path / "out").exists()
        assert message in refused("sweep", "kuhn", *arguments, "--out", tmp_path / "out")


@pytest.mark.slow
def test_the_real_command_on_a_cluster(tmp_path: Path, address: str) -> None:
    """In a process of its own, which has to connect; nothing of Ray's may be on its output."""
    options = ("--iterations", 20, "--out", tmp_path, "--ray", address, "--json")
    command = process("sweep", "kuhn", "-k", 0, "-k", 1, *options)
    out, said = command.communicate(timeout=300)
    assert command.returncode == 0, said
    runs = json.loads(out)["runs"]
    assert [kept["k"] for kept in runs] == [0, 1]
    for kept in runs:
        resumed = resume(library_game("kuhn"), kept["folder"])
        assert resumed.gap == solve(library_game("kuhn"), kept["k"], iterations=20).gap


@pytest.mark.slow
def test_interrupting_the_real_command(tmp_path: Path) -> None:
    arguments = ["sweep", "kuhn", "-k", 0, "-k", 1, "--iterations", 10**9, "--out", tmp_path]
    command = process(*arguments)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("*/checkpoint.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    command.send_signal(signal.SIGINT)
    out, said = command.communicate(timeout=300)
    assert command.returncode == 130, said
    assert out == ""
    assert said.splitlines()[-2:] == [
        "finished runs are kept; repeat the command to continue",
        "interrupted",
    ]
    assert not list(tmp_path.glob("*/result.json"))
