"""Numbers and names as people read them."""

from __future__ import annotations

import html
import math

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOTIONS = {0: "NFCCE, coarse", 1: "EFCE", math.inf: "BCE, behavioural"}


def number(value: float, digits: int = 4) -> str:
    """At most ``digits`` significant digits, powers of ten where they are shorter."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value).replace("-", "−").replace("inf", "∞")
    if 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}×10{str(int(power)).translate(SUPERSCRIPTS)}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share of one."""
    return f"{number(100 * share, 3)} %"


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
    """Anything as text in HTML or SVG, attributes included; control characters are shown."""
    return html.escape("".join(map(_visible, str(text))), quote=True)


def shortened(text: str, length: int) -> str:
    """``text``, with its middle left out where it is longer."""
    if len(text) <= length:
        return text
    tail = length // 2
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def _visible(letter: str) -> str:
    """What XML cannot hold is shown as a picture of it."""
    code = ord(letter)
    if code < 32:
        return chr(0x2400 + code) if letter not in "\t\n" else letter
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF) else letter
