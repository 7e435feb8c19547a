"""The tree of joint histories, against plain dictionaries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from accord._arrays import CHANCE, TERMINAL
from accord.play.joint_tree import (
    FIRST,
    OFF,
    START,
    UNKNOWN,
    JointMove,
    JointTree,
    compute_law,
)

Play = list[JointMove]


def random_plays(seed: int, count: int) -> tuple[list[Play], np.ndarray, list[list[float]]]:
    """Plays of a random game with two players and chance; infosets depend on everything before."""
    rng = np.random.default_rng(seed)
    plays, losses, told = [], [], []
    for _ in range(count):
        play: Play = []
        place = 0
        while len(play) < 4 and (not play or rng.random() < 0.8):
            player = int(rng.integers(CHANCE, 2)) if len(play) % 2 == 0 else len(play) % 3 - 1
            n = 3 if player == CHANCE else 2 + player
            action = int(rng.integers(n))
            play.append(JointMove(player, 0 if player == CHANCE else place, n, action))
            if player == CHANCE:
                told.append([0.5, 0.25, 0.25])
            place = 4 * place + action + 1
        plays.append(play)
        losses.append(rng.random(2) if rng.random() < 0.5 else np.array([0.1, 0.7]))
    return plays, np.array(losses), told


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_plain_dictionaries(seed: int) -> None:
    plays, losses, told = random_plays(seed, 300)
    tree = JointTree(2)
    for start in range(0, 300, 70):  # in any portions
        some = slice(start, start + 70)
        laws = sum(move.player == CHANCE for play in plays[:start] for move in play)
        here = sum(move.player == CHANCE for play in plays[some] for move in play)
        tree.record(plays[some], losses[some], told[laws : laws + here])
    nodes: Counter[Any] = Counter()
    edges: Counter[Any] = Counter()
    paid: dict[Any, list[np.ndarray]] = {}
    for play, loss in zip(plays, losses, strict=True):
        history: tuple[Any, ...] = ()
        for move in play:
            nodes[(history, move[:2])] += 1
            history = (*history, move)
            edges[history] += 1
        nodes[(history, TERMINAL)] += 1
        paid.setdefault(history, []).append(loss)
    assert tree.n_nodes == len(nodes)
    assert tree.n_ends == len(paid)
    assert tree.plays == 300
    arrays = tree.arrays
    for play in plays:
        edge, history = START, ()
        for move in play:
            d = tree.find(edge, move.player, move.infoset)
            assert arrays.nodes[d]["count"] == nodes[(history, move[:2])]
            assert d > arrays.edges[edge]["node"]  # parents first
            history, edge = (*history, move), tree.after(d, move.action)
            assert arrays.edges[edge]["count"] == edges[history]
        end = tree.find(edge, TERMINAL, 0)
        mean, seen = np.mean(paid[history], axis=0), arrays.losses[arrays.nodes[end]["place"]]
        np.testing.assert_allclose(seen[FIRST] + seen[OFF] / len(paid[history]), mean)
        assert len({arrays.edges[edge]["outcomes"]}) == 1
    assert tree.find(START, 1, 999) == tree.find(UNKNOWN, 0, 0) == tree.after(UNKNOWN, 1) == UNKNOWN


def test_equal_losses_have_an_exact_mean() -> None:
    tree = JointTree(1)
    tree.record([[JointMove(0, 0, 2, 1)]] * 1000, np.full((1000, 1), 0.1))
    assert tree.arrays.losses[0].tolist() == [[0.1], [0.0], [0.0]]


def test_told_probabilities_count_for_what_was_seen() -> None:
    tree = JointTree(1)
    tree.record(
        [[JointMove(CHANCE, 0, 3, 0)], [JointMove(CHANCE, 0, 3, 2)], [JointMove(CHANCE, 0, 3, 2)]],
        np.zeros((3, 1)), [[0.2, 0.5, 0.3]] * 3,
    )  # fmt: skip
    law = np.empty(tree.n_edges)
    compute_law(tree.arrays, law)
    np.testing.assert_allclose(law[1:], [0.4, 0.0, 0.6])
    silent = JointTree(1)
    drawn = [[JointMove(CHANCE, 0, 3, 0)], [JointMove(CHANCE, 0, 3, 2)]] * 2
    silent.record(drawn, np.zeros((4, 1)), [[0.0, 0.0, 0.0]] * 4)
    compute_law(silent.arrays, law)
    np.testing.assert_allclose(law[1:], [0.5, 0.0, 0.5])


@pytest.mark.parametrize("seed", range(3))
def test_a_restored_tree_is_the_same(seed: int) -> None:
    plays, losses, told = random_plays(seed, 200)
    tree, other = JointTree(2), JointTree(2)
    first = sum(move.player == CHANCE for play in plays[:100] for move in play)
    tree.record(plays[:100], losses[:100], told[:first])
    other.restore(tree.state())
    for one in (tree, other):
        one.record(plays[100:], losses[100:], told[first:])
    for name, array in tree.state().items():
        np.testing.assert_array_equal(other.state()[name], array)


@pytest.mark.parametrize(
    "damage",
    [
        {"node_count": 0},
        {"node_edge": 10**6},
        {"node_first_edge": 0},
        {"edge_count": 7},
        {"node_player": -3},
        {"losses": np.nan},
    ],
)
def test_a_damaged_tree_is_refused(damage: dict[str, float]) -> None:
    plays, losses, told = random_plays(0, 50)
    tree = JointTree(2)
    tree.record(plays, losses, told)
    state = tree.state()
    for name, value in damage.items():
        state[name][0 if name == "node_first_edge" else -1] = value
    with pytest.raises(ValueError, match="must form a tree"):
        JointTree(2).restore(state)
