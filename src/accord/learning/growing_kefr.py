"""A learner whose tables grow while it plays: K-EFR on whole plays, without a known treeplex.

The learner is that of ``learning/whole_plays.py``. It differs in one point: an infoset enters the
tables when a play first shows it. This changes nothing, because all tables begin at zero. At an
infoset that was never visited all regrets are zero and pi^t is uniform, and so is the policy that
explores; both are known in advance, so the estimates are unbiased for the whole game, seen or not.

An infoset x with the parent move (y, a) takes its rechistories from those of y
(``deviations/rechistory.py``): the records of x go to the end of each array, and every index
points backwards. The arrays double when they are full.

The policy that *spreads* takes each action in proportion to 1 plus the number of childless infosets
seen below it. It changes between iterations only, never within one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, aligned_empty
from accord._format import memory
from accord._jit import jit
from accord._memory import available_memory
from accord.deviations.rechistory import MAX_CELLS
from accord.errors import BudgetError
from accord.learning.averaging import add_iterate, write_average
from accord.learning.whole_plays import draw_sampled, observe_play
from accord.regret.sampled import (
    INFOSET,
    SEQUENCE,
    Infosets,
    Nodes,
    SampledArrays,
    SampledMinimizer,
    refresh,
    sample,
)
from accord.treeplex.treeplex import Treeplex

UNLIMITED = 2**30
"""K = infinity: more deviations than a play has moves."""

START = 64
"""The first size of every array."""


class GrowingKEFR:
    """One player's learner. Infosets are numbered from 0 as they are added.

    Attributes:
        state: The minimizers. Arrays have room for more infosets than there are.
        n_infosets: How many infosets have been added.
        n_sequences: How many sequences they have, with the empty one.
    """

    def __init__(
        self,
        k: float,
        minimizer: SampledMinimizer,
        schedule: Any,
        player: int,
        *,
        spread: bool = True,
        batch: int = 1,
    ) -> None:
        self.minimizer, self.schedule, self.player = minimizer, schedule, player
        self.sampling, self._spread = minimizer.sampling, spread
        self._k = UNLIMITED if math.isinf(k) else int(k)
        shared = self.sampling.shared
        self._episodes = np.array([shared, 1] if shared else [1], np.int32) * batch
        self._follow = np.full(len(self._episodes), self.sampling.follow)
        self._column = np.zeros(len(self._episodes), np.int32)
        self.iteration = 0
        self.n_infosets, self.n_sequences = 0, 1
        self._n_nodes = self._n_cells = 1
        self._lengthen(START)
        self.state = SampledArrays(
            infosets=aligned_empty(START, INFOSET),
            nodes=aligned_empty(START, minimizer.node),
            behavior=np.ones(START),
            regret=np.zeros(START * minimizer.numbers_per_cell),
            sequences=np.zeros(START, SEQUENCE),
            scratch=np.zeros(5),
        )
        self.state.nodes[0] = 0
        self.state.nodes["rec_reach"][0] = 1.0
        self._deviations = np.zeros(START, np.int32)  # of each node
        self._parent_seq = np.zeros(START, np.int32)
        self._seq_infoset = np.zeros(START, np.int32)
        self._ends = np.ones(START)  # 1 + the childless infosets below each sequence
        self._base = np.ones((START, 1))  # the policy that explores
        self._total, self._reach = np.zeros(START), np.ones(START)
        self._fresh: list[int] = []  # infosets that the exploration does not know yet

    def begin_iteration(self, t: int) -> None:
        """Start iteration t, in which policies may change."""
        self.iteration = t
        if self._spread:
            for x in self._fresh:
                count_end(
                    x, self._parent_seq, self._seq_infoset, self.state.infosets, self._ends,
                    self._base,
                )  # fmt: skip
        self._fresh.clear()

    def add(self, parent_seq: int, n_actions: int) -> int:
        """Add an infoset that follows ``parent_seq``, and return its number."""
        x, first = self.n_infosets, self.n_sequences
        above = int(self._seq_infoset[parent_seq]) if parent_seq else -1
        swap, external = count_nodes(
            above, parent_seq, self._k, self.state.infosets, self._deviations
        )
        self._reserve(
            x + 1, first + n_actions, self._n_nodes + swap + external,
            self._n_cells + (swap * n_actions + external) * n_actions, n_actions,
        )  # fmt: skip
        self.n_infosets += 1
        self.n_sequences += n_actions
        self._parent_seq[x] = parent_seq
        here = slice(first, first + n_actions)
        self._seq_infoset[here] = x
        own = self.state
        own.sequences["baseline"][here] = self.sampling.baseline
        self._base[here] = own.behavior[here] = 1.0 / n_actions
        add_nodes(
            x, above, parent_seq, first, n_actions, swap, external, self._k, self._n_nodes,
            self._n_cells, own.infosets, own.nodes, self._deviations,
        )  # fmt: skip
        self._n_nodes += swap + external
        self._n_cells += (swap * n_actions + external) * n_actions
        self._fresh.append(x)
        return x

    def add_all(self, plex: Treeplex) -> None:
        """Add all infosets of ``plex``, in its order."""
        for before, n_actions in zip(
            plex.parent_seq.tolist(), plex.n_actions.tolist(), strict=True
        ):
            self.add(before, n_actions)

    def choose(self, x: int, draw: float, *, explores: bool) -> int:
        """Draw the action at ``x``, from pi^t or from the policy that explores."""
        own = self.state
        return int(
            choose_action(
                self.schedule, self.player, x, self.iteration, draw, explores,
                self.sampling.follow, self._base, own.infosets, own.nodes, own.behavior,
                own.regret, own.scratch,
            )
        )  # fmt: skip

    def enter(self, x: int) -> None:
        """Compute pi^t at ``x``, whose ancestors must have been entered, for this iteration."""
        own = self.state
        refresh(
            self.schedule, self.player, x, self.iteration, own.infosets, own.nodes, own.behavior,
            own.regret, own.scratch,
        )  # fmt: skip

    def observe(self, path: Sequence[tuple[int, int]], loss: float) -> None:
        """Learn from an episode with these infosets and actions of the player, and this loss."""
        if len(path) > self._path.shape[1]:
            self._lengthen(2 * len(path))
        own, sampling, now = self.state, self.sampling, self._path
        for j, (x, a) in enumerate(path):
            now[0, j] = x
            now[1, j] = a
        observe_play(
            self.schedule, sampling.baseline_rate, sampling.trace, 0, len(self._episodes),
            self._episodes, self._explores, self._follow, self._column, self._base, now, len(path),
            loss, self._reach_on_path, own.infosets, own.nodes, own.behavior, own.regret,
            own.sequences, own.scratch,
        )  # fmt: skip

    def add_iterate(self, *, everywhere: bool) -> None:
        """Add pi^t to the average of this stretch (``learning/averaging.py``)."""
        own = self.state
        add_iterate(
            self.schedule, self.player, 0, self.n_infosets, self.iteration, everywhere,
            self._parent_seq, own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
            self._reach, self._total,
        )  # fmt: skip

    def average(self) -> Floats:
        """The average of the stretch, over all sequences; the next stretch begins."""
        average = np.empty(self.n_sequences)
        write_average(self.state.infosets[: self.n_infosets], self._total, average)
        return average

    @property
    def n_bytes(self) -> int:
        """The memory of all tables."""
        return sum(array.nbytes for array in (*self.state, *self._more().values()))

    @property
    def n_used(self) -> int:
        """The part of it that is in use, at least half."""
        own, numbers = self.state, self.minimizer.numbers_per_cell
        return (
            self.n_infosets * (own.infosets.itemsize + 4)
            + self.n_sequences * (own.sequences.itemsize + 44)
            + self._n_nodes * (own.nodes.itemsize + 4)
            + self._n_cells * 8 * numbers
        )

    def saved(self) -> dict[str, Any]:
        """Everything that cannot be rebuilt from the infosets."""
        seqs, cells = self.n_sequences, self._n_cells * self.minimizer.numbers_per_cell
        own = self.state
        return {
            "behavior": own.behavior[:seqs],
            "regret": own.regret[:cells],
            "baseline": own.sequences["baseline"][:seqs],
            "plays": own.sequences["plays"][:seqs],
            "total": self._total[:seqs],
            "ends": self._ends[:seqs],
            "base": self._base[:seqs, 0],
            "fresh": np.array(self._fresh, np.int64),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what :meth:`saved` returned; the infosets must have been added."""
        own, fresh = self.saved(), saved["fresh"]
        for name, array in own.items():
            if name != "fresh":
                if saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                    raise ValueError(f"{name} must have the shape {array.shape}")
                if not np.isfinite(saved[name]).all():
                    raise ValueError(f"{name} must be finite")
                array[:] = saved[name]
        if (fresh.ndim, fresh.dtype.kind) != (1, "i") or not (
            (fresh >= 0) & (fresh < self.n_infosets)
        ).all():
            raise ValueError("fresh must be numbers of infosets")
        self._fresh = fresh.tolist()

    def _more(self) -> dict[str, NDArray[Any]]:
        return {
            "_deviations": self._deviations, "_parent_seq": self._parent_seq,
            "_seq_infoset": self._seq_infoset, "_ends": self._ends, "_base": self._base,
            "_total": self._total, "_reach": self._reach,
        }  # fmt: skip

    def _lengthen(self, horizon: int) -> None:
        """Make room for longer plays."""
        self._path = np.zeros((2, horizon), np.int32)
        self._explores = np.zeros((len(self._episodes), horizon), np.bool_)
        self._explores[-1] = True
        self._reach_on_path = np.zeros(horizon + 1)

    def _reserve(self, infosets: int, seqs: int, nodes: int, cells: int, n: int) -> None:
        """Make room for this many in total, doubling what is too small."""
        own = self.state
        if cells > MAX_CELLS:
            self._refuse(8 * cells * self.minimizer.numbers_per_cell)
        if infosets > len(own.infosets):
            self.state = own = own._replace(infosets=self._doubled(own.infosets, infosets))
            self._parent_seq = self._doubled(self._parent_seq, infosets)
        if seqs > len(own.behavior):
            self.state = own = own._replace(
                behavior=self._doubled(own.behavior, seqs, 1.0),
                sequences=self._doubled(own.sequences, seqs),
            )
            self._seq_infoset = self._doubled(self._seq_infoset, seqs)
            self._ends = self._doubled(self._ends, seqs, 1.0)
            self._base = self._doubled(self._base[:, 0], seqs, 1.0)[:, np.newaxis]
            self._total = self._doubled(self._total, seqs)
            self._reach = self._doubled(self._reach, seqs, 1.0)
        if nodes > len(own.nodes):
            self.state = own = own._replace(nodes=self._doubled(own.nodes, nodes))
            self._deviations = self._doubled(self._deviations, nodes)
        numbers = cells * self.minimizer.numbers_per_cell
        if numbers > len(own.regret):
            self.state = own = own._replace(regret=self._doubled(own.regret, numbers))
        if (width := 2 * n * n + 3 * n) > len(own.scratch):
            self.state = own._replace(scratch=np.zeros(width))

    def _doubled(self, array: NDArray[Any], least: int, fill: float = 0.0) -> Any:
        size = max(2 * len(array), least)
        required = size * array.dtype.itemsize
        if required > (available := available_memory()):
            self._refuse(required, available)
        larger = aligned_empty(size, array.dtype)
        larger[: len(array)] = array
        larger[len(array) :] = np.zeros(1, array.dtype) if fill == 0.0 else fill
        return larger

    def _refuse(self, required: int, available: int | None = None) -> None:
        have = available_memory() if available is None else available
        raise BudgetError(
            f"the tables of {self.n_infosets:,} infosets take {memory(self.n_bytes)} and must "
            f"grow by {memory(required)}, but {memory(have)} are free, and a player can have at "
            f"most {MAX_CELLS:.3g} cells; try a smaller k, or an environment that shows less",
            required,
            have,
        )


@jit
def count_nodes(
    above: int, parent_seq: int, k: int, infosets: Infosets, deviations: Ints
) -> tuple[int, int]:
    """How many SWAP and EXTERNAL rechistories a new infoset after ``parent_seq`` has."""
    if above < 0:
        return (1, 0) if k > 0 else (0, 1)
    at = infosets[above]
    swap, external = 0, at.end_node - at.first_external
    for node in range(at.first_node, at.first_external):
        for r in range(at.n_actions):
            if deviations[node] + (at.first_seq + r != parent_seq) < k:
                swap += 1
            else:
                external += 1
    return swap, external


@jit
def add_nodes(
    x: int,
    above: int,
    parent_seq: int,
    first_seq: int,
    n_actions: int,
    swap: int,
    external: int,
    k: int,
    first_node: int,
    first_cell: int,
    infosets: Infosets,
    nodes: Nodes,
    deviations: Ints,
) -> None:
    """Write the records of infoset ``x`` and of its rechistories."""
    at = infosets[x]
    at.first_seq = first_seq
    at.n_actions = n_actions
    at.first_node = first_node
    at.first_external = first_node + swap
    at.end_node = first_node + swap + external
    at.first_cell = first_cell
    at.stamp = -1
    if above < 0:
        nodes[first_node].parent = 0
        nodes[first_node].rec_seq = 0
        deviations[first_node] = 0
        return
    parent = infosets[above]
    seen, silent = first_node, first_node + swap
    for node in range(parent.first_node, parent.first_external):
        for r in range(parent.n_actions):
            seq = parent.first_seq + r
            mismatches = deviations[node] + (seq != parent_seq)
            if mismatches < k:
                new = seen
                seen += 1
            else:
                new = silent
                silent += 1
            nodes[new].parent = node
            nodes[new].rec_seq = seq
            deviations[new] = mismatches
    for node in range(parent.first_external, parent.end_node):
        nodes[silent].parent = node
        nodes[silent].rec_seq = 0
        deviations[silent] = deviations[node]
        silent += 1


@jit
def count_end(
    x: int, parent_seq: Ints, seq_infoset: Ints, infosets: Infosets, ends: Floats, base: Floats
) -> None:
    """Count the new childless infoset ``x`` in ``ends`` and ``base`` at all moves that lead to it.

    If it is the first to follow its parent, it takes the place of its parent, which was childless.
    """
    seq = parent_seq[x]
    while seq != 0:
        y = seq_infoset[seq]
        first, end = infosets[y].first_seq, infosets[y].first_seq + infosets[y].n_actions
        before = 0.0
        for other in range(first, end):
            before += ends[other] - 1.0
        ends[seq] += 1.0
        total = before + 1.0 + infosets[y].n_actions
        for other in range(first, end):
            base[other, 0] = ends[other] / total
        if before == 0.0:
            break
        seq = parent_seq[y]


@jit
def choose_action(
    schedule: Any,
    player: int,
    x: int,
    t: int,
    draw: float,
    explores: bool,
    follow: float,
    base: Floats,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> int:
    """Bring ``x`` up to date and draw an action there."""
    refresh(schedule, player, x, t, infosets, nodes, behavior, regret, scratch)
    if explores:
        return draw_sampled(x, draw, True, follow, 0, base, infosets, behavior)
    return sample(x, draw, infosets, behavior)
