"""Rounds: people who wait are matched into plays, and who leaves is replaced.

People are matched by ``serve/matching.py``, among those of one treatment. *By arrival* a play
begins as soon as enough people wait. *At random* the operator begins, and everybody who waits is
matched. *By a list* a group begins when it is complete. Afterwards partners continue when all of
them are ready. Strangers are matched when nobody plays the round before any more: two who have just
played together are often the first to be ready, and would meet again.

Who has not been heard of for ``gone`` seconds has left: a robot takes their seat, or the play is
stopped. They get the seat back when they return. In later rounds robots sit for those who have left
wherever people are missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

from accord.serve.design import Design
from accord.serve.hall import Hall
from accord.serve.matching import Group, Waiting, count_meetings, form_groups
from accord.serve.store import Person

READING = 30.0
"""The least seconds for which the end of a round is shown."""


@dataclass(frozen=True)
class PastSeat:
    """A seat that somebody has or had in a round."""

    person: int
    play: str
    player: int
    round: int
    status: str  # of the play
    ended: float | None  # when people may see how it ended


class Rounds:
    """The matching of a session."""

    def __init__(self, hall: Hall, design: Design, rng: Random) -> None:
        self.hall, self.store, self.design, self._rng = hall, hall.store, design, rng
        self._seen: dict[int, float] = {}  # when each person was last heard of
        self._matched = -1  # the changes of the hall after which people were matched
        with self.store.transaction():
            self._away = {one.id for one in self.store.people() if one.away is not None}

    def seats(self, person: int | None = None) -> list[PastSeat]:
        """All seats that people, or one, have had in rounds, oldest first; not those of practice.

        A round that was restarted counts once.
        """
        found = [PastSeat(*row) for row in self.store.seats_in_rounds(person)]
        last = {(seat.person, seat.round): seat for seat in found}
        return list(last.values())

    # Matching

    def match(self, *, now: bool = False, fill: bool = False) -> int:
        """Match whoever can be matched; return the number of plays that begin.

        Args:
            now: Match everybody who waits, as the operator asks.
            fill: Let robots sit where people are missing.
        """
        with self.store.transaction():
            if self.hall.paused or self.store.noted("ended") is not None:
                return 0
            everybody = [one for one in self.store.people() if one.room]
            people = [one for one in everybody if one.away is None]
            waiting = {one.id: one for one in people if one.ready is not None}
            if not waiting:
                return 0
            past: dict[int, list[PastSeat]] = {}
            for seat in self.seats():
                past.setdefault(seat.person, []).append(seat)
            waiting = {
                id: one for id, one in waiting.items() if self._next(id, past) <= self.design.rounds
            }
            begun = 0
            if self.design.rematch == "partners":
                begun += self._continue_groups(waiting, past)
            for treatment in self.hall.treatments:
                own = {id: one for id, one in waiting.items() if one.treatment == treatment}
                here = [one for one in people if one.treatment == treatment]
                left = not self.design.stop and any(
                    one.away is not None and one.treatment == treatment and one.id in past
                    for one in everybody
                )
                for round, pool in self._pools(own, here, past, now or fill):
                    filled = fill or (left and round > 1)
                    begun += self._match_pool(pool, treatment, round, past, filled)
            return begun

    def _next(self, person: int, past: dict[int, list[PastSeat]]) -> int:
        """The number of somebody's next round."""
        return past[person][-1].round + 1 if person in past else 1

    def _continue_groups(self, waiting: dict[int, Person], past: dict[int, list[PastSeat]]) -> int:
        """Begin the next round of groups of partners who are all ready; they wait no longer."""
        begun = 0
        plays = dict.fromkeys(past[id][-1].play for id in waiting if id in past)
        for play in plays:
            seats = self.store.seats(play)
            members = [seat.person for seat in seats]
            here = [id for id in members if id is not None and self.store.person(id).away is None]
            if any(id not in waiting or past[id][-1].play != play for id in here):
                continue
            group: Group = tuple(members)
            if self.design.roles == "rotating":
                group = (group[-1], *group[:-1])
            elif self.design.roles == "random":
                group = tuple(self._rng.sample(group, len(group)))
            row = self.store.play(play)
            assert row is not None and row.round is not None
            self._begin(group, row.treatment, row.round + 1)
            for id in here:
                del waiting[id]
            begun += 1
        for id in [id for id in waiting if id in past]:
            del waiting[id]  # their partners are not ready yet
        return begun

    def _pools(
        self,
        waiting: dict[int, Person],
        here: list[Person],
        past: dict[int, list[PastSeat]],
        now: bool,
    ) -> Iterator[tuple[int, list[Person]]]:
        """Those who can be matched with each other, with the number of their round."""
        new = [one for one in waiting.values() if one.id not in past]
        old = [one for one in waiting.values() if one.id in past]
        if self.design.match == "arrival":
            yield from self._arrived_pools(waiting, here, past, now)
            return
        if self.design.match == "list":
            yield from self._listed_pools(new, now)
            new = []
        busy = any(self._plays(one, past) for one in here if one.id not in waiting)
        if now or (old and not busy):
            yield max((self._next(one.id, past) for one in old + new), default=1), old + new

    def _arrived_pools(
        self,
        waiting: dict[int, Person],
        here: list[Person],
        past: dict[int, list[PastSeat]],
        now: bool,
    ) -> Iterator[tuple[int, list[Person]]]:
        """Those who wait for the same round, in the order in which they came.

        Who was left over in an earlier round, or has missed it, plays the next one with the others.
        """
        coming = {self._next(one.id, past) for one in here if one.id not in waiting}
        late: list[Person] = []
        for round in sorted({self._next(id, past) for id in waiting}):
            if round > 1 and round in coming and not now:
                continue
            pool = [one for one in waiting.values() if self._next(one.id, past) == round] + late
            yield round, sorted(pool, key=lambda one: one.ready or 0.0)
            left = [one for one in pool if self.store.person(one.id).ready is not None]
            late = left if round > 1 else []

    def _plays(self, person: Person, past: dict[int, list[PastSeat]]) -> bool:
        """Whether somebody has begun and not finished all rounds."""
        if person.id not in past:
            return False
        last = past[person.id][-1]
        return last.round < self.design.rounds or last.status == "running"

    def _listed_pools(self, new: list[Person], now: bool) -> Iterator[tuple[int, list[Person]]]:
        """The groups of the list that are complete, or all if the operator asks."""
        groups: dict[str, list[Person]] = {}
        for one in new:
            groups.setdefault(self.design.names[one.name.casefold()].group, []).append(one)
        for name, group in groups.items():
            complete = sum(line.group == name for line in self.design.people) == len(group)
            if complete or now:
                yield 1, group

    def _match_pool(
        self,
        pool: list[Person],
        treatment: str,
        round: int,
        past: dict[int, list[PastSeat]],
        fill: bool,
    ) -> int:
        size = self.hall.game.n_players
        listed = self.design.match == "list" and round == 1
        if listed:
            fill = True  # groups of the list may be smaller than the game
        elif self.design.match == "arrival" and not fill:
            pool = pool[: len(pool) // size * size]
        met = self._met() if self.design.rematch == "perfect" else frozenset()
        waiting = [Waiting(one.id, one.lot, one.role, len(past.get(one.id, ()))) for one in pool]
        groups = form_groups(
            waiting, size, round, self._rng, roles=self.design.roles,
            perfect=self.design.rematch == "perfect", met=met, fill=fill,
        )  # fmt: skip
        for group in groups:
            self._begin(group, treatment, round)
        if again := count_meetings(groups, met):
            self.store.note(f"met again in round {round}", str(again))
        return len(groups)

    def _met(self) -> frozenset[frozenset[int]]:
        """The pairs of people who have played together."""
        together: dict[str, list[int]] = {}
        for seat in self.seats():
            together.setdefault(seat.play, []).append(seat.person)
        return frozenset(
            frozenset(pair) for people in together.values() for pair in combinations(people, 2)
        )

    def _begin(self, group: Group, treatment: str, round: int) -> None:
        (play,) = self.hall.create(treatment=treatment, round=round)
        for player, id in enumerate(group):
            if id is None:
                self.store.change_seat(play, player, robot=True)
                continue
            person = self.store.person(id)
            first = self._first_role(player, round, len(group))
            role = first if person.role is None else person.role
            self.store.save_person(replace(person, ready=None, role=role))
            self.store.change_seat(play, player, person=id, robot=person.away is not None)
        self.hall.start(play)

    def _first_role(self, player: int, round: int, size: int) -> int:
        """The column of somebody who sits there in this round (``serve/matching.py``)."""
        return (player - (round - 1)) % size if self.design.roles == "rotating" else player

    # Coming back, and leaving

    def hear(self, person: int) -> None:
        """Note that somebody is here; who was away gets their seat back."""
        self._seen[person] = self.hall.clock()
        if person not in self._away:
            return
        with self.store.transaction():
            self._away.discard(person)
            found = self.store.person(person)
            self.store.save_person(replace(found, away=None))
            if (row := self._running(person)) is not None:
                self.hall.set_robot(*row, False)
            self.hall.changes += 1
            self.match()

    def leave(self, person: int) -> None:
        """Note that somebody has left: a robot takes their seat, or their play is stopped."""
        with self.store.transaction():
            found = self.store.person(person)
            if found.away is not None:
                return
            self._away.add(person)
            self.store.save_person(replace(found, away=self.hall.clock()))
            if (seat := self._running(person)) is not None:
                row = self.store.play(seat[0])
                if self.design.stop and row is not None and row.round:
                    self.hall.stop(row.id)
                else:
                    self.hall.set_robot(*seat, True)
            self.hall.changes += 1
            self.match()

    def _running(self, person: int) -> tuple[str, int] | None:
        """Somebody's seat, if the play runs."""
        seat = self.store.seat_of(person)
        row = None if seat is None else self.store.play(seat[0])
        return seat if row is not None and row.status == "running" else None

    def until(self, person: Person) -> float | None:
        """When somebody continues by themselves after a round; None if they must say so."""
        if self.hall.limit is None or not person.room or person.ready is not None:
            return None
        seat = self.store.seat_of(person.id)
        row = None if seat is None else self.store.play(seat[0])
        if row is None or not row.round or row.round >= self.design.rounds or row.ended is None:
            return None
        return row.ended + max(self.hall.limit, READING)

    def tick(self) -> None:
        """Notice who has left, let those continue who do not say so, and match."""
        if self.hall.paused:
            self._seen.clear()  # nobody leaves during a pause
            return
        now = self.hall.clock()
        with self.store.transaction():
            people = [one for one in self.store.people() if one.room and one.away is None]
            for one in people:
                seen = self._seen.setdefault(one.id, now)
                if self.design.gone is not None and now >= seen + self.design.gone:
                    self.leave(one.id)
                elif self.hall.limit is not None and now >= (self.until(one) or math.inf):
                    self.store.save_person(replace(one, ready=now))
                    self.hall.changes += 1
            if self._matched != self.hall.changes:
                self.match()
                self._matched = self.hall.changes
