"""Policies as NumPy archives, for large ones.

Beside the single values of all policy files an archive has ``weights`` and, for each player i from
1, ``infosets_i``, ``n_actions_i`` and ``probabilities_i``, which has one row per component and one
infoset after another. Large policies are packed (``equilibrium/packing.py``): they have ``same_i``,
``support_i``, ``values_i`` and ``off_i`` instead of ``probabilities_i``. ``trees`` is the JSON of
``equilibrium/policy_header.py`` as UTF-8 bytes. An archive may also hold a ``note``, any text as
UTF-8 bytes: the folder of a run keeps the run's result there. Whatever else is in an archive is not
read.

A correlation plan has ``shares`` instead of weights and probabilities: for every relevant tuple, in
the order of their keys (``equilibrium/correlation_plan.py``), its share in its head, or 0 where the
tuple is a sum. Which tuples there are, and in which order they are filled in, follows from the
game.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from accord._arrays import Floats
from accord._format import memory
from accord._memory import available_memory
from accord.equilibrium.archive import LEVEL, Archive
from accord.equilibrium.correlation_plan import CorrelationPlan, PlanSteps
from accord.equilibrium.packing import Packed, pack, unpack
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_header import (
    HEADER,
    TREES,
    Players,
    header_of,
    most_common,
    trees_of,
)
from accord.equilibrium.validation import split_joint
from accord.errors import AccordError, BudgetError, ParseError, PolicyError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import Treeplex

NOTE = "note"
SHARES = "shares"

PLAIN_BYTES = 2**24
"""Probabilities up to this size are not packed, so that other programs read them easily."""

EXPANSION, ALWAYS_READ = 20, 2**20
"""Text is refused if it is longer than this multiple of its compressed size, and than this many
bytes: few bytes must not become many objects. Accord does not compress such text
(:func:`plain_arrays`)."""


def to_arrays(policy: CorrelatedPolicy, note: str | None = None) -> dict[str, Any]:
    """The arrays of a file."""
    arrays: dict[str, Any] = {key: np.array(value) for key, value in header_of(policy).items()}
    for i, plex in enumerate(policy.plexes, 1):
        arrays[f"infosets_{i}"] = np.array(list(plex.infoset_labels), dtype=np.str_)
        arrays[f"n_actions_{i}"] = plex.n_actions
    if policy.plan is not None:
        arrays[SHARES] = policy.plan.share[policy.plan.steps.number]
    else:
        _add_components(policy, arrays)
    if (trees := trees_of(policy)) is not None:
        arrays[TREES] = np.frombuffer(json.dumps(trees).encode(), np.uint8)
    if note is not None:
        arrays[NOTE] = np.frombuffer(note.encode(), np.uint8)
    return arrays


def _add_components(policy: CorrelatedPolicy, arrays: dict[str, Any]) -> None:
    """Add weights and probabilities."""
    packed = policy.behavior.nbytes > PLAIN_BYTES
    arrays["weights"] = policy.weights
    parts = policy.split(policy.behavior)
    for i, (plex, part) in enumerate(zip(policy.plexes, parts, strict=True), 1):
        if packed:
            found = pack(part[:, 1:], plex.n_actions)._asdict()
            arrays |= {f"{name}_{i}": array for name, array in found.items()}
        else:
            arrays[f"probabilities_{i}"] = part[:, 1:]


def plain_arrays(arrays: Mapping[str, Any]) -> list[str]:
    """Names of the texts in a file that are not compressed, because they could not be read then."""
    texts = {name: arrays[name] for name in (TREES, NOTE) if name in arrays}
    return [
        name
        for name, text in texts.items()
        if text.nbytes > max(ALWAYS_READ, EXPANSION // 2 * len(zlib.compress(text.data, LEVEL)))
    ]


def read_npz(path: Path, file: IO[bytes], game: Game | None) -> tuple[CorrelatedPolicy, str | None]:
    """The policy in an open file, which is one of ``game`` if that is given, and the note beside it
    if there is one.
    """
    try:
        with Archive(file) as archive:
            header, trees = _read_header(path, archive), _read_text(path, archive, TREES)
            players = Players.of(path, header, None if trees is None else json.loads(trees), game)
            note = _read_text(path, archive, NOTE)
            if SHARES in archive:
                return _read_plan(path, archive, players), note
            _check_sizes(path, archive, players)
            weights = _array(path, archive, "weights", "f", 1)
            n_sequences = sum(plex.n_sequences for plex in players.plexes)
            behavior = np.ones((len(weights), n_sequences))
            for i, part in enumerate(split_joint(players.plexes, behavior)):
                place = f"{path}: {player_name(players.player_labels[i])}"
                _read_player(path, archive, place, i, players.plexes[i], part[:, 1:])
    except (AccordError, MemoryError):
        raise
    except Exception:  # json, numpy, zipfile and zlib each raise their own kinds
        raise ParseError(str(path), 0, 0, "not a readable .npz policy file, or damaged") from None
    return players.policy(weights, behavior), note


def _read_plan(path: Path, archive: Archive, players: Players) -> CorrelatedPolicy:
    """A correlation plan, which is one of a known game."""
    if players.game is None or players.has_trees:
        raise ParseError(str(path), 0, 0, "a correlation plan must be that of a game")
    steps = PlanSteps.of_game(sequence_form(players.game))
    for i, plex in enumerate(steps.form.plexes):
        place = f"{path}: {player_name(players.player_labels[i])}"
        if archive.size(f"infosets_{i + 1}").nbytes > _most_label_bytes(plex):
            raise PolicyError(f"{place}: the labels take too much room for {plex.n_infosets}")
        _, ranks = _infosets(path, archive, place, i, plex)
        if not np.array_equal(ranks, np.arange(len(ranks))):
            raise PolicyError(f"{place}: the infosets must be in the order of the game")
    size = archive.size(SHARES)
    if size.shape != (steps.n_tuples,):
        raise PolicyError(
            f"{path}: there must be one share for each of {steps.n_tuples:,} tuples; got shape "
            f"{size.shape}"
        )
    share = np.empty(steps.n_tuples)
    share[steps.number] = _array(path, archive, SHARES, "f", 1)
    try:
        return CorrelatedPolicy.of_plan(CorrelationPlan(steps, share))
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def read_note(path: Path, file: IO[bytes]) -> str | None:
    """The note in an open file, or None if there is none."""
    try:
        with Archive(file) as archive:
            return _read_text(path, archive, NOTE)
    except (AccordError, MemoryError):
        raise
    except Exception:  # numpy, zipfile and zlib each raise their own kinds
        raise ParseError(str(path), 0, 0, "not a readable .npz policy file, or damaged") from None


def _read_header(path: Path, archive: Archive) -> dict[str, Any]:
    """The single values in an archive."""
    header = {}
    for key in HEADER:
        if key in archive:
            size = archive.size(key)
            if size.shape != () or size.nbytes > ALWAYS_READ:
                raise ParseError(str(path), 0, 0, f'"{key}" must be a single value')
            header[key] = archive[key].item()
    return header


def _read_text(path: Path, archive: Archive, name: str) -> str | None:
    """A text in an archive, or None if it is not there."""
    if name not in archive:
        return None
    size = archive.size(name)
    if size.nbytes > max(ALWAYS_READ, EXPANSION * size.stored):
        raise ParseError(
            str(path), 0, 0, f'"{name}" has {memory(size.nbytes)} of text in {memory(size.stored)}'
        )
    try:
        return bytes(archive[name]).decode()
    except Exception:  # numpy, zipfile and zlib each raise their own kinds
        raise ParseError(str(path), 0, 0, f'"{name}" must be text as UTF-8 bytes') from None


def _check_sizes(path: Path, archive: Archive, players: Players) -> None:
    """Refuse, before unpacking, an archive whose arrays do not belong together or do not fit."""
    rows = archive.size("weights").shape if "weights" in archive else ()
    required = 0
    for i, plex in enumerate(players.plexes):
        n = plex.n_sequences - 1
        plain = _is_plain(archive, i)
        parts = ("probabilities",) if plain else Packed._fields
        names = [f"{part}_{i + 1}" for part in ("infosets", "n_actions", *parts)]
        sizes = [archive.size(name) for name in names if name in archive]
        most = _most_label_bytes(plex)
        for name, size in zip(names[:2], sizes, strict=False):
            if size.nbytes > most:
                raise PolicyError(
                    f'{path}: "{name}" takes {memory(size.nbytes)}, far more than the '
                    f"{plex.n_infosets} infosets of {player_name(players.player_labels[i])}"
                )
        required += sum(size.nbytes for size in sizes)
        if len(rows) != 1 or len(sizes) != len(names):
            continue  # reading them says what is missing
        required += 8 * rows[0] * n
        shapes = [size.shape for size in sizes[2:]]
        if plain:
            fits = len(shapes[0]) != 2 or shapes[0] == (rows[0], n)
        else:
            fits = _may_be_packed(shapes, rows[0], plex)
        if not fits:
            raise PolicyError(
                f"{path}: {player_name(players.player_labels[i])}: there must be {n} probabilities "
                f"in each of {rows[0]} components; got shape {', '.join(map(str, shapes))}"
            )
    if required > (available := available_memory()):
        raise BudgetError(
            f"{path} takes {memory(required)} in memory, and {memory(available)} are available",
            required=required,
            available=available,
        )


def _most_label_bytes(plex: Treeplex) -> int:
    """The most room that the labels or the numbers of actions of all infosets may take."""
    longest = max(map(len, plex.infoset_labels), default=0)
    return max(ALWAYS_READ, 8 * plex.n_infosets * max(1, longest))


def _may_be_packed(shapes: Sequence[tuple[int, ...]], count: int, plex: Treeplex) -> bool:
    """Whether packed probabilities of ``count`` components may have these shapes."""
    if [len(shape) for shape in shapes] != [1, 2, 2, 2]:
        return False
    (infosets,), (rows, width), (eight, values), (columns, components) = shapes
    n = plex.n_sequences - 1
    exact = (infosets, width, eight, components) == (plex.n_infosets, (count + 7) // 8, 8, count)
    return exact and rows <= n and values <= n * count and columns <= infosets


def _is_plain(archive: Archive, i: int) -> bool:
    """Whether the probabilities of player ``i`` are not packed."""
    return f"{Packed._fields[0]}_{i + 1}" not in archive


def _read_player(
    path: Path, archive: Archive, place: str, i: int, plex: Treeplex, out: Floats
) -> None:
    """Overwrite ``out`` with the probabilities of player ``i``, in the order of ``plex``."""
    counts, ranks = _infosets(path, archive, place, i, plex)
    in_order = np.array_equal(ranks, np.arange(len(ranks)))
    given = out if in_order else np.empty_like(out)
    if _is_plain(archive, i):
        given[:] = _array(path, archive, f"probabilities_{i + 1}", "f", 2)
    else:
        kinds = (("same", "iu", 1), ("support", "u", 2), ("values", "u", 2), ("off", "i", 2))
        parts = [_array(path, archive, f"{name}_{i + 1}", kind, n) for name, kind, n in kinds]
        try:
            unpack(Packed(*parts), counts, given)
        except (ValueError, TypeError) as error:
            raise PolicyError(f"{place}: {error}") from None
    if not in_order:
        first = np.cumsum(counts, dtype=np.int64) - counts
        columns = [np.arange(first[rank], first[rank] + counts[rank]) for rank in ranks]
        out[:] = given[:, np.concatenate(columns)]


def _infosets(path: Path, archive: Archive, place: str, i: int, plex: Treeplex) -> tuple[Any, Any]:
    """The numbers of actions in the file, and the place there of each infoset of ``plex``."""
    labels = list(map(str, _array(path, archive, f"infosets_{i + 1}", "U", 1)))
    counts = _array(path, archive, f"n_actions_{i + 1}", "iu", 1).astype(np.int64)
    order = {label: rank for rank, label in enumerate(labels)}
    if len(order) < len(labels):
        raise PolicyError(f"{place}: infoset {most_common(labels)!r:.200} is given twice")
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
    return counts, ranks


def _array(path: Path, archive: Archive, name: str, kinds: str, axes: int) -> Any:
    size = archive.size(name) if name in archive else None
    if size is None or size.kind not in kinds or len(size.shape) != axes:
        what = {"f": "floats", "U": "strings"}.get(kinds, "integers")
        raise ParseError(str(path), 0, 0, f'"{name}" must be an array of {what} with {axes} axes')
    return archive[name]
