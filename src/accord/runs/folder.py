"""The folder of a run: files that other programs can open, and that survive a killed run.

* ``run.json``: the request, the game's digest, the versions of packages; when finished, the result
* ``checkpoint.npz``: everything needed to continue, with the history up to it
* ``policy.npz``: the saved mixture with its result and history, when finished
* ``certificate.json``: the certificate of that mixture, when finished
* ``progress.jsonl``: the history, one line per checkpoint

*One writer.* A process locks the folder before it writes anything, and holds the lock until it
ends. What a killed process left half-written is removed by the next one.

*One identity.* Every file carries the digest of ``run.json`` without its result. A file of another
run is refused, and so is every file after an edit of the request.

*One state.* ``checkpoint.npz`` and ``policy.npz`` are complete states, and each is written under a
temporary name and renamed. Whoever reads one of them sees one moment of the run, whatever is being
written. ``certificate.json``, ``progress.jsonl`` and the result in ``run.json`` are for other
programs; Accord does not read them back.

A run depends only on its last checkpoint: killed at any moment, it continues from there and ends
with the same numbers as a run that was never killed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from accord._activity import doing
from accord._files import open_file, remove_temporaries, write_whole
from accord._format import memory
from accord.certifying.certificate import Certificate
from accord.certifying.footprint import check_memory
from accord.equilibrium.archive import Archive, write_arrays
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_files import save_policy_with_note
from accord.errors import ArgumentError, BudgetError, MismatchError, ParseError
from accord.game.tree import Game
from accord.runs.checkpoint import Checkpoint
from accord.runs.lock import Lock, locked
from accord.runs.run_file import (
    RUN,
    AnyRequest,
    Identified,
    new_content,
    parse_object,
    parse_request,
    read_content,
    read_text,
    version_of,
)

CHECKPOINT, POLICY = "checkpoint.npz", "policy.npz"
CERTIFICATE, PROGRESS = "certificate.json", "progress.jsonl"
PROOF = "proof.json"
FILES = (RUN, CHECKPOINT, POLICY, CERTIFICATE, PROGRESS, PROOF)

COMPRESSED_BYTES = 2**27
"""Arrays of a checkpoint up to this size are compressed; others would take too long."""

PLACES = ("game", "environment", "known")
"""Entries of a request that say where the game is, which may have moved."""

BOUNDS = ("bounds", "estimated")
"""Entries of a request about payoff bounds, which may be widened (``play/bounds.py``)."""

START = "start"
"""The entry of a request about its warm start, which need not be given again."""

SAVE_SECONDS = 10.0
"""The shortest time between two checkpoints on disk."""


class Finished(Protocol):
    """The result of a run."""

    @property
    def policy(self) -> CorrelatedPolicy: ...

    @property
    def certificate(self) -> Certificate | None: ...

    @property
    def history(self) -> tuple[Checkpoint, ...]: ...

    def to_json(self) -> dict[str, Any]: ...


@contextmanager
def opened_run(
    path: str | os.PathLike[str] | None,
    request: AnyRequest,
    game: Identified,
    *,
    resume: bool = False,
) -> Iterator[RunFolder | None]:
    """Start a run in a new or empty folder, or ``resume`` the one that is there, and hold it.

    Without a path there is no folder. Existing files of other runs are never overwritten.

    Raises:
        ParseError: If the run there cannot be read.
        MismatchError: If it is another run.
        ArgumentError: If the folder is not empty, or another process holds it.
    """
    if path is None:
        yield None
        return
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"{folder} must be a writable folder: {error.strerror}") from None
    with locked(folder) as lock:
        if resume:
            run = RunFolder.open(path, request.command, lock)
            run.check(game)
            remove_temporaries(folder, FILES)
            yield run
            return
        remove_temporaries(folder, FILES)
        taken = next((file for file in folder.iterdir() if file.suffix != ".tmp"), None)
        if (folder / RUN).exists():
            raise ArgumentError(
                f"{folder} must be a new or empty folder, but contains a run; resume it (on the "
                f"command line with --resume {folder}), or choose another folder"
            )
        if taken is not None:
            raise ArgumentError(
                f"{folder} must be a new or empty folder, but contains {taken.name!r}; choose "
                "another folder"
            )
        run = RunFolder(folder, request, new_content(request, game), lock)
        run.write_lines(RUN, [run.content])
        yield run


class RunFolder:
    """The folder of one run, held by :func:`opened_run`, or read by :meth:`open`."""

    def __init__(
        self, path: Path, request: AnyRequest, content: dict[str, Any], lock: Lock | None = None
    ) -> None:
        self.path, self.request, self.content, self._lock = path, request, content, lock
        head = {name: part for name, part in content.items() if name != "result"}
        self.identity = hashlib.sha256(json.dumps(head, sort_keys=True).encode()).hexdigest()
        self.seconds_per_byte = 0.0  # that the last checkpoint took to write
        self._next_save = 0.0

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], command: str | None = None, lock: Lock | None = None
    ) -> RunFolder:
        """Open the run in a folder, which must be a run of ``command`` if one is given.

        Raises:
            ParseError: If there is no readable ``run.json``.
            MismatchError: If it is a run of another command.
        """
        folder = Path(path)
        file = folder / RUN
        content = read_content(file)
        request = parse_request(file, content)
        if command is not None and command != request.command:
            raise MismatchError(
                f"{path} holds a run of {request.command!r}, not of {command!r}; resume it with "
                f"accord {request.command} --resume {path}"
            )
        return cls(folder, request, content, lock)

    @classmethod
    def first_request(
        cls, path: str | os.PathLike[str] | None, request: AnyRequest, game: Identified
    ) -> AnyRequest | None:
        """The request of the run in a folder, if there is one; it may differ in its limits.

        Raises:
            ParseError: If the run there cannot be read.
            MismatchError: If it is another run.
        """
        if path is None or not (Path(path) / RUN).exists():
            return None
        run = cls.open(path, request.command)
        run.check(game)
        before = run.request.to_json()
        for name, value in request.to_json().items():
            if value != before[name] and name not in (*request.LIMITS, *PLACES, *BOUNDS, START):
                raise MismatchError(
                    f"{path} holds a run with {name} = {before[name]!r}, not {value!r}; only "
                    "limits can change when a run is resumed; choose another folder"
                )
        return run.request

    def check(self, game: Identified) -> None:
        """Refuse a game that is not the run's."""
        if self.content["digest"] != game.digest:
            raise MismatchError(
                f"{self.path} holds a run of {self.content['game']!r:.80} with digest "
                f"{self.content['digest'][:12]}; {game.name!r} has digest {game.digest[:12]}; "
                "give the game of the run (for a report, with --game)"
            )

    def check_game(self, game: Game | None) -> None:
        """Refuse a game that is not the run's, and none if the run knows its game.

        The digest of a run in an environment is that of the environment.
        """
        if game is None and self.request.known_game is not None:
            raise ArgumentError(f"{self.path} is a run of a game; give the game too, with --game")
        if game is not None and not self.request.in_environment:
            self.check(game)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of packages that the run began with."""
        return {name: str(text)[:80] for name, text in self.content["versions"].items()}

    @property
    def finished(self) -> bool:
        """Whether the run has a result."""
        return (self.path / POLICY).exists()

    @property
    def seconds(self) -> float:
        """How long the run took, or 0 if it has no result."""
        result = self.content.get("result")
        return float(result["seconds"]) if isinstance(result, dict) else 0.0

    def read_lines(self) -> list[Any]:
        """The lines of ``progress.jsonl``, which a run that is going writes now and then."""
        file = self.path / PROGRESS
        text = read_text(file, "cannot be read") if file.exists() else ""
        return [
            parse_object(file, line, number)
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip()
        ]

    def read_history(self, lines: Any, n_players: int) -> tuple[Checkpoint, ...]:
        """The checkpoints in the parsed ``lines``."""
        try:
            history = tuple(map(Checkpoint.from_json, lines))
            known = all(
                len(one.values) == n_players
                and (len(one.player_gaps) == n_players or one.seen is not None)
                for one in history
            )
        except (TypeError, ValueError):
            known = False
        if not known:
            raise ParseError(
                str(self.path), 0, 0,
                "the history of the run must consist of checkpoints: an iteration, seconds, and a "
                f"finite gap and value for each of {n_players} players",
            )  # fmt: skip
        return history

    def save(
        self,
        arrays: dict[str, Any] | Callable[[], dict[str, Any]],
        history: Iterable[Checkpoint],
        *,
        now: bool = False,
    ) -> None:
        """Write a checkpoint if one is due or ``now``; saving takes at most 5% of the time."""
        start = time.monotonic()
        if start < self._next_save and not now:
            return
        lines = [point.to_json() for point in history]
        with doing("saving the checkpoint"):
            content = {
                "run": np.array(self.identity),
                "record": np.array(json.dumps(lines)),
                **(arrays() if callable(arrays) else arrays),
            }
            writing = time.monotonic()
            plain = [name for name, array in content.items() if array.nbytes > COMPRESSED_BYTES]
            self._write(CHECKPOINT, lambda file: write_arrays(file, content, plain))
            self.write_lines(PROGRESS, lines)
        end = time.monotonic()
        self.seconds_per_byte = (end - writing) / sum(array.nbytes for array in content.values())
        self._next_save = end + max(SAVE_SECONDS, 20.0 * (end - start))

    def load(
        self, parts: tuple[str, ...] = ("",), most_bytes: float = math.inf
    ) -> dict[str, Any] | None:
        """The arrays of the last checkpoint; ``None`` if there is none yet.

        Args:
            parts: What the names of those that are needed begin with; by default all are read.
            most_bytes: A checkpoint of this run does not take more memory.

        Raises:
            ParseError: If it cannot be read.
            MismatchError: If it belongs to another run.
            BudgetError: If it does not fit into memory.
        """
        file = self.path / CHECKPOINT
        try:
            with (
                doing("reading the checkpoint"),
                open_file(file) as opened,
                Archive(opened) as content,
            ):
                wanted = [name for name in content.names if name.startswith(("run", *parts))]
                size = sum(content.size(name).nbytes for name in wanted)
                if size > most_bytes:
                    raise ValueError(f"it would take {memory(size)}, more than this run can have")
                check_memory(f"reading {file}", {"arrays": float(size)}, None, "free some memory")
                found = {name: content[name] for name in wanted}
        except FileNotFoundError:
            return None
        except (BudgetError, MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # numpy, zipfile and zlib each raise their own kinds
            raise ParseError(
                str(file), 0, 0, f"not a readable checkpoint: {error!s:.200}"
            ) from None
        identity = found.pop("run", None)
        self.check_identity(file, None if identity is None else str(identity))
        return found

    def check_identity(self, file: Path, found: object) -> None:
        """Refuse a file of another run."""
        if found != self.identity:
            raise MismatchError(
                f"{file} must belong to the run that {self.path / RUN} describes, but it belongs "
                "to another one, or run.json was changed; put the original files back, or start a "
                "new run"
            )

    def unreadable(self) -> ParseError:
        """The error about a checkpoint that this version cannot continue."""
        return ParseError(
            str(self.path / CHECKPOINT), 0, 0,
            "is damaged, or was written by another version of Accord; resume with that version "
            f"({self.versions.get('accord', 'see run.json')}; this is {version_of('accord')}), or "
            "start a new run",
        )  # fmt: skip

    def finish(self, run: Finished) -> None:
        """Write the mixture with its result and history; then everything for other programs."""
        result, lines = run.to_json(), [point.to_json() for point in run.history]
        proof = result if run.certificate is None else run.certificate.to_json()
        state = {"run": self.identity, "result": result, "history": lines}
        if proof.get("confidence") is not None:  # made by plays, and not computed again
            state["certificate"] = proof
        if reached := getattr(run, "reached", ()):
            state["reached"] = reached
        proof = {"run": self.identity, "iterations": result["iterations"], **proof}
        text = json.dumps(state, allow_nan=False)
        with doing("saving the mixture"):
            self._require_lock()
            save_policy_with_note(run.policy, self.path / POLICY, text)
            self.write_lines(CERTIFICATE, [proof])
            rational = getattr(run, "rational", None)
            if rational is not None and rational.proof is not None:
                self.write_lines(PROOF, [rational.proof])
            else:
                (self.path / PROOF).unlink(missing_ok=True)
            self.content["result"] = result
            self.write_lines(RUN, [self.content])
            self.write_lines(PROGRESS, lines)

    def write_lines(self, name: str, contents: Iterable[dict[str, Any]]) -> None:
        """One JSON object per line."""
        text = "".join(json.dumps(content, allow_nan=False) + "\n" for content in contents)
        self._write(name, text.encode())

    def _write(self, name: str, content: Any) -> None:
        self._require_lock()
        write_whole(self.path / name, content)

    def _require_lock(self) -> None:
        assert self._lock is not None, "a folder that is only read"
        self._lock.check()


def part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the entries whose names begin with ``prefix`` out of ``state``; return them without."""
    names = [name for name in state if name.startswith(prefix)]
    return {name[len(prefix) :]: state.pop(name) for name in names}
