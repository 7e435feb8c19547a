r"""The tokens of an ``.efg`` file: labels, numbers and braces, with their positions.

White space only separates tokens. A label is in quotation marks; within it ``\"`` is a quotation
mark, and any other backslash is literal. Numbers are exact. All quantifiers are possessive, and no
number is expanded before its size is known, so reading takes linear time for any text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from accord.errors import ParseError

MAX_DIGITS = 4000
"""The longest number that is accepted, in characters; no double needs more."""

SPACE = r"[ \t\n\r\f\v]*+"
TEXT = r'"(?:[^"\\]++|\\++"?+)*+"'
IS_TEXT, IS_WORD, IS_MARK, IS_OPEN_TEXT, IS_END = 1, 2, 3, 4, 5  # the groups of _TOKEN

_TOKEN = re.compile(rf'{SPACE}(?:({TEXT})|([^ \t\n\r\f\v"{{}},]++)|([{{}},])|(")|())')
_INTEGER = re.compile(r"\+?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]++/[0-9]++|(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)"
)


class Tokens:
    """The tokens of a text, one at a time: the current token, its kind, its start and its end.

    Each ``take_...`` returns the current token and advances to the next one, or refuses it with a
    message that says what ``must`` hold.
    """

    def __init__(self, text: str, path: str) -> None:
        self.text, self.path = text, path
        self.go_to(0)

    def go_to(self, offset: int) -> None:
        match = _TOKEN.match(self.text, offset)
        assert (
            match is not None and match.lastindex is not None
        )  # at the end the last group matches
        self.kind = match.lastindex
        self.start, self.end = match.span(self.kind)
        self.token = self.text[self.start : self.end]

    def advance(self) -> None:
        self.go_to(self.end)

    def take_word(self, allowed: tuple[str, ...], must: str) -> str:
        if self.token not in allowed:
            self.refuse(must)
        return self._taken()

    def take_text(self, must: str) -> str:
        if self.kind != IS_TEXT:
            self.refuse(must)
        return self._taken()[1:-1].replace('\\"', '"')

    def take_integer(self, must: str) -> int:
        """A non-negative integer."""
        if not _INTEGER.fullmatch(self.token):
            self.refuse(must)
        return int(self._taken())

    def take_number(self, must: str) -> str:
        """A number, as written."""
        if len(self.token) > MAX_DIGITS and self.kind == IS_WORD:
            self.refuse(f"a number must have at most {MAX_DIGITS} characters")
        if not _NUMBER.fullmatch(self.token):
            self.refuse(must)
        return self._taken()

    def refuse(self, must: str) -> NoReturn:
        """Fail with a message that says what must hold and what was found instead."""
        if self.kind == IS_END:
            found = "the end of the file"
        elif self.kind == IS_OPEN_TEXT:
            found = "an opening quotation mark that is never closed"
        else:
            found = brief(self.token)
        self.fail(f"{must}; found {found}", self.start)

    def fail(self, message: str, offset: int) -> NoReturn:
        raise ParseError(self.path, *line_and_column(self.text, offset), message)

    def _taken(self) -> str:
        token = self.token
        self.advance()
        return token


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The line and column of ``offset`` in ``text``, both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def brief(text: object) -> str:
    """The text as an error message shows it, shortened if it is long."""
    shown = str(text)
    return shown if len(shown) <= 60 else shown[:60] + "..."


def as_float(number: str) -> float | None:
    """The double nearest to a number; ``None`` if it is not finite."""
    numerator, slash, denominator = number.partition("/")
    try:
        value = int(numerator) / int(denominator) if slash else float(number)
    except (ZeroDivisionError, OverflowError, ValueError):  # the last: more digits than int() takes
        return None
    return value if math.isfinite(value) else None


def as_probability(number: str) -> Fraction | None:
    """The exact number; ``None`` if it is not a probability, or too small for a double."""
    value = as_float(number)
    if value is None or not 0.0 <= value <= 2.0:  # checking the sum refuses values above one
        return None
    if value == 0.0:  # exact only if all digits are 0, whatever the exponent
        digits = re.split("[eE/]", number)[0]
        return None if re.search("[1-9]", digits) else Fraction(0)
    try:
        return Fraction(number)
    except ValueError:  # more digits than int() takes
        return None


def distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels made distinct: empty ones numbered from 1, repeated ones as a, a#2, a#3."""
    names = [label or str(i) for i, label in enumerate(labels, 1)]
    taken = set(names)
    if len(taken) == len(names):
        return tuple(names)
    copies: dict[str, int] = {}
    for i, name in enumerate(names):
        copies[name] = copies.get(name, 0) + 1
        if copies[name] > 1:
            while (copy := f"{name}#{copies[name]}") in taken:
                copies[name] += 1
            taken.add(copy)
            names[i] = copy
    return tuple(names)
