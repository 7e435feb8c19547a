"""WRHedge, Algorithm 5 of Song, Mei, Bai 2022, without its A^A experts.

Hedge over pairs (b, psi) of a rechistory and a modification, weighed by

    q(b, psi) ~ exp( eta sum_t S_b^t ( exp(-eta |l^t|) <p^t, l^t> - <psi o p^t, l^t> ) ),

started so that every rechistory has the same mass (eq. wrhedge-initial-weight). A swap psi loses
``<psi o p, l> = sum_r p(r) l(psi(r))``, a sum over recommendations, so its weight is a product
over them. With

    R_b[r, a] = sum_t S_b^t p^t(r) l^t(a)          (SWAP; for EXTERNAL  R_b[a] = sum_t S_b^t l^t(a))
    c_b       = sum_t exp(-eta |l^t|) S_b^t <p^t, l^t>

the mass of b is ``exp(eta c_b) prod_r mean_a exp(-eta R_b[r, a])`` and, given b, recommendation r
goes to action a with probability ``softmax_a(-eta R_b[r, a])``, independently of the other
recommendations. Hence

    sum_psi q(b, psi) M_psi [r, a] = mass_b * softmax_a(-eta R_b[r, :]),

and the fixed point of Line 5 needs A^2 numbers per rechistory instead of A^A.

All masses are handled in logarithms relative to the largest so far: no learning rate, horizon or
payoff makes them overflow, and rates that vanish do so harmlessly (``regret/fixed_point.py``). The
learning rate may change between iterations (``R`` and ``c`` do not contain it): that is the anytime
schedule; held constant it is the paper's algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from accord._jit import jit
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.rates import LARGEST_RATE
from accord.regret.state import pass_on


@dataclass(frozen=True)
class WRHedge:
    """Configuration of WRHedge.

    Attributes:
        learning_rate: eta in units of normalised losses; by default the paper's.
        scale: Multiplier on the paper's learning rate.
        anytime: Use the paper's rate for T = t at iteration t, for when T is not known.
    """

    learning_rate: float | None = None
    scale: float = 1.0
    anytime: bool = False

    def __post_init__(self) -> None:
        for name, value in (("learning_rate", self.learning_rate), ("scale", self.scale)):
            if value is not None and not 0 < value <= LARGEST_RATE:
                raise ArgumentError(
                    f"WRHedge: {name} must be positive and at most {LARGEST_RATE:g}; got {value}"
                )


SLACK = 100.0
"""How far logarithms of masses may rise above the reference before it is moved."""

TINY = 1e-100
"""Factors below this go into the logarithm."""


@jit
def hedge(plex: Any, tree: Any, state: Any, weight: float, learning_rate: float) -> None:
    """Observe the last loss and write the next policy, infoset by infoset, parents first.

    Overwrites ``state.behavior`` and ``state.rec_reach``; adds to ``regret``,
    ``credit`` and, with ``weight``, to ``deviation_loss``.
    """
    behavior, loss, cf_loss, rec_reach = state.behavior, state.loss, state.cf_loss, state.rec_reach
    regret, credit, deviation_loss = state.regret, state.credit, state.deviation_loss
    rates, rows, external = state.rates, state.rows, state.external
    for x in range(len(plex.parent_seq)):
        if plex.first_seq[x + 1] == plex.first_seq[x] + 1:
            pass_on(x, plex, tree, behavior, rec_reach)
            continue
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        expected, largest = 0.0, 0.0
        for a in range(n):
            external[a] = 0.0
            expected += behavior[first + a] * cf_loss[first + a]
            largest = max(largest, cf_loss[first + a])
        for i in range(n * n):
            rates[i] = 0.0
        earned = math.exp(-learning_rate * largest) * expected

        top = -math.inf  # rates are relative to exp(top)
        cell = tree.first_cell[tree.first_node[x]]
        for node in range(tree.first_node[x], tree.first_external[x]):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            credit[node] += before * earned
            mass = learning_rate * credit[node]  # logarithm, but for the factors in product
            product = 1.0
            for r in range(n):
                seen = before * behavior[first + r]
                least = math.inf
                for a in range(n):
                    total = regret[cell + a] + seen * cf_loss[first + a]
                    regret[cell + a] = total
                    deviation_loss[cell + a] += weight * seen * loss[first + a]
                    least = min(least, total)
                row_sum = 0.0
                for a in range(n):
                    term = math.exp(-learning_rate * (regret[cell + a] - least))
                    rows[r * n + a] = term
                    row_sum += term
                for a in range(n):
                    rows[r * n + a] /= row_sum
                mass -= learning_rate * least
                product *= row_sum / n
                if product < TINY:
                    mass += math.log(product)
                    product = 1.0
                cell += n
            if now > 0.0:
                if now < TINY:
                    mass += math.log(now)
                    now = 1.0
                if mass > top + SLACK:
                    shrink = math.exp(top - mass)
                    for i in range(n * n):
                        rates[i] *= shrink
                    top = mass
                share = now * product * math.exp(mass - top)
                for i in range(n * n):
                    rates[i] += share * rows[i]

        for node in range(tree.first_external[x], tree.first_node[x + 1]):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            credit[node] += before * earned
            mass = learning_rate * credit[node]
            if 0.0 < now < TINY:
                mass += math.log(now)
                now = 1.0
            for a in range(n):
                total = regret[cell] + before * cf_loss[first + a]
                regret[cell] = total
                deviation_loss[cell] += weight * before * loss[first + a]
                cell += 1
                if now > 0.0:
                    power = mass - learning_rate * total
                    if power > top + SLACK:
                        shrink = math.exp(top - power)
                        for i in range(n * n):
                            rates[i] *= shrink
                        for i in range(n):
                            external[i] *= shrink
                        top = power
                    external[a] += now * math.exp(power - top)

        for r in range(n):
            for a in range(n):
                rates[r * n + a] += external[a] / n
        find_stationary(rates, n, behavior, first)


@jit
def hedge_sampled(
    x: int,
    infosets: Any,
    nodes: Any,
    behavior: Any,
    regret: Any,
    scratch: Any,
    learning_rate: float,
) -> None:
    """SWRHedge (Algorithm 6): write the next policy at ``x``; rechistories weigh M_b w_b."""
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    rows, external = n * n, 2 * n * n  # where they start in scratch; rates come first
    for i in range(2 * n * n + n):
        scratch[i] = 0.0
    discount = math.exp(-learning_rate)  # exp(-eta Lbar), the loss bound being 1

    top = -math.inf
    cell = at.first_cell
    for node in range(at.first_node, at.first_external):
        now = nodes[node].rec_reach * nodes[node].weight
        if now == 0.0:
            cell += n * n
            continue
        mass = learning_rate * discount * nodes[node].credit
        product = 1.0
        for r in range(n):
            least = math.inf
            for a in range(n):
                least = min(least, regret[cell + a])
            row_sum = 0.0
            for a in range(n):
                worse = regret[cell + a] - least
                term = math.exp(-learning_rate * worse) if worse > 0.0 else 1.0
                scratch[rows + r * n + a] = term
                row_sum += term
            for a in range(n):
                scratch[rows + r * n + a] /= row_sum
            mass -= learning_rate * least
            product *= row_sum / n
            if product < TINY:
                mass += math.log(product)
                product = 1.0
            cell += n
        if now < TINY:
            mass += math.log(now)
            now = 1.0
        if mass > top + SLACK:
            if top > -math.inf:
                shrink = math.exp(top - mass)
                for i in range(n * n):
                    scratch[i] *= shrink
            top = mass
        share = now * product
        if mass != top:
            share *= math.exp(mass - top)
        for i in range(n * n):
            scratch[i] += share * scratch[rows + i]

    for node in range(at.first_external, at.end_node):
        now = nodes[node].rec_reach * nodes[node].weight
        if now == 0.0:
            cell += n
            continue
        mass = learning_rate * discount * nodes[node].credit
        if now < TINY:
            mass += math.log(now)
            now = 1.0
        for a in range(n):
            power = mass - learning_rate * regret[cell]
            cell += 1
            if power > top + SLACK:
                if top > -math.inf:
                    shrink = math.exp(top - power)
                    for i in range(n * n):
                        scratch[i] *= shrink
                    for i in range(external, external + n):
                        scratch[i] *= shrink
                top = power
            scratch[external + a] += now * math.exp(power - top)

    for r in range(n):
        for a in range(n):
            scratch[r * n + a] += scratch[external + a] / n
    find_stationary(scratch, n, behavior, first)


@jit
def learn_sampled(
    x: int, a: int, episode: int, loss: float, infosets: Any, nodes: Any, behavior: Any, regret: Any
) -> None:
    """SWRHedge: add the estimate that ``episode`` gives for action ``a`` at ``x``.

    ``loss`` is the loss of the play divided by the probability of what pi^t did where the episode
    did not explore, so that ``loss * M_b`` is S_b times the estimate
    (``learning/estimators.py``).
    """
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    if n == 1:
        return
    for node in range(at.first_node, at.end_node):
        if nodes[node].episode != episode:
            continue
        scaled = loss * nodes[node].rec_reach
        cell = nodes[node].first_cell + a
        nodes[node].credit += scaled * behavior[first + a]
        if node < at.first_external:
            for r in range(n):
                regret[cell + r * n] += scaled * behavior[first + r]
        else:
            regret[cell] += scaled
