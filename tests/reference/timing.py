"""When players can be asked: the definition of ``mediator/timing.py``, play by play."""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

from accord._arrays import TERMINAL
from accord.game.tree import Game

Place = tuple[int, int]  # (player, infoset)


def paths(game: Game) -> list[list[int]]:
    """The nodes of every play, from the root to the end."""
    found = []
    for node in range(game.n_nodes):
        if game.player[node] == TERMINAL:
            path = [node]
            while path[0]:
                path.insert(0, int(game.parent[path[0]]))
            found.append(path)
    return found


def place(game: Game, node: int) -> Place | None:
    player = int(game.player[node])
    return (player, int(game.infoset[node])) if player >= 0 else None


def next_place(game: Game, rest: list[int], player: int) -> Place | None:
    """The first infoset of ``player`` on the rest of a play."""
    return next((place(game, n) for n in rest if game.player[n] == player), None)


def orders(game: Game) -> dict[Place, set[Place]]:
    """The infosets that must be answered before each infoset."""
    plays = paths(game)
    below = defaultdict(list)  # the rests of all plays through each node
    for path in plays:
        for depth, node in enumerate(path):
            below[node].append(path[depth:])
    before: dict[Place, set[Place]] = defaultdict(set)
    for path in plays:
        for depth, node in enumerate(path):
            if (here := place(game, node)) is None:
                continue
            call = depth
            while call and {next_place(game, r, here[0]) for r in below[path[call - 1]]} == {here}:
                call -= 1
            above = {place(game, n) for n in path[:call]}
            before[here] |= {x for x in above if x is not None}
    return dict(before)


def rounds(game: Game) -> dict[Place, int] | None:
    """The earliest round of each infoset; None if there is a cycle."""
    before = orders(game)
    try:
        sequence = list(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    found: dict[Place, int] = {}
    for x in sequence:
        found[x] = max((found[y] + 1 for y in before[x]), default=0)
    return found


def telling(game: Game) -> set[Place]:
    """Infosets before which it depends on the play who is asked, and in which round."""
    when = rounds(game)
    assert when is not None
    seen: dict[Place, set[frozenset[Place]]] = defaultdict(set)
    for path in paths(game):
        places = [x for n in path if (x := place(game, n)) is not None]
        for here in places:
            own = [when[x] for x in places if x[0] == here[0] and when[x] < when[here]]
            since = max(own, default=-1)
            others = {(when[x], x[0]) for x in places if x[0] != here[0]}
            seen[here].add(frozenset(o for o in others if since <= o[0] < when[here]))
    return {x for x, kinds in seen.items() if len(kinds) > 1}
