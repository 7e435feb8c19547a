"""The last line of defense: exit codes, one line per error, closed pipes, long steps."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import accord
from accord._activity import doing, listening
from accord.cli import terminal
from accord.cli.terminal import LongSteps
from tests.support.command import process, refused, run, run_json

LONG = "1" * 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("info random:seed=-1", "seed must be a whole number, 0 or more; got -1"),
        ("info balanced:ratio=1e308", "ratio must be positive and at most"),
        ("info balanced:horizon=1000000000", "horizon must be at most 64"),
        ("info balanced:actions=99999999999999", "actions must be at most"),
        ("info balanced:seed=-1", "seed must be a whole number"),
        (f"info unbalanced:horizon={10**23}", "a game must have at most"),
        ("info unbalanced:horizon=1000000000", "a game must have at most"),
        (f"solve kuhn --components {10**22}", "components must be a whole number, at most"),
        (f"solve kuhn --components {10**18}", "components must be a whole number, at most 1e+07"),
        (f"learn kuhn --episodes 9 --components {10**18}", "components must be a whole number"),
        (f"optimize kuhn --components {10**18}", "components must be a whole number, at most"),
        (f"solve kuhn --iterations {LONG}", "iterations must be a whole number, at most"),
        (f"learn kuhn --episodes {LONG}", "episodes must be a whole number, at most"),
        (f"learn kuhn --episodes 100 --seed {LONG}", "seed must be a whole number, at most"),
        (f"play chicken device --obey --plays {LONG}", "plays must be a whole number, at most"),
        (f"solve kuhn --iterations {'1' * 5000}", "must be a whole number"),
    ],
)
def test_absurd_numbers_are_refused_in_one_line(arguments: str, message: str) -> None:
    said = refused(*arguments.split())
    assert message in said
    assert len(said) < 500


def test_an_answer_of_5000_digits_is_asked_again() -> None:
    text = run("play", "chicken", "device", "--as", "row", typed="1" * 5000 + "\n1\n").stdout
    assert "Please type a number from 1 to 2" in text
    assert "The play is over" in text


def test_simulated_plays_with_large_payoffs(tmp_path: Path) -> None:
    b = accord.GameBuilder("large", players=["a"])
    b.move(player="a", actions="l r")
    b.payoff("l", 1e155)
    b.payoff("r", -1e155)
    accord.interop.write_efg(b.build(), tmp_path / "large.efg")
    policy = tmp_path / "policy.json"
    game = accord.load_game(tmp_path / "large.efg")
    accord.save_policy(
        accord.CorrelatedPolicy(game, np.ones(1), np.array([[1.0, 0.5, 0.5]])), policy
    )
    (row,) = run_json("play", tmp_path / "large.efg", policy, "--obey", "--seed", 1)["players"]
    assert -1e155 < row["low"] < row["mean"] < row["high"] < 1e155


@pytest.mark.parametrize(
    "content",
    [
        "{}", "[]", '{"task": 1}', '{"task": TASK}', '{"task": TASK, "result": 5}',
        '{"task": TASK, "result": {"gap": "x", "iterations": 3}}',
        '{"task": TASK, "result": {"gap": NaN, "iterations": 3}}',
        '{"task": TASK, "result": {"gap": 0.1}}',
    ],
)  # fmt: skip
def test_a_damaged_result_of_a_sweep(content: str, tmp_path: Path) -> None:
    command = ("sweep", "chicken", "--iterations", 3, "--out", tmp_path)
    run(*command)
    (file,) = tmp_path.glob("*/result.json")
    task = json.dumps(json.loads(file.read_text())["task"])
    file.write_text(content.replace("TASK", task))
    said = refused(*command)
    assert "must be" in said or "must hold" in said or "must have" in said
    assert str(tmp_path) in said


def test_an_error_in_accord_itself_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero\n" + "x" * 10**6)

    monkeypatch.setattr("accord.interop.load.load_game", broken)
    monkeypatch.delenv("ACCORD_DEBUG", raising=False)
    result = run("info", "kuhn", code=70)
    (said,) = result.stderr.splitlines()
    assert said.startswith("error in Accord itself: ZeroDivisionError: division by zero x")
    assert len(said) < 600
    assert "ACCORD_DEBUG=1" in said
    monkeypatch.setenv("ACCORD_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("info", "kuhn")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of Unix")
def test_a_closed_pipe_ends_the_command_silently() -> None:
    with process("games") as started:
        assert started.stdout is not None
        assert started.stdout.readline().startswith("Library games")
        started.stdout.close()
        assert started.stderr is not None
        errors = started.stderr.read()
    assert "Error" not in errors
    assert started.returncode in (0, 141)  # 0 if everything was written before
    code = "import accord.cli.main as m; m.print = print; m.main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "info", "kuhn"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: No space left on device"


def test_what_takes_long_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "LONG_SECONDS", 0.05)
    monkeypatch.setattr(terminal, "SECONDS_PER_LINE", 0.05)
    with LongSteps() as steps, listening(steps), doing("certifying"):
        deadline = time.monotonic() + 60
        said = ""
        while said.count("certifying: 0 s so far\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().err
        with doing("saving"):
            pass
    assert said.count("certifying: 0 s so far\n") >= 2
    assert "saving" not in capsys.readouterr().err


def interrupt_at(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when ``phase`` begins."""
    hear = LongSteps.hear

    def hear_and_press(self: LongSteps, what: str | None) -> None:
        hear(self, what)
        if what == phase:
            raise KeyboardInterrupt

    monkeypatch.setattr(LongSteps, "hear", hear_and_press)


@pytest.mark.parametrize(
    ("phase", "begun"),
    [
        ("loading kuhn", False),
        ("iteration 1", True),
        ("saving the checkpoint", True),
        ("certifying the mixture", True),
        ("saving the mixture", True),
    ],
)
def test_ctrl_c_at_every_phase_of_a_run(
    phase: str, begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    command = ("solve", "kuhn", "--iterations", 50, "--out", folder)
    with monkeypatch.context() as patch:
        interrupt_at(phase, patch)
        said = run(*command, code=130).stderr.splitlines()
    hint = f"saved; resume with: accord solve --resume {folder}"
    assert said[-1] == "interrupted"
    assert (hint in said) == begun == folder.exists()
    if begun:
        assert not list(folder.glob(".*"))
        resumed = run_json("solve", "--resume", folder)
        assert resumed["gap"] == run_json("solve", "kuhn", "--iterations", 50)["gap"]


@pytest.mark.parametrize("phase", ["reading the run", "evaluating the mixture", "drawing"])
def test_ctrl_c_at_every_phase_of_a_report(
    phase: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(folder.iterdir())
    interrupt_at(phase, monkeypatch)
    assert run("report", folder, code=130).stderr.splitlines()[-1] == "interrupted"
    assert sorted(folder.iterdir()) == before
