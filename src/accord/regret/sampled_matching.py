"""Regret matching for losses estimated from whole plays.

The regrets R are those of ``regret/regret_matching.py`` with estimated losses
(``learning/whole_plays.py``), and the next policy is the stationary distribution of the rates

    sum over b of M_b max(R_b + P_b, 0).

For ``rm`` the prediction P is zero. For ``prm``, predictive regret matching, it is the sum of the
regrets of the last visits to the infoset, the older the less: P <- (1 - 1/w) P + regret with
w = max(1, min(longest, window * sqrt(visits))). It says that the next w visits will be like the
last w.

Why it helps: near an equilibrium the policies of regret matching move in cycles, which the noise of
the estimates excites and nothing damps. A prediction damps them, as it does with full feedback,
but from one episode it would be noise itself. Summing w episodes costs a noise of sqrt(w), small
beside the regrets, whose own noise is that of all episodes.

There is no learning rate. ``docs/theory/bandit.md`` has the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from accord._arrays import Floats
from accord._check import checked_whole
from accord.deviations.notions import NotionLike
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.sampled import NODE, Infosets, Nodes, Sampling, observe_at, recommend_at
from accord.treeplex.treeplex import Treeplex

TINY = 1e-290
"""Rates whose sum is not larger count as zero."""


@dataclass(frozen=True)
class SampledRegretMatching:
    """Configuration of regret matching for learning from whole plays.

    Attributes:
        window: The prediction counts about ``window * sqrt(n)`` of the ``n`` visits to an infoset
            twice; 0 for regret matching without prediction.
        longest: The most visits that it counts twice, so that the gap has a proved rate of
            T^(-1/2).
        shared: Episodes per iteration in which nobody explores and everybody learns, beside one
            per player in which that player explores.
        follow: The share of the player's own policy in an episode that explores.
        baseline_rate: How fast the baselines follow the observed losses, at least.
        trace: The weight of the whole play in a baseline's target; the rest has the baselines of
            the next decision.
        averages: How many iterates each component of the saved mixture averages, at most; fewer if
            that would take long.
    """

    window: float = 1.0
    longest: float = 100.0
    shared: int = 1
    follow: float = 0.05
    baseline_rate: float = 0.05
    trace: float = 0.5
    averages: int = 64

    whole_plays = True
    explorations = ("spread", "uniform", "balanced")
    node = NODE
    numbers_per_cell = 2

    def __post_init__(self) -> None:
        for name in ("follow", "baseline_rate", "trace"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ArgumentError(
                    f"SampledRegretMatching: {name} must be between 0 and 1; got {value}"
                )
        if self.follow == 1.0:
            raise ArgumentError(
                "SampledRegretMatching: follow must be below 1, or nobody would explore; got 1"
            )
        if not 0.0 <= self.window < math.inf:
            raise ArgumentError(
                f"SampledRegretMatching: window must be non-negative and finite; got {self.window}"
            )
        if not self.longest >= 1.0:
            raise ArgumentError(
                f"SampledRegretMatching: longest must be at least 1; got {self.longest}"
            )
        for name, least in (("shared", 0), ("averages", 1)):
            object.__setattr__(self, name, checked_whole(name, getattr(self, name), least))

    @property
    def name(self) -> str:
        """``"prm"``, or ``"rm"`` without prediction."""
        return "prm" if self.window else "rm"

    @property
    def sampling(self) -> Sampling:
        """How losses are estimated."""
        return Sampling(
            self.shared, float(self.follow), 0.5, float(self.baseline_rate), float(self.trace),
            self.averages,
        )  # fmt: skip

    def schedule(
        self, plexes: tuple[Treeplex, ...], k: NotionLike, iterations: int | None
    ) -> SampledMatching:
        """The windows, the same for all players."""
        return SampledMatching(float(self.window), float(self.longest))


class SampledMatching(NamedTuple):
    """The parameters of the kernels."""

    window: float
    longest: float


@recommend_at.kernel_for(SampledMatching)
def match_sampled(
    schedule: SampledMatching,
    player: int,
    x: int,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Write the next policy at ``x``. Cell c has its regret at 2c, its prediction at 2c + 1.

    Most rates are zero. An action that no rate leads to has probability 0 and is left out of the
    chain. If all rates come from EXTERNAL rechistories, they do not depend on the recommendation,
    and the policy is proportional to them.
    """
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    swapped, external, members = n * n, n * n + n, n * n + 2 * n  # places in scratch
    for i in range(swapped, members):
        scratch[i] = 0.0
    live = False
    place = 2 * at.first_cell
    for node in range(at.first_node, at.first_external):
        now = nodes[node].rec_reach
        if now == 0.0:
            place += 2 * n * n
            continue
        for r in range(n):
            for a in range(n):
                rate = now * max(regret[place + 2 * a] + regret[place + 2 * a + 1], 0.0)
                scratch[r * n + a] = scratch[r * n + a] + rate if live else rate
            place += 2 * n
        live = True
    for node in range(at.first_external, at.end_node):
        now = nodes[node].rec_reach
        if now > 0.0:
            for a in range(n):
                scratch[external + a] += now * max(
                    regret[place + 2 * a] + regret[place + 2 * a + 1], 0.0
                )
        place += 2 * n

    if n == 2:
        up, down = scratch[external + 1], scratch[external]
        if live:
            up, down = up + scratch[1], down + scratch[2]
        if up + down > TINY:
            behavior[first] = down / (up + down)
            behavior[first + 1] = up / (up + down)
        else:
            behavior[first] = behavior[first + 1] = 0.5
    else:
        swaps = total = 0.0
        if live:
            for r in range(n):
                for a in range(n):
                    scratch[swapped + a] += scratch[r * n + a]
        for a in range(n):
            swaps += scratch[swapped + a]
            total += scratch[external + a]
        if swaps > 0.0:
            m: Any = np.int64(0)  # for a literal find_stationary would be compiled again
            for a in range(n):
                behavior[first + a] = 0.0
                if scratch[swapped + a] + scratch[external + a] > 0.0:
                    scratch[members + m] = a
                    m += 1
            for i in range(m):
                row = int(scratch[members + i]) * n
                for j in range(m):
                    a = int(scratch[members + j])
                    scratch[i * m + j] = scratch[row + a] + scratch[external + a]
            find_stationary(scratch, m, scratch, swapped)
            for i in range(m):
                behavior[first + int(scratch[members + i])] = scratch[swapped + i]
        else:
            for a in range(n):
                behavior[first + a] = scratch[external + a] / total if total > TINY else 1.0 / n


@observe_at.kernel_for(SampledMatching)
def match_losses(
    schedule: SampledMatching,
    x: int,
    visits: float,
    scale: float,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Add the regrets at ``x``, and move the predictions.

    Rechistories with M_b = 0, and recommendations with probability 0, keep both.
    """
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    predicts = schedule.window > 0.0
    keep = 1.0 - 1.0 / max(1.0, min(schedule.window * math.sqrt(visits), schedule.longest))
    expected = 0.0
    for a in range(n):
        expected += behavior[first + a] * scratch[a]
    place = 2 * at.first_cell
    for node in range(at.first_node, at.first_external):
        selected = scale * nodes[node].rec_reach
        if selected > 0.0:
            for r in range(n):
                seen = selected * behavior[first + r]
                if seen == 0.0:
                    place += 2 * n
                    continue
                for a in range(n):
                    gain = seen * (scratch[r] - scratch[a])
                    regret[place] += gain
                    if predicts:
                        regret[place + 1] = keep * regret[place + 1] + gain
                    place += 2
        else:
            place += 2 * n * n
    for node in range(at.first_external, at.end_node):
        selected = scale * nodes[node].rec_reach
        if selected > 0.0:
            for a in range(n):
                gain = selected * (expected - scratch[a])
                regret[place] += gain
                if predicts:
                    regret[place + 1] = keep * regret[place + 1] + gain
                place += 2
        else:
            place += 2 * n
