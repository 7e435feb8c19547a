"""Plays as CSV, one row per decision, and a row without a decision for players who made none.

The public export has finished plays only, and neither people nor times nor recommendations. Nor
does it say which moves robots and the mediator made, because those are what was recommended. The
private one has everything. ``COLUMNS`` is the codebook of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from accord.errors import AccordError
from accord.serve.hall import LOG, Hall
from accord.serve.store import PlayRow
from accord.serve.tables import as_csv, harmless
from accord.serve.views import OwnMove, WatchedPlay, WatchedSeat

COLUMNS = {
    "play": "name of the play",
    "player": "role in the game",
    "decision": "number of the player's decision in this play, from 1; empty if there was none",
    "infoset": "what the player knew: the label of the infoset",
    "action": "what was played there",
    "payoff": "what the player earned in this play; empty before the end",
    "treatment": "treatment of the play",
    "round": "round, from 1; 0 for practice; empty for plays that the operator created",
    "chance": "chance moves of the play, first to last, separated by semicolons",
    "status": "open, running, over or stopped",
    "name": "name of the seat, given by the operator; by default the role",
    "recommended": "action that was recommended; empty if the mediator was silent or absent",
    "by": "who made the move: player, robot or mediator",
    "time": "when the move was made, in UTC",
    "person": "number of the person in the seat; empty for seats that nobody had",
    "person_name": "name or number that the person gave when they came in",
    "obeyed": "1 if the action is the recommended one, 0 if not; empty without recommendation",
    "shown": "when the person was first shown this decision, in UTC; empty if they never were",
    "earnings": "points of the person in all rounds up to this one",
    "threat": "1 if the recommendation is given only after somebody else disobeyed, and disobeying "
    "it pays; 0 if not; empty without recommendation",
}
"""The columns and what they mean."""

PUBLIC = ("play", "player", "decision", "infoset", "action", "payoff", "treatment", "round",
    "chance")  # fmt: skip
PRIVATE = tuple(COLUMNS)


@dataclass(frozen=True)
class Decision:
    """A row of the export: one decision, or none if ``move`` is None."""

    row: PlayRow
    play: WatchedPlay
    seat: WatchedSeat
    number: int
    move: OwnMove | None
    chance: tuple[str, ...]
    shown: float | None
    made: float | None
    person: int | None
    threat: bool  # whether the recommendation is one

    @property
    def obeyed(self) -> bool | None:
        """Whether the player did what was recommended; None without recommendation."""
        if self.move is None or self.move.told is None:
            return None
        return self.move.told == self.move.action


def decisions(hall: Hall, *, private: bool) -> Iterator[Decision]:
    """All decisions of finished plays; with ``private`` those of the others, too."""
    with hall.store.transaction():
        for row in hall.store.plays(None if private else "over"):
            if not private and row.ended is not None and hall.clock() < row.ended:
                continue  # the players have not seen the end yet
            try:
                play, chance = hall.watch(row.id, reveal=True), hall.chance(row.id)
            except AccordError as error:  # the other plays are exported
                LOG.error("play %s is not exported: %s", row.id, error)
                continue
            shown: dict[tuple[int | None, int], float] = {}
            made: dict[tuple[int | None, int], float] = {}
            for time, player, what, decision in hall.store.events(row.id):
                if decision is not None:
                    (shown if what == "shown" else made)[player, decision] = time
            threats = hall.treatments[row.treatment].threats
            people = [seat.person for seat in hall.store.seats(row.id)]
            for seat in play.seats:
                for n, move in enumerate(seat.moves or (None,)):
                    yield Decision(
                        row, play, seat, n + 1, move, chance, shown.get((seat.number, n)),
                        made.get((seat.number, n)), people[seat.number],
                        move is not None and (seat.player, move.infoset, move.told) in threats,
                    )  # fmt: skip


def export(hall: Hall, *, private: bool) -> str:
    """The table as text."""
    earned: dict[tuple[int, int], float] = {}  # by person and round
    names = {}
    with hall.store.transaction():
        if private:
            names = {one.id: one.name for one in hall.store.people()}
        found = list(decisions(hall, private=private))
    for one in found:
        if one.person is not None and one.row.round and one.seat.payoff is not None:
            earned[one.person, one.row.round] = one.seat.payoff
    return as_csv(
        PRIVATE if private else PUBLIC, (_row(one, names, earned, private=private) for one in found)
    )


def codebook() -> str:
    """What the columns mean, as a table."""
    return as_csv(("column", "meaning"), COLUMNS.items())


def _row(
    one: Decision, names: dict[int, str], earned: dict[tuple[int, int], float], *, private: bool
) -> list[object]:
    move, seat, row = one.move, one.seat, one.row
    cells: list[object] = [
        row.id, seat.player,
        *(("", "", "") if move is None else (one.number, move.infoset, move.action)),
        "" if seat.payoff is None else repr(seat.payoff),
        row.treatment, "" if row.round is None else row.round,
        "; ".join(one.chance) if private or row.status == "over" else "",
    ]  # fmt: skip
    if not private:
        return cells
    rounds = range(1, (row.round or 0) + 1)
    known = one.person is not None and row.round
    earnings = sum(earned.get((one.person or 0, r), 0.0) for r in rounds) if known else ""
    return [
        *cells, row.status, harmless(seat.name),
        *(("", "") if move is None else ("" if move.told is None else move.told, move.by)),
        _when(one.made), "" if one.person is None else one.person,
        harmless(names.get(one.person or 0, "")),
        "" if one.obeyed is None else int(one.obeyed), _when(one.shown), earnings,
        "" if one.obeyed is None else int(one.threat),
    ]  # fmt: skip


def _when(time: float | None) -> str:
    return "" if time is None else datetime.fromtimestamp(time, UTC).isoformat()
