"""``accord curve``."""

from __future__ import annotations

import pytest

from accord.cli.curve import parsed_parameter
from tests.support.command import run, run_json

NAME = "persuasion:prior=x"
ASKED = ("--objective", "player=prosecutor", "--commits", "prosecutor")


def test_table_picture_and_json(tmp_path):
    shown = run("curve", NAME, "x=0.1:0.3:0.1", *ASKED, "--out", tmp_path / "c").stdout
    assert "persuasion:prior=x: EFCE, player=prosecutor" in shown
    assert [line.split()[:3] for line in shown.splitlines() if "proved" in line] == [
        ["0.1", "0.2", "proved"], ["0.2", "0.4", "proved"], ["0.3", "0.6", "proved"]
    ]  # fmt: skip
    assert (tmp_path / "c" / "curve.svg").read_text().startswith("<?xml")
    assert "curve.html" in shown
    assert "Content-Security-Policy" in (tmp_path / "c" / "curve.html").read_text()
    content = run_json("curve", NAME, "x=0.1:0.3:0.1", *ASKED, "--out", tmp_path / "c")
    assert [point["x"] for point in content["series"][0]["points"]] == [0.1, 0.2, 0.3]
    weighted = run_json("curve", NAME, "x=1/2", "--objective", "weights=1,0", "-k", "0", "-k", "1")
    assert [one["notion"] for one in weighted["series"]] == ["NFCCE", "EFCE"]


def test_parameters():
    assert parsed_parameter("x=0:1:0.25") == ("x", [0.0, 0.25, 0.5, 0.75, 1.0])
    assert parsed_parameter("n=2,3,1/2") == ("n", [2.0, 3.0, 0.5])


@pytest.mark.parametrize(
    ("name", "parameter", "message"),
    [
        (NAME, "x=0:1:0", "must be NAME=FROM:TO:STEP"),
        (NAME, "x=1:0:1", "must be NAME=FROM:TO:STEP"),
        (NAME, "x", "must be NAME=FROM:TO:STEP"),
        (NAME, "x=0:1e9:1e-9", "at most 100,000 values"),
        (NAME, "x=0:1:1e-999999999", "must be NAME=FROM:TO:STEP"),
        (NAME, "x=1e999999999", "must be NAME=FROM:TO:STEP"),
        ("persuasion", "x=1", "has no =x"),
        (NAME, "x=2", "persuasion:prior=2: prior must be a probability"),
    ],
)
def test_bad_input_is_refused(name, parameter, message):
    assert message in " ".join(run("curve", name, parameter, code=2).stderr.split())
