"""The command ``accord``, run inside this process or as a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from accord.cli.main import app


def run(*arguments: object, typed: str | None = None, code: int = 0) -> Any:
    """Run ``accord`` here, with ``typed`` as standard input; it must exit with ``code``."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, words, input=typed, catch_exceptions=False)
    assert result.exit_code == code, f"{result.exit_code}: {result.stdout}{result.stderr}"
    return result


def run_json(*arguments: object, code: int = 0) -> dict[str, Any]:
    """The object that ``--json`` prints; nothing else may be on standard output."""
    result = run(*arguments, "--json", code=code)
    content = json.loads(result.stdout, parse_constant=pytest.fail)
    assert isinstance(content, dict)
    return content


def refused(*arguments: object) -> str:
    """The one message of a refusal."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    said = [line for line in lines if not re.match(r"compiling|.*: \d+ s so far$", line)]
    assert len(said) == 1, result.stderr
    assert said[0].startswith("error: ")
    return str(said[0].removeprefix("error: "))


def process(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """The real command in a process of its own; its output is piped unless ``options`` say else."""
    return subprocess.Popen(
        [sys.executable, "-m", "accord.cli.main", *map(str, arguments)],
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
