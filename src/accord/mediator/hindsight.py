"""What it was worth to follow, and what else could have been earned, at every point of a play.

A player who is at infoset x, remembers the rechistory b and is told r (Section 3 of Song, Mei, Bai
2022) has, under the correlated policy, a probability of being there and an expected payoff for
whatever she does next. With weights w_t over product policies pi^t and immediate losses l^t, the
sums of ``equilibrium/gap.py``,

    U_b[r, a] = sum_t w_t S_b^t pi^t(r | x) l^t(x, a),

completed by a sweep from the last layer to the first, are her losses times that probability: the
sweep that takes the best action gives the best continuation, the one that obeys gives following.
The same sums with 1 in the place of every play's loss are the probabilities. Quotients are what she
could expect, given all that she knew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from accord.deviations.modification import Modification
from accord.deviations.rechistory import NO_RECOMMENDATION, ROOT, RechistoryTree
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import add_deviation_loss, choose_actions, sum_chosen
from accord.errors import ArgumentError
from accord.treeplex.form import sequence_form
from accord.treeplex.values import compute_loss, joint_reach


class Move(NamedTuple):
    """One decision of a player: where, what she was told (None: nothing), what she did."""

    infoset: int
    told: int | None
    action: int


class Hindsight:
    """Expected payoffs of one player at each (infoset, rechistory, recommendation, action).

    Attributes:
        tree: Her rechistories.
        best: What the best deviation earns, from the start.
    """

    def __init__(
        self,
        policy: CorrelatedPolicy,
        player: int,
        k: SupportsIndex | float,
        budget: int | None = None,
    ) -> None:
        """Evaluate every component once.

        Raises:
            BudgetError: If there are too many rechistories.
        """
        form = sequence_form(policy.game)
        plex, leaves = form.plexes[player], form.leaves.arrays[player]
        self.tree = tree = RechistoryTree.build(plex, k, budget)
        self._payoff_range = float(form.leaves.payoff_range[player])
        self._best_payoff = float(form.leaves.best[player])
        self._best, self._prob = np.zeros(tree.n_cells), np.zeros(tree.n_cells)
        rec_reach, loss = np.zeros(tree.n_nodes), np.empty(plex.n_sequences)
        for weight, behaviors in policy.components():
            reach = joint_reach(form.plexes, behaviors)
            for source, total in (
                (leaves, self._best),
                (leaves._replace(loss=leaves.prob), self._prob),
            ):
                compute_loss(source, reach, loss)
                add_deviation_loss(
                    plex.arrays, tree.arrays, behaviors[player], loss, weight, rec_reach, total
                )
        self._follow = self._best.copy()
        obey = Modification.obey(tree).choice
        for total in (self._follow, self._prob):  # of the probability, any continuation has all
            sum_chosen(plex.arrays, tree.arrays, tree.first_row, obey, total)
        choose_actions(plex.arrays, tree.arrays, tree.first_row, self._best, np.empty_like(obey))
        self.best = self._payoff(self._best, self._prob, ROOT)

    def following(self, moves: Iterable[Move]) -> float:
        """What she could expect who is told what the last of ``moves`` says, and follows on.

        Raises:
            ArgumentError: If that cannot come up, or nothing was told.
        """
        node, last = self._find(moves)
        if last.told is None:
            raise ArgumentError(f"nothing was told at infoset {last.infoset}")
        return self._payoff(self._follow, self._prob, self._cell(node, last, last.told))

    def deviating(self, moves: Iterable[Move]) -> float:
        """What she could expect at best who does what the last of ``moves`` says.

        Raises:
            ArgumentError: If that cannot come up.
        """
        node, last = self._find(moves)
        return self._payoff(self._best, self._prob, self._cell(node, last, last.action))

    def _payoff(self, loss: Any, prob: Any, cell: int) -> float:
        if not prob[cell] > 0:
            raise ArgumentError("the play cannot have come here: it has probability 0")
        return float(self._best_payoff - loss[cell] / prob[cell] * self._payoff_range)

    def _cell(self, node: int, move: Move, action: int) -> int:
        n = 0 if move.told is None else int(self.tree.plex.n_actions[move.infoset]) * move.told
        return int(self.tree.arrays.first_cell[node]) + n + action

    def _find(self, moves: Iterable[Move]) -> tuple[int, Move]:
        """The rechistory at the last move."""
        arrays, plex = self.tree.arrays, self.tree.plex
        node, rec_seq, last = ROOT, NO_RECOMMENDATION, None
        for last in moves:
            x, told, _ = last
            below = slice(arrays.first_node[x], arrays.first_node[x + 1])
            fits = (arrays.parent[below] == node) & (arrays.rec_seq[below] == rec_seq)
            here = np.flatnonzero(fits) + arrays.first_node[x]
            if len(here) != 1 or bool(self.tree.is_swap[here[0]]) != (told is not None):
                raise ArgumentError(f"infoset {x} cannot come up after these moves")
            node = int(here[0])
            rec_seq = NO_RECOMMENDATION if told is None else int(plex.first_seq[x]) + told
        if last is None:
            raise ArgumentError("there must be at least one move")
        return node, last
