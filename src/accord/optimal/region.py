"""The payoffs of two players in all equilibria, for several notions at once.

The K-EFCE of a game form a polytope, and so do the equilibria of other notions. So the pairs of
payoffs of two players in them form a polygon: the region. It is squeezed between two polygons (as
in H. P. Benson, *An outer approximation algorithm for generating all efficient extreme points in
the outcome set of a multiple objective linear programming problem*, 1998). For a direction d,
column generation (``optimal/column_generation.py``) finds

* an equilibrium whose payoffs z are as far in the direction d as possible: *inner* is the hull of
  these points;
* a bound on d . z that is a proof: *outer* is the intersection of these half-planes.

The next direction comes from the corner of outer that is farthest from inner: it is the normal of
the edge of inner that the corner exceeds most. Either the edge is confirmed or a new point lies
beyond it, so a region with n corners takes about 2n directions, and there is no grid. The *error*
is the distance of that corner, the Hausdorff distance of both polygons, in units of the players'
payoff ranges. Where a bound is not tight the error stays, and a direction is never asked twice.

A K-EFCE is also a K'-EFCE for every K' < K, and other notions are nested in the same way. Hence a
point found for one notion serves every other one for which its gap is 0 too, and a half-plane
serves every notion whose equilibria are equilibria of this one. Joint plans and rows found for one
direction are kept for the next, and the plans of an equilibrium become columns for all notions.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from accord._arrays import Floats
from accord._signals import OutOfTime
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify
from accord.deviations.notions import EFCE, NFCCE, Notion
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import rounded_up
from accord.errors import NumericalError
from accord.optimal.column_generation import ColumnGeneration
from accord.optimal.exact_mixture import ExactLeaves
from accord.optimal.exact_nash import exact_nash
from accord.optimal.incentives import Incentives
from accord.optimal.normal_form import NormalForm
from accord.optimal.objective import WELFARE, Objective, as_objective
from accord.optimal.polish import is_nearly_exact, polished
from accord.optimal.polygon import cut, distances, edges, hull
from accord.optimal.proof import in_doubles, rational_mixture
from accord.optimal.zero_sum import constant_sum, nash_equilibrium, payoff_limits
from accord.treeplex.form import SequenceForm

FLAT = 1e-9
"""Corners that stand out by at most this part of the payoff ranges are rounding."""

OUTWARD = 1e-12
"""Half-planes are moved outward by this much, so that rounding cannot make them contradict."""

SAME = 1e-10
"""Directions that differ by at most this are the same."""

IN_FRACTIONS = 1.0
"""Seconds to find the rational payoffs of one equilibrium."""

AXES = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))


def strength(notion: Notion) -> tuple[float, bool, bool]:
    """A sort key for notions; no notion in this order contains an earlier one."""
    return notion.deviations, notion.agent, not notion.coarse


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """An equilibrium of the region."""

    policy: CorrelatedPolicy
    values: Floats  # [n_players] expected payoffs when everybody obeys
    gap: float  # for the notion of the region, payoff units
    errors: Floats  # [n_players] of the values
    gains: Floats  # [n_players] gaps, as large as their errors allow
    exact: tuple[Fraction, ...] | None = None  # the payoffs in rational numbers, if they are known

    @classmethod
    def of(
        cls,
        policy: CorrelatedPolicy,
        certificate: Certificate,
        notion: Notion,
        exact: tuple[Fraction, ...] | None,
    ) -> Found:
        """What a certificate says about a policy."""
        own = certificate[notion]
        gains = np.maximum(own.player_gaps, 0.0) + np.array(own.player_errors)
        errors = np.array(certificate.value_errors)
        values = np.array(certificate.values if exact is None else list(map(float, exact)))
        return cls(policy, values, own.gap, errors, gains, exact)


class Cut(NamedTuple):
    """A half-plane that has all equilibria: ``direction . z <= most``."""

    direction: Floats
    most: float
    worth: Floats  # [n_players] how far beyond a policy may be, per unit of a player's gap


class Sandwich:
    """An inner and an outer polygon of one region, with both payoffs scaled to [0, 1]."""

    def __init__(self, box: Floats) -> None:
        self.box = box
        self.points: list[Floats] = []
        self.found: list[Found] = []  # the equilibrium of each point
        self.margins: list[Floats] = []  # the error of each point
        self.cuts: list[Cut] = []
        self.asked: list[Floats] = []

    @property
    def corners(self) -> list[int]:
        """The points that are corners of inner."""
        return hull(np.array(self.points), FLAT) if self.points else []

    @property
    def inner(self) -> Floats:
        """The hull of the points; empty before there is one."""
        return np.array(self.points)[self.corners] if self.points else np.zeros((0, 2))

    @property
    def outer(self) -> Floats:
        """The part of the box that no half-plane excludes, moved outward by rounding."""
        return self.widened(0.0)

    def widened(self, rounding: float) -> Floats:
        """The outer polygon with all its sides moved outward by so much more.

        Raises:
            NumericalError: If an equilibrium contradicts a half-plane by more than rounding.
        """
        polygon, points = _larger(self.box, rounding), self.inner
        gains = np.array([found.gains for found in self.found])
        for direction, most, worth in self.cuts:
            farthest = float((points @ direction).max(initial=-np.inf))
            if farthest > most + FLAT:
                allowed = np.array(self.margins) @ np.abs(direction) + gains @ worth
                beyond = float((np.array(self.points) @ direction - allowed).max()) - most
                if beyond > FLAT:
                    raise NumericalError(
                        f"an equilibrium was found {beyond:.3g} payoff ranges beyond a proved "
                        "bound, which must not happen; please report this with the game"
                    )
            polygon = cut(polygon, direction, max(most, farthest) + OUTWARD + rounding)
        return polygon

    @property
    def error(self) -> float:
        """The largest distance of outer from inner; the diameter of outer if inner is empty."""
        outer, inner = self.outer, self.inner
        if not len(inner):
            return float(max(distances(outer, outer[[i]]).max() for i in range(len(outer))))
        return float(distances(outer, inner).max())

    def is_settled(self, direction: Floats, tolerance: float) -> bool:
        """Whether the farthest point in this direction is known."""
        if not self.points:
            return False
        known = (self.inner @ direction).max()
        return bool((self.outer @ direction).max() - known <= tolerance)

    def next_direction(self, tolerance: float) -> tuple[float, Floats] | None:
        """The largest error that a new direction may reduce, and that direction."""
        inner, outer = self.inner, self.outer
        if not len(inner):
            return None
        apart = distances(outer, inner)
        start, normal = edges(inner)
        for place in np.argsort(-apart, kind="stable"):
            if apart[place] <= tolerance:
                break
            beyond = ((outer[place] - start) * normal).sum(axis=1)
            ways = [normal[edge] for edge in np.argsort(-beyond, kind="stable") if beyond[edge] > 0]
            nearest = inner[np.argmin(np.linalg.norm(inner - outer[place], axis=1))]
            away = outer[place] - nearest
            for direction in (*ways, away / np.linalg.norm(away)):
                if not any(np.abs(direction - one).max() <= SAME for one in self.asked):
                    return float(apart[place]), direction
        return None


def _larger(box: Floats, margin: float) -> Floats:
    """A box along the axes, larger by ``margin`` on all sides between which there is something."""
    if not margin:
        return box
    least, most = box.min(axis=0), box.max(axis=0)
    more = np.where(most > least, margin, 0.0)
    return np.where(box > least, box + more, box - more)


class Side:
    """The region of one notion, and the search for its points."""

    def __init__(
        self,
        form: SequenceForm,
        notion: Notion,
        box: Floats,
        welfare: Objective,
        commits: tuple[int, ...] = (),
    ) -> None:
        self.notion = notion
        self.sandwich = Sandwich(box)
        self.rounds: ColumnGeneration | None = None
        self.welfare_bound = rounded_up(welfare.center(form.leaves) + Fraction(welfare.most(form)))
        self.best: Found | None = None  # of the largest welfare
        self.table: NormalForm | None = None
        if commits or constant_sum(form) is None or not NFCCE.is_bounded_by(notion):
            if notion.foresight:
                self.table = NormalForm.of(form)
                form, notion = self.table.form, EFCE
            incentives = Incentives.build(form, notion, commits=commits)
            self.rounds = ColumnGeneration(incentives, welfare)
        self.leaves = form.leaves  # which the objectives of its rounds are measured by

    @property
    def welfare(self) -> float:
        """The largest welfare found."""
        return -np.inf if self.best is None else float(self.best.values.sum())

    def add(self, place: Floats, margin: Floats, found: Found) -> None:
        """Add a point of the region; of several with the best welfare the first is kept."""
        self.sandwich.points.append(place)
        self.sandwich.margins.append(margin)
        self.sandwich.found.append(found)
        span = float(np.abs(found.values).sum())
        if float(found.values.sum()) > self.welfare + FLAT * span:
            self.best = found


@dataclass(frozen=True, eq=False)
class RegionQuestion:
    """A direction in which to look for a point of a region; None asks for the best welfare."""

    side: Side
    objective: Objective
    direction: Floats | None


class RegionSearch:
    """The regions of several notions, one round of column generation at a time.

    Attributes:
        sides: One region per notion, those whose deviators can do most first.
        nash: In a zero-sum game, the payoffs of every Nash equilibrium.
        directions: The number of directions asked so far.
    """

    def __init__(
        self,
        form: SequenceForm,
        notions: Sequence[Notion],
        pair: tuple[int, int],
        tolerance: float,
        commits: tuple[int, ...] = (),
    ) -> None:
        self.form, self.pair, self.tolerance = form, pair, tolerance
        self.fixed = commits
        self.commits = tuple(form.game.player_labels[i] for i in commits)
        leaves = form.leaves
        self.least = leaves.worst[list(pair)]
        span = leaves.payoff_range[list(pair)]
        self.unit = np.where(span > 0, span, 1.0)
        x, y = (span > 0).astype(np.float64)
        box = cut(np.array([[0.0, 0.0], [x, 0.0], [x, y], [0.0, y]]), np.zeros(2), 0.0)
        self.welfare = as_objective(WELFARE, form.game.player_labels)
        deepest = max(plex.horizon for plex in form.plexes)
        self.alike = {  # nobody can disobey more often than they decide
            one: one if one.k is None else Notion(min(one.k, deepest)) for one in notions
        }
        self.sides = [
            Side(form, one, box, self.welfare, commits)
            for one in sorted(set(self.alike.values()), key=strength, reverse=True)
        ]
        self.nash: Floats | None = None
        self.directions = 0
        self.question: RegionQuestion | None = None
        self._first: deque[RegionQuestion] = deque()
        if constant_sum(form) is not None and not commits:
            self._take_nash()
        for side in self.sides:
            if side.rounds is None:
                continue
            self._first.append(RegionQuestion(side, self.welfare, self._welfare_direction()))
            self._first.extend(self._ask(side, np.array(axis)) for axis in AXES)

    def side(self, notion: Notion) -> Side:
        """The region of one of the notions asked for."""
        return next(side for side in self.sides if side.notion == self.alike[notion])

    def advance(self, seconds: float | None = None) -> bool:
        """One round; False if nothing is left to do."""
        if self.question is None:
            self.question = self._next_question()
            if self.question is None:
                return False
            rounds = self.question.side.rounds
            assert rounds is not None
            rounds.aim(self.question.objective)
        rounds = self.question.side.rounds
        assert rounds is not None
        end = time.monotonic() + (0.0 if seconds is None else seconds)
        rounds.advance(seconds)
        if rounds.finished:
            self.conclude(math.inf if seconds is None else max(0.0, end - time.monotonic()))
        return True

    def conclude(self, seconds: float = math.inf, *, hurried: bool = False) -> None:
        """Take the point and the half-plane of the present question, whether finished or not; the
        point may take ``seconds``, and has no rational payoffs if this is ``hurried``."""
        if self.question is None:
            return
        side, direction = self.question.side, self.question.direction
        rounds, for_welfare = side.rounds, self.question.objective is self.welfare
        assert rounds is not None
        self.directions += 1
        self.question = None
        if rounds.exact and rounds.lottery is not None:
            place = self._scaled(rounds.incentives.payoffs(rounds.lottery.losses))
            wanted = direction is not None and self._reaches(side, place, direction)
            if wanted or (
                for_welfare and self._welfare(side) > side.welfare + FLAT * rounds.program.scale
            ):
                policy = polished(rounds.program, rounds.lottery, None, seconds)
                policy = policy if side.table is None else side.table.played(policy)
                exact = None
                if not hurried:
                    policy, exact = self._in_fractions(side, policy, rounds.objective, seconds)
                self._share(side, policy, exact)
        if for_welfare:
            center = rounds.objective.center(side.leaves)
            side.welfare_bound = rounded_up(center + Fraction(rounds.bound))
        if direction is not None:
            side.sandwich.asked.append(direction)
            weights = np.array(rounds.objective.weights)
            size = math.hypot(*weights[list(self.pair)] * self.unit)
            measured = rounds.objective.center
            moved = float(measured(side.leaves) - measured(self.form.leaves))
            most = (rounds.bound + moved) / size
            for other in self.sides:
                if side.notion.is_bounded_by(other.notion):
                    other.sandwich.cuts.append(Cut(direction, most, rounds.worth / size))

    def _next_question(self) -> RegionQuestion | None:
        """One of the first questions, or the one about the largest error."""
        while self._first:
            question = self._first.popleft()
            sandwich, direction = question.side.sandwich, question.direction
            if (
                question.objective is self.welfare
                or direction is None
                or not sandwich.is_settled(direction, FLAT)
            ):
                return question
        best: tuple[float, Side, Floats] | None = None
        for side in self.sides:
            if side.rounds is None:
                continue
            wanted = side.sandwich.next_direction(self.tolerance)
            if wanted is not None and (best is None or wanted[0] > best[0]):
                best = (wanted[0], side, wanted[1])
        return None if best is None else self._ask(best[1], best[2])

    def _ask(self, side: Side, direction: Floats) -> RegionQuestion:
        weights = np.zeros(self.form.n_players)
        weights[list(self.pair)] = direction / self.unit
        return RegionQuestion(side, Objective(tuple(weights.tolist())), direction)

    def _welfare_direction(self) -> Floats | None:
        """Of the welfare of all players, if these are two."""
        return self.unit / math.hypot(*self.unit) if self.form.n_players == 2 else None

    def _welfare(self, side: Side) -> float:
        """The welfare of the mixture found last, rounded."""
        assert side.rounds is not None
        center = side.rounds.objective.center(side.leaves)
        return float(center + Fraction(side.rounds.value))

    def _scaled(self, values: Floats) -> Floats:
        return np.asarray((values[list(self.pair)] - self.least) / self.unit)

    def _add(self, side: Side, found: Found) -> None:
        """Add an equilibrium to a region."""
        margin = found.errors[list(self.pair)] / self.unit
        side.add(self._scaled(found.values), np.asarray(margin), found)

    def _reaches(self, side: Side, place: Floats, direction: Floats) -> bool:
        """Whether a point is farther than those known."""
        known = side.sandwich.inner
        return bool(place @ direction > (known @ direction).max(initial=-np.inf) + FLAT)

    def _in_fractions(
        self, side: Side, policy: CorrelatedPolicy, objective: Objective, seconds: float
    ) -> tuple[CorrelatedPolicy, tuple[Fraction, ...] | None]:
        """The equilibrium with rational weights, and its payoffs; itself if that is not as good."""
        end = time.monotonic() + min(seconds, IN_FRACTIONS)
        exact = rational_mixture(self.form, policy, objective, side.notion, end, self.fixed)
        if exact is None:
            return policy, None
        payoffs, weights = exact[2].payoffs, np.array(objective.weights)
        lost = float(weights @ (np.array(policy.values()) - np.array(list(map(float, payoffs)))))
        if lost > FLAT * float(np.abs(weights) @ self.form.leaves.payoff_range):
            return policy, None
        return in_doubles(exact), payoffs

    def _share(
        self, side: Side, policy: CorrelatedPolicy, exact: tuple[Fraction, ...] | None
    ) -> None:
        """Add an equilibrium of one side to all sides where it is one, and its plans to all."""
        notions = [other.notion for other in self.sides]
        certificate = certify(self.form.game, policy, notions, commits=self.commits)
        for other in self.sides:
            if is_nearly_exact(self.form, certificate, other.notion):
                self._add(other, Found.of(policy, certificate, other.notion, exact))
            if other is not side and other.rounds is not None and other.table is None:
                other.rounds.offer(policy)

    def _take_nash(self) -> None:
        """All equilibria of a zero-sum game have the same payoffs, unless deviators must obey
        afterwards (AFCE, AFCCE)."""
        policy, exact = nash_equilibrium(self.form), None
        with suppress(OutOfTime, OverflowError):
            nash = exact_nash(ExactLeaves(self.form), time.monotonic() + IN_FRACTIONS)
            if nash is not None:
                policy = CorrelatedPolicy.product(self.form.game, nash.behaviors())
                exact = nash.mixture.payoffs
        least, most = payoff_limits(self.form, policy)
        total = constant_sum(self.form)
        assert total is not None
        lowest = np.array([least, total - most])[list(self.pair)]
        highest = np.array([most, total - least])[list(self.pair)]
        self.nash = np.asarray(policy.values() if exact is None else list(map(float, exact)))
        certificate = certify(self.form.game, policy, [side.notion for side in self.sides])
        for side in self.sides:
            if is_nearly_exact(self.form, certificate, side.notion):
                found = Found.of(policy, certificate, side.notion, exact)
                self._add(side, replace(found, values=self.nash))
            if side.rounds is not None:
                continue
            side.welfare_bound = total
            for axis in map(np.array, AXES):
                limit = np.where(axis > 0, highest, lowest)
                farthest = float(axis @ ((limit - self.least) / self.unit))
                worth = np.full(2, 2.0 / self.unit.min())
                side.sandwich.cuts.append(Cut(axis, farthest, worth))
