"""Policies of environments as files, which have the players' treeplexes in them.

``trees`` is a list in JSON, and the same as UTF-8 bytes in an archive: an object per player with
the names of the player, the infosets and the actions, and ``parent_seq``, for each infoset the
player's last sequence before it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np

from accord._arrays import NO_INFOSET
from accord.equilibrium.archive import Archive
from accord.equilibrium.mixture import Mixture
from accord.equilibrium.policy import TOLERANCE
from accord.equilibrium.policy_header import PACKED, VERSION, check_format
from accord.equilibrium.policy_npz import (
    NOTE,
    TREES,
    check_sizes,
    read_header,
    read_player,
    read_text,
)
from accord.errors import AccordError, ArgumentError, ParseError, PolicyError
from accord.treeplex.treeplex import Treeplex


def read_mixture(path: Path, file: IO[bytes]) -> tuple[Mixture, str | None]:
    """The policy of an environment in an open file, and the note beside it if there is one."""
    try:
        mixture, note = (_from_json if path.suffix == ".json" else _from_npz)(path, file)
    except (AccordError, MemoryError):
        raise
    except Exception:  # json, numpy, zipfile and zlib each raise their own kinds
        raise ParseError(str(path), 0, 0, "not a readable policy file, or damaged") from None
    if mixture is None:
        raise ArgumentError(
            f"{path} is the policy of a game, without the treeplexes of an environment; give the "
            "game too: load_policy(path, game)"
        )
    return _checked(path, mixture), note


def _from_json(path: Path, file: IO[bytes]) -> tuple[Mixture | None, None]:
    content = json.loads(file.read().decode("utf-8"))
    check_format(path, content, (VERSION,))
    if (trees := content.get(TREES)) is None:
        return None, None
    plexes, parts = tuple(map(_plex, trees)), content["components"]
    weights = np.array([part["weight"] for part in parts], np.float64)
    rows = [
        np.array([
            [1.0, *(p for label in plex.infoset_labels for p in part["policy"][i][label])]
            for part in parts
        ], np.float64)
        for i, plex in enumerate(plexes)
    ]  # fmt: skip
    if any(len(row[0]) != plex.n_sequences for row, plex in zip(rows, plexes, strict=True)):
        raise ValueError("wrong number of probabilities")
    mixture = Mixture(str(content["game"]), _players(trees), plexes, weights, np.hstack(rows))
    return mixture, None


def _from_npz(path: Path, file: IO[bytes]) -> tuple[Mixture | None, str | None]:
    with Archive(file) as archive:
        header = read_header(path, archive)
        check_format(path, header, (VERSION, PACKED))
        if (text := read_text(path, archive, TREES)) is None:
            return None, None
        trees = json.loads(text)
        players, plexes = _players(trees), tuple(map(_plex, trees))
        check_sizes(path, archive, header["version"], players, plexes)
        weights = np.asarray(archive["weights"], np.float64)
        behavior = np.ones((len(weights), sum(plex.n_sequences for plex in plexes)))
        first = 0
        for i, plex in enumerate(plexes):
            end = first + plex.n_sequences
            order = np.arange(plex.n_infosets)
            read_player(
                path, archive, str(path), i, plex.n_actions, order, behavior[:, first + 1 : end]
            )
            first = end
        note = read_text(path, archive, NOTE)
        return Mixture(str(header["game"]), players, plexes, weights, behavior), note


def _players(trees: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(str(tree["player"]) for tree in trees)


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


def _checked(path: Path, mixture: Mixture) -> Mixture:
    """The mixture, if its weights and probabilities are valid."""
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
