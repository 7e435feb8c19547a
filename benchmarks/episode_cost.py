"""What an episode of ``learn`` costs as the game grows, and how much of that is memory.

An episode makes as many moves and changes as many numbers in a game of a million infosets as in one
of a thousand (``docs/theory/bandit.md``), but the larger game does not fit into the caches. Two
experiments tell this from a cost that grows with the game. Neither needs hardware counters.

*Confined.* The large game with nearly all probability on as few deals as the small game has types.
Arrays and code are those of the large game, while what episodes visit fits into the caches again.
What the confinement takes away is the cost of memory (at least: it also adds some exponentials,
which minimizers that are rarely visited do not need). What is left, over the time in the small
game, is what else grows with the size: ``ratio_beyond_memory`` should be about 1. A little memory
is left in it: drawing the deal looks at one place among all deals.

*Replay.* The kernel runs once more, in the Python interpreter, on arrays that note which cache
lines it touches. Then these lines are loaded, in memory of the same extent, and nothing else is
done. Once each load waits for the one before; the learner waits less. Once loads wait only for the
node or outcome of chance before them, as if every branch were foreseen; the learner waits more. To
be as cold as the learner's, lines are shifted, differently in each pass, around the array that they
are in. Writing back what was changed is not replayed. The bracket is wide. It cannot say what
memory costs, but it can refute a cost that so many lines and this memory do not explain.

Times are CPU times per episode, medians of repeats that take turns. All games are given the
learning rate of the small one, so that the arithmetic is the same.
"""

from __future__ import annotations

import argparse
import json
import time
import types
from typing import Any, NamedTuple
from unittest.mock import patch

import numba
import numpy as np

from accord._arrays import CACHE_LINE
from accord.game.library import balanced
from accord.game.tree import Game
from accord.learning import simulator_play
from accord.learning.simulator_play import SimulatorPlay
from accord.regret.methods import SAMPLED_DEFAULT
from accord.treeplex.form import SequenceForm, sequence_form

SIZES = (1_000, 1_000_000)

METHODS = ("swrhedge", SAMPLED_DEFAULT)
"""The paper's, whose episodes each update one layer, and the default, which uses whole plays."""

RARE = 1e-15
"""Probability of a deal that is as good as never made."""

LEADING = ("simulator.nodes", "simulator.outcomes")
"""Arrays that a play follows from one place to the next."""

OWNERS = {
    "SimulatorArrays": "simulator",
    "SampledArrays": "learner",
    "SamplingPolicies": "plan",
}
"""Names of the sets of arrays that a kernel takes."""

ROOT = -1
"""Stands in a trace for taking the first record of an array: of the tree, when an episode begins.
"""

PASSES = 20
"""Of the replay through the trace, each with other shifts."""


def episode_cost(
    sizes: tuple[int, int] = SIZES,
    *,
    k: int = 1,
    episodes: int = 150_000,
    repeats: int = 7,
    traced: int = 2_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare two sizes of the balanced family; the result is one JSON object.

    Args:
        sizes: Infosets of each player in the small game and in the large one.
        k: How many recommendations a deviator may disobey.
        episodes: In each repeat.
        repeats: Of which the median is taken.
        traced: Episodes whose cache lines are noted.
        seed: Of all that is drawn.
    """
    small, large = (sequence_form(balanced(infosets=size)) for size in sizes)
    confined = sequence_form(with_few_deals(large.game, int(small.plexes[0].layers[1])))
    forms = {"small": small, "large": large, "confined": confined}
    return {
        "family": "balanced",
        "k": k,
        "sizes": list(sizes),
        "methods": {
            method: _compare(forms, k, method, episodes, repeats, traced, seed)
            for method in METHODS
        },
    }


def with_few_deals(game: Game, deals: int) -> Game:
    """The same tree with nearly all probability of the first draw on its first ``deals``."""
    chance_prob = game.chance_prob.copy()
    rare = (game.parent == 0) & (game.action >= deals)
    chance_prob[rare] = RARE
    chance_prob[(game.parent == 0) & ~rare] = (1.0 - RARE * np.count_nonzero(rare)) / deals
    return game.replace(chance_prob=chance_prob)


def _compare(
    forms: dict[str, SequenceForm],
    k: int,
    method: str,
    episodes: int,
    repeats: int,
    traced: int,
    seed: int,
) -> dict[str, Any]:
    plays: dict[str, SimulatorPlay] = {}
    for name, form in forms.items():
        rng = np.random.default_rng(seed)
        plays[name] = SimulatorPlay(form, k, episodes * repeats, rng, method=method)
        plays[name].schedule = plays["small"].schedule
        plays[name].averages = 1  # keep no iterates
    result: dict[str, dict[str, Any]] = {
        name: {"infosets": forms[name].plexes[0].n_infosets, "nanoseconds": time_taken}
        for name, time_taken in _time(plays, episodes, repeats).items()
    }
    traces = {name: trace_episodes(plays[name], traced) for name in ("small", "large")}
    plays.clear()  # their memory is wanted for the replay
    for name, trace in traces.items():
        result[name] |= {
            "moves": trace.moves / trace.episodes,
            "lines": len(trace.line) / trace.episodes,
            "bytes": int(trace.extent.sum()) * CACHE_LINE,
            "replay": replay(trace, repeats, seed),
        }
    small, large, confined = (result[name]["nanoseconds"] for name in forms)
    least, most = (
        result["large"]["replay"][bound] - result["small"]["replay"][bound]
        for bound in ("least", "most")
    )
    return {
        **result,
        "ratio": large / small,
        "growth": large - small,
        "memory": {"confined": large - confined, "replay_least": least, "replay_most": most},
        "ratio_beyond_memory": confined / small,
    }


def _time(plays: dict[str, SimulatorPlay], episodes: int, repeats: int) -> dict[str, float]:
    """Nanoseconds per episode."""
    taken: dict[str, list[float]] = {name: [] for name in plays}
    for _ in range(repeats + 1):
        for name, play in plays.items():
            iterations = max(1, episodes // play.episodes_per_iteration)
            start = time.process_time()
            play.advance(iterations)
            seconds = time.process_time() - start
            taken[name].append(seconds / (iterations * play.episodes_per_iteration) * 1e9)
    return {
        name: float(np.median(times[1:])) for name, times in taken.items()
    }  # the first warms up


class Trace(NamedTuple):
    """The cache lines that episodes touch, each once per episode, in the order of first touch."""

    episodes: int
    moves: int  # of players and of chance
    names: list[str]  # of arrays
    extent: Any  # [n_arrays] lines of each
    array: Any  # [n_touched] the array of the line
    line: Any  # [n_touched] its number in the array


def trace_episodes(play: SimulatorPlay, episodes: int) -> Trace:
    """Go on with ``play``, in the interpreter, for about ``episodes``."""
    names: list[str] = []
    extent: list[int] = []
    touched: list[tuple[int, int]] = []  # (array, line)

    def tracing(argument: Any) -> Any:
        owner = OWNERS.get(type(argument).__name__)
        if owner is None:
            return argument
        replaced = {}
        for name, array in argument._asdict().items():
            first = array.ctypes.data // CACHE_LINE
            replaced[name] = _TracingArray(array, len(names), first, touched)
            names.append(f"{owner}.{name}")
            extent.append((array.ctypes.data + array.nbytes) // CACHE_LINE - first + 1)
        return argument._replace(**replaced)

    rng = _CountingGenerator(play.rng)
    name = "play_iterations"
    kernel = interpreted(getattr(simulator_play, name))
    with (
        patch.object(simulator_play, name, lambda *given: kernel(*map(tracing, given))),
        patch.object(play, "rng", rng),
    ):
        play.advance(max(1, episodes // play.episodes_per_iteration))
    nodes = names.index("simulator.nodes")
    seen: dict[tuple[int, int, int], None] = {}
    episode = 0
    for array, line in touched:
        if line == ROOT:
            episode += array == nodes
        else:
            seen[episode, array, line] = None
    _, arrays, lines = np.array(list(seen)).T
    return Trace(episode, rng.moves, names, np.array(extent), arrays, lines)


class _TracingArray:
    """An array, or a row of one, that notes what is read and written."""

    def __init__(self, array: Any, number: int, first: int, touched: list[tuple[int, int]]) -> None:
        self.array, self.number, self.first, self.touched = array, number, first, touched
        self.start = array.ctypes.data

    def touch(self, index: Any, offset: int = 0) -> None:
        indices = index if isinstance(index, tuple) else (index,)
        steps = sum(int(i) * step for i, step in zip(indices, self.array.strides, strict=True))
        self.touched.append((self.number, (self.start + steps + offset) // CACHE_LINE - self.first))

    def __getitem__(self, index: Any) -> Any:
        if self.array.dtype.names:
            if index == 0:
                self.touched.append((self.number, ROOT))
            return _TracingRecord(self, index)
        item = self.array[index]
        if isinstance(item, np.ndarray):
            return _TracingArray(item, self.number, self.first, self.touched)
        self.touch(index)
        return item

    def __setitem__(self, index: Any, value: Any) -> None:
        self.touch(index)
        self.array[index] = value


class _TracingRecord:
    """A record of such an array."""

    def __init__(self, whole: _TracingArray, index: int) -> None:
        self.__dict__.update(whole=whole, index=index)

    def __getattr__(self, name: str) -> Any:
        self.whole.touch(self.index, self.whole.array.dtype.fields[name][1])
        return self.whole.array[name][self.index]

    def __setattr__(self, name: str, value: Any) -> None:
        self.whole.touch(self.index, self.whole.array.dtype.fields[name][1])
        self.whole.array[name][self.index] = value


class _CountingGenerator:
    """Of random numbers, one per move."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.moves = rng, 0

    def random(self) -> float:
        self.moves += 1
        return self.rng.random()


def interpreted(kernel: Any) -> Any:
    """``kernel``, and all kernels and parts that it calls, as plain Python."""
    if hasattr(kernel, "kernels"):  # one per type of the first argument
        by_type = {kind: interpreted(one) for kind, one in kernel.kernels.items()}
        return lambda schedule, *arguments: by_type[type(schedule)](schedule, *arguments)
    function = kernel.py_func
    called = {
        name: interpreted(value)
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names
        and (hasattr(value, "py_func") or hasattr(value, "kernels"))
    }
    return types.FunctionType(function.__code__, function.__globals__ | called)


def replay(trace: Trace, repeats: int, seed: int) -> dict[str, float]:
    """Nanoseconds per episode of nothing but its loads, waiting for each other least and most."""
    rng = np.random.default_rng(seed)
    first = np.cumsum(trace.extent) - trace.extent
    memory = np.empty((int(trace.extent.sum()), CACHE_LINE // 8), np.int64)
    memory[:] = 0  # a page that was never written would be no memory
    leads = np.isin(trace.array, [trace.names.index(name) for name in LEADING])
    leads[0] = True
    few = np.append(np.flatnonzero(np.tile(leads, PASSES)), PASSES * len(leads))
    taken: dict[str, list[float]] = {"least": [], "most": []}
    for _ in range(repeats + 1):
        shifts = rng.integers(trace.extent, size=(PASSES, len(trace.extent)))
        lines = (trace.line + shifts[:, trace.array]) % trace.extent[trace.array]
        lines = (lines + first[trace.array]).reshape(-1)
        for bound, groups in (("least", few), ("most", np.arange(len(lines) + 1))):
            start = time.process_time()
            _load(memory, lines, groups)
            taken[bound].append(time.process_time() - start)
    episodes = PASSES * trace.episodes
    return {bound: float(np.median(times[1:])) / episodes * 1e9 for bound, times in taken.items()}


@numba.njit  # not kept on disk: a script has another name when it is imported
def _load(memory: Any, lines: Any, groups: Any) -> int:
    """Load lines; the first of a group waits for that of the group before, the others for it.

    What is loaded is 0, which the processor does not know before it is there.
    """
    last = total = 0
    for group in range(len(groups) - 1):
        last = memory[lines[groups[group]] + last, 0]
        for i in range(groups[group] + 1, groups[group + 1]):
            total += memory[lines[i] + last, 0]
    return total + last


def table(cost: dict[str, Any]) -> str:
    """What was measured, to be read."""
    rows = [f"{'':20}{'infosets':>10}{'ns':>8}{'moves':>7}{'lines':>7}{'MB':>7}{'replay, ns':>14}"]
    for method, result in cost["methods"].items():
        for name in ("small", "large", "confined"):
            entry = result[name]
            row = f"{method:10}{name:10}{entry['infosets']:10}{entry['nanoseconds']:8.0f}"
            if "replay" in entry:
                bounds = f"{entry['replay']['least']:.0f} to {entry['replay']['most']:.0f}"
                row += f"{entry['moves']:7.2f}{entry['lines']:7.1f}{entry['bytes'] / 1e6:7.0f}"
                row += f"{bounds:>14}"
            rows.append(row)
    for method, result in cost["methods"].items():
        memory = result["memory"]
        rows += [
            "",
            f"{method}: {result['ratio']:.2f} times the time, {result['growth']:.0f} ns more",
            f"  memory: {memory['confined']:.0f} ns by confinement; loads alone take "
            f"{memory['replay_least']:.0f} to {memory['replay_most']:.0f} ns more",
            f"  beyond memory: {result['ratio_beyond_memory']:.2f} times",
        ]
    return "\n".join(rows)


def main() -> None:
    """Print the comparison as a table, or as JSON."""
    parser = argparse.ArgumentParser(description="Time per episode of a small and a large game.")
    parser.add_argument("--sizes", type=int, nargs=2, default=SIZES, metavar="INFOSETS")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    cost = episode_cost(tuple(asked.sizes))
    print(json.dumps(cost, indent=2) if asked.json else table(cost))


if __name__ == "__main__":
    main()
