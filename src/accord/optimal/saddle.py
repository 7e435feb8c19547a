"""The best equilibrium as a saddle point, for games with millions of relevant tuples.

The mediator chooses a correlation plan xi, and every deviator i a flow y_i of mass lambda on the
cells of the rechistory tree: a lottery over deviations. With losses in [-1, 0] and a gradient g of
the objective, kappa_i = g_i unit_i / scale,

    L(xi, y) = sum_i kappa_i loss_i(xi) + sum_i (lambda loss_i(xi) - y_i . U_i(xi)),

which the mediator minimizes and the deviators maximize. loss_i and U_i are linear in xi
(``optimal/tuples.py``). If lambda is larger than what an incentive constraint is worth, the saddle
points are the best equilibria. Where obeying is not a deviation (K = 0) or a gain is allowed, the
mass of each flow is chosen between 0 and lambda. If the objective is not linear, g is chosen by one
more maximizer. A floor of player i's payoff is a limit on loss_i: another one chooses nu_i between
0 and lambda and adds nu_i (loss_i - limit_i). So are the equations that no order of filling
satisfies (``optimal/ties.py``); with them the saddle points are those of a relaxation.

Plans and flows are shared step by step (``optimal/sharing.py``), and the shares follow predictive
regret matching with alternating updates and regrets that are discounted by s / (s + 1), where s =
(t - 1)^1.5. Iterates are averaged with weights like t^5.

At every moment the averages answer two questions without a single joint plan:

* The averaged plan has an exact *value* and an exact *gap*: U = A xi, and one sweep of the cells.
* The averaged prices c(y) = sum_i (kappa_i + lambda + nu_i) obeying_i - A^T y of tuples give a
  *bound*: for any flow y >= 0, any masses lambda_i, any nu >= 0 and any valid g, no equilibrium
  with a gap of at most epsilon has a larger objective than

      g . offsets + scale (sum_i (lambda_i epsilon_i + nu_i limit_i) - min_xi c(y) . xi),

  and the minimum takes one sweep of the tuples (:meth:`Sides.bound`). Objectives are measured from
  their center (``optimal/objective.py``), and what rounding may change is added to the bound.
"""

from __future__ import annotations

from itertools import pairwise
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
from accord.optimal.ties import Ties, add_ties, find_violations
from accord.optimal.tuples import Tuples

POWER = 5.0
"""Iterate t has a weight like t to this power in averages."""

DISCOUNT = 1.5

TIED_PART = 0.5
"""Of the most that can follow from a member of a tie, the part that its multiplier may reach."""


class Losses(NamedTuple):
    """All losses as linear forms of xi, by tuple."""

    start: Ints  # [n_tuples + 1] entries of tuple t: start[t] .. start[t + 1] - 1
    cell: Ints  # the cell; those after the last are the players' losses of obeying
    value: Floats


class Averaged(NamedTuple):
    """What is known of an averaged plan."""

    losses: Floats  # [n_players] of obeying, in [-1, 0]
    gains: Floats  # [n_players] of the best deviations, in the same units


class Prices(NamedTuple):
    """What a bound follows from."""

    flow: Floats  # [n_cells + n_players] y; the last entries do not count
    gradient: Floats  # [n_players] g
    floor: Floats  # [n_players] nu
    tie: Floats  # [n_ties] mu


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
        self.limit = objective.largest_losses(leaves.worst, incentives.unit)  # [n_players]
        self.floored = self.limit < np.inf
        self.losses = self._joined_losses()
        self.ties = Ties.of(filling, self.number)
        self.roundings = tuples.plan_roundings(filling) + incentives.roundings
        self.roundings += self.ties.most_per_tuple(self.n_tuples)

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

    def flows(self, flow: Floats) -> tuple[Floats, ...]:
        """The flow of each player."""
        return tuple(flow[start:end] for start, end in pairwise(self.starts.tolist()))

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

    def missed(self, losses: Floats) -> Floats:
        """``[n_players]`` by how much losses exceed what floors allow; negative if they do not."""
        return np.where(self.floored, losses - np.where(self.floored, self.limit, 0.0), -1.0)

    def violations(self, plan: Floats) -> Floats:
        """``[n_ties]`` by how much a plan violates the equations that are tied."""
        found = np.zeros(self.ties.size)
        find_violations(self.ties, plan, found)
        return found

    def bound(self, prices: Prices) -> tuple[float, float]:
        """An upper bound on the maximized objective of all equilibria above its center, for any
        prices; and by how much it was raised because of rounding.

        The flow is made exact and the gradient valid first.
        """
        leaves, unit = self.incentives.form.leaves, self.incentives.unit
        flow, gradient, floor, tie = map(np.nan_to_num, prices)
        gradient = self.objective.valid_gradient(gradient, leaves.payoff_range)
        flow, floor = np.maximum(flow, 0.0), np.where(self.floored, np.maximum(floor, 0.0), 0.0)
        complete_flow(self.flow, flow.copy(), flow)
        masses, kappa = flow[self.root], self.kappa(gradient)
        flow[self.n_cells :] = -(kappa + masses + floor)
        cost = np.zeros(self.n_tuples)
        add_prices(self.losses, flow, cost)
        add_ties(self.ties, tie, -1.0, cost)
        add_least(self.plan, cost)
        held = floor * np.where(self.floored, self.limit, 0.0)
        allowed = float(masses @ self.epsilon + held.sum())
        charged = float(np.abs(kappa).sum() + 3.0 * masses.sum() + floor.sum())
        charged += float(masses @ self.epsilon + np.abs(held).sum())
        if self.ties.size:  # what filled-in plans tell need not be what one joint plan tells
            charged += self._most_charged(flow, np.abs(tie))
        share = SECOND_ORDER * UNIT * self.roundings
        size = float(np.abs(gradient) @ (np.abs(self.offsets) + unit))
        error = share * (self.scale * charged + size)
        return float(gradient @ self.offsets) + self.scale * (allowed - cost[0]) + error, error

    def _most_charged(self, flow: Floats, tie: Floats) -> float:
        """The largest sum of the magnitudes of all terms of a price."""
        losses = self.losses._replace(value=np.abs(self.losses.value))
        charged = np.zeros(self.n_tuples)
        add_prices(losses, np.abs(flow), charged)  # subtracts them
        add_ties(self.ties, -tie, 1.0, charged)
        add_least(self.plan, charged)
        return -float(charged[0])


class Saddle:
    """One run towards a saddle point, iteration by iteration.

    Attributes:
        sides: Mediator and deviators.
        multiplier: lambda, the mass of every flow.
        noise: What a perturbed run adds to the prices of tuples; None for no perturbation.
        iteration: t, the number of iterations since averages started.
        plan: The averaged xi.
        flow: The averaged y.
        limits: The largest multiplier of each tie, M.
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
        self._mass = _Parts(sides.deviates.copy())  # of the multiplier, for each deviator
        self._floor = _Parts(np.zeros(len(sides.root)))
        self._tie = _Parts(np.zeros(sides.ties.size), -1.0)
        self.limits = self._tie_limits()
        self.flow[sides.root] = multiplier * self._mass.now
        self._begin()

    def _tie_limits(self) -> Floats:
        """M for the present multiplier."""
        sides = self.sides
        if not sides.ties.size:
            return np.zeros(0)
        cost, every = np.zeros(sides.n_tuples), np.ones(sides.n_cells + len(sides.root))
        add_prices(sides.losses._replace(value=np.abs(sides.losses.value)), every, cost)
        price = self.multiplier + float(np.abs(sides.kappa(_Gradient(sides).now)).max())
        return TIED_PART * price * sides.ties.sizes(sides.plan, cost)

    def _begin(self) -> None:
        """Give the first entries their amounts, and spread the flow."""
        sides = self.sides
        self._xi[0] = self.plan[0] = 1.0
        self._y[sides.root] = self.multiplier * self._mass.now
        spread(sides.flow, self._flow_share, 0.0, self._y, self.flow)

    @property
    def prices(self) -> Prices:
        """The averaged prices."""
        floor, tie = self.multiplier * self._floor.mean, self.limits * self._tie.mean
        return Prices(self.flow, self._gradient.mean, floor, tie)

    def penalty(self, losses: Floats, gains: Floats) -> float:
        """What the present multipliers charge the averaged plan for what it violates."""
        sides = self.sides
        excess = np.maximum(gains - sides.epsilon, 0.0) + np.maximum(sides.missed(losses), 0.0)
        tied = float(self.limits @ np.abs(sides.violations(self.plan)))
        return sides.scale * (self.multiplier * float(excess.sum()) + tied)

    def step(self) -> None:
        """One iteration."""
        sides = self.sides
        self.iteration += 1
        age = float(self._earlier + self.iteration - 1) ** DISCOUNT
        discount = age / (age + 1.0)
        weight = min(1.0, (POWER + 1.0) / (self.iteration + POWER))
        floor = self.multiplier * self._floor.now
        self._y[sides.n_cells :] = -(sides.kappa(self._gradient.now) + self._y[sides.root] + floor)
        self._cost[:] = 0.0 if self.noise is None else self.noise
        add_prices(sides.losses, self._y, self._cost)
        add_ties(sides.ties, self.limits * self._tie.now, -1.0, self._cost)
        update_shares(sides.plan, discount, self._cost, self._regret, self._share)
        spread(sides.plan, self._share, weight, self._xi, self.plan)
        self._met[:] = 0.0
        add_losses(sides.losses, self._xi, self._met)
        self._gradient.step(self._met[sides.n_cells :], discount, weight)
        update_shares(sides.flow, discount, self._met, self._flow_regret, self._flow_share)
        if sides.floored.any():
            self._floor.step(sides.missed(self._met[sides.n_cells :]), discount, weight)
        if sides.ties.size:
            self._tie.step(sides.violations(self._xi), discount, weight)
        if sides.idle:
            gains = self._met[sides.n_cells :] - self._met[sides.root] - sides.epsilon
            self._mass.step(gains, discount, weight)
            self._y[sides.root] = self.multiplier * self._mass.now
        self.flow[sides.root] += (self._y[sides.root] - self.flow[sides.root]) * weight
        spread(sides.flow, self._flow_share, weight, self._y, self.flow)

    def restart_averages(self, noise: Floats | None) -> None:
        """Continue from the present shares with other noise; averages begin anew."""
        self.noise = noise
        self._earlier += self.iteration
        self.iteration = 0

    def bound(self) -> tuple[float, float]:
        """The bound that the averaged prices prove, and its error."""
        return self.sides.bound(self.prices)

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
        self.limits = self._tie_limits()
        self._begin()

    def _arrays(self) -> list[Floats]:
        own = self._gradient
        return [
            self._regret, self._share, self.plan, self._flow_regret, self._flow_share, self.flow,
            own.regret, own.share, own.now, own.mean,
            *(one for parts in (self._mass, self._floor, self._tie) for one in parts.arrays),
        ]  # fmt: skip


_NAMES = (
    "plan_regret", "plan_share", "plan_mean", "flow_regret", "flow_share", "flow_mean",
    "gradient_regret", "gradient_share", "gradient_now", "gradient_mean",
    "mass", "mass_mean", "mass_regret", "floor", "floor_mean", "floor_regret",
    "tie", "tie_mean", "tie_regret",
)  # fmt: skip


class _Parts:
    """Maximizers who each choose a number between ``low`` and 1, after what a unit of it gains."""

    def __init__(self, now: Floats, low: float = 0.0) -> None:
        self.now, self.mean, self.low = now, now.copy(), low
        self.regret = np.zeros((2, len(now)))

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """What the next choice depends on, and the average."""
        return self.now, self.mean, self.regret

    def step(self, gains: Floats, discount: float, weight: float) -> None:
        """Choose again, and average."""
        expected = self.now * gains
        saved = np.stack([gains - expected, self.low * gains - expected])
        self.regret[...] = np.maximum(0.0, discount * self.regret + saved)
        wanted = np.maximum(0.0, self.regret + saved)
        total = wanted.sum(axis=0)
        mixed = (wanted[0] + self.low * wanted[1]) / np.where(total > 0, total, 1.0)
        self.now[...] = np.where(total > 0, mixed, np.where(gains > 0, 1.0, self.low))
        self.mean += (self.now - self.mean) * weight


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
