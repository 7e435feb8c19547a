"""The options of ``accord serve`` that say how a session with many people runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord._files import read_bytes
from accord.cli.arguments import number_option, whole_option
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.game.tree import Game
    from accord.serve.design import Design, Listed

LARGEST_TEXT = 200_000
"""Bytes of instructions."""

Treatments = Annotated[
    list[str] | None,
    typer.Option(
        "--treatment",
        metavar="NAME=POLICY",
        help="Another treatment, with another policy, or with none: `alone=none` has no mediator. "
        "People are assigned at random. May be repeated.",
    ),
]
Rounds = Annotated[int, whole_option("N", "Rounds that everybody plays.")]
Match = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="How people are matched: `arrival` (as they come), `random` (when the operator says "
        "so), or a CSV file with the columns name and group, perhaps role and treatment.",
    ),
]
Rematch = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="With whom people play the next rounds: `partners`, `strangers`, or `perfect` "
        "strangers, who meet once where that is possible.",
    ),
]
Roles = Annotated[
    str,
    typer.Option(metavar="HOW", help="Whether roles are `fixed`, `rotating` or `random`."),
]
Ask = Annotated[
    str,
    typer.Option(metavar="WHAT", help="What people give when they come: nothing, name or number."),
]
Instructions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Your own instructions in Markdown, shown before those of the game."
    ),
]
Consent = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A consent form in Markdown; who refuses does not play."),
]
Quiz = Annotated[
    bool, typer.Option("--quiz", help="Ask questions on payoffs, which must be answered right.")
]
Practice = Annotated[
    bool, typer.Option("--practice", help="Begin with a practice round against robots.")
]
Debrief = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="What people see in the end about the recommendations: `none`, their `own` and what "
        "following was worth, or those of `all`.",
    ),
]
Rate = Annotated[
    float | None,
    number_option("X", "Money that a point is worth."),
]
Fee = Annotated[float, number_option("X", "Money for showing up.")]
Currency = Annotated[str, typer.Option(metavar="TEXT", help="The currency, such as EUR.")]
Gone = Annotated[
    float | None,
    number_option(
        "SECONDS",
        "Who has closed their page for so long has left: a robot takes their seat until they "
        "come back.",
    ),
]
Stop = Annotated[
    bool, typer.Option("--gone-stops", help="Stop the play of somebody who has left instead.")
]
Language = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        help="The language of people's pages: de, en, es, fr, zh, or the path of a translation.",
    ),
]


def make_design(
    game: Game,
    treatments: list[str],
    *,
    rounds: int,
    match: str,
    rematch: str,
    roles: str,
    ask: str,
    instructions: Path | None,
    consent: Path | None,
    quiz: bool,
    practice: bool,
    debrief: str,
    rate: float | None,
    fee: float,
    currency: str,
    gone: float | None,
    stop: bool,
) -> Design:
    """The design that these options describe."""
    from accord.serve.design import MATCHINGS, Design, read_people

    people: tuple[Listed, ...] = ()
    if match.endswith(".csv"):
        people = tuple(read_people(Path(match), game.player_labels, treatments))
        match = "list"
    elif match not in MATCHINGS or match == "list":
        raise ArgumentError(f"--match must be arrival, random or a .csv file; got {match!r}")
    if stop and gone is None:
        raise ArgumentError("--gone-stops says what happens after --gone SECONDS; give that, too")
    return Design(
        rounds=rounds, match=match, rematch=rematch, roles=roles, people=people, ask=ask,
        consent=_text(consent), instructions=_text(instructions), quiz=quiz, practice=practice,
        debrief=debrief, rate=rate, fee=fee, currency=currency, gone=gone, stop=stop,
        comment=game.comment,
    )  # fmt: skip


def _text(path: Path | None) -> str | None:
    """The text of a file of the operator's."""
    if path is None:
        return None
    try:
        data = read_bytes(path)
        if len(data) > LARGEST_TEXT:
            raise ArgumentError(f"{path} must have at most {LARGEST_TEXT:,} bytes")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ArgumentError(f"{path} cannot be read: {reason}") from None


def parse_treatment(text: str) -> tuple[str, str]:
    """The name and the policy of a treatment."""
    name, found, policy = text.partition("=")
    if not (found and name.strip() and policy.strip()):
        raise ArgumentError(f"--treatment must be like alone=none or other=FILE; got {text!r}")
    return name.strip(), policy.strip()
