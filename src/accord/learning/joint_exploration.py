"""Exploration of a game by joint plays: toward what has not been seen.

In an episode either everybody explores, or nobody, or one player while the others follow the
mixture. Explorers take action a at the joint history d with probability proportional to W(d, a),
but each action with at least a twentieth of a uniform share, where

    W(e) = own(e) + sum over the nodes after e of P(d | e) W(d),
    W(d) = sum of W(d, a) over the actions      if the player to move explores,
           sum of pi(a) W(d, a)                 if they follow the mixture or are chance,

without P and pi if everybody explores. So W is the volume that can be reached below. The own part
of an edge that no play has taken is its *size*, the mean number of ends and unseen actions known
below other edges with the same sequence; these sizes add up to the unseen volume of the game. Other
edges count the less, the more often they were taken: as 1/sqrt(n) where chance moves next, as 1/n
where nothing seems to be left to learn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats
from accord._jit import jit
from accord.play.joint_paths import Places
from accord.play.joint_tree import JointArrays, JointTree

EVERYBODY, NOBODY = 0, -1
"""Who explores in an episode; player i is 1 + i."""

UNIFORM = 0.05
"""The share of uniform actions of those who explore."""

RANDOM, PERHAPS_RANDOM, SETTLED = 0.5, 1.0, 0.03
"""Weights of an edge, if chance was seen to move after it, after another edge with its sequence, or
never."""

FIRST_SHARES = (1.0, 0.0, 0.0)
"""How often everybody, nobody or one player explores, before anything is known."""


def shares_of(unseen: float, batch: float) -> tuple[float, float, float]:
    """How often everybody, nobody or one player explores in a round of ``batch`` episodes.

    ``unseen`` is the unseen volume at its start.
    """
    if unseen == 0.0:
        return (0.3, 0.3, 0.4)
    return (0.8, 0.05, 0.15) if unseen <= 2.0 * batch else (0.5, 0.1, 0.4)


def exploration_weights(
    tree: JointTree, places: Places, mean: Floats, law: Floats
) -> tuple[Floats, float]:
    """``[n_edges, 1 + n_players]`` W if everybody or one player explores, and the unseen volume."""
    sizes, is_random = np.empty(len(mean)), np.zeros(len(mean), np.bool_)
    measure_sizes(tree.arrays, places, sizes, is_random, np.zeros(tree.n_edges))
    weights = np.zeros((tree.n_edges, 1 + tree.n_players))
    unseen = compute_weights(tree.arrays, places, mean, law, sizes, is_random, weights)
    return weights, float(unseen)


@jit
def measure_sizes(
    tree: JointArrays,
    places: Places,
    sizes: Floats,
    is_random: NDArray[np.bool_],
    below: Floats,
) -> None:
    """Overwrite ``sizes`` of sequences; set ``is_random`` where chance was seen to move next.

    ``below`` must be zeros; it becomes the ends and unseen actions known below each edge.
    """
    total, seen = np.zeros(len(sizes)), np.zeros(len(sizes))
    for d in range(tree.size[0] - 1, -1, -1):
        node = tree.nodes[d]
        size = 0.0
        if node.player == TERMINAL:
            size = 1.0
        elif node.player == CHANCE:
            for e in range(node.first_edge, node.first_edge + node.n_edges):
                size += below[e]
        else:
            first = places.first_seq[places.first_infoset[node.player] + node.place]
            for a in range(node.n_edges):
                e = node.first_edge + a
                if tree.edges[e].count == 0:
                    size += 1.0
                    continue
                size += below[e]
                total[first + a] += below[e]
                seen[first + a] += 1.0
                if tree.edges[e].outcomes > 1:
                    is_random[first + a] = True
        below[node.edge] += size
    for seq in range(len(sizes)):
        sizes[seq] = total[seq] / seen[seq] if seen[seq] > 0.0 else 1.0


@jit
def compute_weights(
    tree: JointArrays,
    places: Places,
    mean: Floats,
    law: Floats,
    sizes: Floats,
    is_random: NDArray[np.bool_],
    weights: Floats,
) -> float:
    """Add W to ``weights``, which must be zeros; returns the unseen volume."""
    unseen = 0.0
    for d in range(tree.size[0] - 1, -1, -1):
        node = tree.nodes[d]
        if node.player == TERMINAL:
            continue
        first, end = node.first_edge, node.first_edge + node.n_edges
        seq = 0
        if node.player != CHANCE:
            seq = places.first_seq[places.first_infoset[node.player] + node.place]
            for e in range(first, end):
                count = tree.edges[e].count
                if count == 0:
                    own = sizes[seq + e - first]
                    unseen += own
                elif tree.edges[e].outcomes > 1:
                    own = RANDOM / math.sqrt(count)
                elif is_random[seq + e - first]:
                    own = PERHAPS_RANDOM / math.sqrt(count + 1.0)
                else:
                    own = SETTLED / (count + 1.0)
                for mode in range(weights.shape[1]):
                    weights[e, mode] += own
        share = node.count / tree.edges[node.edge].count
        for mode in range(weights.shape[1]):
            total = told = 0.0
            for e in range(first, end):
                told += tree.edges[e].told
                if mode == EVERYBODY or mode == node.player + 1:
                    total += weights[e, mode]
                elif node.player == CHANCE:
                    total += law[e] * weights[e, mode]
                else:
                    total += mean[seq + e - first] * weights[e, mode]
            if node.player == CHANCE and told == 0.0:
                total += RANDOM / math.sqrt(node.count)
            weights[node.edge, mode] += total if mode == EVERYBODY else share * total
    return unseen


@jit
def explorer(draw: float, shares: Any, n_players: int) -> int:
    """Who explores, if ``draw`` is uniform: EVERYBODY, NOBODY, or 1 + a player."""
    if draw < shares[0]:
        return EVERYBODY
    if draw < shares[0] + shares[1]:
        return NOBODY
    rest = (draw - shares[0] - shares[1]) / shares[2]
    return 1 + min(n_players - 1, int(rest * n_players))
