"""The iterates of a long run that are kept for the saved mixture.

A run of unknown length is thinned on the way: every ``stride``-th iterate is kept, and whenever
twice as many as wanted are kept, every other one is dropped and the stride doubles. The choice
depends only on the number of iterations, not on how they were split into calls. At the end the kept
iterates are thinned evenly to the number wanted, counting back from the last. A learner may also
write averages of a few iterates (``learning/averaging.py``); they are kept in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from accord._arrays import Floats
from accord.errors import ArgumentError

DEFAULT_COMPONENTS = 1000
DEFAULT_BYTES = 2**30
"""Memory for iterates when the caller does not say how many to keep."""


class Iterates:
    """Evenly spaced iterates of a run.

    Attributes:
        components: How many to save at the end.
        stride: Iterate t is kept if this divides t.
        count: How many are kept now.
        kept: ``[2 * components, n_sequences]`` the kept iterates, in the first ``count`` rows.
    """

    def __init__(self, n_sequences: int, components: int | None = None) -> None:
        if components is None:
            components = self.default_components(n_sequences)
        if components < 1:
            raise ArgumentError(f"components must be at least 1; got {components}")
        self.components = components
        self.stride = 1
        self.count = 0
        self.kept = np.zeros((2 * components, n_sequences))  # zeros: pages are allocated when used

    @staticmethod
    def default_components(n_sequences: int) -> int:
        """How many to save if the caller does not say."""
        return int(max(1, min(DEFAULT_COMPONENTS, DEFAULT_BYTES // (16 * n_sequences))))

    def make_room(self) -> Floats:
        """The rows to write next, at least one; thins the kept iterates if all rows are full."""
        if self.count == len(self.kept):
            self.kept[: self.components] = self.kept[1::2]
            self.count = self.components
            self.stride *= 2
        return self.kept[self.count :]

    def until_full(self, iteration: int) -> int:
        """How many iterations can run after ``iteration`` before the rows are full."""
        rows = len(self.make_room())  # this may double the stride
        return (iteration // self.stride + rows) * self.stride - iteration

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        return {"kept": self.kept[: self.count], "stride": np.array(self.stride)}

    def restore(self, state: dict[str, Any], iteration: int) -> None:
        """Restore a saved :meth:`state` of a run after ``iteration``.

        Raises:
            ValueError: If it is not one.
        """
        times, behaviors = self.read(state)
        stride = int(state["stride"])
        if behaviors.shape[1:] != self.kept.shape[1:] or len(times) != iteration // stride:
            raise ValueError("the kept iterates do not fit the run")
        self.count, self.stride = len(behaviors), stride
        self.kept[: self.count] = behaviors

    @staticmethod
    def read(state: dict[str, Any]) -> tuple[np.ndarray, Floats]:
        """``(iterations, behaviors)`` of all iterates in a saved :meth:`state`.

        Raises:
            ValueError: If it is not one.
        """
        stride, kept = int(state["stride"]), state["kept"]
        if stride < 1 or kept.ndim != 2 or kept.dtype.kind != "f" or not np.isfinite(kept).all():
            raise ValueError("not the state of kept iterates")
        return np.arange(1, len(kept) + 1) * stride, kept

    def selected(self) -> tuple[np.ndarray, Floats]:
        """``(iterations, behaviors)`` of at most ``components`` evenly spaced iterates."""
        if self.count <= self.components:
            return np.arange(1, self.count + 1) * self.stride, self.kept[: self.count]
        index = np.round(np.linspace(self.count - 1, 0, self.components)).astype(int)[::-1]
        return (index + 1) * self.stride, self.kept[index]
