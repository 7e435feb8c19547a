"""How long until the exact EFCE gap of what a method has come to is small.

What is judged is the mixture of all iterates, weighed as the method's theory weighs them: for K-EFR
the weighted average that ``solve`` returns, for CFR and EFR all iterates alike, for CFR+ iterate t
by t. Everybody is judged by the same meter (``equilibrium/gap.py``) at the same iterations, a tenth
apart.

First each method runs with the meter, which is not counted, to find after how many iterations the
gap is small. Then so many iterations are run again and timed, without meter, all methods in turns.
Loading the game, setting up and compiling are not counted either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

import accord
from accord._arrays import Floats
from accord.equilibrium.gap import RegretMeter
from accord.regret.methods import METHODS
from accord.runs.iterations import next_checkpoint
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.values import immediate_loss, joint_reach
from benchmarks.games import GAMES
from benchmarks.kefr import kefr
from benchmarks.measure import Runner, TimeUpError, Timing, cpu_limit, cpu_seconds
from benchmarks.peers import Peer, peers

SHARES = (1e-1, 1e-2, 1e-3)
"""Gaps to reach, in units of the payoff range."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    turns: int
    seconds: float  # of iterations; what is not reached then is not reached
    metered_seconds: float  # of iterations and their meter; setting up may take as long


FULL = Effort(GAMES, turns=3, seconds=5.0, metered_seconds=12.0)
SMALL = Effort({"Kuhn": GAMES["Kuhn"]}, turns=2, seconds=0.2, metered_seconds=1.0)


class Judged(Protocol):
    """A method with its meter."""

    def advance(self, iterations: int, /) -> float:
        """Run so many more iterations; their CPU time without that of the meter."""

    def relative_gap(self) -> float:
        """The largest EFCE gap of all iterates so far, in units of the payoff range."""


class JudgedKEFR:
    """K-EFR, which is its own meter."""

    def __init__(self, form: SequenceForm, method: str) -> None:
        self._play = kefr(form, 1, method)

    def advance(self, iterations: int, /) -> float:
        return cpu_seconds(self._play, iterations)

    def relative_gap(self) -> float:
        return float((self._play.gaps() * self._play.form.leaves.loss_scale).max())


class JudgedPeer:
    """A peer whose iterates are read and fed to a meter, one by one."""

    def __init__(self, form: SequenceForm, peer: type[Peer], k: float = 1) -> None:
        self._form, self._peer, self._iteration = form, peer(form.game), 0
        self._meters = [RegretMeter(plex, k) for plex in form.plexes]

    def advance(self, iterations: int, /) -> float:
        spent = 0.0
        for _ in range(iterations):
            self._iteration += 1
            self._observe(self._peer.iterate(), float(self._iteration**self._peer.averaging))
            spent += cpu_seconds(self._peer, 1)
        return spent

    def _observe(self, joint: Floats, weight: float) -> None:
        form = self._form
        behaviors = form.split(joint)
        reach = joint_reach(form.plexes, behaviors)
        for i, meter in enumerate(self._meters):
            meter.observe(behaviors[i], immediate_loss(form.leaves, i, reach), weight)

    def relative_gap(self) -> float:
        return max(meter.regret() / meter.total_weight for meter in self._meters)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """CPU time of every method on every game to each of the gaps."""
    games = []
    for title, name in effort.games.items():
        say(title)
        form = sequence_form(accord.load_game(name))
        games.append({"title": title, "entrants": _contest(form, effort)})
    settings = {
        "shares": list(SHARES),
        "turns": effort.turns,
        "seconds": effort.seconds,
        "metered_seconds": effort.metered_seconds,
    }
    return {"settings": settings, "games": games}


def _contest(form: SequenceForm, effort: Effort) -> list[dict[str, Any]]:
    kefr(form, 1, "rm").advance(1)  # compile, if that has not been done
    fresh: dict[str, Callable[[], Runner]] = {}
    judged: dict[str, Callable[[], Judged]] = {}
    for method in METHODS:
        name = f"K-EFR {method}, K = 1"
        fresh[name], judged[name] = (
            partial(kefr, form, 1, method),
            partial(JudgedKEFR, form, method),
        )
    for peer in peers():
        if peer.applies(form.game):
            fresh[peer.name] = partial(peer, form.game)
            judged[peer.name] = partial(JudgedPeer, form, peer)
    entries = {name: _run_metered(start, effort) for name, start in judged.items()}
    times: dict[str, list[list[float]]] = {name: [] for name in entries}
    for _ in range(effort.turns):
        for name, entry in entries.items():
            if entry["reached"]:
                times[name].append(_run_timed(fresh[name](), entry["reached"]))
    for name, entry in entries.items():
        timings = [Timing.of(samples) for samples in zip(*times[name], strict=True)]
        entry["reached"] = [
            {"share": share, "iterations": iterations, **asdict(timing)}
            for share, iterations, timing in zip(SHARES, entry["reached"], timings, strict=False)
        ]
    return [{"name": name, **entry} for name, entry in entries.items()]


def _run_metered(start: Callable[[], Judged], effort: Effort) -> dict[str, Any]:
    """The record ``[iteration, seconds, gap]``, and the iterations to each gap that was reached."""
    record: list[tuple[int, float, float]] = []
    reached: list[int] = []
    iteration, spent = 0, 0.0
    try:
        with cpu_limit(effort.metered_seconds):
            method = start()
        with cpu_limit(effort.metered_seconds):
            while spent < effort.seconds and len(reached) < len(SHARES):
                checkpoint = next_checkpoint(iteration)
                spent += method.advance(checkpoint - iteration)
                iteration = checkpoint
                record.append((iteration, spent, method.relative_gap()))
                reached += [iteration] * sum(record[-1][2] <= s for s in SHARES[len(reached) :])
    except TimeUpError:
        pass
    return {"record": record, "reached": reached}


def _run_timed(runner: Runner, iterations: list[int]) -> list[float]:
    """CPU time from the start to each of the numbers of iterations."""
    times, done, spent = [], 0, 0.0
    for until in iterations:
        if until > done:
            spent += cpu_seconds(runner, until - done)
            done = until
        times.append(spent)
    return times
