"""The normal-form (NFCE) gap, whose deviator sees all recommendations before the play.

An NFCE modification (Definition C.1 of Song, Mei, Bai 2022) sees the whole pure policy sigma that
was drawn for the player, and may replace each sigma by another policy pi':

    gap_i = sum over sigma of max over pi' of
            sum_t w_t P_t(sigma) ( V_i(pi', pi_-i^t) - V_i(sigma, pi_-i^t) ),

where P_t(sigma) is the probability that component t recommends sigma. A pure component recommends
one sigma, so any number of pure components can be evaluated: those that recommend the same sigma
together, one sigma after another. A mixed component draws one action per infoset and so may
recommend every sigma in the product of its supports. These are enumerated if there are few enough;
otherwise the computation is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord.equilibrium.evaluation import BLOCK_NUMBERS, Block, Sums, centers
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import UNIT
from accord.errors import BudgetError
from accord.game.labels import player_name
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import best_response

LIMIT = 10_000
"""The most pure policies that mixed components are expanded into. It takes well under a second."""

MOST_NUMBERS = 2**23
"""The most numbers that the losses of these policies may have: in a large game they are fewer."""

REPEATS = 100
"""The most components, on average, that each of these may come from."""


def nfce_gaps(policy: CorrelatedPolicy, limit: int | None = None) -> Floats:
    """``[n_players]`` the gain of each player who sees the whole recommended policy first.

    Raises:
        BudgetError: If mixed components recommend more than ``limit`` pure policies; by default
            10,000, or fewer in a large game.
    """
    return np.array([gap for gap, _ in measured_nfce_gaps(policy, limit)])


def measured_nfce_gaps(
    policy: CorrelatedPolicy, limit: int | None = None
) -> list[tuple[float, float]]:
    """The gaps of :func:`nfce_gaps`, and the error of each (``equilibrium/rounding.py``)."""
    form = policy.form
    recommended = [_Recommended(policy, i, limit) for i in range(form.n_players)]
    return [_gap(form, policy, i, center, recommended[i]) for i, center in centers(policy).items()]


class _Recommended:
    """The components of a policy as one player sees them, grouped by their supports."""

    def __init__(self, policy: CorrelatedPolicy, player: int, limit: int | None) -> None:
        form = policy.form
        self.plex = form.plexes[player]
        limit = min(LIMIT, MOST_NUMBERS // self.plex.n_sequences) if limit is None else limit
        part = form.split(policy.behavior)[player]
        counts, rows = np.empty(len(part)), max(1, BLOCK_NUMBERS // part.shape[1])
        for start in range(0, len(part), rows):
            some = slice(start, start + rows)
            counts[some] = _count_plans(self.plex, part[some])
            self._check(policy, player, float(counts[some].max()), limit)
        bits = np.packbits(part > 0.0, axis=1)
        supports, group = np.unique(bits, axis=0, return_inverse=True)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(supports) + 1))
        self.groups = [order[start:end] for start, end in pairwise(starts)]
        self.groups.sort(key=lambda same: -counts[same[0]])  # mixed ones first
        mixed = [same for same in self.groups if counts[same[0]] > 1]
        self.n_mixed = len(mixed)
        self._check(policy, player, float(sum(counts[same[0]] for same in mixed)), limit)
        self._check(policy, player, float(counts[counts > 1].sum()), REPEATS * limit)

    def _check(self, policy: CorrelatedPolicy, player: int, count: float, limit: int) -> None:
        if count > limit:
            raise BudgetError(
                "the normal-form gap needs every pure policy that may be recommended; for "
                f"{player_name(policy.player_labels[player])} mixed components recommend "
                f"{count:.3g}, and at most {limit} are expanded; use pure components, for which "
                "the gap is always computed",
                required=int(min(count, 2**63)),
                available=limit,
            )


def _gap(
    form: SequenceForm, policy: CorrelatedPolicy, i: int, center: float, told: _Recommended
) -> tuple[float, float]:
    """The gap of player ``i`` and its error."""
    plex, sums = form.plexes[i], Sums(form, i, center)
    met: dict[bytes, Floats] = {}  # the loss met by each sigma of a mixed component
    least, rows = 0.0, max(1, BLOCK_NUMBERS // form.n_sequences)
    for number, same in enumerate(told.groups):
        sigmas = list(_plans(plex, policy.behavior[same[0]][_part(form, i)]))
        places = plex.first_seq[:-1] + np.array(sigmas, np.int32)
        total = np.zeros((len(sigmas), plex.n_sequences))
        for start in range(0, len(same), rows):
            block = Block(policy, same[start : start + rows])
            faced, _ = sums.add(block)
            for weight, own, loss in zip(block.weights, block.behaviors[i], faced, strict=True):
                chance = weight * own[places].prod(axis=1)
                for at in range(0, len(total), rows):  # not all at once, which takes much memory
                    total[at : at + rows] += chance[at : at + rows, np.newaxis] * loss
        for sigma, loss in zip(sigmas, total, strict=True):
            key = sigma.tobytes()
            if number < told.n_mixed:
                met[key] = met[key] + loss if key in met else loss
            elif key in met:
                met[key] += loss
            else:
                least += best_response(plex, loss)[0]
    least += math.fsum(best_response(plex, loss)[0] for loss in met.values())
    drawn = len(told.groups) + len(met)
    if met:  # their probabilities are products over all infosets
        drawn += int((plex.n_actions + 3 + math.ceil(policy.excess / UNIT)).sum())
    return sums.obedience(policy, roundings=drawn).saved(least)


def _part(form: SequenceForm, i: int) -> slice:
    """The sequences of player ``i`` in a joint vector."""
    return slice(int(form.leaves.first_reach[i]), int(form.leaves.first_reach[i + 1]))


def _count_plans(plex: Treeplex, behaviors: Floats) -> Floats:
    """``[rows]`` the numbers of pure policies that the rows of ``behaviors`` may recommend."""
    if not plex.n_infosets:
        return np.ones(len(behaviors))
    supports = np.add.reduceat(behaviors[:, 1:] > 0, plex.first_seq[:-1] - 1, 1, np.int64)
    with np.errstate(over="ignore"):
        return np.asarray(np.prod(supports, axis=1, dtype=np.float64))


def _plans(plex: Treeplex, behavior: Floats) -> Iterator[Ints]:
    """The actions of every pure policy that ``behavior`` may recommend."""
    supports: list[NDArray[np.int64]] = [
        np.flatnonzero(behavior[plex.first_seq[x] : plex.first_seq[x + 1]])
        for x in range(plex.n_infosets)
    ]
    for actions in product(*supports):
        yield np.array(actions, dtype=np.int32)
