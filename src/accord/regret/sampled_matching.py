"""Regret matching around baselines, for sampled losses.

The regrets are those of ``regret/regret_matching.py`` with estimated losses. An episode that visits
x and plays a there estimates L(x, .) around a baseline, which predicts the loss after each action,
by

    [x was visited] baseline(a') + [a' = a] (loss - baseline(a)) A,

divided by the probability of the visit. For any baseline the estimate has mean L(x, a'); the better
the baseline predicts, the smaller the variance. Baselines are running means of observed losses.

There is no learning rate, and no published bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, SupportsIndex

from accord._arrays import Floats, Ints
from accord.errors import ArgumentError
from accord.regret.fixed_point import find_stationary
from accord.regret.sampled import Infosets, Nodes, observe_episode, recommend_at
from accord.treeplex.treeplex import Treeplex


@dataclass(frozen=True)
class SampledRegretMatching:
    """Configuration of regret matching around baselines.

    Attributes:
        baseline_rate: How fast the baselines follow the observed losses.
    """

    baseline_rate: float = 0.02

    name = "rm"

    def __post_init__(self) -> None:
        if not 0.0 <= self.baseline_rate <= 1.0:
            raise ArgumentError(
                "SampledRegretMatching: baseline_rate must be between 0 and 1; got "
                f"{self.baseline_rate}"
            )

    def schedule(
        self, plexes: tuple[Treeplex, ...], k: SupportsIndex | float, iterations: int | None
    ) -> Baselines:
        """The rate of the baselines, the same for all players."""
        return Baselines(float(self.baseline_rate))


class Baselines(NamedTuple):
    """The parameters of the kernels."""

    rate: float


@recommend_at.kernel_for(Baselines)
def match_sampled(
    schedule: Baselines,
    player: int,
    x: int,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Write the next policy at ``x`` from sampled regrets."""
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    external = n * n  # its offset in scratch, after the rates
    for i in range(n * n + n):
        scratch[i] = 0.0
    cell = at.first_cell
    for node in range(at.first_node, at.first_external):
        now = nodes[node].rec_reach / nodes[node].weight  # the sums contain a factor w_b
        for i in range(n * n):
            scratch[i] += now * max(regret[cell], 0.0)
            cell += 1
    for node in range(at.first_external, at.end_node):
        now = nodes[node].rec_reach / nodes[node].weight
        for a in range(n):
            scratch[external + a] += now * max(regret[cell], 0.0)
            cell += 1
    for r in range(n):
        for a in range(n):
            scratch[r * n + a] += scratch[external + a]
    find_stationary(scratch, n, behavior, first)


@observe_episode.kernel_for(Baselines)
def observe_matched(
    schedule: Baselines,
    episode: int,
    target: int,
    length: int,
    loss: float,
    followed: float,
    path: Ints,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    baseline: Floats,
    scratch: Floats,
) -> None:
    """Add the regrets that ``episode`` estimates at its target, and move the baselines.

    ``followed`` is the probability with which pi^t took the actions before the target where the
    episode did not explore. After the target action the play followed pi^t, so its loss moves the
    baselines from there on.
    """
    x, a = path[0, target], path[1, target]
    at = infosets[x]
    first, n = at.first_seq, at.n_actions
    if n > 1:
        for r in range(n):
            scratch[r] = baseline[first + r] / n
        scratch[a] += loss - baseline[first + a]
        expected = 0.0
        for r in range(n):
            expected += behavior[first + r] * scratch[r]
        for node in range(at.first_node, at.end_node):
            if nodes[node].episode != episode:
                continue
            scaled = nodes[node].rec_reach / followed
            cell = nodes[node].first_cell
            if node < at.first_external:
                for r in range(n):
                    seen = scaled * behavior[first + r]
                    for j in range(n):
                        regret[cell] += seen * (scratch[r] - scratch[j])
                        cell += 1
            else:
                for j in range(n):
                    regret[cell] += scaled * (expected - scratch[j])
                    cell += 1
    for layer in range(target, length):
        seq = infosets[path[0, layer]].first_seq + path[1, layer]
        baseline[seq] += schedule.rate * (loss - baseline[seq])
