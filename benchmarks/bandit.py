"""Learning from episodes: Balanced K-EFR and OpenSpiel's outcome-sampling MCCFR.

An episode is one play of the game, whoever learns from it. An iteration of Balanced K-EFR plays
``C(H+1, K+1) + K - 1`` of them per player, one of MCCFR one per player; times are per episode.

After so many episodes the exact 1-EFCE gap of what was learned is computed: of the mixture of
evenly spaced iterates that ``learn`` saves, and of MCCFR's average policy, the only thing it tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

import accord
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import efce_gaps
from accord.errors import BudgetError
from accord.regret.methods import SAMPLED_METHODS
from accord.treeplex.form import SequenceForm, sequence_form
from benchmarks.games import GAMES
from benchmarks.kefr import KS, balanced_kefr
from benchmarks.measure import Runner, take_turns
from benchmarks.peers import OutcomeSampling


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    turns: int
    turn_seconds: float
    episodes: tuple[int, ...]  # after which the gap is computed
    seeds: int
    components: int  # of the saved mixture


FULL = Effort(GAMES, 7, 0.05, (10_000, 100_000, 1_000_000), seeds=3, components=1000)
SMALL = Effort({"Kuhn": GAMES["Kuhn"]}, 2, 0.002, (100, 1_000), seeds=2, components=10)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """CPU time per episode and gaps after episodes, for everybody on every game."""
    games = []
    for title, name in effort.games.items():
        say(title)
        form = sequence_form(accord.load_game(name))
        games.append(
            {"title": title, "entrants": _contest(form, effort), "gaps": _gaps(form, effort)}
        )
    settings = {name: getattr(effort, name) for name in ("turns", "turn_seconds", "seeds")}
    settings |= {"episodes": list(effort.episodes), "components": effort.components}
    return {"settings": settings, "games": games}


def _contest(form: SequenceForm, effort: Effort) -> list[dict[str, Any]]:
    """One entry per entrant: its time per episode, or why there is none."""
    runners: dict[str, Runner] = {}
    missing: dict[str, str] = {}
    episodes: dict[str, int] = {}
    who: dict[str, dict[str, Any]] = {}
    for k, value in KS.items():
        for method in SAMPLED_METHODS:
            name = f"Balanced K-EFR {method}, K = {k}"
            who[name] = {"name": name, "program": "Accord", "method": method, "k": k}
            try:
                play = balanced_kefr(form, value, method, max(effort.episodes), seed=0)
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
    """Of each method the relative gap after so many episodes, median over seeds."""
    found = []
    for name, play in {
        **{f"Balanced K-EFR {method}, K = 1": _learned(method) for method in SAMPLED_METHODS},
        OutcomeSampling.name: _averaged,
    }.items():
        for episodes in effort.episodes:
            gaps = [
                float((efce_gaps(policy, 1) * form.leaves.loss_scale).max())
                for seed in range(effort.seeds)
                if (policy := play(form, episodes, seed, effort.components)) is not None
            ]
            if gaps:
                found.append(
                    {
                        "name": name, "episodes": episodes,
                        "gap": median(gaps), "low": min(gaps), "high": max(gaps),
                    }
                )  # fmt: skip
    return found


def _learned(method: str) -> Callable[[SequenceForm, int, int, int], CorrelatedPolicy | None]:
    def play(
        form: SequenceForm, episodes: int, seed: int, components: int
    ) -> CorrelatedPolicy | None:
        learner = balanced_kefr(form, 1, method, episodes, seed)
        iterations = episodes // learner.episodes_per_iteration
        if not iterations:
            return None
        stride = -(-iterations // components)
        kept = np.empty((iterations // stride, form.n_sequences))
        learner.advance(iterations, kept, stride)
        return CorrelatedPolicy(form.game, np.full(len(kept), 1.0 / len(kept)), kept)

    return play


def _averaged(form: SequenceForm, episodes: int, seed: int, _: int) -> CorrelatedPolicy:
    peer = OutcomeSampling(form.game, seed)
    peer.advance(episodes // peer.episodes_per_iteration)
    return CorrelatedPolicy.product(form.game, peer.average())
