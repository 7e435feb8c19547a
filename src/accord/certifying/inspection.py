"""What each player is told at each infoset, and what following and disobeying earn there.

Say everybody obeys. A player comes to infoset x and is told r with probability ``prob[x, r]``
(``equilibrium/evaluation.py``). Given that, the player who follows to the end earns

    follow[x, r] = E[ payoff | at x, told r, everybody obeys ],

and one who plays a now and deviates in the best way afterwards, at most K times in all, earns
``follow[x, r] + gain[x, r, a]``. Both are losses divided by that probability: of obeying, and of
the best deviation at the obedient rechistory. At K = 0 nothing is told, and ``plan[x, a]`` is the
payoff of the best plan that comes to x and plays a there, given that chance and the others allow
the player to come to x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np

from accord._arrays import Floats
from accord.certifying.certificate import Certificate
from accord.certifying.exact import Deviators, measurable
from accord.deviations.notions import Notion
from accord.deviations.rechistory import ROOT, RechistoryTree
from accord.equilibrium.evaluation import BestDeviation, Obedience, evaluate
from accord.equilibrium.gap import Deviator
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import settled_all
from accord.game.labels import as_players
from accord.treeplex.form import SequenceForm

LEAST_PROB = 1e-290
"""Below this, quotients of sums of probabilities are nothing but rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """Every player's side of a correlated policy. Made by :func:`inspect`."""

    form: SequenceForm
    obedience: tuple[Obedience, ...]  # one per player
    deviators: dict[float, tuple[BestDeviation, ...]]  # by K, one per player

    def prob(self, player: int, x: int) -> Floats:
        """``[n_actions]`` probability of coming to ``x`` and being told each action."""
        return self._part(player, x, self.obedience[player].prob)

    def recommended(self, player: int, x: int) -> Floats | None:
        """Probability of each recommendation at ``x``; None if no obedient player gets there."""
        prob = self.prob(player, x)
        total = float(prob.sum())
        return prob / total if total > LEAST_PROB else None

    def follow(self, player: int, x: int) -> Floats:
        """``[n_actions]`` expected payoff of following each recommendation; NaN if never told."""
        loss = self._part(player, x, self.obedience[player].loss)
        return self.obedience[player].center - _quotient(loss, self.prob(player, x))

    def gain(self, k: float, player: int, x: int) -> Floats:
        """``[told, played]`` gain over following, for ``k`` >= 1; NaN where it is never told."""
        best = self.deviators[k][player]
        obeying, cells = best.obeying_at(x)[:, None], best.cells(x)
        saved, _ = settled_all(obeying - cells, self.obedience[player].error(obeying, cells))
        return _quotient(saved, self.prob(player, x)[:, None])

    def plan(self, player: int, x: int) -> Floats | None:
        """``[n_actions]`` payoff of the best plan at K = 0 that comes to ``x`` and plays each
        action; None if chance and the others never let the player come to ``x``."""
        there = float(self._part(player, x, self.obedience[player].external)[0])
        if there <= LEAST_PROB:
            return None
        loss = self.deviators[0][player].cells(x)[0]
        return np.asarray(self.obedience[player].center - loss / there)

    def _part(self, player: int, x: int, of: Floats) -> Floats:
        """The part of a vector over sequences that belongs to ``x``."""
        first_seq = self.form.plexes[player].first_seq
        return of[first_seq[x] : first_seq[x + 1]]


class Step(TypedDict):
    """One move of a deviation."""

    depth: int  # moves since the first of the steps
    infoset: int
    told: int | None  # None where nothing is recommended any more
    plays: int
    probability: float  # of coming here and being told this, by this deviation


def inspect(policy: CorrelatedPolicy, ks: Sequence[float]) -> Inspection:
    """Evaluate all components for every K at once, and find the best deviations."""
    form = policy.form
    trees = {k: [RechistoryTree.build(plex, k) for plex in form.plexes] for k in ks}
    losses, probs = (
        {i: [Deviator(trees[k][i]) for k in ks] for i in range(form.n_players)} for _ in range(2)
    )
    obedience = evaluate(policy, losses, probs)
    deviators = {
        k: tuple(BestDeviation.of(losses[i][j], probs[i][j]) for i in losses)
        for j, k in enumerate(ks)
    }
    return Inspection(form, tuple(obedience.values()), deviators)


def certify_and_inspect(
    policy: CorrelatedPolicy,
    notions: Sequence[Notion],
    ks: Sequence[float],
    commits: Sequence[str] = (),
) -> tuple[Certificate, Inspection]:
    """The certificate for ``notions`` and the inspection for ``ks``, which must be among them.

    Both come from one pass over the components. Notions whose gap the policy does not have are left
    out.
    """
    form, notions = policy.form, measurable(policy, notions)
    every = Deviators.of(form, notions, None, commits=as_players(commits, form.game.player_labels))
    of_notions = dict(zip(notions, every.of_notions, strict=True))
    losses = {k: [one for one in of_notions[Notion(k)] if isinstance(one, Deviator)] for k in ks}
    probs = {k: [Deviator(one.tree) for one in losses[k]] for k in ks}
    by_player = {i: [probs[k][i] for k in ks] for i in range(form.n_players)}
    obedience = evaluate(policy, every.by_player(), by_player)
    deviators = {k: tuple(map(BestDeviation.of, losses[k], probs[k])) for k in ks}
    seen = Inspection(form, tuple(obedience.values()), deviators)
    solved = {Notion(k): deviators[k] for k in ks}
    return every.certificate(policy, obedience, solved), seen


def steps(best: BestDeviation, start: tuple[int, int] | None, limit: int) -> tuple[list[Step], int]:
    """The moves of a deviation along the tree, from where it starts.

    Args:
        best: The deviation, with probabilities.
        start: Infoset and recommendation of its first deviation; None at K = 0, where it starts
            with the game.
        limit: How many steps to list, at each infoset the likeliest first.

    Returns:
        The steps in the order of the tree, and the number of those that were left out.
    """
    arrays = best.tree.arrays
    by_cell = np.argsort(arrays.parent_cell[1:], kind="stable") + 1
    cells = arrays.parent_cell[by_cell]

    def next_rows(cell: int) -> list[_Row]:
        """The rows that may follow ``cell``, the likeliest last."""
        low, high = np.searchsorted(cells, [cell, cell + 1])
        rows = [row for node in by_cell[low:high] for row in _rows(best, int(node))]
        return sorted((row for row in rows if row.prob > 0.0), key=lambda row: row.prob)

    if start is None:
        begin = next_rows(ROOT)
    else:
        x, told = start
        begin = [row for row in _rows(best, int(best.obedient[x])) if row.told == told]
    found: list[Step] = []
    more = 0
    pending = [(0, row) for row in begin]
    while pending:
        depth, row = pending.pop()
        if len(found) < limit:
            found.append(
                {
                    "depth": depth,
                    "infoset": int(best.tree.node_infoset[row.node]),
                    "told": row.told,
                    "plays": row.plays,
                    "probability": row.prob,
                }
            )
        else:
            more += 1
        pending += [(depth + 1, after) for after in next_rows(row.cell)]
    return found, more


class _Row(NamedTuple):
    """A decision of the deviator: a rechistory and, at a SWAP one, a recommendation."""

    prob: float
    node: int
    told: int | None
    plays: int
    cell: int


def _rows(best: BestDeviation, node: int) -> list[_Row]:
    """The decisions at ``node``, one per recommendation or, if none is given, one."""
    assert best.prob is not None, "steps need probabilities"
    tree = best.tree
    n = int(tree.plex.n_actions[tree.node_infoset[node]])
    rows = []
    for r in range(n if tree.is_swap[node] else 1):
        plays = int(best.phi.choice[int(tree.first_row[node]) + r])
        cell = int(tree.arrays.first_cell[node]) + r * n + plays
        told = r if tree.is_swap[node] else None
        rows.append(_Row(float(best.prob[cell]), node, told, plays, cell))
    return rows


def _quotient(part: Floats, whole: Floats) -> Floats:
    """``part / whole``, NaN where ``whole`` is as good as 0."""
    quotient = np.full(np.broadcast_shapes(part.shape, whole.shape), np.nan)
    np.divide(part, whole, out=quotient, where=whole > LEAST_PROB)
    return quotient
