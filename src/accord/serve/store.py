"""The database of a session: people, plays, seats, links and events, in one SQLite file.

A *person* is whoever has a link: somebody whom the operator invited to one seat, or who came in by
the address that all people share. A *play* has one seat per player, and a seat belongs to a person,
to a robot, or to nobody yet. ``about`` has what all plays have in common, and the state of the
session.

Every change is one transaction, and a transaction that was committed survives the death of the
process (write-ahead log, synced at each commit). Links are 32 random bytes; the file has only their
SHA-256, so nobody who reads it can open a seat. The states of plays are in there too, and they are
secret (``mediator/mediator.py``): the file is readable by its owner only.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.errors import ArgumentError, MismatchError

STORE_VERSION = "3"
LINK_BYTES = 32
OPERATOR_SECONDS = 30 * 86_400.0
"""How long a link of the operator works; every start of the server makes a new one."""

DAMAGED = "damaged"
"""The status of a play that cannot be read any more."""

SHARED = {"k": "K", "version": "format, made by another version of Accord"}
WAIT = 10.0
"""Seconds that a transaction waits for that of another process."""

SCHEMA = """
CREATE TABLE about (what TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    joined REAL NOT NULL,
    lot REAL NOT NULL,        -- drawn at random, to order people in matching
    treatment TEXT NOT NULL,
    room INTEGER NOT NULL,    -- 1 if they are matched into plays, 0 if invited to one seat
    passed TEXT NOT NULL,     -- what they have done before their first play
    role INTEGER,             -- their player in the first round
    ready REAL,               -- since when they wait for their next play
    away REAL                 -- since when they are gone
);
CREATE TABLE plays (
    id TEXT PRIMARY KEY,
    treatment TEXT NOT NULL,
    round INTEGER,            -- from 1, 0 for practice, NULL for plays that the operator creates
    status TEXT NOT NULL,     -- open, running, over or stopped
    state TEXT NOT NULL,      -- secret
    asked TEXT NOT NULL,      -- for each player who is deciding, the time they were asked
    created REAL NOT NULL,
    base REAL,                -- when round 0 begins
    ended REAL                -- when players may see how the play ended
);
CREATE TABLE seats (
    play TEXT NOT NULL REFERENCES plays(id),
    player INTEGER NOT NULL,
    name TEXT NOT NULL,
    robot INTEGER NOT NULL,
    person INTEGER REFERENCES people(id),
    PRIMARY KEY (play, player)
);
CREATE INDEX seats_of_people ON seats (person);
CREATE TABLE links (
    hash TEXT PRIMARY KEY,
    person INTEGER REFERENCES people(id),  -- NULL for the operator
    made REAL NOT NULL,
    opened REAL,
    revoked REAL
);
CREATE INDEX links_of_people ON links (person);
CREATE TABLE events (
    play TEXT NOT NULL REFERENCES plays(id),
    time REAL NOT NULL,
    player INTEGER,
    what TEXT NOT NULL,
    decision INTEGER
);
CREATE INDEX events_of_plays ON events (play);
CREATE TABLE forms (
    once TEXT PRIMARY KEY,
    person INTEGER REFERENCES people(id)  -- who came in with it
);
"""

SEATS = (
    "SELECT s.play, s.player, s.name, s.robot, s.person, l.made, l.opened FROM seats s "
    "LEFT JOIN links l ON l.person = s.person AND l.revoked IS NULL"
)
PLAYS = "SELECT id, status, state, asked, created, base, ended, treatment, round FROM plays"
OPERATOR = 0
"""What a link of the operator opens in place of a person's page."""


@dataclass(frozen=True)
class PlayRow:
    """One play as it is stored."""

    id: str
    status: str
    state: str  # JSON
    asked: dict[int, float]  # by player: when those who are deciding were asked
    created: float
    base: float | None
    ended: float | None
    treatment: str
    round: int | None


@dataclass(frozen=True)
class SeatRow:
    """One seat as it is stored, with its current link."""

    player: int
    name: str
    robot: bool
    person: int | None
    invited: float | None  # when the current link was made, if there is one
    opened: float | None  # when it was first opened

    @property
    def empty(self) -> bool:
        """Whether nobody has opened the link of the seat and no robot plays there."""
        return not self.robot and self.opened is None


@dataclass(frozen=True)
class Person:
    """A person as they are stored."""

    id: int
    name: str
    joined: float
    lot: float
    treatment: str
    room: bool
    passed: tuple[str, ...]
    role: int | None
    ready: float | None
    away: float | None


class Store:
    """The database. All methods but :meth:`transaction` must be called inside a transaction."""

    def __init__(self, path: str | os.PathLike[str], about: Mapping[str, str]) -> None:
        """Open the file, or create it.

        Args:
            path: The file.
            about: The game, policy and K that all plays in the file have in common, by name.

        Raises:
            ArgumentError: If the file is not a database of ``accord serve``, or cannot be opened.
            MismatchError: If it has plays of another game, policy or K.
        """
        self.path = Path(path)
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(
                self.path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
        except sqlite3.OperationalError as error:
            raise ArgumentError(
                f"{self.path} cannot be opened as a file ({error}); give another with --data"
            ) from None
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            with self.transaction():
                self._check(dict(about) | {"version": STORE_VERSION})
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ArgumentError(
                f"{self.path} is not a database of accord serve, damaged, or cannot be written "
                f"({error}); give another with --data"
            ) from None
        except MismatchError:
            self._db.close()
            raise

    def _check(self, about: dict[str, str]) -> None:
        if not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        found = dict(self._db.execute("SELECT what, value FROM about"))
        for what, value in about.items():
            if found.get(what) != value:
                raise MismatchError(
                    f"{self.path} has plays with another {SHARED.get(what, what)}; give another "
                    "file with --data, or the game, policy, K and treatments with which it was made"
                )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __del__(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of this context, or none. Only one transaction runs at a time."""
        with self._lock:
            if self._db.in_transaction:  # this one is part of an outer transaction
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._db.rollback()  # also if the commit failed
                raise

    # The session

    def noted(self, what: str) -> str | None:
        """What was noted about the session, if anything."""
        row = self._db.execute("SELECT value FROM about WHERE what = ?", (what,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, what: str, value: str | None) -> None:
        """Note something about the session; None forgets it."""
        if value is None:
            self._db.execute("DELETE FROM about WHERE what = ?", (what,))
        else:
            self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (what, value))

    # People

    def add_person(self, name: str, treatment: str, room: bool, lot: float, now: float) -> int:
        """Add a person; return their number."""
        cursor = self._db.execute(
            "INSERT INTO people VALUES (NULL, ?, ?, ?, ?, ?, '[]', NULL, NULL, NULL)",
            (name, now, lot, treatment, room),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def person(self, id: int) -> Person:
        """A person."""
        row = self._db.execute("SELECT * FROM people WHERE id = ?", (id,)).fetchone()
        return _person(row)

    def people(self) -> list[Person]:
        """Everybody, in the order of their numbers."""
        return [_person(row) for row in self._db.execute("SELECT * FROM people ORDER BY id")]

    def save_person(self, person: Person) -> None:
        """Replace a person; the number, the lot and when they joined never change."""
        self._db.execute(
            "UPDATE people SET name = ?, treatment = ?, passed = ?, role = ?, ready = ?, away = ? "
            "WHERE id = ?",
            (
                person.name, person.treatment, json.dumps(person.passed), person.role,
                person.ready, person.away, person.id,
            ),
        )  # fmt: skip

    def seat_of(self, person: int, practice: bool = False) -> tuple[str, int] | None:
        """The latest seat of a person, in practice or otherwise, as ``(play, player)``."""
        row = self._db.execute(
            "SELECT s.play, s.player FROM seats s JOIN plays p ON p.id = s.play "
            "WHERE s.person = ? AND (p.round IS 0) = ? ORDER BY p.rowid DESC LIMIT 1",
            (person, practice),
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def seats_in_rounds(
        self, person: int | None = None
    ) -> list[tuple[int, str, int, int, str, float | None]]:
        """The seats that people, or one, have had in rounds, oldest first.

        Each is (person, play, player, round, status, ended).
        """
        whose = "IS NOT NULL" if person is None else "= ?"
        return self._db.execute(
            "SELECT s.person, s.play, s.player, p.round, p.status, p.ended FROM seats s "
            f"JOIN plays p ON p.id = s.play WHERE s.person {whose} AND p.round > 0 "
            "ORDER BY p.rowid, s.player",
            () if person is None else (person,),
        ).fetchall()

    # Plays

    def add_play(
        self,
        id: str,
        state: str,
        names: list[str],
        now: float,
        treatment: str,
        round: int | None = None,
    ) -> None:
        """Add an open play."""
        self._db.execute(
            "INSERT INTO plays VALUES (?, ?, ?, 'open', ?, '{}', ?, NULL, NULL)",
            (id, treatment, round, state, now),
        )
        self._db.executemany(
            "INSERT INTO seats VALUES (?, ?, ?, 0, NULL)",
            [(id, player, name) for player, name in enumerate(names)],
        )

    def play(self, id: str) -> PlayRow | None:
        """A play, or None."""
        row = self._db.execute(f"{PLAYS} WHERE id = ?", (id,)).fetchone()
        return None if row is None else _play_row(row)

    def plays(self, status: str | None = None) -> list[PlayRow]:
        """All plays, or those with this status, oldest first."""
        where, values = ("WHERE status = ?", (status,)) if status else ("", ())
        rows = self._db.execute(f"{PLAYS} {where} ORDER BY created, rowid", values)
        return [_play_row(row) for row in rows]

    def save_play(self, row: PlayRow) -> None:
        """Replace a play."""
        self._db.execute(
            "UPDATE plays SET status = ?, state = ?, asked = ?, base = ?, ended = ? WHERE id = ?",
            (row.status, row.state, json.dumps(row.asked), row.base, row.ended, row.id),
        )

    # Seats

    def seats(self, play: str) -> list[SeatRow]:
        """The seats of a play, in the order of the players."""
        rows = self._db.execute(f"{SEATS} WHERE s.play = ? ORDER BY s.player", (play,))
        return [_seat_row(row) for row in rows]

    def all_seats(self) -> dict[str, list[SeatRow]]:
        """The seats of every play, in the order of the players."""
        seats: dict[str, list[SeatRow]] = {}
        for row in self._db.execute(f"{SEATS} ORDER BY s.player"):
            seats.setdefault(row[0], []).append(_seat_row(row))
        return seats

    def change_seat(
        self,
        play: str,
        player: int,
        *,
        name: str | None = None,
        robot: bool | None = None,
        person: int | None = None,
    ) -> None:
        """Change the name of a seat, whether a robot sits there, or whose it is."""
        self._db.execute(
            "UPDATE seats SET name = coalesce(?, name), robot = coalesce(?, robot), "
            "person = coalesce(?, person) WHERE play = ? AND player = ?",
            (name, robot, person, play, player),
        )

    # Links

    def make_link(self, person: int | None, now: float) -> str:
        """A new secret for a person, or for the operator; earlier ones of a person are revoked."""
        if person is not None:
            self.revoke_links(person, now)
        token = secrets.token_urlsafe(LINK_BYTES)
        self._db.execute(
            "INSERT INTO links VALUES (?, ?, ?, NULL, NULL)", (hash_link(token), person, now)
        )
        return token

    def revoke_links(self, person: int | None, now: float, but: str | None = None) -> None:
        """Revoke the links of a person, or of the operator if that is None, but not ``but``."""
        self._db.execute(
            "UPDATE links SET revoked = ? WHERE person IS ? AND revoked IS NULL AND hash IS NOT ?",
            (now, person, None if but is None else hash_link(but)),
        )

    def find_link(self, token: str, now: float) -> int | None:
        """Whose link that is if it still works: a person's number or ``OPERATOR``."""
        row = self._db.execute(
            "SELECT person FROM links WHERE hash = ? AND revoked IS NULL "
            "AND (person IS NOT NULL OR abs(made - ?) < ?)",
            (hash_link(token), now, OPERATOR_SECONDS),
        ).fetchone()
        return None if row is None else OPERATOR if row[0] is None else int(row[0])

    def links(self) -> dict[int, float | None]:
        """For every person with a link, when they first opened it."""
        rows = self._db.execute("SELECT person, opened FROM links WHERE revoked IS NULL")
        return {person: opened for person, opened in rows if person is not None}

    def note_opened(self, token: str, now: float) -> None:
        """Remember when a link was first opened."""
        self._db.execute(
            "UPDATE links SET opened = ? WHERE hash = ? AND opened IS NULL",
            (now, hash_link(token)),
        )

    # Events and forms

    def add_event(
        self,
        play: str,
        now: float,
        what: str,
        player: int | None = None,
        decision: int | None = None,
    ) -> None:
        """Record an event of a play. It never says what was recommended or played."""
        self._db.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?)", (play, now, player, what, decision)
        )

    def events(self, play: str) -> list[tuple[float, int | None, str, int | None]]:
        """The events of a play as ``(time, player, what, decision)``, first to last."""
        return self._db.execute(
            "SELECT time, player, what, decision FROM events WHERE play = ? ORDER BY rowid", (play,)
        ).fetchall()

    def was_shown(self, play: str, player: int, decision: int) -> bool:
        """Whether it was recorded that a player was shown a decision."""
        found = self._db.execute(
            "SELECT 1 FROM events WHERE play = ? AND what = 'shown' AND player = ? "
            "AND decision = ?",
            (play, player, decision),
        )
        return found.fetchone() is not None

    def robot_moves(self, play: str) -> set[tuple[int, int]]:
        """The ``(player, decision)`` of all moves that robots made; delegating is not a move."""
        rows = self._db.execute(
            "SELECT player, decision FROM events WHERE play = ? AND what LIKE 'robot moved%' "
            "AND decision IS NOT NULL",
            (play,),
        )
        return {(player, decision) for player, decision in rows}

    def came_in(self, once: str) -> int | None:
        """The person who came in with the form of this number."""
        row = self._db.execute("SELECT person FROM forms WHERE once = ?", (once,)).fetchone()
        return None if row is None else row[0]

    def note_came_in(self, once: str, person: int) -> None:
        """Record who came in with the form of this number."""
        self._db.execute("INSERT OR REPLACE INTO forms VALUES (?, ?)", (once, person))

    def use_form(self, once: str) -> bool:
        """Record that the form with this number was sent; return whether it is the first time."""
        before = self._db.total_changes
        self._db.execute("INSERT OR IGNORE INTO forms VALUES (?, NULL)", (once,))
        return self._db.total_changes > before


def reason(error: Exception) -> str:
    """An error as the log has it: its text only if that is about the database or the disk.

    Other texts could contain secrets.
    """
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, sqlite3.Error | OSError) else name


def hash_link(token: str) -> str:
    """The hash of a link's secret, which is stored in its place."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _play_row(row: tuple[Any, ...]) -> PlayRow:
    id, status, state, asked, created, base, ended, treatment, round = row
    try:
        when = {int(player): float(time) for player, time in json.loads(asked).items()}
        began, end = (None if time is None else float(time) for time in (base, ended))
        return PlayRow(
            str(id), str(status), str(state), when, float(created), began, end, str(treatment),
            None if round is None else int(round),
        )  # fmt: skip
    except (AttributeError, TypeError, ValueError, RecursionError):
        return PlayRow(str(id), DAMAGED, "", {}, 0.0, None, None, "", None)


def _seat_row(row: tuple[Any, ...]) -> SeatRow:
    _, player, name, robot, person, invited, opened = row
    return SeatRow(player, name, bool(robot), person, invited, opened)


def _person(row: tuple[Any, ...]) -> Person:
    id, name, joined, lot, treatment, room, passed, role, ready, away = row
    steps = tuple(json.loads(passed))
    return Person(id, name, joined, lot, treatment, bool(room), steps, role, ready, away)
