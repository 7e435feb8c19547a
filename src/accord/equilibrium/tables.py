r"""Tables of words as plain text, as CSV, and as LaTeX for papers.

Cells are single lines, but labels come from games and files and may otherwise be anything. In LaTeX
all characters with a meaning are escaped, also those that have one only in some places: ``[`` and
``*`` after ``\\``, ``"`` with babel, ``<``, ``>`` and ``|`` in the usual font encoding, and ``--``,
which would become a dash.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from accord._format import narrowed, visible

LEAST_COLUMN = 12
"""Letters below which no column is wrapped."""

PAGE_LETTERS = 70
"""Letters that fit into a line of a LaTeX table, with two for each space between columns."""

BREAKABLE = 20
"""Letters from which on a word in a wrapped column of LaTeX may be broken."""

BREAKS = re.compile(r"(?<=[\W_])(?=[^\W_])|(?<=[a-z])(?=[A-Z])")
"""Where a long word may be broken: after punctuation, and before a capital letter."""

NEEDS = r"% needs \usepackage{booktabs}; labels in other scripts need LuaLaTeX or XeLaTeX"
"""The first line of a table in LaTeX."""

MEANINGS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",
    "·": r"\textperiodcentered{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[]*"},
}
"""How LaTeX writes characters that mean something to it."""


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Lines of comma-separated values. Cells with a line break of any kind are quoted."""
    lines = []
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="\r\n").writerow(row)  # quotes what it ends lines with
        lines.append(line.getvalue().removesuffix("\r\n"))
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class TextTable:
    """A table of words; its first column has numbers, or else the last columns of its header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # an empty row separates two groups of rows
    groups: tuple[tuple[str, int], ...] = ()  # (title, columns) above the header, if there are any
    last: tuple[str, str] | None = None  # a number, and words in place of all other columns
    numbers: int = 0  # how many columns of the header, the last ones, are numbers

    @property
    def widths(self) -> list[int]:
        """Letters of each column, and of what stands above the last one of a group."""
        cells = zip(self.header, *filter(None, self.rows), strict=True)
        widths = [max(map(len, column)) for column in cells]
        end = 0
        for title, size in self.groups:
            end += size
            inside = sum(widths[end - size : end]) + 2 * (size - 1)
            widths[end - 1] += max(0, len(title) - inside)
        if self.last is not None:
            widths[0] = max(widths[0], len(self.last[0]))
        return widths

    @property
    def width(self) -> int:
        """Letters of a line, with two between columns."""
        return sum(self.widths) + 2 * (len(self.header) - 1)


def as_text(table: TextTable, width: int) -> str:
    """The table, with columns wrapped so that lines have at most ``width`` letters if possible."""
    count = len(table.header)
    widths = narrowed(table.widths, [LEAST_COLUMN] * count, width - 2 * (count - 1))
    lines: list[str] = []
    if table.groups:
        sizes = [size for _, size in table.groups]
        ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
        spans = [
            sum(widths[end - n : end]) + 2 * (n - 1) for end, n in zip(ends, sizes, strict=True)
        ]
        lines += _folded([title for title, _ in table.groups], spans)
    for row in (table.header, *table.rows):
        lines += _folded(row, widths) if row else [""]
    if table.last is not None:
        amount, words = table.last
        lines += [""] if () in table.rows else []
        lines.append(f"{amount:<{widths[0]}}  {words}")
    return "\n".join(lines)


def as_latex(table: TextTable) -> str:
    r"""A ``tabular`` for ``\input``; it needs the package booktabs.

    If the table is too wide for a page, its last two columns are wrapped.
    """
    count = len(table.header)
    wraps = table.width > PAGE_LETTERS and count > 2
    columns = "l" if table.numbers else "r"
    columns += "l" * (count - 3) + r"p{0.36\linewidth}" * 2 if wraps else "l" * (count - 1)
    lines = [
        NEEDS,
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
    ]
    if table.groups:
        titles, rules, end = [], "", 0
        for title, size in table.groups:
            titles.append(rf"\multicolumn{{{size}}}{{l}}{{{escaped(title)}}}" if title else "")
            rules += rf"\cmidrule(lr){{{end + 1}-{end + size}}}" if title else ""
            end += size
        lines += [_latex_row(titles), rules]
    words = count - table.numbers
    header = [*map(escaped, table.header[:words]), *map(in_mathematics, table.header[words:])]
    lines += [_latex_row(header), r"\midrule"]
    first = escaped if table.numbers else in_mathematics
    for row in table.rows:
        cells = [first(row[0]), *map(escaped, row[1:])] if row else []
        if row and wraps:
            cells[-2:] = [_ragged(cell) for cell in row[-2:]]
        lines.append(_latex_row(cells) if row else r"\addlinespace")
    if table.last is not None:
        amount, said = table.last
        span = rf"\multicolumn{{{count - 1}}}{{l}}{{{escaped(said)}}}" if count > 1 else ""
        lines += [r"\midrule", _latex_row(filter(None, [in_mathematics(amount), span]))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escaped(text: str) -> str:
    """``text`` as LaTeX prints it."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub("-(?=-)", "-{}", "".join(MEANINGS.get(letter, letter) for letter in plain))


def _ragged(text: str) -> str:
    """A cell of a column that is wrapped: not justified, and long words may be broken."""
    words = (BREAKS.split(word) if len(word) > BREAKABLE else [word] for word in text.split())
    broken = " ".join(r"\allowbreak{}".join(map(escaped, parts)) for parts in words)
    return rf"{{\raggedright {broken}\par}}"


def in_mathematics(text: str) -> str:
    """A number as :func:`accord._format.shares` writes it; nothing if there is none."""
    top, slash, bottom = text.partition("/")
    if slash:
        sign = "-" if top.startswith("-") else ""
        return rf"${sign}\frac{{{top.removeprefix('-')}}}{{{bottom}}}$"
    mantissa, _, power = text.partition("e")
    factor = rf" \times 10^{{{int(power)}}}" if power else ""
    return f"${mantissa}{factor}$" if text else ""


def _latex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _folded(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of one row."""
    columns = [_filled(cell, size) for cell, size in zip(cells, widths, strict=True)]
    for at in range(max(map(len, columns))):
        parts = (column[at] if at < len(column) else "" for column in columns)
        yield "  ".join(f"{p:<{n}}" for p, n in zip(parts, widths, strict=True)).rstrip()


def _filled(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` letters."""
    lines = [""]
    for part in BREAKS.split(visible(text)):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        rest = lines.pop() + part
        while len(rest.rstrip()) > width:
            lines.append(rest[:width])
            rest = rest[width:]
        lines.append(rest)
    return [line.rstrip() for line in lines]
