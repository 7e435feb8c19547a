"""A game whose labels are not harmless, and what must not reach the terminal."""

from __future__ import annotations

import unicodedata

from accord._format import UNSAFE


def hostile_game(label: str) -> str:
    """Chicken, in the format of Gambit, with ``label`` in every name."""
    return f"""EFG 2 R "{label} game" {{ "{label} one" "{label} two" }}
p "" 1 1 "{label} first" {{ "{label} up" "{label} down" }} 0
p "" 2 1 "{label} second" {{ "{label} left" "{label} right" }} 0
t "" 1 "{label}" {{ 6 6 }}
t "" 2 "{label}" {{ 2 7 }}
p "" 2 1 "{label} second" {{ "{label} left" "{label} right" }} 0
t "" 3 "{label}" {{ 7 2 }}
t "" 4 "{label}" {{ 0 0 }}
"""


def check_harmless(text: str) -> None:
    """Refuse letters that a terminal would obey."""
    found = {letter for letter in text if letter not in "\n\t"}
    assert not {letter for letter in found if unicodedata.category(letter) in UNSAFE}
