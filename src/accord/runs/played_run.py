"""A run in an environment as it is now: its result, or what its last checkpoint holds.

The environment is not needed: the folder has the infosets that were seen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_files import load_policy_with_note
from accord.errors import AccordError, ArgumentError, ParseError
from accord.play.own_tree import OwnTree, policy_of
from accord.runs.checkpoint import Checkpoint
from accord.runs.folder import CERTIFICATE, POLICY, RunFolder, part_of
from accord.runs.growing_iterates import GrowingIterates
from accord.runs.request import LearnRequest

TREE = ("labels", "lengths", "parent_seq", "action_sets", "actions")
ITERATES = ("stride", "work", "averages", "sizes", "kept")


@dataclass(frozen=True, eq=False)
class PlayedRun:
    """A run in an environment, read back from its folder."""

    folder: Path
    request: LearnRequest
    digest: str  # of what the environment declares
    result: dict[str, Any]  # as printed by ``--json``
    policy: CorrelatedPolicy
    certificate: dict[str, Any] | None  # as in ``certificate.json``; None if there is none
    history: tuple[Checkpoint, ...]
    finished: bool  # if not, this is the last checkpoint


def is_played(files: RunFolder) -> bool:
    """Whether the folder holds a run in an environment."""
    request = files.request
    return isinstance(request, LearnRequest) and request.environment is not None


def read_played_run(files: RunFolder) -> PlayedRun:
    """The run in an environment in this folder as it is now.

    Raises:
        ArgumentError: If there is nothing yet.
        ParseError: If one of its files cannot be read.
        MismatchError: If a file belongs to another run.
    """
    try:
        return _finished(files) if files.finished else _unfinished(files)
    except AccordError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise files.unreadable() from None


def _finished(files: RunFolder) -> PlayedRun:
    file = files.path / POLICY
    policy, note = load_policy_with_note(file)
    content = json.loads(note or "{}")
    files.check_identity(file, content.get("run"))
    result = content["result"]
    if len(result["values"]) != len(policy.plexes):
        raise ValueError("one value per player")
    return _read(
        files, result, policy, read_certificate(files), _history(content["history"]), finished=True
    )


def _unfinished(files: RunFolder) -> PlayedRun:
    known = files.load(("play_players",))
    if known is None:
        raise ArgumentError(
            f"{files.path}: the run has not finished and has no checkpoint yet; if it is still "
            "going, try again later; if not, resume it"
        )
    players = tuple(map(str, json.loads(str(known["play_players"]))))
    trees = [f"play_tree{i}_{name}" for i in range(len(players)) for name in TREE]
    state = files.load(
        ("elapsed", "record", "play_iteration", *trees, *(f"iterates_{name}" for name in ITERATES))
    )
    assert state is not None
    history = _history(json.loads(str(state["record"])))
    iterates = GrowingIterates(None, 1, 1)
    iterates.restore(part_of(state, "iterates_"), int(state["play_iteration"]))
    if not iterates.count or not history:
        raise ArgumentError(
            f"{files.path}: the run has kept no policy yet; try again later, or resume it"
        )
    seen = [
        OwnTree.restored(player, part_of(state, f"play_tree{i}_"))
        for i, player in enumerate(players)
    ]
    request, last = files.request, history[-1]
    assert isinstance(request, LearnRequest)
    policy = policy_of(files.content["game"], iterates.selected(), seen)
    margins = last.seen.margins if last.seen is not None else (float("nan"),) * len(players)
    result = {
        "game": files.content["game"],
        "episodes": last.episodes,
        "iterations": last.iteration,
        "components": policy.n_components,
        "values": list(last.values),
        "margins": [None if np.isnan(margin) else margin for margin in margins],
        "lower": None,
        "upper": None,
        "infosets": sum(tree.n_infosets for tree in seen),
        "seconds": float(state["elapsed"]),
    }
    return _read(files, result, policy, None, history, finished=False)


def _read(
    files: RunFolder,
    result: dict[str, Any],
    policy: CorrelatedPolicy,
    certificate: dict[str, Any] | None,
    history: tuple[Checkpoint, ...],
    *,
    finished: bool,
) -> PlayedRun:
    request = files.request
    assert isinstance(request, LearnRequest)
    digest = str(files.content["digest"])
    return PlayedRun(files.path, request, digest, result, policy, certificate, history, finished)


def _history(lines: Any) -> tuple[Checkpoint, ...]:
    return tuple(map(Checkpoint.from_json, lines))


def read_certificate(files: RunFolder) -> dict[str, Any] | None:
    """The bounds on the gap, if there were enough plays for them."""
    file = files.path / CERTIFICATE
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParseError(str(file), 0, 0, f"cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise ParseError(str(file), 0, 0, "must be a JSON object")
    files.check_identity(file, content.get("run"))
    return content if "confidence" in content else None
