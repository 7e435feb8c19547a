"""The components of a run whose players keep meeting new infosets.

They are spaced and thinned as in ``runs/iterates.py``. A component covers the infosets that were
known when it was made. At all others every policy of that moment was uniform, so they are filled in
at the end.

A component costs as much time as the decisions of as many plays as there are infosets, and memory
for every sequence. Nobody knows in advance how many there will be. So the components are also
thinned when they take too much memory, or have taken more time than the plays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._arrays import Floats
from accord.runs.iterates import DEFAULT_BYTES, DEFAULT_COMPONENTS, FEWEST_COMPONENTS


class GrowingIterates:
    """Evenly spaced components of a run.

    Attributes:
        components: How many to save at the end, at most.
        stride: A component is kept after this many iterations.
        averages: How many iterates a component averages.
        rows: The kept components: for each player the policy over the sequences known then.
    """

    def __init__(
        self, components: int | None, iterations: int, averages: int, most_bytes: int | None = None
    ) -> None:
        self._chosen = components is not None
        self._most_bytes = DEFAULT_BYTES if most_bytes is None else most_bytes
        self.components = DEFAULT_COMPONENTS if components is None else components
        self.stride = max(1, iterations // self.components)
        self.averages = averages
        self.rows: list[list[Floats]] = []
        self._bytes = self._work = 0

    @property
    def count(self) -> int:
        """How many are kept now."""
        return len(self.rows)

    def add(self, rows: int) -> None:
        """Nothing to do: the learners append their rows."""

    def make_room(self) -> GrowingIterates:
        """Itself, with room for at least one component more."""
        if self.count >= 2 * self.components:
            self._thin()
        return self

    def until_full(self, iteration: int) -> int:
        """How many iterations can run after ``iteration`` before there is no room."""
        self.make_room()
        free = 2 * self.components - self.count
        return (iteration // self.stride + free) * self.stride - iteration

    def append(self, row: list[Floats], *, work: int, visits: int) -> None:
        """Keep a component that took ``work``; plays have taken ``visits`` so far."""
        self.rows.append(row)
        self._bytes += sum(part.nbytes for part in row)
        self._work += work
        while self._bytes > self._most_bytes and self.count > 1:
            self._thin()
        if self._work > visits:  # fewer iterates per component first, then fewer components
            if self.averages > 1:
                self.averages -= 1
            elif not self._chosen and self.count >= 2 * FEWEST_COMPONENTS:
                self._thin()

    def _thin(self) -> None:
        """Drop every other component."""
        self.rows = self.rows[1::2]
        self.stride *= 2
        self._bytes = sum(part.nbytes for row in self.rows for part in row)

    def selected(self) -> list[list[Floats]]:
        """At most ``components`` evenly spaced components."""
        if self.count <= self.components:
            return self.rows
        index = np.round(np.linspace(self.count - 1, 0, self.components)).astype(int)[::-1]
        return [self.rows[n] for n in index]

    @property
    def packed_bytes(self) -> float:
        """They may take any amount in a checkpoint."""
        return math.inf

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        sizes = [[len(part) for part in row] for row in self.rows]
        parts = [part for row in self.rows for part in row]
        return {
            "stride": np.array(self.stride),
            "work": np.array(self._work),
            "averages": np.array(self.averages),
            "sizes": np.array(sizes, np.int64).reshape(self.count, -1 if sizes else 0),
            "kept": np.concatenate(parts) if parts else np.empty(0),
        }

    def restore(self, state: dict[str, Any], iteration: int) -> None:
        """Restore a :meth:`state` that was saved after this many iterations.

        Raises:
            ValueError: If it cannot be one.
        """
        stride, sizes, kept = int(state["stride"]), state["sizes"], state["kept"]
        if (
            stride < 1
            or sizes.ndim != 2
            or sizes.dtype.kind != "i"
            or len(sizes) * stride > iteration + stride
            or sizes.min(initial=1) < 1
        ):
            raise ValueError("the kept components contradict the number of iterations")
        if kept.shape != (sizes.sum(),) or kept.dtype != np.float64:
            raise ValueError("the kept components must have their sizes")
        if not ((kept >= 0.0) & (kept <= 1.0)).all():
            raise ValueError("the kept components must be probabilities")
        if int(state["averages"]) < 1 or int(state["work"]) < 0:
            raise ValueError("the kept components must be averages")
        ends = np.cumsum(sizes.reshape(-1))
        parts = np.split(state["kept"], ends[:-1]) if len(ends) else []
        width = sizes.shape[1]
        self.rows = [parts[n : n + width] for n in range(0, len(parts), width or 1)]
        self.stride = int(state["stride"])
        self.averages = int(state["averages"])
        self._work, self._bytes = int(state["work"]), state["kept"].nbytes

    def check_sizes(self, sizes: Sequence[int]) -> None:
        """Refuse components that have more sequences than the players.

        Raises:
            ValueError: If one of them does.
        """
        for row in self.rows:
            if len(row) != len(sizes) or any(map(operator.gt, map(len, row), sizes)):
                raise ValueError("the kept components must fit the players")
