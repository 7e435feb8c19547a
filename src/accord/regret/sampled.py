"""The state of one player's regret minimizers, for sampled losses.

Memory access limits the speed of learning in large games, so the data for a move lie together: one
record per infoset, one per rechistory. The policy pi^t(. | x) depends on the minimizer at x and on
pi^t at the ancestors of x, which an episode visits first. It is computed when an episode first
reaches x and kept for the rest of the iteration; the infoset's ``stamp`` holds that iteration.

A minimizer consists of a frozen configuration (:class:`SampledMinimizer`) and two kernels, selected
by the type of its schedule: :func:`recommend_at` writes the policy at an infoset, and
:func:`observe_episode` processes the loss of an episode. ``regret/methods.py`` lists all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, aligned_concatenate
from accord._jit import generic, jit
from accord.deviations.counting import Footprint
from accord.deviations.rechistory import RechistoryTree
from accord.treeplex.treeplex import Treeplex

INFOSET = np.dtype(
    [
        ("first_seq", np.int32),
        ("n_actions", np.int32),
        ("first_node", np.int32),  # of the SWAP rechistories
        ("first_external", np.int32),  # of the EXTERNAL ones
        ("end_node", np.int32),  # one past the last of both
        ("first_cell", np.int32),  # of first_node; a copy, so that both can load at once
        ("stamp", np.int64),  # the iteration of its policy and rec_reach
    ],
    align=True,
)
"""A learner's record of an infoset, half a cache line."""

NODE = np.dtype(
    [
        ("rec_reach", np.float64),  # M_b, valid if the infoset's stamp is this iteration
        ("weight", np.float64),  # w_b
        ("credit", np.float64),  # SWRHedge's sum of S_b <p, estimate>
        ("parent", np.int32),
        ("rec_seq", np.int32),
        ("first_cell", np.int32),
        ("episode", np.int32),  # the episode that informs it
    ],
    align=True,
)
"""A learner's record of a rechistory."""

FOOTPRINT = Footprint(per_node=NODE.itemsize, per_cell=8)
"""Memory of :class:`SampledArrays`: a record per rechistory, a regret per cell."""


Infosets = NDArray[np.void]
Nodes = NDArray[np.void]


class SampledArrays(NamedTuple):
    """The state of all minimizers of one player, or of several players one after the other.

    Kernels take the arrays one by one, because unpacking a tuple at every move costs as much as the
    move itself.
    """

    infosets: Infosets  # [n_infosets] of INFOSET
    nodes: Nodes  # [n_nodes] of NODE
    behavior: Floats  # [n_sequences] pi^t where the infoset's stamp is t
    regret: Floats  # [n_cells]
    baseline: Floats  # [n_sequences] running mean of the loss after each sequence
    scratch: Floats  # [2 * max_actions ** 2 + max_actions]


class SampledMinimizer(Protocol):
    """A configured regret minimizer for sampled losses: a frozen dataclass without arrays."""

    @property
    def name(self) -> str:
        """The name in ``regret/methods.py``."""

    def schedule(
        self, plexes: tuple[Treeplex, ...], k: SupportsIndex | float, iterations: int | None
    ) -> Any:
        """The parameters of its kernels for these players, as a NamedTuple.

        Args:
            plexes: The treeplexes of all players.
            k: How many recommendations a deviator may disobey.
            iterations: The paper's T, if known.
        """


def new_sampled(tree: RechistoryTree, node_episode: Ints, node_weight: Floats) -> SampledArrays:
    """Arrays before the first iteration.

    Args:
        tree: The rechistories of the player.
        node_episode: ``[n_nodes]`` the episode that informs each rechistory.
        node_weight: ``[n_nodes]`` w_b.
    """
    plex = tree.plex
    infosets = np.zeros(plex.n_infosets, INFOSET)
    infosets["first_seq"] = plex.first_seq[:-1]
    infosets["n_actions"] = plex.n_actions
    infosets["first_node"] = tree.arrays.first_node[:-1]
    infosets["first_external"] = tree.arrays.first_external
    infosets["end_node"] = tree.arrays.first_node[1:]
    infosets["first_cell"] = tree.arrays.first_cell[tree.arrays.first_node[:-1]]
    infosets["stamp"] = -1
    nodes = np.zeros(tree.n_nodes, NODE)
    nodes["rec_reach"][0] = 1.0
    nodes["weight"] = node_weight
    nodes["parent"] = tree.arrays.parent
    nodes["rec_seq"] = tree.arrays.rec_seq
    nodes["first_cell"] = tree.arrays.first_cell[:-1]
    nodes["episode"] = node_episode
    n = plex.max_actions
    return SampledArrays(
        infosets=infosets,
        nodes=nodes,
        behavior=np.ones(plex.n_sequences),
        regret=np.zeros(tree.n_cells),
        baseline=np.full(plex.n_sequences, 0.5),
        scratch=np.zeros(2 * n * n + n),
    )


def join(parts: Sequence[SampledArrays], episodes: Sequence[int]) -> SampledArrays:
    """The arrays of several players, joined so that a kernel need not choose between them.

    Indices are shifted and nothing is shared: starting from an infoset, a kernel reaches only the
    data of that infoset's player. ``episodes`` is how many each player samples per iteration.
    """
    infosets, nodes = [], []
    seq = node = cell = episode = 0
    for part, count in zip(parts, episodes, strict=True):
        infosets.append(part.infosets.copy())
        nodes.append(part.nodes.copy())
        infosets[-1]["first_seq"] += seq
        infosets[-1]["first_cell"] += cell
        for name in ("first_node", "first_external", "end_node"):
            infosets[-1][name] += node
        nodes[-1]["parent"] += node
        nodes[-1]["rec_seq"] += seq
        nodes[-1]["first_cell"] += cell
        nodes[-1]["episode"] += episode
        seq += len(part.behavior)
        node += len(part.nodes)
        cell += len(part.regret)
        episode += count
    return SampledArrays(
        infosets=aligned_concatenate(infosets),
        nodes=aligned_concatenate(nodes),
        behavior=aligned_concatenate([part.behavior for part in parts]),
        regret=aligned_concatenate([part.regret for part in parts]),
        baseline=aligned_concatenate([part.baseline for part in parts]),
        scratch=max((part.scratch for part in parts), key=len),
    )


@generic
def recommend_at(
    schedule: Any,
    player: int,
    x: int,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Write the next policy at ``x``, where ``player`` has more than one action."""


@generic
def observe_episode(
    schedule: Any,
    episode: int,
    target: int,
    length: int,
    loss: float,
    followed: float,
    path: Ints,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    baseline: Floats,
    scratch: Floats,
) -> None:
    """Feed the loss of an episode to the minimizer at the infoset that it reached at its target.

    Args:
        schedule: The minimizer's parameters.
        episode: Its number in the sampling plan.
        target: The layer whose losses it estimates; the play must have reached it.
        length: The number of the player's decisions.
        loss: The loss of the play, in [0, 1].
        followed: The probability with which pi^t took the actions before the target layer at which
            the episode did not explore.
        path: ``[2, horizon]`` infoset and action at each layer.
        infosets: This and all arguments below are the fields of :class:`SampledArrays`, which are
            updated in place.
    """


@jit
def refresh(
    schedule: Any,
    player: int,
    x: int,
    t: int,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Compute pi^t and M_b at ``x`` once per iteration; its ancestors must be up to date."""
    if infosets[x].stamp != t and update_reach(x, t, infosets, nodes, behavior):
        recommend_at(schedule, player, x, infosets, nodes, behavior, regret, scratch)


@jit
def refresh_all(
    schedule: Any,
    player: int,
    first: int,
    end: int,
    t: int,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """:func:`refresh` all infosets of ``player``, which are ``first .. end - 1``."""
    for x in range(first, end):
        refresh(schedule, player, x, t, infosets, nodes, behavior, regret, scratch)


@jit
def update_reach(x: int, t: int, infosets: Infosets, nodes: Nodes, behavior: Floats) -> bool:
    """Compute M_b at ``x`` for iteration t; return whether the policy must be computed too.

    A single action needs no computation: its probability is set to 1.
    """
    at = infosets[x]
    at.stamp = t
    for node in range(at.first_node, at.end_node):
        nodes[node].rec_reach = nodes[nodes[node].parent].rec_reach * behavior[nodes[node].rec_seq]
    if at.n_actions == 1:
        behavior[at.first_seq] = 1.0
        return False
    return True


@jit
def sample(x: int, draw: float, infosets: Infosets, behavior: Floats) -> int:
    """Draw an action from pi^t at ``x`` by inverse CDF."""
    first = infosets[x].first_seq
    last = first + infosets[x].n_actions - 1
    for seq in range(first, last):
        draw -= behavior[seq]
        if draw < 0.0:
            return seq - first  # type: ignore[no-any-return]
    while behavior[last] == 0.0:  # rounding must not select an action of probability 0
        last -= 1
    return last - first  # type: ignore[no-any-return]
