"""Kernels are compiled once for all games, not once per number of players."""

from __future__ import annotations

from typing import Any

import pytest

import accord
from accord._jit import Kernel
from accord.game.library import kuhn
from accord.learning.self_play import SelfPlay
from accord.treeplex.form import sequence_form


def signatures() -> dict[str, list[Any]]:
    """The types of arguments that each kernel has been compiled for, or loaded from the cache."""
    return {kernel.__qualname__: kernel.signatures for kernel in Kernel.in_use}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["prm+", "wrhedge"])
def test_more_players_compile_nothing(method: str) -> None:
    found = []
    for players in (2, 3, 4):
        game = kuhn(players=players)
        solution = accord.solve(game, 1, method=method, iterations=4, components=2)
        learned = accord.learn(game, 1, episodes=40, components=2)
        accord.certify(game, solution.policy)
        accord.certify(game, learned.policy)
        found.append(signatures())
    assert found[0]["_self_play"]
    assert found[0]["play_whole"]
    assert found[1:] == found[:1] * 2


def test_the_learners_of_all_players_share_their_arrays() -> None:
    """Nothing is copied back after a block of iterations: learners see what the kernel wrote."""
    play = SelfPlay(sequence_form(kuhn(players=3)), 1)
    play.advance(3)
    for learner, behavior in zip(play.learners, play.form.split(play.behavior), strict=True):
        assert learner.state.behavior is not behavior
        assert learner.state.behavior.tolist() == behavior.tolist()
        assert all(array.base is not None for array in learner.state)
