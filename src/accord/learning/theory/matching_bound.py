"""The regret bound of regret matching, with every constant written out.

``docs/theory/regret-matching.md`` proves it. Take one player whose loss in a whole play is between
0 and 1. Let RM+, with or without prediction, add the regret of iteration t with weight (t + 1)^-d,
d < 1/2, and average iterate t with weight t^q. After T iterations against any opponents the
weighted average K-EFCE regret is at most 1, and at most

    (q + 1) / T * sqrt( c n G (T + 1) / (1 - 2d) ),

where c is 1, or 4 with prediction, and

    n   is the largest number of cells that one phi can meet: A_x for a SWAP rechistory at x, one
        for an EXTERNAL or COARSE one, none where A_x = 1;
    G   is the largest sum of A_x - 1 over infosets that chance and the other players can allow at
        once: one infoset after each sequence. For the EFCCE, whose rechistories do not exclude
        each other, A_x - 1 counts once for each decision of the player up to x.

Regret matching without the plus has this bound for q = d = 0.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.notions import NotionLike, as_notion
from accord.learning.theory.bounds import MARGIN, log_largest_cost, rechistories_at_once
from accord.regret.regret_matching import RegretMatching
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex, TreeplexArrays


class MatchingBound(NamedTuple):
    """The weighted average regret is at most ``sqrt(constant * (T + 1)) / T``."""

    constant: Decimal

    def average(self, iterations: float) -> float:
        """The bound on the average regret after ``iterations``, at most 1."""
        root = math.sqrt(float(self.constant))
        return min(1.0, root * math.sqrt(iterations + 1.0) / iterations)

    def iterations(self, accuracy: Decimal) -> int:
        """A T from which on the average regret is at most ``accuracy``."""
        needed = self.constant / accuracy**2  # T - 1 < T^2 / (T + 1) must be at least this
        return int((needed * (1 + MARGIN)).to_integral_value(decimal.ROUND_CEILING)) + 1


def covers(method: RegretMatching, power: int) -> bool:
    """Whether the theorem covers ``method`` with iterates weighted by t ** ``power``."""
    return method.decay < 0.5 if method.plus else power == 0 and method.decay == 0


def matching_bound(
    plex: Treeplex, k: NotionLike, method: RegretMatching, power: int
) -> MatchingBound:
    """The bound for a method that the theorem :func:`covers`."""
    log_cells = log_largest_cost(plex, k, np.log(plex.n_actions), np.zeros(plex.n_infosets))
    doubled = 4 if method.plus and method.predictive else 1
    size = Decimal(log_cells).exp() * int(choices_at_once(plex, k))
    return MatchingBound((power + 1) ** 2 * doubled * size / (1 - 2 * Decimal(method.decay)))


def choices_at_once(plex: Treeplex, k: NotionLike = 1) -> float:
    """G: the largest sum of A_x - 1 over infosets that can be reached, one after each sequence."""
    most = np.zeros(plex.n_sequences)
    _add_choices(plex.arrays, rechistories_at_once(plex, as_notion(k)), most)
    return float(most[EMPTY_SEQUENCE])


@jit
def _add_choices(plex: TreeplexArrays, times: Floats, most: Floats) -> None:
    """Overwrite ``most[seq]`` with the largest sum below ``seq``, in a bottom-up sweep."""
    for x in range(len(plex.parent_seq) - 1, -1, -1):
        first, last = plex.first_seq[x], plex.first_seq[x + 1]
        total = times[x] * (last - first - 1)
        for seq in range(first, last):
            total += most[seq]
        above = plex.parent_seq[x]
        most[above] = max(most[above], total)
