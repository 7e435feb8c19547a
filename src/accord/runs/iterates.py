"""The iterates of a long run that are kept for the saved mixture.

A run of unknown length is thinned on the way: every ``stride``-th iterate is kept, and whenever
twice as many as wanted are kept, every other one is dropped and the stride doubles. The choice
depends only on the number of iterations, not on how they were split into calls. At the end the kept
iterates are thinned evenly to the number wanted, counting back from the last. A learner may also
write averages of a few iterates (``learning/averaging.py``); they are kept in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._arrays import Floats, Ints
from accord.equilibrium.packing import Packed, pack, round_vectors, unpack
from accord.equilibrium.validation import TOLERANCE
from accord.errors import ArgumentError
from accord.treeplex.treeplex import Treeplex

EXACT_BYTES = 2**26
"""If the kept iterates take more memory than this, their probabilities are rounded to multiples of
2^-32, so that they take less room on disk. The learners do not see that, and the gap of the saved
mixture is that of what is saved."""

DEFAULT_COMPONENTS = 1000
FEWEST_COMPONENTS = 50
"""How many components are saved by default: at most, and at least however long it takes."""

DEFAULT_BYTES = 2**30
"""Memory for iterates when the caller does not say how many to keep."""


class Iterates:
    """Evenly spaced iterates of a run.

    Attributes:
        components: How many to save at the end.
        stride: Iterate t is kept if this divides t.
        count: How many are kept now.
        kept: ``[2 * components, n_sequences]`` the kept iterates, in the first ``count`` rows.
        vectors: The lengths of the probability vectors that make up an iterate.
    """

    def __init__(
        self, n_sequences: int, components: int | None = None, vectors: Ints | None = None
    ) -> None:
        if components is None:
            components = self.default_components(n_sequences)
        if components < 1:
            raise ArgumentError(f"components must be at least 1; got {components}")
        self.components = components
        self.vectors = vectors
        self.stride = 1
        self.count = 0
        self.kept = np.zeros((2 * components, n_sequences))  # zeros: pages are allocated when used

    @property
    def packed_bytes(self) -> float:
        """What they take at most in a checkpoint, and a history beside them."""
        return most_packed_bytes(self.kept.shape[1], self.components)

    @staticmethod
    def default_components(n_sequences: int) -> int:
        """How many to save if the caller does not say."""
        return int(max(1, min(DEFAULT_COMPONENTS, DEFAULT_BYTES // (16 * n_sequences))))

    def make_room(self) -> Floats:
        """The rows to write next, at least one; thins the kept iterates if all rows are full."""
        if self.count == len(self.kept):
            self._move(range(1, self.count, 2))
            self.stride *= 2
        return self.kept[self.count :]

    def add(self, rows: int) -> None:
        """Record that ``rows`` more rows were written."""
        if self.vectors is not None and self.kept.nbytes > EXACT_BYTES:
            round_vectors(self.kept[self.count : self.count + rows], self.vectors)
        self.count += rows

    def until_full(self, iteration: int) -> int:
        """How many iterations can run after ``iteration`` before the rows are full."""
        rows = len(self.make_room())  # this may double the stride
        return (iteration // self.stride + rows) * self.stride - iteration

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        packed = self.packed(self.kept[: self.count])
        return {"stride": np.array(self.stride), **packed._asdict()}

    def packed(self, behaviors: Floats) -> Packed:
        """Some of the iterates as a checkpoint has them."""
        return pack(behaviors, self._vectors())

    def latest(self, count: int) -> tuple[np.ndarray, Floats]:
        """``(iterations, behaviors)`` of the last kept iterates, at most ``count``."""
        first = max(0, self.count - count)
        return np.arange(first + 1, self.count + 1) * self.stride, self.kept[first : self.count]

    def restore(self, state: dict[str, Any], iteration: int) -> None:
        """Restore a saved :meth:`state` of a run after ``iteration``.

        Raises:
            LookupError, TypeError, ValueError: If it is not one.
        """
        stride, count = _stride(state), _count(state)
        if count != iteration // stride or count > len(self.kept):
            raise ValueError("the kept iterates do not fit the run")
        self.count, self.stride = count, stride
        _read_rows(state, self._vectors(), self.kept[:count])
        if self.vectors is not None:
            _check_rows(self.kept[:count], self.vectors)

    def _vectors(self) -> Ints:
        return np.ones(self.kept.shape[1], np.int32) if self.vectors is None else self.vectors

    def selected(self) -> tuple[np.ndarray, Floats]:
        """``(iterations, behaviors)`` of at most ``components`` evenly spaced iterates."""
        index = self.selection()
        whole = len(index) == self.count
        return (index + 1) * self.stride, self.kept[: self.count] if whole else self.kept[index]

    def taken(self) -> tuple[np.ndarray, Floats]:
        """As :meth:`selected`, in the memory of the kept iterates, which are then gone."""
        index = self.selection()
        self._move(index.tolist())
        taken, self.kept, self.count = self.kept, np.empty((0, self.kept.shape[1])), 0
        try:
            taken.resize((len(index), taken.shape[1]))
        except ValueError:  # somebody holds a view
            taken = taken[: len(index)].copy()
        taken.flags.writeable = False
        return (index + 1) * self.stride, taken

    def selection(self) -> np.ndarray:
        """The rows of the iterates to save."""
        if self.count <= self.components:
            return np.arange(self.count)
        return np.round(np.linspace(self.count - 1, 0, self.components)).astype(int)[::-1]

    def _move(self, rows: Sequence[int]) -> None:
        """Keep only these rows, which ascend; one by one, which takes no memory."""
        for place, row in enumerate(rows):
            if place != row:
                self.kept[place] = self.kept[row]
        self.count = len(rows)


def vectors_of(plexes: Sequence[Treeplex]) -> Ints:
    """The lengths of the probability vectors in a joint behaviour of all players."""
    return np.concatenate([np.append(1, plex.n_actions) for plex in plexes]).astype(np.int32)


def most_packed_bytes(n_sequences: int, components: int | None) -> float:
    """What the iterates of a checkpoint take at most, and the history beside them."""
    components = components or Iterates.default_components(n_sequences)
    return 2.0**26 + 1.1 * 16.0 * n_sequences * components


def read_iterates(state: dict[str, Any], vectors: Ints) -> tuple[np.ndarray, Floats]:
    """``(iterations, behaviors)`` of all iterates in a saved state.

    Raises:
        LookupError, TypeError, ValueError: If it is not one.
    """
    behaviors = np.empty((_count(state), int(vectors.sum())))
    _read_rows(state, vectors, behaviors)
    _check_rows(behaviors, vectors)
    return np.arange(1, len(behaviors) + 1) * _stride(state), behaviors


def _stride(state: dict[str, Any]) -> int:
    if (stride := int(state["stride"])) < 1:
        raise ValueError("the stride of kept iterates must be positive")
    return stride


def _count(state: dict[str, Any]) -> int:
    """How many iterates there are."""
    return int(state["off"].shape[1])


def _read_rows(state: dict[str, Any], vectors: Ints, out: Floats) -> None:
    unpack(Packed(*(state[name] for name in Packed._fields)), vectors, out)


def _check_rows(rows: Floats, vectors: Ints) -> None:
    """Refuse iterates that are not probabilities, one by one, which takes no memory."""
    first = np.cumsum(vectors) - vectors
    for row in rows:
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(np.add.reduceat(row, first) - 1.0)
        if not (row >= 0.0).all() or not (off <= TOLERANCE).all():
            raise ValueError("the kept iterates must be probabilities")
