"""Regret matching over (rechistory, modification) pairs.

The pairs are those of WRHedge, the weights are regrets instead of exponentials. With the time
selection S_b, policy p and losses L of one iteration, a pair regrets

    SWAP      S_b p(r) (L(r) - L(a))       not to have played a when r was recommended,
    EXTERNAL  S_b (<p, L> - L(a))          not to have played a.

The next policy is the stationary distribution of the rates ``sum_b S_b max(regret_b, 0)``, so
that the summed positive regrets are orthogonal to the next gain (Blackwell's condition; Hart and
Mas-Colell 2000; with time selections Morrill et al. 2021). Three ways to add up:

* ``RM``: R <- R + regret;
* ``RM+``: R <- max(R + regret, 0)   (Tammelin 2014);
* ``predictive RM+``: as RM+, and the policy uses max(R + last regret, 0): the next regret is
  predicted to be the last (Farina, Kroer, Sandholm 2021).

No learning rate, and nothing changes when losses are scaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accord._jit import jit
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.state import pass_on


@dataclass(frozen=True)
class RegretMatching:
    """Configuration of regret matching.

    Attributes:
        plus: Forget negative regrets (RM+).
        predictive: Predict the next regret by the last; only with ``plus``.
        decay: The regret of iteration t is added with weight ``t ** -decay``. Every infoset's
            weights are the same, so nothing but the pace changes: later predictions move the
            policy less. :data:`DECAY` is what :func:`accord.solve` uses.
    """

    plus: bool = True
    predictive: bool = True
    decay: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay < 1.0:
            raise ArgumentError(f"RegretMatching: decay must be in [0, 1); got {self.decay}")


DECAY = 0.2
"""Of predictive RM+ in :func:`accord.solve`: against 0, gaps at equal iterations at K = 1 fell by a
factor of 3 on Leduc and over 100 on Sheriff; three-player Kuhn is better at 0."""


@jit
def match_regrets(
    plex: Any,
    tree: Any,
    state: Any,
    weight: float,
    scale: float,
    plus: bool,
    predictive: bool,
) -> None:
    """Observe the last loss and write the next policy, infoset by infoset, parents first.

    Overwrites ``state.behavior`` and ``state.rec_reach``; updates ``regret``, gains
    counting ``scale``, and, with ``weight``, ``deviation_loss``.
    """
    behavior, loss, cf_loss, rec_reach = state.behavior, state.loss, state.cf_loss, state.rec_reach
    regret, deviation_loss = state.regret, state.deviation_loss
    rates, external = state.rates, state.external
    for x in range(len(plex.parent_seq)):
        if plex.first_seq[x + 1] == plex.first_seq[x] + 1:
            pass_on(x, plex, tree, behavior, rec_reach)
            continue
        first = plex.first_seq[x]
        n = plex.first_seq[x + 1] - first
        expected, idle = 0.0, True
        for a in range(n):
            external[a] = 0.0
            expected += behavior[first + a] * cf_loss[first + a]
            idle = idle and cf_loss[first + a] == 0.0
        for i in range(n * n):
            rates[i] = 0.0

        cell = tree.first_cell[tree.first_node[x]]
        for node in range(tree.first_node[x], tree.first_external[x]):
            before = rec_reach[node]
            now = rec_reach[tree.parent[node]] * behavior[tree.rec_seq[node]]
            rec_reach[node] = now
            if now == 0.0 and (idle or before == 0.0):
                cell += n * n
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


@jit
def match_sampled(
    x: int, infosets: Any, nodes: Any, behavior: Any, regret: Any, scratch: Any
) -> None:
    """Write the next policy at ``x`` from sampled regrets."""
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    external = n * n  # where it starts in scratch; rates come first
    for i in range(n * n + n):
        scratch[i] = 0.0
    cell = at.first_cell
    for node in range(at.first_node, at.first_external):
        now = nodes[node].rec_reach / nodes[node].weight  # regrets were sampled as w_b times theirs
        for i in range(n * n):
            scratch[i] += now * max(regret[cell], 0.0)
            cell += 1
    for node in range(at.first_external, at.end_node):
        now = nodes[node].rec_reach / nodes[node].weight
        for a in range(n):
            scratch[external + a] += now * max(regret[cell], 0.0)
            cell += 1
    for r in range(n):
        for a in range(n):
            scratch[r * n + a] += scratch[external + a]
    find_stationary(scratch, n, behavior, first)


@jit
def observe_sampled(
    x: int,
    a: int,
    episode: int,
    loss: float,
    followed: float,
    infosets: Any,
    nodes: Any,
    behavior: Any,
    regret: Any,
    baseline: Any,
    scratch: Any,
) -> None:
    """Add the regrets that ``episode`` estimates from playing ``a`` at ``x`` and losing ``loss``.

    ``followed`` is the probability with which pi^t took the actions before, where the episode did
    not explore. The estimate of L(x, .) is taken around a ``baseline`` that predicts the loss after
    each action: [x was visited] baseline(a') + [a' = a] (loss - baseline(a)) A, over the
    probability of the visit. Whatever the baseline, its mean is L(x, a'); the better it predicts,
    the less it varies.
    """
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    if n == 1:
        return
    for r in range(n):
        scratch[r] = baseline[first + r] / n
    scratch[a] += loss - baseline[first + a]
    expected = 0.0
    for r in range(n):
        expected += behavior[first + r] * scratch[r]
    for node in range(at.first_node, at.end_node):
        if nodes[node].episode != episode:
            continue
        scaled = nodes[node].rec_reach / followed
        cell = nodes[node].first_cell
        if node < at.first_external:
            for r in range(n):
                seen = scaled * behavior[first + r]
                for j in range(n):
                    regret[cell] += seen * (scratch[r] - scratch[j])
                    cell += 1
        else:
            for j in range(n):
                regret[cell] += scaled * (expected - scratch[j])
                cell += 1
