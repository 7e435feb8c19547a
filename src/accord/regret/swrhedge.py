"""SWRHedge, Algorithm 6 of Song, Mei, Bai 2022: WRHedge with sampled losses.

The weights are those of ``regret/wrhedge.py`` with the time selections S_b = M_b w_b, and estimates
from episodes (``learning/estimators.py``) in place of the losses. An estimate is zero except at
one infoset and one action, so an episode changes few cells. The policy at an infoset is computed
when an episode reaches it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accord._arrays import Floats, Ints
from accord._check import check_probability
from accord.deviations.notions import NotionLike, clipped_k
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.rates import (
    DEFAULT_FAILURE_PROB,
    LARGEST_RATE,
    bandit_learning_rate,
    episodes_per_iteration,
)
from accord.regret.sampled import (
    Infosets,
    Nodes,
    Sampling,
    observe_at,
    observe_episode,
    recommend_at,
)
from accord.regret.wrhedge import SLACK, TINY
from accord.treeplex.treeplex import Treeplex

SELECTED = np.dtype(
    [
        ("rec_reach", np.float64),
        ("weight", np.float64),  # w_b
        ("credit", np.float64),  # the sum of S_b <p, estimate>
        ("parent", np.int32),
        ("rec_seq", np.int32),
        ("first_cell", np.int32),
        ("episode", np.int32),  # the episode that informs it
    ],
    align=True,
)
"""A record of a rechistory with its time selection."""


@dataclass(frozen=True)
class SWRHedge:
    """Configuration of SWRHedge.

    Attributes:
        learning_rate: eta in units of normalized losses; by default the paper's.
        scale: Multiplier on the paper's learning rate.
        failure_prob: The probability with which the paper's guarantee may fail; enters the paper's
            learning rate.
        whole_plays: Feed it estimates at every decision of the paper's episodes, not only at the
            layer that each of them targets (``learning/whole_plays.py``). There is then a bound on
            the expected gap only (``docs/theory/bandit.md``).
    """

    learning_rate: float | None = None
    scale: float = 1.0
    failure_prob: float = DEFAULT_FAILURE_PROB
    whole_plays: bool = False

    name = "swrhedge"
    sampling = Sampling()
    node = SELECTED
    numbers_per_cell = 1

    def __post_init__(self) -> None:
        for name, value in (("learning_rate", self.learning_rate), ("scale", self.scale)):
            if value is not None and not 0 < value <= LARGEST_RATE:
                raise ArgumentError(
                    f"SWRHedge: {name} must be positive and at most {LARGEST_RATE:g}; got {value}"
                )
        check_probability("failure_prob", self.failure_prob)

    @property
    def explorations(self) -> tuple[str, ...]:
        """The paper's; uniform exploration, for comparison, only in the paper's own episodes."""
        return ("balanced",) if self.whole_plays else ("balanced", "uniform")

    def schedule(
        self, plexes: tuple[Treeplex, ...], k: NotionLike, iterations: int | None
    ) -> LearningRates:
        """The learning rate of each player, and the bound on their losses.

        One episode of the paper's informs a rechistory in each iteration; from whole plays, all do.
        """
        own_k = [clipped_k(plex, k) for plex in plexes]
        bounds = np.ones(len(plexes))
        if self.whole_plays:
            counts = map(episodes_per_iteration, (plex.horizon for plex in plexes), own_k)
            bounds = np.array(list(counts), float)
        if self.learning_rate is not None:
            return LearningRates(np.full(len(plexes), float(self.learning_rate)), bounds)
        if iterations is None:
            raise ArgumentError(
                "SWRHedge needs to know the number of iterations for the paper's learning rate; "
                "give iterations, or a learning_rate"
            )
        rates = [
            self.scale * bandit_learning_rate(plexes, i, own_k[i], iterations, self.failure_prob)
            for i in range(len(plexes))
        ]
        return LearningRates(np.minimum(rates, LARGEST_RATE), bounds)


class LearningRates(NamedTuple):
    """The parameters of the kernels."""

    rates: Floats  # [n_players] eta
    bounds: Floats  # [n_players] on S_b times the estimated losses of an iteration


@recommend_at.kernel_for(LearningRates)
def hedge_sampled(
    schedule: LearningRates,
    player: int,
    x: int,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Write the next policy at ``x``; rechistories have weight M_b w_b."""
    learning_rate = schedule.rates[player]
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    rows, external = n * n, 2 * n * n  # offsets in scratch, after the rates
    for i in range(2 * n * n + n):
        scratch[i] = 0.0
    discount = math.exp(-learning_rate * schedule.bounds[player])

    top = -math.inf
    cell = at.first_cell
    for node in range(at.first_node, at.first_external):
        now = nodes[node].rec_reach * nodes[node].weight
        if now == 0.0:
            cell += n * n
            continue
        mass = learning_rate * discount * nodes[node].credit
        product = 1.0
        for r in range(n):
            least = math.inf
            for a in range(n):
                least = min(least, regret[cell + a])
            row_sum = 0.0
            for a in range(n):
                worse = regret[cell + a] - least
                term = math.exp(-learning_rate * worse) if worse > 0.0 else 1.0
                scratch[rows + r * n + a] = term
                row_sum += term
            for a in range(n):
                scratch[rows + r * n + a] /= row_sum
            mass -= learning_rate * least
            product *= row_sum / n
            if product < TINY:
                mass += math.log(product)
                product = 1.0
            cell += n
        if now < TINY:
            mass += math.log(now)
            now = 1.0
        if mass > top + SLACK:
            if top > -math.inf:
                shrink = math.exp(top - mass)
                for i in range(n * n):
                    scratch[i] *= shrink
            top = mass
        share = now * product
        if mass != top:
            share *= math.exp(mass - top)
        for i in range(n * n):
            scratch[i] += share * scratch[rows + i]

    for node in range(at.first_external, at.end_node):
        now = nodes[node].rec_reach * nodes[node].weight
        if now == 0.0:
            cell += n
            continue
        mass = learning_rate * discount * nodes[node].credit
        if now < TINY:
            mass += math.log(now)
            now = 1.0
        for a in range(n):
            power = mass - learning_rate * regret[cell]
            cell += 1
            if power > top + SLACK:
                if top > -math.inf:
                    shrink = math.exp(top - power)
                    for i in range(n * n):
                        scratch[i] *= shrink
                    for i in range(external, external + n):
                        scratch[i] *= shrink
                top = power
            scratch[external + a] += now * math.exp(power - top)

    for r in range(n):
        for a in range(n):
            scratch[r * n + a] += scratch[external + a] / n
    find_stationary(scratch, n, behavior, first)


@observe_episode.kernel_for(LearningRates)
def observe_hedged(
    schedule: LearningRates,
    episode: int,
    target: int,
    loss: float,
    followed: float,
    path: Ints,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
) -> None:
    """Add the estimate that ``episode`` gives at its target.

    ``followed`` is the probability with which pi^t took the actions before the target where the
    episode did not explore, so that ``loss / followed * M_b`` is S_b times the estimate
    (``learning/estimators.py``).
    """
    x, a = path[0, target], path[1, target]
    loss /= followed
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    for node in range(at.first_node, at.end_node):
        if n == 1 or nodes[node].episode != episode:
            continue
        scaled = loss * nodes[node].rec_reach
        cell = nodes[node].first_cell + a
        nodes[node].credit += scaled * behavior[first + a]
        if node < at.first_external:
            for r in range(n):
                regret[cell + r * n] += scaled * behavior[first + r]
        else:
            regret[cell] += scaled


@observe_at.kernel_for(LearningRates)
def hedge_losses(
    schedule: LearningRates,
    x: int,
    visits: float,
    scale: float,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Add S_b times the estimated losses at every rechistory of ``x``."""
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    expected = 0.0
    for a in range(n):
        expected += behavior[first + a] * scratch[a]
    cell = at.first_cell
    for node in range(at.first_node, at.first_external):
        selected = scale * nodes[node].rec_reach * nodes[node].weight
        nodes[node].credit += selected * expected
        for r in range(n):
            seen = selected * behavior[first + r]
            for a in range(n):
                regret[cell] += seen * scratch[a]
                cell += 1
    for node in range(at.first_external, at.end_node):
        selected = scale * nodes[node].rec_reach * nodes[node].weight
        nodes[node].credit += selected * expected
        for a in range(n):
            regret[cell] += selected * scratch[a]
            cell += 1
