"""Components that average a stretch of iterates.

The product of the players' average policies over a short stretch of iterations is close to the
mixture of the iterates in it, because policies change slowly, and it varies less from one component
to the next than single iterates do. The average of a player's policies is that of their reach
probabilities (von Stengel's sequence form),

    average(a | x)  proportional to  sum over t of pi^t_{1:h}(x, a),

and at infosets that the player never reaches it is the plain mean of pi^t(a | x).

For K <= 1 a policy matters only at infosets that the player reaches under it, because no deviator
hears a recommendation anywhere else, and only those are computed.
"""

from __future__ import annotations

from typing import Any

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.regret.sampled import Infosets, Nodes, recommend_at, update_reach

UNREACHED = 1e-100
"""The weight, beside that of the reach probability, that every policy has everywhere."""


@jit
def is_sampled(t: int, stride: int, averages: int) -> bool:
    """Whether iterate t is one of the ``averages`` in its stretch of ``stride`` iterations."""
    place = (t - 1) % stride
    return place * averages // stride != (place + 1) * averages // stride


@jit
def add_iterate(
    schedule: Any,
    player: int,
    first: int,
    end: int,
    t: int,
    everywhere: bool,
    parent_seq: Ints,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
    reach: Floats,
    total: Floats,
) -> None:
    """Add pi^t of ``player``, whose infosets are ``first .. end - 1``, to ``total``.

    ``reach`` is working memory over sequences, 1 at the empty ones. Policies are computed where the
    player reaches the infoset, or ``everywhere``.
    """
    for x in range(first, end):
        above = reach[parent_seq[x]]
        if (
            (everywhere or above > 0.0)
            and infosets[x].stamp != t
            and update_reach(x, t, infosets, nodes, behavior)
        ):
            recommend_at(schedule, player, x, infosets, nodes, behavior, regret, scratch)
        for seq in range(infosets[x].first_seq, infosets[x].first_seq + infosets[x].n_actions):
            reach[seq] = above * behavior[seq]
            total[seq] += reach[seq] + UNREACHED * behavior[seq]


@jit
def write_average(infosets: Infosets, total: Floats, average: Floats) -> None:
    """Overwrite ``average`` with the average of all policies added to ``total``; clear that."""
    average[:] = 1.0
    for x in range(len(infosets)):
        first, end = infosets[x].first_seq, infosets[x].first_seq + infosets[x].n_actions
        weight = 0.0
        for seq in range(first, end):
            weight += total[seq]
        for seq in range(first, end):
            average[seq] = total[seq] / weight
            total[seq] = 0.0
