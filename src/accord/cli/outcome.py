"""The end of ``solve``, ``learn`` and ``optimize``: the printed result and the exit code.

Gaps and payoffs that are only rounding are printed as 0; files and JSON have them as they are.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from accord._format import denoised, number
from accord.cli.terminal import INTERRUPTED, print_table, print_text, say

if TYPE_CHECKING:
    from accord.equilibrium.certificate import Gap
    from accord.runs.result import Learned, Optimum, Solution


def print_outcome(
    outcome: Solution | Learned | Optimum, title: str, of_what: str, folder: Path | None
) -> None:
    """Print a table of the players, the gap ``of_what``, the best deviation and the files."""
    from accord.treeplex.form import sequence_form

    leaves = sequence_form(outcome.game).leaves
    spans = leaves.payoff_range.tolist()
    gaps = list(map(denoised, outcome.player_gaps, spans))
    relative = [gap * unit for gap, unit in zip(gaps, leaves.loss_scale.tolist(), strict=True)]
    values = map(denoised, outcome.values, spans)
    print_text(f"{title} in {outcome.seconds:.3g} s\n")
    columns = (outcome.game.player_labels, gaps, relative, values)
    print_table(
        ("player", "gap", "relative", "value"),
        [(label, *map(number, numbers)) for label, *numbers in zip(*columns, strict=True)],
    )
    print_text(f"\ngap {number(max(gaps))}, {number(max(relative))} of the payoff range{of_what}")
    shown = without_noise(outcome.certificate.gaps[0], spans)
    best = max(shown.witnesses, key=lambda witness: witness.gain)
    print_text(f"best deviation from it: {best}")
    if folder is not None:
        names = ", ".join(sorted(path.name for path in folder.iterdir()))
        print_text(f"\nWritten to {folder}: {names}.")
    else:
        say("Nothing was kept. With --out DIR the run is saved, and can be resumed and reported.")


def without_noise(gap: Gap, spans: list[float]) -> Gap:
    """``gap`` as a table shows it. Witnesses that gain only rounding do not deviate."""
    gains = tuple(map(denoised, gap.player_gaps, spans))
    witnesses = (
        witness if gain else replace(witness, gain=gain, first_deviations=())
        for witness, gain in zip(gap.witnesses, gains, strict=bool(gap.witnesses))
    )
    relative = denoised(gap.relative, 1.0)
    return replace(gap, player_gaps=gains, relative=relative, witnesses=tuple(witnesses))


def exit_if_interrupted(
    outcome: Solution | Learned | Optimum, command: str, folder: Path | None
) -> None:
    """Exit if Ctrl-C ended the run; say how to resume it, if there is a folder."""
    if not outcome.interrupted:
        return
    if folder is not None:
        _say_how_to_resume(command, folder)
    raise typer.Exit(INTERRUPTED)


@contextmanager
def resumable(command: str, folder: Path | None) -> Iterator[None]:
    """Say how to resume the run in ``folder`` if Ctrl-C ends this context."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None and (folder / "run.json").exists():
            _say_how_to_resume(command, folder)
        raise


def _say_how_to_resume(command: str, folder: Path) -> None:
    say(f"saved; resume with: accord {command} --resume {shlex.quote(str(folder))}")
