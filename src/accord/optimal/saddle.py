"""The best equilibrium as a saddle point, for games with millions of relevant tuples.

The mediator chooses a correlation plan xi, and every deviator i a flow y_i of mass lambda on the
cells of the rechistory tree: a lottery over deviations. With losses in [-1, 0] and a gradient g of
the objective, kappa_i = g_i unit_i / scale,

    L(xi, y) = sum_i kappa_i loss_i(xi) + sum_i (lambda loss_i(xi) - y_i . U_i(xi)),

which the mediator minimizes and the deviators maximize. loss_i and U_i are linear in xi
(``optimal/tuples.py``). If lambda is larger than what an incentive constraint is worth, the saddle
points are the best equilibria. Where obeying is not a deviation (K = 0) or a gain is allowed, the
mass of each flow is chosen between 0 and lambda. If the objective is not linear, g is chosen by one
more maximizer.

Plans and flows are shared step by step (``optimal/sharing.py``), and the shares follow predictive
regret matching with alternating updates and regrets that are discounted by s / (s + 1), where s =
(t - 1)^1.5. Iterates are averaged with weights like t^5.

At every moment the averages answer two questions without a single joint plan:

* The averaged plan has an exact *value* and an exact *gap*: U = A xi, and one sweep of the cells.
* The averaged prices c(y) = sum_i (kappa_i + lambda) obeying_i - A^T y of tuples give a *bound*:
  for any flow y >= 0, any masses lambda_i and any valid g, no equilibrium with a gap of at most
  epsilon has a larger objective than

      g . offsets + scale (sum_i lambda_i epsilon_i - min_xi c(y) . xi),

  and the minimum takes one sweep of the tuples (:meth:`Sides.bound`). Objectives are measured from
  their center (``optimal/objective.py``), and what rounding may change is added to the bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.equilibrium.filling import Filling
from accord.equilibrium.rounding import SECOND_ORDER, UNIT
from accord.equilibrium.sharing import plan_sharing, spread
from accord.optimal.objective import Objective
from accord.optimal.sharing import (
    add_least,
    complete_flow,
    flow_sharing,
    share_evenly,
    update_shares,
)
from accord.optimal.tuples import Tuples

POWER = 5.0
"""Iterate t has a weight like t to this power in averages."""

DISCOUNT = 1.5


class Losses(NamedTuple):
    """All losses as linear forms of xi, by tuple."""

    start: Ints  # [n_tuples + 1] entries of tuple t: start[t] .. start[t + 1] - 1
    cell: Ints  # the cell; those after the last are the players' losses of obeying
    value: Floats


class Averaged(NamedTuple):
    """What is known of an averaged plan."""

    losses: Floats  # [n_players] of obeying, in [-1, 0]
    gains: Floats  # [n_players] of the best deviations, in the same units


class Sides:
    """Mediator and deviators: their steps, and the losses that join them."""

    def __init__(
        self, filling: Filling[Tuples], objective: Objective, epsilon: float = 0.0
    ) -> None:
        tuples = filling.tuples
        incentives, leaves = tuples.incentives, tuples.incentives.form.leaves
        self.tuples, self.incentives, self.objective = tuples, incentives, objective
        self.plan, self.number = plan_sharing(filling)
        self.flow, self.starts = flow_sharing(incentives.trees)
        self.root, self.n_cells = self.starts[:-1], int(self.starts[-1])
        self.epsilon = incentives.allowed(epsilon)  # [n_players] in losses
        self.deviates = np.ones(len(self.root))  # [n_players] 0 for those who commit
        self.deviates[list(incentives.commits)] = 0.0
        self.idle = epsilon > 0.0 or incentives.notion.k == 0  # else obeying is a deviation, too
        self.scale = objective.scale(incentives.form)
        self.offsets = objective.offsets(leaves)
        self.losses = self._joined_losses()
        self.roundings = tuples.plan_roundings(filling) + incentives.roundings

    def _joined_losses(self) -> Losses:
        tuples, size = self.tuples, self.n_cells + self.tuples.n_players
        parts = [
            (own.rows + start, own.columns, own.values)
            for own, start in zip(tuples.deviating, self.starts, strict=False)
        ]
        obeying = tuples.obeying
        parts.append((obeying.rows + self.n_cells, obeying.columns, obeying.values))
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        matrix = csr_matrix((values, (self.number[columns], rows)), (len(tuples), size))
        matrix.sum_duplicates()
        return Losses(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)

    @property
    def n_tuples(self) -> int:
        """The number of entries of a plan."""
        return len(self.tuples)

    def kappa(self, gradient: Floats) -> Floats:
        """``[n_players]`` the prices of the players' losses at a gradient of the objective."""
        return np.asarray(gradient * self.incentives.unit / self.scale)

    def averaged(self, plan: Floats) -> Averaged:
        """The losses of obeying a plan, and what the best deviations save; 0 if one commits."""
        met = np.zeros(self.n_cells + len(self.root))
        add_losses(self.losses, plan, met)
        losses = met[self.n_cells :].copy()
        add_least(self.flow, met)
        return Averaged(losses, (losses - met[self.root]) * self.deviates)

    def value(self, losses: Floats) -> float:
        """The maximized objective at these losses, above its center."""
        leaves = self.incentives.form.leaves
        return self.objective.above_center(self.incentives.above_worst(losses), leaves)

    def bound(self, flow: Floats, gradient: Floats) -> tuple[float, float]:
        """An upper bound on the maximized objective of all equilibria above its center, for any
        flow and gradient; and by how much it was raised because of rounding.

        The flow is made exact and the gradient valid first.
        """
        leaves, unit = self.incentives.form.leaves, self.incentives.unit
        gradient = self.objective.valid_gradient(np.nan_to_num(gradient), leaves.payoff_range)
        flow = np.maximum(np.nan_to_num(flow), 0.0)
        complete_flow(self.flow, flow.copy(), flow)
        masses, kappa = flow[self.root], self.kappa(gradient)
        flow[self.n_cells :] = -(kappa + masses)
        cost = np.zeros(self.n_tuples)
        add_prices(self.losses, flow, cost)
        add_least(self.plan, cost)
        allowed = float(masses @ self.epsilon)
        charged = float(np.abs(kappa).sum() + 3.0 * masses.sum()) + allowed
        share = SECOND_ORDER * UNIT * self.roundings
        size = float(np.abs(gradient) @ (np.abs(self.offsets) + unit))
        error = share * (self.scale * charged + size)
        return float(gradient @ self.offsets) + self.scale * (allowed - cost[0]) + error, error


class Saddle:
    """One run towards a saddle point, iteration by iteration.

    Attributes:
        sides: Mediator and deviators.
        multiplier: lambda, the mass of every flow.
        noise: What a perturbed run adds to the prices of tuples; None for no perturbation.
        iteration: t, the number of iterations since averages started.
        plan: The averaged xi.
        flow: The averaged y.
        gradient: The averaged g.
    """

    def __init__(self, sides: Sides, multiplier: float, noise: Floats | None = None) -> None:
        self.sides, self.multiplier, self.noise = sides, multiplier, noise
        self.iteration = self._earlier = 0
        n_tuples, n_cells = sides.n_tuples, sides.n_cells + len(sides.root)
        self._cost, self._met = np.zeros(n_tuples), np.zeros(n_cells)
        self._regret, self._share, self.plan = (np.zeros(n_tuples) for _ in range(3))
        self._flow_regret, self._flow_share, self.flow = (np.zeros(n_cells) for _ in range(3))
        self._xi, self._y = np.zeros(n_tuples), np.zeros(n_cells)
        share_evenly(sides.plan, self._share)
        share_evenly(sides.flow, self._flow_share)
        self._gradient = _Gradient(sides)
        self._part = sides.deviates.copy()  # of the multiplier that flows
        self._part_regret = np.zeros((2, len(sides.root)))
        self.flow[sides.root] = multiplier * self._part
        self._begin()

    def _begin(self) -> None:
        """Give the first entries their amounts, and spread the flow."""
        sides = self.sides
        self._xi[0] = self.plan[0] = 1.0
        self._y[sides.root] = self.multiplier * self._part
        spread(sides.flow, self._flow_share, 0.0, self._y, self.flow)

    @property
    def gradient(self) -> Floats:
        """The averaged gradient of the objective."""
        return self._gradient.mean

    def step(self) -> None:
        """One iteration."""
        sides = self.sides
        self.iteration += 1
        age = float(self._earlier + self.iteration - 1) ** DISCOUNT
        discount = age / (age + 1.0)
        weight = min(1.0, (POWER + 1.0) / (self.iteration + POWER))
        self._y[sides.n_cells :] = -(sides.kappa(self._gradient.now) + self._y[sides.root])
        self._cost[:] = 0.0 if self.noise is None else self.noise
        add_prices(sides.losses, self._y, self._cost)
        update_shares(sides.plan, discount, self._cost, self._regret, self._share)
        spread(sides.plan, self._share, weight, self._xi, self.plan)
        self._met[:] = 0.0
        add_losses(sides.losses, self._xi, self._met)
        self._gradient.step(self._met[sides.n_cells :], discount, weight)
        update_shares(sides.flow, discount, self._met, self._flow_regret, self._flow_share)
        if sides.idle:
            gains = self._met[sides.n_cells :] - self._met[sides.root] - sides.epsilon
            self._choose_parts(gains, discount)
        self.flow[sides.root] += (self._y[sides.root] - self.flow[sides.root]) * weight
        spread(sides.flow, self._flow_share, weight, self._y, self.flow)

    def _choose_parts(self, gains: Floats, discount: float) -> None:
        """Let each deviator choose how much to deviate, after what that gains."""
        expected = self._part * gains
        saved = np.stack([gains - expected, -expected])  # by deviating, and by staying idle
        self._part_regret[...] = np.maximum(0.0, discount * self._part_regret + saved)
        wanted = np.maximum(0.0, self._part_regret + saved)
        total = wanted.sum(axis=0)
        best = (gains > 0).astype(np.float64)
        self._part[...] = np.where(total > 0, wanted[0] / np.where(total > 0, total, 1.0), best)
        self._y[self.sides.root] = self.multiplier * self._part

    def restart_averages(self, noise: Floats | None) -> None:
        """Continue from the present shares with other noise; averages begin anew."""
        self.noise = noise
        self._earlier += self.iteration
        self.iteration = 0

    def bound(self) -> tuple[float, float]:
        """The bound that the averaged prices prove, and its error."""
        return self.sides.bound(self.flow, self.gradient)

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name, apart from the noise."""
        return {
            "multiplier": np.array(self.multiplier),
            "count": np.array([self.iteration, self._earlier]),
            **dict(zip(_NAMES, self._arrays(), strict=True)),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved :meth:`state`.

        Raises:
            LookupError, TypeError, ValueError: If it is not one of this game.
        """
        self.multiplier = float(state["multiplier"])
        self.iteration, self._earlier = (int(one) for one in state["count"])
        for name, own in zip(_NAMES, self._arrays(), strict=True):
            saved = np.asarray(state[name], np.float64)
            if saved.shape != own.shape or not np.isfinite(saved).all():
                raise ValueError(f"{name} must be {own.shape} finite numbers; got {saved.shape}")
            own[...] = saved
        self._begin()

    def _arrays(self) -> list[Floats]:
        own = self._gradient
        return [
            self._regret, self._share, self.plan, self._flow_regret, self._flow_share, self.flow,
            own.regret, own.share, own.now, own.mean, self._part, self._part_regret,
        ]  # fmt: skip


_NAMES = (
    "plan_regret", "plan_share", "plan_mean", "flow_regret", "flow_share", "flow_mean",
    "gradient_regret", "gradient_share", "gradient_now", "gradient_mean", "part", "part_regret",
)  # fmt: skip


class _Gradient:
    """The maximizer that chooses the gradient of an objective that is not linear.

    Each row of ``share`` mixes the gradients in a row of ``options``: those of all players for
    ``egalitarian``, and 1 or -1 per payoff range of each player for ``keep``.
    """

    def __init__(self, sides: Sides) -> None:
        self.sides, objective = sides, sides.objective
        leaves = sides.incentives.form.leaves
        n = leaves.n_players
        self.fixed = np.zeros(n)
        if objective.weights is not None:
            self.options = np.zeros((0, 1, n))
            self.fixed = objective.sign * np.array(objective.weights)
        elif objective.target is None:
            self.options = np.eye(n)[np.newaxis]
        else:
            unit = np.eye(n) / np.where(leaves.payoff_range > 0, leaves.payoff_range, 1.0)
            self.options = np.stack([unit, -unit], axis=1)
        self.share = np.full(self.options.shape[:2], 1.0 / self.options.shape[1])
        self.regret = np.zeros_like(self.share)
        self.now = self._mixed()
        self.mean = self.now.copy()

    def _mixed(self) -> Floats:
        return np.asarray(self.fixed + np.einsum("ro,ron->n", self.share, self.options))

    def step(self, losses: Floats, discount: float, weight: float) -> None:
        """Choose again after the losses of obeying, and average."""
        if len(self.options):
            sides = self.sides
            payoff = sides.offsets + sides.incentives.above_worst(losses)
            cost = np.einsum("ron,n->ro", self.options, payoff) / sides.scale
            saved = (self.share * cost).sum(axis=1, keepdims=True) - cost
            self.regret[...] = np.maximum(0.0, discount * self.regret + saved)
            wanted = np.maximum(0.0, self.regret + saved)
            total = wanted.sum(axis=1, keepdims=True)
            even = 1.0 / wanted.shape[1]
            self.share[...] = np.where(total > 0, wanted / np.where(total > 0, total, 1.0), even)
            self.now[...] = self._mixed()
        self.mean += (self.now - self.mean) * weight


@jit
def add_prices(losses: Losses, flow: Floats, cost: Floats) -> None:
    """Subtract from the ``cost`` of each tuple what the flow makes of its losses."""
    for t in range(len(cost)):
        total = 0.0
        for entry in range(losses.start[t], losses.start[t + 1]):
            total += losses.value[entry] * flow[losses.cell[entry]]
        cost[t] -= total


@jit
def add_losses(losses: Losses, plan: Floats, met: Floats) -> None:
    """Add to ``met``, by cell, the losses of a plan."""
    for t in range(len(plan)):
        if plan[t] != 0.0:
            for entry in range(losses.start[t], losses.start[t + 1]):
                met[losses.cell[entry]] += losses.value[entry] * plan[t]
