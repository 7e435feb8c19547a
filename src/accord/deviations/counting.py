"""The number of rechistories, counted before any is made.

At an infoset reached through decisions with A_1, ..., A_{h-1} actions, a rechistory with j
mismatches is given by the j decisions at which the player disobeyed and the recommendations there:
e_j(A_1 - 1, ..., A_{h-1} - 1) ways, where e_j is the elementary symmetric polynomial. So there are

    sum_{j < K} e_j   SWAP rechistories      (Type I:  fewer than K deviations so far), and
    e_K               EXTERNAL rechistories  (Type II: it ends with the K-th deviation),

which for equal action sets are ``sum_{j<K} C(h-1, j) (A-1)^j`` and ``C(h-1, K) (A-1)^K``. A SWAP
rechistory has one cell per (recommendation, action), an EXTERNAL rechistory one per action.

The trees of the other notions have the same two blocks of rechistories at each infoset, before the
deviation and after it. A coarse deviator does not see the recommendation that they disobey, so each
decision counts 1 instead of A_j - 1. ``deviations/rechistory.py`` describes their cells. A linear
deviator has no rechistories: their cells are pairs of sequences, and their rows pairs of an infoset
and a sequence (``equilibrium/linear_gap.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import EFCE, Notion, NotionLike, as_notion, clipped_k
from accord.treeplex.treeplex import Treeplex

BYTES_PER_NODE = 16
"""Memory of a :class:`~accord.deviations.rechistory.RechistoryTree`: four int32 per rechistory."""

LARGEST_COUNT = 1e200
"""Counts per infoset are capped here, so that their sums and products stay finite."""


class Footprint(NamedTuple):
    """Bytes that something on rechistories takes, and the tree that it is on."""

    per_node: int
    per_cell: int
    tree: int = BYTES_PER_NODE  # per node; 0 for what needs no tree


EVALUATION = Footprint(8, 8)
"""Of evaluating a policy: time selections, and the losses of deviations."""


@dataclass(frozen=True)
class RechistoryCount:
    """Size of one player's rechistory tree, in floats because it may be huge; exact below 2**53."""

    k: int  # clipped to the player's horizon
    swap: float  # SWAP (or COARSE) rechistories, over all infosets
    external: float  # EXTERNAL (or OBEDIENT) rechistories
    cells: float  # (rechistory, modification) entries, which learners and evaluators accumulate
    rows: float = 0.0  # decisions of the deviator: per recommendation at SWAP rechistories

    @property
    def nodes(self) -> float:
        return self.swap + self.external

    @property
    def tree_bytes(self) -> float:
        """Memory of the tree itself."""
        return BYTES_PER_NODE * self.nodes

    def bytes(self, footprint: Footprint) -> float:
        """Memory of arrays with this ``footprint``, and of their tree."""
        return (footprint.tree + footprint.per_node) * self.nodes + footprint.per_cell * self.cells


def count_cells(plexes: Iterable[Treeplex], k: NotionLike) -> float:
    """The cells on the rechistories of all players: the sums that their gaps take."""
    return sum(count_rechistories(plex, k).cells for plex in plexes)


def count_rechistories(plex: Treeplex, k: NotionLike) -> RechistoryCount:
    """Count the rechistories of one player without making them."""
    notion, known = as_notion(k), _known.setdefault(plex, {})
    if notion not in known:
        known[notion] = _count(plex, notion)
    return known[notion]


_known: WeakKeyDictionary[Treeplex, dict[Notion | None, RechistoryCount]] = WeakKeyDictionary()


def _count(plex: Treeplex, notion: Notion) -> RechistoryCount:
    clipped = clipped_k(plex, notion.deviations)
    if notion.linear:
        sequences = float(plex.n_sequences)
        return RechistoryCount(clipped, 0.0, 0.0, sequences**2, sequences * plex.n_infosets)
    swap, external = rechistories_per_infoset(plex, clipped, coarse=notion.coarse)
    return _counted(plex, notion, clipped, swap, external)


def count_learned(plex: Treeplex, k: NotionLike) -> RechistoryCount:
    """Count what a learner from episodes keeps (``learning/tables.py``).

    It keeps no cells of obeying, whose regret is zero: a coarse rechistory has one cell per action,
    as if it were EXTERNAL, and OBEDIENT ones are left out.
    """
    notion = as_notion(k)
    if notion.k is not None:
        return count_rechistories(plex, notion)
    swap, external = rechistories_per_infoset(
        plex, clipped_k(plex, notion.deviations), coarse=notion.coarse
    )
    if notion.agent:
        external = np.zeros_like(external)
    if notion.coarse:
        swap, external = np.zeros_like(swap), swap + external
    return _counted(plex, EFCE, 1, swap, external)


def count_triggers(plex: Treeplex) -> RechistoryCount:
    """Count the nodes of the tree of trigger policies (``deviations/rechistory.py``)."""
    known = _known.setdefault(plex, {})
    if None not in known:
        known[None] = _counted(plex, EFCE, 1, *triggers_per_infoset(plex))
    return known[None]


def _counted(
    plex: Treeplex, notion: Notion, k: int, swap: Floats, external: Floats
) -> RechistoryCount:
    actions = plex.n_actions.astype(np.float64)
    per_swap, per_external = cells_per_rechistory(actions, notion)
    cells = float((swap * per_swap + external * per_external).sum())
    rows = float((swap * (1.0 if notion.coarse else actions) + external).sum())
    return RechistoryCount(k, float(swap.sum()), float(external.sum()), cells, rows)


def cells_per_rechistory(actions: Floats, notion: Notion) -> tuple[Floats, Floats]:
    """Cells of a rechistory before and after the deviation, where there are this many actions."""
    return (
        actions + 1 if notion.coarse else actions**2,
        np.ones_like(actions) if notion.agent else actions,
    )


def rechistories_per_infoset(
    plex: Treeplex, k: int, *, coarse: bool = False
) -> tuple[Floats, Floats]:
    """``[n_infosets]`` numbers of SWAP and EXTERNAL rechistories, for ``k`` <= the horizon."""
    swap, external = np.zeros(plex.n_infosets), np.zeros(plex.n_infosets)
    if k == plex.horizon:  # every rechistory: sum_j e_j is the product of the A_j
        swap[: plex.layers[1] if k else 0] = 1.0
        for start, end in zip(plex.layers[1:-1], plex.layers[2:], strict=True):
            parent = plex.seq_infoset[plex.parent_seq[start:end]]
            ways = swap[parent] * (2.0 if coarse else plex.n_actions[parent])
            swap[start:end] = np.minimum(ways, LARGEST_COUNT)
        return swap, external
    above, start_above = np.empty((0, k + 1)), 0  # e_0 .. e_K of the previous layer's infosets
    for start, end in zip(plex.layers[:-1], plex.layers[1:], strict=True):
        ways = np.zeros((end - start, k + 1))
        if start == 0:
            ways[:, 0] = 1.0
        else:
            parent = plex.seq_infoset[plex.parent_seq[start:end]]
            ways += above[parent - start_above]
            disobeyed = 1.0 if coarse else plex.n_actions[parent, None] - 1.0
            ways[:, 1:] += above[parent - start_above, :-1] * disobeyed
            np.minimum(ways, LARGEST_COUNT, out=ways)
        swap[start:end] = ways[:, :-1].sum(axis=1)
        external[start:end] = ways[:, -1]
        above, start_above = ways, int(start)
    return swap, external


def triggers_per_infoset(plex: Treeplex) -> tuple[Floats, Floats]:
    """``[n_infosets]`` numbers of SWAP and EXTERNAL nodes in the tree of trigger policies."""
    external = np.zeros(plex.n_infosets)
    for start, end in zip(plex.layers[1:-1], plex.layers[2:], strict=True):
        above = plex.seq_infoset[plex.parent_seq[start:end]]
        external[start:end] = external[above] + plex.n_actions[above]
    return np.ones(plex.n_infosets), external
