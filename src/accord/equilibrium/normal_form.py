"""The normal-form (NFCE) gap, whose deviator sees all recommendations before the play.

An NFCE modification (Definition nfce-strategy-modification of Song, Mei, Bai 2022) sees the whole
pure policy sigma that was drawn for the player, and may replace each sigma by another policy pi':

    gap_i = sum over sigma of max over pi' of
            sum_t w_t P_t(sigma) ( V_i(pi', pi_-i^t) - V_i(sigma, pi_-i^t) ),

where P_t(sigma) is the probability that component t recommends sigma. A pure component recommends
one sigma, so with pure components there are at most as many as components. A mixed component draws
one action per infoset and so may recommend every sigma in the product of its supports. These are
enumerated if there are few enough; otherwise the computation is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from accord._arrays import Floats, Ints
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import BudgetError
from accord.game.labels import player_name
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import best_response, counterfactual_loss, immediate_loss, joint_reach

LIMIT = 10_000
"""The most pure policies that mixed components are expanded into. It takes well under a second."""


def nfce_gaps(policy: CorrelatedPolicy, limit: int = LIMIT) -> Floats:
    """``[n_players]`` the gain of each player who sees the whole recommended policy first.

    Raises:
        BudgetError: If mixed components recommend more than ``limit`` pure policies.
    """
    form = sequence_form(policy.game)
    for i, part in enumerate(form.split(policy.behavior)):
        count = sum(_count_recommended(form.plexes[i], behavior) for behavior in part)
        if count > limit:
            raise BudgetError(
                "the normal-form gap needs every pure policy that may be recommended; for "
                f"{player_name(policy.game.player_labels[i])} there are {count:.3g}, and at most "
                f"{limit} are expanded; use pure components, for which the gap is always computed",
                required=int(min(count, 2**63)),
                available=limit,
            )
    drawn: list[dict[bytes, Floats]] = [{} for _ in form.plexes]  # the loss met by each sigma
    own_loss = np.zeros(form.n_players)
    for weight, behaviors in policy.components():
        reach = joint_reach(form.plexes, behaviors)
        for i, plex in enumerate(form.plexes):
            loss = immediate_loss(form.leaves, i, reach)
            own_loss[i] += weight * counterfactual_loss(plex, behaviors[i], loss)[0]
            for chance, sigma in _recommended(plex, behaviors[i]):
                total = drawn[i].setdefault(sigma.tobytes(), np.zeros(plex.n_sequences))
                total += weight * chance * loss
    least = np.array(
        [
            sum(best_response(plex, total)[0] for total in drawn[i].values())
            for i, plex in enumerate(form.plexes)
        ]
    )
    return np.asarray((own_loss - least) * form.leaves.payoff_range)


def _count_recommended(plex: Treeplex, behavior: Floats) -> float:
    """The number of pure policies that ``behavior`` may recommend."""
    if not plex.n_infosets:
        return 1.0
    supports = np.add.reduceat(behavior[1:] > 0, plex.first_seq[:-1] - 1, dtype=np.int64)
    return math.prod(map(float, supports))


def _recommended(plex: Treeplex, behavior: Floats) -> Iterator[tuple[float, Ints]]:
    """``(probability, actions)`` of every pure policy that ``behavior`` may recommend."""
    supports = [
        np.flatnonzero(behavior[plex.first_seq[x] : plex.first_seq[x + 1]])
        for x in range(plex.n_infosets)
    ]
    for actions in product(*supports):
        sigma = np.array(actions, dtype=np.int32)
        yield float(np.prod(behavior[plex.first_seq[:-1] + sigma])), sigma
