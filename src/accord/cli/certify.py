"""``accord certify``: how far a policy is from equilibrium."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.arguments import (
    AsJson,
    GameName,
    PolicyName,
    load_policy_of,
    parse_k,
    written_k,
)
from accord.cli.terminal import (
    announced_compilation,
    number,
    print_json,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from accord.equilibrium.certificate import Certificate
    from accord.game.tree import Game

SHOWN = (0, 1, math.inf)
"""The numbers of deviations certified by default."""


def certify(
    game: GameName,
    policy: PolicyName,
    k: Annotated[
        list[float] | None,
        typer.Option(
            "-k",
            parser=parse_k,
            metavar="K",
            help="Deviations; may be repeated; by default 0, 1, inf.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the exact gaps of a correlated policy, and the deviations that attain them.

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
    players = [f"player {label}" for label in game.player_labels]
    print_table(
        ("K", "gap", "relative", "sum", *players),
        [
            (
                written_k(gap.k),
                number(gap.gap),
                number(gap.relative),
                number(gap.sum),
                *map(number, gap.players),
            )
            for gap in certificate.gaps
        ],
    )
    values = zip(players, certificate.values, strict=True)
    print_text(f"\nvalue: {', '.join(f'{number(value)} for {who}' for who, value in values)}")
    for gap in certificate.gaps:
        best = max(gap.witnesses, key=lambda witness: witness.gain)
        print_text(f"K = {written_k(gap.k)}: {best}")
    trigger = certificate.trigger
    words = f": {trigger.trigger}" if trigger.gap > 0 else ""
    print_text(f"trigger gap {number(trigger.gap)}{words}")
    if certificate.nfce_gap is None:
        print_text(f"NFCE gap not computed: {certificate.nfce_refusal}")
    else:
        print_text(f"NFCE gap {number(certificate.nfce_gap)}")
