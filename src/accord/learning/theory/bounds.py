"""Regret bounds of the paper's two theorems, with every constant written out.

Theorems 5 and 7 of Song, Mei, Bai 2022 give orders of magnitude. The
bounds here are numbers, for any game; ``docs/theory/constants.md`` derives them. Take one player
whose loss in a whole play is between 0 and 1. Clip K to the player's horizon, and let H be the
number of layers in which the player has a choice. After T iterations at learning rate eta the
player's K-EFCE regret is at most T, and at most

    eta H T + D / eta                                                (full feedback)
    eta H T + D' / eta + 2 sqrt(T) sum_h ( sqrt(c_h) + sqrt(c'_h) )  (bandit, with prob. 1 - p).

With N_x rechistories at an infoset x with A_x actions, a SWAP rechistory costs ``log N_x + A_x log
A_x`` and an EXTERNAL one ``log N_x + log A_x`` (nothing where A_x = 1). D is the largest total cost
of the rechistories that one phi can meet. The cost below a rechistory depends only on its infoset
and its number of deviations, so one sweep from the last layer to the first finds D.

The costs of the bandit bound are divided by the weights w_b. In layer h, with X_h infosets of at
most a_h actions, the sum of 1 / w_b over the rechistories that one phi can meet is at most

    B_h  = X_h a_h e_{min(K, h) - 1}(a_1, ..., a_{h-1})   (SWAP; none for K = 0)
    B'_h = X_h a_h e_K(a_1, ..., a_{h-1})                 (EXTERNAL)

with elementary symmetric polynomials e_j: ``C(h-1, j) A^j`` if every a is A. With
iota_h = log(3 X / p) + log max N_x, where X counts the infosets of all players,

    D'   = sum_h  B_h (iota_h + a_h log a_h) + B'_h (iota_h + log a_h)
    c_h  = (B_h + B'_h) iota_h
    c'_h = B_h a_h (iota_h + 2 log a_h) + B'_h (iota_h + log a_h).

*Other notions.* A coarse deviator meets each infoset at most once, at a COARSE or an EXTERNAL
rechistory, which cost the same, and meets all if they obey. An agent-form deviator pays nothing
after the deviation. So D is a sum over all infosets: of ``log N_x + log A_x`` for EFCCE, where N_x
is the player's number of decisions up to x, of ``log A_x`` for AFCCE and ``A_x log A_x`` for AFCE.

Deep trees and large K give numbers that overflow a float, so sums are kept in logarithms and the
rest is decimal.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from accord._arrays import Floats
from accord._check import check_positive, check_probability, checked_whole
from accord._jit import jit
from accord.deviations.counting import rechistories_per_infoset
from accord.deviations.notions import Notion, NotionLike, as_notion, clipped_k
from accord.errors import ArgumentError
from accord.treeplex.treeplex import Treeplex, TreeplexArrays

MARGIN = Decimal("1e-9")
"""Relative margin on every number of iterations, to cover rounding in the sweep."""

CONTEXT = decimal.Context(prec=28, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


def regret_bound(plex: Treeplex, k: NotionLike, learning_rate: float, iterations: int) -> float:
    """Upper bound on the regret of K-EFR with WRHedge after ``iterations``, against any opponents.

    It holds for one player alone, at every number of iterations and every constant learning rate,
    for the unweighted K-EFCE regret with losses in [0, 1] over a whole play.
    """
    check_positive("learning_rate", learning_rate)
    checked_whole("iterations", iterations, 1, math.inf)
    with decimal.localcontext(CONTEXT):
        return full_feedback_bound(plex, k).regret(learning_rate, iterations)


def bandit_regret_bound(
    plex: Treeplex,
    k: NotionLike,
    learning_rate: float,
    iterations: int,
    failure_prob: float,
    *,
    infosets: int | None = None,
) -> float:
    """Upper bound on the regret of the policies of Balanced K-EFR, with a probability of failure.

    Like :func:`regret_bound`, but for a number of iterations fixed in advance.

    Args:
        plex: The player's treeplex.
        k: How many recommendations a deviator may disobey.
        learning_rate: eta, with loss bound 1.
        iterations: T.
        failure_prob: The probability with which the bound may fail, shared by all players whose
            infosets are counted.
        infosets: The number of infosets of all players together, if all their bounds are to hold at
            once; by default only this player's.
    """
    check_positive("learning_rate", learning_rate)
    checked_whole("iterations", iterations, 1, math.inf)
    check_probability("failure_prob", failure_prob)
    count = plex.n_infosets if infosets is None else infosets
    if count < plex.n_infosets:
        raise ArgumentError(
            f"infosets must include the player's own {plex.n_infosets}; got {infosets}"
        )
    with decimal.localcontext(CONTEXT):
        bound = bandit_bound(plex, clipped_k(plex, k), count, failure_prob)
        return bound.regret(learning_rate, iterations)


class RegretBound(NamedTuple):
    """Regret is at most T, and at most ``eta * layers * T + cost / eta + noise * sqrt(T)``."""

    layers: int  # in which the player has a choice
    cost: Decimal
    noise: Decimal

    def regret(self, learning_rate: float, iterations: int) -> float:
        eta, time = Decimal(float(learning_rate)), Decimal(int(iterations))
        bound = eta * self.layers * time + self.cost / eta + self.noise * time.sqrt()
        return float(min(time, bound))

    def constant(self, rate: Decimal) -> Decimal:
        """The c for which eta = ``rate`` / sqrt(T) bounds the average regret by c / sqrt(T)."""
        return rate * self.layers + self.cost / rate + self.noise

    def iterations(self, rate: Decimal, accuracy: Decimal) -> int:
        """The T from which eta = ``rate`` / sqrt(T) keeps the average regret below ``accuracy``."""
        needed = (self.constant(rate) / accuracy) ** 2
        return int((needed * (1 + MARGIN)).to_integral_value(decimal.ROUND_CEILING))


def full_feedback_bound(plex: Treeplex, k: NotionLike) -> RegretBound:
    """The bound of WRHedge with full feedback."""
    layers = int((_widest(plex) > 1).sum())
    return RegretBound(layers, Decimal(_log_cost(plex, k)).exp(), Decimal(0))


def bandit_bound(plex: Treeplex, k: int, infosets: int, failure_prob: float) -> RegretBound:
    """The bound of Balanced K-EFR, which fails with probability at most ``failure_prob``.

    ``infosets`` is the number for all players whose bounds are to hold at once.
    """
    log_count = _log_rechistories(plex, k)
    layers, cost, noise = 0, Decimal(0), Decimal(0)
    for h, (width, (swap, external)) in enumerate(
        zip(_widest(plex), weight_sums(plex, k), strict=True)
    ):
        n, log_n = int(width), math.log(width)
        if n == 1:
            continue
        iota = math.log(3 * infosets) - math.log(failure_prob)
        iota += float(log_count[plex.layers[h] : plex.layers[h + 1]].max())
        layers += 1
        cost += swap * Decimal(iota + n * log_n) + external * Decimal(iota + log_n)
        own = (swap + external) * Decimal(iota)
        deviator = swap * n * Decimal(iota + 2 * log_n) + external * Decimal(iota + log_n)
        noise += 2 * (own.sqrt() + deviator.sqrt())
    return RegretBound(layers, cost, noise)


def weight_sums(plex: Treeplex, k: int) -> list[tuple[int, int]]:
    """``[horizon]`` bounds B_h, B'_h on the sum of 1 / w_b over rechistories that one phi can meet.

    Equations (37) and (38) of the paper, for action sets of any sizes.
    """
    sums = []
    ways = [1] + [0] * k  # e_0 .. e_K of the widths of the layers above
    for above, (size, width) in enumerate(zip(np.diff(plex.layers), _widest(plex), strict=True)):
        sequences = int(size) * int(width)
        seen = ways[min(k - 1, above)] if k else 0
        sums.append((sequences * seen, sequences * ways[k]))
        for j in range(k, 0, -1):
            ways[j] += int(width) * ways[j - 1]
    return sums


def _widest(plex: Treeplex) -> Any:
    """``[horizon]`` the largest number of actions in each layer."""
    return np.maximum.reduceat(plex.n_actions, plex.layers[:-1])


def _log_rechistories(plex: Treeplex, k: int) -> Floats:
    """``[n_infosets]`` log N_x; where the count overflows, a bound that ignores K."""
    with np.errstate(over="ignore", invalid="ignore"):
        swap, external = rechistories_per_infoset(plex, k)
        counted = np.log(swap + external)
    everything = np.zeros(plex.n_infosets)
    for start, end in zip(plex.layers[1:-1], plex.layers[2:], strict=True):
        above = plex.seq_infoset[plex.parent_seq[start:end]]
        everything[start:end] = everything[above] + np.log(plex.n_actions[above])
    return np.fmin(counted, everything)


def _log_cost(plex: Treeplex, k: NotionLike) -> float:
    """log D, with D the largest total cost of the rechistories that one phi can meet."""
    notion = as_notion(k)
    if notion.k is None:
        count = np.log(rechistories_at_once(plex, notion))
    else:
        count = _log_rechistories(plex, clipped_k(plex, k))
    log_actions = np.log(plex.n_actions)
    with np.errstate(divide="ignore"):  # an infoset with one action may have log 0
        swap, external = np.log(count + plex.n_actions * log_actions), np.log(count + log_actions)
    return log_largest_cost(plex, k, swap, external)


def rechistories_at_once(plex: Treeplex, notion: Notion) -> Floats:
    """``[n_infosets]`` the largest sum of the time selections of all rechistories at an infoset.

    For a K-EFCE exactly one rechistory comes true. For the EFCCE all may: that of obeying, and one
    for each earlier decision at which the deviator may have left. No regret is at OBEDIENT ones.
    """
    if notion.coarse and not notion.agent:
        return np.asarray(plex.depth, np.float64) + 1.0
    return np.ones(plex.n_infosets)


def log_largest_cost(plex: Treeplex, k: NotionLike, swap: Floats, external: Floats) -> float:
    """The logarithm of the largest total cost of the rechistories that one phi can meet.

    ``swap[x]`` and ``external[x]`` are the logarithms of the cost of one rechistory at x;
    rechistories cost nothing where there is only one action.
    """
    nothing, notion = plex.n_actions == 1, as_notion(k)
    if notion.k is None:
        each = np.where(nothing, -np.inf, external if notion.coarse else swap)
        return float(np.logaddexp.reduce(each, initial=-np.inf))
    total = np.full((plex.n_sequences, clipped_k(plex, k) + 1), -np.inf)
    _add_costs(
        plex.arrays, np.where(nothing, -np.inf, swap), np.where(nothing, -np.inf, external), total
    )
    return float(total[0, 0])


@jit
def _log_sum(one: float, other: float) -> float:
    """``log(exp(one) + exp(other))``; either may be minus infinity."""
    if one < other:
        one, other = other, one
    return one if other == -math.inf else one + math.log1p(math.exp(other - one))


@jit
def _add_costs(plex: TreeplexArrays, swap: Floats, external: Floats, total: Floats) -> None:
    """Overwrite ``total`` in a bottom-up sweep.

    ``total[seq, d]`` becomes the logarithm of the largest cost below ``seq`` after d deviations. At
    a SWAP node phi answers each recommendation r either by r itself, which leaves d unchanged, or
    by the other action that costs most after d + 1 deviations. After K deviations phi gives the
    same answer to all recommendations.
    """
    k = total.shape[1] - 1
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        first, last = plex.first_seq[x], plex.first_seq[x + 1]
        above = plex.parent_seq[x]
        for d in range(k + 1):
            best, second, best_seq = -math.inf, -math.inf, first
            for seq in range(first, last):
                value = total[seq, min(d + 1, k)]
                if value > best:
                    best, second, best_seq = value, best, seq
                elif value > second:
                    second = value
            if d == k:
                cost = _log_sum(external[x], best)
            else:
                cost = swap[x]
                for seq in range(first, last):
                    other = second if seq == best_seq else best
                    cost = _log_sum(cost, max(total[seq, d], other))
            total[above, d] = _log_sum(total[above, d], cost)
