"""What an iteration costs: K-EFR with every minimizer and K, and the peers, on the same games."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import accord
from accord.errors import BudgetError
from accord.game.tree import Game
from accord.regret.methods import METHODS
from accord.treeplex.form import sequence_form
from benchmarks.games import GAMES
from benchmarks.kefr import KS, kefr
from benchmarks.measure import Runner, TimeUpError, Timing, cpu_limit, cpu_seconds, take_turns
from benchmarks.peers import peers


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    games: Mapping[str, str]
    turns: int
    turn_seconds: float
    peer_seconds: float  # within which a peer must get ready and end its first iteration


FULL = Effort(GAMES, turns=7, turn_seconds=0.05, peer_seconds=60.0)
SMALL = Effort({"Kuhn": GAMES["Kuhn"]}, turns=2, turn_seconds=0.002, peer_seconds=5.0)


def measure(effort: Effort, say: Callable[[str], None]) -> dict[str, Any]:
    """CPU time per iteration of everybody on every game."""
    games = []
    for title, name in effort.games.items():
        say(title)
        game = accord.load_game(name)
        games.append({"title": title, **_facts(game), "entrants": _contest(game, effort)})
    return {"settings": _settings(effort), "games": games}


def _settings(effort: Effort) -> dict[str, Any]:
    return {
        "turns": effort.turns,
        "turn_seconds": effort.turn_seconds,
        "peer_seconds": effort.peer_seconds,
        "iteration": {peer.name: peer.iteration for peer in peers()},
    }


def _facts(game: Game) -> dict[str, Any]:
    return {"name": game.name, "infosets": list(game.n_infosets), "terminals": game.n_terminals}


def _contest(game: Game, effort: Effort) -> list[dict[str, Any]]:
    """One entry per entrant: its time, or why there is none."""
    runners: dict[str, Runner] = {}
    missing: dict[str, str] = {}
    single: dict[str, Timing] = {}
    who: dict[str, dict[str, Any]] = {}
    form = sequence_form(game)
    kefr(form, 0, "rm").advance(1)  # compile, if that has not been done
    for k, value in KS.items():
        for method in METHODS:
            name = f"K-EFR {method}, K = {k}"
            who[name] = {"name": name, "program": "Accord", "method": method, "k": k}
            try:
                runners[name] = kefr(form, value, method)
            except BudgetError as error:
                missing[name] = f"needs {error.required / 2**30:.2g} GiB"
    for peer in peers():
        who[peer.name] = {"name": peer.name, "program": peer.name.split()[0]}
        if not peer.applies(game):
            missing[peer.name] = "two players only"
            continue
        try:
            with cpu_limit(effort.peer_seconds):
                runner = peer(game)
                first = cpu_seconds(runner, 1)
        except TimeUpError:
            missing[peer.name] = f"more than {effort.peer_seconds:g} s"
            continue
        if first * effort.turns > effort.peer_seconds:
            single[peer.name] = Timing.of([first])
        else:
            runners[peer.name] = runner
    timings = take_turns(runners, effort.turns, effort.turn_seconds) | single
    return [
        entry | (asdict(timings[name]) if name in timings else {"note": missing[name]})
        for name, entry in who.items()
    ]
