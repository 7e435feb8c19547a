"""The state of one player's regret minimizers, for sampled losses.

Memory access limits the speed of learning in large games, so the data for a move lie together: one
record per infoset, one per rechistory. The policy pi^t(. | x) depends on the minimizer at x and on
pi^t at the ancestors of x, which an episode visits first. It is computed when an episode first
reaches x and kept for the rest of the iteration; the infoset's ``stamp`` holds that iteration.

A minimizer consists of a frozen configuration (:class:`SampledMinimizer`) and kernels, selected by
the type of its schedule. :func:`recommend_at` writes the policy at an infoset. :func:`observe_at`
processes estimated losses at an infoset, from whole plays (``learning/whole_plays.py``), and
:func:`observe_episode` the loss of one of the paper's episodes (``learning/balanced_kefr.py``); a
minimizer has one of the two, or both. ``regret/methods.py`` lists all minimizers.
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
        ("parent", np.int32),
        ("rec_seq", np.int32),
    ],
    align=True,
)
"""A learner's record of a rechistory; a minimizer may have one with more fields."""

SEQUENCE = np.dtype(
    [
        ("baseline", np.float64),  # predicts the loss after it
        ("plays", np.float64),  # how often it was played
    ]
)
"""A learner's record of a sequence."""


Infosets = NDArray[np.void]
Nodes = NDArray[np.void]
Sequences = NDArray[np.void]


class SampledArrays(NamedTuple):
    """The state of all minimizers of one player, or of several players one after the other.

    Kernels take the arrays one by one, because unpacking a tuple at every move costs as much as the
    move itself.
    """

    infosets: Infosets  # [n_infosets] of INFOSET
    nodes: Nodes  # [n_nodes] of NODE
    behavior: Floats  # [n_sequences] pi^t where the infoset's stamp is t
    regret: Floats  # [n_cells * numbers_per_cell]
    sequences: Sequences  # [n_sequences] of SEQUENCE
    scratch: Floats  # [2 * max_actions ** 2 + 3 * max_actions]


class Sampling(NamedTuple):
    """How losses are estimated from whole plays (``learning/whole_plays.py``)."""

    shared: int = 0  # episodes per iteration in which nobody explores and everybody learns
    follow: float = 0.0  # the share of pi^t in the policy of an episode that explores
    baseline: float = 0.0  # the first baseline of every sequence
    baseline_rate: float = 0.0  # how fast baselines follow the losses, at least; 0: never
    trace: float = 1.0  # the weight of the play, not of later baselines, in that
    averages: int = 1  # how many iterates a component of the saved mixture averages


class SampledMinimizer(Protocol):
    """A configured regret minimizer for sampled losses: a frozen dataclass without arrays."""

    @property
    def name(self) -> str:
        """The name in ``regret/methods.py``."""

    @property
    def whole_plays(self) -> bool:
        """Whether it learns from whole plays, not from the paper's episodes."""

    @property
    def explorations(self) -> tuple[str, ...]:
        """The ways to explore (``learning/exploration.py``) that suit it, the default first."""

    @property
    def sampling(self) -> Sampling:
        """How it estimates losses from whole plays."""

    @property
    def node(self) -> np.dtype[np.void]:
        """Its record of a rechistory: :data:`NODE` and what else it needs."""

    @property
    def numbers_per_cell(self) -> int:
        """How many numbers it keeps per cell of the rechistory tree."""

    def schedule(
        self, plexes: tuple[Treeplex, ...], k: SupportsIndex | float, iterations: int | None
    ) -> Any:
        """The parameters of its kernels for these players, as a NamedTuple.

        Args:
            plexes: The treeplexes of all players.
            k: How many recommendations a deviator may disobey.
            iterations: The paper's T, if known.
        """


def footprint(minimizer: SampledMinimizer) -> Footprint:
    """Memory of :class:`SampledArrays`: a record per rechistory, numbers per cell."""
    return Footprint(per_node=minimizer.node.itemsize, per_cell=8 * minimizer.numbers_per_cell)


def new_sampled(
    tree: RechistoryTree, minimizer: SampledMinimizer, **known: Ints | Floats
) -> SampledArrays:
    """Arrays of ``minimizer`` on ``tree`` before the first iteration.

    ``known`` has values of more fields of the minimizer's record of a rechistory; fields that it
    does not have are left out.
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
    nodes = np.zeros(tree.n_nodes, minimizer.node)
    nodes["rec_reach"][0] = 1.0
    nodes["parent"] = tree.arrays.parent
    nodes["rec_seq"] = tree.arrays.rec_seq
    known["first_cell"] = tree.arrays.first_cell[:-1]
    for name in known.keys() & set(nodes.dtype.names or ()):
        nodes[name] = known[name]
    sequences = np.zeros(plex.n_sequences, SEQUENCE)
    sequences["baseline"] = minimizer.sampling.baseline
    n = plex.max_actions
    return SampledArrays(
        infosets=infosets,
        nodes=nodes,
        behavior=np.ones(plex.n_sequences),
        regret=np.zeros(tree.n_cells * minimizer.numbers_per_cell),
        sequences=sequences,
        scratch=np.zeros(2 * n * n + 3 * n),
    )


def join(parts: Sequence[SampledArrays], episodes: Sequence[int], per_cell: int) -> SampledArrays:
    """The arrays of several players, joined so that a kernel need not choose between them.

    Indices are shifted and nothing is shared: starting from an infoset, a kernel reaches only the
    data of that infoset's player. ``episodes`` is how many each player samples per iteration,
    ``per_cell`` the numbers kept per cell.
    """
    infosets = aligned_concatenate([part.infosets for part in parts])
    nodes = aligned_concatenate([part.nodes for part in parts])
    x = seq = node = cell = episode = 0
    for part, count in zip(parts, episodes, strict=True):
        own, tree = infosets[x : x + len(part.infosets)], nodes[node : node + len(part.nodes)]
        own["first_seq"] += seq
        own["first_cell"] += cell
        for name in ("first_node", "first_external", "end_node"):
            own[name] += node
        tree["parent"] += node
        tree["rec_seq"] += seq
        for name, shift in (("first_cell", cell), ("episode", episode)):
            if name in (nodes.dtype.names or ()):
                tree[name] += shift
        x += len(own)
        seq += len(part.behavior)
        node += len(tree)
        cell += len(part.regret) // per_cell
        episode += count
    return SampledArrays(
        infosets=infosets,
        nodes=nodes,
        behavior=aligned_concatenate([part.behavior for part in parts]),
        regret=aligned_concatenate([part.regret for part in parts]),
        sequences=aligned_concatenate([part.sequences for part in parts]),
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
def observe_at(
    schedule: Any,
    x: int,
    visits: float,
    scale: float,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> None:
    """Feed the estimated losses ``scale * scratch[a]`` at ``x`` to all of its rechistories.

    Args:
        schedule: The minimizer's parameters.
        x: An infoset with more than one action.
        visits: How often the player's own episodes have visited it.
        scale: The inverse of the probability with which they visit it in an iteration, without the
            part of chance and the others.
        infosets: This and the arguments below are fields of :class:`SampledArrays`.
    """


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
        infosets: This and the arguments below are fields of :class:`SampledArrays`.
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
