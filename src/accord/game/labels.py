"""Labels that are numbers, made on demand, and names of players in sentences.

A generated game may have millions of infosets without labels of their own. Each is labeled by its
number when the label is asked for, so no Python object per infoset is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from accord._format import player_name
from accord.errors import ArgumentError

__all__ = ["NumberedActions", "NumberedLabels", "as_players", "committed", "player_name"]


def as_players(given: str | Iterable[str], labels: Sequence[str]) -> tuple[int, ...]:
    """The players with the labels ``given``, one or several, by number and each once.

    Raises:
        ArgumentError: If there is no such player.
    """
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in labels:
            known = ", ".join(map(repr, labels))
            raise ArgumentError(f"there is no player {name!r}; the players are {known}")
    return tuple(i for i, label in enumerate(labels) if label in names)


def committed(labels: Sequence[str]) -> str:
    """The players who commit, at the end of a phrase; nothing if there are none."""
    return f" with {' and '.join(map(player_name, labels))} committed" if labels else ""


class NumberedLabels(Sequence[str]):
    """The label of entry ``x`` is the number ``numbers[x]``."""

    def __init__(self, numbers: NDArray[np.integer[Any]]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return NumberedLabels(self.numbers[index])
        return str(self.numbers[index])

    def __iter__(self) -> Iterator[str]:
        return map(str, self.numbers.tolist())

    def are_permutation(self, size: int) -> bool:
        """Whether the labels are the numbers ``0..size-1``, each once, in any order."""
        return np.array_equal(np.sort(self.numbers), np.arange(size))


class NumberedActions(Sequence[tuple[str, ...]]):
    """The actions of entry ``x`` are ``("0", "1", ...)``, ``numbers[x]`` in all."""

    def __init__(self, numbers: NDArray[np.integer[Any]]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[str, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        if isinstance(index, slice):
            return NumberedActions(self.numbers[index])
        return tuple(map(str, range(self.numbers[index])))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        rows = {n: tuple(map(str, range(n))) for n in np.unique(self.numbers).tolist()}
        return map(rows.__getitem__, self.numbers.tolist())
