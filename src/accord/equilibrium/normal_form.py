"""The normal-form gap: a deviator who sees all her recommendations at once.

An NFCE modification (Definition nfce-strategy-modification of Song, Mei, Bai 2022) sees the whole
pure policy sigma that was drawn for her, and may answer each with a policy of her own:

    gap_i = sum over sigma of max over pi' of
            sum_t w_t P_t(sigma) ( V_i(pi', pi_-i^t) - V_i(sigma, pi_-i^t) ),

where P_t(sigma) is the probability that component t recommends sigma. A pure component recommends
one policy, so there are at most as many as components. A mixed one recommends every policy in the
product of its supports, one draw per infoset: these are enumerated if there are few enough, else
refused.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from accord._arrays import Floats
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import BudgetError
from accord.game.labels import player_name
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import best_response, counterfactual_loss, immediate_loss, joint_reach

LIMIT = 10_000
"""Recommended pure policies, over all components, up to which mixed components are expanded: well
under a second."""


def nfce_gaps(policy: CorrelatedPolicy, limit: int = LIMIT) -> Floats:
    """``[n_players]`` what each player gains if she sees her whole recommended policy first.

    Raises:
        BudgetError: If mixed components recommend more than ``limit`` pure policies.
    """
    form = sequence_form(policy.game)
    for i, part in enumerate(form.split(policy.behavior)):
        count = sum(_count_support(plex_part) for plex_part in _rows(form.plexes[i], part))
        if count > limit:
            raise BudgetError(
                "the normal-form gap needs every pure policy that may be recommended; for "
                f"{player_name(policy.game.player_labels[i])} these are {count:.3g} in this policy "
                f"of mixed components, and at most {limit} are expanded; it is exact for pure "
                "components",
                required=int(min(count, 2**63)),
                available=limit,
            )
    drawn: list[dict[bytes, list[Any]]] = [{} for _ in form.plexes]
    own_loss = np.zeros(form.n_players)
    for weight, behaviors in policy.components():
        reach = joint_reach(form.plexes, behaviors)
        for i, plex in enumerate(form.plexes):
            loss = immediate_loss(form.leaves, i, reach)
            own_loss[i] += weight * counterfactual_loss(plex, behaviors[i], loss)[0]
            for chance, sigma in _recommended(plex, behaviors[i]):
                entry = drawn[i].setdefault(sigma.tobytes(), [np.zeros(plex.n_sequences)])
                entry[0] += weight * chance * loss
    least = np.array(
        [
            sum(best_response(plex, entry[0])[0] for entry in drawn[i].values())
            for i, plex in enumerate(form.plexes)
        ]
    )
    return np.asarray((own_loss - least) * form.leaves.payoff_range)


def _rows(plex: Treeplex, part: Floats) -> Any:
    """For each component the support sizes of the player's infosets."""
    for behavior in part:
        yield np.add.reduceat(behavior[1:] > 0, plex.first_seq[:-1] - 1) if plex.n_infosets else []


def _count_support(sizes: Any) -> float:
    return math.prod(float(size) for size in sizes)


def _recommended(plex: Treeplex, behavior: Floats) -> Any:
    """``(probability, actions)`` of every pure policy that ``behavior`` may recommend."""
    supports = [
        np.flatnonzero(behavior[plex.first_seq[x] : plex.first_seq[x + 1]])
        for x in range(plex.n_infosets)
    ]
    for actions in product(*supports):
        sigma = np.array(actions, dtype=np.int32)
        yield float(np.prod(behavior[plex.first_seq[:-1] + sigma])), sigma
