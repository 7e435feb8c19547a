"""Regret matching over (rechistory, modification) pairs.

The pairs are those of WRHedge, weighted by regrets instead of exponentials. With the time
selection S_b, policy p and losses L of one iteration, the regret of a pair is

    SWAP      S_b p(r) (L(r) - L(a))       for not playing a when r was recommended,
    EXTERNAL  S_b (<p, L> - L(a))          for not playing a.

A COARSE rechistory has the regrets of an EXTERNAL one, for not leaving to play a: obeying has none.
At an OBEDIENT one nothing is decided. So for the coarse notions the policy is simply proportional
to the rates.

The next policy is the stationary distribution of the rates ``sum_b S_b max(regret_b, 0)``, so
that the summed positive regrets are orthogonal to the next gain (Blackwell's condition; Hart and
Mas-Colell 2000; with time selections Morrill et al. 2021). There are three ways to sum regrets:

* ``RM``: R <- R + regret;
* ``RM+``: R <- max(R + regret, 0)   (Tammelin 2014);
* ``predictive RM+``: as RM+, but the policy uses max(R + last regret, 0), which predicts that the
  next regret will equal the last (Farina, Kroer, Sandholm 2021).

There is no learning rate, and scaling the losses changes nothing. The regret bound, also with
decaying weights and weighted averages of the iterates, is in ``learning/theory/matching_bound.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from accord.deviations.rechistory import COARSE, OBEDIENT, RechistoryArrays, RechistoryTree
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.state import MinimizerArrays, decayed, pass_on, recommend
from accord.treeplex.treeplex import TreeplexArrays


@dataclass(frozen=True)
class RegretMatching:
    """Configuration of regret matching.

    Attributes:
        plus: Clip negative sums of regrets to zero (RM+).
        predictive: Predict that the next regret equals the last; ignored without ``plus``.
        decay: The regret of iteration t is added with weight ``(t + 1) ** -decay``. All infosets
            use the same weights, so only the pace changes: later predictions move the policy less.
            :func:`accord.solve` uses 0.2 for ``"prm+"``.
    """

    plus: bool = True
    predictive: bool = True
    decay: float = 0.0

    keeps_credit = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay < 1.0:
            raise ArgumentError(f"RegretMatching: decay must be in [0, 1); got {self.decay}")

    @property
    def name(self) -> str:
        """``"rm"``, ``"rm+"`` or ``"prm+"``."""
        if not self.plus:
            return "rm"
        return "prm+" if self.predictive else "rm+"

    def schedule(self, tree: RechistoryTree, iterations: int | None) -> Matching:
        """The variant, and the decay of the regrets."""
        return Matching(bool(self.plus), bool(self.plus and self.predictive), float(self.decay))


class Matching(NamedTuple):
    """The parameters of the kernel."""

    plus: bool
    predictive: bool
    decay: float


@recommend.kernel_for(Matching)
def match_regrets(
    schedule: Matching,
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    state: MinimizerArrays,
    weight: float,
    t: int,
) -> None:
    """Observe the last loss and write the next policy, infoset by infoset, parents first.

    Overwrites ``state.behavior`` and ``state.rec_reach``; updates ``regret`` and, with ``weight``,
    ``deviation_loss``.
    """
    plus, predictive = schedule.plus, schedule.predictive
    scale = decayed(1.0, schedule.decay, t)
    behavior, loss, cf_loss, rec_reach = state.behavior, state.loss, state.cf_loss, state.rec_reach
    regret, deviation_loss = state.regret, state.deviation_loss
    rates, external = state.rates, state.external
    coarse, agent = tree.kinds[0] == COARSE, tree.kinds[1] == OBEDIENT
    for x in range(len(plex.parent_seq)):
        if plex.first_seq[x + 1] == plex.first_seq[x] + 1:
            pass_on(x, plex, tree, behavior, rec_reach)
            continue
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        expected, obeying, idle = 0.0, 0.0, True
        for a in range(n):
            external[a] = 0.0
            expected += behavior[first + a] * cf_loss[first + a]
            obeying += behavior[first + a] * loss[first + a]
            idle = idle and cf_loss[first + a] == 0.0
        for i in range(n * n):
            rates[i] = 0.0

        cell = tree.first_cell[tree.first_node[x]]
        for node in range(tree.first_node[x], tree.first_external[x]):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            if now == 0.0 and (idle or before == 0.0):
                cell += n + 1 if coarse else n * n
                continue
            if coarse:
                deviation_loss[cell] += weight * before * obeying
                cell += 1
                for a in range(n):
                    gain = scale * before * (expected - cf_loss[first + a])
                    deviation_loss[cell] += weight * before * loss[first + a]
                    total = regret[cell] + gain
                    if plus:
                        total = max(total, 0.0)
                    regret[cell] = total
                    if predictive:
                        total += gain
                    external[a] += now * max(total, 0.0)
                    cell += 1
                continue
            for r in range(n):
                seen = before * behavior[first + r]
                obeyed = cf_loss[first + r]
                for a in range(n):
                    gain = scale * seen * (obeyed - cf_loss[first + a])
                    deviation_loss[cell] += weight * seen * loss[first + a]
                    total = regret[cell] + gain
                    if plus:
                        total = max(total, 0.0)
                    regret[cell] = total
                    if predictive:
                        total += gain
                    rates[r * n + a] += now * max(total, 0.0)
                    cell += 1

        for node in range(tree.first_external[x], tree.first_node[x + 1]):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            if agent:
                deviation_loss[cell] += weight * before * obeying
                cell += 1
                continue
            if now == 0.0 and (idle or before == 0.0):
                cell += n
                continue
            for a in range(n):
                gain = scale * before * (expected - cf_loss[first + a])
                deviation_loss[cell] += weight * before * loss[first + a]
                total = regret[cell] + gain
                if plus:
                    total = max(total, 0.0)
                regret[cell] = total
                if predictive:
                    total += gain
                external[a] += now * max(total, 0.0)
                cell += 1

        for r in range(n):
            for a in range(n):
                rates[r * n + a] += external[a]
        find_stationary(rates, n, behavior, first)
