"""Plays as CSV, one row per decision, and a row without a decision for players who made none.

The public export has finished plays only, and neither names nor times nor recommendations. Nor does
it say which moves robots and the mediator made, because those are what was recommended. The private
one has everything.
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

from accord.serve.hall import Hall
from accord.serve.views import WatchedPlay, WatchedSeat

PUBLIC = ("play", "player", "decision", "infoset", "action", "payoff")
PRIVATE = (*PUBLIC, "status", "name", "recommended", "by", "time")


def export(hall: Hall, *, private: bool) -> str:
    """The table as text."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(PRIVATE if private else PUBLIC)
    with hall.store.transaction():
        for row in hall.store.plays(None if private else "over"):
            if not private and row.ended is not None and hall.clock() < row.ended:
                continue  # the players have not seen the end yet
            play = hall.watch(row.id, reveal=True)
            made = {
                (player, decision): time
                for time, player, _, decision in hall.store.events(row.id)
                if decision is not None
            }
            for seat in play.seats:
                table.writerows(_rows(play, seat, made, private=private))
    return text.getvalue()


def _rows(
    play: WatchedPlay,
    seat: WatchedSeat,
    made: dict[tuple[int | None, int], float],
    *,
    private: bool,
) -> list[list[object]]:
    payoff = "" if seat.payoff is None else repr(seat.payoff)
    if not seat.moves:
        blank: list[object] = [play.id, seat.player, "", "", "", payoff]
        return [[*blank, play.status, seat.name, "", "", ""] if private else blank]
    rows = []
    for n, move in enumerate(seat.moves):
        row: list[object] = [play.id, seat.player, n + 1, move.infoset, move.action, payoff]
        if private:
            time = made.get((seat.number, n))  # moves of the mediator have no time
            when = "" if time is None else datetime.fromtimestamp(time, UTC).isoformat()
            told = "" if move.told is None else move.told
            row += [play.status, seat.name, told, move.by, when]
        rows.append(row)
    return rows
