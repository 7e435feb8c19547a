"""A bound that ignores incentives: one player with all information makes every move.

Nothing that players can do together, in equilibrium or not, is better than backward induction on
the game tree, with the best move at every decision and the mean at every chance move. Payoffs are
measured from the worst payoff of each player, so that no digits are lost to what they have in
common.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.equilibrium.rounding import SECOND_ORDER, UNIT
from accord.game.tree import total_rewards
from accord.treeplex.form import SequenceForm

RARE_VOTE = 1e-9
"""The weight of nodes to which the best play does not come, when an infoset chooses."""


def most_above_worst(form: SequenceForm, gradients: Floats) -> Floats:
    """``[n]`` for each of the ``[n, n_players]`` gradients g, an upper bound on the expected
    g . (payoff - worst) of all joint policies; rounding cannot make it wrong."""
    game = form.game
    ends = np.flatnonzero(game.player == TERMINAL)
    above = total_rewards(game, ends) - form.leaves.worst
    found = []
    for gradient in gradients:
        value, size = np.zeros((2, game.n_nodes))
        value[ends], size[ends] = above @ gradient, above @ np.abs(gradient)
        roundings = np.full(game.n_nodes, game.n_players + 1)
        least = np.where(game.player == CHANCE, 0.0, -np.inf)
        _induce(game.player, game.parent, game.chance_prob, least.copy(), value, roundings)
        _induce(game.player, game.parent, game.chance_prob, least, size, roundings.copy())
        found.append(value[0] + SECOND_ORDER * UNIT * roundings[0] * size[0])
    return np.array(found)


def best_plan_together(form: SequenceForm, gradient: Floats) -> list[Ints]:
    """Per player, ``[n_infosets]`` the actions of a joint plan that comes close to the play of one
    player with all information who maximizes g . payoff.

    At an infoset the nodes vote for the action that is best there, by the probability of the play
    that gets to them; where that play does not come, by that of chance alone.
    """
    game = form.game
    ends = np.flatnonzero(game.player == TERMINAL)
    value, reach, rare = np.zeros((3, game.n_nodes))
    value[ends] = (total_rewards(game, ends) - form.leaves.worst) @ gradient
    least = np.where(game.player == CHANCE, 0.0, -np.inf)
    _induce(
        game.player, game.parent, game.chance_prob, least, value, np.zeros(game.n_nodes, np.int64)
    )
    best = np.zeros(game.n_nodes, np.int32)
    _play_best(game.player, game.parent, game.action, game.chance_prob, value, best, reach, rare)
    plans = []
    for i, plex in enumerate(form.plexes):
        nodes = np.flatnonzero(game.player == i)
        seqs = plex.first_seq[game.infoset[nodes]] + best[nodes]
        votes = np.bincount(seqs, reach[nodes] + RARE_VOTE * rare[nodes], plex.n_sequences)
        plan = np.zeros(plex.n_infosets, np.int32)
        for x in range(plex.n_infosets):
            plan[x] = int(np.argmax(votes[plex.first_seq[x] : plex.first_seq[x + 1]]))
        plans.append(plan)
    return plans


@jit
def _play_best(
    player: NDArray[np.int8],
    parent: Ints,
    action: Ints,
    chance_prob: Floats,
    value: Floats,
    best: Ints,
    reach: Floats,
    rare: Floats,
) -> None:
    """Overwrite the ``best`` action of each decision node, and the probabilities of each node:
    ``reach`` if the best actions are played, ``rare`` if all that players could do is done."""
    most = np.full(len(parent), -np.inf)
    for node in range(1, len(parent)):
        above = parent[node]
        if player[above] != CHANCE and value[node] > most[above]:
            most[above], best[above] = value[node], action[node]
    reach[0] = rare[0] = 1.0
    for node in range(1, len(parent)):
        above = parent[node]
        rare[node] = rare[above] * chance_prob[node]
        chosen = player[above] == CHANCE or best[above] == action[node]
        reach[node] = reach[above] * chance_prob[node] if chosen else 0.0


@jit
def _induce(
    player: NDArray[np.int8],
    parent: Ints,
    chance_prob: Floats,
    best: Floats,
    value: Floats,
    roundings: NDArray[np.int64],
) -> None:
    """Add to the ``value`` of each node the best that can follow, and to its ``roundings`` those of
    the terms of that sum; ``best`` is overwritten."""
    for node in range(len(parent) - 1, -1, -1):
        if player[node] >= CHANCE:
            value[node] += best[node]
        above = parent[node]
        if above < 0:
            continue
        roundings[above] = max(roundings[above], roundings[node])
        if player[above] == CHANCE:
            best[above] += chance_prob[node] * value[node]
            roundings[above] += 3  # the product, the sum, and that chances may not sum to 1
        else:
            best[above] = max(best[above], value[node])
