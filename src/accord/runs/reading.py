"""A run as its folder has it: its result if it has finished, else its last checkpoint.

A run that is still going can be read at any moment, because each of these is one file. A run of a
known game is read with that game. A run in an environment is read without one, since its files have
the infosets that were seen; if its game is given all the same, its policy is placed there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from accord.certifying.exact import certify
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_files import load_note, load_policy_with_note
from accord.errors import AccordError, ArgumentError, ParseError
from accord.game.tree import Game
from accord.play.own_tree import OwnTree, policy_of
from accord.runs.checkpoint import Checkpoint
from accord.runs.components import Components, JointMixture, Ragged, most_packed_bytes, vectors_of
from accord.runs.folder import POLICY, RunFolder, part_of
from accord.runs.optimize import mixture_so_far
from accord.runs.request import LearnRequest, OptimizeRequest, SolveRequest
from accord.runs.run_file import AnyRequest, checked_result, parse_object
from accord.treeplex.form import sequence_form

PLAYERS, TREE, KEPT = "play_players", "play_tree", "iterates_"
NEEDED = ("elapsed", "record", "play_iteration", PLAYERS, TREE, KEPT)
"""What to read from a checkpoint of ``solve`` or ``learn``: the components and, if they are those
of an environment, the infosets of each player."""


@dataclass(frozen=True)
class FoundDeviation:
    """The best deviation of a player that plays have found."""

    text: str | None  # in words; None if none seemed to gain
    gain: float  # on average, in fresh plays
    margin: float  # the true gain is at most this much less


@dataclass(frozen=True)
class Bounds:
    """Bounds on the gap of a run in an environment, proved by plays."""

    player_lower: tuple[float, ...]
    player_upper: tuple[float, ...]
    vacuous: tuple[bool, ...]  # whether a player's upper bound says nothing about the plays
    found: tuple[FoundDeviation, ...]  # one per player
    confidence: float  # the probability with which all bounds hold
    plays: int

    @property
    def lower(self) -> float:
        """The gap, the maximum over players, is at least this."""
        return max(self.player_lower)

    @property
    def upper(self) -> float:
        """The gap, the maximum over players, is at most this."""
        return max(self.player_upper)

    @classmethod
    def from_json(cls, certificate: Mapping[str, Any], n_players: int) -> Bounds:
        """The bounds in the JSON object of a certificate from plays.

        Raises:
            ValueError: If ``certificate`` is something else.
        """
        try:
            (gap,) = certificate["gaps"]
            lower, upper = (tuple(map(float, gap[f"player_{end}"])) for end in ("lower", "upper"))
            found = tuple(
                FoundDeviation(
                    None if one["text"] is None else str(one["text"]),
                    float(one["gain"]),
                    float(one["margin"]),
                )
                for one in gap["witness"]
            )
            bounds = cls(
                lower, upper, tuple(map(bool, gap["vacuous"])), found,
                float(certificate["confidence"]), int(certificate["plays"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"not a certificate: {error}") from None
        parts = (lower, upper, bounds.vacuous, found)
        numbers = [*lower, *upper, bounds.confidence]
        numbers += [number for one in found for number in (one.gain, one.margin)]
        if any(len(part) != n_players for part in parts) or not np.isfinite(numbers).all():
            raise ValueError(f"a certificate needs finite bounds for {n_players} players")
        return bounds


Reached = tuple[tuple[tuple[int, float], ...], ...]
"""For each player infosets by number, with the shares of plays that came to them."""


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run, read back from its folder."""

    folder: Path
    request: AnyRequest
    digest: str  # of the game, or of what the environment declares
    versions: dict[str, str]
    result: dict[str, Any]  # as printed by ``--json``
    policy: CorrelatedPolicy
    history: tuple[Checkpoint, ...]  # may be empty
    bounds: Bounds | None = None  # on the gap, if the run was in an environment
    finished: bool = True  # if not, this is the last checkpoint
    reached: Reached = ()  # in an environment

    @property
    def game(self) -> Game | None:
        """The game, or None if it is not known."""
        return self.policy.game

    @property
    def learned(self) -> bool:
        """Whether it played episodes."""
        return isinstance(self.request, LearnRequest)


def read_run(files: RunFolder, game: Game | None = None) -> SavedRun:
    """The run in this folder as it is now.

    Args:
        files: The folder.
        game: The game of the run. A run in an environment can be read without it.

    Raises:
        ArgumentError: If there is nothing yet, or the game is needed.
        ParseError: If one of its files cannot be read.
        MismatchError: If it was made for another game, or a file belongs to another run.
    """
    return read_finished(files, game) if files.finished else _read_checkpoint(files, game)


def read_finished(files: RunFolder, game: Game | None = None) -> SavedRun:
    """The finished run in this folder; raises what :func:`read_run` does.

    An error says so if the run has not finished.
    """
    files.check_game(game)
    if not files.finished:
        raise ArgumentError(f"{files.path}: the run has not finished; resume it first")
    policy, note = load_policy_with_note(files.path / POLICY, game)
    content, n_players = _content(files, note), len(policy.player_labels)
    result, bounds = _result_in(files, content, n_players)
    history = files.read_history(content.get("history"), n_players)
    saved = _saved(files, result, policy, history, bounds, finished=True)
    if game is not None or "reached" not in content:  # numbers are those of the environment
        return saved
    return replace(saved, reached=_reached(files, content["reached"], policy))


def read_result(files: RunFolder, n_players: int) -> tuple[dict[str, Any], Bounds | None]:
    """The result of a finished run, and the bounds on its gap, without its policy.

    Raises what :func:`read_run` does.
    """
    return _result_in(files, _content(files, load_note(files.path / POLICY)), n_players)


def _content(files: RunFolder, note: str | None) -> dict[str, Any]:
    """The note beside the policy of a finished run."""
    file = files.path / POLICY
    content = parse_object(file, note or "{}", 1)
    files.check_identity(file, content.get("run"))
    return content


def _reached(files: RunFolder, content: Any, policy: CorrelatedPolicy) -> Reached:
    """The infosets that plays came to, which may have been read from a damaged file."""
    try:
        found = tuple(tuple((int(x), float(share)) for x, share in own) for own in content)
        known = all(
            0 <= x < plex.n_infosets and 0.0 <= share <= 1.0
            for own, plex in zip(found, policy.plexes, strict=True)
            for x, share in own
        )
    except (TypeError, ValueError, OverflowError):
        known = False
    if not known:
        raise ParseError(
            str(files.path / POLICY), 0, 0,
            "the reached infosets must be numbers of infosets of each player, with shares of one",
        )  # fmt: skip
    return found


def _result_in(
    files: RunFolder, content: dict[str, Any], n_players: int
) -> tuple[dict[str, Any], Bounds | None]:
    file, certificate = files.path / POLICY, content.get("certificate")
    is_exact = files.request.known_game is not None
    result = checked_result(file, content.get("result"), n_players, is_exact=is_exact)
    try:
        return result, None if certificate is None else Bounds.from_json(certificate, n_players)
    except ValueError as error:
        raise ParseError(str(file), 0, 0, str(error)) from None


def _read_checkpoint(files: RunFolder, game: Game | None) -> SavedRun:
    """The last checkpoint of a run that has not finished."""
    files.check_game(game)
    state = _load(files, game)
    if state is None:
        raise ArgumentError(
            f"{files.path}: the run has not finished and has no checkpoint yet; if it is still "
            "going, try again later; if not, resume it"
        )
    try:
        policy = _mixture(files, game, state)
        history = files.read_history(json.loads(str(state["record"])), len(policy.player_labels))
        if not history:
            raise ArgumentError(f"{files.path}: the run has measured nothing yet; try again later")
        result = result_so_far(files.request, history[-1], float(state["elapsed"]))
        if game is not None:
            policy = policy.in_game(game)
        if isinstance(files.request, OptimizeRequest):  # not the mixture of the last round
            result |= _measured(policy, files.request)
    except AccordError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise files.unreadable() from None
    return _saved(files, result, policy, history, None, finished=False)


def _measured(policy: CorrelatedPolicy, request: OptimizeRequest) -> dict[str, Any]:
    """The entries of a result about the gap and the values of ``policy``."""
    certificate = certify(policy.form.game, policy, request.notion, commits=request.commits)
    gap = certificate[request.notion]
    return {
        "values": list(certificate.values),
        "gap": gap.gap,
        "players": list(gap.player_gaps),
        "error": gap.error,
    }


def _load(files: RunFolder, game: Game | None) -> dict[str, Any] | None:
    """Those parts of the last checkpoint that are needed."""
    request = files.request
    if isinstance(request, OptimizeRequest):
        return files.load()
    if game is None or request.in_environment:
        return files.load(NEEDED)
    most = most_packed_bytes(sequence_form(game).n_sequences, request.components)
    return files.load(NEEDED, most)


def read_players(files: RunFolder) -> tuple[str, ...]:
    """The players of a run in an environment; none before its first checkpoint."""
    known = files.load((PLAYERS,))
    return () if known is None else _players(known)


def _players(state: dict[str, Any]) -> tuple[str, ...]:
    """The players who have trees in a checkpoint."""
    return tuple(map(str, json.loads(str(state.get(PLAYERS, "[]")))))


def _mixture(files: RunFolder, game: Game | None, state: dict[str, Any]) -> CorrelatedPolicy:
    """The mixture that would be saved now, except that twice as many components may be kept."""
    request = files.request
    if isinstance(request, OptimizeRequest):
        assert game is not None
        return mixture_so_far(game, request, state)
    trees = [
        OwnTree.restored(player, part_of(state, f"{TREE}{i}_"))
        for i, player in enumerate(_players(state))
    ]
    sizes, vectors = [tree.n_sequences for tree in trees], None
    if not trees:
        assert game is not None
        plexes = sequence_form(game).plexes
        sizes, vectors = [plex.n_sequences for plex in plexes], vectors_of(plexes)
    is_joint = isinstance(request, LearnRequest) and request.is_joint
    kept = (JointMixture if is_joint else Components)(request.components, vectors)
    kept.restore(part_of(state, KEPT), int(state["play_iteration"]), sizes)
    if not kept.count:
        raise _nothing_kept(files)
    if isinstance(kept.rows, Ragged):
        parts = [kept.rows.parts[n] for n in kept.selection()]
        return policy_of(files.content["game"], parts, trees)
    power = request.power if isinstance(request, SolveRequest) else 0
    weights = kept.times().astype(float) ** power
    return CorrelatedPolicy(game, weights / weights.sum(), kept.rows.behaviors())


def _nothing_kept(files: RunFolder) -> ArgumentError:
    return ArgumentError(f"{files.path}: the run has kept no iterate yet; try again later")


def result_so_far(request: AnyRequest, last: Checkpoint, elapsed: float) -> dict[str, Any]:
    """The entries of a result that are known at the checkpoint ``last``."""
    result: dict[str, Any] = {
        "iterations": last.iteration,
        "values": list(last.values),
        "seconds": elapsed,
    }
    if last.player_gaps:
        result |= {"gap": last.gap, "players": list(last.player_gaps), "error": last.error}
    if isinstance(request, SolveRequest):
        result |= {"average_gap": last.gap, "average_error": last.error}
    if last.episodes is not None:
        result["episodes"] = last.episodes
    if last.seen is not None:
        result["margins"] = [None if np.isnan(one) else one for one in last.seen.margins]
        result |= {"coverage": last.seen.coverage, "full": last.seen.full}
    if last.best is not None:
        assert isinstance(request, OptimizeRequest)
        result |= {
            "objective": request.goal,
            "value": last.best.value,
            "bound": last.best.bound,
            "optimal": False,
        }
    return result


def _saved(
    files: RunFolder,
    result: dict[str, Any],
    policy: CorrelatedPolicy,
    history: tuple[Checkpoint, ...],
    bounds: Bounds | None,
    *,
    finished: bool,
) -> SavedRun:
    """A state of the run."""
    digest = files.content["digest"] if policy.game is None else policy.game.digest
    return SavedRun(
        files.path, files.request, digest, files.versions, result, policy, history, bounds, finished
    )
