"""Values, losses and best responses.

The immediate counterfactual loss of player i at sequence (x, a), Equation (4) of Song, Mei, Bai
2022, is

    l(x, a) = sum over the leaves at (x, a) of chance * prod_{j != i} reach_j * loss,

and the counterfactual loss, Equation (5), adds the later losses of the player's own policy:

    L(x, a) = l(x, a) + sum_{x' in C(x, a)} sum_{a'} pi(a' | x') L(x', a').

Losses are normalized (``treeplex/leaves.py``), so ``L[0]`` is the player's expected loss, in [0,
1]. Users see payoffs, ``best - L[0] * range``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.treeplex.leaves import CenteredLeaves, LeafArrays, LeafTable
from accord.treeplex.strategy import compute_reach
from accord.treeplex.treeplex import Treeplex, TreeplexArrays


def joint_reach(plexes: Sequence[Treeplex], behaviors: Sequence[Floats]) -> Floats:
    """The sequence forms of all players' policies, concatenated."""
    reach = np.ones(sum(plex.n_sequences for plex in plexes))
    start = 0
    for plex, behavior in zip(plexes, behaviors, strict=True):
        end = start + plex.n_sequences
        compute_reach(plex.arrays, behavior, reach[start:end])
        start = end
    return reach


def expected_values(leaves: LeafTable, reach: Floats) -> Floats:
    """``[n_players]`` expected payoffs V_i of the joint ``reach``."""
    weight = np.ones(len(leaves))
    for i in range(leaves.n_players):
        weight *= reach[leaves.first_reach[i] + leaves.seqs[:, i]]
    return weight @ leaves.payoff


def immediate_loss(leaves: LeafTable, player: int, reach: Floats) -> Floats:
    """``[n_sequences]`` l of ``player`` against the other players' part of the joint ``reach``."""
    loss = np.empty(int(leaves.first_reach[player + 1] - leaves.first_reach[player]))
    compute_loss(leaves.arrays[player], reach, loss)
    return loss


def counterfactual_loss(plex: Treeplex, behavior: Floats, loss: Floats) -> Floats:
    """``[n_sequences]`` L from the immediate ``loss`` and the player's own ``behavior``."""
    cf_loss = np.empty(plex.n_sequences)
    compute_cf_loss(plex.arrays, behavior, loss, cf_loss)
    return cf_loss


def best_response(plex: Treeplex, loss: Floats) -> tuple[float, Ints]:
    """The smallest loss of any policy against the immediate ``loss``, and a pure policy with it.

    Ties go to the first action.
    """
    total = loss.copy()
    actions = np.empty(plex.n_infosets, np.int32)
    respond(plex.arrays, total, actions)
    return float(total[0]), actions


@jit
def compute_loss(leaves: LeafArrays, reach: Floats, loss: Floats) -> None:
    """Overwrite ``loss`` with the immediate counterfactual losses against the joint ``reach``."""
    n_others = leaves.others.shape[1]
    for seq in range(len(loss)):
        total = 0.0
        if n_others == 1:
            for row in range(leaves.first_row[seq], leaves.first_row[seq + 1]):
                total += leaves.loss[row] * reach[leaves.others[row, 0]]
        else:
            for row in range(leaves.first_row[seq], leaves.first_row[seq + 1]):
                term = leaves.loss[row]
                for column in range(n_others):
                    term *= reach[leaves.others[row, column]]
                total += term
        loss[seq] = total


@jit
def compute_centered_loss(
    leaves: CenteredLeaves, reach: Floats, loss: Floats, prob: Floats, gain: Floats
) -> None:
    """Overwrite ``loss`` with l, measured from the center, in payoff units. Overwrite ``prob`` with
    what l would be if every play lost 1, and ``gain`` if it lost its excess over the center."""
    n_others = leaves.others.shape[1]
    for seq in range(len(loss)):
        lost = reached = gained = 0.0
        for row in range(leaves.first_row[seq], leaves.first_row[seq + 1]):
            together = 1.0
            for column in range(n_others):
                together *= reach[leaves.others[row, column]]
            lost += leaves.loss[row] * together
            reached += leaves.prob[row] * together
            gained += leaves.gain[row] * together
        loss[seq] = lost
        prob[seq] = reached
        gain[seq] = gained


@jit
def compute_cf_loss(plex: TreeplexArrays, behavior: Floats, loss: Floats, cf_loss: Floats) -> None:
    """Overwrite ``cf_loss`` with L, in one sweep from the last layer to the first."""
    for seq in range(len(loss)):
        cf_loss[seq] = loss[seq]
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        above, value = plex.parent_seq[x], 0.0
        for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
            value += behavior[seq] * cf_loss[seq]
        if above < plex.first_seq[x]:  # else x is a start
            cf_loss[above] += value


@jit
def respond(plex: TreeplexArrays, total: Floats, actions: Ints) -> None:
    """Turn immediate losses ``total`` into best-continuation losses; overwrite ``actions``."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        best = plex.first_seq[x]
        for seq in range(plex.first_seq[x] + 1, plex.first_seq[x + 1]):
            if total[seq] < total[best]:
                best = seq
        actions[x] = best - plex.first_seq[x]
        total[plex.parent_seq[x]] += total[best]


@jit
def fold_single_actions(plex: TreeplexArrays, loss: Floats) -> None:
    """Move the loss of each infoset's single action to the sequence that leads to the infoset.

    A player who plays that sequence takes the single action whatever is recommended, so the total
    loss of every policy and of every deviation stays the same.
    """
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        seq, above = plex.first_seq[x], plex.parent_seq[x]
        if plex.first_seq[x + 1] == seq + 1 and above < seq:  # else x is a start
            loss[above] += loss[seq]
            loss[seq] = 0.0
