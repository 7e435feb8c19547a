"""The tree of joint histories that plays have shown, with counts.

A joint play has the moves of all players in order, those of chance where the game shows them, and
the losses at its end. A *node* is a joint history at which somebody moves or the play is over; an
*edge* is an action at a node. Edge 0 stands before the first move. Nodes after the same edge are
the outcomes there of chance that nobody showed: different players to move, or other infosets. With
n(d) and n(e) plays through node d and edge e,

    P(d | e) = n(d) / n(e)

estimates the probability of node d after edge e, whichever policies have played, even if they
looked at the joint history: given e, only chance decides about d. So no play needs a weight. Chance
that is never shown is averaged in the losses of an end.

A node has a larger number than the node before it, so every pass over the tree is one loop. Counts
are whole numbers, and plays are recorded in the order of their numbers: where they were played does
not change a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats
from accord._jit import jit

START = 0
"""The edge before the first move."""

UNKNOWN = -1
"""Stands for a node or an edge that no play has shown."""

NODE = np.dtype(
    [
        ("count", np.int64),
        ("edge", np.int32),  # that leads to it
        ("player", np.int32),  # to move; CHANCE or TERMINAL
        ("place", np.int32),  # the infoset; at ends the row of their losses, at chance 0
        ("first_edge", np.int32),  # the others follow, in the order of the actions
        ("n_edges", np.int32),
        ("unused", np.int32),
    ]
)

EDGE = np.dtype(
    [
        ("count", np.int64),
        ("node", np.int32),  # at which it is an action
        ("outcomes", np.int32),  # nodes seen after it
        ("told", np.float64),  # probability of this move of chance, if the game tells it; else 0
    ]
)

FIRST, OFF, SQUARES = range(3)
"""The losses of an end: those of its first play, and sums over all of (loss - first) and of its
square. If all plays have the same losses, the mean is exact."""


class JointMove(NamedTuple):
    """A move of a joint play; for one of chance player and infoset are ``CHANCE`` and 0."""

    player: int
    infoset: int
    n_actions: int
    action: int


class JointArrays(NamedTuple):
    """A tree as kernels see it; arrays have room for more than ``size`` says."""

    nodes: NDArray[np.void]  # of NODE
    edges: NDArray[np.void]  # of EDGE
    losses: Floats  # [ends, 3, n_players]
    table: NDArray[np.int32]  # hash table with the number of a node plus 1, or 0
    size: NDArray[np.int64]  # how many nodes, edges and ends there are


class JointTree:
    """All joint histories that plays have shown.

    Attributes:
        arrays: The tree, for kernels; replaced when it grows.
    """

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        self.arrays = JointArrays(
            np.zeros(64, NODE), np.zeros(64, EDGE), np.zeros((64, 3, n_players)),
            np.zeros(256, np.int32), np.array([0, 1, 0]),
        )  # fmt: skip
        self.arrays.edges[START]["node"] = UNKNOWN

    @property
    def n_nodes(self) -> int:
        return int(self.arrays.size[0])

    @property
    def n_edges(self) -> int:
        return int(self.arrays.size[1])

    @property
    def n_ends(self) -> int:
        return int(self.arrays.size[2])

    @property
    def plays(self) -> int:
        """How many plays have been recorded."""
        return int(self.arrays.edges[START]["count"])

    @property
    def n_bytes(self) -> int:
        """The memory that the tree takes."""
        return sum(array.nbytes for array in self.arrays)

    def reserve(self, nodes: int, edges: int, ends: int) -> None:
        """Make room for this many more."""
        old = self.arrays
        grown = JointArrays(
            _grown(old.nodes, self.n_nodes + nodes),
            _grown(old.edges, self.n_edges + edges),
            _grown(old.losses, self.n_ends + ends),
            old.table,
            old.size,
        )
        if 2 * len(grown.nodes) > len(grown.table):
            table = np.zeros(1 << (4 * len(grown.nodes) - 1).bit_length(), np.int32)
            fill_table(grown.nodes, self.n_nodes, table)
            grown = grown._replace(table=table)
        self.arrays = grown

    def record(
        self,
        plays: Sequence[Sequence[JointMove]],
        losses: Floats,
        told: Sequence[Sequence[float]] = (),
    ) -> None:
        """Record plays in order.

        Each play is its moves; ``losses`` are ``[n_plays, n_players]``. ``told`` has the
        probabilities of every move of chance in all plays, one law after the other.
        """
        ends = np.cumsum([len(play) for play in plays])
        moves = np.array([move for play in plays for move in play], np.int64).reshape(-1, 4)
        laws = np.array([share for law in told for share in law], np.float64)
        self.reserve(len(moves) + len(plays), int(moves[:, 2].sum()), len(plays))
        record_plays(self.arrays, moves, ends.astype(np.int64), losses, laws)

    def find(self, edge: int, player: int, place: int) -> int:
        """The node after ``edge`` at which ``player`` moves at infoset ``place``, or UNKNOWN."""
        if UNKNOWN in (edge, place):
            return UNKNOWN
        arrays = self.arrays
        return int(find_node(arrays.nodes, arrays.table, edge, player, place))

    def after(self, node: int, action: int) -> int:
        """The edge of ``action`` at ``node``; UNKNOWN if the node is."""
        if node == UNKNOWN:
            return UNKNOWN
        return int(self.arrays.nodes["first_edge"][node]) + action

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs."""
        nodes, edges, ends = self.arrays.size.tolist()
        names = ("count", "edge", "player", "place", "first_edge", "n_edges")
        return {
            **{f"node_{name}": self.arrays.nodes[name][:nodes].copy() for name in names},
            **{f"edge_{name}": self.arrays.edges[name][:edges].copy() for name in EDGE.names or ()},
            "losses": self.arrays.losses[:ends].copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`.

        Raises:
            LookupError, ValueError: If it is not one.
        """
        count, told, losses = state["node_count"], state["edge_told"], state["losses"]
        fresh = JointTree(self.n_players)
        fresh.reserve(len(count), len(told), len(losses))
        arrays = fresh.arrays
        arrays.size[:] = len(count), len(told), len(losses)
        if any(np.iscomplexobj(values) for values in state.values()):
            raise ValueError("the joint histories of a checkpoint must be real numbers")
        for name in (name for name in NODE.names or () if name != "unused"):
            arrays.nodes[name][: len(count)] = state[f"node_{name}"]
        for name in EDGE.names or ():
            arrays.edges[name][: len(told)] = state[f"edge_{name}"]
        arrays.losses[: len(losses)] = losses
        if not np.isfinite(losses).all() or not is_tree(arrays):
            raise ValueError("the joint histories of a checkpoint must form a tree")
        arrays.table[:] = 0
        fill_table(arrays.nodes, len(count), arrays.table)
        self.arrays = arrays


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """``array`` if it has ``size`` items, else a copy with room for half as many more."""
    if size <= len(array):
        return array
    larger = np.zeros((size + size // 2, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@jit
def _hash(edge: int, player: int, place: int, mask: int) -> int:
    """Where to look first in a table of ``mask + 1`` entries."""
    key = np.uint64(edge) * np.uint64(0x9E3779B97F4A7C15)
    key ^= np.uint64(place + 3) * np.uint64(0xC2B2AE3D27D4EB4F)
    key ^= np.uint64(player + 3) * np.uint64(0x165667B19E3779F9)
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(32)
    return int(np.int64(key & np.uint64(mask)))


@jit
def find_node(
    nodes: NDArray[np.void], table: NDArray[np.int32], edge: int, player: int, place: int
) -> int:
    """The number of a node, or UNKNOWN."""
    at = _hash(edge, player, place, len(table) - 1)
    while table[at]:
        node = nodes[table[at] - 1]
        if node.edge == edge and node.player == player and (player < 0 or node.place == place):
            return int(table[at] - 1)
        at = (at + 1) & (len(table) - 1)
    return UNKNOWN


@jit
def fill_table(nodes: NDArray[np.void], count: int, table: NDArray[np.int32]) -> None:
    """Enter all nodes into ``table``, which must be empty."""
    for d in range(count):
        node = nodes[d]
        at = _hash(node.edge, node.player, node.place if node.player >= 0 else 0, len(table) - 1)
        while table[at]:
            at = (at + 1) & (len(table) - 1)
        table[at] = d + 1


@jit
def find_or_add(tree: JointArrays, edge: int, player: int, place: int, n_edges: int) -> int:
    """The node after ``edge`` with this player and infoset; a new one if there is none."""
    found = find_node(tree.nodes, tree.table, edge, player, place)
    if found != UNKNOWN:
        return found
    d = int(tree.size[0])
    tree.size[0] += 1
    node = tree.nodes[d]
    node.count, node.edge, node.player, node.n_edges = 0, edge, player, n_edges
    tree.edges[edge].outcomes += 1
    if player == TERMINAL:
        node.place, node.first_edge = tree.size[2], 0
        tree.size[2] += 1
    else:
        node.place, node.first_edge = place, tree.size[1]
        for e in range(tree.size[1], tree.size[1] + n_edges):
            tree.edges[e].node = d
        tree.size[1] += n_edges
    at = _hash(edge, player, place, len(tree.table) - 1)
    while tree.table[at]:
        at = (at + 1) & (len(tree.table) - 1)
    tree.table[at] = d + 1
    return d


@jit
def add_losses(tree: JointArrays, end: int, losses: Floats) -> None:
    """Count a play that ends at node ``end``."""
    node = tree.nodes[end]
    node.count += 1
    for i in range(len(losses)):
        if node.count == 1:
            tree.losses[node.place, FIRST, i] = losses[i]
        off = losses[i] - tree.losses[node.place, FIRST, i]
        tree.losses[node.place, OFF, i] += off
        tree.losses[node.place, SQUARES, i] += off * off


@jit
def record_plays(
    tree: JointArrays,
    moves: NDArray[np.int64],
    ends: NDArray[np.int64],
    losses: Floats,
    told: Floats,
) -> None:
    """Record plays, whose moves end at ``ends``; there must be room."""
    start = law = 0
    for play in range(len(ends)):
        edge = START
        tree.edges[edge].count += 1
        for m in range(start, ends[play]):
            d = find_or_add(tree, edge, moves[m, 0], moves[m, 1], moves[m, 2])
            tree.nodes[d].count += 1
            edge = tree.nodes[d].first_edge + moves[m, 3]
            tree.edges[edge].count += 1
            if moves[m, 0] == CHANCE:
                for a in range(moves[m, 2]):
                    tree.edges[tree.nodes[d].first_edge + a].told = told[law]
                    law += 1
        end = find_or_add(tree, edge, TERMINAL, 0, 0)
        add_losses(tree, end, losses[play])
        start = ends[play]


@jit
def is_tree(tree: JointArrays) -> bool:
    """Whether numbers and counts fit each other."""
    nodes, edges, ends = tree.size[0], tree.size[1], tree.size[2]
    after, used, rows = np.zeros(edges, np.int64), 1, 0
    for d in range(nodes):
        node = tree.nodes[d]
        if not 0 <= node.edge < used or node.count < 1 or node.n_edges < 0:
            return False
        after[node.edge] += node.count
        if node.player == TERMINAL:
            if node.place != rows or node.n_edges:
                return False
            rows += 1
            continue
        if node.player < CHANCE or node.first_edge != used or used + node.n_edges > edges:
            return False
        taken = 0
        for e in range(used, used + node.n_edges):
            if tree.edges[e].node != d or tree.edges[e].count < 0:
                return False
            taken += tree.edges[e].count
        if taken != node.count:
            return False
        used += node.n_edges
    if used != edges or rows != ends:
        return False
    for e in range(edges):  # noqa: SIM110 (kernels have no generators)
        if after[e] != tree.edges[e].count:
            return False
    return True


@jit
def compute_law(tree: JointArrays, law: Floats) -> None:
    """Overwrite ``law`` with the probability of each move of chance; 1 at other edges.

    Probabilities that were told count for the outcomes seen, in proportion; else shares of plays.
    """
    for e in range(tree.size[1]):
        law[e] = 1.0
    for d in range(tree.size[0]):
        node = tree.nodes[d]
        if node.player != CHANCE:
            continue
        told = 0.0
        for e in range(node.first_edge, node.first_edge + node.n_edges):
            if tree.edges[e].count:
                told += tree.edges[e].told
        for e in range(node.first_edge, node.first_edge + node.n_edges):
            if tree.edges[e].count == 0:
                law[e] = 0.0
            elif told > 0.0:
                law[e] = tree.edges[e].told / told
            else:
                law[e] = tree.edges[e].count / node.count
