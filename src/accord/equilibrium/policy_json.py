"""Policies as JSON (``equilibrium/policy_files.py`` shows the format): readable for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np

from accord._files import reason
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_header import (
    TREES,
    Players,
    header_of,
    most_common,
    trees_of,
)
from accord.equilibrium.validation import split_joint
from accord.errors import ParseError, PolicyError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.treeplex import Treeplex


def to_json(policy: CorrelatedPolicy) -> dict[str, Any]:
    """The content of a file."""
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
            for plex, behavior in zip(policy.plexes, behaviors, strict=True)
        ]
        components.append({"weight": weight, "policy": players})
    trees = trees_of(policy)
    return {
        **header_of(policy), **({} if trees is None else {TREES: trees}), "components": components,
    }  # fmt: skip


class _Object(dict[str, Any]):
    """A JSON object that remembers a repeated key, of which a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.repeated = None if len(self) == len(keys) else most_common(keys)


def read_json(path: Path, file: IO[bytes], game: Game | None) -> CorrelatedPolicy:
    """The policy in an open file, which is one of ``game`` if that is given."""
    try:
        content = json.loads(
            file.read().decode("utf-8"),
            object_pairs_hook=_Object,
            parse_int=lambda digits: int(digits) if len(digits) < 300 else float(digits),
        )
    except OSError as error:
        raise ParseError(str(path), 0, 0, f"cannot be read: {reason(error)}") from None
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
    players = Players.of(path, content, content.get(TREES), game)
    labels, plexes = players.player_labels, players.plexes
    components = content.get("components")
    if not isinstance(components, list) or not components:
        raise ParseError(str(path), 0, 0, '"components" must be a non-empty list')
    weights = np.zeros(len(components))
    behavior = np.ones((len(components), sum(plex.n_sequences for plex in plexes)))
    for c, component in enumerate(components):
        weight = component.get("weight") if isinstance(component, _Object) else None
        parts = component.get("policy") if isinstance(component, _Object) else None
        if not _is_number(weight) or not isinstance(parts, list) or len(parts) != len(plexes):
            raise PolicyError(
                f'{path}: component {c} must have a number "weight" and a list "policy" of '
                f"{len(plexes)} objects, one per player"
            )
        if component.repeated is not None:
            raise PolicyError(f"{path}: component {c} has {component.repeated!r:.200} twice")
        weights[c] = weight
        for i, part in enumerate(split_joint(plexes, behavior[c])):
            place = f"{path}: component {c}, {player_name(labels[i])}"
            _read_player(place, plexes[i], parts[i], part)
    return players.policy(weights, behavior)


def _read_player(place: str, plex: Treeplex, given: Any, part: Any) -> None:
    """Write one player's probabilities of one component to ``part``."""
    if not isinstance(given, _Object):
        raise PolicyError(f"{place}: must be an object of infosets and probabilities")
    if given.repeated is not None:
        raise PolicyError(f"{place}: infoset {given.repeated!r:.200} is given twice")
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
