"""Copies of a slow environment that play many episodes at once.

A worker has a copy of the environment and nothing else. It is told to begin an episode or to take
an action, and answers with the next decision or the payoffs. All choices are made in one place, so
no policy is ever copied. An episode depends on its number and the actions alone
(``play/streams.py``), so neither the number of workers nor their place changes a result. A worker
that dies is replaced, and its episode is played again from the start.

A :class:`Crew` hires workers and talks to them: processes of this machine (``play/processes.py``)
or actors of a Ray cluster (``play/ray_actors.py``).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from accord._signals import is_stopping
from accord.errors import AccordError, GameError, SimulatorError
from accord.play.environment import Environment
from accord.play.episodes import ENVIRONMENT, Episode, placed
from accord.play.losses import Losses
from accord.play.playing import PendingDecision, Playing, check_patience
from accord.play.streams import Streams

BEGIN, STEP = range(2)
READY, DECISION, END, FAILED = range(4)

MOST_DEATHS = 3
"""How often workers may die in the same episode before it is given up."""


class WorkerDied(Exception):
    """A worker has died and will not answer."""


class Crew(Protocol):
    """Workers somewhere, each with a copy of the environment. They are numbered."""

    count: int  # how many work at the same time

    def hire(self) -> int:
        """A new worker, whose first answer will be ``(READY, None)``."""

    def dismiss(self, worker: int) -> None:
        """End a worker."""

    def send(self, worker: int, order: int, content: int) -> None:
        """Send an order; nothing is noticed if the worker has died."""

    def answered(self, workers: Collection[int]) -> list[int]:
        """Wait, for about half a second at most, until some of these workers have answered or died;
        return those."""

    def receive(self, worker: int) -> tuple[int, Any]:
        """The answer of a worker that has answered.

        Raises:
            WorkerDied: If it died instead.
        """


class Workers:
    """Plays episodes on a crew's workers."""

    def __init__(self, env: Environment, crew: Crew) -> None:
        self._env, self._name, self._losses, self._crew = env, env.name, Losses(env), crew
        self._asked: dict[int, float] = {}  # when each worker got its last order
        self._heard = time.monotonic()  # the last answer of any of them
        self._idle: set[int] = set()
        self._new: set[int] = set()  # have not answered yet
        self._playing: dict[int, Episode] = {}
        self._deaths: dict[int, int] = {}
        self._stillborn = 0  # workers that died before their first answer, one after another

    def play(self, episodes: Sequence[Episode]) -> None:
        """Play all of them; an error is that of the first episode that has one."""
        waiting = deque(episodes)
        self._heard = time.monotonic()
        failed: tuple[int, AccordError] | None = None
        try:
            while len(self._idle) + len(self._new) < self._crew.count:
                self._new.add(self._crew.hire())
            while waiting or self._playing:
                while waiting and self._idle:
                    self._begin(self._idle.pop(), waiting.popleft())
                for worker in self._answered():
                    episode = self._playing.get(worker)
                    try:
                        self._answer(worker, episode)
                    except WorkerDied as death:
                        self._replace(worker, episode, death)
                        if episode is not None:
                            waiting.appendleft(episode)
                    except AccordError as error:
                        if episode is None:
                            raise
                        self._dismiss(worker)
                        self._new.add(self._crew.hire())
                        if failed is None or episode.number < failed[0]:
                            failed = episode.number, error
                        waiting = deque(one for one in waiting if one.number < failed[0])
        except BaseException:
            self.close()
            raise
        if failed is not None:
            self.close()
            raise placed(failed[1], failed[0])

    def _answered(self) -> list[int]:
        """The workers that have answered.

        Raises:
            SimulatorError: If the simulator does not answer for too long.
        """
        answered = self._crew.answered(self._playing.keys() | self._new)
        now = time.monotonic()
        if answered:
            self._heard = now
        elif is_stopping():
            check_patience(self._env, now - self._heard)
        for worker, episode in self._playing.items():
            if worker not in answered and not is_stopping():
                try:
                    check_patience(self._env, now - self._asked[worker])
                except SimulatorError as error:
                    raise placed(error, episode.number) from None
        return answered

    def check_answer(self) -> None:
        """Answers are waited for in :meth:`play`."""

    def close(self) -> None:
        """End all workers."""
        for worker in (*self._idle, *self._new, *self._playing):
            self._dismiss(worker)

    def _begin(self, worker: int, episode: Episode) -> None:
        self._playing[worker] = episode
        self._order(worker, BEGIN, episode.number)

    def _order(self, worker: int, order: int, content: int) -> None:
        self._asked[worker] = time.monotonic()
        self._crew.send(worker, order, content)

    def _answer(self, worker: int, episode: Episode | None) -> None:
        kind, content = self._crew.receive(worker)
        if episode is None:
            self._stillborn = 0
            self._new.discard(worker)
            self._idle.add(worker)
        elif kind == DECISION:
            self._order(worker, STEP, episode.decide(PendingDecision(*content)))
        elif kind == END:
            payoffs, chance = content
            episode.end(payoffs, self._losses.of(payoffs), chance)
            del self._playing[worker]
            self._idle.add(worker)
        else:
            kind_of_error, text = content
            raise (GameError if kind_of_error == "GameError" else SimulatorError)(text)

    def _dismiss(self, worker: int) -> None:
        self._idle.discard(worker)
        self._new.discard(worker)
        self._playing.pop(worker, None)
        self._crew.dismiss(worker)

    def _replace(self, worker: int, episode: Episode | None, death: WorkerDied) -> None:
        self._dismiss(worker)
        if episode is None:
            self._stillborn += 1
            if self._stillborn >= MOST_DEATHS:
                raise SimulatorError(
                    f"{self._name}: a copy of the simulator must start on every worker, but "
                    f"{self._stillborn} workers in a row died first: {death}"
                )
            self._new.add(self._crew.hire())
            return
        self._new.add(self._crew.hire())
        deaths = self._deaths[episode.number] = self._deaths.get(episode.number, 0) + 1
        if deaths >= MOST_DEATHS:
            raise SimulatorError(
                f"{self._name}: the simulator must not end its process, but in this episode "
                f"{deaths} workers have died; look for a crash in its native code, or for a limit "
                f"on memory (in episode {episode.number + 1:,})"
            )
        episode.restart()


class Copy:
    """What a worker has: an environment, and the plays that it is told to make."""

    def __init__(self, env: Environment, seed: int) -> None:
        self._playing, self._streams = Playing(env), Streams(seed, ENVIRONMENT)

    def answer(self, order: int, content: int) -> tuple[int, Any]:
        """Carry out an order."""
        try:
            if order == BEGIN:
                decision = self._playing.begin(self._streams.at(content))
            else:
                decision = self._playing.step(content)
            if decision is not None:
                return DECISION, tuple(decision)
            payoffs = [_plain(paid) for paid in self._playing.payoffs()]
            return END, (payoffs, self._playing.chance)
        except AccordError as error:
            return FAILED, (type(error).__name__, str(error))
        except Exception as error:
            return FAILED, ("SimulatorError", f"{type(error).__name__}: {error}")


def _plain(paid: Any) -> Any:
    """A payoff without its NumPy type."""
    return paid.item() if hasattr(paid, "item") else paid
