"""A loaded game that is played one move at a time.

It leaves chance to its caller and tells the probabilities, and it can be cloned
(``play/environment.py``). So whatever takes an environment takes a loaded game, too.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord.game.tree import Game, total_rewards
from accord.treeplex.form import sequence_form


class GameEnvironment:
    """An :class:`~accord.play.environment.Environment` of a loaded game.

    Args:
        game: The game.
    """

    def __init__(self, game: Game) -> None:
        leaves = sequence_form(game).leaves
        self.game, self.name = game, game.name
        self.players: Sequence[str] = game.player_labels
        self.payoff_bounds: Sequence[tuple[float, float]] | None = tuple(
            zip(leaves.worst.tolist(), leaves.best.tolist(), strict=True)
        )
        # children have larger numbers in the order of their actions: nodes are in prefix order
        self._below = np.argsort(game.parent, kind="stable")
        self._first = np.searchsorted(game.parent[self._below], np.arange(game.n_nodes + 1))
        self._paid = total_rewards(game, np.arange(game.n_nodes))
        self._node = 0

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play. Nothing is drawn: chance is the caller's."""
        self._node = 0

    def turn(self) -> int:
        """The number of the player to move, ``CHANCE`` or ``TERMINAL``."""
        return int(self.game.player[self._node])

    def infoset(self) -> str:
        """The label of the infoset."""
        return self.game.infoset_labels[self.turn()][int(self.game.infoset[self._node])]

    def actions(self) -> Sequence[str]:
        """Labels of the actions, or of the outcomes of chance."""
        i, place = self.turn(), int(self.game.infoset[self._node])
        return self.game.chance_labels[place] if i == CHANCE else self.game.action_labels[i][place]

    def probabilities(self) -> Sequence[float]:
        """The probabilities of the outcomes of chance."""
        law: list[float] = self.game.chance_prob[self._children()].tolist()
        return law

    def step(self, action: int) -> None:
        """Take the action with this number."""
        self._node = int(self._children()[action])

    def payoffs(self) -> Sequence[float]:
        """The payoff of each player, when the play is over."""
        assert self.turn() == TERMINAL
        paid: list[float] = self._paid[self._node].tolist()
        return paid

    def clone(self) -> GameEnvironment:
        """An independent copy of the current state."""
        return copy.copy(self)

    def _children(self) -> np.ndarray:
        return self._below[self._first[self._node] : self._first[self._node + 1]]
