"""Rechistory trees and their counts, against the sets of the paper."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.deviations.counting import (
    EVALUATION,
    RechistoryCount,
    count_rechistories,
    count_triggers,
    rechistories_per_infoset,
)
from accord.deviations.notions import checked_k, written_k
from accord.deviations.rechistory import MAX_CELLS, ROOT, RechistoryTree
from accord.equilibrium.gap import RegretMeter
from accord.errors import AccordError, ArgumentError, BudgetError
from accord.game.library import kuhn, separation
from accord.game.tree import Game
from accord.treeplex.strategy import random_behavior
from accord.treeplex.treeplex import Treeplex, treeplexes
from tests import reference
from tests.support.policies import all_games, all_k, chain
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(60)
seeds = st.integers(0, 2**32 - 1)


def nodes_of(tree: RechistoryTree, x: int) -> range:
    return range(int(tree.arrays.first_node[x]), int(tree.arrays.first_node[x + 1]))


def named_nodes(tree: RechistoryTree, x: int, *, swap: bool) -> list[tuple[int, ...]]:
    return [tree.rechistory(node) for node in nodes_of(tree, x) if tree.is_swap[node] == swap]


def cell_of(tree: RechistoryTree, node: int) -> tuple[int, ...]:
    """The parent's cell that ``node`` continues: (recommended, action) or (action,)."""
    above = int(tree.arrays.parent[node])
    n = int(tree.plex.n_actions[tree.node_infoset[above]])
    offset = int(tree.arrays.parent_cell[node] - tree.arrays.first_cell[above])
    return divmod(offset, n) if tree.is_swap[above] else (offset,)


# --- the rechistories -----------------------------------------------------------------------------


def check_nodes(game: Game, i: int, k: float, tree: RechistoryTree) -> None:
    assert tree.k == min(k, tree.plex.horizon)
    assert not tree.is_swap[ROOT]
    assert tree.node_infoset[ROOT] == -1
    total = 1
    for x in reference.infosets(game, i):
        swap, external = (named_nodes(tree, x, swap=kind) for kind in (True, False))
        assert Counter(swap) == Counter(reference.type_one(game, i, k, x))
        assert Counter(external) == Counter(reference.type_two(game, i, k, x))
        assert set(nodes_of(tree, x)) == set(np.flatnonzero(tree.node_infoset == x).tolist())
        kinds = [bool(tree.is_swap[node]) for node in nodes_of(tree, x)]
        assert kinds == sorted(kinds, reverse=True)  # SWAP before EXTERNAL
        total += len(swap) + len(external)
    assert tree.n_nodes == total


@checked
@given(all_games())
def test_the_nodes_are_the_rechistories_of_the_paper(game):
    for i, plex in enumerate(treeplexes(game)):
        for k in all_k(game, i):
            check_nodes(game, i, k, RechistoryTree.build(plex, k))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, math.inf])
def test_the_nodes_of_a_long_game(k):
    game = separation(k=3)  # every infoset of the last layer has three decisions before it
    check_nodes(game, 0, k, RechistoryTree.build(treeplexes(game)[0], k))


@checked
@given(all_games(), seeds)
def test_time_selections_are_one_product_per_node(game, seed):
    rng = np.random.default_rng(seed)
    for i, plex in enumerate(treeplexes(game)):
        behavior = random_behavior(plex, rng)
        for k in all_k(game, i):
            tree = RechistoryTree.build(plex, k)
            rec_reach = [1.0] * tree.n_nodes
            for node in range(1, tree.n_nodes):
                above, seq = tree.arrays.parent[node], tree.arrays.rec_seq[node]
                assert above < node
                rec_reach[node] = rec_reach[above] * behavior[seq]
                x = int(tree.node_infoset[node])
                expected = reference.time_selection(game, i, behavior, x, tree.rechistory(node))
                assert rec_reach[node] == pytest.approx(expected, rel=1e-14)


@checked
@given(all_games())
def test_a_node_continues_the_cell_that_leads_to_it(game):
    for i, plex in enumerate(treeplexes(game)):
        for k in all_k(game, i):
            tree = RechistoryTree.build(plex, k)
            for node in range(1, tree.n_nodes):
                above, x = int(tree.arrays.parent[node]), int(tree.node_infoset[node])
                if above == ROOT:
                    assert plex.history(x) == []
                    assert tree.arrays.parent_cell[node] == ROOT
                    continue
                y, a = plex.history(x)[-1]
                assert tree.node_infoset[above] == y
                b = tree.rechistory(node)
                if tree.is_swap[above]:
                    assert b[:-1] == tree.rechistory(above)
                    assert cell_of(tree, node) == (b[-1], a)
                else:
                    assert not tree.is_swap[node]
                    assert b == tree.rechistory(above)
                    assert cell_of(tree, node) == (a,)


@checked
@given(all_games())
def test_cells_and_rows_partition(game):
    for i, plex in enumerate(treeplexes(game)):
        for k in all_k(game, i):
            tree = RechistoryTree.build(plex, k)
            n = plex.n_actions[tree.node_infoset[1:]]
            swap = tree.is_swap[1:]
            assert tree.arrays.first_cell[:2].tolist() == [0, 1]
            assert np.diff(tree.arrays.first_cell[1:]).tolist() == np.where(swap, n * n, n).tolist()
            assert tree.first_row[:2].tolist() == [0, 1]
            assert np.diff(tree.first_row[1:]).tolist() == np.where(swap, n, 1).tolist()
            assert tree.n_cells == tree.arrays.first_cell[-1]


def test_a_player_who_never_decides_has_no_rechistories():
    tree = RechistoryTree.build(Treeplex.from_parents([], [], []), math.inf)
    assert (tree.k, tree.n_nodes, tree.n_cells) == (0, 1, 1)
    assert count_rechistories(tree.plex, 5) == RechistoryCount(0, 0.0, 0.0, 0.0)
    assert RechistoryTree.build_triggers(tree.plex).n_nodes == 1


def test_the_tree_cannot_be_changed():
    tree = RechistoryTree.build(chain(2, 2), 1)
    for array in tree.arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


# --- counts ---------------------------------------------------------------------------------------


@checked
@given(all_games())
def test_counts_are_the_real_sizes(game):
    for i, plex in enumerate(treeplexes(game)):
        for k in all_k(game, i):
            tree = RechistoryTree.build(plex, k)
            count = count_rechistories(plex, k)
            swap, external = rechistories_per_infoset(plex, tree.k)
            assert list(zip(swap, external, strict=True)) == reference.rechistory_counts(game, i, k)
            assert count.k == tree.k
            assert count.swap == np.count_nonzero(tree.is_swap)
            assert count.nodes == tree.n_nodes - 1
            assert count.cells == tree.n_cells - 1
            assert count.rows == tree.first_row[-1] - 1
        tree, count = RechistoryTree.build_triggers(plex), count_triggers(plex)
        assert (count.nodes, count.cells) == (tree.n_nodes - 1, tree.n_cells - 1)
        assert count.rows == tree.first_row[-1] - 1


@pytest.mark.parametrize(("actions", "depth"), [*product([1, 2, 3, 4], [1, 2, 5])])
def test_counts_have_the_closed_form_of_equal_action_sets(actions, depth):
    plex = chain(*[actions] * depth)
    for k in range(depth + 1):
        swap, external = rechistories_per_infoset(plex, k)
        for h in range(1, depth + 1):
            ways = [math.comb(h - 1, j) * (actions - 1) ** j for j in range(k + 1)]
            assert swap[h - 1] == sum(ways[:k])
            assert external[h - 1] == ways[k]


def test_counts_of_uneven_action_sets():
    # After 2, 4 and 3 actions there are e_0 = 1, e_1 = 1 + 3 + 2, e_2 = 3 + 2 + 6 and e_3 = 6.
    count = count_rechistories(chain(2, 4, 3, 5), 2)
    assert count.swap == 1 + (1 + 1) + (1 + 4) + (1 + 6)
    assert count.external == 0 + 0 + 3 + 11
    assert count.cells == 1 * 4 + 2 * 16 + 5 * 9 + 7 * 25 + 3 * 3 + 11 * 5


def test_the_memory_estimate_covers_the_tree_and_a_meter():
    plex = chain(*[3] * 9)
    count = count_rechistories(plex, 4)
    RegretMeter(plex, 1)  # loads the kernels, which take memory too
    tracemalloc.start()
    try:
        meter = RegretMeter(plex, 4)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    tree_bytes = sum(array.nbytes for array in meter.tree.arrays)
    assert count.tree_bytes <= tree_bytes <= count.tree_bytes + 8 * plex.n_infosets + 100
    assert 0.95 * count.bytes(EVALUATION) < used < 1.05 * count.bytes(EVALUATION) + 10_000


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [30, math.inf])
def test_sixty_binary_decisions_are_refused_with_the_numbers(k):
    plex = chain(*[2] * 60)
    with pytest.raises(BudgetError, match="try a smaller k") as refusal:
        RechistoryTree.build(plex, k)
    count = count_rechistories(plex, k)
    if k == math.inf:
        assert (count.swap, count.external) == (2.0**60 - 1, 0.0)
        assert "1.153e+18 rechistories" in str(refusal.value)
        assert "4.612e+18 cells" in str(refusal.value)
    assert refusal.value.required == int(count.bytes(EVALUATION))
    assert 0 < refusal.value.available < refusal.value.required
    assert isinstance(refusal.value, MemoryError)


def test_refusal_comes_before_allocation():
    plex = chain(*[2] * 24)  # 2**24 rechistories: 335 MB if they were made
    _ = plex.layers, plex.n_actions
    tracemalloc.start()
    try:
        with pytest.raises(BudgetError):
            RechistoryTree.build(plex, math.inf, budget=10**6)
        with pytest.raises(BudgetError):
            RechistoryTree.build_triggers(plex, budget=1000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300_000


def test_the_budget_is_exact():
    plex = chain(2, 3, 2)
    need = int(count_rechistories(plex, 2).bytes(EVALUATION))
    assert RechistoryTree.build(plex, 2, budget=need).n_nodes > 1
    with pytest.raises(BudgetError) as refusal:
        RechistoryTree.build(plex, 2, budget=need - 1)
    assert (refusal.value.required, refusal.value.available) == (need, need - 1)


def test_more_cells_than_an_index_can_count_are_refused_whatever_the_budget():
    plex = chain(*[2] * 31)
    assert count_rechistories(plex, math.inf).cells > MAX_CELLS
    with pytest.raises(BudgetError, match="cells are possible"):
        RechistoryTree.build(plex, math.inf, budget=2**62)


@pytest.mark.parametrize("tail", [[], [1], [1, 1, 3]])
def test_counts_beyond_the_floats_are_refused_too(tail):
    n_actions = [2] * 1100 + tail
    plex = chain(*n_actions)
    with pytest.raises(BudgetError):
        RechistoryTree.build(plex, math.inf)
    assert math.isfinite(count_rechistories(plex, math.inf).bytes(EVALUATION))
    one = sum(1 + sum(n - 1 for n in n_actions[:h]) for h in range(len(n_actions)))
    assert RechistoryTree.build(plex, 1).n_nodes == 1 + one


@pytest.mark.parametrize("k", [-1, -5, 1.5, math.nan, -math.inf, True, False, "one", None, [1]])
def test_invalid_k_are_refused(k):
    plex = chain(2, 2)
    for use in (RechistoryTree.build, count_rechistories, RegretMeter):
        with pytest.raises(ArgumentError, match="whole number of deviations") as error:
            use(plex, k)
        assert repr(k) in str(error.value)
        assert isinstance(error.value, AccordError)


@pytest.mark.parametrize("k", [np.int64(1), np.uint8(1), np.float32(1), 1, 1.0, "1", "efce"])
def test_k_is_a_number_of_any_kind_or_a_name(k):
    assert RechistoryTree.build(chain(2, 2), k).k == 1


def test_k_is_clipped_to_the_horizon():
    plex = chain(2, 2, 2)
    sizes = {k: RechistoryTree.build(plex, k).n_nodes for k in (3, 4, 10**30, math.inf)}
    assert len(set(sizes.values())) == 1
    assert RechistoryTree.build(plex, 10**30).k == 3


# --- trigger trees --------------------------------------------------------------------------------


@checked
@given(all_games())
def test_a_trigger_tree_has_one_branch_per_trigger(game):
    for i, plex in enumerate(treeplexes(game)):
        tree = RechistoryTree.build_triggers(plex)
        for x in reference.infosets(game, i):
            path = reference.path(game, i, x)
            moves = tuple(a for _, a in path)
            assert named_nodes(tree, x, swap=True) == [moves]  # obeyed so far
            triggers = [  # r was recommended at an earlier infoset, whatever was played there
                (*moves[:h], r)
                for h, (y, _) in enumerate(path)
                for r in reference.actions(game, i, y)
            ]
            assert Counter(named_nodes(tree, x, swap=False)) == Counter(triggers)


@checked
@given(all_games())
def test_obeying_continues_no_cell_of_a_trigger_tree(game):
    for i, plex in enumerate(treeplexes(game)):
        tree = RechistoryTree.build_triggers(plex)
        for x in reference.infosets(game, i):
            for node in nodes_of(tree, x):
                if tree.is_swap[node]:
                    assert tree.arrays.parent_cell[node] == ROOT
                else:
                    b, a = tree.rechistory(node), reference.path(game, i, x)[-1][1]
                    above = int(tree.arrays.parent[node])
                    assert cell_of(tree, node) == ((b[-1], a) if tree.is_swap[above] else (a,))


def test_the_trigger_tree_of_kuhn_poker():
    plex = treeplexes(kuhn())[0]  # three cards; each, after a pass and a bet, decides once more
    tree = RechistoryTree.build_triggers(plex)
    assert np.count_nonzero(tree.is_swap) == 6
    assert tree.n_nodes == 1 + 6 + 3 * 2
    assert tree.n_cells == 1 + 6 * 4 + 6 * 2


@pytest.mark.parametrize("k", [0, 1, 7, math.inf])
def test_k_is_read_as_it_was_written(k):
    assert checked_k(json.loads(json.dumps(written_k(k), allow_nan=False))) == k


@pytest.mark.parametrize("written", ["infinite", "efcce", 1.5, None, [1]])
def test_invalid_written_k_are_refused(written):
    with pytest.raises(ArgumentError, match="whole number of deviations"):
        checked_k(written)
