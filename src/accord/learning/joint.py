"""The learners of all players as one, so that a kernel serves any number of players.

Kernels visit infosets in order, and what they do at an infoset depends only on the same player's
earlier ones. So the players' arrays, one after the other with shifted indices, are again a
treeplex, a rechistory tree and a leaf table, on which one pass takes the turns of all players. A
tuple of players would do too, but kernels would be compiled for every number of players.

Each player begins with a *start*: an infoset whose only action is the player's empty sequence and
whose only rechistory is the player's root. It closes the gap that the two leave in the offsets
between one player's infosets and the next player's. The empty sequence leads to its own start, by
which kernels that pass losses upward know that they have arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Ints
from accord.deviations.rechistory import RechistoryArrays
from accord.learning.kefr import KEFR
from accord.regret.state import MinimizerArrays
from accord.treeplex.form import Form
from accord.treeplex.leaves import LeafArrays
from accord.treeplex.treeplex import TreeplexArrays


class JointLearner(NamedTuple):
    """All learners in one set of arrays."""

    schedule: Any
    plex: TreeplexArrays
    tree: RechistoryArrays
    leaves: LeafArrays
    state: MinimizerArrays
    first_seq: NDArray[np.int64]  # [n_players] each player's empty sequence
    first_cell: NDArray[np.int64]  # [n_players] and the cell of their root


def join_learners(form: Form, learners: Sequence[KEFR]) -> JointLearner:
    """Join ``learners``, whose states become views of the new arrays."""
    seqs = form.leaves.first_reach[:-1]
    infosets = _starts([learner.plex.n_infosets + 1 for learner in learners])
    nodes = _starts([learner.tree.n_nodes for learner in learners])
    cells = _starts([learner.tree.n_cells for learner in learners])
    rows = _starts([len(form.leaves) for _ in learners])
    plexes = [learner.plex.arrays for learner in learners]
    trees = [learner.tree.arrays for learner in learners]
    plex = TreeplexArrays(
        first_seq=_offsets([p.first_seq for p in plexes], seqs, start=True),
        parent_seq=_indices([np.append(0, p.parent_seq) for p in plexes], seqs),
        first_child=_offsets([np.append(0, p.first_child[1:] + 1) for p in plexes], infosets),
    )
    tree = RechistoryArrays(
        first_node=_offsets([t.first_node for t in trees], nodes, start=True),
        first_external=_indices([np.append(0, t.first_external) for t in trees], nodes),
        parent=_indices([t.parent for t in trees], nodes),
        rec_seq=_indices([t.rec_seq for t in trees], seqs),
        parent_cell=_indices([t.parent_cell for t in trees], cells),
        first_cell=_offsets([t.first_cell for t in trees], cells),
        kinds=trees[0].kinds,
    )
    tables = form.leaves.arrays
    leaves = LeafArrays(
        first_row=_offsets([table.first_row for table in tables], rows).astype(np.int64),
        others=np.concatenate([table.others for table in tables]),
        loss=np.concatenate([table.loss for table in tables]),
        prob=np.concatenate([table.prob for table in tables]),
    )
    for array in (*plex, *tree):
        array.flags.writeable = False
    states = list(zip(*(learner.state for learner in learners), strict=True))  # field by field
    state = MinimizerArrays(*map(np.concatenate, states))
    views = [
        np.split(joint, np.cumsum([len(part) for part in parts])[:-1])
        for joint, parts in zip(state, states, strict=True)
    ]
    for learner, *parts in zip(learners, *views, strict=True):
        learner.state = MinimizerArrays(*parts)
    schedule = _join_schedules([learner.schedule for learner in learners])
    return JointLearner(schedule, plex, tree, leaves, state, seqs, cells)


def _join_schedules(schedules: Sequence[Any]) -> Any:
    """Plain numbers are the same for all players; arrays get an entry for each start."""
    return type(schedules[0])(
        *(
            np.concatenate([np.append(0.0, part) for part in parts])
            if isinstance(parts[0], np.ndarray)
            else parts[0]
            for parts in zip(*schedules, strict=True)
        )
    )


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where each of several arrays starts when they are joined."""
    return np.cumsum([0, *sizes[:-1]], dtype=np.int64)


def _indices(arrays: Sequence[Ints], shifts: NDArray[np.int64]) -> Ints:
    """Arrays of indices, joined; those of player i are shifted by ``shifts[i]``."""
    shifted = [array + shift for array, shift in zip(arrays, shifts, strict=True)]
    return np.concatenate(shifted).astype(np.int32)


def _offsets(arrays: Sequence[Any], shifts: NDArray[np.int64], *, start: bool = False) -> Any:
    """Arrays of offsets, joined into one: where a part ends, the next begins.

    With ``start`` there is another item before each player's first.
    """
    blocks = [np.append(0, array[:-1]) if start else array[:-1] for array in arrays]
    return _indices([*blocks, arrays[-1][-1:]], np.append(shifts, shifts[-1]))
