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
"""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from accord._check import check_positive
from accord.errors import AccordError, ArgumentError, MediatorError
from accord.mediator.referee import Referee, RefereedPlay
from accord.serve.store import PlayRow, Store, reason
from accord.serve.views import (
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

LONGEST_NAME = 60
MOST_AT_ONCE = 500
"""The most plays that can be created with one request."""


class Hall:
    """All plays of one server."""

    def __init__(
        self,
        referee: Referee,
        store: Store,
        *,
        limit: float | None = None,
        pace: float | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Continue the plays of the database.

        Args:
            referee: The referee of all plays.
            store: The database.
            limit: Seconds after which a robot moves for a player; None for no limit.
            pace: Seconds that each round lasts; None if a round ends when all have answered.
            clock: The time in seconds; by default :func:`steady_clock`.

        Raises:
            ArgumentError: If a number of seconds is not positive, both are given, or the game has
                no timing and so cannot be played at a pace.
        """
        check_times(referee, limit, pace)
        self.referee, self.store, self.game = referee, store, referee.mediator.game
        self.limit, self.pace, self.clock = pace or limit, pace, clock or steady_clock()
        self._cache: OrderedDict[str, tuple[str, RefereedPlay]] = OrderedDict()
        self._stuck: set[str] = set()  # plays in which robots could not move, told once
        with store.transaction():
            for row in store.plays("running"):
                try:
                    session = self._take(row)
                except AccordError as error:  # the other plays continue
                    LOG.error("play %s cannot continue: %s", row.id, error)
                else:
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
        """The seat that a link opens."""
        with self.store.transaction():
            found = self.store.find_link(token)
        if found is None or found[0] is None or found[1] is None:
            return None
        return found[0], found[1]

    def look(self, play: str, player: int) -> SeatView:
        """What a player may see now."""
        with self.store.transaction():
            row = self._row(play)
            return seat_view(
                row, self._load(row), self.store.seats(play), self.store.robot_moves(play), player,
                self._is_asked(row, player), self.clock(), self.limit,
            )  # fmt: skip

    def note_opened(self, token: str) -> None:
        """Remember that a player has opened their page."""
        with self.store.transaction():
            self.store.note_opened(token, self.clock())

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
            if not known and not (row.status == "running" and self._is_asked(row, player)):
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
        if self.referee.mediator.k != 0:
            raise MediatorError("there is nothing to choose: the mediator recommends moves")
        with self.store.transaction():
            row = self._row(play)
            session = self._take(row)
            seat = session.seats[player]
            if not seat.undecided:
                if seat.delegated != delegate:
                    raise MediatorError("you have already chosen")
                return
            if row.status != "running":
                raise MediatorError("the play is not running")
            seat.delegate() if delegate else seat.decline()
            self._save(_answered(row, player), session)

    # For the operator

    def create(self, count: int = 1, id: str | None = None) -> list[str]:
        """Create plays, numbered unless ``id`` is given.

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
                session = self.referee.begin(name)
                names = [role(label) for label in self.game.player_labels]
                self.store.add_play(name, _state(session), names, self.clock())
                self.store.add_event(name, self.clock(), "created")
        return made

    def start(self, play: str) -> None:
        """Start a play, or do nothing if it has been started."""
        with self.store.transaction():
            row = self._row(play)
            if row.status != "open":
                return
            self.store.add_event(play, self.clock(), "started")
            row = replace(row, status="running")
            self._save(row, self._take(row))
        LOG.info("play %s: started", play)

    def stop(self, play: str) -> None:
        """Stop a play that is not over."""
        with self.store.transaction():
            row = self._row(play)
            if row.status in ("open", "running"):
                self.store.add_event(play, self.clock(), "stopped")
                self.store.save_play(replace(row, status="stopped", asked={}))

    def invite(self, play: str, player: int) -> str:
        """A new link for a seat; the old one no longer works."""
        with self.store.transaction():
            self._check_seat(play, player)
            self.store.add_event(play, self.clock(), "invited", player)
            return self.store.make_link(play, player, self.clock())

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
                    self.start(row.id)

    def revoke(self, play: str, player: int) -> None:
        """Revoke the link of a seat."""
        with self.store.transaction():
            self._check_seat(play, player)
            self.store.add_event(play, self.clock(), "link revoked", player)
            self.store.revoke_links(play, player, self.clock())

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
                            self.set_robot(row.id, seat.player, True)

    def watch(self, play: str, reveal: bool = False) -> WatchedPlay:
        """What the operator sees; with ``reveal`` also moves and recommendations."""
        with self.store.transaction():
            row = self._row(play)
            seats, robots = self.store.seats(play), self.store.robot_moves(play)
            return watched_play(row, self._load(row), seats, robots, reveal, self.clock())

    def list_plays(self) -> list[ListedPlay]:
        """All plays, the latest first."""
        with self.store.transaction():
            seats, now = self.store.all_seats(), self.clock()
            return [listed_play(row, seats[row.id], now) for row in reversed(self.store.plays())]

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
        if self.limit is None or row.status != "running" or not row.asked:
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
            session = self.referee.resume(json.loads(row.state))
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

    def _settle(self, row: PlayRow, session: RefereedPlay) -> PlayRow:
        seats = self.store.seats(row.id)
        now, moved = self.clock(), True
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
            _ = session.seats[player].recommendation  # it is given now, and logged once
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


def _state(session: RefereedPlay) -> str:
    return json.dumps(session.to_json())


def _answered(row: PlayRow, player: int) -> PlayRow:
    """The play after the player has answered: they are no longer asked."""
    return replace(row, asked={i: when for i, when in row.asked.items() if i != player})
