"""Plans that a correlated policy draws, by trying all pure policies: the twin of
``accord.equilibrium.plans``."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from tests.reference.game import actions, infosets, n_players, node_children, path
from tests.reference.policies import prob, pure_choices
from tests.reference.types import CHANCE, TERMINAL, CorrelatedPolicy

Plan = frozenset[tuple[int, int, int]]
"""The recommendations (i, x, a) of a plan."""


def n_profiles(game: Any) -> int:
    """How many tuples of pure policies, one per player, there are."""
    return math.prod(
        len(actions(game, i, x)) for i in range(n_players(game)) for x in infosets(game, i)
    )


def reached_infosets(game: Any, choices: tuple[tuple[int, ...], ...]) -> set[tuple[int, int]]:
    """The (i, x) that are reached, after any chance moves, if everybody plays ``choices``."""
    found: set[tuple[int, int]] = set()

    def walk(node: int) -> None:
        i, x = int(game.player[node]), int(game.infoset[node])
        if i == TERMINAL:
            return
        if i != CHANCE:
            found.add((i, x))
        for a, child in enumerate(node_children(game)[node]):
            if i == CHANCE or choices[i][x] == a:
                walk(child)

    walk(0)
    return found


def allowed_infosets(game: Any, choices: tuple[tuple[int, ...], ...]) -> set[tuple[int, int]]:
    """The (i, x) that player i's own choices lead to, whatever the others and chance do."""
    return {
        (i, x)
        for i, choice in enumerate(choices)
        for x in infosets(game, i)
        if all(choice[above] == a for above, a in path(game, i, x))
    }


def drawn_plans(game: Any, policy: CorrelatedPolicy, *, off_path: bool) -> dict[Plan, float]:
    """The probability of each plan that the policy may draw."""
    plans: dict[Plan, float] = {}
    for choices in product(*(tuple(pure_choices(game, i)) for i in range(n_players(game)))):
        p = sum(
            weight
            * math.prod(
                prob(game, i, behaviors[i], x, a)
                for i, choice in enumerate(choices)
                for x, a in enumerate(choice)
            )
            for weight, behaviors in policy
        )
        kept = (allowed_infosets if off_path else reached_infosets)(game, choices)
        plan = frozenset((i, x, choices[i][x]) for i, x in kept)
        if p > 0:
            plans[plan] = plans.get(plan, 0.0) + p
    return plans
