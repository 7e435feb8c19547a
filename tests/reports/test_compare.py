"""Several runs side by side."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.reports.colors import SERIES
from accord.reports.compare import compare
from accord.reports.source import read_source, source_of
from accord.reports.view import RunFacts
from accord.runs.checkpoint import Checkpoint
from accord.runs.reading import SavedRun
from accord.runs.request import SolveRequest
from tests.support.command import run
from tests.support.pages import Page, texts


@pytest.mark.slow
def test_comparison_groups_seeds(folders: dict[str, Path], tmp_path: Path) -> None:
    names = ("l1", "l2", "1", "inf")
    comparison = compare([read_source(folders[name]).facts for name in names])
    assert comparison.game == "kuhn"
    assert [len(group.runs) for group in comparison.groups] == [2, 1, 1]
    assert [group.label for group in comparison.groups] == [
        "K = 1, prm",
        "K = 1, rm",
        "K = ∞, prm+",
    ]
    assert comparison.axes == ("iteration", "episodes", "seconds")
    out = tmp_path / "all.html"
    result = json.loads(run("report", *(folders[n] for n in names), "--out", out, "--json").stdout)
    assert len(result["files"]) == 7
    assert {path.name for path in tmp_path.iterdir()} == {
        Path(name).name for name in result["files"]
    }
    parsed = Page(out.read_text())
    assert parsed.outside == []
    assert "prm (2 seeds)" in "".join(texts((tmp_path / "all-episodes.svg").read_text()))


def test_comparison_of_different_games_is_relative(folders: dict[str, Path]) -> None:
    comparison = compare([read_source(folders[name]).facts for name in ("1", "sep")])
    assert comparison.relative
    assert comparison.game is None
    run = comparison.groups[0].runs[0]
    moment = run.history[-1]
    assert run.relative_to_range(moment.player_gaps) == pytest.approx(moment.gap / 4)
    assert ["kuhn" in group.label for group in comparison.groups] == [True, False]


def test_equal_methods_are_told_apart() -> None:
    game = accord.load_game("kuhn")
    policy = accord.solve(game, iterations=2).policy

    def made(**asked: Any) -> RunFacts:
        point = Checkpoint(1, 0.5, (0.5, 0.25), (0.0, 0.0), 1.0)
        request = SolveRequest("kuhn", 1, "rm", **asked)
        run = SavedRun(Path("x"), request, game.digest, {}, {}, policy, (point,))
        return source_of(run).facts

    labels = [group.label for group in compare([made(iterations=5), made(iterations=9)]).groups]
    assert labels == ["rm, iterations 5 requested at first", "rm, iterations 9 requested at first"]


@pytest.mark.slow
def test_a_group_keeps_its_color(folders: dict[str, Path], tmp_path: Path) -> None:
    """Learned runs are not in the plot by iterations, solved ones not in that by episodes."""
    names = ("1", "l1", "inf", "l2")
    run("report", *(folders[name] for name in names), "--out", tmp_path / "all.html")
    colors: dict[str, set[str]] = {}
    for axis in ("iteration", "episodes", "seconds"):
        root = ET.fromstring((tmp_path / f"all-{axis}.svg").read_text())
        for element in root.iter("{http://www.w3.org/2000/svg}text"):
            if (element.text or "").startswith("K = "):
                found = re.search(r"fill: (#\w+)", element.get("style", ""))
                assert found is not None
                colors.setdefault(str(element.text), set()).add(found[1])
    assert colors == {
        "K = 1, rm": {SERIES[0]},
        "K = 1, prm (2 seeds)": {SERIES[1]},
        "K = ∞, prm+": {SERIES[2]},
    }


@pytest.mark.slow
def test_comparison_is_written_here_by_default(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("report", folders["1"], folders["inf"])
    assert (tmp_path / "comparison.html").exists()


@pytest.mark.slow
def test_a_run_without_a_curve_is_mentioned(folders: dict[str, Path], tmp_path: Path) -> None:
    comparison = compare([read_source(folders[name]).facts for name in ("1", "sep")])
    assert [group.is_zero for group in comparison.groups] == [False, True]
    run("report", folders["1"], folders["sep"], "--out", tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text()
    assert page.count(f"The gap of {comparison.groups[1].label} is always 0") == 2
    assert "share one curve" not in page


def test_runs_that_optimized_stand_side_by_side(tmp_path: Path) -> None:
    game = accord.load_game("chicken")
    accord.optimize(game, 1, folder=tmp_path / "a")
    accord.optimize(game, 0, {"row": 1}, at_least={"col": 4}, folder=tmp_path / "b")
    run("report", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text()
    assert "The best equilibria for 2 questions" in page
    assert "EFCE (K = 1), the highest welfare" in page
    assert "NFCCE (K = 0) with player col at least 4, the best for player row" in page
    for text in ("10.5", "77/13", "5.25", "proved", "7/13", "<strong>dare</strong>"):
        assert text in page
    assert "The smallest gap" not in page
    assert "By time" not in page


def test_optima_of_different_games_have_their_payoffs_in_one_column(tmp_path: Path) -> None:
    for name in ("chicken", "battle_of_the_sexes"):
        accord.optimize(accord.load_game(name), 1, folder=tmp_path / name)
    accord.solve(accord.load_game("chicken"), 1, iterations=20, folder=tmp_path / "solved")
    names = ("chicken", "battle_of_the_sexes", "solved")
    run("report", *(tmp_path / name for name in names), "--out", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text()
    assert "5.25, 5.25" in page
    assert "<h2>Optima</h2>" in page
