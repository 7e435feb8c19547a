"""Tables as CSV: links that were just made, and what people are paid."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from accord.serve.room import Guest

FORMULAS = ("=", "+", "-", "@", "\t")
"""What a formula of a spreadsheet begins with."""


def as_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV text."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(head)
    table.writerows(rows)
    return text.getvalue()


def harmless(text: str) -> str:
    """Text that somebody typed, such that no spreadsheet takes it for a formula."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def links_csv(links: Iterable[tuple[str, str]]) -> str:
    """Links that were just made, with whom they are for."""
    return as_csv(("for", "link"), ((harmless(name), link) for name, link in links))


def payments_csv(guests: Iterable[Guest]) -> str:
    """What everybody has earned; the pay is a number, with its currency in a column of its own."""
    head = ("person", "name", "treatment", "rounds", "points", "pay", "currency", "doing")
    rows = (
        (one.id, harmless(one.name), one.treatment, one.rounds, repr(one.points), pay,
            harmless(currency), one.doing)
        for one in guests
        for pay, _, currency in [(one.money or "").partition(" ")]
    )  # fmt: skip
    return as_csv(head, rows)
