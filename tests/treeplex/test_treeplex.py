"""Treeplexes, the leaf table, policies and values, compared with recursion over the game tree."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord.errors import ArgumentError, GameError, PolicyError
from accord.game.library import kuhn, matrix_game
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.leaves import leaf_table
from accord.treeplex.strategy import (
    behavior_to_reach,
    pure_behavior,
    random_behavior,
    reach_to_behavior,
    uniform_behavior,
)
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex, treeplexes
from accord.treeplex.values import (
    best_response,
    counterfactual_loss,
    expected_values,
    immediate_loss,
    joint_reach,
)
from tests.support.strategies import examples, games

pytestmark = pytest.mark.kernels

checked = examples(100)


# --- plain recursion over the tree ----------------------------------------------------------------


def children_of(game: Game) -> dict[int, list[int]]:
    below = defaultdict(list)
    for node in range(1, game.n_nodes):
        below[int(game.parent[node])].append(node)
    return below


def plays(game: Game) -> list[tuple[int, list[int], float, np.ndarray]]:
    """Every terminal with the nodes on its path, its chance probability and its payoffs."""
    rewards = dict(zip(game.reward_node.tolist(), game.reward, strict=True))
    found = []
    for node in np.flatnonzero(game.player == TERMINAL).tolist():
        path = [node]
        while (above := int(game.parent[path[0]])) != NO_NODE:
            path.insert(0, above)
        chance = float(np.prod([game.chance_prob[n] for n in path]))
        payoff = sum((rewards[n] for n in path if n in rewards), np.zeros(game.n_players))
        found.append((node, path, chance, payoff))
    return found


def own_moves(game: Game, i: int, path: list[int]) -> list[tuple[int, int]]:
    return [
        (int(game.infoset[node]), int(game.action[after]))
        for node, after in pairwise(path)
        if game.player[node] == i
    ]


def values_by_recursion(game: Game, plexes, behaviors) -> np.ndarray:
    below = children_of(game)
    rewards = dict(zip(game.reward_node.tolist(), game.reward, strict=True))

    def value(node: int) -> np.ndarray:
        total = rewards.get(node, np.zeros(game.n_players)).copy()
        i = int(game.player[node])
        for child in below[node]:
            if i == CHANCE:
                p = game.chance_prob[child]
            else:
                p = behaviors[i][plexes[i].first_seq[game.infoset[node]] + game.action[child]]
            total += p * value(child)
        return total

    return value(0)


def drawn(game: Game, seed: int):
    """Treeplexes, leaves and random policies of ``game``; some policies are pure."""
    rng = np.random.default_rng(seed)
    plexes = treeplexes(game)
    behaviors = [
        random_behavior(plex, rng)
        if rng.random() < 0.7
        else pure_behavior(plex, rng.integers(plex.n_actions))
        for plex in plexes
    ]
    return plexes, leaf_table(game, plexes), behaviors


seeds = st.integers(0, 2**32 - 1)


# --- treeplexes -----------------------------------------------------------------------------------


@checked
@given(games())
def test_a_treeplex_is_the_forest_of_own_moves(game):
    for i, plex in enumerate(treeplexes(game)):
        histories = {}
        for node in np.flatnonzero(game.player == i).tolist():
            path = [node]
            while (above := int(game.parent[path[0]])) != NO_NODE:
                path.insert(0, above)
            histories[int(game.infoset[node])] = own_moves(game, i, path)
        assert plex.n_infosets == len(histories)
        for x, moves in histories.items():
            assert plex.history(x) == moves
            assert plex.depth[x] == len(moves)
            last = plex.first_seq[moves[-1][0]] + moves[-1][1] if moves else EMPTY_SEQUENCE
            assert plex.parent_seq[x] == last
            assert x in plex.children(int(last))
        assert plex.horizon == max((len(moves) + 1 for moves in histories.values()), default=0)
        assert plex.max_actions == max([1, *game.n_actions[i].tolist()])


@checked
@given(games())
def test_sequences_and_layers_partition(game):
    for i, plex in enumerate(treeplexes(game)):
        sequences = [
            seq
            for x in range(plex.n_infosets)
            for seq in range(plex.first_seq[x], plex.first_seq[x + 1])
        ]
        assert sequences == list(range(1, plex.n_sequences))
        assert plex.seq_infoset[0] == NO_INFOSET
        assert plex.n_actions.tolist() == game.n_actions[i].tolist()
        assert [len(plex.infoset_labels), len(plex.action_labels)] == [plex.n_infosets] * 2
        children = [x for seq in range(plex.n_sequences) for x in plex.children(seq)]
        assert children == list(range(plex.n_infosets))
        layers = plex.layers.tolist()
        assert len(layers) == plex.horizon + 1
        assert layers[0] == 0
        assert layers[-1] == plex.n_infosets
        for h in range(plex.horizon):
            assert set(plex.depth[layers[h] : layers[h + 1]].tolist()) == {h}


def test_a_treeplex_by_itself():
    """Two actions; after the second, one infoset with three and one with a single action."""
    plex = Treeplex.from_parents([2, 3, 1], [NO_INFOSET, 0, 0], [0, 1, 1])
    assert repr(plex) == "Treeplex(infosets=3, sequences=7, horizon=2, max_actions=3)"
    assert list(plex.children(2)) == [1, 2]
    assert plex.history(2) == [(0, 1)]
    assert (plex.infoset_labels[2], plex.action_labels[1]) == ("2", ("0", "1", "2"))
    assert uniform_behavior(plex).tolist() == [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1]


def test_a_player_who_never_moves_has_the_empty_sequence():
    plex = Treeplex.from_parents([], [], [])
    assert (plex.n_infosets, plex.n_sequences, plex.horizon, plex.max_actions) == (0, 1, 0, 1)
    assert plex.layers.tolist() == [0]
    assert random_behavior(plex, np.random.default_rng(0)).tolist() == [1.0]
    assert best_response(plex, np.array([0.25]))[0] == 0.25


@pytest.mark.parametrize(
    ("n_actions", "parent_infoset", "parent_action", "message"),
    [
        ([2, 0], [-1, -1], [0, 0], "at least one action"),
        ([2, 2, 2], [-1, 0, 0], [0, 1, 0], "in the order of the sequences"),
        ([2, 2], [-1, 1], [0, 0], "numbered layer by layer"),
        ([2, 2], [-1, 0], [0, 2], "parent_action must be an action of parent_infoset"),
        ([2, 2, 2], [-1, 0, -1], [0, 0, 0], "numbered layer by layer"),
    ],
)
def test_invalid_forests_are_refused(n_actions, parent_infoset, parent_action, message):
    with pytest.raises(GameError, match=message):
        Treeplex.from_parents(n_actions, parent_infoset, parent_action)


# --- policies -------------------------------------------------------------------------------------


@checked
@given(games(), seeds)
def test_reach_is_the_product_of_own_moves(game, seed):
    plexes, _, behaviors = drawn(game, seed)
    for plex, behavior in zip(plexes, behaviors, strict=True):
        reach = behavior_to_reach(plex, behavior)
        assert reach[EMPTY_SEQUENCE] == 1.0
        for x in range(plex.n_infosets):
            before = [behavior[plex.first_seq[y] + a] for y, a in plex.history(x)]
            for seq in range(plex.first_seq[x], plex.first_seq[x + 1]):
                assert reach[seq] == pytest.approx(np.prod(before) * behavior[seq])


@checked
@given(games(), seeds)
def test_a_policy_and_its_sequence_form_are_the_same(game, seed):
    plexes, _, behaviors = drawn(game, seed)
    for plex, behavior in zip(plexes, behaviors, strict=True):
        reach = behavior_to_reach(plex, behavior)
        again = reach_to_behavior(plex, reach)
        for x in range(plex.n_infosets):
            seqs = slice(plex.first_seq[x], plex.first_seq[x + 1])
            if reach[plex.parent_seq[x]] > 0:
                assert again[seqs] == pytest.approx(behavior[seqs])
            else:
                assert again[seqs] == pytest.approx(1 / plex.n_actions[x])


@checked
@given(games(), seeds)
def test_policies_are_distributions_at_every_infoset(game, seed):
    plexes, _, behaviors = drawn(game, seed)
    for plex, behavior in zip(plexes, behaviors, strict=True):
        for policy in (behavior, uniform_behavior(plex)):
            assert (policy >= 0).all()
            for x in range(plex.n_infosets):
                total = policy[plex.first_seq[x] : plex.first_seq[x + 1]].sum()
                assert total == pytest.approx(1.0)


def test_pure_policies_choose_an_action_at_every_infoset():
    plex = treeplexes(kuhn())[0]
    assert pure_behavior(plex, np.ones(6, np.int32)).tolist() == [1, *[0, 1] * 6]
    for actions in ([0] * 5, [0] * 5 + [2], [-1] + [0] * 5):
        with pytest.raises(PolicyError, match="one action at each infoset"):
            pure_behavior(plex, np.array(actions))


# --- leaves and values ----------------------------------------------------------------------------


@checked
@given(games())
def test_the_leaf_table_is_the_plays_joined_by_sequences(game):
    plexes = treeplexes(game)
    leaves = leaf_table(game, plexes)
    prob, payoff = defaultdict(float), defaultdict(lambda: np.zeros(game.n_players))
    totals = []
    for _, path, chance, total in plays(game):
        seqs = []
        for i, plex in enumerate(plexes):
            moves = own_moves(game, i, path)
            seqs.append(int(plex.first_seq[moves[-1][0]]) + moves[-1][1] if moves else 0)
        prob[tuple(seqs)] += chance
        payoff[tuple(seqs)] += chance * total
        totals.append(total)
    assert [tuple(row) for row in leaves.seqs.tolist()] == sorted(prob)
    for row, seqs in enumerate(sorted(prob)):
        assert leaves.prob[row] == pytest.approx(prob[seqs])
        assert leaves.payoff[row] == pytest.approx(payoff[seqs])
    assert leaves.best == pytest.approx(np.max(totals, axis=0))
    assert leaves.worst == pytest.approx(np.min(totals, axis=0))
    assert len(leaves) == len(prob)


@checked
@given(games(), seeds)
def test_values_are_those_of_the_tree(game, seed):
    plexes, leaves, behaviors = drawn(game, seed)
    values = expected_values(leaves, joint_reach(plexes, behaviors))
    assert values == pytest.approx(values_by_recursion(game, plexes, behaviors), abs=1e-12)


@checked
@given(games(), seeds)
def test_the_plays_of_any_policy_have_probability_one(game, seed):
    plexes, leaves, behaviors = drawn(game, seed)
    reach = joint_reach(plexes, behaviors)
    weight = leaves.prob * np.prod(reach[leaves.first_reach[:-1] + leaves.seqs], axis=1)
    assert weight.sum() == pytest.approx(1.0)


@checked
@given(games(), seeds)
def test_losses_are_normalized_payoffs_with_the_sign_reversed(game, seed):
    """The loss of a whole play is in [0, 1], and best - range * loss is the payoff."""
    plexes, leaves, behaviors = drawn(game, seed)
    reach = joint_reach(plexes, behaviors)
    values = expected_values(leaves, reach)
    for i, plex in enumerate(plexes):
        loss = immediate_loss(leaves, i, reach)
        total = counterfactual_loss(plex, behaviors[i], loss)[EMPTY_SEQUENCE]
        assert -1e-12 <= total <= 1 + 1e-12
        if leaves.payoff_range[i] == 0:
            assert total == 0
        assert leaves.best[i] - leaves.payoff_range[i] * total == pytest.approx(values[i])
        own = behavior_to_reach(plex, behaviors[i])
        assert own @ loss == pytest.approx(total)


@checked
@given(games(), seeds)
def test_counterfactual_losses_are_losses_of_plays_through_a_sequence(game, seed):
    """L(x, a) is the loss of playing to (x, a) and then pi, on plays through (x, a)."""
    plexes, leaves, behaviors = drawn(game, seed)
    reach = joint_reach(plexes, behaviors)
    for i, plex in enumerate(plexes):
        cf_loss = counterfactual_loss(plex, behaviors[i], immediate_loss(leaves, i, reach))
        for x in range(plex.n_infosets):
            for a in range(plex.n_actions[x]):
                goes = behaviors[i].copy()
                for y, b in [*plex.history(x), (x, a)]:
                    goes[plex.first_seq[y] : plex.first_seq[y + 1]] = 0.0
                    goes[plex.first_seq[y] + b] = 1.0
                total = 0.0
                for _, path, chance, payoff in plays(game):
                    if (x, a) not in own_moves(game, i, path):
                        continue
                    p = chance
                    for j, policy in enumerate([*behaviors[:i], goes, *behaviors[i + 1 :]]):
                        for y, b in own_moves(game, j, path):
                            p *= policy[plexes[j].first_seq[y] + b]
                    total += p * (leaves.best[i] - payoff[i]) * leaves.loss_scale[i]
                assert cf_loss[plex.first_seq[x] + a] == pytest.approx(total, abs=1e-12)


@checked
@given(games(max_depth=3), seeds)
def test_a_best_response_is_the_best_of_all_pure_policies(game, seed):
    plexes, leaves, behaviors = drawn(game, seed)
    reach = joint_reach(plexes, behaviors)
    for i, plex in enumerate(plexes):
        loss = immediate_loss(leaves, i, reach)
        least, actions = best_response(plex, loss)
        assert behavior_to_reach(plex, pure_behavior(plex, actions)) @ loss == pytest.approx(least)
        if np.prod(plex.n_actions, dtype=float) <= 2000:
            every = product(*(range(n) for n in plex.n_actions.tolist()))
            losses = [
                behavior_to_reach(plex, pure_behavior(plex, np.array(choice, np.int32))) @ loss
                for choice in every
            ]
            assert least == pytest.approx(min(losses))


def test_ties_go_to_the_first_action():
    game = matrix_game([[[1, 1], [1, 1]], [[0, 0], [0, 0]]])
    plex = treeplexes(game)[0]
    assert best_response(plex, np.zeros(3))[1].tolist() == [0]


def test_many_players_are_sorted_by_columns():
    """There are so many sequences that one number per row would overflow."""
    rng = np.random.default_rng(1)
    game = matrix_game(rng.random((9, *[3] * 9)))
    plexes = [Treeplex.from_parents([3] * 60, [NO_INFOSET] * 60, [0] * 60) for _ in range(9)]
    small = leaf_table(game, treeplexes(game))
    large = leaf_table(game, tuple(plexes))
    assert sum(plex.n_sequences.bit_length() for plex in plexes) > 63
    assert (large.seqs == small.seqs).all()
    assert (large.payoff == small.payoff).all()


def test_the_repr_of_a_leaf_table_is_one_line():
    game = kuhn()
    assert repr(leaf_table(game, treeplexes(game))) == "LeafTable(rows=30, players=2)"


@pytest.mark.parametrize("name", ["kuhn", Path("kuhn.efg")])
def test_a_name_is_not_a_game(name):
    with pytest.raises(ArgumentError, match=re.escape(f"try accord.load_game({name!r})")):
        sequence_form(name)
    with pytest.raises(ArgumentError, match=r"game must be an accord\.Game; got None$"):
        sequence_form(None)
