"""Exploration of one's own works by passing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accord
from accord.errors import ArgumentError
from accord.game.library import library_game
from accord.learning import WholePlayKEFR
from accord.learning.episode_play import EnvironmentPlay
from accord.learning.exploration import OWN_EXPLORATIONS
from accord.treeplex.form import sequence_form
from tests.support.environments import Hidden

KUHN = library_game("kuhn")


def evenly(player: int, infoset: str, actions: Sequence[str]) -> Sequence[float]:
    return [1.0] * len(actions)


def mostly_first(player: int, infoset: str, actions: Sequence[str]) -> Sequence[float]:
    return [9.0, *([1.0] * (len(actions) - 1))]


@pytest.mark.parametrize("env", [KUHN, Hidden(KUHN)])
def test_equal_weights_are_uniform_exploration(env: Any) -> None:
    """To the bit, on a simulator and in an environment whose infosets are met on the way."""
    own = accord.learn(env, 1, episodes=900, exploration=evenly)
    uniform = accord.learn(env, 1, episodes=900, exploration="uniform")
    assert own.request.exploration == "evenly"
    assert np.array_equal(own.policy.behavior, uniform.policy.behavior)


def test_weights_are_followed() -> None:
    """By a learner that knows its treeplex, and by one that meets it."""
    plex = sequence_form(KUHN).plexes[0]
    learner = WholePlayKEFR(plex, 1, exploration=mostly_first)
    assert np.allclose(learner.tables.spread[plex.first_seq[:-1]], 0.9)
    play = EnvironmentPlay(Hidden(KUHN), 1, 0, exploration=mostly_first)
    play.advance(200)
    for one in play.learners:
        one.begin_iteration()
        first = one.tables.arrays.infosets["first_seq"][: one.tables.n_infosets]
        assert len(first) >= 5 and np.allclose(one.tables.spread[first], 0.9)
        assert np.shares_memory(one.policies.base, one.tables.spread)


def test_it_learns_and_is_resumed(tmp_path: Path) -> None:
    env = Hidden(KUHN)
    whole = accord.learn(env, 1, episodes=3_000, exploration=mostly_first, plays=0, components=50)
    accord.learn(env, 1, episodes=600, exploration=mostly_first, plays=0, components=50,
                 folder=tmp_path)  # fmt: skip
    again = accord.learn(env, 1, episodes=3_000, exploration=mostly_first, plays=0, components=50,
                         folder=tmp_path, resume=True)  # fmt: skip
    assert again.episodes == 3_000
    assert accord.certify(KUHN, whole.policy.in_game(KUHN), 1)[1].gap < 0.5
    OWN_EXPLORATIONS.pop("mostly_first")
    with pytest.raises(ArgumentError, match="to resume a run with exploration of your own, pass"):
        accord.learn(env, 1, episodes=3_000, exploration="mostly_first", folder=tmp_path,
                     resume=True)  # fmt: skip


def nothing(player: int, infoset: str, actions: Sequence[str]) -> Any:
    return [0.0] * len(actions)


def too_few(player: int, infoset: str, actions: Sequence[str]) -> Any:
    return [1.0]


@pytest.mark.parametrize("env", [KUHN, Hidden(KUHN)])
@pytest.mark.parametrize("wrong", [nothing, too_few])
def test_what_is_refused(env: Any, wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="must return a positive weight for each of the 2 act"):
        accord.learn(env, 1, episodes=300, exploration=wrong)


def test_what_does_not_explore() -> None:
    with pytest.raises(ArgumentError, match="exploration must be one of balanced, uniform"):
        accord.learn(KUHN, 1, episodes=3_000, method="swrhedge", exploration=evenly)
    with pytest.raises(ArgumentError, match="or a function of player"):
        accord.learn(KUHN, 1, episodes=3_000, exploration=7)  # type: ignore[arg-type]

    def spread(player: int, infoset: str, actions: Sequence[str]) -> Sequence[float]:
        return [1.0] * len(actions)

    with pytest.raises(ArgumentError, match="'spread' is taken"):
        accord.learn(KUHN, 1, episodes=3_000, exploration=spread)
