"""A loaded game as something that can only be played.

The tree as a compiled simulator walks it: from a node an action, or a chance draw, leads on, and
the play ends with a payoff for everybody.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._jit import jit
from accord.game.tree import CHANCE, TERMINAL, Game
from accord.treeplex.leaves import total_rewards
from accord.treeplex.treeplex import Floats, Ints


class SimulatorArrays(NamedTuple):
    """What kernels see of the game being played."""

    player: NDArray[np.int8]  # [n_nodes]
    infoset: Ints  # [n_nodes] at terminals: the row of payoffs
    first_edge: Ints  # [n_nodes + 1] edges out of each node, in the order of its actions
    child: Ints  # [n_nodes - 1] where each edge leads
    cumulative: Floats  # [n_nodes - 1] chance probability of the edge and those before it
    loss: Floats  # [n_terminals, n_players] normalised loss of the play


def simulator(game: Game, best: Floats, scale: Floats) -> SimulatorArrays:
    """The compiled simulator of ``game``; a payoff u counts as the loss ``(best - u) * scale``."""
    ends = np.flatnonzero(game.player == TERMINAL)
    infoset = game.infoset.copy()
    infoset[ends] = np.arange(len(ends))
    loss = np.clip((best - total_rewards(game, ends)) * scale, 0.0, 1.0)
    first_edge = np.zeros(game.n_nodes + 1, np.int32)
    np.cumsum(np.bincount(game.parent[1:], minlength=game.n_nodes), out=first_edge[1:])
    child = np.empty(game.n_nodes - 1, np.int32)
    nodes = np.arange(1, game.n_nodes, dtype=np.int32)
    child[first_edge[game.parent[1:]] + game.action[1:]] = nodes
    cumulative = game.chance_prob[child]
    _accumulate(game.player, first_edge, cumulative)
    return SimulatorArrays(game.player, infoset, first_edge, child, cumulative, loss)


@jit
def _accumulate(player: Any, first_edge: Any, cumulative: Any) -> None:
    """Replace the chance probabilities of each node by their running sums, the last exactly 1."""
    for node in range(len(player)):
        if player[node] == CHANCE:
            total = 0.0
            for edge in range(first_edge[node], first_edge[node + 1]):
                total += cumulative[edge]
                cumulative[edge] = total
            cumulative[first_edge[node + 1] - 1] = 1.0


FEW = 8
"""Outcomes of chance that are looked at one after the other."""


@jit
def draw_edge(edge: int, end: int, draw: float, cumulative: Any) -> int:
    """The first of the edges ``edge .. end - 1`` of chance with ``draw`` below its running sum."""
    while end - edge > FEW:
        middle = (edge + end - 1) // 2
        if draw < cumulative[middle]:
            end = middle + 1
        else:
            edge = middle + 1
    while draw >= cumulative[edge]:
        edge += 1
    return edge
