"""The game that joint plays have shown, completed where they have shown nothing.

The tree of joint histories (``play/joint_tree.py``) becomes a leaf table. Node d has the chance
probability c(d) = c(d') law(e) n(d) / n(e), where d' is the node of the edge e before it. Every end
is a row with its mean losses, and so is every action that nobody has taken at a node: full feedback
on this table is what K-EFR would hear if the game were like that.

What would an unseen action a at node d, where a player is at infoset x, cost player i? With values
V and Q of nodes and edges under the mean policies of the last round, and their means q(x) and
q(x, a) over all plays through x and through (x, a), whatever the joint history,

    loss_i = q_i(x, a) + l (V_i(d) - q_i(x)),      l = n(d) / (n(d) + 5):

what the action costs elsewhere, corrected by how this history differs from the others. No theorem
says so; later plays judge what comes of it (``learning/joint_choice.py``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.play.joint_paths import Places, walk_down
from accord.play.joint_tree import FIRST, OFF, JointArrays, JointTree, compute_law

TRUST = 5.0
"""Plays through a node after which half of its difference from others is believed."""

SHRINKAGE = 0.5
"""Plays of its infoset that the mean of a sequence is shrunk by."""

LEAST_WEIGHT = 1e-9
"""The weight of an action in a node's value beside its probability, so that not all are zero."""


class Rows(NamedTuple):
    """Rows of a leaf table, sorted by sequences."""

    seqs: Ints  # [n_rows, n_players]
    prob: Floats  # [n_rows]
    losses: Floats  # [n_rows, n_players]


def completed_rows(tree: JointTree, places: Places, mean: Floats) -> Rows:
    """The empirical game of ``tree``, completed with values under the joint behavior ``mean``."""
    arrays, players = tree.arrays, tree.n_players
    n_nodes, n_edges = tree.n_nodes, tree.n_edges
    law, prob = np.empty(n_edges), np.empty(n_nodes)
    seqs = np.empty((n_nodes, players), np.int32)
    compute_law(arrays, law)
    walk_down(arrays, places, law, prob, seqs)
    unseen = int(count_unseen(arrays))
    completion = np.zeros((n_edges if unseen else 0, players))
    if unseen:
        complete(arrays, places, law, mean, completion)
    rows = Rows(
        np.empty((tree.n_ends + unseen, players), np.int32),
        np.empty(tree.n_ends + unseen),
        np.empty((tree.n_ends + unseen, players)),
    )
    write_rows(arrays, places, prob, seqs, completion, *rows)
    # In a fixed order equal losses add up to equal sums, and what is tied stays tied.
    order = np.lexsort(rows.seqs.T[::-1])
    return Rows(rows.seqs[order], rows.prob[order], rows.losses[order])


@jit
def count_unseen(tree: JointArrays) -> int:
    """How many actions at nodes nobody has taken."""
    unseen = 0
    for e in range(1, tree.size[1]):
        if tree.edges[e].count == 0 and tree.nodes[tree.edges[e].node].player != CHANCE:
            unseen += 1
    return unseen


@jit
def complete(
    tree: JointArrays, places: Places, law: Floats, mean: Floats, completion: Floats
) -> None:
    """Overwrite ``completion`` with the losses of unseen actions; they are used twice."""
    players = completion.shape[1]
    value, cost = np.empty((tree.size[0], players)), np.empty((tree.size[1], players))
    at_seq, at_infoset = np.empty((len(mean), players)), np.empty((len(places.first_seq), players))
    for known in (False, True):
        _compute_values(tree, places, law, mean, completion, known, value, cost)
        _average_values(tree, places, value, cost, at_seq, at_infoset)
        for d in range(tree.size[0]):
            node = tree.nodes[d]
            if node.player < 0:
                continue
            x = places.first_infoset[node.player] + node.place
            trust = node.count / (node.count + TRUST)
            for a in range(node.n_edges):
                if tree.edges[node.first_edge + a].count == 0:
                    for i in range(players):
                        loss = at_seq[places.first_seq[x] + a, i]
                        loss += trust * (value[d, i] - at_infoset[x, i])
                        completion[node.first_edge + a, i] = min(1.0, max(0.0, loss))


@jit
def _compute_values(
    tree: JointArrays,
    places: Places,
    law: Floats,
    mean: Floats,
    completion: Floats,
    completed: bool,
    value: Floats,
    cost: Floats,
) -> None:
    """Overwrite ``value`` and ``cost`` with V of nodes and Q of edges under ``mean``.

    Unseen actions cost their completion or, if not ``completed``, are left out.
    """
    cost[:] = 0.0
    for d in range(tree.size[0] - 1, -1, -1):
        node = tree.nodes[d]
        first, end = node.first_edge, node.first_edge + node.n_edges
        value[d] = 0.0
        if node.player == TERMINAL:
            for i in range(value.shape[1]):
                losses = tree.losses[node.place]
                value[d, i] = losses[FIRST, i] + losses[OFF, i] / node.count
        elif node.player == CHANCE:
            for e in range(first, end):
                for i in range(value.shape[1]):
                    value[d, i] += law[e] * cost[e, i]
        else:
            seq = places.first_seq[places.first_infoset[node.player] + node.place]
            total = 0.0
            for e in range(first, end):
                if tree.edges[e].count == 0:
                    if not completed:
                        continue
                    for i in range(value.shape[1]):
                        cost[e, i] = completion[e, i]
                weight = mean[seq + e - first] + LEAST_WEIGHT
                total += weight
                for i in range(value.shape[1]):
                    value[d, i] += weight * cost[e, i]
            for i in range(value.shape[1]):
                value[d, i] /= total
        share = node.count / tree.edges[node.edge].count
        for i in range(value.shape[1]):
            cost[node.edge, i] += share * value[d, i]


@jit
def _average_values(
    tree: JointArrays,
    places: Places,
    value: Floats,
    cost: Floats,
    at_seq: Floats,
    at_infoset: Floats,
) -> None:
    """Overwrite ``at_seq`` and ``at_infoset`` with q(x, a) and q(x)."""
    at_seq[:] = 0.0
    at_infoset[:] = 0.0
    seq_plays, infoset_plays = np.zeros(len(at_seq)), np.zeros(len(at_infoset))
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        if node.player < 0:
            continue
        x = places.first_infoset[node.player] + node.place
        infoset_plays[x] += node.count
        for i in range(value.shape[1]):
            at_infoset[x, i] += node.count * value[d, i]
        for a in range(node.n_edges):
            seq, e = places.first_seq[x] + a, node.first_edge + a
            seq_plays[seq] += tree.edges[e].count
            for i in range(value.shape[1]):
                at_seq[seq, i] += tree.edges[e].count * cost[e, i]
    for x in range(len(at_infoset)):
        for i in range(value.shape[1]):
            if infoset_plays[x] > 0.0:
                at_infoset[x, i] /= infoset_plays[x]
            for seq in range(places.first_seq[x], places.first_seq[x] + places.n_actions[x]):
                total = at_seq[seq, i] + SHRINKAGE * at_infoset[x, i]
                at_seq[seq, i] = total / (seq_plays[seq] + SHRINKAGE)


@jit
def write_rows(
    tree: JointArrays,
    places: Places,
    prob: Floats,
    seqs: Ints,
    completion: Floats,
    row_seqs: Ints,
    row_prob: Floats,
    row_losses: Floats,
) -> None:
    """Overwrite the rows with all ends and all unseen actions."""
    row = 0
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        if node.player == TERMINAL:
            row_seqs[row], row_prob[row] = seqs[d], prob[d]
            for i in range(seqs.shape[1]):
                losses = tree.losses[node.place]
                row_losses[row, i] = losses[FIRST, i] + losses[OFF, i] / node.count
            row += 1
        elif node.player != CHANCE:
            i = node.player
            first = places.first_seq[places.first_infoset[i] + node.place] - places.first_reach[i]
            for a in range(node.n_edges):
                if tree.edges[node.first_edge + a].count == 0:
                    row_seqs[row], row_prob[row] = seqs[d], prob[d]
                    row_seqs[row, i] = first + a
                    row_losses[row] = completion[node.first_edge + a]
                    row += 1
