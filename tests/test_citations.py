"""Citations of Song, Mei, Bai 2022: by the numbers of the published paper, all in one table."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "theory" / "citations.md"
ROW = r"^\| (\w+ \S+) \| (\d+) \| (?:`(\S+)` )?\| ([^|]+) \| (?:`(accord\.[\w.]+)` )?\|$"
ROWS = re.findall(ROW, TABLE.read_text(), re.M)
FOLDERS = ("src", "docs", "tests", "paper", "benchmarks")
TEXTS = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".ipynb", ".html"} and path not in {TABLE, Path(__file__)}
]

KINDS = "Theorem|Lemma|Proposition|Corollary|Definition|Algorithm|Equation|Appendix"
NUMBER = r"(?:\(\d+\)|(?:[A-Z]\.)?\d+(?:\.\d+)*)"
CITED = rf"\b({KINDS})s? ({NUMBER}(?:(?:, | and |, and ){NUMBER})*)"
PREFIXES = f"{KINDS}|thm|lem|prop|cor|eqn?".lower()
OTHER_WORKS = {"Lemma 3.1": "Higham", "Theorem 3": "Sandholm"}
"""Numbers of other works, each with an author whom a file that cites it must name."""


def cited(text: str) -> list[str]:
    """Every number that ``text`` cites, one by one: ``Algorithms 3 and 8`` are two."""
    flat = re.sub(r"\s+(?:# )?", " ", text)
    return [
        f"{kind} {number}"
        for kind, numbers in re.findall(CITED, flat)
        for number in re.findall(NUMBER, numbers)
    ]


def labels(text: str) -> list[str]:
    """Every label of the paper's source in ``text``, with or without its prefix."""
    names = "|".join(re.escape(label.partition(":")[2]) for _, _, label, *_ in ROWS if label)
    bare = rf"\b(?:{KINDS}|lemma|[Ee]q)s?\.? \(?(?:{names})(?![\w-])"
    return re.findall(rf"\b(?:{PREFIXES}):[a-zA-Z]", text) + re.findall(bare, text)


def test_the_table_is_read() -> None:
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - 1 > 60
    numbers = [row[0] for row in ROWS]
    assert len(set(numbers)) == len(numbers)
    assert {"Theorem 5", "Lemma B.5", "Equation (3)", "Algorithm 2", "Appendix C.3"} <= set(numbers)


@pytest.mark.parametrize("name", sorted({row[-1] for row in ROWS if row[-1]}))
def test_every_name_in_the_table_exists(name: str) -> None:
    pkgutil.resolve_name(name)


def test_every_number_that_is_cited_is_in_the_table() -> None:
    known = {row[0] for row in ROWS}
    unknown = {}
    for path in TEXTS:
        text = path.read_text()
        others = {number for number, author in OTHER_WORKS.items() if author in text}
        if missing := set(cited(text)) - known - others:
            unknown[path.relative_to(ROOT).as_posix()] = sorted(missing)
    assert unknown == {}


def test_no_label_is_cited() -> None:
    found = {path.name: labels(path.read_text()) for path in TEXTS}
    assert {name: cites for name, cites in found.items() if cites} == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Theorem 5.", ["Theorem 5"]),
        ("Algorithms 3 and\n    8, and", ["Algorithm 3", "Algorithm 8"]),
        ("Equations (11) and (12)", ["Equation (11)", "Equation (12)"]),
        ("Propositions 3, 4 and C.4.", ["Proposition 3", "Proposition 4", "Proposition C.4"]),
        ("# Lemma\n# B.5", ["Lemma B.5"]),
        ("Algorithm 2, K-EFR", ["Algorithm 2"]),
        ("Lemma about sums", []),
    ],
)
def test_citations_are_found(text: str, numbers: list[str]) -> None:
    assert cited(text) == numbers


@pytest.mark.parametrize(
    "text",
    ["`lemma:balancing`", "Lemma balancing:", "eq. (kefce-regret)", "Eqs. (wb-i)", "eqn:pi-i(x)"],
)
def test_labels_are_noticed(text: str) -> None:
    assert labels(text)
    assert not labels("the lemma on balancing, Definition 6, Equation (7), the theorem: it holds")
