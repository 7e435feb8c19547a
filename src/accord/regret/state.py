"""What every regret minimizer works on.

At each infoset a minimizer holds one number per cell: per (rechistory, recommendation, action)
while the recommendation is seen, per (rechistory, action) afterwards. Whatever it makes of them,
its next policy is the stationary distribution of a rate matrix that they weigh with the time
selections S_b.

Observing and recommending are one pass. When the minimizer at x is asked for its next policy it
first adds what the last iteration cost (S_b, p and the losses are still those of the last
iteration), and then weighs the sums with the new S_b, which only depend on the new policies at
ancestors of x. So each cell is read and written once per iteration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.rechistory import RechistoryTree

WRHEDGE, RM, RM_PLUS, PREDICTIVE_RM_PLUS = range(4)
"""Minimizers, as kernels know them."""


class MinimizerArrays(NamedTuple):
    """State of all minimizers of one player, and where they write."""

    behavior: Floats  # [n_sequences] pi^t, overwritten infoset by infoset
    loss: Floats  # [n_sequences] l^t, the immediate losses of the last iteration
    cf_loss: Floats  # [n_sequences] L^t
    rec_reach: Floats  # [n_nodes] S_b^t
    regret: Floats  # [n_cells] what the minimizer adds up
    credit: Floats  # [n_nodes] WRHedge's sum of exp(-eta |L|) S_b <p, L>; else empty
    deviation_loss: Floats  # [n_cells] sum of w_t S_b^t p^t(r) l^t(a), for the exact gap
    rates: Floats  # [max_actions ** 2] scratch: the rate matrix
    rows: Floats  # [max_actions ** 2] scratch: one rechistory's contribution
    external: Floats  # [max_actions] scratch: the row that EXTERNAL rechistories share


def new_arrays(tree: RechistoryTree, behavior: Floats, *, credit: bool) -> MinimizerArrays:
    """Arrays before the first iteration; ``behavior`` is where policies are written."""
    plex = tree.plex
    behavior[:] = 1.0  # whatever was there must not meet the first losses
    rec_reach = np.zeros(tree.n_nodes)
    rec_reach[0] = 1.0
    n = plex.max_actions
    return MinimizerArrays(
        behavior=behavior,
        loss=np.zeros(plex.n_sequences),
        cf_loss=np.zeros(plex.n_sequences),
        rec_reach=rec_reach,
        regret=np.zeros(tree.n_cells),
        credit=np.zeros(tree.n_nodes if credit else 0),
        deviation_loss=np.zeros(tree.n_cells),
        rates=np.zeros(n * n),
        rows=np.zeros(n * n),
        external=np.zeros(n),
    )


@jit
def pass_on(x: int, plex: Any, tree: Any, behavior: Any, rec_reach: Any) -> None:
    """A single action is no decision: take it, and only update the time selections after it."""
    seq = plex.first_seq[x]
    behavior[seq] = 1.0
    if plex.first_child[seq] < plex.first_child[seq + 1]:
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            rec_reach[node] = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
