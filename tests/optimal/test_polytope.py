"""The relaxation: it bounds all equilibria, is exact without chance, and comes apart into plans."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.deviations.rechistory import OBEDIENT
from accord.errors import BudgetError
from accord.game.library import chicken, random_game, signalling
from accord.optimal.decomposition import decomposed
from accord.optimal.incentives import Incentives
from accord.optimal.linear import LinearProgram, triples
from accord.optimal.objective import as_objective
from accord.optimal.polytope import Relaxation
from accord.optimal.tuples import Tuples
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.strategies import examples, games

ks = st.sampled_from([0, 1, 2, math.inf, "efcce", "afce", "afcce"])
seeds = st.integers(0, 2**32 - 1)


def tuples_of(game, k, limit=100_000):
    return Tuples(Incentives.build(sequence_form(game), k), limit)


def plan_tuples(tuples, plan):
    """xi of a joint plan: whether every player is told the tuple's positions."""
    incentives = tuples.incentives
    xi = np.ones(len(tuples))
    for i, (tree, actions) in enumerate(
        zip(incentives.trees, incentives.split_plan(plan), strict=True)
    ):
        plex, positions = tree.plex, tuples.positions[i]
        told = np.zeros(positions.count, bool)
        told[0] = True
        for x in range(plex.n_infosets):  # sequences
            told[plex.first_seq[x] + actions[x]] = told[plex.parent_seq[x]]
        for node in range(1, tree.n_nodes):  # recommendations that deviators hear
            hears = tree.is_swap[node] or tree.kind[node] == OBEDIENT
            if hears and told[positions.arriving[node]]:
                told[positions.first[node] + actions[tree.node_infoset[node]]] = True
        xi *= told[tuples.keys // tuples.strides[i] % positions.count]
    return xi


@examples(50)
@given(games(), ks, seeds)
def test_every_joint_plan_is_a_correlation_plan(game, k, seed):
    tuples, rng = tuples_of(game, k), np.random.default_rng(seed)
    sizes = np.concatenate([plex.n_actions for plex in sequence_form(game).plexes])
    plan = np.array([rng.integers(n) for n in sizes], np.int32)
    xi, column = plan_tuples(tuples, plan), tuples.incentives.column(plan)
    count, entries = tuples.equations()
    rows = np.bincount(entries.rows, entries.values * xi[entries.columns], count)
    assert not rows.any()
    count, entries = tuples.coincidences()
    assert (np.bincount(entries.rows, entries.values * xi[entries.columns], count) >= 0).all()
    assert xi[0] == 1.0
    obeying = tuples.obeying
    losses = np.bincount(obeying.rows, obeying.values * xi[obeying.columns], game.n_players)
    np.testing.assert_allclose(losses, column.loss, atol=1e-12)
    for i, tree in enumerate(tuples.incentives.trees):
        forms = tuples.deviating[i]
        total = np.bincount(forms.rows, forms.values * xi[forms.columns], tree.n_cells)
        want = np.zeros(tree.n_cells)
        want[column.cells[i]] = column.values[i]
        np.testing.assert_allclose(total, want, atol=1e-12)


@pytest.mark.slow
@examples(40)
@given(seeds, st.sampled_from([0.0, 0.5, 1.0]), st.integers(-2, 2), st.integers(-2, 2))
def test_without_chance_it_is_exact_and_comes_apart(seed, observe, first, second):
    game = random_game(
        seed=seed, players=2, depth=4, actions=3, observe=observe, chance=0.0, levels=1001
    )
    assume(4 <= len(sequence_form(game).leaves) <= 100)
    tuples = tuples_of(game, 1)
    objective = as_objective([first, second], game.player_labels)
    relaxed = Relaxation(tuples, objective, 0.0).solve()
    want = reference.best_efce_by_polytope(game, (first, second))
    want -= float(objective.center(sequence_form(game).leaves))
    assert relaxed.bound == pytest.approx(want, rel=0, abs=1e-8)
    assert relaxed.bound >= want - 1e-9
    assert len(decomposed(tuples, relaxed.plan, 200)) < 200  # nothing is left


def test_a_mixture_comes_apart():
    game = signalling()
    tuples = tuples_of(game, 1)
    plans = [tuples.incentives.reduced(np.array(p, np.int32)) for p in ([0, 1, 1, 0], [1, 1, 0, 0])]
    xi = 0.75 * plan_tuples(tuples, plans[0]) + 0.25 * plan_tuples(tuples, plans[1])
    found = decomposed(tuples, xi, 10)
    assert {plan.tobytes() for _, plan in found} == {plan.tobytes() for plan in plans}


def test_too_many_tuples_are_refused():
    with pytest.raises(BudgetError, match="relevant tuples"):
        tuples_of(chicken(), 1, limit=5)


@examples(50)
@given(seeds)
def test_any_duals_give_a_bound(seed):
    rng = np.random.default_rng(seed)
    program = LinearProgram()
    program.add_variables(4, -1.0, rng.random(4), rng.normal(size=4))
    entries = triples(np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3), rng.normal(size=12))
    program.add_rows(3, [-math.inf, -5.0, 0.0], [4.0, 5.0, 0.0], entries)
    highs = program.solver()
    highs.run()
    best = highs.getObjectiveValue()
    if highs.modelStatusToString(highs.getModelStatus()) != "Optimal":
        return
    assert program.safe_bound(rng.normal(size=3))[0] <= best + 1e-9
    duals = np.array(highs.getSolution().row_dual)
    assert program.safe_bound(duals)[0] == pytest.approx(best, abs=1e-8)
