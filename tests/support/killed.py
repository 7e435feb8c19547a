"""A run that is killed while it writes a file, forked from a process that has all kernels loaded.

Importing this module compiles and loads the kernels: the fork server imports it once, and every
process that it forks starts at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from multiprocessing.synchronize import Event
from pathlib import Path

from accord.errors import ParseError
from accord.game.library import library_game
from accord.regret.methods import SAMPLED_METHODS
from accord.runs.folder import RunFolder
from accord.runs.learn import learn
from accord.runs.solve import solve
from tests.support.resuming import resume

GAME = library_game("kuhn:players=3")
COMPONENTS = 40

solve(GAME, 1, iterations=1)
for method in SAMPLED_METHODS:
    learn(GAME, 1, episodes=100, method=method)


def run_until(written: tuple[str, int] | None, method: str, folder: Path, count: int) -> int | None:
    """Begin or resume a run in a process of its own; its exit code.

    With ``written`` as ``(name, n)`` the process kills itself before the n-th file ``name`` that it
    writes gets its final name; otherwise it runs to the end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(written, method, folder, count))
    process.start()
    process.join()
    return process.exitcode


def killed_after(seconds: float, folder: Path) -> None:
    """Begin or resume a run of two-player Kuhn poker that is killed after some time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    begun = context.Event()
    process = context.Process(target=_run_small, args=(begun, folder))
    process.start()
    begun.wait()
    process.join(seconds)
    process.kill()
    process.join()


def _run_small(begun: Event, folder: Path) -> None:
    save = RunFolder.save

    def save_now(self: RunFolder, arrays: object, record: object, *, now: bool = False) -> None:
        save(self, arrays, record, now=True)

    RunFolder.save = save_now
    begun.set()
    game = library_game("kuhn")
    if (folder / "run.json").exists():
        resume(game, folder)
    else:
        solve(game, 1, iterations=600, components=20, folder=folder)


def _run(written: tuple[str, int] | None, method: str, folder: Path, count: int) -> None:
    rename, save, files = Path.replace, RunFolder.save, Counter[str]()

    def rename_or_die(self: Path, target: Path) -> Path:
        files[target.name] += 1
        if written == (target.name, files[target.name]):
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    def save_now(self: RunFolder, arrays: object, record: object, *, now: bool = False) -> None:
        save(self, arrays, record, now=True)  # after every block, however little time has passed

    Path.replace, RunFolder.save = rename_or_die, save_now
    try:
        resume(GAME, folder)
    except ParseError:  # it was killed before it had written anything
        if method == "prm+":
            solve(GAME, 1, iterations=count, components=COMPONENTS, folder=folder)
        else:
            learn(GAME, 1, episodes=count, method=method, components=COMPONENTS, folder=folder)
