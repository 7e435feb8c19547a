"""The paper's learning rates, for losses in [0, 1] (Song, Mei, Bai 2022).

In the paper the loss of a whole play may reach H; here it is at most 1 (``treeplex/leaves.py``), so
the paper's rates become

    full feedback   eta = sqrt( C(H, K) X A^K log A / T )
    bandit          eta = sqrt( C(H, K) X A^(K+1) log(8 sum_j X_j A_j / p) / (H T) )

with K already clipped to H. These rates balance what a deviator's choices cost against time. A
coarse deviator has as many choices as one for K = 0, and an agent-form deviator who sees
recommendations no more than one for K = 1, so their learners use those rates (:func:`rate_k`). The
counts may overflow a float, so the code adds logarithms.
"""

from __future__ import annotations

import math

from accord.deviations.notions import Notion, clipped_k
from accord.treeplex.treeplex import Treeplex

LARGEST_RATE = 1e100
"""The largest learning rate, so that its products with sums of losses stay finite."""


DEFAULT_FAILURE_PROB = 0.05
"""The default probability with which a bandit guarantee may fail."""


def episodes_per_iteration(horizon: int, k: int) -> int:
    """The number of Lemma G.1 of the paper, for ``k`` already clipped to the horizon."""
    return math.comb(horizon + 1, k + 1) + k - 1 if k else horizon


def rate_k(plex: Treeplex, notion: Notion) -> int:
    """The K, clipped to the horizon, for which the paper's rate serves ``notion``."""
    return clipped_k(plex, 0 if notion.coarse else notion.deviations)


def paper_learning_rate(plex: Treeplex, k: int) -> float:
    """``eta * sqrt(T)`` with full feedback, at most :data:`LARGEST_RATE`."""
    return _rate(log_paper_rate(plex, k))


def bandit_learning_rate(
    plexes: tuple[Treeplex, ...], player: int, k: int, iterations: int, failure_prob: float
) -> float:
    """``eta`` of one player with bandit feedback, at most :data:`LARGEST_RATE`."""
    return _rate(log_bandit_rate(plexes, player, k, failure_prob, iterations))


def log_paper_rate(plex: Treeplex, k: int) -> float:
    """The logarithm of ``eta * sqrt(T)``, Equation (9) of the paper.

    0 for a player who never has a choice and so plays the same at any rate.
    """
    if plex.max_actions == 1:
        return 0.0
    log_actions = math.log(plex.max_actions)
    log_choices = math.log(math.comb(plex.horizon, k)) + math.log(plex.n_infosets)
    return 0.5 * (log_choices + k * log_actions + math.log(log_actions))


def log_bandit_rate(
    plexes: tuple[Treeplex, ...], player: int, k: int, failure_prob: float, iterations: int = 1
) -> float:
    """The logarithm of ``eta``, Equation (14); 0 for a player without decisions."""
    plex = plexes[player]
    if plex.horizon == 0:
        return 0.0
    size = sum(other.n_infosets * other.max_actions for other in plexes)
    odds = 8.0 * size / failure_prob
    iota = math.log(odds) if math.isfinite(odds) else math.log(8.0 * size) - math.log(failure_prob)
    return 0.5 * (
        math.log(math.comb(plex.horizon, k) * plex.n_infosets)
        + (k + 1) * math.log(plex.max_actions)
        + math.log(iota)
        - math.log(plex.horizon)
        - math.log(iterations)
    )


def _rate(logarithm: float) -> float:
    return math.exp(min(logarithm, math.log(LARGEST_RATE)))
