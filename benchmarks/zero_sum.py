"""The protocol of Fiegel et al. 2023: zero-sum games, and the exploitability of average policies.

Kuhn poker, Leduc poker and Liar's Dice with four sides, after 10^3 to 10^7 episodes. The literature
on learning such games from episodes shows how exploitable the average policy is: half of what both
players together gain by best responses. Here it stands beside the exact EFCE gap of the same run.
``learn`` is judged by the mixture that it saves; for exploitability each player's policies in it
are averaged by their reach probabilities.

IXOMD, Balanced OMD and Balanced FTRL of LiteEFG need learning rates, so they are tuned for each
game: of ``rates`` the one with the least exploitability after ``tuned`` episodes, with another
seed. ``learn`` has its defaults. Runs have a limit of CPU time; where that is not enough, a curve
ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import accord
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.strategy import behavior_to_reach, reach_to_behavior
from benchmarks.bandit import LEARNERS, quartiles
from benchmarks.games import GAMES
from benchmarks.measure import TimeUpError, cpu_limit
from benchmarks.peers import SampledPeer, TunedPeer, sampled_peers, tuned_peers

TITLES = ("Kuhn", "Leduc", "Liar's Dice 4")

SHOWN = ("Accord prm", "Accord joint")
"""The learners of Accord that take part."""

TUNING_SEED = 100


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    episodes: tuple[int, ...]
    seeds: int
    seconds: float  # of CPU time that a run of ``learn`` may take
    peer_seconds: float  # and a run of a peer
    rates: tuple[float, ...]  # of which a peer that needs one gets the best
    tuned: int  # episodes after which they are compared


FULL = Effort(
    {title: GAMES[title] for title in TITLES},
    tuple(10**power for power in range(3, 8)), 3, 30.0, 4.0,
    rates=(0.0003, 0.001, 0.003, 0.01, 0.03, 0.1), tuned=30_000,
)  # fmt: skip
SMALL = Effort(
    {"Kuhn": GAMES["Kuhn"]}, (100, 1_000), 2, 5.0, 5.0, rates=(0.001, 0.01), tuned=100,
)  # fmt: skip

Point = tuple[float, float]  # EFCE gap and exploitability


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """Both measures of everybody on every game."""
    games = []
    for title, name in effort.games.items():
        say(title)
        form = sequence_form(accord.load_game(name))
        games.append({"title": title, **_contest(form, effort)})
    settings = {**asdict(effort), "episodes": list(effort.episodes), "rates": list(effort.rates)}
    del settings["games"]
    return {"settings": settings, "games": games}


def _contest(form: SequenceForm, effort: Effort) -> dict[str, Any]:
    """The points of all entrants, and the rates that were chosen."""
    points: list[dict[str, Any]] = []
    for name in SHOWN:
        runs = [list(_learned(form, LEARNERS[name], effort, seed)) for seed in range(effort.seeds)]
        points += _summary(name, effort, runs)
    rates = {}
    for peer in sampled_peers():
        if peer.applies(form.game):
            runs = [list(_averaged(form, peer, effort, seed)) for seed in range(effort.seeds)]
            points += _summary(peer.name, effort, runs)
    for tuned in tuned_peers():
        rates[tuned.name] = _best_rate(form, tuned, effort)
        runs = [
            list(_averaged(form, tuned.at(rates[tuned.name]), effort, seed))
            for seed in range(effort.seeds)
        ]
        points += _summary(tuned.name, effort, runs)
    return {"rates": rates, "points": points}


def _summary(name: str, effort: Effort, runs: list[list[Point]]) -> list[dict[str, Any]]:
    """Quartiles of both measures, as far as all seeds have come."""
    return [
        {
            "name": name,
            "episodes": episodes,
            "gap": quartiles([gap for gap, _ in sample]),
            "exploitability": quartiles([far for _, far in sample]),
        }
        for episodes, sample in zip(effort.episodes, zip(*runs, strict=False), strict=False)
    ]


def _learned(
    form: SequenceForm, how: Mapping[str, Any], effort: Effort, seed: int
) -> Iterator[Point]:
    """What ``learn`` saves; each number of episodes is a run of its own."""
    for episodes in effort.episodes:
        try:
            with cpu_limit(effort.seconds):
                learned = accord.learn(form.game, 1, episodes=episodes, seed=seed, **how)
        except TimeUpError:
            return
        gap = float((np.array(learned.player_gaps) * form.leaves.loss_scale).max())
        yield gap, exploitability(form, average(form, learned.policy))


def _averaged(
    form: SequenceForm, make: Callable[[Any, int], SampledPeer], effort: Effort, seed: int
) -> Iterator[Point]:
    """The average policy of a peer in one run."""
    try:
        with cpu_limit(effort.peer_seconds):
            peer, done = make(form.game, seed), 0
            for episodes in effort.episodes:
                iterations = episodes // peer.episodes_per_iteration
                peer.advance(iterations - done)
                done = iterations
                policy = CorrelatedPolicy.product(form.game, peer.average())
                gap = float((efce_gaps(policy, 1) * form.leaves.loss_scale).max())
                yield gap, exploitability(form, policy)
    except TimeUpError:
        return


def _best_rate(form: SequenceForm, peer: type[TunedPeer], effort: Effort) -> float:
    """The rate with the least exploitability after ``tuned`` episodes."""
    found = {}
    for rate in effort.rates:
        entrant = peer.at(rate)(form.game, TUNING_SEED)
        entrant.advance(effort.tuned // entrant.episodes_per_iteration)
        policy = CorrelatedPolicy.product(form.game, entrant.average())
        found[rate] = exploitability(form, policy)
    return min(found, key=lambda rate: (not np.isfinite(found[rate]), found[rate]))


def average(form: SequenceForm, policy: CorrelatedPolicy) -> CorrelatedPolicy:
    """The product of the players' policies, each averaged by reach probabilities."""
    behaviors = []
    for plex, part in zip(form.plexes, form.split(policy.behavior), strict=True):
        reach = sum(
            weight * behavior_to_reach(plex, behavior.copy())
            for weight, behavior in zip(policy.weights, part, strict=True)
        )
        behaviors.append(reach_to_behavior(plex, np.asarray(reach)))
    return CorrelatedPolicy.product(form.game, behaviors)


def exploitability(form: SequenceForm, policy: CorrelatedPolicy) -> float:
    """Half of what both players together gain by best responses to a product policy.

    In units of the payoff range. To a product policy the best deviation without recommendations
    (K = 0) is a best response.
    """
    return float((efce_gaps(policy, 0) * form.leaves.loss_scale).sum() / 2)
