"""Arrays that start where a cache line does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
