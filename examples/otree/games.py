"""The games of the two experiments, and the policies that the mediator recommends from.

Run this file to compute the policy of the second game again: ``python games.py``.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import accord

ACTIONS = ("dare", "yield")
PAYOFFS = {  # Aumann's Chicken
    ("dare", "dare"): (0, 0),
    ("dare", "yield"): (7, 2),
    ("yield", "dare"): (2, 7),
    ("yield", "yield"): (6, 6),
}
POLICY = Path(__file__).parent / "chicken_twice" / "policy.json"


def chicken_once() -> tuple[accord.Game, accord.CorrelatedPolicy]:
    """Chicken, with the library's device."""
    game = accord.load_game("chicken")
    return game, accord.CorrelatedPolicy.from_device(game, accord.library_device("chicken"))


def twice() -> accord.Game:
    """Chicken in two stages: both see the first moves before they move again."""
    b = accord.GameBuilder("chicken_twice", players=["row", "col"])
    pairs = list(product(ACTIONS, ACTIONS))
    b.move(player="row", infoset="stage 1", actions=" ".join(ACTIONS))
    b.move(*ACTIONS, player="col", infoset="stage 1", actions=" ".join(ACTIONS))
    for first in pairs:
        start = " ".join(first)
        seen = f"stage 2, after row: {first[0]}, col: {first[1]}"
        b.move(start, player="row", infoset=seen, actions=" ".join(ACTIONS))
        b.move(
            *(f"{start} {a}" for a in ACTIONS),
            player="col",
            infoset=seen,
            actions=" ".join(ACTIONS),
        )
        for second in pairs:
            total = [x + y for x, y in zip(PAYOFFS[first], PAYOFFS[second], strict=True)]
            b.payoff(f"{start} {' '.join(second)}", *total)
    return b.build()


def chicken_twice() -> tuple[accord.Game, accord.CorrelatedPolicy]:
    """Chicken in two stages, with the EFCE that has the highest sum of payoffs."""
    game = twice()
    return game, accord.load_policy(POLICY, game)


if __name__ == "__main__":
    found = accord.optimize(twice(), k=1)
    accord.save_policy(found.policy, POLICY)
    print(found)
