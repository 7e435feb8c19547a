"""The example bot, in a process of its own, against the real server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.serve.design import Design
from accord.serve.summary import summarize
from tests.support.server import open_room, running

BOT = Path(__file__).parents[2] / "examples" / "bots" / "bot.py"


@pytest.mark.slow
def test_two_bots_play_a_session(tmp_path: Path) -> None:
    room = open_room(tmp_path / "p.db", design=Design(rounds=3, ask="name", quiz=True))
    with running(room) as server:
        link = f"{server}/join/{room.code}"
        bots = [
            subprocess.Popen(
                [sys.executable, BOT, link, "--name", name, "--disobey", share],
                stdout=subprocess.PIPE, text=True,
            )
            for name, share in (("one", "0"), ("other", "1"))
        ]  # fmt: skip
        said = [bot.communicate(timeout=120)[0] for bot in bots]
    assert [bot.returncode for bot in bots] == [0, 0]
    for text, guest in zip(said, room.guests(), strict=True):
        assert text.count("plays") == 3
        assert guest.rounds == 3
    by_round = {one.round: one for one in summarize(room.hall).shares if one.player is None}
    assert (by_round[None].decisions, by_round[None].obeyed) == (6, 3)
