"""The best equilibrium over a few joint plans, in rational arithmetic.

Payoffs are those that the game's doubles stand for (``game/exact.py``), measured from each player's
worst. They are brought to a common denominator per player, so that all sums are of integers. Over
given joint plans the program

    maximize objective(w)  subject to  sum_c w_c = 1,  w >= 0,  sum_c w_c gain_c(phi) <= 0

has one row per deviation phi that matters. HiGHS solves it in doubles; its basis is solved exactly,
the best deviations from the result are found exactly, and those that gain become rows, until none
does. The result is an equilibrium without any tolerance, of any notion but LCE.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Ints
from accord._signals import OutOfTime
from accord.deviations.notions import Notion
from accord.game.exact import exact_plays
from accord.game.rationals import as_rational
from accord.optimal.exact_program import ExactProgram, Row
from accord.optimal.objective import Objective
from accord.treeplex.form import SequenceForm
from accord.treeplex.leaves import sequences_at

NEAR = 1e-7
"""Deviations that gain more than minus this, in payoff ranges, are rows from the start."""

ROUNDS = 200

NO_TREMBLE = Fraction(0)


class ExactLeaves:
    """The leaf table of a game in integers; ``worst`` and ``unit`` turn them into payoffs."""

    def __init__(self, form: SequenceForm) -> None:
        self.form = form
        plays = exact_plays(form.game)
        ends = np.array([node for node, _, _ in plays])
        keys = sequences_at(form.game, form.plexes, ends).tolist()
        row = {tuple(seqs): place for place, seqs in enumerate(form.leaves.seqs.tolist())}
        players = range(form.n_players)
        self.paid = [paid for _, _, paid in plays]  # [n_plays][n_players]
        self.worst = [min(paid[i] for paid in self.paid) for i in players]
        self.span = [max(paid[i] for paid in self.paid) - self.worst[i] for i in players]
        above = [[Fraction(0)] * len(row) for _ in players]
        for key, (_, chance, paid) in zip(keys, plays, strict=True):
            place = row.get(tuple(key))
            if place is None:  # its chance is too small for a double
                raise OverflowError
            for i in players:
                above[i][place] += chance * (paid[i] - self.worst[i])
        self.unit = [math.lcm(*(value.denominator for value in own)) for own in above]
        self.above = [  # [n_players][n_leaves] payoffs above the worst, times chance and unit
            [int(value * unit) for value in own] for own, unit in zip(above, self.unit, strict=True)
        ]


class Gain(NamedTuple):
    """A deviation that gains: who first plays what instead of what they are told."""

    row: Row  # what it gains in each joint plan, up to a common factor
    player: int
    told: int  # the sequence that is recommended; 0 if the deviator hears none, or a whole plan
    plays: int  # the sequence that is played instead; 0 if it is a whole plan


class ExactPlans:
    """Joint plans, with what each player gets at each of their sequences if the others obey.

    The players in ``commits`` do not deviate. The others' hands may tremble with a rational
    probability (``equilibrium/evaluation.py``). What a player gets by obeying is always meant
    without trembles.
    """

    def __init__(
        self,
        leaves: ExactLeaves,
        plans: Iterable[tuple[Ints, ...]],
        commits: Sequence[int] = (),
        tremble: Fraction = NO_TREMBLE,
    ) -> None:
        form = self.form = leaves.form
        self.leaves, self.commits, self.tremble = leaves, tuple(commits), tremble
        self.after = [_after(plex.parent_seq.tolist()) for plex in form.plexes]
        self.first = [plex.first_seq.tolist() for plex in form.plexes]
        self.actions: list[list[list[int]]] = []  # [n_plans][n_players] by infoset
        self.paid: list[list[dict[int, int]]] = []  # [n_plans][n_players] by sequence
        self.obeying: list[list[int]] = []  # [n_plans][n_players]
        self.on_path: list[list[set[int]]] = []  # [n_plans][n_players] sequences told with some
        # probability if nobody's hand trembles
        self._seqs = [form.leaves.seqs[:, i].tolist() for i in range(form.n_players)]
        self._above = [np.array(own, object) for own in leaves.above]
        if tremble:
            self._above = [own * self._factors(i) for i, own in enumerate(self._above)]
        for plan in plans:
            self.add(plan)

    def add(self, plan: tuple[Ints, ...]) -> None:
        """Add a joint plan."""
        form, seqs = self.form, self.form.leaves.seqs
        reached = [self._reach(i, own)[seqs[:, i]] for i, own in enumerate(plan)]
        trembled: list[NDArray[Any]] = list(reached)
        if self.tremble:
            trembled = [self._trembled(i, own)[seqs[:, i]] for i, own in enumerate(plan)]
        together = np.logical_and.reduce(reached)
        ends = np.flatnonzero(together).tolist()
        paid, obeying, on_path = [], [], []
        for i in range(form.n_players):
            others: Any = True
            for j in range(form.n_players):
                if j != i:
                    others = others * trembled[j]
            places = np.flatnonzero(np.broadcast_to(others, len(seqs)) != 0)
            values = self._above[i][places]
            if self.tremble:
                values = values * np.broadcast_to(others, len(seqs))[places]
            own: dict[int, int] = {}
            for place, value in zip(places.tolist(), values.tolist(), strict=True):
                seq = self._seqs[i][place]
                own[seq] = own.get(seq, 0) + value
            paid.append(own)
            obeying.append(sum(self.leaves.above[i][place] for place in ends))
            on_path.append(self._upward(i, {self._seqs[i][place] for place in ends}))
        self.actions.append([part.tolist() for part in plan])
        self.paid.append(paid)
        self.obeying.append(obeying)
        self.on_path.append(on_path)

    def _reach(self, i: int, actions: Ints) -> NDArray[np.bool_]:
        plex = self.form.plexes[i]
        reach = np.zeros(plex.n_sequences, bool)
        reach[0] = True
        for x, action in enumerate(actions.tolist()):
            reach[plex.first_seq[x] + action] = reach[plex.parent_seq[x]]
        return reach

    def _trembled(self, i: int, actions: Ints) -> NDArray[np.object_]:
        """The probability of each sequence times the common denominator of its infosets."""
        plex, reach = self.form.plexes[i], np.empty(self.form.plexes[i].n_sequences, object)
        reach[0], (slip, of) = 1, self.tremble.as_integer_ratio()
        for x, action in enumerate(actions.tolist()):
            first, n = int(plex.first_seq[x]), int(plex.n_actions[x])
            above = reach[plex.parent_seq[x]]
            reach[first : first + n] = slip * above
            reach[first + action] += (of - slip) * n * above
        return reach

    def _factors(self, player: int) -> NDArray[np.object_]:
        """What makes the trembled probabilities of the others integers, by leaf."""
        of, total = self.tremble.denominator, np.ones(len(self.form.leaves), object)
        for j, plex in enumerate(self.form.plexes):
            if j != player:
                common = np.ones(plex.n_sequences, object)
                for x in range(plex.n_infosets):
                    first, n = int(plex.first_seq[x]), int(plex.n_actions[x])
                    common[first : first + n] = common[plex.parent_seq[x]] * of * n
                total = total * common[self.form.leaves.seqs[:, j]]
        return np.asarray(math.lcm(*total.tolist()) // total, object)

    def _upward(self, i: int, seqs: set[int]) -> set[int]:
        """These sequences and all before them."""
        plex, found = self.form.plexes[i], set(seqs)
        for last in seqs:
            seq = last
            while seq:
                seq = int(plex.parent_seq[plex.seq_infoset[seq]])
                found.add(seq)
        return found

    def __len__(self) -> int:
        return len(self.paid)

    def payoffs(self, weights: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Expected payoffs of a mixture if everybody obeys."""
        return tuple(
            worst + _dot(weights, [own[i] for own in self.obeying]) / unit
            for i, (worst, unit) in enumerate(zip(self.leaves.worst, self.leaves.unit, strict=True))
        )

    def gaining(
        self, weights: Sequence[Fraction], notion: Notion, least: float = 0.0
    ) -> list[Gain]:
        """The deviations from a mixture that gain more than ``least`` payoff ranges."""
        common = math.lcm(*(w.denominator for w in weights))
        whole = [int(w * common) for w in weights]
        found: list[Gain] = []
        for i in sorted({*range(self.form.n_players)} - {*self.commits}):
            limit = least * max(1, max(self.leaves.above[i], default=1)) * common
            search = _Deviator(self, i, whole, notion, limit)
            search.run()
            found += search.found
        return found


class _Deviator:
    """The best deviations of one player from a mixture with integral weights."""

    def __init__(
        self, plans: ExactPlans, i: int, weights: Sequence[int], notion: Notion, limit: float
    ) -> None:
        self.player, self.weights, self.notion, self.limit = i, weights, notion, limit
        self.after, self.first = plans.after[i], plans.first[i]
        self.paid = [own[i] for own in plans.paid]
        self.told = [own[i] for own in plans.actions]
        self.obeying = [own[i] for own in plans.obeying]
        self.found: list[Gain] = []

    def run(self) -> None:
        """Consider the best deviation after everything that the player may be told."""
        if self.notion.deviations and not self.notion.foresight:
            self.obey(0, range(len(self.weights)))
            return
        known: dict[object, list[int]] = {}  # the plans by what is known of them before the play
        for c, told in enumerate(self.told):
            known.setdefault(tuple(told) if self.notion.foresight else None, []).append(c)
        for group in known.values():
            gained = self.best(0, group, self.notion.deviations)
            self.consider({c: v - self.obeying[c] for c, v in gained.items()}, 0, 0)

    def consider(self, row: Row, told: int, plays: int) -> None:
        """Keep a deviation if it gains."""
        if sum(self.weights[c] * v for c, v in row.items()) > self.limit and any(row.values()):
            self.found.append(Gain(row, self.player, told, plays))

    def _heard(self, x: int, plans: Sequence[int]) -> dict[int, list[int]]:
        groups: dict[int, list[int]] = {}
        for c in plans:
            groups.setdefault(self.told[c][x], []).append(c)
        return groups

    def best(self, seq: int, plans: Sequence[int], used: float) -> Row:
        """What the player gets in each of the plans that they think possible, from a sequence on,
        by deviating best."""
        total = {c: self.paid[c].get(seq, 0) for c in plans}
        for x in self.after.get(seq, ()):
            first, end = self.first[x], self.first[x + 1]
            hears = used < self.notion.deviations
            groups = self._heard(x, plans) if hears else {-1: list(plans)}
            for told, group in groups.items():
                options = (
                    self.best(first + a, group, used + (told >= 0 and a != told))
                    for a in range(end - first)
                )
                chosen = max(options, key=lambda own: sum(self.weights[c] * own[c] for c in own))
                for c, value in chosen.items():
                    total[c] += value
        return total

    def follow(self, seq: int, plans: Sequence[int]) -> Row:
        """What the player gets in each of these plans by obeying from a sequence on."""
        total = {c: self.paid[c].get(seq, 0) for c in plans}
        for x in self.after.get(seq, ()):
            for told, group in self._heard(x, plans).items():
                for c, value in self.follow(self.first[x] + told, group).items():
                    total[c] += value
        return total

    def obey(self, seq: int, plans: Sequence[int]) -> Row:
        """What the player gets by obeying; deviations from here on are considered."""
        total = {c: self.paid[c].get(seq, 0) for c in plans}
        for x in self.after.get(seq, ()):
            first, n = self.first[x], self.first[x + 1] - self.first[x]
            heard, obeying = self._heard(x, plans), {}
            for told, group in heard.items():
                obeying.update(self.obey(first + told, group))
            known = {-1: list(plans)} if self.notion.coarse else heard
            for told, group in known.items():
                for a in set(range(n)) - {told}:
                    then = self.follow if self.notion.agent else self._leave
                    gained = then(first + a, group)
                    row = {c: gained[c] - obeying[c] for c in group}
                    self.consider(row, first + told if told >= 0 else 0, first + a)
            for c, value in obeying.items():
                total[c] += value
        return total

    def _leave(self, seq: int, plans: Sequence[int]) -> Row:
        return self.best(seq, plans, 1)


@dataclass(frozen=True, eq=False)
class ExactMixture:
    """An equilibrium: weights of joint plans, and expected payoffs if everybody obeys."""

    weights: tuple[Fraction, ...]  # of all plans; some may be 0
    payoffs: tuple[Fraction, ...]


def best_exact_mixture(
    plans: ExactPlans, weights: Sequence[float], objective: Objective, notion: Notion, end: float
) -> ExactMixture | None:
    """The best equilibrium over these plans, near a mixture in doubles; None if none is found.

    Raises:
        OutOfTime: At ``end``, a time of ``time.monotonic``.
    """
    rows = [gain.row for gain in plans.gaining([Fraction(w) for w in weights], notion, -NEAR)]
    known = {tuple(sorted(row.items())) for row in rows}
    for _ in range(ROUNDS):
        if time.monotonic() > end:
            raise OutOfTime
        found = _solved(plans, rows, objective, end)
        if found is None:
            return None
        gains = [gain.row for gain in plans.gaining(found, notion)]
        new = [row for row in gains if tuple(sorted(row.items())) not in known]
        if not new:
            payoffs = plans.payoffs(found)
            floors = zip(payoffs, objective.floor or (), strict=False)
            held = all(v == -math.inf or u >= as_rational(v) for u, v in floors)
            return None if gains or not held else ExactMixture(tuple(found), payoffs)
        rows += new
        known |= {tuple(sorted(row.items())) for row in new}
    return None


def _solved(
    plans: ExactPlans, rows: Sequence[Row], objective: Objective, end: float
) -> list[Fraction] | None:
    """The optimal weights, from the basis of the program in doubles."""
    program = maximizing(plans, objective)
    for row in rows:
        program.add_row(row)
    if program.solve(end) is None or (vertex := program.vertex(end)) is None:
        return None
    weights = vertex[: len(plans)]
    return None if min(weights) < 0 or sum(weights) != 1 else weights


def maximizing(plans: ExactPlans, objective: Objective) -> ExactProgram:
    """The program of the best weights, which come first among its variables, without incentives.

    The objective is measured in spreads of its values, or of payoffs.
    """
    n, program = len(plans), ExactProgram()
    linear = objective.weights is not None
    costs = [-value for value in _scaled_values(plans, objective)] if linear else [0.0] * n
    program.add_variables(costs)
    program.add_row(dict.fromkeys(range(n), 1), 1, equal=True)
    for row, limit in floor_rows(plans, objective):
        program.add_row(row, limit)
    if objective.target is not None:
        _keep(plans, objective.target, program)
    elif not linear:
        _raise_least(plans, program)
    return program


def _raise_least(plans: ExactPlans, program: ExactProgram) -> None:
    """Maximize the smallest payoff, lowest + size times a new variable."""
    leaves = plans.leaves
    least, lowest = program.add_variables([-1.0], free=True), min(leaves.worst)
    size = max(
        Fraction(max(own), unit)
        for own, unit in zip(zip(*plans.obeying, strict=True), leaves.unit, strict=True)
    ) or Fraction(1)
    for i, (worst, unit) in enumerate(zip(leaves.worst, leaves.unit, strict=True)):
        common = math.lcm((worst - lowest).denominator, size.denominator, unit)
        row = {c: -own[i] * (common // unit) for c, own in enumerate(plans.obeying)}
        row[least] = int(size * common)
        program.add_row(row, int((worst - lowest) * common))


def _keep(plans: ExactPlans, target: Sequence[float], program: ExactProgram) -> None:
    """Minimize the distance of the payoffs from the target, in payoff ranges."""
    leaves = plans.leaves
    for i, (worst, unit, span) in enumerate(
        zip(leaves.worst, leaves.unit, leaves.span, strict=True)
    ):
        above, size = as_rational(target[i]) - worst, span or Fraction(1)
        more = program.add_variables([1.0, 1.0])  # payoffs too high, and too low
        common = math.lcm(above.denominator, unit, size.denominator)
        row = {c: own[i] * (common // unit) for c, own in enumerate(plans.obeying)}
        row |= {more: -int(size * common), more + 1: int(size * common)}
        program.add_row(row, int(above * common), equal=True)


def floor_rows(plans: ExactPlans, objective: Objective) -> list[tuple[Row, int]]:
    """The rows of players who must get something, and their limits."""
    rows: list[tuple[Row, int]] = []
    for i, floor in enumerate(objective.floor or ()):
        if floor > -math.inf:  # in integers, at most minus what is above the worst
            above = (as_rational(floor) - plans.leaves.worst[i]) * plans.leaves.unit[i]
            common = above.denominator
            row = {c: -own[i] * common for c, own in enumerate(plans.obeying)}
            rows.append((row, -int(above * common)))
    return rows


def _scaled_values(plans: ExactPlans, objective: Objective) -> list[float]:
    """The linear objective of each plan above the least, scaled to about 1."""
    assert objective.weights is not None
    factors = [
        Fraction(objective.sign) * Fraction(w) / unit
        for w, unit in zip(objective.weights, plans.leaves.unit, strict=True)
    ]
    values = [sum(f * v for f, v in zip(factors, own, strict=True)) for own in plans.obeying]
    spread = max(values) - min(values) or Fraction(1)
    return [float((value - min(values)) / spread) for value in values]


def _dot(weights: Sequence[Fraction], values: Sequence[int]) -> Fraction:
    return sum((w * v for w, v in zip(weights, values, strict=True)), start=Fraction(0))


def _after(parent: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for x, seq in enumerate(parent):
        found.setdefault(seq, []).append(x)
    return found
