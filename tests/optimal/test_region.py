"""The region against programs over all profiles, and facts about nested regions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import accord
from accord.certifying.exact import certify
from accord.deviations.notions import as_notion
from accord.game.library import chicken, kuhn, random_game, signalling
from accord.game.tree import Game
from accord.optimal import column_generation
from accord.optimal.polygon import distances
from accord.optimal.pure_nash import pure_nash_payoffs
from accord.optimal.region import RegionSearch
from accord.runs.region import PayoffPolygon, Region, region
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.strategies import examples, games

KS = (0, 1, 2, math.inf)
OTHERS = ("EFCCE", "AFCE", "AFCCE")
SHERIFF = (
    "sheriff(item_penalty=1.0,item_value=5.0,max_bribe=2,max_items=3,num_rounds=1,"
    "sheriff_penalty=1.0)"
)
GOOFSPIEL = "goofspiel(imp_info=True,num_cards=3,points_order=ascending,returns_type=total_points)"


def corners(polygon: PayoffPolygon) -> np.ndarray:
    return np.array([vertex.payoffs for vertex in polygon.vertices])


def units(found: Region) -> np.ndarray:
    """The payoff ranges of both players; 1 where payoffs are constant."""
    labels = list(found.game.player_labels)
    span = sequence_form(found.game).leaves.payoff_range[[labels.index(p) for p in found.players]]
    return np.where(span > 0, span, 1.0)


def check(found: Region) -> None:
    """Vertices are certified equilibria, inside the bound and the polygons of weaker notions."""
    unit = units(found)
    scale = sequence_form(found.game).leaves.loss_scale
    for polygon in found.polygons:
        inner, outer = corners(polygon) / unit, np.array(polygon.outer) / unit
        assert distances(inner, outer).max() <= 1e-9
        assert distances(outer, inner).max() == pytest.approx(polygon.error, abs=1e-8)
        for vertex in polygon.vertices:
            own = certify(found.game, vertex.policy, polygon.notion)
            gaps = own[polygon.notion].player_gaps
            assert all(g * s <= 1e-9 for g, s in zip(gaps, scale, strict=True))
            assert own.values == pytest.approx(vertex.values, abs=1e-12)
        assert polygon.welfare is not None
        welfare = sum(polygon.welfare.values)
        assert welfare <= polygon.welfare_bound
        assert all(sum(v.values) <= welfare + 1e-8 for v in polygon.vertices)
    for larger, smaller in product(found.polygons, repeat=2):
        if larger.notion.is_bounded_by(smaller.notion):
            assert distances(corners(smaller) / unit, corners(larger) / unit).max() <= 1e-9


def tiny(game: Game, k: float) -> bool:
    """Whether everything can be enumerated."""
    return reference.n_profiles(game) <= 100 and all(
        reference.n_modifications(game, i, k) <= 150 for i in range(game.n_players)
    )


def tiny_for(game: Game, notion: str) -> bool:
    """Whether everything can be enumerated for a notion that is not a K-EFCE."""
    return reference.n_profiles(game) <= 60 and all(
        reference.n_deviations(game, i, notion) <= 150 for i in range(game.n_players)
    )


@pytest.mark.slow
@examples(50)
@given(games(max_players=3), st.sampled_from((*KS, *OTHERS)), st.integers(0, 2**32 - 1))
def test_it_reaches_as_far_as_all_profiles_in_every_direction(game, k, seed):
    """The directions are random, so they are none that the search has asked."""
    assume(game.n_players > 1)
    assume(tiny_for(game, k) if isinstance(k, str) else tiny(game, k))
    rng = np.random.default_rng(seed)
    pair = rng.permutation(game.n_players)[:2]
    labels = game.player_labels
    found = region(game, k, players=(labels[pair[0]], labels[pair[1]]))
    assert found.exact
    assert found.reached
    check(found)
    unit, inner = units(found), corners(found[k])
    angles = rng.uniform(0, 2 * math.pi, 8)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) / unit
    weights = np.zeros((len(angles), game.n_players))
    weights[:, pair] = directions
    want = reference.best_in_directions(game, k, weights.tolist())
    np.testing.assert_allclose((inner @ directions.T).max(axis=0), want, rtol=0, atol=1e-8)


@pytest.mark.slow
@examples(25)
@given(games(max_players=3))
def test_regions_shrink_as_deviators_can_do_more(game):
    assume(game.n_players > 1)
    found = region(game, (*KS, *OTHERS), directions=100)
    assert [polygon.notion.name for polygon in found.polygons] == [
        "NFCCE", "EFCCE", "EFCE", "AFCCE", "AFCE",
    ]  # fmt: skip
    assert found[2] is found[math.inf] is found[1]
    check(found)


def test_joint_plans_are_shared_between_k():
    form = sequence_form(signalling())
    search = RegionSearch(form, [as_notion(k) for k in (0, 1)], (0, 1), 1e-6)
    while search.advance():
        pass
    programs = [side.rounds.program for side in search.sides]
    plans = [{plan.tobytes() for plan in program.plans} for program in programs]
    for side, known in zip(search.sides, plans, strict=True):
        for found in search.sides[0].sandwich.found:
            for behavior in found.policy.behavior:
                plan = side.rounds.incentives.sampled(behavior, np.random.default_rng(0))
                assert plan.tobytes() in known


@pytest.mark.slow
def test_points_and_bounds_are_shared_between_k():
    """All K together take no more directions than each alone, and give the same polygons."""
    game = accord.load_game(SHERIFF)
    together = region(game, KS)
    alone = [region(game, k) for k in (0, 1)]
    assert together.directions <= sum(one.directions for one in alone)
    for polygon, one in zip(together.polygons, alone, strict=True):
        ours, theirs = corners(polygon), corners(one.polygons[0])
        assert len(ours) == len(theirs)
        assert distances(ours, theirs).max() <= 1e-8
        assert distances(theirs, ours).max() <= 1e-8


@pytest.mark.slow
@examples(40)
@given(games(max_players=3))
def test_pure_nash_equilibria(game):
    assume(reference.n_profiles(game) <= 200)
    payoffs = pure_nash_payoffs(sequence_form(game))
    assert payoffs is not None
    found = {tuple(round(float(u), 9) + 0.0 for u in row) for row in payoffs}
    assert found == reference.pure_nash_payoffs(game)


def test_pure_nash_equilibria_of_large_games_are_not_looked_for():
    assert pure_nash_payoffs(sequence_form(kuhn(players=3))) is None


# --- known regions --------------------------------------------------------------------------------


def same_points(polygon: PayoffPolygon, want: list[tuple[float, float]]) -> None:
    """The vertices are these, in any order."""
    ours = np.array([vertex.payoffs for vertex in polygon.vertices])
    assert len(ours) == len(want)
    apart = np.abs(ours[:, np.newaxis] - np.array(want)).max(axis=2)
    assert apart.min(axis=0).max() <= 1e-6
    assert apart.min(axis=1).max() <= 1e-6


def test_chicken():
    found = region(chicken())
    assert found.exact
    assert found.nash == ((2.0, 7.0), (7.0, 2.0))
    for k in (0, 1, math.inf):
        same_points(found[k], [(2, 7), (3.6, 3.6), (7, 2), (5.25, 5.25)])
        assert found[k].welfare.payoffs == pytest.approx((5.25, 5.25))
    check(found)


def test_signalling():
    """The professor gets at most 6.5 at K = 1, and 7.5 at K = 0."""
    found = region(signalling())
    assert found.exact
    assert found.nash == ((0.0, 6.0),)
    same_points(found[0], [(0, 6), (4, 6), (2.5, 7.5)])
    for k in (1, math.inf):
        same_points(found[k], [(0, 6), (4, 6), (3.5, 6.5)])
    check(found)


@pytest.mark.slow
def test_sheriff():
    found = region(accord.load_game(SHERIFF))
    assert found.exact
    check(found)
    assert sum(found[1].welfare.values) == pytest.approx(420 / 79)
    assert len(found[0].vertices) == 5
    assert len(found[1].vertices) == 7


@pytest.mark.slow
def test_goofspiel():
    """EFCE inside EFCCE and NFCCE, as in Celli, Marchesi, Farina and Gatti 2020; all symmetric."""
    found = region(accord.load_game(GOOFSPIEL), (0, "efcce", 1))
    assert found.exact
    check(found)
    for polygon in found.polygons:
        same_points(polygon, [vertex.payoffs[::-1] for vertex in polygon.vertices])
        assert sum(polygon.welfare.values) == pytest.approx(6.0)
    assert len(found[0].vertices) == len(found["efcce"].vertices) == 3
    assert len(found[1].vertices) == 13


@pytest.mark.slow
def test_three_players_are_projected_on_two():
    """A third player who only watches, and is paid what the others lose, changes nothing."""
    b = accord.GameBuilder(players=["row", "col", "bank"])
    b.move(player="row", infoset="r", actions="dare yield")
    for one in ("dare", "yield"):
        b.move(one, player="col", infoset="c", actions="dare yield")
    for moves, x, y in (
        ("dare dare", 0, 0), ("dare yield", 7, 2), ("yield dare", 2, 7), ("yield yield", 6, 6),
    ):  # fmt: skip
        b.payoff(moves, x, y, -x - y)
    found = region(b.build())
    assert found.exact
    check(found)
    same_points(found[1], [(2, 7), (3.6, 3.6), (7, 2), (5.25, 5.25)])
    other = region(b.build(), 1, players=("bank", "row"))
    same_points(other[1], [(-9, 2), (-7.2, 3.6), (-9, 7), (-10.5, 5.25)])


# --- flat regions ---------------------------------------------------------------------------------


def game_of(*cells: tuple[float, float]) -> Game:
    b = accord.GameBuilder(players=["a", "b"])
    b.move(player="a", infoset="x", actions=" ".join(f"m{i}" for i in range(len(cells))))
    for i, payoffs in enumerate(cells):
        b.payoff(f"m{i}", *payoffs)
    return b.build()


@pytest.mark.parametrize(
    ("cells", "want"),
    [
        (((1, 2),), [(1, 2)]),  # one play
        (((1, 2), (1, 2)), [(1, 2)]),
        (((1, 2), (0, 3)), [(1, 2)]),  # one best reply
        (((1, 2), (1, 5), (0, 9)), [(1, 2), (1, 5)]),
        (((1, 2), (1, 2.5), (1, 5)), [(1, 2), (1, 5)]),  # a constant payoff
        (((2, -2), (2, -2), (-1, 1)), [(2, -2)]),  # zero-sum
        (((1e6, 2), (1e6, 5), (0, 9)), [(1e6, 2), (1e6, 5)]),
        (((1e-6, 2), (1e-6, 5), (0, 9)), [(1e-6, 2), (1e-6, 5)]),
    ],
)
def test_points_and_segments(cells, want):
    found = region(game_of(*cells))
    assert found.exact
    for polygon in found.polygons:
        assert len(polygon.vertices) == len(want)
        same_points(polygon, want)
        assert len(polygon.outer) >= len(want)


def test_payoffs_that_are_always_equal():
    """A common-interest game: the region is a segment on the diagonal."""
    game = accord.matrix_game([[[3, 0], [0, 1]], [[3, 0], [0, 1]]])
    found = region(game)
    assert found.exact
    for polygon in found.polygons:
        same_points(polygon, [(0.75, 0.75), (3, 3)])
    assert found.nash == ((1.0, 1.0), (3.0, 3.0))


def test_zero_sum_games_are_points():
    found = region(kuhn())
    assert (found.zero_sum, found.exact, found.directions) == (True, True, 0)
    assert found.nash is not None
    np.testing.assert_allclose(found.nash, [(-1 / 18, 1 / 18)], atol=1e-12)
    for polygon in found.polygons:
        assert polygon.vertices[0].payoffs == pytest.approx((-1 / 18, 1 / 18))
    reverse = region(kuhn(), players=tuple(kuhn().player_labels[::-1]))
    assert reverse.exact
    assert reverse[1].vertices[0].payoffs == pytest.approx((1 / 18, -1 / 18))


def test_agents_in_zero_sum_games_have_other_payoffs():
    """An agent who may deviate once only can be held below the value of the game."""
    found = region(kuhn(), (1, "afce"))
    assert found.exact
    check(found)
    assert len(found[1].vertices) == 1
    assert len(found["afce"].vertices) == 2
    total = [sum(vertex.payoffs) for vertex in found["afce"].vertices]
    assert total == pytest.approx([0.0, 0.0], abs=1e-9)
    least = accord.optimize(kuhn(), "afce", {kuhn().player_labels[0]: 1}, minimize=True)
    reached = min(vertex.payoffs[0] for vertex in found["afce"].vertices)
    assert reached == pytest.approx(least.value, abs=1e-8)


# --- honesty --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_proofs_it_is_not_exact(monkeypatch):
    """If no proof is to be had, inner polygons are the same but nothing is claimed."""
    want = region(signalling(), (0, 1))
    monkeypatch.setattr(column_generation.Relaxation, "solve", lambda *_: None)
    monkeypatch.setattr(column_generation.ColumnGeneration, "_relax_nearly", lambda *_: None)
    monkeypatch.setattr(column_generation.ColumnGeneration, "_exact_plans", lambda *_: [])
    found = region(signalling(), (0, 1))
    assert not found.exact
    assert not found.reached
    for polygon, whole in zip(found.polygons, want.polygons, strict=True):
        assert polygon.error > 1e-3
        assert distances(corners(polygon), corners(whole)).max() <= 1e-9
        assert distances(corners(whole), np.array(polygon.outer)).max() <= 1e-9


@pytest.mark.slow
def test_whatever_the_limit_the_bound_holds():
    rng = np.random.default_rng(0)
    for seed in range(8):
        game = random_game(seed=seed, players=2, depth=4, actions=3, observe=0.5, chance=0.2)
        whole = region(game, (0, 1))
        assert whole.exact
        part = region(game, (0, 1), directions=int(rng.integers(1, 8)))
        check(part)
        for polygon, all_of_it in zip(part.polygons, whole.polygons, strict=True):
            unit = units(whole)
            outer = np.array(polygon.outer) / unit
            assert distances(corners(all_of_it) / unit, outer).max() <= 1e-8


def test_vertices_are_fractions():
    found = region(accord.load_game(SHERIFF), (0, "efcce", 1))
    exact = {tuple(map(str, v.rational)) for v in found[1].vertices}
    assert ("307/79", "113/79") in exact and ("2749/663", "217/221") in exact
    for polygon in found.polygons:
        for vertex in polygon.vertices:
            assert vertex.payoffs == tuple(map(float, vertex.rational))
            assert vertex.to_json()["exact"] == list(map(str, vertex.rational))
    assert repr(found[1].welfare) == "RegionVertex(307/79, 113/79)"
    (point,) = region(kuhn(), 1)[1].vertices
    assert point.rational == (Fraction(-1, 18), Fraction(1, 18))


@examples(25)
@given(st.integers(0, 10**6))
def test_minmax_payoffs_bound_all_regions_and_feasible_payoffs_contain_them(seed):
    game = random_game(seed=seed, players=2, depth=3, actions=2, chance=0.3, levels=7)
    assume(reference.n_profiles(game) <= 64)
    found = region(game, (0, 1))
    for i in (0, 1):  # the value of the zero-sum game in which the other wants to hurt i
        own = game.reward[:, i]
        against = game.replace(reward=np.array([own if j == i else -own for j in (0, 1)]).T)
        assert found.minmax[i] == accord.optimize(against, 0).rational.payoffs[i]
        least = min(vertex.payoffs[i] for vertex in found[0].vertices)
        assert least >= float(found.minmax[i]) - 1e-9
    unit = units(found)
    inside = distances(corners(found[0]) / unit, np.array(found.feasible) / unit)
    assert inside.max() <= 1e-9
    best = max(found.feasible, key=sum)
    assert sum(best) >= sum(found[0].welfare.values) - 1e-9
