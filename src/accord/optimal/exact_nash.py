"""A Nash equilibrium of a two-player zero-sum game in rational numbers.

The sequence-form program of each player (``optimal/zero_sum.py``) has integral rows if payoffs are
brought to a common denominator. HiGHS solves it in doubles, and its basis is solved exactly
(``optimal/exact_program.py``). Nothing is trusted: the best replies to both strategies are computed
exactly. If neither player gains by them, and the payoffs of every play have the same sum, then no
equilibrium of any notion that includes ignoring the mediator pays anybody anything else.

A strategy is a mixture of few pure plans (Kuhn 1953): as long as some of its reach is left, a plan
that takes only actions with some reach left gets as much weight as all its sequences have. So the
equilibrium is also a mixture of joint plans, which a proof can list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from accord._arrays import Floats, Ints
from accord._signals import OutOfTime
from accord.optimal.exact_mixture import ExactLeaves, ExactMixture, ExactPlans
from accord.optimal.exact_program import ExactProgram
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex

MOST_LEAVES = 20_000
"""Larger games are solved in doubles only."""

MOST_PLANS = 1_000
"""More joint plans are not listed in a proof."""

Strategy = list[Fraction]
"""The reach of each sequence of a player."""


@dataclass(frozen=True, eq=False)
class ExactNash:
    """A Nash equilibrium, checked."""

    strategies: tuple[Strategy, Strategy]
    plans: ExactPlans  # the joint plans of its mixture; none if they are too many
    mixture: ExactMixture

    def behaviors(self) -> tuple[Floats, ...]:
        """The behavior of each player in doubles; uniform where the player's own plan never is."""
        found = []
        for plex, reach in zip(self.plans.form.plexes, self.strategies, strict=True):
            behavior = np.ones(plex.n_sequences)
            for x in range(plex.n_infosets):
                first, end = int(plex.first_seq[x]), int(plex.first_seq[x + 1])
                above = reach[plex.parent_seq[x]]
                shares = [
                    r / above if above else Fraction(1, end - first) for r in reach[first:end]
                ]
                behavior[first:end] = list(map(float, shares))
            found.append(behavior)
        return tuple(found)


def exact_nash(leaves: ExactLeaves, end: float) -> ExactNash | None:
    """An equilibrium of a two-player game with constant sum; None if none is found.

    Raises:
        OutOfTime: At ``end``, a time of ``time.monotonic``.
    """
    form = leaves.form
    if len(form.leaves) > MOST_LEAVES or len({sum(paid) for paid in leaves.paid}) > 1:
        return None
    strategies = [found[0] for i in (0, 1) if (found := _strategy(leaves, i, end)) is not None]
    if len(strategies) < 2:
        return None
    one, two = strategies
    payoffs = []
    for i, other in ((0, two), (1, one)):
        most, obeying = _best_reply(leaves, i, other, leaves.above[i]), Fraction(0)
        for (s, t), paid in zip(form.leaves.seqs.tolist(), leaves.above[i], strict=True):
            obeying += one[s] * two[t] * paid
        if most != obeying:
            return None
        payoffs.append(leaves.worst[i] + obeying / leaves.unit[i])
    return _listed(leaves, (one, two), tuple(payoffs))


def minmax_payoff(form: SequenceForm, i: int, end: float) -> Fraction | None:
    """What a player of a two-player game gets at least, whatever the other does: their minmax
    payoff, since the game has perfect recall (von Neumann 1928). None if it is not found."""
    if form.n_players != 2 or len(form.leaves) > MOST_LEAVES:
        return None
    try:
        found = _strategy(leaves := ExactLeaves(form), i, end)
    except (OutOfTime, OverflowError):
        return None
    return None if found is None else leaves.worst[i] + found[1] / leaves.unit[i]


def _strategy(leaves: ExactLeaves, i: int, end: float) -> tuple[Strategy, Fraction] | None:
    """The strategy of one player that does best against the best reply to it, and what it gets
    then, in integral units above the worst."""
    me, other = leaves.form.plexes[i], leaves.form.plexes[1 - i]
    program = ExactProgram()
    program.add_variables([0.0] * me.n_sequences)
    worth = program.add_variables([-1.0], free=True)  # then those of the other's infosets
    program.add_variables([0.0] * other.n_infosets, free=True)
    program.add_row({0: 1}, 1, equal=True)
    for x in range(me.n_infosets):
        own = dict.fromkeys(range(int(me.first_seq[x]), int(me.first_seq[x + 1])), 1)
        program.add_row({**own, int(me.parent_seq[x]): -1}, equal=True)
    size = max(1, *leaves.above[i])  # of the unit in which values are measured
    rows: list[dict[int, int]] = [{} for _ in range(other.n_sequences)]
    for seqs, paid in zip(leaves.form.leaves.seqs.tolist(), leaves.above[i], strict=True):
        row, place = rows[seqs[1 - i]], seqs[i]
        row[place] = row.get(place, 0) - paid
    for seq, row in enumerate(rows):
        row[worth + 1 + int(other.seq_infoset[seq]) if seq else worth] = size
    for x, above in enumerate(other.parent_seq.tolist()):
        rows[above][worth + 1 + x] = -size
    for row in rows:
        program.add_row(row)
    if program.solve(end) is None or (vertex := program.vertex(end)) is None:
        return None
    reach = vertex[: me.n_sequences]
    if min(reach) < 0 or not _is_strategy(me, reach):
        return None
    losses = [-paid for paid in leaves.above[i]]
    return reach, -_best_reply(leaves, 1 - i, reach, losses)


def _is_strategy(plex: Treeplex, reach: Strategy) -> bool:
    sums = [sum(reach[plex.first_seq[x] : plex.first_seq[x + 1]]) for x in range(plex.n_infosets)]
    return reach[0] == 1 and sums == [reach[s] for s in plex.parent_seq.tolist()]


def _best_reply(leaves: ExactLeaves, i: int, other: Strategy, payoffs: Sequence[int]) -> Fraction:
    """The most of these payoffs that a player gets against a strategy of the other."""
    plex, total = leaves.form.plexes[i], [Fraction(0)] * leaves.form.plexes[i].n_sequences
    for seqs, paid in zip(leaves.form.leaves.seqs.tolist(), payoffs, strict=True):
        total[seqs[i]] += other[seqs[1 - i]] * paid
    for x in range(plex.n_infosets - 1, -1, -1):
        total[plex.parent_seq[x]] += max(total[plex.first_seq[x] : plex.first_seq[x + 1]])
    return total[0]


def _listed(
    leaves: ExactLeaves, strategies: tuple[Strategy, Strategy], payoffs: tuple[Fraction, ...]
) -> ExactNash:
    one, two = map(_pure_plans, leaves.form.plexes, strategies)
    few = len(one) * len(two) <= MOST_PLANS
    pairs = list(product(one, two)) if few else []
    plans = ExactPlans(leaves, ((p[1], q[1]) for p, q in pairs))
    return ExactNash(strategies, plans, ExactMixture(tuple(p[0] * q[0] for p, q in pairs), payoffs))


def _pure_plans(plex: Treeplex, strategy: Sequence[Fraction]) -> list[tuple[Fraction, Ints]]:
    """Pure plans and their weights, whose mixture is the strategy."""
    left, found = list(strategy), []
    while left[0]:
        plan, weight, taken = np.zeros(plex.n_infosets, np.int32), left[0], {0}
        for x in range(plex.n_infosets):
            if int(plex.parent_seq[x]) in taken:
                here = left[plex.first_seq[x] : plex.first_seq[x + 1]]
                plan[x] = here.index(max(here))
                taken.add(int(plex.first_seq[x]) + int(plan[x]))
                weight = min(weight, max(here))
        for seq in taken:
            left[seq] -= weight
        found.append((weight, plan))
    return found
