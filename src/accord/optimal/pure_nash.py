"""Pure Nash equilibria of small games, by enumeration of the reduced normal form.

A pure Nash equilibrium is a K-EFCE for every K: its recommendations tell nobody anything new. So
its payoffs lie in every region, and show what players can do without a mediator.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats
from accord.equilibrium.rounding import UNIT
from accord.optimal.normal_form import Plans
from accord.treeplex.form import SequenceForm


def pure_nash_payoffs(form: SequenceForm) -> Floats | None:
    """``[n, n_players]`` the payoffs of all pure Nash equilibria, each once; None for a large game.

    There may be none.
    """
    table = Plans.of(form)
    if table is None:
        return None
    payoffs, leaves = table.payoffs, form.leaves
    errors = table.sizes * ((len(leaves) + 2 * leaves.roundings + 4) * UNIT)
    stable = np.ones(payoffs.shape[:-1], bool)
    for i in range(form.n_players):  # no other plan is certainly better
        least = (payoffs[..., i] - errors[..., i]).max(axis=i, keepdims=True)
        stable &= payoffs[..., i] + errors[..., i] >= least
    found = payoffs[stable]
    unit = np.abs(found).max(axis=0, initial=0.0)
    unit[unit == 0.0] = 1.0
    _, first = np.unique(np.round(found / unit, 12), axis=0, return_index=True)
    return np.asarray(found[first])
