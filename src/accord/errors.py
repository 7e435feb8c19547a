"""The errors that Accord raises on purpose.

A message says what must hold, what was found and where, and what to try. Each error also derives
from the built-in exception that a caller would catch without knowing Accord.
"""

from __future__ import annotations

import re
from typing import Any

from accord._format import LONGEST_MESSAGE, listed, player_name, safe


class AccordError(Exception):
    """Base of every error that Accord raises on purpose.

    Labels from files and environments get into messages: ``str`` shows control characters as
    escapes, and leaves out the middle of a message that is very long.

    Attributes:
        learned: What had been learned before, if :func:`accord.learn` was playing an environment.
    """

    learned: Any = None

    def __str__(self) -> str:
        return safe(super().__str__(), LONGEST_MESSAGE)


class ArgumentError(AccordError, ValueError):
    """An argument outside its range, such as ``k = 1.5``."""


class GameError(AccordError, ValueError):
    """The input is not a finite extensive-form game with perfect recall."""


class ImperfectRecallError(GameError):
    """At some infoset a player has forgotten something that they knew or did.

    Attributes:
        player: Label of the player.
        infoset: Label of the infoset whose nodes disagree.
        histories: Two of the player's own histories, as ``((infoset, action), ...)`` in labels,
            that lead to that infoset.
    """

    def __init__(
        self,
        player: str,
        infoset: str,
        histories: tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]],
    ) -> None:
        self.player, self.infoset, self.histories = player, infoset, histories
        one, other = (_own_history(history) for history in histories)
        super().__init__(
            f"perfect recall must hold, but {player_name(player)} forgets at infoset "
            f"{infoset!r}: it is reached both after {one} and after {other}; "
            "split the infoset by what the player has seen and done"
        )

    def advise(self, advice: str | None) -> None:
        """Say what else to try."""
        if advice is not None:
            self.args = (f"{self}; {advice}",)


class ParseError(AccordError, ValueError):
    """A file that cannot be read. ``line`` and ``column`` count from 1; 0 means the whole file."""

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        self.path, self.line, self.column = path, line, column
        place = f"{path}:{line}:{column}" if line else path
        super().__init__(f"{place}: {message}")


class PolicyError(AccordError, ValueError):
    """An invalid policy, such as one with a negative probability or a missing infoset."""


class MismatchError(AccordError, ValueError):
    """Two things that do not belong together, such as a game and a policy of another game."""


class MediatorError(AccordError, RuntimeError):
    """A request that the mediator must refuse, such as a recommendation after the K-th deviation.

    The play continues as if the request had not been made.
    """


class BudgetError(AccordError, MemoryError):
    """A task needs more memory or work than is available; raised before anything is allocated."""

    def __init__(self, message: str, required: int, available: int) -> None:
        self.required, self.available = required, available
        super().__init__(message)


class NumericalError(AccordError, ArithmeticError):
    """A computation produced infinity or NaN."""


class SimulatorError(AccordError, RuntimeError):
    """An environment raised an exception, its ``__cause__``, while it was played."""


class SweepError(AccordError, RuntimeError):
    """Some tasks of a sweep failed: ``failed`` maps names to messages. The others are done."""

    def __init__(self, failed: dict[str, str], total: int) -> None:
        self.failed = failed
        what = listed([f"{name}: {message}" for name, message in failed.items()])
        rest = ", the others are done" if len(failed) < total else ""
        super().__init__(f"{len(failed)} of {total} tasks failed{rest}: {what}")


class MissingDependencyError(AccordError, ImportError):
    """A dependency is not installed; ``extra`` is the extra of Accord that needs it.

    The message names the packages, not the extra: the name of this project on the public index
    belongs to nobody yet, and whoever takes it would be installed.
    """

    def __init__(self, package: str, extra: str | None = None) -> None:
        self.extra = extra
        needed = _packages_of(extra) if extra else []
        what = " ".join(f"'{one}'" for one in needed) or package
        super().__init__(
            f"{package} is needed for this but is not installed; try: pip install {what}"
        )


def _packages_of(extra: str) -> list[str]:
    """What an extra installs, as the metadata of the installed Accord has it."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("accord") or []
    except PackageNotFoundError:
        return []
    parts = [line.partition(";") for line in lines]
    return [
        name.strip()
        for name, _, marker in parts
        if re.search(f"extra == ['\"]{extra}['\"]", marker)
    ]


def _own_history(history: tuple[tuple[str, str], ...]) -> str:
    if not history:
        return "no own decision"
    steps = [f"{action!r} at {infoset!r}" for infoset, action in history]
    return listed(steps, LONGEST_MESSAGE // 4, ", ")
