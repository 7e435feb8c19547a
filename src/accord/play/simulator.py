"""A compiled simulator of a loaded game.

From each node of the tree an action or a chance draw leads to a child, and a play ends with a
payoff for each player. Memory access limits the speed in large games, so the data for a move lie
together: a node takes a quarter of a cache line, its children are adjacent, and the descendants of
a child follow soon after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints, aligned_empty
from accord._jit import jit, part
from accord.game.tree import Game, total_rewards

SIMULATOR_NODE = np.dtype(
    [
        ("player", np.int32),
        ("place", np.int32),  # infoset; at chance nodes the first outcome; at terminals the row
        ("first_child", np.int32),  # the others follow, in the order of the actions
        ("n_children", np.int32),
    ]
)
"""The simulator's record of a node."""

OUTCOME = np.dtype(
    [
        ("cumulative", np.float64),  # probability of this outcome and those before it
        ("guess", np.int64),  # in the j-th of n: where to start searching from j / n on
    ]
)
"""The simulator's record of an outcome of chance."""


class SimulatorArrays(NamedTuple):
    """The game, as kernels see it."""

    nodes: NDArray[np.void]  # [n_nodes] of NODE, the root first
    outcomes: NDArray[np.void]  # [all outcomes of all chance nodes] of OUTCOME
    loss: Floats  # [n_terminals, n_players] normalized loss of the play


def simulator(game: Game, best: Floats, scale: Floats) -> SimulatorArrays:
    """The compiled simulator of ``game``; a payoff u counts as the loss ``(best - u) * scale``."""
    n_children = np.bincount(game.parent[1:], minlength=game.n_nodes).astype(np.int32)
    number, first_child = np.zeros((2, game.n_nodes), np.int32)
    _number_nodes(game.parent, game.action, n_children, number, first_child)
    ends, draws = (np.flatnonzero(game.player == who) for who in (TERMINAL, CHANCE))
    place = game.infoset.copy()
    place[ends] = np.arange(len(ends))
    place[draws] = np.cumsum(n_children[draws]) - n_children[draws]
    nodes = aligned_empty(game.n_nodes, SIMULATOR_NODE)
    nodes["player"][number] = game.player
    nodes["place"][number] = place
    nodes["first_child"][number] = first_child
    nodes["n_children"][number] = n_children
    below = np.flatnonzero(game.player[game.parent[1:]] == CHANCE) + 1
    cumulative, guess = np.empty(len(below)), np.empty(len(below), np.int64)
    cumulative[place[game.parent[below]] + game.action[below]] = game.chance_prob[below]
    prepare_draws(place[draws], n_children[draws], cumulative, guess)
    outcomes = aligned_empty(len(below), OUTCOME)
    outcomes["cumulative"], outcomes["guess"] = cumulative, guess
    loss = np.clip((best - total_rewards(game, ends)) * scale, 0.0, 1.0)
    return SimulatorArrays(nodes, outcomes, loss)


@jit
def _number_nodes(
    parent: Ints, action: Ints, n_children: Ints, number: Ints, first_child: Ints
) -> None:
    """Number the children of a node, then all nodes below the first child, below the second, ..."""
    below = n_children.copy()  # how many nodes are below each
    for node in range(len(parent) - 1, 0, -1):
        below[parent[node]] += below[node]
    first_child[0] = 1
    free = 1 + n_children  # where the numbers below the next child of each node start
    for node in range(1, len(parent)):
        above = parent[node]
        number[node] = first_child[above] + action[node]
        first_child[node] = free[above]
        free[node] = first_child[node] + n_children[node]
        free[above] += below[node]


@jit
def prepare_draws(first: Ints, count: Ints, cumulative: Floats, guess: NDArray[np.int64]) -> None:
    """Turn probabilities at each chance node into running sums, the last exactly 1; set guesses.

    The outcomes of the chance nodes start at ``first``.
    """
    for node in range(len(first)):
        n, total, guessed = count[node], 0.0, 0
        for outcome in range(n):
            total += cumulative[first[node] + outcome]
            if outcome == n - 1:
                total = 1.0
            cumulative[first[node] + outcome] = total
            while guessed < n and guessed <= int(total * n):
                guess[first[node] + guessed] = outcome
                guessed += 1


@part
def draw_outcome(draw: float, first: int, n: int, outcomes: NDArray[np.void]) -> int:
    """The first of the ``n`` outcomes from ``first`` on whose running sum exceeds ``draw``.

    The search starts at a guess: the first outcome whose running sum s has ``int(s * n)`` of at
    least ``int(draw * n)``. Both are monotone, even with rounding, so the guess never lies after
    the answer. On average it lies at most one outcome before it, however many outcomes there are.
    """
    outcome = outcomes[first + int(draw * n)].guess
    while draw >= outcomes[first + outcome].cumulative:
        outcome += 1
    return outcome  # type: ignore[no-any-return]
