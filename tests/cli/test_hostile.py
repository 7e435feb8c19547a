"""Labels from files are shown, and never obeyed, by every command that prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import process, run, run_json
from tests.support.hostile import check_harmless, hostile_game

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\u202eevil"
"""Clears the screen, sets the title, colours what follows and turns it around."""


@pytest.fixture
def game(tmp_path: Path) -> str:
    path = tmp_path / "evil.efg"
    path.write_text(hostile_game(EVIL), encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_no_command_obeys_labels(game: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    commands = [
        ["info", game],
        ["solve", game, "--iterations", "5", "--out", folder],
        ["learn", game, "--episodes", "200", "--out", str(tmp_path / "learned")],
        ["optimize", game, "--out", str(tmp_path / "best")],
        ["optimize", game, "--objective", f"player={EVIL} two"],
        ["region", game],
        ["certify", folder],
        ["certify", game, f"{folder}/policy.npz", "-k", "0", "-k", "1", "-k", "inf"],
        ["device", folder],
        ["reduce", folder],
        ["play", folder, "--obey", "--plays", "20"],
        ["report", folder],
        ["convert", game, str(tmp_path / "again.efg")],
    ]
    for command in commands:
        result = run(*command)
        check_harmless(result.stdout)
        check_harmless(result.stderr)
    typed = "1\n1\n1\n"
    result = run(
        "play", folder, "--as", f"{EVIL} one", "--as", f"{EVIL} two", typed=f"\n{typed}\n{typed}"
    )
    check_harmless(result.stdout)


def test_json_has_labels_unchanged_but_escaped(game: str) -> None:
    check_harmless(run("info", game, "--json").stdout)
    assert run_json("info", game)["game"] == f"{EVIL} game"


@pytest.mark.slow
def test_errors_do_not_obey_labels(tmp_path: Path) -> None:
    path = tmp_path / "bad.efg"
    path.write_text(hostile_game(EVIL).replace("{ 0 0 }", "{ 0 }"), encoding="utf-8")
    with process("info", path) as command:
        out, err = command.communicate(timeout=600)
    assert command.returncode == 2
    check_harmless(out + err)
