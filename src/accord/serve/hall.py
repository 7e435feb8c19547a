"""The hall in which many plays of one game run: seats for people and robots, time limits, results.

Every request loads the play from the database, lets the referee (``mediator/referee.py``) decide,
and saves it in the same transaction. So a server that is killed continues where it was, and a
request that comes twice finds the first one's effect and changes nothing.

A player is *asked* at a moment that is stored. Without ``pace`` that is when the referee asks them.
With ``pace``, round r begins exactly ``r * pace`` seconds after the play, however long players
think, so in a game with a timing (``mediator/timing.py``) the clock reveals nothing. If a player
has not answered ``limit`` seconds after being asked (``pace`` seconds, if that is given), a robot
makes this move for them. Robots follow the mediator, or play at random once it is silent; they know
nothing that the player does not know.

While the session is *paused* nobody can move and no time passes; afterwards everybody has their
whole time again, as after a restart.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import SystemRandom

from accord._check import check_positive
from accord.errors import AccordError, ArgumentError, MediatorError
from accord.game.labels import player_name
from accord.mediator.referee import Referee, RefereedPlay
from accord.mediator.seat import Move
from accord.serve.design import Treatment
from accord.serve.store import PlayRow, Store, reason
from accord.serve.views import (
    LONGEST_NAME,
    ListedPlay,
    SeatView,
    WatchedPlay,
    listed_play,
    role,
    seat_view,
    watched_play,
)

LOG = logging.getLogger("accord.serve")

CACHED = 1000
"""The most plays that are also kept in memory."""

MOST_AT_ONCE = 500
"""The most plays that can be created with one request."""


class Hall:
    """All plays of one server."""

    def __init__(
        self,
        referee: Referee | Sequence[Treatment],
        store: Store,
        *,
        limit: float | None = None,
        pace: float | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Continue the plays of the database.

        Args:
            referee: The referee of all plays, or the treatments of the session.
            store: The database.
            limit: Seconds after which a robot moves for a player; None for no limit.
            pace: Seconds that each round lasts; None if a round ends when all have answered.
            clock: The time in seconds; by default :func:`steady_clock`.

        Raises:
            ArgumentError: If a number of seconds is not positive, both are given, or the game has
                no timing and so cannot be played at a pace.
        """
        several = [Treatment(referee)] if isinstance(referee, Referee) else referee
        self.treatments: Mapping[str, Treatment] = {one.name: one for one in several}
        self.referee = several[0].referee
        check_times(self.referee, limit, pace)
        self.store, self.game = store, self.referee.mediator.game
        self.limit, self.pace, self.clock = pace or limit, pace, clock or steady_clock()
        self._cache: OrderedDict[str, tuple[str, RefereedPlay]] = OrderedDict()
        self._payoffs: dict[str, tuple[float, ...]] = {}  # of plays that are over
        self._stuck: set[str] = set()  # plays in which robots could not move, told once
        self.changes = 0  # how often plays or people have changed
        with store.transaction():
            self.paused = store.noted("paused") is not None
            if not self.paused:
                self._continue_plays()
            for row in store.plays("over"):
                latest = self.clock() + (pace or 0.0)  # the last round has begun
                if row.ended is not None and row.ended > latest:  # the clock was set back
                    store.save_play(replace(row, ended=latest))

    def _continue_plays(self) -> None:
        for row in self.store.plays("running"):
            with _others_continue(row.id):
                session = self._take(row)
                self._save(self._give_time(row, session), session)

    @property
    def warning(self) -> str | None:
        """A sentence that says what the clock can reveal to players; None if it reveals nothing."""
        timing = self.referee.timing
        if timing.warning is None or not timing.exists:
            return timing.warning
        return f"{timing.warning} (--pace)" if self.pace is None else None

    # For players

    def find_seat(self, token: str) -> tuple[str, int] | None:
        """The present seat of the person whose link that is."""
        with self.store.transaction():
            person = self.store.find_link(token, self.clock())
            return self.store.seat_of(person) if person else None

    def look(self, play: str, player: int) -> SeatView:
        """What a player may see now."""
        with self.store.transaction():
            row = self._row(play)
            return seat_view(
                row, self._load(row), self.store.seats(play), self.store.robot_moves(play), player,
                self._is_asked(row, player) and not self.paused, self.clock(), self.limit,
            )  # fmt: skip

    def note_shown(self, play: str, player: int) -> None:
        """Remember when a player was first shown the decision that they have to make now."""
        try:
            with self.store.transaction():
                row = self._row(play)
                if row.status != "running" or not self._is_asked(row, player):
                    return
                seat = self._load(row).seats[player]
                if not seat.undecided and not self.store.was_shown(play, player, len(seat.moves)):
                    self.store.add_event(play, self.clock(), "shown", player, len(seat.moves))
        except sqlite3.Error as error:  # on a full disk they see it all the same
            LOG.error("it could not be noted that a page was shown: %s", reason(error))

    def note_opened(self, token: str) -> None:
        """Remember that a player has opened their page; on a full disk they see it all the same."""
        try:
            with self.store.transaction():
                self.store.note_opened(token, self.clock())
        except sqlite3.Error as error:
            LOG.error("it could not be noted that a page was opened: %s", reason(error))

    def act(self, play: str, player: int, infoset: int, action: int) -> None:
        """Make a move. The same move again changes nothing.

        Raises:
            AccordError: If it cannot be made, or not any more.
        """
        with self.store.transaction():
            row = self._row(play)
            session = self._take(row)
            seat, made = session.seats[player], len(session.seats[player].moves)
            known = any(move.infoset == infoset for move in seat.moves)
            asked = row.status == "running" and not self.paused and self._is_asked(row, player)
            if not known and not asked:
                raise MediatorError("it is not your turn")
            seat.act(infoset, action)
            if len(seat.moves) == made:
                return
            self.store.add_event(play, self.clock(), "moved", player, made)
            self._save(_answered(row, player), session)

    def choose(self, play: str, player: int, delegate: bool) -> None:
        """At K = 0, delegate or decline. The same choice again changes nothing.

        Raises:
            AccordError: If K is not 0, or the player has decided otherwise.
        """
        with self.store.transaction():
            row = self._row(play)
            if self.treatments[row.treatment].k != 0:
                raise MediatorError("there is nothing to choose: the mediator recommends moves")
            session = self._take(row)
            seat = session.seats[player]
            if not seat.undecided:
                if seat.delegated != delegate:
                    raise MediatorError("you have already chosen")
                return
            if row.status != "running" or self.paused:
                raise MediatorError("the play is not running")
            seat.delegate() if delegate else seat.decline()
            self._save(_answered(row, player), session)

    # For the operator

    def create(
        self,
        count: int = 1,
        id: str | None = None,
        treatment: str | None = None,
        round: int | None = None,
    ) -> list[str]:
        """Create plays, numbered unless ``id`` is given, each with a random treatment by default.

        Raises:
            ArgumentError: If the id is taken or has other characters than letters, digits, spaces,
                dots, hyphens and underscores.
        """
        if not 1 <= count <= MOST_AT_ONCE or (id is not None and count != 1):
            raise ArgumentError(f"the number of plays must be 1 to {MOST_AT_ONCE}, 1 with a name")
        if id is not None and not re.fullmatch(r"[\w][\w .-]{0,39}", id):
            raise ArgumentError(
                "the name of a play must have 1 to 40 letters, digits, spaces, dots, hyphens or "
                f"underscores, and begin with a letter or digit; got {id!r}"
            )
        with self.store.transaction():
            taken = {row.id for row in self.store.plays()}
            if id in taken:
                raise ArgumentError(f"there is already a play {id!r}; choose another name")
            free = (str(n) for n in range(1, len(taken) + count + 1) if str(n) not in taken)
            made = [id] if id is not None else [next(free) for _ in range(count)]
            for name in made:
                chosen = self.treatments[treatment or self._least_used()]
                session = chosen.referee.begin(name)
                if not chosen.mediated:
                    for seat in session.seats:
                        if seat.undecided:
                            seat.decline()
                names = [role(label) for label in self.game.player_labels]
                now = self.clock()
                self.store.add_play(name, _state(session), names, now, chosen.name, round)
                self.store.add_event(name, now, "created")
        self.changes += 1
        return made

    def _least_used(self) -> str:
        """One of the treatments that the fewest plays have."""
        used = [row.treatment for row in self.store.plays() if row.round is None]
        fewest = min(used.count(name) for name in self.treatments)
        return SystemRandom().choice([n for n in self.treatments if used.count(n) == fewest])

    def start(self, play: str) -> None:
        """Start a play, or do nothing if it has been started."""
        with self.store.transaction():
            row = self._row(play)
            if row.status != "open":
                return
            row = replace(row, status="running")
            session = self._take(row)
            self.store.add_event(play, self.clock(), "started")
            LOG.info("play %s: started", play)
            self._save(row, session)

    def stop(self, play: str) -> None:
        """Stop a play that is not over."""
        with self.store.transaction():
            row = self._row(play)
            if row.status in ("open", "running"):
                self.store.add_event(play, self.clock(), "stopped")
                now = self.clock()
                self.store.save_play(replace(row, status="stopped", asked={}, ended=now))
        self.changes += 1

    def may_restart(self, play: str) -> bool:
        """Whether a play can begin again: it has begun, the session has not ended, and none of its
        people has gone on to another play."""
        with self.store.transaction():
            row = self._row(play)
            practice = row.round == 0
            begun = row.status != "open" and self.store.noted("ended") is None
            return begun and all(
                self.store.seat_of(seat.person, practice) == (play, seat.player)
                and not (practice and "practice" in self.store.person(seat.person).passed)
                for seat in self.store.seats(play)
                if seat.person is not None
            )

    def restart(self, play: str) -> str:
        """Stop a play for good and begin another with the same people; return its name.

        Raises:
            MediatorError: If it cannot begin again (:meth:`may_restart`).
        """
        with self.store.transaction():
            row = self._row(play)
            if not self.may_restart(play):
                raise MediatorError(f"play {play} cannot begin again: its people play another one")
            self.store.add_event(play, self.clock(), "restarted")
            self.store.save_play(replace(row, status="stopped", asked={}))
            (new,) = self.create(treatment=row.treatment, round=row.round)
            for seat in self.store.seats(play):
                person = None if seat.person is None else self.store.person(seat.person)
                robot = seat.robot or (person is not None and person.away is not None)
                self.store.change_seat(
                    new, seat.player, name=seat.name, robot=robot, person=seat.person
                )
                if person is not None:
                    self.store.save_person(replace(person, ready=None))
            self.start(new)
            return new

    def pause(self) -> None:
        """Let nobody move, and stop all clocks."""
        with self.store.transaction():
            self.store.note("paused", "yes")
            self.paused = True
        self.changes += 1

    def proceed(self) -> None:
        """Continue after a pause."""
        with self.store.transaction():
            if self.paused:
                self.paused = False
                self.store.note("paused", None)
                self._continue_plays()

    def invite(self, play: str, player: int) -> str:
        """A new link for whoever has a seat; the old one no longer works."""
        with self.store.transaction():
            self._check_seat(play, player)
            now = self.clock()
            self.store.add_event(play, now, "invited", player)
            seat = self.store.seats(play)[player]
            if (person := seat.person) is None:
                treatment = self._row(play).treatment
                person = self.store.add_person("", treatment, False, SystemRandom().random(), now)
                self.store.change_seat(play, player, person=person)
            return self.store.make_link(person, now)

    def invite_missing(self) -> list[tuple[str, str, str]]:
        """Links for all people who have none yet, as ``(play, name, secret)``."""
        with self.store.transaction():
            return [
                (row.id, seat.name, self.invite(row.id, seat.player))
                for row in self.store.plays()
                if row.status in ("open", "running")
                for seat in self.store.seats(row.id)
                if not (seat.robot or seat.invited is not None)
            ]

    def start_ready(self) -> None:
        """Start all plays in which every seat has a link or a robot."""
        with self.store.transaction():
            for row in self.store.plays("open"):
                seats = self.store.seats(row.id)
                if all(seat.robot or seat.invited is not None for seat in seats):
                    with _others_continue(row.id):
                        self.start(row.id)

    def revoke(self, play: str, player: int) -> None:
        """Revoke the link of a seat."""
        with self.store.transaction():
            self._check_seat(play, player)
            self.store.add_event(play, self.clock(), "link revoked", player)
            if (person := self.store.seats(play)[player].person) is not None:
                self.store.revoke_links(person, self.clock())

    def rename(self, play: str, player: int, name: str) -> None:
        """Name the person in a seat."""
        clean = " ".join(name.split())[:LONGEST_NAME]
        with self.store.transaction():
            self._check_seat(play, player)
            own = role(self.game.player_labels[player])
            self.store.change_seat(play, player, name=clean or own)

    def set_robot(self, play: str, player: int, robot: bool) -> None:
        """Let a robot play for a seat from now on, or no longer."""
        with self.store.transaction():
            self._check_seat(play, player)
            self.store.change_seat(play, player, robot=robot)
            what = "robot takes over" if robot else "robot leaves"
            self.store.add_event(play, self.clock(), what, player)
            row = self._row(play)
            if row.status == "running":
                self._save(row, self._take(row))

    def fill_seats(self) -> None:
        """Let robots play wherever nobody has opened the page yet."""
        with self.store.transaction():
            for row in self.store.plays():
                if row.status in ("open", "running"):
                    for seat in self.store.seats(row.id):
                        if seat.empty:
                            with _others_continue(row.id):
                                self.set_robot(row.id, seat.player, True)

    def watch(self, play: str, reveal: bool = False) -> WatchedPlay:
        """What the operator sees; with ``reveal`` also moves and recommendations."""
        with self.store.transaction():
            row = self._row(play)
            seats, robots = self.store.seats(play), self.store.robot_moves(play)
            names = self._names()
            return watched_play(row, self._load(row), seats, robots, reveal, names, self.clock())

    def treatment_of(self, play: str) -> Treatment:
        """The treatment of a play."""
        with self.store.transaction():
            return self.treatments[self._row(play).treatment]

    def payoffs(self, play: str) -> tuple[float, ...] | None:
        """What everybody earned in a play that is over."""
        if (known := self._payoffs.get(play)) is not None:
            return known
        with self.store.transaction():
            row = self._row(play)
            found = self._load(row).payoffs if row.status == "over" else None
            if found is None:
                return None
            return self._payoffs.setdefault(play, tuple(map(float, found)))

    def chance(self, play: str) -> tuple[str, ...]:
        """The chance moves of a play, first to last. Not for players before the end."""
        with self.store.transaction():
            story = self._load(self._row(play)).story
            return tuple(action for player, action in story if player is None)

    def moves(self, play: str) -> list[tuple[Move, ...]]:
        """The moves of each player with what they were told; none of those who delegated."""
        with self.store.transaction():
            seats = self._load(self._row(play)).seats
            return [() if seat.delegated else seat.moves for seat in seats]

    def list_plays(self) -> list[ListedPlay]:
        """All plays, the latest first."""
        with self.store.transaction():
            seats, names, now = self.store.all_seats(), self._names(), self.clock()
            rows = reversed(self.store.plays())
            return [listed_play(row, seats.get(row.id, []), names, now) for row in rows]

    def _names(self) -> dict[int, str]:
        """The names of those people who are matched into plays."""
        return {one.id: one.name for one in self.store.people() if one.room}

    def tick(self) -> None:
        """Let robots move where time is up."""
        if self.limit is None:
            return
        with self.store.transaction():
            due = [row.id for row in self.store.plays("running") if self._is_due(row)]
        for id in due:
            try:
                with self.store.transaction():
                    self._row(id)
                self._stuck.discard(id)
            except Exception as error:  # the other plays continue
                if id not in self._stuck:
                    LOG.error("play %s: robots could not move: %s", id, reason(error))
                self._stuck.add(id)

    # Plays in memory and in the database

    def _row(self, play: str) -> PlayRow:
        """Read a play. If somebody's time is up, robots move first."""
        row = self.store.play(play)
        if row is not None and self._is_due(row):
            self._save(row, self._take(row))
            row = self.store.play(play)
        if row is None:
            raise ArgumentError(f"there is no play {play!r}")
        return row

    def _is_due(self, row: PlayRow) -> bool:
        """Whether somebody's time is up."""
        if self.limit is None or self.paused or row.status != "running" or not row.asked:
            return False
        return self.clock() >= min(row.asked.values()) + self.limit

    def _check_seat(self, play: str, player: int) -> None:
        self._row(play)
        if not 0 <= player < self.game.n_players:
            raise ArgumentError(f"there is no player {player}")

    def _load(self, row: PlayRow) -> RefereedPlay:
        """The stored play, from the cache if the cache has it in this state."""
        state, session = self._cache.get(row.id, (None, None))
        if session is None or state != row.state:
            try:
                state, treatment = json.loads(row.state), self.treatments[row.treatment]
            except (KeyError, TypeError, ValueError, RecursionError):
                raise ArgumentError(f"the state of play {row.id!r} is damaged") from None
            session = treatment.referee.resume(state)
            self._cache[row.id] = row.state, session
        self._cache.move_to_end(row.id)
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        return session

    def _take(self, row: PlayRow) -> RefereedPlay:
        """The stored play, to be changed: the cache drops it until it is saved."""
        session = self._load(row)
        del self._cache[row.id]
        return session

    def _save(self, row: PlayRow, session: RefereedPlay) -> None:
        """Let robots move, ask whoever is next, and write everything down."""
        row = self._settle(row, session)
        row = replace(row, state=_state(session))
        self.store.save_play(row)
        self._cache[row.id] = row.state, session
        self.changes += 1

    def _settle(self, row: PlayRow, session: RefereedPlay) -> PlayRow:
        seats = self.store.seats(row.id)
        now, moved, known = self.clock(), True, set(row.asked)
        while moved:
            moved = False
            if row.base is None and not session.undecided:
                row = replace(row, base=now)
            row = replace(row, asked=self._asked(row, session, now))
            for seat in seats:
                own = session.seats[seat.player]
                if seat.player not in row.asked:
                    continue
                late = self.limit is not None and now >= row.asked[seat.player] + self.limit
                if not (seat.robot or late):
                    continue
                decision, moved = None if own.undecided else len(own.moves), True
                own.delegate() if own.undecided else own.follow()
                row = _answered(row, seat.player)
                what = "robot moved" if seat.robot else "robot moved: time was up"
                self.store.add_event(row.id, now, what, seat.player, decision)
        for player in row.asked:
            _ = session.seats[player].recommendation  # it is given now
            if player not in known:  # said whether or not there is a recommendation
                who, made = self.game.player_labels[player], len(session.seats[player].moves)
                LOG.info("play %s: %s is asked, decision %d", row.id, player_name(who), made + 1)
        if session.is_over:
            row = replace(row, status="over", ended=self._end(row, session, now), asked={})
            self.store.add_event(row.id, now, "over")
        return row

    def _asked(self, row: PlayRow, session: RefereedPlay, now: float) -> dict[int, float]:
        """For each player who must decide now, the time at which they are asked."""
        due = session.undecided or session.waiting_for
        players = [self.game.player_labels.index(label) for label in due]
        when = now
        if self.pace is not None and row.base is not None and session.round is not None:
            when = row.base + session.round * self.pace
        return {player: row.asked.get(player, when) for player in players}

    def _end(self, row: PlayRow, session: RefereedPlay, now: float) -> float:
        """When players may see the end: with a pace, after the last round."""
        if self.pace is None or row.base is None:
            return now
        rounds = self.referee.timing.rounds
        last = max(
            (int(rounds[i][m.infoset]) for i, s in enumerate(session.seats) for m in s.moves),
            default=-1,
        )
        return row.base + (last + 1) * self.pace

    def _give_time(self, row: PlayRow, session: RefereedPlay) -> PlayRow:
        """After a restart, give everybody their whole time again.

        With a pace, the next round may begin later, but never later than its number allows, even if
        the clock was set back or the pace was changed.
        """
        now, base = self.clock(), row.base
        ahead = 0.0 if self.pace is None else self.pace * (session.round or 0)
        asked = {i: when if now < when <= now + ahead else now for i, when in row.asked.items()}
        if base is not None and self.pace is not None and session.round is not None:
            base = max(asked.values()) - ahead
        return replace(row, asked=asked, base=base)

    def _is_asked(self, row: PlayRow, player: int) -> bool:
        """Whether the player is asked now: not before their time, nor after it is up."""
        if (when := row.asked.get(player)) is None:
            return False
        return when <= self.clock() < when + (math.inf if self.limit is None else self.limit)


def steady_clock() -> Callable[[], float]:
    """A clock that starts at the time of day and runs steadily, also while the computer sleeps.

    Setting the computer's clock later gives nobody more time, or less.
    """
    began, passed = time.time(), time.monotonic
    if hasattr(time, "clock_gettime"):  # there, monotonic may stop during sleep
        passed = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    start = passed()
    return lambda: began + passed() - start


def check_times(referee: Referee, limit: float | None, pace: float | None) -> None:
    """Raise an ArgumentError unless plays can run with this limit or pace."""
    for what, seconds in (("limit", limit), ("pace", pace)):
        if seconds is not None:
            check_positive(what, seconds)
    if pace is not None and limit is not None:
        raise ArgumentError("give either a time limit or a pace; a pace is a limit, too")
    if pace is not None and not referee.timing.exists:
        raise ArgumentError("this game has no timing, so its rounds cannot have a fixed length")


@contextmanager
def _others_continue(play: str) -> Iterator[None]:
    """Log that a play cannot continue, because it is damaged, and let the caller take the next."""
    try:
        yield
    except AccordError as error:
        LOG.error("play %s cannot continue: %s", play, error)


def _state(session: RefereedPlay) -> str:
    return json.dumps(session.to_json())


def _answered(row: PlayRow, player: int) -> PlayRow:
    """The play after the player has answered: they are no longer asked."""
    return replace(row, asked={i: when for i, when in row.asked.items() if i != player})
