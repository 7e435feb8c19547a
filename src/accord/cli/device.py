"""``accord device``: a policy as a table of the actions that it recommends together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord._format import counted, number
from accord.cli.arguments import AsJson, GameOfPolicy, check_target, whole_option
from accord.cli.loading import load_policy, notion_of
from accord.cli.terminal import announced_compilation, line_width, print_json, print_text
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.equilibrium.device import Device
    from accord.equilibrium.policy import CorrelatedPolicy

DEVICE_FORMATS = (".csv", ".tex", ".json")

PRINTED = 20
"""Plans that are printed by default."""

WRITTEN = 1000
"""Plans that are written to a file by default."""


def device(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The folder of a run, a .json or .npz policy, or `device` for the library's "
            "device for GAME.",
            show_default=False,
        ),
    ],
    game: GameOfPolicy = None,
    plans: Annotated[
        int | None,
        whole_option(
            "N",
            f"List the N likeliest plans; by default {PRINTED}, or {WRITTEN} with --out or --json.",
        ),
    ] = None,
    off_path: Annotated[
        bool,
        typer.Option(
            "--off-path", help="Also list what players are told after another player has deviated."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a .csv, .tex or .json file instead of printing the table."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the plans that the mediator may draw: all players' recommendations and their
    probability.

    A plan has the recommendations at the infosets that obedient players reach under it. Where a
    line is blank they do not get there.

    \b
    Examples:
        accord device runs/kuhn
        accord device device --game signalling
        accord device policy.npz --game kuhn_poker --plans 50 --out device.csv
    """
    if out is not None:
        if out.suffix not in DEVICE_FORMATS:
            raise ArgumentError(f"FILE must end in .csv, .tex or .json; got {str(out)!r}")
        check_target(out, force=force)
    most = (PRINTED if out is None and not as_json else WRITTEN) if plans is None else plans
    with announced_compilation():
        policy = load_policy(source, game)
        found = policy.device(most, off_path=off_path)
    if out is not None:
        _write(found, out)
    if as_json:
        print_json(found.to_json())
    elif out is not None:
        print_text(f"{out}: {_counted(found)}")
    else:
        print_text(f"{found.game}: {source}, {policy.size}, {_counted(found)}\n")
        print_text(found.to_text(line_width()))
        _print_notes(found)
        _print_credibility(policy, source)


def _write(found: Device, target: Path) -> None:
    from accord._files import write_whole

    if target.suffix == ".csv":
        text = found.to_csv()
    elif target.suffix == ".tex":
        text = found.to_latex()
    else:
        text = json.dumps(found.to_json(), allow_nan=False)
    write_whole(target, text.encode("utf-8", "backslashreplace"))


def _counted(found: Device) -> str:
    """How many plans there are, or are listed."""
    count = len(found.plans)
    if found.is_complete:
        return counted(count, "plan")
    if not count:
        return "too many plans to list"
    total = number(1.0 - found.rest)
    return f"the {count:,} likeliest plans, with a probability of {total} in total"


def _print_notes(found: Device) -> None:
    if not found.plans:
        print_text(
            "\nThe policy mixes at too many infosets to list its plans. `accord report` shows the "
            "recommendations\nat each infoset of a run."
        )
    if any(any(plan.off_path) for plan in found.plans):
        print_text("\nIn parentheses: told only after another player has deviated.")


def _print_credibility(policy: CorrelatedPolicy, source: str) -> None:
    """Say whether the device is credible, and which threats it needs, if it is an equilibrium."""
    if policy.game is None:
        return
    from accord.certifying.exact import judged_equilibrium

    judged = judged_equilibrium(policy, notion_of(source))
    if judged is not None:
        print_text("\n" + "\n".join(judged.credibility()))
