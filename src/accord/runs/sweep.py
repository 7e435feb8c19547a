"""Restartable sweeps over many runs, one after another or on a Ray cluster.

A *task* is a name and keyword arguments; the *job* is the function that is called with them and
with a folder of the task's own. The sweep's folder contains

* ``NAME/``: the job's files for this task, such as a run that can be resumed
* ``NAME/result.json``: the task and its result, written last: the task is done if this file exists
* ``.NAME.json``: the task, written first

so a sweep killed at any moment continues where it was, and never mistakes one task's files for
another's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accord._files import remove_temporaries, write_whole
from accord.errors import (
    AccordError,
    ArgumentError,
    MismatchError,
    ParseError,
    SweepError,
)
from accord.play.cluster import by_value, connected
from accord.runs.interrupt import noted_interrupts
from accord.runs.run_file import parse_object, read_text

RESULT = "result.json"

Job = Callable[..., Any]
TaskProgress = Callable[[str, Any], object]


def sweep(
    job: Job,
    tasks: Mapping[str, Mapping[str, Any]],
    folder: str | os.PathLike[str],
    *,
    ray: str | None = None,
    progress: TaskProgress | None = None,
) -> dict[str, Any]:
    """Call ``job`` for every task that is not done yet; return all results by name.

    A failed task does not stop the others. Ctrl-C does; finished tasks are kept, and the same call
    continues from there.

    Args:
        job: Called as ``job(folder, **task)`` with the task's own folder, a ``Path``. Its result
            must be writable as JSON. If it was killed before, its files are still in the folder.
        tasks: Names, which must be valid names of folders, and keyword arguments, which must be
            writable as JSON.
        folder: The folder for tasks and results.
        ray: ``None`` to run one task after the other in this process; ``"local"`` to run them with
            Ray on all cores of this machine; ``"auto"`` on the cluster that this machine is part
            of; ``"HOST:PORT"`` on the cluster whose head is there. An open connection to Ray is
            used if there is one. Workers need no shared disk, but they need Accord and all
            installed packages that the job imports.
        progress: Called with the name and result of every task when it is done, or found done.

    Raises:
        SweepError: If tasks failed, after all others are done.
        MismatchError: If the folder has another task of the same name.
        ArgumentError: If a name or a task is not valid, or no cluster answers.
        MissingDependencyError: If Ray is needed and not installed.
    """
    home = Path(folder)
    remove_temporaries(home)
    places = [_Task(home, name, task) for name, task in tasks.items()]
    done = {place.name: place.result() for place in places if place.is_done()}
    for name, result in done.items():
        if progress is not None:
            progress(name, result)
    left = [place for place in places if place.name not in done]
    failed: dict[str, Exception] = {}
    run = _in_process(job, left) if ray is None else _on_ray(job, left, ray)
    for place, outcome in run if left else ():
        if isinstance(outcome, Exception):
            failed[place.name] = outcome
            continue
        done[place.name] = outcome
        if progress is not None:
            progress(place.name, outcome)
    if failed:
        messages = {name: _message(error) for name, error in failed.items()}
        raise SweepError(messages, len(tasks)) from next(iter(failed.values()))
    return {name: done[name] for name in tasks}


class _Task:
    """One task and its files in the sweep's folder."""

    def __init__(self, home: Path, name: str, task: Mapping[str, Any]) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][\w.,=+-]*", name, re.ASCII):
            raise ArgumentError(
                "a task's name must be a valid name of a folder: letters, digits and _ . , = + -, "
                f"starting with a letter or a digit; got {name!r}"
            )
        self.name, self.folder = name, home / name
        self.note = home / f".{name}.json"
        try:
            self.task = json.loads(json.dumps(dict(task), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"task {name!r} must be writable as JSON: {error}") from None
        self._check()

    def _check(self) -> None:
        """Refuse a folder that holds something else."""
        noted = self.note if not (self.folder / RESULT).exists() else self.folder / RESULT
        if noted.exists():
            kept = _read(noted)["task"]
            if kept != self.task:
                raise MismatchError(
                    f"{self.folder} must hold the task {json.dumps(self.task):.500}, but holds "
                    f"{json.dumps(kept):.500}; nothing is overwritten; choose another folder or "
                    "name"
                )
        elif self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ArgumentError(
                f"{self.folder} must be a new or empty folder, or one of this sweep; nothing is "
                "overwritten; choose another folder or name"
            )

    def is_done(self) -> bool:
        return (self.folder / RESULT).exists()

    def result(self) -> Any:
        return _read(self.folder / RESULT, "result")["result"]

    def begin(self) -> None:
        """Make the folder and note its task."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(
                f"{self.folder} must be a writable folder: {error.strerror}"
            ) from None
        _write(self.note, {"task": self.task})

    def finish(self, result: Any) -> Any:
        """Write the result, and return it as it reads back."""
        _write(self.folder / RESULT, {"task": self.task, "result": result})
        return self.result()

    def replace(self, files: dict[str, bytes], result: Any) -> Any:
        """Replace the task's files by those that a worker made."""
        self.begin()
        with _temporary_folder(self.folder.parent, f".{self.name}.") as made:
            _unpack(files, made)
            _write(made / RESULT, {"task": self.task, "result": result})
            shutil.rmtree(self.folder)
            made.rename(self.folder)
        return self.result()


Outcomes = Iterator[tuple[_Task, Any]]
"""Each task's place with its result, or with the exception that it raised."""


def _in_process(job: Job, places: list[_Task]) -> Outcomes:
    for place in places:
        place.begin()
        before = noted_interrupts()
        try:
            outcome = job(place.folder, **place.task)
        except Exception as error:
            outcome = error
        if noted_interrupts() > before:  # the job stopped early and has no result
            raise KeyboardInterrupt
        if not isinstance(outcome, Exception):
            outcome = _tried(lambda: place.finish(outcome))  # noqa: B023
        yield place, outcome


def _on_ray(job: Job, places: list[_Task], address: str) -> Outcomes:
    with connected(address) as ray:
        run = ray.remote(_run_on_worker)
        with by_value(ray):
            pending = {run.remote(job, place.task, _pack(place.folder)): place for place in places}
        try:
            while pending:
                finished, _ = ray.wait(list(pending), num_returns=1)
                place = pending.pop(finished[0])
                try:
                    files, result = ray.get(finished[0])
                except ray.exceptions.RayError as error:
                    yield place, getattr(error, "cause", None) or error
                else:
                    yield place, _tried(lambda: place.replace(files, result))  # noqa: B023
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)


def _run_on_worker(job: Job, task: dict[str, Any], files: dict[str, bytes]) -> Any:
    """Run a task in a folder of this machine; return the folder's files and the result."""
    with tempfile.TemporaryDirectory(prefix="accord-") as folder:
        _unpack(files, Path(folder))
        result = job(Path(folder), **task)
        return _pack(Path(folder)), result


def _pack(folder: Path) -> dict[str, bytes]:
    """All files in ``folder`` by their relative paths."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _unpack(files: dict[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def _temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A folder in ``parent`` that is removed at the end, if it still exists."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(call: Callable[[], Any]) -> Any:
    """The result of ``call``, or the exception that it raises."""
    try:
        return call()
    except Exception as error:
        return error


def _read(path: Path, *names: str) -> dict[str, Any]:
    """The JSON object in a file, with a task and everything else in ``names``."""
    content = parse_object(path, read_text(path, "cannot be read"), 1)
    if not {"task", *names} <= content.keys():
        needed = " and a ".join(f'"{name}"' for name in ("task", *names))
        raise ParseError(
            str(path), 0, 0,
            f"must be a JSON object with a {needed}; if it is damaged, remove it, and the task "
            "will be resumed",
        )  # fmt: skip
    return content


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        text = json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"a result must be writable as JSON: {error}") from None
    write_whole(path, text.encode())


def _message(error: Exception) -> str:
    """One line that says what went wrong."""
    text = " ".join(str(error).split())
    return text if isinstance(error, AccordError) else f"{type(error).__name__}: {text}"
