"""The iterations of learners as steps of the loop, and the components that they leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np

from accord._activity import doing
from accord._arrays import Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import Measured
from accord.errors import NumericalError
from accord.learning.episode_play import EnvironmentPlay
from accord.learning.joint_play import FIRST_ROUND, ROUND_COMPONENTS, ROUND_ITERATIONS, JointPlay
from accord.learning.simulator_play import SimulatorPlay
from accord.runs.checkpoint import Checkpoint, Seen, numbers
from accord.runs.components import Components, JointMixture
from accord.runs.folder import part_of
from accord.runs.loop import Steps


class Learners(Protocol):
    """Learners playing with each other."""

    grows: bool  # whether a checkpoint may have more infosets than are known when it is restored
    iteration: int  # how many have been run

    @property
    def sizes(self) -> Sequence[int]:
        """The number of known sequences of each player."""

    def advance(self, iterations: int, kept: Any, stride: int) -> int:
        """Run ``iterations``; if ``stride`` divides t, write the next component to ``kept``.

        It is pi^t, or an average of iterates since the last one. ``kept`` is what
        :meth:`Components.make_room` returns. Returns the number of components written.
        """

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state, which may be taken apart."""


class Iterations(Steps):
    """Learners and the components to save.

    Attributes:
        play: The learners.
        components: The components to save.
        measure: Returns gaps and values of all players now, or ``None`` if they are not known.
        episodes_per_iteration: ``None`` if no episodes are played.
        seen: Returns what plays in an environment have shown, and running values.
        mixed: Returns the mixture of the components with these numbers, which are not changed.
    """

    def __init__(
        self,
        play: Learners,
        components: Components,
        measure: Callable[[], Measured | None],
        episodes_per_iteration: int | None = None,
        seen: Callable[[], tuple[Seen, tuple[float, ...]]] | None = None,
        mixed: Callable[[np.ndarray], CorrelatedPolicy] | None = None,
    ) -> None:
        self.play, self.components, self.measure, self.seen = play, components, measure, seen
        self.mixed = mixed
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
            return Checkpoint(
                iteration, math.nan, (), values, seconds, episodes, seen=seen, covered=self.covered
            )
        gaps, exact = measured.gaps.tolist(), measured.values.tolist()
        if not all(map(math.isfinite, (*gaps, *exact))):
            raise NumericalError(
                f"the gaps and values after iteration {iteration:,} must be finite; got {gaps} and "
                f"{exact}; rescale the payoffs, or, if the run was resumed, its checkpoint is "
                "damaged"
            )
        return Checkpoint(
            iteration, seconds=seconds, episodes=episodes, seen=seen, covered=self.covered,
            **numbers(measured),
        )  # fmt: skip

    def mixture(self) -> CorrelatedPolicy | None:
        """The mixture of the components to save now; None if there are none yet."""
        if self.mixed is None or not self.components.count:
            return None
        return self.mixed(self.components.selection())

    @property
    def has_doubled(self) -> bool:
        """Whether this is the first checkpoint with at least some power of two episodes."""
        return is_doubling(self.iteration, self.episodes_per_iteration or 1)

    @property
    def covered(self) -> float | None:
        """The share of the game that joint plays have shown; None if it is not estimated."""
        return None

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
        fixed = {} if self.play.grows else self.play.state()
        for name, fresh in fixed.items():  # NumPy would stretch a smaller array
            if (play[name].shape, play[name].dtype.kind) != (fresh.shape, fresh.dtype.kind):
                raise ValueError(f"{name} has another shape")
            if fresh.dtype.kind == "f" and not np.isfinite(play[name]).all():
                raise ValueError(f"{name} is not finite")
        self.play.restore(play)
        kept = part_of(state, "iterates_")
        self.components.restore(kept, self.iteration, self.play.sizes)

    @property
    def n_bytes(self) -> int:
        """The size of the learners."""
        return sum(int(array.nbytes) for array in self.play.state().values())

    @property
    def most_bytes(self) -> float:
        """The most that learners and components can take in a checkpoint."""
        return self.components.packed_bytes + self.n_bytes


class OwnShare(Iterations):
    """Players who learn for themselves beside a joint learner, who watches their plays.

    Attributes:
        each: How many episodes an iteration takes.
        placed: Returns the components with these numbers as ``[n_components, n_sequences]``
            behaviors of each player, in the joint learner's numbers.
    """

    play: SimulatorPlay | EnvironmentPlay

    def __init__(
        self,
        play: SimulatorPlay | EnvironmentPlay,
        components: Components,
        placed: Callable[[Sequence[int]], list[Floats]],
    ) -> None:
        super().__init__(play, components, lambda: None, play.episodes_per_iteration)
        self.placed, self.each = placed, play.episodes_per_iteration

    def learn(self, iterations: int, first: int) -> None:
        """Run ``iterations``; the first episode has the number ``first``."""
        if isinstance(self.play, EnvironmentPlay):
            self.play.offset = first - self.iteration * self.each
        self.advance(iterations, None)

    def behaviors(self) -> list[Floats]:
        """``[n_components, n_sequences]`` behaviors of each player, in the joint numbers."""
        return self.placed(self.components.selection().tolist())


class JointRounds(Iterations):
    """Joint plays, whose mixture changes after every round; its gap is computed after a few."""

    play: JointPlay
    components: JointMixture

    def look(self, seconds: float) -> Checkpoint:
        """The gap and values of the present mixture; in the first round one is made for this."""
        if self.iteration and not self.components.count:
            self.components.replace(self.play.solved(ROUND_ITERATIONS, ROUND_COMPONENTS))
        return super().look(seconds)

    def next_checkpoint(self) -> int:
        """Twice as many episodes as at the last one."""
        checkpoint = FIRST_ROUND
        while checkpoint <= self.iteration:
            checkpoint *= 2
        return checkpoint

    @property
    def has_doubled(self) -> bool:
        """Whether this is a checkpoint: each has twice as many episodes as the last one."""
        rounds, rest = divmod(self.iteration, FIRST_ROUND)
        return not rest and rounds.bit_count() == 1

    @property
    def covered(self) -> float | None:
        """The share of the game that joint plays have shown."""
        return self.play.covered

    @property
    def most_bytes(self) -> float:
        """There is no limit: nobody knows how many joint histories there are."""
        return math.inf


def is_doubling(iteration: int, each: int) -> bool:
    """Whether this is the first checkpoint with at least some power of two episodes."""
    before = 0
    while (after := next_checkpoint(before)) < iteration:
        before = after
    return after == iteration and (iteration * each).bit_length() > (before * each).bit_length()


def next_checkpoint(iteration: int) -> int:
    """The next iteration to compute the gap at: 1, 2, ..., then about 10% apart."""
    checkpoint = 1
    while checkpoint <= iteration:
        checkpoint += max(1, checkpoint // 10)
    return checkpoint
