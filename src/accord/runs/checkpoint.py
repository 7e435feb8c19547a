"""The gap and values at one moment of a run, an entry of its history and ``progress.jsonl``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from accord.equilibrium.rounding import Measured


@dataclass(frozen=True)
class Progressed:
    """How far ``optimize`` is."""

    value: float | None  # of the objective; None before there is an equilibrium
    bound: float  # what no equilibrium can beat
    proof: str  # where the bound comes from
    columns: int  # joint plans in the program

    @classmethod
    def from_json(cls, line: Any) -> Progressed:
        """Read the entries of a line."""
        value = None if line["value"] is None else float(line["value"])
        return cls(value, float(line["bound"]), str(line["proof"]), int(line["columns"]))


@dataclass(frozen=True)
class Checkpoint:
    """The gap and values after some iterations."""

    iteration: int
    gap: float  # payoff units, maximum over players; NaN if unknown
    player_gaps: tuple[float, ...]  # per player; empty if unknown
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    seconds: float  # since the start
    episodes: int | None = None  # played so far; None if the run plays none
    best: Progressed | None = None  # how far the search for the best equilibrium is
    error: float = 0.0  # exact gaps differ from these by at most this much
    value_error: float = 0.0  # the same for values

    def reaches(self, target: float) -> bool:
        """Whether the gap is at most ``target``, whatever its error."""
        return self.gap + self.error <= target

    def to_json(self) -> dict[str, Any]:
        """A line of ``progress.jsonl``."""
        line = {
            "iteration": self.iteration,
            "gap": self.gap,
            "players": list(self.player_gaps),
            "error": self.error,
            "values": list(self.values),
            "value_error": self.value_error,
            "seconds": self.seconds,
        }
        if self.episodes is not None:
            line["episodes"] = self.episodes
        return line if self.best is None else {**line, **vars(self.best)}

    @classmethod
    def from_json(cls, line: Any) -> Checkpoint:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: If ``line`` is something else.
        """
        try:
            player_gaps, values = (tuple(map(float, line[key])) for key in ("players", "values"))
            iteration, seconds = int(line["iteration"]), float(line["seconds"])
            episodes = None if line.get("episodes") is None else int(line["episodes"])
            best = Progressed.from_json(line) if "bound" in line else None
            errors = [float(line.get(key, 0.0)) for key in ("error", "value_error")]
        except (AttributeError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"not a checkpoint: {error}") from None
        numbers = (*player_gaps, *values, *errors, seconds)
        counted = iteration >= 1 and (episodes is None or episodes >= 0)
        if not player_gaps or not counted or not all(map(math.isfinite, numbers)):
            raise ValueError("a checkpoint needs an iteration and finite gaps, values and seconds")
        return cls(
            iteration, max(player_gaps), player_gaps, values, seconds, episodes, best, *errors
        )


def numbers(measured: Measured) -> dict[str, Any]:
    """The gaps and values of a :class:`Checkpoint`, or of the result of a run, by name."""
    return {
        "gap": float(measured.gaps.max()),
        "player_gaps": tuple(measured.gaps.tolist()),
        "error": float(measured.errors.max()),
        "values": tuple(measured.values.tolist()),
        "value_error": float(measured.value_errors.max()),
    }
