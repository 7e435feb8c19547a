"""The end of ``solve``, ``learn`` and ``optimize``: the printed result and the exit code."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from accord._format import number
from accord.cli.terminal import INTERRUPTED, print_table, print_text, say

if TYPE_CHECKING:
    from accord.runs.result import Learned, Optimum, Solution


def print_outcome(
    outcome: Solution | Learned | Optimum, title: str, of_what: str, folder: Path | None
) -> None:
    """Print a table of the players, the gap ``of_what``, the best deviation and the files."""
    from accord.treeplex.form import sequence_form

    scale = sequence_form(outcome.game).leaves.loss_scale
    relative = [gap * float(unit) for gap, unit in zip(outcome.player_gaps, scale, strict=True)]
    print_text(f"{title} in {outcome.seconds:.3g} s\n")
    columns = (outcome.game.player_labels, outcome.player_gaps, relative, outcome.values)
    print_table(
        ("player", "gap", "relative", "value"),
        [(label, *map(number, numbers)) for label, *numbers in zip(*columns, strict=True)],
    )
    print_text(f"\ngap {number(outcome.gap)}, {number(max(relative))} of the payoff range{of_what}")
    best = max(outcome.certificate.gaps[0].witnesses, key=lambda witness: witness.gain)
    print_text(f"best deviation from it: {best}")
    if folder is not None:
        names = ", ".join(sorted(path.name for path in folder.iterdir()))
        print_text(f"\nWritten to {folder}: {names}.")


def exit_if_interrupted(
    outcome: Solution | Learned | Optimum, command: str, folder: Path | None
) -> None:
    """Exit if Ctrl-C ended the run; say how to resume it, if there is a folder."""
    if not outcome.interrupted:
        return
    if folder is not None:
        say(f"saved; resume with: accord {command} --resume {shlex.quote(str(folder))}")
    raise typer.Exit(INTERRUPTED)
