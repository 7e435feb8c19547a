"""The game tree as a picture, for games small enough to have one.

From left to right: the root, moves as edges, payoffs at the leaves. The nodes of an infoset are
joined by a dashed line. On each edge of a player stands the probability with which an obedient
player at that infoset is told to take it, and wide edges are likely ones; on each edge of chance
stands its probability. Classes, not colours: the page and the file each bring their own.
"""

from __future__ import annotations

import numpy as np

from accord.game.tree import CHANCE, NO_INFOSET, TERMINAL, Game
from accord.report.inspector import Inspection
from accord.report.words import escape, number, shortened, signed
from accord.treeplex.leaves import total_rewards

LARGEST_TREE = 200
"""Nodes."""

ROW = 27
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
    xs, ys, width, height = _layout(game, children, labels)
    ends = np.flatnonzero(game.player == TERMINAL)
    payoffs = dict(zip(ends.tolist(), total_rewards(game, ends), strict=True))
    parts = [_joint(xs, ys, player, nodes) for (player, _), nodes in _infosets(game).items()]
    parts += [_edge(seen, node, xs, ys, labels[node], deviation) for node in labels]
    for node in range(game.n_nodes):
        if node in payoffs:
            text = "  ".join(signed(float(value)) for value in payoffs[node])
            parts.append(
                f'<text class="payoff" x="{xs[node] + 5:.1f}" y="{ys[node] + 4:.1f}">{text}</text>'
            )
        else:
            parts.append(_node(game, node, xs[node], ys[node]))
    style = STYLE + "".join(
        f".accord-tree .p{i} circle {{ fill: {colour}; }} "
        f".accord-tree .joint.p{i} {{ stroke: {colour}; }}\n"
        for i, colour in enumerate(COLOURS)
    )
    return (
        f'<svg class="accord-tree" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="group" '
        f'aria-label="Game tree of {escape(game.name)}">'
        + (f"<style>{style}</style>" if standalone else "")
        + "\n".join(parts)
        + "</svg>"
    )


def _layout(
    game: Game, children: list[list[int]], labels: dict[int, tuple[str, str, float]]
) -> tuple[list[float], list[float], float, float]:
    """Where each node stands, and the size of the picture."""
    depth = [0] * game.n_nodes
    for node in range(1, game.n_nodes):
        depth[node] = depth[int(game.parent[node])] + 1
    widest = [0.0] * (max(depth) + 1)
    for node, (text, _, _) in labels.items():
        widest[depth[node]] = max(widest[depth[node]], len(text) * LETTER + 34)
    column = np.cumsum(widest) + 16
    ys = [0.0] * game.n_nodes
    row = 0
    order = [0]
    for node in order:  # grows as it is read
        order.extend(children[node])
    stack = [0]
    while stack:
        node = stack.pop()
        if not children[node]:
            ys[node] = 20 + ROW * row
            row += 1
        stack.extend(reversed(children[node]))
    for node in reversed(order):
        if children[node]:
            ys[node] = (ys[children[node][0]] + ys[children[node][-1]]) / 2
    payoff_width = 9 * LETTER * game.n_players + 12
    xs = [float(column[d]) for d in depth]
    return xs, ys, float(column[-1]) + payoff_width, 20 + ROW * row


def _edge_label(seen: Inspection, node: int) -> tuple[str, str, float]:
    """What stands on the edge to ``node``, the whole of it, and its probability."""
    game = seen.form.game
    above, a = int(game.parent[node]), int(game.action[node])
    player, x = int(game.player[above]), int(game.infoset[above])
    if player == CHANCE:
        name = game.chance_labels[x][a] if x != NO_INFOSET else str(a)
        share: float = float(game.chance_prob[node])
    else:
        name = game.action_labels[player][x][a]
        told = seen.recommended(player, x)
        share = float("nan") if told is None else float(told[a])
    shown = "" if share != share else f" {number(share, 2) if share > 5e-4 or not share else '<.001'}"
    return f"{shortened(name, LABEL)}{shown}", f"{name}{shown}", share


def _edge(
    seen: Inspection,
    node: int,
    xs: list[float],
    ys: list[float],
    label: tuple[str, str, float],
    deviation: set[tuple[int, int, int]],
) -> str:
    game = seen.form.game
    above = int(game.parent[node])
    player, x = int(game.player[above]), int(game.infoset[above])
    text, whole, share = label
    marked = (player, x, int(game.action[node])) in deviation
    never = not share > 0
    x0, y0, x1, y1 = xs[above], ys[above], xs[node], ys[node]
    bend = x0 + 0.45 * min(60.0, x1 - x0)
    width = 1.0 if never else 1.0 + 3.0 * share
    classes = "edge" + (" never" if never else "") + (" deviation" if marked else "")
    return (
        f'<g class="{classes}"><title>{escape(whole)}</title>'
        f'<path d="M{x0:.1f} {y0:.1f}C{bend:.1f} {y0:.1f} {x0 + 4:.1f} {y1:.1f} '
        f'{x0 + 28:.1f} {y1:.1f}L{x1:.1f} {y1:.1f}" stroke-width="{width:.2f}"/>'
        f'<text x="{x1 - 8:.1f}" y="{y1 - 5:.1f}" text-anchor="end">{escape(text)}</text></g>'
    )


def _node(game: Game, node: int, x: float, y: float) -> str:
    player = int(game.player[node])
    if player == CHANCE:
        return (
            f'<g class="chance"><title>chance</title><circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/></g>'
        )
    label = game.infoset_labels[player][int(game.infoset[node])]
    who = game.player_labels[player]
    return (
        f'<g class="node p{player % N_COLOURS}" tabindex="0" role="button" '
        f'data-player="{player}" data-infoset="{int(game.infoset[node])}" '
        f'aria-label="Inspect {escape(label)} of player {escape(who)}">'
        f"<title>player {escape(who)} at {escape(label)}</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
        f'<text class="name" x="{x - 2:.1f}" y="{y + 16:.1f}" text-anchor="middle">'
        f"{escape(shortened(label, 12))}</text></g>"
    )


def _infosets(game: Game) -> dict[tuple[int, int], list[int]]:
    """The nodes of every infoset that has several."""
    groups: dict[tuple[int, int], list[int]] = {}
    for node in range(game.n_nodes):
        if game.player[node] >= 0:
            groups.setdefault((int(game.player[node]), int(game.infoset[node])), []).append(node)
    return {key: nodes for key, nodes in groups.items() if len(nodes) > 1}


def _joint(xs: list[float], ys: list[float], player: int, nodes: list[int]) -> str:
    nodes = sorted(nodes, key=lambda node: ys[node])
    path = f"M{xs[nodes[0]]:.1f} {ys[nodes[0]]:.1f}"
    for above, below in zip(nodes, nodes[1:], strict=False):
        x0, y0, x1, y1 = xs[above], ys[above], xs[below], ys[below]
        bulge = min(26.0, 8 + (y1 - y0) / 14)
        path += f"Q{max(x0, x1) + bulge:.1f} {(y0 + y1) / 2:.1f} {x1:.1f} {y1:.1f}"
    return f'<path class="joint p{player % N_COLOURS}" d="{path}"/>'
