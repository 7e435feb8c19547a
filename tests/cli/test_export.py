"""accord export: tables and pictures as files."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

import accord
from accord.game.library import kuhn
from accord.interop.openspiel import MAX_NODES, default_max_nodes
from accord.reports.tikz import tree_tikz
from accord.reports.tree import tree_view
from tests.support.command import refused, run
from tests.support.environments import NoisyChicken
from tests.support.labels import nasty_game


def read_csv(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def read_sheet(path: Path) -> list[list[object]]:
    (sheet,) = openpyxl.load_workbook(path).worksheets
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def test_tables_of_a_run(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("device.csv", "policy.csv", "certificate.csv", "history.csv"):
        assert run("export", folders["sep"], tmp_path / name).stdout.startswith(str(tmp_path))
    assert read_csv(tmp_path / "device.csv")[0][:2] == ["plan", "probability"]
    policy = read_csv(tmp_path / "policy.csv")
    assert policy[0] == ["component", "weight", "player", "infoset", "action", "probability"]
    history = read_csv(tmp_path / "history.csv")
    assert history[0][:3] == ["iteration", "seconds", "gap"]
    assert history[-1][0] == "30"
    kept = json.loads((folders["sep"] / "certificate.json").read_text())
    (own,) = [gap for gap in kept["gaps"] if gap["k"] == 2]
    written = read_csv(tmp_path / "certificate.csv")
    found = [float(row[3]) for row in written if row[0] == "2-EFCE"]
    assert found == own["players"]


def test_spreadsheets_have_the_same_rows_and_no_formulas(tmp_path: Path) -> None:
    from accord.game.builder import GameBuilder
    from accord.interop.efg import write_efg

    b = GameBuilder("formula", players=["=1+1", "b"])
    b.move(player="=1+1", infoset="=2+2", actions="=3 @x")
    b.payoff("=3", 1, 2)
    b.payoff("@x", 0, 0)
    write_efg(b.build(), tmp_path / "formula.efg")
    run("solve", tmp_path / "formula.efg", "--iterations", 5, "--out", tmp_path / "run")
    run("export", tmp_path / "run", tmp_path / "device.xlsx")
    run("export", tmp_path / "run", tmp_path / "policy.xlsx")
    cells = [cell for row in read_sheet(tmp_path / "device.xlsx") for cell in row]
    assert {"=1+1", "=2+2", "=3"} <= set(cells)
    book = openpyxl.load_workbook(tmp_path / "policy.xlsx")
    assert {cell.data_type for row in book.worksheets[0].iter_rows() for cell in row} == {"n", "s"}


def test_csv_files_have_labels_unchanged(tmp_path: Path) -> None:
    """Also those that a spreadsheet takes for formulas; programs must read what the game has."""
    labels = ["=1+1", "+1", "-1", "@x", "'quoted", "\ttab", "a\rb", "c\r\nd"]
    b = accord.GameBuilder(players=["=me"])
    b.move(player="=me", infoset="=A1", actions=labels)
    for label in labels:
        b.payoff([label], 1)
    game = b.build()
    accord.interop.write_efg(game, tmp_path / "game.efg")
    accord.save_policy(accord.solve(game, 1, iterations=5).policy, tmp_path / "policy.json")
    for what in ("policy", "device"):
        file = tmp_path / f"{what}.csv"
        run("export", tmp_path / "policy.json", file, "--game", tmp_path / "game.efg")
        found = {cell for row in read_csv(file) for cell in row}
        assert set(labels) <= found, what


def test_runs_in_environments_have_policies_and_histories(tmp_path: Path) -> None:
    learned = accord.learn(NoisyChicken(), 1, episodes=300, folder=tmp_path / "run")
    run("export", tmp_path / "run", tmp_path / "policy.csv")
    run("export", tmp_path / "run", tmp_path / "history.csv")
    header, *rows = read_csv(tmp_path / "policy.csv")
    assert header[2:] == ["player", "infoset", "action", "probability"]
    assert len(rows) == 4 * learned.policy.n_components
    assert len(read_csv(tmp_path / "history.csv")) == 1 + len(learned.history)
    for what in ("device.csv", "certificate.csv", "tree.svg"):
        said = refused("export", tmp_path / "run", tmp_path / what)
        assert "a run in an environment, whose game is not known" in said


def test_a_certificate_as_latex(folders: dict[str, Path], tmp_path: Path) -> None:
    run("export", folders["sep"], tmp_path / "table.tex", "--what", "certificate")
    text = (tmp_path / "table.tex").read_text()
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {row.count("&") for row in rows} == {4}
    assert rows[0].startswith("notion & $K$ & player 1 & player 2")
    assert text.count("{") == text.count("}")
    run("export", "device", tmp_path / "certificate.tex", "--game", "signalling")
    header = "notion & $K$ & student & professor & share of range"  # as in tables of devices
    assert header in (tmp_path / "certificate.tex").read_text()


def test_trees_as_svg_and_tikz(folders: dict[str, Path], tmp_path: Path) -> None:
    run("export", folders["1"], tmp_path / "tree.svg")
    run("export", "kuhn", tmp_path / "bare.svg", "--what", "tree")
    for name in ("tree.svg", "bare.svg"):
        ET.fromstring((tmp_path / name).read_text())
    assert "never" not in re.sub(
        "<style>.*?</style>", "", (tmp_path / "bare.svg").read_text(), flags=re.S
    )
    run("export", "kuhn", tmp_path / "tree.tex")
    tree = tree_view(kuhn())
    assert tree is not None
    text = (tmp_path / "tree.tex").read_text()
    assert text == tree_tikz(tree)
    assert text.count(r"\node[accord/payoff]") == kuhn().n_terminals
    assert text.count(r"\draw[accord/edge") == kuhn().n_nodes - 1
    assert text.count("{") == text.count("}")
    statements = [line for line in text.splitlines() if line.startswith((r"\draw", r"\node"))]
    assert all(line.endswith(";") for line in statements)
    assert text.isascii()


def tiny_and_huge() -> accord.Game:
    """A game whose payoffs are written with powers of ten."""
    b = accord.GameBuilder(players=["me"])
    b.move(player="me", infoset="start", actions="l r")
    b.payoff("l", -1.5e-7)
    b.payoff("r", 2e12)
    return b.build()


def test_tikz_writes_powers_of_ten_as_tex_does() -> None:
    tree = tree_view(tiny_and_huge())
    assert tree is not None
    text = tree_tikz(tree)
    assert r"{$-$1.5$\times10^{-7}$}" in text
    assert r"{2$\times10^{12}$}" in text
    assert text.isascii()


def test_the_file_of_a_tree_says_whose_nodes_are_in_which_color(tmp_path: Path) -> None:
    run("export", "signalling", tmp_path / "tree.svg")
    run("export", "signalling", tmp_path / "tree.tex")
    root = ET.fromstring((tmp_path / "tree.svg").read_text())
    key = [e for e in root.iter() if "key" in e.get("class", "").split()]
    assert ["".join(e.itertext()).strip() for e in key] == [
        "player student",
        "player professor",
        "chance",
    ]
    text = (tmp_path / "tree.tex").read_text()
    assert re.findall(r"accord/key\] at \S+ {(.*)};", text) == [
        "player student",
        "player professor",
        "chance",
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no TeX here")
@pytest.mark.parametrize("game", [kuhn, nasty_game, tiny_and_huge])
def test_tex_draws_the_tree(game: Callable[[], accord.Game], tmp_path: Path) -> None:
    tree = tree_view(game())
    assert tree is not None
    (tmp_path / "tree.tex").write_text(tree_tikz(tree))
    (tmp_path / "page.tex").write_text(
        r"\documentclass{article}\usepackage{tikz,graphicx}\begin{document}"
        r"\resizebox{!}{.9\textheight}{\input{tree}}\end{document}"
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Output written on page.pdf (1 page" in done.stdout


def test_bad_requests_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    assert "--what device" in refused("export", folders["1"], tmp_path / "x.csv")
    assert "written to .csv, .xlsx" in refused("export", folders["1"], tmp_path / "policy.tex")
    assert "there is no folder" in refused("export", folders["1"], tmp_path / "no" / "device.csv")
    (tmp_path / "device.csv").write_text("")
    assert "--force" in refused("export", folders["1"], tmp_path / "device.csv")
    assert "the folder of a run" in refused("export", "kuhn", tmp_path / "history.csv")
    assert "at most 200 nodes" in refused("export", "kuhn:players=3", tmp_path / "tree.svg")
    assert "give --game" in refused("export", folders["1"] / "policy.npz", tmp_path / "policy.csv")


def test_games_as_other_files(tmp_path: Path) -> None:
    run("convert", "chicken", tmp_path / "chicken.nfg")
    run("convert", tmp_path / "chicken.nfg", tmp_path / "chicken.py")
    assert "b.move(" in (tmp_path / "chicken.py").read_text()
    assert "export" in refused("convert", "chicken", tmp_path / "chicken.xlsx")


def test_the_largest_game_is_an_option() -> None:
    assert "at most 50 nodes" in refused("--max-nodes", 50, "info", "kuhn_poker")
    assert "--max-nodes N before the command" in refused("--max-nodes", 50, "info", "kuhn_poker")
    assert "58 nodes" in run("--max-nodes", 58, "info", "kuhn_poker").stdout
    assert default_max_nodes.get() == MAX_NODES  # only for that command
