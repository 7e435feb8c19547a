"""``accord report``: one run, or several side by side, as a page with plots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accord.cli.arguments import AsJson, GameOfRun
from accord.cli.loading import load_given
from accord.cli.terminal import announced_compilation, print_json, print_text
from accord.errors import ArgumentError

COMPARISON = "comparison.html"


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Folders of runs. Several runs are compared on one page.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page to write. Default: report.html in DIR; for several runs, "
            "comparison.html in the current folder.",
        ),
    ] = None,
    game: GameOfRun = None,
    as_json: AsJson = False,
) -> None:
    """Write a report of a run: one HTML page that needs no network, and plots as PNG and SVG files.

    The page shows the payoffs and the device, then the gaps at several K, the best deviations, the
    recommendations at each infoset, and how the gap converged. For several runs it shows all curves
    in the same plots.

    \b
    Examples:
        accord report runs/kuhn
        accord report runs/kuhn runs/learned --out comparison.html
    """
    if len(set(map(Path.absolute, folders))) < len(folders):
        raise ArgumentError("each DIR must be given once")
    with announced_compilation():
        from accord.reports.write import write_comparison, write_report

        if len(folders) == 1:
            written = write_report(folders[0], out, load_given(game))
        else:
            written = write_comparison(folders, out or Path(COMPARISON), load_given(game))
    if as_json:
        print_json({"files": [str(path) for path in written]})
    else:
        print_text(f"{written[0]}: open it in a browser")
        if len(written) > 1:
            print_text(f"beside it: {', '.join(path.name for path in written[1:])}")
