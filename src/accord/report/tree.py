"""The game tree as a picture, for games small enough to have one.

From left to right: the root, moves as edges, payoffs at the leaves. The nodes of an infoset are
joined by a dashed line. On each edge of a player stands the probability with which an obedient
player at that infoset is told to take it, and wide edges are likely ones; on each edge of chance
stands its probability. Classes, not colours: the page and the file each bring their own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord.equilibrium.inspection import Inspection
from accord.game.tree import Game, total_rewards
from accord.report.words import escape, number, shortened, signed

LARGEST_TREE = 200
"""Nodes."""

ROW = 27
LANE = 6.0
LETTER = 6.3  # width of a letter at the size of the labels
LABEL = 18  # letters of a label that are shown
N_COLOURS = 6

STYLE = """
.accord-tree { background: #fff; font: 11.5px system-ui, sans-serif; }
.accord-tree text { fill: #1b1f24; }
.accord-tree .edge path { fill: none; stroke: #8b949e; }
.accord-tree .never path { stroke-dasharray: 1 4; }
.accord-tree .never text { fill: #656d76; }
.accord-tree .chance circle { fill: #fff; stroke: #656d76; stroke-width: 1.5; }
.accord-tree .joint { fill: none; stroke-width: 1.6; stroke-dasharray: 4 3; opacity: .75; }
.accord-tree .name { font-size: 10.5px; fill: #57606a; }
.accord-tree .payoff { font-variant-numeric: tabular-nums; }
.accord-tree .deviation path { stroke: #b3261e; }
.accord-tree .deviation text { fill: #b3261e; font-weight: 600; }
"""
COLOURS = ("#0072b2", "#c8550a", "#00805d", "#a8447f", "#5b5bd6", "#7a6a00")


def draw_tree(
    seen: Inspection, deviation: set[tuple[int, int, int]], *, standalone: bool
) -> str | None:
    """The tree of the inspected game as SVG; None if it is too large to be read.

    Args:
        seen: The game and what is recommended in it.
        deviation: (player, infoset, action) of the moves to be marked.
        standalone: Whether the picture must bring its own colours.
    """
    game = seen.form.game
    if game.n_nodes > LARGEST_TREE:
        return None
    children: list[list[int]] = [[] for _ in range(game.n_nodes)]
    for node in range(1, game.n_nodes):
        children[int(game.parent[node])].append(node)
    for below in children:
        below.sort(key=lambda node: int(game.action[node]))
    labels = {node: _edge_label(seen, node) for node in range(1, game.n_nodes)}
    groups = _infosets(game)
    place = _layout(game, children, labels, groups)
    ends = np.flatnonzero(game.player == TERMINAL)
    payoffs = dict(zip(ends.tolist(), total_rewards(game, ends), strict=True))
    parts = [_joint(place, key, nodes) for key, nodes in groups.items()]
    parts += [_edge(seen, node, place, labels[node], deviation) for node in labels]
    for node in range(game.n_nodes):
        x, y = place.xs[node], place.ys[node]
        if node in payoffs:
            text = "  ".join(signed(float(value)) for value in payoffs[node])
            parts.append(f'<text class="payoff" x="{x + 6:.1f}" y="{y + 4:.1f}">{text}</text>')
        else:
            parts.append(_node(game, node, x, y))
    style = STYLE + "".join(
        f".accord-tree .p{i} circle {{ fill: {colour}; }} "
        f".accord-tree .joint.p{i} {{ stroke: {colour}; }}\n"
        for i, colour in enumerate(COLOURS)
    )
    return (
        f'<svg class="accord-tree" xmlns="http://www.w3.org/2000/svg" width="{place.width:.0f}" '
        f'height="{place.height:.0f}" viewBox="0 0 {place.width:.0f} {place.height:.0f}" '
        'role="group" '
        f'aria-label="Game tree of {escape(game.name)}">'
        + (f"<style>{style}</style>" if standalone else "")
        + "\n".join(parts)
        + "</svg>"
    )


class _Places(NamedTuple):
    """Where everything stands."""

    xs: list[float]  # [n_nodes]
    ys: list[float]
    trunk: list[float]  # [n_nodes] how far edges go straight before they part
    lane: dict[tuple[int, int], float]  # of each joined infoset: where its dashed line runs down
    width: float
    height: float


def _layout(
    game: Game,
    children: list[list[int]],
    labels: dict[int, tuple[str, str, float]],
    groups: dict[tuple[int, int], list[int]],
) -> _Places:
    """Leaves in rows, nodes in columns, dashed lines in lanes right of their column."""
    depth = [0] * game.n_nodes
    for node in range(1, game.n_nodes):
        depth[node] = depth[int(game.parent[node])] + 1
    ys = _rows(children)
    rank, room = _lanes(groups, depth, ys)
    widest = [0.0] * (max(depth) + 1)
    for node, (text, _, _) in labels.items():
        widest[depth[node]] = max(widest[depth[node]], len(text) * LETTER + 34)
    column = [22.0]
    for d in range(1, len(widest)):
        column.append(column[-1] + LANE * room[d - 1] + widest[d])
    leaf = [not below for below in children]
    xs = [column[d] + (LANE * room[d] if end else 0) for d, end in zip(depth, leaf, strict=True)]
    lane = {
        key: column[max(depth[node] for node in nodes)] + 8 + LANE * rank[key]
        for key, nodes in groups.items()
    }
    return _Places(
        xs,
        ys,
        [LANE * room[d] for d in depth],
        lane,
        max(xs) + 8.5 * LETTER * game.n_players + 12,
        20 + ROW * sum(leaf),
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
            ys[node] = 20 + ROW * row
            row += 1
        stack.extend(reversed(children[node]))
    for node in reversed(order):
        if children[node]:
            ys[node] = (ys[children[node][0]] + ys[children[node][-1]]) / 2
    return ys


def _lanes(
    groups: dict[tuple[int, int], list[int]], depth: list[int], ys: list[float]
) -> tuple[dict[tuple[int, int], int], list[int]]:
    """A lane for each dashed line, none shared where they would overlap; lanes per column."""
    rank: dict[tuple[int, int], int] = {}
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


def _edge_label(seen: Inspection, node: int) -> tuple[str, str, float]:
    """What stands on the edge to ``node``, the whole of it, and its probability."""
    game = seen.form.game
    above, a = int(game.parent[node]), int(game.action[node])
    player, x = int(game.player[above]), int(game.infoset[above])
    if player == CHANCE:
        name = game.chance_labels[x][a]
        share: float = float(game.chance_prob[node])
    else:
        name = game.action_labels[player][x][a]
        told = seen.recommended(player, x)
        share = float("nan") if told is None else float(told[a])
    shown = (
        ""
        if math.isnan(share)
        else f" {number(share, 2) if share > 5e-4 or not share else '<.001'}"
    )
    return f"{shortened(name, LABEL)}{shown}", f"{name}{shown}", share


def _edge(
    seen: Inspection,
    node: int,
    place: _Places,
    label: tuple[str, str, float],
    deviation: set[tuple[int, int, int]],
) -> str:
    game = seen.form.game
    above = int(game.parent[node])
    player, x = int(game.player[above]), int(game.infoset[above])
    text, whole, share = label
    marked = (player, x, int(game.action[node])) in deviation
    never = not share > 0
    x0, y0, x1, y1 = place.xs[above], place.ys[above], place.xs[node], place.ys[node]
    part = x0 + place.trunk[above]
    width = 1.0 if never else 1.0 + 3.0 * share
    classes = "edge" + (" never" if never else "") + (" deviation" if marked else "")
    start = f"M{x0:.1f} {y0:.1f}L{part:.1f} {y0:.1f}"
    return (
        f'<g class="{classes}"><title>{escape(whole)}</title>'
        f'<path d="{start}C{part + 22:.1f} {y0:.1f} {part + 4:.1f} {y1:.1f} '
        f'{part + 26:.1f} {y1:.1f}L{x1:.1f} {y1:.1f}" stroke-width="{width:.2f}"/>'
        f'<text x="{x1 - 8:.1f}" y="{y1 - 5:.1f}" text-anchor="end">{escape(text)}</text></g>'
    )


def _node(game: Game, node: int, x: float, y: float) -> str:
    player = int(game.player[node])
    if player == CHANCE:
        return (
            '<g class="chance"><title>chance</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/></g>'
        )
    label = game.infoset_labels[player][int(game.infoset[node])]
    who = game.player_labels[player]
    return (
        f'<g class="node p{player % N_COLOURS}" tabindex="0" role="button" '
        f'data-player="{player}" data-infoset="{int(game.infoset[node])}" '
        f'aria-label="Inspect {escape(label)} of player {escape(who)}">'
        f"<title>player {escape(who)} at {escape(label)}</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
        f'<text class="name" x="{x + 3:.1f}" y="{y + 17:.1f}" text-anchor="end">'
        f"{escape(shortened(label, 12))}</text></g>"
    )


def _infosets(game: Game) -> dict[tuple[int, int], list[int]]:
    """The nodes of every infoset that has several."""
    groups: dict[tuple[int, int], list[int]] = {}
    for node in range(game.n_nodes):
        if game.player[node] >= 0:
            groups.setdefault((int(game.player[node]), int(game.infoset[node])), []).append(node)
    return {key: nodes for key, nodes in groups.items() if len(nodes) > 1}


def _joint(place: _Places, key: tuple[int, int], nodes: list[int]) -> str:
    nodes = sorted(nodes, key=lambda node: place.ys[node])
    lane = place.lane[key]
    path = ""
    for rank, node in enumerate(nodes):
        x, y = place.xs[node], place.ys[node]
        if rank:
            path += f"L{lane:.1f} {y - 9:.1f}Q{lane:.1f} {y:.1f} {x:.1f} {y:.1f}"
        if rank < len(nodes) - 1:
            path += f"M{x:.1f} {y:.1f}Q{lane:.1f} {y:.1f} {lane:.1f} {y + 9:.1f}"
    return f'<path class="joint p{key[0] % N_COLOURS}" d="{path}"/>'
