"""Notions, how they are named and ordered, and the trees of the coarse and agent-form ones."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from accord.deviations.counting import EVALUATION, count_rechistories
from accord.deviations.notions import (
    AFCCE,
    AFCE,
    BCE,
    EFCCE,
    EFCE,
    LADDER,
    LCE,
    NAMES,
    NFCCE,
    NFCE,
    Notion,
    as_notion,
    chains,
    checked_k,
)
from accord.deviations.rechistory import (
    COARSE,
    EXTERNAL,
    NO_RECOMMENDATION,
    OBEDIENT,
    ROOT,
    SWAP,
    RechistoryTree,
)
from accord.errors import ArgumentError, BudgetError
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.kefr import KEFR
from accord.learning.whole_plays import WholePlayKEFR
from accord.treeplex.treeplex import Treeplex, treeplexes
from tests import reference
from tests.support.policies import OTHER_NOTIONS, all_games, chain
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(50)


# --- names and order ------------------------------------------------------------------------------


def test_a_notion_is_found_by_its_name_and_by_its_k():
    for name, notion in NAMES.items():
        assert notion.name == str(notion) == name
        assert as_notion(name) == as_notion(name.lower()) == as_notion(notion) == notion
    for k, notion in ((0, NFCCE), (1, EFCE), (math.inf, BCE), (np.int64(1), EFCE)):
        assert as_notion(k) == notion
        assert notion.k == k
    for two in (2, 2.0, np.float64(2), "2", "2.0", " 2-efce", "2-EFCE"):
        assert as_notion(two) == Notion(2)
        assert type(as_notion(two).k) is int
    for infinite in ("inf", "Infinity", "∞", "inf-efce", "9" * 5000, np.float32(np.inf)):
        assert as_notion(infinite) == BCE
    assert [one.k for one in (EFCCE, AFCE, AFCCE, LCE, NFCE)] == [None] * 5


def test_how_a_notion_is_written():
    ladder = [(one.name, one.written, one.symbol) for one in LADDER]
    assert ladder == [
        ("NFCCE", 0, "0"),
        ("EFCCE", "efcce", "EFCCE"),
        ("EFCE", 1, "1"),
        ("AFCCE", "afcce", "AFCCE"),
        ("AFCE", "afce", "AFCE"),
        ("2-EFCE", 2, "2"),
        ("BCE", "inf", "∞"),
        ("LCE", "lce", "LCE"),
        ("NFCE", "nfce", "NFCE"),
    ]


@pytest.mark.parametrize("given", ["", "-1", "nan", "nash", "1.5-efce", -1, 1.5, True, None])
def test_what_is_no_notion(given):
    with pytest.raises(ArgumentError, match="k must be a whole number of deviations") as error:
        as_notion(given)
    assert repr(given) in str(error.value)
    assert "one of nfcce, efcce, efce, afcce, afce, bce, lce, nfce; got" in str(error.value)


def test_k_is_a_number_or_the_name_of_a_notion_that_has_one():
    for k in (1, 1.0, "1", "efce", "EFCE", "1-EFCE", EFCE):
        assert checked_k(k) == 1
    for k in ("efcce", AFCE, "lce", "nfce"):
        with pytest.raises(ArgumentError, match="or one of nfcce, efce, bce; got"):
            checked_k(k)


@pytest.mark.parametrize(
    "flags", [{"coarse": True}, {"agent": True}, {"coarse": True, "agent": True}]
)
def test_a_coarse_or_agent_form_deviator_deviates_once(flags):
    for deviations in (0, 2, math.inf):
        with pytest.raises(ArgumentError, match="deviates once"):
            Notion(deviations, **flags)
    with pytest.raises(ArgumentError, match="has no foresight"):
        Notion(1, foresight=True, **flags)
    with pytest.raises(ArgumentError, match="linear=True"):
        Notion(1, linear=True, **flags)


def test_the_order_is_partial_and_the_ladder_respects_it():
    every = (*LADDER, Notion(3))
    for one in every:
        assert one.is_bounded_by(one)
        for other in every:
            if one != other:
                assert not (one.is_bounded_by(other) and other.is_bounded_by(one))
            for third in every:
                if one.is_bounded_by(other) and other.is_bounded_by(third):
                    assert one.is_bounded_by(third)
    for n, one in enumerate(LADDER):
        assert not any(later.is_bounded_by(one) for later in LADDER[n + 1 :])


def test_the_chains():
    assert [[one.name for one in chain] for chain in chains(LADDER)] == [
        ["NFCCE", "EFCCE", "EFCE", "2-EFCE", "BCE", "NFCE"],
        ["EFCE", "LCE", "NFCE"],
        ["AFCCE", "AFCE", "2-EFCE"],
    ]
    for chain_ in chains((*reversed(LADDER), Notion(3), EFCE)):
        assert all(one.is_bounded_by(other) for one, other in pairwise(chain_))
    assert chains([AFCE, EFCE]) == chains([LCE, BCE]) == []
    assert chains([LCE, NFCCE]) == [[NFCCE, LCE]]
    assert chains([LCE, EFCE, NFCE]) == [[EFCE, LCE, NFCE]]  # and not EFCE <= NFCE once more
    assert chains([AFCE, EFCE, BCE]) == [[EFCE, BCE], [AFCE, BCE]]
    assert chains([EFCE]) == chains([]) == []


# --- trees ----------------------------------------------------------------------------------------


@checked
@given(all_games())
def test_the_trees_have_one_node_per_way_to_deviate(game):
    for i, plex in enumerate(treeplexes(game)):
        for name in OTHER_NOTIONS:
            tree, notion = RechistoryTree.build(plex, name), as_notion(name)
            first, second = (
                COARSE if notion.coarse else SWAP,
                OBEDIENT if notion.agent else EXTERNAL,
            )
            for x in reference.infosets(game, i):
                path = reference.path(game, i, x)
                ways = sum(
                    1 if notion.coarse else len(reference.actions(game, i, y)) - 1 for y, _ in path
                )
                kinds = tree.kind[tree.node_infoset == x].tolist()
                assert kinds == [first] + [second] * ways


@checked
@given(all_games())
def test_a_node_continues_the_cell_that_leads_to_it(game):
    for i, plex in enumerate(treeplexes(game)):
        for name in OTHER_NOTIONS:
            tree = RechistoryTree.build(plex, name)
            arrays, coarse = tree.arrays, tree.notion.coarse
            taken = set()
            for node in range(ROOT + 1, tree.n_nodes):
                above, x = int(arrays.parent[node]), int(tree.node_infoset[node])
                cell = int(arrays.parent_cell[node])
                if above == ROOT:
                    assert not reference.path(game, i, x)
                    assert (cell, arrays.rec_seq[node]) == (ROOT, NO_RECOMMENDATION)
                    continue
                assert (x, cell) not in taken
                taken.add((x, cell))
                y, a = reference.path(game, i, x)[-1]
                assert tree.node_infoset[above] == y
                n = len(reference.actions(game, i, y))
                told = int(arrays.rec_seq[node]) - int(plex.first_seq[y])
                offset = cell - int(arrays.first_cell[above])
                kind, above_kind = int(tree.kind[node]), int(tree.kind[above])
                if above_kind == EXTERNAL:
                    assert (kind, offset) == (EXTERNAL, a)
                    assert arrays.rec_seq[node] == NO_RECOMMENDATION
                elif above_kind == OBEDIENT:
                    assert (kind, offset, told) == (OBEDIENT, 0, a)
                elif above_kind == SWAP:
                    assert offset == told * n + a
                    assert (kind == SWAP) == (told == a)
                elif kind == COARSE:
                    assert (offset, told) == (0, a)
                else:
                    assert coarse
                    assert offset == 1 + a
                    assert arrays.rec_seq[node] == NO_RECOMMENDATION


@checked
@given(all_games())
def test_counts_are_the_real_sizes(game):
    for plex in treeplexes(game):
        for name in (*OTHER_NOTIONS, 0, 1, math.inf):
            tree, count = RechistoryTree.build(plex, name), count_rechistories(plex, name)
            assert (count.k, count.nodes, count.cells) == (
                tree.k,
                tree.n_nodes - 1,
                tree.n_cells - 1,
            )
            assert len(tree.row_width) == tree.first_row[-1]
            assert tree.row_width.sum() == tree.n_cells
            first = np.concatenate([[0], np.cumsum(tree.row_width)])
            assert first[tree.first_row].tolist() == tree.arrays.first_cell.tolist()


def test_the_tree_of_a_chain():
    plex = chain(2, 3, 2)
    cells = {"EFCCE": [3, 4 + 3, 3 + 2 * 2], "AFCE": [4, 9 + 1, 4 + 3], "AFCCE": [3, 4 + 1, 3 + 2]}
    for name, expected in cells.items():
        tree = RechistoryTree.build(plex, name)
        sizes = np.diff(tree.arrays.first_cell[np.append(tree.arrays.first_node, tree.n_nodes)])
        assert sizes[:3].tolist() == expected
        assert repr(tree) == f"RechistoryTree(k={name}, nodes={tree.n_nodes}, cells={tree.n_cells})"


def test_a_player_who_never_decides():
    plex = Treeplex.from_parents([], [], [])
    for name in OTHER_NOTIONS:
        tree = RechistoryTree.build(plex, name)
        assert (tree.k, tree.n_nodes, tree.n_cells) == (0, 1, 1)


def test_the_budget_is_that_of_the_notion():
    plex = chain(3, 3, 3, 3)
    for name in OTHER_NOTIONS:
        need = int(count_rechistories(plex, name).bytes(EVALUATION))
        assert RechistoryTree.build(plex, name, budget=need).n_nodes > 1
        with pytest.raises(BudgetError):
            RechistoryTree.build(plex, name, budget=need - 1)


def test_the_normal_form_has_no_tree():
    with pytest.raises(ArgumentError, match="got 'nfce', whose deviators know more"):
        RechistoryTree.build(chain(2), "nfce")


@pytest.mark.parametrize("learner", [KEFR, BalancedKEFR, WholePlayKEFR])
def test_learners_take_a_k_or_its_name(learner):
    named = learner(chain(2, 2), "efce", iterations=10)
    assert named.tree.notion == EFCE if learner is KEFR else named.tables.rule == (1, False, False)
    for k in ("efcce", AFCE):
        if learner is BalancedKEFR:
            with pytest.raises(ArgumentError, match="k must be a whole number of deviations"):
                learner(chain(2, 2), k, iterations=10)
        else:
            own = learner(chain(2, 2), k, iterations=10)
            wanted = as_notion(k)
            if learner is KEFR:
                assert own.tree.notion == wanted
            else:
                assert own.tables.rule == (1, wanted.coarse, wanted.agent)
