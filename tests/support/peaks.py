"""How much memory a command takes at its peak, measured in a process of its own.

``python -m tests.support.peaks COMMAND GAME K`` prints what the system measured and what
:mod:`accord.runs.footprint` told, in bytes, as JSON. The command runs first for a moment on another
copy of the game, so that code is loaded; then the peak is reset.
"""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accord
from accord.cli.arguments import parse_k
from accord.game.tree import Game
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.reports.source import report_memory
from accord.reports.write import write_report
from accord.runs.footprint import certify_memory, learn_memory, solve_memory
from accord.treeplex.form import sequence_form

COMPONENTS, ITERATIONS, EPISODES = 2000, 4000, 12_000


def measured(command: str, game: str, k: str) -> dict[str, int]:
    """Run this module."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.peaks", command, game, k],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    result: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return result


def peak(call: Callable[[], object]) -> int:
    """By how much the memory of this process grows at most during ``call``."""
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    call()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def _run(command: str, name: str, k: float, folder: Path) -> tuple[int, dict[str, float]]:
    """Growth and told parts."""

    def solved(game: Game, where: str, iterations: int) -> Path:
        accord.solve(game, k, iterations=iterations, components=COMPONENTS, folder=folder / where)
        return folder / where

    def certified(game: Game, where: Path) -> Any:
        return accord.certify(game, accord.load_policy(where / "policy.npz", game), k)

    def learned(game: Game, where: str, episodes: int) -> None:
        accord.learn(game, k, episodes=episodes, components=COMPONENTS, folder=folder / where)

    other, game = accord.load_game(name), accord.load_game(name)
    few = solved(other, "few", 20)
    if command == "learn":
        learned(other, "brief", 600)
        grown = peak(lambda: learned(game, "run", EPISODES))
        minimizer = SAMPLED_METHODS[SAMPLED_DEFAULT].config
        return grown, learn_memory(sequence_form(game), k, minimizer, components=COMPONENTS)
    if command == "solve":
        count = ITERATIONS if k == 1 else ITERATIONS // 20  # rechistories or iterates
        grown = peak(lambda: solved(game, "run", count))
        parts = solve_memory(sequence_form(game), k, components=COMPONENTS, iterations=count)
        return grown, parts
    many = solved(other, "many", COMPONENTS)
    form = sequence_form(accord.load_game(name))
    if command == "certify":
        certified(other, few)
        del other
        return peak(lambda: certified(game, many)), certify_memory(form, [k], COMPONENTS)
    write_report(few)
    before = _status("VmRSS")
    third = accord.load_game(name)
    loaded = _status("VmRSS") - before
    del other, third
    return peak(lambda: write_report(many)) - loaded, report_memory(form, k, COMPONENTS)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        growth, told = _run(sys.argv[1], sys.argv[2], parse_k(sys.argv[3]), Path(place))
    print(json.dumps({"measured": growth, "told": int(sum(told.values())), "parts": told}))
