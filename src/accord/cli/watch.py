"""``accord watch``: a page that follows a run while it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accord.cli.arguments import GameOfRun, whole_option
from accord.cli.loading import load_given
from accord.cli.terminal import announced_compilation, print_text
from accord.errors import ArgumentError


def watch(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The folder of a run.", show_default=False),
    ],
    port: Annotated[
        int,
        whole_option("N", "The port; 0 takes one that is free."),
    ] = 0,
    game: GameOfRun = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> None:
    """Open a page that follows the run in DIR: payoffs, gap and convergence, as they change.

    In an environment it shows episodes and their speed, running values, infosets and memory, and
    at the end the bounds on the gap. Only this computer can open the page. Ctrl-C closes it, and
    the run continues.

    \b
    Example:
        accord watch runs/leduc
    """
    if not 0 <= port < 2**16:
        raise ArgumentError(f"--port must be 0 to 65535; got {port}")
    with announced_compilation():
        from accord.reports.watch import HOST, Watch, server_of

        watched = Watch(folder, load_given(game))
    with server_of(watched, port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        print_text(f"{folder}: follow it at {address} (Ctrl-C ends)")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)
        server.serve_forever()
