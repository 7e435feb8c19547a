"""Pure Nash equilibria of small games, by enumeration of the reduced normal form.

A pure Nash equilibrium is a K-EFCE for every K: its recommendations tell nobody anything new. So
its payoffs lie in every region, and show what players can do without a mediator.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.rounding import UNIT
from accord.optimal.enumeration import all_plans, count_plans
from accord.treeplex.form import SequenceForm
from accord.treeplex.strategy import behavior_to_reach
from accord.treeplex.treeplex import Treeplex

PROFILES, WORK, ROOM = 1e6, 1e9, 2e7
"""A game is small up to this many profiles; profiles times leaves; and the same without the last
player, which is the size of the largest array."""


def pure_nash_payoffs(form: SequenceForm) -> Floats | None:
    """``[n, n_players]`` the payoffs of all pure Nash equilibria, each once; None for a large game.

    There may be none.
    """
    trees = [RechistoryTree.build(plex, 0) for plex in form.plexes]
    counts = [min(count_plans(tree), 1e18) for tree in trees]
    count, size = float(np.prod(counts)), len(form.leaves)
    if count > PROFILES or count * size > WORK or count / counts[-1] * size > ROOM:
        return None
    leaves, n = form.leaves, form.n_players
    *others, last = (
        _reaches(tree.plex, all_plans(tree))[:, leaves.seqs[:, i]] for i, tree in enumerate(trees)
    )
    weight = np.ones((1, len(leaves)))  # whether each profile so far allows each leaf
    for reach in others:
        weight = (weight[:, None, :] * reach[None]).reshape(-1, len(leaves))
    sizes = [len(reach) for reach in (*others, last)]
    payoffs, errors = np.empty((2, *sizes, n))
    for i in range(n):
        paid = weight * leaves.payoff[:, i]
        payoffs[..., i] = (paid @ last.T).reshape(sizes)
        errors[..., i] = (np.abs(paid) @ last.T).reshape(sizes)
    errors *= (len(leaves) + 2 * leaves.roundings + 4) * UNIT
    stable = np.ones(sizes, bool)
    for i in range(n):  # no other plan is certainly better
        least = (payoffs[..., i] - errors[..., i]).max(axis=i, keepdims=True)
        stable &= payoffs[..., i] + errors[..., i] >= least
    found = payoffs[stable]
    unit = np.abs(found).max(axis=0, initial=0.0)
    unit[unit == 0.0] = 1.0
    _, first = np.unique(np.round(found / unit, 12), axis=0, return_index=True)
    return np.asarray(found[first])


def _reaches(plex: Treeplex, plans: np.typing.NDArray[np.int32]) -> Floats:
    """``[n_plans, n_sequences]`` the sequence forms of pure plans."""
    reaches = np.zeros((len(plans), plex.n_sequences))
    for row, actions in enumerate(plans):
        behavior = np.zeros(plex.n_sequences)
        behavior[0] = 1.0
        behavior[plex.first_seq[:-1] + actions] = 1.0
        reaches[row] = behavior_to_reach(plex, behavior)
    return reaches
