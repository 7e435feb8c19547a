"""Certificates: the theorems of Section 3 over random games, published facts, and outsiders."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import tracemalloc
import weakref
from itertools import pairwise, product

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify
from accord.certifying.normal_form import nfce_gaps
from accord.deviations.counting import count_rechistories
from accord.deviations.notions import EFCCE, LADDER
from accord.equilibrium.evaluation import BLOCK_NUMBERS
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError, MismatchError
from accord.game.builder import GameBuilder
from accord.game.library import (
    chicken,
    foresight,
    kuhn,
    library_device,
    library_game,
    matrix_game,
    separation,
    signalling,
)
from accord.game.tree import Game
from accord.interop.openspiel import load_openspiel
from accord.interop.openspiel_games import openspiel_game
from accord.interop.openspiel_policies import components_to_device, device_to_components
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import (
    pure_behavior,
    random_behavior,
    reach_to_behavior,
    uniform_behavior,
)
from tests import reference
from tests.support.policies import (
    OTHER_NOTIONS,
    all_games,
    as_reference,
    grown_game,
    grown_games,
    random_behaviors,
    random_policy,
)
from tests.support.strategies import examples

pytestmark = pytest.mark.kernels

checked = examples(50)
seeds = st.integers(0, 2**32 - 1)
SEVERAL = (0, 1, 2, 3, math.inf)


def small(game: Game, most: int = 64) -> bool:
    """Whether every player has at most ``most`` pure policies."""
    return all(math.prod(n.tolist()) <= most for n in game.n_actions)


def small_games(most: int = 64) -> st.SearchStrategy[Game]:
    return st.one_of(grown_games(most=30), grown_games(most=60)).filter(lambda g: small(g, most))


def uniform_policy(game: Game) -> CorrelatedPolicy:
    plexes = sequence_form(game).plexes
    return CorrelatedPolicy.product(game, [uniform_behavior(plex) for plex in plexes])


def device_of(name: str) -> tuple[Game, CorrelatedPolicy]:
    game = library_game(name)
    return game, CorrelatedPolicy.from_device(game, library_device(name))


# --- theorems -------------------------------------------------------------------------------------


@checked
@given(all_games(), seeds)
def test_more_deviations_gain_more(game, seed):
    certificate = certify(game, random_policy(game, seed), k=SEVERAL)
    ranges = [
        np.ptp([z.payoffs[i] for z in reference.terminals(game)]) for i in range(game.n_players)
    ]
    for gap in certificate.gaps:
        assert gap.gap == max(gap.player_gaps)
        relative = [
            one / size if size else 0.0 for one, size in zip(gap.player_gaps, ranges, strict=True)
        ]
        assert gap.relative == pytest.approx(max(relative), abs=1e-12)
    for less, more in pairwise(certificate.gaps):
        assert less.gap <= more.gap + 1e-13
        for one, other in zip(less.player_gaps, more.player_gaps, strict=True):
            assert one <= other + 1e-13


@checked
@given(all_games(), seeds)
def test_a_gap_that_may_obey_is_never_negative(game, seed):
    """Not even by rounding; and it is 0 if and only if the witness obeys."""
    certificate = certify(game, random_policy(game, seed), k=SEVERAL)
    assert certificate.trigger.gap >= 0.0
    for gap in certificate.gaps:
        for i, witness in enumerate(gap.witnesses):
            if gap.k >= 1 and reference.infosets(game, i):
                assert witness.gain >= 0.0
                scale = sequence_form(game).leaves.payoff_range[i]
                assert (witness.gain > 0) == bool(witness.first_deviations) or scale == 0
                assert all(event.gain > 0 for event in witness.first_deviations)


@checked
@given(all_games(), seeds)
def test_the_trigger_gap_is_between(game, seed):
    certificate = certify(game, random_policy(game, seed), k=1)
    trigger, gap = certificate.trigger.gap, certificate[1].gap
    pairs = max(
        len(reference.infosets(game, i)) * max([1, *game.n_actions[i].tolist()])
        for i in range(game.n_players)
    )
    assert trigger <= gap + 1e-13
    assert gap <= pairs * trigger + 1e-13


@checked
@given(all_games(), seeds)
def test_the_trigger_gap_is_that_of_the_best_trigger(game, seed):
    policy = random_policy(game, seed)
    said = as_reference(policy)
    found = certify(game, policy, k=[]).trigger
    players = [reference.best_trigger(game, i, said) for i in range(game.n_players)]
    assert found.gap == pytest.approx(max(players), abs=1e-12)
    assert found.trigger is None or found.trigger.gain == found.gap


@checked
@given(small_games(), seeds)
def test_the_trigger_gap_by_trying_every_plan(game, seed):
    policy = random_policy(game, seed)
    said = as_reference(policy)
    found = certify(game, policy, k=[]).trigger
    players = [reference.trigger_gap(game, i, said) for i in range(game.n_players)]
    assert found.gap == pytest.approx(max(players), abs=1e-12)
    i = game.player_labels.index(found.trigger.player)
    x = list(game.infoset_labels[i]).index(found.trigger.infoset)
    told, plays = (
        game.action_labels[i][x].index(name) for name in (found.trigger.told, found.trigger.plays)
    )
    attained = max(
        sum(
            w * reference.trigger_value(game, i, (x, told), dict(enumerate(plan)), behaviors)
            for w, behaviors in said
        )
        for plan in reference.pure_choices(game, i)
        if plan[x] == plays
    )
    assert found.gap == pytest.approx(attained - policy.values()[i], abs=1e-12)


@checked
@given(small_games(), seeds, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_normal_form_gap(game, seed, pure):
    policy = random_policy(game, seed, pure=pure)
    said = as_reference(policy)
    gaps = nfce_gaps(policy)
    certificate = certify(game, policy, k=math.inf)
    for i in range(game.n_players):
        assert gaps[i] == pytest.approx(reference.nfce_gap(game, i, said), abs=1e-12)
        assert certificate[math.inf].player_gaps[i] <= gaps[i] + 1e-12
    assert certificate.nfce_gap == gaps.max()
    assert certificate.nfce_refusal is None


@checked
@given(small_games(most=512), seeds)
def test_the_gap_at_zero_is_that_of_the_nfcce(game, seed):
    policy = random_policy(game, seed)
    said = as_reference(policy)
    gaps = certify(game, policy, k=0)[0].player_gaps
    for i in range(game.n_players):
        assert gaps[i] == pytest.approx(reference.nfcce_gap(game, i, said), abs=1e-12)


@checked
@given(grown_games(), seeds)
def test_beyond_the_horizon_nothing_changes(game, seed):
    longest = max(reference.horizon(game, i) for i in range(game.n_players))
    certificate = certify(game, random_policy(game, seed), k=[longest, longest + 1, math.inf])
    assert len({gap.player_gaps for gap in certificate.gaps}) == 1


@checked
@given(small_games(), seeds)
def test_recommendations_of_one_product_policy_say_nothing(game, seed):
    """So a deviator does as well without them: all gaps are the best response's gain."""
    behaviors = random_behaviors(game, np.random.default_rng(seed))
    policy = CorrelatedPolicy.product(game, behaviors)
    certificate = certify(game, policy, k=SEVERAL)
    for gap in certificate.gaps:
        assert gap.player_gaps == pytest.approx(certificate[0].player_gaps, abs=1e-12)
        assert min(gap.player_gaps) >= -1e-15
    assert certificate.nfce_gap == pytest.approx(certificate[0].gap, abs=1e-12)


# --- Nash equilibria ------------------------------------------------------------------------------


def sequence_constraints(game: Game, i: int) -> tuple[np.ndarray, np.ndarray]:
    """E and e of E x = e, the sequence forms of player i."""
    rows = [np.eye(1, reference.n_sequences(game, i))[0]]
    for x in reference.infosets(game, i):
        row = np.zeros(reference.n_sequences(game, i))
        way = reference.path(game, i, x)
        row[reference.sequence(game, i, *way[-1]) if way else 0] = -1.0
        for a in reference.actions(game, i, x):
            row[reference.sequence(game, i, x, a)] = 1.0
        rows.append(row)
    return np.array(rows), np.eye(1, len(rows))[0]


def nash_of_zero_sum(game: Game) -> tuple[float, list[np.ndarray]]:
    """Value and equilibrium of a two-player zero-sum game, by the linear program of Koller,
    Megiddo and von Stengel."""
    payoff = np.zeros([reference.n_sequences(game, i) for i in (0, 1)])
    for z in reference.terminals(game):
        payoff[z.seqs] += z.chance * z.payoffs[0]
    reaches, values = [], []
    for i, matrix in ((0, payoff), (1, -payoff.T)):
        own, e = sequence_constraints(game, i)
        other, f = sequence_constraints(game, 1 - i)
        n, m = own.shape[1], len(f)
        found = linprog(
            np.concatenate([np.zeros(n), -f]),  # maximize f q
            A_ub=np.hstack([-matrix.T, other.T]),  # F^T q <= A^T x
            b_ub=np.zeros(other.shape[1]),
            A_eq=np.hstack([own, np.zeros((len(e), m))]),
            b_eq=e,
            bounds=[(0, None)] * n + [(None, None)] * m,
        )
        assert found.status == 0
        reach = np.where(found.x[:n] < 1e-11, 0.0, found.x[:n])
        reaches.append(reach_to_behavior(sequence_form(game).plexes[i], reach))
        values.append(-found.fun)
    assert values[0] == pytest.approx(-values[1], abs=1e-9)
    for behavior, plex in zip(reaches, sequence_form(game).plexes, strict=True):
        for x in range(plex.n_infosets):  # what was cut off above
            behavior[plex.first_seq[x] : plex.first_seq[x + 1]] /= behavior[
                plex.first_seq[x] : plex.first_seq[x + 1]
            ].sum()
    return values[0], reaches


def zero_sum(game: Game) -> Game:
    return dataclasses.replace(game, reward=game.reward[:, :1] * [1.0, -1.0])


@checked
@given(grown_games(players=2), seeds)
def test_a_nash_equilibrium_has_no_gap_at_any_k(game, seed):
    game = zero_sum(game)
    value, behaviors = nash_of_zero_sum(game)
    policy = CorrelatedPolicy.product(game, behaviors)
    certificate = certify(game, policy, k=SEVERAL)
    assert certificate.values == pytest.approx([value, -value], abs=1e-8)
    for gap in certificate.gaps:
        assert gap.player_gaps == pytest.approx([0.0, 0.0], abs=1e-8)
    assert certificate.trigger.gap <= 1e-8


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1 / 3])
def test_the_equilibria_of_kuhn_poker(alpha):
    """Kuhn's own family: value -1/18, and nobody gains anything, to rounding."""
    bets = [
        {"0": alpha, "1": 0, "2": 3 * alpha, "0pb": 0, "1pb": alpha + 1 / 3, "2pb": 1},
        {"0b": 0, "1b": 1 / 3, "2b": 1, "0p": 1 / 3, "1p": 0, "2p": 1},
    ]
    game = kuhn()
    behaviors = [
        np.array([1.0, *(q for x in game.infoset_labels[i] for q in (1 - bets[i][x], bets[i][x]))])
        for i in (0, 1)
    ]
    policy = CorrelatedPolicy.product(game, behaviors)
    certificate = certify(game, policy, k=(*SEVERAL, *OTHER_NOTIONS))
    assert certificate.values == pytest.approx([-1 / 18, 1 / 18], abs=1e-15)
    for gap in certificate.gaps:
        assert gap.player_gaps == pytest.approx([0, 0], abs=1e-15)
    assert certificate.trigger.gap == pytest.approx(0, abs=1e-15)
    assert certificate.nfce_gap == pytest.approx(0, abs=1e-15)


def test_two_equilibria_of_kuhn_poker_are_one_correlated_equilibrium():
    game = kuhn()
    (value, one), other = nash_of_zero_sum(game), kuhn_bluffer(game)
    policy = CorrelatedPolicy.from_components(game, [(0.25, one), (0.75, other)])
    certificate = certify(game, policy, k=SEVERAL)
    assert certificate.values[0] == pytest.approx(value, abs=1e-9)
    assert certificate[math.inf].gap == pytest.approx(0, abs=1e-9)


def kuhn_bluffer(game: Game) -> list[np.ndarray]:
    bets = {"0": 1 / 3, "1": 0, "2": 1, "0pb": 0, "1pb": 2 / 3, "2pb": 1}
    bets |= {"0b": 0, "1b": 1 / 3, "2b": 1, "0p": 1 / 3, "1p": 0, "2p": 1}
    return [
        np.array([1.0, *(q for x in game.infoset_labels[i] for q in (1 - bets[x], bets[x]))])
        for i in (0, 1)
    ]


@pytest.mark.parametrize("players", [1, 2, 3])
def test_pure_nash_equilibria_of_several_players(players):
    found = 0
    for seed in range(60):
        game = grown_game(seed, players=players, most=30)
        if not small(game, 16):
            continue
        plexes = sequence_form(game).plexes
        for choices in product(*(reference.pure_choices(game, i) for i in range(players))):
            behaviors = [
                pure_behavior(plex, np.array(choice, np.int32))
                for plex, choice in zip(plexes, choices, strict=True)
            ]
            policy = CorrelatedPolicy.product(game, behaviors)
            said = as_reference(policy)
            if all(reference.nfcce_gap(game, i, said) <= 1e-12 for i in range(players)):
                certificate = certify(game, policy, k=SEVERAL)
                for gap in certificate.gaps:
                    assert gap.player_gaps == pytest.approx([0] * players, abs=1e-13)
                assert certificate.nfce_gap == pytest.approx(0, abs=1e-13)
                found += 1
                break
        if found == 6:
            return
    raise AssertionError("too few games have pure equilibria")


# --- the same game, written differently -----------------------------------------------------------


def facts(certificate: Certificate) -> list[list[float]]:
    """Per K the gaps of the players."""
    return [list(gap.player_gaps) for gap in certificate.gaps]


@checked
@given(grown_games(), seeds)
def test_a_shift_of_payoffs_changes_no_gap(game, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    shift = rng.normal(size=game.n_players)
    at_end = (game.player[game.reward_node] == TERMINAL)[:, None]
    assert at_end.sum() == game.n_terminals
    moved = dataclasses.replace(game, reward=game.reward + shift * at_end)
    before = certify(game, policy, k=SEVERAL)
    after = certify(moved, CorrelatedPolicy(moved, policy.weights, policy.behavior), k=SEVERAL)
    assert after.values == pytest.approx(np.add(before.values, shift), abs=1e-12)
    for one, other in zip(facts(before), facts(after), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    assert before.trigger.gap == pytest.approx(after.trigger.gap, abs=1e-12)
    if before.nfce_gap is not None:
        assert after.nfce_gap == pytest.approx(before.nfce_gap, abs=1e-12)


@checked
@given(grown_games(), seeds)
def test_gaps_are_linear_in_the_scale_of_payoffs(game, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(game, seed)
    scale = np.exp(rng.normal(0, 3, size=game.n_players))
    scaled = dataclasses.replace(game, reward=game.reward * scale)
    before = certify(game, policy, k=SEVERAL)
    after = certify(scaled, CorrelatedPolicy(scaled, policy.weights, policy.behavior), k=SEVERAL)
    for one, other in zip(before.gaps, after.gaps, strict=True):
        assert other.player_gaps == pytest.approx(one.player_gaps * scale, rel=1e-11, abs=1e-12)
        assert other.relative == pytest.approx(one.relative, abs=1e-12)


def relabeled(game: Game, rng: np.random.Generator) -> tuple[Game, list[int]]:
    """The game with players, infosets, actions, outcomes and nodes in another order, and where
    each player went. Labels go along."""
    place = rng.permutation(game.n_players)  # player i becomes place[i]
    number = [rng.permutation(n) for n in game.n_infosets]
    order = [[rng.permutation(n) for n in game.n_actions[i]] for i in range(game.n_players)]
    left, nodes = [0], []  # any order in which parents come first
    below = reference.node_children(game)
    while left:
        nodes.append(left.pop(rng.integers(len(left))))
        left += below[nodes[-1]]
    where = np.argsort(nodes)
    outcomes = {
        node: rng.permutation(len(below[node])) for node in nodes if game.player[node] == CHANCE
    }

    def action(node: int) -> int:
        above, a = int(game.parent[node]), int(game.action[node])
        if above == NO_NODE:
            return 0
        i = int(game.player[above])
        moved = outcomes[above] if i == CHANCE else order[i][int(game.infoset[above])]
        return int(moved[a])

    back = np.argsort(place)
    shuffled = Game.from_arrays(
        n_players=game.n_players,
        player=[place[game.player[v]] if game.player[v] >= 0 else game.player[v] for v in nodes],
        parent=[where[game.parent[v]] if v else NO_NODE for v in nodes],
        action=[action(v) for v in nodes],
        infoset=[
            number[game.player[v]][game.infoset[v]] if game.player[v] >= 0 else NO_INFOSET
            for v in nodes
        ],
        chance_prob=game.chance_prob[nodes],
        reward_node=where[game.reward_node],
        reward=game.reward[:, back],
        player_labels=[game.player_labels[i] for i in back],
        infoset_labels=[[game.infoset_labels[i][x] for x in np.argsort(number[i])] for i in back],
        action_labels=[
            [
                tuple(game.action_labels[i][x][a] for a in np.argsort(order[i][x]))
                for x in np.argsort(number[i])
            ]
            for i in back
        ],
    )
    return shuffled, place.tolist()


def moved_policy(policy: CorrelatedPolicy, game: Game, place: list[int]) -> CorrelatedPolicy:
    """The policy in the relabeled ``game``, by labels alone."""
    old = policy.game
    components = []
    for weight, behaviors in policy.components():
        moved = [np.ones(plex.n_sequences) for plex in sequence_form(game).plexes]
        for i, j in enumerate(place):
            for y, label in enumerate(game.infoset_labels[j]):
                x = list(old.infoset_labels[i]).index(label)
                for b, name in enumerate(game.action_labels[j][y]):
                    a = old.action_labels[i][x].index(name)
                    p = behaviors[i][reference.sequence(old, i, x, a)]
                    moved[j][reference.sequence(game, j, y, b)] = p
        components.append((weight, moved))
    return CorrelatedPolicy.from_components(game, components)


@checked
@given(grown_games(), seeds)
def test_the_order_of_players_infosets_and_actions_does_not_matter(game, seed):
    policy = random_policy(game, seed)
    other, place = relabeled(game, np.random.default_rng(seed))
    moved = moved_policy(policy, other, place)
    before, after = certify(game, policy, k=SEVERAL), certify(other, moved, k=SEVERAL)
    for i, j in enumerate(place):
        assert after.values[j] == pytest.approx(before.values[i], abs=1e-12)
        for one, two in zip(facts(before), facts(after), strict=True):
            assert two[j] == pytest.approx(one[i], abs=1e-12)
    assert after.trigger.gap == pytest.approx(before.trigger.gap, abs=1e-12)
    if before.nfce_gap is not None and after.nfce_gap is not None:
        assert after.nfce_gap == pytest.approx(before.nfce_gap, abs=1e-12)


@checked
@given(grown_games(), seeds)
def test_components_may_be_split_and_reordered(game, seed):
    policy = random_policy(game, seed)
    split = [(w / 2, bs) for w, bs in policy.components()]
    twice = CorrelatedPolicy.from_components(game, split[::-1] + split)
    before, after = certify(game, policy, k=SEVERAL), certify(game, twice, k=SEVERAL)
    for one, two in zip(facts(before), facts(after), strict=True):
        assert one == pytest.approx(two, abs=1e-12)


# --- in words -------------------------------------------------------------------------------------


@checked
@given(grown_games(), seeds)
def test_first_deviations_add_up_to_the_gap(game, seed):
    policy = random_policy(game, seed)
    said = as_reference(policy)
    for gap in certify(game, policy, k=[1, 2, math.inf]).gaps:
        for i, witness in enumerate(gap.witnesses):
            events = witness.first_deviations
            assert math.fsum(event.gain for event in events) == pytest.approx(
                gap.player_gaps[i], abs=1e-12
            )
            assert [event.gain for event in events] == sorted(
                (event.gain for event in events), reverse=True
            )
            for event in events:
                assert event.player == witness.player == game.player_labels[i]
                x = list(game.infoset_labels[i]).index(event.infoset)
                r = game.action_labels[i][x].index(event.told)
                assert event.plays in game.action_labels[i][x]
                assert event.plays != event.told
                chance = sum(
                    w
                    * reference.reach(game, i, bs[i], reference.sequence(game, i, x, r))
                    * reference.opponent_reach(game, i, bs, x)
                    for w, bs in said
                )
                assert event.probability == pytest.approx(chance, abs=1e-13)
                assert event.probability > 0


def test_words():
    game, policy = device_of("in_out")
    certificate = certify(game, policy)
    assert str(certificate[1].witnesses[0]) == (
        "player 1 at 'first' told 'out' plays 'in' instead: gains 1; reached with probability 1"
    )
    assert str(certificate[0].witnesses[0]) == (
        "player 1 ignores every recommendation and plays 'in' at 'first', 'in' at 'after in': "
        "gains 1"
    )
    game, policy = device_of("separation:k=0")
    assert str(certify(game, policy, k=1)[1].witnesses[0]) == (
        "player 1 at 'start' told '1' plays '2' instead: gains 0.1667; reached with probability "
        "0.333 (and 2 more such places)"
    )
    game, policy = device_of("chicken")
    assert str(certify(game, policy, k=1)[1].witnesses[1]) == (
        "player col cannot gain by deviating"
    )
    game, policy = device_of("separation:k=2")
    assert str(certify(game, policy, k=0)[0].witnesses[0]).endswith(
        "'1' at '11 11' and 3 more: gains -0.3125"
    )


def test_a_trigger_that_obeys_first():
    """Told to go, the player goes; then they take the middle, whatever they are told."""
    b = GameBuilder(players=1)
    b.move(player="1", infoset="start", actions="go stop")
    b.move("go", player="1", infoset="later", actions="l m r")
    b.payoff("stop", 0)
    for action, payoff in (("l", 0), ("m", 1), ("r", 0)):
        b.payoff(f"go {action}", payoff)
    game = b.build()
    device = [(1 / 3, ({"start": "go", "later": action},)) for action in "lmr"]
    trigger = certify(game, CorrelatedPolicy.from_device(game, device), k=1).trigger
    assert trigger.gap == pytest.approx(2 / 3)
    assert str(trigger.trigger) == (
        "player 1 at 'start' told 'go' obeys, then ignores the mediator: gains 0.6667; reached "
        "with probability 1"
    )


@pytest.mark.parametrize(
    ("label", "words"), [("1", "player 1"), ("Player 1", "Player 1"), ("player_0", "player_0")]
)
def test_players_are_not_called_so_twice(label, words):
    b = GameBuilder(players=[label])
    b.move(player=label, infoset="root", actions="a b")
    b.payoff("a", 1)
    b.payoff("b", 0)
    game = b.build()
    for told, does in (("a", "cannot gain"), ("b", "at 'root'"), ("b", "ignores every")):
        policy = CorrelatedPolicy.from_device(game, [(1.0, ({"root": told},))])
        k = 0 if does == "ignores every" else 1
        assert str(certify(game, policy, k=k)[k].witnesses[0]).startswith(f"{words} {does}")


def test_reprs_are_short():
    game, policy = device_of("separation:k=1")
    certificate = certify(game, policy, k=[1, 2, math.inf])
    assert (
        repr(certificate) == "Certificate('separation:k=1', gaps={EFCE: 0, 2-EFCE: 0.5, BCE: 0.5})"
    )
    assert repr(certificate[2]) == "Gap(2-EFCE, gap=0.5, relative=0.5)"
    first, second = str(certificate).splitlines()
    assert first == "separation:k=1: exact gaps EFCE 0, 2-EFCE 0.5, BCE 0.5, NFCE 0.5"
    assert second == str(certificate[2].witnesses[0])
    assert repr(certificate[2].witnesses[0]) == "Witness('1', gain=0.5, first_deviations=2)"


def test_a_player_who_never_decides():
    b = GameBuilder(players=2)
    b.move(player="1", actions="a b")
    b.payoff("a", 1, 0)
    b.payoff("b", 0, 1)
    game = b.build()
    policy = CorrelatedPolicy.from_device(game, [(1.0, ({"root": "b"}, {}))])
    certificate = certify(game, policy, k=SEVERAL)
    for gap in certificate.gaps:
        assert gap.player_gaps == (1.0, 0.0)
        assert str(gap.witnesses[1]) == "player 2 never decides"
    assert certificate.trigger.gap == certificate.nfce_gap == 1.0


def test_a_certificate_as_json():
    game, policy = device_of("separation:k=1")
    certificate = certify(game, policy, k=[0, 2, math.inf])
    text = json.dumps(certificate.to_json(), allow_nan=False)
    content = json.loads(text)
    assert content["game"] == "separation:k=1"
    assert content["values"] == [0.5, 0.0]
    assert [entry["k"] for entry in content["gaps"]] == [0, 2, "inf"]
    assert [entry["notion"] for entry in content["gaps"]] == ["NFCCE", "2-EFCE", "BCE"]
    for entry, gap in zip(content["gaps"], certificate.gaps, strict=True):
        assert set(entry) == {
            "notion", "k", "gap", "error", "lower", "upper", "relative", "sum", "players",
            "player_errors", "player_lower", "player_upper", "vacuous", "witness",
        }  # fmt: skip
        assert (entry["lower"], entry["upper"]) == (gap.lower, gap.upper)
        assert gap.gap - gap.error <= gap.lower <= gap.gap <= gap.upper <= gap.gap + gap.error
        assert entry["error"] == gap.error == max(entry["player_errors"])
        assert entry["gap"] == gap.gap == max(entry["players"])
        assert entry["sum"] == gap.sum == pytest.approx(sum(entry["players"]))
        assert entry["players"] == list(gap.player_gaps)
        assert [w["player"] for w in entry["witness"]] == ["1", "2"]
        assert [w["text"] for w in entry["witness"]] == [str(w) for w in gap.witnesses]
        assert [w["gain"] for w in entry["witness"]] == entry["players"]
    assert content["gaps"][1]["witness"][0]["deviations"][0].keys() == {
        "player", "infoset", "told", "plays", "gain", "probability", "planned", "asks",
    }  # fmt: skip
    assert content["trigger_gap"] == certificate.trigger.gap
    assert content["nfce_gap"] == 0.5
    assert content["nfce_players"] == [0.5, 0.0]
    assert content["nfce_refusal"] is None


def test_relative_gaps_are_in_units_of_the_own_payoff_range():
    # The column player gains 1 of a range of 100, the row player 1/2 of a range of 1.
    game = matrix_game([[[0, 0.5], [0.5, 1]], [[0, 1], [50, 100]]])
    policy = CorrelatedPolicy.from_device(game, [(1.0, ({"1": "0"}, {"2": "0"}))])
    gap = certify(game, policy, k=1)[1]
    assert gap.player_gaps == pytest.approx((0.5, 1.0))
    assert gap.gap == pytest.approx(1.0)
    assert gap.sum == pytest.approx(1.5)
    assert gap.relative == pytest.approx(0.5)


def test_a_certificate_is_indexed_by_k():
    game, policy = device_of("in_out")
    certificate = certify(game, policy, k=[1, math.inf])
    assert certificate[math.inf].k == math.inf
    with pytest.raises(KeyError, match="no gap of 2-EFCE; there are: EFCE, BCE, NFCE"):
        certificate[2]
    assert [gap.k for gap in certify(game, policy, k=2).gaps] == [2]
    assert [gap.k for gap in certify(game, policy, k=np.array([2, 0])).gaps] == [2, 0]
    assert certify(game, policy, k=()).gaps == ()


def test_a_certificate_is_indexed_by_name():
    game, policy = device_of("in_out")
    certificate = certify(game, policy, k=["efcce", 1, "EFCE", "nfce"])
    assert [gap.notion.name for gap in certificate.gaps] == ["EFCCE", "EFCE"]
    assert certificate["efcce"] is certificate["EFCCE"] is certificate[EFCCE]
    assert certificate["efcce"].k is None
    assert certificate["efce"] is certificate[1]
    assert certificate["nfce"] is certificate.nfce
    assert certificate["nfce"].player_gaps == pytest.approx(nfce_gaps(policy))
    with pytest.raises(KeyError, match="no gap of AFCE; there are: EFCCE, EFCE, NFCE"):
        certificate["afce"]
    with pytest.raises(ArgumentError, match="got 'nash'"):
        certificate["nash"]
    entry = certificate.to_json()["gaps"][0]
    assert (entry["notion"], entry["k"]) == ("EFCCE", None)
    assert entry["witness"][0]["deviations"][0]["told"] is None
    assert certify(game, policy, "afce").gaps[0].notion.name == "AFCE"


def test_a_small_game_gets_the_whole_ladder(monkeypatch):
    game, policy = device_of("in_out")
    ladder = [one.name for one in LADDER]
    assert [*(gap.notion.name for gap in certify(game, policy).gaps), "NFCE"] == ladder
    plexes = sequence_form(game).plexes
    cells = sum(count_rechistories(plexes[0], one).cells for one in LADDER[:-1])
    monkeypatch.setattr("accord.certifying.exact.LADDER_WORK", cells)
    assert len(certify(game, policy).gaps) == len(ladder) - 1
    monkeypatch.setattr("accord.certifying.exact.LADDER_WORK", cells - 1)
    assert [gap.k for gap in certify(game, policy).gaps] == [0, 1, math.inf]
    assert [gap.k for gap in certify(game, policy, k=LADDER).gaps][1] is None


def test_a_coarse_deviation_in_words():
    game, policy = device_of("greenwald_sarfati_1")
    assert str(certify(game, policy, "efcce")["efcce"].witnesses[0]) == (
        "player 1 at 'first' plays 'R' before being told anything: gains 1; "
        "reached with probability 1"
    )
    assert str(certify(game, policy, "afce")["afce"].witnesses[0]).endswith(
        "cannot gain by deviating"
    )


# --- published facts ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_separation_of_the_paper(k):
    game, policy = device_of(f"separation:k={k}")
    certificate = certify(game, policy, k=[*range(k + 2), math.inf])
    assert certificate.values == (0.5, 0.0)
    assert certificate[k].gap == pytest.approx(0, abs=1e-15)
    assert certificate[k + 1].gap == pytest.approx(1 / 2, abs=1e-15)
    assert certificate[math.inf].player_gaps == pytest.approx((1 / 2, 0), abs=1e-15)


def test_the_infinity_efce_that_is_no_nfce():
    game, policy = device_of("foresight")
    certificate = certify(game, policy, k=[0, 1, 2, math.inf])
    assert policy.n_components == 32
    assert certificate.values == (0.5, 0.0)
    for gap in certificate.gaps:
        assert gap.player_gaps == pytest.approx((0, 0), abs=1e-15)
    assert certificate.nfce_gap == pytest.approx(1 / 4, abs=1e-15)
    assert certificate.nfce_gap > 1 / 20


def test_the_signalling_device():
    """Von Stengel and Forges 2008: an EFCE worth (3.5, 6.5), but no equilibrium in normal form."""
    game, policy = device_of("signalling")
    certificate = certify(game, policy, k=SEVERAL)
    assert certificate.values == pytest.approx((3.5, 6.5), abs=1e-14)
    for k in SEVERAL[1:]:
        assert certificate[k].player_gaps == (0.0, 0.0)  # not even a rounding error
    assert certificate[0].player_gaps == pytest.approx((-1, -0.5), abs=1e-14)
    # Half of the bad students, a quarter of all, are to send what is refused: they gain 6.
    assert certificate.nfce_gap == pytest.approx(6 / 4, abs=1e-14)


def test_the_games_of_openspiels_corr_dist_tests():
    game, policy = device_of("in_out")
    certificate = certify(game, policy, k=SEVERAL)
    assert certificate.values == (0.0,)
    assert facts(certificate) == [[1.0]] * 5  # EFCEDist 1

    game, policy = device_of("greenwald_sarfati_1")
    certificate = certify(game, policy, k=SEVERAL)
    assert certificate[1].sum > 0  # "not an EFCE"; R and r2 pay 3 instead of 2
    assert facts(certificate) == [[1.0, 0.0]] * 5

    game, policy = device_of("greenwald_sarfati_2")
    certificate = certify(game, policy, k=SEVERAL)
    assert certificate[1].sum == 0  # EFCEDist 0
    assert certificate.nfce_gap == pytest.approx(1 / 2)  # "not a CE": R and r2 against B
    for name, values in (("shapley", 1 / 2), ("chicken", 21 / 4), ("battle_of_the_sexes", 3 / 2)):
        game, policy = device_of(name)
        certificate = certify(game, policy, k=1)
        assert certificate.values == pytest.approx([values] * 2)
        assert certificate[1].player_gaps == pytest.approx((0, 0), abs=1e-15)
        assert certificate.nfce_gap == pytest.approx(0, abs=1e-15)

    # Gibson 2013, Section 2.2: a CCE; the row player gains 1 after the third recommendation.
    game = matrix_game([[[1, 0], [0, 2], [-1, 1]], np.zeros((3, 2))])
    draws = {("0", "0"): 1 / 2, ("1", "1"): 1 / 4, ("2", "1"): 1 / 4}
    device = [(w, ({"1": a}, {"2": b})) for (a, b), w in draws.items()]
    certificate = certify(game, CorrelatedPolicy.from_device(game, device), k=[0, 1])
    assert certificate[0].player_gaps == pytest.approx((-0.25, 0))
    assert certificate[1].sum == pytest.approx(0.25)


# --- OpenSpiel ------------------------------------------------------------------------------------

SPIEL_GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "matrix_shapleys_game",
    "goofspiel(num_cards=3,points_order=descending,returns_type=total_points)",
    "first_sealed_auction(max_value=3)",
]


@pytest.mark.parametrize("pure", [0.0, 1.0])
@pytest.mark.parametrize("name", SPIEL_GAMES)
def test_openspiels_distances(name, pure):
    """``cce_dist`` is the gap at 0, and for pure devices ``ce_dist`` the one of the normal form;
    OpenSpiel counts negative incentives as 0 and adds up players."""
    game, spiel = load_openspiel(name), openspiel_game(name)
    policy = random_policy(game, 1, components=4, pure=pure)
    device = components_to_device(game, list(policy.components()), spiel)
    certificate = certify(game, policy, k=0)
    gap = certificate[0]
    theirs = pyspiel.cce_dist(spiel, device)
    assert certificate.values == pytest.approx(theirs.on_policy_values, abs=1e-12)
    unclipped = np.subtract(theirs.best_response_values, theirs.on_policy_values)
    assert gap.player_gaps == pytest.approx(unclipped, abs=1e-12)
    clipped = [max(0.0, one) for one in gap.player_gaps]
    assert theirs.deviation_incentives == pytest.approx(clipped, abs=1e-12)
    assert theirs.dist_value == pytest.approx(sum(clipped), abs=1e-12)
    if min(gap.player_gaps) >= 0:
        assert gap.sum == pytest.approx(theirs.dist_value, abs=1e-12)
    if pure == 1.0:
        normal_form = pyspiel.ce_dist(spiel, device)
        assert nfce_gaps(policy) == pytest.approx(normal_form.deviation_incentives, abs=1e-12)
    again = CorrelatedPolicy.from_components(game, device_to_components(game, device, spiel))
    assert again.behavior == pytest.approx(policy.behavior, abs=1e-15)


def test_openspiel_clips_a_negative_incentive():
    """Shapley's game off the diagonal: to obey is worth 1/2, the best constant action 1/3."""
    name = "matrix_shapleys_game"
    game, spiel = load_openspiel(name), openspiel_game(name)
    plexes = sequence_form(game).plexes
    components = [
        (1 / 6, [pure_behavior(plex, np.array([a])) for plex, a in zip(plexes, pair, strict=True)])
        for pair in product(range(3), repeat=2)
        if pair[0] != pair[1]
    ]
    policy = CorrelatedPolicy.from_components(game, components)
    gap = certify(game, policy, k=[0, 1])
    assert gap[0].player_gaps == pytest.approx((-1 / 6, -1 / 6), abs=1e-15)
    assert gap[0].sum == pytest.approx(-1 / 3, abs=1e-15)
    assert gap[1].player_gaps == pytest.approx((0, 0), abs=1e-15)
    device = components_to_device(game, list(policy.components()), spiel)
    assert pyspiel.cce_dist(spiel, device).dist_value == 0.0


# --- linear programs over pure profiles -----------------------------------------------------------


def pure_profiles(game: Game) -> list[list[list[float]]]:
    """All pure product policies, as behaviors."""
    players = range(reference.n_players(game))
    return [
        [
            reference.pure_behavior(game, i, choice)
            for i, choice in zip(players, choices, strict=True)
        ]
        for choices in product(*(reference.pure_choices(game, i) for i in players))
    ]


def efce_constraints(game: Game, k: float, profiles) -> np.ndarray:
    """One row per player and modification: what they gain at each profile, by execution."""
    values = [reference.expected_values(game, profile) for profile in profiles]
    return np.array(
        [
            [
                reference.modified_value(game, i, k, phi, [(1.0, profile)]) - value[i]
                for profile, value in zip(profiles, values, strict=True)
            ]
            for i in range(reference.n_players(game))
            for phi in reference.modifications(game, i, k, limit=5000)
        ]
    )


def nfce_constraints(game: Game, profiles) -> np.ndarray:
    """One row per player, recommended and other pure policy."""
    rows = []
    for i in range(reference.n_players(game)):
        own = [reference.pure_behavior(game, i, c) for c in reference.pure_choices(game, i)]
        for told, other in product(own, own):
            rows.append(
                [
                    reference.expected_values(game, [*p[:i], other, *p[i + 1 :]])[i]
                    - reference.expected_values(game, p)[i]
                    if p[i] == told
                    else 0.0
                    for p in profiles
                ]
            )
    return np.array(rows)


def optimum(game: Game, profiles, constraints, objective) -> tuple[float, CorrelatedPolicy]:
    """The mixture of profiles within the constraints that is best for the weighted payoffs."""
    values = np.array([reference.expected_values(game, profile) for profile in profiles])
    found = linprog(
        -(values @ objective),
        A_ub=constraints,
        b_ub=np.zeros(len(constraints)) if constraints is not None else None,
        A_eq=np.ones((1, len(profiles))),
        b_eq=[1.0],
    )
    assert found.status == 0
    weights = np.where(found.x < 1e-11, 0.0, found.x)
    weights /= weights.sum()
    components = [(w, p) for w, p in zip(weights, profiles, strict=True) if w > 0]
    return -found.fun, CorrelatedPolicy.from_components(game, components)


def test_the_best_correlated_equilibrium_of_chicken():
    game = chicken()
    profiles = pure_profiles(game)
    best, policy = optimum(game, profiles, efce_constraints(game, 1, profiles), [1, 1])
    assert best == pytest.approx(10.5)  # 5.25 each
    certificate = certify(game, policy, k=1)
    assert certificate.values == pytest.approx((5.25, 5.25))
    assert certificate[1].player_gaps == pytest.approx((0, 0), abs=1e-9)
    free, greedy = optimum(game, profiles, None, [1, 1])
    assert free == 12  # both yield
    assert certify(game, greedy, k=1)[1].player_gaps == pytest.approx((1, 1))


def test_the_equilibria_of_the_signalling_game():
    """Von Stengel and Forges 2008: in normal form the student gets nothing, in extensive form
    they do."""
    game = signalling()
    profiles = pure_profiles(game)
    best, policy = optimum(game, profiles, efce_constraints(game, 1, profiles), [1, 0])
    assert best >= 3.5
    assert certify(game, policy, k=1)[1].gap == pytest.approx(0, abs=1e-9)
    assert certify(game, policy, k=1).values[0] == pytest.approx(best)
    none, refused = optimum(game, profiles, nfce_constraints(game, profiles), [1, 0])
    assert none == pytest.approx(0, abs=1e-9)
    certificate = certify(game, refused, k=1)
    assert certificate.nfce_gap == pytest.approx(0, abs=1e-9)
    assert certificate.values == pytest.approx((0, 6), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1, 2])
def test_optimal_equilibria_by_linear_programming(k):
    """Over every profile and every modification; their gap is 0, and not because all gaps are."""
    tried = 0
    for seed in range(200):
        game = grown_game(seed, players=2, most=20)
        phis = [reference.n_modifications(game, i, k) for i in (0, 1)]
        profiles = math.prod(math.prod(n.tolist()) for n in game.n_actions)
        if sum(phis) > 300 or not 4 <= profiles <= 40:
            continue
        every = pure_profiles(game)
        rows = efce_constraints(game, k, every)
        best, policy = optimum(game, every, rows, [1, 1])
        assert certify(game, policy, k=k)[k].gap <= 1e-9
        free, greedy = optimum(game, every, None, [1, 1])
        if best < free - 1e-6:  # the best outcome of all is no equilibrium
            assert certify(game, greedy, k=k)[k].gap > 1e-9
            tried += 1
        if tried == 4:
            return
    raise AssertionError("too few games in which equilibrium costs something")


# --- errors and limits ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "k", [-1, 1.5, math.nan, True, "1.5", "nash", [None], -math.inf, [0, -1], [1, "-inf"]]
)
def test_a_k_that_is_no_number_of_deviations(k):
    game, policy = device_of("in_out")
    with pytest.raises(ArgumentError, match="k must be a whole number of deviations"):
        certify(game, policy, k=k)


@pytest.mark.parametrize("policy", [None, "policy.npz", 1])
def test_what_is_no_policy(policy):
    with pytest.raises(
        ArgumentError, match=rf"policy must be an accord\.CorrelatedPolicy.*; got {policy!r}"
    ):
        certify(chicken(), policy)


def test_what_is_no_game():
    _, policy = device_of("chicken")
    with pytest.raises(ArgumentError, match=r"'chicken'; try accord\.load_game\('chicken'\)"):
        certify("chicken", policy)


def test_a_policy_of_another_game():
    _, policy = device_of("chicken")
    for other in (library_game("battle_of_the_sexes"), separation(k=1)):
        with pytest.raises(MismatchError, match=f"'chicken', which is not the game '{other.name}'"):
            certify(other, policy)
    assert certify(chicken(), policy, k=1)[1].gap == pytest.approx(0)  # the same game, built again


def test_scaled_payoffs_make_another_game():
    game, policy = device_of("chicken")
    other = dataclasses.replace(game, reward=game.reward * 2)
    with pytest.raises(MismatchError):
        certify(other, policy)


def long_game(steps: int) -> Game:
    b = GameBuilder(players=1)
    for n in range(steps):
        history = ["go"] * n
        b.move(history, player="1", infoset=n, actions="go stop")
        b.payoff([*history, "stop"], n)
    b.payoff(["go"] * steps, 0)
    return b.build()


def test_too_many_rechistories_are_refused():
    game = long_game(60)
    policy = uniform_policy(game)
    assert certify(game, policy, k=1)[1].gap > 0
    with pytest.raises(BudgetError, match=r"k = 60 there are 1\.153e\+18 rechistories"):
        certify(game, policy, k=[1, math.inf])
    with pytest.raises(BudgetError):
        certify(game, policy, k=1, budget=10_000)


def test_the_normal_form_gap_is_refused_where_there_are_too_many_policies():
    game = long_game(60)
    policy = uniform_policy(game)
    certificate = certify(game, policy, k=1)
    assert certificate.nfce_gap is None
    assert "1.15e+18" in certificate.nfce_refusal
    assert "use pure components" in certificate.nfce_refusal
    assert certificate.to_json()["nfce_refusal"] == certificate.nfce_refusal
    with pytest.raises(BudgetError) as refusal:
        nfce_gaps(policy)
    assert refusal.value.required == 2**60
    pure = CorrelatedPolicy.product(
        game, [pure_behavior(sequence_form(game).plexes[0], np.zeros(60, np.int32))]
    )
    assert certify(game, pure, k=1).nfce_gap == 59


def test_the_limit_of_the_normal_form_gap_is_exact():
    game = kuhn()
    policy = CorrelatedPolicy.product(
        game, [uniform_behavior(p) for p in sequence_form(game).plexes]
    )
    assert nfce_gaps(policy, limit=64).shape == (2,)
    with pytest.raises(BudgetError, match="player 1 mixed components recommend 64"):
        nfce_gaps(policy, limit=63)


def test_the_limit_of_the_normal_form_gap_is_lower_in_a_large_game(monkeypatch):
    game = kuhn()
    policy = CorrelatedPolicy.product(
        game, [uniform_behavior(p) for p in sequence_form(game).plexes]
    )
    monkeypatch.setattr("accord.certifying.normal_form.MOST_NUMBERS", 64 * 13)  # of 13 sequences
    assert nfce_gaps(policy).shape == (2,)
    monkeypatch.setattr("accord.certifying.normal_form.MOST_NUMBERS", 64 * 13 - 1)
    with pytest.raises(BudgetError, match="at most 63 are expanded"):
        nfce_gaps(policy)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_components():
    game = separation(k=3)
    plexes = sequence_form(game).plexes
    rng = np.random.default_rng(0)
    n_sequences = sum(plex.n_sequences for plex in plexes)
    few = 2 * (1 + BLOCK_NUMBERS // n_sequences)  # more than two blocks
    peaks = []
    for count in (few, few + 800):
        policy = CorrelatedPolicy.from_components(
            game, [(1 / count, [random_behavior(plex, rng) for plex in plexes])] * count
        )
        certify(game, policy, k=[0, 1])
        gc.collect()
        tracemalloc.start()
        certify(game, policy, k=[0, 1])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert policy.behavior[few:].nbytes > 2_000_000
    assert peaks[1] < peaks[0] + 700_000  # Python keeps some thousand freed tuples


def test_a_certified_game_can_go():
    game = foresight()
    policy = CorrelatedPolicy.product(
        game, [uniform_behavior(p) for p in sequence_form(game).plexes]
    )
    certify(game, policy, k=1)
    gone = weakref.ref(game)
    del game, policy
    gc.collect()
    assert gone() is None
