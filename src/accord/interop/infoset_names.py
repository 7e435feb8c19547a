"""Names for infosets that have none: what leads to them.

Gambit's files often leave infosets without a name. The moves that all paths to an infoset have in
common are what its player may rely on there, so they make its name: ``after Raise``, or ``High`` if
chance alone has moved; ``start`` if there are none. Where that would name two infosets of a player
alike, all paths do, ``after L or M``, and else the number in the file distinguishes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from accord._arrays import CHANCE

Step = tuple[int, str]
"""Who moved, and the label of the action or outcome."""

START = "start"
MOST_STEPS = 1_000_000
"""Moves on all paths together; larger trees keep the numbers of their infosets."""

MOST_WORDS, MOST_PATHS, MOST_LETTERS = 6, 3, 60
"""Moves in a name, paths in a name, and letters of a name that lists paths."""


def paths_to(
    nodes: Mapping[int, Sequence[int]], parent: Sequence[int], steps: Sequence[Step]
) -> dict[int, list[list[Step]]] | None:
    """The paths from the root to the nodes of each infoset; None if they are too long.

    Args:
        nodes: The nodes of each infoset.
        parent: ``[n_nodes]`` in prefix order, the parent of each node; negative at the root.
        steps: ``[n_nodes]`` the move that leads to each node.
    """
    depth: list[int] = []
    for above in parent:
        depth.append(0 if above < 0 else depth[above] + 1)
    if sum(depth[node] for own in nodes.values() for node in own) > MOST_STEPS:
        return None
    paths: dict[int, list[list[Step]]] = {}
    for x, own in nodes.items():
        paths[x] = []
        for node in own:
            path, at = [], node
            while parent[at] >= 0:
                path.append(steps[at])
                at = parent[at]
            paths[x].append(path[::-1])
    return paths


def names_by_paths(
    paths: Mapping[int, Sequence[Sequence[Step]]], taken: Sequence[str], numbers: Mapping[int, int]
) -> dict[int, str]:
    """A name for each infoset of one player, different from each other and from those ``taken``.

    Args:
        paths: The paths to each infoset.
        taken: The names that other infosets of the player have.
        numbers: The number of each infoset in the file.
    """
    names = {x: _in_words(_common(ways)) for x, ways in paths.items()}
    for last in (False, True):
        count = Counter([*names.values(), *taken])
        for x, name in list(names.items()):
            if count[name] > 1:
                names[x] = f"{name} ({numbers[x]})" if last else _listed(paths[x]) or name
    return names


def _common(paths: Sequence[Sequence[Step]]) -> list[Step]:
    """The moves of the first path that all have, as often as all have them."""
    left = Counter(paths[0])
    for path in paths[1:]:
        left &= Counter(path)
    found = []
    for step in paths[0]:
        if left[step] > 0:
            left[step] -= 1
            found.append(step)
    return found


def _in_words(path: Sequence[Step]) -> str:
    words = [label for _, label in path]
    words = words if len(words) <= MOST_WORDS else ["...", *words[1 - MOST_WORDS :]]
    if not words:
        return START
    return f"{'' if all(who == CHANCE for who, _ in path) else 'after '}{' '.join(words)}"


def _listed(paths: Sequence[Sequence[Step]]) -> str:
    """All paths, if that is short."""
    if len(paths) > MOST_PATHS:
        return ""
    first, *rest = map(_in_words, paths)
    name = " or ".join([first, *(words.removeprefix("after ") for words in rest)])
    return name if len(name) <= MOST_LETTERS else ""
