"""The normal form of a small game over full plans, and its best correlated equilibrium."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.reference.game import actions, infosets, n_players, n_sequences, sequence
from tests.reference.values import correlated_values


def full_plans(game: Any, i: int) -> list[list[float]]:
    """Every pure policy of player i, also where its own actions exclude an infoset."""
    found = []
    for chosen in itertools.product(*(actions(game, i, x) for x in infosets(game, i))):
        behavior = [1.0] + [0.0] * (n_sequences(game, i) - 1)
        for x, a in enumerate(chosen):
            behavior[sequence(game, i, x, a)] = 1.0
        found.append(behavior)
    return found


def paid_by_all(game: Any) -> np.ndarray:
    """What every profile of full plans pays to each player."""
    plans = [full_plans(game, i) for i in range(n_players(game))]
    shape = [len(own) for own in plans]
    paid = np.empty((*shape, n_players(game)))
    for profile in np.ndindex(*shape):
        joint = [plans[i][c] for i, c in enumerate(profile)]
        paid[profile] = correlated_values(game, [(1.0, joint)])
    return paid


def best_nfce(game: Any, weights: Sequence[float]) -> float:
    """The largest weighted payoff of a correlated equilibrium of the normal form."""
    paid = paid_by_all(game)
    shape = paid.shape[:-1]
    rows = []
    for i in range(n_players(game)):
        for told, other in itertools.permutations(range(shape[i]), 2):
            row = np.zeros(shape)
            here = (slice(None),) * i
            row[(*here, told)] = paid[(*here, other)][..., i] - paid[(*here, told)][..., i]
            rows.append(row.ravel())
    found = linprog(
        -(paid @ np.array(weights)).ravel(),
        A_ub=np.array(rows) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=np.ones((1, np.prod(shape))),
        b_eq=[1.0],
    )
    assert found.status == 0
    return float(-found.fun)
