"""Strategy modifications: executing Algorithm 1, and the policy that it induces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord._arrays import TERMINAL
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryTree
from accord.errors import ArgumentError
from accord.game.library import kuhn, separation
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import behavior_to_reach, pure_behavior, random_behavior
from accord.treeplex.treeplex import Treeplex
from tests import reference
from tests.support.policies import (
    OTHER_NOTIONS,
    all_games,
    all_k,
    grown_games,
    phi_as_reference,
    random_behaviors,
    random_phi,
)
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(50)
seeds = st.integers(0, 2**32 - 1)


# --- the policy that it induces -------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_the_sequence_form_is_that_of_the_lemma(game, seed):
    rng = np.random.default_rng(seed)
    behaviors = random_behaviors(game, rng)
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in all_k(game, i):
            phi = random_phi(RechistoryTree.build(plex, k), rng)
            found = phi.sequence_form(behaviors[i])
            said = phi_as_reference(phi)
            assert found == pytest.approx(
                reference.modified_reach(game, i, k, said, behaviors[i].tolist()), abs=1e-14
            )
            assert found == pytest.approx(
                reference.lemma_reach(game, i, k, said, behaviors[i].tolist()), abs=1e-14
            )


@checked
@given(all_games(), seeds)
def test_obeying_changes_nothing(game, seed):
    rng = np.random.default_rng(seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        behavior = random_behavior(plex, rng)
        for k in all_k(game, i):
            phi = Modification.obey(RechistoryTree.build(plex, k))
            assert phi_as_reference(phi) == reference.identity_modification(game, i, k)
            first = pure_behavior(plex, np.zeros(plex.n_infosets, np.int32))
            expected = behavior_to_reach(plex, behavior if phi.tree.k else first)
            assert phi.sequence_form(behavior) == pytest.approx(expected, abs=1e-15)
        for notion in OTHER_NOTIONS:
            phi = Modification.obey(RechistoryTree.build(plex, notion))
            assert not phi.choice[~np.repeat(phi.tree.is_swap, np.diff(phi.tree.first_row))].any()
            expected = behavior_to_reach(plex, behavior)
            assert phi.sequence_form(behavior) == pytest.approx(expected, abs=1e-15)


@checked
@given(all_games(), seeds)
def test_the_sequence_form_is_a_policy(game, seed):
    """The reaches of an infoset's actions sum to the reach of the infoset."""
    rng = np.random.default_rng(seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in (*all_k(game, i), *OTHER_NOTIONS):
            phi = random_phi(RechistoryTree.build(plex, k), rng)
            reach = phi.sequence_form(random_behavior(plex, rng))
            for x in range(plex.n_infosets):
                leaving = reach[plex.first_seq[x] : plex.first_seq[x + 1]].sum()
                assert leaving == pytest.approx(reach[plex.parent_seq[x]], abs=1e-14)


# --- Algorithm 1 ----------------------------------------------------------------------------------


def recommendations(plex: Treeplex, x: int) -> Iterator[dict[int, int]]:
    """All recommendations that are possible on the path to x and at x."""
    way = [*(y for y, _ in plex.history(x)), x]
    for drawn in product(*(range(int(plex.n_actions[y])) for y in way)):
        yield dict(zip(way, drawn, strict=True))


def follows(phi: Modification, x: int, a: int, told: dict[int, int]) -> bool:
    """Whether the literal execution with these recommendations takes the path to x and then a."""
    way = [*phi.tree.plex.history(x), (x, a)]
    arrived = []  # the infosets so far; the next comes only after the actions of the path

    def infosets() -> Iterator[int]:
        while arrived:
            yield arrived.pop()

    moves = phi.execute(infosets(), told.__getitem__)
    for y, expected in way:
        arrived.append(y)
        came, action = next(moves)
        assert came == y
        if action != expected:
            return False
    return True


@examples(25)
@given(grown_games(most=40), seeds)
def test_the_sequence_form_is_the_law_of_the_execution(game, seed):
    """Summed over all recommendations, not sampled."""
    rng = np.random.default_rng(seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        behavior = random_behavior(plex, rng)
        for k in (*all_k(game, i), *OTHER_NOTIONS):
            phi = random_phi(RechistoryTree.build(plex, k), rng)
            reach = phi.sequence_form(behavior)
            for x in range(plex.n_infosets):
                for a in range(int(plex.n_actions[x])):
                    total = sum(
                        math.prod(behavior[plex.first_seq[y] + r] for y, r in told.items())
                        for told in recommendations(plex, x)
                        if follows(phi, x, a, told)
                    )
                    assert reach[plex.first_seq[x] + a] == pytest.approx(total, abs=1e-13)


def play(game, i: int, phi: Modification, behaviors, rng) -> tuple[int, tuple[int, ...]]:
    """Play once with ``phi.execute`` for player i, drawn as in ``reference.execute``."""
    arrived: list[int] = []
    told: list[int] = []

    def infosets() -> Iterator[int]:
        while True:
            yield arrived.pop()

    def recommend(x: int) -> int:
        chances = [
            reference.prob(game, i, behaviors[i], x, c) for c in reference.actions(game, i, x)
        ]
        told.append(reference.sample(chances, rng))
        return told[-1]

    moves = phi.execute(infosets(), recommend)
    node = 0
    while game.player[node] != TERMINAL:
        below = reference.node_children(game)[node]
        j, x = int(game.player[node]), int(game.infoset[node])
        if j == i:
            arrived.append(x)
            came, a = next(moves)
            assert came == x
        elif j >= 0:
            chances = [
                reference.prob(game, j, behaviors[j], x, c) for c in reference.actions(game, j, x)
            ]
            a = reference.sample(chances, rng)
        else:
            a = reference.sample([float(game.chance_prob[child]) for child in below], rng)
        node = below[a]
    return node, tuple(told)


@checked
@given(all_games(), seeds)
def test_executions_agree_play_by_play(game, seed):
    rng = np.random.default_rng(seed)
    behaviors = [b.tolist() for b in random_behaviors(game, rng, pure=0.1)]
    for i, plex in enumerate(sequence_form(game).plexes):
        for k in all_k(game, i):
            phi = random_phi(RechistoryTree.build(plex, k), rng)
            said = phi_as_reference(phi)
            for draw in rng.integers(2**32, size=4):
                expected = reference.execute(
                    game, i, k, said, behaviors, rng=np.random.default_rng(draw)
                )
                assert play(game, i, phi, behaviors, np.random.default_rng(draw)) == expected


@pytest.mark.parametrize(("k", "told"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (math.inf, 4)])
def test_nothing_is_recommended_after_k_deviations(k, told):
    plex = sequence_form(separation(k=3)).plexes[0]
    tree = RechistoryTree.build(plex, k)
    obey = Modification.obey(tree).choice
    swap = np.repeat(tree.is_swap, np.diff(tree.first_row))
    disobey = Modification(tree, np.where(swap, 1 - obey, obey))  # two actions everywhere
    asked, path = [], [0]

    def infosets() -> Iterator[int]:
        while path:
            yield path.pop()

    for x, a in disobey.execute(infosets(), lambda x: asked.append(x) or 0):
        path.extend(list(plex.children(int(plex.first_seq[x]) + a))[:1])
    assert len(asked) == told


def test_an_obedient_player_gets_every_recommendation():
    plex = sequence_form(separation(k=2)).plexes[0]
    phi = Modification.obey(RechistoryTree.build(plex, 1))
    way = [*plex.history(plex.n_infosets - 1), (plex.n_infosets - 1, 0)]
    told = dict(way)
    moves = list(phi.execute([x for x, _ in way], told.__getitem__))
    assert moves == way
    assert len(moves) == 3


# --- errors ---------------------------------------------------------------------------------------


@pytest.fixture
def phi() -> Modification:
    return Modification.obey(RechistoryTree.build(sequence_form(kuhn()).plexes[0], 1))


@pytest.mark.parametrize("x", [-1, 3, 99])
def test_an_infoset_that_cannot_come_first(phi, x):
    with pytest.raises(ArgumentError, match=f"infoset {x} does not follow"):
        list(phi.execute([x], lambda x: 0))


def test_an_infoset_that_follows_another_action(phi):
    plex = phi.tree.plex
    (after,) = plex.children(1)  # after a pass with the lowest card
    assert list(phi.execute([0, after], lambda x: 0)) == [(0, 0), (after, 0)]
    with pytest.raises(ArgumentError, match=f"infoset {after} does not follow"):
        list(phi.execute([0, after], lambda x: 1))  # obeyed and bet
    with pytest.raises(ArgumentError, match=f"infoset {after + 1} does not follow"):
        list(phi.execute([0, after + 1], lambda x: 0))  # another card


@pytest.mark.parametrize("recommended", [-1, 2, 100])
def test_invalid_recommendations_are_refused(phi, recommended):
    with pytest.raises(ArgumentError, match=f"must be one of its 2 actions; got {recommended}"):
        list(phi.execute([0], lambda x: recommended))


def test_invalid_choices_are_refused(phi):
    good = phi.choice
    for bad in (good[:-1], np.append(good, 0), np.full_like(good, 2), np.full_like(good, -1)):
        with pytest.raises(ArgumentError, match=f"each of the {len(good)} rows"):
            Modification(phi.tree, bad)


def test_nobody_decides():
    phi = Modification.obey(RechistoryTree.build(Treeplex.from_parents([], [], []), 2))
    assert phi.sequence_form(np.ones(1)).tolist() == [1.0]
    assert list(phi.execute([], lambda x: 0)) == []


def test_repr(phi):
    assert repr(phi) == "Modification(k=1, rows=16)"
