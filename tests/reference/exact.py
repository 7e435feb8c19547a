"""Values and gaps in rational arithmetic: the oracle of the error bounds of certificates.

Every double is a rational number, so a game and a policy made of doubles have exact values and
gaps. Probabilities hardly ever sum to exactly 1; they stand for themselves divided by their sum.
The payoff of a play is a double too, the sum of the rewards along the path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.reference.game import (
    actions,
    children,
    clip,
    first_infosets,
    infosets,
    n_players,
    n_sequences,
    node_children,
    node_sequences,
    pair,
    path,
    sequence,
    terminals,
)
from tests.reference.types import CHANCE, TERMINAL, CorrelatedPolicy

Rationals = list[Fraction]
ExactPolicy = list[tuple[Fraction, list[Rationals]]]
ExactPlay = tuple[tuple[int, ...], Fraction, Rationals]
"""The last sequence of each player, the probability of chance, and the payoffs."""


def exact_policy(game: Any, policy: CorrelatedPolicy) -> ExactPolicy:
    """The policy with weights and distributions that sum to 1."""
    total = sum(Fraction(weight) for weight, _ in policy)
    return [
        (Fraction(w) / total, [_normalized(game, i, b) for i, b in enumerate(behaviors)])
        for w, behaviors in policy
    ]


def _normalized(game: Any, i: int, behavior: list[float]) -> Rationals:
    exact = [Fraction(p) for p in behavior]
    for x in infosets(game, i):
        seqs = [sequence(game, i, x, a) for a in actions(game, i, x)]
        total = sum(exact[seq] for seq in seqs)
        for seq in seqs:
            exact[seq] /= total
    return exact


def exact_plays(game: Any) -> list[ExactPlay]:
    """All plays of the game."""
    found: list[ExactPlay] = []
    paid = {play.node: list(map(Fraction, play.payoffs)) for play in terminals(game)}

    def walk(node: int, chance: Fraction) -> None:
        below = node_children(game)[node]
        if game.player[node] == TERMINAL:
            found.append((node_sequences(game, node), chance, paid[node]))
            return
        probs = [Fraction(float(game.chance_prob[child])) for child in below]
        total = sum(probs) if game.player[node] == CHANCE else 1
        for child, p in zip(below, probs, strict=True):
            walk(child, chance * p / total)

    walk(0, Fraction(1))
    return found


def exact_reach(game: Any, i: int, behavior: Rationals, seq: int) -> Fraction:
    if seq == 0:
        return Fraction(1)
    x, a = pair(game, i, seq)
    moves = [*path(game, i, x), (x, a)]
    return math.prod((behavior[sequence(game, i, y, b)] for y, b in moves), start=Fraction(1))


def exact_values(game: Any, policy: ExactPolicy) -> Rationals:
    """V_i of every player."""
    values = [Fraction(0)] * n_players(game)
    for weight, behaviors in policy:
        for seqs, chance, paid in exact_plays(game):
            p = weight * chance
            for i, behavior in enumerate(behaviors):
                p *= exact_reach(game, i, behavior, seqs[i])
            values = [v + p * u for v, u in zip(values, paid, strict=True)]
    return values


def immediate(
    game: Any, i: int, policy: ExactPolicy, of: Callable[[Fraction], Fraction] = lambda u: u
) -> list[Rationals]:
    """Per component, over sequences: expected payoff of the plays that end there, if i goes there.

    ``of`` replaces the payoff of a play by a function of it.
    """
    found = []
    for _, behaviors in policy:
        total = [Fraction(0)] * n_sequences(game, i)
        for seqs, chance, paid in exact_plays(game):
            p = chance
            for j, behavior in enumerate(behaviors):
                if j != i:
                    p *= exact_reach(game, j, behavior, seqs[j])
            total[seqs[i]] += p * of(paid[i])
        found.append(total)
    return found


def respond(game: Any, i: int, x: int, weights: Rationals, payoff: list[Rationals]) -> Fraction:
    """The most that i can earn from x on without being told anything."""
    return max(
        sum(w * u[sequence(game, i, x, a)] for w, u in zip(weights, payoff, strict=True))
        + sum(respond(game, i, y, weights, payoff) for y in children(game, i, x, a))
        for a in actions(game, i, x)
    )


def exact_gap(game: Any, i: int, K: float, policy: ExactPolicy) -> Fraction:
    """Player i's K-EFCE gap, by recursion over infosets and what was recommended."""
    budget, payoff = clip(game, i, K), immediate(game, i, policy)

    def visit(x: int, used: int, alive: Rationals) -> Fraction:
        if used == budget:
            return respond(game, i, x, alive, payoff)
        total = Fraction(0)
        for r in actions(game, i, x):
            seq = sequence(game, i, x, r)
            told = [w * bs[i][seq] for w, (_, bs) in zip(alive, policy, strict=True)]
            total += max(
                sum(w * u[sequence(game, i, x, a)] for w, u in zip(told, payoff, strict=True))
                + sum(visit(y, used + (a != r), told) for y in children(game, i, x, a))
                for a in actions(game, i, x)
            )
        return total

    weights = [weight for weight, _ in policy]
    best = sum((w * u[0] for w, u in zip(weights, payoff, strict=True)), start=Fraction(0))
    best += sum(visit(x, 0, weights) for x in first_infosets(game, i))
    return best - exact_values(game, policy)[i]


def exact_trigger_gap(game: Any, policy: ExactPolicy) -> Fraction:
    """The gain of the best trigger of any player; 0 if nobody decides."""
    gains = []
    for i in range(n_players(game)):
        payoff = immediate(game, i, policy)

        def follow(i: int, payoff: list[Rationals], x: int, a: int, told: Rationals) -> Fraction:
            seq = sequence(game, i, x, a)
            total = sum((w * u[seq] for w, u in zip(told, payoff, strict=True)), start=Fraction(0))
            for y in children(game, i, x, a):
                for c in actions(game, i, y):
                    then = sequence(game, i, y, c)
                    onward = [w * bs[i][then] for w, (_, bs) in zip(told, policy, strict=True)]
                    total += follow(i, payoff, y, c, onward)
            return total

        for x in infosets(game, i):
            for a in actions(game, i, x):
                seq = sequence(game, i, x, a)
                told = [w * exact_reach(game, i, bs[i], seq) for w, bs in policy]
                gains.append(respond(game, i, x, told, payoff) - follow(i, payoff, x, a, told))
    return max(gains, default=Fraction(0))


def exact_stake(game: Any, i: int, center: Fraction, policy: ExactPolicy) -> Fraction:
    """What i could expect above ``center``, seeing the component and playing for nothing else."""
    excess = immediate(game, i, policy, lambda u: max(u - center, Fraction(0)))
    total = Fraction(0)
    for (weight, _), payoff in zip(policy, excess, strict=True):
        firsts = first_infosets(game, i)
        total += weight * payoff[0]
        total += sum(respond(game, i, x, [weight], [payoff]) for x in firsts)
    return total
