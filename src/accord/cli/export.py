"""``accord export``: tables and pictures that go into a paper or a spreadsheet unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.arguments import GameOfPolicy, check_target
from accord.cli.device import WRITTEN
from accord.cli.loading import is_policy, load_game, load_given, load_policy, notion_of, run_folder
from accord.cli.terminal import announced_compilation, print_text
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.equilibrium.policy import CorrelatedPolicy
    from accord.game.tree import Game

FORMATS = {
    "device": (".csv", ".tex", ".xlsx", ".json"),
    "policy": (".csv", ".xlsx"),
    "certificate": (".csv", ".tex", ".xlsx", ".json"),
    "history": (".csv", ".xlsx"),
    "tree": (".svg", ".tex"),
    "region": (".svg", ".png", ".pdf"),
}
"""What can be exported, and the endings of its files."""


def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The folder of a run; a .json or .npz policy; or, for a tree or region, a game.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write. Its name says what: device.csv, certificate.tex, tree.svg.",
            show_default=False,
        ),
    ],
    what: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help=f"If the name does not say: {', '.join(FORMATS)}."),
    ] = None,
    game: GameOfPolicy = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write the device, policy, certificate or history of a run, or a picture, to a file.

    \b
    device        .csv .tex .xlsx .json   plans and their probabilities
    policy        .csv .xlsx              probability of each action in each component
    certificate   .csv .tex .xlsx .json   the gap of every notion and player
    history       .csv .xlsx              the gap at every checkpoint of a run
    tree          .svg .tex (TikZ)        the tree of a small game, with probabilities
    region        .svg .png .pdf          payoffs of two players in all equilibria

    Open .xlsx files in spreadsheets. They would take labels in a .csv file that start with = or @
    for formulas. A run in an environment has a policy and a history; the rest needs its game.

    \b
    Examples:
        accord export runs/kuhn device.csv
        accord export runs/kuhn table2.tex --what certificate
        accord export signalling tree.tex
    """
    kind = _kind(target, what)
    check_target(target, force=force)
    with announced_compilation():
        data = EXPORTS[kind](source, game, target.suffix)
        from accord._files import write_whole

        write_whole(target, data)
    print_text(f"{target}: {kind}")


def _kind(target: Path, what: str | None) -> str:
    kind = what or target.stem
    if kind not in FORMATS:
        raise ArgumentError(
            f"the name of FILE must be one of {', '.join(FORMATS)}; got {kind!r}"
            + ("" if what else "; or say what to write, such as --what device")
        )
    if target.suffix not in FORMATS[kind]:
        raise ArgumentError(
            f"a {kind} is written to {', '.join(FORMATS[kind])}; got {str(target)!r}"
        )
    return kind


def _device(source: str, game: str | None, ending: str) -> bytes:
    import json

    device = load_policy(source, game).device(WRITTEN)
    if ending == ".xlsx":
        return _sheet(device.to_frame())
    if ending == ".json":
        return json.dumps(device.to_json(), allow_nan=False).encode()
    return _text(device.to_csv() if ending == ".csv" else device.to_latex())


def _policy(source: str, game: str | None, ending: str) -> bytes:
    if (folder := run_folder(source)) is None:
        return _table(load_policy(source, game).to_frame(), ending)
    from accord.reports.source import read_folder

    return _table(read_folder(folder, load_given(game)).policy.to_frame(), ending)


def _certificate(source: str, game: str | None, ending: str) -> bytes:
    import json

    from accord.certifying.exact import certify
    from accord.exports.latex import certificate_latex

    policy = load_policy(source, game)
    certificate = certify(policy.form.game, policy)
    if ending == ".tex":
        return _text(certificate_latex(certificate))
    if ending == ".json":
        return json.dumps(certificate.to_json(), allow_nan=False).encode()
    return _table(certificate.to_frame(), ending)


def _history(source: str, game: str | None, ending: str) -> bytes:
    from accord.exports.frames import checkpoints_frame
    from accord.reports.source import read_folder

    if (folder := run_folder(source)) is None:
        raise ArgumentError(f"a history belongs to the folder of a run; got {source!r}")
    run = read_folder(folder, load_given(game))
    return _table(checkpoints_frame(run.history, run.policy.player_labels), ending)


def _with_game(source: str, game: str | None) -> tuple[CorrelatedPolicy | None, Game]:
    """A policy and its game, or a game alone."""
    if Path(source).is_dir() or is_policy(source):
        policy = load_policy(source, game)
        return policy, policy.form.game
    return None, load_game(source)


def _region(source: str, game: str | None, ending: str) -> bytes:
    from accord.reports.chart import to_pdf, to_png, to_svg
    from accord.runs.region import region

    figure = region(_with_game(source, game)[1]).plot()
    if ending == ".svg":
        return _text(to_svg(figure))
    return to_png(figure) if ending == ".png" else to_pdf(figure)


def _tree(source: str, game: str | None, ending: str) -> bytes:
    from accord.reports.drawing import game_drawing

    policy, drawn = _with_game(source, game)
    drawing = (
        game_drawing(drawn) if policy is None else game_drawing(drawn, policy, notion_of(source))
    )
    return _text(drawing.svg if ending == ".svg" else drawing.tikz)


EXPORTS: dict[str, Callable[[str, str | None, str], bytes]] = {
    "device": _device,
    "policy": _policy,
    "certificate": _certificate,
    "history": _history,
    "tree": _tree,
    "region": _region,
}


def _table(frame: Any, ending: str) -> bytes:
    if ending == ".xlsx":
        return _sheet(frame)
    from accord.equilibrium.tables import as_csv

    cells = frame.astype(object).where(frame.notna(), None)  # written as nothing
    return _text(as_csv([frame.columns, *cells.itertuples(index=False)]))


def _sheet(frame: Any) -> bytes:
    from accord.exports.frames import to_excel

    return to_excel(frame)


def _text(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
