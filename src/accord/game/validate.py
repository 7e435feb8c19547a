"""Validation of games, and the canonical numbering of nodes.

Every game passes these checks; those of chance moves are in ``game/chance.py``, those of infosets
in ``game/infosets.py``. Each check is one pass over flat arrays; only when it fails is the
offending node looked up and described by its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL, Floats, Ints
from accord.errors import GameError
from accord.game.chance import check_chance_labels, normalize_chance, number_chance_labels
from accord.game.infosets import Infosets, Nodes, own_moves
from accord.game.labels import player_name
from accord.game.prefix_order import prefix_numbers

MOST_NODES = 2**31 - 2

LARGEST_PAYOFF, LEAST_RANGE = 1e305, 1e-300
"""Payoffs of plays that can be computed with: their range and its inverse are finite."""


def validated(
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
) -> dict[str, Any]:
    """The fields of a :class:`Game`: checked, with nodes in prefix order and infosets in layers.

    The arguments are those of :meth:`Game.from_arrays`.
    """
    if not 1 <= n_players <= 127:
        raise GameError(f"a game must have 1 to 127 players; got {n_players}")
    players = tuple(map(str, player_labels or range(1, n_players + 1)))
    if len(players) != n_players or len(set(players)) != n_players:
        raise GameError(f"player_labels must be {n_players} distinct names; got {players}")

    size = np.asarray(player).size
    if not 1 <= size <= MOST_NODES:
        raise GameError(f"a game must have 1 to {MOST_NODES} nodes; got {size}")
    who = _checked_movers(_as_ints("player", player, size), n_players)
    above = _as_ints("parent", parent, size)
    move = _as_ints("action", action, size)
    x_of = _as_ints("infoset", infoset, size)
    prob = _as_floats("chance_prob", chance_prob, (size,))
    _check_tree(above)
    move[0] = 0
    n_children, bad = _count_children(above, move)
    if bad != NO_NODE:
        raise GameError(
            f"the actions of one node must be numbered 0..n-1, each once; node {above[bad]} has "
            f"{n_children[above[bad]]} children, and action {move[bad]} of its child {bad} is out "
            "of range or used twice"
        )
    _check_moves(who, n_children)
    normalize_chance(who, above, prob, n_children)
    rewards, reward_nodes = _sum_rewards(reward_node, reward, size, players)
    _check_decisions(who, x_of, players)
    x_of[who == TERMINAL] = NO_INFOSET
    chance_rows = [tuple(row) for row in chance_labels or ()]
    check_chance_labels(who, x_of, n_children, chance_rows)

    number = prefix_numbers(above, move, n_children)
    if number is not None:
        order = np.empty_like(number)
        order[number] = np.arange(size, dtype=np.int32)
        who, move, x_of = who[order], move[order], x_of[order]
        prob, n_children, above = prob[order], n_children[order], above[order]
        above[1:] = number[above[1:]]
        reward_nodes = number[reward_nodes]
        by_node = np.argsort(reward_nodes)
        rewards, reward_nodes = rewards[by_node], reward_nodes[by_node]
        del number, order, by_node  # large games need the memory for what follows
    outcomes = number_chance_labels(who, x_of, n_children, chance_rows)

    tree = Nodes(above, move, x_of, n_children)
    who.flags.writeable = above.flags.writeable = False
    last = own_moves(who, above, n_players)
    names = _per_player("infoset_labels", infoset_labels, n_players)
    moves = _per_player("action_labels", action_labels, n_players)
    facts = []
    for i, label in enumerate(players):
        nodes = np.flatnonzero(who == i).astype(np.int32)
        sets = Infosets(label, nodes, last[nodes, i], tree, (names[i], moves[i]))
        x_of[nodes] = sets.rank[x_of[nodes]]
        facts.append(sets)

    for array in (move, x_of, prob, reward_nodes, rewards):
        array.flags.writeable = False
    return {
        "name": name,
        "player_labels": players,
        "player": who,
        "parent": above,
        "action": move,
        "infoset": x_of,
        "chance_prob": prob,
        "reward_node": reward_nodes,
        "reward": rewards,
        "n_actions": tuple(f.n_actions for f in facts),
        "parent_infoset": tuple(f.parent_infoset for f in facts),
        "parent_action": tuple(f.parent_action for f in facts),
        "infoset_labels": tuple(f.labels for f in facts),
        "action_labels": tuple(f.actions for f in facts),
        "chance_labels": outcomes,
    }


def check_payoff_range(player: str, worst: float, best: float) -> None:
    """Check that gaps and losses of a player with payoffs in this range are finite.

    Any game may be read and written, but a game is analyzed only if it passes.

    Raises:
        GameError: If the payoffs are too large, or too close to each other.
    """
    if not (-LARGEST_PAYOFF <= worst <= best <= LARGEST_PAYOFF):
        raise GameError(
            f"the payoff of a play must be between -{LARGEST_PAYOFF:g} and {LARGEST_PAYOFF:g}; "
            f"those of {player_name(player)} are between {worst:g} and {best:g}; divide all their "
            "payoffs by one number, which changes no equilibrium"
        )
    if 0.0 < best - worst < LEAST_RANGE:
        raise GameError(
            f"different payoffs must differ by {LEAST_RANGE:g} or more; those of "
            f"{player_name(player)} are between {worst:g} and {best:g}; multiply all their payoffs "
            "by one number, which changes no equilibrium"
        )


def _as_ints(name: str, values: ArrayLike, size: int) -> Ints:
    array = np.asarray(values)
    if array.shape != (size,) or array.dtype.kind not in "iu":
        raise GameError(
            f"{name} must be {size} integers, one per node; got {array.dtype} of shape "
            f"{array.shape}"
        )
    if array.dtype != np.int32 and (array.min() < -(2**31) or array.max() >= 2**31):
        raise GameError(f"{name} must be 32-bit integers; got {array.min()} to {array.max()}")
    return np.array(array, dtype=np.int32)  # the game's own copy


def _as_floats(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values)
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise GameError(
            f"{name} must be numbers of shape {shape}; got {array.dtype} of shape {array.shape}"
        )
    return np.array(array, dtype=np.float64)


def _per_player(name: str, labels: Sequence[Any] | None, n_players: int) -> Sequence[Any]:
    if labels is not None and len(labels) != n_players:
        raise GameError(f"{name} must have one entry per player, {n_players}; got {len(labels)}")
    return labels if labels is not None else [None] * n_players


def _checked_movers(player: Ints, n_players: int) -> NDArray[np.int8]:
    if (bad := np.flatnonzero((player < TERMINAL) | (player >= n_players))).size:
        raise GameError(
            f"a node must belong to a player 0..{n_players - 1}, CHANCE ({CHANCE}) or TERMINAL "
            f"({TERMINAL}); node {bad[0]} has {player[bad[0]]}"
        )
    return player.astype(np.int8)


def _check_tree(parent: Ints) -> None:
    if parent[0] != NO_NODE:
        raise GameError(f"node 0 must be the root, with parent {NO_NODE}; got {parent[0]}")
    later = np.arange(1, len(parent), dtype=np.int32)
    if (bad := np.flatnonzero((parent[1:] < 0) | (parent[1:] >= later))).size:
        node = int(bad[0]) + 1
        raise GameError(
            "a game must be one tree with every parent before its children; "
            f"node {node} has parent {parent[node]}"
        )


def _check_moves(player: NDArray[np.int8], n_children: Ints) -> None:
    if (bad := np.flatnonzero((player == TERMINAL) & (n_children > 0))).size:
        raise GameError(f"a terminal must have no children; node {bad[0]} has some")
    if (bad := np.flatnonzero((player != TERMINAL) & (n_children == 0))).size:
        kind = "chance" if player[bad[0]] == CHANCE else "decision"
        raise GameError(f"a {kind} node must have at least one child; node {bad[0]} has none")


def _check_decisions(player: NDArray[np.int8], infoset: Ints, players: tuple[str, ...]) -> None:
    decides = player >= 0
    if not decides.any():
        raise GameError("a game must have at least one decision; every node is chance or terminal")
    if (bad := np.flatnonzero(decides & (infoset < 0))).size:
        raise GameError(
            "every decision node must be in an infoset numbered 0 or more; node "
            f"{bad[0]} of player {players[player[bad[0]]]} is in {infoset[bad[0]]}"
        )


def _sum_rewards(
    node: ArrayLike, reward: ArrayLike, n_nodes: int, players: tuple[str, ...]
) -> tuple[Floats, Ints]:
    where, what = np.asarray(node), np.asarray(reward)
    if where.size == 0 and what.size == 0:
        return np.zeros((0, len(players))), np.zeros(0, np.int32)
    if where.ndim != 1 or where.dtype.kind not in "iu":
        raise GameError(
            f"reward_node must be a flat list of integers; got {where.dtype} of shape {where.shape}"
        )
    what = _as_floats("reward", what, (len(where), len(players)))
    if (bad := np.flatnonzero((where < 0) | (where >= n_nodes))).size:
        raise GameError(f"reward_node must hold nodes 0..{n_nodes - 1}; got {where[bad[0]]}")
    if not np.isfinite(what).all():
        row, i = np.argwhere(~np.isfinite(what))[0]
        raise GameError(
            f"payoffs must be finite; node {where[row]} pays {what[row, i]} to player {players[i]}"
        )
    if (np.diff(where) <= 0).any():
        unique, index = np.unique(where, return_inverse=True)
        total = np.zeros((len(unique), len(players)))
        np.add.at(total, index, what)
        where, what = unique, total
    return what, where.astype(np.int32)


def _count_children(parent: Ints, action: Ints) -> tuple[Ints, int]:
    """The number of children of each node, and the first node whose action is out of range or used
    twice, or ``NO_NODE``."""
    n_children = np.bincount(parent[1:], minlength=len(parent)).astype(np.int32)
    bad = (action[1:] < 0) | (action[1:] >= n_children[parent[1:]])
    slot = np.cumsum(n_children) - n_children  # where a node's actions start among all actions
    place = slot[parent[1:]] + action[1:]
    if bad.any() or not np.bincount(place, minlength=1).max(initial=1) <= 1:
        place[bad] = -1
        bad[np.setdiff1d(np.arange(len(place)), np.unique(place, return_index=True)[1])] = True
        return n_children, 1 + int(bad.argmax())
    return n_children, NO_NODE
