"""Reports as pages and files: everything is made first, then each file is written whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from markupsafe import escape
from matplotlib.figure import Figure

from accord._activity import doing
from accord._files import write_whole
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.reports import plots
from accord.reports.chart import to_inline, to_pdf, to_png, to_svg
from accord.reports.compare import compare
from accord.reports.curve import curve_page, drawn_curve
from accord.reports.page import comparison_page, run_page, tree_svg
from accord.reports.region import picture
from accord.reports.source import Result, Source, read_source, source_of_result
from accord.reports.summary import optimum_row, summarize
from accord.reports.touch import region_data, region_page, touchable
from accord.reports.view import Axis, Picture, RunView
from accord.runs.curve import Curve
from accord.runs.region import Region
from accord.runs.result import Learned, Optimum, Solution

REPORT = "report.html"


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a run, and its plots. Made by :func:`report`; a notebook shows the page."""

    title: str
    html: str
    beside: dict[str, bytes]  # plots by the ends of the names of their files

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the page to an ``.html`` file and the plots beside it; return all these files."""
        page = _checked(Path(path))
        beside = {f"{page.stem}-{end}": data for end, data in self.beside.items()}
        everything = {page.name: self.html.encode(), **beside}
        return [_write(page.with_name(name), data) for name, data in everything.items()]

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self.html):,} characters)"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'style="width: 100%; height: 40rem; border: 1px solid #8888"></iframe>'
        )


def report(result: Result) -> Report:
    """A page about a result, with its device, gaps, best deviations and plots.

    If the game is not known, it has bounds on the gap and mean recommendations instead.

        accord.report(solution).save("report.html")

    The page needs no network. ``accord report`` writes the same page about a run in a folder.

    Args:
        result: What ``solve``, ``learn`` or ``optimize`` returned.

    Raises:
        ArgumentError: If it is something else.
    """
    if not isinstance(result, (Solution, Learned, Optimum)):
        raise ArgumentError(
            "a report must be about one result of solve, learn or optimize; got "
            f"{result!r}; for several runs, give them folders and use the command accord report"
        )
    return run_report(source_of_result(result))


def write_report(folder: Path, out: Path | None = None, game: Game | None = None) -> list[Path]:
    """Write the report of the run in ``folder``, and return the files that were written.

    Args:
        folder: The folder of the run.
        out: The page; by default ``report.html`` in the folder. Plots are written beside it.
        game: The game, if it is not where the run found it.

    Raises:
        AccordError: If there is no readable run in the folder, or a file cannot be written.
    """
    page = folder / REPORT if out is None else _checked(out)
    return run_report(read_source(folder, game)).save(page)


def run_report(source: Source) -> Report:
    """The page of one run."""
    with doing("evaluating the mixture"):
        run = summarize(source)
    with doing("drawing"):
        return _drawn(source, run)


def _drawn(source: Source, run: RunView) -> Report:
    files = _Plots()
    # Column generation has no curve, since its gap is 0 in the end; nor has one checkpoint.
    facts = run.facts
    curved = facts.best is None and max(len(facts.history), len(facts.learning)) > 1
    what = "gap" if facts.knows_game else "values and coverage"
    convergence = files.add(
        "convergence",
        f"The {what} of {facts.game} against the length of the run",
        plots.convergence(run) if curved else None,
        plots.convergence(run, narrow=True) if curved else None,
    )
    gaps = files.add(
        "gaps",
        "Each player's gap for each number of deviations",
        plots.gaps_by_k(run),
        plots.gaps_by_k(run, narrow=True),
    )
    region, touch = None, None
    if run.region is not None:
        own = (run.players[0].value, run.players[1].value)
        wide, narrow = (picture(run.region, marked=own, narrow=slim) for slim in (False, True))
        label = f"The payoffs of the first two players in all equilibria of {run.facts.game}"
        files.add("region", label, wide, narrow)
        region, touch = touchable(wide, narrow, label, run.region), region_data(run.region)
    if run.tree is not None:
        files.content["tree.svg"] = tree_svg(run.tree).encode()
    page = run_page(run, convergence, gaps, region, touch)
    return Report(f"{run.facts.game}: {run.facts.notion}", page, files.content)


def write_region(found: Region, path: Path) -> None:
    """Draw a region into an SVG, PNG or PDF file, or a page, as the name of the file says."""
    suffix = path.suffix.lower()
    if suffix == ".html":
        data = region_page(found).encode()
    elif suffix == ".svg":
        data = to_svg(picture(found)).encode()
    else:
        data = to_png(picture(found)) if suffix == ".png" else to_pdf(picture(found))
    _write(path, data)


def write_curve(found: Curve, folder: Path) -> None:
    """Draw a curve into the folder: ``curve.svg``, and ``curve.html`` with the devices."""
    _write(folder / "curve.svg", to_svg(drawn_curve(found)).encode())
    _write(folder / "curve.html", curve_page(found).encode())


def write_comparison(folders: list[Path], out: Path, game: Game | None = None) -> list[Path]:
    """Write one page about several runs, with their curves in the same plots."""
    _checked(out)
    files = _Plots()
    known: dict[str, Game] = {}
    sources = [read_source(folder, game, known) for folder in folders]
    optima = [optimum_row(source) for source in sources if source.facts.best is not None]
    comparison = compare([source.facts for source in sources], optima)
    drawn: dict[Axis, Picture] = {}
    groups, relative = comparison.groups, comparison.relative
    for axis in () if comparison.is_of_optima else comparison.axes:
        picture = files.add(
            axis.value,
            f"The gaps of all runs against {axis.unit}",
            plots.overlay(groups, axis, relative=relative),
            plots.overlay(groups, axis, relative=relative, narrow=True),
        )
        if picture is not None:
            drawn[axis] = picture
    bounds = files.add(
        "bounds",
        "The bounds on the gaps of all runs in environments against their episodes",
        plots.bounds_by_play(groups),
        plots.bounds_by_play(groups, narrow=True),
    )
    page = comparison_page(comparison, drawn, bounds)
    return Report("Comparison", page, files.content).save(out)


class _Plots:
    """The plots of a page, as files and as elements of the page."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}  # by the end of the file's name

    def add(
        self, name: str, label: str, wide: Figure | None, narrow: Figure | None
    ) -> Picture | None:
        """A plot as two files, and for the page; None if there is nothing to draw.

        Args:
            name: The end of the files' names.
            label: What the plot shows, for readers who cannot see it.
            wide: The plot for files and for screens.
            narrow: The same plot for phones.
        """
        if wide is None or narrow is None:
            return None
        svg = to_svg(wide)
        self.content[f"{name}.svg"] = svg.encode()
        self.content[f"{name}.png"] = to_png(wide)
        return Picture(
            wide=to_inline(svg, name, label),
            narrow=to_inline(to_svg(narrow), f"{name}-n", label),
        )


def _checked(page: Path) -> Path:
    """Notice before any work that nothing could be written."""
    if page.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"a report must end in .html; got {str(page)!r}")
    if not page.absolute().parent.is_dir():
        raise ArgumentError(f"{page} cannot be written: there is no folder {page.parent}")
    return page


def _write(path: Path, data: bytes) -> Path:
    write_whole(path, data)
    return path
