"""Reports as files: everything is made first, then each file is written whole."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from accord.equilibrium.files import write_whole
from accord.errors import ArgumentError
from accord.game.tree import Game
from accord.reports import plots
from accord.reports.chart import to_inline, to_png, to_svg
from accord.reports.compare import compare
from accord.reports.page import comparison_page, played_page, run_page, tree_svg
from accord.reports.played import read_played
from accord.reports.region import picture
from accord.reports.source import Source, read_source
from accord.reports.summary import summarise
from accord.reports.view import Axis, Picture, RunView
from accord.runs.activity import doing
from accord.runs.folder import RunFolder
from accord.runs.request import LearnRequest

REPORT = "report.html"


def write_report(folder: Path, out: Path | None = None, game: str | None = None) -> list[Path]:
    """Write the report of the run in ``folder``, and return the files that were written.

    Args:
        folder: The folder of the run.
        out: The page; by default ``report.html`` in the folder. Plots are written beside it.
        game: Where the game is now, if not where the run found it.

    Raises:
        AccordError: If there is no readable run in the folder, or a file cannot be written.
    """
    files = _Files(folder / REPORT if out is None else out, folder if out is None else None)
    run_folder = RunFolder.open(folder)
    request = run_folder.request
    if isinstance(request, LearnRequest) and request.environment is not None:
        return files.write(played_page(read_played(folder, run_folder)))
    source = read_source(folder, game)
    with doing("evaluating the mixture"):
        run = summarise(source)
    with doing("drawing"):
        return _write_page(files, source, run)


def _write_page(files: _Files, source: Source, run: RunView) -> list[Path]:
    learned = run.facts.best is None  # column generation has no curve: its gap is 0 in the end
    convergence = files.add_plot(
        "convergence",
        f"The gap of {run.facts.game} against the length of the run",
        plots.convergence(run) if learned else None,
        plots.convergence(run, narrow=True) if learned else None,
    )
    gaps = files.add_plot(
        "gaps",
        "Each player's gap for each number of deviations",
        plots.gaps_by_k(run),
        plots.gaps_by_k(run, narrow=True),
    )
    own = tuple(source.policy.values()[:2].tolist())
    region = files.add_plot(
        "region",
        f"The payoffs of the first two players in all equilibria of {run.facts.game}",
        None if run.region is None else picture(run.region, marked=own),
        None if run.region is None else picture(run.region, marked=own, narrow=True),
    )
    if run.tree is not None:
        files.content["tree.svg"] = tree_svg(run.tree).encode()
    return files.write(run_page(run, convergence, gaps, region))


def write_comparison(folders: list[Path], out: Path, game: str | None = None) -> list[Path]:
    """Write one page about several runs, with their curves in the same plots."""
    files = _Files(out, None)
    known: dict[str, Game] = {}
    comparison = compare([read_source(folder, game, known).facts for folder in folders])
    drawn: dict[Axis, Picture] = {}
    groups, relative = comparison.groups, comparison.relative
    for axis in comparison.axes:
        picture = files.add_plot(
            axis.value,
            f"The gaps of all runs against {axis.unit}",
            plots.overlay(groups, axis, relative=relative),
            plots.overlay(groups, axis, relative=relative, narrow=True),
        )
        if picture is not None:
            drawn[axis] = picture
    return files.write(comparison_page(comparison, drawn))


class _Files:
    """A page, and the files beside it."""

    def __init__(self, page: Path, folder: Path | None) -> None:
        """Notice before any work that nothing could be written."""
        if page.suffix.lower() not in (".html", ".htm"):
            raise ArgumentError(f"a report must end in .html; got {str(page)!r}")
        if folder is None and not page.absolute().parent.is_dir():
            raise ArgumentError(f"{page} cannot be written: there is no folder {page.parent}")
        self.page = page
        self.content: dict[str, bytes] = {}  # by the end of the file's name

    def add_plot(
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

    def write(self, page: str) -> list[Path]:
        """Write the page and everything beside it."""
        beside = {f"{self.page.stem}-{end}": data for end, data in self.content.items()}
        everything = {self.page.name: page.encode(), **beside}
        return [self._write(name, data) for name, data in everything.items()]

    def _write(self, name: str, data: bytes) -> Path:
        path = self.page.with_name(name)
        write_whole(path, lambda file: file.write(data))
        return path
