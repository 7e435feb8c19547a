"""The design of a session: its treatments, rounds, matching, roles, pay, and what comes before.

A *treatment* is a mediator, or nobody: without one, players get no advice. All treatments of a
session have the same game. People are assigned to a treatment when they come, and are matched with
people of the same treatment in all rounds.

*Without a mediator* is K = 0 with everybody declining: the play has a referee and no advice.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from accord._check import check_positive
from accord.certifying.certificate import Certificate, FirstDeviation
from accord.certifying.exact import TREMBLE, certify_judged
from accord.deviations.notions import as_notion
from accord.errors import ArgumentError, BudgetError
from accord.mediator.hindsight import Hindsight
from accord.mediator.referee import Referee

MATCHINGS = ("arrival", "random", "list")
REMATCHINGS = ("partners", "strangers", "perfect")
ROLES = ("fixed", "rotating", "random")
QUESTIONS = ("nothing", "name", "number")
DEBRIEFS = ("none", "own", "all")
STEPS = ("consent", "instructions", "quiz", "practice")
"""What a person may have to do before their first play, in this order."""

MOST_ROUNDS = 1000


class Treatment:
    """A way to play the game: with a mediator, or without."""

    MEDIATOR = "mediator"
    """The name of the only, or the first, treatment."""

    def __init__(self, referee: Referee, name: str = MEDIATOR, mediated: bool = True) -> None:
        """Name a referee; ``mediated`` is False if its mediator (K = 0) never moves for anybody."""
        self.referee, self.name, self.mediated = referee, name, mediated
        self.mediator = referee.mediator

    @property
    def k(self) -> float:
        """The number of times after which a player who disobeys hears nothing more."""
        return self.mediator.k

    @cached_property
    def values(self) -> tuple[float, ...]:
        """What players earn on average if everybody follows."""
        return tuple(map(float, self.mediator.policy.values()))

    @cached_property
    def hindsights(self) -> tuple[Hindsight, ...]:
        """What following and disobeying are worth to each player; empty if that is too large."""
        if not self.mediated:
            return ()
        try:
            return tuple(
                Hindsight(self.mediator.policy, player, self.k)
                for player in range(self.mediator.game.n_players)
            )
        except BudgetError:
            return ()

    @cached_property
    def judged(self) -> Certificate | None:
        """Whether advice off the path is credible; None without advice, or if that is too large."""
        if not self.mediated:
            return None
        try:
            found = certify_judged(self.mediator.policy, as_notion(self.k), TREMBLE)
        except BudgetError:
            return None
        return None if found.is_credible is None else found

    @cached_property
    def threats(self) -> dict[tuple[str, str, str | None], FirstDeviation]:
        """Advice that no obedient player hears, and that its receiver had better disobey.

        By player, infoset and recommendation.
        """
        found = () if self.judged is None else self.judged.threats
        return {(one.player, one.infoset, one.told): one for one in found}


def identity(treatments: Sequence[Treatment]) -> dict[str, str]:
    """What all plays of a session have in common: the game, and the treatments."""
    found = [one.mediator.identity for one in treatments]
    return {
        "game": str(found[0]["game"]),
        "policy": " ".join(str(one["policy"]) for one in found),
        "k": " ".join(str(one["k"]) for one in found),
        "treatments": " ".join(one.name for one in treatments),
    }


@dataclass(frozen=True)
class Listed:
    """A line of the list of people: who is matched with whom in the first round."""

    name: str
    group: str
    role: int | None = None
    treatment: str | None = None


@dataclass(frozen=True)
class Design:
    """How a session runs. The defaults are those of ``accord serve``."""

    rounds: int = 1
    match: str = "arrival"
    rematch: str = "partners"
    roles: str = "fixed"
    people: tuple[Listed, ...] = ()  # for the matching by a list
    ask: str = "nothing"  # what people give when they come
    consent: str | None = None  # Markdown
    instructions: str | None = None  # Markdown
    quiz: bool = False
    practice: bool = False
    debrief: str = "own"
    rate: float | None = None  # money per point
    fee: float = 0.0
    currency: str = ""
    gone: float | None = None  # seconds after which somebody without a page has left
    stop: bool = False  # whether a play is stopped when somebody leaves
    comment: str = ""  # of the game's file
    names: dict[str, Listed] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for what, options in (
            ("match", MATCHINGS),
            ("rematch", REMATCHINGS),
            ("roles", ROLES),
            ("ask", QUESTIONS),
            ("debrief", DEBRIEFS),
        ):
            if (value := getattr(self, what)) not in options:
                raise ArgumentError(f"{what} must be one of {', '.join(options)}; got {value!r}")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise ArgumentError(f"rounds must be 1 to {MOST_ROUNDS}; got {self.rounds}")
        for what, number in (("rate", self.rate), ("gone", self.gone)):
            if number is not None:
                check_positive(what, number)
        if not 0 <= self.fee <= sys.float_info.max:
            raise ArgumentError(f"fee must be at least 0 and finite; got {self.fee}")
        if (self.match == "list") != bool(self.people):
            raise ArgumentError("to match people by a list, give a file with their names")
        object.__setattr__(self, "names", {line.name.casefold(): line for line in self.people})

    @property
    def asks(self) -> str:
        """What people give when they come: with a list at least their name."""
        return "name" if self.people and self.ask == "nothing" else self.ask

    def steps(self, room: bool) -> tuple[str, ...]:
        """What a person has to do first, in order; ``room`` if they are matched into plays."""
        wanted = (
            self.consent is not None,
            room or self.instructions is not None or self.quiz,
            self.quiz,
            self.practice,
        )
        return tuple(step for step, one in zip(STEPS, wanted, strict=True) if one)

    def money(self, points: float) -> str | None:
        """What points are worth, with the fee for showing up; None if nothing is paid."""
        if self.rate is None and not self.fee:
            return None
        amount = f"{self.fee + points * (self.rate or 0.0):.2f}"
        return f"{amount} {self.currency}".strip()


def read_people(path: Path, players: Sequence[str], treatments: Sequence[str]) -> list[Listed]:
    """Read a list of people: a CSV file with the columns name and group, perhaps role, treatment.

    People of the same group play together in the first round. Spreadsheets in some languages
    separate columns by semicolons, which are understood too.

    Raises:
        ArgumentError: If it is not such a file; the message says what is wrong, and where.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head = file.readline()
            file.seek(0)
            apart = ";" if ";" in head and "," not in head else ","
            reader = csv.DictReader(file, delimiter=apart)
            columns, rows = reader.fieldnames or [], list(reader)
    except UnicodeDecodeError:
        raise ArgumentError(f"the list of people {path} must be saved as UTF-8 text") from None
    except (OSError, csv.Error) as error:
        raise ArgumentError(f"the list of people {path} cannot be read: {error}") from None
    if not {"name", "group"} <= set(columns):
        raise ArgumentError(
            f"{path} must be a CSV file whose first line has name and group; it has "
            f"{', '.join(columns) or 'nothing'}"
        )
    people: list[Listed] = []
    for line, row in enumerate(rows, 2):
        name, group = " ".join((row["name"] or "").split()), (row["group"] or "").strip()
        role, treatment = (row.get("role") or "").strip(), (row.get("treatment") or "").strip()
        where = f"{path}, line {line}:"
        if not name or not group:
            raise ArgumentError(f"{where} name and group must not be empty")
        if role and role not in players:
            raise ArgumentError(
                f"{where} the role must be one of {', '.join(players)}; got {role!r}"
            )
        if treatment and treatment not in treatments:
            raise ArgumentError(
                f"{where} the treatment must be one of {', '.join(treatments)}; got {treatment!r}"
            )
        people.append(Listed(name, group, players.index(role) if role else None, treatment or None))
    _check_groups(path, people, players)
    return people


def _check_groups(path: Path, people: list[Listed], players: Sequence[str]) -> None:
    names = [line.name.casefold() for line in people]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentError(f"{path}: every name must be there once; {twice!r} is there twice")
    if not people:
        raise ArgumentError(f"{path}: there must be at least one name")
    groups: dict[str, list[Listed]] = {}
    for line in people:
        groups.setdefault(line.group, []).append(line)
    for group, lines in groups.items():
        roles = [line.role for line in lines if line.role is not None]
        if len(lines) > len(players):
            raise ArgumentError(
                f"{path}: a group has at most {len(players)} people; group {group} has {len(lines)}"
            )
        if len(set(roles)) < len(roles):
            raise ArgumentError(f"{path}: two people of group {group} have the same role")
        if len({line.treatment for line in lines}) > 1:
            raise ArgumentError(f"{path}: the people of group {group} have different treatments")
