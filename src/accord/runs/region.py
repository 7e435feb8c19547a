"""The region: the payoffs of two players in all equilibria, one polygon per notion.

``optimal/region.py`` has the search, whose rounds are steps of the loop. Here are its limits and
its result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from accord._above import DISPLAY, FRAMES, call_above
from accord._arrays import Floats
from accord._check import as_number, check_positive, checked_whole
from accord._format import fraction
from accord.deviations.notions import (
    Notion,
    NotionLike,
    as_notion,
    outcome_notion,
    written_k,
)
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import UNIT
from accord.errors import ArgumentError
from accord.game.labels import as_players
from accord.game.tree import Game, checked_game
from accord.optimal.exact_nash import minmax_payoff
from accord.optimal.mixed_nash import mixed_nash_payoffs
from accord.optimal.normal_form import feasible_payoffs
from accord.optimal.polygon import nearest_mixture
from accord.optimal.pure_nash import pure_nash_payoffs
from accord.optimal.region import Found, RegionSearch, Side, strength
from accord.runs.checkpoint import Checkpoint, RegionProgress
from accord.runs.footprint import SMALLER_K, check_run, region_memory
from accord.runs.interrupt import Interruption, heeding_interrupts
from accord.runs.loop import Loop, Progress, Steps
from accord.treeplex.form import SequenceForm, sequence_form

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-6
"""The default error, in units of the payoff ranges."""

MINMAX_SECONDS = 5.0
"""The most time for the minmax payoffs."""

MEETING = 1e-8
"""Polygons meet if they are apart by at most this part of the payoff ranges."""

Point = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class RegionVertex:
    """An equilibrium and its payoffs."""

    payoffs: Point  # of the two players of the region
    values: tuple[float, ...]  # of all players
    gap: float  # of the policy, for the notion of its polygon; payoff units
    policy: CorrelatedPolicy  # a small mixture of pure joint plans
    rational: tuple[Fraction, ...] | None = None  # the values in rational numbers, if known
    pair: tuple[int, int] = (0, 1)  # the numbers of the two players

    @property
    def shown(self) -> tuple[str, str, str]:
        """Both payoffs and the welfare for people: as fractions if these are known."""
        if self.rational is None:
            return _rounded(self.payoffs[0]), _rounded(self.payoffs[1]), _rounded(sum(self.values))
        a, b = (self.rational[i] for i in self.pair)
        return fraction(a), fraction(b), fraction(sum(self.rational, Fraction(0)))

    def to_json(self) -> dict[str, Any]:
        """The numbers, and the plans that the mediator draws."""
        return {
            "payoffs": list(self.payoffs),
            "values": list(self.values),
            "exact": None if self.rational is None else list(map(str, self.rational)),
            "gap": self.gap,
            "components": self.policy.n_components,
            "device": self.policy.device(self.policy.n_components).to_json()["plans"],
        }

    def __repr__(self) -> str:
        return f"RegionVertex({', '.join(self.shown[:2])})"


@dataclass(frozen=True, eq=False, repr=False)
class PayoffPolygon:
    """The payoffs of two players in all equilibria of a notion, between two polygons."""

    notion: Notion
    vertices: tuple[
        RegionVertex, ...
    ]  # of the inner polygon, counterclockwise; equilibria of the game
    outer: tuple[Point, ...]  # corners of a polygon that contains the payoffs of every equilibrium
    error: float  # how far it reaches beyond the inner one, in units of the payoff ranges
    welfare: RegionVertex | None  # the equilibrium with the largest sum of all payoffs found
    welfare_bound: float  # no equilibrium has a larger sum

    @property
    def k(self) -> float | None:
        """K, if the notion is a K-EFCE."""
        return self.notion.k

    @property
    def title(self) -> str:
        """The notion for people: ``K = 0 (NFCCE)``; ``K ≥ 1 (EFCE)``, which is the region of all
        these K; or another name."""
        if self.k is None:
            return self.notion.name
        return f"K {'≥' if self.k else '='} {self.notion.written} ({self.notion.name})"

    @property
    def exact(self) -> bool:
        """Whether all vertices are equilibria and inner and outer polygon meet, so that this is the
        whole region."""
        return self.met and self.gap <= 0.0

    @property
    def met(self) -> bool:
        """Whether inner and outer polygon meet; a vertex may have a small gap."""
        return bool(self.vertices) and self.error <= MEETING

    @property
    def gap(self) -> float:
        """The largest gap of a vertex; at most 0 if all are equilibria as far as rounding tells."""
        return max((vertex.gap for vertex in self.vertices), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """The polygon as JSON data; ``k`` is a number, ``"inf"`` or null."""
        return {
            "notion": self.notion.name,
            "k": None if self.k is None else written_k(self.k),
            "exact": self.exact,
            "error": self.error,
            "vertices": [vertex.to_json() for vertex in self.vertices],
            "outer": [list(point) for point in self.outer],
            "welfare": None if self.welfare is None else self.welfare.to_json(),
            "welfare_bound": self.welfare_bound,
        }

    def __repr__(self) -> str:
        state = "exact" if self.exact else f"error={self.error:.2g}"
        return f"PayoffPolygon(k={self.notion.written}, vertices={len(self.vertices)}, {state})"


@dataclass(frozen=True, eq=False, repr=False)
class Region:
    """The payoffs of two players in all equilibria; ``region[k]`` is the polygon of one notion."""

    game: Game
    players: tuple[str, str]
    polygons: tuple[PayoffPolygon, ...]  # the weakest notion first; those of K are nested
    zero_sum: bool  # whether the payoffs of both always add up to the same
    nash: tuple[Point, ...] | None  # of pure Nash equilibria, or all of a zero-sum game, if known
    tolerance: float
    directions: int  # in which a farthest point was looked for
    seconds: float
    interrupted: bool = False  # by Ctrl-C
    mixed_nash: tuple[Point, ...] | None = None  # of those that are not pure, if they are known
    feasible: tuple[Point, ...] | None = None  # corners of what players can get at all, if known
    minmax: tuple[Fraction, Fraction] | None = None  # what each of two players can secure, if known
    commits: tuple[str, ...] = ()  # the players who commit

    @property
    def error(self) -> float:
        """The largest error of all polygons."""
        return max(polygon.error for polygon in self.polygons)

    @property
    def exact(self) -> bool:
        """Whether all polygons are exact."""
        return all(polygon.exact for polygon in self.polygons)

    @property
    def reached(self) -> bool:
        """Whether the error of every polygon is at most the tolerance."""
        return all(p.vertices for p in self.polygons) and self.error <= self.tolerance

    def __getitem__(self, k: NotionLike) -> PayoffPolygon:
        wanted = outcome_notion(as_notion(k))
        for polygon in self.polygons:
            if polygon.notion == wanted:
                return polygon
        known = ", ".join(str(polygon.notion.written) for polygon in self.polygons)
        raise ArgumentError(f"the region has the polygons of k = {known}; got {k!r}")

    def policy_at(self, payoffs: Sequence[float], k: NotionLike | None = None) -> CorrelatedPolicy:
        """An equilibrium with these payoffs of the two players, or with the nearest in the region.

        It is a mixture of the equilibria at the vertices. Distances are in payoff ranges.

        Args:
            payoffs: Of the two players of the region.
            k: The notion of the polygon; by default the last, whose deviators can do most.

        Raises:
            ArgumentError: If there are not two finite payoffs, or no such polygon, or nothing was
                found of it.
        """
        polygon = self.polygons[-1] if k is None else self[k]
        point = [as_number("a payoff", payoff) for payoff in payoffs]
        if len(point) != 2 or not all(map(math.isfinite, point)):
            raise ArgumentError(f"payoffs must be two finite numbers; got {list(payoffs)}")
        if not polygon.vertices:
            raise ArgumentError(f"no equilibrium was found for {polygon.title}; allow more seconds")
        pair = [self.game.player_labels.index(player) for player in self.players]
        span = sequence_form(self.game).leaves.payoff_range[pair]
        corners = np.array([vertex.payoffs for vertex in polygon.vertices])
        unit = np.where(span > 0, span, 1.0)
        weights = nearest_mixture(corners / unit, np.array(point) / unit)
        parts = [
            (weight, vertex.policy)
            for weight, vertex in zip(weights, polygon.vertices, strict=True)
            if weight > 0
        ]
        behavior, index = np.unique(
            np.concatenate([policy.behavior for _, policy in parts]), axis=0, return_inverse=True
        )
        shares = np.concatenate([weight * policy.weights for weight, policy in parts])
        return CorrelatedPolicy(
            self.game, np.bincount(index.ravel(), shares, len(behavior)).astype(float), behavior
        )

    def to_json(self) -> dict[str, Any]:
        """Everything as one JSON object."""
        return {
            "game": self.game.name,
            "players": list(self.players),
            "commits": list(self.commits),
            "exact": self.exact,
            "error": self.error,
            "tolerance": self.tolerance,
            "polygons": [polygon.to_json() for polygon in self.polygons],
            "zero_sum": self.zero_sum,
            "nash": None if self.nash is None else [list(point) for point in self.nash],
            "mixed_nash": None if self.mixed_nash is None else list(map(list, self.mixed_nash)),
            "feasible": None if self.feasible is None else list(map(list, self.feasible)),
            "minmax": None if self.minmax is None else list(map(float, self.minmax)),
            "exact_minmax": None if self.minmax is None else list(map(str, self.minmax)),
            "directions": self.directions,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return f"Region({self.game.name!r}, players={self.players}, {list(self.polygons)})"

    def plot(self) -> Figure:
        """The picture of the region."""
        figure: Figure = call_above(DISPLAY, "region_plot", self)
        return figure

    def to_frame(self) -> Any:
        """A pandas data frame with one row per polygon and vertex.

        It needs pandas (the extra ``pandas``).
        """
        return call_above(FRAMES, "region_frame", self)

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "region_html", self))

    def _repr_png_(self) -> bytes:
        png: bytes = self.plot()._repr_png_()  # type: ignore[attr-defined]  # a Plot
        return png


def region(
    game: Game,
    k: NotionLike | Iterable[NotionLike] = (0, 1),
    *,
    players: tuple[str, str] | None = None,
    commits: str | Iterable[str] = (),
    tolerance: float = TOLERANCE,
    seconds: float | None = None,
    directions: int | None = None,
    progress: Progress | None = None,
) -> Region:
    """Find the payoffs that two players can have in equilibrium, for one K or several.

    They form a polygon, whose vertices are found one after the other until the error of each
    polygon is at most ``tolerance``. A limit or Ctrl-C ends the search with what is known by then.

    Args:
        game: A game with at least two players.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), or 1 (EFCE), which
            has the same outcomes as every larger K. Or another notion: ``"efcce"``, ``"afce"``,
            ``"afcce"``, or ``"nfce"`` in a game with at most 20,000 profiles of plans. Or several.
        players: The labels of the two players; by default the first two. The payoffs of the other
            players may be anything: the region is the projection on these two.
        commits: The labels of players who commit to what they are recommended (:func:`optimize`).
        tolerance: The largest distance between what is found and what is possible, in units of the
            players' payoff ranges.
        seconds: Stop after this much wall-clock time.
        directions: Stop after looking in this many directions.
        progress: Called with a checkpoint after every round, whose ``region`` says how far it is.

    Raises:
        ArgumentError: If the players are not two of the game's, or an argument is out of range.
        BudgetError: If the rechistories do not fit into memory.
        NumericalError: If the linear programs fail.
    """
    checked_game(game)
    notions = _checked_notions(k)
    pair = _checked_players(game, players)
    check_positive("tolerance", tolerance)
    if seconds is not None and not seconds >= 0.0:
        raise ArgumentError(f"seconds must be at least 0; got {seconds!r}")
    if directions is not None:
        checked_whole("directions", directions, 1)
    begun = time.perf_counter()
    form = sequence_form(game)
    check_run(f"the region of {game.name}", region_memory(form, notions), SMALLER_K)
    fixed = as_players(commits, game.player_labels)
    search = RegionSearch(form, notions, pair, tolerance, fixed)
    loop = Loop(_RegionRounds(search), progress=progress)
    enough = None if directions is None else partial(_are_enough, directions)
    loop.run(enough=enough, seconds=seconds, since=begun)
    end = math.inf if seconds is None else begun + seconds
    # The first Ctrl-C loses nothing here, either; the second one does.
    heeding = nullcontext(Interruption()) if loop.interrupted else heeding_interrupts()
    with heeding as interruption:
        search.conclude(max(0.0, end - time.perf_counter()), hurried=loop.interrupted)
        loop.conclude()
        nash = pure_nash_payoffs(form) if search.nash is None else search.nash[None]
        mixed = mixed_nash_payoffs(form) if search.nash is None else None
        feasible = minmax = None
        if not loop.interrupted:
            feasible, minmax = feasible_payoffs(form, pair), _minmax(form, pair)
    labels = game.player_labels
    return Region(
        game=game,
        players=(labels[pair[0]], labels[pair[1]]),
        polygons=tuple(_polygon(search, search.side(one), one) for one in notions),
        zero_sum=search.nash is not None,
        nash=None if nash is None else _distinct(nash[:, list(pair)]),
        mixed_nash=None if mixed is None else _distinct(mixed[:, list(pair)]),
        minmax=minmax,
        tolerance=tolerance,
        directions=search.directions,
        seconds=time.perf_counter() - begun,
        interrupted=loop.interrupted or interruption.requested,
        commits=search.commits,
        feasible=None if feasible is None else tuple((float(x), float(y)) for x, y in feasible),
    )


def _checked_notions(k: NotionLike | Iterable[NotionLike]) -> list[Notion]:
    given = list(k) if isinstance(k, Iterable) and not isinstance(k, str) else [k]
    notions = {outcome_notion(as_notion(one)) for one in given}
    if not notions:
        raise ArgumentError("k must be at least one number of deviations or notion; got none")
    if any(one.linear for one in notions):
        raise ArgumentError(
            "k must be a K, or 'efcce', 'afce', 'afcce' or 'nfce'; got 'lce', which can be "
            "certified but not computed; its region lies inside that of k = 1"
        )
    return sorted(notions, key=strength)


def _checked_players(game: Game, players: tuple[str, str] | None) -> tuple[int, int]:
    labels = list(game.player_labels)
    if len(labels) < 2:
        raise ArgumentError(
            f"a region needs a game with at least two players, but {game.name} has one; optimize "
            "finds the least and the largest payoff"
        )
    if players is None:
        return 0, 1
    known = ", ".join(map(repr, labels))
    if isinstance(players, str) or len(players) != 2 or players[0] == players[1]:
        raise ArgumentError(
            f"players must be two different players; got {players!r}; the players are {known}"
        )
    for one in players:
        if one not in labels:
            raise ArgumentError(f"there is no player {one!r}; the players are {known}")
    return labels.index(players[0]), labels.index(players[1])


class _RegionRounds(Steps):
    """The rounds of the search. ``directions`` counts those in which a point was looked for."""

    def __init__(self, search: RegionSearch) -> None:
        self.search = search
        self._iteration, self._finished = 0, False

    @property
    def iteration(self) -> int:
        """How many rounds there were."""
        return self._iteration

    @property
    def finished(self) -> bool:
        """Whether nothing was left to do in the last round."""
        return self._finished

    def advance(self, iterations: int, seconds: float | None) -> None:
        """Make a round, which may take ``seconds``."""
        for _ in range(iterations):
            self._finished = not self.search.advance(seconds)
            self._iteration += 1

    def look(self, seconds: float) -> Checkpoint:
        """How far the search is."""
        sandwiches = [side.sandwich for side in self.search.sides]
        region = RegionProgress(
            self.search.directions,
            sum(len(one.corners) for one in sandwiches),
            max(one.error for one in sandwiches),
        )
        return Checkpoint(self.iteration, math.nan, (), (), seconds, region=region)


def _are_enough(directions: int, point: Checkpoint) -> bool:
    return point.region is not None and point.region.directions >= directions


def _polygon(search: RegionSearch, side: Side, notion: Notion) -> PayoffPolygon:
    sandwich = side.sandwich
    largest = np.abs(search.least) + search.unit
    outer = sandwich.widened(float((4 * UNIT * largest / search.unit).max()))
    return PayoffPolygon(
        notion=notion,
        vertices=tuple(_vertex(search, sandwich.found[one]) for one in sandwich.corners),
        outer=tuple((x, y) for x, y in (outer * search.unit + search.least).tolist()),
        error=sandwich.error,
        welfare=None if side.best is None else _vertex(search, side.best),
        welfare_bound=side.welfare_bound,
    )


def _vertex(search: RegionSearch, found: Found) -> RegionVertex:
    values = tuple(found.values.tolist())
    a, b = search.pair
    return RegionVertex(
        (values[a], values[b]), values, found.gap, found.policy, found.exact, search.pair
    )


def _rounded(value: float) -> str:
    """Seven digits are enough for a table, and hide rounding."""
    return f"{round(value, 12) + 0.0:.7g}"


def _minmax(form: SequenceForm, pair: tuple[int, int]) -> tuple[Fraction, Fraction] | None:
    end = time.monotonic() + MINMAX_SECONDS
    a, b = (minmax_payoff(form, i, end) for i in pair)
    return None if a is None or b is None else (a, b)


def _distinct(places: Floats) -> tuple[Point, ...]:
    """Each place once, up to rounding, in their order."""
    kept: list[Any] = []
    for place in places:
        if not any(np.allclose(place, one, rtol=1e-9, atol=1e-12) for one in kept):
            kept.append(place)
    return tuple((float(x), float(y)) for x, y in kept)
