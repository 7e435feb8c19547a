"""K, the number of recommendations that a deviator may see and disobey.

K = 0 is the coarse correlated equilibrium (NFCCE), K = 1 the extensive-form one (EFCE), K =
infinity the behavioural one (BCE). Nobody can disobey more often than they decide, so every
algorithm works with ``min(K, H)``. Files, tables and the command line write a number or ``"inf"``,
formulas a number or the symbol of infinity.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, SupportsIndex

from accord.errors import ArgumentError

if TYPE_CHECKING:  # for the command line, which must start quickly
    from accord.treeplex.treeplex import Treeplex

NAMES: dict[float, str] = {0: "NFCCE", 1: "EFCE", math.inf: "BCE"}
"""The K-EFCEs that had a name before the paper."""


def checked_k(k: SupportsIndex | float) -> float:
    """``k`` as a number: a whole number of deviations, or ``math.inf``.

    Raises:
        ArgumentError: If it is negative, fractional or not a number.
    """
    if isinstance(k, float) and k == math.inf:
        return math.inf
    try:
        whole = operator.index(k)  # type: ignore[arg-type]
    except TypeError:
        whole = -1
    if isinstance(k, bool) or whole < 0:
        raise ArgumentError(
            f"k must be a whole number of deviations, 0 or more, or infinity; got {k!r}"
        )
    return whole


def clipped_k(plex: Treeplex, k: SupportsIndex | float) -> int:
    """min(K, H): a player cannot deviate more often than they decide."""
    return int(min(checked_k(k), plex.horizon))


def written_k(k: float) -> int | str:
    """``k`` in files, tables and the command line; JSON has no infinity."""
    return "inf" if math.isinf(k) else int(k)


def k_symbol(k: float) -> str:
    """``k`` in a formula."""
    return "∞" if math.isinf(k) else str(int(k))


def notion(k: float) -> str:
    """The equilibrium that allows ``k`` deviations, by its name if it has one."""
    return NAMES.get(k, "K-EFCE")


def read_k(written: int | str) -> float:
    """What :func:`written_k` wrote.

    Raises:
        ArgumentError: If it is something else.
    """
    if written == "inf":
        return math.inf
    try:
        if isinstance(written, bool):
            raise TypeError
        return operator.index(written)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f'k must be a whole number or "inf"; got {written!r}') from None
