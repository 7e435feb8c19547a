"""Correlated policies as files.

JSON, readable for people and other programs::

    {"format": "accord-policy", "version": 1, "game": "...", "digest": "...", "players": 2,
     "components": [{"weight": 0.25, "policy": [{"<infoset label>": [p, ...], ...}, {...}]}, ...]}

with one object per player and probabilities in the game's action order. ``digest`` is optional; if
present it must be the game's. Large policies are better written as ``.npz``, with the same content
as NumPy arrays. ``equilibrium/policy_json.py`` and ``equilibrium/policy_npz.py`` read and write
them.

A policy whose game is not known has no digest. Its file has the players' treeplexes instead, so
that it can be read without a game (``equilibrium/policy_header.py``).
"""

from __future__ import annotations

import json
import os
import reprlib
from pathlib import Path
from typing import Any

from accord._files import opened, write_whole
from accord.equilibrium.archive import write_arrays
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_json import read_json, to_json
from accord.equilibrium.policy_npz import plain_arrays, read_note, read_npz, to_arrays
from accord.errors import ArgumentError
from accord.game.tree import Game, checked_game


def save_policy(policy: CorrelatedPolicy, path: str | os.PathLike[str]) -> None:
    """Write ``policy`` to a ``.json`` or ``.npz`` file, completely or not at all.

    Raises:
        ArgumentError: If the name does not end in ``.json`` or ``.npz``, the file cannot be
            written, or ``policy`` is not a policy.
    """
    target = _policy_path(path)
    if not isinstance(policy, CorrelatedPolicy):
        raise ArgumentError(
            f"policy must be an accord.CorrelatedPolicy; got {reprlib.repr(policy)}"
        )
    if target.suffix == ".json" and policy.plan is not None:
        raise ArgumentError(
            f"{target}: a correlation plan is saved as .npz; give the file that ending, or save a "
            "sample of its joint plans: policy.sampled(1000)"
        )
    if target.suffix == ".json":
        write_whole(target, json.dumps(to_json(policy)).encode())
    else:
        _write_npz(target, to_arrays(policy))


def save_policy_with_note(policy: CorrelatedPolicy, path: Path, note: str) -> None:
    """Write ``policy`` and ``note`` to one ``.npz`` file, completely or not at all."""
    _write_npz(path, to_arrays(policy, note))


def _write_npz(path: Path, arrays: dict[str, Any]) -> None:
    write_whole(path, lambda file: write_arrays(file, arrays, plain_arrays(arrays)))


def load_policy(path: str | os.PathLike[str], game: Game | None = None) -> CorrelatedPolicy:
    """Read a policy from a ``.json`` or ``.npz`` file, or from the folder of a run.

    Args:
        path: The file or folder.
        game: The game of the policy. A policy that was learned in an environment can be read
            without it. With it, infosets that the policy does not know get a uniform choice, as in
            :meth:`CorrelatedPolicy.in_game`.

    Raises:
        ArgumentError: If the name does not end in ``.json`` or ``.npz``, ``game`` is not a game, or
            the file cannot be read without its game.
        ParseError: If the file cannot be read or has another format.
        MismatchError: If the file was made for another game.
        PolicyError: If the content is not a policy of this game; the message names the place.
        BudgetError: If it does not fit into memory.
    """
    inside = Path(path) / "policy.npz" if isinstance(path, str | os.PathLike) else None
    source = inside if inside is not None and inside.is_file() else _policy_path(path)
    if game is not None:
        checked_game(game)
    with opened(source) as file:
        if source.suffix == ".json":
            return read_json(source, file, game)
        return read_npz(source, file, game)[0]


def load_policy_with_note(
    path: Path, game: Game | None = None
) -> tuple[CorrelatedPolicy, str | None]:
    """Read a policy from a ``.npz`` file, and the note beside it if there is one."""
    with opened(path) as file:
        return read_npz(path, file, game)


def load_note(path: Path) -> str | None:
    """The note beside the policy in a ``.npz`` file, without the policy."""
    with opened(path) as file:
        return read_note(path, file)


def _policy_path(path: str | os.PathLike[str]) -> Path:
    """``path``, checked to be the name of a policy file."""
    if isinstance(path, (str, os.PathLike)) and Path(path).suffix in (".json", ".npz"):
        return Path(path)
    found = repr(str(path)) if isinstance(path, os.PathLike) else reprlib.repr(path)
    raise ArgumentError(f"a policy file must end in .json or .npz; got {found}")
