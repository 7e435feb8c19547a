"""The state of one player's regret minimizers, for full feedback.

At each infoset a minimizer holds one number per cell: per (rechistory, recommendation, action)
while recommendations are seen, per (rechistory, action) after the K-th deviation. Its next policy
is the stationary distribution of a rate matrix built from these numbers, weighted by the time
selections S_b.

Observing and recommending are one pass. When the minimizer at x is asked for its next policy, it
first adds the losses of the last iteration (S_b, p and the losses are still those of the last
iteration), and then weights the sums by the new S_b, which depend only on the new policies at the
ancestors of x. So each cell is read and written once per iteration.

A minimizer consists of a frozen configuration (:class:`Minimizer`) and a kernel. The configuration
makes a ``schedule``, a NamedTuple for one player of plain numbers and of arrays over the player's
infosets, and :func:`recommend` calls the kernel for that type of schedule. ``regret/methods.py``
lists all minimizers.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from accord._arrays import Floats
from accord._jit import generic, jit
from accord.deviations.counting import Footprint
from accord.deviations.rechistory import RechistoryArrays, RechistoryTree
from accord.treeplex.treeplex import TreeplexArrays


class Minimizer(Protocol):
    """A configured regret minimizer for full feedback: a frozen dataclass without arrays."""

    @property
    def name(self) -> str:
        """The name in ``regret/methods.py``."""

    @property
    def keeps_credit(self) -> bool:
        """Whether the state needs ``credit``, one more number per rechistory."""

    def schedule(self, tree: RechistoryTree, iterations: int | None) -> Any:
        """The parameters of its kernel for one player, as a NamedTuple.

        Args:
            tree: The rechistories of the player.
            iterations: The paper's T, if known.
        """


class MinimizerArrays(NamedTuple):
    """The state of all minimizers of one player, and their scratch space."""

    behavior: Floats  # [n_sequences] pi^t, overwritten infoset by infoset
    loss: Floats  # [n_sequences] l^t, the immediate losses of the last iteration
    cf_loss: Floats  # [n_sequences] L^t
    rec_reach: Floats  # [n_nodes] S_b^t
    regret: Floats  # [n_cells] the minimizer's sums
    credit: Floats  # [n_nodes] WRHedge's sum of exp(-eta |L|) S_b <p, L>; else empty
    deviation_loss: Floats  # [n_cells] sum of w_t S_b^t p^t(r) l^t(a), for the exact gap
    rates: Floats  # [max_actions ** 2] scratch: the rate matrix
    rows: Floats  # [max_actions ** 2] scratch: one rechistory's contribution
    external: Floats  # [max_actions] scratch: the row that EXTERNAL rechistories share


FOOTPRINT = Footprint(per_node=16, per_cell=16)
"""Memory of ``rec_reach`` and ``credit`` per node, ``regret`` and ``deviation_loss`` per cell."""


def new_arrays(tree: RechistoryTree, behavior: Floats, *, credit: bool) -> MinimizerArrays:
    """Arrays before the first iteration; policies are written to ``behavior``."""
    plex = tree.plex
    behavior[:] = 1.0  # the first pass reads it, times losses of zero: it must be finite
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


@generic
def recommend(
    schedule: Any,
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    state: MinimizerArrays,
    weight: float,
    t: int,
) -> None:
    """Observe the last losses and write the policies of iteration ``t``, parents first.

    Overwrites ``state.behavior`` and ``state.rec_reach``, updates the minimizer's sums, and adds
    the last iteration with ``weight`` to ``state.deviation_loss`` (all cells but the first).
    """


@jit
def pass_on(
    x: int, plex: TreeplexArrays, tree: RechistoryArrays, behavior: Floats, rec_reach: Floats
) -> None:
    """Play the only action at ``x``; update its time selections if infosets below need them."""
    seq = plex.first_seq[x]
    behavior[seq] = 1.0
    if plex.first_child[seq] < plex.first_child[seq + 1]:
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            rec_reach[node] = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]


@jit
def decayed(rate: float, decay: float, t: int) -> float:
    """``rate * t ** -decay``: a learning rate, or the weight of regrets, at iteration t."""
    return rate * float(t) ** -decay if decay else rate
