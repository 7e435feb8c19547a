"""Simulation of many plays in which everybody obeys.

Each play draws a component of the correlated policy and walks down the tree, drawing each action
from that component. This is the mediator of ``mediator/mediator.py`` with all moves delegated,
compiled. Only the number of visits to each terminal is kept, so memory does not grow with the
number of plays, and the mean and its standard error come from these counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, NO_INFOSET, TERMINAL, Floats
from accord._check import checked_seed, checked_whole
from accord._jit import jit
from accord.equilibrium.policy import CorrelatedPolicy
from accord.game.tree import total_rewards
from accord.play.environment import Environment
from accord.play.episodes import Executor
from accord.play.mediated import MediatedPlays
from accord.play.simulator import SimulatorArrays, draw_outcome, simulator
from accord.treeplex.strategy import draw_sequence

PLAYS_PER_CALL = 1 << 16
"""Plays per compiled call; Ctrl-C takes effect between calls."""

DRAWN_NUMBERS = 1 << 20
"""Numbers in the joint plans that are drawn from a correlation plan at once."""

PLAYS_KEPT = 1000
"""Plays of an environment whose moves are kept at once."""

MOST_REACHED = 200
"""Infosets of each player whose reach probabilities are kept."""

MARGIN_CONFIDENCE = 0.95

QUANTILE = 1.959963984540054
"""The quantile of the normal distribution for 95% confidence intervals."""


@dataclass(frozen=True, eq=False)
class ObedientPlays:
    """Payoffs of many plays."""

    plays: int
    counts: NDArray[np.int64]  # [n_terminals] how often each was reached
    mean: Floats  # [n_players] payoffs
    margin: Floats  # [n_players] half the width of the 95% confidence interval; NaN for one play


def obedient_plays(
    policy: CorrelatedPolicy,
    plays: SupportsIndex,
    seed: SupportsIndex | np.random.Generator | None = None,
) -> ObedientPlays:
    """Play ``plays`` times with everybody following the mediator.

    Args:
        policy: The policy that the mediator recommends from.
        plays: The number of plays, at least 1.
        seed: The seed of all randomness, or a generator that draws one; by default another one
            every time.

    Raises:
        ArgumentError: If ``plays`` or ``seed`` is out of range.
    """
    wanted = checked_whole("plays", plays, 1)
    rng = np.random.default_rng(None if seed is None else checked_seed(seed))
    form = policy.form
    game = form.game
    tree = simulator(game, form.leaves.best, form.leaves.loss_scale)
    first_infoset = np.cumsum([0, *(plex.n_infosets for plex in form.plexes)])
    first_reach = form.leaves.first_reach[:-1]
    first_seq = np.concatenate(
        [plex.first_seq[:-1] + start for plex, start in zip(form.plexes, first_reach, strict=True)]
    )
    ends = np.flatnonzero(game.player == TERMINAL)
    counts = np.zeros(len(ends), np.int64)
    done = 0
    while done < wanted:
        left = wanted - done
        if policy.plan is None:
            weights, behavior, now = np.cumsum(policy.weights), policy.behavior, left
        else:  # a joint plan for every play
            now = min(left, max(1, DRAWN_NUMBERS // form.n_sequences))
            behavior = np.array([policy.drawn(rng) for _ in range(now)])
            weights = np.zeros(0)
        now = min(now, PLAYS_PER_CALL)
        _play(tree, first_infoset, first_seq, weights, behavior, rng, now, counts)
        done += now
    mean, margin = _confidence(total_rewards(game, ends), counts)
    return ObedientPlays(wanted, counts, mean, margin)


def estimated_values(
    env: Environment,
    policy: CorrelatedPolicy,
    plays: int,
    seed: int,
    executor: Executor | None = None,
    told: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """What plays in which everybody obeys show of a policy, by name.

    There are ``values``, mean payoffs; ``margins``, half the widths of their 95% confidence
    intervals; ``coverage``, the share of decisions at infosets that the policy knows, None if
    nobody decided anything; and ``reached``, for each player the infosets that most plays came to,
    with the shares of plays that did. ``executor`` is closed at the end. ``told`` is called with
    the number of plays so far, from time to time.
    """
    mediated = MediatedPlays(env, policy, seed, executor)
    paid = np.empty((plays, len(policy.plexes)))
    decided = known = 0
    visits: list[Counter[int]] = [Counter() for _ in policy.plexes]
    try:
        for start in range(0, plays, PLAYS_KEPT):
            episodes = mediated.play(start, min(plays, start + PLAYS_KEPT))
            paid[start : start + len(episodes)] = [episode.payoffs for episode in episodes]
            for episode in episodes:
                decided += len(episode.moves)
                for i, x, *_ in episode.moves:
                    if x != NO_INFOSET:
                        known += 1
                        visits[i][x] += 1
            if told is not None:
                told(start + len(episodes))
    finally:
        mediated.close()
    values, margins = mean_and_margin(paid)
    coverage = known / decided if decided else None
    reached = tuple(
        tuple((x, count / plays) for x, count in own.most_common(MOST_REACHED)) for own in visits
    )
    return {"values": values, "margins": margins, "coverage": coverage, "reached": reached}


def mean_and_margin(paid: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means of the columns, and half the widths of their 95% confidence intervals."""
    mean, margins = paid.mean(axis=0), np.full(paid.shape[1], math.nan)
    if len(paid) > 1:
        unit = _unit(paid - mean)
        spread = ((paid - mean) / unit).std(axis=0, ddof=1)
        margins = QUANTILE * spread / math.sqrt(len(paid)) * unit
    return tuple(map(float, mean)), tuple(map(float, margins))


def _unit(far: Floats) -> Floats:
    """The largest magnitude in each column: the square of a large payoff would overflow."""
    return np.asarray(np.abs(far).max(axis=0) + np.finfo(float).tiny)


def _confidence(payoffs: Floats, counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Mean payoffs, and half the widths of their 95% Student intervals."""
    from scipy.special import stdtrit

    plays = int(counts.sum())
    share = counts / plays
    mean = share @ payoffs
    if plays == 1:
        return mean, np.full(len(mean), np.nan)
    far = payoffs - mean
    unit = _unit(far)
    variance = share @ (far / unit) ** 2 * plays / (plays - 1)
    quantile = float(stdtrit(plays - 1, 0.5 + MARGIN_CONFIDENCE / 2))
    return mean, quantile * np.sqrt(variance / plays) * unit


@jit
def _play(
    game: SimulatorArrays,
    first_infoset: NDArray[np.int64],
    first_seq: NDArray[np.int64],
    weights: Floats,
    behavior: Floats,
    rng: np.random.Generator,
    plays: int,
    counts: NDArray[np.int64],
) -> None:
    """Play ``plays`` times, and add to ``counts`` the terminals reached. Without ``weights`` there
    is a row of ``behavior`` for each play."""
    told = behavior.ravel()
    for play in range(plays):
        component = play
        if len(weights):
            drawn = int(np.searchsorted(weights, rng.random(), side="right"))
            component = min(drawn, len(weights) - 1)
        row = component * behavior.shape[1]
        node = game.nodes[0]
        while node.player != TERMINAL:
            draw = rng.random()
            i = node.player
            if i == CHANCE:
                a = draw_outcome(draw, node.place, node.n_children, game.outcomes)
            else:
                first = row + first_seq[first_infoset[i] + node.place]
                a = draw_sequence(told, first, first + node.n_children, draw) - first
            node = game.nodes[node.first_child + a]
        counts[node.place] += 1
