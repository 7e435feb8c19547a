"""The search for a deviation: its values, its choices, and what it finds."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from accord._arrays import Floats
from accord.certifying.evidence import Evidence
from accord.certifying.search import (
    CELL_TRUST,
    FAVOR,
    TRUST,
    Move,
    Search,
)
from accord.deviations.modification import Modification
from accord.game.library import kuhn
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import average_behavior
from accord.treeplex.treeplex import Treeplex
from tests.support.policies import grown_game

Known = tuple[tuple[int, int, int], ...]  # first sequence, recommendation heard or -1, action
Play = tuple[list[Move], float]


def random_plays(plex: Treeplex, count: int, seed: int) -> list[Play]:
    """Plays with random recommendations, of which most are obeyed."""
    rng, plays = np.random.default_rng(seed), []
    for _ in range(count):
        moves: list[Move] = []
        seq = 0
        while children := plex.children(seq):
            x = int(rng.choice(children))
            n = int(plex.n_actions[x])
            told = int(rng.integers(n))
            action = told if rng.random() < 0.6 else int(rng.integers(n))
            moves.append((int(plex.first_seq[x]), n, told, action))
            seq = int(plex.first_seq[x]) + action
        plays.append((moves, float(rng.random())))
    return plays


def heard(moves: list[Move], k: float) -> Known:
    left, known = 0, []
    for first, _, told, action in moves:
        hears = told if left < k else -1
        known.append((first, hears, action))
        left += action != hears
    return tuple(known)


def values_of(plays: list[Play], k: float, prior: Floats) -> dict[Known, float]:
    """The values of all cells, by what the deviator knows: a plain recursion over depths."""
    width = {move[0]: move[1] for moves, _ in plays for move in moves}
    taken: dict[Known, int] = defaultdict(int)
    total: dict[Known, float] = defaultdict(float)
    for moves, loss in plays:
        known = heard(moves, k)
        for end in range(1, len(known) + 1):
            taken[known[:end]] += 1
        total[known] += loss
    rows = {(*cell[:-1], cell[-1][:2]) for cell in taken}
    values: dict[Known, float] = {}
    for depth in range(max(map(len, rows)), 0, -1):
        here = [row for row in rows if len(row) == depth]
        lost: dict[tuple[int, int], float] = defaultdict(float)
        tried: dict[tuple[int, int], int] = defaultdict(int)
        for cell in [cell for cell in taken if len(cell) == depth]:
            lost[cell[-1][0], cell[-1][2]] += total[cell]
            tried[cell[-1][0], cell[-1][2]] += taken[cell]
        for *before, (first, told) in here:
            actions = range(width[first])
            mean = sum(lost[first, a] for a in actions) / sum(tried[first, a] for a in actions)
            count = 0
            for a in actions:
                cell = (*before, (first, told, a))
                known = lost[first, a] + TRUST * (mean - FAVOR * float(prior[first + a]))
                expected = known / (tried[first, a] + TRUST)
                values[cell] = (total[cell] + CELL_TRUST * expected) / (taken[cell] + CELL_TRUST)
                count += taken[cell]
            least = min(values[*before, (first, told, a)] for a in actions)
            total[tuple(before)] += count * least
    return values


@pytest.mark.kernels
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", [kuhn(), grown_game(0, 2, 60), grown_game(1, 3, 60)])
def test_values_and_choices_are_those_of_a_plain_recursion(game: Game, k: float) -> None:
    for seed, plex in enumerate(sequence_form(game).plexes):
        plays = random_plays(plex, 60, seed)
        prior = average_behavior(plex, np.ones((1, plex.n_sequences)), np.ones(1))
        search = Search(k, prior)
        for play in plays:
            search.add(*play)
        behavior = np.ones((1, plex.n_sequences))
        evidence = Evidence(plex, k, behavior)
        phi, saved = search.best(evidence.tree, evidence.obedient)
        values = values_of(plays, k, prior)
        for moves, _ in plays:
            known = heard(moves, k)
            for end in range(1, len(known) + 1):
                first, told, _ = known[end - 1]
                cell, _ = search._place(moves[:end])
                assert search._value[cell] == pytest.approx(values[known[:end]])
                row = {
                    a: values[*known[: end - 1], (first, told, a)] for a in range(moves[end - 1][1])
                }
                wanted = min(row, key=lambda a, row=row: (row[a], a))  # type: ignore[misc]
                chosen = int(phi.choice[row_of(phi, known[: end - 1], first, max(told, 0))])
                assert row[chosen] == pytest.approx(row[wanted])
                if all(told == a for _, told, a in known[: end - 1]) and told >= 0:
                    assert saved[first + told] == pytest.approx(row[told] - row[wanted])


def row_of(phi: Modification, before: Known, first: int, told: int) -> int:
    """The row of a modification after these moves."""
    tree, cell = phi.tree, 0
    for seq, there, action in before:
        x = int(tree.plex.seq_infoset[seq])
        node = phi.continuing(x, cell)
        n = int(tree.plex.n_actions[x])
        cell = int(tree.arrays.first_cell[node]) + max(there, 0) * n + action
    node = phi.continuing(int(tree.plex.seq_infoset[first]), cell)
    return int(tree.first_row[node]) + told


def test_other_numbers_change_nothing() -> None:
    plex = sequence_form(grown_game(0, 2, 60)).plexes[0]
    order = np.concatenate([[0], 1 + np.random.default_rng(0).permutation(plex.n_infosets)])
    starts = np.concatenate([[0], plex.first_seq[:-1]])  # whole infosets move
    sizes = np.concatenate([[1], plex.n_actions])
    seqs = np.concatenate([starts[n] + np.arange(sizes[n]) for n in order])
    first, second = (Search(1, np.ones(plex.n_sequences)) for _ in range(2))
    place = np.empty_like(seqs)
    place[seqs] = np.arange(len(seqs))
    plays = random_plays(plex, 40, 1)
    for moves, loss in plays:
        first.add(moves, loss)
        second.add([(int(place[one]), *rest) for one, *rest in moves], loss)
    first.renumber(seqs)
    for moves, loss in plays:  # more of them, under the new numbers
        renumbered = [(int(place[one]), *rest) for one, *rest in moves]
        first.add(renumbered, loss)
        second.add(renumbered, loss)
    first.sweep()
    second.sweep()
    np.testing.assert_array_equal(first._value, second._value)
    np.testing.assert_array_equal(first._mean, second._mean)


def test_the_search_settles_on_the_better_action() -> None:
    """One decision, heard or not: the second action loses less on average."""
    rng = np.random.default_rng(2)
    for k in (0, 1):
        search = Search(k, np.array([1.0, 0.5, 0.5]))
        taken = []
        for n in range(600):
            told = int(rng.integers(2))
            action = search.choose([], 1, 2, told, rng.random())
            search.add([(1, 2, told, action)], float(rng.random() < (0.7, 0.3)[action]))
            taken.append(action)
            if n % 20 == 19:
                search.sweep()
        assert np.mean(taken[300:]) > 0.8
        assert 0 < np.mean(taken[:40]) < 1
