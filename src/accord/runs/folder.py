"""The folder of a run: files that other programs can open, and that survive a killed run.

* ``run.json``: the request, the game's digest, the versions of packages; when finished, the result
* ``progress.jsonl``: one line per checkpoint
* ``checkpoint.npz``: everything needed to continue
* ``policy.npz``: the saved mixture, when finished
* ``certificate.json``: its certificate, when finished

Every file is written under a temporary name and renamed, so none is ever seen half-written. A run
depends only on its last checkpoint: killed at any moment, it continues from there and ends with the
same numbers as a run that was never killed.
"""

from __future__ import annotations

import json
import os
import platform
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from accord.equilibrium.certificate import Certificate
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.files import load_policy, save_policy, write_whole
from accord.errors import ArgumentError, MismatchError, ParseError
from accord.game.tree import Game
from accord.runs.checkpoint import Checkpoint
from accord.runs.request import LIMITS, LearnRequest, OptimizeRequest, SolveRequest

FORMAT = "accord-run"
VERSION = 2
"""The version written. Version 1 is read too; there ``rm`` of ``learn`` was another method."""

SAVE_SECONDS = 10.0
"""The shortest time between two checkpoints on disk."""

AnyRequest = SolveRequest | LearnRequest | OptimizeRequest

REQUESTS: dict[str, type[AnyRequest]] = {
    kind.command: kind for kind in (SolveRequest, LearnRequest, OptimizeRequest)
}
PACKAGES = ("accord", "numpy", "numba", "open_spiel")


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A finished run, read back from its folder."""

    folder: Path
    game: Game
    request: AnyRequest
    result: dict[str, Any]  # as printed by ``--json``
    versions: dict[str, str]
    policy: CorrelatedPolicy
    history: tuple[Checkpoint, ...]  # may be empty

    @property
    def learned(self) -> bool:
        """Whether it played episodes."""
        return isinstance(self.request, LearnRequest)


class RunFolder:
    """The folder of one run, made by :meth:`create` or :meth:`open`."""

    def __init__(self, path: Path, request: AnyRequest, content: dict[str, Any]) -> None:
        self.path, self.request, self._content = path, request, content
        self._next_save = 0.0

    @classmethod
    def create(cls, path: str | os.PathLike[str], request: AnyRequest, game: Game) -> RunFolder:
        """Start a run in a new or empty folder; existing files are never overwritten."""
        folder = Path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = next((file for file in folder.iterdir() if file.suffix != ".tmp"), None)
        except OSError as error:
            raise ArgumentError(f"{folder} must be a writable folder: {error.strerror}") from None
        if taken is not None:
            raise ArgumentError(
                f"{folder} must be a new or empty folder, but contains {taken.name!r}; choose "
                "another folder, or resume the run in this one"
            )
        content = {
            "format": FORMAT,
            "version": VERSION,
            "command": request.command,
            "asked": request.to_json(),
            "game": game.name,
            "digest": game.digest,
            "versions": versions(),
            "result": None,
        }
        run = cls(folder, request, content)
        run._write_lines("run.json", [content])
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str], command: str | None = None) -> RunFolder:
        """Open the run in a folder, which must be a run of ``command`` if one is given.

        Raises:
            ParseError: If there is no readable ``run.json``.
            MismatchError: If it is a run of another command.
        """
        folder = Path(path)
        file = folder / "run.json"
        content = _parse_object(file, _read_text(file, "a run folder must have this file"), 1)
        if content.get("format") != FORMAT or content.get("version") not in range(1, VERSION + 1):
            raise ParseError(
                str(file), 0, 0,
                f'must have "format": "{FORMAT}" and "version": 1 to {VERSION}; got '
                f"{content.get('format')!r} and {content.get('version')!r}",
            )  # fmt: skip
        asked = content.get("asked")
        kind = REQUESTS.get(content.get("command"))  # type: ignore[arg-type]
        texts = all(isinstance(content.get(name), str) for name in ("game", "digest"))
        if kind is None or not isinstance(asked, dict) or not texts:
            raise ParseError(
                str(file), 0, 0,
                f'must have a "command", {" or ".join(REQUESTS)}, an object "asked", a "game" and '
                'a "digest"',
            )  # fmt: skip
        try:
            request = kind.from_json(asked)
        except (ArgumentError, TypeError) as error:
            raise ParseError(str(file), 0, 0, f'"asked" is not a valid request: {error}') from None
        if command is not None and command != request.command:
            raise MismatchError(
                f"{path} holds a run of {request.command!r}, not of {command!r}; resume it with "
                f"accord {request.command} --resume {path}"
            )
        return cls(folder, request, content)

    @classmethod
    def has(cls, path: str | os.PathLike[str], request: AnyRequest, game: Game) -> bool:
        """Whether there is a run of ``request`` in a folder, whatever its limits.

        Raises:
            ParseError: If the run there cannot be read.
            MismatchError: If it is another run.
        """
        if not (Path(path) / "run.json").exists():
            return False
        run = cls.open(path, request.command)
        run.check(game)
        before = run.request.to_json()
        for name, value in request.to_json().items():
            if value != before[name] and name not in (*LIMITS, "game"):
                raise MismatchError(
                    f"{path} holds a run with {name} = {before[name]!r}, not {value!r}; only "
                    "limits can change when a run is resumed; choose another folder"
                )
        return True

    def check(self, game: Game) -> None:
        """Refuse a game that is not the run's."""
        if self._content["digest"] != game.digest:
            raise MismatchError(
                f"{self.path} holds a run of {self._content['game']!r} with digest "
                f"{self._content['digest'][:12]}; {game.name!r} has digest {game.digest[:12]}; "
                "give the game of the run (for a report, with --game)"
            )

    @property
    def version(self) -> int:
        """The version of the folder's files."""
        return int(self._content["version"])

    @property
    def finished(self) -> bool:
        """Whether the run has a result."""
        return isinstance(self._content.get("result"), dict)

    @property
    def seconds(self) -> float:
        """How long the run took, or 0 if it has no result."""
        return float(self._content["result"]["seconds"]) if self.finished else 0.0

    def read(self, game: Game) -> SavedRun:
        """The finished run of ``game`` in this folder.

        Raises:
            ArgumentError: If it has not finished.
            ParseError: If one of its files cannot be read.
            MismatchError: If it was made for another game.
        """
        self.check(game)
        policy = self.path / "policy.npz"
        if not self.finished or not policy.exists():
            raise ArgumentError(f"{self.path}: the run has not finished; resume it first")
        return SavedRun(
            folder=self.path,
            game=game,
            request=self.request,
            result=self._content["result"],
            versions=self._content.get("versions") or {},
            policy=load_policy(policy, game),
            history=self._history(game.n_players),
        )

    def _history(self, n_players: int) -> tuple[Checkpoint, ...]:
        file = self.path / "progress.jsonl"
        if not file.exists():
            return ()
        history = []
        for number, line in enumerate(_read_text(file, "cannot be read").splitlines(), 1):
            if not line.strip():
                continue
            content = _parse_object(file, line, number)
            try:
                checkpoint = Checkpoint.from_json(content)
            except ValueError:
                checkpoint = None
            if checkpoint is None or len(checkpoint.player_gaps) != n_players:
                raise ParseError(
                    str(file), number, 1,
                    "must be a checkpoint: an iteration, seconds, and a finite gap and value for "
                    f"each of {n_players} players",
                )  # fmt: skip
            history.append(checkpoint)
        return tuple(history)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder against other processes, on systems that can lock folders."""
        try:
            import fcntl
        except ImportError:  # not on Windows
            yield
            return
        folder = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArgumentError(
                    f"{self.path}: another process is writing to this folder; wait for it, or stop "
                    "it"
                ) from None
            yield
        finally:
            os.close(folder)

    def save(
        self, arrays: dict[str, Any], history: Iterable[Checkpoint], *, now: bool = False
    ) -> None:
        """Write a checkpoint if one is due or ``now``; saving takes at most 5% of the time."""
        start = time.monotonic()
        if start < self._next_save and not now:
            return
        write_whole(self.path / "checkpoint.npz", lambda file: np.savez(file, **arrays))
        self.write_history(history)
        end = time.monotonic()
        self._next_save = end + max(SAVE_SECONDS, 20.0 * (end - start))

    def write_history(self, history: Iterable[Checkpoint]) -> None:
        """Write one line per checkpoint."""
        self._write_lines("progress.jsonl", (checkpoint.to_json() for checkpoint in history))

    def load(self) -> dict[str, Any] | None:
        """The last checkpoint, or ``None`` if there is none yet."""
        file = self.path / "checkpoint.npz"
        if not file.exists():
            return None
        try:
            with np.load(file, allow_pickle=False) as content:
                return {name: content[name] for name in content.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise ParseError(str(file), 0, 0, f"not a readable checkpoint: {error}") from None

    def finish(
        self, result: dict[str, Any], policy: CorrelatedPolicy, certificate: Certificate
    ) -> None:
        """Write the result, the policy and its certificate."""
        save_policy(policy, self.path / "policy.npz")
        self._write_lines("certificate.json", [certificate.to_json()])
        self._content["result"] = result
        self._write_lines("run.json", [self._content])

    def _write_lines(self, name: str, contents: Iterable[dict[str, Any]]) -> None:
        """One JSON object per line."""
        text = "".join(json.dumps(content, allow_nan=False) + "\n" for content in contents)
        write_whole(self.path / name, lambda file: file.write(text.encode()))


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _read_text(path: Path, failure: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"{failure}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParseError(str(path), 0, 0, f"must be UTF-8 text: {error.reason}") from None


def _parse_object(path: Path, text: str, line: int) -> dict[str, Any]:
    """The JSON object in ``text``, which starts at ``line`` of the file."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        place = line - 1 + error.lineno, error.colno
        raise ParseError(str(path), *place, f"not readable JSON: {error.msg}") from None
    except RecursionError:
        raise ParseError(str(path), line, 1, "is nested too deeply") from None
    except ValueError as error:
        raise ParseError(str(path), line, 1, f"not readable JSON: {error}") from None
    if not isinstance(content, dict):
        raise ParseError(str(path), line, 1, "must be a JSON object")
    return content
