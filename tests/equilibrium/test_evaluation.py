"""Obeying and deviating, added up over all components, against the paper in plain Python."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.certifying.exact import certify
from accord.deviations.modification import Modification
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.equilibrium import evaluation
from accord.equilibrium.evaluation import BestDeviation, centers, evaluate, obedient_nodes
from accord.equilibrium.gap import Deviator, add_continuation, best_continuation, efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import kuhn
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from tests import reference
from tests.support.policies import all_games, all_k, as_reference, grown_games, random_policy
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(30)
slow = examples(12)  # plain Python over all rechistories
seeds = st.integers(0, 2**32 - 1)


def solved(policy: CorrelatedPolicy, i: int, k: float) -> tuple[Deviator, Deviator]:
    """Player i's sums of losses and of probabilities."""
    tree = RechistoryTree.build(sequence_form(policy.game).plexes[i], k)
    loss, prob = Deviator(tree), Deviator(tree)
    evaluate(policy, {i: [loss]}, {i: [prob]})
    return loss, prob


def immediate_losses(game: Game, i: int, behaviors: list[list[float]], center: float):
    """l over sequences in payoff units, measured from ``center``."""
    total = [0.0] * reference.n_sequences(game, i)
    for p, play in reference.plays_against(game, i, behaviors):
        total[play.seqs[i]] += p * (center - play.payoffs[i])
    return total


# --- obeying --------------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_obedience_is_what_happens_when_everybody_obeys(game, seed):
    policy = random_policy(game, seed)
    found = evaluate(policy, {i: [] for i in range(game.n_players)})
    said = as_reference(policy)
    for i, obeyed in found.items():
        worst, best = reference.payoff_range(game, i)
        losses = [reference.counterfactual_losses(game, i, behaviors) for _, behaviors in said]
        expected = sum(w * loss[0] for (w, _), loss in zip(said, losses, strict=True))
        earned = best - (best - worst) * expected
        assert obeyed.value()[0] == pytest.approx(earned, abs=1e-12)
        assert obeyed.loss[0] == pytest.approx(obeyed.center - earned, abs=1e-12)
        assert obeyed.prob[0] == pytest.approx(1.0)
        assert obeyed.external[0] == pytest.approx(1.0)
        for x in reference.infosets(game, i):
            there = [reference.opponent_reach(game, i, behaviors, x) for _, behaviors in said]
            for r in reference.actions(game, i, x):
                seq = reference.sequence(game, i, x, r)
                told = [w * reference.reach(game, i, behaviors[i], seq) for w, behaviors in said]
                assert obeyed.prob[seq] == pytest.approx(np.dot(told, there), abs=1e-13)
                below_best = sum(t * loss[seq] for t, loss in zip(told, losses, strict=True))
                assert obeyed.loss[seq] == pytest.approx(
                    (best - worst) * below_best - (best - obeyed.center) * np.dot(told, there),
                    abs=1e-12,
                )
                assert obeyed.external[seq] == pytest.approx(
                    sum(w * p for (w, _), p in zip(said, there, strict=True)), abs=1e-13
                )
            first = reference.sequence(game, i, x, 0)
            assert obeyed.reach(x) == pytest.approx(
                sum(obeyed.prob[first : first + len(reference.actions(game, i, x))])
            )


@checked
@given(all_games(), seeds)
def test_obedient_rechistories_are_those_of_the_path(game, seed):
    for i, plex in enumerate(sequence_form(game).plexes):
        trees = [RechistoryTree.build(plex, k) for k in all_k(game, i)]
        for tree in (*trees, RechistoryTree.build_triggers(plex)):
            for x, node in enumerate(obedient_nodes(tree).tolist()):
                way = tuple(a for _, a in reference.path(game, i, x))
                assert tree.node_infoset[node] == x
                assert tree.rechistory(node) == (way if tree.k else ())
                assert tree.is_swap[node] == bool(tree.k)


@checked
@given(all_games(), seeds)
def test_obeying_at_the_cells_is_obeying_over_the_components(game, seed):
    """The loss of obeying stands in the cells of a deviator who obeys, for every K."""
    policy = random_policy(game, seed)
    for i, plex in enumerate(sequence_form(game).plexes):
        trees = [RechistoryTree.build(plex, k) for k in all_k(game, i)]
        trigger = Deviator(RechistoryTree.build_triggers(plex))
        deviators = [trigger, *map(Deviator, trees)]
        obeyed = evaluate(policy, {i: deviators})[i]
        for deviator in deviators:
            best = BestDeviation.of(deviator)
            assert best.prob is None
            if deviator.tree.k == 0:
                assert best.obeying is None
                continue
            assert best.obeying == pytest.approx(obeyed.loss, abs=1e-12)
            if deviator is trigger:
                continue  # a trigger cannot obey afterwards
            for x in range(plex.n_infosets):  # never more than obeying, not even by rounding
                part = best.obeying[plex.first_seq[x] : plex.first_seq[x + 1]]
                assert (part >= best.cells(x).min(axis=1)).all()


# --- deviating ------------------------------------------------------------------------------------


@slow
@given(all_games(), seeds)
def test_the_sums_are_those_of_the_definition(game, seed):
    """U_b[r, a] = sum_t w_t S_b^t pi^t(r | x) l^t(x, a), and its probability."""
    policy = random_policy(game, seed)
    said = as_reference(policy)
    for i in range(game.n_players):
        center = centers(policy)[i]
        losses = [immediate_losses(game, i, behaviors, center) for _, behaviors in said]
        for k in all_k(game, i):
            loss, prob = solved(policy, i, k)
            tree = loss.tree
            obey, total = prob.total.copy(), loss.total.copy()
            add_continuation(Modification.obey(tree), obey)
            best = BestDeviation.of(loss, prob)
            assert total[ROOT] == pytest.approx(
                sum(w * ell[0] for (w, _), ell in zip(said, losses, strict=True)), abs=1e-13
            )
            for node in range(ROOT + 1, tree.n_nodes):
                x, b = int(tree.node_infoset[node]), tree.rechistory(node)
                n = len(reference.actions(game, i, x))
                for r in range(n) if tree.is_swap[node] else [None]:
                    heard = [
                        w
                        * reference.time_selection(game, i, behaviors[i], x, b)
                        * (1.0 if r is None else reference.prob(game, i, behaviors[i], x, r))
                        for w, behaviors in said
                    ]
                    there = sum(
                        h * reference.opponent_reach(game, i, behaviors, x)
                        for h, (_, behaviors) in zip(heard, said, strict=True)
                    )
                    for a in range(n):
                        cell = int(tree.arrays.first_cell[node]) + (r or 0) * n + a
                        seq = reference.sequence(game, i, x, a)
                        expected = sum(h * ell[seq] for h, ell in zip(heard, losses, strict=True))
                        assert total[cell] == pytest.approx(expected, abs=1e-13)
                        # Whatever is done later, the probability is that of coming here.
                        assert obey[cell] == pytest.approx(there, abs=1e-13)
                        assert best.prob is not None
                        assert best.prob[cell] == pytest.approx(there, abs=1e-13)


@slow
@given(grown_games(), seeds)
def test_the_best_continuation_is_that_of_plain_recursion(game, seed):
    policy = random_policy(game, seed)
    for i in range(game.n_players):
        for k in all_k(game, i):
            loss, _ = solved(policy, i, k)
            best = BestDeviation.of(loss)
            least = least_losses(game, i, k, policy)
            tree = loss.tree
            for node in range(ROOT + 1, tree.n_nodes):
                x, b = int(tree.node_infoset[node]), tree.rechistory(node)
                n = len(reference.actions(game, i, x))
                for r in range(n) if tree.is_swap[node] else [None]:
                    for a in range(n):
                        cell = int(tree.arrays.first_cell[node]) + (r or 0) * n + a
                        assert best.loss[cell] == pytest.approx(least(x, b, r, a), abs=1e-12)


def least_losses(game: Game, i: int, k: float, policy: CorrelatedPolicy):
    """The least loss of a deviator at x who remembers b, is told r (None: nothing) and plays a."""
    said = as_reference(policy)
    losses = [immediate_losses(game, i, behaviors, centers(policy)[i]) for _, behaviors in said]
    budget = reference.clip(game, i, k)

    @cache
    def least(x: int, b: tuple[int, ...], r: int | None, a: int) -> float:
        heard = [w * reference.time_selection(game, i, bs[i], x, b) for w, bs in said]
        if r is not None:
            heard = [
                h * reference.prob(game, i, bs[i], x, r)
                for h, (_, bs) in zip(heard, said, strict=True)
            ]
        seq = reference.sequence(game, i, x, a)
        total = sum(h * loss[seq] for h, loss in zip(heard, losses, strict=True))
        after = b if r is None else (*b, r)
        for y in reference.children(game, i, x, a):
            moves = range(len(reference.actions(game, i, y)))
            if len(reference.mismatches(game, i, y, after)) < budget:
                total += sum(min(least(y, after, told, c) for c in moves) for told in moves)
            else:
                total += min(least(y, after, None, c) for c in moves)
        return total

    return least


@checked
@given(all_games(), seeds)
def test_the_best_deviation_is_the_certificates(game, seed):
    policy = random_policy(game, seed)
    ks = (0, 1, 2, math.inf)
    certificate = certify(game, policy, ks)
    for i in range(game.n_players):
        for k in ks:
            loss, _ = solved(policy, i, k)
            total, again = loss.total.copy(), loss.total.copy()
            found = BestDeviation.of(loss)
            assert not len(loss.total)  # the sums became the losses of the deviation
            earned = centers(policy)[i] - found.least_loss
            gap, _ = reference.best_deviation(game, i, k, as_reference(policy))
            assert earned == pytest.approx(policy.values()[i] + gap, abs=1e-9)
            witness = certificate[k].witnesses[i].modification
            if certificate[k].player_gaps[i] == 0.0 and loss.tree.k:  # gains only rounding
                assert (witness.choice == Modification.obey(loss.tree).choice).all()
            else:
                assert (found.phi.choice == witness.choice).all()
            phi = best_continuation(loss.tree, total)
            assert (phi.choice == found.phi.choice).all()
            assert (total == found.loss).all()
            add_continuation(phi, again)
            assert again == pytest.approx(total, abs=1e-13)


# --- one pass -------------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_the_gaps_of_a_certificate_are_those_of_the_meter(game, seed):
    policy = random_policy(game, seed)
    for gap in certify(game, policy, (0, 1, 2, math.inf)).gaps:
        assert gap.player_gaps == pytest.approx(efce_gaps(policy, gap.k).tolist(), abs=1e-12)


@checked
@given(grown_games(players=3), seeds)
def test_players_are_evaluated_alone_as_together(game, seed):
    policy = random_policy(game, seed)
    plexes = sequence_form(game).plexes
    together = {i: [Deviator(RechistoryTree.build(plex, 1))] for i, plex in enumerate(plexes)}
    all_obeyed = evaluate(policy, together)
    for i, plex in enumerate(plexes):
        alone = Deviator(RechistoryTree.build(plex, 1))
        obeyed = evaluate(policy, {i: [alone]})
        assert list(obeyed) == [i]
        assert (alone.total == together[i][0].total).all()
        for name in ("prob", "loss", "external"):
            assert (getattr(obeyed[i], name) == getattr(all_obeyed[i], name)).all()


def test_components_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of any size, with the same bits; the heaviest first, for the center."""
    policy = random_policy(kuhn(), 1, components=5)
    form, read, totals = sequence_form(kuhn()), [], []

    class Counted(evaluation.Block):
        def __init__(self, policy: CorrelatedPolicy, components: np.ndarray, *rest: float) -> None:
            read.extend(components.tolist())
            super().__init__(policy, components, *rest)

    monkeypatch.setattr(evaluation, "Block", Counted)
    for rows in (1, 2, 5, 100):
        monkeypatch.setattr(evaluation, "BLOCK_NUMBERS", rows * form.n_sequences)
        trees = [[RechistoryTree.build(p, k) for k in (0, 1, 2)] for p in form.plexes]
        deviators = {i: [Deviator(tree) for tree in own] for i, own in enumerate(trees)}
        obedience = evaluate(policy, deviators)
        totals.append(
            [deviator.total.tolist() for own in deviators.values() for deviator in own]
            + [[o.loss.tolist(), o.prob.tolist(), o.gain, o.stake] for o in obedience.values()]
        )
        assert read == [policy.weights.argmax(), 0, 1, 2, 3, 4]
        read.clear()
    assert totals[1:] == totals[:1] * 3


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    game = kuhn(players=3)
    policy = random_policy(game, 0)
    alone = certify(game, policy, [0, 1, math.inf])
    monkeypatch.setattr(evaluation, "THREADED", 0)
    assert certify(game, policy, [0, 1, math.inf]).to_json() == alone.to_json()
