"""The notebooks of the documentation run, and show what is stored in them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import agrees

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "docs" / "notebooks.py"))
NOTEBOOKS = sorted(TOOL["FOLDER"].glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def test_there_are_four() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["economist", "experimenter", "learner", "theorist"]
    for path in NOTEBOOKS:
        ids = [cell["id"] for cell in read(path)["cells"]]
        assert len(set(ids)) == len(ids)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_should(path: Path, tmp_path: Path) -> None:
    stored = read(path)
    done = TOOL["execute"](stored, tmp_path)
    for before, now in zip(stored["cells"], done["cells"], strict=True):
        if before["cell_type"] != "code":
            continue
        source = "".join(before["source"])
        assert len(before["outputs"]) == len(now["outputs"]), source
        for old, new in zip(before["outputs"], now["outputs"], strict=True):
            assert old.get("data", {}).keys() == new.get("data", {}).keys(), source
            shown, printed = ("".join(_text(output)) for output in (old, new))
            assert agrees(shown, printed), f"{source}\nshown:\n{shown}\nprinted:\n{printed}"


def _text(output: dict[str, Any]) -> list[str]:
    text: list[str] = output["text"] if "text" in output else output["data"]["text/plain"]
    return [line for line in text if "<accord" not in line and " at 0x" not in line]


def test_pages_have_the_code_and_the_outputs() -> None:
    page = TOOL["as_markdown"](read(NOTEBOOKS[0]))
    assert page.startswith("# The economist")
    assert "```python\nimport accord" in page
    assert '<div class="accord-show">' in page
    assert r"\begin{tabular}" in page
