"""WRHedge, Algorithm 5 of Song, Mei, Bai 2022, without its A^A experts.

Hedge over pairs (b, psi) of a rechistory and a modification, with weights

    q(b, psi) ~ exp( eta sum_t S_b^t ( exp(-eta |l^t|) <p^t, l^t> - <psi o p^t, l^t> ) ),

initially with the same mass on every rechistory (Equation (15)). A swap psi loses ``<psi
o p, l> = sum_r p(r) l(psi(r))``, a sum over recommendations, so its weight is a product over them.
With

    R_b[r, a] = sum_t S_b^t p^t(r) l^t(a)          (SWAP; for EXTERNAL  R_b[a] = sum_t S_b^t l^t(a))
    c_b       = sum_t exp(-eta |l^t|) S_b^t <p^t, l^t>

the mass of b is ``exp(eta c_b) prod_r mean_a exp(-eta R_b[r, a])`` and, given b, recommendation r
goes to action a with probability ``softmax_a(-eta R_b[r, a])``, independently of the other
recommendations. Hence

    sum_psi q(b, psi) M_psi [r, a] = mass_b * softmax_a(-eta R_b[r, :]),

and the fixed point of Line 5 needs A^2 numbers per rechistory instead of A^A.

A COARSE rechistory is treated as an EXTERNAL one: an expert that always obeys would only add to the
diagonal of the matrix, on which the fixed point does not depend. OBEDIENT rechistories have no
experts.

All masses are kept as logarithms relative to the largest so far, so no learning rate, horizon or
payoff makes them overflow, and rates that underflow do no harm (``regret/fixed_point.py``). A
constant learning rate gives the paper's algorithm. It may also change between iterations, which
gives the anytime schedule; each term of ``c`` keeps the rate with which it was added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accord._arrays import Floats
from accord.deviations.rechistory import COARSE, OBEDIENT, RechistoryArrays, RechistoryTree
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.rates import LARGEST_RATE, paper_learning_rate, rate_k
from accord.regret.state import MinimizerArrays, decayed, pass_on, recommend
from accord.treeplex.treeplex import Treeplex, TreeplexArrays


@dataclass(frozen=True)
class WRHedge:
    """Configuration of WRHedge.

    Attributes:
        learning_rate: eta in units of normalized losses; by default the paper's.
        scale: Multiplier on the paper's learning rate.
        anytime: At iteration t use the paper's rate for T = t; for runs of unknown length.
    """

    learning_rate: float | None = None
    scale: float = 1.0
    anytime: bool = False

    name = "wrhedge"
    keeps_credit = True

    def __post_init__(self) -> None:
        for name, value in (("learning_rate", self.learning_rate), ("scale", self.scale)):
            if value is not None and not 0 < value <= LARGEST_RATE:
                raise ArgumentError(
                    f"WRHedge: {name} must be positive and at most {LARGEST_RATE:g}; got {value}"
                )

    def schedule(self, tree: RechistoryTree, iterations: int | None) -> LearningRate:
        """The learning rate at t = 1 and the power of t by which it decays."""
        rate = self.rate(tree.plex, rate_k(tree.plex, tree.notion), iterations)
        decay = 0.5 if self.anytime and self.learning_rate is None else 0.0
        return LearningRate(np.full(tree.plex.n_infosets, rate), decay)

    def rate(self, plex: Treeplex, k: int, iterations: int | None) -> float:
        """The learning rate at t = 1, for ``k`` clipped to the horizon."""
        if self.learning_rate is not None:
            return float(self.learning_rate)
        rate = self.scale * paper_learning_rate(plex, k)
        if self.anytime:
            return rate
        if iterations is None:
            raise ArgumentError(
                "WRHedge needs to know the number of iterations for the paper's learning rate; "
                "give iterations, a learning_rate, or anytime=True"
            )
        return rate / math.sqrt(iterations)


class LearningRate(NamedTuple):
    """The learning rate of iteration t at infoset x is ``rate[x] * t ** -decay``.

    It is the same at all infosets of a player, but one call may serve several players.
    """

    rate: Floats  # [n_infosets]
    decay: float


SLACK = 100.0
"""How far the logarithm of a mass may rise above the reference before the reference is moved."""

TINY = 1e-100
"""Factors below this are moved into the logarithm."""


@recommend.kernel_for(LearningRate)
def hedge(
    schedule: LearningRate,
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    state: MinimizerArrays,
    weight: float,
    t: int,
) -> None:
    """Observe the last loss and write the next policy, infoset by infoset, parents first.

    Overwrites ``state.behavior`` and ``state.rec_reach``; adds to ``regret``,
    ``credit`` and, with ``weight``, to ``deviation_loss``.
    """
    slower = decayed(1.0, schedule.decay, t)
    behavior, loss, cf_loss, rec_reach = state.behavior, state.loss, state.cf_loss, state.rec_reach
    regret, credit, deviation_loss = state.regret, state.credit, state.deviation_loss
    rates, rows, external = state.rates, state.rows, state.external
    coarse, agent = tree.kinds[0] == COARSE, tree.kinds[1] == OBEDIENT
    for x in range(len(plex.parent_seq)):
        if plex.first_seq[x + 1] == plex.first_seq[x] + 1:
            pass_on(x, plex, tree, behavior, rec_reach)
            continue
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        learning_rate = schedule.rate[x] * slower
        expected, obeying, largest = 0.0, 0.0, 0.0
        for a in range(n):
            external[a] = 0.0
            expected += behavior[first + a] * cf_loss[first + a]
            obeying += behavior[first + a] * loss[first + a]
            largest = max(largest, cf_loss[first + a])
        for i in range(n * n):
            rates[i] = 0.0
        earned = math.exp(-learning_rate * largest) * expected

        top = -math.inf  # rates are relative to exp(top)
        cell = tree.first_cell[tree.first_node[x]]
        hedged = tree.first_node[x] if coarse else tree.first_external[x]
        for node in range(tree.first_node[x], hedged):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            credit[node] += before * earned
            mass = learning_rate * credit[node]  # a logarithm, without the factors in product
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

        for node in range(hedged, tree.first_node[x + 1]):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            if coarse and node < tree.first_external[x]:
                deviation_loss[cell] += weight * before * obeying
                cell += 1
            elif agent:
                deviation_loss[cell] += weight * before * obeying
                cell += 1
                continue
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
