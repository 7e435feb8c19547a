"""Reports as files."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.command import refused, run
from tests.support.pages import Page

REPORT = {
    "report.html",
    "report-convergence.svg",
    "report-convergence.png",
    "report-gaps.svg",
    "report-gaps.png",
    "report-tree.svg",
}


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


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(folder: Path) -> None:
    run("report", folder)
    first = {name: (folder / name).read_bytes() for name in REPORT}
    printed = run("report", folder).stdout
    assert first == {name: (folder / name).read_bytes() for name in REPORT}
    assert "report.html" in printed.splitlines()[0]


@pytest.mark.slow
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


@pytest.mark.slow
def test_one_checkpoint_is_not_a_curve(tmp_path: Path) -> None:
    run("solve", "chicken", "--iterations", 1, "--out", tmp_path / "run")
    assert "convergence" not in run("report", tmp_path / "run").stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "There is no curve: the gap was recorded once, 0.25 after 1 iteration." in page


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


@pytest.mark.slow
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

    names = {path.name for path in files("accord.reports").joinpath("templates").iterdir()}
    assert {"base.html", "page.css", "page.js", "inspector.html", "tree.svg"} <= names
