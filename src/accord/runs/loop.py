"""The loop that runs every learner.

Iterations run in compiled blocks. Between blocks the loop checks the clock and Ctrl-C and, at
checkpoints about 10% apart, the exact K-EFCE gap. It keeps the iterates to save and writes
everything needed to continue to the run's folder. The result is the same to the bit, however the
work is split into blocks, or into calls that were killed and resumed.

A limit of wall-clock time is for everything: ``ending`` estimates what is left to do after the last
iteration, so that the loop can stop early enough.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from accord._activity import answer, doing
from accord._arrays import Floats
from accord.equilibrium.rounding import Measured
from accord.errors import NumericalError
from accord.runs.checkpoint import Checkpoint, Seen, numbers
from accord.runs.folder import RunFolder
from accord.runs.interrupt import heeding_interrupts
from accord.runs.iterates import Iterates

BLOCK_SECONDS = 0.25
"""How long a block of iterations should take, so that limits and Ctrl-C are noticed soon."""

CAUTION = 1.15
"""How much longer than estimated the end of a run may take before it takes too long."""

MOST_ESTIMATING = 20.0
"""How many times the time that an estimate takes must be left for another one to be worth it."""

SHOW_SECONDS = 2.0
"""The shortest time between calls of ``progress`` outside checkpoints."""


Progress = Callable[[Checkpoint], object]


class Play(Protocol):
    """Learners playing with each other."""

    iteration: int  # how many have been run

    def advance(self, iterations: int, kept: Floats, stride: int) -> int:
        """Run ``iterations``; if ``stride`` divides t, write the next row of ``kept``.

        The row is pi^t, or an average of iterates since the last row.
        """


@runtime_checkable
class ResumablePlay(Play, Protocol):
    """Learners whose state can be saved."""

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state, which may be taken apart."""


class Ending(NamedTuple):
    """What a run takes after its last iteration, in seconds."""

    fixed: float
    each: float  # for each component of the mixture
    packing: float = 0.0  # for each iterate that is written

    def seconds(self, iterates: Iterates) -> float:
        """In total, if these iterates are kept and then saved."""
        saved = min(iterates.count, iterates.components)
        return self.fixed + self.each * saved + self.packing * (iterates.count + saved)


class Loop:
    """Learners, the iterates to save, and the gaps measured on the way.

    Attributes:
        play: The learners.
        iterates: The iterates to save.
        measure: Returns gaps and values of all players now, or ``None`` if they are not known.
        episodes_per_iteration: ``None`` if no episodes are played.
        look: Returns what plays in an environment have shown, and running values.
        history: The checkpoints at which the gap was known, or in an environment all of them.
        elapsed: Seconds that the run has taken in total.
        begun: Whether it runs, or did: what it was to continue from is restored.
        interrupted: Whether Ctrl-C ended it.
    """

    def __init__(
        self,
        play: Play,
        iterates: Iterates,
        measure: Callable[[], Measured | None],
        episodes_per_iteration: int | None = None,
        look: Callable[[], tuple[Seen, tuple[float, ...]]] | None = None,
    ) -> None:
        self.play, self.iterates, self.measure, self.look = play, iterates, measure, look
        self.episodes_per_iteration = episodes_per_iteration
        self.history: list[Checkpoint] = []
        self.elapsed = 0.0
        self.begun = False
        self.interrupted = False

    def run(
        self,
        limit: float,
        *,
        target_gap: float | None = None,
        seconds: float | None = None,
        since: float | None = None,
        ending: Callable[[], Ending] | None = None,
        files: RunFolder | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Run until a limit is reached or the user interrupts, from the saved checkpoint if any.

        Args:
            limit: The largest number of iterations.
            target_gap: Stop at a checkpoint whose gap is at most this, its error included, or too
                small to be measured.
            seconds: Stop after this much wall-clock time.
            since: When that time began, by ``time.perf_counter``; by default now.
            ending: Estimates how long the run takes after its last iteration. It is called when a
                quarter of the time has passed, and again when half of what is left has, and so on:
                a machine may have become busy.
            files: The folder of the run, if it has one.
            progress: Called with every checkpoint, and from time to time in between.

        Raises:
            KeyboardInterrupt: If the user asks to stop a second time, after everything is saved.
        """
        called = time.perf_counter()
        end = math.inf if seconds is None else (called if since is None else since) + seconds
        estimate_at = math.inf if seconds is None or ending is None else end - 0.75 * seconds
        rest, step = Ending(0.0, 0.0), 0.0
        # Compile before the clock of the history starts.
        self.play.advance(0, self.iterates.make_room(), self.iterates.stride)
        start = time.perf_counter()
        if files is not None:
            start -= self._restored(files)
        self.begun = True
        play, iterates, block = self.play, self.iterates, 1
        show_at = math.inf if progress is None else time.perf_counter() + SHOW_SECONDS
        with heeding_interrupts(saves=files is not None) as interruption:
            while play.iteration < limit and not self._reached(target_gap):
                checkpoint = min(next_checkpoint(play.iteration), limit)
                free = iterates.until_full(play.iteration)
                size = int(min(block, checkpoint - play.iteration, free))
                before = time.perf_counter()
                if step > 0.0 and before + size * step > end:
                    size = 1
                with doing(f"iteration {play.iteration + 1:,}") if size == 1 else nullcontext():
                    iterates.add(play.advance(size, iterates.make_room(), iterates.stride))
                now = time.perf_counter()
                block, step = next_block(block, now - before), (now - before) / size
                if now >= estimate_at and ending is not None:
                    rest, estimated = ending(), now
                    now = time.perf_counter()
                    left = end - rest.seconds(iterates) - now
                    worth = left > MOST_ESTIMATING * (now - estimated)
                    estimate_at = now + left / 2 if worth else math.inf
                needed = CAUTION * (self._saving_seconds(files) + rest.seconds(iterates))
                late = now + step + needed >= end
                stop = late or interruption.requested
                recorded = play.iteration == checkpoint or stop
                if recorded or now >= show_at:
                    point = self._look(now - start)
                    if progress is not None:
                        progress(point)
                        looked = time.perf_counter()
                        show_at = looked + max(SHOW_SECONDS, 20.0 * (looked - now))
                    stop = stop or interruption.requested  # looking may take long, too
                    if (recorded or stop) and (point.player_gaps or point.seen is not None):
                        self.history.append(point)
                if stop:
                    break
                if files is not None:
                    self.save(files, now - start, now=False)
            self.elapsed = time.perf_counter() - start
            self.interrupted = interruption.requested
            if files is not None:
                self.save(files, self.elapsed, now=True)
        if interruption.insisted:
            raise KeyboardInterrupt
        if files is not None and self.interrupted:
            answer("saved; certifying what there is (Ctrl-C skips this)")

    def _reached(self, target_gap: float | None) -> bool:
        """Whether the last known gap is at most ``target_gap``, or cannot be told from 0."""
        if target_gap is None or not self.history:
            return False
        return self.history[-1].reaches(target_gap) or self.history[-1].gap == 0.0

    def _look(self, seconds: float) -> Checkpoint:
        """The checkpoint for this moment."""
        measured = self.measure()
        iteration, each = self.play.iteration, self.episodes_per_iteration
        episodes = None if each is None else each * iteration
        seen, values = (None, ()) if self.look is None else self.look()
        if measured is None:
            return Checkpoint(iteration, math.nan, (), values, seconds, episodes, seen=seen)
        gaps, exact = measured.gaps.tolist(), measured.values.tolist()
        if not all(map(math.isfinite, (*gaps, *exact))):
            raise NumericalError(
                f"the gaps and values after iteration {iteration:,} must be finite; got {gaps} and "
                f"{exact}; rescale the payoffs, or, if the run was resumed, its checkpoint is "
                "damaged"
            )
        return Checkpoint(
            iteration, seconds=seconds, episodes=episodes, seen=seen, **numbers(measured)
        )

    def _saving_seconds(self, files: RunFolder | None) -> float:
        """How long it takes to write the state of the learners."""
        if files is None or files.seconds_per_byte == 0.0:
            return 0.0
        assert isinstance(self.play, ResumablePlay)
        state = sum(array.nbytes for array in self.play.state().values())
        return float(files.seconds_per_byte * state)

    def save(self, files: RunFolder, elapsed: float, *, now: bool) -> None:
        """Write a checkpoint to disk, if it is time for one or ``now``."""

        def content() -> dict[str, Any]:
            assert isinstance(self.play, ResumablePlay)
            play, iterates = self.play.state(), self.iterates.state()
            return {
                "elapsed": np.array(elapsed),
                **{f"play_{name}": value for name, value in play.items()},
                **{f"iterates_{name}": value for name, value in iterates.items()},
            }

        files.save(content, self.history, now=now)

    def _restored(self, files: RunFolder) -> float:
        """Continue from the last checkpoint; returns the seconds that the run had taken by then."""
        if (state := files.load(most_bytes=self._most_bytes())) is None:
            return 0.0
        try:
            return self._restore(state)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise files.unreadable() from None

    def _most_bytes(self) -> float:
        """What a checkpoint may take; what grows may take any amount."""
        if getattr(self.play, "grows", False):
            return math.inf
        assert isinstance(self.play, ResumablePlay)
        state = sum(int(array.nbytes) for array in self.play.state().values())
        return self.iterates.packed_bytes + state

    def _restore(self, state: dict[str, Any]) -> float:
        """Take a checkpoint apart, so that the memory of each part is free once it is restored."""
        assert isinstance(self.play, ResumablePlay)
        play, elapsed = part_of(state, "play_"), float(state["elapsed"])
        fixed = {} if getattr(self.play, "grows", False) else self.play.state()
        for name, fresh in fixed.items():  # NumPy would stretch a smaller array
            if (play[name].shape, play[name].dtype.kind) != (fresh.shape, fresh.dtype.kind):
                raise ValueError(f"{name} has another shape")
            if fresh.dtype.kind == "f" and not np.isfinite(play[name]).all():
                raise ValueError(f"{name} is not finite")
        history = list(map(Checkpoint.from_json, json.loads(str(state["record"]))))
        iteration = int(play["iteration"])
        last = history[-1].iteration if history else 0
        if not (0 <= last <= iteration and 0.0 <= elapsed < math.inf):
            raise ValueError("the checkpoint contradicts itself")
        self.iterates.restore(part_of(state, "iterates_"), iteration)
        self.play.restore(play)
        if (sizes := getattr(self.play, "sizes", None)) is not None:
            self.iterates.check_sizes(sizes)
        self.history = history
        return elapsed


def next_checkpoint(iteration: int) -> int:
    """The next iteration to compute the gap at: 1, 2, ..., then about 10% apart."""
    checkpoint = 1
    while checkpoint <= iteration:
        checkpoint += max(1, checkpoint // 10)
    return checkpoint


def next_block(block: int, seconds: float) -> int:
    """How many iterations to run at once, if ``block`` of them took ``seconds``."""
    if seconds < BLOCK_SECONDS / 2:
        return block * 2
    return max(1, block // 2) if seconds > 2 * BLOCK_SECONDS else block


def part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the entries whose names begin with ``prefix`` out of ``state``; return them without."""
    names = [name for name in state if name.startswith(prefix)]
    return {name[len(prefix) :]: state.pop(name) for name in names}
