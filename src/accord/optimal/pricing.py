"""Joint plans of least price: those that improve a program most.

Multipliers of the program price a joint plan c at

    G(c) = sum_i kappa_i loss_i(c) - sum_i sum_cells y_i U_{i,c},

where kappa_i weighs the loss of obeying, and y_i is a distribution over player i's deviations, as
a flow through the cells of the deviator's tree. The smaller G(c), the more the plan improves the
program. With

    share_i(x, a) = kappa_i reach_i(x, a) - sum_{b, r} y_i[b, r, a] S_b [c recommends r at x]

it is a sum over leaves, G(c) = sum_leaves sum_i loss_i share_i(seq_i) prod_{j != i} reach_j(seq_j).

If the plans of all players but j are fixed, one sweep finds the plan of j with the least G. By j's
own obedience and by the other players' losses, a plan that recommends sequence (x, r) adds to G

    award_j(x, r) = sum_{leaves at (x, r)} (kappa_j loss_j prod_{k != j} reach_k
                                            + sum_{i != j} loss_i share_i prod_{k != i, j} reach_k).

The sweep visits the deviator's tree, last layer first. At every SWAP node it takes the
recommendation r with the least sum_a (-y_j[b, r, a] l_j(x, a) + values of the nodes that continue
(b, r, a)), plus award_j(x, r) at the obedient node. A pure plan is consistent with one rechistory
per infoset, so choices at different nodes of an infoset do not clash. At an OBEDIENT node the
recommendation is also the action: r has the least -y_j[b] l_j(x, r) + values of the nodes that are
told (x, r).

A *blind* deviator leaves the mediator before hearing the recommendation (K = 0, EFCCE, AFCCE). What
blind deviators do at x does not depend on r, so r is chosen on the treeplex, for obedient players:
the sweep takes the r with the least award_j(x, r) + values of the infosets that follow (x, r)
- y_j[b, obey] l_j(x, r). The cells of those who leave at x are added afterwards.

The agent form (AFCCE) needs one more step, because its deviators obey again after they have left. A
deviator who leaves at x and plays a is then told what the plan recommends after (x, a). If a is not
the r that the plan recommends at x, nobody else hears these recommendations, and OBEDIENT nodes
choose them as above. If a is r, obedient players hear them too, and the plan has one choice for
both. So at every infoset the obedient choice also counts the flow of all who have left earlier, and
the value that the OBEDIENT nodes had chosen after leaving with r is subtracted.

:meth:`Pricing.descend` improves the plan of one player after another until no player can improve
G, which gives a local optimum. ``optimal/enumeration.py`` tries all plans of all players but one,
which gives the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.rechistory import COARSE, OBEDIENT, SWAP, RechistoryArrays
from accord.equilibrium.relevant import node_actions
from accord.optimal.incentives import Incentives
from accord.treeplex.treeplex import TreeplexArrays


class PricedPlayer(NamedTuple):
    """One player, as the kernels see them. Leaves are sorted by the player's sequences."""

    plex: TreeplexArrays
    tree: RechistoryArrays
    seq_infoset: Ints
    obedient: Ints  # [n_infosets] the obedient rechistory
    first_row: NDArray[np.int64]  # [n_sequences + 1] leaves of seq: first_row[seq] .. [seq + 1] - 1
    seqs: Ints  # [n_rows, n_players] positions of all players' sequences in joint vectors
    loss: Floats  # [n_rows, n_players] losses in [-1, 0] times chance probability
    first_reach: int  # where the player's sequences start in joint vectors
    first_told: NDArray[np.int64]  # [n_nodes + 1] places of an OBEDIENT node in ``Buffers.told``
    blind: bool  # whether deviators leave before they hear anything: K = 0, or COARSE nodes


class Buffers(NamedTuple):
    """Buffers of one player, which every sweep overwrites."""

    loss: Floats  # [n_sequences] immediate counterfactual losses
    award: Floats  # [n_sequences]
    total: Floats  # [n_cells]
    told: Floats  # [n_told] values of the nodes told (x, r), by OBEDIENT node and r
    choice: Ints  # [n_nodes] the recommendation chosen at each node
    live: NDArray[np.bool_]  # [n_nodes] whether the plan recommends all that the node remembers


class Multipliers(NamedTuple):
    """Multipliers of a program, which price joint plans."""

    kappa: Floats  # [n_players] weights of the losses of obeying
    flow: tuple[Floats, ...]  # per player, [n_cells]: y
    floor: Floats | None = None  # [n_players] part of kappa, for floors of payoffs; None for zeros


class Pricing:
    """Finds joint plans with a small price G, in one game with one set of incentives."""

    def __init__(self, incentives: Incentives) -> None:
        self.incentives = incentives
        form, leaves = incentives.form, incentives.form.leaves
        n = form.n_players
        scaled = incentives.losses
        joint = (leaves.seqs + leaves.first_reach[:n].astype(np.int32)).astype(np.int32)
        players, buffers = [], []
        for i, tree in enumerate(incentives.trees):
            order = np.argsort(leaves.seqs[:, i], kind="stable")
            ends = np.arange(tree.plex.n_sequences + 1)
            first_row = np.searchsorted(leaves.seqs[order, i], ends).astype(np.int64)
            told = np.where(tree.kind == OBEDIENT, node_actions(tree), 0)
            first_told = np.concatenate([[0], np.cumsum(told, dtype=np.int64)])
            players.append(
                PricedPlayer(
                    tree.plex.arrays,
                    tree.arrays,
                    tree.plex.seq_infoset,
                    incentives.obedient[i],
                    first_row,
                    joint[order],
                    scaled[order],
                    int(leaves.first_reach[i]),
                    first_told,
                    not tree.is_swap.any(),
                )
            )
            size = tree.plex.n_sequences
            buffers.append(
                Buffers(
                    np.zeros(size),
                    np.zeros(size),
                    np.zeros(tree.n_cells),
                    np.zeros(int(first_told[-1])),
                    np.zeros(tree.n_nodes, np.int32),
                    np.zeros(tree.n_nodes, np.bool_),
                )
            )
        self.players, self.buffers = tuple(players), tuple(buffers)
        self.reach = np.zeros(form.n_sequences)
        self.share = np.zeros(form.n_sequences)

    def place(self, prices: Multipliers, plan: Ints) -> None:
        """Overwrite ``reach`` and ``share`` with those of a joint plan."""
        for i, actions in enumerate(self.incentives.split_plan(plan)):
            spread_plan(
                self.players[i], prices.kappa[i], prices.flow[i], actions, self.buffers[i],
                self.reach, self.share,
            )  # fmt: skip

    def respond(self, prices: Multipliers, player: int, actions: Ints) -> float:
        """Overwrite the player's ``actions``, ``reach`` and ``share`` with those of the plan of
        least G against the other players' ``reach`` and ``share``; return G.
        """
        return float(
            best_plan(
                self.players[player],
                player,
                prices.kappa[player],
                prices.flow[player],
                self.buffers[player],
                self.reach,
                self.share,
                actions,
            )
        )

    def price(self, prices: Multipliers, plan: Ints) -> float:
        """G of a joint plan."""
        self.place(prices, plan)
        seqs, loss = self.players[0].seqs, self.players[0].loss
        total = 0.0
        for i in range(len(self.players)):
            term = loss[:, i] * self.share[seqs[:, i]]
            for j in range(len(self.players)):
                if j != i:
                    term = term * self.reach[seqs[:, j]]
            total += float(term.sum())
        return total

    def descend(
        self, prices: Multipliers, plan: Ints, order: Sequence[int], least_gain: float
    ) -> tuple[float, Ints]:
        """Improve a joint plan, one player after another, until none lowers G by ``least_gain``."""
        plan = plan.copy()
        parts = self.incentives.split_plan(plan)
        self.place(prices, plan)
        value, unimproved = np.inf, 0
        while unimproved < len(order):
            for player in order:
                now = self.respond(prices, player, parts[player])
                unimproved = 0 if now < value - least_gain else unimproved + 1
                value = min(value, now)
                if unimproved >= len(order):
                    break
        return value, plan


@jit
def spread_plan(
    me: PricedPlayer,
    kappa: float,
    flow: Floats,
    actions: Ints,
    buffers: Buffers,
    reach: Floats,
    share: Floats,
) -> None:
    """Overwrite the player's part of the joint ``reach`` and ``share`` with those of a plan."""
    plex, tree = me.plex, me.tree
    start = me.first_reach
    reach[start] = 1.0
    share[start] = kappa - flow[0]
    buffers.live[0] = True
    for x in range(len(plex.parent_seq)):
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        above = reach[start + plex.parent_seq[x]]
        for a in range(n):
            now = above if a == actions[x] else 0.0
            reach[start + first + a] = now
            share[start + first + a] = kappa * now
        for node in range(tree.first_node[x], tree.first_node[x + 1]):
            live = buffers.live[tree.parent[node]]
            seq = tree.rec_seq[node]
            if seq != 0:
                y = me.seq_infoset[seq]
                live = live and plex.first_seq[y] + actions[y] == seq
            buffers.live[node] = live
            if not live:
                continue
            cell = tree.first_cell[node]
            kind = tree.kinds[0] if node < tree.first_external[x] else tree.kinds[1]
            if kind in (COARSE, OBEDIENT):
                share[start + first + actions[x]] -= flow[cell]
                cell += 1
            if kind == SWAP:
                cell += actions[x] * n
            if kind != OBEDIENT:
                for a in range(n):
                    share[start + first + a] -= flow[cell + a]


@jit
def best_plan(
    me: PricedPlayer,
    player: int,
    kappa: float,
    flow: Floats,
    buffers: Buffers,
    reach: Floats,
    share: Floats,
    actions: Ints,
) -> float:
    """Overwrite ``actions`` with the player's reduced plan of least G against the others' ``reach``
    and ``share``, and the player's own part of both; return G."""
    _add_leaves(me, player, kappa, reach, share, buffers.loss, buffers.award)
    plex, tree, loss, award, total = me.plex, me.tree, buffers.loss, buffers.award, buffers.total
    for cell in range(len(total)):
        total[cell] = 0.0
    for place in range(len(buffers.told)):
        buffers.told[place] = 0.0
    total[0] = -flow[0] * loss[0]
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        _leave_at(me, x, flow, buffers)
        if me.blind:  # choose on the treeplex; values are added to the award of the parent
            value = _choose_blindly(me, x, flow, buffers, actions)
            award[plex.parent_seq[x]] += value
            continue
        for node in range(tree.first_external[x] - 1, tree.first_node[x] - 1, -1):
            cell = tree.first_cell[node]
            value = 0.0
            obedient = node == me.obedient[x]
            for r in range(n):
                now = award[first + r] if obedient else 0.0
                for a in range(n):
                    now += total[cell] - flow[cell] * loss[first + a]
                    cell += 1
                if r == 0 or now < value:
                    value = now
                    buffers.choice[node] = r
            total[tree.parent_cell[node]] += value
    result = total[0] + award[0]
    _read_plan(me, buffers.choice, buffers.live, reach[me.first_reach :], actions)
    spread_plan(me, kappa, flow, actions, buffers, reach, share)
    return result  # type: ignore[no-any-return]


@jit
def _leave_at(me: PricedPlayer, x: int, flow: Floats, buffers: Buffers) -> None:
    """Add the values of the EXTERNAL or OBEDIENT nodes of x to the cells that they continue."""
    plex, tree, loss, total = me.plex, me.tree, buffers.loss, buffers.total
    first = plex.first_seq[x]
    n = plex.first_seq[x + 1] - first
    agent = tree.kinds[1] == OBEDIENT
    for node in range(tree.first_node[x + 1] - 1, tree.first_external[x] - 1, -1):
        cell = tree.first_cell[node]
        value = 0.0
        if not agent:
            for a in range(n):
                value += total[cell + a] - flow[cell + a] * loss[first + a]
            total[tree.parent_cell[node]] += value
            continue
        for r in range(n):
            now = buffers.told[me.first_told[node] + r] - flow[cell] * loss[first + r]
            if r == 0 or now < value:
                value = now
                buffers.choice[node] = r
        above = tree.parent[node]
        if me.first_told[above] < me.first_told[above + 1]:  # it is OBEDIENT, too
            y = me.seq_infoset[tree.rec_seq[node]]
            place = me.first_told[above] + tree.rec_seq[node] - plex.first_seq[y]
            buffers.told[place] += value
        else:
            total[tree.parent_cell[node]] += value


@jit
def _choose_blindly(
    me: PricedPlayer, x: int, flow: Floats, buffers: Buffers, actions: Ints
) -> float:
    """Overwrite the action at x of a player whose deviators are blind; return its value."""
    plex, tree, loss, total = me.plex, me.tree, buffers.loss, buffers.total
    first = plex.first_seq[x]
    n = plex.first_seq[x + 1] - first
    coarse = tree.first_node[x] < tree.first_external[x]
    agent = tree.kinds[1] == OBEDIENT
    cell = tree.first_cell[tree.first_node[x]]  # of the COARSE node, if there is one
    obeying, leaving = 0.0, 0.0
    if coarse:
        obeying = flow[cell]
        for a in range(n):
            leaving += total[cell + 1 + a] - flow[cell + 1 + a] * loss[first + a]
    if agent:  # those who left earlier and played what was recommended
        for node in range(tree.first_external[x], tree.first_node[x + 1]):
            obeying += flow[tree.first_cell[node]]
    best, value = 0, 0.0
    for r in range(n):
        now = buffers.award[first + r] - obeying * loss[first + r]
        if agent:
            now -= total[cell + 1 + r]
        if r == 0 or now < value:
            best, value = r, now
    actions[x] = best
    return leaving + value


@jit
def _add_leaves(
    me: PricedPlayer,
    player: int,
    kappa: float,
    reach: Floats,
    share: Floats,
    loss: Floats,
    award: Floats,
) -> None:
    """Overwrite ``loss`` and ``award`` by sums over the leaves of each sequence."""
    n_players = me.seqs.shape[1]
    for seq in range(len(loss)):
        own, charged = 0.0, 0.0
        for row in range(me.first_row[seq], me.first_row[seq + 1]):
            if n_players == 2:  # the common case, without loops
                other = 1 - player
                place = me.seqs[row, other]
                own += me.loss[row, player] * reach[place]
                charged += me.loss[row, other] * share[place]
                continue
            together = 1.0
            for i in range(n_players):
                if i != player:
                    together *= reach[me.seqs[row, i]]
            own += me.loss[row, player] * together
            for i in range(n_players):
                if i != player:
                    term = me.loss[row, i] * share[me.seqs[row, i]]
                    for k in range(n_players):
                        if k not in (i, player):
                            term *= reach[me.seqs[row, k]]
                    charged += term
        loss[seq] = own
        award[seq] = kappa * own + charged


@jit
def _read_plan(
    me: PricedPlayer, choice: Ints, live: NDArray[np.bool_], reach: Floats, actions: Ints
) -> None:
    """Overwrite ``actions`` with the choices at the nodes that fit the plan itself.

    If deviators are blind, the actions that an obedient player reaches are already there. ``reach``
    is a buffer.
    """
    plex, tree = me.plex, me.tree
    agent = tree.kinds[1] == OBEDIENT
    live[0] = True
    reach[0] = 1.0
    for x in range(len(plex.parent_seq)):
        above = reach[plex.parent_seq[x]]
        end = tree.first_node[x + 1] if agent else tree.first_external[x]
        chosen = actions[x] if me.blind and above > 0.0 else -1
        for node in range(tree.first_node[x], end):
            live[node] = live[tree.parent[node]]
            seq = tree.rec_seq[node]
            if seq != 0:
                y = me.seq_infoset[seq]
                live[node] = live[node] and plex.first_seq[y] + actions[y] == seq
            if live[node] and chosen < 0:
                chosen = choice[node]
        actions[x] = max(chosen, 0)
        for a in range(plex.first_seq[x + 1] - plex.first_seq[x]):
            reach[plex.first_seq[x] + a] = above if a == actions[x] else 0.0
