"""The exact gap and its witness against every modification there is; regret, step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.certifying.exact import certify
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.gap import RegretMeter, add_deviation_loss, efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.game.builder import GameBuilder
from accord.game.library import kuhn, separation
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import random_behavior, uniform_behavior
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import immediate_loss, joint_reach
from tests import reference
from tests.support.policies import (
    all_games,
    all_k,
    as_reference,
    grown_game,
    grown_games,
    phi_as_reference,
    random_behaviors,
    random_phi,
    random_policy,
    tiny_games,
)
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(50)
seeds = st.integers(0, 2**32 - 1)


# --- brute force ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
def test_the_gap_is_the_maximum_over_all_modifications(players, k):
    tried = tiny_games(players, 4, lambda game, i: reference.n_modifications(game, i, k), 3000)
    for seed, (game, some) in enumerate(tried):
        policy = random_policy(game, seed)
        certificate = certify(game, policy, k=k)
        said = as_reference(policy)
        for i in some:
            gap = reference.efce_gap(game, i, k, said)
            assert certificate[k].player_gaps[i] == pytest.approx(gap, abs=1e-12)


def three_in_a_row() -> Game:
    """Player 1 may stop three times; what that and going on is worth depends on a hidden move."""
    b = GameBuilder(players=2)
    b.move(player="2", actions="up down")
    for n in range(3):
        nodes = [[hidden, *["go"] * n] for hidden in ("up", "down")]
        b.move(*nodes, player="1", infoset=n, actions="go stop")
        b.payoff([*nodes[0], "stop"], n, 1)
        b.payoff([*nodes[1], "stop"], 2 - n, 0)
    b.payoff("up go go go", 3, 0)
    b.payoff("down go go go", -1, 1)
    return b.build()


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, 2, 3, math.inf])
def test_the_gap_of_three_decisions_in_a_row(k):
    """Long enough that after two deviations there is still something to decide."""
    game = three_in_a_row()
    rows = {0: 3, 1: 2 + 3 + 4, 2: 2 + 4 + 7}.get(k, 2 + 4 + 8)
    assert reference.n_modifications(game, 0, k) == 2**rows
    for seed in range(3 if k < 3 else 1):
        policy = random_policy(game, seed, components=3)
        gap = reference.efce_gap(game, 0, k, as_reference(policy))
        assert certify(game, policy, k=k)[k].player_gaps[0] == pytest.approx(gap, abs=1e-12)


@pytest.mark.slow
def test_the_gap_of_every_modification_of_kuhn_poker_at_one():
    game = kuhn()
    policy = random_policy(game, 5, components=2, pure=0.0)
    found = certify(game, policy, k=1)[1].player_gaps
    for i, n in ((0, 2**15), (1, 2**12)):
        assert reference.n_modifications(game, i, 1) == n
        gap = reference.efce_gap(game, i, 1, as_reference(policy))
        assert found[i] == pytest.approx(gap, abs=1e-12)


# --- witnesses ------------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_gap_and_witness_are_those_of_plain_recursion(game, seed):
    policy = random_policy(game, seed)
    said, values = as_reference(policy), policy.values()
    ks = sorted({k for i in range(game.n_players) for k in all_k(game, i)})
    certificate = certify(game, policy, k=ks)
    assert [gap.k for gap in certificate.gaps] == ks
    assert certificate.values == pytest.approx(reference.correlated_values(game, said), abs=1e-13)
    assert values == pytest.approx(certificate.values, abs=1e-13)
    for k in ks:
        for i in range(game.n_players):
            best, _ = reference.best_deviation(game, i, k, said)
            assert certificate[k].player_gaps[i] == pytest.approx(best, abs=1e-12)
            witness = certificate[k].witnesses[i]
            assert witness.gain == certificate[k].player_gaps[i]
            phi = phi_as_reference(witness.modification)
            attained = reference.modified_value(game, i, k, phi, said) - values[i]
            assert attained == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
def test_the_witness_of_a_long_game_attains_the_gap(k):
    """Nine rechistories and more at an infoset, three actions, a policy of mixed components."""
    game = grown_game(3, players=2, most=100)
    for seed in range(5):
        policy = random_policy(game, seed, components=3, pure=0.0)
        gap = certify(game, policy, k=k)[k]
        for i in range(2):
            phi = phi_as_reference(gap.witnesses[i].modification)
            attained = (
                reference.modified_value(game, i, k, phi, as_reference(policy)) - policy.values()[i]
            )
            assert gap.player_gaps[i] == pytest.approx(attained, abs=1e-12)


@checked
@given(grown_games(), seeds)
def test_no_modification_does_better_than_the_witness(game, seed):
    rng = np.random.default_rng(seed)
    form = sequence_form(game)
    policy = random_policy(game, seed)
    ks = (0, 1, 2, math.inf)
    certificate = certify(game, policy, k=ks)
    for i, plex in enumerate(form.plexes):
        for k in ks:
            tree = RechistoryTree.build(plex, k)
            gap = certificate[k].player_gaps[i]
            for _ in range(3):
                phi = random_phi(tree, rng)
                gain = -policy.values()[i]
                for weight, behaviors in policy.components():
                    changed = list(behaviors)
                    reach = joint_reach(form.plexes, changed)
                    form.split(reach)[i][:] = phi.sequence_form(behaviors[i])
                    seqs = form.leaves.first_reach[:-1] + form.leaves.seqs
                    gain += weight * (reach[seqs].prod(axis=1) @ form.leaves.payoff[:, i])
                assert gain <= gap + 1e-12


def test_who_cannot_gain_obeys():
    """Ties go to the recommendation, so that a witness of gap 0 deviates nowhere."""
    game = separation(k=1)
    policy = CorrelatedPolicy.product(
        game, [uniform_behavior(plex) for plex in sequence_form(game).plexes]
    )
    gap = certify(game, policy, k=2)[2]
    second = gap.witnesses[1]  # always gets 0
    assert second.gain == 0.0
    assert second.first_deviations == ()
    told = phi_as_reference(second.modification)
    answers = [(key[2], a) for key, a in told.items() if len(key) == 3]
    assert len(answers) == 2 * np.count_nonzero(second.modification.tree.is_swap) > 0
    assert all(recommended == a for recommended, a in answers)


# --- regret ---------------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_regret_is_exact_at_every_step(game, seed):
    """One player's policies against opponents who change as they like."""
    rng = np.random.default_rng(seed)
    form = sequence_form(game)
    for i, plex in enumerate(form.plexes):
        ks = all_k(game, i)
        meters = [RegretMeter(plex, k) for k in ks]
        iterates = []
        for _ in range(4):
            behaviors = random_behaviors(game, rng)
            iterates.append([behavior.tolist() for behavior in behaviors])
            loss = immediate_loss(form.leaves, i, joint_reach(form.plexes, behaviors))
            for meter, k in zip(meters, ks, strict=True):
                meter.observe(behaviors[i], loss)
                expected = reference.efce_regret(game, i, k, iterates)
                assert meter.regret() == pytest.approx(expected, abs=1e-12)
                assert meter.regret() == meter.regret()  # asking changes nothing
                assert meter.total_weight == len(iterates)


@checked
@given(grown_games(), seeds)
def test_weighted_regret_is_the_gap_of_the_mixture(game, seed):
    form = sequence_form(game)
    policy = random_policy(game, seed)
    ks = (0, 1, math.inf)
    certificate = certify(game, policy, k=ks)
    for k in ks:
        assert efce_gaps(policy, k) == pytest.approx(certificate[k].player_gaps, abs=1e-12)
    for i, plex in enumerate(form.plexes):
        for k in ks:
            meter = RegretMeter(plex, k)
            for weight, behaviors in policy.components():
                loss = immediate_loss(form.leaves, i, joint_reach(form.plexes, behaviors))
                meter.observe(behaviors[i], loss, 2.5 * weight)
            regret, phi = meter.best_deviation()
            gap = certificate[k]
            expected = 2.5 * gap.player_gaps[i] * form.leaves.loss_scale[i]
            assert regret == pytest.approx(expected, abs=1e-12)
            assert meter.total_weight == pytest.approx(2.5)
            assert (
                phi_as_reference(phi).keys()
                == phi_as_reference(gap.witnesses[i].modification).keys()
            )


@checked
@given(st.integers(1, 4), st.integers(1, 3), seeds)
def test_regret_against_losses_that_no_game_gives(depth, actions, seed):
    """Any losses over sequences, some negative; the best phi by trying all."""
    rng = np.random.default_rng(seed)
    plex = Treeplex.from_parents([actions] * depth, range(-1, depth - 1), [0] * depth)
    meter = RegretMeter(plex, 1)
    rounds = []
    for _ in range(3):
        rounds.append((random_behavior(plex, rng), rng.normal(size=plex.n_sequences)))
        meter.observe(*rounds[-1])
    own, _ = own_and_modified(plex, None, rounds)
    regret, phi = meter.best_deviation()
    assert meter.own_loss == pytest.approx(own, abs=1e-12)
    _, modified = own_and_modified(plex, phi, rounds)
    assert regret == pytest.approx(own - modified, abs=1e-12)
    for _ in range(5):
        _, other = own_and_modified(plex, random_phi(meter.tree, rng), rounds)
        assert own - other <= regret + 1e-12


def own_and_modified(plex, phi, rounds) -> tuple[float, float]:
    own = modified = 0.0
    for behavior, loss in rounds:
        reach = np.ones(plex.n_sequences)
        for x in range(plex.n_infosets):
            span = slice(plex.first_seq[x], plex.first_seq[x + 1])
            reach[span] = reach[plex.parent_seq[x]] * behavior[span]
        own += float(reach @ loss)
        modified += float(phi.sequence_form(behavior) @ loss) if phi is not None else 0.0
    return own, modified


def _add(plex, tree, behavior, loss, rec_reach, total):
    """One policy of weight 1."""
    rows = behavior[np.newaxis], loss[np.newaxis], np.ones(1)
    add_deviation_loss(plex.arrays, tree.arrays, *rows, rec_reach, total)


def test_the_kernel_writes_time_selections():
    plex = sequence_form(separation(k=2)).plexes[0]
    tree = RechistoryTree.build(plex, 2)
    behavior = random_behavior(plex, np.random.default_rng(0))
    total, rec_reach = np.zeros(tree.n_cells), np.full(tree.n_nodes, np.nan)
    loss = np.ones(plex.n_sequences)
    _add(plex, tree, behavior, loss, rec_reach, total)
    game = separation(k=2)
    for node in range(1, tree.n_nodes):
        x = int(tree.node_infoset[node])
        expected = reference.time_selection(game, 0, behavior, x, tree.rechistory(node))
        assert rec_reach[node] == pytest.approx(expected, rel=1e-14)


@checked
@given(all_games(), seeds)
def test_infosets_without_losses_change_nothing(game, seed):
    """Losses are met below some sequences only; where none is met, nothing is added."""
    rng = np.random.default_rng(seed)
    for plex in sequence_form(game).plexes:
        tree = RechistoryTree.build(plex, 2)
        behavior = random_behavior(plex, rng)
        parts = rng.random((2, plex.n_sequences)) * (rng.random((2, plex.n_sequences)) < 0.2)
        totals = np.zeros((3, tree.n_cells))
        for total, loss in zip(totals, (parts[0], parts[1], parts[0] + parts[1]), strict=True):
            rec_reach = np.full(tree.n_nodes, np.nan)
            _add(plex, tree, behavior, loss, rec_reach, total)
        assert np.isfinite(totals).all()
        np.testing.assert_allclose(totals[0] + totals[1], totals[2], rtol=1e-13, atol=1e-300)
        whole = np.zeros(tree.n_cells)
        everywhere, reach = parts[0] + 1e-200, np.zeros(tree.n_nodes)
        _add(plex, tree, behavior, everywhere, reach, whole)
        np.testing.assert_allclose(totals[0], whole, rtol=1e-13, atol=1e-190)


def test_a_meter_refuses_before_it_allocates():
    plex = Treeplex.from_parents([2] * 60, range(-1, 59), [0] * 60)
    with pytest.raises(BudgetError):
        RegretMeter(plex, math.inf)
    with pytest.raises(BudgetError):
        RegretMeter(plex, 1, budget=100)
    with pytest.raises(ArgumentError):
        RegretMeter(plex, -1)
