"""The leaf table: everything about a game that learning needs.

A terminal history matters only through the sequence that each player has played, the probability of
its chance moves, and its payoffs, which are the sums of the rewards along the path. Terminals with
equal sequences share a row. With reach vectors ``reach_j`` of all players,

    V_i = sum over rows of payoff_i(row) * prod_j reach_j[seq_j(row)],

where the row's payoff already contains the chance probability. The losses of player i are computed
from the table sorted by that player's sequences (:class:`LeafArrays`): the rows of one sequence are
consecutive, and l_i is a sum over them, in an order that does not depend on how the work is split.

Losses are normalized: the loss of player i over a whole play is ``(best_i - u) / (best_i -
worst_i)``, in [0, 1]; it is 0 if the player's payoff is constant. Certificates measure losses from
another *center* than ``best_i``, in payoff units (:class:`CenteredLeaves`).

*Rounding.* To lose no digits, a center is subtracted from payoffs before anything is multiplied by
chance. So a row keeps the payoff u of its likeliest play as it is, and of its other plays only

    rest = sum of chance * (payoff - u),      spread = sum of chance * |payoff - u|,

of which ``spread`` is the magnitude of what was added. In most games no two plays share a row, or
only plays with equal payoffs; then both are None.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, NO_NODE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.game.infosets import own_moves
from accord.game.tree import Game, total_rewards
from accord.game.validate import check_payoff_range
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex


class LeafArrays(NamedTuple):
    """The table as the kernels of one player see it, sorted by that player's sequences."""

    first_row: NDArray[np.int64]  # [n_sequences + 1] rows of seq: first_row[seq] .. [seq + 1] - 1
    others: Ints  # [n_rows, n_players - 1] positions of the others' reaches in the joint vector
    loss: Floats  # [n_rows] normalized loss times chance probability
    prob: Floats  # [n_rows] chance probability


class CenteredLeaves(NamedTuple):
    """The rows of a leaf table, with losses in payoff units from a center: center minus payoff."""

    first_row: NDArray[np.int64]  # as in LeafArrays
    others: Ints
    loss: Floats  # [n_rows] loss times chance probability; negative if the payoff exceeds center
    prob: Floats  # [n_rows] chance probability
    gain: Floats  # [n_rows] the excess over center times chance probability, and the spread


@dataclass(frozen=True, eq=False, repr=False)
class LeafTable:
    """One row per tuple of sequences with which plays end."""

    seqs: Ints  # [n_rows, n_players] the sequence of each player
    prob: Floats  # [n_rows] total chance probability of the plays that end here
    likeliest: Floats  # [n_rows, n_players] payoffs of the likeliest play that ends here
    rest: Floats | None  # [n_rows, n_players] sum of chance * (payoff - likeliest); None if all 0
    spread: Floats | None  # [n_rows, n_players] magnitudes of what was added up to get there
    best: Floats  # [n_players] the largest payoff of any play
    worst: Floats  # [n_players] the smallest payoff of any play
    first_reach: NDArray[np.int64]  # [n_players + 1] start of each reach in the joint vector
    roundings: int  # of each chance probability: factors and, in joined rows, summands

    @property
    def n_players(self) -> int:
        return len(self.best)

    def __len__(self) -> int:
        return len(self.prob)

    @cached_property
    def payoff(self) -> Floats:
        """``[n_rows, n_players]`` sum of the plays' payoffs times chance probabilities."""
        payoff = self.likeliest * self.prob[:, None]
        return payoff if self.rest is None else payoff + self.rest

    @cached_property
    def payoff_range(self) -> Floats:
        """``[n_players]`` best minus worst payoff: the unit of normalized losses."""
        return self.best - self.worst

    @cached_property
    def loss_scale(self) -> Floats:
        """``[n_players]`` loss per unit of payoff; 0 if the payoff is constant."""
        scale = np.zeros(self.n_players)
        np.divide(1.0, self.payoff_range, out=scale, where=self.payoff_range > 0)
        return scale

    @cached_property
    def mean_spread(self) -> Floats:
        """``[n_players]`` the largest ``spread`` of any row, per unit of probability."""
        if self.spread is None:
            return np.zeros(self.n_players)
        return np.asarray((self.spread / self.prob[:, None]).max(axis=0))

    @cached_property
    def arrays(self) -> tuple[LeafArrays, ...]:
        """The table once per player, sorted by that player's sequences."""
        return tuple(self._sorted_by(i) for i in range(self.n_players))

    def normalized_loss(self, i: int) -> Floats:
        """``[n_rows]`` normalized loss of player ``i`` times chance probability."""
        loss = (self.best[i] - self.likeliest[:, i]) * self.loss_scale[i] * self.prob
        if self.rest is not None:
            loss -= self.rest[:, i] * self.loss_scale[i]
            np.maximum(loss, 0.0, out=loss)  # removes negative rounding errors
        return np.asarray(loss)

    def centered(self, i: int, center: float) -> CenteredLeaves:
        """The rows of player ``i`` with losses in payoff units, measured from ``center``."""
        own = self.arrays[i]
        order, _ = self._order(i)
        loss = center - self.likeliest[order, i]
        loss *= own.prob
        gain = np.maximum(-loss, 0.0)
        if self.rest is not None and self.spread is not None:
            loss -= self.rest[order, i]
            gain += self.spread[order, i]
        return CenteredLeaves(own.first_row, own.others, loss, own.prob, gain)

    def order(self, i: int) -> NDArray[np.int64]:
        """``[n_rows]`` the rows sorted by the sequences of player ``i``, as in ``arrays``."""
        return self._order(i)[0]

    def _order(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows sorted by the sequences of player ``i``, and where each sequence starts."""
        n_sequences = int(self.first_reach[i + 1] - self.first_reach[i])
        first_row, order = np.zeros(n_sequences + 1, np.int64), np.empty(len(self), np.int64)
        _counting_sort(self.seqs[:, i], first_row, np.zeros(n_sequences, np.int64), order)
        return order, first_row

    def _sorted_by(self, i: int) -> LeafArrays:
        order, first_row = self._order(i)
        others = np.empty((len(self), self.n_players - 1), np.int32)
        for column, j in enumerate(j for j in range(self.n_players) if j != i):
            others[:, column] = self.seqs[order, j]
            others[:, column] += int(self.first_reach[j])
        return LeafArrays(first_row, others, self.normalized_loss(i)[order], self.prob[order])

    def __repr__(self) -> str:
        return f"LeafTable(rows={len(self)}, players={self.n_players})"


def leaf_table(game: Game, plexes: tuple[Treeplex, ...]) -> LeafTable:
    """The table of ``game``, whose treeplexes are ``plexes``.

    Raises:
        GameError: If payoffs are so large, or differ by so little, that losses are not finite.
    """
    ends = np.flatnonzero(game.player == TERMINAL)
    payoff = total_rewards(game, ends)
    best, worst = payoff.max(axis=0), payoff.min(axis=0)
    for label, low, high in zip(game.player_labels, worst, best, strict=True):
        check_payoff_range(label, float(low), float(high))
    prob, roundings = np.ones(len(ends)), 1
    if (game.player == CHANCE).any():
        chance = game.chance_prob.copy()
        roundings += _multiply_down(
            game.player, game.parent, chance, np.zeros(len(chance), np.int32)
        )
        prob = chance[ends]
        possible = prob > 0.0  # a product of many tiny probabilities may round to 0
        if not possible.all():
            ends, prob, payoff = ends[possible], prob[possible], payoff[possible]
    seqs = sequences_at(game, plexes, ends)
    sizes = [plex.n_sequences for plex in plexes]
    order, starts = _equal_rows(seqs, sizes)
    seqs, prob, payoff = seqs[order], prob[order], payoff[order]
    rest = spread = None
    if len(starts) < len(seqs):
        counts = np.diff(starts, append=len(seqs))
        likeliest = payoff[_likeliest(starts, prob)]
        others = payoff - np.repeat(likeliest, counts, axis=0)
        if others.any():
            others *= prob[:, None]
            rest = np.add.reduceat(others, starts, axis=0)
            spread = np.add.reduceat(np.abs(others), starts, axis=0)
        seqs, prob, payoff = seqs[starts], np.add.reduceat(prob, starts), likeliest
        roundings += int(counts.max())
    first_reach = np.zeros(len(plexes) + 1, np.int64)
    np.cumsum(sizes, out=first_reach[1:])
    for array in (seqs, prob, payoff, rest, spread, best, worst, first_reach):
        if array is not None:
            array.flags.writeable = False
    return LeafTable(seqs, prob, payoff, rest, spread, best, worst, first_reach, roundings)


def sequences_at(game: Game, plexes: tuple[Treeplex, ...], nodes: NDArray[np.integer[Any]]) -> Ints:
    """``[len(nodes), n_players]`` the sequence of each player at these nodes."""
    last = own_moves(game.player, game.parent, game.n_players)[nodes]
    seqs = np.full((len(nodes), game.n_players), EMPTY_SEQUENCE, np.int32)
    for i, plex in enumerate(plexes):
        moved = last[:, i] != NO_NODE
        after = last[moved, i]
        seqs[moved, i] = plex.first_seq[game.infoset[game.parent[after]]] + game.action[after]
    return seqs


def _equal_rows(seqs: Ints, sizes: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order that sorts rows by sequences, and where each run of equal ones starts in it."""
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
    return order, np.flatnonzero(new)


def _likeliest(starts: NDArray[np.int64], prob: Floats) -> NDArray[np.int64]:
    """The place of the largest probability in each run; ``starts`` are those of the runs."""
    run = np.zeros(len(prob), np.int64)
    run[starts] = 1
    run = np.cumsum(run) - 1
    by_prob = np.lexsort((-prob, run))  # the runs stay where they are
    return by_prob[starts]


@jit
def _multiply_down(player: NDArray[np.int8], parent: Ints, value: Floats, moves: Ints) -> int:
    """Replace each node's value by the product of the values from the root to it.

    Overwrites ``moves`` with the number of chance moves on the path, and returns the largest.
    """
    moves[0] = most = 0
    for node in range(1, len(parent)):
        above = parent[node]
        moves[node] = moves[above]
        if player[above] == CHANCE:
            moves[node] += 1
            value[node] *= value[above]
            most = max(most, moves[node])
        else:
            value[node] = value[above]
    return most


@jit
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
