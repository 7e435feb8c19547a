"""Incentives as linear forms of correlation plans.

For a mixture of joint plans let xi[tuple] be the probability that all players are told the
positions of a relevant tuple (``equilibrium/relevant.py``). All losses are linear in xi: those of
obeying (:attr:`Tuples.obeying`), since every leaf is a relevant tuple, and the deviators' U
(:attr:`Tuples.deviating`), since the deviator was told something at an infoset on the path to the
leaf.

A deviator of an AFCCE left at y without being told anything. The recommendation there may have been
to do just that, so an obedient player at a later x is told the same: for the rechistory b of such a
deviator and every r, xi[.., (b, r), ..] >= xi[.., (x, r), ..] (:meth:`Tuples.coincidences`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from accord.deviations.rechistory import COARSE, OBEDIENT
from accord.equilibrium.filling import Filling
from accord.equilibrium.relevant import RelevantTuples, check_count, node_actions
from accord.optimal.incentives import Incentives
from accord.optimal.linear import LinearProgram, Triples, triples

MOST_ENTRIES = 2_000_000
"""Of the deviators' losses as linear forms, half a kilobyte each in a linear program."""


class Tuples(RelevantTuples):
    """The relevant tuples of positions, the equations among them, and losses as linear forms."""

    def __init__(self, incentives: Incentives, limit: int, entries: float | None = None) -> None:
        self.incentives = incentives
        most = MOST_ENTRIES if entries is None else entries
        check_count(count_entries(incentives), most, "losses of deviators at relevant tuples")
        super().__init__(incentives.form, incentives.trees, incentives.obedient, limit)

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
        loss = self.incentives.losses
        return _joined([triples(i, self.ends, loss[:, i]) for i in range(self.n_players)])

    @cached_property
    def deviating(self) -> list[Triples]:
        """Per player, ``[n_cells, n_tuples]`` the losses U."""
        found = []
        for i in range(self.n_players):
            cell, at, leaf = self.deviating_leaves(i)
            found.append(triples(cell, at, self.incentives.losses[leaf, i]))
        return found

    def plan_roundings(self, filling: Filling[Tuples]) -> int:
        """The most roundings of a term in a sum of costs over one joint plan."""
        most, _ = filling.cheapest(np.full(len(self), -1.0))
        entries = np.zeros(len(self), np.int64)
        for part in (self.obeying, *self.deviating):
            entries += np.bincount(part.columns, minlength=len(entries))
        return int(-most) + int(entries.max()) + 16


def count_entries(incentives: Incentives) -> float:
    """The number of entries of :attr:`Tuples.deviating`: for each leaf and each rechistory at the
    deviator's last infoset, one for each recommendation that is heard there."""
    total = 0.0
    for i, tree in enumerate(incentives.trees):
        plex, seqs = tree.plex, incentives.form.leaves.seqs[:, i]
        heard = np.where(tree.is_swap, node_actions(tree), np.where(tree.kind == COARSE, 2, 1))
        at = np.bincount(tree.node_infoset[1:], heard[1:], plex.n_infosets)
        total += float(at[plex.seq_infoset[seqs[seqs > 0]]].sum()) + float((seqs == 0).sum())
    return total


def _joined(parts: list[Triples]) -> Triples:
    return Triples(*(np.concatenate(part) for part in zip(*parts, strict=True)))
