"""The guide "an experiment in ten minutes": its commands, its options and its columns."""

from __future__ import annotations

import re
import shlex
import threading
from pathlib import Path

import pytest

import accord
from accord.serve.export import COLUMNS, PUBLIC
from tests.support.command import process, run
from tests.support.server import Client

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "experiment.md").read_text()


def test_the_guide_has_the_codebook() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", GUIDE.partition("## 4. The data")[2], re.M)
    assert dict(rows) == COLUMNS
    assert PUBLIC[-1] == "chance"
    assert list(COLUMNS)[: len(PUBLIC)] == list(PUBLIC)


def test_the_guide_explains_every_option_of_a_session() -> None:
    help_text = run("serve", "--help").stdout
    options = set(re.findall(r"^ +(--[a-z-]+)", help_text, re.M))
    elsewhere = {
        "--data",
        "--host",
        "--port",
        "--root-path",
        "--proxy",
        "--url",
        "--help",
        "--notion",
    }
    explained = set(re.findall(r"--[a-z][a-z-]+", GUIDE))
    assert options - elsewhere <= explained
    assert explained - {"--out"} <= options


@pytest.mark.slow
def test_the_commands_of_the_guide_run_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the game to the data, as the guide says, with eight programs in place of people."""
    monkeypatch.chdir(tmp_path)
    optimize = re.search(r"^\$ accord (optimize .*)$", GUIDE, re.M)[1]
    run(*shlex.split(optimize))
    serve = re.search(r"^\$ accord (serve .*?)\nchicken: open", GUIDE, re.M | re.S)[1]
    words = shlex.split(serve.replace("\\\n", " ").replace("0.0.0.0", "127.0.0.1"))
    server = process(*words, "--port", 0)
    try:
        operator = Client(re.search(r"http\S+", server.stdout.readline())[0])
        line = server.stdout.readline()
        address, code = re.search(r"at (\S+) with the code (\w+)", line).groups()
        seats = [accord.seat(f"{address}/join/{code}") for _ in range(8)]
        threads = [threading.Thread(target=seat.play, daemon=True) for seat in seats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert all(seat.look().last for seat in seats)
        table = operator.get("/private.csv").text.splitlines()
        assert table[0].split(",") == list(COLUMNS)
        assert len(table) == 1 + 8 * 5
        assert sum(",alone," in row for row in table) == 20
        for path in ("summary.csv", "payments.csv", "codebook.csv", "export.csv"):
            assert operator.get(f"/{path}").status == 200
        assert "EUR" in operator.get("/payments.csv").text
    finally:
        server.kill()
        server.communicate()
