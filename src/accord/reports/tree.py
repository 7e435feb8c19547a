"""The game tree as a drawing, for games small enough to have one.

From left to right: the root, moves as edges, payoffs at the leaves. The nodes of an infoset are
joined by a dashed line. Each edge of a player carries the probability with which an obedient
player at that infoset is told to take it, and wide edges are likely ones; each edge of chance
carries its probability. Advice that no obedient player hears, and that nobody would follow, is
marked as a threat. A file of its own has a key below the tree, which says whose nodes are in which
color, and whether the device is credible; pages have theirs. This module decides what stands where;
``templates/tree.svg`` and ``templates/tree.css`` decide how it looks.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord._format import exactly, pretty, shortened
from accord.certifying.certificate import Certificate
from accord.game.labels import player_name
from accord.game.tree import Game, total_rewards

LARGEST_TREE = 200
"""Nodes."""

ROW_HEIGHT = 27
LANE = 6.0
LETTER, DIGIT = 6.3, 7.5  # width of a letter and a digit at the size of the labels
LABEL_LETTERS = 18  # letters of a label that are shown
NAME_LETTERS = 12  # letters of the name of an infoset that are shown
NAME_LETTER = 5.8  # width of a letter of such a name
KEY = 20  # height of a line of the key

Infoset = tuple[int, int]
"""Player and infoset."""

Move = tuple[int, int, int]
"""Player, infoset and action."""

CREDIBLE = "credible: it needs no threats"
NOT_CREDIBLE = "not credible: nobody would carry out the threats"


@dataclass(frozen=True)
class Edge:
    """A move."""

    start: int  # node
    end: int  # node
    action: str | None  # its whole label; None for chance
    path: str  # SVG path data
    width: float
    x: float  # where the text ends
    y: float
    text: str
    title: str  # the whole text
    never: bool  # it has probability 0
    marked: bool  # it belongs to the deviation shown
    threat: bool  # it is advice off the path that would be disobeyed


@dataclass(frozen=True)
class Node:
    """A node where chance or a player moves."""

    index: int
    x: float
    y: float
    player: int | None  # None for chance
    infoset: int
    label: str  # of the infoset
    text: str  # the label, shortened
    name: str  # of the player


@dataclass(frozen=True)
class Payoffs:
    """The payoffs at a leaf."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Joint:
    """The dashed line that joins the nodes of an infoset."""

    player: int
    path: str  # SVG path data


@dataclass(frozen=True)
class Entry:
    """An entry of the key: the name of a player, after a dot in their color."""

    x: float
    y: float
    player: int | None  # None for chance
    text: str
    end: float  # where it ends


@dataclass(frozen=True)
class TreeView:
    """Everything in the drawing."""

    game: str
    width: float
    height: float
    key: tuple[Entry, ...]  # below the drawing, in files of its own
    note: str  # below the key: whether the device is credible; empty if nobody judged it
    joints: tuple[Joint, ...]
    edges: tuple[Edge, ...]
    nodes: tuple[Node, ...]
    payoffs: tuple[Payoffs, ...]

    @property
    def file_width(self) -> float:
        """The width with the key."""
        note = 24 + LETTER * _letters(self.note) if self.note else 0.0
        return max(self.width, note, *(entry.end for entry in self.key))

    @property
    def file_height(self) -> float:
        """The height with the key."""
        return self.note_y if self.note else self.key[-1].y + KEY / 2

    @property
    def note_y(self) -> float:
        """Where the note stands."""
        return self.key[-1].y + 1.5 * KEY


def tree_view(
    game: Game,
    recommended: Callable[[int, int], Floats | None] | None = None,
    deviation: Collection[Move] = (),
    judged: Certificate | None = None,
) -> TreeView | None:
    """The drawing of ``game``; None if it is too large to be read.

    Args:
        game: The game.
        recommended: The probability of each recommendation at an infoset, given the player and
            the infoset; None if nobody who obeys gets there. By default nothing is recommended.
        deviation: The moves to be marked.
        judged: The certificate of what is recommended. If it says which advice off the path is a
            threat, that is marked, too.
    """
    if game.n_nodes > LARGEST_TREE:
        return None
    children: list[list[int]] = [[] for _ in range(game.n_nodes)]
    for node in range(1, game.n_nodes):
        children[int(game.parent[node])].append(node)
    for below in children:
        below.sort(key=lambda node: int(game.action[node]))
    credible = None if judged is None else judged.is_credible
    threats = {} if judged is None else judged.threat_moves(game)
    labels = {
        node: _edge_label(game, recommended, threats, node) for node in range(1, game.n_nodes)
    }
    groups = _infosets(game)
    place = _layout(game, children, labels, groups)
    ends = np.flatnonzero(game.player == TERMINAL)
    payoffs = tuple(
        Payoffs(place.xs[node] + 6, place.ys[node] + 4, _end_text(game, int(node), rewards))
        for node, rewards in zip(ends, total_rewards(game, ends).tolist(), strict=True)
    )
    width = max(leaf.x + DIGIT * len(leaf.text) for leaf in payoffs) + 6
    return TreeView(
        game=game.name,
        width=width,
        height=place.height,
        key=_key(game, width, place.height),
        note="" if credible is None else CREDIBLE if credible else NOT_CREDIBLE,
        joints=tuple(Joint(key[0], _joint(place, key, nodes)) for key, nodes in groups.items()),
        edges=tuple(_edge(game, node, place, label, deviation) for node, label in labels.items()),
        nodes=tuple(
            _node(game, node, place.xs[node], place.ys[node])
            for node in range(game.n_nodes)
            if game.player[node] != TERMINAL
        ),
        payoffs=payoffs,
    )


def _end_text(game: Game, node: int, payoffs: Sequence[float]) -> str:
    """The payoffs at a leaf, after its name if it has one: ``Win 2, -2``."""
    name = shortened(game.outcomes.get(node, ""), LABEL_LETTERS)
    return f"{name} {', '.join(map(exactly, payoffs))}".strip()


class _Label(NamedTuple):
    """The text and probability on an edge."""

    text: str
    title: str
    share: float | None  # its probability; NaN where nobody who obeys gets; None without a policy
    threat: bool = False


class _Coordinates(NamedTuple):
    """The coordinates of everything in the drawing."""

    xs: list[float]  # [n_nodes]
    ys: list[float]
    trunk: list[float]  # [n_nodes] how far edges go straight before they part
    lane: dict[Infoset, float]  # of each joined infoset: where its dashed line runs down
    height: float


def _layout(
    game: Game,
    children: list[list[int]],
    labels: dict[int, _Label],
    groups: dict[Infoset, list[int]],
) -> _Coordinates:
    """Leaves in rows, nodes in columns, dashed lines in lanes right of their column."""
    depth = [0] * game.n_nodes
    for node in range(1, game.n_nodes):
        depth[node] = depth[int(game.parent[node])] + 1
    ys = _rows(children)
    rank, room = _lanes(groups, depth, ys)
    widest = [0.0] * (max(depth) + 1)
    for node, label in labels.items():
        room_of = LETTER * _letters(label.text) + 34, NAME_LETTER * _letters(_name(game, node)) + 16
        widest[depth[node]] = max(widest[depth[node]], *room_of)
    column = [max(22.0, NAME_LETTER * _letters(_name(game, 0)) + 16)]
    for d in range(1, len(widest)):
        column.append(column[-1] + LANE * room[d - 1] + widest[d])
    leaf = [not below for below in children]
    xs = [column[d] + (LANE * room[d] if end else 0) for d, end in zip(depth, leaf, strict=True)]
    lane = {
        key: column[max(depth[node] for node in nodes)] + 8 + LANE * rank[key]
        for key, nodes in groups.items()
    }
    return _Coordinates(
        xs,
        ys,
        [LANE * room[d] for d in depth],
        lane,
        20 + ROW_HEIGHT * sum(leaf),
    )


def _rows(children: list[list[int]]) -> list[float]:
    """Leaves one below the other, every other node in the middle of its children."""
    ys = [0.0] * len(children)
    row = 0
    stack = [0]
    order = []
    while stack:
        node = stack.pop()
        order.append(node)
        if not children[node]:
            ys[node] = 20 + ROW_HEIGHT * row
            row += 1
        stack.extend(reversed(children[node]))
    for node in reversed(order):
        if children[node]:
            ys[node] = (ys[children[node][0]] + ys[children[node][-1]]) / 2
    return ys


def _lanes(
    groups: dict[Infoset, list[int]], depth: list[int], ys: list[float]
) -> tuple[dict[Infoset, int], list[int]]:
    """A lane for each dashed line, none shared where they would overlap; lanes per column."""
    rank: dict[Infoset, int] = {}
    room = [0] * (max(depth) + 1)
    taken: dict[tuple[int, int], float] = {}  # (column, lane): down to where
    for key, nodes in sorted(groups.items(), key=lambda item: min(ys[n] for n in item[1])):
        at = max(depth[node] for node in nodes)
        top, bottom = min(ys[n] for n in nodes), max(ys[n] for n in nodes)
        lane = 0
        while taken.get((at, lane), -1.0) >= top:
            lane += 1
        taken[at, lane] = bottom
        rank[key] = lane
        room[at] = max(room[at], lane + 1)
    return rank, room


def _edge_label(
    game: Game,
    recommended: Callable[[int, int], Floats | None] | None,
    threats: Collection[Move],
    node: int,
) -> _Label:
    above, a = int(game.parent[node]), int(game.action[node])
    player, x = int(game.player[above]), int(game.infoset[above])
    if player == CHANCE:
        name, share = game.chance_labels[x][a], float(game.chance_prob[node])
    else:
        name = game.action_labels[player][x][a]
        if recommended is None:
            return _Label(shortened(name, LABEL_LETTERS), name, None)
        told = recommended(player, x)
        share = math.nan if told is None else float(told[a])
    shown = ""
    if not math.isnan(share):
        shown = f" {pretty(share, 2) if share > 5e-4 or not share else '<.001'}"
    if threat := (player, x, a) in threats:
        shown = ", a threat"
    return _Label(f"{shortened(name, LABEL_LETTERS)}{shown}", f"{name}{shown}", share, threat)


def _edge(
    game: Game,
    node: int,
    place: _Coordinates,
    label: _Label,
    deviation: Collection[Move],
) -> Edge:
    above = int(game.parent[node])
    x0, y0, x1, y1 = place.xs[above], place.ys[above], place.xs[node], place.ys[node]
    part = x0 + place.trunk[above]
    never = label.share is not None and not label.share > 0
    move = int(game.player[above]), int(game.infoset[above]), int(game.action[node])
    return Edge(
        start=above,
        end=node,
        action=None if move[0] == CHANCE else game.action_labels[move[0]][move[1]][move[2]],
        path=f"M{x0:.1f} {y0:.1f}L{part:.1f} {y0:.1f}"
        f"C{part + 22:.1f} {y0:.1f} {part + 4:.1f} {y1:.1f} "
        f"{part + 26:.1f} {y1:.1f}L{x1:.1f} {y1:.1f}",
        width=1.5 if label.share is None else 1.0 if never else 1.0 + 3.0 * label.share,
        x=x1 - 8,
        y=y1 - 5,
        text=label.text,
        title=label.title,
        never=never,
        marked=move in deviation,
        threat=label.threat,
    )


def _node(game: Game, node: int, x: float, y: float) -> Node:
    player, infoset = int(game.player[node]), int(game.infoset[node])
    if player == CHANCE:
        return Node(node, x, y, None, infoset, "", "", "chance")
    label = game.infoset_labels[player][infoset]
    name = player_name(game.player_labels[player])
    return Node(node, x, y, player, infoset, label, _name(game, node), name)


def _name(game: Game, node: int) -> str:
    """The text below a node."""
    player = int(game.player[node])
    return (
        shortened(game.infoset_labels[player][game.infoset[node]], NAME_LETTERS)
        if player >= 0
        else ""
    )


def _key(game: Game, width: float, height: float) -> tuple[Entry, ...]:
    """The players, and chance if it moves, in lines as wide as the drawing."""
    who: list[tuple[int | None, str]] = [
        (i, shortened(player_name(label), 2 * LABEL_LETTERS))
        for i, label in enumerate(game.player_labels)
    ]
    if (game.player == CHANCE).any():
        who.append((None, "chance"))
    x, y = 12.0, height + KEY / 2
    entries = []
    for player, text in who:
        size = 14 + LETTER * _letters(text)
        if x + size > width and x > 12.0:
            x, y = 12.0, y + KEY
        entries.append(Entry(x, y, player, text, x + size))
        x += size + 18
    return tuple(entries)


def _letters(text: str) -> int:
    """The width of a text in letters; those of East Asian scripts count twice."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def _infosets(game: Game) -> dict[Infoset, list[int]]:
    """The nodes of every infoset that has several."""
    groups: dict[Infoset, list[int]] = {}
    for node in range(game.n_nodes):
        if game.player[node] >= 0:
            groups.setdefault((int(game.player[node]), int(game.infoset[node])), []).append(node)
    return {key: nodes for key, nodes in groups.items() if len(nodes) > 1}


def _joint(place: _Coordinates, key: Infoset, nodes: list[int]) -> str:
    nodes = sorted(nodes, key=lambda node: place.ys[node])
    lane = place.lane[key]
    path = ""
    for rank, node in enumerate(nodes):
        x, y = place.xs[node], place.ys[node]
        if rank:
            path += f"L{lane:.1f} {y - 9:.1f}Q{lane:.1f} {y:.1f} {x:.1f} {y:.1f}"
        if rank < len(nodes) - 1:
            path += f"M{x:.1f} {y:.1f}Q{lane:.1f} {y:.1f} {lane:.1f} {y + 9:.1f}"
    return path
