"""One player's tables: everything that a learner from episodes keeps.

A learner has a record per infoset, per rechistory and per sequence, and numbers per cell
(``regret/sampled.py``). An infoset x that follows the move (y, a) takes its rechistories from those
of y (``deviations/rechistory.py``). The records of x go to the end of each array, and every index
points backwards. So tables can be made of a known treeplex (:meth:`Tables.of`), and infosets can be
added one by one, when a play first shows them (:meth:`Tables.add`); either way they grow alike.

A learner that meets its infosets while it plays learns what one that knows them learns, because all
tables begin at zero. At an infoset that was never visited all regrets are zero and pi^t is uniform,
and so is the policy that explores. Both are known in advance, so estimates are unbiased for the
whole game, seen or not.

For other notions than K-EFCE a learner keeps the rechistories at which it can have regret
(``regret/regret_matching.py``). A COARSE one has the regrets of an EXTERNAL one and is kept as one,
before those; at OBEDIENT ones nothing is decided, and none are kept. So minimizers do not notice.

The policy that *spreads* takes each action in proportion to 1 plus the number of childless infosets
known below it. It changes only when :meth:`Tables.spread_out` is called, and exploration of a
user's own only when :meth:`Tables.explore_by` is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, aligned_concatenate, with_room
from accord._format import memory
from accord._jit import jit
from accord._memory import available_memory
from accord.deviations.counting import BYTES_PER_NODE, Footprint, count_learned
from accord.deviations.notions import NotionLike, as_notion
from accord.deviations.rechistory import MAX_CELLS, check_budget
from accord.errors import BudgetError
from accord.regret.sampled import (
    INFOSET,
    SEQUENCE,
    Infosets,
    Nodes,
    SampledArrays,
    SampledMinimizer,
)
from accord.treeplex.strategy import uniform_behavior
from accord.treeplex.treeplex import Treeplex

UNLIMITED = 2**30
"""K = infinity: more deviations than a play has moves."""

START = 64
"""The first size of every array of tables that begin empty."""


class Rule(NamedTuple):
    """What makes the rechistories of an infoset of those of the infoset before it."""

    k: int  # how many recommendations a deviator may disobey
    coarse: bool
    agent: bool


class Tables:
    """The tables of one player, which begin empty. Infosets are numbered from 0 in their order.

    Attributes:
        rule: What makes the rechistories of an infoset of those before it.
        minimizer: The regret minimizer that they are for.
        arrays: The minimizers' state. Arrays may have room for more than there is.
        n_infosets: How many infosets there are.
        n_sequences: How many sequences they have, with the empty one.
        n_nodes: How many rechistories they have, with the root.
        n_cells: How many cells those have, with that of the root.
        parent_seq: The sequence that leads to each infoset.
        seq_infoset: The infoset of each sequence but the empty one.
        spread: The policy that explores: one that spreads, or uniform.
    """

    def __init__(self, k: NotionLike, minimizer: SampledMinimizer) -> None:
        self.minimizer, notion = minimizer, as_notion(k)
        most = UNLIMITED if math.isinf(notion.deviations) else int(notion.deviations)
        self.rule = Rule(most, notion.coarse, notion.agent)
        self._n_spread = 0  # infosets that the policy that spreads has taken in
        self._allocate(START, START, START, START, 1)

    @classmethod
    def of(
        cls, plex: Treeplex, k: NotionLike, minimizer: SampledMinimizer, budget: int | None = None
    ) -> Tables:
        """The tables with all infosets of ``plex``, with its numbers and without room for more.

        Raises:
            BudgetError: If they take more than ``budget`` bytes, by default the free memory.
        """
        count = count_learned(plex, k)
        check_budget(count, budget, footprint(minimizer))
        tables = cls(k, minimizer)
        tables._allocate(
            plex.n_infosets, plex.n_sequences, 1 + int(count.nodes), 1 + int(count.cells),
            plex.max_actions,
        )  # fmt: skip
        tables.parent_seq[:] = plex.parent_seq
        tables.arrays.infosets["n_actions"] = plex.n_actions
        tables.spread[:] = uniform_behavior(plex)
        tables._take_in(plex.n_infosets)
        return tables

    def add(self, parent_seq: int, n_actions: int) -> int:
        """Add an infoset that follows ``parent_seq``, and return its number."""
        x = self.n_infosets
        swap, external = count_nodes(
            parent_seq, self.rule, self.seq_infoset, self.arrays.infosets, self._deviations
        )
        self._reserve(
            x + 1, self.n_sequences + n_actions, self.n_nodes + swap + external,
            self.n_cells + (swap * n_actions + external) * n_actions, n_actions,
        )  # fmt: skip
        here = slice(self.n_sequences, self.n_sequences + n_actions)
        self.parent_seq[x] = parent_seq
        self.arrays.infosets["n_actions"][x] = n_actions
        self.arrays.sequences["baseline"][here] = self.minimizer.sampling.baseline
        self.spread[here] = 1.0 / n_actions
        self._take_in(x + 1)
        return x

    def describe_nodes(self, **fields: Ints | Floats) -> None:
        """Write fields of all rechistories' records; those that they do not have are left out."""
        for name in fields.keys() & set(self.arrays.nodes.dtype.names or ()):
            self.arrays.nodes[name] = fields[name]

    def spread_out(self) -> None:
        """Let the policy that spreads take in the infosets that were added since the last call."""
        if self._n_spread == self.n_infosets:
            return
        count_ends(
            self._n_spread, self.n_infosets, self.parent_seq, self.seq_infoset,
            self.arrays.infosets, self._ends, self.spread,
        )  # fmt: skip
        self._n_spread = self.n_infosets

    def explore_by(self, law: Callable[[int], Floats]) -> None:
        """Like :meth:`spread_out`, by the probabilities that ``law`` has for an infoset."""
        for x in range(self._n_spread, self.n_infosets):
            first, n = self.arrays.infosets["first_seq"][x], self.arrays.infosets["n_actions"][x]
            self.spread[first : first + n] = law(x)
        self._n_spread = self.n_infosets

    @property
    def n_bytes(self) -> int:
        """The memory of all tables."""
        more = (self.parent_seq, self.seq_infoset, self._deviations, self._ends, self.spread)
        return sum(array.nbytes for array in (*self.arrays, *more))

    @property
    def n_used(self) -> int:
        """The part of it that is in use: at least half if they have grown."""
        own = self.arrays
        return (
            self.n_infosets * (own.infosets.itemsize + 4)
            + self.n_sequences * (own.sequences.itemsize + 28)
            + self.n_nodes * (own.nodes.itemsize + 4)
            + self.n_cells * 8 * self.minimizer.numbers_per_cell
        )

    def state(self) -> dict[str, Any]:
        """Everything that cannot be rebuilt from the infosets, by name; arrays are views."""
        seqs, cells = self.n_sequences, self.n_cells * self.minimizer.numbers_per_cell
        own = self.arrays
        credit = "credit" in (own.nodes.dtype.names or ())
        return {
            "behavior": own.behavior[:seqs],
            "regret": own.regret[:cells],
            "baseline": own.sequences["baseline"][:seqs],
            "plays": own.sequences["plays"][:seqs],
            "ends": self._ends[:seqs],
            "spread": self.spread[:seqs],
            **({"credit": own.nodes["credit"][: self.n_nodes]} if credit else {}),
            "n_spread": np.array(self._n_spread),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`; the infosets must have been added.

        Raises:
            ValueError: If it is not one.
        """
        for name, array in self.state().items():
            saved = state[name]
            if (saved.shape, saved.dtype.kind) != (array.shape, array.dtype.kind):
                raise ValueError(f"{name} must have the shape {array.shape}")
            if not np.isfinite(saved).all():
                raise ValueError(f"{name} must be finite")
            if array.ndim:
                array[:] = saved
        self._n_spread = int(state["n_spread"])
        if not 0 <= self._n_spread <= self.n_infosets:
            raise ValueError("n_spread must be a number of infosets")

    def _allocate(
        self, infosets: int, sequences: int, nodes: int, cells: int, n_actions: int
    ) -> None:
        """New arrays of these sizes, for at most ``n_actions`` at an infoset."""
        # zeros: pages are allocated when they are written
        self.arrays = SampledArrays(
            infosets=np.zeros(infosets, INFOSET),
            nodes=np.zeros(nodes, self.minimizer.node),
            behavior=np.ones(sequences),
            regret=np.zeros(cells * self.minimizer.numbers_per_cell),
            sequences=np.zeros(sequences, SEQUENCE),
            scratch=np.zeros(scratch_size(n_actions)),
        )
        self.arrays.nodes["rec_reach"][0] = 1.0
        self.arrays.sequences["baseline"] = self.minimizer.sampling.baseline
        self.parent_seq = np.zeros(infosets, np.int32)
        self.seq_infoset = np.zeros(sequences, np.int32)
        self._deviations = np.zeros(nodes, np.int32)  # of each rechistory
        self._ends = np.ones(sequences)  # 1 + the childless infosets below each sequence
        self.spread = np.ones(sequences)
        self.n_infosets, self.n_sequences, self.n_nodes, self.n_cells = 0, 1, 1, 1

    def _take_in(self, end: int) -> None:
        """Write the records of all infosets up to ``end - 1``, of which two facts are written."""
        own = self.arrays
        self.n_sequences, self.n_nodes, self.n_cells = add_infosets(
            self.n_infosets, end, self.rule, self.parent_seq, self.seq_infoset, own.infosets,
            own.nodes, self._deviations,
        )  # fmt: skip
        self.n_infosets = end

    def _reserve(self, infosets: int, seqs: int, nodes: int, cells: int, n_actions: int) -> None:
        """Make room for this many in total, and for an infoset with so many actions."""
        if cells > MAX_CELLS:
            self._refuse(8 * cells * self.minimizer.numbers_per_cell)
        own, numbers = self.arrays, cells * self.minimizer.numbers_per_cell
        self.arrays = SampledArrays(
            infosets=self._with_room(own.infosets, infosets),
            nodes=self._with_room(own.nodes, nodes),
            behavior=self._with_room(own.behavior, seqs, 1.0),
            regret=self._with_room(own.regret, numbers),
            sequences=self._with_room(own.sequences, seqs),
            scratch=self._with_room(own.scratch, scratch_size(n_actions)),
        )
        self.parent_seq = self._with_room(self.parent_seq, infosets)
        self.seq_infoset = self._with_room(self.seq_infoset, seqs)
        self._deviations = self._with_room(self._deviations, nodes)
        self._ends = self._with_room(self._ends, seqs, 1.0)
        self.spread = self._with_room(self.spread, seqs, 1.0)

    def _with_room(self, array: NDArray[Any], size: int, fill: float = 0.0) -> Any:
        if size > len(array):
            required = max(size, 2 * len(array)) * array.itemsize
            if required > (available := available_memory()):
                self._refuse(required, available)
        return with_room(array, size, fill)

    def _refuse(self, required: int, available: int | None = None) -> None:
        have = available_memory() if available is None else available
        raise BudgetError(
            f"the tables of {self.n_infosets:,} infosets take {memory(self.n_bytes)} and must "
            f"grow by {memory(required)}, but {memory(have)} are free, and a player can have at "
            f"most {MAX_CELLS:.3g} cells; try a smaller k, or an environment that shows less",
            required,
            have,
        )


def footprint(minimizer: SampledMinimizer, *, tree: bool = False) -> Footprint:
    """Memory of tables: a record and a number per rechistory, numbers per cell.

    With ``tree`` there is a :class:`~accord.deviations.rechistory.RechistoryTree` beside them.
    """
    return Footprint(
        per_node=minimizer.node.itemsize + 4,
        per_cell=8 * minimizer.numbers_per_cell,
        tree=BYTES_PER_NODE if tree else 0,
    )


def scratch_size(n_actions: int) -> int:
    """How many numbers a minimizer needs to compute a policy over so many actions."""
    return 2 * n_actions * n_actions + 3 * n_actions


def joined(parts: Sequence[Tables], episodes: Sequence[int]) -> SampledArrays:
    """The arrays of several players, joined so that a kernel need not choose between them.

    Indices are shifted and nothing is shared: starting from an infoset, a kernel reaches only the
    data of that infoset's player. The tables must not have room for more than they have.
    ``episodes`` is how many each player samples alone per iteration.
    """
    states = [part.arrays for part in parts]
    infosets = aligned_concatenate([state.infosets for state in states])
    nodes = aligned_concatenate([state.nodes for state in states])
    x = seq = node = cell = episode = 0
    for part, count in zip(parts, episodes, strict=True):
        own, tree = infosets[x : x + part.n_infosets], nodes[node : node + part.n_nodes]
        own["first_seq"] += seq
        own["first_cell"] += cell
        for name in ("first_node", "first_external", "end_node"):
            own[name] += node
        tree["parent"] += node
        tree["rec_seq"] += seq
        for name, shift in (("first_cell", cell), ("episode", episode)):
            if name in (nodes.dtype.names or ()):
                tree[name] += shift
        x += part.n_infosets
        seq += part.n_sequences
        node += part.n_nodes
        cell += part.n_cells
        episode += count
    return SampledArrays(
        infosets=infosets,
        nodes=nodes,
        behavior=aligned_concatenate([state.behavior for state in states]),
        regret=aligned_concatenate([state.regret for state in states]),
        sequences=aligned_concatenate([state.sequences for state in states]),
        scratch=max((state.scratch for state in states), key=len),
    )


@jit
def count_nodes(
    parent_seq: int, rule: Rule, seq_infoset: Ints, infosets: Infosets, deviations: Ints
) -> tuple[int, int]:
    """How many SWAP and EXTERNAL rechistories an infoset after ``parent_seq`` has."""
    if parent_seq == 0:
        return (0, 1) if rule.k == 0 or rule.coarse else (1, 0)
    at = infosets[seq_infoset[parent_seq]]
    if rule.coarse:
        return 0, 1 if rule.agent else 1 + at.end_node - at.first_node
    if rule.agent:
        return 1, 0
    swap, external = 0, at.end_node - at.first_external
    for node in range(at.first_node, at.first_external):
        for r in range(at.n_actions):
            if deviations[node] + (at.first_seq + r != parent_seq) < rule.k:
                swap += 1
            else:
                external += 1
    return swap, external


@jit
def add_infosets(
    first: int,
    end: int,
    rule: Rule,
    parent_seq: Ints,
    seq_infoset: Ints,
    infosets: Infosets,
    nodes: Nodes,
    deviations: Ints,
) -> tuple[int, int, int]:
    """Write the records of infosets ``first .. end - 1``, parents first, and of what they have.

    Their parents and numbers of actions must be there, and room for everything. Returns how many
    sequences, rechistories and cells there are then.
    """
    seq = node = cell = 1
    if first > 0:
        last = infosets[first - 1]
        n, swap = last.n_actions, last.first_external - last.first_node
        seq, node = last.first_seq + n, last.end_node
        cell = last.first_cell + (swap * n + last.end_node - last.first_external) * n
    for x in range(first, end):
        before = parent_seq[x]
        swap, external = count_nodes(before, rule, seq_infoset, infosets, deviations)
        at = infosets[x]
        n = at.n_actions
        at.first_seq = seq
        at.first_node = node
        at.first_external = node + swap
        at.end_node = node + swap + external
        at.first_cell = cell
        at.stamp = -1
        for own in range(seq, seq + n):
            seq_infoset[own] = x
        if before == 0:
            nodes[node].parent = 0
            nodes[node].rec_seq = 0
            deviations[node] = 0
        elif rule.coarse or rule.agent:  # first the one of obeying, then those of leaving
            above = infosets[seq_infoset[before]]
            nodes[node].parent = above.first_node
            nodes[node].rec_seq = before
            for new in range(node + 1, node + swap + external):
                nodes[new].parent = above.first_node + new - node - 1
                nodes[new].rec_seq = 0
        else:
            above = infosets[seq_infoset[before]]
            seen, silent = node, node + swap
            for parent in range(above.first_node, above.first_external):
                for told in range(above.first_seq, above.first_seq + above.n_actions):
                    mismatches = deviations[parent] + (told != before)
                    if mismatches < rule.k:
                        new = seen
                        seen += 1
                    else:
                        new = silent
                        silent += 1
                    nodes[new].parent = parent
                    nodes[new].rec_seq = told
                    deviations[new] = mismatches
            for parent in range(above.first_external, above.end_node):
                nodes[silent].parent = parent
                nodes[silent].rec_seq = 0
                deviations[silent] = deviations[parent]
                silent += 1
        seq += n
        node += swap + external
        cell += (swap * n + external) * n
    return seq, node, cell


@jit
def count_ends(
    first: int,
    end: int,
    parent_seq: Ints,
    seq_infoset: Ints,
    infosets: Infosets,
    ends: Floats,
    spread: Floats,
) -> None:
    """Count the new infosets ``first .. end - 1`` in ``ends`` and ``spread``, one by one.

    Each is counted at all moves that lead to it, as a childless one. If it is the first to follow
    its parent, it takes the place of its parent, which was childless.
    """
    for x in range(first, end):
        seq = parent_seq[x]
        while seq != 0:
            at = infosets[seq_infoset[seq]]
            before = 0.0
            for other in range(at.first_seq, at.first_seq + at.n_actions):
                before += ends[other] - 1.0
            ends[seq] += 1.0
            total = before + 1.0 + at.n_actions
            for other in range(at.first_seq, at.first_seq + at.n_actions):
                spread[other] = ends[other] / total
            if before == 0.0:
                break
            seq = parent_seq[seq_infoset[seq]]
