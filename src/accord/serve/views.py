"""What a player and the operator may see of a play.

A player's view has what they know, what they were told and what they did, and at the end what
everybody did and earned. Nothing in it depends on what the others were told or, while a round
lasts, on whether they have answered.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from markupsafe import escape

from accord._arrays import NO_INFOSET
from accord.game.tree import Game
from accord.mediator.referee import RefereedPlay
from accord.serve.store import PlayRow, SeatRow

LONGEST_NAME = 60
"""Characters of the name of a person."""


@dataclass(frozen=True)
class OwnMove:
    """A move of a player, with what they were told."""

    infoset: str
    told: str | None
    action: str
    by: str  # player, robot or mediator


@dataclass(frozen=True)
class SeatView:
    """All that a player may see."""

    play: str
    player: str
    name: str
    status: str  # open, choose, act, wait, over or stopped
    delegated: bool
    infoset: str | None
    number: int | None  # of the infoset
    actions: tuple[str, ...]
    told: str | None  # None where the mediator is silent
    moves: tuple[OwnMove, ...]
    story: tuple[tuple[str, str], ...]  # at the end: (who, what they played)
    payoffs: tuple[tuple[str, float], ...]  # at the end: of everybody
    payoff: float | None  # at the end: their own
    until: float | None  # when a robot will move for them


@dataclass(frozen=True)
class Round:
    """A round that a person has played."""

    round: int
    role: str
    payoff: float | None  # None if the play was stopped


@dataclass(frozen=True)
class PersonView:
    """All that a person may see: their seat, if they have one, and what surrounds it."""

    name: str
    room: bool  # whether they are matched into plays
    stage: str  # consent, instructions, quiz, lobby, seat, paused, finished or declined
    round: int | None  # of their present or last play; 0 for practice
    seat: SeatView | None
    proceeds: bool  # whether they are to say that they want to continue
    rounds: tuple[Round, ...]  # that are over
    points: float  # in these rounds
    money: str | None  # for them
    last: bool  # whether nothing follows
    debrief: tuple[str, ...]  # at the end
    until: float | None  # when they continue by themselves


@dataclass(frozen=True)
class WatchedSeat:
    """A seat as the operator sees it."""

    player: str
    name: str
    person: str | None  # the name or number of whoever sits there, if they are matched
    number: int
    robot: bool
    invited: bool
    opened: bool
    doing: str  # in a word or two
    decisions: int
    moves: tuple[OwnMove, ...]  # empty unless asked for, or the play is over
    payoff: float | None


@dataclass(frozen=True)
class WatchedPlay:
    """A play as the operator sees it."""

    id: str
    status: str
    round: int | None
    treatment: str
    created: float
    seats: tuple[WatchedSeat, ...]
    story: tuple[tuple[str, str], ...]  # when it is over


@dataclass(frozen=True)
class ListedPlay:
    """A play in the operator's list."""

    id: str
    status: str
    round: int | None
    treatment: str
    created: float
    seats: tuple[tuple[str, bool, str], ...]  # (name, whether a robot plays, what they are doing)
    empty: bool  # whether a robot could play for somebody who has not come


def seat_view(
    row: PlayRow,
    session: RefereedPlay,
    seats: list[SeatRow],
    robots: set[tuple[int, int]],
    player: int,
    is_asked: bool,
    now: float,
    limit: float | None,
) -> SeatView:
    """What a player may see now."""
    seat, status = session.seats[player], row.status
    if status == "running":
        status = "wait" if not is_asked else "choose" if seat.undecided else "act"
    elif status == "over" and row.ended is not None and now < row.ended:
        status = "wait"
    acts, over = status == "act", status == "over"
    payoffs = session.payoffs if over else None
    limited = limit is not None and status in ("act", "choose")
    return SeatView(
        play=row.id,
        player=seat.player,
        name=seats[player].name,
        status=status,
        delegated=seat.delegated,
        infoset=seat.infoset if acts else None,
        number=seat.place if acts else None,
        actions=seat.actions if acts else (),
        told=seat.recommendation if acts else None,
        moves=own_moves(session, robots, player) if over or not seat.delegated else (),
        story=_story(session, seats) if over else (),
        payoffs=()
        if payoffs is None
        else tuple((one.name, float(p)) for one, p in zip(seats, payoffs, strict=True)),
        payoff=None if payoffs is None else float(payoffs[player]),
        until=row.asked[player] + limit if limited and limit is not None else None,
    )


def fullest_views(game: Game) -> list[SeatView]:
    """Views with more in them than any player sees in a play of ``game``: one for each player while
    they decide, and one at the end. Every page is as long as the longest of theirs.
    """
    depth, parents = np.zeros(len(game.parent), np.int64), game.parent.tolist()
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    name = "&" * LONGEST_NAME
    outcomes = [label for row in (*game.chance_labels, *_all_actions(game)) for label in row]
    story = ((name, _widest(outcomes)),) * int(depth.max())
    payoffs = ((name, -math.pi * 1e-300),) * game.n_players
    views = []
    for i, (infosets, rows) in enumerate(zip(game.infoset_labels, game.action_labels, strict=True)):
        own = _widest(label for row in rows for label in row)
        moves = (OwnMove(_widest(infosets), own, own, "player"),) * _horizon(game, i)
        most = max(rows, key=lambda row: sum(map(width, row)) + 60 * len(row), default=())
        view = SeatView(
            play="x" * 40, player=game.player_labels[i], name=name, status="act", delegated=False,
            infoset=_widest(infosets), number=len(infosets), actions=tuple(most), told=own,
            moves=moves, story=(), payoffs=(), payoff=None, until=1e9,
        )  # fmt: skip
        over = replace(view, status="over", story=story, payoffs=payoffs, payoff=payoffs[0][1])
        views += [view, over]
    return views


def _all_actions(game: Game) -> Iterator[tuple[str, ...]]:
    for rows in game.action_labels:
        yield from rows


def _horizon(game: Game, player: int) -> int:
    """The most decisions that a player can make in one play."""
    made = np.zeros(len(game.n_actions[player]), np.int64)
    for x, before in enumerate(game.parent_infoset[player].tolist()):
        made[x] = 1 if before == NO_INFOSET else made[before] + 1
    return int(made.max(initial=0))


def _widest(labels: Iterable[str]) -> str:
    """The label that takes the most bytes on a page."""
    return max(labels, key=width, default="")


def width(label: str) -> int:
    """The bytes that a label takes on a page."""
    return len(escape(label).encode("utf-8", "replace"))


def digest(*views: Any) -> str:
    """A digest that changes if and only if something shown changes, other than a time limit."""
    text = json.dumps([_timeless(asdict(view)) for view in views])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _timeless(content: dict[str, Any]) -> dict[str, Any]:
    if isinstance(seat := content.get("seat"), dict):
        return {**content, "seat": _timeless(seat)}
    return {**content, "until": None}


def role(player: str) -> str:
    """A player's label for a page; a number gets the word ``player`` before it."""
    return f"player {player}" if player.isdigit() else player


def person_name(person: int | None, names: Mapping[int, str]) -> str | None:
    """How the operator calls somebody: by the name that they gave, or by their number."""
    return None if person is None or person not in names else names[person] or f"#{person}"


def listed_play(
    row: PlayRow, seats: list[SeatRow], names: Mapping[int, str], now: float
) -> ListedPlay:
    """What the operator sees of a play among the others. ``names`` has the people of the room."""
    listed = tuple(
        (
            " ".join(filter(None, (seat.name, person_name(seat.person, names)))),
            seat.robot,
            _here(row, seat, now),
        )
        for seat in seats
    )
    empty = row.status in ("open", "running") and any(seat.empty for seat in seats)
    return ListedPlay(row.id, row.status, row.round, row.treatment, row.created, listed, empty)


def watched_play(
    row: PlayRow,
    session: RefereedPlay,
    seats: list[SeatRow],
    robots: set[tuple[int, int]],
    reveal: bool,
    names: Mapping[int, str],
    now: float,
) -> WatchedPlay:
    """What the operator sees; with ``reveal`` also moves and recommendations before the end."""
    over = row.status == "over"
    return WatchedPlay(
        id=row.id,
        status=row.status,
        round=row.round,
        treatment=row.treatment,
        created=row.created,
        seats=tuple(
            _watched_seat(row, session, robots, seat, reveal or over, names, now) for seat in seats
        ),
        story=_story(session, seats) if over else (),
    )


def _watched_seat(
    row: PlayRow,
    session: RefereedPlay,
    robots: set[tuple[int, int]],
    stored: SeatRow,
    reveal: bool,
    names: Mapping[int, str],
    now: float,
) -> WatchedSeat:
    seat = session.seats[stored.player]
    payoffs = session.payoffs if row.status == "over" else None
    return WatchedSeat(
        player=seat.player,
        name=stored.name,
        person=person_name(stored.person, names),
        number=stored.player,
        robot=stored.robot,
        invited=stored.invited is not None,
        opened=stored.opened is not None,
        doing=_doing(row, stored.player, now),
        decisions=len(seat.moves),
        moves=own_moves(session, robots, stored.player) if reveal else (),
        payoff=None if payoffs is None else float(payoffs[stored.player]),
    )


def _doing(row: PlayRow, player: int, now: float) -> str:
    """What a player is doing, in a word or two."""
    running = "must decide" if row.asked.get(player, math.inf) <= now else "waits"
    words = {"open": "not started", "running": running, "over": "finished"}
    return words.get(row.status, row.status)


def _here(row: PlayRow, seat: SeatRow, now: float) -> str:
    """Whether somebody has opened the seat's link, and what they are doing."""
    link = "no link" if seat.invited is None else "link not opened"
    if row.status == "open":
        return "ready" if seat.robot else link if seat.empty else "page opened"
    doing = _doing(row, seat.player, now)
    return f"{doing}, {link}" if row.status == "running" and seat.empty else doing


def own_moves(
    session: RefereedPlay, robots: set[tuple[int, int]], player: int
) -> tuple[OwnMove, ...]:
    """A player's moves with what they were told."""
    seat, infosets = session.seats[player], session.game.infoset_labels[player]
    actions = session.game.action_labels[player]
    return tuple(
        OwnMove(
            infosets[x],
            None if told is None else actions[x][told],
            actions[x][a],
            "mediator" if seat.delegated else "robot" if (player, n) in robots else "player",
        )
        for n, (x, told, a) in enumerate(seat.moves)
    )


def _story(session: RefereedPlay, seats: list[SeatRow]) -> tuple[tuple[str, str], ...]:
    """Who played what, from the beginning."""
    return tuple(
        ("chance" if player is None else seats[player].name, action)
        for player, action in session.story
    )
