"""The only loop: ``solve``, ``learn``, ``optimize`` and ``region`` step through it.

It steps through a :class:`Steps`: the iterations of learners, which run in compiled blocks, or the
rounds of a search. Between blocks it checks the clock and Ctrl-C. At checkpoints it looks at what
is known, which is the history of the run, and it saves everything needed to continue in the run's
folder. The result is the same to the bit, however the work is split into blocks, or into calls that
were killed and resumed.

A limit of wall-clock time is for everything: an :class:`Ending` says how long the run takes after
its last step, so that the loop can stop early enough.
"""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from accord._activity import answer
from accord.equilibrium.policy import CorrelatedPolicy
from accord.runs.checkpoint import Checkpoint, PolicyNow
from accord.runs.folder import RunFolder
from accord.runs.interrupt import heeding_interrupts

BLOCK_SECONDS = 0.25
"""How long a block of iterations should take, so that limits and Ctrl-C are noticed soon."""

CAUTION = 1.15
"""How much longer than estimated the end of a run may take before it takes too long."""

LEAST_LEFT = 20.0
"""The end is estimated again only if at least this many times the cost of an estimate is left."""

SHOW_SECONDS = 2.0
"""The shortest time between calls of ``progress`` outside checkpoints."""


Progress = Callable[[Checkpoint], object]
"""What is called with checkpoints, whose ``policy`` is that of the moment; if it returns True, the
run ends there."""


class Steps(ABC):
    """What the loop steps through: iterations of learners, or rounds of a search.

    Steps that can be resumed also have a state.
    """

    @property
    @abstractmethod
    def iteration(self) -> int:
        """How many steps have been made."""

    @property
    def finished(self) -> bool:
        """Whether another step would change nothing."""
        return False

    @abstractmethod
    def advance(self, iterations: int, seconds: float | None) -> None:
        """Make ``iterations`` steps, which may be cut short when ``seconds`` have passed.

        With 0 iterations kernels are compiled and nothing else happens.
        """

    def next_checkpoint(self) -> int:
        """The iteration to look at next; by default every one."""
        return self.iteration + 1

    @abstractmethod
    def look(self, seconds: float) -> Checkpoint:
        """What is known now; the run has taken ``seconds``."""

    def mixture(self) -> CorrelatedPolicy | None:
        """The mixture that would be saved now; None if there is none yet, or never before the end.

        The steps are as they were afterwards.
        """
        return None

    @property
    def saved_iteration(self) -> int | None:
        """The iteration that :meth:`state` continues from; ``None`` if nothing can be saved."""
        return None

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved :meth:`state`, which is taken apart.

        Raises:
            ArithmeticError, LookupError, TypeError, ValueError: If it is not one.
        """
        raise ValueError("these steps have no state")

    @property
    def n_bytes(self) -> int:
        """The size of the largest part of :meth:`state`, from which saving it is timed."""
        return 0

    @property
    def most_bytes(self) -> float:
        """The most that a saved :meth:`state` can take."""
        return math.inf


class RunEnding(Protocol):
    """What a run does after its last step, such as certifying."""

    def estimate(self) -> None:
        """Measure on a small part of it how long it will take."""

    def reserve(self, step: float) -> float:
        """The seconds that must be left when the loop stops; its last step took ``step``."""


class Loop:
    """Steps through the iterations of a run.

    Attributes:
        steps: What it steps through.
        files: The folder of the run, if it has one.
        progress: Called with every checkpoint, and from time to time in between.
        history: The checkpoints at which something was known.
        elapsed: Seconds that the run has taken in total.
        begun: Whether the loop has started (and, when resuming, has restored its checkpoint).
        interrupted: Whether Ctrl-C ended it.
    """

    def __init__(
        self, steps: Steps, files: RunFolder | None = None, progress: Progress | None = None
    ) -> None:
        self.steps, self.files, self.progress = steps, files, progress
        self.history: list[Checkpoint] = []
        self.elapsed = 0.0
        self.begun = False
        self.interrupted = False
        self._start = 0.0  # when the run would have begun, had it not been interrupted
        self._told = 0  # the last iteration that progress was called with
        self._shown = 0.0  # when show() called it

    def run(
        self,
        limit: float = math.inf,
        *,
        enough: Callable[[Checkpoint], bool] | None = None,
        seconds: float | None = None,
        since: float | None = None,
        ending: RunEnding | None = None,
    ) -> None:
        """Step until a limit is reached or the user interrupts, from the saved checkpoint if any.

        ``progress`` is not called with the last checkpoint: :meth:`conclude` does that.

        Args:
            limit: The largest number of iterations.
            enough: Stop at a checkpoint for which this is true.
            seconds: Stop after this much wall-clock time.
            since: When that time began, by ``time.perf_counter``; by default now.
            ending: What the run does afterwards. It is estimated when a quarter of the time has
                passed, and again when half of what is left has, and so on: a machine may have
                become busy.

        Raises:
            KeyboardInterrupt: If the user asks to stop a second time, after everything is saved.
        """
        steps = self.steps
        time_limit = _TimeLimit(seconds, since, ending, self._saving_seconds)
        steps.advance(0, None)  # compiles before the clock of the history starts
        self._start = time.perf_counter() - self._restore()
        self.begun = True
        block, step = 1, 0.0
        show_at = math.inf if self.progress is None else time.perf_counter() + SHOW_SECONDS
        with heeding_interrupts(saves=self.files is not None) as interruption:
            try:
                while not self._is_done(limit, enough, self.history[-1] if self.history else None):
                    checkpoint = min(steps.next_checkpoint(), limit)
                    size = int(min(block, checkpoint - steps.iteration))
                    before = time.perf_counter()
                    if before + size * step > time_limit.end:
                        size = 1
                    steps.advance(size, time_limit.left(before, step))
                    now = time.perf_counter()
                    block, step = next_block(block, now - before), (now - before) / size
                    stop = time_limit.is_over(now, step) or interruption.requested
                    recorded = steps.iteration == checkpoint or stop
                    if recorded or now >= show_at:
                        point = steps.look(now - self._start)
                        done = recorded and self._is_done(limit, enough, point)
                        stop = stop or done or interruption.requested  # looking may take long, too
                        if not stop and self.progress is not None:
                            enough_now = self._tell(point)
                            told = time.perf_counter()
                            show_at = told + max(SHOW_SECONDS, 20.0 * (told - now))
                            stop = interruption.requested or enough_now
                        if (recorded or stop) and point.is_known:
                            self.history.append(point)
                    if stop:
                        break
                    self.save(now=False)
            finally:
                self.elapsed = self.seconds()
            self.interrupted = interruption.requested
            self.save(now=True)
        if interruption.insisted:
            raise KeyboardInterrupt
        if self.files is not None and self.interrupted:
            answer("saved; certifying what there is (Ctrl-C skips this)")

    def conclude(self, **changes: Any) -> None:
        """Put what is known about the result into the last checkpoint, and call ``progress``.

        An interrupted run may have called it with that iteration before.
        """
        self._shown = time.perf_counter()
        if not self.history:
            return
        self.history[-1] = replace(self.history[-1], **changes)
        if self.history[-1].iteration > self._told:
            self._tell(self.history[-1])

    def show(self, **changes: Any) -> None:
        """Call ``progress`` with the last checkpoint, changed so, if it is time for that."""
        now = time.perf_counter()
        if self.progress is not None and self.history and now >= self._shown + SHOW_SECONDS:
            self._shown = now
            self.progress(replace(self.history[-1], seconds=self.seconds(), **changes))

    def seconds(self) -> float:
        """How long the run has taken until now."""
        return time.perf_counter() - self._start

    def save(self, *, now: bool) -> None:
        """Save a checkpoint if there is a folder and it is time for one, or ``now``."""
        if self.files is None or (at := self.steps.saved_iteration) is None:
            return
        elapsed = np.array(self.seconds())
        history = [point for point in self.history if point.iteration <= at]
        self.files.save(lambda: {"elapsed": elapsed, **self.steps.state()}, history, now=now)

    def _is_done(
        self,
        limit: float,
        enough: Callable[[Checkpoint], bool] | None,
        last: Checkpoint | None,
    ) -> bool:
        """Whether no step is left to make after the checkpoint ``last``."""
        if self.steps.iteration >= limit or self.steps.finished:
            return True
        return enough is not None and last is not None and enough(last)

    def _tell(self, point: Checkpoint) -> bool:
        """Call ``progress``; returns whether it asks the run to end."""
        self._told = point.iteration
        if self.progress is None:
            return False
        moment = PolicyNow(self.steps.mixture)
        try:
            answered = self.progress(replace(point, moment=moment))
        finally:
            moment.end()
        return isinstance(answered, (bool, np.bool_)) and bool(answered)

    def _saving_seconds(self) -> float:
        """How long it takes to save a checkpoint."""
        if self.files is None or self.files.seconds_per_byte == 0.0:
            return 0.0
        return self.files.seconds_per_byte * self.steps.n_bytes

    def _restore(self) -> float:
        """Continue from the last checkpoint; returns the seconds that the run had taken by then."""
        if self.files is None:
            return 0.0
        if (state := self.files.load(most_bytes=self.steps.most_bytes)) is None:
            return 0.0
        try:
            history = list(map(Checkpoint.from_json, json.loads(str(state.pop("record")))))
            elapsed = float(state.pop("elapsed"))
            self.steps.restore(state)
            last = history[-1].iteration if history else 0
            if not (0 <= last <= self.steps.iteration and 0.0 <= elapsed < math.inf):
                raise ValueError("the checkpoint contradicts itself")
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise self.files.unreadable() from None
        self.history = history
        self._told = last
        return elapsed


class _TimeLimit:
    """The time that a run may take, of which its end needs a part.

    Attributes:
        end: When the time is up, by ``time.perf_counter``.
    """

    def __init__(
        self,
        seconds: float | None,
        since: float | None,
        ending: RunEnding | None,
        saving_seconds: Callable[[], float],
    ) -> None:
        self._ending, self._saving_seconds = ending, saving_seconds
        self.end = self._estimate_at = math.inf
        if seconds is not None:
            self.end = (time.perf_counter() if since is None else since) + seconds
            self._estimate_at = self.end - 0.75 * seconds

    def left(self, now: float, step: float) -> float | None:
        """The seconds until the loop must stop; ``None`` if there is no limit."""
        return None if self.end == math.inf else max(0.0, self.end - now - self._reserve(step))

    def is_over(self, now: float, step: float) -> bool:
        """Whether the loop must stop, if its last step took ``step``.

        Estimates the end anew when it is time for that.
        """
        if now + self._reserve(step) >= self.end:
            return True
        if now >= self._estimate_at and self._ending is not None:
            begun = now
            self._ending.estimate()
            now = time.perf_counter()
            left = self.end - now - self._reserve(step)
            self._estimate_at = now + left / 2 if left > LEAST_LEFT * (now - begun) else math.inf
            return left <= 0.0
        return False

    def _reserve(self, step: float) -> float:
        """The seconds that the loop must leave."""
        ending = 0.0 if self._ending is None else self._ending.reserve(step)
        return CAUTION * self._saving_seconds() + ending


def next_block(block: int, seconds: float) -> int:
    """How many iterations to run at once, if ``block`` of them took ``seconds``."""
    if seconds < BLOCK_SECONDS / 2:
        return block * 2
    return max(1, block // 2) if seconds > 2 * BLOCK_SECONDS else block
