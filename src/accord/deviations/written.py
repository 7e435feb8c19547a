"""K as files, tables and the command line have it: a number, or ``"inf"``."""

from __future__ import annotations

import math
import operator

from accord.errors import ArgumentError


def written_k(k: float) -> int | str:
    """``k`` as it is written; JSON has no infinity."""
    return "inf" if math.isinf(k) else int(k)


def read_k(written: int | str) -> float:
    """What :func:`written_k` wrote.

    Raises:
        ArgumentError: If it is something else.
    """
    if written == "inf":
        return math.inf
    try:
        return operator.index(written)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f'k must be a whole number or "inf"; got {written!r}') from None
