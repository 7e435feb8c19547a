"""CPU time: medians over turns, limits, and what machine it was."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Protocol

import numpy as np
import psutil

LOOK_SECONDS = 0.05
"""How often :func:`cpu_limit` looks at the clock."""

PACKAGES = ("accord", "numpy", "numba", "scipy", "open_spiel", "LiteEFG")


class Runner(Protocol):
    """Whatever does its work in iterations."""

    def advance(self, iterations: int, /) -> object:
        """Run so many more iterations."""


class TimeUpError(Exception):
    """A limit of CPU time was reached."""


@dataclass(frozen=True)
class Timing:
    """CPU seconds per iteration: median, least and most over the turns."""

    seconds: float
    low: float
    high: float
    turns: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Timing:
        return cls(median(samples), min(samples), max(samples), len(samples))

    def per(self, units: int) -> Timing:
        """CPU seconds per unit, when an iteration has so many units."""
        return Timing(self.seconds / units, self.low / units, self.high / units, self.turns)


def cpu_seconds(runner: Runner, iterations: int) -> float:
    """CPU time of so many iterations."""
    start = process_time()
    runner.advance(iterations)
    return process_time() - start


def take_turns(runners: Mapping[str, Runner], turns: int, turn_seconds: float) -> dict[str, Timing]:
    """The time per iteration of each, all running in turns of about ``turn_seconds`` each."""
    iterations = {name: _fitting(runner, turn_seconds) for name, runner in runners.items()}
    samples: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(turns):
        for name, runner in runners.items():
            samples[name].append(cpu_seconds(runner, iterations[name]) / iterations[name])
    return {name: Timing.of(times) for name, times in samples.items()}


def _fitting(runner: Runner, seconds: float) -> int:
    """How many iterations take about ``seconds``; at least one."""
    iterations, spent = 1, cpu_seconds(runner, 1)
    while spent < seconds / 2:
        iterations *= 2
        spent = cpu_seconds(runner, iterations)
    return iterations


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeUpError` inside when so much CPU time is spent there.

    Python code is stopped at once; a call into compiled code ends first. In the main thread, on
    systems that have signals.
    """

    end = process_time() + seconds

    def look(*_: object) -> None:
        if process_time() >= end:
            raise TimeUpError

    # Not ITIMER_PROF, which counts CPU time: while it runs, Linux rounds process_time() to ticks.
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fitted_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The power p for which ``values`` are closest to a multiple of ``sizes ** p``.

    Least squares in logarithms.
    """
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def machine() -> dict[str, Any]:
    """What the measuring was done on, and when."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
