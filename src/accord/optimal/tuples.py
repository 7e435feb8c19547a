"""Relevant tuples: what several players may have been told on one path of play.

A *position* of a player is what the player has been told so far: a sequence or, if deviators still
listen (K >= 2, AFCE, AFCCE), a recommendation at a rechistory that is not obedient. A tuple has one
position per player, of which at most one is not obedient. It is *relevant* if the infosets of all
its positions lie on a common path; the empty position fits everything. For two players at K <= 1
these are the relevant pairs of sequences of von Stengel and Forges 2008.

For a mixture of joint plans let xi[tuple] be the probability that all players are told their
positions. Then xi[empty] = 1, xi >= 0, and for every player i and infoset (or rechistory) x

    sum_a xi[.., (x, a), ..] = xi[.., position before x, ..]         (:meth:`Tuples.equations`)

and all losses are linear in xi: those of obeying (:attr:`Tuples.obeying`), since every leaf is a
relevant tuple, and the deviators' U (:attr:`Tuples.deviating`), since the deviator was told
something at an infoset on the path to the leaf.

A deviator of an AFCCE left at y without being told anything. The recommendation there may have been
to do just that, so an obedient player at a later x is told the same: for the rechistory b of such a
deviator and every r, xi[.., (b, r), ..] >= xi[.., (x, r), ..] (:meth:`Tuples.coincidences`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from accord._arrays import NO_INFOSET, Floats, Ints
from accord.deviations.rechistory import COARSE, OBEDIENT, RechistoryTree
from accord.errors import BudgetError
from accord.optimal.incentives import Incentives, node_actions
from accord.optimal.linear import Bools, LinearProgram, Longs, Triples, triples
from accord.treeplex.treeplex import Treeplex

LARGEST_KEY = 2**62
NO_GROUP = -1


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


class Tuples:
    """The relevant tuples of positions, the equations among them, and losses as linear forms.

    A coordinate is a *place*: 0 for the empty position, else 1 + node, where the node hears a
    recommendation or is obedient.
    """

    def __init__(self, incentives: Incentives, limit: int) -> None:
        self.incentives = incentives
        form = incentives.form
        self.positions = [
            Positions.of(tree, obedient)
            for tree, obedient in zip(incentives.trees, incentives.obedient, strict=True)
        ]
        sizes = [positions.count for positions in self.positions]
        _check(float(np.prod([float(size) for size in sizes])), LARGEST_KEY)
        self.strides = np.concatenate([[1], np.cumprod(sizes[:-1], dtype=np.int64)])
        places = self._relevant_places(limit)
        self.keys, self.places = self._expanded(places, limit)
        order = np.argsort(self.keys)
        self.keys, self.places = self.keys[order], self.places[order]
        self.n_players = form.n_players

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Longs) -> Longs:
        """The numbers of tuples with these keys."""
        found = np.searchsorted(self.keys, keys)
        assert (self.keys[np.minimum(found, len(self.keys) - 1)] == keys).all(), "not relevant"
        return found

    def _relevant_places(self, limit: int) -> Longs:
        """``[n, n_players]`` the places that lie on a common path, at most one not obedient."""
        form = self.incentives.form
        chains = [_chains(plex, form.leaves.seqs[:, i]) for i, plex in enumerate(form.plexes)]
        found: list[Longs] = []
        for depths in product(*(range(chain.shape[1] + 1) for chain in chains)):
            columns = [
                np.zeros(len(form.leaves), np.int64) if d == 0 else chain[:, d - 1] + 1
                for d, chain in zip(depths, chains, strict=True)
            ]
            table = np.stack(columns, axis=1)
            here = np.ones(len(table), bool)
            for d, column in zip(depths, columns, strict=True):
                here &= (d == 0) | (column > 0)
            if here.any():
                found.append(np.unique(table[here], axis=0))
        infosets = np.concatenate(found)  # 0, or 1 + infoset
        obedient = infosets.copy()
        for i, positions in enumerate(self.positions):
            at = infosets[:, i] > 0
            obedient[at, i] = 1 + positions.of_infoset[infosets[at, i] - 1]
        parts = [obedient]
        for i, tree in enumerate(self.incentives.trees):  # one deviator at other nodes that hear
            arrays = tree.arrays
            if self.positions[i].count == tree.plex.n_sequences:
                continue
            end = arrays.first_node[1:] if tree.notion.agent else arrays.first_external
            hearing = end - arrays.first_node[:-1]
            lines = np.flatnonzero(infosets[:, i] > 0)
            x = infosets[lines, i] - 1
            _check(float(hearing[x].sum()), limit)
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
        for i, tree in enumerate(self.incentives.trees):
            at = places[:, i] > 0
            sizes[at] *= tree.plex.n_actions[tree.node_infoset[places[at, i] - 1]]
        _check(float(sizes.sum()), limit)
        keys = np.zeros(len(places), np.int64)
        rows = np.arange(len(places))
        for i, tree in enumerate(self.incentives.trees):
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

    def equations(self) -> tuple[int, Triples]:
        """The number of equations E xi = 0 and the entries of E."""
        groups = self.groups
        count = len(groups.head)
        member = triples(np.repeat(np.arange(count), np.diff(groups.first)), groups.members, 1.0)
        return count, _joined([member, triples(np.arange(count), groups.head, -1.0)])

    def coincidences(self) -> tuple[int, Triples]:
        """The number of inequalities A xi >= 0 and the entries of A."""
        parts, start = [triples([], [], [])], 0
        for i, (tree, positions) in enumerate(
            zip(self.incentives.trees, self.positions, strict=True)
        ):
            if not (tree.notion.coarse and tree.notion.agent):
                continue
            node = np.maximum(self.places[:, i] - 1, 0)
            here = np.flatnonzero(tree.kind[node] == OBEDIENT)
            node = node[here]
            own = positions.first[positions.of_infoset[tree.node_infoset[node]]]
            obedient = self.keys[here] + (own - positions.first[node]) * self.strides[i]
            rows = start + np.arange(len(here))
            parts += [triples(rows, here, 1.0), triples(rows, self.find(obedient), -1.0)]
            start += len(here)
        return start, _joined(parts)

    def add_rows(self, program: LinearProgram) -> None:
        """Add the equations and inequalities of xi, whose variables are the program's first."""
        count, entries = self.equations()
        program.add_rows(count, 0.0, 0.0, entries)
        count, entries = self.coincidences()
        if count:
            program.add_rows(count, 0.0, 1.0, entries)

    @cached_property
    def obeying(self) -> Triples:
        """``[n_players, n_tuples]`` expected losses when everybody obeys, in [-1, 0]."""
        at = self.find(self._leaf_keys())
        loss = self._losses()
        return _joined([triples(i, at, loss[:, i]) for i in range(self.n_players)])

    @cached_property
    def deviating(self) -> list[Triples]:
        """Per player, ``[n_cells, n_tuples]`` the losses U."""
        return [self._find_deviating(i) for i in range(self.n_players)]

    def _find_deviating(self, i: int) -> Triples:
        tree, positions = self.incentives.trees[i], self.positions[i]
        arrays, plex = tree.arrays, tree.plex
        loss = self._losses()[:, i]
        seqs = self.incentives.form.leaves.seqs[:, i].astype(np.int64)
        rest = self._leaf_keys() - seqs * self.strides[i]
        at_root = seqs == 0
        first = triples(0, self.find(rest[at_root]), loss[at_root])
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
        return _joined([first, triples(cell, at, loss[below][leaf])])

    def _leaf_keys(self) -> Longs:
        """``[n_leaves]`` the keys of the tuples with which plays end."""
        return np.asarray(self.incentives.form.leaves.seqs.astype(np.int64) @ self.strides)

    def _losses(self) -> Floats:
        leaves = self.incentives.form.leaves
        losses = [leaves.normalised_loss(i) - leaves.prob for i in range(leaves.n_players)]
        return np.stack(losses, axis=1)


def _hears(tree: RechistoryTree) -> Bools:
    """``[n_nodes]`` where a deviator hears the recommendation before deciding, or obeys it."""
    return np.asarray(tree.is_swap | (tree.kind == OBEDIENT))


def _joined(parts: list[Triples]) -> Triples:
    return Triples(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _repeated(counts: Ints | Longs) -> tuple[Longs, Longs]:
    """Each index as often as ``counts`` says, and how often it came before."""
    counts = counts.astype(np.int64)
    index = np.repeat(np.arange(len(counts)), counts)
    return index, np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _check(count: float, limit: int) -> None:
    if count > limit:
        raise BudgetError(
            f"there are {count:.3g} relevant tuples; at most {limit:.3g} are used",
            required=int(min(count, LARGEST_KEY)),
            available=limit,
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
