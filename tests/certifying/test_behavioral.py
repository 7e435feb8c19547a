"""K = infinity is the behavioral deviation of Morrill et al. 2021, by its own definition.

D. Morrill et al., *Efficient deviation types and learning for hindsight rationality in
extensive-form games*, ICML 2021: at every infoset that the deviator reaches, they see the
recommendation, remember all earlier ones, and may play any action; the recommendations continue.
Such a deviator plays a one-player game in which recommendations are draws of chance. Its value is
found here by backward induction over the deviator's memories, without rechistories.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord._arrays import CHANCE, TERMINAL
from accord.certifying.exact import certify
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import foresight, kuhn, library_device, separation
from accord.game.tree import Game
from tests import reference
from tests.support.policies import all_games, random_policy
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

State = tuple[int, float, int]
"""A node, the probability of what the deviator does not control, and the component."""


class Deviator:
    """Player i, who remembers all that they were told and did."""

    def __init__(self, policy: CorrelatedPolicy, i: int) -> None:
        self.game, self.i = policy.form.game, i
        self.below = reference.node_children(self.game)
        self.rewards = reference.node_rewards(self.game)
        self.behaviors = [policy.form.split(row) for row in policy.behavior]
        self.first = [plex.first_seq for plex in policy.form.plexes]

    def best(self, states: list[State]) -> float:
        """The payoff of the best continuation from ``states``, which have one memory."""
        total = 0.0
        told: dict[tuple[int, int], list[State]] = {}
        stack = list(states)
        while stack:
            node, weight, c = stack.pop()
            total += weight * self.rewards[node][self.i]
            mover, x = int(self.game.player[node]), int(self.game.infoset[node])
            if mover == TERMINAL:
                continue
            children = self.below[node]
            if mover == CHANCE:
                law = [float(self.game.chance_prob[child]) for child in children]
            else:
                start = self.first[mover][x]
                law = self.behaviors[c][mover][start : start + len(children)].tolist()
            for a, (child, share) in enumerate(zip(children, law, strict=True)):
                if share > 0.0 and mover == self.i:
                    told.setdefault((x, a), []).append((node, weight * share, c))
                elif share > 0.0:
                    stack.append((child, weight * share, c))
        for now in told.values():
            n_actions = len(self.below[now[0][0]])
            total += max(
                self.best([(self.below[node][a], weight, c) for node, weight, c in now])
                for a in range(n_actions)
            )
        return total


def behavioral_gaps(policy: CorrelatedPolicy) -> list[float]:
    start = [(0, float(weight), c) for c, weight in enumerate(policy.weights)]
    values = policy.values()
    return [Deviator(policy, i).best(start) - values[i] for i in range(policy.form.game.n_players)]


def check(game: Game, policy: CorrelatedPolicy) -> None:
    scale = max(1.0, *(map(abs, policy.form.leaves.payoff_range)))
    found = certify(game, policy, math.inf)[math.inf].player_gaps
    assert found == pytest.approx(behavioral_gaps(policy), abs=1e-12 * scale)


@examples(100)
@given(all_games(), st.integers(0, 2**32 - 1))
def test_the_gap_is_that_of_a_deviator_who_remembers_everything(game: Game, seed: int) -> None:
    check(game, random_policy(game, seed))


@pytest.mark.parametrize(
    ("game", "device"),
    [(separation(k=2), "separation:k=2"), (foresight(), "foresight")],
    ids=["separation", "foresight"],
)
def test_the_gap_of_devices(game: Game, device: str) -> None:
    policy = CorrelatedPolicy.from_device(game, library_device(device))
    check(game, policy)
    assert max(behavioral_gaps(policy)) == pytest.approx(0.5 if device[0] == "s" else 0.0)


def test_kuhn_poker() -> None:
    for seed in range(5):
        check(kuhn(), random_policy(kuhn(), seed))
