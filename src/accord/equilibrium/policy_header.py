"""The first values of a policy file, and what the readers of all its formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from accord.equilibrium.mixture import Mixture
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import MismatchError, ParseError, PolicyError
from accord.game.tree import Game

FORMAT = "accord-policy"
VERSION, PACKED = 1, 2
"""The version that lists all probabilities, and the one of archives that pack them
(``equilibrium/packing.py``)."""

HEADER = ("format", "version", "game", "digest", "players")
"""The single values at the beginning of a file."""


def header_of(policy: CorrelatedPolicy | Mixture, version: int = VERSION) -> dict[str, Any]:
    """The single values. There is no digest if the game is not known."""
    header: dict[str, Any] = {"format": FORMAT, "version": version}
    if isinstance(policy, Mixture):
        return {**header, "game": policy.name, "players": len(policy.plexes)}
    game = policy.game
    return {**header, "game": game.name, "digest": game.digest, "players": game.n_players}


def check_format(path: Path, content: dict[str, Any], versions: Collection[int]) -> None:
    """Refuse a file of another format, or of a version that is not among these."""
    if content.get("format") != FORMAT or content.get("version") not in versions:
        known = " or ".join(map(str, versions))
        found = f"{content.get('format')!r:.80} and {content.get('version')!r:.80}"
        raise ParseError(
            str(path), 0, 0,
            f'a policy must have "format": "{FORMAT}" and "version": {known}; '
            f"{f'got {found}' if 'format' in content else 'this file has neither'}",
        )  # fmt: skip


def check_header(
    path: Path, content: dict[str, Any], game: Game, versions: Collection[int] = (VERSION,)
) -> None:
    """Refuse a file of another format or game."""
    check_format(path, content, versions)
    if content.get("players") != game.n_players:
        raise MismatchError(
            f"{path} is for {content.get('players')!r:.80} players; {game.name} has "
            f"{game.n_players}"
        )
    digest = content.get("digest")
    if digest is not None and digest != game.digest:
        raise MismatchError(
            f"{path} was made for the game {content.get('game')!r:.80} with digest "
            f"{str(digest)[:12]}; {game.name!r} has digest {game.digest[:12]}; use the game it was "
            "made for"
        )


def named(path: Path, make: Callable[[], CorrelatedPolicy]) -> CorrelatedPolicy:
    """What ``make`` makes; if it is not a policy, the error names the file."""
    try:
        return make()
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def most_common(words: list[str]) -> str:
    """The word that is there most often."""
    return Counter(words).most_common(1)[0][0]


def reason(error: Exception) -> str:
    """Why a file could not be opened or read."""
    return str(getattr(error, "strerror", None) or error)
