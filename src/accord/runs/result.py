"""The results of runs: what ``solve``, ``learn``, ``learn_env`` and ``optimize`` return."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from accord._above import DISPLAY, FRAMES, call_above
from accord._activity import doing
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify
from accord.deviations.notions import Notion, written_k
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.tree import Game
from accord.runs.checkpoint import Checkpoint
from accord.runs.request import LearnRequest, OptimizeRequest, SolveRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Displayed:
    """A result with a history, which a notebook shows and pandas reads."""

    game: Game
    history: tuple[Checkpoint, ...]

    def plot(self) -> Figure:
        """The gap during the run; for an optimum, its value and bound after each round."""
        figure: Figure = call_above(DISPLAY, "history_plot", self)
        return figure

    def to_frame(self) -> Any:
        """The history as a pandas data frame with one row per checkpoint.

        It needs the extra ``accord[pandas]``.
        """
        return call_above(FRAMES, "history_frame", self)

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "result_html", self))


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Displayed):
    """An approximate K-EFCE with its exact gap, computed by ``solve``."""

    game: Game
    request: SolveRequest  # that the run was made from
    k: float
    method: str
    iterations: int
    gap: float  # K-EFCE gap of the weighted average of all iterates, payoff units
    player_gaps: tuple[float, ...]  # the same per player
    error: float  # exact gaps differ from these by at most this much
    values: tuple[float, ...]  # expected payoffs of that average
    value_error: float  # exact values differ from these by at most this much
    policy: CorrelatedPolicy  # the saved mixture: evenly spaced iterates
    history: tuple[Checkpoint, ...]  # gaps of the average so far
    seconds: float
    target_reached: bool | None  # None if no target was given
    interrupted: bool = False  # by Ctrl-C

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the saved mixture, computed on first access."""
        with doing("certifying the mixture"):
            return certify(self.game, self.policy, self.k)

    @property
    def saved_gap(self) -> float:
        """The K-EFCE gap of the saved mixture, from its certificate."""
        return self.certificate[self.k].gap

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game.name,
            "k": written_k(self.k),
            "method": self.method,
            "iterations": self.iterations,
            "gap": self.gap,
            "players": list(self.player_gaps),
            "error": self.error,
            "saved_gap": self.saved_gap,
            "components": self.policy.n_components,
            "values": list(self.values),
            "value_error": self.value_error,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return (
            f"Solution({self.game.name!r}, k={self.k}, method={self.method!r}, "
            f"iterations={self.iterations}, gap={self.gap:.4g})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Learned(Displayed):
    """An approximate K-EFCE with its exact gap, learned from episodes."""

    game: Game
    request: LearnRequest  # that the run was made from
    k: float
    method: str
    episodes: int  # played in total
    iterations: int
    episodes_per_iteration: int
    gap: float  # K-EFCE gap of the saved mixture, payoff units
    player_gaps: tuple[float, ...]  # the same per player
    error: float  # exact gaps differ from these by at most this much
    values: tuple[float, ...]  # expected payoffs of the saved mixture
    value_error: float  # exact values differ from these by at most this much
    policy: CorrelatedPolicy  # the saved mixture of evenly spaced components
    history: tuple[Checkpoint, ...]  # gaps of what was kept so far; last, of the saved mixture
    seconds: float
    interrupted: bool = False  # by Ctrl-C

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the saved mixture, computed on first access."""
        with doing("certifying the mixture"):
            return certify(self.game, self.policy, self.k)

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game.name,
            "k": written_k(self.k),
            "method": self.method,
            "episodes": self.episodes,
            "iterations": self.iterations,
            "episodes_per_iteration": self.episodes_per_iteration,
            "gap": self.gap,
            "players": list(self.player_gaps),
            "error": self.error,
            "components": self.policy.n_components,
            "values": list(self.values),
            "value_error": self.value_error,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return (
            f"Learned({self.game.name!r}, k={self.k}, method={self.method!r}, "
            f"episodes={self.episodes}, gap={self.gap:.4g})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LearnedByPlay:
    """A policy learned in an environment whose game is not known: its gap is bounded by plays."""

    name: str
    request: LearnRequest  # that the run was made from
    k: float
    method: str
    episodes: int  # played in total
    iterations: int
    episodes_per_iteration: int
    values: tuple[float, ...]  # mean payoffs of fresh plays of the saved mixture
    margins: tuple[float, ...]  # half the widths of their 95% confidence intervals
    value_plays: int  # the number of fresh plays
    policy: CorrelatedPolicy  # the saved mixture of evenly spaced components
    seconds: float
    interrupted: bool = False  # by Ctrl-C
    certificate: Certificate | None = None  # bounds on the gap from fresh plays
    refusal: str | None = None  # why there are none
    history: tuple[Checkpoint, ...] = ()  # running values; the gap is not known

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object, with bounds in place of a gap."""
        return {
            "game": self.name,
            "k": written_k(self.k),
            "method": self.method,
            "episodes": self.episodes,
            "iterations": self.iterations,
            "episodes_per_iteration": self.episodes_per_iteration,
            "gap": None,
            "players": None,
            "components": self.policy.n_components,
            "values": list(self.values),
            "margins": [None if math.isnan(margin) else margin for margin in self.margins],
            "lower": None if self.certificate is None else self.certificate[self.k].lower,
            "upper": None if self.certificate is None else self.certificate[self.k].upper,
            "refusal": self.refusal,
            "infosets": sum(plex.n_infosets for plex in self.policy.plexes),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{value:.4g}" for value in self.values)
        return (
            f"LearnedByPlay({self.name!r}, k={self.k}, method={self.method!r}, "
            f"episodes={self.episodes}, values=({values}))"
        )

    def to_frame(self) -> Any:
        """The history as a pandas data frame, with running values and no gaps.

        It needs the extra ``accord[pandas]``.
        """
        return call_above(FRAMES, "history_frame", self)

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "result_html", self))


@dataclass(frozen=True, eq=False, repr=False)
class Optimum(Displayed):
    """The best equilibrium of a game, or the best one found, with a bound on all of them."""

    game: Game
    request: OptimizeRequest  # that the run was made from
    notion: Notion  # of the equilibrium
    objective: str
    value: float  # of the objective, from the certificate
    bound: float  # no equilibrium has a better value: larger or, if it is minimised, smaller
    optimal: bool  # whether value and bound meet
    proof: str  # where the bound comes from
    policy: CorrelatedPolicy  # pure joint plans; in zero-sum games one product policy
    certificate: Certificate
    iterations: int  # rounds of column generation
    columns: int  # joint plans that the program had in the end
    history: tuple[Checkpoint, ...]
    seconds: float
    interrupted: bool = False  # by Ctrl-C

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def gap(self) -> float:
        """The gap of the mixture, from its certificate, in payoff units."""
        return self.certificate[self.notion].gap

    @property
    def player_gaps(self) -> tuple[float, ...]:
        """The same per player."""
        return self.certificate[self.notion].player_gaps

    @property
    def error(self) -> float:
        """Exact gaps differ from these by at most this much."""
        return self.certificate[self.notion].error

    @property
    def values(self) -> tuple[float, ...]:
        """Expected payoffs when everybody obeys."""
        return self.certificate.values

    @property
    def value_error(self) -> float:
        """Exact values differ from these by at most this much."""
        return max(self.certificate.value_errors)

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number, ``"inf"`` or null."""
        return {
            "game": self.game.name,
            "notion": self.notion.name,
            "k": None if self.k is None else written_k(self.k),
            "objective": self.objective,
            "value": self.value,
            "bound": self.bound,
            "optimal": self.optimal,
            "gap": self.gap,
            "players": list(self.player_gaps),
            "error": self.error,
            "components": self.policy.n_components,
            "values": list(self.values),
            "value_error": self.value_error,
            "iterations": self.iterations,
            "columns": self.columns,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        proved = "optimal" if self.optimal else f"bound={self.bound:.6g}"
        return (
            f"Optimum({self.game.name!r}, k={self.notion.written}, objective={self.objective!r}, "
            f"value={self.value:.6g}, {proved})"
        )
