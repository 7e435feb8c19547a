"""The results of runs: what ``solve``, ``learn``, ``learn_env`` and ``optimize`` return."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Displayed:
    """What all results have: a policy with its certificate, and the course of the run.

    A notebook shows it, and pandas reads its history.
    """

    game: Game
    request: SolveRequest | LearnRequest | OptimizeRequest  # that the run was made from
    iterations: int
    policy: CorrelatedPolicy  # the saved mixture
    history: tuple[Checkpoint, ...]
    seconds: float
    interrupted: bool = False  # by Ctrl-C
    certified: InitVar[Certificate | None] = None  # the certificate, if it is known already

    def __post_init__(self, certified: Certificate | None) -> None:
        if certified is not None:
            vars(self)["certificate"] = certified

    @property
    def notion(self) -> Notion:
        """The notion of the equilibrium."""
        return self.request.notion

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def method(self) -> str:
        """The method by its name."""
        return self.request.method

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the policy, computed on first access."""
        with doing("certifying the mixture"):
            return certify(self.game, self.policy, self.notion)

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


class Certified(Displayed):
    """A result whose numbers are those of its certificate."""

    @property
    def gap(self) -> float:
        """The gap of the policy, in payoff units."""
        return self.certificate[self.notion].gap

    @property
    def player_gaps(self) -> tuple[float, ...]:
        """The gap of each player."""
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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Solution(Certified):
    """An approximate K-EFCE with its exact gap, computed by ``solve``.

    The policy has some of the iterates, evenly spaced, and its numbers are those of its
    certificate. The history is that of the weighted average of *all* iterates, whose gap the
    learners know.
    """

    request: SolveRequest
    average_gap: float  # K-EFCE gap of the weighted average of all iterates, payoff units
    average_player_gaps: tuple[float, ...]  # of that average, for each player
    average_error: float  # exact gaps of that average differ from these by at most this much
    average_values: tuple[float, ...]  # expected payoffs of that average
    average_value_error: float  # exact values of it differ from these by at most this much
    target_reached: bool | None  # by that average; None if no target was given

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game.name,
            "k": self.notion.written,
            "method": self.method,
            "iterations": self.iterations,
            "gap": self.gap,
            "players": list(self.player_gaps),
            "error": self.error,
            "average_gap": self.average_gap,
            "average_error": self.average_error,
            "components": self.policy.n_components,
            "values": list(self.values),
            "value_error": self.value_error,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return (
            f"Solution({self.game.name!r}, k={self.k}, method={self.method!r}, "
            f"iterations={self.iterations}, average_gap={self.average_gap:.4g})"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Learned(Displayed):
    """An approximate K-EFCE with its exact gap, learned from episodes.

    The history has the gaps of the components kept so far, and last that of the policy.
    """

    request: LearnRequest
    episodes: int  # played in total
    episodes_per_iteration: int
    gap: float  # K-EFCE gap of the policy, payoff units
    player_gaps: tuple[float, ...]  # of each player
    error: float  # exact gaps differ from these by at most this much
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    value_error: float  # exact values differ from these by at most this much

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``."""
        return {
            "game": self.game.name,
            "k": self.notion.written,
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
    episodes: int  # played in total
    iterations: int
    episodes_per_iteration: int
    values: tuple[float, ...]  # mean payoffs of fresh plays of the saved mixture
    margins: tuple[float, ...]  # half the widths of their 95% confidence intervals
    plays: int  # the number of fresh plays
    policy: CorrelatedPolicy  # the saved mixture of evenly spaced components
    seconds: float
    interrupted: bool = False  # by Ctrl-C
    certificate: Certificate | None = None  # bounds on the gap from fresh plays
    refusal: str | None = None  # why there are none
    history: tuple[Checkpoint, ...] = ()  # running values; the gap is not known

    @property
    def k(self) -> float:
        """How many recommendations a deviator may disobey."""
        return self.request.k

    @property
    def method(self) -> str:
        """The method by its name."""
        return self.request.method

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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Optimum(Certified):
    """The best equilibrium of a game, or the best one found, with a bound on all of them.

    The policy is a mixture of pure joint plans; in zero-sum games it is one product policy.
    ``iterations`` are rounds of column generation.
    """

    request: OptimizeRequest
    value: float  # of the objective, from the certificate
    bound: float  # no equilibrium has a better value: larger or, if it is minimised, smaller
    optimal: bool  # whether value and bound meet
    proof: str  # where the bound comes from
    columns: int  # joint plans that the program had in the end

    @property
    def objective(self) -> str:
        """The objective, with ``minimize`` before it if it is minimised."""
        return self.request.goal

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
