"""The iterations of learners as steps of the loop, and the components that they leave."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np

from accord._activity import doing
from accord.equilibrium.rounding import Measured
from accord.errors import NumericalError
from accord.runs.checkpoint import Checkpoint, Seen, numbers
from accord.runs.folder import part_of
from accord.runs.loop import Steps


class Play(Protocol):
    """Learners playing with each other."""

    iteration: int  # how many have been run

    def advance(self, iterations: int, kept: Any, stride: int) -> int:
        """Run ``iterations``; if ``stride`` divides t, write the next row of ``kept``.

        The row is pi^t, or an average of iterates since the last row. Returns the number of rows
        written.
        """

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state, which may be taken apart."""


class Components(Protocol):
    """The components to save."""

    stride: int  # one is kept after this many iterations

    def make_room(self) -> Any:
        """Where learners write the next components, with room for at least one."""

    def add(self, rows: int) -> None:
        """Record that ``rows`` more components were written."""

    def until_full(self, iteration: int) -> int:
        """How many iterations can run after ``iteration`` before there is no room."""

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""

    def restore(self, state: dict[str, Any], iteration: int) -> None:
        """Restore a saved state of a run after ``iteration``."""

    @property
    def packed_bytes(self) -> float:
        """What they take at most in a checkpoint, and a history beside them."""


class Iterations(Steps):
    """Learners and the components to save.

    Attributes:
        play: The learners.
        components: The components to save.
        measure: Returns gaps and values of all players now, or ``None`` if they are not known.
        episodes_per_iteration: ``None`` if no episodes are played.
        seen: Returns what plays in an environment have shown, and running values.
    """

    def __init__(
        self,
        play: Play,
        components: Components,
        measure: Callable[[], Measured | None],
        episodes_per_iteration: int | None = None,
        seen: Callable[[], tuple[Seen, tuple[float, ...]]] | None = None,
    ) -> None:
        self.play, self.components, self.measure, self.seen = play, components, measure, seen
        self.episodes_per_iteration = episodes_per_iteration

    @property
    def iteration(self) -> int:
        """How many iterations have been run."""
        return self.play.iteration

    def advance(self, iterations: int, seconds: float | None) -> None:
        """Run ``iterations``, and keep the components that are due."""
        play, components, end = self.play, self.components, self.play.iteration + iterations
        with doing(f"iteration {end:,}") if iterations == 1 else nullcontext():
            while True:
                size = min(end - play.iteration, components.until_full(play.iteration))
                components.add(play.advance(size, components.make_room(), components.stride))
                if play.iteration == end:
                    break

    def next_checkpoint(self) -> int:
        """The next iteration to compute the gap at."""
        return next_checkpoint(self.iteration)

    def look(self, seconds: float) -> Checkpoint:
        """The gap and values of this moment, as far as they are known."""
        measured = self.measure()
        seen, values = (None, ()) if self.seen is None else self.seen()
        iteration, each = self.iteration, self.episodes_per_iteration
        episodes = None if each is None else each * iteration
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

    @property
    def saved_iteration(self) -> int:
        """This iteration: learners can be saved after every one."""
        return self.iteration

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        return {
            **{f"play_{name}": value for name, value in self.play.state().items()},
            **{f"iterates_{name}": value for name, value in self.components.state().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take a saved state apart, so that the memory of each part is free once it is restored."""
        play = part_of(state, "play_")
        for name, fresh in self.play.state().items():  # NumPy would stretch a smaller array
            if (play[name].shape, play[name].dtype.kind) != (fresh.shape, fresh.dtype.kind):
                raise ValueError(f"{name} has another shape")
            if fresh.dtype.kind == "f" and not np.isfinite(play[name]).all():
                raise ValueError(f"{name} is not finite")
        self.components.restore(part_of(state, "iterates_"), int(play["iteration"]))
        self.play.restore(play)

    @property
    def n_bytes(self) -> int:
        """The size of the learners."""
        return sum(int(array.nbytes) for array in self.play.state().values())

    @property
    def most_bytes(self) -> float:
        """The most that learners and components can take in a checkpoint."""
        return self.components.packed_bytes + self.n_bytes


def next_checkpoint(iteration: int) -> int:
    """The next iteration to compute the gap at: 1, 2, ..., then about 10% apart."""
    checkpoint = 1
    while checkpoint <= iteration:
        checkpoint += max(1, checkpoint // 10)
    return checkpoint
