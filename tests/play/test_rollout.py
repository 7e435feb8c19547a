"""Plays with own agents in some seats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import accord
from accord.certifying.exact import certify
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, GameError, MismatchError
from accord.game.library import kuhn, matrix_game
from tests.support.environments import Hidden, NoisyChicken
from tests.support.policies import grown_game

CHICKEN = matrix_game(
    [[[6, 2], [7, 0]], [[6, 7], [2, 0]]], name="chicken", actions=[("yield", "dare")] * 2
)
LIGHT = CorrelatedPolicy(  # one yields, the other dares
    CHICKEN,
    np.array([0.3, 0.7]),
    np.array([[1.0, 1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]]),
)


def test_without_agents_everybody_obeys() -> None:
    found = accord.rollout(Hidden(CHICKEN), LIGHT, 1000, seed=4)
    assert {tuple(row) for row in found.payoffs.tolist()} == {(2.0, 7.0), (7.0, 2.0)}
    assert found.mean == pytest.approx(found.payoffs.mean(axis=0))
    exact = certify(CHICKEN, LIGHT, 1).values
    for mean, margin, value in zip(found.mean, found.margin, exact, strict=True):
        assert abs(mean - value) < 2 * margin
    assert repr(found).startswith("Rollout(1,000 plays, mean ")
    assert len(repr(found)) < 100
    again = accord.rollout(Hidden(CHICKEN), LIGHT, 1000, seed=4)
    np.testing.assert_array_equal(again.payoffs, found.payoffs)
    assert all(math.isnan(margin) for margin in accord.rollout(Hidden(CHICKEN), LIGHT, 1).margin)


def test_an_agent_that_hears_the_mediator() -> None:
    """Whoever dares although told to yield crashes into the other, and is told the truth."""
    heard: list[int] = []

    def dares(infoset: str, actions: tuple[str, ...], recommended: int) -> int:
        assert actions == ("yield", "dare")
        heard.append(recommended)
        return 1

    found = accord.rollout(Hidden(CHICKEN), LIGHT, 500, agents={0: dares})
    told = np.array(heard)
    np.testing.assert_array_equal(found.payoffs[:, 0], np.where(told == 1, 7.0, 0.0))
    assert 0.6 < told.mean() < 0.8


class Counts:
    """Always takes the first action, and counts plays and decisions."""

    plays = decisions = 0

    def reset(self) -> None:
        self.plays += 1

    def act(self, infoset: str, actions: tuple[str, ...]) -> int:
        self.decisions += 1
        return 0


def test_agents_of_other_policies_in_all_seats() -> None:
    game, mine = kuhn(), Counts()
    policy = accord.learn(game, 1, episodes=300, components=5).policy
    other = accord.learn(game, 1, episodes=300, components=5, seed=1).policy
    names = game.player_labels
    found = accord.rollout(
        Hidden(game), policy, 50, agents={names[0]: mine, names[1]: other.agent(1)}
    )
    assert mine.plays == 50
    assert mine.decisions >= 50
    assert found.payoffs.shape == (50, 2)
    np.testing.assert_allclose(found.payoffs.sum(axis=1), 0.0)


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ({"eve": Counts()}, "agents must be those of ann, bob, or of numbers from 0 to 1; got"),
        ({2: Counts()}, "got 2"),
        ({"ann": "yield"}, "the agent of player ann must have act"),
        ({"ann": lambda *_: 2}, "must return the number of an action, 0 to 1; got 2 at infoset"),
        ({"ann": lambda *_: "dare"}, "got 'dare' at infoset 'the road'"),
    ],
)
def test_bad_agents(agents: dict[Any, Any], message: str) -> None:
    policy = accord.learn(NoisyChicken(), 1, episodes=30, plays=10).policy
    with pytest.raises(ArgumentError, match=message):
        accord.rollout(NoisyChicken(), policy, 5, agents=agents)


def test_what_does_not_fit() -> None:
    with pytest.raises(MismatchError, match="has 3 players; the policy is for 2"):
        accord.rollout(Hidden(grown_game(1, 3, 60)), LIGHT, 5)
    with pytest.raises(ArgumentError, match="plays must be a whole number, 1 or more"):
        accord.rollout(Hidden(CHICKEN), LIGHT, 0)

    class Pays(Hidden):
        def payoffs(self) -> list[float]:
            return [100.0, 0.0]

    with pytest.raises(GameError, match=r"was paid 100\.0, outside"):
        accord.rollout(Pays(CHICKEN), LIGHT, 5)
