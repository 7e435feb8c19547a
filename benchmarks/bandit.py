"""Learning from episodes: ``learn``, and the MCCFR of other programs.

An episode is one play of the game, whoever learns from it. An iteration of ``prm`` plays one that
all players share and one for each of them, an iteration of the paper's Balanced K-EFR
``C(H+1, K+1) + K - 1`` per player, one of MCCFR one per player; times are per episode.

After so many episodes the exact EFCE gap of what was learned is computed: of the mixture that
``learn`` saves with its defaults, and of MCCFR's average policy, its only output. ``learn`` chooses
what to save by the number of episodes, so each number is a run of its own. MCCFR does not know that
number, so one run per seed gives all of its gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import accord
from accord.equilibrium.gap import efce_gaps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import BudgetError
from accord.play.feedback import JOINT, OWN
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS
from accord.treeplex.form import SequenceForm, sequence_form
from benchmarks.games import GAMES, HELD_OUT
from benchmarks.kefr import KS, sampled_kefr
from benchmarks.measure import Runner, TimeUpError, cpu_limit, take_turns
from benchmarks.peers import OutcomeSampling, SampledPeer, sampled_peers

LEARNERS: dict[str, dict[str, Any]] = {
    "Accord joint": {"feedback": JOINT},
    f"Accord {SAMPLED_DEFAULT}": {},
    "Accord swrhedge": {"method": "swrhedge"},
}
"""The ways of ``learn`` whose gaps are compared: from joint plays, its default, the paper's."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    held_out: Mapping[str, str]
    turns: int
    turn_seconds: float
    episodes: tuple[int, ...]  # after which the gap is computed
    seeds: int  # 0, 1, ...; defaults were tuned with seeds 100, 101, ...
    lite_seconds: float  # that LiteEFG has for each seed
    only: tuple[str, ...] = ()  # entrants whose gaps are measured; by default all, and times


FULL = Effort(
    GAMES, HELD_OUT, 7, 0.05, (10_000, 30_000, 100_000, 300_000, 1_000_000), 5, lite_seconds=2.0
)
SMALL = Effort(
    {"Kuhn": GAMES["Kuhn"]}, {"Kuhn, 4 players": HELD_OUT["Kuhn, 4 players"]},
    2, 0.002, (100, 1_000), 3, lite_seconds=0.5,
)  # fmt: skip


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """CPU time per episode and gaps after episodes, for everybody on every game."""
    games, held_out = [], []
    for title, name in effort.games.items():
        say(title)
        form = sequence_form(accord.load_game(name))
        times = {} if effort.only else {"entrants": _contest(form, effort)}
        games.append({"title": title, **times, "gaps": _gaps(form, effort)})
    for title, name in effort.held_out.items():
        say(title)
        form = sequence_form(accord.load_game(name))
        infosets = [plex.n_infosets for plex in form.plexes]
        held_out.append({"title": title, "infosets": infosets, "gaps": _gaps(form, effort)})
    names = ("turns", "turn_seconds", "seeds", "lite_seconds")
    settings = {name: getattr(effort, name) for name in names}
    settings["episodes"] = list(effort.episodes)
    settings["defaults"] = asdict(SAMPLED_METHODS[SAMPLED_DEFAULT].config)
    return {"settings": settings, "games": games, "held_out": held_out}


def _contest(form: SequenceForm, effort: Effort) -> list[dict[str, Any]]:
    """One entry per entrant: its time per episode, or why there is none."""
    runners: dict[str, Runner] = {}
    missing: dict[str, str] = {}
    episodes: dict[str, int] = {}
    who: dict[str, dict[str, Any]] = {}
    for k, value in KS.items():
        for method in SAMPLED_METHODS:
            name = f"Accord {method}, K = {k}"
            who[name] = {"name": name, "program": "Accord", "method": method, "k": k}
            try:
                play = sampled_kefr(form, value, method, max(effort.episodes), seed=0)
            except BudgetError as error:
                missing[name] = f"needs {error.required / 2**30:.2g} GiB"
                continue
            play.advance(1)  # compiles, if that has not been done
            runners[name], episodes[name] = play, play.episodes_per_iteration
    peer = OutcomeSampling(form.game, seed=0)
    who[peer.name] = {"name": peer.name, "program": "OpenSpiel"}
    runners[peer.name], episodes[peer.name] = peer, peer.episodes_per_iteration
    timings = take_turns(runners, effort.turns, effort.turn_seconds)
    return [
        entry
        | (
            {"episodes_per_iteration": episodes[name], **asdict(timings[name].per(episodes[name]))}
            if name in timings
            else {"note": missing[name]}
        )
        for name, entry in who.items()
    ]


def _gaps(form: SequenceForm, effort: Effort) -> list[dict[str, Any]]:
    """Of each entrant the relative gaps after so many episodes, with their quartiles."""
    found = []
    for name, gaps_after in _entrants(form, effort).items():
        gaps = []
        for seed in range(effort.seeds):
            gaps.append(gaps_after(seed))
            if not gaps[-1]:
                break
        for episodes, sample in zip(effort.episodes, zip(*gaps, strict=False), strict=False):
            found.append({"name": name, "episodes": episodes, **quartiles(sample)})
    return found


def quartiles(gaps: Sequence[float]) -> dict[str, Any]:
    """The median of some gaps, their quartiles, and all of them."""
    low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75)).tolist()
    return {"gap": middle, "low": low, "high": high, "gaps": list(gaps)}


def _entrants(form: SequenceForm, effort: Effort) -> dict[str, Callable[[int], list[float]]]:
    """By name, a function from the seed to the gaps after each number of episodes."""

    def learned(how: Mapping[str, Any]) -> Callable[[int], list[float]]:
        return lambda seed: [
            learned_gap(form, 1, episodes, seed, **how) for episodes in effort.episodes
        ]

    def averaged(peer: type[SampledPeer]) -> Callable[[int], list[float]]:
        limit = effort.lite_seconds if peer is not OutcomeSampling else np.inf
        return lambda seed: _averaged_gaps(form, peer, effort.episodes, seed, limit)

    entrants = {name: learned(how) for name, how in LEARNERS.items()} | {
        peer.name: averaged(peer) for peer in sampled_peers() if peer.applies(form.game)
    }
    return {name: each for name, each in entrants.items() if name in (effort.only or entrants)}


def learned_gap(
    form: SequenceForm,
    k: float,
    episodes: int,
    seed: int,
    method: str = SAMPLED_DEFAULT,
    feedback: str = OWN,
) -> float:
    """The exact K-EFCE gap of what ``learn`` saves, in units of the payoff range."""
    learned = accord.learn(
        form.game, k, episodes=episodes, seed=seed, method=method, feedback=feedback
    )
    return float((np.array(learned.player_gaps) * form.leaves.loss_scale).max())


def averaged_gap(form: SequenceForm, peer: SampledPeer) -> float:
    """The exact EFCE gap of the average policy, in units of the payoff range."""
    policy = CorrelatedPolicy.product(form.game, peer.average())
    return float((efce_gaps(policy, 1) * form.leaves.loss_scale).max())


def _averaged_gaps(
    form: SequenceForm,
    kind: type[SampledPeer],
    episodes: Sequence[int],
    seed: int,
    seconds: float,
) -> list[float]:
    """As many gaps as there is CPU time for; setting up may take as long again."""
    gaps: list[float] = []
    try:
        with cpu_limit(seconds):
            peer = kind(form.game, seed)
        with cpu_limit(seconds):
            done = 0
            for count in episodes:
                iterations = count // peer.episodes_per_iteration
                peer.advance(iterations - done)
                done = iterations
                gaps.append(averaged_gap(form, peer))
    except TimeUpError:
        pass
    return gaps
