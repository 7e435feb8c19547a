"""Sweeps over amounts that are shared step by step: correlation plans and deviators' flows.

Both consist of the steps of ``equilibrium/sharing.py``. On the tree of a deviator every row shares
the flow that arrives in the cell that it continues.

Let cost[.] be the price of a unit of each entry. Swept from the last step to the first, a sum adds
the cost of its head to those of its members, and a share adds sum_m share[m] cost[m] to the cost of
its head. That is the regret decomposition of scaled extensions (G. Farina, C. K. Ling, F. Fang and
T. Sandholm, *Efficient regret minimization algorithm for extensive-form correlated equilibrium*,
2019): if every share has small regret, so has x. The shares follow predictive regret matching
(Farina, Kroer, Sandholm 2021), where the last regret is the prediction of the next:

    d[m] = sum_n share[n] cost[n] - cost[m],
    regret[m] = max(0, discount regret[m] + d[m]),
    share[m] in proportion to max(0, regret[m] + d[m]).

With the cheapest member in place of the shares the sweep finds the least cost of all x.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Bools, Floats, Longs
from accord._jit import jit
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.sharing import Sharing, add_to_summed, has_summed


def flow_sharing(trees: tuple[RechistoryTree, ...]) -> tuple[Sharing, Longs]:
    """The steps of all players' flows, and ``[n_players + 1]`` where each player's cells start."""
    starts = np.cumsum([0] + [tree.n_cells for tree in trees])
    head, first, size = [], [], []
    for tree, start in zip(trees, starts[:-1], strict=True):
        node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_row))[1:]
        width = tree.row_width
        head.append(start + tree.arrays.parent_cell[node])
        first.append(start + (np.cumsum(width) - width)[1:])
        size.append(width[1:])
    heads, firsts, sizes = (np.concatenate(part).astype(np.int32) for part in (head, first, size))
    return Sharing(heads, firsts, sizes, np.zeros(0, np.int32)), starts


@jit
def share_evenly(sharing: Sharing, share: Floats) -> None:
    """Overwrite ``share``: all members get the same."""
    for step in range(len(sharing.head)):
        for m in range(sharing.first[step], sharing.first[step] + sharing.size[step]):
            share[m] = 1.0 / sharing.size[step]


@jit
def update_shares(
    sharing: Sharing, discount: float, cost: Floats, regret: Floats, share: Floats
) -> None:
    """Overwrite ``regret`` and ``share`` after ``cost``, to which is added what follows."""
    for step in range(len(sharing.head) - 1, -1, -1):
        head, first, size = sharing.head[step], sharing.first[step], sharing.size[step]
        if size < 0:
            add_to_summed(sharing, step, cost)
            continue
        if size == 1:
            cost[head] += cost[first]
            continue
        expected = 0.0
        for m in range(first, first + size):
            expected += share[m] * cost[m]
        cost[head] += expected
        total, best = 0.0, first
        for m in range(first, first + size):
            saved = expected - cost[m]
            regret[m] = max(0.0, discount * regret[m] + saved)
            share[m] = max(0.0, regret[m] + saved)
            total += share[m]
            if cost[m] < cost[best]:
                best = m
        if total > 0.0:
            for m in range(first, first + size):
                share[m] /= total
        else:
            share[best] = 1.0


@jit
def add_least(sharing: Sharing, cost: Floats) -> None:
    """Add to each ``cost`` the least cost of what follows."""
    for step in range(len(sharing.head) - 1, -1, -1):
        head, first, size = sharing.head[step], sharing.first[step], sharing.size[step]
        if size < 0:
            add_to_summed(sharing, step, cost)
            continue
        least = cost[first]
        for m in range(first + 1, first + size):
            least = min(least, cost[m])
        cost[head] += least


@jit
def complete_flow(sharing: Sharing, usual: Floats, flow: Floats) -> None:
    """Make ``flow`` exact: what leaves a step is what arrives. Where less leaves, the rest goes
    the way of the ``usual`` flow; where more does, it is scaled down."""
    for step in range(len(sharing.head)):
        first, size = sharing.first[step], sharing.size[step]
        arriving, leaving, total = flow[sharing.head[step]], 0.0, 0.0
        for m in range(first, first + size):
            flow[m] = max(0.0, flow[m])
            leaving += flow[m]
            total += usual[m]
        for m in range(first, first + size):
            if leaving > arriving:
                flow[m] *= arriving / leaving
            else:
                part = usual[m] / total if total > 0.0 else 1.0 / size
                flow[m] += (arriving - leaving) * part


@jit
def keep_large(sharing: Sharing, amount: Floats, least: float, kept: Bools) -> None:
    """Mark the entries with at least the share ``least`` of a kept head, and the largest of each.
    ``kept`` is True at first entries only before."""
    for step in range(len(sharing.head)):
        head, first, size = sharing.head[step], sharing.first[step], sharing.size[step]
        if size < 0:
            kept[head] = has_summed(sharing, step, kept)
            continue
        if not kept[head]:
            continue
        best = first
        for m in range(first, first + size):
            kept[m] = amount[m] >= least * amount[head]
            if amount[m] > amount[best]:
                best = m
        kept[best] = True


@jit
def keep_alive(sharing: Sharing, alive: Bools, steps: Bools) -> None:
    """Mark in ``steps`` those that have a member ``alive``, whose heads are then alive, too."""
    for step in range(len(sharing.head) - 1, -1, -1):
        first = sharing.first[step]
        steps[step] = False
        for m in range(first, first + sharing.size[step]):
            steps[step] = steps[step] or alive[m]
        if steps[step]:
            alive[sharing.head[step]] = True
