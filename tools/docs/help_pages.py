"""The command line reference: what every command says about itself."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

MARK = "<!-- the help of every command -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs: replace the mark by the output of ``--help``."""
    if MARK not in markdown:
        return markdown
    from accord.cli.main import COMMANDS

    sections = [
        _section("accord", _help()),
        *(_section(f"accord {name}", _help(name)) for name in COMMANDS),
    ]
    return markdown.replace(MARK, "\n\n".join(sections))


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n```text\n{text.strip()}\n```"


def _help(*command: str) -> str:
    run = [sys.executable, "-m", "accord.cli.main", *command, "--help"]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout
