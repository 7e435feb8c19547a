"""Names and docstrings: American spelling, and nothing that a reader must guess."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "tools", "benchmarks", "paper", "examples")

BRITISH = re.compile(
    "behaviour|colour|favour|neighbour|catalogue|centr(e|ing)|metre|licence|defence|grey|labell|modell"
    "|(critic|factor|final|general|initial|local|maxim|minim|normal|optim|organ|parametr|random"
    "|recogn|serial|special|standard|summar|symmetr|util|vector|visual)is(e|ed|es|ing|ation)(_|$)"
)
"""A game has the name that its authors gave it, ``signalling``, so that word is not among these."""


def british(names: Iterator[str]) -> set[str]:
    return {name for name in names if BRITISH.search(name.lower())}


def identifiers(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.string


def files() -> list[Path]:
    return [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def leans(text: str) -> bool:
    """Whether a docstring needs the one before it; its reader may have come by search."""
    return (
        re.match("(The same( (for|as|with|in|per)\\b|[;,.])|As (there|here|above)\\b)", text)
        is not None
    )


def test_docstrings_stand_alone() -> None:
    found = {path.name: [*filter(leans, docstrings(path.read_text()))] for path in files()}
    assert {name: texts for name, texts in found.items() if texts} == {}
    assert leans("The same; ``what`` stands in the error.")
    assert leans("As there, with a limit.")
    assert not leans("The same draws give the same mixture.")


def test_identifiers_and_files_have_american_spelling() -> None:
    found = {path.name: british(identifiers(path.read_text())) for path in files()}
    assert {name: words for name, words in found.items() if words} == {}
    assert british(path.stem for path in files()) == set()


def test_british_spelling_is_noticed() -> None:
    source = "def normalise_chance(colours, otherwise, promise): return optimistic(recentred)"
    assert british(identifiers(source)) == {"normalise_chance", "colours", "recentred"}
