"""The results of runs: what ``solve``, ``learn`` and ``optimize`` return."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from accord._above import DISPLAY, FRAMES, call_above
from accord._activity import doing
from accord._format import counted, number
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify, certify_judged
from accord.deviations.notions import Notion, written_k
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.tree import Game
from accord.optimal.binding import BindingConstraint
from accord.optimal.proof import Rational
from accord.runs.checkpoint import Checkpoint
from accord.runs.request import LearnRequest, OptimizeRequest, SolveRequest, commits_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAYS_PER_END = 1.0
"""Plays for each end of a game from which joint feedback serves better than own feedback."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Displayed:
    """What all results have: a policy with its certificate, and the course of the run.

    A notebook shows it, and pandas reads its history.
    """

    game: Game | None  # None if it is not known
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
    def name(self) -> str:
        """The name of the game or the environment."""
        return self.policy.name

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

    def plot(self) -> Figure:
        """The gap during the run; for an optimum, its value and bound after each round."""
        figure: Figure = call_above(DISPLAY, "history_plot", self)
        return figure

    def to_frame(self) -> Any:
        """The history as a pandas data frame with one row per checkpoint.

        It needs pandas (the extra ``pandas``).
        """
        return call_above(FRAMES, "history_frame", self)

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "result_html", self))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certified(Displayed):
    """A result whose numbers are those of its certificate."""

    game: Game

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the policy, computed on first access."""
        return _certified(self.game, self.policy, self.notion, commits_of(self.request))

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
    """An approximate K-EFCE that was learned from episodes.

    If the game is known, its gap and values are exact. The history has the gaps of the components
    kept so far, and last that of the policy. If the game is not known, there is no gap. The values
    are mean payoffs of fresh plays, the certificate has bounds on the gap from as many more, and
    the history has running values.
    """

    request: LearnRequest
    episodes: int  # played in total
    episodes_per_iteration: int
    gap: float = math.nan  # K-EFCE gap of the policy, payoff units; NaN if the game is not known
    player_gaps: tuple[float, ...] = ()  # of each player; empty if the game is not known
    error: float = math.nan  # exact gaps differ from these by at most this much
    values: tuple[float, ...]  # expected payoffs when everybody obeys
    value_error: float = math.nan  # exact values differ from these by at most this much
    margins: tuple[float, ...] | None = None  # half the widths of 95% confidence intervals of the
    # values, if they are means of plays; NaN after one play
    plays: int | None = None  # how many plays those are
    coverage: float | None = None  # share of decisions in those plays at infosets that the policy
    # knows; it is uniform at all others
    reached: tuple[tuple[tuple[int, float], ...], ...] = ()  # for each player the infosets that
    # most of those plays came to, by number, with their shares of the plays
    refusal: str | None = None  # why there are no bounds on the gap
    payoff_bounds: tuple[tuple[float, float], ...] | None = None  # (worst, best) of each player, if
    # the game is not known
    bounds_estimated: bool = False  # whether those are the payoffs that plays have shown; others
    # may be worse or better, and then bounds on the gap need not hold
    ends: int | None = None  # of the game, in an environment estimated from the plays; None after
    # joint plays

    @property
    def advice(self) -> str | None:
        """That joint plays would serve better, if the players learned for themselves.

        Joint plays need about one play for each end of the game (``docs/theory/joint-plays.md``).
        """
        if self.ends is None or self.episodes < PLAYS_PER_END * self.ends:
            return None
        about = "" if self.request.environment is None else "about "
        plays, ends = counted(self.episodes, "episode"), counted(self.ends, "end")
        return f"{plays} for {about}{ends} of the game: joint feedback would learn more from them"

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of the policy; in a known game it is computed on first access.

        It is None if the game is not known and the plays gave no bounds.
        """
        return None if self.game is None else _certified(self.game, self.policy, self.notion)

    @property
    def is_full(self) -> bool:
        """Whether the tables reached their limit of memory, so that new infosets were left out."""
        last = self.history[-1].seen if self.history else None
        return last is not None and last.full

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number or ``"inf"``.

        If the game is not known, ``gap`` is null, and there are bounds, margins and coverage.
        """
        exact = self.margins is None
        return {
            "game": self.name,
            "k": self.notion.written,
            "method": self.method,
            "episodes": self.episodes,
            "iterations": self.iterations,
            "episodes_per_iteration": self.episodes_per_iteration,
            "gap": self.gap if exact else None,
            "players": list(self.player_gaps) if exact else None,
            **({"error": self.error} if exact else {}),
            "components": self.policy.n_components,
            "values": list(self.values),
            **({"value_error": self.value_error} if exact else self._bounds()),
            "advice": self.advice,
            "seconds": self.seconds,
        }

    def _bounds(self) -> dict[str, Any]:
        """What is known from plays."""
        bounds = None if self.certificate is None else self.certificate[self.notion]
        return {
            "margins": [None if math.isnan(one) else one for one in self.margins or ()],
            "lower": None if bounds is None else bounds.lower,
            "upper": None if bounds is None else bounds.upper,
            "refusal": self.refusal,
            "infosets": sum(plex.n_infosets for plex in self.policy.plexes),
            "coverage": self.coverage,
            "full": self.is_full,
            "payoff_bounds": self.payoff_bounds and list(map(list, self.payoff_bounds)),
            "bounds_estimated": self.bounds_estimated,
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{value:.4g}" for value in self.values)
        found = f"values=({values})" if self.game is None else f"gap={self.gap:.4g}"
        return (
            f"Learned({self.name!r}, k={self.k}, method={self.method!r}, "
            f"episodes={self.episodes}, {found})"
        )


LONGEST_VALUE = 24
"""Letters of a value in a representation; longer fractions are rounded."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Optimum(Certified):
    """The best equilibrium of a game, or the best one found, with a bound on all of them.

    The policy is a mixture of pure joint plans; in zero-sum games it is one product policy.
    ``iterations`` are rounds of column generation.
    """

    request: OptimizeRequest
    value: float  # of the objective, for ``values``
    bound: float  # no equilibrium has a better value: larger or, if it is minimized, smaller
    optimal: bool  # whether value and bound meet, and the policy is an equilibrium that pays enough
    met: bool  # whether value and bound meet; the policy may have a small gap, or pay a little less
    proof: str  # where the bound comes from
    columns: int  # joint plans that the program had in the end
    binding: tuple[BindingConstraint, ...] = ()  # the constraints that hold the value back, by
    # price; empty if value and bound do not meet, and in zero-sum games, where nothing is at stake
    unique: bool | None = None  # whether all optima have these payoffs; None if that is not known
    rational: Rational | None = None  # everything in rational numbers, if they are known
    lacking: float = 0.0  # what a player lacks, at most, of their least payoff in ``at_least``

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the policy, with a judgment of its advice off the path."""
        with doing("certifying the mixture"):
            return certify_judged(
                self.policy, self.notion, self.request.tremble, self.request.commits
            )

    @property
    def values(self) -> tuple[float, ...]:
        """Expected payoffs when everybody obeys: next to the rational ones, if these are known."""
        if self.rational is None:
            return super().values
        return tuple(map(float, self.rational.payoffs))

    @property
    def objective(self) -> str:
        """The objective, with ``minimize`` before it if it is minimized."""
        return self.request.goal

    @property
    def flaw(self) -> str:
        """What the policy lacks of an optimum if value and bound meet, and it is none."""
        gap = f"a gap of {number(self.gap)}"
        if not self.lacking:
            return gap
        short = f"a payoff that is {number(self.lacking)} too small"
        return f"{gap} and {short}" if self.gap > self.error else short

    def to_json(self) -> dict[str, Any]:
        """The summary as one JSON object; ``k`` is a number, ``"inf"`` or null."""
        return {
            "game": self.game.name,
            "notion": self.notion.name,
            "k": None if self.k is None else written_k(self.k),
            "objective": self.objective,
            "commits": list(self.request.commits),
            "at_least": dict(self.request.at_least or {}),
            "value": self.value,
            "bound": self.bound,
            "optimal": self.optimal,
            "credible": self.certificate.is_credible,
            "gap": self.gap,
            "players": list(self.player_gaps),
            "error": self.error,
            "components": self.policy.n_components,
            "values": list(self.values),
            "value_error": self.value_error,
            "unique": self.unique,
            "binding": [one.to_json() for one in self.binding],
            "iterations": self.iterations,
            "columns": self.columns,
            "seconds": self.seconds,
            "exact": None if self.rational is None else self.rational.to_json(),
        }

    def __repr__(self) -> str:
        proved = "optimal" if self.optimal else f"bound={self.bound:.6g}"
        value = f"{self.value:.6g}"
        if self.rational is not None and len(exact := str(self.rational.value)) <= LONGEST_VALUE:
            value = exact
        if self.met and not self.optimal:
            proved = f"optimal up to {self.flaw}"
        return (
            f"Optimum({self.game.name!r}, k={self.notion.written}, objective={self.objective!r}, "
            f"value={value}, {proved})"
        )


def _certified(
    game: Game, policy: CorrelatedPolicy, notion: Notion, commits: tuple[str, ...] = ()
) -> Certificate:
    with doing("certifying the mixture"):
        return certify(game, policy, notion, commits=commits)
