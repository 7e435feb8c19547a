"""What a player and the operator may see of a play.

A player's view has what they know, what they were told and what they did, and at the end what
everybody did and earned. Nothing in it depends on what the others were told or, while a round
lasts, on whether they have answered.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass

from accord.mediator.referee import RefereedPlay
from accord.serve.store import PlayRow, SeatRow


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
class WatchedSeat:
    """A seat as the operator sees it."""

    player: str
    name: str
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
    created: float
    seats: tuple[WatchedSeat, ...]
    story: tuple[tuple[str, str], ...]  # when it is over


@dataclass(frozen=True)
class ListedPlay:
    """A play in the operator's list."""

    id: str
    status: str
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


def digest(*views: SeatView | WatchedPlay | ListedPlay) -> str:
    """A digest that changes if and only if something shown changes, other than a time limit."""
    text = json.dumps([{**asdict(view), "until": None} for view in views])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def role(player: str) -> str:
    """A player's label for a page; a number gets the word ``player`` before it."""
    return f"player {player}" if player.isdigit() else player


def seat_title(view: SeatView) -> str:
    """How a player is addressed: by name, if they have one, and role."""
    own = role(view.player)
    return f"You play as {own}" if view.name == own else f"{view.name}, you play as {own}"


def listed_play(row: PlayRow, seats: list[SeatRow], now: float) -> ListedPlay:
    """What the operator sees of a play among the others."""
    listed = tuple((seat.name, seat.robot, _here(row, seat, now)) for seat in seats)
    empty = row.status in ("open", "running") and any(seat.empty for seat in seats)
    return ListedPlay(row.id, row.status, row.created, listed, empty)


def watched_play(
    row: PlayRow,
    session: RefereedPlay,
    seats: list[SeatRow],
    robots: set[tuple[int, int]],
    reveal: bool,
    now: float,
) -> WatchedPlay:
    """What the operator sees; with ``reveal`` also moves and recommendations before the end."""
    over = row.status == "over"
    return WatchedPlay(
        id=row.id,
        status=row.status,
        created=row.created,
        seats=tuple(
            _watched_seat(row, session, robots, seat, reveal or over, now) for seat in seats
        ),
        story=_story(session, seats) if over else (),
    )


def _watched_seat(
    row: PlayRow,
    session: RefereedPlay,
    robots: set[tuple[int, int]],
    stored: SeatRow,
    reveal: bool,
    now: float,
) -> WatchedSeat:
    seat = session.seats[stored.player]
    payoffs = session.payoffs if row.status == "over" else None
    return WatchedSeat(
        player=seat.player,
        name=stored.name,
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
