"""Column generation: the best equilibrium, from programs over few joint plans.

The program (``optimal/program.py``) over the joint plans found so far gives a mixture and prices.
Pricing (``optimal/pricing.py``) finds joint plans that the mixture lacks; they become columns, and
so on. When no joint plan is worth more than the mixture, it is the best of all equilibria.

If the relaxation (``optimal/polytope.py``) is small enough it is solved first. Its optimum is taken
apart into joint plans (``optimal/decomposition.py``). If nothing is left of it and the mixture is
an equilibrium, it is the best one, and no other program is needed. Otherwise the relaxation's
prices help: those of the program jump about while columns are few, so joint plans are also priced
at averages of both (the smoothing of Wentges 1997), which takes far fewer rounds. And its bound
ends the search as soon as the mixture meets it.

Relaxations of two players that are too large for a program, or take too long, are solved nearly, by
a saddle point whose prices serve the same purposes (``optimal/large.py``).

Where correlation plans can be filled in (``equilibrium/filling.py``) a sweep of all tuples finds
the cheapest joint plan, so every round has it and a bound, also in games whose relaxation is too
large.

The *bound* on what any K-EFCE can reach is the least of

* what one player with all information would get (``optimal/free_play.py``);
* the relaxation's optimum;
* the bound that follows from prices and the least price of any joint plan, found by enumeration
  (``optimal/enumeration.py``), by that sweep, or by a mixed-integer program
  (``optimal/exact_pricing.py``).

Heuristic pricing never enters a bound.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Floats, Ints
from accord._signals import OutOfTime, check_time
from accord.equilibrium.filling import Filling
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import ArgumentError, BudgetError
from accord.optimal.decomposition import decomposed
from accord.optimal.enumeration import Enumeration
from accord.optimal.exact_linear import Basis
from accord.optimal.exact_pricing import plan_prices, price_exactly, read_plan
from accord.optimal.free_play import best_plan_together
from accord.optimal.incentives import Incentives
from accord.optimal.large import LargeSearch
from accord.optimal.objective import Objective
from accord.optimal.polytope import Relaxation, Relaxed
from accord.optimal.pricing import Multipliers, Pricing
from accord.optimal.program import Lottery, Program
from accord.optimal.tuples import Tuples
from accord.treeplex.strategy import random_behavior

TUPLES = 50_000
"""Relaxations with more variables are not solved."""

MOST_TUPLES = 500_000
"""The most tuples that are swept for the cheapest joint plan."""

ENUMERATED = 20_000
"""The most plans of all players but one that exact pricing enumerates."""

LOOKED_AT = 1e8
"""The most leaves that exact pricing by enumeration looks at."""

LEAST_GAIN = 1e-9
"""A joint plan whose price is better by less than this is not worth a column."""

OPTIMAL = 2e-9
"""Value and bound meet if they differ by at most this part of the objective's spread."""

MET = 1e-10
"""The search ends when value and bound differ by at most this part of the objective's spread. A
mixture that is the optimum of the relaxation ends it at half of OPTIMAL."""

SHARES = (0.98, 0.8, 0.5, 0.0)
"""Weights of the relaxation's prices in averages with the program's, tried in this order until one
finds a column."""

PATIENT_ROUNDS = 10
"""Rounds without an equilibrium after which the price of violations rises."""

DECOMPOSED = 5_000
"""The most joint plans that are taken from the relaxation's optimum."""

FRESH = 10
"""Rounds after which the state is saved and the program is built anew from it."""

LONGEST_STEP = 120.0
"""Seconds that a relaxation or a mixed-integer program may take."""

FREE = "the best of all plays"
RELAXED = "correlation plans over relevant tuples"

STARTS = 20
MOST_COLUMNS = 30
FIRST_PLANS = 20


class ColumnGeneration:
    """The search for the best equilibrium, one round at a time.

    Attributes:
        program: The program over the joint plans found so far.
        lottery: Its last solution.
        exact: Whether ``lottery`` violates no incentive constraint.
        value: The maximized objective of ``lottery`` above its center; minus infinity until one is
            exact.
        bound: An upper bound on the maximized objective of every K-EFCE, above its center.
        error: By how much the bound was raised because of rounding, and of the tolerance of a
            mixed-integer program.
        worth: ``[n_players]`` by how much the objective of a mixture may exceed the bound per unit
            of a player's gap.
        source: Where the bound comes from, in words.
        solved: The relaxation and its basis, if it was solved since the last start.
        late: Whether the last round ran out of time.
        iteration: The number of rounds so far.
        finished: Whether another round cannot improve anything.
        saved: The last state to continue from; None before there is one.
    """

    def __init__(
        self,
        incentives: Incentives,
        objective: Objective,
        epsilon: float = 0.0,
        *,
        plans: list[Ints] | None = None,
        seed: int = 0,
    ) -> None:
        self.incentives, self.objective, self.epsilon = incentives, objective, epsilon
        self.form = incentives.form
        self.rng = np.random.default_rng(seed)
        self.program = Program(incentives, objective, epsilon)
        self.pricing = Pricing(incentives)
        self.enumeration = Enumeration(self.pricing)
        self.iteration = 0
        self.late = False
        self._tuples: Tuples | None = None
        self._filling: Filling[Tuples] | None = None
        self._plan_roundings = 0  # of a sweep over the filling
        self._begin()
        for plan in plans or ():
            self.program.add(incentives.reduced(plan))
        for _ in range(FIRST_PLANS):
            self.program.add(self._random_plan())

    def _begin(self) -> None:
        """Reset everything that depends on the objective."""
        self.lottery: Lottery | None = None
        self.exact = False
        self.value = -np.inf
        self.bound, self.source = self.objective.most(self.form), FREE
        self.error = 0.0
        self.worth = np.zeros(self.form.n_players)
        self.multipliers: Multipliers | None = None  # that prove the bound
        self.finished = False
        self.solved: tuple[Relaxation, Basis] | None = None
        self._relaxed: Relaxed | None = None
        self._prepared = False
        self._timed = False  # whether a clock has ended the preparation, or may have
        self.saved: dict[str, Any] | None = None

    @property
    def tuples(self) -> Tuples | None:
        """The relevant tuples, if they are few enough for a program and have been needed."""
        return self._tuples

    def aim(self, objective: Objective) -> None:
        """Maximize another objective from now on, with the joint plans found so far.

        Both objectives must be linear.
        """
        self.objective = objective
        self.program.aim(objective)
        self._begin()

    def offer(self, policy: CorrelatedPolicy) -> None:
        """Take the joint plans of a mixture of pure components as columns."""
        for behavior in policy.behavior:
            self.program.add(self.incentives.sampled(behavior, self.rng))

    def advance(self, seconds: float | None = None) -> None:
        """One round: solve the program, and look for joint plans that improve it.

        Args:
            seconds: The time that the round may take. A round that runs out of time is ``late``;
                what was found before still holds.
        """
        self.late = False
        now = time.monotonic()
        end = None if seconds is None else now + seconds
        due = self.iteration % FRESH == 0 or (self.iteration == 1 and self._timed)
        if self.iteration and due and self._prepared:
            self.saved = self._state()
            self.restore(self.saved)
        self.program.end = end
        try:
            self._advance(now + LONGEST_STEP if end is None else min(end, now + LONGEST_STEP))
        except OutOfTime:
            self.late = True
            self.lottery = self.lottery or self.evenly()
        finally:
            self.program.end = None

    def evenly(self) -> Lottery:
        """The mixture of all joint plans found so far with equal weights."""
        count = self.program.n_columns
        return self.program.lottery(np.full(count, 1.0 / count))

    def _advance(self, end: float) -> None:
        """One round, whose proofs end by ``end``, a time of ``time.monotonic``."""
        mixture = None if self._prepared else self._prepare(end)
        self.iteration += 1
        if mixture is not None:
            self._take(mixture)
            self.finished = self._missing <= OPTIMAL / 2 * self.program.scale
            if self.finished:
                return
        lottery = self.program.solve_separated()
        self._take(lottery)
        if self.finished:
            return
        if not self.exact and self.iteration % PATIENT_ROUNDS == 0:
            self.program.raise_penalty()
        prices, gradient, limit = self.program.prices()
        found = self._cheap_plans(prices, lottery, limit)
        if len(self._tuples or ()) > TUPLES:
            found += self._exact_plans(prices, gradient, end)
        if self._add(found, limit):
            return
        if lottery.slack > LEAST_GAIN and self.program.raise_penalty():
            return
        if self._add(self._exact_plans(prices, gradient, end), limit):
            return
        if lottery.slack > LEAST_GAIN and self.program.floors:
            raise ArgumentError(
                "no equilibrium pays everybody what they must get at least: the nearest misses it "
                f"by {lottery.slack:.3g} of what is at stake; try less, or optimize for the payoff "
                "of one player to see how much is possible"
            )
        # Payoffs of very different sizes may leave a violation that the solver cannot remove.
        self.finished = True

    def _take(self, lottery: Lottery) -> None:
        """Store a solution of the program; the search is finished if its value meets the bound."""
        self.lottery, self.exact = lottery, lottery.slack <= LEAST_GAIN
        if self.exact:
            above = self.incentives.above_worst(lottery.losses)
            self.value = self.objective.above_center(above, self.form.leaves)
            self.finished = self._missing <= MET * self.program.scale

    @property
    def _missing(self) -> float:
        """By how much the value misses the bound, rounding aside."""
        return self.bound - self.error - self.value

    def _state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        state: dict[str, Any] = {
            "iteration": np.array(self.iteration),
            "above_center": np.array(self.bound),
            "error": np.array(self.error),
            "worth": self.worth,
            "source": np.array(self.source),
            "penalty": np.array(self.program.penalty),
            "random": np.array(json.dumps(self.rng.bit_generator.state)),
            "plans": np.array(self.program.plans),
        }
        for i in range(self.form.n_players):
            state[f"cells_{i}"] = self.program.cells(i)
            if self._relaxed is not None:
                state[f"flow_{i}"] = self._relaxed.prices.flow[i]
        if self._relaxed is not None:
            state["kappa"] = self._relaxed.prices.kappa
        if self.multipliers is not None:
            state["proved_kappa"], state["proved_floor"] = (
                self.multipliers.kappa,
                np.zeros(0) if self.multipliers.floor is None else self.multipliers.floor,
            )
            for i, flow in enumerate(self.multipliers.flow):
                state[f"proved_flow_{i}"] = flow
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state that was saved.

        A search starts afresh from its own saved states now and then, so that it finds the same,
        whether it was resumed from them or not.
        """
        self.iteration = int(state["iteration"])
        self.bound, self.source = float(state["above_center"]), str(state["source"])
        self.error, self.worth = float(state["error"]), np.array(state["worth"])
        self.rng.bit_generator.state = json.loads(str(state["random"]))
        self.program = Program(self.incentives, self.objective, self.epsilon)
        self.program.penalize(float(state["penalty"]))
        for plan in state["plans"]:
            self.program.add(plan)
        for i in range(self.form.n_players):
            self.program.add_rows(i, state[f"cells_{i}"])
        if "kappa" in state:
            flows = tuple(state[f"flow_{i}"] for i in range(self.form.n_players))
            self._relaxed = Relaxed(self.bound, self.error, Multipliers(state["kappa"], flows))
        self.multipliers = None
        if "proved_kappa" in state:
            proved = tuple(state[f"proved_flow_{i}"] for i in range(self.form.n_players))
            floor = np.array(state["proved_floor"])
            self.multipliers = Multipliers(
                state["proved_kappa"], proved, floor if len(floor) else None
            )
        self.saved, self._prepared = state, True
        self._find_tuples()

    def _find_tuples(self) -> None:
        if self._tuples is None:
            few = self.form.n_players == 2 and self.incentives.notion.k in (0, 1)
            with suppress(BudgetError):
                tuples = Tuples(self.incentives, MOST_TUPLES if few else TUPLES)
                self._filling = Filling.of(tuples)
                if self._filling is not None:
                    self._plan_roundings = tuples.plan_roundings(self._filling)
                if self._filling is not None or len(tuples) <= TUPLES:
                    self._tuples = tuples

    def _prepare(self, end: float) -> Lottery | None:
        """Solve the relaxation, and take its best joint plans as columns; return their mixture if
        it is an equilibrium."""
        self._prepared = True
        self._find_tuples()
        if self._tuples is None or len(self._tuples) > TUPLES:
            self._add_teamwork()
            if self._filling is None:
                self._relax_nearly(end)
            return None
        relaxation = Relaxation(self._tuples, self.objective, self.epsilon)
        self._relaxed = relaxation.solve(max(0.0, end - time.monotonic()) / 2)
        if self._relaxed is None:
            self._relax_nearly(end)
            return None
        if self._relaxed.basis is not None:
            self.solved = relaxation, self._relaxed.basis
        prices = self._relaxed.prices
        self._tighten_bound((self._relaxed.bound, self._relaxed.error), RELAXED, prices)
        if self._filling is not None:  # closer than the bound of the relaxation's own duals
            least, _ = self._filling.cheapest(plan_prices(self._tuples, prices))
            assert self._relaxed.gradient is not None
            bound = self.program.bound(prices, self._relaxed.gradient, least, self._plan_roundings)
            self._tighten_bound(bound, RELAXED, prices)
        assert self._relaxed.plan is not None
        found = decomposed(self._tuples, self._relaxed.plan, DECOMPOSED, end)
        for _, plan in found:
            self.program.add(plan)
        if (mixture := self._mixture(found)) is not None:
            return mixture
        self._relaxed = replace(self._relaxed, gradient=None, plan=None)
        self._add_cheap(prices)
        return None

    def _relax_nearly(self, end: float) -> None:
        """Take bound and prices from a saddle point over correlation plans whose equations are
        tied, if there is one."""
        if self.form.n_players != 2 or self.incentives.notion.k not in (0, 1):
            return
        with suppress(BudgetError), doing("looking for prices"):
            check_time(self.program.end)  # before every part that takes long, or must be compiled
            tuples = self._tuples or Tuples(self.incentives, MOST_TUPLES)
            check_time(self.program.end)
            filling = Filling.of(tuples, tie=True)
            if filling is None:
                return
            check_time(self.program.end)
            search = LargeSearch(filling, self.objective, self.epsilon)
            search.relax(end)
            if search.prices is None:
                return
            sides, (flow, gradient, floor, _) = search.sides, search.prices
            masses = sides.kappa(gradient) + flow[sides.root] + floor
            prices = Multipliers(masses, sides.flows(flow), floor)
            self._tighten_bound((search.bound, search.error), RELAXED, prices)
            self._relaxed = Relaxed(search.bound, search.error, prices)
            self._timed = True  # so that whoever resumes has these prices, not others
            self._add_cheap(prices)

    def _add_cheap(self, prices: Multipliers) -> None:
        """Take joint plans that are cheap at these prices as columns, and charge violations so that
        the program has such prices, too."""
        self.program.penalize(max(1.0, 2.0 * self.program.mass(prices)))
        for _ in range(STARTS):
            check_time(self.program.end)
            order = self.rng.permutation(self.form.n_players).tolist()
            _, plan = self.pricing.descend(prices, self._random_plan(), order, LEAST_GAIN)
            self.program.add(plan)

    def _add_teamwork(self) -> None:
        """Add joint plans that come close to the best of all plays, and those that no player alone
        can improve for the objective. Where all players want the same these are equilibria."""
        form = self.form
        weights = self.objective.sign * np.array(self.objective.weights or [1.0] * form.n_players)
        kappa = weights * self.incentives.unit / self.program.scale
        prices = Multipliers(kappa, tuple(np.zeros(tree.n_cells) for tree in self.incentives.trees))
        starts = [self._random_plan() for _ in range(STARTS)]
        for share in np.linspace(0.0, 1.0, STARTS // 2):  # all together, then some more than others
            mixed = weights * (1.0 - share + share * self.rng.random(form.n_players))
            plan = np.concatenate(best_plan_together(form, mixed))
            starts.append(self.incentives.reduced(plan))
            self.program.add(starts[-1])
        for start in starts:
            check_time(self.program.end)
            order = self.rng.permutation(form.n_players).tolist()
            self.program.add(self.pricing.descend(prices, start, order, LEAST_GAIN)[1])

    def _mixture(self, found: list[tuple[float, Ints]]) -> Lottery | None:
        """The mixture of joint plans with these weights if it is an equilibrium."""
        weight: dict[bytes, float] = {}
        for share, plan in found:
            weight[plan.tobytes()] = weight.get(plan.tobytes(), 0.0) + share
        weights = np.array([weight.get(plan.tobytes(), 0.0) for plan in self.program.plans])
        if not abs(weights.sum() - 1.0) <= LEAST_GAIN:
            return None
        lottery = self.program.lottery(weights / weights.sum())
        return lottery if lottery.slack <= LEAST_GAIN else None

    def _tighten_bound(self, bound: tuple[float, float], source: str, prices: Multipliers) -> None:
        """Replace the upper bound and its error by ``bound``, which follows from ``prices``, if it
        is smaller."""
        if bound[0] < self.bound:
            (self.bound, self.error), self.source = bound, source
            self.multipliers = prices
            self.worth = self.program.masses(prices) * self.program.scale / self.incentives.unit

    def _cheap_plans(self, prices: Multipliers, lottery: Lottery, limit: float) -> list[Any]:
        """``(price, plan)`` of joint plans at local optima."""
        heaviest = np.argsort(-lottery.weights, kind="stable")[:STARTS]
        starts = [self.program.plans[c] for c in heaviest if lottery.weights[c] > 0]
        starts += [self._random_plan() for _ in range(STARTS // 2)]
        for share in SHARES if self._relaxed is not None else (0.0,):
            setting = prices if share == 0.0 else self._average(prices, share)
            found = []
            for plan in starts:
                check_time(self.program.end)
                for order in (1, -1):
                    players = range(self.form.n_players)[::order]
                    price, better = self.pricing.descend(setting, plan, players, 1e-11)
                    if setting is not prices:
                        price = self.pricing.price(prices, better)
                    found.append((price, better))
            if any(price < limit - LEAST_GAIN for price, _ in found):
                break
        return found

    def _exact_plans(self, prices: Multipliers, gradient: Floats, end: float) -> list[Any]:
        """``(price, plan)`` of the cheapest joint plans; tightens the bound."""
        count, found, roundings, tolerance = self.enumeration.count, [], 0, 0.0
        if count <= ENUMERATED and count * len(self.form.leaves) <= LOOKED_AT:
            found = self.enumeration.cheapest(prices, MOST_COLUMNS, end)
            least, source = found[0][0], "the enumeration of all joint plans"
        elif self._filling is not None:
            tuples = self._filling.tuples
            least, told = self._filling.cheapest(plan_prices(tuples, prices))
            source, roundings = "a sweep of all tuples", self._plan_roundings
            plan = read_plan(tuples, told)
            found.append((self.pricing.price(prices, plan), plan))
        elif self._tuples is not None:
            left = max(0.0, end - time.monotonic())
            priced = price_exactly(self._tuples, prices, left)
            least, source = priced.least, "a mixed-integer program over all joint plans"
            if priced.plan is not None:
                found.append((self.pricing.price(prices, priced.plan), priced.plan))
                tolerance = min(found[0][0] - least, LEAST_GAIN * 10)
        else:
            return []
        bound, error = self.program.bound(prices, gradient, least, roundings)
        error += tolerance * self.program.scale
        self._tighten_bound((bound, error), source, prices)
        return found

    def _add(self, found: list[Any], limit: float) -> int:
        """Add the cheapest new plans that are worth it; return how many."""
        worth = sorted((pair for pair in found if pair[0] < limit - LEAST_GAIN), key=lambda p: p[0])
        added = 0
        for _, plan in worth:
            added += self.program.add(plan)
            if added == MOST_COLUMNS:
                break
        return added

    def _average(self, prices: Multipliers, share: float) -> Multipliers:
        """Prices between those of the program and of the relaxation."""
        assert self._relaxed is not None
        ours, theirs = 1.0 - share, self._relaxed.prices
        flows = (ours * a + share * b for a, b in zip(prices.flow, theirs.flow, strict=True))
        return Multipliers(ours * prices.kappa + share * theirs.kappa, tuple(flows))

    def _random_plan(self) -> Ints:
        behaviors = [random_behavior(plex, self.rng) for plex in self.form.plexes]
        return self.incentives.sampled(np.concatenate(behaviors), self.rng)
