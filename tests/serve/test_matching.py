"""Who plays with whom: groups, roles and strangers, for random people and sizes."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.serve.matching import Group, Waiting, count_meetings, form_groups


def pairs(groups: list[Group]) -> list[frozenset[int]]:
    return [
        frozenset(pair)
        for group in groups
        for pair in combinations([one for one in group if one is not None], 2)
    ]


def schedule(
    people: int, size: int, rounds: int, roles: str, perfect: bool, seed: int
) -> list[list[Group]]:
    """The groups of all rounds of people who neither come nor leave."""
    rng = Random(seed)
    lots = [rng.random() for _ in range(people)]
    columns: dict[int, int] = {}
    played = dict.fromkeys(range(people), 0)
    met: set[frozenset[int]] = set()
    found = []
    for round in range(1, rounds + 1):
        waiting = [Waiting(i, lots[i], columns.get(i), played[i]) for i in range(people)]
        groups = form_groups(waiting, size, round, rng, roles=roles, perfect=perfect, met=met)
        for group in groups:
            for seat, one in enumerate(group):
                assert one is not None
                shift = round - 1 if roles == "rotating" else 0
                columns.setdefault(one, (seat - shift) % size)
                played[one] += 1
        met |= set(pairs(groups))
        found.append(groups)
    return found


sizes = st.integers(2, 4)
kinds = st.sampled_from(["fixed", "rotating", "random"])
seeds = st.integers(0, 10**6)


@given(st.integers(0, 13), sizes, kinds, st.booleans(), seeds)
def test_nobody_sits_in_two_places(
    people: int, size: int, roles: str, perfect: bool, seed: int
) -> None:
    for groups in schedule(people, size, 4, roles, perfect, seed):
        seated = [one for group in groups for one in group]
        assert len(seated) == len(set(seated)) == people // size * size
        assert all(len(group) == size for group in groups)


@given(st.integers(1, 5), sizes, kinds, seeds)
def test_roles_stay_or_rotate(groups: int, size: int, roles: str, seed: int) -> None:
    had: dict[int | None, list[int]] = {}
    for matched in schedule(groups * size, size, 2 * size, roles, False, seed):
        for group in matched:
            for seat, one in enumerate(group):
                had.setdefault(one, []).append(seat)
    for seats in had.values():
        if roles == "fixed":
            assert len(set(seats)) == 1
        if roles == "rotating":
            assert seats == [(seats[0] + r) % size for r in range(2 * size)]


@given(st.integers(1, 8), seeds)
def test_perfect_strangers_with_any_roles_meet_everybody_once(half: int, seed: int) -> None:
    """Two players, 2m people: 2m - 1 rounds, and then all pairs have met."""
    met = [p for groups in schedule(2 * half, 2, 2 * half - 1, "random", True, seed)
           for p in pairs(groups)]  # fmt: skip
    assert len(met) == len(set(met)) == half * (2 * half - 1)


@given(st.integers(1, 8), st.sampled_from(["fixed", "rotating"]), seeds)
def test_perfect_strangers_with_roles_meet_all_others_once(
    half: int, roles: str, seed: int
) -> None:
    met = [p for groups in schedule(2 * half, 2, half, roles, True, seed) for p in pairs(groups)]
    assert len(met) == len(set(met)) == half * half


@pytest.mark.parametrize(("groups", "size"), [(3, 3), (5, 3), (5, 4), (7, 3)])
def test_perfect_strangers_in_larger_groups(groups: int, size: int) -> None:
    for roles in ("fixed", "rotating", "random"):
        met = [
            p for one in schedule(groups * size, size, groups, roles, True, 1) for p in pairs(one)
        ]
        assert len(met) == len(set(met))


@given(st.integers(6, 9), seeds)
def test_strangers_stay_perfect_when_people_leave(half: int, seed: int) -> None:
    """The design no longer fits after two people have left, and exchanges repair it."""
    rng = Random(seed)
    people = [Waiting(i, rng.random(), None) for i in range(2 * half)]
    met: set[frozenset[int]] = set()
    for round in range(1, 6):
        here = people if round < 3 else people[2:]
        groups = form_groups(here, 2, round, rng, roles="random", perfect=True, met=met)
        assert count_meetings(groups, met) == 0
        met |= set(pairs(groups))


def test_meetings_that_cannot_be_avoided_are_counted() -> None:
    people = [Waiting(0, 0.1, None), Waiting(1, 0.2, None)]
    met = {frozenset((0, 1))}
    groups = form_groups(people, 2, 2, Random(1), roles="random", perfect=True, met=met)
    assert count_meetings(groups, met) == 1


def test_strangers_are_drawn_at_random() -> None:
    """Every pair of four people is as likely as any other."""
    rng = Random(1)
    people = [Waiting(i, i / 4, None) for i in range(4)]
    counts: dict[frozenset[int], int] = {}
    for _ in range(3000):
        for pair in pairs(form_groups(people, 2, 1, rng, roles="random")):
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 6
    assert all(880 < count < 1120 for count in counts.values())


def test_whoever_has_played_least_goes_first() -> None:
    people = [Waiting(0, 0.1, None, 2), Waiting(1, 0.2, None, 2), Waiting(2, 0.3, None, 1)]
    for seed in range(10):
        (group,) = form_groups(people, 2, 3, Random(seed), roles="random")
        assert 2 in group


@given(st.integers(1, 9), sizes, kinds, seeds)
def test_robots_fill_up(people: int, size: int, roles: str, seed: int) -> None:
    waiting = [Waiting(i, i / 10, None) for i in range(people)]
    groups = form_groups(waiting, size, 1, Random(seed), roles=roles, fill=True)
    seated = sorted(one for group in groups for one in group if one is not None)
    assert seated == list(range(people))
    assert len(groups) == -(-people // size)


def test_fixed_roles_wait_for_the_missing_role() -> None:
    people = [Waiting(0, 0.1, 0), Waiting(1, 0.2, 0), Waiting(2, 0.3, 1)]
    groups = form_groups(people, 2, 2, Random(1), roles="fixed")
    assert len(groups) == 1
    assert groups[0][1] == 2
    filled = form_groups(people, 2, 2, Random(1), roles="fixed", fill=True)
    assert sorted(group[1] is None for group in filled) == [False, True]
