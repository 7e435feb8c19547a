"""Copies of an environment in processes, which change no bit."""

from __future__ import annotations

import os
import time
from collections.abc import Container
from typing import Any

import numpy as np
import pytest

from accord.errors import ArgumentError, GameError, SimulatorError
from accord.game.library import kuhn
from accord.learning.episode_play import EnvironmentPlay
from accord.play.episodes import ACTIONS, Episode
from accord.play.own_tree import OwnTree
from accord.play.processes import Processes
from accord.play.streams import Streams
from accord.play.workers import Workers
from accord.runs.components import Components
from accord.runs.learn import learn
from tests.support.environments import Hidden, NoisyChicken
from tests.support.policies import grown_game

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the environments are local")


def learned_state(env: Any, workers: int | None, iterations: int = 12) -> dict[str, Any]:
    executor = None if workers is None else Workers(env, Processes(env, 3, workers))
    play = EnvironmentPlay(env, 2, 3, batch=4, executor=executor)
    kept = Components(iterations=iterations, averages=4)
    try:
        play.advance(iterations, kept)
    finally:
        play.close()
    return {**play.state(), **{f"kept {name}": value for name, value in kept.state().items()}}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_bits(workers: int) -> None:
    game = grown_game(1, 3, 60)
    same(learned_state(Hidden(game), None), learned_state(Hidden(game), workers))


class Dies(Hidden):
    """Ends its process at some step, if it is a worker's; ``always`` in the same episode."""

    def __init__(self, step: int, always: bool = False) -> None:
        super().__init__(kuhn())
        self.parent, self.at, self.steps, self.always = os.getpid(), step, 0, always

    def step(self, action: int) -> None:
        self.steps += 1
        if os.getpid() != self.parent and (self.always or self.steps == self.at):
            os._exit(1)
        super().step(action)


def test_a_worker_that_dies_is_replaced() -> None:
    same(learned_state(Hidden(kuhn()), None), learned_state(Dies(20), 2))


def test_a_simulator_that_always_dies_is_given_up() -> None:
    with pytest.raises(SimulatorError, match=r"3 workers have died.*\(in episode \d+\)"):
        learned_state(Dies(1, always=True), 2)


class Frail(Processes):
    """Some of these workers are killed before their first answer."""

    def __init__(self, env: Any, seed: int, count: int, killed: Container[int]) -> None:
        super().__init__(env, seed, count)
        self.killed = killed

    def hire(self) -> int:
        worker = super().hire()
        if worker in self.killed:
            process, _ = self._processes[worker]
            process.kill()
            process.join()
            _, connection = self._processes[worker]
            while connection.poll(0):  # it may have been quick
                try:
                    connection.recv()
                except EOFError:
                    break
        return worker


def test_workers_that_die_before_their_first_answer_are_replaced() -> None:
    env = NoisyChicken()
    told = {}
    for name, killed in (("all well", ()), ("deaths", (1, 2, 4, 5))):
        workers = Workers(env, Frail(env, 7, 2, killed))
        trees = [OwnTree(player) for player in env.players]
        streams = Streams(7, ACTIONS)
        episodes = [Episode(n, -1, trees, lambda *_: 0, streams.draws) for n in range(6)]
        workers.play(episodes)
        workers.close()
        told[name] = [list(episode.payoffs) for episode in episodes]
    assert told["all well"] == told["deaths"]
    workers = Workers(env, Frail(env, 7, 2, range(100)))
    with pytest.raises(SimulatorError, match="3 workers in a row died first"):
        workers.play([Episode(0, -1, trees, lambda *_: 0, streams.draws)])


class Wrong(NoisyChicken):
    """Pays too much from some play on."""

    def reset(self, rng: np.random.Generator) -> None:
        super().reset(rng)
        self.bad = rng.random() < 0.05

    def payoffs(self) -> list[float]:
        return [9.0, 0.0] if self.bad else [1.0, 1.0]


def test_errors_are_those_of_the_first_episode() -> None:
    messages = set()
    for workers in (None, 1, 3):
        with pytest.raises(GameError, match=r"was paid 9\.0, outside") as error:
            learned_state(Wrong(), workers, 100)
        messages.add(str(error.value))
    assert len(messages) == 1


class Raises(NoisyChicken):
    def step(self, action: int) -> None:
        raise KeyError("a bug")


def test_exceptions_of_workers_are_placed() -> None:
    with pytest.raises(SimulatorError, match=r"KeyError.*a bug.*after player ann took"):
        learned_state(Raises(), 2)
    with pytest.raises(ArgumentError, match="workers must be a whole number, 1 or more"):
        learn(NoisyChicken(), 1, episodes=100, workers=0)


class Slow(NoisyChicken):
    def step(self, action: int) -> None:
        time.sleep(0.002)
        super().step(action)


@pytest.mark.slow
def test_workers_play_at_the_same_time() -> None:
    seconds = []
    for workers in (1, 4):
        env = Slow()
        play = EnvironmentPlay(
            env, 1, 0, batch=16, executor=Workers(env, Processes(env, 0, workers))
        )
        play.advance(1)
        start = time.perf_counter()
        play.advance(5)
        seconds.append(time.perf_counter() - start)
        play.close()
    assert seconds[1] < 0.6 * seconds[0]


@pytest.mark.slow
def test_learning_with_workers() -> None:
    results = [
        learn(Hidden(kuhn()), 1, episodes=2000, workers=workers, plays=200) for workers in (1, 2)
    ]
    one, other = results
    assert one.episodes_per_iteration == 48
    assert one.policy.behavior.tobytes() == other.policy.behavior.tobytes()
    assert one.values == other.values
    assert one.certificate is not None
    assert other.certificate is not None
    assert one.certificate.to_json() == other.certificate.to_json()
