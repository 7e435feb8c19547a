"""How long to run, according to the paper's two theorems with every constant written out.

Theorems 5 and 7 of Song, Mei, Bai 2022 give the order of magnitude of
the iterations that bring the gap below a target. :func:`plan` gives actual numbers, for any game.
It also has the number for ``solve``'s default, from the theorem of regret matching. It has none for
``learn``'s default, whose bound has no closed form with useful constants
(``docs/theory/bandit.md``).

The paper's learning rates (``regret/rates.py``) are a constant over sqrt(T), so every term of the
regret bound (``learning/theory/bounds.py``) grows as sqrt(T), and the required T is explicit. It
covers the worst case. A run usually gets there much earlier, so ``runs/loop.py`` measures the gap
and can stop at a target.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal

from accord._check import check_positive, check_probability
from accord.deviations.notions import NotionLike, checked_k, clipped_k
from accord.game.tree import Game
from accord.learning.theory.bounds import (
    CONTEXT,
    bandit_bound,
    full_feedback_bound,
)
from accord.learning.theory.matching_bound import matching_bound
from accord.regret.methods import AVERAGING, DEFAULT, METHODS
from accord.regret.rates import (
    DEFAULT_FAILURE_PROB,
    episodes_per_iteration,
    log_bandit_rate,
    log_paper_rate,
)
from accord.treeplex.form import sequence_form


@dataclass(frozen=True)
class Plan:
    """Iterations and episodes after which a gap of at most ``target_gap`` is guaranteed."""

    k: float  # deviations, as requested
    target_gap: float  # payoff units, maximum over players
    confidence: float  # of the guarantee for bandit feedback; for full feedback it is 1
    iterations: int  # full feedback: WRHedge at the paper's learning rate, uniform average
    default_iterations: int  # full feedback: solve's default, as solve averages it
    bandit_iterations: int  # Balanced K-EFR at the paper's learning rate, uniform average
    episodes_per_iteration: int  # of all players together, with bandit feedback

    @property
    def episodes(self) -> int:
        """Episodes of the whole run with bandit feedback."""
        return self.bandit_iterations * self.episodes_per_iteration


def plan(
    game: Game,
    k: NotionLike,
    target_gap: float,
    confidence: float = 1 - DEFAULT_FAILURE_PROB,
) -> Plan:
    """How long K-EFR must run on ``game`` so that theorems guarantee a gap of ``target_gap``.

    The theorems are about the average of all iterates. They cover ``solve`` with ``"wrhedge"`` at
    the paper's learning rate and with the default, ``"prm+"``, and ``learn`` with ``"swrhedge"`` at
    the paper's learning rate. They do not cover the default of ``learn``, ``"prm"``, nor ``"rm"``.

    Args:
        game: The game.
        k: How many recommendations a deviator may see and disobey: 0 (NFCCE), 1 (EFCE), 2, ...,
            ``math.inf`` (BCE); or one of these names.
        target_gap: The K-EFCE gap wanted, in payoff units, maximum over players.
        confidence: The probability with which a run with bandit feedback reaches it.

    Raises:
        ArgumentError: If an argument is out of range.
    """
    asked = checked_k(k)
    check_positive("target_gap", target_gap)
    check_probability("confidence", confidence)
    failure_prob = float(1 - Decimal(repr(float(confidence))))  # 0.05, not 0.05000000000000004
    form = sequence_form(game)
    infosets = sum(plex.n_infosets for plex in form.plexes)
    default = METHODS[DEFAULT]
    iterations = default_iterations = bandit_iterations = 1
    for i, (plex, span) in enumerate(zip(form.plexes, form.leaves.payoff_range, strict=True)):
        if span <= target_gap or plex.max_actions == 1:  # no deviation gains more than the range
            continue
        own_k = clipped_k(plex, asked)
        with decimal.localcontext(CONTEXT):
            accuracy = Decimal(float(target_gap)) / Decimal(float(span))
            full = full_feedback_bound(plex, own_k)
            bandit = bandit_bound(plex, own_k, infosets, failure_prob)
            rate = Decimal(log_paper_rate(plex, own_k)).exp()
            bandit_rate = Decimal(log_bandit_rate(form.plexes, i, own_k, failure_prob)).exp()
            iterations = max(iterations, full.iterations(rate, accuracy))
            matching = matching_bound(plex, own_k, default.config, AVERAGING[default.averaging])
            default_iterations = max(default_iterations, matching.iterations(accuracy))
            bandit_iterations = max(bandit_iterations, bandit.iterations(bandit_rate, accuracy))
    return Plan(
        k=asked,
        target_gap=target_gap,
        confidence=confidence,
        iterations=iterations,
        default_iterations=default_iterations,
        bandit_iterations=bandit_iterations,
        episodes_per_iteration=sum(
            episodes_per_iteration(plex.horizon, clipped_k(plex, asked)) for plex in form.plexes
        ),
    )
