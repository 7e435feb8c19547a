"""Balanced exploration policies: the definition, and the property that they are made for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord._arrays import Floats
from accord.game.library import balanced, kuhn, library_game, unbalanced
from accord.game.tree import Game
from accord.learning.exploration import balanced_behavior, count_descendants
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import (
    behavior_to_reach,
    pure_behavior,
    random_behavior,
    uniform_behavior,
)
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.policies import all_games
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

NAMED = ("kuhn", "kuhn:players=3", "signalling", "unbalanced:horizon=6,actions=3", "in_out")


def some_behavior(plex: Treeplex, rng: np.random.Generator, *, pure: bool) -> Floats:
    """A random policy; ``pure`` ones are the extreme points."""
    if pure:
        return pure_behavior(plex, rng.integers(plex.n_actions, dtype=np.int32))
    return random_behavior(plex, rng)


def mismatch(plex: Treeplex, layer: int, behavior: Floats) -> float:
    """The left-hand side of Lemma B.5: the sum over layer h of pi_{1:h} / pi^{*,h}_{1:h}."""
    ours = behavior_to_reach(plex, behavior)
    star = behavior_to_reach(plex, balanced_behavior(plex, layer))
    there = np.concatenate([[False], plex.depth[plex.seq_infoset[1:]] == layer - 1])
    assert (star[there] > 0).all()  # the exploration gets everywhere in its layer
    return float((ours[there] / star[there]).sum())


def check_definition(game: Game) -> None:
    for i, plex in enumerate(sequence_form(game).plexes):
        counts = count_descendants(plex)
        assert counts.shape == (plex.n_sequences, plex.horizon)
        for h in range(1, plex.horizon + 1):
            np.testing.assert_allclose(
                balanced_behavior(plex, h), reference.balanced_behavior(game, i, h), rtol=1e-15
            )
            for x in reference.infosets(game, i):
                for a in reference.actions(game, i, x):
                    below = reference.descendants(game, i, h, x, a)
                    assert counts[reference.sequence(game, i, x, a), h - 1] == len(below)
            assert counts[0, h - 1] == np.count_nonzero(plex.depth == h - 1)


@given(all_games())
@examples(60)
def test_the_definition_on_random_games(game: Game) -> None:
    check_definition(game)


@pytest.mark.parametrize("name", NAMED)
def test_the_definition_on_library_games(name: str) -> None:
    check_definition(library_game(name))


def test_where_a_layer_cannot_be_reached_it_is_uniform() -> None:
    plex = Treeplex.from_parents([3, 2, 2], [-1, 0, 1], [0, 2, 0])  # x0 -2-> x1 -0-> x2
    np.testing.assert_array_equal(balanced_behavior(plex, 3), [1, 0, 0, 1, 1, 0, 0.5, 0.5])
    np.testing.assert_array_equal(balanced_behavior(plex, 2), [1, 0, 0, 1, 0.5, 0.5, 0.5, 0.5])
    plex = Treeplex.from_parents([2, 4, 2], [-1, -1, 0], [0, 0, 1])  # below x1 there is nothing
    np.testing.assert_array_equal(
        balanced_behavior(plex, 2), [1, 0, 1, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5]
    )


@given(all_games(), st.integers(0, 2**32 - 1))
@examples(60)
def test_balancing_bounds_every_policy(game: Game, seed: int) -> None:
    """Lemma B.5 in uneven trees: at most X_h A_h, whatever the policy."""
    rng = np.random.default_rng(seed)
    for plex in sequence_form(game).plexes:
        for h in range(1, plex.horizon + 1):
            actions = plex.n_actions[plex.depth == h - 1]
            bound = len(actions) * actions.max()
            for pure in (False, True):
                got = mismatch(plex, h, some_behavior(plex, rng, pure=pure))
                assert got <= bound * (1 + 1e-12)


@pytest.mark.parametrize(
    "game", [balanced(60, horizon=3), balanced(40, horizon=2, actions=3)], ids=repr
)
def test_balancing_is_an_identity_in_even_trees(game: Game) -> None:
    """Lemma B.5 as it stands: every play reaches every layer, all action sets are equal."""
    rng = np.random.default_rng(0)
    for plex in sequence_form(game).plexes:
        for h in range(1, plex.horizon + 1):
            bound = np.count_nonzero(plex.depth == h - 1) * plex.max_actions
            for pure in (False, True, True):
                got = mismatch(plex, h, some_behavior(plex, rng, pure=pure))
                assert got == pytest.approx(bound, rel=1e-12)


def test_balancing_is_attained_in_uneven_trees_by_whoever_goes_there() -> None:
    """In a corridor the bound holds with equality for the policy that walks it to the end."""
    plex = sequence_form(unbalanced(horizon=5, actions=3)).plexes[0]
    for h in range(1, 6):
        star = balanced_behavior(plex, h)
        here = np.count_nonzero(plex.depth == h - 1)
        assert mismatch(plex, h, star) == pytest.approx(here * 3, rel=1e-12)
        reach = behavior_to_reach(plex, star)
        last = np.flatnonzero(plex.depth[plex.seq_infoset[1:]] == h - 1) + 1
        np.testing.assert_allclose(reach[last], 1 / (3 * here), rtol=1e-12)


def test_uniform_play_would_not_do() -> None:
    """The remark after the lemma: for the uniform policy the sum may be A^(h-2) times as large."""
    game = unbalanced(horizon=8, actions=2)
    plex = sequence_form(game).plexes[0]
    star = balanced_behavior(plex, 8)
    ours, other = behavior_to_reach(plex, star), behavior_to_reach(plex, uniform_behavior(plex))
    there = np.concatenate([[False], plex.depth[plex.seq_infoset[1:]] == 7])
    assert (ours[there] / other[there]).sum() == pytest.approx(2**6 * mismatch(plex, 8, star))


def test_players_without_decisions() -> None:
    plex = Treeplex.from_parents([], [], [])
    assert count_descendants(plex).shape == (1, 0)
    assert all(p.horizon > 0 for p in sequence_form(kuhn()).plexes)
