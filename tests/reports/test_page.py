"""Pages: what stands on them, and that labels are only ever text."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

import accord
from accord._arrays import TERMINAL
from accord.game.tree import Game
from accord.reports.page import environment, run_page
from accord.reports.source import read_source
from accord.reports.summary import summarize
from accord.reports.view import RunView
from tests.support.command import run
from tests.support.labels import NASTY, nasty_game
from tests.support.pages import Page, texts


def printed(expression: str, **values: Any) -> str:
    """What a template prints."""
    return environment().from_string(f"{{{{ {expression} }}}}").render(**values)


def test_whatever_a_template_prints_is_escaped() -> None:
    assert printed("text", text="<a b='c'>\x00\ud800") == "&lt;a b=&#39;c&#39;&gt;␀�"


def test_json_in_html_ends_no_script() -> None:
    text = printed("data|tojson", data={"a": "</script><!-- & ]]>"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & ]]>"}


@pytest.mark.slow
def test_labels_are_text_wherever_they_stand(tmp_path: Path) -> None:
    game = nasty_game()
    accord.interop.write_efg(game, tmp_path / "game.efg")
    run("solve", tmp_path / "game.efg", "--iterations", 5, "--out", tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    parsed = Page(page)
    assert "img" not in parsed.tags
    assert parsed.tags["script"] == 2
    assert escape(NASTY) in page
    shown = texts((tmp_path / "run" / "report-convergence.svg").read_text())
    assert any("$" in text for text in shown)  # a player's label, not mathematics


def test_a_player_without_decisions_and_a_single_action(tmp_path: Path) -> None:
    game = Game.from_arrays(
        n_players=2,
        player=[0, TERMINAL],
        parent=[-1, 0],
        action=[0, 0],
        infoset=[0, 0],
        chance_prob=[1.0, 1.0],
        reward_node=[1],
        reward=[[1.0, 2.0]],
    )
    accord.interop.write_efg(game, tmp_path / "game.efg")
    run("solve", tmp_path / "game.efg", "--iterations", 3, "--out", tmp_path / "run")
    run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    Page(page)
    assert "This player never decides." in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "longer", "first", "done"),
    [
        ("1", ("solve", "--iterations", 90), ("iterations", "60"), "90 iterations, "),
        ("l1", ("learn", "--episodes", 4800), ("episodes", "2400"), "4,800 episodes, "),
    ],
)
def test_what_was_asked_first_and_what_was_done_in_all(
    folders: dict[str, Path],
    tmp_path: Path,
    name: str,
    longer: tuple[Any, ...],
    first: tuple[str, str],
    done: str,
) -> None:
    """A run that was extended keeps the limits of its beginning; they are not those of its end."""
    shutil.copytree(folders[name], tmp_path / "run")
    command, *limit = longer
    run(command, "--resume", tmp_path / "run", *limit)
    run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"<dt>requested at first: {first[0]}</dt><dd>{first[1]}</dd>" in page
    assert f"<dt>done in total</dt><dd>{done}" in page
    assert "<dt>requested: method</dt>" in page  # which cannot change


def test_cells_of_stacked_tables_have_the_names_of_their_columns(
    folders: dict[str, Path],
) -> None:
    """Two players fit on a phone, three do not."""
    solved = summarize(read_source(folders["1"]))
    assert "data-name" not in gap_table(solved)
    players = tuple(
        replace(solved.players[0], index=i, name=f"player {label}")
        for i, label in enumerate(("A&B", "C", "D"))
    )
    rows = [replace(row, player_gaps=(0.5, 0.25, 0.0)) for row in solved.gaps]
    rows[-1] = replace(rows[-1], player_gaps=(), relative=None, refusal="too large")
    notions = tuple(replace(row, player_gaps=(0.5, 0.25, 0.0)) for row in solved.notions[:1])
    shown = replace(solved, players=players, gaps=tuple(rows), notions=notions, device=None)
    text = gap_table(shown)
    assert '<th scope="row" data-name="K"><span>0 <small>NFCCE</small></span></th>' in text
    assert '<td data-name="player A&amp;B">0.5</td>' in text
    assert '<td class="words" colspan="4">not computed: too large</td>' in text
    named, columns = re.findall('data-name="([^"]*)"', text), ["A&amp;B", "C", "D"]
    first = ["K", *(f"player {column}" for column in columns), "share of range"]
    assert named == [*first * 3, "K", *first]
    assert '<th scope="row" data-name="K"><small>EFCCE</small></th>' in text


def test_gains_that_are_only_rounding_are_none(folders: dict[str, Path]) -> None:
    """Certificates have 0 for them."""
    solved = summarize(read_source(folders["1"]))
    none = tuple(replace(deviation, gain=0.0) for deviation in solved.deviations)
    page = run_page(replace(solved, deviations=none), None, None)
    assert page.count("gains nothing</h3>") == 2
    assert "Step by step" not in page
    assert page.count("They cannot gain by deviating.") == 8


def test_a_gap_that_is_0_at_the_end(folders: dict[str, Path]) -> None:
    solved = summarize(read_source(folders["1"]))
    *before, last = solved.facts.history
    history = (*before, replace(last, gap=0.0, player_gaps=(0.0, 0.0)))
    facts = replace(solved.facts, checkpoints=history)
    assert solved.facts.zero_from is None
    assert facts.zero_from == last.iteration
    assert replace(solved, facts=facts).iterations_needed is None


def gap_table(solved: RunView) -> str:
    """The table of gaps."""
    page = run_page(solved, None, None)
    Page(page)
    start = page.index("<table", page.index("<h2>Gaps</h2>"))
    return page[start : page.index("</table>", start)]
