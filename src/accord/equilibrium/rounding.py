"""How far rounding may have moved a gap, a value or a loss, and which of them are zero.

Let u = 2^-53. Everything that is evaluated here is a sum of terms: products of probabilities and a
loss, added up in some order. If no term passes through more than N roundings, then the computed sum
differs from the exact one by at most

    gamma * (sum of the magnitudes of the terms),      gamma = N u / (1 - N u)

(Higham, Accuracy and Stability of Numerical Algorithms, Lemma 3.1). Losses are measured from a
center c in payoff units: a play that pays p has loss c - p. Gaps do not depend on c. The magnitude
of a term is its loss plus twice the excess p - c, where that is positive. So for a deviation phi,

    sum of magnitudes = loss(phi) + 2 gain(phi),

gain(phi) being the expected excess. It is at most the *stake* of the player: their expected excess
if they could see the component of the mixture and play to maximize it. The best deviation has the
least loss, hence

    |computed least loss - exact| <= gamma (least loss + 2 stake),

and plays that are much worse than c, however bad, cost no digits unless they are reached.
``docs/theory/gap.md`` has the whole argument.

What is exact? Probabilities are doubles, and hardly ever sum to 1. So they stand for themselves
divided by their sum, and the difference counts as rounding: at a chance node one unit u, at an
infoset with A actions A + 1 units, plus what the policy says (``CorrelatedPolicy.excess``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from accord._arrays import Floats, Ints
from accord.treeplex.form import Form
from accord.treeplex.leaves import LeafTable
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

UNIT = 2.0**-53
"""The largest relative error of one rounded operation."""

SECOND_ORDER = 1.01
"""Covers 1 / (1 - N u), and that the magnitudes are computed numbers themselves."""

UNDERFLOW = 2.0**-1074
"""What a rounded operation may lose by underflow, beside its relative error."""

UNSAID = 2.0**-1000
"""An error of at most this can only come from underflow."""

INVISIBLE = 1e-5
"""An error of at most this share of a number does not change the digits that are printed."""


@dataclass(frozen=True)
class Rounding:
    """How far rounding may move one player's sums of losses."""

    share: float  # gamma
    least: float  # by underflow

    @classmethod
    def of(cls, roundings: int, terms: float, largest: float) -> Rounding:
        """The bound for sums of ``terms`` terms with ``roundings`` each; no loss is larger."""
        least = UNDERFLOW * float(roundings) * terms * max(1.0, largest)
        return cls(SECOND_ORDER * roundings * UNIT, least)

    def error(self, loss: Floats | float, gain: float) -> Floats:
        """The largest error of a computed ``loss`` whose expected excess is at most ``gain``."""
        return np.asarray(self.share * (np.abs(loss) + 2.0 * gain) + self.least)


def count_roundings(form: Form, player: int, components: int, excess: float = 0.0) -> int:
    """N, for the losses of ``player`` in a mixture.

    Args:
        form: The game.
        player: Whose losses are added up.
        components: How many policies are mixed.
        excess: How far the distributions of these policies are from summing to 1, at most.
    """
    leaves, plex = form.leaves, form.plexes[player]
    rows = int(np.diff(leaves.arrays[player].first_row).max())
    count = rows + 2 * leaves.roundings + 2 * components + form.n_players + 16
    units = math.ceil(excess / UNIT)
    count += units + _of_policies(form, units)  # of the weights, and of the policies
    children = np.diff(plex.first_child)
    first, after = int(children[EMPTY_SEQUENCE]), children[1:]
    below = np.add.reduceat(after, plex.first_seq[:-1] - 1) if plex.n_infosets else after
    # The sweep from the last layer to the first; learners move losses of single actions up before.
    return count + 2 * (first + _longest(plex, plex.n_actions + below))


def settled(value: float, error: float) -> tuple[float, float]:
    """``value`` and its error, but 0 where the error is as large: the only rule for what is zero.

    The error grows accordingly, so that the exact value is within it of what is returned.
    """
    return (0.0, error + abs(value)) if abs(value) <= error else (value, error)


def rounded_up(value: Fraction) -> float:
    """The least double that is not below ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def settled_all(values: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """:func:`settled` for each of ``values``."""
    zero = np.abs(values) <= errors
    return np.where(zero, 0.0, values), np.where(zero, errors + np.abs(values), errors)


def is_accurate(value: float, error: float) -> bool:
    """Whether ``error`` goes without saying where ``value`` is printed."""
    return error <= max(INVISIBLE * abs(value), UNSAID)


class Measured(NamedTuple):
    """The gaps and values of all players, in payoff units, and how far from them exact ones are."""

    gaps: Floats
    errors: Floats
    values: Floats
    value_errors: Floats


class Measuring:
    """Turns sums of normalized losses over a mixture into gaps and values with error bounds.

    Normalized losses are measured from the best payoff, so none is negative, and the magnitudes of
    the terms add up to the sums themselves.
    """

    def __init__(self, form: Form) -> None:
        self.leaves = form.leaves
        counts = [count_roundings(form, i, 0) for i in range(form.n_players)]
        self.roundings = np.array(counts, np.float64)

    def measured(self, own_loss: Floats, regret: Floats, weight: float, policies: int) -> Measured:
        """The gaps and values.

        Args:
            own_loss: ``[n_players]`` weighted sums of the losses of obeying.
            regret: ``[n_players]`` what the best deviations save of them.
            weight: Sum of the weights.
            policies: How many there are.
        """
        leaves = self.leaves
        span = leaves.payoff_range
        share = SECOND_ORDER * UNIT * (self.roundings + 2 * policies)
        own = own_loss / weight * span
        gaps = regret / weight * span
        values = leaves.best - own
        spread = 2.0 * leaves.mean_spread
        least = UNDERFLOW * float(policies) * len(leaves) * self.roundings * np.maximum(1.0, span)
        errors = share * (2.0 * own + np.abs(gaps) + 2.0 * spread) + 2.0 * least
        last = UNIT * (np.abs(leaves.best) + np.abs(values))
        value_errors = share * (own + spread) + least + last
        return Measured(*settled_all(gaps, errors), *settled_all(values, value_errors))


_policies: WeakKeyDictionary[LeafTable, dict[int, int]] = WeakKeyDictionary()


def _of_policies(form: Form, units: int) -> int:
    """The part of all players' policies, which every player's losses have. Computed once."""
    known = _policies.setdefault(form.leaves, {})
    if units not in known:
        known[units] = sum(_longest(each, each.n_actions + 2 + units) for each in form.plexes)
    return known[units]


def _longest(plex: Treeplex, count: Ints) -> int:
    """The largest sum of ``count``, over the infosets on one path."""
    total = np.zeros(plex.n_sequences, np.int64)
    for start, end in zip(plex.layers[:-1], plex.layers[1:], strict=True):
        here = total[plex.parent_seq[start:end]] + count[start:end]
        total[plex.first_seq[start] : plex.first_seq[end]] = np.repeat(
            here, plex.n_actions[start:end]
        )
    return int(total.max())
