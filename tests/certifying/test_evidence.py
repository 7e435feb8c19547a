"""Evidence from plays: the estimate of every cell is unbiased, by enumeration of all plays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from accord.certifying.by_play import _Trial
from accord.certifying.evidence import FOLLOW, Evidence
from accord.equilibrium.gap import MixtureMeter
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.library import kuhn
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.strategy import behavior_to_reach
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex
from tests.support.policies import grown_game, random_policy

Path = list[tuple[int, int]]
"""A player's infosets and actions, first to last."""


def intervals(*ends: float) -> Iterator[tuple[float, float]]:
    """``(length, midpoint)`` of the intervals into which ``ends`` divide [0, 1)."""
    points = np.unique(np.clip([0.0, *ends, 1.0], 0.0, 1.0))
    for low, high in pairwise(points):
        yield high - low, 0.5 * (low + high)


class Explorer:
    """The code that moves for a player who explores, with the random numbers of a test."""

    def __init__(self, evidence: Evidence, weights: np.ndarray) -> None:
        self.plex, self.base, self.behavior = evidence.tree.plex, evidence.base, evidence.behavior
        self.until = np.cumsum(weights)
        trees = [SimpleNamespace(first_seq=self.plex.first_seq)]
        plays = SimpleNamespace(trees=trees)
        self.trial: Any = SimpleNamespace(
            until=[self.until], bases=[self.base], plays=plays, explorer=None
        )

    def probability(self, component: int, path: Path) -> float:
        """That the moves of ``path`` are taken where they can be.

        The code takes the same action for all random numbers between two of its thresholds, so one
        number of each interval stands for all of them.
        """
        total = 0.0
        for length, chance in intervals(*self.until):
            steps = [path[: n + 1] for n in range(len(path))]
            total += length * math.prod(self._taken(component, step, chance) for step in steps)
        return total

    def _taken(self, component: int, path: Path, chance: float) -> float:
        x, a = path[-1]
        here = slice(int(self.plex.first_seq[x]), int(self.plex.first_seq[x + 1]))
        recommended, base = self.behavior[component, here], self.base[here]
        total = 0.0
        for told in range(len(base)):
            for one, first in intervals(FOLLOW):
                for other, second in intervals(*np.cumsum(base)):
                    episode: Any = SimpleNamespace(
                        chance=chance, paths=[path[:-1]], draw=iter((first, second)).__next__
                    )
                    taken = _Trial._explore(self.trial, episode, 0, x, told, len(base))
                    total += recommended[told] * one * other * (taken == a)
        return total


def path_to(plex: Treeplex, seq: int) -> Path:
    path = []
    while seq != EMPTY_SEQUENCE:
        x = int(plex.seq_infoset[seq])
        path.append((x, seq - int(plex.first_seq[x])))
        seq = int(plex.parent_seq[x])
    return path[::-1]


def planned(plex: Treeplex, k: float, behavior: np.ndarray) -> Evidence:
    """Evidence without plays, whose sampling policies are not equally likely."""
    evidence = Evidence(plex, k, np.ascontiguousarray(behavior))
    evidence._reached[:] = np.arange(len(evidence._reached), 0, -1)
    evidence.plan()
    return evidence


def expected_cells(
    policy: CorrelatedPolicy, i: int, k: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """The mean over all plays of what one play in which player i explores adds to each cell.

    ``weights`` are the probabilities of the sampling policies, by default those that the evidence
    expects.
    """
    form = sequence_form(policy.game)
    plex, leaves, part = form.plexes[i], form.leaves, form.split(policy.behavior)[i]
    plan = planned(plex, k, part)
    explorer = Explorer(plan, plan.weights if weights is None else weights)
    losses = leaves.normalized_loss(i)
    paths = [path_to(plex, int(seq)) for seq in range(plex.n_sequences)]
    mean, total = np.zeros_like(plan.loss), 0.0
    for component, (weight, behaviors) in enumerate(policy.components()):
        reach = list(map(behavior_to_reach, form.plexes, behaviors))
        explored = [explorer.probability(component, path) for path in paths]
        for row, seqs in enumerate(leaves.seqs):
            chance = float(leaves.prob[row])
            others = math.prod(float(reach[j][seqs[j]]) for j in range(len(reach)) if j != i)
            probability = weight * chance * others * explored[int(seqs[i])]
            if probability == 0.0:
                continue
            evidence = planned(plex, k, part)
            evidence.explore(component, paths[int(seqs[i])], float(losses[row]) / chance)
            mean += probability * evidence.loss
            total += probability
    assert total == pytest.approx(1.0, abs=1e-12)  # these were all plays
    return mean


def exact_cells(policy: CorrelatedPolicy, i: int, k: float) -> np.ndarray:
    meter = MixtureMeter(sequence_form(policy.game), k)
    for weight, behaviors in policy.components():
        meter.observe(behaviors, weight)
    return np.asarray(meter.meters[i].deviation_loss)


@pytest.mark.kernels
@pytest.mark.parametrize("k", [0, 1, 2, math.inf])
@pytest.mark.parametrize("game", [kuhn(), grown_game(0, 2, 60), grown_game(1, 3, 60)])
def test_every_cell_is_estimated_without_bias(game: Game, k: float) -> None:
    """By enumeration of components, sampling policies, chance, recommendations and moves."""
    policy = random_policy(game, 3, components=3, pure=0.0)
    informed = 0
    for i in range(game.n_players):
        exact = exact_cells(policy, i, k)
        np.testing.assert_allclose(expected_cells(policy, i, k), exact, rtol=1e-9, atol=1e-13)
        informed += np.count_nonzero(exact)
    assert informed >= 8


@pytest.mark.kernels
def test_plays_of_other_sampling_policies_would_be_biased() -> None:
    policy = random_policy(kuhn(), 3, components=3, pure=0.0)
    exact = exact_cells(policy, 0, 1)
    other = expected_cells(policy, 0, 1, np.array([0.25, 0.75]))
    assert abs(other - exact).max() > 0.01
