"""How much memory commands take at their peak, measured in a process of its own.

``python -m tests.support.peaks COMMAND GAME CASE...`` prints a line of JSON for each case: what the
system measured and what :mod:`accord.runs.footprint` told, in bytes. A case is K, or K and a method
(``1:wrhedge``), or the ``whole`` command; several K together are ``0,1,2``. The command runs first
for a moment on another copy of the game, so that code is loaded and compiled. Then what is free
goes back to the system, and the peak is reset.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import accord
from accord.deviations.counting import count_rechistories
from accord.deviations.notions import as_notion, outcome_notion
from accord.game.tree import Game
from accord.optimal import large
from accord.optimal.incentives import Incentives
from accord.optimal.region import RegionSearch
from accord.optimal.zero_sum import constant_sum
from accord.regret.methods import SAMPLED_METHODS
from accord.reports.source import report_memory
from accord.reports.write import write_report
from accord.runs.footprint import (
    Parts,
    certify_memory,
    learn_memory,
    region_memory,
    solve_memory,
)
from accord.runs.phases import optimize_memory
from accord.treeplex.form import SequenceForm, sequence_form

NUMBERS = 4_000_000
"""Probabilities in the iterates that are kept or saved: tens of megabytes."""


def measured(command: str, game: str, *cases: str) -> list[dict[str, float]]:
    """Run this module."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.peaks", command, game, *cases],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def peak(call: Callable[[], object]) -> int:
    """By how much the memory of this process grows at most during ``call``."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    call()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def _k(text: str) -> float:
    return math.inf if text == "inf" else int(text)


class _Case:
    """One command on one game, measured in ``place``."""

    def __init__(self, name: str, case: str, place: Path) -> None:
        self.name, self.place = name, place
        ks, _, method = case.partition(":")
        self.ks, self.method = list(map(_k, ks.split(","))), method
        self.k = self.ks[0]
        self.game = self.new()
        self.form: SequenceForm = sequence_form(self.new())
        self.rows = NUMBERS // self.form.n_sequences

    def new(self) -> Game:
        """Another copy of the game."""
        return accord.load_game(self.name)

    def solve(self) -> tuple[int, Parts]:
        """K-EFR until the rows are full, or for a moment if the trees are large."""
        method = self.method or "prm+"
        count = self.rows if self._cells() < NUMBERS / 8 else 50

        def run(game: Game, where: str, iterations: int) -> None:
            accord.solve(
                game, self.k, method=method, iterations=iterations, components=self.rows // 2,
                folder=self.place / where,
            )  # fmt: skip

        run(self.new(), "brief", 3)
        grown = peak(lambda: run(self.game, "run", count))
        return grown, solve_memory(
            self.form, self.k, method, components=self.rows // 2, iterations=count
        )

    def learn(self) -> tuple[int, Parts]:
        method, components = self.method or "prm", self.rows
        if self._cells() > NUMBERS / 8:
            components = max(1, components // 10)

        def run(game: Game, where: str, episodes: int) -> accord.runs.Learned:
            folder = self.place / where
            return accord.learn(
                game, self.k, method=method, episodes=episodes, components=components, folder=folder
            )

        each = run(self.new(), "brief", 200).episodes_per_iteration
        grown = peak(lambda: run(self.game, "run", 2 * components * each))
        minimizer = SAMPLED_METHODS[method].config
        return grown, learn_memory(
            self.form, self.k, minimizer, components=components, iterations=2 * components
        )

    def certify(self) -> tuple[int, Parts]:
        def run(game: Game, folder: Path) -> None:
            accord.certify(game, accord.load_policy(folder / "policy.npz", game), self.ks)

        few, many = self._mixture("few", 3), self._mixture("many", self.rows)
        run(self.new(), few)
        return peak(lambda: run(self.game, many)), certify_memory(self.form, self.ks, self.rows)

    def report(self) -> tuple[int, Parts]:
        few, many = self._mixture("few", 3), self._mixture("many", self.rows)
        write_report(few)
        before = _status("VmRSS")
        another = self.new()
        loaded = _status("VmRSS") - before
        del another
        return peak(lambda: write_report(many)) - loaded, report_memory(self.form, 1, self.rows)

    def optimize(self) -> tuple[int, Parts]:
        """The whole command in a zero-sum game or if the case says ``whole``, else what it builds
        before the first program."""
        if constant_sum(self.form) is not None:
            accord.optimize(accord.load_game("kuhn"), self.k)
            grown = peak(lambda: accord.optimize(self.game, self.k))
            return grown, optimize_memory(self.form, self.k, zero_sum=True)
        if self.method == "whole":
            accord.optimize(accord.load_game("sheriff(num_rounds=2)"), self.k)
            with mock.patch.object(large, "LARGE", 100):
                accord.optimize(accord.load_game("sheriff(num_rounds=2)"), self.k, seconds=3)
            grown = peak(lambda: accord.optimize(self.game, self.k))
            incentives = Incentives.build(self.form, self.k)
            return grown, optimize_memory(self.form, self.k, incentives=incentives)
        grown = self._searched()
        return grown, _before_programs(optimize_memory(self.form, self.k))

    def region(self) -> tuple[int, Parts]:
        """What it builds before the first program."""
        notions = list(dict.fromkeys(outcome_notion(as_notion(k)) for k in self.ks))
        grown = self._searched()
        return grown, _before_programs(region_memory(self.form, notions))

    def _searched(self) -> int:
        notions = list(dict.fromkeys(outcome_notion(as_notion(k)) for k in self.ks))
        held: list[RegionSearch] = []

        def build(game: Game) -> None:
            held.append(RegionSearch(sequence_form(game), notions, (0, 1), 1e-6))

        build(accord.load_game("signalling"))
        return peak(lambda: build(self.game))

    def _cells(self) -> float:
        return sum(count_rechistories(plex, k).cells for plex in self.form.plexes for k in self.ks)

    def _mixture(self, where: str, count: int) -> Path:
        folder = self.place / where
        accord.solve(self.new(), 1, iterations=count, components=count, folder=folder)
        return folder


def _before_programs(parts: Parts) -> Parts:
    return {name: size for name, size in parts.items() if not name.startswith(("prices", "tuples"))}


def _run(command: str, name: str, cases: list[str]) -> Iterator[dict[str, object]]:
    for case in cases:
        with tempfile.TemporaryDirectory() as place:
            growth, told = getattr(_Case(name, case, Path(place)), command)()
        yield {"case": case, "measured": growth, "told": int(sum(told.values())), "parts": told}


if __name__ == "__main__":
    for line in _run(sys.argv[1], sys.argv[2], sys.argv[3:]):
        print(json.dumps(line), flush=True)
