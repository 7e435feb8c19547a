"""Strategy modifications and Algorithm 1: the twin of ``accord.deviations.modification``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.reference.game import (
    actions,
    children,
    clip,
    first_infosets,
    infosets,
    n_sequences,
    node_children,
    path,
    sequence,
    terminals,
)
from tests.reference.policies import prob, sample
from tests.reference.rechistories import action_sequences, mismatches, type_one, type_two
from tests.reference.types import (
    CHANCE,
    TERMINAL,
    Behavior,
    Behaviors,
    CorrelatedPolicy,
    Modification,
    Rechistory,
)


def slots(game: Any, i: int, K: float) -> list[tuple[Any, ...]]:
    """The keys of a modification: (x, b, recommended) for Type I, (x, b) for Type II."""
    keys: list[tuple[Any, ...]] = []
    for x in infosets(game, i):
        for b in type_one(game, i, K, x):
            keys += [(x, b, recommended) for recommended in actions(game, i, x)]
        keys += [(x, b) for b in type_two(game, i, K, x)]
    return keys


def n_modifications(game: Any, i: int, K: float) -> int:
    """The size of Phi_i^K."""
    return math.prod(len(actions(game, i, key[0])) for key in slots(game, i, K))


def modifications(game: Any, i: int, K: float, limit: int = 300_000) -> Iterator[Modification]:
    """All of Phi_i^K (Definition 1)."""
    count = n_modifications(game, i, K)
    if count > limit:
        raise ValueError(f"Phi has {count} modifications, more than {limit}")
    keys = slots(game, i, K)
    for choice in product(*(actions(game, i, key[0]) for key in keys)):
        yield dict(zip(keys, choice, strict=True))


def random_modification(game: Any, i: int, K: float, rng: np.random.Generator) -> Modification:
    return {key: int(rng.integers(len(actions(game, i, key[0])))) for key in slots(game, i, K)}


def identity_modification(game: Any, i: int, K: float) -> Modification:
    """Follows every recommendation it sees; takes action 0 where it sees none."""
    return {key: key[2] if len(key) == 3 else 0 for key in slots(game, i, K)}


def execute(
    game: Any,
    i: int,
    K: float,
    phi: Modification,
    behaviors: Behaviors,
    *,
    rng: np.random.Generator,
) -> tuple[int, Rechistory]:
    """Algorithm 1: play phi o pi_i against the others once; the terminal node and the final b."""
    b: Rechistory = ()
    node = 0
    while game.player[node] != TERMINAL:
        below = node_children(game)[node]
        j, x = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            a = sample([float(game.chance_prob[child]) for child in below], rng)
        elif j != i:
            a = sample([prob(game, j, behaviors[j], x, c) for c in actions(game, j, x)], rng)
        elif b in type_one(game, i, K, x):
            bh = sample([prob(game, i, behaviors[i], x, c) for c in actions(game, i, x)], rng)
            a = phi[x, b, bh]
            b = (*b, bh)
        else:
            assert b in type_two(game, i, K, x)
            a = phi[x, b]
        node = below[a]
    return node, b


def execution_law(
    game: Any, i: int, K: float, phi: Modification, behaviors: Behaviors
) -> dict[int, float]:
    """The exact law of Algorithm 1: the probability of every terminal node."""
    law = {z.node: 0.0 for z in terminals(game)}

    def walk(node: int, b: Rechistory, p: float) -> None:
        if game.player[node] == TERMINAL:
            law[node] += p
            return
        below = node_children(game)[node]
        j, x = int(game.player[node]), int(game.infoset[node])
        if j == CHANCE:
            for child in below:
                walk(child, b, p * float(game.chance_prob[child]))
        elif j != i:
            for a in actions(game, j, x):
                walk(below[a], b, p * prob(game, j, behaviors[j], x, a))
        elif b in type_one(game, i, K, x):
            for bh in actions(game, i, x):
                walk(below[phi[x, b, bh]], (*b, bh), p * prob(game, i, behaviors[i], x, bh))
        else:
            walk(below[phi[x, b]], b, p)

    walk(0, (), 1.0)
    return law


def modified_reach(
    game: Any, i: int, K: float, phi: Modification, behavior: Behavior
) -> list[float]:
    """(phi o pi_i)_{1:h} over sequences, by following Algorithm 1 from infoset to infoset."""
    form = [1.0] + [0.0] * (n_sequences(game, i) - 1)

    def take(x: int, a: int, b: Rechistory, p: float) -> None:
        form[sequence(game, i, x, a)] += p
        for y in children(game, i, x, a):
            visit(y, b, p)

    def visit(x: int, b: Rechistory, p: float) -> None:
        if b in type_one(game, i, K, x):
            for bh in actions(game, i, x):
                take(x, phi[x, b, bh], (*b, bh), p * prob(game, i, behavior, x, bh))
        else:
            take(x, phi[x, b], b, p)

    for x in first_infosets(game, i):
        visit(x, (), 1.0)
    return form


def lemma_reach(game: Any, i: int, K: float, phi: Modification, behavior: Behavior) -> list[float]:
    """(phi o pi_i)_{1:h} over sequences: both sums of Lemma D.1 (corrected)."""
    K = clip(game, i, K)
    form = [1.0] + [0.0] * (n_sequences(game, i) - 1)
    for x in infosets(game, i):
        for ah in actions(game, i, x):
            way = [*path(game, i, x), (x, ah)]
            h = len(way)
            for b in product(*(actions(game, i, xk) for xk, _ in way)):
                if len(mismatches(game, i, x, b[: h - 1])) <= K - 1:
                    term = 1.0
                    for k, (xk, ak) in enumerate(way, 1):
                        term *= phi[xk, b[: k - 1], b[k - 1]] == ak
                        term *= prob(game, i, behavior, xk, b[k - 1])
                    form[sequence(game, i, x, ah)] += term
            for b in action_sequences(game, i, x, h - 1):
                where = mismatches(game, i, x, b)
                if len(where) == K:
                    tau = where[-1] if K else 0  # the K-th mismatch
                    term = 1.0
                    for k, (xk, ak) in enumerate(way, 1):
                        if k <= tau:
                            term *= phi[xk, b[: k - 1], b[k - 1]] == ak
                            term *= prob(game, i, behavior, xk, b[k - 1])
                        else:
                            term *= phi[xk, b[:tau]] == ak
                    form[sequence(game, i, x, ah)] += term
    return form


def modified_value(
    game: Any, i: int, K: float, phi: Modification, policy: CorrelatedPolicy
) -> float:
    """V_i^{phi o policy}."""
    payoffs = {z.node: z.payoffs[i] for z in terminals(game)}
    total = 0.0
    for weight, behaviors in policy:
        law = execution_law(game, i, K, phi, behaviors)
        total += weight * sum(p * payoffs[node] for node, p in law.items())
    return total
