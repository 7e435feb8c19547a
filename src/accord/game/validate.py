"""What must hold of a game, checked always, and the canonical numbering of infosets.

Array programs come first: every check is one pass over flat arrays. Only when one fails is the
offending node looked up and described in labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accord._jit import jit
from accord.errors import GameError, ImperfectRecallError
from accord.game.labels import NumberedActions, NumberedLabels
from accord.game.tree import CHANCE, NO_INFOSET, NO_NODE, TERMINAL, Floats, Game, Ints

CHANCE_TOLERANCE = 1e-9
"""How far the probabilities of one chance node may be from one before the game is refused."""

MAX_NODES = 2**31 - 2


def validated(
    cls: type[Game],
    *,
    n_players: int,
    player: ArrayLike,
    parent: ArrayLike,
    action: ArrayLike,
    infoset: ArrayLike,
    chance_prob: ArrayLike,
    reward_node: ArrayLike,
    reward: ArrayLike,
    name: str,
    player_labels: Sequence[str] | None,
    infoset_labels: Sequence[Sequence[str] | None] | None,
    action_labels: Sequence[Sequence[tuple[str, ...]] | None] | None,
    chance_labels: Sequence[tuple[str, ...]] | None,
) -> Game:
    """Check everything, renumber infosets layer by layer, and return the game."""
    if not 1 <= n_players <= 127:
        raise GameError(f"a game must have 1 to 127 players; got {n_players}")
    players = tuple(player_labels or map(str, range(1, n_players + 1)))
    if len(players) != n_players or len(set(players)) != n_players:
        raise GameError(f"player_labels must be {n_players} distinct names; got {players}")

    who = np.ascontiguousarray(player, dtype=np.int8)
    above = _as_ints("parent", parent, len(who))
    move = _as_ints("action", action, len(who)).copy()
    x_of = _as_ints("infoset", infoset, len(who)).copy()
    prob = _as_floats("chance_prob", chance_prob, (len(who),)).copy()
    _check_tree(who, above, n_players)
    move[0] = 0
    n_children, bad = _count_children(above, move)
    if bad != NO_NODE:
        raise GameError(
            f"the actions of one node must be numbered 0..n-1, each once; node {above[bad]} has "
            f"{n_children[above[bad]]} children, and action {move[bad]} at node {bad} is out of "
            "range or taken twice"
        )
    _check_moves(who, n_children)
    _check_chance(who, above, prob, n_children)
    rewards, reward_nodes = _sum_rewards(reward_node, reward, len(who), n_players)

    decides = who >= 0
    if not decides.any():
        raise GameError("a game must have at least one decision; every node is chance or terminal")
    x_of[who == TERMINAL] = NO_INFOSET
    chance_rows = tuple(tuple(row) for row in chance_labels or ())
    _check_chance_labels(who, x_of, n_children, chance_rows)

    last = own_moves(who, above, n_players)
    facts = []
    for i in range(n_players):
        nodes = np.flatnonzero(who == i).astype(np.int32)
        sets = _Infosets(
            i, players, nodes, x_of, n_children, above, move, last,
            (infoset_labels or [None] * n_players)[i],
            (action_labels or [None] * n_players)[i],
        )  # fmt: skip
        x_of[nodes] = sets.rank[x_of[nodes]]
        facts.append(sets)

    for array in (who, above, move, x_of, prob, reward_nodes, rewards):
        array.flags.writeable = False
    return cls(
        name=name,
        player_labels=players,
        player=who,
        parent=above,
        action=move,
        infoset=x_of,
        chance_prob=prob,
        reward_node=reward_nodes,
        reward=rewards,
        n_actions=tuple(f.n_actions for f in facts),
        parent_infoset=tuple(f.parent_infoset for f in facts),
        parent_action=tuple(f.parent_action for f in facts),
        infoset_labels=tuple(f.labels for f in facts),
        action_labels=tuple(f.actions for f in facts),
        chance_labels=chance_rows,
    )


class _Infosets:
    """One player's infosets: checked, ranked layer by layer, with her previous move at each."""

    def __init__(
        self,
        i: int,
        players: tuple[str, ...],
        nodes: Ints,
        infoset: Ints,
        n_children: Ints,
        parent: Ints,
        action: Ints,
        last: Ints,
        labels: Sequence[str] | None,
        actions: Sequence[tuple[str, ...]] | None,
    ) -> None:
        x = infoset[nodes]
        size = int(x.max()) + 1 if len(x) else 0
        first = np.full(size, NO_NODE, np.int32)  # the first node of each infoset
        if len(x):
            if x.min() < 0:
                raise GameError(
                    f"every decision node must be in an infoset numbered 0 or more; node "
                    f"{nodes[int(x.argmin())]} of player {players[i]} is in {x.min()}"
                )
            first[x[::-1]] = nodes[::-1]
            if (holes := np.flatnonzero(first == NO_NODE)).size:
                raise GameError(
                    f"the infosets of player {players[i]} must be numbered 0..{size - 1} without "
                    f"holes; no node is in {holes[0]}"
                )
        labels = NumberedLabels(np.arange(size)) if labels is None else tuple(map(str, labels))
        if len(labels) != size:
            raise GameError(
                f"player {players[i]} has {size} infosets but {len(labels)} infoset labels"
            )
        if isinstance(labels, tuple) and len(set(labels)) < size:
            seen: set[str] = set()
            twice = next(label for label in labels if label in seen or seen.add(label))
            raise GameError(
                f"infoset labels must be unique for each player; player {players[i]} has two "
                f"infosets called {twice!r}"
            )

        self.n_actions: Ints = n_children[first]
        if (bad := np.flatnonzero(n_children[nodes] != self.n_actions[x])).size:
            node = int(nodes[bad[0]])
            label = labels[int(infoset[node])]
            raise GameError(
                f"all nodes of an infoset must have the same actions; at infoset {label!r} of "
                f"player {players[i]} one node has {self.n_actions[infoset[node]]} and another "
                f"has {n_children[node]}"
            )
        if actions is None:
            actions = NumberedActions(self.n_actions)
        else:
            actions = _checked_actions(actions, self.n_actions, labels, players[i])

        previous = last[nodes, i]  # the node after her previous decision, or NO_NODE
        previous_x = np.where(previous >= 0, infoset[parent[previous]], NO_INFOSET)
        previous_a = np.where(previous >= 0, action[previous], 0)
        position = np.searchsorted(nodes, first)
        self.parent_infoset = previous_x[position].astype(np.int32)
        self.parent_action = previous_a[position].astype(np.int32)
        forgets = (previous_x != self.parent_infoset[x]) | (previous_a != self.parent_action[x])
        if forgets.any():
            node = int(nodes[int(forgets.argmax())])
            own = [
                _own_history(at, i, infoset, parent, action, last, labels, actions)
                for at in (int(first[infoset[node]]), node)
            ]
            raise ImperfectRecallError(players[i], labels[int(infoset[node])], (own[0], own[1]))

        order = _layer_order(first, self.parent_infoset, self.parent_action)
        self.rank = np.empty(size, np.int32)
        self.rank[order] = np.arange(size, dtype=np.int32)
        self.n_actions = self.n_actions[order]
        above = self.parent_infoset[order]
        self.parent_infoset = np.where(above >= 0, self.rank[above], NO_INFOSET).astype(np.int32)
        self.parent_action = self.parent_action[order]
        self.labels: Sequence[str] = (
            NumberedLabels(order)
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
    """For each node and player, the last node on the way that one of her moves led to.

    ``NO_NODE`` where she has not moved. Her infoset there is that of the node's parent, and the
    node's ``action`` is what she did. Returns ``[n_nodes, n_players]``.
    """
    last = np.full((len(player), n_players), NO_NODE, np.int32)
    _find_own_moves(player, parent, last)
    return last


def _as_ints(name: str, values: ArrayLike, size: int) -> Ints:
    array = np.asarray(values)
    if array.shape != (size,) or array.dtype.kind not in "iu":
        raise GameError(
            f"{name} must be {size} integers, one per node; got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def _as_floats(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values)
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise GameError(
            f"{name} must be numbers of shape {shape}; got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_tree(player: NDArray[np.int8], parent: Ints, n_players: int) -> None:
    if not 1 <= len(player) <= MAX_NODES:
        raise GameError(f"a game must have 1 to {MAX_NODES} nodes; got {len(player)}")
    if parent[0] != NO_NODE:
        raise GameError(f"node 0 must be the root, with parent {NO_NODE}; got {parent[0]}")
    later = np.arange(1, len(parent), dtype=np.int32)
    if (bad := np.flatnonzero((parent[1:] < 0) | (parent[1:] >= later))).size:
        node = int(bad[0]) + 1
        raise GameError(
            "a game must be one tree with every parent before its children; "
            f"node {node} has parent {parent[node]}"
        )
    if (bad := np.flatnonzero((player < TERMINAL) | (player >= n_players))).size:
        raise GameError(
            f"a node must belong to a player 0..{n_players - 1}, CHANCE ({CHANCE}) or TERMINAL "
            f"({TERMINAL}); node {bad[0]} has {player[bad[0]]}"
        )


def _check_moves(player: NDArray[np.int8], n_children: Ints) -> None:
    if (bad := np.flatnonzero((player == TERMINAL) & (n_children > 0))).size:
        raise GameError(f"a terminal must have no children; node {bad[0]} has some")
    if (bad := np.flatnonzero((player != TERMINAL) & (n_children == 0))).size:
        kind = "chance" if player[bad[0]] == CHANCE else "decision"
        raise GameError(f"a {kind} node must have at least one child; node {bad[0]} has none")


def _check_chance(player: NDArray[np.int8], parent: Ints, prob: Floats, n_children: Ints) -> None:
    below = np.zeros(len(player), bool)
    below[1:] = player[parent[1:]] == CHANCE
    prob[~below] = 1.0
    if (bad := np.flatnonzero(below & ~(np.isfinite(prob) & (prob > 0)))).size:
        raise GameError(
            "a chance outcome must have positive probability; the one from node "
            f"{parent[bad[0]]} to node {bad[0]} has {prob[bad[0]]}; leave out what cannot happen"
        )
    total = np.bincount(parent[below], weights=prob[below], minlength=len(player))
    off = np.abs(total - 1.0) > CHANCE_TOLERANCE
    if (bad := np.flatnonzero(off & (player == CHANCE))).size:
        raise GameError(
            "the probabilities of a chance node must sum to one; the "
            f"{n_children[bad[0]]} outcomes of node {bad[0]} sum to {total[bad[0]]!r}"
        )


def _check_chance_labels(
    player: NDArray[np.int8], infoset: Ints, n_children: Ints, rows: Sequence[tuple[str, ...]]
) -> None:
    at = np.flatnonzero((player == CHANCE) & (infoset != NO_INFOSET))
    sizes = np.array([len(row) for row in rows], np.int64)
    out = (infoset[at] < 0) | (infoset[at] >= len(rows))
    if out.any():
        node = at[int(out.argmax())]
        raise GameError(
            f"a chance node's infoset must be a row of chance_labels or {NO_INFOSET}; node {node} "
            f"has {infoset[node]} and there are {len(rows)} rows"
        )
    if (bad := np.flatnonzero(sizes[infoset[at]] != n_children[at])).size:
        node = at[bad[0]]
        raise GameError(
            f"chance node {node} has {n_children[node]} outcomes but "
            f"{sizes[infoset[node]]} labels"
        )


def _sum_rewards(
    node: ArrayLike, reward: ArrayLike, n_nodes: int, n_players: int
) -> tuple[Floats, Ints]:
    where = np.asarray(node, dtype=np.int64).reshape(-1)
    what = _as_floats("reward", np.reshape(reward, (len(where), -1)), (len(where), n_players))
    if (bad := np.flatnonzero((where < 0) | (where >= n_nodes))).size:
        raise GameError(f"rewards must be at nodes 0..{n_nodes - 1}; got node {where[bad[0]]}")
    if not np.isfinite(what).all():
        row, player = np.argwhere(~np.isfinite(what))[0]
        raise GameError(
            f"payoffs must be finite; node {where[row]} gives player {player + 1} "
            f"{what[row, player]}"
        )
    if len(where) > 1 and (np.diff(where) <= 0).any():
        unique, index = np.unique(where, return_inverse=True)
        total = np.zeros((len(unique), n_players))
        np.add.at(total, index, what)
        where, what = unique, total
    return what.copy(), where.astype(np.int32)


def _checked_actions(
    actions: Sequence[tuple[str, ...]], n_actions: Ints, labels: Sequence[str], player: str
) -> tuple[tuple[str, ...], ...]:
    if len(actions) != len(n_actions):
        raise GameError(
            f"player {player} has {len(n_actions)} infosets but action labels for {len(actions)}"
        )
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    rows = []
    for x, row in enumerate(actions):
        row = known.setdefault(tuple(row), tuple(map(str, row)))
        if len(row) != n_actions[x] or len(set(row)) < len(row):
            raise GameError(
                f"infoset {labels[x]!r} of player {player} must have {n_actions[x]} distinct "
                f"action labels; got {row}"
            )
        rows.append(row)
    return tuple(rows)


def _own_history(
    node: int,
    i: int,
    infoset: Ints,
    parent: Ints,
    action: Ints,
    last: Ints,
    labels: Sequence[str],
    actions: Sequence[tuple[str, ...]],
) -> tuple[tuple[str, str], ...]:
    moves: list[tuple[str, str]] = []
    while (after := int(last[node, i])) != NO_NODE:
        node = int(parent[after])
        x = int(infoset[node])
        moves.append((labels[x], actions[x][int(action[after])]))
    return tuple(reversed(moves))


def _layer_order(first: Ints, parent_infoset: Ints, parent_action: Ints) -> NDArray[np.int64]:
    """The infosets by layer, then by (rank of the parent infoset, action), then by first node."""
    depth = np.zeros(len(first), np.int32)
    by_first = np.argsort(first, kind="stable")
    _find_depths(by_first, parent_infoset, depth)
    rank = np.full(len(first) + 1, -1, np.int64)  # the last entry stands for NO_INFOSET
    layers = by_first[np.argsort(depth[by_first], kind="stable")]
    ends = np.cumsum(np.bincount(depth, minlength=1)) if len(first) else []
    start = 0
    for end in ends:
        layer = layers[start:end]
        layer = layer[np.lexsort((parent_action[layer], rank[parent_infoset[layer]]))]
        rank[layer] = np.arange(start, end)
        layers[start:end] = layer
        start = end
    return layers


@jit
def _find_own_moves(player: Any, parent: Any, last: Any) -> None:
    for node in range(1, len(player)):
        above = parent[node]
        for i in range(last.shape[1]):
            last[node, i] = last[above, i]
        if player[above] >= 0:
            last[node, player[above]] = node


@jit
def _find_depths(order: Any, parent_infoset: Any, depth: Any) -> None:
    for x in order:
        if parent_infoset[x] >= 0:
            depth[x] = depth[parent_infoset[x]] + 1


@jit
def _count_children(parent: Any, action: Any) -> Any:
    """Number of children of each node, and the first node whose action is no permutation's."""
    n_children = np.zeros(len(parent), np.int32)
    for node in range(1, len(parent)):
        n_children[parent[node]] += 1
    slot = np.zeros(len(parent) + 1, np.int32)  # where the actions of each node are ticked off
    for node in range(len(parent)):
        slot[node + 1] = slot[node] + n_children[node]
    ticked = np.zeros(len(parent), np.bool_)
    for node in range(1, len(parent)):
        a = action[node]
        if a < 0 or a >= n_children[parent[node]] or ticked[slot[parent[node]] + a]:
            return n_children, node
        ticked[slot[parent[node]] + a] = True
    return n_children, -1
