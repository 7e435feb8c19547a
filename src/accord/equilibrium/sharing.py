"""Amounts that are shared step by step, such as correlation plans.

They are vectors x >= 0 that come from a first entry by steps. A step either *shares* the amount of
its head among its members,

    x[member] = x[head] share[member],    share >= 0,  sum of the shares = 1,

or *sums* up known members, x[head] = sum of x[member]. The uses of ``equilibrium/filling.py`` are
such steps: FILL shares and DEFINE sums. Entries are numbered in the order of the steps, so that the
members of a share are neighbors and a sweep passes through memory once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from accord._arrays import Bools, Floats, Ints, Longs
from accord._jit import jit, part
from accord.equilibrium.filling import FILL, Filling
from accord.treeplex.strategy import draw_sequence


class Sharing(NamedTuple):
    """The steps, in order."""

    head: Ints  # [n_steps]
    first: Ints  # [n_steps] the first member of a share; of a sum, its place in parts
    size: Ints  # [n_steps] the number of members; negative if the step sums
    parts: Ints  # the members of all sums


def plan_sharing(filling: Filling[Any]) -> tuple[Sharing, Ints]:
    """The steps of correlation plans, and ``[n_tuples]`` the number that each tuple gets."""
    groups, steps = filling.tuples.groups, filling.order
    sizes = np.diff(groups.first)[steps]
    n_parts = int(sizes[filling.use[steps] != FILL].sum())
    head, first, size = (np.empty(len(steps), np.int32) for _ in range(3))
    parts, number = np.empty(n_parts, np.int32), np.zeros(len(filling.tuples), np.int32)
    made = Sharing(head, first, size, parts)
    _number_tuples(groups.head, groups.first, groups.members, filling.use, steps, number, made)
    return made, number


@jit
def _number_tuples(
    head: Longs,
    first: Longs,
    members: Longs,
    use: Ints,
    steps: Longs,
    number: Ints,
    sharing: Sharing,
) -> None:
    """Overwrite ``number`` and ``sharing``. The empty tuple is 0."""
    made, n_parts = 1, 0
    for place in range(len(steps)):
        group = steps[place]
        size = first[group + 1] - first[group]
        if use[group] == FILL:
            sharing.head[place] = number[head[group]]
            sharing.first[place] = made
            sharing.size[place] = size
            for m in members[first[group] : first[group + 1]]:
                number[m] = made
                made += 1
        else:
            number[head[group]] = sharing.head[place] = made
            made += 1
            sharing.first[place] = n_parts
            sharing.size[place] = -size
            for m in members[first[group] : first[group + 1]]:
                sharing.parts[n_parts] = number[m]
                n_parts += 1


@part
def add_to_summed(sharing: Sharing, step: int, cost: Floats) -> None:
    """Add the ``cost`` of the head of a sum to that of each member."""
    head, first = sharing.head[step], sharing.first[step]
    for place in range(first, first - sharing.size[step]):
        cost[sharing.parts[place]] += cost[head]


@part
def has_summed(sharing: Sharing, step: int, marked: Bools) -> bool:
    """Whether a member of a sum is ``marked``."""
    found, first = False, sharing.first[step]
    for place in range(first, first - sharing.size[step]):
        found = found or marked[sharing.parts[place]]
    return found


@jit
def spread(sharing: Sharing, share: Floats, weight: float, amount: Floats, mean: Floats) -> None:
    """Overwrite ``amount`` beyond its first entries, and move ``mean`` towards it by ``weight``."""
    for step in range(len(sharing.head)):
        head, first, size = sharing.head[step], sharing.first[step], sharing.size[step]
        if size < 0:
            total = 0.0
            for place in range(first, first - size):
                total += amount[sharing.parts[place]]
            amount[head] = total
            mean[head] += (total - mean[head]) * weight
            continue
        arriving = amount[head]
        for m in range(first, first + size):
            amount[m] = arriving * share[m]
            mean[m] += (amount[m] - mean[m]) * weight


@jit
def find_shares(sharing: Sharing, amount: Floats, share: Floats) -> None:
    """Overwrite ``share`` by that of each member in ``amount``; even where nothing arrives."""
    for step in range(len(sharing.head)):
        first, size = sharing.first[step], sharing.size[step]
        total = 0.0
        for m in range(first, first + size):
            total += max(0.0, amount[m])
        for m in range(first, first + size):
            share[m] = max(0.0, amount[m]) / total if total > 0.0 else 1.0 / size


@jit
def draw(sharing: Sharing, share: Floats, uniform: Floats, told: Bools) -> None:
    """Overwrite ``told``, True only for the first entry before, with one draw: each step gives its
    head to one member, in proportion to ``share``."""
    for step in range(len(sharing.head)):
        head, first, size = sharing.head[step], sharing.first[step], sharing.size[step]
        if size < 0:
            told[head] = has_summed(sharing, step, told)
            continue
        if not told[head]:
            continue
        total = 0.0
        for m in range(first, first + size):
            total += share[m]
        told[draw_sequence(share, first, first + size, uniform[step] * total)] = True
