"""The search for the best equilibrium of a large game, as steps of the loop.

``optimal/large.py`` has the search. When it has ended, the exact correlation plan is taken apart
into joint plans, whose best mixture is polished like any other. Where no exact plan was found, or
it mixes too many joint plans, the correlation plan itself is the policy.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Floats
from accord._signals import OutOfTime
from accord.equilibrium.correlation_plan import CorrelationPlan, PlanSteps
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import rounded_up
from accord.optimal.binding import BindingConstraint, binding_constraints
from accord.optimal.column_generation import LEAST_GAIN
from accord.optimal.decomposition import decomposed
from accord.optimal.exact_linear import Basis
from accord.optimal.large import LargeSearch
from accord.optimal.polish import polished, unpolished
from accord.optimal.polytope import Relaxation
from accord.optimal.pricing import Multipliers
from accord.optimal.program import LARGEST_PENALTY, Program
from accord.runs.checkpoint import Checkpoint, Progressed
from accord.runs.folder import part_of
from accord.runs.loop import Steps

SHOWN = 0.02
"""The largest gap, and the most missing to a floor, in losses, of an averaged plan whose value is
shown."""

MOST_PLANS = 2_000
"""The most joint plans that are taken from an exact correlation plan."""

LEAST_SECONDS = 5.0
"""There must be joint plans, even if no time is left."""

SAMPLED, SAMPLED_SECONDS = 100, 20.0
"""The most joint plans that are taken from averages, which mix over far more, and how long."""


class OptimumSearch(Steps):
    """The search for the best equilibrium. Its checkpoints say how far it is.

    Attributes:
        worth: ``[n_players]`` by how much the objective of a mixture may exceed the bound per unit
            of a player's gap.
        error: By how much the bound was raised because of rounding.
    """

    worth: Floats
    error: float = 0.0
    solved: tuple[Relaxation, Basis] | None = None  # the relaxation, if it was needed

    @property
    def binding(self) -> tuple[BindingConstraint, ...]:
        """The constraints that have a price at the present bound."""
        return ()

    def unique(self) -> bool | None:
        """Whether all optima have the same payoffs, if the bound is met; None if not known."""
        return None

    def draft(self) -> CorrelatedPolicy | None:
        """The mixture of the moment, as it is; None before there is one, or if only the last step
        finds one."""
        return None

    @abstractmethod
    def policy(self, components: int | None, seconds: float = math.inf) -> CorrelatedPolicy:
        """The best mixture found, of at most so many components; it may take ``seconds``."""


class SaddleSteps(OptimumSearch):
    """The iterations of a :class:`~accord.optimal.large.LargeSearch`."""

    def __init__(self, search: LargeSearch) -> None:
        self.search = search

    @property
    def worth(self) -> Floats:  # type: ignore[override]
        """As far as the present bound says."""
        return self.search.worth

    @property
    def error(self) -> float:  # type: ignore[override]
        """That of the present bound."""
        return self.search.error

    @property
    def binding(self) -> tuple[BindingConstraint, ...]:
        """The constraints that have a price at the present bound."""
        sides, found = self.search.sides, self.search.prices
        if found is None:
            return ()
        flows = sides.flows(found.flow)
        prices = Multipliers(np.zeros(len(flows)), flows, found.floor)
        return binding_constraints(sides.incentives, prices, sides.scale, sides.objective.floor)

    @property
    def iteration(self) -> int:
        """How many iterations there were, in all phases."""
        return self.search.iteration

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, or the time is up."""
        return self.search.finished or self.search.late

    def next_checkpoint(self) -> int:
        """The next iteration at which something new may be known."""
        return self.search.next_look()

    def advance(self, iterations: int, seconds: float | None) -> None:
        """Make iterations, which may be cut short when ``seconds`` have passed."""
        self.search.advance(iterations, seconds)

    def look(self, seconds: float) -> Checkpoint:
        """The value and the gap of the best plan known, and the bound."""
        search = self.search
        sides, objective = search.sides, search.sides.objective
        losses, gains = search.look()
        gaps = tuple((np.maximum(gains, 0.0) * sides.incentives.unit).tolist())
        center, sign = objective.center(sides.incentives.form.leaves), objective.sign
        value = None
        if (gains <= SHOWN + sides.epsilon).all() and sides.missed(losses).max() <= SHOWN:
            value = float(sign * (center + Fraction(sides.value(losses))))
        bound = sign * rounded_up(center + Fraction(search.bound))
        return Checkpoint(
            iteration=self.iteration,
            gap=max(gaps),
            player_gaps=gaps,
            values=tuple(sides.incentives.payoffs(losses).tolist()),
            seconds=seconds,
            best=Progressed(value, bound, search.source, 0),
        )

    def draft(self) -> CorrelatedPolicy | None:
        """The averaged plan."""
        return self._whole(self.search.averages.plan) if self.iteration else None

    def policy(self, components: int | None, seconds: float = math.inf) -> CorrelatedPolicy:
        """The best mixture of joint plans that make up the best plan known, if they are few; else,
        unless the number of components is limited, the plan itself."""
        search, end = self.search, time.monotonic() + max(seconds, LEAST_SECONDS)
        sides, plan, most = search.sides, search.plan, MOST_PLANS
        if plan is None:
            plan, most = search.averages.plan, SAMPLED
            end = min(end, time.monotonic() + SAMPLED_SECONDS)
            if components is None:
                return self._whole(plan)
        with doing("taking the plan apart"):
            found = decomposed(sides.tuples, plan[sides.number], most, end)
            program = Program(sides.incentives, sides.objective, search.epsilon)
            program.penalize(LARGEST_PENALTY)
            for _, one in found:
                program.add(one)
            weights = np.array([max(weight, 1e-6) for weight, _ in found])[: program.n_columns]
            lottery = program.lottery(weights / weights.sum())
            program.end = None if search.plan is not None else end
            with suppress(OutOfTime):
                lottery = program.solve_separated()
            program.end = None
        if lottery.slack > LEAST_GAIN:
            if components is None:
                return self._whole(plan)
            return unpolished(program, lottery, components)
        with doing("polishing the mixture"):
            return polished(program, lottery, components, max(0.0, end - time.monotonic()))

    def _whole(self, plan: Floats) -> CorrelatedPolicy:
        """A correlation plan as a policy."""
        steps = PlanSteps.of(self.search.filling)
        return CorrelatedPolicy.of_plan(CorrelationPlan.of_amounts(steps, plan))

    @property
    def saved_iteration(self) -> int | None:
        """Every iteration can be continued from."""
        return self.iteration or None

    def state(self) -> dict[str, Any]:
        """What the search continues from, by name."""
        return {f"saddle_{name}": value for name, value in self.search.state().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.search.restore(part_of(state, "saddle_"))

    @property
    def n_bytes(self) -> int:
        """The size of the averages, which are most of the state."""
        return 24 * self.search.sides.n_tuples
