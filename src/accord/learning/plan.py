"""How long to run, by the paper's two theorems with every constant written out.

Theorems kcfr-full-feedback and kcfr-bandit of Song, Mei, Bai 2022 give the order of magnitude of
the iterations that bring the gap below epsilon. :func:`plan` gives numbers that do, for any game.
The paper's learning rates (``regret/rates.py``) are a constant over sqrt(T), so every term of the
regret bound (``learning/bounds.py``) grows as sqrt(T) and the T that is needed is explicit. It
covers the worst case. A run usually gets there much earlier, which is why ``runs/loop.py`` measures
the gap and can stop by it.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from typing import SupportsIndex

from accord._check import check_positive, check_probability
from accord.deviations.notions import checked_k, clipped_k
from accord.game.tree import Game
from accord.learning.bounds import CONTEXT, bandit_bound, full_feedback_bound
from accord.learning.estimators import episodes_per_iteration
from accord.regret.rates import log_bandit_rate, log_paper_rate
from accord.treeplex.form import sequence_form


@dataclass(frozen=True)
class Plan:
    """Iterations and episodes after which a gap of at most ``epsilon`` is guaranteed."""

    k: float  # deviations, as asked
    epsilon: float  # payoff units, maximum over players
    failure_prob: float  # of the bandit's guarantee; full feedback has none
    iterations: int  # full feedback: WRHedge at the paper's learning rate, uniform average
    bandit_iterations: int  # Balanced K-EFR at the paper's learning rate, uniform average
    episodes_per_iteration: int  # played by all players together in one of them

    @property
    def episodes(self) -> int:
        """Episodes of the bandit's whole run."""
        return self.bandit_iterations * self.episodes_per_iteration


def plan(game: Game, k: SupportsIndex | float, epsilon: float, failure_prob: float = 0.05) -> Plan:
    """How long K-EFR must run on ``game`` so that its theorems guarantee a gap of ``epsilon``.

    Args:
        game: The game.
        k: How many recommendations a deviator may see and disobey: 0, 1, ..., ``math.inf``.
        epsilon: The K-EFCE gap wanted, in payoff units, maximum over players.
        failure_prob: The probability with which the bandit's run may miss it.

    Raises:
        ArgumentError: If an argument is out of range.
    """
    asked = checked_k(k)
    check_positive("epsilon", epsilon)
    check_probability("failure_prob", failure_prob)
    form = sequence_form(game)
    infosets = sum(plex.n_infosets for plex in form.plexes)
    iterations = bandit_iterations = 1
    for i, (plex, span) in enumerate(zip(form.plexes, form.leaves.payoff_range, strict=True)):
        if span <= epsilon or plex.max_actions == 1:  # no deviation gains more than the range
            continue
        own_k = clipped_k(plex, asked)
        with decimal.localcontext(CONTEXT):
            accuracy = Decimal(float(epsilon)) / Decimal(float(span))
            full = full_feedback_bound(plex, own_k)
            bandit = bandit_bound(plex, own_k, infosets, failure_prob)
            rate = Decimal(log_paper_rate(plex, own_k)).exp()
            bandit_rate = Decimal(log_bandit_rate(form.plexes, i, own_k, failure_prob)).exp()
            iterations = max(iterations, full.iterations(rate, accuracy))
            bandit_iterations = max(bandit_iterations, bandit.iterations(bandit_rate, accuracy))
    return Plan(
        k=asked,
        epsilon=epsilon,
        failure_prob=failure_prob,
        iterations=iterations,
        bandit_iterations=bandit_iterations,
        episodes_per_iteration=sum(
            episodes_per_iteration(plex.horizon, clipped_k(plex, asked)) for plex in form.plexes
        ),
    )
