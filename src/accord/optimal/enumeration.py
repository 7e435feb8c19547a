"""Exact pricing by enumeration: every plan of all players but one, and the best reply of that one.

The number of reduced plans of a player follows from the tree: at a SWAP node, the sum over
recommendations r of the product over the SWAP nodes that continue (r, a) for any a; at K = 0, and
wherever deviators leave blindly and hear nothing afterwards, the same on the treeplex. In the agent
form a player who was told r at x and played a != r obeys again, as if the play had begun there.

The player with the most plans replies, in one sweep (``pricing.py``); the plans of the others are
enumerated. So the least G(c) over all joint plans is exact, without any tolerance, wherever the
others have few plans together. That includes many games with far too many joint plans: a Sheriff
with three infosets has eight plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord._signals import check_time
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.optimal.pricing import (
    Buffers,
    Multipliers,
    PricedPlayer,
    Pricing,
    best_plan,
    spread_plan,
)
from accord.treeplex.treeplex import Treeplex

PLANS_CAP = 1e300


def count_plans(tree: RechistoryTree) -> float:
    """The number of a player's reduced plans, as a float because it may be huge."""
    with np.errstate(over="ignore"):
        return _count_plans(tree)


def _count_plans(tree: RechistoryTree) -> float:
    plex = tree.plex
    if not tree.is_swap.any() or tree.notion.agent:
        after = np.ones(plex.n_sequences)  # plans of everything that follows a sequence obeyed
        still = np.ones(plex.n_sequences)  # and of what follows it for players who may yet deviate
        for x in range(plex.n_infosets - 1, -1, -1):
            here, above = slice(plex.first_seq[x], plex.first_seq[x + 1]), plex.parent_seq[x]
            own = yet = after[here].sum()
            if tree.notion.agent:
                others = [np.prod(np.delete(after[here], r)) for r in range(plex.n_actions[x])]
                yet = still[here] @ np.minimum(others, PLANS_CAP)
            after[above] = min(after[above] * own, PLANS_CAP)
            still[above] = min(still[above] * yet, PLANS_CAP)
        return float(still[0])
    follow = np.ones(tree.n_cells)
    for node in range(tree.n_nodes - 1, ROOT, -1):
        if tree.is_swap[node]:
            n = int(plex.n_actions[tree.node_infoset[node]])
            first = int(tree.arrays.first_cell[node])
            cells = np.minimum(follow[first : first + n * n].reshape(n, n), PLANS_CAP)
            own = float(np.minimum(cells.prod(axis=1), PLANS_CAP).sum())
            cell = int(tree.arrays.parent_cell[node])
            follow[cell] = min(follow[cell] * own, PLANS_CAP)
    return float(follow[ROOT])


def all_plans(tree: RechistoryTree) -> Ints:
    """``[n_plans, n_infosets]`` all reduced plans of a player."""
    plans = list(_grown_plans(tree))
    return np.array(plans, np.int32).reshape(len(plans), tree.plex.n_infosets)


def _grown_plans(tree: RechistoryTree) -> Iterator[list[int]]:
    """Extend plans infoset by infoset, in the order of the tree, wherever something is heard."""
    plex, arrays = tree.plex, tree.arrays
    pending: list[list[int]] = [[]]
    while pending:
        plan = pending.pop()
        x = len(plan)
        if x == plex.n_infosets:
            yield plan
            continue
        own = int(plex.parent_seq[x])
        audible = _recommends(plex, plan, own)
        end = arrays.first_node[x + 1] if tree.notion.agent else arrays.first_external[x]
        for node in range(int(arrays.first_node[x]), int(end)):
            audible = audible or _leads_to(tree, plan, node)
        choices = range(int(plex.n_actions[x])) if audible else range(1)
        pending += [[*plan, a] for a in reversed(choices)]


def _recommends(plex: Treeplex, plan: list[int], seq: int) -> bool:
    """Whether the plan recommends a sequence and all before it."""
    while seq != 0:
        x = int(plex.seq_infoset[seq])
        if int(plex.first_seq[x]) + plan[x] != seq:
            return False
        seq = int(plex.parent_seq[x])
    return True


def _leads_to(tree: RechistoryTree, plan: list[int], node: int) -> bool:
    """Whether the plan recommends everything that a rechistory remembers."""
    plex = tree.plex
    while node != ROOT:
        seq = int(tree.arrays.rec_seq[node])
        if (
            seq != 0
            and int(plex.first_seq[plex.seq_infoset[seq]]) + plan[plex.seq_infoset[seq]] != seq
        ):
            return False
        node = int(tree.arrays.parent[node])
    return True


class AtPrices(NamedTuple):
    """A player, their prices, and working memory."""

    player: PricedPlayer
    kappa: float
    flow: Floats
    buffers: Buffers


class Enumeration:
    """Prices exactly, by trying ``count`` joint plans of all players but the replier.

    Attributes:
        replier: The player with the most plans, who replies to those of the others.
        others: The other players.
        count: How many joint plans they have, as a float because it may be huge.
    """

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        trees = pricing.incentives.trees
        counts = [count_plans(tree) for tree in trees]
        self.replier = int(np.argmax(counts))
        self.others = [i for i in range(len(trees)) if i != self.replier]
        self.count = float(np.prod([min(counts[i], 1e18) for i in self.others], initial=1.0))

    @cached_property
    def plans(self) -> dict[int, Ints]:
        """The plans of every player but the replier."""
        return {i: all_plans(self.pricing.incentives.trees[i]) for i in self.others}

    def _priced(self, prices: Multipliers, i: int) -> AtPrices:
        pricing = self.pricing
        return AtPrices(pricing.players[i], prices.kappa[i], prices.flow[i], pricing.buffers[i])

    def cheapest(
        self, prices: Multipliers, keep: int = 1, end: float | None = None
    ) -> list[tuple[float, Ints]]:
        """The ``keep`` cheapest of the joint plans found, best first; the first is the optimum.

        Raises:
            OutOfTime: If they are not found by ``end``, a time of ``time.monotonic``.
        """
        pricing, reply = self.pricing, self.replier
        sizes = pricing.incentives.first_action
        plan = np.zeros(int(sizes[-1]), np.int32)
        parts = pricing.incentives.split_plan(plan)
        fixed, last = self.others[:-1], self.others[-1] if self.others else None
        found: list[tuple[float, Ints]] = []
        for choice in product(*(self.plans[i] for i in fixed)):
            check_time(end)
            for i, actions in zip(fixed, choice, strict=True):
                parts[i][:] = actions
                spread_plan(
                    pricing.players[i], prices.kappa[i], prices.flow[i], parts[i],
                    pricing.buffers[i], pricing.reach, pricing.share,
                )  # fmt: skip
            if last is None:
                found.append((pricing.respond(prices, reply, parts[reply]), plan.copy()))
                continue
            values = np.empty(len(self.plans[last]))
            _reply_to_all(
                self._priced(prices, last), self.plans[last], self._priced(prices, reply), reply,
                pricing.reach, pricing.share, parts[reply], values,
            )  # fmt: skip
            for row in np.argsort(values, kind="stable")[:keep]:
                parts[last][:] = self.plans[last][row]
                spread_plan(
                    pricing.players[last], prices.kappa[last], prices.flow[last], parts[last],
                    pricing.buffers[last], pricing.reach, pricing.share,
                )  # fmt: skip
                found.append((pricing.respond(prices, reply, parts[reply]), plan.copy()))
            found.sort(key=lambda pair: pair[0])
            del found[keep:]
        return found


@jit
def _reply_to_all(
    other: AtPrices,
    plans: Ints,
    me: AtPrices,
    player: int,
    reach: Floats,
    share: Floats,
    actions: Ints,
    values: Floats,
) -> None:
    """Overwrite ``values`` with the least G against each of the other player's plans."""
    for row in range(len(plans)):
        spread_plan(other.player, other.kappa, other.flow, plans[row], other.buffers, reach, share)
        values[row] = best_plan(
            me.player, player, me.kappa, me.flow, me.buffers, reach, share, actions
        )
