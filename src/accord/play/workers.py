"""Copies of a slow environment in processes of their own, which play many episodes at once.

A worker has a copy of the environment and nothing else. It is told to begin an episode or to take
an action, and answers with the next decision or the payoffs. All choices are made in one place, so
no policy is ever copied. An episode depends on its number and the actions alone
(``play/streams.py``), so the number of workers changes no result. A worker that dies is replaced,
and its episode is played again from the start.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from accord._check import checked_whole
from accord.errors import AccordError, GameError, SimulatorError
from accord.play.environment import Environment
from accord.play.episodes import ENVIRONMENT, Episode, placed
from accord.play.losses import Losses
from accord.play.playing import Decision, Playing
from accord.play.streams import Streams

BEGIN, STEP, STOP = range(3)
DECISION, END, FAILED = range(3)

MOST_DEATHS = 3
"""How often workers may die in the same episode before it is given up."""

PARENT_SECONDS = 2.0
"""How long a worker waits before it looks whether its parent is still there."""


class Workers:
    """Plays episodes in ``count`` processes."""

    def __init__(self, env: Environment, seed: int, count: int) -> None:
        self._env, self._seed, self._count = env, seed, checked_whole("workers", count, 1)
        self._losses = Losses(env)
        methods = multiprocessing.get_all_start_methods()
        # A forked process has the environment already; elsewhere it must be possible to pickle it.
        self._context: Any = multiprocessing.get_context("fork" if "fork" in methods else None)
        self._processes: dict[Connection, Any] = {}
        self._deaths: dict[int, int] = {}

    def play(self, episodes: Sequence[Episode]) -> None:
        """Play all of them; an error is that of the first episode that has one."""
        while len(self._processes) < self._count:
            self._hire()
        waiting, playing = deque(episodes), dict[Connection, Episode]()
        failed: tuple[int, AccordError] | None = None
        try:
            while waiting or playing:
                for connection in self._processes.keys() - playing.keys():
                    if waiting:
                        self._begin(connection, waiting.popleft(), playing)
                for ready in wait(list(playing)):
                    assert isinstance(ready, Connection)
                    episode = playing[ready]
                    try:
                        self._answer(ready, episode, playing)
                    except (EOFError, OSError):
                        del playing[ready]
                        self._replace(ready, episode)
                        waiting.appendleft(episode)
                    except AccordError as error:
                        playing.pop(ready, None)
                        self._dismiss(ready)
                        self._hire()
                        if failed is None or episode.number < failed[0]:
                            failed = episode.number, error
                        waiting = deque(one for one in waiting if one.number < failed[0])
        except BaseException:
            self.close()
            raise
        if failed is not None:
            self.close()
            raise placed(failed[1], failed[0])

    def close(self) -> None:
        """End all processes."""
        for connection in list(self._processes):
            self._dismiss(connection)

    def _begin(
        self, connection: Connection, episode: Episode, playing: dict[Connection, Episode]
    ) -> None:
        playing[connection] = episode
        with suppress(OSError):  # it has died; the next wait says so
            connection.send((BEGIN, episode.number))

    def _answer(
        self, connection: Connection, episode: Episode, playing: dict[Connection, Episode]
    ) -> None:
        kind, content = connection.recv()
        if kind == DECISION:
            connection.send((STEP, episode.decide(Decision(*content))))
        elif kind == END:
            episode.payoffs = content
            episode.losses = self._losses.of(content)
            del playing[connection]
        else:
            kind_of_error, text = content
            raise (GameError if kind_of_error == "GameError" else SimulatorError)(text)

    def _hire(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(self._env, self._seed, theirs, os.getpid()), daemon=True
        )
        process.start()
        theirs.close()
        self._processes[ours] = process

    def _dismiss(self, connection: Connection) -> None:
        process = self._processes.pop(connection)
        with suppress(OSError):
            connection.send((STOP, None))
        connection.close()
        process.join(0.2)
        if process.is_alive():
            process.kill()
            process.join()

    def _replace(self, connection: Connection, episode: Episode) -> None:
        self._dismiss(connection)
        self._hire()
        deaths = self._deaths[episode.number] = self._deaths.get(episode.number, 0) + 1
        if deaths >= MOST_DEATHS:
            raise SimulatorError(
                f"{self._env.name}: the simulator must not end its process, but in this episode "
                f"{deaths} workers have died; look for a crash in its native code, or for a limit "
                f"on memory (in episode {episode.number + 1:,})"
            )
        episode.restart()


def _work(env: Environment, seed: int, connection: Connection, parent: int) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    playing, streams = Playing(env), Streams(seed, ENVIRONMENT)
    while True:
        while not connection.poll(PARENT_SECONDS):
            if os.getppid() != parent:
                return
        try:
            order, content = connection.recv()
        except (EOFError, OSError):
            return
        if order == STOP:
            return
        try:
            if order == BEGIN:
                decision = playing.begin(streams.at(content))
            else:
                decision = playing.step(content)
            if decision is not None:
                answer: Any = (DECISION, tuple(decision))
            else:
                answer = (END, [_plain(paid) for paid in playing.payoffs()])
        except AccordError as error:
            answer = (FAILED, (type(error).__name__, str(error)))
        except Exception as error:
            answer = (FAILED, ("SimulatorError", f"{type(error).__name__}: {error}"))
        try:
            connection.send(answer)
        except OSError:
            return


def _plain(paid: Any) -> Any:
    """A payoff without its NumPy type."""
    return paid.item() if hasattr(paid, "item") else paid
