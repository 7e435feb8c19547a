"""Gaps of every notion, by brute force: the twin of ``accord.equilibrium.gap`` and ``certificate``.

Each gap is the gain of the best deviation in payoff units. ``efce_gap`` and ``trigger_gap`` try
every deviation of a tiny game; ``best_deviation`` and ``best_trigger`` find the best by recursion
and also serve larger games.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from tests.reference.game import (
    actions,
    children,
    clip,
    first_infosets,
    infosets,
    n_sequences,
    node_children,
    node_rewards,
    path,
    sequence,
)
from tests.reference.modifications import modifications, modified_reach
from tests.reference.policies import prob, pure_behavior, pure_choices, reach, sequence_form
from tests.reference.types import CHANCE, Behaviors, CorrelatedPolicy, Modification, Rechistory
from tests.reference.values import correlated_values, immediate_payoffs


def efce_gap(game: Any, i: int, K: float, policy: CorrelatedPolicy, limit: int = 300_000) -> float:
    """Player i's K-EFCE gap (Definition 2), by trying every modification."""
    components = [(w, bs[i], immediate_payoffs(game, i, bs)) for w, bs in policy]

    def gain(phi: Modification) -> float:
        total = 0.0
        for weight, behavior, payoff in components:
            form = modified_reach(game, i, K, phi, behavior)
            total += weight * sum(p * u for p, u in zip(form, payoff, strict=True))
        return total

    best = max(gain(phi) for phi in modifications(game, i, K, limit))
    return best - correlated_values(game, policy)[i]


def best_deviation(
    game: Any, i: int, K: float, policy: CorrelatedPolicy
) -> tuple[float, Modification]:
    """Player i's K-EFCE gap and a modification that attains it, by recursion over (x, b).

    ``alive[c]`` is the weight of component c times the probability that it recommended b.
    """
    budget = clip(game, i, K)
    payoff = [immediate_payoffs(game, i, behaviors) for _, behaviors in policy]
    phi: Modification = {}

    def best_action(
        x: int, b: Rechistory, deviations: Callable[[int], int], alive: list[float]
    ) -> tuple[float, int]:
        values = []
        for a in actions(game, i, x):
            value = sum(w * u[sequence(game, i, x, a)] for w, u in zip(alive, payoff, strict=True))
            value += sum(visit(y, b, deviations(a), alive) for y in children(game, i, x, a))
            values.append(value)
        best = max(values)
        return best, values.index(best)

    def visit(x: int, b: Rechistory, deviations: int, alive: list[float]) -> float:
        if deviations == budget:
            value, phi[x, b] = best_action(x, b, lambda _: budget, alive)
            return value
        total = 0.0
        for r in actions(game, i, x):
            told = [
                w * prob(game, i, behaviors[i], x, r)
                for w, (_, behaviors) in zip(alive, policy, strict=True)
            ]
            value, phi[x, b, r] = best_action(
                x, (*b, r), lambda a, r=r: deviations + (a != r), told
            )
            total += value
        return total

    weights = [weight for weight, _ in policy]
    total = sum(w * u[0] for w, u in zip(weights, payoff, strict=True))
    total += sum(visit(x, (), 0, weights) for x in first_infosets(game, i))
    return total - correlated_values(game, policy)[i], phi


def trigger_value(
    game: Any, i: int, trigger: tuple[int, int], plan: dict[int, int], behaviors: Behaviors
) -> float:
    """V_i of the trigger policy: pi_i, but ``plan`` from x on once a is recommended there."""

    def walk(node: int, triggered: bool) -> float:
        value = node_rewards(game)[node][i]
        below = node_children(game)[node]
        j, y = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            for child in below:
                value += float(game.chance_prob[child]) * walk(child, triggered)
        elif j == i and triggered:
            value += walk(below[plan[y]], True)
        elif j >= 0:
            for c in actions(game, j, y):
                p = prob(game, j, behaviors[j], y, c)
                if j == i and (y, c) == trigger:
                    value += p * walk(below[plan[y]], True)
                else:
                    value += p * walk(below[c], triggered)
        return value

    return walk(0, False)


def trigger_gap(game: Any, i: int, policy: CorrelatedPolicy, limit: int = 300_000) -> float:
    """Player i's part of the trigger gap, Equation (6), by trying every plan."""
    value = correlated_values(game, policy)[i]
    best = -math.inf if infosets(game, i) else 0.0
    for x in infosets(game, i):
        later = [x] + [y for y in infosets(game, i) if x in [xk for xk, _ in path(game, i, y)]]
        count = math.prod(len(actions(game, i, y)) for y in later)
        if count > limit:
            raise ValueError(f"{count} continuations, more than {limit}")
        for a in actions(game, i, x):
            for choice in product(*(actions(game, i, y) for y in later)):
                plan = dict(zip(later, choice, strict=True))
                total = sum(w * trigger_value(game, i, (x, a), plan, bs) for w, bs in policy)
                best = max(best, total - value)
    return best


def best_trigger(game: Any, i: int, policy: CorrelatedPolicy) -> float:
    """The trigger gap again: for each trigger, the best plan by recursion over infosets."""
    payoff = [immediate_payoffs(game, i, behaviors) for _, behaviors in policy]

    def respond(x: int, weights: list[float]) -> float:
        return max(
            sum(w * u[sequence(game, i, x, a)] for w, u in zip(weights, payoff, strict=True))
            + sum(respond(y, weights) for y in children(game, i, x, a))
            for a in actions(game, i, x)
        )

    def follow(x: int, a: int, weights: list[float]) -> float:
        total = sum(w * u[sequence(game, i, x, a)] for w, u in zip(weights, payoff, strict=True))
        for y in children(game, i, x, a):
            for c in actions(game, i, y):
                onward = [
                    w * prob(game, i, behaviors[i], y, c)
                    for w, (_, behaviors) in zip(weights, policy, strict=True)
                ]
                total += follow(y, c, onward)
        return total

    gains = [0.0] if not infosets(game, i) else []
    for x in infosets(game, i):
        for a in actions(game, i, x):
            told = [w * reach(game, i, bs[i], sequence(game, i, x, a)) for w, bs in policy]
            gains.append(respond(x, told) - follow(x, a, told))
    return max(gains)


def nfcce_gap(game: Any, i: int, policy: CorrelatedPolicy) -> float:
    """Player i's NFCCE gap, by trying every pure policy."""
    payoff = [0.0] * n_sequences(game, i)
    for weight, behaviors in policy:
        component = immediate_payoffs(game, i, behaviors)
        payoff = [u + weight * v for u, v in zip(payoff, component, strict=True)]
    return _best_pure(game, i, payoff) - correlated_values(game, policy)[i]


def nfce_gap(game: Any, i: int, policy: CorrelatedPolicy) -> float:
    """Player i's NFCE gap (Definition C.1).

    Each component is expanded into the pure policies of player i; the others stay as they are. A
    player who is told a pure policy answers best against all components that may recommend it.
    """
    told: dict[tuple[int, ...], list[float]] = {}
    for weight, behaviors in policy:
        payoff = immediate_payoffs(game, i, behaviors)
        for choice in pure_choices(game, i):
            p = weight
            for x, a in enumerate(choice):
                p *= prob(game, i, behaviors[i], x, a)
            if p > 0:
                total = told.setdefault(choice, [0.0] * len(payoff))
                told[choice] = [u + p * v for u, v in zip(total, payoff, strict=True)]
    best = sum(_best_pure(game, i, payoff) for payoff in told.values())
    return best - correlated_values(game, policy)[i]


def _best_pure(game: Any, i: int, payoff: list[float]) -> float:
    return max(
        sum(
            p * u
            for p, u in zip(
                sequence_form(game, i, pure_behavior(game, i, choice)), payoff, strict=True
            )
        )
        for choice in pure_choices(game, i)
    )
