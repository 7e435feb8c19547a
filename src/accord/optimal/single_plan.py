"""Equilibria without a lottery: joint plans that are as good as the best mixture.

The linear programs return vertices, which may be lotteries although one joint plan would do, such
as "everybody has beer" in the beer-quiche game. If a game has few joint plans, all of them are
looked at: their objectives in doubles at once, and in rational arithmetic those that reach the
value and whether anybody gains by deviating from them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from accord._arrays import Bools, Floats, Ints
from accord.deviations.notions import EFCE
from accord.game.rationals import as_rational
from accord.optimal.enumeration import all_plans, count_plans
from accord.optimal.exact_mixture import ExactLeaves, ExactMixture, ExactPlans
from accord.optimal.incentives import Incentives
from accord.optimal.objective import Objective
from accord.optimal.proof import Exact, exact_value
from accord.treeplex.form import SequenceForm

MOST_PLANS, MOST_WORK = 3_000, 3_000_000
"""The most joint plans, and the most plans times leaves."""

NEAR = 1e-9
"""Objectives in doubles that miss the value by at most this part of the spread may reach it."""


def equally_good_plans(
    form: SequenceForm,
    objective: Objective,
    value: Fraction,
    end: float,
    commits: Sequence[int] = (),
) -> Iterator[Exact]:
    """The joint plans that are 1-EFCEs and whose objective is at least ``value``; none if there are
    too many plans to look at, or after ``end``, a time of ``time.monotonic``."""
    trees = Incentives.build(form, 1).trees
    count = math.prod(count_plans(tree) for tree in trees)
    if count > MOST_PLANS or count * len(form.leaves) > MOST_WORK or objective.target is not None:
        return
    options = [all_plans(tree) for tree in trees]
    near = float(value) * objective.sign - NEAR * (objective.scale(form) + abs(float(value)))
    worth = _objectives(form, options, objective)
    leaves = ExactLeaves(form)
    for place, plan in enumerate(product(*options)):
        if worth[place] < near:
            continue
        if time.monotonic() > end:
            return
        plans = ExactPlans(leaves, [tuple(plan)], commits)
        payoffs = plans.payoffs([Fraction(1)])
        reaches = int(objective.sign) * (exact_value(objective, payoffs, leaves) - value) >= 0
        floors = zip(payoffs, objective.floor or (), strict=False)
        held = all(v == -math.inf or u >= as_rational(v) for u, v in floors)
        if reaches and held and not plans.gaining([Fraction(1)], EFCE):
            yield leaves, plans, ExactMixture((Fraction(1),), payoffs)


def _objectives(form: SequenceForm, options: list[Ints], objective: Objective) -> Floats:
    """The maximized objective of every joint plan, the last player's changing fastest."""
    leaves = form.leaves
    together = np.ones((1, len(leaves)))
    for i, own in enumerate(options):
        reached = np.array([_reached(form, i, plan)[leaves.seqs[:, i]] for plan in own])
        together = (together[:, np.newaxis] * reached[np.newaxis]).reshape(-1, len(leaves))
    payoffs = together @ leaves.payoff
    span = leaves.payoff_range
    return np.array([objective.sign * objective.value(own, span) for own in payoffs])


def _reached(form: SequenceForm, i: int, plan: Ints) -> Bools:
    plex = form.plexes[i]
    reach = np.zeros(plex.n_sequences, np.bool_)
    reach[0] = True
    for x, action in enumerate(plan.tolist()):
        reach[plex.first_seq[x] + action] = reach[plex.parent_seq[x]]
    return reach
