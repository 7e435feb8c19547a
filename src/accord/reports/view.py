"""The contents of pages as typed records: numbers and labels, without words or colors.

``source.py``, ``summary.py`` and ``compare.py`` make these records; ``plots.py``, ``page.py`` and
the templates read them. Gaps and payoffs are in payoff units; a relative gap is a share of the
payoff range. Labels are as the game has them: whoever prints them escapes them.

What only a known game can tell is missing from the records of a run in an environment: its exact
gaps, device, tree and inspector. These have bounds on the gaps and mean recommendations instead. A
page shows the parts that are there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from typing import Any

from markupsafe import Markup

from accord.certifying.certificate import ESTIMATED, FAMILIAR, coverage_advice
from accord.deviations.notions import Notion
from accord.equilibrium.device import Device
from accord.equilibrium.rounding import is_accurate
from accord.game.labels import player_name
from accord.learning.theory.guarantee import GapBound
from accord.optimal.binding import BindingConstraint
from accord.reports.tree import TreeView
from accord.runs.checkpoint import Checkpoint, Seen
from accord.runs.reading import Bounds, FoundDeviation
from accord.runs.region import Region
from accord.runs.request import LearnRequest, OptimizeRequest
from accord.runs.run_file import AnyRequest

NEGLIGIBLE = 1e-8
"""Share of the payoff range up to which gaps are written, but neither drawn nor marked."""


@dataclass(frozen=True)
class Option:
    """One option that the run was given."""

    name: str
    value: Any  # as JSON has it
    is_limit: bool  # may change when the run is resumed; this is what was given first


@dataclass(frozen=True)
class BestFacts:
    """The objective of a run of ``accord optimize``, the value it found and the bound."""

    objective: str  # as the run's result has it
    value: float
    bound: float
    optimal: bool
    proof: str  # where the bound comes from
    binding: tuple[BindingConstraint, ...] = ()  # dearest first
    unique: bool | None = None  # whether all optima have the same payoffs, if it is known

    @property
    def goal(self) -> str:
        """What the equilibrium is, in words: ``the best for player Ann``."""
        return goal(self.objective)


def goal(objective: str) -> str:
    """An equilibrium with the best value of ``objective``, in words."""
    plain = objective.removeprefix("minimize ")
    lowest = plain != objective
    kind, _, argument = plain.partition("=")
    if kind == "player":
        return f"the {'worst' if lowest else 'best'} for {player_name(argument)}"
    if kind == "egalitarian":
        return "the best for the player who gets least"
    if kind == "keep":
        return "with given payoffs, or the nearest that there are"
    what = f"sum of payoffs with weights {argument}" if kind == "weights" else kind
    return f"the {'lowest' if lowest else 'highest'} {what}"


def how_found(request: AnyRequest) -> str:
    """The notion and method of a run: ``EFCE (K = 1), learned from episodes by prm, seed 3``."""
    notion = request.notion
    what = notion.name if notion.k is None else f"{notion.name} (K = {notion.symbol})"
    if isinstance(request, OptimizeRequest):
        return f"{what}{request.conditions}, {goal(request.goal)}"
    if isinstance(request, LearnRequest):
        plays = "joint plays" if request.is_joint else "episodes"
        return f"{what}, learned from {plays} by {request.method}, seed {request.seed}"
    return f"{what}, solved by {request.method}"


@dataclass(frozen=True)
class RunFacts:
    """One run as its folder describes it."""

    folder: str
    how: str  # its notion and method, in words
    game: str
    digest: str
    knows_game: bool  # if not, it was in an environment
    learned: bool  # from episodes, by accord learn; else by accord solve
    notion: Notion
    method: str
    requests: tuple[Option, ...]
    iterations: int | None
    episodes: int | None
    seconds: float | None
    values: tuple[float, ...]  # expected payoffs of all players; in an environment their means
    margins: tuple[float, ...] | None  # half the widths of their 95% confidence intervals, or NaN;
    # None if the values are exact
    gap: float | None  # of the saved mixture; in a checkpoint, what the learners knew then
    player_gaps: tuple[float, ...]  # of the same; empty if the game is not known
    average_gap: float | None  # of the average of all iterates, which only accord solve has
    checkpoints: tuple[Checkpoint, ...]
    scale: tuple[float, ...]  # one over each player's payoff range; empty if the game is not known
    finished: bool = True  # if not, this is the run's last checkpoint
    best: BestFacts | None = None  # of accord optimize
    bounds: Bounds | None = None  # on the gap, from plays
    refusal: str | None = None  # why there are none
    versions: tuple[tuple[str, str], ...] = ()  # (program, version) that the run began with
    infosets: int = 0  # of all players in its policy
    coverage: float | None = None  # share of obedient decisions at infosets that the policy knows
    is_full: bool = False  # whether its tables reached their limit of memory
    bounds_estimated: bool = False  # whether payoff bounds are the payoffs that plays have shown

    @cached_property
    def history(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that have exact gaps; none if the game is not known."""
        return tuple(one for one in self.checkpoints if one.player_gaps and self.knows_game)

    @cached_property
    def learning(self) -> tuple[tuple[Checkpoint, Seen], ...]:
        """The checkpoints in an environment whose game is not known, with what plays showed."""
        return tuple(
            (one, one.seen)
            for one in self.checkpoints
            if one.seen is not None and one.episodes and not self.knows_game
        )

    @property
    def relative(self) -> float | None:
        """The largest gap as a share of the player's payoff range; None if it is not known."""
        return self.relative_to_range(self.player_gaps) if self.player_gaps else None

    def relative_to_range(self, player_gaps: Sequence[float]) -> float:
        """The largest of these gaps, each as a share of that player's payoff range."""
        return max(gap * unit for gap, unit in zip(player_gaps, self.scale, strict=True))

    @property
    def advice(self) -> str | None:
        """What to do if the policy knows too few infosets; None if it knows enough."""
        known = self.coverage
        return None if known is None or known >= FAMILIAR else coverage_advice(known)

    @property
    def has_curve_of_bounds(self) -> bool:
        """Whether the gap was bounded by plays at checkpoints, and not only in the end."""
        return sum(seen.lower is not None for _, seen in self.learning) > 1

    @property
    def estimate(self) -> str | None:
        """What it means that payoff bounds are estimated; None if they are stated."""
        return f"{ESTIMATED[0].upper()}{ESTIMATED[1:]}." if self.bounds_estimated else None

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    def requested(self, name: str) -> Any:
        """The value of one option, or None if it was not given."""
        return next((one.value for one in self.requests if one.name == name), None)

    @property
    def seed(self) -> Any:
        """The seed, or None if the run was given none."""
        return self.requested("seed")

    @property
    def zero_from(self) -> int | None:
        """The iteration from which on the gap stays at 0; None if it does not end there."""
        zeros = list(takewhile(lambda moment: moment.gap <= 0, reversed(self.history)))
        return zeros[-1].iteration if zeros else None


@dataclass(frozen=True)
class PlayerView:
    """One player and their payoffs."""

    index: int
    label: str
    name: str  # in a sentence
    n_infosets: int
    value: float  # expected payoff when everybody obeys
    worst: float  # payoff that the game allows; NaN if it is not known
    best: float
    margin: float | None = None  # half the width of the value's 95% confidence interval, or NaN if
    # that is not known; None if the value is exact

    @property
    def has_range(self) -> bool:
        """Whether the range of payoffs is known."""
        return not math.isnan(self.worst)

    @property
    def span(self) -> float:
        """The range of the player's payoffs."""
        return self.best - self.worst

    @property
    def position(self) -> float:
        """The value on a scale from 0, the worst payoff, to 1, the best."""
        return (self.value - self.worst) / self.span if self.span > 0 else 0.5


@dataclass(frozen=True)
class GapRow:
    """The gaps of the saved mixture for one notion, or the reason why they were not computed."""

    notion: Notion
    player_gaps: tuple[float, ...] = ()  # empty if they were not computed
    relative: float | None = None
    refusal: str | None = None

    @property
    def gap(self) -> float | None:
        """The largest gap of any player."""
        return max(self.player_gaps, default=None)


@dataclass(frozen=True)
class Place:
    """One first deviation: where a player who has obeyed so far leaves the mediator."""

    infoset: int
    label: str
    told: str | None  # None if the player left before being told anything
    plays: str
    action: int  # played
    gain: float
    probability: float


@dataclass(frozen=True)
class DeviationStep:
    """One step of a deviation along the tree."""

    depth: int
    infoset: int
    label: str
    told: str | None  # None after the last deviation
    plays: str
    action: int  # played
    probability: float | None  # None before the first deviation

    @property
    def disobeys(self) -> bool:
        """Whether the player is told one action and plays another."""
        return self.told is not None and self.told != self.plays


@dataclass(frozen=True)
class DeviationView:
    """A player's best deviation for one notion; if plays found it, in words."""

    notion: Notion
    player: PlayerView
    gain: float  # if plays found it, the mean of fresh plays
    places: tuple[Place, ...] = ()  # by gain, largest first
    more_places: int = 0  # not listed
    way: tuple[DeviationStep, ...] = ()  # obedient steps to the first place
    steps: tuple[DeviationStep, ...] = ()  # from there on
    more_steps: int = 0
    found: FoundDeviation | None = None  # by plays
    commits: bool = False  # whether the player commits, so that nothing they could gain counts

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def n_places(self) -> int:
        """The number of first deviations, listed or not."""
        return len(self.places) + self.more_places

    @property
    def n_steps(self) -> int:
        """The number of listed steps."""
        return len(self.way) + len(self.steps)


@dataclass(frozen=True)
class Advice:
    """The mean recommendation at one infoset."""

    infoset: str
    actions: tuple[tuple[str, float], ...]  # with their probabilities
    reach: float | None = None  # share of fresh plays that came there, if it was counted


@dataclass(frozen=True)
class Course:
    """The history of a run, as its convergence plot shows it."""

    facts: RunFacts
    players: tuple[PlayerView, ...]
    bound: GapBound | None  # None if no theorem covers the run


@dataclass(frozen=True)
class RunView(Course):
    """Everything that the page of one run shows, except its plots."""

    n_components: int
    n_tuples: int = 0  # of a correlation plan, which has no components
    gaps: tuple[GapRow, ...] = ()  # by K, if the game is known
    notions: tuple[GapRow, ...] = ()  # those without a K, weaker ones first; only cheap ones
    deviations: tuple[DeviationView, ...] = ()
    advice: tuple[tuple[Advice, ...], ...] = ()  # by player, if the game is not known
    n_nodes: int | None = None  # this and all that follows is None if the game is not known
    trigger_gap: float | None = None
    error: float | None = None  # exact gaps differ from these by at most this much
    region: Region | None = None  # of the first two players, in a report about a small game's
    # optimum
    device: Device | None = None  # None also if it has too many plans to list
    tree: TreeView | None = None  # None also if it is too large to draw
    inspector: dict[str, Any] | None = None  # the JSON that the page's script reads
    credible: bool | None = None  # whether advice off the path is; None also if nobody judged it
    threats: tuple[str, ...] = ()  # advice off the path that would be disobeyed, in words

    @property
    def knows_reach(self) -> bool:
        """Whether plays have shown how often infosets are reached."""
        return any(one.reach is not None for own in self.advice for one in own)

    @property
    def own_gaps(self) -> GapRow | None:
        """The gaps of the run's own notion; None if nothing is known about them."""
        rows = (*self.gaps, *self.notions)
        return next((row for row in rows if row.notion == self.facts.notion), None)

    @property
    def gap(self) -> float | None:
        """The gap of the saved mixture, computed here or else as the run recorded it."""
        own = self.own_gaps
        return self.facts.gap if own is None or own.gap is None else own.gap

    @property
    def relative(self) -> float | None:
        """The largest relative gap of any player, as computed here."""
        return None if self.own_gaps is None else self.own_gaps.relative

    @property
    def at_rounding(self) -> bool:
        """Whether the gaps of the run's own notion are only rounding."""
        return self.relative is not None and self.relative <= 0

    @property
    def are_gaps_drawn(self) -> bool:
        """Whether a plot of the gaps at all K would show more than tiny numbers."""
        return any(row.relative is not None and row.relative > NEGLIGIBLE for row in self.gaps)

    @property
    def is_exact(self) -> bool:
        """Whether the error of the gaps goes without saying."""
        return self.error is None or is_accurate(0.0, self.error)

    @property
    def guaranteed(self) -> float | None:
        """The bound at the end of the recorded history."""
        return None if self.bound is None else self.bound.at(self.facts.history[-1].iteration)

    @property
    def iterations_needed(self) -> float | None:
        """The length of a run, to two digits, for which the bound is the gap reached here.

        None if there is no such number, because no bound covers the run, the gap is 0 or the number
        is beyond floats.
        """
        gap = self.facts.history[-1].gap
        if self.bound is None or gap <= 0:
            return None
        needed = float(f"{Decimal(self.bound.iterations(gap)):.1e}")
        return needed if math.isfinite(needed) else None

    @property
    def own_deviations(self) -> list[DeviationView]:
        """The best deviations for the run's own notion, largest gain first."""
        own = [one for one in self.deviations if one.notion == self.facts.notion]
        return sorted(own, key=lambda deviation: -deviation.gain)

    @property
    def other_deviations(self) -> list[DeviationView]:
        """The best deviations at every other K."""
        return [one for one in self.deviations if one.notion != self.facts.notion]


class Axis(StrEnum):
    """The unit in which a comparison measures the length of runs."""

    ITERATIONS = "iteration"
    EPISODES = "episodes"
    SECONDS = "seconds"

    @property
    def unit(self) -> str:
        """The name of the unit, as a plural."""
        return "iterations" if self is Axis.ITERATIONS else self.value

    def of(self, moment: Checkpoint) -> float | None:
        """The coordinate of ``moment`` on this axis."""
        place: float | None = getattr(moment, self.value)
        return place


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seeds or, in an environment, in seeds and episodes."""

    label: str
    runs: tuple[RunFacts, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes on which these runs are drawn."""
        return (Axis.EPISODES if self.runs[0].learned else Axis.ITERATIONS, Axis.SECONDS)

    @property
    def is_zero(self) -> bool:
        """Whether all recorded gaps are 0."""
        moments = [moment for run in self.runs for moment in run.history]
        return bool(moments) and all(moment.gap <= 0 for moment in moments)


@dataclass(frozen=True)
class OptimumRow:
    """A run of ``accord optimize`` beside others."""

    facts: RunFacts
    players: tuple[PlayerView, ...]
    device: Device | None  # None if it has too many plans to list


@dataclass(frozen=True)
class ComparisonView:
    """Everything that the page of several runs shows, except its plots."""

    game: str | None  # None if the runs are of several games
    groups: tuple[Group, ...]
    relative: bool  # whether gaps are compared as shares of the payoff range
    best: int | None  # the rank of the run with the smallest gap, or upper bound on it, if all have
    # the same K and can be compared
    optima: tuple[OptimumRow, ...] = ()  # the runs that optimized

    @property
    def is_of_optima(self) -> bool:
        """Whether all runs optimized, so that there is no gap to compare."""
        return len(self.optima) == len(self.runs)

    @property
    def runs(self) -> tuple[tuple[str, RunFacts], ...]:
        """(label of the group, run), group by group."""
        return tuple((group.label, run) for group in self.groups for run in group.runs)

    @property
    def bounded(self) -> tuple[Bounds, ...]:
        """The bounds of those runs whose gaps are bounded by plays."""
        return tuple(run.bounds for _, run in self.runs if run.bounds is not None)

    @property
    def n_known(self) -> int:
        """How many of the runs know their game."""
        return sum(run.knows_game for _, run in self.runs)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that at least one group is drawn on."""
        return tuple(axis for axis in Axis if any(axis in group.axes for group in self.groups))

    def has_bands(self, axis: Axis) -> bool:
        """Whether a group of several runs is drawn on this axis."""
        return any(
            axis in group.axes and sum(bool(run.history) for run in group.runs) > 1
            for group in self.groups
        )


@dataclass(frozen=True)
class Picture:
    """A plot as an element of a page, for wide screens and for phones."""

    wide: Markup
    narrow: Markup
