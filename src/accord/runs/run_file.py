"""The file ``run.json``: the request, the game and the versions of packages; then the result.

Everything in it may have been edited or damaged, so nothing is used before it is checked.
"""

from __future__ import annotations

import json
import platform
import secrets
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from accord._files import read_bytes
from accord._format import listed
from accord.errors import ArgumentError, ParseError
from accord.runs.request import LearnRequest, OptimizeRequest, SolveRequest

RUN = "run.json"
"""The name of the file; a folder that has one is that of a run."""

FORMAT = "accord-run"
RUN_VERSION = 4

AnyRequest = SolveRequest | LearnRequest | OptimizeRequest

REQUESTS: dict[str, type[AnyRequest]] = {
    kind.command: kind for kind in (SolveRequest, LearnRequest, OptimizeRequest)
}
PACKAGES = ("accord", "numpy", "numba", "open_spiel")


class Identified(Protocol):
    """A game, or what is known of an environment: what a run is compared with."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...


def new_content(request: AnyRequest, game: Identified) -> dict[str, Any]:
    """What ``run.json`` holds at first."""
    return {
        "format": FORMAT,
        "version": RUN_VERSION,
        "id": secrets.token_hex(8),
        "command": request.command,
        "asked": request.to_json(),
        "game": game.name,
        "digest": game.digest,
        "versions": versions(),
        "result": None,
    }


def read_content(file: Path) -> dict[str, Any]:
    """What ``run.json`` holds, if it has the one version that is read."""
    if not file.exists():
        raise ParseError(str(file.parent), 0, 0, _no_run_in(file.parent))
    content = parse_object(file, read_text(file, "the file of a run must be readable"), 1)
    if content.get("format") != FORMAT or content.get("version") != RUN_VERSION:
        raise ParseError(
            str(file), 0, 0,
            f'a run must have "format": "{FORMAT}" and "version": {RUN_VERSION}; got '
            f"{content.get('format')!r:.80} and {content.get('version')!r:.80}; open it with the "
            "version of Accord that wrote it, or start a new run",
        )  # fmt: skip
    return content


def _no_run_in(folder: Path) -> str:
    """Why ``folder`` is not that of a run, and which of its folders are."""
    if not folder.is_dir():
        return "must be the folder of a run, but there is no such folder"
    runs = [str(file.parent) for file in sorted(folder.glob(f"*/{RUN}"))]
    hint = f"; choose one of {listed(runs, separator=', ')}" if runs else ""
    return f"must be the folder of a run, but it has no {RUN}{hint}"


def version_of(package: str) -> str:
    """The installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:  # such as Accord itself, run from its sources
        return "unknown"


def parse_request(file: Path, content: dict[str, Any]) -> AnyRequest:
    """The request in ``run.json``."""
    command, asked = content.get("command"), content.get("asked")
    kind = REQUESTS.get(command) if isinstance(command, str) else None
    texts = all(isinstance(content.get(name), str) for name in ("game", "digest"))
    objects = isinstance(asked, dict) and isinstance(content.get("versions", {}), dict)
    result = content.get("result")
    if kind is None or not texts or not objects or not isinstance(result, dict | None):
        raise ParseError(
            str(file), 0, 0,
            f'must have a "command", {" or ".join(REQUESTS)}, objects "asked" and "versions", a '
            '"game" and a "digest", and a "result" that is an object or null',
        )  # fmt: skip
    content.setdefault("versions", {})
    assert isinstance(asked, dict)
    try:
        return kind.from_json(asked)
    except (ArgumentError, TypeError, ValueError, OverflowError) as error:
        raise ParseError(
            str(file), 0, 0, f'"asked" is not a valid request: {error!s:.300}'
        ) from None


def checked_result(file: Path, result: Any, n_players: int, *, is_exact: bool) -> dict[str, Any]:
    """``result``, if it has what a report shows: its gaps if it ``is_exact``, else margins."""
    content = result if isinstance(result, dict) else {}
    numbers = [content.get(name) for name in ("iterations", "seconds")]
    lists = [content.get("values")]
    if is_exact:
        numbers.append(content.get("gap"))
        lists.append(content.get("players"))
    else:
        margins: Any = content.get("margins")
        if isinstance(margins, list):  # null where there were too few plays
            margins = [0.0 if one is None else one for one in margins]
        lists.append(margins)
    if not all(map(_is_finite, numbers)) or not all(
        isinstance(one, list) and len(one) == n_players and all(map(_is_finite, one))
        for one in lists
    ):
        what = "a gap, and the values and gaps" if is_exact else "and the values and margins"
        raise ParseError(
            str(file), 0, 0,
            "must have the result of the run: finite numbers of iterations and seconds, "
            f"{what} of {n_players} players",
        )  # fmt: skip
    return content


def _is_finite(value: Any) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and abs(value) < float("inf")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in PACKAGES}}


def read_text(path: Path, failure: str) -> str:
    """The text in a file; ``failure`` begins the message if it cannot be read."""
    try:
        return read_bytes(path).decode("utf-8")
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"{failure}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or a name that no file can have
        reason = getattr(error, "reason", error)
        raise ParseError(str(path), 0, 0, f"must be UTF-8 text: {reason}") from None


def parse_object(path: Path, text: str, line: int) -> dict[str, Any]:
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
