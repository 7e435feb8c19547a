"""Balanced K-EFR (Algorithms 3, 4, 7 and 8): the twin of ``accord.learning.balanced_kefr``.

Exploration policies are those of ``accord.learning.exploration``, loss estimates those of
``accord.learning.estimators``; their expectations are taken over every play, never by sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np

from tests.reference.game import (
    actions,
    clip,
    descendants,
    horizon,
    infosets,
    layer,
    max_actions,
    n_players,
    n_sequences,
    normalized_loss,
    pair,
    path,
    sequence,
    terminals,
)
from tests.reference.kefr import all_minimizers
from tests.reference.policies import plays_against, prob, reach, sample, uniform_behavior
from tests.reference.rechistories import (
    mismatches,
    rechistories,
    time_selection,
    time_selections,
    type_one,
)
from tests.reference.types import (
    Behavior,
    Behaviors,
    Episode,
    MakeMinimizer,
    Rechistory,
    Terminal,
    remember,
)


def balanced_behavior(game: Any, i: int, h: int) -> Behavior:
    """pi^{*,h}_i (Definition 6); uniform where layer h is out of reach."""
    behavior = uniform_behavior(game, i)
    for x in infosets(game, i):
        ahead = descendants(game, i, h, x)
        if layer(game, i, x) < h and ahead:
            for a in actions(game, i, x):
                share = len(descendants(game, i, h, x, a)) / len(ahead)
                behavior[sequence(game, i, x, a)] = share
    return behavior


def fill(indices: Iterable[int], size: int) -> tuple[int, ...]:
    """Equation (35): the smallest numbers added until there are ``size``."""
    chosen = set(indices)
    k = 1
    while len(chosen) < size:
        chosen.add(k)
        k += 1
    return tuple(sorted(chosen))


def type_one_episodes(H: int, K: float) -> list[Episode]:
    """The (h, W) of Algorithm 7; none for K = 0."""
    K = int(min(K, H))
    if K == 0:
        return []
    return [(h, W) for h in range(1, H + 1) for W in combinations(range(1, h), min(K, h) - 1)]


def type_two_episodes(H: int, K: float) -> list[Episode]:
    """The (h, h', W) of Algorithm 4; for K = 0 the (h, 0, empty)."""
    K = int(min(K, H))
    if K == 0:
        return [(h, 0, ()) for h in range(1, H + 1)]
    return [
        (h, last, (*W, last))
        for last in range(K, H)
        for h in range(last + 1, H + 1)
        for W in combinations(range(1, last), K - 1)
    ]


def episodes(game: Any, i: int, K: float) -> list[Episode]:
    """All episodes that player i plays in one iteration, Type I first."""
    H = horizon(game, i)
    return type_one_episodes(H, K) + type_two_episodes(H, K)


def balanced_layers(episode: Episode) -> set[int]:
    """The layers in which an episode explores: W and h, or W and h'+1, ..., h."""
    if len(episode) == 2:
        h, W = episode
        return {*W, h}
    h, last, W = episode
    return {*W, *range(last + 1, h + 1)}


def sampling_behavior(game: Any, i: int, behavior: Behavior, episode: Episode) -> Behavior:
    """pi_i^{t,(h,W)} or pi_i^{t,(h,h',W)}."""
    star = balanced_behavior(game, i, episode[0])
    mixed = list(behavior)
    for x in infosets(game, i):
        if layer(game, i, x) in balanced_layers(episode):
            for a in actions(game, i, x):
                mixed[sequence(game, i, x, a)] = star[sequence(game, i, x, a)]
    return mixed


def episode_of(game: Any, i: int, K: float, x: int, b: Rechistory) -> Episode:
    """The episode that estimates the losses of (x, b)."""
    K, h, W = clip(game, i, K), layer(game, i, x), mismatches(game, i, x, b)
    if b in type_one(game, i, K, x):
        return h, fill(W, min(K - 1, h - 1))
    return h, len(b), tuple(W)


@remember
def sampling_weight(game: Any, i: int, K: float, x: int, b: Rechistory) -> float:
    """w_b(x), Equations (11) and (12)."""
    h = layer(game, i, x)
    star = balanced_behavior(game, i, h)
    total = 1.0
    for k, (xk, ak) in enumerate((*path(game, i, x), (x, 0)), 1):  # uniform at x: any action
        if k in balanced_layers(episode_of(game, i, K, x, b)):
            total *= prob(game, i, star, xk, ak)
    return total


def loss_estimate(game: Any, i: int, x: int, behavior: Behavior, *, play: Terminal) -> list[float]:
    """Equations (13) and (36) over actions at x, from one play of ``behavior``."""
    h = layer(game, i, x)
    estimate = [0.0] * len(actions(game, i, x))
    if play.seqs[i] != 0:
        last = pair(game, i, play.seqs[i])
        own = [*path(game, i, last[0]), last]
        if len(own) >= h and own[h - 1][0] == x:
            a = own[h - 1][1]
            loss = normalized_loss(game, i, play.payoffs[i])
            estimate[a] = loss / reach(game, i, behavior, sequence(game, i, x, a))
    return estimate


def loss_estimates(
    game: Any, i: int, K: float, behaviors: Behaviors, plays: dict[Episode, int]
) -> dict[tuple[int, Rechistory], list[float]]:
    """Algorithms 4 and 7 after their episodes ended at the terminal nodes ``plays``."""
    ends = {z.node: z for z in terminals(game)}
    estimates = {}
    for x, b in rechistories(game, i, K):
        episode = episode_of(game, i, K, x, b)
        sampling = sampling_behavior(game, i, behaviors[i], episode)
        estimates[x, b] = loss_estimate(game, i, x, sampling, play=ends[plays[episode]])
    return estimates


def play_law(game: Any, behaviors: Behaviors) -> list[tuple[float, Terminal]]:
    """Every terminal history with its probability."""
    return plays_against(game, -1, behaviors)


def sample_play(game: Any, behaviors: Behaviors, rng: np.random.Generator) -> int:
    """Play once; the terminal node."""
    law = play_law(game, behaviors)
    return law[sample([p for p, _ in law], rng)][1].node


def estimator_facts(
    game: Any, i: int, K: float, behaviors: Behaviors
) -> dict[tuple[int, Rechistory], tuple[list[float], float]]:
    """For every (x, b), over all plays: mean and maximum of the loss estimates.

    The mean is taken per action; the maximum is that of M_b w_b times an estimate (assumption (i)
    of Lemma A.3).
    """
    facts = {}
    for x, b in rechistories(game, i, K):
        sampling = sampling_behavior(game, i, behaviors[i], episode_of(game, i, K, x, b))
        law = play_law(game, [sampling if j == i else bs for j, bs in enumerate(behaviors)])
        mean = [0.0] * len(actions(game, i, x))
        largest = 0.0
        scale = time_selection(game, i, behaviors[i], x, b) * sampling_weight(game, i, K, x, b)
        for p, z in law:
            if p > 0:
                estimate = loss_estimate(game, i, x, sampling, play=z)
                mean = [m + p * e for m, e in zip(mean, estimate, strict=True)]
                largest = max(largest, scale * max(estimate))
        facts[x, b] = mean, largest
    return facts


def bandit_rate(game: Any, i: int, K: float, iterations: int, failure_prob: float) -> float:
    """Equation (14), for losses in [0, 1]; the loss bound is then 1."""
    K, H, A = clip(game, i, K), horizon(game, i), max_actions(game, i)
    players = range(n_players(game))
    pairs = sum(len(infosets(game, j)) * max_actions(game, j) for j in players)
    iota = math.log(8 * pairs / failure_prob)
    X = len(infosets(game, i))
    return math.sqrt(math.comb(H, K) * X * A ** (K + 1) * iota / (H * iterations))


def balanced_kefr(
    game: Any,
    K: float,
    iterations: int,
    make: MakeMinimizer,
    play: Callable[[int, int, Episode, Behaviors], int],
) -> list[Behaviors]:
    """Algorithm 8 for all players together; the product policy of every iteration.

    ``make`` makes an :class:`SWRHedge`. ``play(t, i, episode, behaviors)`` plays the episode, in
    which ``behaviors[i]`` already is the sampling policy, and returns the terminal node.
    """
    minimizers = all_minimizers(game, K, make)
    iterates = []
    for t in range(iterations):
        behaviors = [[1.0] * n_sequences(game, i) for i in range(n_players(game))]
        for i, behavior in enumerate(behaviors):
            for x in infosets(game, i):
                M = time_selections(game, i, K, x, behavior)
                S = {b: m * sampling_weight(game, i, K, x, b) for b, m in M.items()}
                minimizers[i][x].observe_time_selection(S)
                for a, p in enumerate(minimizers[i][x].recommend()):
                    behavior[sequence(game, i, x, a)] = p
        for i in range(n_players(game)):  # one after the other, the rest keep their policies
            plays = {}
            for episode in episodes(game, i, K):
                joint = list(behaviors)
                joint[i] = sampling_behavior(game, i, behaviors[i], episode)
                plays[episode] = play(t, i, episode, joint)
            estimates = loss_estimates(game, i, K, behaviors, plays)
            for x in infosets(game, i):
                losses = {b: loss for (y, b), loss in estimates.items() if y == x}
                minimizers[i][x].observe_losses(losses)
        iterates.append(behaviors)
    return iterates
