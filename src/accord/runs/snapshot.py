"""A run as it is now: its result if it has finished, else its last checkpoint.

A run that is still going can be read at any moment, because each of these is one file.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from accord.equilibrium.packing import Packed
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, ParseError
from accord.game.tree import Game
from accord.runs.folder import RunFolder, SavedRun, part_of
from accord.runs.iterates import most_packed_bytes, read_iterates, vectors_of
from accord.runs.optimize import mixture_so_far
from accord.runs.request import OptimizeRequest, SolveRequest
from accord.treeplex.form import sequence_form

NEEDED = (
    "elapsed", "record", "iterates_stride", *(f"iterates_{name}" for name in Packed._fields),
)  # fmt: skip
"""What a report takes from a checkpoint of ``solve`` or ``learn``."""


def read_snapshot(files: RunFolder, game: Game) -> SavedRun:
    """The run of ``game`` in this folder as it is now.

    Raises:
        ArgumentError: If there is nothing yet.
        ParseError: If one of its files cannot be read.
        MismatchError: If it was made for another game, or a file belongs to another run.
    """
    if files.finished:
        return files.read(game)
    files.check(game)
    request, n = files.request, sequence_form(game).n_sequences
    state = (
        files.load()
        if isinstance(request, OptimizeRequest)
        else files.load(NEEDED, most_packed_bytes(n, request.components))
    )
    if state is None:
        raise ArgumentError(
            f"{files.path}: the run has not finished and has no checkpoint yet; if it is still "
            "going, try again later; if not, resume it"
        )
    try:
        lines = json.loads(str(state["record"]))
        elapsed = float(state["elapsed"])
        policy = _mixture(files, game, state)
        result = _result(files, game, lines, policy, elapsed)
    except ParseError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise files.unreadable() from None
    return files.saved(game, policy, result, lines, finished=False)


def _mixture(files: RunFolder, game: Game, state: dict[str, Any]) -> CorrelatedPolicy:
    """What would be saved now, except that twice as many iterates may be kept."""
    request = files.request
    if isinstance(request, OptimizeRequest):
        return mixture_so_far(game, request, state)
    vectors = vectors_of(sequence_form(game).plexes)
    times, behaviors = read_iterates(part_of(state, "iterates_"), vectors)
    behaviors.flags.writeable = False  # nobody else has it
    if not len(times):
        raise ArgumentError(f"{files.path}: the run has kept no iterate yet; try again later")
    weights = times.astype(float) ** request.power if isinstance(request, SolveRequest) else None
    weights = np.ones(len(times)) if weights is None else weights
    return CorrelatedPolicy(game, weights / weights.sum(), behaviors)


def _result(
    files: RunFolder, game: Game, lines: Any, policy: CorrelatedPolicy, elapsed: float
) -> dict[str, Any]:
    """The entries of a result that are known already."""
    history = files.read_history(lines, game.n_players)
    if not history:
        raise ArgumentError(f"{files.path}: the run has not measured a gap yet; try again later")
    last = history[-1]
    result: dict[str, Any] = {
        "iterations": last.iteration,
        "gap": last.gap,
        "players": list(last.player_gaps),
        "error": last.error,
        "components": policy.n_components,
        "values": list(last.values),
        "seconds": elapsed,
    }
    if isinstance(files.request, SolveRequest):
        result |= {"average_gap": last.gap, "average_error": last.error}
    if last.episodes is not None:
        result["episodes"] = last.episodes
    if last.best is not None:
        request = files.request
        assert isinstance(request, OptimizeRequest)
        value = last.best.value
        result |= {
            "objective": request.goal,
            "value": value,
            "bound": last.best.bound,
            "optimal": False,
        }
    return result
