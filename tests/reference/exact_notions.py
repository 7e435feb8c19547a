"""Gaps of all other notions, and against trembling hands, in rational arithmetic.

Each is a recursion over infosets and what was recommended, like ``exact_gap``, which has those of
the K-EFCE. ``alive`` are the weights of the components, times the probability of what they said.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from tests.reference.exact import (
    ExactPolicy,
    Rationals,
    exact_reach,
    exact_values,
    immediate,
    respond,
)
from tests.reference.game import (
    actions,
    children,
    first_infosets,
    infosets,
    n_sequences,
    path,
    sequence,
)

NAMES = ("efcce", "afce", "afcce", "lce", "nfce")


def exact_notion_gap(game: Any, i: int, name: str, policy: ExactPolicy) -> Fraction:
    """Player i's gap of the notion with this name."""
    best = {"lce": _linear, "nfce": _normal_form}.get(name)
    found = best(game, i, policy) if best else _Deviator(game, i, name, policy).best()
    return found - exact_values(game, policy)[i]


def trembled(game: Any, i: int, policy: ExactPolicy, slip: Fraction) -> ExactPolicy:
    """The policy with others who take any action with probability ``slip``."""

    def shaken(j: int, behavior: Rationals) -> Rationals:
        found = list(behavior)
        for x in infosets(game, j):
            for a in actions(game, j, x):
                seq = sequence(game, j, x, a)
                found[seq] = (1 - slip) * behavior[seq] + slip / len(actions(game, j, x))
        return found

    return [
        (weight, [b if j == i else shaken(j, b) for j, b in enumerate(behaviors)])
        for weight, behaviors in policy
    ]


class _Deviator:
    """A player who has obeyed so far, may leave once, and then obeys ("afce", "afcce") or hears
    nothing more ("efcce"); who leaves before hearing what to do here, except for "afce"."""

    def __init__(self, game: Any, i: int, name: str, policy: ExactPolicy) -> None:
        self.game, self.i, self.name, self.policy = game, i, name, policy
        self.payoff = immediate(game, i, policy)

    def best(self) -> Fraction:
        weights = [weight for weight, _ in self.policy]
        return _paid(weights, self.payoff, 0) + sum(
            self.value(x, weights) for x in first_infosets(self.game, self.i)
        )

    def told(self, x: int, r: int, alive: Rationals) -> Rationals:
        seq = sequence(self.game, self.i, x, r)
        return [w * bs[self.i][seq] for w, (_, bs) in zip(alive, self.policy, strict=True)]

    def play(self, x: int, a: int, alive: Rationals, then: Callable[..., Fraction]) -> Fraction:
        """What a at x pays, and what comes ``then``."""
        here = _paid(alive, self.payoff, sequence(self.game, self.i, x, a))
        return here + sum(then(y, alive) for y in children(self.game, self.i, x, a))

    def follow(self, x: int, alive: Rationals) -> Fraction:
        """Obeying from x on."""
        moves = actions(self.game, self.i, x)
        return sum(
            (self.play(x, r, self.told(x, r, alive), self.follow) for r in moves), Fraction(0)
        )

    def value(self, x: int, alive: Rationals) -> Fraction:
        moves = actions(self.game, self.i, x)
        if self.name == "afce":
            return sum(
                (
                    max(self.play(x, a, told, self.value if a == r else self.follow) for a in moves)
                    for r in moves
                    for told in [self.told(x, r, alive)]
                ),
                Fraction(0),
            )
        obey = sum(self.play(x, r, self.told(x, r, alive), self.value) for r in moves)
        if self.name == "efcce":
            return max(obey, respond(self.game, self.i, x, alive, self.payoff))
        return max(obey, *(self.play(x, a, alive, self.follow) for a in moves))


def _linear(game: Any, i: int, policy: ExactPolicy) -> Fraction:
    """The best value of a player who may ask the mediator about any infoset that follows what they
    asked before (``equilibrium/linear_gap.py``)."""
    payoff, weights = immediate(game, i, policy), [weight for weight, _ in policy]
    reach = [
        [exact_reach(game, i, bs[i], seq) for seq in range(n_sequences(game, i))]
        for _, bs in policy
    ]
    after: dict[int, list[int]] = {}
    for x in infosets(game, i):
        before = path(game, i, x)
        after.setdefault(sequence(game, i, *before[-1]) if before else 0, []).append(x)

    def paid(told: int, seq: int) -> Fraction:
        alive = [w * own[told] for w, own in zip(weights, reach, strict=True)]
        return _paid(alive, payoff, seq)

    @cache
    def value(x: int, told: int) -> Fraction:
        values = []
        for a in actions(game, i, x):
            later = sum(value(y, told) for y in children(game, i, x, a))
            values.append(paid(told, sequence(game, i, x, a)) + later)
        for y in after.get(told, ()):
            answers = (sequence(game, i, y, r) for r in actions(game, i, y))
            values.append(sum((value(x, answer) for answer in answers), Fraction(0)))
        return max(values)

    return paid(0, 0) + sum(value(x, 0) for x in first_infosets(game, i))


def _normal_form(game: Any, i: int, policy: ExactPolicy) -> Fraction:
    """The best value of a player who sees a whole pure plan before the play."""
    payoff, total, places = immediate(game, i, policy), Fraction(0), list(infosets(game, i))
    for plan in product(*(actions(game, i, x) for x in places)):
        alive = [weight for weight, _ in policy]
        for x, a in zip(places, plan, strict=True):
            seq = sequence(game, i, x, a)
            alive = [w * bs[i][seq] for w, (_, bs) in zip(alive, policy, strict=True)]
        total += _paid(alive, payoff, 0)
        total += sum(respond(game, i, x, alive, payoff) for x in first_infosets(game, i))
    return total


def _paid(alive: Rationals, payoff: list[Rationals], seq: int) -> Fraction:
    return sum((w * u[seq] for w, u in zip(alive, payoff, strict=True)), start=Fraction(0))
