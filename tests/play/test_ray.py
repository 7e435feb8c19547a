"""Episodes on a Ray cluster, a real one on this machine: no bit changes."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.certifying.by_play import certify_by_play
from accord.equilibrium.policy_files import save_policy
from accord.errors import ArgumentError, MissingDependencyError, SimulatorError
from accord.game.library import kuhn
from accord.interop.load_env import load_environment
from accord.learning.episode_play import EnvironmentPlay
from accord.play.ray_actors import RayActors
from accord.play.venue import venue
from accord.play.workers import Workers
from accord.runs.components import Components
from accord.runs.learn import learn
from tests.support.command import run
from tests.support.environments import Hidden, NoisyChicken

pytest.importorskip("ray")


def learned_state(env: Any, workers: int | None) -> dict[str, Any]:
    """The state after a few iterations; the number of workers is that on the cluster."""
    import ray

    executor = None if workers is None else Workers(env, RayActors(ray, env, 3, workers))
    play = EnvironmentPlay(env, 2, 3, batch=4, executor=executor)
    kept = Components(iterations=12, averages=4)
    try:
        play.advance(12, kept)
    finally:
        play.close()
    return {**play.state(), **{f"kept {name}": value for name, value in kept.state().items()}}


class Killed(Hidden):
    """Is killed at some step of a copy on the cluster; ``always`` at the first."""

    def __init__(self, step: int) -> None:
        super().__init__(kuhn())
        self.home, self.at, self.steps = os.getpid(), step, 0

    def step(self, action: int) -> None:
        self.steps += 1
        if os.getpid() != self.home and self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        super().step(action)


@pytest.mark.slow
def test_a_cluster_changes_no_bit_even_if_workers_are_killed(address: str) -> None:
    wanted = learned_state(Hidden(kuhn()), None)
    for env, workers in ((Hidden(kuhn()), 1), (Killed(150), 3)):
        found = learned_state(env, workers)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            np.testing.assert_array_equal(value, found[name], err_msg=name)


@pytest.mark.slow
def test_a_simulator_that_always_dies_is_given_up(address: str) -> None:
    with pytest.raises(SimulatorError, match=r"3 workers have died.*\(in episode \d+\)"):
        learned_state(Killed(1), 1)


@pytest.mark.slow
def test_learning_and_certifying_on_a_cluster(address: str) -> None:
    """A cluster, with a worker per core, learns and certifies the same as processes do."""
    asked: dict[str, Any] = {"episodes": 240, "seed": 5, "plays": 60}
    here, there = (
        learn(NoisyChicken(), 1, **asked, **place) for place in ({"batch": 16}, {"ray": address})
    )
    assert there.episodes_per_iteration == 48
    assert there.policy.behavior.tobytes() == here.policy.behavior.tobytes()
    assert there.values == here.values
    bounds = [
        certify_by_play(NoisyChicken(), here.policy, 1, plays=80, **place).to_json()
        for place in ({}, {"ray": address, "workers": 3})
    ]
    assert bounds[0] == bounds[1]


@pytest.mark.slow
def test_joint_plays_on_a_cluster(address: str) -> None:
    """Joint plays are recorded in the order of their numbers, so a cluster changes no bit."""
    asked: dict[str, Any] = {"episodes": 700, "seed": 5, "plays": 60, "feedback": "joint"}
    here, there = (learn(Hidden(kuhn()), 1, **asked, **place) for place in ({}, {"ray": address}))
    assert there.policy.behavior.tobytes() == here.policy.behavior.tobytes()
    assert there.values == here.values
    assert here.certificate is not None and there.certificate is not None
    assert there.certificate.to_json() == here.certificate.to_json()


@pytest.mark.slow
def test_own_files_are_sent_along(address: str, tmp_path: Path) -> None:
    """The file of the environment and what it imports exist on this machine only."""
    (tmp_path / "mine.py").write_text(
        "from helper_of_mine import Base\n\n\nclass Mine(Base):\n    name = 'mine'\n"
    )
    (tmp_path / "helper_of_mine.py").write_text(
        "import numpy as np\n\nfrom accord import TERMINAL\n\n\n"
        "class Base:\n    players, payoff_bounds = ('me',), ((0.0, 1.0),)\n\n"
        "    def reset(self, rng):\n        self.paid = None\n\n"
        "    def turn(self):\n        return 0 if self.paid is None else TERMINAL\n\n"
        "    def infoset(self):\n        return 'here'\n\n"
        "    def actions(self):\n        return ('bad', 'good')\n\n"
        "    def step(self, action):\n        self.paid = float(action)\n\n"
        "    def payoffs(self):\n        return np.array([self.paid])\n"
    )
    env = load_environment(f"{tmp_path}/mine.py:Mine")
    for name in ("mine.py", "helper_of_mine.py"):
        (tmp_path / name).unlink()
    here, there = (
        learn(env, 1, episodes=160, plays=20, batch=8, **place) for place in ({}, {"ray": address})
    )
    assert there.policy.behavior.tobytes() == here.policy.behavior.tobytes()
    assert there.values == here.values


def test_the_commands_take_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    env, policy = "tests.support.environments:NoisyChicken", tmp_path / "policy.npz"
    save_policy(learn(NoisyChicken(), 1, episodes=30, plays=10).policy, policy)
    for asked in (("learn", env, "--episodes", 96), ("certify", env, policy)):
        said = run(*asked, "--ray", "nonsense", code=2).stderr
        assert "must be 'local', 'auto' or HOST:PORT; got 'nonsense'" in said


class Locked(NoisyChicken):
    """Cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@pytest.mark.slow
def test_an_environment_that_cannot_be_sent(address: str) -> None:
    with pytest.raises(ArgumentError, match=r"must be possible to pickle.*TypeError.*in reset\(\)"):
        learn(Locked(), 1, episodes=100, ray=address)


def test_ray_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for address, message in (
        ("nonsense", "must be 'local', 'auto' or HOST:PORT; got 'nonsense'"),
        ("127.0.0.1:1", "no Ray cluster answers at '127.0.0.1:1'"),
    ):
        with pytest.raises(ArgumentError, match=message), venue(ray=address):
            pass
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match="pip install 'ray>="):
        learn(NoisyChicken(), 1, episodes=100, ray="local")


def test_options_for_environments_only() -> None:
    for option, value in (("workers", "2"), ("ray", "local"), ("batch", "2")):
        said = run("learn", "kuhn", "--episodes", 30, f"--{option}", value, code=2).stderr
        assert f"--{option} is for environments" in said
