"""A bound that ignores incentives: one player with all information makes every move.

Nothing that players can do together, in equilibrium or not, is better than backward induction on
the game tree, with the best move at every decision and the mean at every chance move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, Floats, Ints
from accord._jit import jit
from accord.game.tree import Game
from accord.optimal.objective import Objective


def free_bound(game: Game, objective: Objective) -> float:
    """An upper bound on the maximised objective over all joint policies."""
    if objective.target is not None:
        return 0.0
    if objective.weights is not None:
        gradients = [objective.sign * np.array(objective.weights)]
    else:
        gradients = list(np.eye(game.n_players))  # the payoff of each player is a bound
    bounds = []
    for gradient in gradients:
        value = np.zeros(len(game.player))
        value[game.reward_node] = game.reward @ gradient
        best = np.where(game.player == CHANCE, 0.0, -np.inf)
        _induce(game.player, game.parent, game.chance_prob, best, value)
        bounds.append(float(value[0]))
    return min(bounds)


@jit
def _induce(
    player: NDArray[np.int8], parent: Ints, chance_prob: Floats, best: Floats, value: Floats
) -> None:
    """Add to the ``value`` of each node the best that can follow; ``best`` is overwritten."""
    for node in range(len(parent) - 1, -1, -1):
        if player[node] >= CHANCE:
            value[node] += best[node]
        above = parent[node]
        if above < 0:
            continue
        if player[above] == CHANCE:
            best[above] += chance_prob[node] * value[node]
        else:
            best[above] = max(best[above], value[node])
