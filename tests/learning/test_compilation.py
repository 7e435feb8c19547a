"""Kernels are compiled once for all games, not once per number of players."""

from __future__ import annotations

from typing import Any

import pytest

import accord
from accord._jit import Kernel
from accord._kernel_cache import _sources, sources_of
from accord.game.library import kuhn
from accord.learning.self_play import SelfPlay
from accord.regret.methods import METHODS, SAMPLED_METHODS
from accord.treeplex.form import sequence_form
from tests.support.environments import Hidden


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
    assert found[0]["play_iterations"]
    assert found[1:] == found[:1] * 2


def named_tuples(kind: Any) -> set[type]:
    """The NamedTuples in a type of Numba, at any depth."""
    found = {kind.instance_class} if hasattr(kind, "instance_class") else set()
    return found.union(*(named_tuples(part) for part in getattr(kind, "types", ())))


@pytest.mark.slow
def test_kernels_import_the_types_of_their_arguments() -> None:
    """Machine code depends on the fields of NamedTuples, so the kernel cache must notice edits."""
    game, sources = accord.load_game("random:depth=4,seed=1"), _sources()
    for method in METHODS:
        solution = accord.solve(game, 1, method=method, iterations=4, components=2)
    for method in SAMPLED_METHODS:
        accord.learn(game, 1, method=method, episodes=40, components=2)
    accord.certify(game, solution.policy)
    accord.certify_by_play(Hidden(game), solution.policy, plays=40)
    accord.optimize(game, 1, "welfare")
    seen = 0
    for kernel in Kernel.in_use:
        if (module := kernel.__module__) in sources:
            types = [kind for signature in kernel.signatures for kind in signature]
            classes = set().union(*(named_tuples(kind) for kind in types))
            assert {kind.__module__ for kind in classes} <= sources_of(module, sources).keys()
            seen += len(classes)
    assert seen > 20


def test_the_learners_of_all_players_share_their_arrays() -> None:
    """Nothing is copied back after a block of iterations: learners see what the kernel wrote."""
    play = SelfPlay(sequence_form(kuhn(players=3)), 1)
    play.advance(3)
    for learner, behavior in zip(play.learners, play.form.split(play.behavior), strict=True):
        assert learner.state.behavior is not behavior
        assert learner.state.behavior.tolist() == behavior.tolist()
        assert all(array.base is not None for array in learner.state)
