"""What is known at one moment of a run: an entry of its history and of ``progress.jsonl``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import Measured
from accord.errors import ArgumentError


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
class Seen:
    """What plays in an environment have shown, and what they leave unknown."""

    infosets: int  # of all players that are in the tables
    memory: int  # bytes of the tables
    margins: tuple[float, ...]  # half the widths of the 95% confidence intervals of the values
    full: bool = False  # whether the tables have reached their limit
    coverage: float | None = None  # share of recent obedient decisions at infosets in the tables
    lower: float | None = None  # bounds on the gap of the mixture of this moment, from plays that
    upper: float | None = None  # were made for it alone; None if there were none

    @classmethod
    def from_json(cls, line: Any) -> Seen:
        """Read the entries of a line."""
        margins = tuple(math.nan if one is None else float(one) for one in line["margins"])
        coverage = None if line.get("coverage") is None else float(line["coverage"])
        counts = int(line["infosets"]), int(line["memory"])
        ends = (line.get("lower"), line.get("upper"))
        bounds = (None if end is None else float(end) for end in ends)
        return cls(*counts, margins, bool(line["full"]), coverage, *bounds)

    def to_json(self) -> dict[str, Any]:
        """The entries of a line."""
        margins = [None if math.isnan(margin) else margin for margin in self.margins]
        return {**vars(self), "margins": margins}


@dataclass(frozen=True)
class RegionProgress:
    """How far :func:`accord.region` is."""

    directions: int  # in which a farthest point was looked for
    vertices: int  # of all polygons
    error: float  # the largest of all polygons, in units of the payoff ranges


class PolicyNow:
    """The mixture of a moment, made on demand until it is over."""

    def __init__(self, make: Callable[[], CorrelatedPolicy | None]) -> None:
        self._make: Callable[[], CorrelatedPolicy | None] | None = make
        self._made: CorrelatedPolicy | None = None
        self._known = False

    def policy(self) -> CorrelatedPolicy | None:
        """The mixture."""
        if not self._known:
            if self._make is None:
                raise ArgumentError(
                    "the policy of a checkpoint must be asked for while progress is called with "
                    "it; the learners have moved on"
                )
            self._made, self._known = self._make(), True
        return self._made

    def end(self) -> None:
        """Let the learners go."""
        self._make = None


@dataclass(frozen=True)
class Checkpoint:
    """The gap and values after some iterations, or how far a search is.

    In an environment whose game is not known the gap is not known either, and values are mean
    payoffs of the episodes in which everybody followed the policies of that moment.
    """

    iteration: int
    gap: float  # payoff units, maximum over players; NaN if unknown
    player_gaps: tuple[float, ...]  # per player; empty if unknown
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    seconds: float  # since the start
    episodes: int | None = None  # played so far; None if the run plays none
    best: Progressed | None = None  # how far the search for the best equilibrium is
    error: float = 0.0  # exact gaps differ from these by at most this much
    value_error: float = 0.0  # exact values differ from these by at most this much
    seen: Seen | None = None  # in an environment
    covered: float | None = None  # share of the game's ends that joint plays have shown, estimated
    region: RegionProgress | None = None  # of a region, which has no gap and is not kept in files
    fresh: int | None = None  # plays after the last episode, to measure the result; not kept
    moment: PolicyNow | None = field(default=None, repr=False, compare=False)  # not kept

    @property
    def policy(self) -> CorrelatedPolicy | None:
        """The mixture that a run would save now, made when it is first asked for.

        It is there while ``progress`` is called with the checkpoint. None if nothing has been kept
        yet, and for runs that have no mixture until they end.

        Raises:
            ArgumentError: If it is first asked for later, when the learners have moved on.
        """
        return None if self.moment is None else self.moment.policy()

    @property
    def is_known(self) -> bool:
        """Whether there is more in it than the time."""
        return bool(self.player_gaps) or self.seen is not None or self.region is not None

    def reaches(self, target: float) -> bool:
        """Whether the gap is at most ``target``, whatever its error."""
        return self.gap + self.error <= target

    def to_json(self) -> dict[str, Any]:
        """A line of ``progress.jsonl``."""
        line = {
            "iteration": self.iteration,
            "gap": self.gap if self.player_gaps else None,
            "players": list(self.player_gaps),
            "error": self.error,
            "values": list(self.values),
            "value_error": self.value_error,
            "seconds": self.seconds,
        }
        if self.episodes is not None:
            line["episodes"] = self.episodes
        if self.best is not None:
            line |= vars(self.best)
        if self.seen is not None:
            line |= self.seen.to_json()
        if self.covered is not None:
            line["covered"] = self.covered
        return line

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
            seen = Seen.from_json(line) if "infosets" in line else None
            errors = [float(line.get(key, 0.0)) for key in ("error", "value_error")]
            covered = None if line.get("covered") is None else float(line["covered"])
        except (AttributeError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"not a checkpoint: {error}") from None
        numbers = (*player_gaps, *values, *errors, seconds)
        counted = iteration >= 1 and (episodes is None or episodes >= 0)
        known = bool(player_gaps) or seen is not None
        if not known or not counted or not all(map(math.isfinite, numbers)):
            raise ValueError("a checkpoint needs an iteration and finite gaps, values and seconds")
        gap = max(player_gaps, default=math.nan)
        return cls(
            iteration, gap, player_gaps, values, seconds, episodes, best, errors[0], errors[1],
            seen, covered,
        )  # fmt: skip


def numbers(measured: Measured) -> dict[str, Any]:
    """The gaps and values of a :class:`Checkpoint`, or of the result of a run, by name."""
    return {
        "gap": float(measured.gaps.max()),
        "player_gaps": tuple(measured.gaps.tolist()),
        "error": float(measured.errors.max()),
        "values": tuple(measured.values.tolist()),
        "value_error": float(measured.value_errors.max()),
    }
