"""Who plays with whom: groups of people for one round, with a seat for each.

Partners stay together, so only other people are matched here. *Strangers* are drawn anew in every
round. *Perfect strangers* never meet twice, as long as that is possible. With m groups of n seats,
the person in place j of column c sits in group j + c r (mod m) in round r, counted from 0. Columns
are roles if roles are fixed or rotate, so two people of columns c and d meet again only if
(c - d)(r - s) = 0 (mod m): never in m rounds if n = 2, nor if m is a prime of at least n. Two
players whose roles are drawn anew each time may meet everybody: the circle method (one stays, the
others move on by one place) gives 2m - 1 rounds. If people come or leave these designs do not fit
any more; then exchanging people at random lowers the number of meetings as far as it can.

With roles *fixed* a person keeps that of their first round; with roles *rotating* it moves on by
one in each round. In both cases a group has one person of each column, the role of the first round.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

EXCHANGES = 20_000
"""The most exchanges that are tried to lower the number of meetings."""

Group = tuple[int | None, ...]
"""The person in each seat, or None for a robot."""


@dataclass(frozen=True)
class Waiting:
    """Somebody who waits for their next play."""

    id: int
    lot: float  # drawn at random once; it orders people
    column: int | None  # their role in the first round; None before it
    rounds: int = 0  # that they have played


def form_groups(
    people: Sequence[Waiting],
    size: int,
    round: int,
    rng: Random,
    *,
    roles: str = "fixed",
    perfect: bool = False,
    met: Collection[frozenset[int]] = frozenset(),
    fill: bool = False,
) -> list[Group]:
    """Groups of ``size`` people for a round, from 1.

    Args:
        people: Those who wait. Who has played least goes first if not all find a place.
        size: The number of seats.
        round: The number of the round.
        rng: The source of all draws.
        roles: ``fixed``, ``rotating`` or ``random``.
        perfect: Whether people who have met should not meet again.
        met: The pairs that have.
        fill: Whether robots sit where people are missing; otherwise such people wait.
    """
    ordered = sorted(people, key=lambda one: (one.rounds, rng.random()))
    if roles == "random":
        columns = _any_columns(ordered, size, fill)
    else:
        columns = _own_columns(ordered, size, fill)
    if not columns[0]:
        return []
    lots = {one.id: one.lot for one in people}
    if perfect:
        groups = _designed(columns, lots, round - 1, roles == "random")
        if _meetings(groups, met):
            groups = _exchanged(groups, met, rng, roles == "random")
    else:
        for column in columns:
            rng.shuffle(column)
        groups = [tuple(group) for group in zip(*columns, strict=True)]
    return [_seated(group, roles, round, rng) for group in groups]


def count_meetings(groups: Sequence[Group], met: Collection[frozenset[int]]) -> int:
    """The number of pairs in these groups that have met before."""
    return _meetings(groups, met)


def _any_columns(people: Sequence[Waiting], size: int, fill: bool) -> list[list[int | None]]:
    """Everybody in any column."""
    count = -(-len(people) // size) if fill else len(people) // size
    taken: list[int | None] = [one.id for one in people[: count * size]]
    taken += [None] * (count * size - len(taken))
    return [taken[column::size] for column in range(size)]


def _own_columns(people: Sequence[Waiting], size: int, fill: bool) -> list[list[int | None]]:
    """Everybody in the column of their first role; new people where most are missing."""
    columns: list[list[int | None]] = [[] for _ in range(size)]
    for one in people:
        if one.column is not None:
            columns[one.column].append(one.id)
    for one in people:
        if one.column is None:
            min(columns, key=len).append(one.id)
    count = (max if fill else min)(map(len, columns))
    return [column[:count] + [None] * (count - len(column)) for column in columns]


def _designed(
    columns: list[list[int | None]], lots: dict[int, float], turn: int, free: bool
) -> list[Group]:
    """The groups of a round by the rotation, or by the circle for pairs with any roles."""

    def by_lot(one: int | None) -> float:
        return 2.0 if one is None else lots[one]

    m, size = len(columns[0]), len(columns)
    everybody = sorted((one for column in columns for one in column), key=by_lot)
    if free and size == 2:
        others = everybody[1:]
        shift = turn % len(others)
        circle = [everybody[0], *others[shift:], *others[:shift]]
        return [(circle[j], circle[-1 - j]) for j in range(m)]
    if free:
        columns = [everybody[c * m : (c + 1) * m] for c in range(size)]
    else:
        columns = [sorted(column, key=by_lot) for column in columns]
    return [tuple(columns[c][(j - c * turn) % m] for c in range(size)) for j in range(m)]


def _meetings(groups: Sequence[Group], met: Collection[frozenset[int]]) -> int:
    return sum(_met_in(group, met) for group in groups)


def _met_in(group: Sequence[int | None], met: Collection[frozenset[int]]) -> int:
    people = [one for one in group if one is not None]
    return sum(frozenset(pair) in met for pair in combinations(people, 2))


def _exchanged(
    groups: list[Group], met: Collection[frozenset[int]], rng: Random, free: bool
) -> list[Group]:
    """The groups after exchanges that do not raise the number of meetings."""
    seats = [list(group) for group in groups]
    left, m, size = _meetings(groups, met), len(groups), len(groups[0])
    for _ in range(EXCHANGES if m > 1 else 0):
        if not left:
            break
        troubled = [g for g in range(m) if _met_in(seats[g], met)]
        one, other = rng.choice(troubled), rng.randrange(m)
        c = rng.randrange(size)
        d = rng.randrange(size) if free else c
        if one == other:
            continue
        before = _met_in(seats[one], met) + _met_in(seats[other], met)
        seats[one][c], seats[other][d] = seats[other][d], seats[one][c]
        change = _met_in(seats[one], met) + _met_in(seats[other], met) - before
        if change > 0:
            seats[one][c], seats[other][d] = seats[other][d], seats[one][c]
        else:
            left += change
    return [tuple(group) for group in seats]


def _seated(group: Group, roles: str, round: int, rng: Random) -> Group:
    """The group in the order of seats."""
    if roles == "random":
        seats = list(group)
        rng.shuffle(seats)
        return tuple(seats)
    shift = (round - 1) % len(group) if roles == "rotating" else 0
    return tuple(group[(seat - shift) % len(group)] for seat in range(len(group)))
