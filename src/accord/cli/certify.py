"""``accord certify``: the exact gaps of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import counted, number
from accord.cli.arguments import (
    AsJson,
    Payoffs,
    Play,
    PlayableOrRun,
    PolicyName,
    Ray,
    Workers,
    notion_option,
    parse_number,
    parse_whole,
    refuse_for_games,
)
from accord.cli.loading import (
    game_and_policy,
    load_playable,
    load_playable_of,
    load_policy,
    run_folder,
)
from accord.cli.outcome import within
from accord.cli.terminal import announced_compilation, print_json, print_table, print_text
from accord.deviations.notions import NFCE, Notion, chains, written_k
from accord.errors import ArgumentError

if TYPE_CHECKING:
    from accord.certifying.certificate import Certificate
    from accord.game.tree import Game


def certify(
    game: PlayableOrRun,
    policy: PolicyName = None,
    k: Annotated[
        list[Notion] | None,
        notion_option(
            "Number of deviations, or one of nfcce, efcce, efce, afcce, afce, bce, nfce; may be "
            "repeated. By default all of them and K = 2 in a small game, and 0, 1, inf in a large "
            "one."
        ),
    ] = None,
    plays: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="For an environment: bound the gap from N fresh plays; by default 20000.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            parser=parse_number,
            metavar="P",
            help="For an environment: the probability with which the bounds hold; by default 0.95.",
            show_default=False,
        ),
    ] = None,
    play: Play = False,
    payoffs: Payoffs = None,
    workers: Workers = None,
    ray: Ray = None,
    as_json: AsJson = False,
) -> None:
    """Print the exact gaps of a correlated policy and the deviations that attain them.

    For an environment, FILE.py:NAME or MODULE:NAME, or with --play an OpenSpiel game, print bounds
    on the gap that hold with the stated probability.

    \b
    Examples:
        accord certify runs/kuhn
        accord certify kuhn_poker policy.npz -k 0 -k 1 -k inf
        accord certify separation:k=1 device -k 1 -k 2
        accord certify greenwald_sarfati_1 device --notion efcce --notion afce
        accord certify env.py:make_env runs/env -k 1 --plays 10000
    """
    name, policy = game_and_policy(game, policy)
    with announced_compilation():
        if (folder := run_folder(policy)) is not None:
            made, record = load_playable_of(folder, name, play=play, payoffs=payoffs)
        else:
            assert name is not None
            made, record = load_playable(name, play=play, payoffs=payoffs)
    if record is not None:
        asked = {
            "plays": 20_000 if plays is None else plays,
            "confidence": 0.95 if confidence is None else confidence,
            "workers": workers,
            "ray": ray,
        }
        _by_play(made, policy, k, asked, as_json=as_json)
        return
    refuse_for_games(workers=workers, ray=ray)
    if plays is not None or confidence is not None:
        raise ArgumentError(
            "--plays and --confidence are for environments; the gap of a loaded game is exact"
        )

    from accord._activity import doing
    from accord.certifying.exact import certify as certify_policy

    with announced_compilation():
        mixture = load_policy(policy, made)
        with doing("certifying"):
            certificate = certify_policy(made, mixture, k or None)
    if as_json:
        print_json(certificate.to_json())
        return
    print_text(f"{made.name}: {policy}, {counted(mixture.n_components, 'component')}\n")
    _print(made, certificate, show_nfce=not k or NFCE in k)


def _by_play(
    env: Any,
    policy: str,
    notions: list[Notion] | None,
    asked: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    from accord.certifying.by_play import certify_by_play
    from accord.equilibrium.policy_files import load_policy

    ks = [notion.k for notion in notions or [Notion(1)]]
    if None in ks:
        raise ArgumentError("in an environment the notion must be a K: 0, 1, ..., inf")
    folder = run_folder(policy)
    with announced_compilation():
        mixture = load_policy(policy if folder is None else folder / "policy.npz")
        certificates = [certify_by_play(env, mixture, k, **asked) for k in ks if k is not None]
    if as_json:
        print_json({"certificates": [certificate.to_json() for certificate in certificates]})
        return
    print_text("\n".join(map(str, certificates)))


def _print(game: Game, certificate: Certificate, *, show_nfce: bool) -> None:
    from accord.game.labels import player_name

    gaps = certificate.all_gaps if show_nfce else certificate.gaps
    players = [player_name(label) for label in game.player_labels]
    print_table(
        ("notion", "K", "gap", "relative", "sum", *players),
        [
            (
                gap.notion.name,
                "" if gap.k is None else written_k(gap.k),
                number(gap.gap),
                number(gap.relative),
                number(gap.sum),
                *map(number, gap.player_gaps),
            )
            for gap in gaps
        ],
        left=2,
    )
    for chain in chains(gap.notion for gap in gaps):
        print_text(f"in every game {' <= '.join(map(str, chain))}")
    print_text(f"exact{within(0.0, max((gap.error for gap in gaps), default=0.0))}")
    values = zip(players, certificate.values, strict=True)
    print_text(f"\nvalue: {', '.join(f'{number(value)} for {who}' for who, value in values)}")
    said: dict[str, list[str]] = {}  # notions with the same best deviation share a line
    for gap in gaps:
        if gap.witnesses:
            best = max(gap.witnesses, key=lambda witness: witness.gain)
            words = str(best) if best.gain > 0 else "no player can gain by deviating"
            said.setdefault(words, []).append(gap.notion.name)
    for words, names in said.items():
        print_text(f"{', '.join(names)}: {words}")
    trigger_gap = certificate.trigger.gap
    words = f": {certificate.trigger.trigger}" if trigger_gap > 0 else ""
    print_text(f"trigger gap {number(trigger_gap)}{words}")
    if certificate.nfce_gap is None:
        print_text(f"NFCE gap not computed: {certificate.nfce_refusal}")
    elif not show_nfce:
        print_text(f"NFCE gap {number(certificate.nfce_gap)}")
