"""What tests of regret bounds share: adversarial losses, and sums over all modifications."""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.gap import best_deviation
from accord.treeplex.treeplex import Treeplex


def adversarial_loss(
    plex: Treeplex, behavior: Floats, rng: np.random.Generator, kind: str, t: int
) -> Floats:
    """Losses that chance and opponents who may do anything could cause, given the player's policy.

    They share out mass 1 among the infosets that follow a sequence and the plays that end there.
    """
    loss, mass = np.zeros(plex.n_sequences), np.zeros(plex.n_infosets)
    for seq in range(plex.n_sequences):
        x = plex.seq_infoset[seq]
        here = 1.0 if seq == 0 else mass[x]
        below = list(plex.children(seq))
        parts = 1 + len(below)
        if kind == "random":
            share = rng.dirichlet(np.ones(parts))
        else:
            share = np.eye(parts)[rng.integers(1, parts) if below else 0]
        mass[below] = here * share[1:]
        if seq == 0:
            value = rng.random()
        elif kind == "likeliest":
            value = float(seq == np.argmax(behavior * (plex.seq_infoset == x)))
        elif kind == "alternating":
            value = float((seq + t) % 2)
        else:
            value = rng.random()
        loss[seq] = here * share[0] * value
    return loss


def largest_sum(tree: RechistoryTree, cost: Floats) -> float:
    """The most, over phi, that the nodes it can meet cost together, by the gap's own sweep."""
    total = np.zeros(tree.n_cells)
    for node in range(1, tree.n_nodes):
        n = int(tree.plex.n_actions[tree.node_infoset[node]])
        first = int(tree.arrays.first_cell[node])
        total[first : first + n] = -cost[node]  # one row: phi takes exactly one of its actions
    return -best_deviation(tree, total)[0]
