"""Bounds of ``optimize`` against exact pure Nash equilibria of random games over 30 decades.

Every double is a rational number, so a game has exact pure Nash equilibria, and each of them is an
equilibrium of every notion. ``make fuzz`` tries new seeds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from accord import matrix_game, optimize
from accord.game.library import random_game
from tests.reference.exact import exact_gap, exact_policy, exact_values
from tests.reference.policies import pure_behavior, pure_choices


def pure_nash_values(table: Any) -> list[list[Fraction]]:
    """The exact payoffs of all pure Nash equilibria of a matrix game, ``[A_1, ..., A_n, n]``."""
    sizes, n = table.shape[:-1], table.shape[-1]
    found = []
    for cell in product(*map(range, sizes)):
        others = [[(*cell[:i], a, *cell[i + 1 :]) for a in range(sizes[i])] for i in range(n)]
        if all(table[cell][i] >= max(table[o][i] for o in others[i]) for i in range(n)):
            found.append([Fraction(float(u)) for u in table[cell]])
    return found


def random_table(rng: np.random.Generator) -> Any:
    """Payoffs over up to 30 decades, sometimes with a shift that all have in common."""
    sizes = tuple(rng.integers(2, 4, size=rng.integers(2, 4)))
    shape = (*sizes, len(sizes))
    table = rng.integers(-9, 10, shape) * 10.0 ** rng.integers(-15, 16, shape)
    if rng.random() < 0.4:
        table = rng.integers(-9, 10, shape) * 10.0 ** float(rng.integers(-15, 16))
    if rng.random() < 0.3:
        table = table + 10.0 ** float(rng.integers(-15, 16))
    return table


def check_bounds(seed: int) -> int:
    """No exact pure Nash equilibrium of a random matrix game beats a bound; return how many."""
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    objective = [float(w) for w in rng.integers(-2, 3, table.shape[-1])]
    values = pure_nash_values(table)
    if not values or not any(objective):
        return 0
    k = [0, 1, math.inf, "efcce"][int(rng.integers(4))]
    found = optimize(matrix_game(np.moveaxis(table, -1, 0)), k, objective, seconds=20)
    best = max(sum(Fraction(w) * u for w, u in zip(objective, v, strict=True)) for v in values)
    assert best <= Fraction(found.bound), (seed, float(best), found.bound)
    if found.optimal:
        assert found.gap <= 0.0
    return len(values)


def check_tree_bounds(seed: int) -> int:
    """As :func:`check_bounds`, for a random tree with chance and payoffs of all sizes."""
    rng = np.random.default_rng(seed)
    game = random_game(seed=seed, players=2, depth=3, actions=2, chance=0.4, observe=0.5, levels=5)
    size = 10.0 ** rng.integers(-15, 16, game.reward.shape)
    game = game.replace(reward=game.reward * size)
    choices = [list(pure_choices(game, i)) for i in range(2)]
    if len(choices[0]) * len(choices[1]) > 64:
        return 0
    best = []
    for plan in product(*choices):
        behaviors = [pure_behavior(game, i, choice) for i, choice in enumerate(plan)]
        policy = exact_policy(game, [(1.0, behaviors)])
        if all(exact_gap(game, i, 0, policy) <= 0 for i in range(2)):
            best.append(sum(exact_values(game, policy)))
    if not best:
        return 0
    found = optimize(game, int(rng.integers(2)), seconds=20)
    assert max(best) <= Fraction(found.bound), (seed, float(max(best)), found.bound)
    return len(best)
