"""Equations among tuples that no order of filling satisfies, as prices of tuples.

Where chance is private, some equations of correlation plans are TIED (``equilibrium/filling.py``):
a filled-in xi may violate v_g = xi[head] - sum_m xi[m]. A maximizer with one multiplier mu_g for
each of them makes such violations expensive: the prices of tuples get the terms mu_g v_g,

    c[head] += mu_g,    c[m] -= mu_g  for every member m.

Every joint plan has v = 0, so whatever mu is, the least price of all xi is a lower bound on the
price of every joint plan. With the best mu, that over all xi that satisfy the equations.

In a saddle point mu_g lies in [-M_g, M_g]. The most that anything below the members can cost, when
every loss has price 1, is the *size* of a tie, and M_g is this size times a price of losses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.equilibrium.filling import TIED, Filling
from accord.equilibrium.sharing import Sharing
from accord.optimal.sharing import add_least


class Ties(NamedTuple):
    """The tied equations, by numbers of tuples in the order of the steps."""

    head: Ints  # [n_ties]
    first: Ints  # [n_ties + 1] members[first[g] : first[g + 1]]
    members: Ints

    @classmethod
    def of(cls, filling: Filling[Any], number: Ints) -> Ties:
        """Those of a filling; ``number`` are the numbers of tuples."""
        groups, tied = filling.tuples.groups, np.flatnonzero(filling.use == TIED)
        sizes = np.diff(groups.first)[tied]
        first = np.concatenate([[0], np.cumsum(sizes)])
        place = np.arange(first[-1]) + np.repeat(groups.first[tied] - first[:-1], sizes)
        return cls(number[groups.head[tied]], first.astype(np.int32), number[groups.members[place]])

    @property
    def size(self) -> int:
        """The number of equations."""
        return len(self.head)

    def sizes(self, plan: Sharing, cost: Floats) -> Floats:
        """``[n_ties]`` the most that can follow from a member, at these costs of tuples."""
        following = -np.abs(cost)
        add_least(plan, following)
        if not self.size:
            return np.zeros(0)
        return np.asarray(np.maximum.reduceat(-following[self.members], self.first[:-1]))

    def most_per_tuple(self, n_tuples: int) -> int:
        """The most ties that a tuple is part of."""
        parts = np.concatenate([self.head, self.members])
        return int(np.bincount(parts, minlength=n_tuples).max(initial=0))


@jit
def add_ties(ties: Ties, price: Floats, sign: float, cost: Floats) -> None:
    """Add the prices of violations to the ``cost`` of tuples: of members times ``sign``."""
    for g in range(len(ties.head)):
        cost[ties.head[g]] += price[g]
        for place in range(ties.first[g], ties.first[g + 1]):
            cost[ties.members[place]] += sign * price[g]


@jit
def find_violations(ties: Ties, plan: Floats, violation: Floats) -> None:
    """Overwrite ``violation`` with v."""
    for g in range(len(ties.head)):
        total = plan[ties.head[g]]
        for place in range(ties.first[g], ties.first[g + 1]):
            total -= plan[ties.members[place]]
        violation[g] = total
