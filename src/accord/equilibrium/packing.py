"""Mixtures in little space, without losing a bit.

A component of a mixture is a probability vector at every infoset. Regret matching leaves little to
say about these vectors: most are pure, infosets that differ only in a suit have the same ones, and
the last positive probability is what the others leave of 1. Call the vectors of one infoset in all
components its *column*. Four arrays hold all columns of a player:

* ``same[x]``, the number of the column of infoset x among the distinct ones, which are numbered in
  the order of their first appearance;
* ``support``, one row per action of a distinct column: for each component a bit that says whether
  the probability is positive, the most significant bit of a byte first;
* ``values``, the positive probabilities, row by row, without the last one of each vector. They are
  ``float64``, little-endian: all their first bytes, then all second bytes, and so on, because
  these are more alike than the bytes of one number;
* ``off``, one row per distinct column: for each component how far the bits of the last positive
  probability, read as an integer, are from those of 1 minus the sum of the others. That is nearly
  always -1, 0 or 1.

All numbers can be packed, but only probabilities become small. Bits that are all 0 are the only
ones that count as no probability.

What remains is mostly the last digits of ``values``, which no gap depends on. Probabilities that
are multiples of 2^-32 need less than half of that room. :func:`round_vectors` makes them such that
each vector sums to 1 exactly, so ``off`` is 0, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit

GRID = 2.0**32
"""Rounded probabilities are multiples of one over this. No gap changes by more than about 1e-9 of
the payoff range."""

PACKED_AT_ONCE = 2**18
"""How many probabilities are packed or unpacked at once, to use little memory."""

Mask = NDArray[np.bool_]
Offsets = NDArray[np.int64]


class Packed(NamedTuple):
    """One player's part of all components."""

    same: NDArray[np.int32]  # [n_infosets]
    support: NDArray[np.uint8]  # [n_rows, n_components / 8]
    values: NDArray[np.uint8]  # [8, n_values]
    off: NDArray[Any]  # [n_columns, n_components] integers


def round_vectors(rows: Floats, n_actions: Ints | Sequence[int]) -> None:
    """Round probabilities in place to multiples of 2^-32; vectors that sum to 1 still do."""
    _round(rows, _offsets(n_actions))


def pack(probabilities: Floats, n_actions: Ints | Sequence[int]) -> Packed:
    """Pack ``[n_components, sum of n_actions]`` probabilities, one infoset after another."""
    count, starts = len(probabilities), _offsets(n_actions)
    same, first_use, stored = _distinct(probabilities, starts)
    sizes = np.asarray(n_actions, np.int64)[first_use]
    rows_of, done = _offsets(sizes), 0
    support = np.empty((rows_of[-1], (count + 7) // 8), np.uint8)
    values = np.empty((8, stored), np.uint8)
    off: NDArray[Any] = np.empty((len(sizes), count), np.int8)
    for first, end in _blocks(rows_of, count):
        steps = np.arange(rows_of[first], rows_of[end])
        steps -= np.repeat(rows_of[first:end], sizes[first:end])
        places = np.repeat(starts[first_use[first:end]], sizes[first:end]) + steps
        rows = np.ascontiguousarray(probabilities[:, places].T)
        bits, given, apart = _pack_columns(rows, sizes[first:end])
        support[rows_of[first] : rows_of[end]] = bits
        values[:, done : done + given.shape[1]] = given
        done += given.shape[1]
        off = off.astype(np.promote_types(off.dtype, apart.dtype), copy=False)
        off[first:end] = apart
    return Packed(same, support, values, off)


def _distinct(probabilities: Floats, starts: Offsets) -> tuple[Ints, Offsets, int]:
    """``same``, the first infoset of each distinct column, and how many values those have."""
    numbers: dict[tuple[int, bytes], int] = {}  # of the distinct columns, by lengths and digests
    same, first_use, stored = np.empty(len(starts) - 1, np.int32), [], 0
    for first, end in _blocks(starts, len(probabilities)):
        rows = np.ascontiguousarray(probabilities[:, starts[first] : starts[end]].T)
        for x in range(first, end):
            column = rows[starts[x] - starts[first] : starts[x + 1] - starts[first]]
            key = len(column), hashlib.blake2b(column.data, digest_size=16).digest()
            if key not in numbers:
                positive = np.count_nonzero(column.view(np.int64), axis=0)
                stored += int(positive.sum()) - int(np.count_nonzero(positive))
                first_use.append(x)
            same[x] = numbers.setdefault(key, len(numbers))
    return same, np.array(first_use, np.int64), stored


def unpack(packed: Packed, n_actions: Ints | Sequence[int], out: Floats) -> None:
    """Overwrite ``out``, ``[n_components, sum of n_actions]``, with what was packed.

    Raises:
        ValueError: If the arrays contradict each other or do not fit ``out``.
    """
    count, starts = len(out), _offsets(n_actions)
    same, support, values, off = packed
    sizes = _checked_sizes(packed, np.asarray(n_actions, np.int64), count)
    by_column = np.argsort(same, kind="stable")
    used, rows_of, done = _offsets(np.bincount(same, minlength=len(sizes))), _offsets(sizes), 0
    for first, end in _blocks(rows_of, count):
        bits = support[rows_of[first] : rows_of[end]]
        positive = np.unpackbits(bits, axis=1, count=count).view(bool)
        columns, taken = _unpack_columns(
            positive, values[:, done:], off[first:end], sizes[first:end]
        )
        done += taken
        infosets = by_column[used[first] : used[end]]
        lengths = sizes[same[infosets]]
        steps = np.arange(lengths.sum()) - np.repeat(_offsets(lengths)[:-1], lengths)
        source = np.repeat(rows_of[same[infosets]] - rows_of[first], lengths) + steps
        out[:, np.repeat(starts[infosets], lengths) + steps] = columns[source].T
    if done != values.shape[1]:
        raise ValueError("there must be as many packed values as positive probabilities need")


def _checked_sizes(packed: Packed, n_actions: Offsets, count: int) -> Offsets:
    """How many actions each distinct column has, if the arrays fit each other."""
    same, support, values, off = packed
    first_use = n_actions[:0]
    if same.shape == n_actions.shape:  # else there may be far too many
        _, first_use = np.unique(same, return_index=True)
    sizes = n_actions[first_use]
    if (
        same.shape != n_actions.shape
        or not np.array_equal(same[first_use], np.arange(len(sizes)))
        or not np.array_equal(sizes[same], n_actions)
        or off.shape != (len(sizes), count)
        or support.shape != (sizes.sum(), (count + 7) // 8)
        or values.shape[:-1] != (8,)
        or not support.dtype == values.dtype == np.uint8
    ):
        raise ValueError("the parts of packed probabilities must fit each other")
    return sizes


def _pack_columns(rows: Floats, sizes: Offsets) -> tuple[Any, Any, Any]:
    """``support``, ``values`` and ``off`` of columns with this many rows each."""
    bits = rows.view(np.int64)
    positive = bits != 0
    stored = _stored(positive, sizes)
    rest = _rest(np.where(stored, rows, 0.0), sizes)
    difference = bits - np.repeat(rest.view(np.int64), sizes, axis=0)
    difference[~positive | stored] = 0
    off = np.add.reduceat(difference, _offsets(sizes)[:-1], axis=0)  # one of each is not 0
    values = rows[stored].astype("<f8").view(np.uint8).reshape(-1, 8).T
    return np.packbits(positive, axis=1), values, _narrowed(off)


def _narrowed(numbers: NDArray[np.int64]) -> NDArray[Any]:
    """``numbers`` in the smallest type of integers that holds them."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    kinds = (np.int8, np.int16, np.int32, np.int64)
    fitting = (k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return numbers.astype(next(fitting))


def _unpack_columns(
    positive: Mask, values: NDArray[np.uint8], off: NDArray[Any], sizes: Offsets
) -> tuple[Floats, int]:
    """The rows of columns, and how many values were taken."""
    stored = _stored(positive, sizes)
    taken = int(stored.sum())
    if taken > values.shape[1]:
        raise ValueError("there must be as many packed values as positive probabilities need")
    rows = np.zeros(positive.shape)
    rows[stored] = np.ascontiguousarray(values[:, :taken].T).view("<f8")[:, 0]
    last = _rest(rows, sizes).view(np.int64) + off
    np.copyto(rows.view(np.int64), np.repeat(last, sizes, axis=0), where=positive & ~stored)
    return rows, taken


def _stored(positive: Mask, sizes: Offsets) -> Mask:
    """Which of the positive probabilities are not the last one of their vector."""
    stored = positive.copy()
    later = np.zeros((len(sizes), positive.shape[1]), bool)
    for columns, rows in reversed(list(_by_action(sizes))):
        stored[rows] &= later[columns]
        later[columns] |= positive[rows]
    return stored


def _rest(known: Floats, sizes: Offsets) -> Floats:
    """1 minus the sum of each vector, added up in the order of the actions."""
    total = np.zeros((len(sizes), known.shape[1]))
    for columns, rows in _by_action(sizes):
        total[columns] += known[rows]
    return 1.0 - total


def _by_action(sizes: Offsets) -> Iterator[tuple[Offsets, Offsets]]:
    """For each number of an action, the columns that have it and the rows where they do."""
    starts = _offsets(sizes)[:-1]
    for action in range(int(sizes.max(initial=0))):
        columns = np.flatnonzero(sizes > action)
        yield columns, starts[columns] + action


def _blocks(starts: Offsets, count: int) -> Iterator[tuple[int, int]]:
    """Ranges of infosets or columns whose rows together have about ``PACKED_AT_ONCE`` numbers."""
    first = 0
    while first < len(starts) - 1:
        room = starts[first] + PACKED_AT_ONCE // max(1, count)
        end = max(first + 1, int(np.searchsorted(starts, room, side="right")) - 1)
        yield first, end
        first = end


def _offsets(sizes: Ints | Sequence[int] | Offsets) -> Offsets:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


@jit
def _round(rows: Floats, starts: Offsets) -> None:
    """Round every number, and let the largest of each vector take the rest."""
    for row in rows:
        for x in range(len(starts) - 1):
            total, largest = 0.0, starts[x]
            for place in range(starts[x], starts[x + 1]):
                rounded = np.rint(row[place] * GRID)
                total += rounded
                row[place] = rounded / GRID
                if row[place] > row[largest]:
                    largest = place
            row[largest] += (GRID - total) / GRID
