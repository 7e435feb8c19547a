"""Every command ends when it is asked to, even in a step that never returns to Python."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import accord
from accord.equilibrium.relevant import count_tuples
from accord.optimal.column_generation import TUPLES
from accord.treeplex.form import sequence_form
from tests.optimal.test_ties import dealt

HANGING = """
import sys, threading, time
import numba, numpy as np
from accord.cli import terminal
from accord.cli.main import main

@numba.njit("void(int64[:])", nogil=True)
def hang(flag):
    while flag[0] == 0:
        flag[1] += 1

phase, hear = sys.argv.pop(1), terminal.LongSteps.hear

def hear_and_hang(self, what):
    hear(self, what)
    if what is not None and what.startswith(phase):
        flag = np.zeros(2, np.int64)
        threading.Thread(target=tell, args=(flag,), daemon=True).start()
        hang(flag)

def tell(flag):
    while flag[1] == 0:
        time.sleep(0.01)
    print("hangs", file=sys.stderr, flush=True)

terminal.LongSteps.hear = hear_and_hang
main()
"""
"""Runs the command ``sys.argv[2:]``, of which the phase ``sys.argv[1]`` hangs in native code."""

RUNS = [
    ("iteration", ("solve", "kuhn", "--iterations", 9)),
    ("iteration", ("solve", "kuhn", "--iterations", 9, "--out", "new")),
    ("iteration", ("learn", "kuhn", "--episodes", 600)),
    ("round", ("optimize", "chicken")),
    ("iteration", ("sweep", "kuhn", "--iterations", 9, "--out", "new")),
]
"""Phases in which a signal waits for the end of the step, so that a second one is needed."""

OTHERS = [
    ("loading", ("info", "kuhn")),
    ("loading", ("solve", "kuhn", "--iterations", 9)),
    ("loading", ("region", "chicken")),
    ("loading", ("convert", "kuhn", "new.efg")),
    ("loading", ("export", "kuhn", "tree.svg")),
    ("reading", ("device", "run")),
    ("loading", ("play", "chicken", "device", "--obey")),
    ("certifying", ("certify", "kuhn", "run")),
    ("certifying", ("solve", "kuhn", "--iterations", 9)),
    ("certifying", ("optimize", "chicken")),
    ("certifying", ("reduce", "run")),
    ("measuring", ("learn", "kuhn", "--episodes", 600)),
    ("evaluating", ("report", "run")),
    ("drawing", ("report", "run")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "command"), RUNS + OTHERS)
def test_every_command_ends(
    phase: str, command: tuple[object, ...], folders: dict[str, Path], tmp_path: Path
) -> None:
    number = signal.SIGTERM if command[0] in ("solve", "info") else signal.SIGINT
    (tmp_path / "run").symlink_to(folders["1"])
    before = sorted(folders["1"].iterdir())
    words = [sys.executable, "-c", HANGING, phase, *map(str, command)]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert "hangs\n" in said, process.wait()
        process.send_signal(number)
        if (phase, command) in RUNS:
            assert any(line.startswith("stopping after this step") for line in said)
            process.send_signal(number)
        assert "interrupted in the middle of a step; what was saved before is kept\n" in said
        assert process.wait() == 130
    assert sorted(folders["1"].iterdir()) == before


SAYING = """
import sys
from accord.cli import terminal
from accord.cli.main import main

hear = terminal.LongSteps.hear

def hear_and_say(self, what):
    hear(self, what)
    print(what, file=sys.stderr, flush=True)

terminal.LongSteps.hear = hear_and_say
main()
"""
"""Runs the command ``sys.argv[1:]`` and says what it does."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_search_for_prices_ends_at_the_first_signal(number: int, tmp_path: Path) -> None:
    game = dealt(0, 100)
    assert count_tuples(sequence_form(game)) > TUPLES
    accord.save_game(game, tmp_path / "deals.efg")
    words = [sys.executable, "-c", SAYING, "optimize", "deals.efg", "--out", "run"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=tmp_path, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert "looking for prices\n" in iter(process.stderr.readline, "")
        process.send_signal(number)
        printed, said = process.communicate()
    assert process.returncode == 130
    assert "\nbound " in printed
    assert "saved; resume with: accord optimize --resume run\n" in said
    again = [sys.executable, "-c", SAYING, "optimize", "--resume", "run", "--seconds", "0"]
    assert subprocess.run(again, cwd=tmp_path, check=False, capture_output=True).returncode == 1
