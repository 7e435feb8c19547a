# ruff: noqa: RUF001 (true minus and multiplication signs)
"""Reports: their numbers against the certificate and against plain enumeration, and their files."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import warnings
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord._arrays import TERMINAL
from accord.game.tree import Game
from accord.learning.bounds import bandit_regret_bound, regret_bound
from accord.regret.rates import paper_learning_rate
from accord.report import inspector, plots, summary, tree, words
from accord.report.compare import compare
from accord.report.page import json_in_html, run_page, table
from accord.report.runs import Point, Run, read_run
from accord.report.summary import bound_at, summarise
from accord.treeplex.form import sequence_form
from tests.support.command import refused, run
from tests.support.labels import NASTY, nasty_game

REPORT = {
    "report.html",
    "report-convergence.svg",
    "report-convergence.png",
    "report-gaps.svg",
    "report-gaps.png",
    "report-tree.svg",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of several kinds."""
    base = tmp_path_factory.mktemp("runs")
    few = ["--components", 20]
    run("solve", "kuhn", "-k", 1, "--iterations", 60, *few, "--method", "rm", "--out", base / "1")
    run("solve", "kuhn", "-k", "inf", "--iterations", 30, *few, "--out", base / "inf")
    run("solve", "kuhn", "-k", 0, "--iterations", 30, *few, "--out", base / "0")
    run("solve", "separation:k=1", "-k", 2, "--iterations", 30, *few, "--out", base / "sep")
    for seed in (1, 2):
        run("learn", "kuhn", "--episodes", 2000, "--seed", seed, *few, "--out", base / f"l{seed}")
    return {path.name: path for path in base.iterdir()}


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A run of Kuhn poker to be spoilt."""
    shutil.copytree(folders["1"], tmp_path / "run")
    return tmp_path / "run"


# The numbers


def test_gaps_are_those_of_certify(folders: dict[str, Path]) -> None:
    loaded = read_run(folders["1"])
    found = summarise(loaded)[0]
    certificate = accord.certify(loaded.game, loaded.policy, (0, 1, 2, math.inf))
    assert [gap["k"] for gap in found["gaps"]] == ["0", "1", "2", "inf"]
    for shown, gap in zip(found["gaps"], certificate.gaps, strict=True):
        assert shown["players"] == list(gap.player_gaps)
        assert shown["relative"] == pytest.approx(gap.relative)
    assert found["values"] == list(certificate.values)
    assert found["trigger_gap"] == certificate.trigger.gap
    assert found["saved_gap"] == pytest.approx(found["gaps"][1]["gap"])


@pytest.mark.parametrize("name", ["1", "inf", "0"])
def test_deviations_along_the_tree_are_the_witness(folders: dict[str, Path], name: str) -> None:
    loaded = read_run(folders[name])
    found = summarise(loaded)[0]
    certificate = accord.certify(loaded.game, loaded.policy, (0, 1, 2, math.inf))
    seen = 0
    for shown in found["deviations"]:
        k = math.inf if shown["k"] == "inf" else int(shown["k"])
        witness = certificate[k].witnesses[shown["player"]]
        assert shown["gain"] == witness.gain
        assert len(shown["places"]) == len(witness.first_deviations)
        steps = shown["steps"]
        if k == 0:
            seen += 1
            phi, plex = witness.modification, witness.modification.tree.plex
            assert [s["told"] for s in steps] == [None] * len(steps)
            for step in steps:
                node = phi.tree.arrays.first_node[step["infoset"]]
                assert phi.choice[phi.tree.first_row[node]] == step["action"]
            first = [s["probability"] for s in steps if plex.depth[s["infoset"]] == 0]
            assert sum(first) == pytest.approx(1.0 if witness.gain > 0 else 0.0)
        elif witness.first_deviations:
            seen += 1
            place = witness.first_deviations[0]
            assert (steps[0]["label"], steps[0]["told"], steps[0]["plays"]) == (
                place.infoset,
                place.told,
                place.plays,
            )
            assert steps[0]["probability"] == pytest.approx(place.probability)
            for step in steps[1:]:
                assert 0 < step["probability"] <= steps[0]["probability"]
                assert (step["told"] is None) == (k == 1)
    assert seen > 4


def test_bound_is_the_theorems(folders: dict[str, Path]) -> None:
    loaded = read_run(folders["1"])
    found = summarise(loaded)[0]
    form = sequence_form(loaded.game)
    for iterations in (1, 100, 10**6):
        expected = max(
            float(span)
            / iterations
            * regret_bound(
                plex, 1, paper_learning_rate(plex, 1) / math.sqrt(iterations), iterations
            )
            for plex, span in zip(form.plexes, form.leaves.payoff_range, strict=True)
        )
        assert bound_at(found["bound"], iterations) == pytest.approx(expected, rel=1e-6)


def test_bandit_bound_is_the_theorems(folders: dict[str, Path]) -> None:
    from accord.regret.rates import bandit_learning_rate

    loaded = read_run(folders["l1"])
    found = summarise(loaded)[0]
    plexes = sequence_form(loaded.game).plexes
    for iterations in (10, 10**9):
        expected = max(
            bandit_regret_bound(
                plex,
                1,
                bandit_learning_rate(plexes, i, 1, iterations, 0.05),
                iterations,
                0.05,
                infosets=12,
            )
            * 4.0
            / iterations
            for i, plex in enumerate(plexes)
        )
        assert bound_at(found["bound"], iterations) == pytest.approx(expected, rel=1e-6)


def test_a_learned_run_has_exact_gaps_on_the_way(folders: dict[str, Path]) -> None:
    loaded = read_run(folders["l1"])
    assert len(loaded.record) > 10
    last = loaded.record[-1]
    assert last.gap == pytest.approx(loaded.result["gap"], rel=1e-9)
    assert (last.iteration, last.episodes) == (loaded.result["iterations"], 2000)
    half = loaded.record[len(loaded.record) // 2]
    count = half.iteration * loaded.policy.n_components // loaded.result["iterations"]
    part = accord.CorrelatedPolicy(
        loaded.game, np.full(count, 1 / count), loaded.policy.behavior[:count]
    )
    assert half.players == pytest.approx(accord.certify(loaded.game, part, 1)[1].player_gaps)


def test_a_solved_run_has_the_recorded_gaps(folders: dict[str, Path]) -> None:
    loaded = read_run(folders["1"])
    lines = (folders["1"] / "progress.jsonl").read_text().splitlines()
    assert [json.loads(line)["gap"] for line in lines] == [point.gap for point in loaded.record]


def test_k_that_is_too_large_is_left_out_and_says_so(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from accord.report import runs

    loaded = read_run(folders["1"])
    limit = runs.work(loaded.policy, 1)
    assert limit < runs.work(loaded.policy, 2)
    monkeypatch.setattr(runs, "LARGEST_WORK", limit)
    found = summarise(loaded)[0]
    assert ["refused" in gap for gap in found["gaps"]] == [False, False, True, True]
    assert "accord certify does" in found["gaps"][2]["refused"]
    assert {d["k"] for d in found["deviations"]} == {"0", "1"}
    monkeypatch.setattr(runs, "LARGEST_WORK", 0)
    with pytest.raises(accord.ArgumentError, match="too large for a report"):
        summarise(loaded)


def test_without_memory_there_is_a_report_of_the_rest(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(count: Any, budget: int | None = None) -> None:
        if count.k > 1:
            raise accord.BudgetError("too many rechistories", 2, 1)

    monkeypatch.setattr(summary, "check_budget", check)
    found = summarise(read_run(folders["inf"]))[0]
    assert [gap.get("refused") for gap in found["gaps"]] == [
        None,
        None,
        *["too many rechistories"] * 2,
    ]
    assert found["inspector"]["k"] == "1"
    page = run_page(found, {})
    Page(page)
    assert page.count("not computed: too many rechistories") == 2
    assert f"Nobody gains more than <strong>{words.number(found['saved_gap'])}" in page


@pytest.mark.parametrize("limit", [60, 25])
def test_large_games_keep_the_infosets_reached_most(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    loaded = read_run(folders["1"])
    seen = summarise(loaded)[1]
    whole = inspector.inspector_data(seen, 1)
    monkeypatch.setattr(inspector, "LARGEST_DATA", limit)
    data = inspector.inspector_data(seen, 1)
    for player, everything in zip(data["players"], whole["players"], strict=True):
        kept = player["infosets"]
        assert 0 < len(kept) < player["total"] == len(everything["infosets"])
        assert all(list(x["gain"]) == ["1"] and x["plan"] is None for x in kept)
        labels = {x["label"] for x in kept}
        for x in kept:
            original = next(y for y in everything["infosets"] if y["label"] == x["label"])
            assert x["prob"] == original["prob"]
            if original["parent"] >= 0:
                above = everything["infosets"][original["parent"]]["label"]
                assert player["infosets"][x["parent"]]["label"] == above
            else:
                assert x["parent"] == -1
        left = [sum(x["prob"]) for x in everything["infosets"] if x["label"] not in labels]
        assert max(left) <= min(sum(x["prob"]) for x in kept) + 1e-6
        roots_left = sum(
            x["parent"] < 0 for x in everything["infosets"] if x["label"] not in labels
        )
        assert sum(x["hidden"] for x in kept) <= player["total"] - len(kept) - roots_left


# The pictures


def texts(svg: str) -> list[str]:
    return [
        "".join(element.itertext())
        for element in ET.fromstring(svg).iter()
        if "text" in element.tag
    ]


def test_tree_shows_every_move_and_payoff(folders: dict[str, Path]) -> None:
    loaded = read_run(folders["1"])
    seen = summarise(loaded)[1]
    svg = tree.draw_tree(seen, {(0, 0, 1)}, standalone=True)
    assert svg is not None
    root = ET.fromstring(svg)
    groups = [e for e in root.iter() if e.tag.endswith("}g")]
    edges = [e for e in groups if "edge" in e.get("class", "").split()]
    nodes = [e for e in groups if "node" in e.get("class", "").split()]
    assert len(edges) == loaded.game.n_nodes - 1
    assert len(nodes) == sum(loaded.game.player >= 0)
    told = seen.recommended(0, 0)
    assert told is not None
    action = loaded.game.action_labels[0][0][0]
    assert f"{action} {words.number(told[0], 2)}" in texts(svg)
    marked = [e for e in edges if "deviation" in e.get("class", "").split()]
    assert len(marked) == sum((loaded.game.player == 0) & (loaded.game.infoset == 0))
    joined = [e for e in root.iter() if "joint" in e.get("class", "").split()]
    assert len(joined) == 12  # every infoset of Kuhn poker has two nodes
    payoffs = [e for e in root.iter() if e.get("class") == "payoff"]
    assert len(payoffs) == loaded.game.n_terminals
    assert {"+1  −1", "−2  +2"} <= {e.text for e in payoffs}


def test_large_trees_are_not_drawn(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = summarise(read_run(folders["1"]))[1]
    monkeypatch.setattr(tree, "LARGEST_TREE", seen.form.game.n_nodes)
    assert tree.draw_tree(seen, set(), standalone=True) is not None
    monkeypatch.setattr(tree, "LARGEST_TREE", seen.form.game.n_nodes - 1)
    assert tree.draw_tree(seen, set(), standalone=True) is None


def test_convergence_has_bound_and_slope(folders: dict[str, Path]) -> None:
    found = summarise(read_run(folders["1"]))[0]
    figure = plots.convergence(found)
    assert figure is not None
    svg = plots.to_svg(figure)
    shown = texts(svg)
    assert "slope −1/2" in shown
    assert "paper's bound" in shown
    axes = figure.axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    lines = [np.column_stack(line.get_data()) for line in axes.lines]
    gaps = [[p["iteration"], p["gap"]] for p in found["record"]]
    assert any(line.shape == (len(gaps), 2) and np.allclose(line, gaps) for line in lines)
    slopes = [np.diff(np.log(line), axis=0) for line in lines if len(line) == 2]
    assert any(abs(step[0, 1] / step[0, 0] + 0.5) < 1e-9 for step in slopes)
    bound = [[x, bound_at(found["bound"], x)] for x in lines[-1][:, 0]]
    assert np.allclose(lines[-1], bound)


def test_a_bound_far_away_is_said_not_drawn(folders: dict[str, Path]) -> None:
    found = summarise(read_run(folders["1"]))[0]
    for point in found["record"]:
        point["gap"] *= 1e-6
        point["players"] = [1e-6 * gap for gap in point["players"]]
    figure = plots.convergence(found)
    assert figure is not None
    assert any("off the chart" in text for text in texts(plots.to_svg(figure)))
    assert figure.axes[0].get_ylim()[1] < 1e-3


def test_no_curve_without_positive_gaps(folders: dict[str, Path]) -> None:
    found = summarise(read_run(folders["1"]))[0]
    found["record"] = [{**point, "gap": 0.0, "players": [0.0, 0.0]} for point in found["record"]]
    found["gaps"] = [{**gap, "gap": 0.0, "players": [0.0, -0.1]} for gap in found["gaps"]]
    assert plots.convergence(found) is None
    assert plots.gaps_by_k(found) is None


def test_inline_plots_take_the_colours_of_the_page(folders: dict[str, Path]) -> None:
    found = summarise(read_run(folders["1"]))[0]
    figure = plots.convergence(found)
    assert figure is not None
    text = plots.to_inline(plots.to_svg(figure), "one", "label")
    assert "var(--ink)" in text
    assert not [colour for colour in plots.VARIABLES if colour in text]
    ids = re.findall(r'\bid="([^"]+)"', text)
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    assert ids
    assert all(name.startswith("one-") for name in ids)
    assert set(used) <= set(ids)


# Words


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
    assert words.number(value) == text


def test_other_words() -> None:
    assert words.percent(0.12345) == "12.3\u00a0%"
    assert words.percent(1.2e-9) == "1.2×10⁻⁹"
    assert words.duration(61) == "1 min 01 s"
    assert words.duration(7265) == "2 h 01 min"
    assert words.shortened("abcdefghij", 6) == "ab…hij"
    assert words.shortened("abc", 6) == "abc"
    assert words.escape("<a b='c'>\x00\ud800") == "&lt;a b=&#x27;c&#x27;&gt;␀�"
    assert words.signed(1.0) == "+1"


def test_json_in_html_ends_no_script() -> None:
    text = json_in_html({"a": "</script><!-- & ]]>"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & ]]>"}


# The files


class Page(HTMLParser):
    """What a page asks a browser for, and whether its tags are balanced."""

    VOID = ("meta", "link", "input", "br", "img", "path", "circle", "use")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.outside: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            local = (value or "").startswith(("#", "data:"))
            if name in ("src", "href", "action", "data", "srcset", "poster") and not local:
                self.outside.append(f"{tag} {name}={value}")
            assert not name.startswith("on"), f"{tag} {name}"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"</{tag}>"


def test_report_writes_a_page_and_plots(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = json.loads(run("report", folder, "--json").stdout)
    assert [Path(name).parent for name in result["files"]] == [folder] * 6
    assert {Path(name).name for name in result["files"]} == REPORT
    assert {path.name for path in folder.iterdir()} == REPORT | set(before)
    for name, content in before.items():
        assert (folder / name).read_bytes() == content
    page = (folder / "report.html").read_text()
    parsed = Page(page)
    assert parsed.outside == []
    assert parsed.tags["svg"] == 5
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)
    for name in REPORT:
        content = (folder / name).read_bytes()
        if name.endswith("svg"):
            ET.fromstring(content)
        elif name.endswith("png"):
            assert content.startswith(b"\x89PNG")


def test_the_same_run_gives_the_same_page(folder: Path) -> None:
    run("report", folder)
    first = {name: (folder / name).read_bytes() for name in REPORT}
    printed = run("report", folder).stdout
    assert first == {name: (folder / name).read_bytes() for name in REPORT}
    assert "report.html" in printed.splitlines()[0]


@pytest.mark.parametrize("name", ["0", "inf", "sep", "l1"])
def test_every_kind_of_run_has_a_report(
    folders: dict[str, Path], name: str, tmp_path: Path
) -> None:
    run("report", folders[name], "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    Page(page)
    assert "nan" not in re.sub(r"<style>.*?</style>|<script.*?</script>", "", page, flags=re.S)
    assert (tmp_path / "page-tree.svg").exists()
    assert not (folders[name] / "report.html").exists()


def test_labels_are_text_wherever_they_stand(tmp_path: Path) -> None:
    game = nasty_game()
    accord.write_efg(game, tmp_path / "game.efg")
    run("solve", tmp_path / "game.efg", "--iterations", 5, "--out", tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    parsed = Page(page)
    assert "img" not in parsed.tags
    assert parsed.tags["script"] == 2
    assert words.escape(NASTY) in page
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
    accord.write_efg(game, tmp_path / "game.efg")
    run("solve", tmp_path / "game.efg", "--iterations", 3, "--out", tmp_path / "run")
    run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    Page(page)
    assert "She never decides." in page


@pytest.mark.parametrize(
    ("name", "longer", "first", "done"),
    [
        ("1", ("solve", "--iterations", 90), ("iterations", "60"), "90 iterations, "),
        ("l1", ("learn", "--episodes", 4000), ("episodes", "2000"), "4,000 episodes, "),
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
    assert f"<dt>asked first: {first[0]}</dt><dd>{first[1]}</dd>" in page
    assert f"<dt>done in all</dt><dd>{done}" in page
    assert "<dt>asked: method</dt>" in page  # which cannot change


def test_cells_of_stacked_tables_have_the_names_of_their_columns() -> None:
    rows = [["<th>1</th>", "<td>2</td>"], ["<th>3</th>", '<td class="words" colspan="2">no</td>']]
    text = table(["K", '<span class="dot"></span>player A&amp;B'], rows, stacked=True)
    assert '<th data-name="K">1</th><td data-name="player A&amp;B">2</td>' in text
    assert '<th data-name="K">3</th><td class="words" colspan="2">no</td>' in text
    assert "data-name" not in table(["K", "player A"], rows)


# Comparing


def test_comparison_groups_seeds(folders: dict[str, Path], tmp_path: Path) -> None:
    names = ("l1", "l2", "1", "inf")
    comparison = compare([read_run(folders[name]) for name in names])
    assert comparison["game"] == "kuhn"
    assert [len(group["runs"]) for group in comparison["groups"]] == [2, 1, 1]
    assert [group["label"] for group in comparison["groups"]] == [
        "K = 1, swrhedge",
        "K = 1, rm",
        "K = ∞, prm+",
    ]
    assert comparison["axes"] == ["iteration", "episodes", "seconds"]
    out = tmp_path / "all.html"
    result = json.loads(run("report", *(folders[n] for n in names), "--out", out, "--json").stdout)
    assert len(result["files"]) == 7
    assert {path.name for path in tmp_path.iterdir()} == {
        Path(name).name for name in result["files"]
    }
    parsed = Page(out.read_text())
    assert parsed.outside == []
    assert "swrhedge (2 seeds)" in "".join(texts((tmp_path / "all-episodes.svg").read_text()))


def test_comparison_of_different_games_is_relative(folders: dict[str, Path]) -> None:
    comparison = compare([read_run(folders[name]) for name in ("1", "sep")])
    assert comparison["unit"] == "relative"
    assert comparison["game"] is None
    point = comparison["groups"][0]["runs"][0][-1]
    assert point["relative"] == pytest.approx(point["gap"] / 4)
    assert ["kuhn" in group["label"] for group in comparison["groups"]] == [True, False]


def test_equal_methods_are_told_apart() -> None:
    game = accord.load_game("kuhn")
    policy = accord.solve(game, iterations=2).policy

    def made(**asked: Any) -> Run:
        point = Point(1, None, (0.5, 0.25), 1.0)
        asked = {"game": "kuhn", "k": 1, "method": "rm", **asked}
        return Run(Path("x"), "solve", asked, {}, {}, game, 1, "rm", policy, (point,))

    labels = [g["label"] for g in compare([made(iterations=5), made(iterations=9)])["groups"]]
    assert labels == ["rm, iterations 5 asked first", "rm, iterations 9 asked first"]


def test_a_group_keeps_its_colour(folders: dict[str, Path], tmp_path: Path) -> None:
    """Learned runs are not in the plot by iterations, solved ones not in that by episodes."""
    names = ("1", "l1", "inf", "l2")
    run("report", *(folders[name] for name in names), "--out", tmp_path / "all.html")
    colours: dict[str, set[str]] = {}
    for axis in ("iteration", "episodes", "seconds"):
        root = ET.fromstring((tmp_path / f"all-{axis}.svg").read_text())
        for element in root.iter("{http://www.w3.org/2000/svg}text"):
            if (element.text or "").startswith("K = "):
                found = re.search(r"fill: (#\w+)", element.get("style", ""))
                assert found is not None
                colours.setdefault(str(element.text), set()).add(found[1])
    assert colours == {
        "K = 1, rm": {plots.SERIES[0]},
        "K = 1, swrhedge (2 seeds)": {plots.SERIES[1]},
        "K = ∞, prm+": {plots.SERIES[2]},
    }


def test_bands_span_all_seeds() -> None:
    def points(scale: float) -> list[dict[str, Any]]:
        return [{"iteration": t, "gap": scale / t} for t in (1, 2, 4, 8)]

    runs = [points(1.0), points(4.0), points(2.0)]
    figure = plots.overlay(
        [{"label": "a", "runs": runs, "axes": ["iteration"]}], "iteration", "gap"
    )
    assert figure is not None
    axes = figure.axes[0]
    xs, ys = (np.asarray(column) for column in axes.lines[0].get_data())
    assert np.allclose(ys, 2.0 / xs)
    band = axes.collections[0].get_paths()[0].vertices
    product = band[:, 0] * band[:, 1]
    assert product.min() == pytest.approx(1.0)
    assert product.max() == pytest.approx(4.0)


def test_comparison_is_written_here_by_default(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("report", folders["1"], folders["inf"])
    assert (tmp_path / "comparison.html").exists()


# Refusals


def spoil(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def test_no_run(tmp_path: Path) -> None:
    assert "no such folder" in refused("report", tmp_path / "nowhere")
    assert "it has no run.json" in refused("report", tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert "Missing argument" in refused("report")


def changed(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "run.json").read_text())
    spoil(folder, "run.json", json.dumps({**content, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "accord-run"),
        ({"version": 2}, "accord-run"),
        ({"command": "play"}, "command"),
        ({"asked": {"game": "kuhn", "k": -1, "method": "rm"}}, "asked"),
        ({"asked": {"game": "kuhn", "k": True, "method": "rm"}}, "asked"),
        ({"asked": None}, "asked"),
        ({"result": None}, "has not finished"),
        ({"digest": "0" * 64}, "digest 000000000000"),
        ({"asked": {"game": "gone.efg", "k": 1, "method": "rm"}}, "give it with --game"),
    ],
)
def test_a_header_that_is_wrong(folder: Path, changes: dict[str, Any], message: str) -> None:
    changed(folder, **changes)
    said = refused("report", folder)
    assert message in said
    assert str(folder) in said
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.json", "{", "run.json:1:2"),
        ("run.json", "[]", "must be a JSON object"),
        ("progress.jsonl", '{"iteration": 1}\n{"iter', "progress.jsonl:2:"),
        ("progress.jsonl", '{"iteration": 1, "players": [1]}\n', "each of 2 players"),
        ("progress.jsonl", '{"iteration": 1, "players": [1, NaN]}\n', "each of 2 players"),
        ("policy.npz", "no archive", "policy.npz"),
    ],
)
def test_a_broken_file(folder: Path, name: str, text: str, message: str) -> None:
    spoil(folder, name, text)
    assert message in refused("report", folder)
    assert not (folder / "report.html").exists()


def test_without_a_policy_the_run_has_not_finished(folder: Path) -> None:
    (folder / "policy.npz").unlink()
    assert "has not finished" in refused("report", folder)


def test_a_policy_of_another_game(folder: Path, folders: dict[str, Path]) -> None:
    shutil.copy(folders["sep"] / "policy.npz", folder / "policy.npz")
    assert "was made for the game 'separation:k=1'" in refused("report", folder)


def test_a_game_that_has_moved(tmp_path: Path) -> None:
    accord.write_efg(accord.load_game("kuhn"), tmp_path / "old.efg")
    run("solve", tmp_path / "old.efg", "--iterations", 3, "--out", tmp_path / "run")
    (tmp_path / "old.efg").rename(tmp_path / "new.efg")
    assert "--game" in refused("report", tmp_path / "run")
    run("report", tmp_path / "run", "--game", tmp_path / "new.efg")
    assert "digest" in refused("report", tmp_path / "run", "--game", "separation:k=1")


def test_what_cannot_be_written_is_said_and_nothing_is_lost(folder: Path) -> None:
    run("report", folder)
    first = {name: (folder / name).read_bytes() for name in REPORT}
    (folder / "report.html").unlink()
    (folder / "report.html").mkdir()
    assert "report.html cannot be written" in refused("report", folder)
    for name in REPORT - {"report.html"}:
        assert (folder / name).read_bytes() == first[name]
    assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]
    assert "must end in .html" in refused("report", folder, "--out", folder / "page.txt")
    assert "no folder" in refused("report", folder, "--out", folder / "no" / "page.html")
    assert "given once" in refused("report", folder, folder)


def test_help_has_examples_that_work(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folders["1"], "runs/kuhn")
    shutil.copytree(folders["l1"], "runs/learned")
    examples = re.findall(r"^ +accord (report.*)$", run("report", "-h").stdout, re.M)
    assert len(examples) == 2
    for example in examples:
        run(*shlex.split(example))


def test_templates_are_part_of_the_package() -> None:
    from importlib.resources import files

    names = {path.name for path in files("accord.report").iterdir()}
    assert {"template.html", "template.css", "template.js", "inspector.html"} <= names
