"""An extensive-form game as flat arrays.

This is the game of Section 2 of Song, Mei, Bai 2022 in the general form that files and simulators
use: a rooted tree in which each inner node belongs to one player or to chance, decision nodes are
grouped into infosets with perfect recall, and any node may carry a reward for each player. A play
runs from the root to a terminal, and its payoff is the sum of the rewards along the path. A
simultaneous move is a sequence of hidden moves, so the paper's partially observable Markov games
have this form (``game/pomg.py``).

Nodes are numbered in prefix order: a node, then all nodes below its first action, then all nodes
below its second, and so on; node 0 is the root. Infosets are numbered per player, layer by layer:
first by the number of the player's earlier decisions, then by the infoset and action that lead to
them, then by their first node. So parents come before children, and the infosets that follow one
(infoset, action) pair are consecutive. Every array in the package that is indexed by infosets uses
these numbers. They depend on the game alone, not on how it was made.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import reprlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accord._above import DISPLAY, DRAWING, WALK, call_above
from accord._arrays import CHANCE, NO_NODE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.errors import ArgumentError
from accord.game.rationals import written_otherwise
from accord.game.validate import validated


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Game:
    """A finite extensive-form game with perfect recall. Immutable; equal only to itself.

    Build one with :class:`accord.GameBuilder`, :class:`accord.POMG`, :meth:`Game.from_arrays`, or
    load one with :func:`accord.load_game`. Every game has been validated.
    """

    name: str
    player_labels: tuple[str, ...]
    player: NDArray[np.int8]  # [n_nodes] the player who moves: 0..n_players-1, CHANCE or TERMINAL
    parent: Ints  # [n_nodes] NO_NODE at the root, else a smaller number
    action: Ints  # [n_nodes] the parent's action (or chance outcome) that leads here
    infoset: Ints  # [n_nodes] of the player who moves; at chance nodes a row of chance_labels
    chance_prob: Floats  # [n_nodes] of the chance outcome that leads here; 1 after other moves
    reward_node: Ints  # [n_rewards] sorted, no node twice
    reward: Floats  # [n_rewards, n_players] paid to each player when a play passes that node
    n_actions: tuple[Ints, ...]  # per player [n_infosets]
    parent_infoset: tuple[Ints, ...]  # per player [n_infosets] their previous one, or NO_INFOSET
    parent_action: tuple[Ints, ...]  # per player [n_infosets] their action there, or 0
    infoset_labels: tuple[Sequence[str], ...]  # per player [n_infosets], unique
    action_labels: tuple[Sequence[tuple[str, ...]], ...]  # per player [n_infosets][n_actions]
    chance_labels: Sequence[tuple[str, ...]]  # rows of outcomes, all different; see infoset
    source: str | None = None  # the name or path that loads it again, if its name does not
    rationals: Mapping[float, Fraction] = dataclasses.field(default_factory=dict)  # game/exact.py
    comment: str = ""  # what the file says about the game
    outcomes: Mapping[int, str] = dataclasses.field(default_factory=dict)  # names of terminals

    @classmethod
    def from_environment(cls, env: Any, *, max_nodes: int | None = None) -> Game:
        """The game that an :class:`~accord.Environment` plays, by walking through all its moves.

        The environment must leave all chance to its caller. With ``clone()`` this is faster.
        Infosets and actions have the same labels, so a policy learned in the environment can be
        certified exactly in the game.

        Args:
            env: The environment; its current play is lost.
            max_nodes: Games with more nodes are refused; by default two million.

        Raises:
            ArgumentError: If ``env`` is not an environment.
            GameError: If it draws chance itself, has imperfect recall, or pays outside its bounds.
            BudgetError: If the game has more than ``max_nodes`` nodes.
        """
        game: Game = call_above(WALK, "walked_game", env, max_nodes)
        return game

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
        rationals: Mapping[float, Fraction] | None = None,
        comment: str = "",
    ) -> Game:
        """Build a game from arrays, with no Python object per node.

        The nodes may be in any order with parents first; the game has them in prefix order.

        Args:
            n_players: Number of players, at least 1.
            player: ``[n_nodes]`` the player who moves: ``0..n_players-1``, ``CHANCE`` or
                ``TERMINAL``.
            parent: ``[n_nodes]`` parent node; ``NO_NODE`` at node 0, elsewhere a smaller number.
            action: ``[n_nodes]`` index of the parent's action that leads here; siblings have
                ``0..n-1`` in any order. Ignored at the root.
            infoset: ``[n_nodes]`` infoset of the player who moves, numbered ``0..`` per player in
                any order. At chance nodes a row of ``chance_labels``, or ``NO_INFOSET`` to label
                the outcomes by their numbers.
            chance_prob: ``[n_nodes]`` probability of the outcome that leads here; used only at
                children of chance nodes. Probabilities whose sum differs from one by more than
                rounding are divided by their sum.
            reward_node: ``[n_rewards]`` nodes that carry rewards; repeated ones add up.
            reward: ``[n_rewards, n_players]`` the rewards at those nodes.
            name: Name of the game in files and reports.
            player_labels: By default ``"1"``, ``"2"``, ...
            infoset_labels: Per player, indexed by ``infoset``; by default the numbers.
            action_labels: Per player, indexed by ``infoset``; by default ``"0"``, ``"1"``, ...
            chance_labels: Rows of labels for the outcomes of chance nodes.
            source: The name or path that loads the game again, if its name does not.
            rationals: The exact numbers that payoffs and chances were written as, by their doubles,
                where the doubles do not stand for them (``accord/game/exact.py``).
            comment: What there is to say about the game; files keep it.

        Raises:
            GameError: If this is not a valid game; the message says what is wrong and where.
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
            rationals=written_otherwise(rationals or {}),
            comment=comment,
        )

    def replace(self, **changes: Any) -> Game:
        """A copy of the game with some fields replaced, validated again.

            renamed = game.replace(name="my game", player_labels=["Ann", "Bob"])
            doubled = game.replace(reward=2 * game.reward)

        Args:
            changes: Arguments of :meth:`from_arrays` other than ``n_players``. Arrays and labels
                that are not given are kept, so a new tree needs all arrays that describe it. The
                ``source`` is kept only if nothing but the name changes, because it loads this game
                and not the new one.

        Raises:
            ArgumentError: If there is no such field, or it is computed from the others.
            GameError: If the result is not a valid game.
        """
        if unknown := changes.keys() - {*_GIVEN, "source", "rationals", "comment"}:
            raise ArgumentError(
                f"Game.replace() takes {', '.join(_GIVEN)}, rationals, comment and source; got "
                f"{min(unknown)}"
            )
        if changes.keys() <= {"name", "source", "comment"}:
            return dataclasses.replace(self, **changes)
        kept = {field: getattr(self, field) for field in (*_GIVEN, "rationals", "comment")}
        changed = Game.from_arrays(n_players=self.n_players, **kept | changes)
        if changes.keys() & {"player", "parent", "action"}:
            return changed
        return dataclasses.replace(changed, outcomes=self.outcomes)

    def named(self, outcomes: Mapping[int, str]) -> Game:
        """A copy of the game in which some terminals, given by their nodes, have names."""
        return dataclasses.replace(self, outcomes=dict(outcomes))

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

        Games with equal digests are the same game, and policies of one fit the other. Only the
        payoff of a play counts, not where on the path it is paid.
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
        """The labels of the moves from the root to ``node``, chance moves included."""
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

    def plot(self, policy: Any = None, k: Any = 1) -> Any:
        """The tree as a drawing, which notebooks show and ``save("tree.svg")`` writes.

        Args:
            policy: A correlated policy of the game, or a result that has one. Edges then show how
                often they are recommended, and which advice off the path is a threat.
            k: The notion by which threats are judged.

        Raises:
            ArgumentError: If it has more than 200 nodes.
            MismatchError: If the policy is for another game.
        """
        return call_above(DRAWING, "game_drawing", self, policy, k)

    def to_tikz(self, policy: Any = None, k: Any = 1) -> str:
        r"""The tree as a TikZ picture for ``\input`` in LaTeX, with a policy as in :meth:`plot`.

        Raises:
            ArgumentError: If it has more than 200 nodes.
            MismatchError: If the policy is for another game.
        """
        return str(call_above(DRAWING, "game_drawing", self, policy, k).tikz)

    def _repr_html_(self) -> str:
        return str(call_above(DISPLAY, "game_html", self))


_GIVEN = (
    "name", "player_labels", "player", "parent", "action", "infoset", "chance_prob", "reward_node",
    "reward", "infoset_labels", "action_labels", "chance_labels",
)  # fmt: skip


def checked_game(game: object) -> Game:
    """Return ``game`` if it is a :class:`Game`.

    Raises:
        ArgumentError: If it is not. If it can be loaded, the message says how.
    """
    if isinstance(game, Game):
        return game
    advice = ""
    if isinstance(game, (str, os.PathLike)):
        advice = f"; try accord.load_game({game!r})"
    elif hasattr(game, "to_efg") or hasattr(game, "new_initial_state"):  # pygambit, OpenSpiel
        advice = "; try accord.load_game(game)"
    raise ArgumentError(f"game must be an accord.Game; got {reprlib.repr(game)}{advice}")


def total_rewards(game: Game, nodes: NDArray[np.integer[Any]]) -> Floats:
    """``[len(nodes), n_players]`` sums of the rewards from the root to each of the ``nodes``.

    At terminals these are the payoffs.
    """
    total = np.zeros((game.n_nodes, game.n_players))
    total[game.reward_node] = game.reward
    if (game.player[game.reward_node] != TERMINAL).any():
        _add_down(game.parent, total)
    rows: Floats = total[nodes]
    return rows


@jit
def _add_down(parent: Ints, value: Floats) -> None:
    """Replace each node's row of ``value`` by the sum of the rows from the root to it."""
    for node in range(1, len(parent)):
        for i in range(value.shape[1]):
            value[node, i] += value[parent[node], i]
