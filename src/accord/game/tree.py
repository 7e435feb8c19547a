"""An extensive-form game as flat arrays.

The game of Section 2 of Song, Mei, Bai 2022, in the general form that files and simulators use: a
rooted tree whose inner nodes belong to one player or to chance, whose decision nodes are grouped
into infosets with perfect recall, and whose nodes may carry a reward for every player. A play goes
from the root to a terminal; its payoff is the sum of the rewards on the way. A simultaneous move is
a sequence of hidden moves, so the paper's partially observable Markov games are games of this form
(``game/pomg.py``).

Nodes are numbered in prefix order: a node, then all below its first action, then all below its
second, and so on; node 0 is the root. Infosets are numbered per player, layer by layer: first by
how many decisions the player has made before, then by the infoset and action that lead to them,
then by their first node. So parents come before children, the infosets that follow one (infoset,
action) pair stand together, and every array of the package indexed by infosets is indexed by this
number. How a game was made leaves no trace in these numbers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import reprlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accord._arrays import CHANCE, NO_NODE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.errors import ArgumentError
from accord.game.validate import validated


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Game:
    """A finite extensive-form game with perfect recall. Immutable; equal only to itself.

    Build one with :class:`accord.GameBuilder`, :class:`accord.POMG`, :meth:`Game.from_arrays`, or
    load one with :func:`accord.load_game`. Whatever the way, it has been validated.
    """

    name: str
    player_labels: tuple[str, ...]
    player: NDArray[np.int8]  # [n_nodes] who moves: 0..n_players-1, CHANCE or TERMINAL
    parent: Ints  # [n_nodes] NO_NODE at the root, else a smaller number
    action: Ints  # [n_nodes] the parent's action (or chance outcome) that leads here
    infoset: Ints  # [n_nodes] of the player who moves; at chance nodes a row of chance_labels
    chance_prob: Floats  # [n_nodes] of the chance outcome that leads here; 1 where none does
    reward_node: Ints  # [n_rewards] sorted, no node twice
    reward: Floats  # [n_rewards, n_players] what each player gets on passing that node
    n_actions: tuple[Ints, ...]  # per player [n_infosets]
    parent_infoset: tuple[Ints, ...]  # per player [n_infosets] her previous infoset, or NO_INFOSET
    parent_action: tuple[Ints, ...]  # per player [n_infosets] what she did there, or 0
    infoset_labels: tuple[Sequence[str], ...]  # per player [n_infosets], unique
    action_labels: tuple[Sequence[tuple[str, ...]], ...]  # per player [n_infosets][n_actions]
    chance_labels: Sequence[tuple[str, ...]]  # of outcomes, no row twice; infoset points here
    source: str | None = None  # what loads it again, if its name does not

    @classmethod
    def from_arrays(
        cls,
        *,
        n_players: int,
        player: ArrayLike,
        parent: ArrayLike,
        action: ArrayLike,
        infoset: ArrayLike,
        chance_prob: ArrayLike,
        reward_node: ArrayLike,
        reward: ArrayLike,
        name: str = "game",
        player_labels: Sequence[str] | None = None,
        infoset_labels: Sequence[Sequence[str] | None] | None = None,
        action_labels: Sequence[Sequence[tuple[str, ...]] | None] | None = None,
        chance_labels: Sequence[tuple[str, ...]] | None = None,
        source: str | None = None,
    ) -> Game:
        """Build a game from arrays, with no Python object per node.

        The game has its nodes in prefix order, whatever their order here.

        Args:
            n_players: Number of players, at least 1.
            player: ``[n_nodes]`` who moves: ``0..n_players-1``, ``CHANCE`` or ``TERMINAL``.
            parent: ``[n_nodes]`` parent node; ``NO_NODE`` at node 0, elsewhere a smaller number.
            action: ``[n_nodes]`` index of the parent's action that leads here; siblings have
                ``0..n-1`` in any order. Ignored at the root.
            infoset: ``[n_nodes]`` infoset of the player who moves, numbered ``0..`` per player in
                any order. At chance nodes a row of ``chance_labels``, or ``NO_INFOSET``, which
                stands for the numbers of the outcomes.
            chance_prob: ``[n_nodes]`` probability of the outcome that leads here. Read below chance
                nodes only. If they miss one by more than rounding, they are divided by their sum.
            reward_node: ``[n_rewards]`` nodes that carry rewards; repeated ones add up.
            reward: ``[n_rewards, n_players]``.
            name: How the game is called in files and reports.
            player_labels: By default ``"1"``, ``"2"``, ...
            infoset_labels: Per player, by the caller's infoset number; by default the numbers.
            action_labels: Per player, by the caller's infoset number; by default ``"0"``, ...
            chance_labels: Labels of the outcomes of chance nodes, any number of rows.
            source: The name or path that loads the game again, if its name does not.

        Raises:
            GameError: If this is not a game; the message says what is wrong and where.
        """
        return cls(
            **validated(
                n_players=n_players,
                player=player,
                parent=parent,
                action=action,
                infoset=infoset,
                chance_prob=chance_prob,
                reward_node=reward_node,
                reward=reward,
                name=name,
                player_labels=player_labels,
                infoset_labels=infoset_labels,
                action_labels=action_labels,
                chance_labels=chance_labels,
            ),
            source=source,
        )

    def replace(self, **changes: Any) -> Game:
        """The same game with some fields replaced, validated again.

            renamed = game.replace(name="my game", player_labels=["Ann", "Bob"])
            doubled = game.replace(reward=2 * game.reward)

        Args:
            changes: Arguments of :meth:`from_arrays` other than ``n_players``. Arrays and labels
                that are not given are kept, so a new tree needs all arrays that describe it. The
                ``source`` is kept only if nothing but the name changes: what loads this game does
                not load another one.

        Raises:
            ArgumentError: If there is no such field, or it is computed from the others.
            GameError: If the result is not a game.
        """
        if unknown := changes.keys() - {*_GIVEN, "source"}:
            raise ArgumentError(
                f"Game.replace() takes {', '.join(_GIVEN)} and source; got {min(unknown)}"
            )
        if changes.keys() <= {"name", "source"}:
            return dataclasses.replace(self, **changes)
        kept = {field: getattr(self, field) for field in _GIVEN}
        return Game.from_arrays(n_players=self.n_players, **kept | changes)

    @property
    def n_players(self) -> int:
        return len(self.player_labels)

    @property
    def n_nodes(self) -> int:
        return len(self.player)

    @property
    def n_infosets(self) -> tuple[int, ...]:
        """Number of infosets of each player: the paper's X_i."""
        return tuple(len(n) for n in self.n_actions)

    @cached_property
    def n_terminals(self) -> int:
        return int(np.count_nonzero(self.player == TERMINAL))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tree, the payoffs of plays, and the labels of infosets and actions.

        Equal digests mean the same game, and policies that fit one fit the other. Where on its way
        a play is paid makes no difference.
        """
        digest = hashlib.sha256(b"accord-game-1")
        ends = np.flatnonzero(self.player == TERMINAL).astype(np.int32)
        arrays: tuple[NDArray[Any], ...] = (
            self.player, self.parent, self.action, self.infoset,
            self.chance_prob, ends, total_rewards(self, ends) + 0.0,  # no negative zero
        )  # fmt: skip
        for array in arrays:
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        for labels in (*self.infoset_labels, *self.action_labels):
            digest.update(repr(tuple(labels)).encode())
        return digest.hexdigest()

    def history(self, node: int) -> tuple[str, ...]:
        """The moves from the root to ``node``, chance included, in labels."""
        moves: list[str] = []
        while (above := int(self.parent[node])) != NO_NODE:
            moves.append(self._moves(above)[self.action[node]])
            node = above
        return tuple(reversed(moves))

    def _moves(self, node: int) -> Sequence[str]:
        player, x = int(self.player[node]), int(self.infoset[node])
        return self.chance_labels[x] if player == CHANCE else self.action_labels[player][x]

    def __repr__(self) -> str:
        infosets = "/".join(map(str, self.n_infosets))
        return (
            f"Game({self.name!r}, players={self.n_players}, infosets={infosets}, "
            f"terminals={self.n_terminals})"
        )


_GIVEN = (
    "name", "player_labels", "player", "parent", "action", "infoset", "chance_prob", "reward_node",
    "reward", "infoset_labels", "action_labels", "chance_labels",
)  # fmt: skip


def checked_game(game: object) -> Game:
    """``game``, if it is one.

    Raises:
        ArgumentError: If it is anything else; for a name or a path the message says how to load it.
    """
    if isinstance(game, Game):
        return game
    advice = f"; try accord.load_game({game!r})" if isinstance(game, (str, os.PathLike)) else ""
    raise ArgumentError(f"game must be an accord.Game; got {reprlib.repr(game)}{advice}")


def total_rewards(game: Game, nodes: NDArray[np.integer[Any]]) -> Floats:
    """``[len(nodes), n_players]`` what a play has paid at each of the ``nodes``, from the root on.

    At terminals these are the payoffs.
    """
    total = np.zeros((game.n_nodes, game.n_players))
    total[game.reward_node] = game.reward
    if (game.player[game.reward_node] != TERMINAL).any():
        _add_down(game.parent, total)
    rows: Floats = total[nodes]
    return rows


@jit
def _add_down(parent: Any, value: Any) -> None:
    """Replace each node's row by the sum of the rows from the root to it."""
    for node in range(1, len(parent)):
        for i in range(value.shape[1]):
            value[node, i] += value[parent[node], i]
