"""A finished run, read back from its folder.

What a report needs is in three files: ``run.json`` (what was asked, of which game), ``policy.npz``
(the saved mixture) and ``progress.jsonl`` (the gap on the way).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.deviations.counting import count_rechistories
from accord.deviations.notions import read_k
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.files import load_policy
from accord.errors import AccordError, ArgumentError, BudgetError, MismatchError, ParseError
from accord.game.tree import Game
from accord.interop.load import load_game
from accord.runs.folder import FORMAT, VERSION
from accord.treeplex.form import sequence_form

LIMITS = ("iterations", "episodes", "target_gap", "seconds")
"""What a run is asked first and may be asked anew when it is resumed; only the first is kept."""

LARGEST_WORK = 1e10
"""Cells times components that a report may add up for one K: well under a minute."""


@dataclass(frozen=True)
class Point:
    """The exact gaps at one moment of a run."""

    iteration: int
    episodes: int | None  # None if the run played none
    players: tuple[float, ...]  # payoff units
    seconds: float | None

    @property
    def gap(self) -> float:
        return max(self.players)


@dataclass(frozen=True, eq=False)
class Run:
    """One run folder."""

    folder: Path
    command: str  # "solve" or "learn"
    asked: dict[str, Any]
    result: dict[str, Any]
    versions: dict[str, str]
    game: Game
    k: float
    method: str
    policy: CorrelatedPolicy
    record: tuple[Point, ...]  # may be empty

    @property
    def learned(self) -> bool:
        return self.command == "learn"


def read_run(folder: Path, game: str | None = None, known: dict[str, Game] | None = None) -> Run:
    """Read the run in ``folder``.

    Args:
        folder: As ``accord solve --out`` or ``accord learn --out`` wrote it.
        game: Where the game is now, if not where the run found it.
        known: Games loaded before, by name; what is loaded here is added.

    Raises:
        ArgumentError: If there is no finished run in the folder.
        ParseError: If a file of it is broken.
        MismatchError: If the game is not the one that the run was made for.
    """
    content = _read_header(folder)
    asked, result = content["asked"], content["result"]
    name = game or asked["game"]
    loaded = _load_game(folder, name, {} if known is None else known)
    if content.get("digest") != loaded.digest:
        raise MismatchError(
            f"{folder} is a run of {content.get('game')!r} with digest "
            f"{str(content.get('digest'))[:12]}; {name!r} has digest {loaded.digest[:12]}; give "
            "the game it was made for with --game"
        )
    path = folder / "policy.npz"
    if not path.exists():
        raise ArgumentError(
            f"{folder} has no policy.npz: the run has not finished; resume it first"
        )
    policy = load_policy(path, loaded)
    k = read_k(asked["k"])
    lines = _read_progress(folder / "progress.jsonl")
    record = tuple(_point(folder, line, loaded.n_players) for line in lines)
    return Run(
        folder=folder,
        command=content["command"],
        asked=asked,
        result=result,
        versions=content.get("versions") or {},
        game=loaded,
        k=k,
        method=str(asked["method"]),
        policy=policy,
        record=record,
    )


def too_much(policy: CorrelatedPolicy, k: float) -> str | None:
    """Why the gap at ``k`` is not worth computing for a report, if it is not."""
    if work(policy, k) <= LARGEST_WORK:
        return None
    count = policy.n_components
    return (
        f"{work(policy, k) / count:.3g} entries for each of {count:,} components are more than a "
        "report adds up; accord certify does"
    )


def work(policy: CorrelatedPolicy, k: float) -> float:
    """Cells times components: what the gap at ``k`` takes."""
    plexes = sequence_form(policy.game).plexes
    return sum(count_rechistories(plex, k).cells for plex in plexes) * policy.n_components


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    if not folder.is_dir():
        raise ArgumentError(f"{folder} must be the folder of a run; there is no such folder")
    if not path.exists():
        raise ArgumentError(f"{folder} must be the folder of a run; it has no run.json")
    content = _parse(path, _read_text(path), 1)
    if (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise ParseError(
            str(path), 0, 0,
            f'must have "format": "{FORMAT}" and "version": {VERSION}; got '
            f"{content.get('format')!r} and {content.get('version')!r}",
        )  # fmt: skip
    asked, command = content.get("asked"), content.get("command")
    if (
        command not in ("solve", "learn")
        or not isinstance(asked, dict)
        or not isinstance(asked.get("game"), str)
        or not isinstance(asked.get("method"), str)
        or not _is_k(asked.get("k"))
    ):
        raise ParseError(
            str(path), 0, 0,
            'must have a "command", solve or learn, and in "asked" a game, a k and a method',
        )  # fmt: skip
    if not isinstance(content.get("result"), dict):
        raise ArgumentError(f"{folder} has no result: the run has not finished; resume it first")
    return content


def _read_progress(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines = enumerate(_read_text(path).splitlines(), 1)
    return [_parse(path, line, number) for number, line in lines if line.strip()]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParseError(str(path), 0, 0, f"must be UTF-8 text: {error.reason}") from None


def _parse(path: Path, text: str, line: int) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(str(path), line - 1 + error.lineno, error.colno, error.msg) from None
    except RecursionError:
        raise ParseError(str(path), line, 1, "is nested too deeply") from None
    if not isinstance(content, dict):
        raise ParseError(str(path), line, 1, "must be a JSON object")
    return content


def _load_game(folder: Path, name: str, known: dict[str, Game]) -> Game:
    if name not in known:
        try:
            known[name] = load_game(name)
        except AccordError as error:
            if isinstance(error, BudgetError):
                raise
            raise ArgumentError(
                f"{folder} is a run of {name!r}, which cannot be loaded: {error}; if it is "
                "elsewhere now, give it with --game"
            ) from None
    return known[name]


def _point(folder: Path, line: dict[str, Any], n_players: int) -> Point:
    try:
        players = tuple(map(float, line["players"]))
        point = Point(
            int(line["iteration"]),
            None if line.get("episodes") is None else int(line["episodes"]),
            players,
            None if line.get("seconds") is None else float(line["seconds"]),
        )
    except (KeyError, TypeError, ValueError):
        point, players = None, ()
    if point is None or len(players) != n_players or not all(map(math.isfinite, players)):
        raise ParseError(
            str(folder / "progress.jsonl"), 0, 0,
            f"each line must have an iteration and a gap for each of {n_players} players; "
            f"got {line!r}",
        )  # fmt: skip
    return point


def _is_k(value: Any) -> bool:
    return value == "inf" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)
