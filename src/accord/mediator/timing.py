"""Rounds in which players can be asked to move, such that the time of asking reveals nothing.

In the tree one node comes after another, even where players move at the same time. But a referee
need not wait for a player's own node: player j can be asked at infoset y as soon as the play is
certain to reach y, whatever the others and chance do next. The *call nodes* of y are where that
becomes certain: the first nodes on each path below which every play passes y before any other
infoset of j. Asked there, players who move simultaneously are asked at once.

Even so, the time at which a player is asked can reveal something that the infoset hides. A *timing*
assigns a round to each infoset, such that on every play through y its player is asked in round(y),
and every decision on which reaching y depends was made in an earlier round:

    round(y) > round(x)   for every infoset x of a decision above a call node of y.

Rounds are the lengths of longest paths in this graph of infosets, and a timing exists if and only
if the graph has no cycle. S. K. Jakobsen, T. B. Sorensen and V. Conitzer, *Timeability of
extensive-form games*, ITCS 2016, call such games exactly timeable. They ask for increasing times
along every path; with call nodes in place of nodes, simultaneous moves may share a round, and more
games have a timing. If there is a cycle, a referee who asks at call nodes asks some player earlier
in one play than in another.

Unless rounds have a fixed length, each lasts until everybody who is asked has answered. Then the
waiting time of a player depends on who else is asked. An infoset y of player j is *telling* if two
plays through y do not ask the same other players in the same rounds, from the round of j's previous
decision up to y: the time that j waits can tell these plays apart.

At one terminal, players are called one after another in front of everybody, so each has a time of
their own within a round. :func:`telling_calls` finds the infosets at which the order of earlier
calls reveals something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from accord._arrays import NO_NODE, TERMINAL, Ints
from accord._format import shortened
from accord._jit import jit
from accord.game.labels import player_name
from accord.game.tree import Game, checked_game

NEVER = -1
"""The player makes no further decision."""

OPEN = -2
"""Whether and where the player decides next depends on moves that are still to come."""

UNKNOWN = -3

Places = tuple[tuple[str, str], ...]
"""Infosets, each as (player, infoset)."""


class TimingWarning(UserWarning):
    """The time at which players are asked can reveal something that they should not know."""


@dataclass(frozen=True, eq=False, repr=False)
class Timing:
    """The rounds in which a game can be played, or why there are none."""

    ahead: Ints  # [n_nodes, n_players] the next infoset if it is certain, else NEVER or OPEN
    rounds: tuple[Ints, ...]  # per player [n_infosets]; all 0 if there is a cycle
    cycle: Places  # infosets that cannot be put in order, each after another
    telling: Places  # infosets at which the waiting time reveals something

    @property
    def exists(self) -> bool:
        """Whether the game can be played in rounds."""
        return not self.cycle

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return max((int(rounds.max(initial=-1)) for rounds in self.rounds), default=-1) + 1

    @property
    def warning(self) -> str | None:
        """A sentence that says what the time of asking can reveal; None if it reveals nothing."""
        if self.cycle:
            return (
                "this game has no timing: whoever has a clock can learn something at "
                f"{listed(self.cycle)}, because each of these infosets comes after another of them"
            )
        if self.telling:
            return (
                f"at {listed(self.telling)}, the waiting time depends on something that the "
                "player should not know; give all rounds the same length"
            )
        return None

    def __repr__(self) -> str:
        what = f"{self.n_rounds} rounds" if self.exists else f"a cycle of {len(self.cycle)}"
        return f"Timing({what}, telling={len(self.telling)})"


_timings: WeakKeyDictionary[Game, Timing] = WeakKeyDictionary()


def timing(game: Game) -> Timing:
    """The rounds in which ``game`` can be played, each as early as possible.

    It is computed once and lives as long as the game.

    Raises:
        ArgumentError: If ``game`` is not a :class:`accord.Game`.
    """
    checked_game(game)
    if (found := _timings.get(game)) is None:
        found = _timings[game] = _find_timing(game)
    return found


def telling_calls(game: Game, people: Sequence[int]) -> Places:
    """Infosets of ``people`` at which the order of earlier calls reveals something.

    In each round the ``people`` who must decide are called one at a time, in the given order. The
    result is empty for a game without a timing, which :attr:`Timing.cycle` describes.
    """
    found = timing(game)
    calls = [len(people) * own for own in found.rounds]
    for n, i in enumerate(people):
        calls[i] += n
    return () if found.cycle else _find_telling(game, calls, people)


def _find_timing(game: Game) -> Timing:
    n_nodes, n_players = game.n_nodes, game.n_players
    ahead = np.full((n_nodes, n_players), UNKNOWN, np.int32)
    _look_ahead(game.player, game.parent, game.infoset, ahead)
    first = np.cumsum([n_nodes, *game.n_infosets])  # after the nodes, the infosets are vertices
    vertex = np.full(n_nodes, NO_NODE, np.int64)  # of the infoset of each decision node
    decides = game.player >= 0
    vertex[decides] = first[game.player[decides]] + game.infoset[decides]
    before, after = _edges(game, ahead, vertex, first)
    order = np.argsort(before, kind="stable")
    start = np.searchsorted(before[order], np.arange(first[-1] + 1))
    last, waits = np.full(first[-1], -1, np.int64), np.bincount(after, minlength=first[-1])
    _sort_rounds(start, after[order], n_nodes, last, waits)
    if waits.any():
        cycle = [v for v in _find_cycle(before, after, waits) if v >= n_nodes]
        least = cycle.index(min(cycle))
        found = tuple(_name(game, first, v) for v in cycle[least:] + cycle[:least])
        return Timing(ahead, tuple(np.zeros(n, np.int32) for n in game.n_infosets), found, ())
    rounds = tuple(np.split(last[n_nodes:].astype(np.int32), first[1:-1] - n_nodes))
    return Timing(ahead, rounds, (), _find_telling(game, rounds, range(game.n_players)))


def _find_telling(game: Game, rounds: Sequence[Ints], people: Sequence[int]) -> Places:
    """The telling infosets of ``people`` if nobody else is asked, by rounds per infoset."""
    when = np.full(game.n_nodes, NO_NODE, np.int32)  # the round of each decision of ``people``
    for i in people:
        own = game.player == i
        when[own] = rounds[i][game.infoset[own]]
    told = tuple(np.zeros(n, np.bool_) for n in game.n_infosets)
    asked = np.zeros((int(when.max()) + 1, game.n_players), np.int8)
    ends = np.flatnonzero(game.player == TERMINAL)
    for i in people:
        _compare_waits(game.player, game.parent, game.infoset, when, ends, i, asked, told[i])
    return tuple(
        (game.player_labels[i], game.infoset_labels[i][x])
        for i in range(game.n_players)
        for x in np.flatnonzero(told[i]).tolist()
    )


def _edges(
    game: Game, ahead: Ints, vertex: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges (before, after) between nodes and infosets.

    A node comes after its parent and after its parent's infoset. An infoset comes after its call
    nodes.
    """
    nodes = np.arange(1, game.n_nodes)
    above = game.parent[1:].astype(np.int64)
    decided = vertex[above] >= 0
    before, after = [above, vertex[above][decided]], [nodes, nodes[decided]]
    for i in range(game.n_players):
        own = ahead[:, i]
        called = own >= 0
        called[1:] &= own[1:] != own[above]
        before.append(np.flatnonzero(called))
        after.append(first[i] + own[called])
    return np.concatenate(before), np.concatenate(after)


def _find_cycle(
    before: NDArray[np.int64], after: NDArray[np.int64], waits: NDArray[np.int64]
) -> list[int]:
    """A cycle among the vertices that could not be sorted, whose ``waits`` are positive."""
    inside = (waits[before] > 0) & (waits[after] > 0)
    one_before = dict(zip(after[inside].tolist(), before[inside].tolist(), strict=True))
    path: list[int] = []
    v = int(np.flatnonzero(waits)[0])
    while v not in path:
        path.append(v)
        v = one_before[v]
    return path[path.index(v) :][::-1]


def _name(game: Game, first: NDArray[np.int64], v: int) -> tuple[str, str]:
    i = int(np.searchsorted(first, v, side="right")) - 1
    return game.player_labels[i], game.infoset_labels[i][v - int(first[i])]


def listed(places: Places, most: int = 3) -> str:
    """The first few of these infosets, in words."""
    texts = [f"{shortened(x, 60)!r} of {player_name(i)}" for i, x in places[:most]]
    more = f" and {len(places) - most:,} more" if len(places) > most else ""
    return ", ".join(texts) + more


@jit
def _look_ahead(player: NDArray[np.int8], parent: Ints, infoset: Ints, ahead: Ints) -> None:
    """Fill ``ahead``, which is UNKNOWN everywhere, children before parents."""
    for node in range(len(parent) - 1, -1, -1):
        if player[node] >= 0:
            ahead[node, player[node]] = infoset[node]
        for i in range(ahead.shape[1]):
            if player[node] == TERMINAL:
                ahead[node, i] = NEVER
            if node == 0:
                continue
            above = parent[node]
            if ahead[above, i] == UNKNOWN:
                ahead[above, i] = ahead[node, i]
            elif ahead[above, i] != ahead[node, i]:
                ahead[above, i] = OPEN


@jit
def _sort_rounds(
    start: NDArray[np.int64],
    after: NDArray[np.int64],
    n_nodes: int,
    last: NDArray[np.int64],
    waits: NDArray[np.int64],
) -> None:
    """Find longest paths, visiting vertices in topological order.

    ``last`` is overwritten: with the round of each infoset, and for each node with the round of the
    last decision above it. ``waits`` has the number of edges into each vertex and is counted down;
    it stays positive on cycles and behind them.
    """
    ready = np.flatnonzero(waits == 0)
    queue = np.empty(len(waits), np.int64)
    queue[: len(ready)] = ready
    head, tail = 0, len(ready)
    while head < tail:
        v = queue[head]
        head += 1
        for e in range(start[v], start[v + 1]):
            w = after[e]
            last[w] = max(last[w], last[v] + (1 if w >= n_nodes else 0))
            waits[w] -= 1
            if waits[w] == 0:
                queue[tail] = w
                tail += 1


@jit
def _compare_waits(
    player: NDArray[np.int8],
    parent: Ints,
    infoset: Ints,
    when: Ints,
    ends: NDArray[np.int64],
    i: int,
    asked: NDArray[np.int8],
    told: NDArray[np.bool_],
) -> None:
    """Mark in ``told`` the infosets of player i that are telling.

    Each play through x is compared with the first play through x. ``asked``, by round and player,
    gets plus 1 for every decision of another player before x in the one play and minus 1 for every
    such decision in the other. If the two do not cancel, x is telling. ``asked`` is 0 before and
    after.
    """
    model = np.full(len(told), NO_NODE, np.int64)  # the end of the first play through each infoset
    for end in ends:
        node = end
        while node != NO_NODE:
            if player[node] == i and not told[infoset[node]]:
                x = infoset[node]
                if model[x] == NO_NODE:
                    model[x] = end
                since = parent[node]
                while since != NO_NODE and player[since] != i:
                    since = parent[since]
                start = 0 if since == NO_NODE else when[since]
                _count_asked(player, parent, when, end, i, start, when[node], 1, asked)
                _count_asked(player, parent, when, model[x], i, start, when[node], -1, asked)
                for r in range(start, when[node]):
                    for j in range(asked.shape[1]):
                        if asked[r, j] != 0:
                            told[x] = True
                            asked[r, j] = 0
            node = parent[node]


@jit
def _count_asked(
    player: NDArray[np.int8],
    parent: Ints,
    when: Ints,
    end: int,
    i: int,
    start: int,
    stop: int,
    step: int,
    asked: NDArray[np.int8],
) -> None:
    """Add ``step`` to ``asked`` for all decisions of others than i in rounds start to stop - 1."""
    node = end
    while node != NO_NODE:
        if player[node] != i and start <= when[node] < stop:
            asked[when[node], player[node]] += step
        node = parent[node]
