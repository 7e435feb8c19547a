"""Correlated policies as files.

JSON, readable for people and other programs::

    {"format": "accord-policy", "version": 1, "game": "...", "digest": "...", "players": 2,
     "components": [{"weight": 0.25, "policy": [{"<infoset label>": [p, ...], ...}, {...}]}, ...]}

with one object per player and probabilities in the game's action order. Large policies are better
written as ``.npz``, with the same content as NumPy arrays: ``weights``, and for each player i (from
1) ``infosets_i``, ``n_actions_i`` and ``probabilities_i``, which has one row per component and one
infoset after another. ``digest`` is optional; if present it must be the game's. A ``.npz`` may also
hold a ``note``, any text as UTF-8 bytes: the folder of a run keeps the run's result there.

The policy of an environment (:class:`Mixture`) has no digest. Its file has the players' treeplexes
beside it, so that it can be read without a game: ``trees`` in JSON, an object per player with the
names of players, infosets, actions, and for each infoset the player's last sequence before it.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, overload

import numpy as np

from accord._arrays import NO_INFOSET
from accord._format import memory
from accord._memory import available_memory
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.mixture import Mixture
from accord.errors import (
    AccordError,
    ArgumentError,
    BudgetError,
    MismatchError,
    ParseError,
    PolicyError,
)
from accord.game.labels import player_name
from accord.game.tree import Game, checked_game
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

FORMAT = "accord-policy"
VERSION = 1

TOLERANCE = 1e-6
"""By how much the sum of probabilities may differ from one."""

NOTE = "note"

HEADER = ("format", "version", "game", "digest", "players")
"""The single values at the beginning of a file."""

STALE_SECONDS = 3600.0
"""Age of a temporary file that nobody can still be writing."""


def save_policy(policy: CorrelatedPolicy | Mixture, path: str | os.PathLike[str]) -> None:
    """Write ``policy`` to a ``.json`` or ``.npz`` file, completely or not at all."""
    target = _policy_path(path)
    if not isinstance(policy, (CorrelatedPolicy, Mixture)):
        raise ArgumentError(
            "policy must be an accord.CorrelatedPolicy, or the Mixture that learn() returned; "
            f"got {reprlib.repr(policy)}"
        )
    if target.suffix == ".json":
        write_whole(target, lambda file: file.write(json.dumps(_to_json(policy)).encode()))
    else:
        write_whole(target, lambda file: np.savez_compressed(file, **_to_arrays(policy)))


def save_policy_with_note(policy: CorrelatedPolicy | Mixture, path: Path, note: str) -> None:
    """Write ``policy`` and ``note`` to one ``.npz`` file, completely or not at all."""
    arrays = {**_to_arrays(policy), NOTE: np.frombuffer(note.encode(), np.uint8)}
    write_whole(path, lambda file: np.savez_compressed(file, **arrays))


@overload
def load_policy(path: str | os.PathLike[str], game: Game) -> CorrelatedPolicy: ...


@overload
def load_policy(path: str | os.PathLike[str], game: None = None) -> Mixture: ...


def load_policy(
    path: str | os.PathLike[str], game: Game | None = None
) -> CorrelatedPolicy | Mixture:
    """Read a policy from a ``.json`` or ``.npz`` file.

    Args:
        path: The file.
        game: The game of the policy. The policy of an environment needs none, and is then read as
            a :class:`Mixture`.

    Raises:
        ArgumentError: If the name does not end in ``.json`` or ``.npz``, or ``game`` is not a game.
        ParseError: If the file cannot be read or has another format.
        MismatchError: If the file was made for another game.
        PolicyError: If the content is not a policy of this game; the message names the place.
    """
    source = _policy_path(path)
    if game is not None:
        checked_game(game)
    try:
        file = source.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise ParseError(str(source), 0, 0, f"cannot be read: {_reason(error)}") from None
    with file:
        if game is None:
            return _mixture_from(source, file)
        read = _from_json if source.suffix == ".json" else _from_npz
        return read(source, file, game)


def load_policy_with_note(path: Path, game: Game) -> tuple[CorrelatedPolicy, str | None]:
    """Read a policy of ``game`` from a ``.npz`` file, and the note beside it if there is one.

    Both come from the same open file, even if it is replaced in the meantime.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"cannot be read: {_reason(error)}") from None
    with file:
        return _from_npz(path, file, game), _note(path, file)


def load_mixture_with_note(path: Path) -> tuple[Mixture, str | None]:
    """Like :func:`load_policy_with_note`, for the policy of an environment."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"cannot be read: {_reason(error)}") from None
    with file:
        return _mixture_from(path, file), _note(path, file)


def _note(path: Path, file: IO[bytes]) -> str | None:
    file.seek(0)
    try:
        with np.load(file, allow_pickle=False) as archive:
            return bytes(archive[NOTE]).decode() if NOTE in archive.files else None
    except Exception:  # numpy, zipfile and zlib each raise their own kinds
        raise ParseError(str(path), 0, 0, f'"{NOTE}" must be text as UTF-8 bytes') from None


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name, then rename it: nobody sees it half-written.

    The temporary file is new, in the same folder, and has a name that nobody can predict. If
    ``path`` is a symbolic link, the link is replaced, not the file that it points to.
    """
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    try:
        file = temporary.open("xb")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{path} cannot be written: {_reason(error)}") from None
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ArgumentError(f"{path} cannot be written: {_reason(error)}") from None
        raise


def remove_temporaries(folder: Path, names: Collection[str] = ()) -> None:
    """Remove what killed processes left: temporary files of ``names``, and all old ones.

    The caller must be the only writer of the files called ``names``.
    """
    for file in folder.glob(".*.tmp"):
        own = file.name[1:].rsplit(".", 2)[0] in names
        with suppress(OSError):
            if own or time.time() - file.stat().st_mtime > STALE_SECONDS:
                file.unlink()


def _policy_path(path: str | os.PathLike[str]) -> Path:
    """``path``, checked to be the name of a policy file."""
    if isinstance(path, (str, os.PathLike)) and Path(path).suffix in (".json", ".npz"):
        return Path(path)
    found = repr(str(path)) if isinstance(path, os.PathLike) else reprlib.repr(path)
    raise ArgumentError(f"a policy file must end in .json or .npz; got {found}")


def _header(policy: CorrelatedPolicy | Mixture) -> dict[str, Any]:
    """The first keys of a file. There is no digest if the game is not known."""
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if isinstance(policy, Mixture):
        return {**header, "game": policy.name, "players": len(policy.plexes)}
    game = policy.game
    return {**header, "game": game.name, "digest": game.digest, "players": game.n_players}


def _to_json(policy: CorrelatedPolicy | Mixture) -> dict[str, Any]:
    form = policy if isinstance(policy, Mixture) else sequence_form(policy.game)
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
    trees = {"trees": _trees(policy)} if isinstance(policy, Mixture) else {}
    return {**_header(policy), **trees, "components": components}


def _trees(policy: Mixture) -> list[dict[str, Any]]:
    """The players' treeplexes in plain lists."""
    return [
        {
            "player": label,
            "infosets": list(plex.infoset_labels),
            "actions": [list(actions) for actions in plex.action_labels],
            "parent_seq": plex.parent_seq.tolist(),
        }
        for label, plex in zip(policy.player_labels, policy.plexes, strict=True)
    ]


def _to_arrays(policy: CorrelatedPolicy | Mixture) -> dict[str, Any]:
    form = policy if isinstance(policy, Mixture) else sequence_form(policy.game)
    arrays: dict[str, Any] = {key: np.array(value) for key, value in _header(policy).items()}
    arrays["weights"] = policy.weights
    for i, (plex, part) in enumerate(zip(form.plexes, form.split(policy.behavior), strict=True), 1):
        arrays[f"infosets_{i}"] = np.array(list(plex.infoset_labels), dtype=np.str_)
        arrays[f"n_actions_{i}"] = plex.n_actions
        arrays[f"probabilities_{i}"] = part[:, 1:]
    if isinstance(policy, Mixture):
        arrays["trees"] = np.frombuffer(json.dumps(_trees(policy)).encode(), np.uint8)
    return arrays


def _mixture_from(path: Path, file: IO[bytes]) -> Mixture:
    """The policy of an environment."""
    damaged = ParseError(str(path), 0, 0, "not a readable policy file, or damaged")
    try:
        if path.suffix == ".json":
            content = json.loads(file.read().decode("utf-8"))
            trees = content.get("trees")
        else:
            with np.load(file, allow_pickle=False) as archive:
                content = {name: archive[name] for name in archive.files}
            trees = json.loads(content["trees"].tobytes()) if "trees" in content else None
    except Exception:  # numpy, zipfile and json each raise their own kinds
        raise damaged from None
    if trees is None:
        raise ArgumentError(
            f"{path} is the policy of a game, without the treeplexes of an environment; give the "
            "game too: load_policy(path, game)"
        )
    try:
        plexes = tuple(_plex(tree) for tree in trees)
        players = tuple(str(tree["player"]) for tree in trees)
        if path.suffix == ".json":
            parts = content["components"]
            weights = np.array([part["weight"] for part in parts], np.float64)
            rows = [
                np.array([
                    [1.0, *(p for label in plex.infoset_labels for p in part["policy"][i][label])]
                    for part in parts
                ], np.float64)
                for i, plex in enumerate(plexes)
            ]  # fmt: skip
        else:
            weights = np.asarray(content["weights"], np.float64)
            ones = np.ones((len(weights), 1))
            numbers = range(1, len(plexes) + 1)
            rows = [np.hstack([ones, content[f"probabilities_{i}"]]) for i in numbers]
        if any(len(row[0]) != plex.n_sequences for row, plex in zip(rows, plexes, strict=True)):
            raise ValueError("wrong number of probabilities")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise damaged from None
    return _checked_mixture(
        path, Mixture(str(content["game"]), players, plexes, weights, np.hstack(rows))
    )


def _plex(tree: dict[str, Any]) -> Treeplex:
    actions = [tuple(map(str, names)) for names in tree["actions"]]
    counts = [len(names) for names in actions]
    first = np.cumsum([1, *counts])
    before = np.array(tree["parent_seq"], np.int64)
    above = np.searchsorted(first, before, side="right") - 1
    inner = before > 0
    return Treeplex.from_parents(
        counts,
        np.where(inner, above, NO_INFOSET),
        np.where(inner, before - first[above], 0),
        list(map(str, tree["infosets"])),
        actions,
    )


def _checked_mixture(path: Path, mixture: Mixture) -> Mixture:
    """The mixture, if its weights and probabilities are some."""
    weights, behavior = mixture.weights, mixture.behavior
    if not (weights > 0.0).all() or abs(weights.sum() - 1.0) > TOLERANCE:
        raise PolicyError(f"{path}: the weights must be positive and sum to one")
    if not (behavior >= 0.0).all():
        raise PolicyError(f"{path}: probabilities must not be negative")
    for plex, part in zip(mixture.plexes, mixture.split(behavior), strict=True):
        if plex.n_infosets:
            sums = np.add.reduceat(part, plex.first_seq[:-1], axis=1)
            if np.abs(sums - 1.0).max() > TOLERANCE:
                x = int(np.abs(sums - 1.0).max(axis=0).argmax())
                raise PolicyError(
                    f"{path}: the probabilities at infoset {plex.infoset_labels[x]!r} must sum to "
                    "one"
                )
    return mixture


class _Object(dict[str, Any]):
    """A JSON object that remembers a repeated key, of which a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.repeated = None if len(self) == len(keys) else _most_common(keys)


def _from_json(path: Path, file: IO[bytes], game: Game) -> CorrelatedPolicy:
    try:
        content = json.loads(
            file.read().decode("utf-8"),
            object_pairs_hook=_Object,
            parse_int=lambda digits: int(digits) if len(digits) < 300 else float(digits),
        )
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"cannot be read: {_reason(error)}") from None
    except UnicodeDecodeError as error:
        raise ParseError(str(path), 0, 0, f"must be UTF-8 text: {error.reason}") from None
    except json.JSONDecodeError as error:
        raise ParseError(
            str(path), error.lineno, error.colno, f"must be a policy as JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise ParseError(str(path), 0, 0, "is nested too deeply for a policy") from None
    if not isinstance(content, _Object):
        raise ParseError(str(path), 0, 0, "must be a JSON object")
    if content.repeated is not None:
        raise ParseError(str(path), 0, 0, f"has {content.repeated!r:.200} twice")
    _check_header(path, content, game)
    components = content.get("components")
    if not isinstance(components, list) or not components:
        raise ParseError(str(path), 0, 0, '"components" must be a non-empty list')
    form = sequence_form(game)
    weights = np.zeros(len(components))
    behavior = np.ones((len(components), form.n_sequences))
    for c, component in enumerate(components):
        weight = component.get("weight") if isinstance(component, _Object) else None
        parts = component.get("policy") if isinstance(component, _Object) else None
        if not _is_number(weight) or not isinstance(parts, list) or len(parts) != game.n_players:
            raise PolicyError(
                f'{path}: component {c} must have a number "weight" and a list "policy" of '
                f"{game.n_players} objects, one per player"
            )
        if component.repeated is not None:
            raise PolicyError(f"{path}: component {c} has {component.repeated!r:.200} twice")
        weights[c] = weight
        for i, part in enumerate(form.split(behavior[c])):
            _read_player(path, c, i, game, parts[i], part)
    return _named(path, lambda: CorrelatedPolicy(game, weights, behavior))


def _read_player(path: Path, c: int, i: int, game: Game, given: Any, part: Any) -> None:
    """Write one player's probabilities of one component to ``part``."""
    place = f"{path}: component {c}, {player_name(game.player_labels[i])}"
    if not isinstance(given, _Object):
        raise PolicyError(f"{place}: must be an object of infosets and probabilities")
    if given.repeated is not None:
        raise PolicyError(f"{place}: infoset {given.repeated!r:.200} is given twice")
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
        raise PolicyError(f"{place}: the game has no infoset {unknown!r:.200}")


def _from_npz(path: Path, file: IO[bytes], game: Game) -> CorrelatedPolicy:
    try:
        with np.load(file, allow_pickle=False) as archive:
            names = [name for name in _members(game.n_players) if name in archive.files]
            sizes = {name: _stored_size(archive, name) for name in names}
            header = {}
            for key in HEADER:
                if key in names:
                    if sizes[key][0] != ():
                        raise ParseError(str(path), 0, 0, f'"{key}" must be a single value')
                    header[key] = archive[key].item()
            _check_header(path, header, game)
            _check_sizes(path, game, sizes)
            content = {name: archive[name] for name in names}
    except AccordError:
        raise
    except Exception:  # numpy, zipfile and zlib each raise their own kinds
        raise ParseError(str(path), 0, 0, "not a readable .npz policy file, or damaged") from None
    form = sequence_form(game)
    weights = _array(path, content, "weights", "f", 1)
    behavior = np.ones((len(weights), form.n_sequences))
    for i, (plex, part) in enumerate(zip(form.plexes, form.split(behavior), strict=True)):
        place = f"{path}: {player_name(game.player_labels[i])}"
        labels = list(map(str, _array(path, content, f"infosets_{i + 1}", "U", 1)))
        counts = _array(path, content, f"n_actions_{i + 1}", "iu", 1)
        given = _array(path, content, f"probabilities_{i + 1}", "f", 2)
        order = {label: rank for rank, label in enumerate(labels)}
        if len(order) < len(labels):
            raise PolicyError(f"{place}: infoset {_most_common(labels)!r:.200} is given twice")
        if missing := set(plex.infoset_labels) - order.keys():
            raise PolicyError(f"{place}: infoset {min(missing)!r} is missing")
        if unknown := order.keys() - set(plex.infoset_labels):
            raise PolicyError(f"{place}: the game has no infoset {min(unknown)!r:.200}")
        if len(counts) != len(labels):
            raise PolicyError(f"{place}: there must be one number of actions per infoset")
        ranks = np.array([order[label] for label in plex.infoset_labels], dtype=np.int64)
        for x in np.flatnonzero(counts[ranks] != plex.n_actions).tolist():
            raise PolicyError(
                f"{place}, infoset {plex.infoset_labels[x]!r}: must have {plex.n_actions[x]} "
                f"actions; got {counts[ranks[x]]}"
            )
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        for x, rank in enumerate(ranks.tolist()):
            columns = slice(starts[rank], starts[rank + 1])
            part[:, plex.first_seq[x] : plex.first_seq[x + 1]] = given[:, columns]
    return _named(path, lambda: CorrelatedPolicy(game, weights, behavior))


def _members(n_players: int) -> list[str]:
    """The arrays of a policy file. What else is in the archive is not read."""
    parts = ("infosets", "n_actions", "probabilities")
    return [*HEADER, "weights", *(f"{part}_{i + 1}" for i in range(n_players) for part in parts)]


def _stored_size(archive: Any, name: str) -> tuple[tuple[int, ...], int]:
    """The shape of an array in an archive, and its bytes in memory, without unpacking it."""
    with archive.zip.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read: Any = np.lib.format.read_array_header_2_0
        if version == (1, 0):
            read = np.lib.format.read_array_header_1_0
        shape, _, dtype = read(member)
    return shape, math.prod(shape) * dtype.itemsize


def _check_sizes(path: Path, game: Game, sizes: dict[str, tuple[tuple[int, ...], int]]) -> None:
    """Refuse, before unpacking, an archive whose arrays do not belong together or do not fit."""
    rows, _ = sizes.get("weights", ((), 0))
    for i, plex in enumerate(sequence_form(game).plexes):
        shape, _ = sizes.get(f"probabilities_{i + 1}", ((), 0))
        if len(rows) == 1 and len(shape) == 2 and shape != (rows[0], plex.n_sequences - 1):
            raise PolicyError(
                f"{path}: {player_name(game.player_labels[i])}: there must be "
                f"{plex.n_sequences - 1} probabilities in each of {rows[0]} components; got shape "
                f"{shape}"
            )
    required = 2 * sum(size for _, size in sizes.values())  # once as stored, once as a policy
    if required > (available := available_memory()):
        raise BudgetError(
            f"{path} takes {memory(required)} in memory, and {memory(available)} are available",
            required=required,
            available=available,
        )


def _array(path: Path, content: dict[str, Any], name: str, kinds: str, axes: int) -> Any:
    array = content.get(name)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.ndim != axes:
        what = {"f": "floats", "U": "strings", "iu": "integers"}[kinds]
        raise ParseError(str(path), 0, 0, f'"{name}" must be an array of {what} with {axes} axes')
    return array


def _check_header(path: Path, content: dict[str, Any], game: Game) -> None:
    if content.get("format") != FORMAT or content.get("version") != VERSION:
        raise ParseError(
            str(path), 0, 0,
            f'must have "format": "{FORMAT}" and "version": {VERSION}; got '
            f"{content.get('format')!r:.80} and {content.get('version')!r:.80}",
        )  # fmt: skip
    if content.get("players") != game.n_players:
        raise MismatchError(
            f"{path} is for {content.get('players')!r:.80} players; {game.name} has "
            f"{game.n_players}"
        )
    digest = content.get("digest")
    if digest is not None and digest != game.digest:
        raise MismatchError(
            f"{path} was made for the game {content.get('game')!r:.80} with digest "
            f"{str(digest)[:12]}; {game.name!r} has digest {game.digest[:12]}; use the game it was "
            "made for"
        )


def _named(path: Path, make: Callable[[], CorrelatedPolicy]) -> CorrelatedPolicy:
    try:
        return make()
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _most_common(words: list[str]) -> str:
    return Counter(words).most_common(1)[0][0]


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
