"""Labels of infosets and actions that nobody wrote down.

A generated game may have millions of infosets. Their labels are their numbers, made when asked for,
so that no Python object per infoset is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class NumberedLabels(Sequence[str]):
    """The labels ``"0"``, ``"1"``, ...; ``numbers`` renames entry ``x`` to ``numbers[x]``."""

    def __init__(self, numbers: NDArray[np.integer[Any]]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return NumberedLabels(self._numbers[index])
        return str(self._numbers[index])


class NumberedActions(Sequence[tuple[str, ...]]):
    """The actions ``("0", "1", ...)`` of each infoset, as many as ``n_actions[x]``."""

    def __init__(self, n_actions: NDArray[np.integer[Any]]) -> None:
        self._n_actions = n_actions

    def __len__(self) -> int:
        return len(self._n_actions)

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[str, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        if isinstance(index, slice):
            return NumberedActions(self._n_actions[index])
        return tuple(map(str, range(self._n_actions[index])))
