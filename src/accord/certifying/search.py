"""A search for one player's best deviation, by playing.

The others obey, so the deviator alone decides, and what they know is a *row*: their infosets and
moves so far, the recommendations that they heard, and the one that they hear now, if the mediator
still speaks. A *cell* is a row and an action. These are rows and cells of the rechistory tree
(``deviations/rechistory.py``); only those that plays have visited are kept.

Plays count however the deviator chose the actions: given a cell, what comes next does not depend
on why it was taken. So one sweep, from the last decisions to the first, estimates the loss of the
best deviation:

    value(cell) = mean over its plays of  value(next row), or the loss if no row follows
    value(row)  = the least value of its cells.

Most rows are rare, and the least of many noisy means is biased downwards. So means are shrunk. The
value of a cell is shrunk towards the mean of its action over all rows of the infoset, as if
:data:`CELL_TRUST` plays had shown that mean. The mean of an action is shrunk in the same way, by
:data:`TRUST` plays, towards the mean of its infoset, with a slight preference for what the policy
plays. This helps because the infoset and the action say much more about the loss than the
recommendations that the deviator heard. In rows that no play has visited, the means of the actions
decide alone.

In plays that search the deviator takes the action with the least

    value(cell)  -  EAGERNESS * P(a) * sqrt(plays at the infoset) / (1 + plays of a there),

the rule of tree search with a prior (Rosin 2011; Silver et al. 2017). P is half uniform and half
the player's average policy; if the mediator speaks, half of it moves to the recommendation.

Nothing here needs to be exact: fresh plays test what was found (``certifying/by_play.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, with_room
from accord._jit import jit
from accord.deviations.modification import Modification
from accord.deviations.rechistory import ROOT, RechistoryArrays, RechistoryTree
from accord.treeplex.treeplex import TreeplexArrays

TRUST = 10.0
"""The mean of an infoset counts as much as this many plays in the mean of each of its actions."""

CELL_TRUST = 40.0
"""The mean of an action counts as much as this many plays in the value of each of its cells."""

FAVOR = 0.05
"""An action that the policy always plays is expected to lose this much less than the others."""

EAGERNESS = 1.0
"""The weight of exploration: larger values try rarely played actions more often."""

EXPECTED = 0.5
"""The value of a new cell, until the next sweep."""

SILENT = -1
"""In place of the recommended action where the mediator is silent."""

UNVISITED = -1
"""In place of the number of a row or cell that no play has visited."""

Move = tuple[int, int, int, int]
"""The infoset's first sequence and number of actions, the recommended action, the action taken."""

SEARCH_ROW = np.dtype(
    [("parent_cell", np.int64), ("first_cell", np.int64), ("first_seq", np.int64),
     ("n_actions", np.int32), ("told", np.int32), ("depth", np.int32)],
)  # fmt: skip
"""A row: what the deviator knows at a decision."""


class Search:
    """Statistics of plays in which one player deviates, and the best deviation by them.

    Args:
        k: How many recommendations the deviator may disobey.
        prior: The player's average policy over the sequences known so far.
    """

    def __init__(self, k: float, prior: Floats) -> None:
        self.k, self._prior = k, prior
        self._number: dict[tuple[int, int], int] = {}  # rows by parent cell and sequence
        self._rows = np.zeros(64, SEARCH_ROW)
        self._n_cells = 1
        self._plays, self._ended, self._value = np.zeros((3, 64))  # of cells
        self._tried, self._mean = np.zeros((2, len(prior)))  # of sequences

    def choose(
        self, moves: Sequence[Move], first_seq: int, n_actions: int, told: int, draw: float
    ) -> int:
        """The action in a play that searches, after these ``moves``; ``draw`` is in [0, 1)."""
        cell, left = self._place(moves)
        told = told if left < self.k else SILENT
        row = self._number.get((cell, first_seq + max(told, 0)), UNVISITED)
        self._make_room(first_seq + n_actions)
        return int(
            choose_cell(
                row, self._rows, n_actions, first_seq, told, draw, self._prior, self._tried,
                self._mean, self._value,
            )
        )  # fmt: skip

    def _place(self, moves: Sequence[Move]) -> tuple[int, int]:
        """The cell after these moves, and how many recommendations they disobeyed."""
        cell, left = ROOT, 0
        for first_seq, _, told, action in moves:
            heard = told if left < self.k else SILENT
            row = self._number.get((cell, first_seq + max(heard, 0)), UNVISITED)
            cell = int(self._rows[row]["first_cell"]) + action if row != UNVISITED else UNVISITED
            left += action != heard
        return cell, left

    def add(self, moves: Sequence[Move], loss: float) -> None:
        """Add a play."""
        cell, left = ROOT, 0
        for depth, (first_seq, n_actions, told, action) in enumerate(moves):
            heard = told if left < self.k else SILENT
            row = self._number.get((cell, first_seq + max(heard, 0)), UNVISITED)
            if row == UNVISITED:
                row = self._add_row(cell, first_seq, n_actions, heard, depth)
            cell = int(self._rows[row]["first_cell"]) + action
            self._plays[cell] += 1.0
            self._tried[first_seq + action] += 1.0
            left += action != heard
        self._ended[cell] += loss

    def _add_row(self, cell: int, first_seq: int, n_actions: int, told: int, depth: int) -> int:
        row = self._number[cell, first_seq + max(told, 0)] = len(self._number)
        self._rows = with_room(self._rows, row + 1)
        self._rows[row] = cell, self._n_cells, first_seq, n_actions, told, depth
        self._n_cells += n_actions
        self._plays = with_room(self._plays, self._n_cells)
        self._ended = with_room(self._ended, self._n_cells)
        self._value = with_room(self._value, self._n_cells, EXPECTED)
        self._make_room(first_seq + n_actions)
        return row

    def _make_room(self, n_sequences: int) -> None:
        self._prior = with_room(self._prior, n_sequences)
        self._tried = with_room(self._tried, n_sequences)
        self._mean = with_room(self._mean, n_sequences, EXPECTED)

    def renumber(self, order: NDArray[np.int64]) -> None:
        """From now on the sequence ``order[n]`` has the number n."""
        self._make_room(len(order))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._prior, self._tried = self._prior[order], self._tried[order]
        self._mean = self._mean[order]
        rows = self._rows[: len(self._number)]
        rows["first_seq"] = place[rows["first_seq"]]
        seqs = rows["first_seq"] + np.maximum(rows["told"], 0)
        keys = zip(rows["parent_cell"].tolist(), seqs.tolist(), strict=True)
        self._number = {key: row for row, key in enumerate(keys)}

    def sweep(self) -> None:
        """Bring all values up to date."""
        rows = self._rows[: len(self._number)]
        order = np.argsort(-rows["depth"], kind="stable")
        ends = np.flatnonzero(np.diff(rows["depth"][order], append=-1)) + 1
        sweep_rows(
            rows, order, ends, self._plays, self._ended.copy(), self._tried, self._prior,
            self._mean, self._value,
        )  # fmt: skip

    def best(
        self,
        tree: RechistoryTree,
        obedient: NDArray[np.bool_],
        given: Modification | None = None,
    ) -> tuple[Modification, Floats]:
        """The best deviation, and how much less it loses where it leaves the mediator.

        Args:
            tree: The player's rechistories, with all rows that plays have visited.
            obedient: ``[n_nodes]`` where the player has always obeyed.
            given: A deviation of this tree that takes the place of the best one.

        Returns:
            The deviation, and ``[n_sequences]`` its mean saving if it first leaves when told to
            play a sequence, else 0.
        """
        self.sweep()
        self._make_room(tree.plex.n_sequences)
        choice = (given or Modification.obey(tree)).choice.copy()
        saved = np.zeros(tree.plex.n_sequences)
        write_choices(
            self._rows[: len(self._number)], self._value, self._mean, tree.plex.arrays,
            tree.plex.seq_infoset, tree.arrays, tree.first_row, obedient,
            np.zeros(self._n_cells, np.int64), given is None, choice, saved,
        )  # fmt: skip
        return Modification(tree, choice), saved


@jit
def choose_cell(
    row: int,
    rows: Any,
    n_actions: int,
    first_seq: int,
    told: int,
    draw: float,
    prior: Floats,
    tried: Floats,
    mean: Floats,
    value: Floats,
) -> int:
    """The action to try next; ``row`` may be ``UNVISITED``."""
    total = 1.0
    for seq in range(first_seq, first_seq + n_actions):
        total += tried[seq]
    best, least = 0, math.inf
    start = int(draw * n_actions)  # ties are broken at random
    for n in range(n_actions):
        a = (start + n) % n_actions
        seq = first_seq + a
        share = 0.5 * (prior[seq] + 1.0 / n_actions)
        if told != SILENT:
            share = 0.5 * (share + (a == told))
        now = value[rows[row].first_cell + a] if row != UNVISITED else mean[seq]
        now -= EAGERNESS * share * math.sqrt(total) / (1.0 + tried[seq])
        if now < least:
            best, least = a, now
    return best


@jit
def sweep_rows(
    rows: Any,
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    plays: Floats,
    total: Floats,
    tried: Floats,
    prior: Floats,
    mean: Floats,
    value: Floats,
) -> None:
    """Overwrite ``value`` of all cells and ``mean`` of all sequences that were visited.

    Args:
        rows: All rows.
        order: Their numbers, the deepest first.
        ends: Where each depth ends in ``order``.
        plays: How many plays took each cell.
        total: The losses of plays that ended after it; those of others are added.
        tried: How many plays took each sequence.
        prior: The average policy.
        mean: The shrunk mean loss of a sequence, over all rows.
        value: The shrunk mean loss of a cell.
    """
    lost = np.zeros(len(tried))  # in plays that took the sequence
    start = 0
    for end in ends:
        for row in order[start:end]:
            at = rows[row]
            for a in range(at.n_actions):
                lost[at.first_seq + a] += total[at.first_cell + a]
        for row in order[start:end]:
            at = rows[row]
            seqs = range(at.first_seq, at.first_seq + at.n_actions)
            visits, losses, count, least = 0.0, 0.0, 0.0, math.inf
            for seq in seqs:
                visits += tried[seq]
                losses += lost[seq]
            for seq in seqs:
                expected = losses / visits - FAVOR * prior[seq]
                mean[seq] = (lost[seq] + TRUST * expected) / (tried[seq] + TRUST)
                cell = at.first_cell + seq - at.first_seq
                value[cell] = (total[cell] + CELL_TRUST * mean[seq]) / (plays[cell] + CELL_TRUST)
                count += plays[cell]
                least = min(least, value[cell])
            total[at.parent_cell] += count * least
        start = end


@jit
def write_choices(
    rows: Any,
    value: Floats,
    mean: Floats,
    plex: TreeplexArrays,
    seq_infoset: Ints,
    tree: RechistoryArrays,
    first_row: Ints,
    obedient: NDArray[np.bool_],
    tree_cell: NDArray[np.int64],
    chooses: bool,
    choice: Ints,
    saved: Floats,
) -> None:
    """Overwrite ``saved`` and, if ``chooses``, ``choice`` with the best.

    ``tree_cell`` is working memory, 0 at the first cell.
    """
    for x in range(len(plex.parent_seq)):
        first, best = plex.first_seq[x], 0
        for a in range(1, plex.first_seq[x + 1] - first):
            if mean[first + a] < mean[first + best]:
                best = a
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            for told in range(first_row[node + 1] - first_row[node]):
                less = mean[first + told] - mean[first + best]
                if chooses and (less > 0.0 or node >= tree.first_external[x]):
                    choice[first_row[node] + told] = best
                if obedient[node]:
                    taken = choice[first_row[node] + told]
                    saved[first + told] = mean[first + told] - mean[first + taken]
    for row in range(len(rows)):
        at = rows[row]
        x = seq_infoset[at.first_seq]
        node = tree.first_node[x]
        while tree.parent_cell[node] != tree_cell[at.parent_cell]:
            node += 1
        told = max(at.told, 0)
        best = told
        for a in range(at.n_actions):
            tree_cell[at.first_cell + a] = tree.first_cell[node] + told * at.n_actions + a
            if value[at.first_cell + a] < value[at.first_cell + best]:
                best = a
        if chooses:
            choice[first_row[node] + told] = best
        taken = choice[first_row[node] + told]
        if obedient[node]:
            saved[at.first_seq + told] = value[at.first_cell + told] - value[at.first_cell + taken]
