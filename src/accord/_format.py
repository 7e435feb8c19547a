"""Numbers and words as people read them: ASCII for terminals, typography for pages.

How K is written is in ``deviations/notions.py``.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

MINUS, TIMES, NOTHING = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


LARGEST_SHARE = 9999
"""Probabilities are shown as fractions with denominators up to this."""

LONGEST_MESSAGE = 2000
"""Characters of a message; longer ones lose their middle, usually a huge label."""

SHORTEST_ITEM = 60
"""To how many characters an item of a list in a message is shortened, at most."""

UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that a terminal may obey: controls, bidi marks, line separators."""


def safe(text: str, longest: int | None = None, keep: str = "\n\t") -> str:
    """``text`` as it may be printed: escape sequences in labels are shown, not obeyed.

    All unsafe characters except those in ``keep`` are written as in Python strings. Beyond
    ``longest`` characters the middle is left out.
    """
    if longest is not None and len(text) > longest:
        head, tail = longest * 3 // 4, longest // 4
        left_out = len(text) - head - tail
        text = f"{text[:head]}... [{left_out:,} characters left out] ...{text[-tail:]}"
    if text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode()
        if letter not in keep and unicodedata.category(letter) in UNSAFE
        else letter
        for letter in text
    )


def player_name(label: str) -> str:
    """The name of a player in a sentence: ``player 1``, but not ``player Player 1``."""
    name = one_line(label)
    return name if name.lower().startswith("player") else f"player {name}"


def number(value: float) -> str:
    """Four significant digits in ASCII, for terminals."""
    return f"{value:.4g}"


def pretty(value: float, digits: int = 4) -> str:
    """At most ``digits`` significant digits, typeset; a power of ten where that is shorter."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value).replace("-", MINUS).replace("inf", "∞")
    if 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace("-", MINUS)
    return power_of_ten(value, digits)


def power_of_ten(value: float, digits: int) -> str:
    """At most ``digits`` significant digits and a power of ten, typeset."""
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}{TIMES}10{str(int(power)).translate(SUPERSCRIPTS)}".replace("-", MINUS)


def percent(share: float) -> str:
    """A share of one in percent; a tiny one as a pretty number."""
    if share and abs(share) < 1e-6:
        return pretty(share, 3)
    return f"{pretty(100 * share, 3)}\N{NO-BREAK SPACE}%"


def count(value: float) -> str:
    """A whole number of any size, in ASCII."""
    return f"{value:,.0f}" if value < 10**9 else f"{Decimal(value):.3g}"


def counted(number: int, noun: str) -> str:
    """A number of things, such as "1 policy" or "1,000 policies"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("cy") else f"{number:,} {noun}s"


def memory(n_bytes: float) -> str:
    """A number of bytes with a fitting unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours; below a minute with up to three digits."""
    if seconds < 60:
        return f"{pretty(seconds, 3)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def shortened(text: str, length: int) -> str:
    """``text`` with its middle left out if it is longer than ``length``."""
    if len(text) <= length:
        return text
    tail = length // 2
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """``widths`` of columns, the widest made narrower until all fit or none may be narrower."""
    fitted = list(widths)
    while sum(fitted) > room:
        wide = [i for i, width in enumerate(fitted) if width > least[i]]
        if not wide:
            break
        fitted[max(wide, key=fitted.__getitem__)] -= 1
    return fitted


def listed(
    items: Sequence[str], length: int = LONGEST_MESSAGE * 3 // 4, separator: str = "; "
) -> str:
    """All items in about ``length`` characters.

    Long items lose their middle, so that each can still be recognized. If there are so many that
    nothing would be left of them, the last ones are only counted.
    """
    shown = items[: max(1, length // SHORTEST_ITEM)]
    room, longest = length, length
    for left, item in zip(range(len(shown), 0, -1), sorted(shown, key=len), strict=True):
        longest = room // left
        if len(item) > longest:
            break
        room -= len(item)
    rest = len(items) - len(shown)
    more = [f"and {rest:,} more"] if rest else []
    return separator.join([*(shortened(item, longest) for item in shown), *more])


def one_line(label: str) -> str:
    """The lines of a label in one; the label itself if it has no letters."""
    return " · ".join(line.strip() for line in label.split("\n") if line.strip()) or label


def visible(text: str) -> str:
    """``text`` with a picture in place of each character that XML cannot hold."""
    return "".join(map(_picture, text))


def _picture(letter: str) -> str:
    code = ord(letter)
    if code < 32 and letter not in "\t\n":
        return chr(0x2400 + code)
    if 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF):
        return "\N{REPLACEMENT CHARACTER}"
    return letter


def fraction(value: Fraction, letters: int = 24) -> str:
    """A rational number as people write it: a short decimal, else a fraction, if that is not long;
    else rounded."""
    decimal = f"{float(value):.9g}"
    if Fraction(decimal) == value:
        return decimal
    exact = str(value)
    return exact if len(exact) <= letters else decimal


def share(probability: float) -> str:
    """A probability in ASCII: four digits, or the fraction with a small denominator that it is."""
    exact = Fraction(probability).limit_denominator(LARGEST_SHARE)
    if float(exact) != probability or len(repr(probability)) <= 6:
        return number(probability)
    return str(exact)
