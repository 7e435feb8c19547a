"""Devices whose advice off the path would be obeyed, in rational arithmetic.

Of all equilibria with the same value this finds one that threatens as little as possible. At each
infoset the others' hands slip with probability e (``equilibrium/evaluation.py``), so that every
infoset that a player's own plan allows is reached. Say G(x, r, phi) is what a player who is told r
at x gains against such others by the deviation phi. Over joint plans c with weights w,

    minimize   sum of s(x, r)  subject to  the incentives without trembles,  the value,
               sum_c w_c G_c(x, r, phi) <= size s(x, r) + size sum_{c: (x, r) is on the path} w_c,

where ``size`` is the largest G_c(x, r, phi). Slack s is the *temptation* to disobey at (x, r),
measured by the largest one that any plan offers there, so that advice which is behind many slips
whatever is planned counts like advice behind one. On the path of the equilibrium at hand, where
obedient players are told r at x with a probability far above e, the incentives without trembles
decide, and the last term makes the row void. If it is possible without any temptation, every
trembled gain off the path is at most 0. With hard constraints, s = 0, the objective is maximized
instead of kept, and the last term is there for every (x, r).

*Which plans.* Advice matters at the infosets that a player's own plan allows. At the others it is
heard by nobody who has not deviated; there all plans have the same *default* action, the best one
against the trembling others, so that a deviator learns nothing from it. If the joint plans that
differ elsewhere are few, the program has them all. Otherwise it starts from some, and as long as
the best mixture of them tempts somebody to play a instead of r at x, its plans with a in place of r
join them.

Rows are made as they are needed. All numbers are integers, HiGHS solves the program in doubles, and
its basis is solved exactly (``optimal/exact_program.py``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from accord._arrays import Ints
from accord._signals import OutOfTime
from accord.deviations.notions import EFCE
from accord.game.rationals import as_rational
from accord.optimal.enumeration import all_plans, count_plans
from accord.optimal.exact_mixture import (
    ExactLeaves,
    ExactMixture,
    ExactPlans,
    Gain,
    floor_rows,
    maximizing,
)
from accord.optimal.exact_program import ExactProgram, Row
from accord.optimal.incentives import Incentives
from accord.optimal.objective import Objective
from accord.treeplex.form import SequenceForm

MOST_PLANS, MOST_WORK = 3_000, 100_000
"""The most joint plans of a program, and the most plans times sequences of all players."""

ROUNDS = 100
"""The most solutions of the program for the same plans, and the most times that plans join it."""

TOLERANCE = 1e-9
"""Rows that are violated by less than this part of their largest entry are not made in doubles."""

KEPT = Fraction(1, 10**10)
"""How far payoffs that are kept may move, in payoff ranges."""

WHOLE = 1 << 50
"""Weights in doubles are rounded to multiples of its inverse."""

Plan = tuple[Ints, ...]


@dataclass(frozen=True, eq=False)
class CredibleMixture:
    """An equilibrium that tempts nobody more than it must."""

    exact: tuple[ExactLeaves, ExactPlans, ExactMixture]
    temptation: Fraction  # the sum over all places; 0 if all advice off the path is credible
    maximized: bool  # whether the objective was maximized, and not kept
    complete: bool  # whether the program had all joint plans, so that no other mixture is better


@dataclass(frozen=True, eq=False)
class Goal:
    """What a mixture is to have beside incentives."""

    objective: Objective
    value: Fraction | None = None  # the objective is at least this, if it is given
    payoffs: tuple[Fraction, ...] | None = None  # they are kept, if they are given: exactly beside
    # a value, else nearly
    best: bool = False  # whether the objective is maximized, and nobody may be tempted


def credible_mixture(
    form: SequenceForm,
    plans: Sequence[Plan],
    weights: Sequence[Fraction],
    goal: Goal,
    tremble: Fraction,
    end: float,
    *,
    commits: Sequence[int] = (),
    hard: bool = False,
) -> CredibleMixture | None:
    """The mixture with the least temptation; None if the game is too large or time runs out.

    Args:
        form: The game.
        plans: Joint plans to start from.
        weights: Their weights in an equilibrium, the best one.
        goal: What the mixture is to have.
        tremble: The probability of a slip.
        end: When to give up, by ``time.monotonic``.
        commits: The players who do not deviate.
        hard: Whether nobody may be tempted, even if that costs some of the objective, which is
            maximized then; the result is None if somebody is tempted by every mixture.
    """
    per_plan = max(form.n_sequences, len(form.leaves))
    most = min(MOST_PLANS, MOST_WORK // per_plan)
    if len(plans) > most:
        return None
    try:
        leaves = ExactLeaves(form)
        default = default_actions(ExactPlans(leaves, plans, commits, tremble), weights)
        every = _every_plan(form, most)
        seeds = plans if every is None else every
        search = _Search(leaves, goal, tremble, commits, default, seeds, most, end)
        search.path = _path(ExactPlans(leaves, plans), weights)
        found = search.run(grow=every is None)
        if hard and (found is None or found.temptation):
            search.goal, search.path = Goal(goal.objective), None
            found = search.run(grow=every is None)
            if found is not None and not found.temptation:
                search.goal = Goal(goal.objective, best=True)
                found = search.run(grow=False, complete=every is not None)
        return None if hard and found is not None and found.temptation else found
    except OverflowError:
        return None


def default_actions(plans: ExactPlans, weights: Sequence[Fraction]) -> list[list[int]]:
    """For each player, by infoset, the best action against a mixture for who hears nothing."""
    found = []
    for i, plex in enumerate(plans.form.plexes):
        total = [Fraction(0)] * plex.n_sequences
        for weight, own in zip(weights, plans.paid, strict=True):
            for seq, value in own[i].items():
                total[seq] += weight * value
        chosen = [0] * plex.n_infosets
        for x in range(plex.n_infosets - 1, -1, -1):
            here = total[plex.first_seq[x] : plex.first_seq[x + 1]]
            chosen[x] = here.index(max(here))
            total[plex.parent_seq[x]] += max(here)
        found.append(chosen)
    return found


def _every_plan(form: SequenceForm, most: int) -> list[Plan] | None:
    """All joint plans that differ where advice matters; None if they are more than ``most``."""
    trees = Incentives.build(form, 1).trees
    if math.prod(count_plans(tree) for tree in trees) > most:
        return None
    return [tuple(parts) for parts in product(*map(all_plans, trees))]


def _path(plans: ExactPlans, weights: Sequence[Fraction]) -> list[set[int]]:
    """For each player the sequences that are told with some probability if nobody slips."""
    return [
        set().union(*(own[i] for own, w in zip(plans.on_path, weights, strict=True) if w))
        for i in range(plans.form.n_players)
    ]


class _Search:
    """A program over joint plans, to which plans and rows are added."""

    def __init__(
        self,
        leaves: ExactLeaves,
        goal: Goal,
        tremble: Fraction,
        commits: Sequence[int],
        default: list[list[int]],
        seeds: Iterable[Plan],
        most: int,
        end: float,
    ) -> None:
        self.form, self.goal, self.default = leaves.form, goal, default
        self.most, self.end = most, end
        self.plans, self.slipped = (
            ExactPlans(leaves, (), commits),
            ExactPlans(leaves, (), commits, tremble),
        )
        self.known: set[tuple[tuple[int, ...], ...]] = set()
        self.path: list[set[int]] | None = None  # where trembles do not count; None: on any path
        self.free = True  # whether default actions are all that no plan can vary
        for plan in seeds:
            self.add(plan)

    def add(self, plan: Sequence[Ints | Sequence[int]]) -> bool:
        """Add a joint plan, with default actions where its own actions exclude an infoset."""
        parts = []
        for plex, own, default in zip(self.form.plexes, plan, self.default, strict=True):
            reached, actions = {0}, []
            for x in range(plex.n_infosets):
                allowed = int(plex.parent_seq[x]) in reached
                self.free = self.free and allowed
                actions.append(int(own[x]) if allowed else default[x])
                if allowed:
                    reached.add(int(plex.first_seq[x]) + actions[x])
            parts.append(tuple(actions))
        key = tuple(parts)
        if key in self.known or len(self.known) >= self.most:
            return False
        self.known.add(key)
        made = tuple(np.array(part, np.int32) for part in parts)
        self.plans.add(made)
        self.slipped.add(made)
        return True

    def run(self, *, grow: bool, complete: bool = True) -> CredibleMixture | None:
        """Solve the program; if it may ``grow``, add plans that tempt less as long as some do."""
        found: tuple[list[Fraction], Fraction] | None = None
        with suppress(OutOfTime):  # what was found before still holds
            for _ in range(ROUNDS):
                better = _Program(self).run()
                found = better or found
                if better is None or not grow or not better[1]:
                    break
                if not self._switch(better[0], self.slipped.gaining(better[0], EFCE)):
                    break
        if found is None:
            return None
        weights, slack = found
        whole = complete and not grow and self.free
        weights += [Fraction(0)] * (len(self.plans) - len(weights))
        leaves, support = self.plans.leaves, [c for c, weight in enumerate(weights) if weight]
        arrays = ([np.array(own, np.int32) for own in self.plans.actions[c]] for c in support)
        plans = ExactPlans(leaves, map(tuple, arrays), self.plans.commits)
        weights = [weights[c] for c in support]
        mixture = ExactMixture(tuple(weights), plans.payoffs(weights))
        return CredibleMixture((leaves, plans, mixture), slack, self.goal.best, whole)

    def _switch(self, weights: Sequence[Fraction], tempting: Iterable[Gain]) -> int:
        """Add the plans of a mixture with the tempting action in place of the recommended one."""
        added = 0
        heard = _path(self.plans, weights)
        support = [c for c, weight in enumerate(weights) if weight]
        for gain in tempting:
            if gain.told in heard[gain.player]:
                continue
            plex = self.form.plexes[gain.player]
            x = int(plex.seq_infoset[gain.told])
            for c in support:
                if c in gain.row:  # it tells so
                    plan = [list(own) for own in self.plans.actions[c]]
                    plan[gain.player][x] = gain.plays - int(plex.first_seq[x])
                    added += self.add(plan)
        return added


class _Program:
    """The program over the plans that a search has now."""

    def __init__(self, search: _Search) -> None:
        self.plans, self.slipped = search.plans, search.slipped
        self.goal, self.end, self.path = search.goal, search.end, search.path
        self.n = len(self.plans)
        self.places: dict[tuple[int, int], int] = {}  # the variable of the temptation at each
        self.known: set[tuple[int, int, tuple[tuple[int, int], ...]]] = set()
        if self.goal.best:
            self.program = maximizing(self.plans, self.goal.objective)
            return
        self.program = ExactProgram()
        self.program.add_variables([0.0] * self.n)
        self.program.add_row(dict.fromkeys(range(self.n), 1), 1, equal=True)
        for row, limit in self._goal_rows():
            self.program.add_row(row, limit)

    def _goal_rows(self) -> list[tuple[Row, int]]:
        """Rows that keep the value or the payoffs."""
        goal, leaves = self.goal, self.plans.leaves
        rows: list[tuple[list[Fraction], Fraction]] = []
        above = [
            [Fraction(own[i], unit) for own in self.plans.obeying]
            for i, unit in enumerate(leaves.unit)
        ]
        if goal.payoffs is not None:
            for own, kept, worst in zip(above, goal.payoffs, leaves.worst, strict=True):
                room = KEPT * (max(own) - min(own)) if goal.value is None else Fraction(0)
                rows.append((own, kept - worst + room))
                rows.append(([-u for u in own], worst - kept + room))
        elif goal.value is not None and goal.objective.weights is None:
            rows += [
                ([-u for u in own], worst - goal.value)
                for own, worst in zip(above, leaves.worst, strict=True)
            ]
        elif goal.value is not None:
            sign = Fraction(goal.objective.sign)
            weights = [sign * as_rational(w) for w in goal.objective.weights or ()]
            least = _dot(weights, leaves.worst)
            total = [-_dot(weights, own) for own in zip(*above, strict=True)]
            rows.append((total, least - sign * goal.value))
        if goal.payoffs is not None:
            return [_integral(*pair) for pair in rows]
        return [_integral(*pair) for pair in rows] + floor_rows(self.plans, goal.objective)

    def run(self) -> tuple[list[Fraction], Fraction] | None:
        """The best weights, and the temptation that is left, exactly."""
        exact = False
        for _ in range(ROUNDS):
            if time.monotonic() > self.end:
                raise OutOfTime
            found = self.program.solve(self.end)
            if found is None:
                return None
            values: Sequence[Fraction] | None
            if exact:
                values = self.program.vertex(self.end)
                if values is None or min(values[: self.n]) < 0 or sum(values[: self.n]) != 1:
                    return None
            else:
                values = [Fraction(round(v * WHOLE), WHOLE) for v in found.tolist()]
            made = self._separate(values, 0.0 if exact else TOLERANCE)
            if not made and exact:
                slack = sum((values[place] for place in self.places.values()), Fraction(0))
                return list(values[: self.n]), slack
            exact = not made
        return None

    def _separate(self, values: Sequence[Fraction], tolerance: float) -> int:
        """Make the rows that a solution violates; return how many."""
        weights = [max(Fraction(0), value) for value in values[: self.n]]
        made = 0
        for gain in self.plans.gaining(weights, EFCE, tolerance):
            if self._is_new(gain, -1):
                self.program.add_row(gain.row)
                made += 1
        for gain in self.slipped.gaining(weights, EFCE):
            i, told, size = gain.player, gain.told, max(map(abs, gain.row.values()))
            row = dict(gain.row)
            counts = self.path is not None and told not in self.path[i]
            for c in () if counts else range(self.n):
                if told in self.plans.on_path[c][i]:
                    row[c] = row.get(c, 0) - size
            slack = self.places.get((i, told))
            violation = sum((weights[c] * v for c, v in row.items()), Fraction(0))
            if slack is not None and slack < len(values):  # else it was made just now
                violation -= size * values[slack]
            if violation > Fraction(tolerance) * size and self._is_new(gain, 1):
                if slack is None and not self.goal.best:
                    slack = self.places[i, told] = self.program.add_variables([1.0])
                self.program.add_row(row if slack is None else {**row, slack: -size})
                made += 1
        return made

    def _is_new(self, gain: Gain, kind: int) -> bool:
        key = (kind * (1 + gain.player), gain.told, tuple(sorted(gain.row.items())))
        if key in self.known:
            return False
        self.known.add(key)
        return True


def _dot(weights: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0))


def _integral(row: Sequence[Fraction], limit: Fraction) -> tuple[Row, int]:
    """A row and its limit times their common denominator."""
    common = math.lcm(limit.denominator, *(value.denominator for value in row))
    return {c: int(value * common) for c, value in enumerate(row)}, int(limit * common)
