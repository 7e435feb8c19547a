"""Two-player zero-sum games: a Nash equilibrium, which is the best K-EFCE for every K, and EFCCE.

If the payoffs of every play add up to the same constant, all equilibria are worth the same: in a
K-EFCE or EFCCE neither player gains by ignoring the mediator, so player 1 earns at least the value
v of the game and player 2 at least the constant minus v, hence both exactly that. A Nash
equilibrium is a product policy, with one component, and an equilibrium of every such notion. Each
player's half of it is a linear program in sequence form (Koller, Megiddo and von Stengel 1996):
with reach in the treeplex,

    maximize v[empty]  subject to, at every sequence s = (x, a) of the other player,
    v[x] <= sum_{leaves at s} payoff reach[own sequence] + sum_{x' that follow s} v[x'].
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import SECOND_ORDER, UNIT, count_roundings
from accord.optimal.linear import INFINITY, LinearProgram, Triples, run_to_optimum, triples
from accord.treeplex.form import SequenceForm
from accord.treeplex.strategy import reach_to_behavior
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import best_response, immediate_loss, joint_reach

CONSTANT_SUM, VARIES = 1e-14, 1e-12
"""Payoffs add up to a constant if they do so up to this part of themselves, and of their ranges."""


def constant_sum(form: SequenceForm) -> float | None:
    """The sum of the payoffs of every play; None if it varies or there are not two players."""
    leaves = form.leaves
    if leaves.n_players != 2:
        return None
    total, size = _sums(form)
    constant = total[size.argmin()]
    allowed = np.minimum(CONSTANT_SUM * (size + abs(constant)), VARIES * leaves.payoff_range.sum())
    return None if (np.abs(total - constant) > allowed).any() else float(constant)


def _sums(form: SequenceForm) -> tuple[Floats, Floats]:
    """``[n_leaves]`` the sum of both payoffs, and of their magnitudes."""
    leaves = form.leaves
    paid = leaves.likeliest if leaves.rest is None else leaves.payoff / leaves.prob[:, None]
    return paid.sum(axis=1), np.abs(paid).sum(axis=1)


def nash_equilibrium(form: SequenceForm) -> CorrelatedPolicy:
    """A Nash equilibrium of a two-player constant-sum game, as one product component.

    Raises:
        NumericalError: If HiGHS fails.
    """
    behaviors = tuple(_optimal_behavior(form, i) for i in range(2))
    return CorrelatedPolicy.product(form.game, behaviors)


def payoff_limits(form: SequenceForm, policy: CorrelatedPolicy) -> tuple[float, float]:
    """The least and the largest payoff of player 1 in any equilibrium, from best replies, rounded
    outward."""
    behaviors = form.split(policy.behavior[0])
    reach = joint_reach(form.plexes, behaviors)
    replies = [
        best_response(form.plexes[i], immediate_loss(form.leaves, i, reach))[0] for i in (0, 1)
    ]
    payoffs = form.payoffs(np.array(replies))
    total = constant_sum(form)
    assert total is not None
    leaves = form.leaves
    counts = np.array([count_roundings(form, i, 1, policy.excess) for i in (0, 1)])
    error = SECOND_ORDER * UNIT * (counts * leaves.payoff_range + 2 * np.abs(leaves.best))
    sums, size = _sums(form)
    error += float(np.abs(sums - total).max() + 2 * UNIT * size.max())
    return total - float(payoffs[1] + error[1]), float(payoffs[0] + error[0])


def _optimal_behavior(form: SequenceForm, player: int) -> Floats:
    """The policy of one player that does best against the best reply."""
    me, other = form.plexes[player], form.plexes[1 - player]
    leaves = form.leaves
    payoff = leaves.payoff[:, player] - leaves.worst[player] * leaves.prob
    payoff = payoff * leaves.loss_scale[player]
    program = LinearProgram()
    reached = program.add_variables(me.n_sequences, 0.0, 1.0)
    value = program.add_variables(1, -INFINITY, INFINITY, -1.0)
    program.add_variables(other.n_infosets, -INFINITY, INFINITY)
    start = np.zeros(me.n_infosets + 1)
    start[0] = 1.0
    own = _constraints(me)
    program.add_rows(len(start), start, start, own._replace(columns=own.columns + reached))
    rows = _constraints(other)
    program.add_rows(
        other.n_sequences, -INFINITY, 0.0,
        triples(leaves.seqs[:, 1 - player], reached + leaves.seqs[:, player], -payoff),
        Triples(rows.columns, value + rows.rows, rows.values),
    )  # fmt: skip
    highs = program.solver()
    run_to_optimum(highs, "the program of the zero-sum game")
    reach = np.maximum(np.array(highs.getSolution().col_value)[: me.n_sequences], 0.0)
    reach[0] = 1.0
    for x in range(me.n_infosets):  # exactly a policy, parents first
        part = slice(int(me.first_seq[x]), int(me.first_seq[x + 1]))
        total = float(reach[part].sum())
        above = float(reach[me.parent_seq[x]])
        reach[part] = (
            reach[part] * (above / total) if total > 0 else above / (part.stop - part.start)
        )
    return reach_to_behavior(me, reach)


def _constraints(plex: Treeplex) -> Triples:
    """F of the sequence form, by infoset and sequence: F reach = (1, 0, ..., 0)."""
    infosets = np.arange(1, plex.n_infosets + 1)
    row = np.concatenate([[0], infosets, np.repeat(infosets, plex.n_actions)])
    column = np.concatenate([[0], plex.parent_seq, np.arange(1, plex.n_sequences)])
    sign = np.ones(len(row))
    sign[1 : plex.n_infosets + 1] = -1.0
    return triples(row, column, sign)
