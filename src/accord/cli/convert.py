"""``accord convert``: games and policies to other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accord.cli.arguments import GameOfPolicy, check_target
from accord.cli.loading import POLICY_FORMS, is_policy, load_game, load_policy
from accord.cli.terminal import announced_compilation, print_text
from accord.errors import ArgumentError

GAMES, POLICIES = (".efg", ".nfg", ".py"), (".json", ".npz")
TABLES = (".csv", ".tex", ".xlsx", ".svg")


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A game, or a policy: the folder of a run, a .json or .npz file, or `device`.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET",
            help="A .efg, .nfg or .py file for a game; a .json or .npz file for a policy.",
        ),
    ],
    game: GameOfPolicy = None,
    force: Annotated[bool, typer.Option("--force", help="Replace TARGET if it exists.")] = False,
) -> None:
    """Write a game as a Gambit .efg or .nfg file or as Python code, or a policy as .json or .npz.

    A .nfg file has the strategic form. The code builds the game with a GameBuilder.

    \b
    Examples:
        accord convert "kuhn_poker(players=3)" kuhn3.efg
        accord convert runs/kuhn kuhn.json
        accord convert policy.npz policy.json --game kuhn_poker
    """
    if target.suffix not in (*GAMES, *POLICIES):
        tables = "; accord export writes tables and pictures" if target.suffix in TABLES else ""
        raise ArgumentError(
            f"TARGET must end in {', '.join(GAMES)} (a game) or in .json or .npz (a policy); got "
            f"{str(target)!r}{tables}"
        )
    check_target(target, force=force)
    with announced_compilation():
        if target.suffix in GAMES:
            what = _convert_game(source, target)
        else:
            what = _convert_policy(source, target, game)
    print_text(f"{target}: {what}")


def _convert_game(source: str, target: Path) -> str:
    from accord.interop.save import save_game

    if is_policy(source):
        raise ArgumentError(f"{source} is a policy; TARGET must be a .json or .npz file")
    game = load_game(source)
    save_game(game, target)
    return f"{game.name}, {game.n_nodes:,} nodes"


def _convert_policy(source: str, target: Path, game: str | None) -> str:
    from accord.equilibrium.policy_files import save_policy

    if not is_policy(source) and not Path(source).is_dir():
        raise ArgumentError(
            f"{source} is not {POLICY_FORMS}; the TARGET of a game must end in .efg, .nfg or .py"
        )
    policy = load_policy(source, game)
    save_policy(policy, target)
    return f"policy of {policy.form.game.name}, {policy.size}"
