"""Flat arrays: their types, the sentinels in them, and arrays that start on a cache line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

CHANCE = -1
"""As a player: nature moves."""

TERMINAL = -2
"""As a player: the play is over."""

NO_NODE = -1
"""As a node: none, such as the parent of the root."""

NO_INFOSET = -1
"""As an infoset: none, such as the one before a player's first decision."""

CACHE_LINE = 64
"""Bytes that come from memory at once."""


def aligned_empty(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new flat array; records whose size divides that of a cache line lie in one line each."""
    n_bytes = size * np.dtype(dtype).itemsize
    room = np.empty(n_bytes + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + n_bytes].view(dtype)


def aligned_concatenate(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Flat arrays of one type, one after the other in a new one."""
    out = aligned_empty(sum(map(len, arrays)), arrays[0].dtype)
    return np.concatenate(arrays, out=out)
