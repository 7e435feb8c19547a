"""Policies as JSON (``equilibrium/policy_files.py`` shows the format): readable for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np

from accord.equilibrium.mixture import Mixture
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.policy_header import check_header, header_of, most_common, named, reason
from accord.errors import ParseError, PolicyError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.form import sequence_form


def to_json(policy: CorrelatedPolicy | Mixture) -> dict[str, Any]:
    """The content of a file."""
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
    trees = {"trees": policy.trees()} if isinstance(policy, Mixture) else {}
    return {**header_of(policy), **trees, "components": components}


class _Object(dict[str, Any]):
    """A JSON object that remembers a repeated key, of which a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.repeated = None if len(self) == len(keys) else most_common(keys)


def read_json(path: Path, file: IO[bytes], game: Game) -> CorrelatedPolicy:
    """The policy of ``game`` in an open file."""
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
    check_header(path, content, game)
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
    return named(path, lambda: CorrelatedPolicy(game, weights, behavior))


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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
