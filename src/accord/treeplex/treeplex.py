"""One player's decision problem.

By perfect recall a player's infosets form a forest: a unique chain ``(x_1, a_1), ..., (x_{h-1},
a_{h-1})`` of the player's own infosets and actions leads to infoset x. A *sequence* is such a pair
``(x, a)``; sequence 0 is the empty one, before the first decision. The sequences of infoset ``x``
are ``first_seq[x] .. first_seq[x + 1] - 1``, in the order of its actions, so

    ``behavior[first_seq[x] + a]`` is pi_i(a | x), and
    ``reach[first_seq[x] + a]`` is the sequence form pi_{i,1:h}(x, a), Equation (3)
    of Song, Mei, Bai 2022.

Infosets are numbered layer by layer (``game/tree.py``). So a loop over increasing ``x`` visits
parents first, a loop over decreasing ``x`` visits children first, all sequences of a layer come
before those of the next, and the infosets that follow one sequence are consecutive: the *immediate
children* C(x, a) of the paper are ``first_child[seq] .. first_child[seq + 1] - 1``.

The paper counts steps of the game. Here layers count the player's own decisions, which is all that
the paper's definitions use. ``horizon`` is the longest chain: the paper's H, also for uneven trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from accord._arrays import NO_INFOSET, Ints
from accord.errors import GameError
from accord.game.labels import NumberedActions, NumberedLabels
from accord.game.tree import Game

EMPTY_SEQUENCE = 0
"""The sequence before a player's first decision."""


class TreeplexArrays(NamedTuple):
    """The arrays of a treeplex that kernels use."""

    first_seq: Ints  # [n_infosets + 1] sequences of x: first_seq[x] .. first_seq[x + 1] - 1
    parent_seq: Ints  # [n_infosets] the sequence that leads to x
    first_child: Ints  # [n_sequences + 1] infosets after seq: first_child[seq] .. [seq + 1] - 1


@dataclass(frozen=True, eq=False, repr=False)
class Treeplex:
    """The infosets and sequences of one player. It holds nothing about the other players."""

    arrays: TreeplexArrays
    seq_infoset: Ints  # [n_sequences] the infoset of each sequence; NO_INFOSET for the empty one
    depth: Ints  # [n_infosets] number of earlier decisions of the player: h - 1
    infoset_labels: Sequence[str]
    action_labels: Sequence[tuple[str, ...]]

    @classmethod
    def from_parents(
        cls,
        n_actions: ArrayLike,
        parent_infoset: ArrayLike,
        parent_action: ArrayLike,
        infoset_labels: Sequence[str] | None = None,
        action_labels: Sequence[tuple[str, ...]] | None = None,
    ) -> Treeplex:
        """Build from each infoset's number of actions and the player's move that leads to it.

        Args:
            n_actions: ``[n_infosets]`` number of actions, at least 1.
            parent_infoset: ``[n_infosets]`` the previous infoset, or ``NO_INFOSET`` for none.
                Infosets must come layer by layer, and within a layer in the order of the sequences
                that lead to them.
            parent_action: ``[n_infosets]`` the action taken there; ignored where there is none.
            infoset_labels: Labels of the infosets; by default their numbers.
            action_labels: Labels of the actions at each infoset; by default their numbers.

        Raises:
            GameError: If the arrays are not a forest in that order.
        """
        count = np.asarray(n_actions, dtype=np.int32)
        above = np.asarray(parent_infoset, dtype=np.int32)
        move = np.asarray(parent_action, dtype=np.int32)
        size = len(count)
        first_seq = np.ones(size + 1, np.int32)
        np.cumsum(count, out=first_seq[1:])
        first_seq[1:] += 1
        parent_seq = np.where(above >= 0, first_seq[above] + move, EMPTY_SEQUENCE).astype(np.int32)
        later = np.arange(size)
        ordered = size < 2 or bool((np.diff(parent_seq) >= 0).all())
        if not ordered or (count < 1).any() or (above >= later).any():
            raise GameError(
                "infosets must have at least one action and be numbered layer by layer, and within "
                "a layer in the order of the sequences that lead to them"
            )
        if ((above >= 0) & ((move < 0) | (move >= count[above]))).any():
            raise GameError("parent_action must be an action of parent_infoset")
        n_sequences = int(first_seq[-1])
        first_child = np.searchsorted(parent_seq, np.arange(n_sequences + 1)).astype(np.int32)
        seq_infoset = np.full(n_sequences, NO_INFOSET, np.int32)
        seq_infoset[1:] = np.repeat(np.arange(size, dtype=np.int32), count)
        depth = np.zeros(size, np.int32)
        start, end = 0, int(first_child[1]) if size else 0
        layer = 0
        while start < end:  # the next layer follows the sequences of this one
            depth[start:end] = layer
            start, end = end, int(first_child[first_seq[end]])
            layer += 1
        for array in (first_seq, parent_seq, first_child, seq_infoset, depth):
            array.flags.writeable = False
        return cls(
            TreeplexArrays(first_seq, parent_seq, first_child),
            seq_infoset,
            depth,
            NumberedLabels(np.arange(size)) if infoset_labels is None else infoset_labels,
            NumberedActions(count) if action_labels is None else action_labels,
        )

    @property
    def first_seq(self) -> Ints:
        return self.arrays.first_seq

    @property
    def parent_seq(self) -> Ints:
        return self.arrays.parent_seq

    @property
    def first_child(self) -> Ints:
        return self.arrays.first_child

    @property
    def n_infosets(self) -> int:
        """The paper's X_i."""
        return len(self.parent_seq)

    @property
    def n_sequences(self) -> int:
        """Number of sequences, including the empty one."""
        return len(self.seq_infoset)

    @cached_property
    def n_actions(self) -> Ints:
        """``[n_infosets]`` number of actions at each infoset."""
        return np.diff(self.first_seq)

    @cached_property
    def max_actions(self) -> int:
        """The paper's A_i: the size of the largest action set, at least 1."""
        return int(self.n_actions.max(initial=1))

    @cached_property
    def horizon(self) -> int:
        """The paper's H_i: the length of the longest chain of the player's own decisions."""
        return int(self.depth.max(initial=-1)) + 1

    @cached_property
    def layers(self) -> Ints:
        """``[horizon + 1]`` offsets: layer h has infosets ``layers[h-1] .. layers[h] - 1``."""
        return np.searchsorted(self.depth, np.arange(self.horizon + 1)).astype(np.int32)

    def children(self, seq: int) -> range:
        """The infosets that may follow ``seq`` next: the paper's C(x, a)."""
        return range(int(self.first_child[seq]), int(self.first_child[seq + 1]))

    def history(self, x: int) -> list[tuple[int, int]]:
        """The player's infosets and actions that lead to ``x``, first to last."""
        pairs: list[tuple[int, int]] = []
        seq = int(self.parent_seq[x])
        while seq != EMPTY_SEQUENCE:
            above = int(self.seq_infoset[seq])
            pairs.append((above, seq - int(self.first_seq[above])))
            seq = int(self.parent_seq[above])
        return pairs[::-1]

    def __repr__(self) -> str:
        return (
            f"Treeplex(infosets={self.n_infosets}, sequences={self.n_sequences}, "
            f"horizon={self.horizon}, max_actions={self.max_actions})"
        )


def treeplexes(game: Game) -> tuple[Treeplex, ...]:
    """The decision problem of each player of ``game``, with the game's infoset numbers."""
    return tuple(
        Treeplex.from_parents(*facts)
        for facts in zip(
            game.n_actions,
            game.parent_infoset,
            game.parent_action,
            game.infoset_labels,
            game.action_labels,
            strict=True,
        )
    )
