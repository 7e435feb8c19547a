"""What following was worth, and what else could have been earned, at every point of a play.

A player at infoset x remembers the rechistory b and is told r (Section 3 of Song, Mei, Bai 2022).
``equilibrium/evaluation.py`` adds up, over the components of the correlated policy, the probability
of being there and the loss of each action. One sweep back from the end adds the losses of the best
continuation to these sums, and another the losses of following. Divided by the probability, the
results are the losses that the player could expect, given everything they knew.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from accord._arrays import Floats
from accord.deviations.modification import Modification
from accord.deviations.notions import NotionLike, checked_k
from accord.deviations.rechistory import NO_RECOMMENDATION, ROOT, RechistoryTree
from accord.equilibrium.evaluation import evaluate
from accord.equilibrium.gap import Deviator, add_continuation, best_continuation
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError
from accord.mediator.seat import Move


class Hindsight:
    """Expected payoffs of one player at each (infoset, rechistory, recommendation, action).

    Attributes:
        tree: The player's rechistories.
        best: Expected payoff of the best deviation, from the start.
    """

    def __init__(
        self,
        policy: CorrelatedPolicy,
        player: int,
        k: NotionLike,
        budget: int | None = None,
    ) -> None:
        """Evaluate every component once.

        Raises:
            BudgetError: If there are too many rechistories.
        """
        form = policy.form
        self.tree = RechistoryTree.build(form.plexes[player], checked_k(k), budget)
        loss, prob = Deviator(self.tree), Deviator(self.tree)
        self._center = evaluate(policy, {player: [loss]}, {player: [prob]})[player].center
        obey = Modification.obey(self.tree)
        self._best_loss, self._follow_loss = loss.total.copy(), loss.taken()
        self._prob = prob.taken()
        best_continuation(self.tree, self._best_loss)
        add_continuation(obey, self._follow_loss)
        add_continuation(obey, self._prob)  # probabilities do not depend on the modification
        self.best = self._payoff(self._best_loss, ROOT)

    def following(self, moves: Iterable[Move]) -> float:
        """Expected payoff of following the last recommendation in ``moves`` and all later ones.

        Raises:
            ArgumentError: If these moves cannot happen, or nothing was recommended at the last.
        """
        node, last = self._find(moves)
        if last.told is None:
            raise ArgumentError(f"nothing was told at infoset {last.infoset}")
        return self._payoff(self._follow_loss, self._cell(node, last, last.told))

    def deviating(self, moves: Iterable[Move]) -> float:
        """Expected payoff of the last action in ``moves`` and the best continuation.

        Raises:
            ArgumentError: If these moves cannot happen.
        """
        node, last = self._find(moves)
        return self._payoff(self._best_loss, self._cell(node, last, last.action))

    def _payoff(self, loss: Floats, cell: int) -> float:
        if not self._prob[cell] > 0:
            raise ArgumentError("the play cannot have come here: it has probability 0")
        return float(self._center - loss[cell] / self._prob[cell])

    def _cell(self, node: int, move: Move, action: int) -> int:
        row = 0 if move.told is None else int(self.tree.plex.n_actions[move.infoset]) * move.told
        return int(self.tree.arrays.first_cell[node]) + row + action

    def _find(self, moves: Iterable[Move]) -> tuple[int, Move]:
        """The rechistory at the last move, and that move."""
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
