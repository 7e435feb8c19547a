"""Reports as files: everything is made first, then each file is written whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accord.equilibrium.files import write_whole
from accord.errors import ArgumentError
from accord.report import plots
from accord.report.compare import compare, comparison_page
from accord.report.page import run_page
from accord.report.runs import read_run
from accord.report.summary import summarise
from accord.report.tree import draw_tree
from accord.report.words import escape

REPORT = "report.html"
MARKED = 0.05
"""Share of a deviation's gain from which on one of its places is marked in the tree."""


def write_report(folder: Path, out: Path | None = None, game: str | None = None) -> list[Path]:
    """Write the report of the run in ``folder``; the files that were written.

    Args:
        folder: Of the run.
        out: The page; by default ``report.html`` in the folder. Plots stand beside it.
        game: Where the game is now, if not where the run found it.

    Raises:
        AccordError: If there is no readable run in the folder, or a file cannot be written.
    """
    page = _checked(folder / REPORT if out is None else out, folder if out is None else None)
    run = read_run(folder, game)
    summary, seen = summarise(run)
    figures = {
        "convergence": (
            plots.convergence,
            f"The gap of {run.game.name} against the length of the run",
        ),
        "gaps": (plots.gaps_by_k, "Each player's gap for each number of deviations"),
    }
    inline: dict[str, str] = {}
    content: dict[str, bytes] = {}
    for name, (draw, label) in figures.items():
        wide, narrow = draw(summary), draw(summary, narrow=True)
        if wide is None or narrow is None:
            continue
        _add(inline, content, name, wide, narrow, label)
    marked = _marked(summary)
    if (tree := draw_tree(seen, marked, standalone=False)) is not None:
        inline["tree"] = tree
        content["tree.svg"] = (draw_tree(seen, marked, standalone=True) or "").encode()
    return _write(page, run_page(summary, inline), content)


def write_comparison(folders: list[Path], out: Path, game: str | None = None) -> list[Path]:
    """Write one page about several runs, with their curves in the same plots."""
    page = _checked(out, None)
    known: dict[str, Any] = {}
    comparison = compare([read_run(folder, game, known) for folder in folders])
    inline: dict[str, str] = {}
    content: dict[str, bytes] = {}
    for x in comparison["axes"]:
        groups = comparison["groups"]
        wide = plots.overlay(groups, x, comparison["unit"])
        narrow = plots.overlay(groups, x, comparison["unit"], narrow=True)
        if wide is not None and narrow is not None:
            _add(inline, content, x, wide, narrow, f"The gaps of all runs against {x}")
    return _write(page, comparison_page(comparison, inline), content)


def _add(
    inline: dict[str, str], content: dict[str, bytes], name: str, wide: Any, narrow: Any, label: str
) -> None:
    svg = plots.to_svg(wide)
    inline[name] = plots.to_inline(svg, name, escape(label))
    inline[f"{name}-narrow"] = plots.to_inline(plots.to_svg(narrow), f"{name}-n", escape(label))
    content[f"{name}.svg"] = svg.encode()
    content[f"{name}.png"] = plots.to_png(wide)


def _marked(summary: dict[str, Any]) -> set[tuple[int, int, int]]:
    """The moves of the best deviation at the run's K, for the tree."""
    own = [d for d in summary["deviations"] if d["k"] == summary["k"] and d["gain"] > 0]
    if not own:
        return set()
    best = max(own, key=lambda deviation: deviation["gain"])
    moves = [(step["infoset"], step["action"]) for step in best["steps"]]
    moves += [(p["x"], p["action"]) for p in best["places"] if p["gain"] > MARKED * best["gain"]]
    return {(best["player"], x, a) for x, a in moves}


def _checked(page: Path, folder: Path | None) -> Path:
    """Notice before any work that nothing could be written."""
    if page.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"a report must end in .html; got {str(page)!r}")
    if folder is None and not page.absolute().parent.is_dir():
        raise ArgumentError(f"{page} cannot be written: there is no folder {page.parent}")
    return page


def _write(page: Path, text: str, content: dict[str, bytes]) -> list[Path]:
    written = []
    everything = {page.name: text.encode(), **{f"{page.stem}-{n}": c for n, c in content.items()}}
    for name, data in everything.items():
        path = page.with_name(name)
        write_whole(path, lambda file, data=data: file.write(data))  # type: ignore[misc]
        written.append(path)
    return written
