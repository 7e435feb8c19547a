"""Relevant tuples: what several players may have been told on one path of play.

A *position* of a player is what the player has been told so far: a sequence or, if deviators still
listen (K >= 2, AFCE, AFCCE), a recommendation at a rechistory that is not obedient. A tuple has one
position per player, of which at most one is not obedient. It is *relevant* if the infosets of all
its positions lie on a common path; the empty position fits everything. For two players at K <= 1
these are the relevant pairs of sequences of von Stengel and Forges 2008.

For a mixture of joint plans let xi[tuple] be the probability that all players are told their
positions: a *correlation plan*. Then xi[empty] = 1, xi >= 0, and for every player i and infoset (or
rechistory) x

    sum_a xi[.., (x, a), ..] = xi[.., position before x, ..].

These equations are the *groups*: the tuple on the right is the head, those on the left its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accord._arrays import NO_INFOSET, Bools, Ints, Longs
from accord._signals import check_time
from accord.deviations.rechistory import COARSE, OBEDIENT, RechistoryTree
from accord.equilibrium.pair_count import count_pairs
from accord.errors import BudgetError
from accord.treeplex.form import SequenceForm
from accord.treeplex.treeplex import Treeplex

LARGEST_KEY = 2**62
NO_GROUP = -1

LONGEST_PATHS = 50_000_000
"""The most infosets on the paths to all leaves, counted once for each leaf."""

DEEP = 400
"""The product of two players' horizons beyond which pairs are counted in ``pair_count.py``."""


@dataclass(frozen=True, eq=False, repr=False)
class Positions:
    """The positions of one player: sequences, then recommendations at disobedient rechistories."""

    count: int
    first: Longs  # [n_nodes] the position of the first recommendation at each node that hears one
    arriving: Longs  # [n_nodes] the position in which a deviator reaches a node
    above: Longs  # [n_nodes] the position that the recommendations at a node continue
    of_infoset: Longs  # [n_infosets] the obedient node at each infoset, also at K = 0

    @classmethod
    def of(cls, tree: RechistoryTree, obedient: Ints) -> Positions:
        """The positions of one player."""
        plex, arrays = tree.plex, tree.arrays
        others = _hears(tree)
        others[obedient] = False
        sizes = np.where(others, node_actions(tree), 0)
        ends = plex.n_sequences + np.cumsum(sizes, dtype=np.int64)
        first: Longs = ends - sizes
        first[obedient] = plex.first_seq[:-1]
        arriving = np.zeros(tree.n_nodes, np.int64)
        for node in range(1, tree.n_nodes):
            above, seq = int(arrays.parent[node]), int(arrays.rec_seq[node])
            if seq:
                arriving[node] = first[above] + seq - plex.first_seq[plex.seq_infoset[seq]]
            else:
                arriving[node] = arriving[above]
        before = arriving.copy()  # differs at K = 0, where deviators hear nothing
        before[obedient] = plex.parent_seq
        return cls(int(ends[-1]), first, arriving, before, obedient.astype(np.int64))


class Groups(NamedTuple):
    """One equation per player, node that hears a recommendation, and what the others are told."""

    head: Longs  # [n_groups] the tuple without the recommendation
    first: Longs  # [n_groups + 1] members[first[group] : first[group + 1]], by recommendation
    members: Longs  # the tuples with each recommendation, which add up to the head
    of: Longs  # [n_tuples, n_players] the group whose recommendation is the player's last


class RelevantTuples:
    """The relevant tuples of positions, and the equations among them.

    A coordinate is a *place*: 0 for the empty position, else 1 + node, where the node hears a
    recommendation or is obedient.
    """

    def __init__(
        self,
        form: SequenceForm,
        trees: Sequence[RechistoryTree],
        obedient: Sequence[Ints],
        limit: int = LARGEST_KEY,
    ) -> None:
        """All tuples; ``obedient`` are the nodes of players who obey.

        Raises:
            BudgetError: If there are more than ``limit``.
        """
        self.form, self.trees = form, tuple(trees)
        self.positions = list(map(Positions.of, trees, obedient))
        sizes = [positions.count for positions in self.positions]
        check_count(float(np.prod([float(size) for size in sizes])), LARGEST_KEY)
        self.strides = np.concatenate([[1], np.cumprod(sizes[:-1], dtype=np.int64)])
        places = self._relevant_places(limit)
        self.keys, self.places = self._expanded(places, limit)
        order = np.argsort(self.keys)
        self.keys, self.places = self.keys[order], self.places[order]
        self.n_players = form.n_players

    @classmethod
    def of_sequences(cls, form: SequenceForm) -> RelevantTuples:
        """The relevant tuples of sequences, which are the positions at K <= 1."""
        trees = [RechistoryTree.build(plex, 0) for plex in form.plexes]
        return cls(form, trees, [tree.arrays.first_node[:-1] for tree in trees])

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Longs) -> Longs:
        """The numbers of tuples with these keys."""
        found = np.searchsorted(self.keys, keys)
        assert (self.keys[np.minimum(found, len(self.keys) - 1)] == keys).all(), "not relevant"
        return found

    def _relevant_places(self, limit: int) -> Longs:
        """``[n, n_players]`` the places that lie on a common path, at most one not obedient."""
        infosets = _common_paths(self.form, limit)
        obedient = infosets.copy()
        for i, positions in enumerate(self.positions):
            at = infosets[:, i] > 0
            obedient[at, i] = 1 + positions.of_infoset[infosets[at, i] - 1]
        parts = [obedient]
        for i, tree in enumerate(self.trees):  # one deviator at other nodes that hear
            arrays = tree.arrays
            if self.positions[i].count == tree.plex.n_sequences:
                continue
            end = arrays.first_node[1:] if tree.notion.agent else arrays.first_external
            hearing = end - arrays.first_node[:-1]
            lines = np.flatnonzero(infosets[:, i] > 0)
            x = infosets[lines, i] - 1
            check_count(float(hearing[x].sum()), limit)
            line, offset = _repeated(hearing[x])
            nodes = arrays.first_node[x[line]].astype(np.int64) + offset
            keep = nodes != self.positions[i].of_infoset[x[line]]
            table = obedient[lines[line[keep]]].copy()
            table[:, i] = 1 + nodes[keep]
            parts.append(table)
        return np.concatenate(parts)

    def _expanded(self, places: Longs, limit: int) -> tuple[Longs, Longs]:
        """All recommendations at these places: keys, and the places once per key."""
        sizes = np.ones(len(places), np.int64)
        for i, tree in enumerate(self.trees):
            at = places[:, i] > 0
            sizes[at] *= tree.plex.n_actions[tree.node_infoset[places[at, i] - 1]]
        check_count(float(sizes.sum()), limit)
        keys = np.zeros(len(places), np.int64)
        rows = np.arange(len(places))
        for i, tree in enumerate(self.trees):
            node = places[rows, i] - 1
            counts = np.ones(len(rows), np.int64)
            here = node >= 0
            counts[here] = tree.plex.n_actions[tree.node_infoset[node[here]]]
            start = np.where(here, self.positions[i].first[np.maximum(node, 0)], 0)
            index, told = _repeated(counts)
            keys = (keys + start * self.strides[i])[index] + told * self.strides[i]
            rows = rows[index]
        return keys, places[rows]

    @cached_property
    def told(self) -> list[Longs]:
        """Per player, ``[n_tuples]`` the positions."""
        return [
            self.keys // stride % positions.count
            for stride, positions in zip(self.strides, self.positions, strict=True)
        ]

    @cached_property
    def groups(self) -> Groups:
        """The equations, one per group."""
        heads, sizes, members, start = [], [], [], 0
        of = np.full((len(self), self.n_players), NO_GROUP)
        for i, positions in enumerate(self.positions):
            here = np.flatnonzero(self.places[:, i] > 0)
            node = self.places[here, i] - 1
            r = self.told[i][here] - positions.first[node]
            keys, index, group, count = np.unique(
                self.keys[here] - r * self.strides[i],  # of the first member
                return_index=True, return_inverse=True, return_counts=True,
            )  # fmt: skip
            node = node[index]
            before = keys + (positions.above[node] - positions.first[node]) * self.strides[i]
            heads.append(self.find(before))
            sizes.append(count)
            members.append(here[np.argsort(group.ravel(), kind="stable")])
            of[here, i] = start + group.ravel()
            start += len(keys)
        first = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        return Groups(np.concatenate(heads), first, np.concatenate(members), of)

    @cached_property
    def ends(self) -> Longs:
        """``[n_leaves]`` the tuples with which plays end."""
        return self.find(self._leaf_keys())

    def deviating_leaves(self, i: int) -> tuple[Longs, Longs, Longs]:
        """The cells of player i in which leaves are met: cells, tuples and leaves, side by side."""
        tree, positions = self.trees[i], self.positions[i]
        arrays, plex = tree.arrays, tree.plex
        seqs = self.form.leaves.seqs[:, i].astype(np.int64)
        rest = self._leaf_keys() - seqs * self.strides[i]
        at_root = seqs == 0
        first = np.flatnonzero(at_root)
        below = np.flatnonzero(~at_root)
        x = plex.seq_infoset[seqs[below]].astype(np.int64)
        action = seqs[below] - plex.first_seq[x]
        leaf, offset = _repeated(np.diff(arrays.first_node)[x])  # once per rechistory at x
        node = arrays.first_node[x[leaf]].astype(np.int64) + offset
        rows = np.where(tree.is_swap[node], plex.n_actions[x[leaf]], 1)
        line, r = _repeated(np.where(tree.kind[node] == COARSE, 2, rows))
        node, leaf = node[line], leaf[line]
        kind, swap, action = tree.kind[node], tree.is_swap[node], action[leaf]
        obeys = (kind == OBEDIENT) | ((kind == COARSE) & (r == 0))  # told the action of the leaf
        told = positions.first[node] + np.where(obeys, action, r)
        position = np.where(swap | obeys, told, positions.arriving[node])
        offset = np.where(swap, r * plex.n_actions[x[leaf]], kind == COARSE)
        cell = arrays.first_cell[node] + np.where(obeys, 0, offset + action)
        at = self.find(rest[below][leaf] + position * self.strides[i])
        return (
            np.concatenate([np.zeros(len(first), np.int64), cell]),
            np.concatenate([self.find(rest[at_root]), at]),
            np.concatenate([first, below[leaf]]),
        )

    def _leaf_keys(self) -> Longs:
        """``[n_leaves]`` the keys of the tuples with which plays end."""
        return np.asarray(self.form.leaves.seqs.astype(np.int64) @ self.strides)


def count_tuples(form: SequenceForm, limit: int = LARGEST_KEY) -> int:
    """The number of relevant tuples of sequences, found without making them.

    Raises:
        BudgetError: If there are more than ``limit`` tuples of infosets on a common path.
    """
    if form.n_players == 2 and np.prod([float(plex.horizon) for plex in form.plexes]) > DEEP:
        return count_pairs(form)
    infosets = _common_paths(form, limit)
    sizes = np.ones(len(infosets), np.int64)
    for i, plex in enumerate(form.plexes):
        sizes *= np.append(1, plex.n_actions)[infosets[:, i]]
    return int(sizes.sum())


def _common_paths(form: SequenceForm, limit: int) -> Longs:
    """``[n, n_players]`` infosets on a common path, one per player: 0 for none, or 1 + infoset."""
    tuples = np.ones(len(form.leaves))  # of each path alone
    for i, plex in enumerate(form.plexes):
        last = plex.seq_infoset[form.leaves.seqs[:, i]]
        tuples *= np.append(plex.depth, -1)[last] + 2.0  # NO_INFOSET is the last
    check_count(float(tuples.max()), limit)
    steps = float(len(form.leaves)) * sum(plex.horizon for plex in form.plexes)
    check_count(steps, LONGEST_PATHS, "infosets on the paths to all leaves")
    chains = [_chains(plex, form.leaves.seqs[:, i]) for i, plex in enumerate(form.plexes)]
    found: list[Longs] = []
    for table in _tables(chains, np.arange(len(form.leaves)), np.zeros((1, 0), np.int64)):
        check_time()
        found.append(np.unique(table, axis=0))
        check_count(float(sum(map(len, found))), limit)
    return np.concatenate(found)


def _tables(chains: list[Longs], rows: Longs, known: Longs) -> Iterator[Longs]:
    """``[n, n_players]`` 0, or 1 + infoset: of every player nothing, or the infoset at some depth
    of the chain, on each path that has them all; one table per choice of depths.

    ``rows`` are the paths, and ``known`` the infosets of the players so far on each of them.
    """
    i = known.shape[1]
    if i == len(chains):
        yield known
        return
    known = np.broadcast_to(known, (len(rows), i))
    nothing = np.zeros((len(rows), 1), np.int64)
    yield from _tables(chains, rows, np.concatenate([known, nothing], axis=1))
    for depth in range(chains[i].shape[1]):
        there = chains[i][rows, depth]
        here = np.flatnonzero(there != NO_INFOSET)
        if not len(here):
            return
        own = 1 + there[here, np.newaxis]
        yield from _tables(chains, rows[here], np.concatenate([known[here], own], axis=1))


def _hears(tree: RechistoryTree) -> Bools:
    """``[n_nodes]`` where a deviator hears the recommendation before deciding, or obeys it."""
    return np.asarray(tree.is_swap | (tree.kind == OBEDIENT))


def node_actions(tree: RechistoryTree) -> Ints:
    """``[n_nodes]`` the number of actions at each node; 1 at ``ROOT``."""
    actions = np.ones(tree.n_nodes, np.int32)
    actions[1:] = tree.plex.n_actions[tree.node_infoset[1:]]
    return actions


def _repeated(counts: Ints | Longs) -> tuple[Longs, Longs]:
    """Each index as often as ``counts`` says, and how often it came before."""
    counts = counts.astype(np.int64)
    index = np.repeat(np.arange(len(counts)), counts)
    return index, np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def check_count(count: float, limit: float, what: str = "relevant tuples") -> None:
    """Refuse more than ``limit``."""
    if count > limit:
        raise BudgetError(
            f"there are {count:.3g} {what}; at most {limit:.3g} are used",
            required=int(min(count, LARGEST_KEY)),
            available=int(limit),
        )


def _chains(plex: Treeplex, seqs: Ints) -> Longs:
    """``[n_rows, horizon]`` the infosets that lead to each sequence, first to last; then -1."""
    chains = np.full((len(seqs), plex.horizon), NO_INFOSET, np.int64)
    seq = seqs.astype(np.int64)
    while (moved := seq != 0).any():
        x = plex.seq_infoset[seq[moved]]
        chains[np.flatnonzero(moved), plex.depth[x]] = x
        seq[moved] = plex.parent_seq[x]
    return chains
