"""Plays in the lanes of a vector environment, which are stepped together.

A lane is a worker as in ``play/workers.py``. Its answers come at once, except when a move completes
a round: then the environment waits for the rounds of all other lanes, and makes one step.

Where all lanes begin together, the episodes have lanes in the order of their numbers. So an episode
has the same lane whenever the same episodes are played, and the same moves of chance, also if one
seed is that of all lanes.
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
        self._lane = list(range(self.count))  # of each worker
        self._orders: dict[int, tuple[int, int]] = {}
        self._answers: dict[int, tuple[int, Any]] = {}
        self._since: float | None = None  # when the simulator was asked, until it has answered

    def hire(self) -> int:
        """Use a lane."""
        worker = self._free.pop()
        self._answers[worker] = READY, None
        return worker

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
        begins = [worker for worker, (order, _) in self._orders.items() if order == BEGIN]
        rounds = {
            worker: self._lanes[self._lane[worker]].round_with(content)
            for worker, (order, content) in self._orders.items()
            if order != BEGIN
        }
        now = [worker for worker, moves in rounds.items() if moves is None]
        if not now:
            self._since = time.monotonic()
            try:
                if begins and (self._together.begins_alone or not rounds):
                    now = self._begin(begins)
                elif rounds:
                    now = list(rounds)
                    self._together.step({self._lane[one]: rounds[one] for one in now})
            finally:
                self._since = None
        for worker in now:
            copy = self._copies[self._lane[worker]]
            self._answers[worker] = copy.answer(*self._orders.pop(worker))

    def _begin(self, workers: list[int]) -> list[int]:
        """Begin the episodes of these workers, in the order of their numbers."""
        workers.sort(key=lambda worker: self._orders[worker][1])
        if not self._together.begins_alone:
            others = [one for one in range(self.count) if one not in workers]
            for lane, worker in enumerate((*workers, *others)):
                self._lane[worker] = lane
        streams = self._streams
        self._together.begin(
            {
                self._lane[one]: self._env.drawn_seed(streams.at(self._orders[one][1]))
                for one in workers
            }
        )
        return workers
