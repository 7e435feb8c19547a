"""One player's infosets: checked, and numbered layer by layer.

A player has *perfect recall* if all nodes of an infoset follow the same own moves. So an infoset
has one previous infoset of the player and one action there, which is all that is stored about its
past. If it fails, the error names the two histories that clash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import NO_INFOSET, NO_NODE, Ints
from accord._jit import jit
from accord.errors import GameError, ImperfectRecallError
from accord.game.labels import NumberedActions, NumberedLabels


class Nodes(NamedTuple):
    """The arrays of all nodes that infosets depend on."""

    parent: Ints
    action: Ints
    infoset: Ints
    n_children: Ints


class Infosets:
    """One player's infosets: checked, ranked layer by layer, with the player's move before each."""

    def __init__(
        self,
        player: str,
        nodes: Ints,
        previous: Ints,
        tree: Nodes,
        texts: tuple[Sequence[str] | None, Sequence[tuple[str, ...]] | None],
    ) -> None:
        """Check and rank the infosets.

        Args:
            player: The player's label.
            nodes: The player's decision nodes.
            previous: For each of them, the node that the player's previous decision led to.
            tree: All nodes.
            texts: The labels of the infosets and of their actions.
        """
        x = tree.infoset[nodes]
        size = _checked_size(x, player)
        first = np.empty(size, np.int32)  # the first node of each infoset
        first[x[::-1]] = nodes[::-1]
        labels = _checked_labels(texts[0], size, player)
        self.n_actions: Ints = tree.n_children[first]
        if (bad := np.flatnonzero(tree.n_children[nodes] != self.n_actions[x])).size:
            node = int(nodes[bad[0]])
            raise GameError(
                "all nodes of an infoset must have the same actions; at infoset "
                f"{labels[int(x[bad[0]])]!r} of player {player} one node has "
                f"{self.n_actions[x[bad[0]]]} and another has {tree.n_children[node]}"
            )
        actions = _checked_actions(texts[1], self.n_actions, labels, player)

        previous_x = np.where(previous >= 0, tree.infoset[tree.parent[previous]], NO_INFOSET)
        previous_a = np.where(previous >= 0, tree.action[previous], 0)
        position = np.searchsorted(nodes, first)
        self.parent_infoset = previous_x[position].astype(np.int32)
        self.parent_action = previous_a[position].astype(np.int32)
        forgets = (previous_x != self.parent_infoset[x]) | (previous_a != self.parent_action[x])
        if forgets.any():
            at = int(forgets.argmax())
            one, other = (
                _own_history(place, previous, nodes, tree, (labels, actions))
                for place in (int(position[x[at]]), at)
            )
            raise ImperfectRecallError(player, labels[int(x[at])], (one, other))

        order = _layer_order(first, self.parent_infoset, self.parent_action)
        self.rank = np.empty(size, np.int32)
        self.rank[order] = np.arange(size, dtype=np.int32)
        self.n_actions = self.n_actions[order]
        above = self.parent_infoset[order]
        self.parent_infoset = np.where(above >= 0, self.rank[above], NO_INFOSET).astype(np.int32)
        self.parent_action = self.parent_action[order]
        self.labels: Sequence[str] = (
            NumberedLabels(labels.numbers[order])
            if isinstance(labels, NumberedLabels)
            else tuple(labels[o] for o in order)
        )
        self.actions: Sequence[tuple[str, ...]] = (
            NumberedActions(self.n_actions)
            if isinstance(actions, NumberedActions)
            else tuple(actions[o] for o in order)
        )
        for array in (self.n_actions, self.parent_infoset, self.parent_action):
            array.flags.writeable = False


def own_moves(player: NDArray[np.int8], parent: Ints, n_players: int) -> Ints:
    """``[n_nodes, n_players]`` the last node on the path to a node that a player's move led to.

    ``NO_NODE`` where the player has not moved yet. The parent of that last node is the player's
    previous decision node, and its ``action`` is the player's action there.
    """
    last = np.full((len(player), n_players), NO_NODE, np.int32)
    _find_own_moves(player, parent, last)
    return last


def _checked_size(x: Ints, player: str) -> int:
    """The number of infosets, if their numbers ``x`` are 0, 1, ... without gaps."""
    if not len(x):
        return 0
    size = int(x.max()) + 1
    if size > len(x) or not np.bincount(x, minlength=size).all():
        used = np.unique(x)
        gap = int((used != np.arange(len(used))).argmax())
        raise GameError(
            f"the infosets of player {player} must be numbered 0..{size - 1} without gaps; no "
            f"node is in infoset {gap}"
        )
    return size


def _checked_labels(labels: Sequence[str] | None, size: int, player: str) -> Sequence[str]:
    if labels is None:
        return NumberedLabels(np.arange(size))
    if isinstance(labels, NumberedLabels) and labels.are_permutation(size):
        return labels
    texts = tuple(map(str, labels))
    if len(texts) != size:
        raise GameError(f"player {player} has {size} infosets but {len(texts)} infoset labels")
    if len(set(texts)) < size:
        twice, _ = Counter(texts).most_common(1)[0]
        raise GameError(
            f"infoset labels must be unique for each player; player {player} has two infosets "
            f"called {twice!r}"
        )
    return texts


def _checked_actions(
    actions: Sequence[tuple[str, ...]] | None,
    n_actions: Ints,
    labels: Sequence[str],
    player: str,
) -> Sequence[tuple[str, ...]]:
    if actions is None:
        return NumberedActions(n_actions)
    if isinstance(actions, NumberedActions) and np.array_equal(actions.numbers, n_actions):
        return actions
    if len(actions) != len(n_actions):
        raise GameError(
            f"player {player} has {len(n_actions)} infosets but action labels for {len(actions)}"
        )
    known: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal rows are one object
    rows = []
    for x, given in enumerate(actions):
        row = tuple(map(str, given))
        row = known.setdefault(row, row)
        if len(row) != n_actions[x] or len(set(row)) < len(row):
            raise GameError(
                f"infoset {labels[x]!r} of player {player} must have {n_actions[x]} distinct "
                f"action labels; got {row}"
            )
        rows.append(row)
    return tuple(rows)


def _own_history(
    at: int,
    previous: Ints,
    nodes: Ints,
    tree: Nodes,
    texts: tuple[Sequence[str], Sequence[tuple[str, ...]]],
) -> tuple[tuple[str, str], ...]:
    """The labels of the player's infosets and actions on the path to node ``nodes[at]``."""
    labels, actions = texts
    moves: list[tuple[str, str]] = []
    while (after := int(previous[at])) != NO_NODE:
        node = int(tree.parent[after])
        x = int(tree.infoset[node])
        moves.append((labels[x], actions[x][int(tree.action[after])]))
        at = int(np.searchsorted(nodes, node))
    return tuple(reversed(moves))


def _layer_order(first: Ints, parent_infoset: Ints, parent_action: Ints) -> NDArray[np.int64]:
    """The infosets sorted by layer, then by parent infoset and action, then by first node."""
    depth = np.zeros(len(first), np.int32)
    by_first = np.argsort(first, kind="stable")
    _find_depths(by_first, parent_infoset, depth)
    rank = np.full(len(first) + 1, -1, np.int64)  # the last entry stands for NO_INFOSET
    layers = by_first[np.argsort(depth[by_first], kind="stable")]
    start = 0
    for end in np.cumsum(np.bincount(depth)).tolist():
        layer = layers[start:end]
        layer = layer[np.lexsort((parent_action[layer], rank[parent_infoset[layer]]))]
        rank[layer] = np.arange(start, end)
        layers[start:end] = layer
        start = end
    return layers


@jit
def _find_own_moves(player: NDArray[np.int8], parent: Ints, last: Ints) -> None:
    """Overwrite ``last``; see :func:`own_moves`."""
    for node in range(1, len(player)):
        above = parent[node]
        for i in range(last.shape[1]):
            last[node, i] = last[above, i]
        if player[above] >= 0:
            last[node, player[above]] = node


@jit
def _find_depths(order: NDArray[np.int64], parent_infoset: Ints, depth: Ints) -> None:
    """Count the player's decisions before each infoset; ``depth`` must be zeros."""
    for x in order:
        if parent_infoset[x] >= 0:
            depth[x] = depth[parent_infoset[x]] + 1
