# ruff: noqa: RUF001 (true minus and multiplication signs)
"""Numbers and words as people read them."""

from __future__ import annotations

import math

import pytest

from accord import _format


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (-0.05555911, "−0.05556"),
        (1234.5678, "1,235"),
        (999_999, "999,999"),
        (12_345_678, "1.235×10⁷"),
        (1.434194e-05, "1.434×10⁻⁵"),
        (-2e-10, "−2×10⁻¹⁰"),
        (0.0001, "0.0001"),
        (math.inf, "∞"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert _format.pretty(value) == text


def test_other_words() -> None:
    assert _format.percent(0.12345) == "12.3\u00a0%"
    assert _format.percent(1.2e-9) == "1.2×10⁻⁹"
    assert _format.duration(61) == "1 min 01 s"
    assert _format.duration(7265) == "2 h 01 min"
    assert _format.shortened("abcdefghij", 6) == "ab…hij"
    assert _format.shortened("abc", 6) == "abc"
    assert _format.visible("a\x00\ud800\n") == "a␀�\n"
    assert _format.signed(1.0) == "+1"
