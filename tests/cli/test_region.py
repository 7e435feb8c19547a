"""``accord region``: output, pictures, exit codes and refusals."""

from __future__ import annotations

import re
import signal

import pytest

from tests.support.command import process, refused, run, run_json


def test_the_tables():
    shown = run("region", "chicken", "-k", 0, "-k", 1).stdout
    assert re.search("chicken: payoffs of player row and player col, 1[45] directions in", shown)
    assert "K = 0 (NFCCE): 4 vertices, exact" in shown
    assert "K ≥ 1 (EFCE): 4 vertices, exact" in shown
    assert "best welfare 10.5 at (5.25, 5.25)" in shown
    assert "payoffs of pure Nash equilibria: (2, 7), (7, 2)" in shown
    assert "EFCCE: 3 vertices, exact" in run("region", "signalling", "--notion", "efcce").stdout
    assert "payoffs of Nash equilibria: (-1/18, 1/18)" in run("region", "kuhn").stdout


def test_json():
    content = run_json("region", "signalling", "--players", "professor", "student")
    assert [polygon["k"] for polygon in content["polygons"]] == [0, 1]
    assert content["players"] == ["professor", "student"]
    assert content["exact"] is True


def test_a_limit_that_comes_first():
    result = run("region", "signalling", "--seconds", 0, code=1)
    assert "the tolerance 1e-06 is not reached: a polygon may miss up to" in result.stderr
    assert "error" in result.stdout
    assert run_json("region", "signalling", "--seconds", 0, code=1)["exact"] is False


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "SVG", "html"])
def test_pictures(suffix, tmp_path):
    path = tmp_path / f"region.{suffix}"
    assert f"Drawn in {path}." in run("region", "chicken", "-k", 1, "--out", path).stdout
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}.get(suffix, b"<?xml")
    assert path.read_bytes().startswith(start)
    assert "exists; give --force" in refused("region", "chicken", "--out", path)
    run("region", "chicken", "-k", 1, "--out", path, "--force")


@pytest.mark.slow
def test_ctrl_c_prints_what_there_is():
    words = ("region", "kuhn:players=3", "-k", 0, "-k", 1, "--seconds", 300)
    with process(*words) as running:
        for line in running.stderr:  # a line of progress: the search has begun
            if "directions" in line:
                break
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=200)
    assert running.returncode == 130
    assert "K ≥ 1 (EFCE)" in out
    assert "Traceback" not in err


def test_refusals(tmp_path):
    assert "must end in .svg, .png, .pdf or .html" in refused("region", "chicken", "--out", "x.gif")
    assert "no folder" in refused("region", "chicken", "--out", tmp_path / "none" / "x.svg")
    assert "no player 'x'" in refused("region", "chicken", "--players", "row", "x")
    assert "two different players" in refused("region", "chicken", "--players", "row", "row")
    assert "must be a whole number" in refused("region", "chicken", "-k", "-1")
    assert "must be a whole number" in refused("region", "chicken", "-k", "several")
    assert "got 'lce'" in refused("region", "chicken", "--notion", "lce")
    assert "tolerance must be positive" in refused("region", "chicken", "--tolerance", "0")
    assert "must be a number" in refused("region", "chicken", "--tolerance", "small")
    assert "seconds must be at least 0" in refused("region", "chicken", "--seconds", "-1")
