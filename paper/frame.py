"""The frame of all claims: run their tasks, store the data, write the pages.

A claim is a module with

    TITLE     a heading
    CLAIM     what the paper claims, with the name of the theorem, in Markdown
    TASKS     the tasks that measure it, by name; SMALL, a version for the tests that takes seconds
    job(folder, **task)   one measurement; returns JSON
    draw(results, out)    writes out/claimN*.svg; returns a Finding, computed from the results of
                          all tasks
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from accord._files import write_whole
from accord.errors import ArgumentError, ParseError
from accord.reports.chart import FLOOR, chart, drawing, to_svg
from accord.reports.colors import INK, MUTED, PAPER, SERIES
from accord.runs.sweep import sweep

ROOT = Path(__file__).parents[1]
DATA = ROOT / "paper" / "data"
BUILD = ROOT / "build" / "paper"
PAGES = ROOT / "docs" / "paper"

BLUES = LinearSegmentedColormap.from_list("blues", [PAPER, SERIES[0]])

INTRODUCTION = """# The paper, claim by claim

These pages compare the claims of *Sample-Efficient Learning of Correlated Equilibria in
Extensive-Form Games* (Song, Mei, Bai 2022) with measurements. Each page states a claim, shows what
was measured, and says what that shows. Most theorems are upper bounds for all games: measurements
can contradict them but cannot prove them, so the most that a page says of them is *consistent
with*. *Shown* is said of examples and of facts that were checked exactly, on what they were checked
on. The verdicts are computed from the data in `paper/data`. `make paper` redraws the pages from
these data, and `make paper-full` measures everything again.
"""

FAILED = "Not confirmed: the rows marked **no** failed."


class Finding(NamedTuple):
    """What the measurements of a claim say."""

    text: str  # in Markdown
    holds: bool  # whether every check succeeded
    shown: str  # what that shows, in a sentence or two
    measured: str = ""  # what was measured in any case

    @property
    def verdict(self) -> str:
        """What is shown, or that a check failed; and what was measured."""
        return f"{self.shown if self.holds else FAILED} {self.measured}".strip()


class Claim(Protocol):
    """The interface of a claim's module."""

    TITLE: str
    CLAIM: str
    TASKS: dict[str, dict[str, Any]]
    SMALL: dict[str, dict[str, Any]]
    __name__: str

    def job(self, folder: Path, **task: Any) -> dict[str, Any]: ...

    def draw(self, results: dict[str, dict[str, Any]], out: Path) -> Finding: ...


def find_claims() -> dict[int, Any]:
    """All claims, by number."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("claim[0-9]_*.py"))
    return {number_of(name): import_module(f"paper.{name}") for name in names}


def number_of(name: str) -> int:
    """The number of the claim in the module called ``name``."""
    found = re.search(r"claim([0-9])_\w+$", name)
    assert found is not None, name
    return int(found[1])


def compute(
    claim: Any,
    tasks: Mapping[str, Mapping[str, Any]],
    build: Path,
    data: Path,
    *,
    only: str = "",
    ray: str | None = None,
) -> None:
    """Run ``tasks`` and store their results in ``data``; a stopped run is continued.

    Tasks whose names do not start with ``only`` are not run; their stored results are kept.
    """
    number = number_of(claim.__name__)
    work, path = build / f"claim{number}", data / f"claim{number}.json"
    asked = {name: task for name, task in tasks.items() if name.startswith(only)}
    kept = read_data(path)["results"] if only else {}
    if missing := tasks.keys() - asked.keys() - kept.keys():
        raise ArgumentError(f"{path} has no {min(missing)}; measure the whole claim")
    start = time.perf_counter()

    def show(name: str, result: Any) -> None:
        took = time.perf_counter() - start
        print(f"claim {number}, {took:.0f} s: {name}", file=sys.stderr, flush=True)

    found = {**kept, **sweep(claim.job, asked, work, ray=ray, progress=show)}
    results = {name: found[name] for name in tasks}
    packages = ("accord", "numpy", "numba", "open_spiel")
    about = {
        "command": f"python -m paper --full {number}",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in packages},
        },
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    data.mkdir(parents=True, exist_ok=True)
    write_data(path, about, results)
    shutil.rmtree(work)


def redraw(claims: Mapping[int, Any], data: Path, pages: Path) -> dict[int, Finding]:
    """Write the pages of all claims from their data; return the findings."""
    pages.mkdir(parents=True, exist_ok=True)
    findings = {}
    for number, claim in claims.items():
        content = read_data(data / f"claim{number}.json")
        findings[number] = claim.draw(content["results"], pages)
        page = _page(claim, content, findings[number])
        (pages / f"claim-{number}.md").write_text(page)
    rows = [
        (f"[{claim.TITLE}](claim-{number}.md)", findings[number].verdict)
        for number, claim in claims.items()
    ]
    shown = table(("claim", "what the measurements show"), rows)
    (pages / "index.md").write_text(f"{INTRODUCTION}\n{shown}\n")
    return findings


def write_data(path: Path, about: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Store the results of a claim, one line per task."""
    head = json.dumps(about, indent=1, allow_nan=False).removesuffix("\n}")
    lines = [
        f"  {json.dumps(name)}: {json.dumps(result, allow_nan=False)}"
        for name, result in results.items()
    ]
    text = f'{head},\n "results": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    write_whole(path, text.encode())


def read_data(path: Path) -> dict[str, Any]:
    """Read the results of a claim."""
    number = path.stem.removeprefix("claim")
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParseError(
            str(path),
            0,
            0,
            f"cannot be read: {error}; `python -m paper --full {number}` creates it",
        ) from None
    return content


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the house style as SVG."""
    path.write_text(to_svg(figure))


def heat_map(
    values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], title: str
) -> Figure:
    """Numbers in cells, darker for larger numbers, on the scale of the largest."""
    cells = np.array(values, float)
    share = np.clip(cells / max(cells.max(), FLOOR), 0.0, 1.0)
    size = (1.3 + 0.75 * len(columns), 0.9 + 0.45 * len(rows))
    with drawing():
        figure, axes = chart(size, 0.1)
        left = 0.2 + 0.085 * max(map(len, rows))
        axes.set_position(
            (left / size[0], 0.3 / size[1], 1 - (left + 0.1) / size[0], 1 - 0.7 / size[1])
        )
        axes.imshow(share, cmap=BLUES, vmin=0.0, vmax=1.0, aspect="auto")
        for (row, column), value in np.ndenumerate(cells):
            color = PAPER if share[row, column] > 0.65 else INK
            text = f"{value:.2g}" if abs(value) > FLOOR else "0"
            axes.text(column, row, text, ha="center", va="center", color=color, fontsize=9)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        return figure


def log_slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The exponent of the best-fitting power law: the slope on logarithmic axes."""
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def _page(claim: Any, content: dict[str, Any], finding: Finding) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    return (
        f"# {claim.TITLE}\n\n{quoted(finding.verdict)}\n\n"
        f"## What the paper claims\n\n{claim.CLAIM.strip()}\n\n"
        f"## What was measured\n\n{finding.text.strip()}\n\n"
        f"## How to repeat it\n\n`{content['command']}` wrote `paper/data/"
        f"claim{number_of(claim.__name__)}.json` with {versions} on {content['machine']}.\n"
    )


def quoted(text: str) -> str:
    """``text`` as a block quote in Markdown, wrapped like the other prose."""
    return textwrap.fill(text, 98, initial_indent="> ", subsequent_indent="> ")
