"""``accord certify``: the exact gaps of a policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import number
from accord.cli.arguments import (
    AsJson,
    History,
    Payoffs,
    Play,
    PlayableOrRun,
    PolicyName,
    Ray,
    StepSeconds,
    Workers,
    choice,
    notion_option,
    parse_memory,
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
from accord.deviations.notions import EFCE, NFCE, Notion, chains, written_k
from accord.errors import ArgumentError
from accord.play.feedback import FEEDBACKS, OWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.certifying.certificate import Certificate, Gap
    from accord.game.tree import Game


def certify(
    game: PlayableOrRun,
    policy: PolicyName = None,
    k: Annotated[
        list[Notion] | None,
        notion_option(
            "Number of deviations, or one of nfcce, efcce, efce, afcce, afce, bce, lce, nfce; "
            "may be repeated. By default all of them and K = 2 in a small game, and 0, 1, inf in a "
            "large one."
        ),
    ] = None,
    plays: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="N",
            help="For an environment: bound the gap from N fresh plays for each -k; by default "
            "20000.",
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
    feedback: Annotated[
        str,
        choice(
            FEEDBACKS,
            "For an environment: what is used of a play, the moves of one player at a time (own) "
            "or of all of them (joint), which bounds the gap from above much better.",
        ),
    ] = OWN,
    tremble: Annotated[
        float,
        typer.Option(
            parser=parse_number,
            metavar="E",
            help="Also measure the gaps against others who at each infoset, with probability E, "
            "take an action at random: would advice after such a slip be obeyed?",
            show_default=False,
        ),
    ] = 0.0,
    commits: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLAYER",
            help="A player who commits to what is recommended, so that their gap counts as 0; may "
            "be repeated. By default those who commit in the run.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="S",
            help="For an environment: the seed of the plays; by default 0. They are not the plays "
            "of a run with this seed.",
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            parser=parse_memory,
            metavar="SIZE",
            help="For an environment: memory beside the policy, such as 2GB; if the sums for the "
            "upper bound do not fit, it is the trivial one. By default all that is free.",
            show_default=False,
        ),
    ] = None,
    play: Play = False,
    history: History = False,
    payoffs: Payoffs = None,
    workers: Workers = None,
    ray: Ray = None,
    step_seconds: StepSeconds = None,
    as_json: AsJson = False,
) -> None:
    """Print the exact gaps of a correlated policy and the deviations that attain them.

    For an environment, FILE.py:NAME or MODULE:NAME, or with --play an OpenSpiel game, print bounds
    on the gap that hold with the stated probability, for all -k together.

    \b
    Examples:
        accord certify runs/kuhn
        accord certify kuhn_poker policy.npz -k 0 -k 1 -k inf
        accord certify separation:k=1 device -k 1 -k 2
        accord certify greenwald_sarfati_1 device --notion efcce --notion afce
        accord certify signalling device -k 1 --tremble 0.01
        accord certify env.py:make_env runs/env -k 1 --plays 10000
    """
    name, policy = game_and_policy(game, policy)
    how: dict[str, Any] = {
        "play": play, "history": history, "payoffs": payoffs, "step_seconds": step_seconds,
    }  # fmt: skip
    with announced_compilation():
        if (folder := run_folder(policy)) is not None:
            made, record = load_playable_of(folder, name, **how)
        else:
            assert name is not None
            made, record = load_playable(name, **how)
    if record is not None:
        if tremble:
            raise ArgumentError("--tremble needs a loaded game: plays cannot tell who has slipped")
        if commits:
            raise ArgumentError("--commits needs a loaded game")
        asked = {
            "plays": 20_000 if plays is None else plays,
            "confidence": 0.95 if confidence is None else confidence,
            "seed": 0 if seed is None else seed,
            "workers": workers,
            "ray": ray,
            "feedback": feedback,
            "memory": memory,
        }
        _by_play(made, policy, k, asked, as_json=as_json)
        return
    refuse_for_games(workers=workers, ray=ray, memory=memory)
    if plays is not None or confidence is not None or seed is not None or feedback != OWN:
        raise ArgumentError(
            "--plays, --confidence, --seed and --feedback are for environments; the gap of a "
            "loaded game is exact"
        )

    from accord._activity import doing
    from accord.certifying.exact import certify as certify_policy
    from accord.runs.folder import RunFolder
    from accord.runs.request import commits_of

    with announced_compilation():
        mixture = load_policy(policy, made)
        with doing("certifying"):
            if commits is None and folder is not None:
                commits = list(commits_of(RunFolder.open(folder).request))
            certificate = certify_policy(
                made, mixture, k or None, tremble=tremble, commits=commits or ()
            )
    if as_json:
        print_json(certificate.to_json())
        return
    print_text(f"{made.name}: {policy}, {mixture.size}\n")
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

    folder = run_folder(policy)
    with announced_compilation():
        mixture = load_policy(policy if folder is None else folder / "policy.npz")
        certificate = certify_by_play(env, mixture, notions or [EFCE], **asked)
    if as_json:
        print_json(certificate.to_json())
        return
    print_text(str(certificate))


def _print(game: Game, certificate: Certificate, *, show_nfce: bool) -> None:
    from accord.game.labels import player_name

    gaps = certificate.all_gaps if show_nfce else certificate.gaps
    players = [player_name(label) for label in game.player_labels]
    _print_gaps(players, gaps)
    for chain in chains(gap.notion for gap in gaps):
        print_text(f"in every game {' <= '.join(map(str, chain))}")
    print_text(f"exact{within(0.0, max((gap.error for gap in gaps), default=0.0))}")
    values = zip(players, certificate.values, strict=True)
    print_text(f"\nvalue: {', '.join(f'{number(value)} for {who}' for who, value in values)}")
    said: dict[str, list[str]] = {}  # notions with the same best deviation share a line
    for gap in gaps:
        if gap.witnesses:
            best = max(gap.witnesses, key=lambda witness: witness.gain)
            words = str(best) if best.gain > 0 else certificate.nobody_gains()
            said.setdefault(words, []).append(gap.notion.name)
    for words, names in said.items():
        print_text(f"{', '.join(names)}: {words}")
    trigger_gap = certificate.trigger.gap
    words = f": {certificate.trigger.trigger}" if trigger_gap > 0 else ""
    if math.isnan(trigger_gap):
        print_text("trigger gap not computed: there are too many triggers")
    else:
        print_text(f"trigger gap {number(trigger_gap)}{words}")
    if certificate.nfce_gap is None:
        print_text(f"NFCE gap not computed: {certificate.nfce_refusal}")
    elif not show_nfce:
        print_text(f"NFCE gap {number(certificate.nfce_gap)}")
    if certificate.trembled:
        print_text(f"\nif each move of the others slips with probability {certificate.tremble:g}:")
        _print_gaps(players, certificate.trembled)
        print_text("\n".join(certificate.credibility()))


def _print_gaps(players: list[str], gaps: Sequence[Gap]) -> None:
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
