"""What all formats of policy files share: the single values, and whose policy it is.

A file of a policy whose game is known has the game's digest. Any other file has ``trees``, an
object per player with the names of the player, the infosets and the actions, and ``parent_seq``,
for each infoset the player's last sequence before it. So it can be read without a game.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, MismatchError, ParseError, PolicyError
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

FORMAT, VERSION = "accord-policy", 1

HEADER = ("format", "version", "game", "digest", "players")
"""The single values at the beginning of a file."""

TREES = "trees"


def header_of(policy: CorrelatedPolicy) -> dict[str, Any]:
    """The single values. There is no digest if the game is not known."""
    digest = {} if policy.game is None else {"digest": policy.game.digest}
    head = {"format": FORMAT, "version": VERSION, "game": policy.name}
    return {**head, **digest, "players": len(policy.plexes)}


def trees_of(policy: CorrelatedPolicy) -> list[dict[str, Any]] | None:
    """The players' treeplexes in plain lists; None if the game is known."""
    if policy.game is not None:
        return None
    return [
        {
            "player": label,
            "infosets": list(plex.infoset_labels),
            "actions": [list(actions) for actions in plex.action_labels],
            "parent_seq": plex.parent_seq.tolist(),
        }
        for label, plex in zip(policy.player_labels, policy.plexes, strict=True)
    ]


class Players(NamedTuple):
    """The players whose policy is in a file: those of the file's trees, or else of the game."""

    path: Path
    name: str  # of the game or environment
    game: Game | None
    player_labels: tuple[str, ...]
    plexes: tuple[Treeplex, ...]
    has_trees: bool

    @classmethod
    def of(cls, path: Path, header: dict[str, Any], trees: Any, game: Game | None) -> Players:
        """Check the single values of a file, and find out whose policy it has.

        Raises:
            ParseError: If the file has another format.
            MismatchError: If it was made for another game.
            ArgumentError: If it can only be read with its game, and ``game`` is None.
        """
        if header.get("format") != FORMAT or header.get("version") != VERSION:
            found = f"{header.get('format')!r:.80} and {header.get('version')!r:.80}"
            raise ParseError(
                str(path), 0, 0,
                f'a policy must have "format": "{FORMAT}" and "version": {VERSION}; '
                f"{f'got {found}' if 'format' in header else 'this file has neither'}",
            )  # fmt: skip
        if game is not None:
            _check_game(path, header, game)
        if trees is not None:
            labels, plexes = _parsed_trees(path, trees)
            return cls(path, str(header.get("game", "")), game, labels, plexes, True)
        if game is None:
            raise ArgumentError(
                f"{path} is the policy of a game, without the treeplexes of an environment; give "
                "the game too: load_policy(path, game)"
            )
        plexes = sequence_form(game).plexes
        return cls(path, game.name, game, game.player_labels, plexes, False)

    def policy(self, weights: Floats, behavior: Floats) -> CorrelatedPolicy:
        """The policy with these components, in the game if there is one.

        Raises:
            PolicyError: If they are not probabilities; the message names the file and the place.
            MismatchError: If the game lacks an infoset of the file.
        """
        behavior.flags.writeable = False  # nobody else has it
        try:
            if not self.has_trees:
                return CorrelatedPolicy(self.game, weights, behavior)
            policy = CorrelatedPolicy.of_players(
                self.name, self.player_labels, self.plexes, weights, behavior
            )
            return policy if self.game is None else policy.in_game(self.game)
        except (PolicyError, MismatchError) as error:
            raise type(error)(f"{self.path}: {error}") from None


def _check_game(path: Path, header: dict[str, Any], game: Game) -> None:
    """Refuse a file of another game."""
    if header.get("players") != game.n_players:
        raise MismatchError(
            f"{path} is for {header.get('players')!r:.80} players; {game.name} has {game.n_players}"
        )
    digest = header.get("digest")
    if digest is not None and digest != game.digest:
        raise MismatchError(
            f"{path} was made for the game {header.get('game')!r:.80} with digest "
            f"{str(digest)[:12]}; {game.name!r} has digest {game.digest[:12]}; use the game it was "
            "made for"
        )


def _parsed_trees(path: Path, trees: Any) -> tuple[tuple[str, ...], tuple[Treeplex, ...]]:
    """The names of the players and their treeplexes."""
    try:
        plexes = tuple(map(_parsed_tree, trees))
        if not plexes:
            raise ValueError("no players")
        return tuple(str(tree["player"]) for tree in trees), plexes
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise ParseError(
            str(path), 0, 0,
            f'"{TREES}" must have for each player "player", and for each infoset, layer by layer, '
            'a different name in "infosets", names in "actions" and a sequence in "parent_seq"',
        ) from None  # fmt: skip


def _parsed_tree(tree: dict[str, Any]) -> Treeplex:
    labels, actions = list(map(str, tree["infosets"])), [tuple(names) for names in tree["actions"]]
    before = np.array(tree["parent_seq"], np.int64)
    if not len(set(labels)) == len(labels) == len(actions) == len(before):
        raise ValueError("one entry per infoset")
    counts = np.array(list(map(len, actions)), np.int64)
    first = np.cumsum([1, *counts])
    above = np.searchsorted(first, before, side="right") - 1
    inner = before > 0
    return Treeplex.from_parents(
        counts,
        np.where(inner, above, NO_INFOSET),
        np.where(inner, before - first[above], 0),
        labels,
        [tuple(map(str, names)) for names in actions],
    )


def most_common(words: list[str]) -> str:
    """The word that is there most often."""
    return Counter(words).most_common(1)[0][0]
