"""K-EFCE regret and its decomposition into local regrets: the oracle of the proofs for K-EFR."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from tests.reference.game import (
    actions,
    children,
    first_infosets,
    horizon,
    infosets,
    layer,
    path,
    payoff_range,
)
from tests.reference.gaps import best_deviation
from tests.reference.minimizers import constant_maps, dot, swap_maps, swapped_loss
from tests.reference.policies import at_infoset
from tests.reference.rechistories import time_selection, type_one, type_two
from tests.reference.types import Behavior, Behaviors, Modification, Rechistory
from tests.reference.values import counterfactual_losses

Score = Callable[[int, Rechistory], float]
"""A number for each (x, b)."""


class Round(NamedTuple):
    """One iteration as one player sees it."""

    behavior: Behavior
    loss: list[float]  # L over sequences


def rounds_of(game: Any, i: int, iterates: list[Behaviors]) -> list[Round]:
    return [Round(bs[i], counterfactual_losses(game, i, bs)) for bs in iterates]


def efce_regret(game: Any, i: int, K: float, iterates: list[Behaviors]) -> float:
    """R_{i,K}^T, Equation (7), in normalized losses."""
    worst, best = payoff_range(game, i)
    regret, _ = best_deviation(game, i, K, [(1.0, bs) for bs in iterates])
    return regret / (best - worst) if best > worst else 0.0


def local_swap_regret(game: Any, i: int, x: int, b: Rechistory, rounds: list[Round]) -> float:
    """Equation (25)."""
    return max(
        _local_regret(game, i, x, b, psi=psi, rounds=rounds)
        for psi in swap_maps(len(actions(game, i, x)))
    )


def local_external_regret(game: Any, i: int, x: int, b: Rechistory, rounds: list[Round]) -> float:
    """Equation (26)."""
    return max(
        _local_regret(game, i, x, b, psi=psi, rounds=rounds)
        for psi in constant_maps(len(actions(game, i, x)))
    )


def _local_regret(
    game: Any, i: int, x: int, b: Rechistory, *, psi: tuple[int, ...], rounds: list[Round]
) -> float:
    total = 0.0
    for behavior, losses in rounds:
        p, loss = at_infoset(game, i, x, behavior), at_infoset(game, i, x, losses)
        S = time_selection(game, i, behavior, x, b)
        total += S * (dot(p, loss) - swapped_loss(psi, p, loss))
    return total


def layer_sum(game: Any, i: int, K: float, phi: Modification, h: int, *, score: Score) -> float:
    """Sum over x in layer h and b there of prod_{k<h} mu^phi(a_k | x_k, b) score(x, b).

    With local regrets as scores: Equations (27) and (28).
    """
    total = 0.0
    for x in infosets(game, i):
        if layer(game, i, x) == h:
            for b in (*type_one(game, i, K, x), *type_two(game, i, K, x)):
                taken = 1
                for k, (xk, ak) in enumerate(path(game, i, x), 1):
                    key = (xk, b[: k - 1], b[k - 1]) if k <= len(b) else (xk, b)
                    taken *= phi[key] == ak
                if taken:
                    total += score(x, b)
    return total


def max_layer_sum(game: Any, i: int, K: float, h: int, score: Score) -> float:
    """The maximum of ``layer_sum`` over all modifications, by recursion over (x, b)."""

    def visit(x: int, b: Rechistory) -> float:
        if layer(game, i, x) == h:
            return score(x, b)
        if b in type_two(game, i, K, x):
            return best(x, b)
        return sum(best(x, (*b, r)) for r in actions(game, i, x))

    def best(x: int, b: Rechistory) -> float:
        return max(sum(visit(y, b) for y in children(game, i, x, a)) for a in actions(game, i, x))

    return sum(visit(x, ()) for x in first_infosets(game, i))


def swap_score(game: Any, i: int, K: float, rounds: list[Round]) -> Score:
    """The local swap regret at Type-I rechistories, 0 at Type-II: the terms of G^swap."""
    return cache(
        lambda x, b: (
            local_swap_regret(game, i, x, b, rounds) if b in type_one(game, i, K, x) else 0.0
        )
    )


def external_score(game: Any, i: int, K: float, rounds: list[Round]) -> Score:
    """The local external regret at Type-II rechistories, 0 at Type-I: the terms of G^ext."""
    return cache(
        lambda x, b: (
            local_external_regret(game, i, x, b, rounds) if b in type_two(game, i, K, x) else 0.0
        )
    )


def decomposition(
    game: Any, i: int, K: float, iterates: list[Behaviors]
) -> list[tuple[float, float]]:
    """Per layer h the two maxima of Lemma E.2, of G^swap and of G^ext.

    Their sum over all layers bounds ``efce_regret``.
    """
    rounds = rounds_of(game, i, iterates)
    swap, external = swap_score(game, i, K, rounds), external_score(game, i, K, rounds)
    return [
        (max_layer_sum(game, i, K, h, swap), max_layer_sum(game, i, K, h, external))
        for h in range(1, horizon(game, i) + 1)
    ]
