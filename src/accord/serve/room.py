"""The room: people come in, read the rules, wait, play round by round, and are paid.

A person's way is a sequence of *stages*: the steps that the design asks for (consent, instructions,
quiz, practice), the waiting room, a seat in a play, the waiting room again, and the end. The stage
follows from what is stored: the steps that they have passed, their latest seat, and whether they
are *ready* for the next play. So a server that is killed continues where it was.
``serve/rounds.py`` matches those who are ready.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random, SystemRandom

from accord.errors import AccordError, ArgumentError, MediatorError
from accord.serve.debrief import average_line, others_lines, own_lines
from accord.serve.design import Design, Listed
from accord.serve.hall import Hall
from accord.serve.messages import Messages, load_messages
from accord.serve.rounds import PastSeat, Rounds
from accord.serve.rules import Rules, check_quiz, make_rules
from accord.serve.store import Person
from accord.serve.views import LONGEST_NAME, PersonView, Round, SeatView, person_name

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters that are not mistaken for each other."""

CODE_LENGTH = 6
REFUSED = "refused"
"""Among the steps that somebody has passed: they do not take part."""


class JoinError(AccordError):
    """Somebody cannot come in. The text is the name of a message."""


@dataclass(frozen=True)
class Guest:
    """A person in the operator's list."""

    id: int
    name: str
    treatment: str
    doing: str  # in a word or two
    play: str | None
    rounds: int
    points: float
    money: str | None
    linked: bool
    opened: bool


@dataclass(frozen=True)
class SessionState:
    """The session as the operator sees it."""

    code: str
    is_open: bool
    paused: bool
    ended: bool
    waiting: int
    met_again: tuple[tuple[int, int], ...]  # (round, pairs who met again), if nobody should


class Room:
    """All people of a session, around its plays."""

    def __init__(
        self,
        hall: Hall,
        design: Design | None = None,
        messages: Messages | None = None,
        rng: Random | None = None,
    ) -> None:
        """Continue the session of the hall's database.

        Raises:
            ArgumentError: If the design does not fit the game.
        """
        self.hall, self.store = hall, hall.store
        self.design, self.messages = design or Design(), messages or load_messages()
        self._rng = rng or SystemRandom()
        check_quiz(hall.game, self.design)
        self.rules = {
            name: make_rules(
                hall.game, one, self.design, self.messages,
                None if hall.pace else hall.limit, hall.pace,
            )
            for name, one in hall.treatments.items()
        }  # fmt: skip
        self.rounds = Rounds(hall, self.design, self._rng)
        with self.store.transaction():
            if self.store.noted("code") is None:
                self.renew_code()

    # Coming in

    @property
    def code(self) -> str:
        """The code by which people come in."""
        with self.store.transaction():
            return self.store.noted("code") or ""

    @property
    def is_open(self) -> bool:
        """Whether more people are let in."""
        with self.store.transaction():
            return self.store.noted("closed") is None and not self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether the operator has ended the session."""
        with self.store.transaction():
            return self.store.noted("ended") is not None

    def renew_code(self) -> None:
        """Draw another code; the old one no longer works."""
        code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
        with self.store.transaction():
            self.store.note("code", code)

    def is_code(self, code: str) -> bool:
        """Whether that is the code, however it is typed."""
        return secrets.compare_digest(_clean_code(code), self.code.encode())

    def set_doors(self, open: bool) -> None:
        """Let more people in, or no more."""
        with self.store.transaction():
            self.store.note("closed", None if open else "yes")

    def join(self, name: str = "", once: str | None = None) -> str:
        """Let somebody in; return the secret of their link.

        With ``once``, which a form draws at random, coming in again by the same form lets nobody
        else in: it makes a new link for the same person, because the first may have been lost.

        Raises:
            JoinError: If they cannot come in.
        """
        clean = " ".join(name.split())[:LONGEST_NAME]
        with self.store.transaction():
            if once is not None and (known := self.store.came_in(f"join {once}")) is not None:
                return self.store.make_link(known, self.hall.clock())
            if not self.is_open:
                raise JoinError("join.closed")
            asks = self.design.asks
            if asks != "nothing" and not clean:
                raise JoinError("join.empty")
            if self.design.people and clean.casefold() not in self.design.names:
                raise JoinError("join.not_listed")
            people = [one for one in self.store.people() if one.room]
            if asks != "nothing" and any(one.name.casefold() == clean.casefold() for one in people):
                raise JoinError("join.taken")
            person = self._admit(clean if asks != "nothing" else "", people)
            if once is not None:
                self.store.note_came_in(f"join {once}", person)
            return self.store.make_link(person, self.hall.clock())

    def invite_list(self) -> list[tuple[str, str]]:
        """Links for everybody on the list who has not come in, as ``(name, secret)``."""
        with self.store.transaction():
            links, now = self.store.links(), self.hall.clock()
            made = []
            for line in self.design.people:
                people = [one for one in self.store.people() if one.room]
                known = [one.id for one in people if one.name.casefold() == line.name.casefold()]
                person = known[0] if known else self._admit(line.name, people)
                if person not in links:
                    made.append((line.name, self.store.make_link(person, now)))
            return made

    def _admit(self, name: str, people: list[Person]) -> int:
        line = self.design.names.get(name.casefold())
        treatment = self._treatment(line, people)
        now = self.hall.clock()
        person = self.store.add_person(name, treatment, True, self._rng.random(), now)
        if line is not None and line.role is not None:
            self.store.save_person(replace(self.store.person(person), role=line.role))
        self.hall.changes += 1
        return person

    def _treatment(self, line: Listed | None, people: list[Person]) -> str:
        """The treatment of a new person: that of their group, or one that has the fewest people.

        Those who come one after another fill a group before another treatment is drawn; who does
        not take part, or has left before the first round, does not count.
        """
        names = list(self.hall.treatments)
        if line is not None and line.treatment is not None:
            return line.treatment
        if line is not None:
            for one in people:
                other = self.design.names.get(one.name.casefold())
                if other is not None and other.group == line.group:
                    return one.treatment
        lost = [REFUSED in one.passed or (one.away and one.role is None) for one in people]
        counts = Counter(one.treatment for one, gone in zip(people, lost, strict=True) if not gone)
        size = self.hall.game.n_players
        begun = [name for name in names if counts[name] % size]
        if begun and line is None:
            return begun[0]
        fewest = min(counts[name] for name in names)
        return self._rng.choice([name for name in names if counts[name] == fewest])

    # What a person sees and does

    def find(self, token: str) -> int | None:
        """The person whose link that is."""
        with self.store.transaction():
            return self.store.find_link(token, self.hall.clock()) or None

    def look(self, person: int) -> PersonView:
        """What a person may see now."""
        with self.store.transaction():
            found = self.store.person(person)
            seat = self._seat(found)
            view = None if seat is None else self.hall.look(*seat)
            row = None if seat is None else self.store.play(seat[0])
            stage, round = self._stage(found, view), None if row is None else row.round
            shown = view if stage == "seat" else None
            ended = shown is not None and shown.status in ("over", "stopped")
            proceeds = ended and (round == 0 or self._continues(found, round))
            last = stage == "finished" or (ended and not proceeds)
            past = self._past(found)
            rounds = tuple(self._round(one) for one in past)
            points = sum(one.payoff for one in rounds if one.payoff is not None)
            return PersonView(
                name=found.name,
                room=found.room,
                stage=stage,
                round=round if stage in ("seat", "paused") else None,
                seat=shown,
                proceeds=proceeds,
                rounds=rounds,
                points=points,
                money=self.design.money(points) if found.room else None,
                last=last,
                debrief=self._debrief(past or self._only(found, seat)) if last else (),
                until=self.rounds.until(found) if proceeds else None,
            )

    def rules_of(self, person: int) -> Rules:
        """The rules for somebody."""
        with self.store.transaction():
            return self.rules[self.store.person(person).treatment]

    def pass_step(self, person: int, step: str) -> None:
        """Note that somebody has passed a step; that they have already changes nothing."""
        with self.store.transaction():
            found = self.store.person(person)
            if self._step(found) == step:
                self._pass(found, step)

    def refuse(self, person: int) -> None:
        """Note that somebody does not take part."""
        with self.store.transaction():
            found = self.store.person(person)
            if self._step(found) == "consent":
                self.store.save_person(replace(found, passed=(*found.passed, REFUSED)))

    def answer(self, person: int, answers: Sequence[str]) -> list[bool]:
        """Check the answers to the quiz; who has answered everything right has passed it."""
        questions = self.rules_of(person).questions(person)
        given = [*answers, *[""] * len(questions)]
        right = [one.is_right(text) for one, text in zip(questions, given, strict=False)]
        if all(right):
            self.pass_step(person, "quiz")
        return right

    def is_mediated(self, person: int) -> bool:
        """Whether somebody's treatment has a mediator."""
        with self.store.transaction():
            return self.hall.treatments[self.store.person(person).treatment].mediated

    def player(self, person: int) -> int:
        """The player as whom somebody plays now.

        Raises:
            MediatorError: If they have no seat.
        """
        return self._present(person, None)[1]

    def act(self, person: int, infoset: int, action: int, play: str | None = None) -> None:
        """Make a move in somebody's present play, which must be ``play`` if that is given.

        Raises:
            AccordError: If it cannot be made, or not any more.
        """
        with self.store.transaction():
            self.hall.act(*self._present(person, play), infoset, action)

    def find_move(self, person: int, play: str, infoset: str, action: str) -> tuple[int, int]:
        """The numbers of an infoset and an action of somebody's present play, by their labels.

        Raises:
            MediatorError: If there are none of these labels.
        """
        game, player = self.hall.game, self._present(person, play)[1]
        try:
            x = list(game.infoset_labels[player]).index(infoset)
            return x, game.action_labels[player][x].index(action)
        except ValueError:
            raise MediatorError("there is no such move") from None

    def choose(self, person: int, delegate: bool, play: str | None = None) -> None:
        """At K = 0, delegate or decline in somebody's present play.

        Raises:
            AccordError: If K is not 0, or they have decided otherwise.
        """
        with self.store.transaction():
            self.hall.choose(*self._present(person, play), delegate)

    def _present(self, person: int, play: str | None) -> tuple[str, int]:
        with self.store.transaction():
            found = self.store.person(person)
            seat = self._seat(found)
            if seat is None or play not in (None, seat[0]):
                raise MediatorError("it is not your turn")
            if self._stage(found, self.hall.look(*seat)) not in ("seat", "paused"):
                raise MediatorError("it is not your turn")
            return seat

    def proceed(self, person: int, play: str | None = None) -> None:
        """Continue after practice, or after a round. Doing it again changes nothing.

        Raises:
            MediatorError: If the play is not over.
        """
        with self.store.transaction():
            view = self.look(person)
            if view.seat is None or play not in (None, view.seat.play):
                return
            if not view.proceeds:
                if not view.last:
                    raise MediatorError("the play is not over")
                return
            found = self.store.person(person)
            if view.round == 0:
                self._pass(found, "practice")
            else:
                self.store.save_person(replace(found, ready=self.hall.clock()))
                self.rounds.match()

    def _pass(self, person: Person, step: str) -> None:
        person = replace(person, passed=(*person.passed, step))
        following = self._step(person)
        waits = following is None and person.room
        self.store.save_person(replace(person, ready=self.hall.clock() if waits else None))
        self.hall.changes += 1
        if waits:
            self.rounds.match()

    def _seat(self, person: Person) -> tuple[str, int] | None:
        """The present seat of a person; who is to practise gets one."""
        if self._step(person) != "practice":
            return self.store.seat_of(person.id)
        return self.store.seat_of(person.id, practice=True) or self._practise(person)

    def _practise(self, person: Person) -> tuple[str, int]:
        """Begin a play against robots, in a role that has something to decide."""
        game = self.hall.game
        able = [i for i in range(game.n_players) if game.n_infosets[i]]
        own = person.role if person.role in able else able[person.id % len(able)]
        (play,) = self.hall.create(treatment=person.treatment, round=0)
        for player in range(game.n_players):
            if player == own:
                self.store.change_seat(play, player, person=person.id)
            else:
                self.store.change_seat(play, player, robot=True)
        self.hall.start(play)
        return play, own

    def _step(self, person: Person) -> str | None:
        """What a person has to do before their first play, if anything."""
        if REFUSED in person.passed:
            return None
        steps = self.design.steps(person.room)
        return next((step for step in steps if step not in person.passed), None)

    def _stage(self, person: Person, seat: SeatView | None) -> str:
        if REFUSED in person.passed:
            return "declined"
        step = self._step(person)
        if step not in (None, "practice"):
            return step or ""
        if step is None and person.room and (seat is None or person.ready is not None):
            return "finished" if self.has_ended else "paused" if self.hall.paused else "lobby"
        if self.hall.paused and seat is not None and seat.status not in ("over", "stopped"):
            return "paused"
        return "seat"

    def _continues(self, person: Person, round: int | None) -> bool:
        """Whether another round follows for somebody who has played this one."""
        if not person.room or round is None or self.has_ended:
            return False
        return round < self.design.rounds

    def _past(self, person: Person) -> list[PastSeat]:
        """The seats of somebody in rounds whose end they may see."""
        seats, now = self.rounds.seats(person.id) if person.room else [], self.hall.clock()
        return [
            seat
            for seat in seats
            if seat.status in ("over", "stopped") and (seat.ended is None or now >= seat.ended)
        ]

    def _only(self, person: Person, seat: tuple[str, int] | None) -> list[PastSeat]:
        """The seat of somebody who was invited to this one only."""
        if person.room or seat is None:
            return []
        return [PastSeat(person.id, *seat, 0, self.hall.look(*seat).status, None)]

    def _round(self, seat: PastSeat) -> Round:
        name = self.messages.role(self.hall.game.player_labels[seat.player])
        payoffs = self.hall.payoffs(seat.play) if seat.status == "over" else None
        return Round(seat.round, name, None if payoffs is None else payoffs[seat.player])

    def _debrief(self, past: list[PastSeat]) -> tuple[str, ...]:
        """What is said in the end about all plays of a person."""
        if self.design.debrief == "none":
            return ()
        hall, t, lines = self.hall, self.messages, []
        over = [seat for seat in past if seat.status == "over"]
        for seat in over:
            if (line := average_line(hall, t, seat.play, seat.player)) and line not in lines:
                lines.append(line)
        for seat in over:
            own = own_lines(hall, t, seat.play, seat.player)
            if self.design.debrief == "all":
                own += others_lines(hall, t, seat.play, seat.player)
            if len(over) > 1:
                where = t.text("page.round", round=seat.round, rounds=self.design.rounds)
                own = [t.text("debrief.in_round", round=where, line=line) for line in own]
            lines += own
        return tuple(lines)

    # For the operator

    def state(self) -> SessionState:
        """The session as a whole."""
        with self.store.transaction():
            rounds = range(1, self.design.rounds + 1)
            met = {r: self.store.noted(f"met again in round {r}") for r in rounds}
            waiting = sum(
                one.room and one.ready is not None and one.away is None
                for one in self.store.people()
            )
            return SessionState(
                self.code, self.is_open, self.hall.paused, self.has_ended, waiting,
                tuple((r, int(count)) for r, count in met.items() if count is not None),
            )  # fmt: skip

    def begin(self) -> int:
        """Match everybody who waits now; return the number of plays that begin."""
        return self.rounds.match(now=True)

    def fill(self) -> int:
        """Match everybody who waits now, with robots where people are missing."""
        return self.rounds.match(fill=True)

    def end(self) -> None:
        """End the session: stop all plays, and let nobody in."""
        with self.store.transaction():
            self.store.note("ended", "yes")
            for row in self.store.plays():
                if row.status in ("open", "running"):
                    self.hall.stop(row.id)
            self.hall.changes += 1

    def invite(self, person: int) -> str:
        """A new link for somebody who has lost theirs; return its secret.

        Raises:
            ArgumentError: If there is no such person.
        """
        with self.store.transaction():
            self._check(person)
            return self.store.make_link(person, self.hall.clock())

    def remove(self, person: int) -> None:
        """Let somebody leave for good: their link no longer works.

        Raises:
            ArgumentError: If there is no such person.
        """
        with self.store.transaction():
            self._check(person)
            self.rounds.leave(person)
            self.store.revoke_links(person, self.hall.clock())

    def _check(self, person: int) -> None:
        if all(one.id != person or not one.room for one in self.store.people()):
            raise ArgumentError(f"there is no person {person}")

    def guests(self) -> list[Guest]:
        """Everybody in the room."""
        with self.store.transaction():
            links = self.store.links()
            names = {one.id: one.name for one in self.store.people()}
            return [self._guest(one, names, links) for one in self.store.people() if one.room]

    def _guest(
        self, person: Person, names: dict[int, str], links: dict[int, float | None]
    ) -> Guest:
        seat = self.store.seat_of(person.id)
        row = None if seat is None else self.store.play(seat[0])
        rounds = [self._round(one) for one in self._past(person)]
        points = sum(one.payoff for one in rounds if one.payoff is not None)
        status = None if row is None else row.status
        if person.away is not None:
            doing = "left"
        elif REFUSED in person.passed:
            doing = "does not take part"
        elif (step := self._step(person)) is not None:
            doing = {"practice": "practises"}.get(step, f"reads: {step}")
        elif person.ready is not None:
            doing = "finished" if self.has_ended else "waits"
        elif status == "running" and row is not None:
            doing = f"plays round {row.round}"
        else:
            more = row is not None and self._continues(person, row.round)
            doing = "looks at the result" if more else "finished"
        return Guest(
            id=person.id, name=person_name(person.id, names) or "", treatment=person.treatment,
            doing=doing, play=None if row is None else row.id, rounds=len(rounds), points=points,
            money=self.design.money(points), linked=person.id in links,
            opened=links.get(person.id) is not None,
        )  # fmt: skip

    def tick(self) -> None:
        """Let robots move where time is up, and match people."""
        self.hall.tick()
        self.rounds.tick()


def _clean_code(code: str) -> bytes:
    return "".join(code.split()).replace("-", "").upper().encode("utf-8", "replace")
