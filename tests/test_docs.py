"""Every block in README, CONTRIBUTING and docs runs, and prose is wrapped at one width.

The Python blocks of a file are executed in order, in one namespace and an empty folder. Every
``$ accord ...`` in a ``console`` block is run in that folder, too. The output must match what is
shown after the command, or in a ``text`` block right after a Python block: the same words, numbers
to within one percent, and ``...`` for anything that varies between runs. Other kinds of blocks are
not allowed, because they would not be checked.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import accord
from accord.cli.main import app
from tests.support.public import public_names

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
DOCUMENTS = [*(ROOT / name for name in TOP), *PAGES]
GENERATED = {ROOT / "docs" / "benchmarks", ROOT / "docs" / "paper"}
WRAPPED = [
    *(path for path in DOCUMENTS if path.parent not in GENERATED),
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "template.md",
]
WIDTH = 100
NOT_RUN = ("make", "pip")  # commands that set up the environment
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
CLOSE = 0.01


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    follows: bool  # nothing but blanks between this block and the one before


def blocks(text: str) -> list[Block]:
    found = []
    end = 0
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        line = text.count("\n", 0, fence.start()) + 2
        follows = bool(found) and not text[end : fence.start()].strip()
        found.append(Block(fence[1], fence[2], line, follows))
        end = fence.end()
    return found


def agrees(shown: str, printed: str) -> bool:
    """Whether ``printed`` matches ``shown``."""
    one, other = " ".join(shown.split()), " ".join(printed.split())
    pattern = "".join(
        f"({NUMBER})" if re.fullmatch(NUMBER, piece) else re.escape(piece).replace(r"\.\.\.", ".*?")
        for piece in re.split(f"({NUMBER})", one)
    )
    match = re.fullmatch(pattern, other)
    if match is None:
        return False
    wanted = [float(number.replace(",", "")) for number in re.findall(NUMBER, one)]
    got = [float(number.replace(",", "")) for number in match.groups()]
    return all(abs(a - b) <= CLOSE * abs(a) for a, b in zip(wanted, got, strict=True))


def run_python(block: Block, namespace: dict[str, Any], path: Path) -> str:
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, namespace)
    return output.getvalue()


def run_console(block: Block) -> list[tuple[str, str, str]]:
    """``(command, shown, printed)`` for every command of ``accord``; each must exit with 0."""
    done = []
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        program, *arguments = shlex.split(command)
        if program in NOT_RUN:
            continue
        assert program == "accord", f"line {block.line}: {command!r} cannot be checked"
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{command}: {result.stderr}"
        done.append((command, shown, result.stdout))
    return done


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_everything_printed_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(Path(sys.executable).parent)  # where the command is, which a page may start
    monkeypatch.setenv("PATH", os.pathsep.join([here, os.environ.get("PATH", "")]))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = None
    for block in blocks(path.read_text()):
        place = f"{path.name}, line {block.line}"
        if block.language == "python":
            printed = run_python(block, namespace, path)
        elif block.language == "console":
            for command, shown, output in run_console(block):
                assert not shown.strip() or agrees(shown, output), f"{place}: {command}\n{output}"
            printed = None
        elif block.language == "text" and printed is not None and block.follows:
            assert agrees(block.text, printed), f"{place}: shown is not what is printed:\n{printed}"
            printed = None
        elif block.language == "json":
            json.loads(block.text)
        else:
            assert block.language in ("text", "bibtex"), f"{place}: {block.language!r} is not run"


def test_the_readme_opens_with_payoffs_and_a_device_and_then_gaps() -> None:
    first, second, third, fourth = blocks((ROOT / "README.md").read_text())[:4]
    assert (first.language, third.language) == ("python", "python")
    assert second.follows and fourth.follows
    assert "probability" in second.text
    assert second.line < 20
    assert "gap" in fourth.text


def test_links_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def too_wide(text: str) -> list[str]:
    """Lines of prose that are longer than the width and could have been broken.

    Tables, display formulas, pictures and links count as one word, and so do code and formulas in
    a line. Blocks of code are ignored.
    """
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    whole = r"\$[^$]+\$|`[^`]+`|\[[^\]]*\]\([^)]*\)"
    return [
        line
        for line in text.splitlines()
        if len(line) > WIDTH
        and not re.match(r"\||(> )?\$\$|!\[", line)
        and " " in re.sub(whole, "x", re.sub(r"^\s*(?:[-*>]|\d+\.)?\s*", "", line))
    ]


@pytest.mark.parametrize("path", WRAPPED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_prose_is_wrapped_at_one_width(path: Path) -> None:
    assert too_wide(path.read_text()) == []


def test_wide_prose_is_noticed() -> None:
    words, word = "word " * 25, "x" * 120
    assert too_wide(words) == [words]
    assert too_wide(f"- `{words}` {word}")
    allowed = [
        word, f"- {word}", f"`{words}`", f"$a {words}$", f"| {words} |", f"$$a {words}$$",
        f"[{words}](a.md)", f"![{words}](a.svg)", f"```text\n{words}\n```",
    ]  # fmt: skip
    for text in allowed:
        assert too_wide(text) == [], text


def test_the_pictures_of_the_architecture_are_drawn_by_their_script() -> None:
    script = runpy.run_path(str(ROOT / "tools" / "docs" / "architecture.py"))
    for name, parts in script["PICTURES"].items():
        drawn = (script["IMAGES"] / name).read_text()
        assert script["picture"](*parts) == drawn, f"run tools/docs/architecture.py for {name}"


def test_the_walks_do_not_turn_back() -> None:
    """Requests only pass to earlier packages, results to later ones; all files are there."""
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/architecture.md").read_text(), re.M)
    script = runpy.run_path(str(ROOT / "tools" / "docs" / "architecture.py"))
    for _, down, turn, up, base in script["PICTURES"].values():
        for boxes, step in (((*down, turn), -1), ((turn, *up), 1)):
            ranks = [table.index(box.package.split(", ")[0]) for box in boxes if box.package]
            assert ranks == sorted(ranks)[::step]
        for box in (*down, turn, *up, base):
            for file in ", ".join(file for file, _ in box.lines if box.package).split(", "):
                folders = [f"src/accord/{package}" for package in box.package.split(", ")]
                assert not file or any((ROOT / folder / file).is_file() for folder in folders), file


def test_each_page_of_the_gallery_has_its_picture_and_the_command_that_draws_it() -> None:
    script = runpy.run_path(str(ROOT / "tools" / "docs" / "gallery.py"))
    pages = [path for path in script["GALLERY"].glob("*.md") if path.stem != "index"]
    drawn = {f"{path.stem}.svg" for path in pages}
    assert {path.name for path in script["GALLERY"].glob("*.svg")} == drawn
    touched = {path.name for path in script["GALLERY"].glob("*.html")}
    assert touched == {f"{path.stem}-devices.html" for path in pages}
    index = (script["GALLERY"] / "index.md").read_text()
    for path in pages:
        names = [words[words.index("--out") + 1] for words in script["commands"](path)]
        assert names == [f"{path.stem}.svg"]
        assert f"]({path.stem}.svg)" in path.read_text()
        assert f"]({path.stem}-devices.html)" in path.read_text()
        assert f"]({path.name})" in index


def test_no_block_escapes() -> None:
    for path in DOCUMENTS:
        text = path.read_text()
        fences = re.findall(r"^\s*(?:>\s*)?(?:```|~~~)", text, re.M)
        assert len(fences) == 2 * len(blocks(text)), f"{path.name} has a block that is not run"


def test_the_reference_has_every_public_name() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    missing = {name for name in public_names() if f"::: {name}\n" not in pages}
    assert missing == {"accord.AccordError"}, "not in docs/reference"
    assert "::: accord.errors\n" in pages  # which has all errors


def test_pages_use_public_names_only() -> None:
    """No page imports from inside the package, except those that document its inside."""
    errors = {f"accord.errors.{name}" for name in vars(accord.errors)}
    packages = {"accord.cli.main", *(f"accord.{name}" for name in dir(accord))}
    inside = {
        ROOT / "CONTRIBUTING.md",
        ROOT / "docs" / "notation.md",
        ROOT / "docs" / "theory" / "citations.md",
    }
    inside |= set((ROOT / "docs" / "reference").glob("*.md"))
    for path in set(DOCUMENTS) - inside:
        for name in re.findall(r"\baccord(?:\.\w+){1,2}", path.read_text()):
            known = name in public_names() | errors | packages
            assert known or name.rpartition(".")[0] in public_names(), f"{path.name} uses {name}"


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    notebooks = (ROOT / "docs").rglob("*.ipynb")
    pages = [path.relative_to(ROOT / "docs").with_suffix(".md").as_posix() for path in notebooks]
    pages += [path.relative_to(ROOT / "docs").as_posix() for path in PAGES]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("gap 0.5", "gap 0.502", True),
        ("gap 0.5", "gap 0.51", False),
        ("gap 5.4e-05", "gap 5.377e-05", True),
        ("gap 5.4e-05", "gap 5.4e-04", False),
        ("gap 0", "gap 1e-9", False),
        ("1,000 of -2", "1,001 of -2", True),
        ("value -1", "value 1", False),
        ("done in ... s", "done in 0.3 s", True),
        ("done in ... s", "done in 0.3 hours", False),
        ("player 1 bets", "player 1 folds", False),
        ("a", "a\nand more", False),
        ("a  b\n", "a b", True),
    ],
)
def test_comparison_of_outputs_can_fail(shown: str, printed: str, same: bool) -> None:
    assert agrees(shown, printed) is same


def test_blocks_are_found() -> None:
    text = "a\n```python\nx = 1\n```\n\n```text\n1\n```\nb\n```console\n$ accord games\n```\n"
    found = blocks(text)
    assert [block.language for block in found] == ["python", "text", "console"]
    assert [block.follows for block in found] == [False, True, False]
    assert [block.line for block in found] == [3, 7, 11]
