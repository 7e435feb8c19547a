"""Flat arrays: their types, their sentinels, and arrays that start on a cache line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

CHANCE = -1
"""Stands for a player at chance nodes."""

TERMINAL = -2
"""Stands for a player where the play is over."""

NO_NODE = -1
"""Stands for a node where there is none, such as the parent of the root."""

NO_INFOSET = -1
"""Stands for an infoset where there is none, such as before a player's first decision."""

CACHE_LINE = 64
"""Bytes that a processor fetches from memory at once."""


def aligned_empty(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new flat array. If the item size divides a cache line, no item crosses two lines."""
    n_bytes = size * np.dtype(dtype).itemsize
    room = np.empty(n_bytes + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + n_bytes].view(dtype)


def aligned_concatenate(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """A new array that joins flat arrays of one type."""
    out = aligned_empty(sum(map(len, arrays)), arrays[0].dtype)
    return np.concatenate(arrays, out=out)


def with_room(array: NDArray[Any], size: int, fill: float = 0.0) -> NDArray[Any]:
    """``array`` if it has ``size`` items, else a copy that is at least twice as long.

    The items after those of ``array`` are ``fill``.
    """
    if size <= len(array):
        return array
    larger = aligned_empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    larger[len(array) :] = np.zeros(1, array.dtype) if fill == 0.0 else fill
    return larger
