"""Loss estimators by balanced sampling, Algorithms 4 and 7 of Song, Mei, Bai 2022.

To estimate L(x, .) at the infosets x of layer h for the rechistories with deviations at the layers
W, the player plays one episode that mixes two policies: the balanced exploration policy pi^{*,h} at
the layers W and at h (after the K-th deviation also at all layers between), and the player's own
pi^t everywhere else:

    Type I    h = 1..H, Wbar of min(K-1, h-1) layers before h:    explore at Wbar and h
    Type II   K <= h' < h <= H, W of K layers up to h', h' in W:  explore at W and h'+1, ..., h.

A Type-I rechistory with fewer deviations uses the episode whose set is filled up with the smallest
layers (``fill``). With q the sampling policy, the estimate is ``[(x, a) was played] loss /
q_{1:h}(x, a)``, where the loss is that of the whole play. In total there are
``C(H+1, K+1) + K - 1`` episodes (Lemma G.1), or H for K = 0.

The minimizers need S_b = M_b w_b times the estimate, where M_b = prod_k pi^t(b_k | x_k) and w_b is
the product of pi^{*,h} over the explored layers, Equations (11) and (12). All exploration cancels:

    S_b * estimate(a) = loss * prod over the explored k < h of pi^t(b_k | x_k)

(for Type II, k <= h')

because b and the play agree wherever pi^t was followed. The product never exceeds the loss, since
nothing is divided by a small number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.rechistory import RechistoryArrays, RechistoryTree
from accord.errors import BudgetError
from accord.learning.exploration import exploration_weights
from accord.learning.tables import Tables, footprint
from accord.regret.rates import episodes_per_iteration
from accord.regret.sampled import SampledMinimizer
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

MAX_EPISODES = 10_000_000


@dataclass(frozen=True, eq=False)
class SamplingPlan:
    """The episodes that one player samples in an iteration, and the rechistories they inform."""

    layer: Ints  # [n_episodes] the layer h - 1 (from 0) whose losses the episode estimates
    explores: NDArray[np.bool_]  # [n_episodes, horizon] whether it explores at each layer
    node_episode: Ints  # [n_nodes] the episode that informs each rechistory
    node_weight: Floats  # [n_nodes] w_b

    @property
    def n_episodes(self) -> int:
        return len(self.layer)


def sampling_sets(horizon: int, k: int) -> list[tuple[int, tuple[int, ...]]]:
    """``(h, explored layers up to h)`` of every episode, layers from 1: Type I, then Type II.

    The kernels below number them in this order: by h, then h', then combinations in colexicographic
    order.
    """
    sets: list[tuple[int, tuple[int, ...]]] = []
    for h in range(1, horizon + 1) if k else ():
        size = min(k - 1, h - 1)
        sets += [(h, (*w, h)) for w in _colex(h - 1, size)]
    for h in range(1, horizon + 1):
        if k == 0:
            sets.append((h, tuple(range(1, h + 1))))
        for last in range(max(k, 1), h) if k else ():
            between = tuple(range(last + 1, h + 1))
            sets += [(h, (*w, last, *between)) for w in _colex(last - 1, k - 1)]
    return sets


def _colex(n: int, size: int) -> list[tuple[int, ...]]:
    """Subsets of 1..n with ``size`` elements, in colexicographic order."""
    return sorted(combinations(range(1, n + 1), size), key=lambda w: w[::-1])


def sampling_plan(tree: RechistoryTree, exploration: str = "balanced") -> SamplingPlan:
    """The episodes for the rechistories of ``tree``, with one of the ``EXPLORATIONS``.

    Raises:
        BudgetError: If an iteration would need more than ten million episodes.
    """
    plex, k = tree.plex, tree.k
    horizon = plex.horizon
    if (count := episodes_per_iteration(horizon, k)) > MAX_EPISODES:
        raise BudgetError(
            f"at k = {k} and horizon {horizon} one iteration takes {count} episodes, more than "
            f"{MAX_EPISODES}; try a smaller k",
            required=count,
            available=MAX_EPISODES,
        )
    sets = sampling_sets(horizon, k)
    layer = np.array([h - 1 for h, _ in sets], np.int32)
    explores = np.zeros((len(sets), horizon), np.bool_)
    for e, (_, explored) in enumerate(sets):
        explores[e, np.array(explored) - 1] = True
    # Where the episodes of each h (Type I) and of each (h, h') (Type II) start.
    first_one = np.zeros(horizon + 1, np.int64)
    for h in range(1, horizon + 1):
        first_one[h] = first_one[h - 1] + (math.comb(h - 1, min(k - 1, h - 1)) if k else 0)
    first_two = np.zeros((horizon + 1, horizon + 1), np.int64)
    start = int(first_one[horizon])
    for h in range(1, horizon + 1):
        for last in range(max(k, 1), h) if k else range(1):
            first_two[h, last] = start
            start += math.comb(last - 1, k - 1) if k else 1
    choose = np.array(
        [[math.comb(n, r) for r in range(k + 1)] for n in range(horizon + 1)], np.int64
    ).reshape(horizon + 1, k + 1)
    descendants = exploration_weights(plex, exploration)
    node_episode = np.zeros(tree.n_nodes, np.int32)
    node_weight = np.ones(tree.n_nodes)
    _assign_episodes(
        plex.arrays, plex.seq_infoset, tree.arrays, plex.depth, k, descendants, explores,
        first_one, first_two, choose, node_episode, node_weight,
    )  # fmt: skip
    return SamplingPlan(layer, explores, node_episode, node_weight)


def planned_tables(
    plex: Treeplex,
    k: float,
    minimizer: SampledMinimizer,
    exploration: str = "balanced",
    budget: int | None = None,
) -> tuple[SamplingPlan, Tables]:
    """The sampling plan of a player, and tables whose rechistories know their episodes.

    Raises:
        BudgetError: If the rechistories take more than ``budget`` bytes, by default the free
            memory, or an iteration would need more than ten million episodes.
    """
    tree = RechistoryTree.build(plex, k, budget, footprint(minimizer, tree=True))
    plan, tables = sampling_plan(tree, exploration), Tables.of(plex, k, minimizer, budget)
    tables.describe_nodes(
        first_cell=tree.arrays.first_cell[:-1],
        episode=plan.node_episode,
        weight=plan.node_weight,
    )
    return plan, tables


@jit
def _assign_episodes(
    plex: TreeplexArrays,
    seq_infoset: Ints,
    tree: RechistoryArrays,
    depth: Ints,
    k: int,
    descendants: Ints,
    explores: NDArray[np.bool_],
    first_one: NDArray[np.int64],
    first_two: NDArray[np.int64],
    choose: NDArray[np.int64],
    node_episode: Ints,
    node_weight: Floats,
) -> None:
    """Overwrite ``node_episode`` and ``node_weight`` at every rechistory."""
    horizon = explores.shape[1]
    disobeyed = np.zeros(horizon, np.bool_)
    for x in range(len(plex.parent_seq)):
        h = depth[x] + 1
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            external = node >= tree.first_external[x]
            mismatches, last = 0, 0
            below, at = x, node
            for layer in range(h - 2, -1, -1):  # the recommendation at each layer above
                seq = tree.rec_seq[at]
                disobeyed[layer] = seq != 0 and seq != plex.parent_seq[below]
                if disobeyed[layer]:
                    mismatches += 1
                    last = max(last, layer + 1)
                below, at = seq_infoset[plex.parent_seq[below]], tree.parent[at]
            if external:
                if last > 0:
                    disobeyed[last - 1] = False  # ranked without its last element, which is h'
                episode = first_two[h, last]
            else:
                episode = first_one[h - 1]
                for layer in range(h - 1):  # fill up to K - 1, as far as there are layers
                    if mismatches < k - 1 and not disobeyed[layer]:
                        disobeyed[layer] = True
                        mismatches += 1
            rank = 0
            for layer in range(h - 1):  # colexicographic, among sets of this size
                if disobeyed[layer]:
                    rank += 1
                    episode += choose[layer, rank]
            node_episode[node] = episode
            weight = 1.0
            below = x
            if explores[episode, h - 1]:
                weight /= plex.first_seq[x + 1] - plex.first_seq[x]
            for layer in range(h - 2, -1, -1):
                seq = plex.parent_seq[below]
                below = seq_infoset[seq]
                if explores[episode, layer]:
                    total = 0
                    for other in range(plex.first_seq[below], plex.first_seq[below + 1]):
                        total += descendants[other, h - 1]
                    weight *= descendants[seq, h - 1] / total
            node_weight[node] = weight
