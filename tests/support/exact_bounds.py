"""What ``optimize`` calls a bound or optimal, in rational arithmetic, over 30 decades.

Every double is a rational number, so a game has exact pure Nash equilibria, and each of them is an
equilibrium of every notion. The best equilibrium of a small matrix game is a linear program, which
has an exact solution. ``make fuzz`` tries new seeds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from accord import CHANCE, matrix_game, optimize, region
from accord.errors import ArgumentError
from accord.game.library import random_game
from accord.game.rationals import as_rational
from tests.reference.exact import exact_gap, exact_policy, exact_values
from tests.reference.exact_linear import best_lottery
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


def read_exactly(game: Any) -> Any:
    """The game whose numbers are the doubles themselves, and not the decimals they stand for."""
    doubles = {*game.reward.ravel().tolist(), *game.chance_prob.tolist()}
    return game.replace(rationals={value: Fraction(value) for value in doubles})


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
    game = read_exactly(matrix_game(np.moveaxis(table, -1, 0)))
    found = optimize(game, k, objective, seconds=20)
    best = max(sum(Fraction(w) * u for w, u in zip(objective, v, strict=True)) for v in values)
    assert best <= Fraction(found.bound), (seed, float(best), found.bound)
    if found.optimal:
        assert found.gap <= 0.0
    return len(values)


def _sixteenths(game: Any) -> Any:
    """Chances that sum to 1 exactly, also as doubles."""
    chances = game.chance_prob.copy()
    for node in np.flatnonzero(game.player == CHANCE):
        below = np.flatnonzero(game.parent == node)
        chances[below] = np.clip(np.round(16 * chances[below]), 1, 16 // len(below)) / 16
        chances[below[-1]] = 1 - chances[below[:-1]].sum()
    return chances


def check_tree_bounds(seed: int) -> int:
    """As :func:`check_bounds`, for a random tree with chance and payoffs of all sizes."""
    rng = np.random.default_rng(seed)
    game = random_game(seed=seed, players=2, depth=3, actions=2, chance=0.4, observe=0.5, levels=5)
    size = 10.0 ** rng.integers(-15, 16, game.reward.shape)
    game = read_exactly(game.replace(reward=game.reward * size, chance_prob=_sixteenths(game)))
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


COARSE = (0, "efcce", "afcce")
NOTIONS = (*COARSE, 1, 2, math.inf, "afce", "nfce")


class ExactMatrixGame:
    """The correlated equilibria of a matrix game, in which all notions are one of two."""

    def __init__(self, table: Any, k: float | str, commits: list[int], read: Any) -> None:
        sizes, self.n = table.shape[:-1], table.shape[-1]
        cells = list(product(*map(range, sizes)))
        pay = {cell: [read(float(u)) for u in table[cell]] for cell in cells}
        self.pay = list(pay.values())
        self.gains = []
        for i in (i for i in range(self.n) if i not in commits):
            for a, told in product(range(sizes[i]), [None] if k in COARSE else range(sizes[i])):
                others = [(*cell[:i], a, *cell[i + 1 :]) for cell in cells]
                hears = [told in (None, cell[i]) for cell in cells]
                self.gains.append(
                    [
                        (pay[other][i] - pay[cell][i]) * heard
                        for cell, other, heard in zip(cells, others, hears, strict=True)
                    ]
                )

    def best(self, weights: list[Fraction], floor: dict[int, Fraction]) -> Fraction | None:
        """The largest weighted sum of payoffs, if all of ``floor`` can be paid."""
        worth = [sum(w * u for w, u in zip(weights, own, strict=True)) for own in self.pay]
        rows = [*self.gains, *([-own[i] for own in self.pay] for i in floor)]
        limits = [Fraction(0)] * len(self.gains) + [-least for least in floor.values()]
        found = best_lottery(worth, rows, limits)
        return None if found is None else found[0]


def check_optimum(seed: int) -> int:
    """The best equilibrium of a random matrix game, by linear programs in rational arithmetic, is
    not above the bound; what is called optimal pays what it must, and what has a proof is exactly
    that. Some players may commit or have to get something. Return how many were optimal."""
    rng = np.random.default_rng(seed)
    table, k = random_table(rng), NOTIONS[int(rng.integers(len(NOTIONS)))]
    if rng.random() < 0.3:  # gains and losses of almost nothing
        shape = table.shape
        table = rng.integers(-9, 10, shape) + rng.integers(-3, 4, shape) * 1e-9
    n = table.shape[-1]
    if n == 3:
        table = table[:2, :2, :2]  # else rational arithmetic is slow
    weights = [float(w) for w in rng.integers(-2, 3, n)]
    commits = [int(rng.integers(n))] if rng.random() < 0.3 else []
    game = read_exactly(matrix_game(np.moveaxis(table, -1, 0)))
    exact = ExactMatrixGame(table, k, commits, Fraction)
    at_least: dict[int, float] = {}
    if rng.random() < 0.5:
        i, share = int(rng.integers(n)), [0.0, 0.5, 0.9, 1.0, 1.1][int(rng.integers(5))]
        own = [Fraction(int(j == i)) for j in range(n)]
        most, least = exact.best(own, {}), exact.best([-w for w in own], {})
        assert most is not None and least is not None
        at_least[i] = float(-least + (most + least) * Fraction(share))
    best = exact.best(list(map(Fraction, weights)), {i: Fraction(u) for i, u in at_least.items()})
    labels = game.player_labels
    try:
        found = optimize(
            game, k, weights, commits=[labels[i] for i in commits], seconds=20,
            at_least={labels[i]: least for i, least in at_least.items()} or None,
        )  # fmt: skip
    except ArgumentError:
        assert best is None, (seed, best)
        return 0
    if found.rational is not None and found.rational.proved:  # floors as written
        floors = {i: as_rational(u) for i, u in at_least.items()}
        best = exact.best(list(map(Fraction, weights)), floors)
    assert best is None or best <= Fraction(found.bound), (seed, float(best), found.bound)
    values, errors = found.certificate.values, found.certificate.value_errors
    for i, least in at_least.items() if found.optimal else ():
        assert values[i] + errors[i] + 8 * math.ulp(values[i]) >= least, seed
    if found.optimal and found.rational is not None and found.rational.proof is not None:
        assert found.rational.value == best, seed
    return int(found.optimal)


DIRECTIONS = [(x, y) for x in range(-2, 3) for y in range(-2, 3) if x or y]


def check_region(seed: int) -> int:
    """No equilibrium of a random game of two players is outside of the outer polygon of its region,
    by linear programs in rational arithmetic in 24 directions, in units of the payoff ranges; and a
    polygon that is called exact has vertices as far out. Return how many directions were tried."""
    rng = np.random.default_rng(seed)
    table, k = random_table(rng)[:3, :3], (0, 1)[int(rng.integers(2))]
    if table.shape[-1] == 3:
        table = table[:, :, 0, :2]
    commits = [int(rng.integers(2))] if rng.random() < 0.3 else []
    game = matrix_game(np.moveaxis(table, -1, 0))
    found = region(game, k, commits=[game.player_labels[i] for i in commits], seconds=20)[k]
    exact = ExactMatrixGame(table, k, commits, Fraction)
    spans = [max(own) - min(own) or Fraction(1) for own in zip(*exact.pay, strict=True)]
    for way in DIRECTIONS:
        weights = [Fraction(w) / span for w, span in zip(way, spans, strict=True)]
        best = exact.best(weights, {})
        assert best is not None
        farthest = [
            max(sum(w * Fraction(u) for w, u in zip(weights, point, strict=True)) for point in some)
            for some in (found.outer, [vertex.payoffs for vertex in found.vertices])
            if some
        ]
        assert best <= farthest[0], (seed, way, float(best - farthest[0]))
        if found.exact:
            assert abs(best - farthest[1]) <= Fraction(1, 10**6), (seed, way)
    return len(DIRECTIONS)
