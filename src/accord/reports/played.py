"""The report of a run in an environment, whose game is not known.

It shows the values and the bounds on the gap from fresh plays, the deviations that were found, and
what the mixture recommends at the first infosets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.equilibrium.files import load_policy
from accord.equilibrium.mixture import Mixture
from accord.errors import ArgumentError, ParseError
from accord.runs.folder import CERTIFICATE, POLICY, RunFolder
from accord.runs.request import LearnRequest

MOST_INFOSETS = 200
"""How many infosets of each player the page shows."""


@dataclass(frozen=True, eq=False)
class Advice:
    """The mean recommendation at one infoset."""

    infoset: str
    actions: tuple[tuple[str, float], ...]  # with their probabilities


@dataclass(frozen=True, eq=False)
class PlayedView:
    """What the page shows."""

    folder: str
    request: LearnRequest
    result: dict[str, Any]
    certificate: dict[str, Any] | None  # as in ``certificate.json``; None if there were no plays
    players: tuple[str, ...]
    infosets: tuple[int, ...]  # of each player
    advice: tuple[tuple[Advice, ...], ...]  # of each player


def read_played(folder: Path, files: RunFolder) -> PlayedView:
    """Read a finished run in an environment.

    Raises:
        ArgumentError: If it has not finished.
        ParseError: If one of its files cannot be read.
    """
    request, result = files.request, files.content.get("result")
    assert isinstance(request, LearnRequest)
    if not files.finished or not isinstance(result, dict):
        raise ArgumentError(f"{folder}: the run has not finished; resume it first")
    policy = load_policy(folder / POLICY)
    try:
        certificate = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParseError(str(folder / CERTIFICATE), 0, 0, f"cannot be read: {error}") from None
    bounded = isinstance(certificate, dict) and "confidence" in certificate
    return PlayedView(
        folder=str(folder),
        request=request,
        result=result,
        certificate=certificate if bounded else None,
        players=policy.player_labels,
        infosets=tuple(plex.n_infosets for plex in policy.plexes),
        advice=tuple(_advice(policy, i) for i in range(len(policy.plexes))),
    )


def _advice(policy: Mixture, i: int) -> tuple[Advice, ...]:
    plex = policy.plexes[i]
    mean = (policy.weights @ policy.split(policy.behavior)[i]).tolist()
    shown = range(min(plex.n_infosets, MOST_INFOSETS))
    return tuple(
        Advice(
            plex.infoset_labels[x],
            tuple(zip(plex.action_labels[x], mean[int(plex.first_seq[x]) :], strict=False)),
        )
        for x in shown
    )
