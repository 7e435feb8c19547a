"""The database of a server: plays, seats, links and events, in one SQLite file.

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

VERSION = "2"
LINK_BYTES = 32
SHARED = {"k": "K", "version": "format, made by another version of Accord"}
WAIT = 10.0
"""Seconds that a transaction waits for that of another process."""

SCHEMA = """
CREATE TABLE about (what TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE plays (
    id TEXT PRIMARY KEY,
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
    PRIMARY KEY (play, player)
);
CREATE TABLE links (
    hash TEXT PRIMARY KEY,
    play TEXT REFERENCES plays(id),  -- NULL for the operator
    player INTEGER,
    made REAL NOT NULL,
    opened REAL,
    revoked REAL
);
CREATE INDEX links_of_seats ON links (play, player);
CREATE TABLE events (
    play TEXT NOT NULL REFERENCES plays(id),
    time REAL NOT NULL,
    player INTEGER,
    what TEXT NOT NULL,
    decision INTEGER
);
CREATE INDEX events_of_plays ON events (play);
CREATE TABLE forms (once TEXT PRIMARY KEY);
"""

SEATS = (
    "SELECT s.play, s.player, s.name, s.robot, l.made, l.opened FROM seats s "
    "LEFT JOIN links l ON l.play = s.play AND l.player = s.player AND l.revoked IS NULL"
)


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


@dataclass(frozen=True)
class SeatRow:
    """One seat as it is stored, with its current link."""

    player: int
    name: str
    robot: bool
    invited: float | None  # when the current link was made, if there is one
    opened: float | None  # when it was first opened

    @property
    def empty(self) -> bool:
        """Whether nobody has opened the link of the seat and no robot plays there."""
        return not self.robot and self.opened is None


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
                self._check(dict(about) | {"version": VERSION})
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
                    "file with --data, or the game, policy and K with which it was made"
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

    # Plays

    def add_play(self, id: str, state: str, names: list[str], now: float) -> None:
        """Add an open play."""
        self._db.execute(
            "INSERT INTO plays VALUES (?, 'open', ?, '{}', ?, NULL, NULL)",
            (id, state, now),
        )
        self._db.executemany(
            "INSERT INTO seats VALUES (?, ?, ?, 0)",
            [(id, player, name) for player, name in enumerate(names)],
        )

    def play(self, id: str) -> PlayRow | None:
        """A play, or None."""
        row = self._db.execute("SELECT * FROM plays WHERE id = ?", (id,)).fetchone()
        return None if row is None else _play_row(row)

    def plays(self, status: str | None = None) -> list[PlayRow]:
        """All plays, or those with this status, oldest first."""
        where, values = ("WHERE status = ?", (status,)) if status else ("", ())
        rows = self._db.execute(f"SELECT * FROM plays {where} ORDER BY created, rowid", values)
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
        self, play: str, player: int, *, name: str | None = None, robot: bool | None = None
    ) -> None:
        """Change the name of a seat, or whether a robot sits there."""
        self._db.execute(
            "UPDATE seats SET name = coalesce(?, name), robot = coalesce(?, robot) "
            "WHERE play = ? AND player = ?",
            (name, robot, play, player),
        )

    # Links

    def make_link(self, play: str | None, player: int | None, now: float) -> str:
        """A new secret for a seat, or for the operator; earlier ones of a seat are revoked."""
        if play is not None:
            self.revoke_links(play, player, now)
        token = secrets.token_urlsafe(LINK_BYTES)
        self._db.execute(
            "INSERT INTO links VALUES (?, ?, ?, ?, NULL, NULL)",
            (hash_link(token), play, player, now),
        )
        return token

    def revoke_links(
        self, play: str | None, player: int | None, now: float, but: str | None = None
    ) -> None:
        """Revoke the links of a seat, or of the operator if both are None, but not ``but``."""
        self._db.execute(
            "UPDATE links SET revoked = ? WHERE play IS ? AND player IS ? AND revoked IS NULL "
            "AND hash IS NOT ?",
            (now, play, player, None if but is None else hash_link(but)),
        )

    def find_link(self, token: str) -> tuple[str | None, int | None] | None:
        """The (play, player) of a link that is not revoked, (None, None) for the operator's."""
        row = self._db.execute(
            "SELECT play, player FROM links WHERE hash = ? AND revoked IS NULL",
            (hash_link(token),),
        ).fetchone()
        return None if row is None else (row[0], row[1])

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

    def robot_moves(self, play: str) -> set[tuple[int, int]]:
        """The ``(player, decision)`` of all moves that robots made; delegating is not a move."""
        rows = self._db.execute(
            "SELECT player, decision FROM events WHERE play = ? AND what LIKE 'robot moved%' "
            "AND decision IS NOT NULL",
            (play,),
        )
        return {(player, decision) for player, decision in rows}

    def use_form(self, once: str) -> bool:
        """Record that the form with this number was sent; return whether it is the first time."""
        before = self._db.total_changes
        self._db.execute("INSERT OR IGNORE INTO forms VALUES (?)", (once,))
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
    id, status, state, asked, created, base, ended = row
    when = {int(player): float(time) for player, time in json.loads(asked).items()}
    return PlayRow(id, status, state, when, created, base, ended)


def _seat_row(row: tuple[Any, ...]) -> SeatRow:
    _, player, name, robot, invited, opened = row
    return SeatRow(player, name, bool(robot), invited, opened)
