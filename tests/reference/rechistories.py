"""Rechistories Omega^(I) and Omega^(II): the twin of ``accord.deviations.rechistory``.

K may also be the name of a coarse or agent-form notion. Then these are the rechistories at which a
learner can have regret: b has the recommendations that were obeyed before the deviation, of which
an agent-form deviator has none behind them. Coarse deviators do not see the recommendation at x, so
theirs are all of Type II.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.reference.game import actions, clip, infosets, layer, path
from tests.reference.policies import prob
from tests.reference.types import Behavior, Rechistory, remember


def mismatches(game: Any, i: int, x: int, b: Rechistory) -> list[int]:
    """{k : a_k != b_k}, counted from 1, where a is the path to x."""
    return [k for k, (ak, bk) in enumerate(zip(_moves(game, i, x), b, strict=False), 1) if ak != bk]


def _moves(game: Any, i: int, x: int) -> list[int]:
    return [a for _, a in path(game, i, x)]


def action_sequences(game: Any, i: int, x: int, length: int) -> Iterator[Rechistory]:
    """All b_{1:length} that may be recommended on the way to x."""
    return product(*(actions(game, i, xk) for xk, _ in path(game, i, x)[:length]))


@remember
def type_one(game: Any, i: int, K: float | str, x: int) -> tuple[Rechistory, ...]:
    """Omega^(I)(x): all b_{1:h-1} with at most K - 1 mismatches."""
    if isinstance(K, str):
        return (tuple(_moves(game, i, x)),) if K == "AFCE" else ()
    K = clip(game, i, K)
    h = layer(game, i, x)
    return tuple(
        b for b in action_sequences(game, i, x, h - 1) if len(mismatches(game, i, x, b)) <= K - 1
    )


@remember
def type_two(game: Any, i: int, K: float | str, x: int) -> tuple[Rechistory, ...]:
    """Omega^(II)(x): all b_{1:h'}, h' < h, whose K-th mismatch is at h'."""
    if isinstance(K, str):
        moves = tuple(_moves(game, i, x))
        last = {"EFCCE": 0, "AFCCE": len(moves), "AFCE": len(moves) + 1}[K]
        return tuple(moves[:length] for length in range(len(moves), last - 1, -1))
    K = clip(game, i, K)
    if K == 0:
        return ((),)
    found = []
    for length in range(1, layer(game, i, x)):
        for b in action_sequences(game, i, x, length):
            where = mismatches(game, i, x, b)
            if len([k for k in where if k <= length - 1]) == K - 1 and length in where:
                found.append(b)
    return tuple(found)


def rechistories(game: Any, i: int, K: float | str) -> list[tuple[int, Rechistory]]:
    """All (x, b) of player i, at each x first Type I, then Type II."""
    return [
        (x, b)
        for x in infosets(game, i)
        for b in (*type_one(game, i, K, x), *type_two(game, i, K, x))
    ]


def rechistory_counts(game: Any, i: int, K: float | str) -> list[tuple[int, int]]:
    """Per infoset how many are Type I and Type II."""
    return [(len(type_one(game, i, K, x)), len(type_two(game, i, K, x))) for x in infosets(game, i)]


def time_selection(game: Any, i: int, behavior: Behavior, x: int, b: Rechistory) -> float:
    """S_b at x (or M_b under bandit feedback): the product of pi(b_k | x_k) over b."""
    total = 1.0
    for (xk, _), bk in zip(path(game, i, x), b, strict=False):
        total *= prob(game, i, behavior, xk, bk)
    return total


def time_selections(
    game: Any, i: int, K: float | str, x: int, behavior: Behavior
) -> dict[Rechistory, float]:
    both = [*type_one(game, i, K, x), *type_two(game, i, K, x)]
    return {b: time_selection(game, i, behavior, x, b) for b in both}
