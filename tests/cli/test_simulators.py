"""Simulators that misbehave: they print, end the program, or die."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command import process, refused, run

CODE = """
import os
import sys
import time

from tests.support.environments import NoisyChicken


class Prints(NoisyChicken):
    def reset(self, rng):
        print("a new play")
        super().reset(rng)


class PrintsNatively(NoisyChicken):
    def reset(self, rng):
        os.write(1, b"a new play, says a library")
        super().reset(rng)


class Leaves(NoisyChicken):
    plays = 0

    def reset(self, rng):
        self.plays += 1
        super().reset(rng)

    def step(self, action):
        if self.plays == 30:
            sys.exit(0)
        super().step(action)


class Hangs(NoisyChicken):
    plays = 0

    def reset(self, rng):
        self.plays += 1
        super().reset(rng)

    def step(self, action):
        while self.plays >= 100:
            time.sleep(0.01)
        super().step(action)


class Impatient(Hangs):
    step_seconds = 1.0


def at_once():
    sys.exit(0)
"""


@pytest.fixture
def env(tmp_path: Path) -> str:
    (tmp_path / "env.py").write_text(CODE)
    return str(tmp_path / "env.py")


@pytest.mark.parametrize("workers", [(), ("--workers", 2)])
def test_with_json_nothing_else_is_on_standard_output(env: str, workers: tuple[object]) -> None:
    result = run("learn", f"{env}:Prints", "--episodes", 60, "--json", *workers)
    assert json.loads(result.stdout)["episodes"] > 0
    assert workers or "a new play" in result.stderr


def test_with_json_native_code_writes_elsewhere(env: str) -> None:
    with process("learn", f"{env}:PrintsNatively", "--episodes", 60, "--json") as learning:
        written, said = learning.communicate()
    assert json.loads(written)["episodes"] > 0
    assert "says a library" in said


@pytest.mark.parametrize("workers", [(), ("--workers", 2)])
def test_a_simulator_must_not_end_the_program(env: str, workers: tuple[object]) -> None:
    said = refused("learn", f"{env}:Leaves", "--episodes", 200, *workers)
    assert "the simulator must not end the program, but it called sys.exit(0)" in said
    assert "in episode" in said


@pytest.mark.slow
@pytest.mark.parametrize("how", [("Impatient",), ("Hangs", "--step-seconds", 1)])
@pytest.mark.parametrize("workers", [(), ("--workers", 2)])
def test_a_simulator_that_hangs_is_given_up(
    env: str, tmp_path: Path, workers: tuple[object], how: tuple[object]
) -> None:
    folder, (name, *options) = tmp_path / "run", how
    options += ["--episodes", 900, "--out", folder, *workers]
    said = refused("learn", f"{env}:{name}", *options)
    assert "the simulator must answer within 1 seconds, but has not; it hangs" in said
    assert (folder / "checkpoint.npz").exists()  # what was learned before


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("workers", [(), ("--workers", 2)])
def test_signals_end_a_simulator_that_hangs(
    env: str, tmp_path: Path, workers: tuple[object], number: int
) -> None:
    folder = tmp_path / "run"
    arguments = ("learn", f"{env}:Hangs", "--episodes", 900, "--out", folder, *workers)
    with process(*arguments) as learning:
        while not (folder / "run.json").exists():
            assert learning.poll() is None, learning.stderr.read()
            time.sleep(0.1)
        time.sleep(1.0)  # it may be compiling or hang already: either way two signals end it
        learning.send_signal(number)
        try:
            _, said = learning.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # it was learning; now it hangs in the certificate
            learning.send_signal(number)
            _, said = learning.communicate(timeout=600)
    assert "Traceback" not in said
    assert learning.returncode in (2, 130)


def test_step_seconds_are_for_environments(env: str) -> None:
    for command in (("learn", "chicken", "--episodes", 9), ("certify", "chicken", "device")):
        assert "--step-seconds is for environments" in refused(*command, "--step-seconds", 1)
    said = refused("learn", f"{env}:Hangs", "--episodes", 9, "--step-seconds", 0)
    assert said == "--step-seconds must be positive; got 0"


def test_a_sweep_gives_up_what_hangs(env: str, tmp_path: Path) -> None:
    sweep = ("sweep", f"{env}:Hangs", "--episodes", 900, "--out", tmp_path / "runs")
    assert "must answer within 0.5 seconds" in refused(*sweep, "--step-seconds", 0.5)


def test_code_that_ends_the_program_when_it_is_loaded(env: str) -> None:
    assert "must not end the program" in refused("learn", f"{env}:at_once", "--episodes", 9)


def test_a_policy_is_certified_in_the_environment_of_its_run(env: str, tmp_path: Path) -> None:
    chicken, poker = str(tmp_path / "chicken"), str(tmp_path / "poker")
    few = ("--episodes", 9, "--plays", 0)
    run("learn", f"{env}:Prints", *few, "--out", chicken)
    run("learn", "kuhn_poker", "--play", *few, "--out", poker)
    said = refused("certify", "kuhn_poker", chicken)
    assert "is a run in the environment noisy chicken; name that as GAME" in said
    for other, folder in ((f"{env}:Prints", poker), ("leduc_poker", poker)):
        assert "'kuhn_poker'; GAME must make it, but " in refused("certify", other, folder)
    assert "noisy chicken: " in run("certify", f"{env}:Prints", chicken, "--plays", 40).stdout
