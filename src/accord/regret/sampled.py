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

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, with_room
from accord._jit import generic, generic_part, jit, part
from accord.deviations.notions import NotionLike
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

    Kernels that run once per episode or less often take the tuple. Those that run at every move
    take its arrays one by one: with the tuple an episode of Leduc takes 830 ns instead of 600,
    because every array that is taken out of a tuple is counted, atomically, as one more reference.
    """

    infosets: Infosets  # [n_infosets] of INFOSET
    nodes: Nodes  # [n_nodes] of NODE
    behavior: Floats  # [n_sequences] pi^t where the infoset's stamp is t
    regret: Floats  # [n_cells * numbers_per_cell]
    sequences: Sequences  # [n_sequences] of SEQUENCE
    scratch: Floats  # [2 * max_actions ** 2 + 3 * max_actions]


class Notes(NamedTuple):
    """What the plays of an iteration say about baselines, which change when it has ended."""

    size: NDArray[np.int64]  # [1] how many there are
    seq: NDArray[np.int64]  # [room] the sequence
    rate: Floats  # [room] how far its baseline moves
    target: Floats  # [room] to what

    @classmethod
    def of(cls, room: int) -> Notes:
        """No notes, with ``room`` for so many."""
        return cls(np.zeros(1, np.int64), np.zeros(room, np.int64), np.zeros(room), np.zeros(room))

    def with_room(self, room: int) -> Notes:
        """These notes in arrays with room for at least ``room`` of them."""
        return Notes(self.size, *(with_room(array, room) for array in self[1:]))


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

    def schedule(self, plexes: tuple[Treeplex, ...], k: NotionLike, iterations: int | None) -> Any:
        """The parameters of its kernels for these players, as a NamedTuple.

        Args:
            plexes: The treeplexes of all players.
            k: How many recommendations a deviator may disobey, or another notion.
            iterations: The paper's T, if known.
        """


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


@generic_part
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


@generic_part
def observe_episode(
    schedule: Any,
    episode: int,
    target: int,
    loss: float,
    followed: float,
    path: Ints,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
) -> None:
    """Feed the loss of an episode to the minimizer at the infoset that it reached at its target.

    Args:
        schedule: The minimizer's parameters.
        episode: Its number in the sampling plan.
        target: The layer whose losses it estimates; the play must have reached it.
        loss: The loss of the play, in [0, 1].
        followed: The probability with which pi^t took the actions before the target layer at which
            the episode did not explore.
        path: ``[2, horizon]`` infoset and action at each layer.
        infosets: This and the arguments below are fields of :class:`SampledArrays`.
    """


@part
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
def settle_baselines(notes: Notes, sequences: Sequences) -> None:
    """Move the baselines as noted, in order, within [0, 1]; clear the notes."""
    for i in range(notes.size[0]):
        seq = notes.seq[i]
        now = sequences[seq].baseline
        sequences[seq].baseline = min(max(now + notes.rate[i] * (notes.target[i] - now), 0.0), 1.0)
    notes.size[0] = 0


@part
def update_reach(x: int, t: int, infosets: Infosets, nodes: Nodes, behavior: Floats) -> bool:
    """Compute M_b at ``x`` for iteration t; return whether the policy must be computed too.

    A single action needs no computation: its probability is set to 1.
    """
    at = infosets[x]
    at.stamp = t
    if at.n_actions == 1:
        behavior[at.first_seq] = 1.0
    for node in range(at.first_node, at.end_node):
        nodes[node].rec_reach = nodes[nodes[node].parent].rec_reach * behavior[nodes[node].rec_seq]
    return bool(at.n_actions > 1)
