"""The components of a run that are kept for the saved mixture: iterates, or averages of a few.

A run of unknown length is thinned on the way: every ``stride``-th component is kept, and whenever
twice as many as wanted are kept, every other one is dropped and the stride doubles. The choice
depends only on the number of iterations, not on how they were split into calls. At the end the kept
components are thinned evenly to the number wanted, counting back from the last.

If the infosets are known from the start, components are the rows of one matrix, which kernels write
(:class:`ComponentMatrix`). If players keep meeting new infosets, a component covers those that were
known when it was made (:class:`Ragged`). At all others every policy of that moment was uniform, so
they are filled in at the end. Nobody knows in advance how many infosets there will be, and a
component costs as much time as the decisions of as many plays as there are infosets. So these
components are also thinned when they take too much memory, or have taken more time than the plays.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accord._arrays import Floats, Ints
from accord.equilibrium.packing import Packed, pack, round_vectors, unpack
from accord.equilibrium.validation import SUM_TOLERANCE
from accord.errors import ArgumentError
from accord.treeplex.treeplex import Treeplex

EXACT_BYTES = 2**26
"""If the kept components take more memory than this, their probabilities are rounded to multiples
of 2^-32, so that they take less room on disk. The learners do not see that, and the gap of the
saved mixture is that of what is saved."""

DEFAULT_COMPONENTS = 1000
FEWEST_COMPONENTS = 50
"""How many components are saved by default: at most, and at least however long it takes."""

DEFAULT_BYTES = 2**30
"""Memory for components when the caller does not say how many to keep."""


class Components:
    """Evenly spaced components of a run.

    Args:
        wanted: How many to save at the end; by default 1,000, or as many as fit into memory.
        vectors: The lengths of the probability vectors that make up a component, if they are known
            from the start (:func:`vectors_of`); ``None`` if players keep meeting new infosets.
        iterations: How many there will be, if that is known.
        averages: How many iterates a component averages.
        most_bytes: The memory that components of unknown length may take.

    Attributes:
        wanted: How many to save at the end, at most.
        stride: A component is kept after this many iterations.
        averages: How many iterates a component averages now.
        rows: The kept components.
        thinnings: How often some of them were dropped; who has measured them then starts again.
    """

    def __init__(
        self,
        wanted: int | None = None,
        vectors: Ints | None = None,
        *,
        iterations: int | None = None,
        averages: int = 1,
        most_bytes: int | None = None,
    ) -> None:
        self._chosen = wanted is not None
        self._most_bytes = DEFAULT_BYTES if most_bytes is None else most_bytes
        if wanted is None:
            n_sequences = 0 if vectors is None else int(vectors.sum())
            wanted = default_components(n_sequences) if n_sequences else DEFAULT_COMPONENTS
        if wanted < 1:
            raise ArgumentError(f"components must be at least 1; got {wanted}")
        self.wanted = wanted
        self.stride = 1 if iterations is None else max(1, iterations // wanted)
        self.averages = averages
        self.rows: ComponentMatrix | Ragged = (
            Ragged() if vectors is None else ComponentMatrix(vectors, 2 * wanted)
        )
        self.thinnings = self._work = 0

    @property
    def count(self) -> int:
        """How many are kept now."""
        return self.rows.count

    @property
    def matrix(self) -> ComponentMatrix:
        """The kept components, if their lengths are known from the start."""
        assert isinstance(self.rows, ComponentMatrix)
        return self.rows

    def make_room(self) -> Any:
        """Where learners write the next components, with room for at least one.

        It is the rest of the matrix, or else this object, to which they append.
        """
        if self.count >= 2 * self.wanted:
            self._thin()
        return self.rows.kept[self.count :] if isinstance(self.rows, ComponentMatrix) else self

    def add(self, rows: int) -> None:
        """Record that ``rows`` more rows were written to the matrix."""
        if isinstance(self.rows, ComponentMatrix):
            self.rows.add(rows)

    def append(self, row: list[Floats], *, work: int, visits: int) -> None:
        """Keep a component: the policy of each player over the sequences known so far.

        It took ``work``; plays have taken ``visits`` so far.
        """
        assert isinstance(self.rows, Ragged)
        self.rows.append(row)
        self._work += work
        while self.rows.n_bytes > self._most_bytes and self.count > 1:
            self._thin()
        if self._work > visits:  # fewer iterates per component first, then fewer components
            if self.averages > 1:
                self.averages -= 1
            elif not self._chosen and self.count >= 2 * FEWEST_COMPONENTS:
                self._thin()

    def until_full(self, iteration: int) -> int:
        """How many iterations can run after ``iteration`` before there is no room."""
        self.make_room()  # this may double the stride
        free = 2 * self.wanted - self.count
        return (iteration // self.stride + free) * self.stride - iteration

    def _thin(self) -> None:
        """Drop every other component."""
        self.rows.select(range(1, self.count, 2))
        self.stride *= 2
        self.thinnings += 1

    def selection(self) -> np.ndarray:
        """The numbers of the components to save."""
        if self.count <= self.wanted:
            return np.arange(self.count)
        return np.round(np.linspace(self.count - 1, 0, self.wanted)).astype(int)[::-1]

    def times(self) -> np.ndarray:
        """The iterations after which the kept components were made."""
        return np.arange(1, self.count + 1) * self.stride

    def take(self) -> np.ndarray:
        """Keep only the components to save, for which this needs no memory; return their times.

        No component can be added afterwards.
        """
        index = self.selection()
        times: np.ndarray = self.times()[index]
        self.rows.select(index.tolist())
        return times

    @property
    def packed_bytes(self) -> float:
        """What they take at most in a checkpoint, and a history beside them."""
        if isinstance(self.rows, Ragged):
            return math.inf
        return most_packed_bytes(self.rows.kept.shape[1], self.wanted)

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        return {
            "stride": np.array(self.stride),
            "work": np.array(self._work),
            "averages": np.array(self.averages),
            **self.rows.state(),
        }

    def restore(self, state: dict[str, Any], iteration: int, sizes: Sequence[int]) -> None:
        """Restore a :meth:`state` that was saved after ``iteration``.

        ``sizes`` are the numbers of sequences that the players know now.

        Raises:
            LookupError, TypeError, ValueError: If it is not one.
        """
        stride, averages, work = (int(state[name]) for name in ("stride", "averages", "work"))
        if min(stride, averages) < 1 or work < 0:
            raise ValueError("the kept components must be averages, a positive stride apart")
        self.rows.restore(state, sizes)
        self.stride, self.averages, self._work = stride, averages, work
        # If an iteration fails, its component has been kept, and it is made again.
        last = int(self.times()[-1]) if self.count else 0
        if not -1 <= iteration - last < stride:
            raise ValueError("the kept components contradict the number of iterations")


class JointMixture(Components):
    """Components that are made together, and all replaced by the next ones.

    Attributes:
        stride: How often they have been replaced.
        follow: Called with the behaviors of each player when they are restored.
    """

    def __init__(
        self,
        wanted: int | None = None,
        vectors: Ints | None = None,
        *,
        follow: Callable[[list[Floats]], object] | None = None,
    ) -> None:
        super().__init__(wanted, vectors)
        self.follow = follow

    def replace(self, parts: list[Floats]) -> list[Floats]:
        """Keep these components: ``[n_components, n_sequences]`` for each player.

        Returns them as they are kept: they may have been rounded.
        """
        self.stride += 1
        self.thinnings += 1
        if isinstance(self.rows, ComponentMatrix):
            self.rows = ComponentMatrix(self.rows.vectors, len(parts[0]))
            np.concatenate(parts, axis=1, out=self.rows.kept)
            self.rows.add(len(parts[0]))
        else:
            self.rows = Ragged()
            for row in zip(*parts, strict=True):
                self.rows.append(list(row))
        return self._parts([part.shape[1] for part in parts])

    def make_room(self) -> JointMixture:
        """This object, whose components are replaced."""
        return self

    def until_full(self, iteration: int) -> int:
        """There is always room."""
        return sys.maxsize

    def selection(self) -> np.ndarray:
        """All components are saved."""
        return np.arange(self.count)

    def restore(self, state: dict[str, Any], iteration: int, sizes: Sequence[int]) -> None:
        """Restore a :meth:`state`; raises what :meth:`Components.restore` does."""
        if isinstance(self.rows, ComponentMatrix):
            self.rows = ComponentMatrix(self.rows.vectors, int(state["off"].shape[1]))
        self.rows.restore(state, sizes)
        self.stride = int(state["stride"])
        if self.follow is not None and self.count:
            self.follow(self._parts(sizes))

    def _parts(self, sizes: Sequence[int]) -> list[Floats]:
        """``[n_components, n_sequences]`` for each player."""
        if isinstance(self.rows, ComponentMatrix):
            kept = self.rows.kept[: self.count].copy()
            return np.split(kept, np.cumsum(sizes)[:-1], axis=1)
        return [np.stack(part) for part in zip(*self.rows.parts, strict=True)]


class ComponentMatrix:
    """Components that all cover the same sequences.

    Attributes:
        kept: ``[capacity, n_sequences]`` the components, in the first ``count`` rows.
        count: How many there are.
        vectors: The lengths of the probability vectors that make up a component.
    """

    def __init__(self, vectors: Ints, capacity: int) -> None:
        self.vectors, self.count = vectors, 0
        self.kept = np.zeros((capacity, int(vectors.sum())))  # pages are allocated when used

    def add(self, rows: int) -> None:
        """Record that ``rows`` more rows were written."""
        if self.kept.nbytes > EXACT_BYTES:
            round_vectors(self.kept[self.count : self.count + rows], self.vectors)
        self.count += rows

    def select(self, index: Sequence[int]) -> None:
        """Keep only these rows, which ascend; one by one, which takes no memory."""
        for place, row in enumerate(index):
            if place != row:
                self.kept[place] = self.kept[row]
        self.count = len(index)

    def behaviors(self) -> Floats:
        """``[count, n_sequences]`` the components, in the memory of the matrix, which is gone."""
        taken, self.kept = self.kept, np.empty((0, self.kept.shape[1]))
        try:
            taken.resize((self.count, taken.shape[1]))
        except ValueError:  # somebody holds a view
            taken = taken[: self.count].copy()
        self.count = 0
        taken.flags.writeable = False
        return taken

    def packed(self, behaviors: Floats) -> Packed:
        """Some of the components as a checkpoint has them."""
        return pack(behaviors, self.vectors)

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        return self.packed(self.kept[: self.count])._asdict()

    def restore(self, state: dict[str, Any], sizes: Sequence[int]) -> None:
        """Restore a saved :meth:`state`; refuse what is not a row of probabilities."""
        count = int(state["off"].shape[1])
        if count > len(self.kept) or sum(sizes) != self.kept.shape[1]:
            raise ValueError("the kept components do not fit the run")
        self.count, rows = count, self.kept[:count]
        unpack(Packed(*(state[name] for name in Packed._fields)), self.vectors, rows)
        first = np.cumsum(self.vectors) - self.vectors
        for row in rows:  # one by one, which takes no memory
            with np.errstate(over="ignore", invalid="ignore"):
                off = np.abs(np.add.reduceat(row, first) - 1.0)
            if not (row >= 0.0).all() or not (off <= SUM_TOLERANCE).all():
                raise ValueError("the kept components must be probabilities")


class Ragged:
    """Components that each cover the sequences known when they were made.

    Attributes:
        parts: For each component the policy of each player.
        n_bytes: The memory that they take.
    """

    def __init__(self) -> None:
        self.parts: list[list[Floats]] = []
        self.n_bytes = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.parts)

    def append(self, row: list[Floats]) -> None:
        """Keep a component."""
        self.parts.append(row)
        self.n_bytes += sum(part.nbytes for part in row)

    def select(self, index: Sequence[int]) -> None:
        """Keep only these components, which ascend."""
        self.parts = [self.parts[n] for n in index]
        self.n_bytes = sum(part.nbytes for row in self.parts for part in row)

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        sizes = [[len(part) for part in row] for row in self.parts]
        parts = [part for row in self.parts for part in row]
        return {
            "sizes": np.array(sizes, np.int64).reshape(self.count, -1 if sizes else 0),
            "kept": np.concatenate(parts) if parts else np.empty(0),
        }

    def restore(self, state: dict[str, Any], sizes: Sequence[int]) -> None:
        """Restore a saved :meth:`state`; refuse components that do not fit the players."""
        known, kept = state["sizes"], state["kept"]
        if known.ndim != 2 or known.dtype.kind != "i" or known.min(initial=1) < 1:
            raise ValueError("the kept components must have sizes")
        if kept.shape != (known.sum(),) or kept.dtype != np.float64:
            raise ValueError("the kept components must have their sizes")
        if not ((kept >= 0.0) & (kept <= 1.0)).all():
            raise ValueError("the kept components must be probabilities")
        for row in known.tolist():
            if len(row) != len(sizes) or any(map(operator.gt, row, sizes)):
                raise ValueError("the kept components must fit the players")
        parts = iter(np.split(kept, np.cumsum(known.reshape(-1))))
        self.parts = [[next(parts) for _ in row] for row in known]
        self.n_bytes = kept.nbytes


def default_components(n_sequences: int) -> int:
    """How many components to save if the caller does not say."""
    return int(max(1, min(DEFAULT_COMPONENTS, DEFAULT_BYTES // (16 * n_sequences))))


def vectors_of(plexes: Sequence[Treeplex]) -> Ints:
    """The lengths of the probability vectors in a joint behavior of all players."""
    return np.concatenate([np.append(1, plex.n_actions) for plex in plexes]).astype(np.int32)


def most_packed_bytes(n_sequences: int, components: int | None) -> float:
    """What the components of a checkpoint take at most, and the history beside them."""
    components = components or default_components(n_sequences)
    return 2.0**26 + 1.1 * 16.0 * n_sequences * components
