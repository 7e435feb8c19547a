"""Joint plays of a game on a compiled simulator.

A play is recorded while it is played. The simulator shows the moves of chance, but not their
probabilities, which plays estimate. A node of the game has one joint history, which is looked up
once.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, TERMINAL, Floats, Ints
from accord._jit import jit
from accord.deviations.notions import NotionLike
from accord.learning.joint_exploration import EVERYBODY, UNIFORM, explorer
from accord.learning.joint_play import JointPlay
from accord.learning.simulator_play import SimulatorPlay
from accord.play.joint_paths import Places
from accord.play.joint_tree import FIRST, START, UNKNOWN, JointArrays, add_losses, find_or_add
from accord.play.simulator import SimulatorArrays, draw_outcome, simulator
from accord.treeplex.form import SequenceForm
from accord.treeplex.strategy import draw_sequence
from accord.treeplex.treeplex import Treeplex


class SimulatorJointPlay(JointPlay):
    """Joint plays of a known game on a compiled simulator, which shows the moves of chance.

    Args:
        form: The game.
        k: How many recommendations a deviator may disobey.
        rng: The source of all randomness.
    """

    def __init__(self, form: SequenceForm, k: NotionLike, rng: np.random.Generator) -> None:
        self.form, self.rng = form, rng
        first_reach = form.leaves.first_reach.astype(np.int64)
        self._places = Places(
            np.cumsum([0, *(plex.n_infosets for plex in form.plexes)]),
            np.concatenate(
                [plex.first_seq[:-1] + first_reach[i] for i, plex in enumerate(form.plexes)]
            ),
            np.concatenate([plex.n_actions for plex in form.plexes]).astype(np.int64),
            first_reach,
        )
        self._simulator = simulator(form.game, form.leaves.best, form.leaves.loss_scale)
        self._node_of = np.full(form.game.n_nodes, UNKNOWN, np.int32)  # in the joint tree
        self._visits = np.zeros(0, np.int64)  # of nodes of the game, not yet in the joint tree
        self._longest, self._widest = longest_and_widest(form.game.parent)
        super().__init__(form.n_players, k)

    @property
    def places(self) -> Places:
        return self._places

    def plexes(self) -> tuple[tuple[Treeplex, ...], tuple[NDArray[np.int64], ...]]:
        plexes = self.form.plexes
        return plexes, tuple(np.arange(plex.n_sequences) for plex in plexes)

    def _parents(self, i: int) -> NDArray[np.int64]:
        return self.form.plexes[i].parent_seq.astype(np.int64)

    def _play(self, episodes: int) -> None:
        mixture = self.places.uniform()[np.newaxis]
        if self.behavior:
            mixture = np.concatenate(self.behavior, axis=1)
        played = 0
        while True:
            self.tree.reserve(64 * self._longest, 64 * self._longest * self._widest, 64)
            played += play_episodes(
                self._simulator, self._node_of, self.places, self.tree.arrays, self._known,
                self._explore, np.array(self._shares), mixture,
                self.rng, episodes - played, self._longest, self._widest,
            )  # fmt: skip
            if played == episodes:
                return

    def watch(self, play: SimulatorPlay) -> None:
        """Count the visits of ``play``, which then can be :attr:`own`, to record them."""
        self._visits = play.visits = np.zeros(self.form.game.n_nodes, np.int64)

    @property
    def _unrecorded(self) -> int:
        return int(self._visits[:1].sum())

    def _record_own(self) -> None:
        if self._unrecorded:
            visited = np.flatnonzero(self._visits)
            nodes = self._simulator.nodes[visited]
            ends = int(np.count_nonzero(nodes["player"] == TERMINAL))
            self.tree.reserve(len(nodes), int(nodes["n_children"].sum()), ends)
            record_visits(self._simulator, self._node_of, self.tree.arrays, visited, self._visits)
            self._visits[:] = 0

    def state(self) -> dict[str, Any]:
        rng = np.array(json.dumps(self.rng.bit_generator.state))
        return {"rng": rng, "visits": self._visits, **super().state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.rng.bit_generator.state = json.loads(str(state["rng"]))
        if state["visits"].shape != self._visits.shape or state["visits"].min(initial=0) < 0:
            raise ValueError("the visits of nodes must fit the game")
        self._visits[:] = state["visits"]
        super().restore(state)
        self._node_of[:] = UNKNOWN  # they are found again when they are visited


@jit
def record_visits(
    game: SimulatorArrays,
    node_of: Ints,
    tree: JointArrays,
    visited: NDArray[np.int64],
    visits: NDArray[np.int64],
) -> None:
    """Record plays of which only the ``visits`` of each node are known; there must be room.

    ``visited`` are the nodes with visits, parents first.
    """
    edge_of = np.full(len(visits), START, np.int32)
    tree.edges[START].count += visits[0]
    for at in visited:
        node, d = game.nodes[at], int(node_of[at])
        if d == UNKNOWN:
            place = node.place if node.player >= 0 else 0
            d = find_or_add(tree, edge_of[at], node.player, place, node.n_children)
            node_of[at] = d
        if node.player == TERMINAL and tree.nodes[d].count == 0:
            tree.losses[tree.nodes[d].place, FIRST] = game.loss[node.place]
        tree.nodes[d].count += visits[at]
        for a in range(node.n_children):
            edge = tree.nodes[d].first_edge + a
            edge_of[node.first_child + a] = edge
            tree.edges[edge].count += visits[node.first_child + a]


def longest_and_widest(parent: Ints) -> tuple[int, int]:
    """The number of nodes on the longest path of a game, and of the most children of one."""
    depth = np.ones(len(parent), np.int64)
    children = np.zeros(len(parent), np.int64)
    measure_tree(parent, depth, children)
    return int(depth.max()), int(children.max())


@jit
def measure_tree(parent: Ints, depth: NDArray[np.int64], children: NDArray[np.int64]) -> None:
    """Add to ``depth`` the nodes before each node, and to ``children`` its children."""
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
        children[parent[node]] += 1


@jit
def play_episodes(
    game: SimulatorArrays,
    node_of: Ints,
    places: Places,
    tree: JointArrays,
    known: int,
    explore: Floats,
    shares: Floats,
    mixture: Floats,
    rng: np.random.Generator,
    episodes: int,
    longest: int,
    widest: int,
) -> int:
    """Play and record up to ``episodes``, while there is room; returns how many.

    ``node_of`` has the joint history of each node of the game, as far as it is known.
    """
    n_players = len(places.first_reach) - 1
    for played in range(episodes):
        if (
            tree.size[0] + longest > len(tree.nodes)
            or tree.size[1] + longest * widest > len(tree.edges)
            or tree.size[2] == len(tree.losses)
        ):
            return played
        mode = explorer(rng.random(), shares, n_players)
        component = min(int(rng.random() * len(mixture)), len(mixture) - 1)
        at, edge = 0, START
        tree.edges[START].count += 1
        while True:
            node = game.nodes[at]
            mover, n = int(node.player), int(node.n_children)
            d = int(node_of[at])
            if d == UNKNOWN:
                d = find_or_add(tree, edge, mover, node.place if mover >= 0 else 0, n)
                node_of[at] = d
            if mover == TERMINAL:
                add_losses(tree, d, game.loss[node.place])
                break
            tree.nodes[d].count += 1
            first, draw, a = int(tree.nodes[d].first_edge), rng.random(), 0
            if mover == CHANCE:
                a = draw_outcome(draw, node.place, n, game.outcomes)
            elif mode == EVERYBODY or mode == mover + 1:
                total = 0.0
                if d < known:
                    for e in range(first, first + n):
                        total += explore[e, mode]
                for b in range(n):
                    share = 1.0 / n
                    if total > 0.0:
                        share = UNIFORM / n + (1.0 - UNIFORM) * explore[first + b, mode] / total
                    a = b
                    draw -= share
                    if draw < 0.0:
                        break
            else:
                seq = places.first_seq[places.first_infoset[mover] + node.place]
                a = draw_sequence(mixture[component], seq, seq + n, draw) - seq
            edge = first + a
            tree.edges[edge].count += 1
            at = node.first_child + a
    return episodes
