"""Workers in processes of this machine, each at the other end of a pipe."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Collection
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from accord._check import checked_whole
from accord._signals import TICK_SECONDS
from accord.play.environment import Environment
from accord.play.workers import READY, Copy, WorkerDied

PARENT_SECONDS = 2.0
"""How long a worker waits before it looks whether its parent is still there."""


class Processes:
    """A crew of ``count`` processes (``play/workers.py``)."""

    def __init__(self, env: Environment, seed: int, count: int) -> None:
        self._env, self._seed, self.count = env, seed, checked_whole("workers", count, 1)
        methods = multiprocessing.get_all_start_methods()
        # A forked process has the environment already; elsewhere it must be possible to pickle it.
        self._context: Any = multiprocessing.get_context("fork" if "fork" in methods else None)
        self._processes: dict[int, tuple[Any, Connection]] = {}
        self._hired = 0

    def hire(self) -> int:
        """Start a process."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(self._env, self._seed, theirs, os.getpid()), daemon=True
        )
        process.start()
        theirs.close()
        self._hired += 1
        self._processes[self._hired] = process, ours
        return self._hired

    def dismiss(self, worker: int) -> None:
        """End a process."""
        process, connection = self._processes.pop(worker)
        with suppress(OSError):
            connection.send(None)
        connection.close()
        process.join(0.2)
        if process.is_alive():
            process.kill()
            process.join()

    def send(self, worker: int, order: int, content: int) -> None:
        """Send an order."""
        with suppress(OSError):  # it has died; the next answer says so
            self._processes[worker][1].send((order, content))

    def answered(self, workers: Collection[int]) -> list[int]:
        """Wait for answers."""
        connections = {self._processes[worker][1]: worker for worker in workers}
        answers = wait(list(connections), TICK_SECONDS)
        return [connections[ready] for ready in answers]  # type: ignore[index]

    def receive(self, worker: int) -> tuple[int, Any]:
        """The answer of a process."""
        process, connection = self._processes[worker]
        try:
            answer: tuple[int, Any] = connection.recv()
        except (EOFError, OSError):
            process.join(1.0)
            raise WorkerDied(f"its process ended with code {process.exitcode}") from None
        return answer


def _work(env: Environment, seed: int, connection: Connection, parent: int) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    copy = Copy(env, seed)
    with suppress(EOFError, OSError):  # the other end was closed
        connection.send((READY, None))
        while True:
            while not connection.poll(PARENT_SECONDS):
                if os.getppid() != parent:
                    return
            if (order := connection.recv()) is None:
                return
            connection.send(copy.answer(*order))
