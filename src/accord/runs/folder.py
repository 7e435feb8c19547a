"""A run as a folder of files that others can open, and that survives being killed.

* ``run.json``: what was asked, of which game (its digest), which versions; the result at last
* ``progress.jsonl``: one line per checkpoint
* ``checkpoint.npz``: all that going on needs
* ``policy.npz``: the saved mixture, when finished
* ``certificate.json``: its certificate, when finished

Every file is written under a temporary name and renamed, so none is ever seen half-written. What
comes after a checkpoint depends on nothing but the checkpoint: a run killed at any moment goes on
from its last one and ends with the same numbers as one that was never killed.
"""

from __future__ import annotations

import json
import os
import platform
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from accord.equilibrium.certificate import Certificate
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.files import save_policy, write_whole
from accord.errors import ArgumentError, MismatchError, ParseError
from accord.game.tree import Game

FORMAT = "accord-run"
VERSION = 1
SAVE_SECONDS = 10.0
"""The shortest time between two checkpoints on disk."""


class RunFolder:
    """One run's folder. Make it with :meth:`create` or :meth:`open`."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path, self.content = path, content
        self._next_save = 0.0

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], command: str, game: Game, asked: dict[str, Any]
    ) -> RunFolder:
        """A new run in a new or empty folder; nothing that exists is overwritten."""
        folder = Path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = next((file for file in folder.iterdir() if file.suffix != ".tmp"), None)
        except OSError as error:
            raise ArgumentError(
                f"{folder} must be a folder to write to: {error.strerror}"
            ) from None
        if taken is not None:
            raise ArgumentError(
                f"{folder} must be a new or empty folder; it has {taken.name!r} in it, and nothing "
                "is overwritten; choose another one, or resume the run that is there"
            )
        packages = ("accord", "numpy", "numba", "open_spiel")
        run = cls(
            folder,
            {
                "format": FORMAT,
                "version": VERSION,
                "command": command,
                "asked": asked,
                "game": game.name,
                "digest": game.digest,
                "versions": {
                    "python": platform.python_version(),
                    **{name: version(name) for name in packages},
                },
                "result": None,
            },
        )
        run._write_lines("run.json", [run.content])
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str], command: str) -> RunFolder:
        """The run of ``command`` that a folder holds."""
        file = Path(path) / "run.json"
        try:
            content = json.loads(file.read_text("utf-8"))
        except OSError as error:
            raise ParseError(
                str(file), 0, 0, f"a run folder must have this file: {error.strerror}"
            ) from None
        except ValueError as error:
            raise ParseError(str(file), 0, 0, f"is no JSON: {error}") from None
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (
            FORMAT,
            VERSION,
        ):
            raise ParseError(
                str(file), 0, 0, f'must have "format": "{FORMAT}", "version": {VERSION}'
            )
        missing = [name for name in ("command", "asked", "game", "digest") if name not in content]
        if missing:
            raise ParseError(str(file), 0, 0, f"must have {', '.join(missing)}")
        if content["command"] != command:
            raise MismatchError(
                f"{path} holds a run of {content['command']!r}, not of {command!r}; go on with "
                f"accord {content['command']} --resume {path}"
            )
        return cls(Path(path), content)

    @property
    def asked(self) -> dict[str, Any]:
        return dict(self.content["asked"])

    def check(self, game: Game) -> None:
        """Refuse to go on with another game."""
        if self.content["digest"] != game.digest:
            raise MismatchError(
                f"{self.path} holds a run on {self.content['game']!r} with digest "
                f"{self.content['digest'][:12]}; {game.name!r} has digest {game.digest[:12]}"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other process write here meanwhile, where the system can lock folders."""
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
                    f"{self.path} must be one process's at a time; another is writing there now; "
                    "wait for it or stop it"
                ) from None
            yield
        finally:
            os.close(folder)

    def save(
        self, arrays: dict[str, Any], record: Iterable[dict[str, Any]], *, now: bool = False
    ) -> None:
        """Write a checkpoint, if it is time for one or ``now``: at most a twentieth of all time."""
        start = time.monotonic()
        if start < self._next_save and not now:
            return
        write_whole(self.path / "checkpoint.npz", lambda file: np.savez(file, **arrays))
        self.write_record(record)
        end = time.monotonic()
        self._next_save = end + max(SAVE_SECONDS, 20.0 * (end - start))

    def write_record(self, record: Iterable[dict[str, Any]]) -> None:
        """Write one line per checkpoint."""
        self._write_lines("progress.jsonl", record)

    def load(self) -> dict[str, Any] | None:
        """The last checkpoint, or ``None`` if the run did not get to one."""
        file = self.path / "checkpoint.npz"
        if not file.exists():
            return None
        try:
            with np.load(file, allow_pickle=False) as content:
                return {name: content[name] for name in content.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise ParseError(str(file), 0, 0, f"is no checkpoint: {error}") from None

    def finish(
        self, result: dict[str, Any], policy: CorrelatedPolicy, certificate: Certificate
    ) -> None:
        """Write the outcome."""
        save_policy(policy, self.path / "policy.npz")
        self._write_lines("certificate.json", [certificate.to_json()])
        self.content["result"] = result
        self._write_lines("run.json", [self.content])

    def _write_lines(self, name: str, contents: Iterable[dict[str, Any]]) -> None:
        """One JSON object per line."""
        text = "".join(json.dumps(content, allow_nan=False) + "\n" for content in contents)
        write_whole(self.path / name, lambda file: file.write(text.encode()))
