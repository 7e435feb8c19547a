"""The frame of all claims: run their tasks, store the data, write the pages.

A claim is a module with

    TITLE     a heading
    CLAIM     what the paper claims, with the name of the theorem, in Markdown
    TASKS     the tasks that measure it, by name; SMALL, a version for the tests that takes seconds
    job(folder, **task)   one measurement; returns JSON
    draw(results, out)    writes out/claimN*.svg; returns the findings, in Markdown, and whether
                          the claim holds, both computed from the results of all tasks
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from accord.equilibrium.files import write_whole
from accord.errors import ParseError
from accord.report.chart import FLOOR, chart, drawing, to_svg
from accord.report.colours import INK, MUTED, PAPER, SERIES
from accord.runs.sweep import sweep

ROOT = Path(__file__).parents[1]
DATA = ROOT / "paper" / "data"
BUILD = ROOT / "build" / "paper"
PAGES = ROOT / "docs" / "paper"

BLUES = LinearSegmentedColormap.from_list("blues", [PAPER, SERIES[0]])

INTRODUCTION = """# The paper, claim by claim

These pages compare the claims of *Sample-Efficient Learning of Correlated Equilibria in
Extensive-Form Games* (Song, Mei, Bai 2022) with measurements. Each page states a claim, shows what
was measured, and says whether the claim holds. The verdicts are computed from the data in
`paper/data`. `make paper` redraws the pages from these data, and `make paper-full` measures
everything again.
"""


class Claim(Protocol):
    """The interface of a claim's module."""

    TITLE: str
    CLAIM: str
    TASKS: dict[str, dict[str, Any]]
    SMALL: dict[str, dict[str, Any]]
    __name__: str

    def job(self, folder: Path, **task: Any) -> dict[str, Any]: ...

    def draw(self, results: dict[str, dict[str, Any]], out: Path) -> tuple[str, bool]: ...


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
    ray: str | None = None,
) -> None:
    """Run ``tasks`` and store their results in ``data``; a stopped run is continued."""
    number = number_of(claim.__name__)
    work = build / f"claim{number}"
    start = time.perf_counter()

    def show(name: str, result: Any) -> None:
        took = time.perf_counter() - start
        print(f"claim {number}, {took:.0f} s: {name}", file=sys.stderr, flush=True)

    results = sweep(claim.job, tasks, work, ray=ray, progress=show)
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
    write_data(data / f"claim{number}.json", about, results)
    shutil.rmtree(work)


def redraw(claims: Mapping[int, Any], data: Path, pages: Path) -> dict[int, bool]:
    """Write the pages of all claims from their data; return whether each claim holds."""
    pages.mkdir(parents=True, exist_ok=True)
    verdicts = {}
    for number, claim in claims.items():
        content = read_data(data / f"claim{number}.json")
        measured, holds = claim.draw(content["results"], pages)
        verdicts[number] = holds
        (pages / f"claim-{number}.md").write_text(_page(claim, content, measured, holds))
    rows = [
        (f"[{claim.TITLE}](claim-{number}.md)", _verdict(verdicts[number]))
        for number, claim in claims.items()
    ]
    (pages / "index.md").write_text(f"{INTRODUCTION}\n{table(('claim', 'verdict'), rows)}\n")
    return verdicts


def write_data(path: Path, about: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Store the results of a claim, one line per task."""
    head = json.dumps(about, indent=1, allow_nan=False).removesuffix("\n}")
    lines = [
        f"  {json.dumps(name)}: {json.dumps(result, allow_nan=False)}"
        for name, result in results.items()
    ]
    text = f'{head},\n "results": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    write_whole(path, lambda file: file.write(text.encode()))


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
            colour = PAPER if share[row, column] > 0.65 else INK
            text = f"{value:.2g}" if abs(value) > FLOOR else "0"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        return figure


def log_slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The exponent of the best-fitting power law: the slope on logarithmic axes."""
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def _page(claim: Any, content: dict[str, Any], measured: str, holds: bool) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    return (
        f"# {claim.TITLE}\n\n**{_verdict(holds)}**\n\n"
        f"## What the paper claims\n\n{claim.CLAIM.strip()}\n\n"
        f"## What was measured\n\n{measured.strip()}\n\n"
        f"## How to repeat it\n\n`{content['command']}` wrote `paper/data/"
        f"claim{number_of(claim.__name__)}.json` with {versions} on {content['machine']}.\n"
    )


def _verdict(holds: bool) -> str:
    return "The claim holds." if holds else "The claim does not hold."
