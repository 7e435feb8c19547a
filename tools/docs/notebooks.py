"""The notebooks of the documentation: run them, and turn them into pages.

``python tools/docs/notebooks.py`` runs every notebook in ``docs/notebooks`` and writes its outputs
into it; ``tests/test_notebooks.py`` runs them again and compares. A notebook runs here, in this
process: each cell is Python code, and the value of a last expression is shown as Jupyter shows it.
MkDocs calls :func:`on_files`, which adds a page per notebook.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
BY_METHOD = {"text/html": "_repr_html_", "image/png": "_repr_png_"}


def execute(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The notebook with new outputs, run in ``folder``."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            is_code = cell["cell_type"] == "code"
            new = {"outputs": _run("".join(cell["source"]), namespace)} if is_code else {}
            cells.append({**cell, **new})
    return {**notebook, "cells": cells}


def _run(code: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of one cell."""
    statements = ast.parse(code).body
    last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), "cell", "exec"), namespace)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": None,
                "metadata": {},
                "data": _shown(value),
            }
        )
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    """A value in the formats that it has."""
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    for kind, method in BY_METHOD.items():
        content = getattr(value, method)() if hasattr(value, method) else None
        if isinstance(content, bytes):
            data[kind] = base64.b64encode(content).decode()
        elif content is not None:
            data[kind] = content.splitlines(keepends=True)
    return data


def as_markdown(notebook: dict[str, Any]) -> str:
    """The page of a notebook."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", [])})
            if "text/html" in data:
                lines = "".join(data["text/html"]).splitlines()
                parts.append("\n".join(line for line in lines if line.strip()))
            elif "image/png" in data:
                parts.append(f"![A plot](data:image/png;base64,{data['image/png']})")
            else:
                parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """MkDocs: add a page for every notebook."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        name = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, name, content=as_markdown(notebook)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs: let the list of notebooks lead to their pages."""
    if page.file.src_uri == "notebooks/index.md":
        return markdown.replace(".ipynb)", ".md)")
    return markdown


def main() -> None:
    """Run all notebooks and write their outputs."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            done = execute(json.loads(path.read_text("utf-8")), Path(folder))
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
