# ruff: noqa: RUF001 (true minus and multiplication signs)
"""Numbers and words as people read them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import accord
from accord import _format
from tests.support.command import run


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
    assert _format.counted(1, "policy") == "1 policy"
    assert _format.counted(2000, "policy") == "2,000 policies"
    assert _format.counted(0, "play") == "0 plays"
    assert _format.duration(61) == "1 min 01 s"
    assert _format.duration(7265) == "2 h 01 min"
    assert _format.shortened("abcdefghij", 6) == "ab…hij"
    assert _format.shortened("abc", 6) == "abc"
    assert _format.visible("a\x00\ud800\n") == "a␀�\n"
    assert _format.player_name("Player 1") == "Player 1"
    assert _format.player_name("ann\n of Ely\n") == "player ann · of Ely"


def test_labels_cannot_command_the_terminal() -> None:
    assert _format.safe("a\x1b[31mb\x9b2J\u202ec\nd\te") == "a\\x1b[31mb\\x9b2J\\u202ec\nd\te"
    assert _format.safe("one\ntwo", keep="") == "one\\ntwo"
    assert _format.safe("naïve → 12\u00a0%") == "naïve → 12\u00a0%"
    assert str(accord.errors.GameError("no \x1b]0;x\x07")) == "no \\x1b]0;x\\x07"


def test_long_messages_lose_their_middle() -> None:
    message = str(accord.errors.GameError(f"infoset {'x' * 10**6!r} must have one action"))
    assert len(message) < _format.LONGEST_MESSAGE + 100
    assert message.startswith("infoset 'xxx")
    assert message.endswith("xxx' must have one action")
    assert "characters left out" in message


def test_lists_in_messages_are_shortened_item_by_item() -> None:
    assert _format.listed(["one", "two"]) == "one; two"
    failed = {f"task {n}": f"ValueError: {'x' * 5000} is {n}" for n in range(5)} | {"last": "no"}
    message = str(accord.errors.SweepError(failed, 6))
    assert len(message) < _format.LONGEST_MESSAGE
    assert "left out" not in message
    assert all(
        f"task {n}: ValueError: xxx" in message and f"xxx is {n}" in message for n in range(5)
    )
    assert message.endswith("; last: no")
    many = str(accord.errors.SweepError({f"task {n}": "y" * 1000 for n in range(1000)}, 1000))
    assert len(many) < _format.LONGEST_MESSAGE
    assert many.startswith("1000 of 1000 tasks failed: task 0: yyy")
    assert many.endswith("; and 975 more")


def test_commands_show_labels_safely(tmp_path: Path) -> None:
    b = accord.GameBuilder("dark\x1b[2J", players=["one\x1b[31m", "two"])
    b.move(player="one\x1b[31m", infoset="here\x1b[1m", actions="\x1b[7mup down")
    b.payoff("\x1b[7mup", 1, 0)
    b.payoff("down", 0, 1)
    path = tmp_path / "dark.efg"
    accord.interop.write_efg(b.build(), path)
    for result in (run("info", path), run("solve", path, "--iterations", 5)):
        assert "one" in result.stdout
        assert "\x1b" not in result.stdout + result.stderr
