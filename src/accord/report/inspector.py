"""What each player is told at each infoset, and what following and disobeying earn there.

Say everybody obeys. A player is at infoset x and told r with probability ``prob[x, r]``, the sum
over components of weight, chance and everybody's reach. Given that, following to the end earns

    follow[x, r] = E[ payoff | at x, told r, everybody obeys ],

and a deviator who plays a now and then what is best for her, at most K deviations in all, earns
``follow[x, r] + gain[x, r, a]``. Both come from the sums U of ``equilibrium/gap.py`` at the
rechistory of a player who has obeyed so far, divided by that probability. For K = 0 nothing is
told: ``plan[x, a]`` is what the best plan earns that comes to x and plays a there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord._arrays import Floats, Ints
from accord.deviations.notions import written_k as k_key
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.equilibrium.correlated import CorrelatedPolicy
from accord.equilibrium.gap import add_deviation_loss, choose_actions, sum_chosen
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import compute_cf_loss, compute_loss, joint_reach

LARGEST_DATA = 100_000
"""Numbers that a page holds: more than a megabyte of them helps nobody."""

LEAST_PROB = 1e-290
"""Below this, quotients of sums of probabilities are rounding."""


class Deviator:
    """The best deviation of one player for one K, and everything on the way to it."""

    def __init__(self, tree: RechistoryTree) -> None:
        self.tree = tree
        self.loss = np.zeros(tree.n_cells)  # U; after solve(): of the best continuation
        self.mass = np.zeros(tree.n_cells)  # the same sums of probabilities
        self.choice = np.zeros(int(tree.first_row[-1]), np.int32)
        self._rec_reach = np.zeros(tree.n_nodes)

    def add(self, behavior: Floats, loss: Floats, prob: Floats, weight: float) -> None:
        """Add one component."""
        plex, tree = self.tree.plex.arrays, self.tree.arrays
        add_deviation_loss(plex, tree, behavior, loss, weight, self._rec_reach, self.loss)
        add_deviation_loss(plex, tree, behavior, prob, weight, self._rec_reach, self.mass)

    def solve(self) -> None:
        """Find the best deviation; before that, what obeying loses."""
        tree, plex = self.tree, self.tree.plex
        self.obedient = _obedient_nodes(tree)
        self.told = np.empty(plex.n_sequences)
        if tree.k:
            loss = np.empty(plex.n_sequences)
            loss[0] = self.loss[0]
            for x in range(plex.n_infosets):
                cells = self.cells(x, self.loss)
                loss[plex.first_seq[x] : plex.first_seq[x + 1]] = cells.diagonal()
            compute_cf_loss(plex.arrays, np.ones(plex.n_sequences), loss, self.told)
        choose_actions(plex.arrays, tree.arrays, tree.first_row, self.loss, self.choice)
        sum_chosen(plex.arrays, tree.arrays, tree.first_row, self.choice, self.mass)

    def cells(self, x: int, of: Floats) -> Floats:
        """``[told, played]`` at ``x`` for a player who has obeyed; ``[1, played]`` for K = 0."""
        first, n = int(self.tree.arrays.first_cell[self.obedient[x]]), self._actions(x)
        rows = n if self.tree.k else 1
        return of[first : first + rows * n].reshape(rows, n)

    def _actions(self, x: int) -> int:
        return int(self.tree.plex.n_actions[x])


@dataclass(frozen=True, eq=False)
class Obeyed:
    """One player when everybody obeys, over her sequences."""

    prob: Floats  # [n_sequences] of getting there and being told so
    loss: Floats  # [n_sequences] expected loss on those plays, times that probability
    external: Floats  # [n_sequences] probability that the others and chance let her get there

    def reach(self, plex: Treeplex, x: int) -> float:
        """Probability that an obedient player comes to ``x``."""
        return float(self.prob[plex.first_seq[x] : plex.first_seq[x + 1]].sum())


@dataclass(frozen=True, eq=False)
class Inspection:
    """Every player's side of a correlated policy."""

    form: SequenceForm
    obeyed: tuple[Obeyed, ...]
    deviators: dict[float, tuple[Deviator, ...]]  # by K

    def recommended(self, player: int, x: int) -> Floats | None:
        """Probability of each recommendation at ``x``; None if nobody who obeys gets there."""
        plex, prob = self.form.plexes[player], self.obeyed[player].prob
        told = prob[plex.first_seq[x] : plex.first_seq[x + 1]]
        total = float(told.sum())
        return told / total if total > LEAST_PROB else None


def inspect(policy: CorrelatedPolicy, ks: list[float]) -> Inspection:
    """Add up all components for each K, and find the best deviations."""
    form = sequence_form(policy.game)
    deviators = {
        k: tuple(Deviator(RechistoryTree.build(plex, k)) for plex in form.plexes) for k in ks
    }
    sizes = [plex.n_sequences for plex in form.plexes]
    obeyed = tuple(Obeyed(*(np.zeros(size) for _ in range(3))) for size in sizes)
    for weight, behaviors in policy.components():
        reach = joint_reach(form.plexes, behaviors)
        for i, own in enumerate(form.split(reach)):
            plex, leaves = form.plexes[i].arrays, form.leaves.arrays[i]
            loss, prob, total = (np.empty(sizes[i]) for _ in range(3))
            compute_loss(leaves._replace(loss=leaves.prob), reach, prob)
            compute_cf_loss(plex, behaviors[i], prob, total)
            obeyed[i].prob[:] += weight * own * total
            obeyed[i].external[:] += weight * total
            compute_loss(leaves, reach, loss)
            compute_cf_loss(plex, behaviors[i], loss, total)
            obeyed[i].loss[:] += weight * own * total
            for players in deviators.values():
                players[i].add(behaviors[i], loss, prob, weight)
    for players in deviators.values():
        for one in players:
            one.solve()
    return Inspection(form, obeyed, deviators)


def inspector_data(seen: Inspection, k: float) -> dict[str, Any]:
    """What the page needs, as JSON: all players, and as many infosets as fit.

    If not everything fits, the run's own ``k`` alone is kept, then the infosets that are reached
    most often. An infoset is reached at most as often as the one before it, so no way is cut.
    """
    form = seen.form
    ks = sorted(seen.deviators)
    sizes = [[_size(plex.n_actions, one) for one in ks] for plex in form.plexes]
    if sum(int(size.sum()) for own in sizes for size in own) > LARGEST_DATA and k in ks:
        sizes = [[own[ks.index(k)]] for own in sizes]
        ks = [k]
    share = LARGEST_DATA / max(1, sum(int(sum(own).sum()) for own in sizes))
    players = []
    for i, plex in enumerate(form.plexes):
        kept = np.arange(plex.n_infosets)
        if share < 1:
            reach = np.array([seen.obeyed[i].reach(plex, x) for x in range(plex.n_infosets)])
            order = np.argsort(-reach, kind="stable")
            fits = np.cumsum(sum(sizes[i])[order]) <= share * int(sum(sizes[i]).sum())
            kept = np.sort(order[fits])
        players.append(_player_data(seen, i, ks, kept))
    return {"k": k_key(k if k in ks else ks[-1]) if ks else None, "players": players}


def _size(n_actions: Ints, k: float) -> Any:
    """Numbers per infoset for one K, the recommendations included."""
    return (n_actions.astype(np.int64) ** 2 if k else n_actions) + 3 * n_actions


def _player_data(seen: Inspection, i: int, ks: list[float], kept: Any) -> dict[str, Any]:
    form, obeyed = seen.form, seen.obeyed[i]
    plex, leaves = form.plexes[i], form.leaves
    best, span = float(leaves.best[i]), float(leaves.payoff_range[i])
    new_number = np.full(plex.n_infosets + 1, -1)
    new_number[kept] = np.arange(len(kept))
    sets: dict[tuple[str, ...], int] = {}
    infosets = []
    for x in map(int, kept):
        seqs = slice(int(plex.first_seq[x]), int(plex.first_seq[x + 1]))
        above = int(plex.seq_infoset[plex.parent_seq[x]])
        prob = obeyed.prob[seqs]
        told = prob > LEAST_PROB
        follow = best - span * np.divide(
            obeyed.loss[seqs], prob, where=told, out=np.zeros(len(prob))
        )
        actions = sets.setdefault(tuple(plex.action_labels[x]), len(sets))
        infosets.append(
            {
                "label": plex.infoset_labels[x],
                "actions": actions,
                "parent": int(new_number[above]),
                "via": int(plex.parent_seq[x] - plex.first_seq[above]) if above >= 0 else 0,
                "prob": _rounded(prob),
                "follow": [_round(v) if t else None for v, t in zip(follow, told, strict=True)],
                "gain": {k_key(k): _gains(seen.deviators[k][i], x, prob, span) for k in ks if k},
                "plan": _plan(seen.deviators[0][i], x, obeyed, best, span) if 0 in ks else None,
                "hidden": sum(
                    int(new_number[child] < 0)
                    for seq in range(seqs.start, seqs.stop)
                    for child in plex.children(seq)
                ),
            }
        )
    return {
        "label": form.game.player_labels[i],
        "actions": [list(labels) for labels in sets],
        "infosets": infosets,
        "total": plex.n_infosets,
    }


def _gains(one: Deviator, x: int, prob: Floats, span: float) -> list[list[float | None]]:
    """What each action gains on following, for each recommendation; None where never told."""
    plex = one.tree.plex
    told = one.told[plex.first_seq[x] : plex.first_seq[x + 1]]
    saved = told[:, None] - one.cells(x, one.loss)
    return [
        _rounded(row / p * span) if p > LEAST_PROB else [None] * len(row)
        for row, p in zip(saved, prob, strict=True)
    ]


def _plan(
    one: Deviator, x: int, obeyed: Obeyed, best: float, span: float
) -> list[float | None] | None:
    """What each action earns in a plan made before the game that comes here."""
    there = float(obeyed.external[one.tree.plex.first_seq[x]])
    if there <= LEAST_PROB:
        return None
    return _rounded(best - span * one.cells(x, one.loss)[0] / there)


def steps(one: Deviator, start: tuple[int, int] | None, limit: int) -> tuple[list[Any], int]:
    """A deviation along the tree: what it does at its first place, and after that.

    Args:
        one: The solved deviator.
        start: The infoset and the recommendation of her first deviation; None for K = 0, where
            the deviation begins with the game.
        limit: How many steps are listed, the likeliest at each place first.

    Returns:
        Steps ``{depth, infoset, told, plays, probability}`` in the order of the tree, ``told``
        being None after the last deviation; and how many more there are.
    """
    tree, plex = one.tree, one.tree.plex
    by_cell = np.argsort(tree.arrays.parent_cell[1:], kind="stable") + 1
    cells = tree.arrays.parent_cell[by_cell]
    where = tree.node_infoset
    found: list[dict[str, Any]] = []
    more = 0

    def rows(node: int) -> list[tuple[float, int, int | None]]:
        """(probability, node, told) of what may be told at ``node``."""
        n = int(plex.n_actions[where[node]])
        if not tree.is_swap[node]:
            return [(_mass(node, 0, n), node, None)]
        return [(_mass(node, r, n), node, r) for r in range(n)]

    def _mass(node: int, row: int, n: int) -> float:
        first = int(tree.first_row[node]) + row
        return float(one.mass[int(tree.arrays.first_cell[node]) + row * n + one.choice[first]])

    def next_rows(cell: int) -> list[tuple[float, int, int | None]]:
        low, high = np.searchsorted(cells, [cell, cell + 1])
        nodes = [int(node) for node in by_cell[low:high]]
        return [row for node in nodes for row in rows(node) if row[0] > 0.0]

    if start is None:
        begin = next_rows(ROOT)
    else:
        x, told = start
        begin = [row for row in rows(int(one.obedient[x])) if row[2] == told]
    pending = [(0, row) for row in sorted(begin, key=lambda row: row[0])]
    while pending:
        depth, (mass, node, told_now) = pending.pop()
        x = int(where[node])
        n = int(plex.n_actions[x])
        plays = int(one.choice[int(tree.first_row[node]) + (told_now or 0)])
        if len(found) < limit:
            found.append(
                {
                    "depth": depth,
                    "infoset": x,
                    "told": told_now,
                    "plays": plays,
                    "probability": mass,
                }
            )
        else:
            more += 1
        cell = int(tree.arrays.first_cell[node]) + (told_now or 0) * n + plays
        after = sorted(next_rows(cell), key=lambda row: row[0])
        pending += [(depth + 1, row) for row in after]
    return found, more


def _obedient_nodes(tree: RechistoryTree) -> Ints:
    """``[n_infosets]`` the rechistory of a player who was told what she did; for K = 0 the only."""
    plex, arrays = tree.plex, tree.arrays
    nodes = np.empty(plex.n_infosets, np.int32)
    for x in range(plex.n_infosets):
        start, end = int(arrays.first_node[x]), int(arrays.first_external[x])
        if not tree.k:
            nodes[x] = start
            continue
        seq = int(plex.parent_seq[x])
        above = nodes[plex.seq_infoset[seq]] if seq else ROOT
        same = (arrays.rec_seq[start:end] == seq) & (arrays.parent[start:end] == above)
        nodes[x] = start + int(np.flatnonzero(same)[0])
    return nodes


def _rounded(values: Any) -> list[float | None]:
    return [_round(value) for value in values.tolist()]


def _round(value: float) -> float:
    """Seven digits: what people read, in few bytes."""
    return float(f"{value:.7g}") if math.isfinite(value) else 0.0
