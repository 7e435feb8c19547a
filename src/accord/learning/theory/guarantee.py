"""The gap that a theorem guarantees along a run, for the methods that have one.

A learning rate that is chosen for T iterations stays fixed, so the bound along the run is not a
constant over sqrt(t). For the paper's methods the average regret after t iterations is at most

    eta H + D / (eta t)                                                           (WRHedge)
    eta H + sum_h (sqrt(c_h) + sqrt(c'_h)) / sqrt(T)
          + (D' / eta + sqrt(T) sum_h (sqrt(c_h) + sqrt(c'_h))) / t               (SWRHedge)

with the constants of ``learning/theory/bounds.py``. It falls like 1 / t towards a constant, and at
t = T it is what :func:`accord.plan` uses. WRHedge's holds always. SWRHedge's holds with probability
1 - p at all t together (``docs/theory/constants.md``). Both are for the uniform average of all
iterates. Regret matching has no learning rate, and its bound falls as in
``learning/theory/matching_bound.py``.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from accord.deviations.notions import NotionLike, as_notion, clipped_k
from accord.learning.theory.bounds import CONTEXT, RegretBound, bandit_bound, full_feedback_bound
from accord.learning.theory.matching_bound import covers, matching_bound
from accord.regret.rates import episodes_per_iteration, log_bandit_rate, log_paper_rate, rate_k
from accord.regret.regret_matching import RegretMatching
from accord.regret.swrhedge import SWRHedge
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex


class Curve(Protocol):
    """A bound on one player's average regret, with losses in [0, 1]."""

    def average(self, iterations: float) -> float:
        """The bound after ``iterations``."""

    def iterations(self, accuracy: Decimal) -> int:
        """The length of a run whose bound is at most ``accuracy`` at its end."""


class FixedRate(NamedTuple):
    """The bound of a run at a learning rate that stays the same."""

    flat: float
    falling: float
    bound: RegretBound
    rate: Decimal  # the paper's times sqrt(T), for runs of other lengths

    def average(self, iterations: float) -> float:
        """``flat + falling / t``, at most 1."""
        return min(1.0, self.flat + self.falling / iterations)

    def iterations(self, accuracy: Decimal) -> int:
        """The planned length, at the paper's learning rate for that length."""
        return self.bound.iterations(self.rate, accuracy)


@dataclass(frozen=True)
class GapBound:
    """The gap that is guaranteed after t iterations of one run, in payoff units."""

    curves: tuple[Curve, ...]  # one for each player who has a choice
    ranges: tuple[float, ...]  # the payoff ranges of the same players
    failure_prob: float | None  # with which the whole curve may fail; None if it cannot
    of_paper: bool  # whether it is the paper's theorem; else it is that of regret matching

    def at(self, iterations: float) -> float:
        """The bound after ``iterations``; 0 if no player has a choice."""
        both = zip(self.curves, self.ranges, strict=True)
        return max((span * curve.average(iterations) for curve, span in both), default=0.0)

    def iterations(self, gap: float) -> int:
        """The length of a run whose bound is at most ``gap``, which is positive, at its end."""
        with decimal.localcontext(CONTEXT):
            return max(
                (
                    curve.iterations(Decimal(gap) / Decimal(span))
                    for curve, span in zip(self.curves, self.ranges, strict=True)
                    if span > gap
                ),
                default=1,
            )


def solve_bound(
    form: SequenceForm, k: NotionLike, method: Any, iterations: int | None, power: int
) -> GapBound | None:
    """The bound on the gap of :func:`accord.solve`, or None if no theorem covers the run.

    Args:
        form: The game.
        k: How many recommendations a deviator may see and disobey.
        method: The configured minimizer.
        iterations: For how many the learning rate was chosen; None if they were not known.
        power: Iterates are averaged with weights ``t ** power``.
    """
    if isinstance(method, RegretMatching) and covers(method, power):

        def matching(i: int, plex: Treeplex) -> Curve:
            return matching_bound(plex, k, method, power)

        return _gap_bound(form, None, False, matching)
    if not isinstance(method, WRHedge) or power:
        return None
    if method.learning_rate is None and (method.anytime or iterations is None):
        return None

    def hedging(i: int, plex: Treeplex) -> Curve:
        own_k = rate_k(plex, as_notion(k))
        bound = full_feedback_bound(plex, k)
        eta = method.rate(plex, own_k, iterations)
        return _fixed_rate(bound, eta, log_paper_rate(plex, own_k), iterations or 1)

    return _gap_bound(form, None, True, hedging)


def learn_bound(
    form: SequenceForm, k: NotionLike, method: Any, episodes: int, exploration: str | None
) -> GapBound | None:
    """The bound for :func:`accord.learn` on the uniform average of *all* iterates, or None.

    ``episodes`` are those for which the learning rate was chosen.
    """
    if not isinstance(method, SWRHedge) or method.whole_plays or exploration != "balanced":
        return None
    plexes, failure_prob = form.plexes, method.failure_prob
    infosets = sum(plex.n_infosets for plex in plexes)
    each = sum(episodes_per_iteration(plex.horizon, clipped_k(plex, k)) for plex in plexes)
    iterations = max(1, episodes // max(1, each))
    rates = method.schedule(plexes, k, iterations).rates

    def curve(i: int, plex: Treeplex) -> Curve:
        own_k = clipped_k(plex, k)
        bound = bandit_bound(plex, own_k, infosets, failure_prob)
        log_rate = log_bandit_rate(plexes, i, own_k, failure_prob)
        return _fixed_rate(bound, rates[i], log_rate, iterations)

    return _gap_bound(form, failure_prob, True, curve)


def _gap_bound(
    form: SequenceForm,
    failure_prob: float | None,
    of_paper: bool,
    curve: Callable[[int, Treeplex], Curve],
) -> GapBound:
    """The bound made of one curve for each player who has a choice."""
    players = [i for i, plex in enumerate(form.plexes) if plex.max_actions > 1]
    with decimal.localcontext(CONTEXT):
        curves = tuple(curve(i, form.plexes[i]) for i in players)
    ranges = tuple(float(form.leaves.payoff_range[i]) for i in players)
    return GapBound(curves, ranges, failure_prob, of_paper)


def _fixed_rate(bound: RegretBound, eta: float, log_rate: float, planned: int) -> FixedRate:
    """Half of the noise at T grows with t, half is there from the start."""
    half, root = bound.noise / 2, Decimal(planned).sqrt()
    rate = Decimal(float(eta))
    return FixedRate(
        flat=float(rate * bound.layers + half / root),
        falling=float(bound.cost / rate + half * root),
        bound=bound,
        rate=Decimal(log_rate).exp(),
    )
