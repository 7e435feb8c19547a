"""The best equilibrium by linear programs over everything: the oracles of ``accord.optimal``.

``best_by_enumeration`` has one variable per pure profile and one row per modification of every
player, so it knows nothing of rechistory trees, columns or prices. ``best_efce_by_polytope`` is the
program of von Stengel and Forges 2008 for two players without chance moves, written from the
definition of relevant pairs of sequences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.reference.game import (
    actions,
    children,
    first_infosets,
    infosets,
    n_players,
    n_sequences,
    path,
    sequence,
    terminals,
)
from tests.reference.modifications import modifications, modified_reach
from tests.reference.notions import deviation_value, deviations
from tests.reference.plans import n_profiles  # noqa: F401 - part of this module for tests
from tests.reference.policies import pure_behavior, pure_choices
from tests.reference.values import immediate_payoffs


def best_by_enumeration(
    game: Any,
    K: float | str,
    weights: Sequence[float],
    epsilon: float = 0.0,
    commits: Sequence[int] = (),
    floor: Sequence[float] | None = None,
) -> float:
    """max sum_i weights_i u_i over all K-EFCE of ``game``, or all ``"EFCCE"``, ``"AFCE"``, ...

    Players in ``commits`` have no incentive constraints. With a ``floor`` player i must get at
    least floor_i, and the result is minus infinity if no equilibrium pays that.
    """
    gains, payoffs = _all_profiles(game, K, commits)
    costs, most = -payoffs @ np.array(weights), np.full(len(gains), epsilon)
    if floor is not None:
        gains = np.vstack([gains, -payoffs.T])
        most = np.append(most, -np.array(floor))
    return -_solve(costs, gains, most)


def payoff_spread(game: Any, K: float | str, weights: Sequence[float]) -> float:
    """The largest difference of a player's payoff among the best K-EFCE."""
    gains, payoffs = _all_profiles(game, K)
    worth = payoffs @ np.array(weights)
    best = -_solve(-worth, gains, np.zeros(len(gains)))
    rows, most = np.vstack([gains, -worth]), np.append(np.zeros(len(gains)), 1e-9 - best)
    spreads = []
    for i in range(n_players(game)):
        low, high = (sign * _solve(sign * payoffs[:, i], rows, most) for sign in (1.0, -1.0))
        spreads.append(high - low)
    return max(spreads)


def best_in_directions(
    game: Any, K: float | str, directions: Sequence[Sequence[float]]
) -> list[float]:
    """max d . u over all K-EFCE of ``game`` for each direction d, with profiles listed once."""
    gains, payoffs = _all_profiles(game, K)
    return [-_solve(-payoffs @ np.array(d), gains, np.zeros(len(gains))) for d in directions]


def pure_nash_payoffs(game: Any) -> set[tuple[float, ...]]:
    """The payoffs of all pure profiles from which nobody gains by leaving alone."""
    plans = [list(pure_choices(game, i)) for i in range(n_players(game))]
    payoff = {}
    for profile in product(*plans):
        behaviors = [pure_behavior(game, i, plan) for i, plan in enumerate(profile)]
        payoff[profile] = tuple(
            math.fsum(
                r * u
                for r, u in zip(
                    _reach(game, i, profile[i]), immediate_payoffs(game, i, behaviors), strict=True
                )
            )
            for i in range(n_players(game))
        )
    found = set()
    for profile, values in payoff.items():
        others = (
            (i, payoff[(*profile[:i], plan, *profile[i + 1 :])][i])
            for i in range(n_players(game))
            for plan in plans[i]
        )
        if all(value <= values[i] + 1e-12 for i, value in others):
            found.add(tuple(round(value, 9) + 0.0 for value in values))
    return found


def best_egalitarian(game: Any, K: float | str) -> float:
    """max min_i u_i over the same."""
    gains, payoffs = _all_profiles(game, K)
    rows = np.vstack([np.hstack([gains, np.zeros((len(gains), 1))])])
    for i in range(n_players(game)):
        rows = np.vstack([rows, np.append(-payoffs[:, i], 1.0)])
    costs = np.append(np.zeros(len(payoffs)), -1.0)
    return -_solve(costs, rows, np.zeros(len(rows)), free=1)


def _all_profiles(
    game: Any, K: float | str, commits: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """``[n_modifications of all players, n_profiles]`` gains; ``[n_profiles, n_players]`` payoffs.

    Every modification is tried against every profile.
    """
    plans = [list(pure_choices(game, i)) for i in range(n_players(game))]
    profiles = list(product(*plans))
    behaviors = [
        [pure_behavior(game, i, plan[i]) for i in range(n_players(game))] for plan in profiles
    ]
    payoffs = np.zeros((len(profiles), n_players(game)))
    gains = []
    for i in range(n_players(game)):
        met = np.array([immediate_payoffs(game, i, bs) for bs in behaviors])
        reaches = np.array([_reach(game, i, plan[i]) for plan in profiles])
        payoffs[:, i] = (reaches * met).sum(axis=1)
        if i in commits:
            continue
        if isinstance(K, str):
            for one in deviations(game, i, K):
                deviating = [deviation_value(game, i, K, one, bs) for bs in behaviors]
                gains.append(np.array(deviating) - payoffs[:, i])
            continue
        for phi in modifications(game, i, K):
            forms = {
                plan: modified_reach(game, i, K, phi, pure_behavior(game, i, plan))
                for plan in plans[i]
            }
            deviating = np.array([forms[plan[i]] for plan in profiles])
            gains.append((deviating * met).sum(axis=1) - payoffs[:, i])
    return np.array(gains).reshape(len(gains), len(profiles)), payoffs


def _reach(game: Any, i: int, plan: Sequence[int]) -> list[float]:
    reach = [1.0] + [0.0] * (n_sequences(game, i) - 1)

    def visit(x: int) -> None:
        reach[sequence(game, i, x, plan[x])] = 1.0
        for y in children(game, i, x, plan[x]):
            visit(y)

    for x in first_infosets(game, i):
        visit(x)
    return reach


def _solve(costs: np.ndarray, rows: np.ndarray, most: np.ndarray, free: int = 0) -> float:
    """min costs . w over lotteries w with rows . w <= most; the last ``free`` are no weights.

    Infinite if there are no such w.
    """
    size = len(costs) - free
    equal = np.append(np.ones(size), np.zeros(free))[None, :]
    bounds = [(0, None)] * size + [(None, None)] * free
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        costs, A_ub=rows if len(rows) else None, b_ub=most if len(rows) else None,
        A_eq=equal, b_eq=[1.0], bounds=bounds, method="highs", options=options,
    )  # fmt: skip
    assert found.status in (0, 2), found.message
    return float(found.fun) if found.status == 0 else math.inf


def best_efce_by_polytope(game: Any, weights: Sequence[float]) -> float:
    """max sum_i weights_i u_i over all EFCE of a two-player game without chance moves.

    Variables: xi[s, t] for relevant pairs of sequences, and for every trigger (i, s) and infoset x
    at or below it the value v[i, s, x] of the best continuation there.
    """
    relevant = _relevant_pairs(game)
    pairs = sorted(relevant)
    number = {pair: k for k, pair in enumerate(pairs)}
    values: dict[tuple[int, int, int], int] = {}

    def value(i: int, s: int, x: int) -> int:
        return values.setdefault((i, s, x), len(pairs) + len(values))

    equal: list[dict[int, float]] = []
    for i in range(2):
        for x in infosets(game, i):
            above = _parent(game, i, x)
            for t in range(n_sequences(game, 1 - i)):
                names = [_pair(i, sequence(game, i, x, a), t) for a in actions(game, i, x)]
                if not all(name in number for name in names):
                    assert not any(name in number for name in names)
                    continue
                row = {number[name]: 1.0 for name in names}
                row[number[_pair(i, above, t)]] = -1.0
                equal.append(row)

    less: list[dict[int, float]] = []
    ends = terminals(game)
    for i in range(2):
        by_sequence: dict[int, list[Any]] = {}
        for end in ends:
            by_sequence.setdefault(end.seqs[i], []).append(end)

        def paid(
            i: int, told: int, s: int, sign: float, ends: dict[int, list[Any]]
        ) -> dict[int, float]:
            """Payoffs at ``s`` for a player who was told ``told``."""
            row: dict[int, float] = {}
            for end in ends.get(s, ()):
                k = number[_pair(i, told, end.seqs[1 - i])]
                row[k] = row.get(k, 0.0) + sign * end.payoffs[i]
            return row

        for x in infosets(game, i):
            below = [
                y for y in infosets(game, i) if y == x or x in [z for z, _ in path(game, i, y)]
            ]
            for r in actions(game, i, x):
                told = sequence(game, i, x, r)
                for y in below:  # v[y] >= payoff of each action + later values
                    for a in actions(game, i, y):
                        s = sequence(game, i, y, a)
                        row = paid(i, told, s, 1.0, by_sequence)
                        for z in children(game, i, y, a):
                            row[value(i, told, z)] = 1.0
                        row[value(i, told, y)] = row.get(value(i, told, y), 0.0) - 1.0
                        less.append(row)
                row = {value(i, told, x): 1.0}  # v[x] <= payoff of obeying
                for s in range(n_sequences(game, i)):
                    if s == told or _follows(game, i, told, s):
                        for k, u in paid(i, s, s, -1.0, by_sequence).items():
                            row[k] = row.get(k, 0.0) + u
                less.append(row)
    size = len(pairs) + len(values)
    costs = np.zeros(size)
    for end in ends:
        costs[number[end.seqs[0], end.seqs[1]]] -= sum(
            w * u for w, u in zip(weights, end.payoffs, strict=True)
        )
    equal.append({number[0, 0]: 1.0})
    right = np.append(np.zeros(len(equal) - 1), 1.0)
    bounds = [(0, None)] * len(pairs) + [(None, None)] * len(values)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        costs, A_ub=_dense(less, size), b_ub=np.zeros(len(less)), A_eq=_dense(equal, size),
        b_eq=right, bounds=bounds, method="highs", options=options,
    )  # fmt: skip
    assert found.status == 0, found.message
    return -float(found.fun)


def _pair(i: int, s: int, t: int) -> tuple[int, int]:
    return (s, t) if i == 0 else (t, s)


def _parent(game: Any, i: int, x: int) -> int:
    before = path(game, i, x)
    return sequence(game, i, *before[-1]) if before else 0


def _follows(game: Any, i: int, s: int, later: int) -> bool:
    """Whether sequence ``later`` comes after ``s``."""
    if later == 0:
        return False
    for x in infosets(game, i):
        for a in actions(game, i, x):
            if sequence(game, i, x, a) == later:
                return any(sequence(game, i, y, b) == s for y, b in path(game, i, x))
    return False


def _relevant_pairs(game: Any) -> set[tuple[int, int]]:
    """Pairs of sequences whose infosets lie on one path; the empty sequence fits everything."""
    pairs = {(s, 0) for s in range(n_sequences(game, 0))}
    pairs |= {(0, t) for t in range(n_sequences(game, 1))}
    for end in terminals(game):
        visited = [_visited(game, i, end.seqs[i]) for i in range(2)]
        for x, y in product(*visited):
            pairs |= {
                (sequence(game, 0, x, a), sequence(game, 1, y, b))
                for a in actions(game, 0, x)
                for b in actions(game, 1, y)
            }
    return pairs


def _visited(game: Any, i: int, s: int) -> list[int]:
    """The infosets of player i on the way to sequence ``s``."""
    for x in infosets(game, i):
        for a in actions(game, i, x):
            if sequence(game, i, x, a) == s:
                return [*(y for y, _ in path(game, i, x)), x]
    return []


def _dense(rows: list[dict[int, float]], size: int) -> np.ndarray:
    table = np.zeros((len(rows), size))
    for k, row in enumerate(rows):
        for column, entry in row.items():
            table[k, column] += entry
    return table
