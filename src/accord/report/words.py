"""Numbers and names as people read them."""

from __future__ import annotations

import html
import math

MINUS, TIMES, NOTHING = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOTIONS: dict[float, str] = {0: "NFCCE", 1: "EFCE", math.inf: "BCE"}
"""Names that K-EFCEs had before the paper."""


def number(value: float, digits: int = 4) -> str:
    """At most ``digits`` significant digits, powers of ten where they are shorter."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value).replace("-", MINUS).replace("inf", "∞")
    if 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}{TIMES}10{str(int(power)).translate(SUPERSCRIPTS)}"
    return text.replace("-", MINUS)


def percent(share: float) -> str:
    """A share of one; a tiny one as a plain number."""
    return (
        f"{number(100 * share, 3)}\N{NO-BREAK SPACE}%"
        if abs(share) >= 1e-6 or not share
        else number(share, 3)
    )


def signed(value: float) -> str:
    """A payoff at a leaf, or a gain."""
    return f"+{number(value)}" if value > 0 else number(value)


def k_name(k: float) -> str:
    """K as it is written in a formula."""
    return "∞" if math.isinf(k) else str(int(k))


def k_key(k: float) -> str:
    """K as files have it."""
    return "inf" if math.isinf(k) else str(int(k))


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 60:
        return f"{number(seconds, 3)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def escape(text: object) -> str:
    """Anything as text in HTML or SVG, attributes included."""
    return html.escape(visible(str(text)), quote=True)


def visible(text: str) -> str:
    """``text`` without characters that XML cannot hold: each is replaced by a picture of it."""
    return "".join(map(_picture, text))


def shortened(text: str, length: int) -> str:
    """``text``, with its middle left out where it is longer."""
    if len(text) <= length:
        return text
    tail = length // 2
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def _picture(letter: str) -> str:
    code = ord(letter)
    if code < 32 and letter not in "\t\n":
        return chr(0x2400 + code)
    if 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF):
        return "\N{REPLACEMENT CHARACTER}"
    return letter
