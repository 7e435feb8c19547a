"""Components that average a stretch of iterates.

The product of the players' average policies over a short stretch of iterations is close to the
mixture of the iterates in it, because policies change slowly, and it varies less from one component
to the next than single iterates do. The average of a player's policies is that of their reach
probabilities (von Stengel's sequence form),

    average(a | x)  proportional to  sum over t of pi^t_{1:h}(x, a),

and at infosets that the player never reaches it is the plain mean of pi^t(a | x).

For K <= 1 and for the EFCCE a policy matters only at infosets that the player reaches under it,
because no deviator hears a recommendation anywhere else, and only those are computed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.notions import Notion
from accord.regret.sampled import Infosets, SampledArrays, refresh

UNREACHED = 1e-100
"""The weight, beside that of the reach probability, that every policy has everywhere."""


class Averaging(NamedTuple):
    """The iterates of a stretch so far, of one player or of several one after the other."""

    parent_seq: Ints  # [n_infosets] the sequence that leads to each infoset
    reach: Floats  # [n_sequences] working memory, 1 at the empty sequences
    total: Floats  # [n_sequences] the sum of the iterates
    everywhere: bool  # whether to compute policies also where the player does not come


def is_heard_everywhere(notion: Notion) -> bool:
    """Whether deviators hear recommendations at infosets that the player's policy excludes."""
    return notion.agent or notion.deviations > 1


def is_sampled(t: int, stride: int, averages: int) -> bool:
    """Whether iterate t is one of the ``averages`` in its stretch of ``stride`` iterations."""
    place = (t - 1) % stride
    return place * averages // stride != (place + 1) * averages // stride


@jit
def add_iterates(
    schedule: Any,
    player: int,
    first_infoset: NDArray[np.int64],
    t: int,
    averaging: Averaging,
    state: SampledArrays,
) -> None:
    """Add pi^t of ``player`` and of the players after them to ``averaging.total``.

    ``first_infoset`` is where the infosets of each of them start, and where the last end. Policies
    are computed where the player reaches the infoset, or ``everywhere``.
    """
    infosets, nodes, behavior, regret = state.infosets, state.nodes, state.behavior, state.regret
    scratch, reach, total = state.scratch, averaging.reach, averaging.total
    for i in range(len(first_infoset) - 1):
        for x in range(first_infoset[i], first_infoset[i + 1]):
            above = reach[averaging.parent_seq[x]]
            if averaging.everywhere or above > 0.0:
                refresh(schedule, player + i, x, t, infosets, nodes, behavior, regret, scratch)
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
