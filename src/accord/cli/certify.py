"""``accord certify``: the exact gaps of a policy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from accord._format import denoised, number
from accord.cli.arguments import (
    AsJson,
    GameName,
    PolicyName,
    load_policy_of,
    parse_k,
)
from accord.cli.terminal import announced_compilation, print_json, print_table, print_text
from accord.deviations.notions import written_k

if TYPE_CHECKING:
    from accord.equilibrium.certificate import Certificate, Gap
    from accord.game.tree import Game

SHOWN = (0, 1, math.inf)
"""The K certified by default."""


def certify(
    game: GameName,
    policy: PolicyName,
    k: Annotated[
        list[float] | None,
        typer.Option(
            "-k",
            parser=parse_k,
            metavar="K",
            help="Number of deviations; may be repeated. Default: 0, 1, inf.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the exact gaps of a correlated policy and the deviations that attain them.

    \b
    Examples:
        accord certify kuhn_poker runs/kuhn/policy.npz -k 0 -k 1 -k inf
        accord certify separation:k=1 device -k 1 -k 2
    """
    from accord.equilibrium.certificate import certify as certify_policy
    from accord.interop.load import load_game

    with announced_compilation():
        loaded = load_game(game)
        mixture = load_policy_of(game, loaded, policy)
        certificate = certify_policy(loaded, mixture, list(dict.fromkeys(k or SHOWN)))
    if as_json:
        print_json(certificate.to_json())
        return
    print_text(f"{loaded.name}: {policy}, {mixture.n_components:,} components\n")
    _print(loaded, certificate)


def _print(game: Game, certificate: Certificate) -> None:
    from accord.game.labels import player_name
    from accord.treeplex.form import sequence_form

    spans = sequence_form(game).leaves.payoff_range.tolist()
    gaps = [_without_noise(gap, spans) for gap in certificate.gaps]
    players = [player_name(label) for label in game.player_labels]
    print_table(
        ("K", "gap", "relative", "sum", *players),
        [
            (
                written_k(gap.k),
                number(gap.gap),
                number(gap.relative),
                number(gap.sum),
                *map(number, gap.player_gaps),
            )
            for gap in gaps
        ],
    )
    values = zip(players, map(denoised, certificate.values, spans), strict=True)
    print_text(f"\nvalue: {', '.join(f'{number(value)} for {who}' for who, value in values)}")
    for gap in gaps:
        best = max(gap.witnesses, key=lambda witness: witness.gain)
        print_text(f"K = {written_k(gap.k)}: {best}")
    trigger_gap = denoised(certificate.trigger.gap, max(spans))
    words = f": {certificate.trigger.trigger}" if trigger_gap > 0 else ""
    print_text(f"trigger gap {number(trigger_gap)}{words}")
    if certificate.nfce_gap is None:
        print_text(f"NFCE gap not computed: {certificate.nfce_refusal}")
    else:
        print_text(f"NFCE gap {number(denoised(certificate.nfce_gap, max(spans)))}")


def _without_noise(gap: Gap, spans: list[float]) -> Gap:
    """``gap`` as a table shows it. Witnesses that gain only rounding do not deviate."""
    gains = tuple(map(denoised, gap.player_gaps, spans))
    witnesses = (
        witness if gain else replace(witness, gain=gain, first_deviations=())
        for witness, gain in zip(gap.witnesses, gains, strict=True)
    )
    relative = denoised(gap.relative, 1.0)
    return replace(gap, player_gaps=gains, relative=relative, witnesses=tuple(witnesses))
