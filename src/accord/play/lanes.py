"""Plays in the lanes of a vector environment, which are stepped together.

A lane is a worker as in ``play/workers.py``. Its answers come at once, except when a move completes
a round: then the environment waits for the rounds of all other lanes, and makes one step.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from accord._signals import ticking
from accord.play.environment import Environment
from accord.play.episodes import ENVIRONMENT, Episode
from accord.play.playing import check_patience
from accord.play.streams import Streams
from accord.play.workers import BEGIN, READY, Copy, Workers


class Together(Protocol):
    """The plays of a vector environment."""

    count: int  # the number of lanes
    begins_alone: bool  # whether a lane can begin while others are played

    def begin(self, seeds: Mapping[int, int]) -> None:
        """Begin plays in these lanes."""

    def step(self, rounds: Mapping[int, Any]) -> None:
        """Make a step, with the moves of everybody in these lanes."""


class VectorEnvironment(Environment, Protocol):
    """An environment that also plays in lanes. As such it plays in the first one alone."""

    together: Together

    def in_lane(self, number: int) -> Any:
        """An environment that is played in this lane. Its ``round_with(action)`` is the moves of a
        round that an action completes, or None."""

    def drawn_seed(self, rng: Any) -> int:
        """The seed of a play, as ``reset(rng)`` draws it."""


class LaneWorkers(Workers):
    """Plays episodes in the lanes of a vector environment."""

    def __init__(self, env: VectorEnvironment, seed: int) -> None:
        self._lanes = Lanes(env, seed)
        super().__init__(env, self._lanes)

    def play(self, episodes: Sequence[Episode]) -> None:
        """Play all of them."""
        with ticking(self.check_answer):
            super().play(episodes)

    def check_answer(self) -> None:
        self._lanes.check_answer()


class Lanes:
    """A crew (``play/workers.py``) that has a lane for each worker."""

    def __init__(self, env: VectorEnvironment, seed: int) -> None:
        self._env, self._together, self.count = env, env.together, env.together.count
        self._lanes = [env.in_lane(number) for number in range(self.count)]
        self._copies = [Copy(lane, seed) for lane in self._lanes]
        self._streams = Streams(seed, ENVIRONMENT)
        self._free = list(range(self.count))[::-1]
        self._orders: dict[int, tuple[int, int]] = {}
        self._answers: dict[int, tuple[int, Any]] = {}
        self._since: float | None = None  # when the simulator was asked, until it has answered

    def hire(self) -> int:
        """Use a lane."""
        lane = self._free.pop()
        self._answers[lane] = READY, None
        return lane

    def dismiss(self, worker: int) -> None:
        """Leave a lane."""
        self._orders.pop(worker, None)
        self._answers.pop(worker, None)
        self._free.append(worker)

    def send(self, worker: int, order: int, content: int) -> None:
        """Note an order."""
        self._orders[worker] = order, content

    def answered(self, workers: Collection[int]) -> list[int]:
        """Carry out orders: those that need no step first, then all others together."""
        if not self._answers:
            self._carry_out()
        return [worker for worker in self._answers if worker in workers]

    def receive(self, worker: int) -> tuple[int, Any]:
        """The answer of a lane."""
        return self._answers.pop(worker)

    def check_answer(self) -> None:
        """Raise a SimulatorError if the simulator does not answer."""
        if self._since is not None:
            check_patience(self._env, time.monotonic() - self._since)

    def _carry_out(self) -> None:
        begins = [lane for lane, (order, _) in self._orders.items() if order == BEGIN]
        rounds = {
            lane: self._lanes[lane].round_with(content)
            for lane, (order, content) in self._orders.items()
            if order != BEGIN
        }
        now = [lane for lane, moves in rounds.items() if moves is None]
        if not now:
            self._since = time.monotonic()
            try:
                if begins and (self._together.begins_alone or not rounds):
                    now = begins
                    self._together.begin({lane: self._seed(lane) for lane in begins})
                elif rounds:
                    now = list(rounds)
                    self._together.step(rounds)
            finally:
                self._since = None
        for lane in now:
            self._answers[lane] = self._copies[lane].answer(*self._orders.pop(lane))

    def _seed(self, lane: int) -> int:
        return self._env.drawn_seed(self._streams.at(self._orders[lane][1]))
