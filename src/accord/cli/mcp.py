"""``accord mcp``: a seat as tools for agents of language models."""

from __future__ import annotations

from typing import Annotated

import typer

from accord.errors import MissingDependencyError


def mcp(
    url: Annotated[
        str,
        typer.Argument(
            metavar="LINK",
            help="A private link, .../seat/..., or the common one, .../join/CODE.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str,
        typer.Option(metavar="TEXT", help="The name or number that the common link asks for."),
    ] = "",
) -> None:
    """Give an agent of a language model a seat of accord serve, as tools.

    Speaks the Model Context Protocol on standard input and output: rules, situation,
    recommendation, choose, wait and a few more. Tell your agent's program to start this command.

    \b
    Examples:
        accord mcp http://127.0.0.1:8000/join/K7QM2P --name agent-1
    """
    try:
        import mcp as package  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(error.name or "mcp", "mcp") from None

    from accord.serve.client import seat
    from accord.serve.tools import make_tools

    make_tools(seat(url, name)).run("stdio")
