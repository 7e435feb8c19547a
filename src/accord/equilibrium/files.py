"""Correlated policies as files that others can open.

JSON, for people and other programs::

    {"format": "accord-policy", "version": 1, "game": "...", "digest": "...", "players": 2,
     "components": [{"weight": 0.25, "policy": [{"<infoset label>": [p, ...], ...}, {...}]}, ...]}

with one object per player and probabilities in the game's action order; or ``.npz`` with the same
content as NumPy arrays, for large ones: ``weights``, and per player i (from 1) ``infosets_i``,
``n_actions_i`` and ``probabilities_i``, one row per component, the infosets one after the other.
``digest`` is optional; where it is present it must be the game's.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from accord.equilibrium.correlated import CorrelatedPolicy
from accord.errors import ArgumentError, MismatchError, ParseError, PolicyError
from accord.game.tree import Game
from accord.treeplex.form import sequence_form

FORMAT = "accord-policy"
VERSION = 1


def save_policy(policy: CorrelatedPolicy, path: str | os.PathLike[str]) -> None:
    """Write ``policy`` to a ``.json`` or ``.npz`` file, completely or not at all."""
    target = Path(path)
    if target.suffix == ".json":
        write_whole(target, lambda file: file.write(json.dumps(_to_json(policy)).encode()))
    elif target.suffix == ".npz":
        write_whole(target, lambda file: np.savez(file, **_to_arrays(policy)))
    else:
        raise ArgumentError(f"a policy file must end in .json or .npz; got {str(target)!r}")


def load_policy(path: str | os.PathLike[str], game: Game) -> CorrelatedPolicy:
    """Read a policy of ``game`` from a ``.json`` or ``.npz`` file.

    Raises:
        ParseError: If the file cannot be read or is not of this format.
        MismatchError: If it was made for another game.
        PolicyError: If it names no policy of this game; the message names the place.
    """
    source = Path(path)
    if source.suffix not in (".json", ".npz"):
        raise ArgumentError(f"a policy file must end in .json or .npz; got {str(source)!r}")
    try:
        raw = source.read_bytes()
    except OSError as error:
        raise ParseError(str(source), 0, 0, f"cannot be read: {error.strerror}") from None
    return _from_json(source, raw, game) if source.suffix == ".json" else _from_npz(source, game)


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name and rename it, so that it is never seen half-written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ArgumentError(f"{path} cannot be written: {error.strerror}") from None


def _to_json(policy: CorrelatedPolicy) -> dict[str, Any]:
    form = sequence_form(policy.game)
    components = []
    for weight, behaviors in policy.components():
        players = [
            dict(
                zip(
                    plex.infoset_labels,
                    (part.tolist() for part in np.split(behavior[1:], plex.first_seq[1:-1] - 1)),
                    strict=True,
                )
            )
            if plex.n_infosets
            else {}
            for plex, behavior in zip(form.plexes, behaviors, strict=True)
        ]
        components.append({"weight": weight, "policy": players})
    return {
        "format": FORMAT,
        "version": VERSION,
        "game": policy.game.name,
        "digest": policy.game.digest,
        "players": policy.game.n_players,
        "components": components,
    }


def _to_arrays(policy: CorrelatedPolicy) -> dict[str, Any]:
    form = sequence_form(policy.game)
    arrays: dict[str, Any] = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "game": np.array(policy.game.name),
        "digest": np.array(policy.game.digest),
        "players": np.array(policy.game.n_players),
        "weights": policy.weights,
    }
    for i, (plex, part) in enumerate(zip(form.plexes, form.split(policy.behavior), strict=True), 1):
        arrays[f"infosets_{i}"] = np.array(list(plex.infoset_labels), dtype=np.str_)
        arrays[f"n_actions_{i}"] = plex.n_actions
        arrays[f"probabilities_{i}"] = part[:, 1:]
    return arrays


def _from_json(path: Path, raw: bytes, game: Game) -> CorrelatedPolicy:
    try:
        content = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ParseError(str(path), 0, 0, f"must be UTF-8 text: {error.reason}") from None
    except json.JSONDecodeError as error:
        raise ParseError(str(path), error.lineno, error.colno, error.msg) from None
    except RecursionError:
        raise ParseError(str(path), 0, 0, "is nested too deeply for a policy") from None
    if not isinstance(content, dict):
        raise ParseError(str(path), 0, 0, "must be a JSON object")
    _check_header(path, content, game)
    components = content.get("components")
    if not isinstance(components, list) or not components:
        raise ParseError(str(path), 0, 0, '"components" must be a non-empty list')
    form = sequence_form(game)
    weights = np.zeros(len(components))
    behavior = np.ones((len(components), form.n_sequences))
    for c, component in enumerate(components):
        weight = component.get("weight") if isinstance(component, dict) else None
        parts = component.get("policy") if isinstance(component, dict) else None
        if not _is_number(weight) or not isinstance(parts, list) or len(parts) != game.n_players:
            raise PolicyError(
                f'{path}: component {c} must have a number "weight" and a list "policy" of '
                f"{game.n_players} objects, one per player"
            )
        weights[c] = weight
        for i, part in enumerate(form.split(behavior[c])):
            _read_player(path, c, i, game, parts[i], part)
    return _named(path, lambda: CorrelatedPolicy(game, weights, behavior))


def _read_player(path: Path, c: int, i: int, game: Game, given: Any, part: Any) -> None:
    """Write one player's probabilities of one component to ``part``."""
    place = f"{path}: component {c}, player {game.player_labels[i]}"
    if not isinstance(given, dict):
        raise PolicyError(f"{place}: must be an object of infosets and probabilities")
    plex = sequence_form(game).plexes[i]
    for x, label in enumerate(plex.infoset_labels):
        row = given.get(label)
        n = int(plex.n_actions[x])
        if row is None:
            raise PolicyError(f"{place}: infoset {label!r} is missing")
        if not isinstance(row, list) or len(row) != n or not all(map(_is_number, row)):
            raise PolicyError(f"{place}, infoset {label!r}: must be a list of {n} numbers")
        part[plex.first_seq[x] : plex.first_seq[x + 1]] = row
    if len(given) > plex.n_infosets:
        unknown = next(iter(given.keys() - set(plex.infoset_labels)))
        raise PolicyError(f"{place}: the game has no infoset {unknown!r}")


def _from_npz(path: Path, game: Game) -> CorrelatedPolicy:
    try:
        with np.load(path, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise ParseError(str(path), 0, 0, f"is no NumPy archive: {error}") from None
    header = {
        key: content[key].item()
        for key in ("format", "version", "game", "digest", "players")
        if key in content and content[key].ndim == 0
    }
    _check_header(path, header, game)
    form = sequence_form(game)
    weights = content.get("weights")
    if weights is None or weights.ndim != 1 or weights.dtype.kind != "f":
        raise ParseError(str(path), 0, 0, '"weights" must be a vector of floats')
    behavior = np.ones((len(weights), form.n_sequences))
    for i, (plex, part) in enumerate(zip(form.plexes, form.split(behavior), strict=True), 1):
        labels, given = content.get(f"infosets_{i}"), content.get(f"probabilities_{i}")
        if labels is None or given is None or given.dtype.kind != "f":
            raise PolicyError(f'{path}: "infosets_{i}" and "probabilities_{i}" must be given')
        order = {str(label): x for x, label in enumerate(labels.reshape(-1))}
        if missing := next((x for x in plex.infoset_labels if x not in order), None):
            raise PolicyError(f"{path}: player {i}: infoset {missing!r} is missing")
        if len(labels) != plex.n_infosets or given.shape != (len(weights), plex.n_sequences - 1):
            raise PolicyError(
                f"{path}: player {i} must have {plex.n_infosets} infosets and "
                f"{plex.n_sequences - 1} probabilities per component; got {len(labels)} and "
                f"{given.shape}"
            )
        ranks = np.array([order[label] for label in plex.infoset_labels], dtype=np.int64)
        starts = np.zeros(plex.n_infosets + 1, np.int64)
        np.cumsum(plex.n_actions[np.argsort(ranks)], out=starts[1:])
        for x, rank in enumerate(ranks):
            columns = slice(starts[rank], starts[rank + 1])
            part[:, plex.first_seq[x] : plex.first_seq[x + 1]] = given[:, columns]
    return _named(path, lambda: CorrelatedPolicy(game, weights, behavior))


def _check_header(path: Path, content: dict[str, Any], game: Game) -> None:
    if content.get("format") != FORMAT or content.get("version") != VERSION:
        raise ParseError(
            str(path), 0, 0,
            f'must have "format": "{FORMAT}" and "version": {VERSION}; got '
            f"{content.get('format')!r} and {content.get('version')!r}",
        )  # fmt: skip
    if content.get("players") != game.n_players:
        raise MismatchError(
            f"{path} is for {content.get('players')!r} players; {game.name} has {game.n_players}"
        )
    digest = content.get("digest")
    if digest is not None and digest != game.digest:
        raise MismatchError(
            f"{path} was made for the game {content.get('game')!r} with digest {str(digest)[:12]}; "
            f"{game.name!r} has digest {game.digest[:12]}; use the game it was made for"
        )


def _named(path: Path, make: Callable[[], CorrelatedPolicy]) -> CorrelatedPolicy:
    try:
        return make()
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
