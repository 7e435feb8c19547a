"""The leaf table: everything about a game that learning needs.

A terminal history matters only through the sequence that each player has played, the probability of
its chance moves, and its payoffs, which are the sums of the rewards along the path. Terminals with
equal sequences share a row. With reach vectors ``reach_j`` of all players,

    V_i = sum over rows of payoff_i(row) * prod_j reach_j[seq_j(row)],

where the row's payoff already contains the chance probability. The losses of player i are computed
from the table sorted by that player's sequences (:class:`LeafArrays`): the rows of one sequence are
consecutive, and l_i is a sum over them, in an order that does not depend on how the work is split.

Losses are normalised: the loss of player i over a whole play is ``(best_i - u) / (best_i -
worst_i)``, in [0, 1]; it is 0 if the player's payoff is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, NO_NODE, TERMINAL, Floats, Ints
from accord._jit import once
from accord.game.tree import Game, total_rewards
from accord.game.validate import own_moves
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex


class LeafArrays(NamedTuple):
    """The table as the kernels of one player see it, sorted by that player's sequences."""

    first_row: NDArray[np.int64]  # [n_sequences + 1] rows of seq: first_row[seq] .. [seq + 1] - 1
    others: Ints  # [n_rows, n_players - 1] positions of the others' reaches in the joint vector
    loss: Floats  # [n_rows] normalised loss times chance probability
    prob: Floats  # [n_rows] chance probability


@dataclass(frozen=True, eq=False, repr=False)
class LeafTable:
    """One row per tuple of sequences with which plays end."""

    seqs: Ints  # [n_rows, n_players] the sequence of each player
    prob: Floats  # [n_rows] total chance probability of the plays that end here
    payoff: Floats  # [n_rows, n_players] sum of their payoffs times chance probabilities
    best: Floats  # [n_players] the largest payoff of any play
    worst: Floats  # [n_players] the smallest payoff of any play
    first_reach: NDArray[np.int64]  # [n_players + 1] start of each reach in the joint vector

    @property
    def n_players(self) -> int:
        return len(self.best)

    def __len__(self) -> int:
        return len(self.prob)

    @cached_property
    def payoff_range(self) -> Floats:
        """``[n_players]`` best minus worst payoff: the unit of normalised losses."""
        return self.best - self.worst

    @cached_property
    def loss_scale(self) -> Floats:
        """``[n_players]`` loss per unit of payoff; 0 if the payoff is constant."""
        scale = np.zeros(self.n_players)
        np.divide(1.0, self.payoff_range, out=scale, where=self.payoff_range > 0)
        return scale

    @cached_property
    def arrays(self) -> tuple[LeafArrays, ...]:
        """The table once per player, sorted by that player's sequences."""
        return tuple(self._sorted_by(i) for i in range(self.n_players))

    def _sorted_by(self, i: int) -> LeafArrays:
        n_sequences = int(self.first_reach[i + 1] - self.first_reach[i])
        first_row, order = np.zeros(n_sequences + 1, np.int64), np.empty(len(self), np.int64)
        _counting_sort(self.seqs[:, i], first_row, np.zeros(n_sequences, np.int64), order)
        others = np.empty((len(self), self.n_players - 1), np.int32)
        for column, j in enumerate(j for j in range(self.n_players) if j != i):
            others[:, column] = self.seqs[order, j]
            others[:, column] += int(self.first_reach[j])
        loss = (self.best[i] * self.prob[order] - self.payoff[order, i]) * self.loss_scale[i]
        np.maximum(loss, 0.0, out=loss)  # removes negative rounding errors
        return LeafArrays(first_row, others, loss, self.prob[order])

    def __repr__(self) -> str:
        return f"LeafTable(rows={len(self)}, players={self.n_players})"


def leaf_table(game: Game, plexes: tuple[Treeplex, ...]) -> LeafTable:
    """The table of ``game``, whose treeplexes are ``plexes``."""
    ends = np.flatnonzero(game.player == TERMINAL)
    last = own_moves(game.player, game.parent, game.n_players)[ends]
    seqs = np.full((len(ends), game.n_players), EMPTY_SEQUENCE, np.int32)
    for i, plex in enumerate(plexes):
        moved = last[:, i] != NO_NODE
        after = last[moved, i]
        seqs[moved, i] = plex.first_seq[game.infoset[game.parent[after]]] + game.action[after]
    chance = game.chance_prob
    if (game.player == CHANCE).any():
        chance = chance.copy()
        _multiply_down(game.parent, chance)
    payoff = total_rewards(game, ends)
    best, worst = payoff.max(axis=0), payoff.min(axis=0)
    prob = chance[ends]
    payoff *= prob[:, None]
    sizes = [plex.n_sequences for plex in plexes]
    seqs, prob, payoff = _merge(seqs, prob, payoff, sizes)
    first_reach = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=first_reach[1:])
    for array in (seqs, prob, payoff, best, worst, first_reach):
        array.flags.writeable = False
    return LeafTable(seqs, prob, payoff, best, worst, first_reach)


def _merge(
    seqs: Ints, prob: Floats, payoff: Floats, sizes: list[int]
) -> tuple[Ints, Floats, Floats]:
    """Sort rows by sequences and merge equal ones."""
    bits = sum(int(size).bit_length() for size in sizes)
    if bits < 63:  # sorting by one number per row is faster than sorting by columns
        key = np.zeros(len(seqs), np.int64)
        for i, size in enumerate(sizes):
            key *= size
            key += seqs[:, i]
        order = np.argsort(key, kind="stable")
        new = np.diff(key[order], prepend=-1) != 0
    else:
        order = np.lexsort(seqs.T[::-1])
        new = np.ones(len(seqs), bool)
        new[1:] = (np.diff(seqs[order], axis=0) != 0).any(axis=1)
    starts = np.flatnonzero(new)
    if len(starts) == len(seqs):
        return seqs[order], prob[order], payoff[order]
    return (
        seqs[order][starts],
        np.add.reduceat(prob[order], starts),
        np.add.reduceat(payoff[order], starts, axis=0),
    )


@once
def _multiply_down(parent: Ints, value: Floats) -> None:
    """Replace each node's value by the product of the values from the root to it."""
    for node in range(1, len(parent)):
        value[node] *= value[parent[node]]


@once
def _counting_sort(
    keys: Ints, start: NDArray[np.int64], used: NDArray[np.int64], order: NDArray[np.int64]
) -> None:
    """Overwrite ``order`` with the stable order of ``keys``, and ``start`` with where each key
    starts in it. Keys are below ``len(used)``; ``start`` and ``used`` must be zeros."""
    for key in keys:
        start[key + 1] += 1
    for key in range(len(used)):
        start[key + 1] += start[key]
    for row in range(len(keys)):
        key = keys[row]
        order[start[key] + used[key]] = row
        used[key] += 1
