"""The end of ``solve``, ``learn`` and ``optimize``: the printed result and the exit code.

Rounding errors are mentioned where they are not negligible beside the number.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from accord._format import counted, fraction, number
from accord.cli.terminal import INTERRUPTED, print_table, print_text, say

if TYPE_CHECKING:
    from accord.runs.result import Learned, Optimum, Solution


def print_outcome(
    outcome: Solution | Learned | Optimum,
    title: str,
    of_what: str,
    folder: Path | None,
    device: str | None = None,
    last: str | None = None,
) -> None:
    """Print the players, the device, the gap ``of_what``, the best deviation, what else there is to
    say in the ``last`` line, and the files."""
    from accord.equilibrium.rounding import is_accurate
    from accord.treeplex.form import sequence_form

    assert outcome.game is not None and outcome.certificate is not None
    scale = sequence_form(outcome.game).leaves.loss_scale.tolist()
    relative = [gap * unit for gap, unit in zip(outcome.player_gaps, scale, strict=True)]
    print_text(f"{title} in {outcome.seconds:.3g} s\n")
    columns = (outcome.game.player_labels, outcome.player_gaps, relative, outcome.values)
    rows = [(label, *map(number, numbers)) for label, *numbers in zip(*columns, strict=True)]
    rational = getattr(outcome, "rational", None)
    if rational is not None:
        rows = [(*row[:3], fraction(u)) for row, u in zip(rows, rational.payoffs, strict=True)]
    print_table(("player", "gap", "relative", "value"), rows)
    if device is not None:
        print_text(f"\n{device}")
    print_text(
        f"\ngap {number(outcome.gap)}{within(outcome.gap, outcome.error)}, "
        f"{number(max(relative))} of the payoff range{of_what}"
    )
    if not is_accurate(max(map(abs, outcome.values)) or outcome.gap, outcome.value_error):
        print_text(f"values are exact to within {outcome.value_error:.2g}")
    witnesses = outcome.certificate.all_gaps[0].witnesses  # the gap of an NFCE has none
    best = max(witnesses, key=lambda witness: witness.gain, default=None)
    if best is not None and best.gain > 0:
        print_text(f"best deviation from it: {best}")
    elif best is not None or outcome.gap <= 0:
        print_text(f"{outcome.certificate.nobody_gains()} from it")
    if credibility := outcome.certificate.credibility():
        print_text("\n".join(credibility))
    if last is not None:
        print_text(last)
    _print_files(folder)


def _print_files(folder: Path | None) -> None:
    if folder is not None:
        from accord.runs.folder import FILES

        names = [name for name in sorted(FILES) if (folder / name).exists()]
        print_text(f"\nWritten to {folder}: {', '.join(names)}.")
    else:
        say("Nothing was kept. With --out DIR the run is saved, and can be resumed and reported.")


def print_bounds(learned: Learned, folder: Path | None) -> None:
    """Print what was learned in an environment: values, and bounds on the gap from fresh plays."""
    from accord.certifying.certificate import FAMILIAR, coverage_advice

    policy = learned.policy
    infosets = sum(plex.n_infosets for plex in policy.plexes)
    print_text(
        f"{learned.name}: {learned.request.notion} learned by {learned.method} from "
        f"{played(learned)} in "
        f"{learned.seconds:.3g} s; {counted(infosets, 'infoset')} seen, "
        f"{counted(policy.n_components, 'policy')} saved"
    )
    if learned.coverage is not None:
        print_text(
            f"{learned.coverage:.0%} of the decisions in fresh plays are at infosets seen before"
        )
    if learned.is_full:
        print_text(
            "the tables were full: infosets that were new then were not learned; give more --memory"
        )
    if learned.bounds_estimated and learned.payoff_bounds is not None:
        pairs = zip(policy.player_labels, learned.payoff_bounds, strict=True)
        shown = (f"{name} {number(worst)} to {number(best)}" for name, (worst, best) in pairs)
        print_text(f"payoff bounds, estimated from plays: {', '.join(shown)}")
    print_text("")
    certificate, margins = learned.certificate, learned.margins
    assert margins is not None
    bounds = [("", "")] * len(learned.values)
    if certificate is not None:
        gap = certificate[learned.notion]
        ends = zip(gap.player_lower, gap.player_upper, strict=True)
        bounds = [(number(lower), number(upper)) for lower, upper in ends]
    print_table(
        ("player", "value", "+-", "gap at least", "at most"),
        [
            (label, number(value), number(margin), *pair)
            for label, value, margin, pair in zip(
                policy.player_labels, learned.values, margins, bounds, strict=True
            )
        ],
    )
    print_text(f"\n{certificate or f'no bounds on the gap: {learned.refusal}'}")
    if certificate is None and learned.coverage is not None and learned.coverage < FAMILIAR:
        print_text(coverage_advice(learned.coverage))
    if advice := joint_advice(learned):
        print_text(advice)
    _print_files(folder)


def joint_advice(learned: Learned) -> str | None:
    """That joint plays would serve better, with the option to give."""
    return None if learned.advice is None else f"{learned.advice} (--feedback joint)"


def played(learned: Learned) -> str:
    """What was played, in words."""
    if learned.request.is_joint:
        return counted(learned.episodes, "joint play")
    episodes, iterations = learned.episodes, learned.iterations
    return f"{counted(episodes, 'episode')}, {counted(iterations, 'iteration')}"


def within(gap: float, error: float) -> str:
    """The error of a gap in words; nothing if it is negligible beside the gap."""
    from accord.equilibrium.rounding import is_accurate

    return "" if is_accurate(gap, error) else f" to within {error:.2g}"


def exit_if_interrupted(
    outcome: Solution | Learned | Optimum,
    command: str,
    folder: Path | None,
    game: str | None,
) -> None:
    """Exit if Ctrl-C ended the run; say how to resume it, if there is a folder."""
    if not outcome.interrupted:
        return
    if folder is not None:
        _say_how_to_resume(command, folder, game)
    raise typer.Exit(INTERRUPTED)


@contextmanager
def resumable(command: str, folder: Path | None, game: str | None) -> Iterator[None]:
    """Say how to resume the run in ``folder`` if Ctrl-C ends this context."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None and (folder / "run.json").exists():
            _say_how_to_resume(command, folder, game)
        raise


def _say_how_to_resume(command: str, folder: Path, game: str | None) -> None:
    from accord.interop.python_files import names_python

    words = ["accord", command, "--resume", str(folder)]
    if game is not None and names_python(game):  # a folder cannot make it run
        words.insert(2, game)
    say(f"saved; resume with: {shlex.join(words)}")
