"""Sessions of any design in which anything happens: people come, leave, return and disobey, the
operator pauses, restarts, fills up and removes, and the server is stopped. Then everybody who is
still there comes to the end, and the exports agree with what people saw.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest

from accord.mediator.mediator import Mediator
from accord.mediator.referee import Referee
from accord.serve.design import MATCHINGS, REMATCHINGS, ROLES, Design, Listed, Treatment, identity
from accord.serve.export import export
from accord.serve.hall import Hall
from accord.serve.room import Room
from accord.serve.store import Store
from accord.serve.summary import summarize
from accord.serve.tables import payments_csv
from tests.support.server import Clock, device_policy

STEPS, MOST_PEOPLE = 500, 9


class Session:
    """A session of a design that is drawn, and those who are in it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.rng, self.clock = path, Random(seed), Clock()
        rng = self.rng
        policy = device_policy(rng.choice(["chicken", "signalling"]))
        mediator = Mediator(policy.game, policy, rng.choice([0, 1, 1, 2]), seed)
        self.treatments = [Treatment(Referee(mediator))]
        if rng.random() < 0.4:
            alone = Referee(Mediator(policy.game, policy, 0, seed))
            self.treatments.append(Treatment(alone, "alone", mediated=False))
        match, gone = rng.choice(MATCHINGS), rng.choice([None, 60.0])
        listed = tuple(Listed(f"p{n}", str(n // 2)) for n in range(MOST_PEOPLE))
        self.design = Design(
            rounds=rng.randint(1, 4), match=match, rematch=rng.choice(REMATCHINGS),
            roles=rng.choice(ROLES), people=listed if match == "list" else (), ask="name",
            consent=rng.choice([None, "May we?"]), practice=rng.random() < 0.3, debrief="all",
            gone=gone, stop=gone is not None and rng.random() < 0.4,
        )  # fmt: skip
        self.limit = rng.choice([None, 30.0])
        self.room = self.opened()
        self.people: list[int] = []
        self.asleep: set[int] = set()
        self.came = 0

    def opened(self) -> Room:
        store = Store(self.path, identity(self.treatments))
        hall = Hall(self.treatments, store, limit=self.limit, clock=self.clock)
        return Room(hall, self.design, rng=Random(self.rng.random()))

    def act(self, person: int) -> None:
        """Whatever somebody's page asks for, in any way."""
        room, rng = self.room, self.rng
        room.rounds.hear(person)
        view = room.look(person)
        if view.stage == "consent" and rng.random() < 0.1:
            room.refuse(person)
        elif view.stage in ("consent", "instructions"):
            room.pass_step(person, view.stage)
        elif view.proceeds:
            room.proceed(person)
        elif view.seat is not None and view.seat.status == "act":
            action = rng.randrange(len(view.seat.actions))
            room.act(person, view.seat.number, action, view.seat.play)
        elif view.seat is not None and view.seat.status == "choose":
            room.choose(person, rng.random() < 0.5, view.seat.play)

    def tick(self) -> None:
        self.clock.now += self.rng.choice([1, 5, 20])
        for person in self.people:
            if person not in self.asleep:
                self.room.rounds.hear(person)
        self.room.tick()

    def happen(self) -> None:
        """Anything."""
        room, rng = self.room, self.rng
        awake = [one for one in self.people if one not in self.asleep]
        what = rng.random()
        if what < 0.1 and self.came < MOST_PEOPLE:
            self.people.append(room.find(room.join(f"p{self.came}")))
            self.came += 1
        elif what < 0.8 and awake:
            self.act(rng.choice(awake))
        elif what < 0.82:
            room.begin()
        elif what < 0.825:
            room.fill()
        elif what < 0.84 and awake and self.design.gone:
            self.asleep.add(rng.choice(awake))
        elif what < 0.86 and self.asleep:
            self.asleep.discard(rng.choice(sorted(self.asleep)))
        elif what < 0.87:
            plays = [play.id for play in room.hall.list_plays() if play.round]
            if plays and room.hall.may_restart(play := rng.choice(plays)):
                room.hall.restart(play)
        elif what < 0.875:
            room.hall.pause()
        elif what < 0.89:
            room.hall.proceed()
        elif what < 0.895:
            room.hall.store.close()
            self.room = self.opened()
        elif what < 0.897 and awake:
            room.remove(person := rng.choice(awake))
            self.people.remove(person)
        else:
            self.tick()

    def check(self) -> None:
        """Nobody sits in two plays at once, or in one of another treatment."""
        busy: Counter[int] = Counter()
        store = self.room.store
        with store.transaction():
            for row in store.plays():
                people = [seat.person for seat in store.seats(row.id) if seat.person is not None]
                assert len(set(people)) == len(people)
                assert {store.person(one).treatment for one in people} <= {row.treatment}
                busy.update(people if row.status == "running" else [])
        assert all(count == 1 for count in busy.values())

    def finish(self) -> None:
        """Everybody returns, and the operator fills up whatever is missing."""
        self.asleep.clear()
        self.room.hall.proceed()
        for turn in range(100):
            for person in self.people:
                self.act(person)
            self.tick()
            if turn > 50 and turn % 5 == 0:
                self.room.fill()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_everybody_comes_to_the_end_and_exports_agree(tmp_path: Path, seed: int) -> None:
    session = Session(tmp_path / "p.db", seed)
    for step in range(STEPS):
        session.happen()
        if step % 20 == 0:
            session.check()
    session.finish()
    session.check()
    room = session.room
    views = {person: room.look(person) for person in session.people}
    assert all(view.last or view.stage == "declined" for view in views.values())
    rows = list(csv.DictReader(io.StringIO(export(room.hall, private=True))))
    counted = [row for row in rows if row["round"] not in ("", "0") and row["person"]]
    earned: dict[int, dict[str, float]] = defaultdict(dict)
    roles: dict[int, set[str]] = defaultdict(set)
    for row in counted:
        roles[int(row["person"])].add(row["player"])
        if row["status"] == "over":
            earned[int(row["person"])][row["round"]] = float(row["payoff"])
    paid = {
        int(row["person"]): row for row in csv.DictReader(io.StringIO(payments_csv(room.guests())))
    }
    for person, view in views.items():
        assert sum(earned[person].values()) == view.points == float(paid[person]["points"])
    if session.design.roles == "fixed":
        assert all(len(had) == 1 for had in roles.values())
    told = [row for row in counted if row["by"] == "player" and row["obeyed"] != ""]
    whole = [one for one in summarize(room.hall).shares if one.round is one.player is None]
    over = [row for row in told if row["status"] == "over"]
    assert sum(one.decisions for one in whole) == len(over)
    assert sum(one.obeyed for one in whole) == sum(row["obeyed"] == "1" for row in over)
