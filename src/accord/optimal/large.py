"""The search for the best equilibrium of a large game, by a saddle point.

1. *Averages.* A run of ``optimal/saddle.py`` narrows value and bound. It starts with a small
   multiplier. If the penalty for the gap stays larger than twice what is not yet known about the
   optimum, the multiplier is too small: the run would end outside of the equilibria. Then it is
   doubled, and the run starts anew. Bounds of all runs count.
2. *An exact plan.* Perturbed runs, with less noise from stage to stage, have a small support
   (``optimal/support.py``). If the program over it needs no slack, its optimum is an exact
   equilibrium. Other seeds break ties in other ways, so several are tried.
3. *A proof.* If the game is not too large, the program over the cells of the averaged flow has an
   optimum that bounds all equilibria, and no constraint that it leaves out binds as a rule.

Where chance is private, some equations of correlation plans are tied (``optimal/ties.py``). Then
the averages are those of a relaxation, and there is nothing to do after them.

The search ends when the value of an exact plan meets the bound, or is close to it and no proof is
possible; and when no support gave an exact plan, with the averaged plan.

Everything is counted in iterations, never in seconds, so that a run that is resumed finds the same.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from accord._activity import doing
from accord._arrays import Floats
from accord._signals import is_stopping
from accord.certifying.footprint import check_memory
from accord.deviations.notions import Notion
from accord.equilibrium.filling import Filling
from accord.equilibrium.relevant import LARGEST_KEY, count_tuples
from accord.errors import ArgumentError
from accord.optimal.incentives import Incentives
from accord.optimal.objective import Objective
from accord.optimal.saddle import Averaged, Prices, Saddle, Sides
from accord.optimal.support import (
    completed,
    kept_cells,
    kept_tuples,
    own_noise,
    solve_restricted,
    told_by_one,
)
from accord.optimal.tuples import Tuples, count_entries
from accord.treeplex.form import SequenceForm

LARGE = 20_000
"""Tuples up to which the program over all of them is quick (``optimal/column_generation.py``)."""

BYTES_PER_TUPLE = 260
"""What a tuple takes at the peak, when all of them have been sorted and the sides are built."""

CLOSE = 1e-3
"""Value and bound of a game that is too large for a proof are close if they differ by at most this
part of the objective's spread."""

FIRST_MULTIPLIER = 2.0
LARGEST_MULTIPLIER = 1e6
PATIENCE = 50
"""Iterations before a multiplier can turn out to be too small."""

FIRST_LOOK, GROWTH = 10, 4 / 3
"""The iteration at which averages are looked at first, and how much later the next time is."""

NOISE = (4.0, 1.0, 0.25)
"""The noise of each stage of a perturbed run, in units of the multiplier over four times the
number of tuples that a joint plan tells."""

STAGE = (1000, 500, 500)
"""Iterations of each stage."""

SEEDS = 6
NEAR = 0.03
"""The largest gain, in losses, at which a support is tried before the last stage."""

SHARES = (0.05, 0.02)
"""Least shares of the tuples of a support, tried in this order."""

SUPPORTED = 1_000_000
"""The most tuples of a game in which supports are looked for."""

SUPPORT = 30_000
"""The most tuples of a support."""

PIVOTS = 25_000
"""The most iterations of the simplex method on the program over a support."""

DENSE = 20
"""Losses of deviators per tuple beyond which a game has not many tuples, but infosets with many
actions. Games whose infosets have few have about one."""

PROVED = 50_000
"""The most tuples of a game whose optimum is proved by a program."""

MOST_ROUNDS, SWEPT_TUPLES = 10_000, 1_000_000_000
"""The most iterations for a relaxation, and the most tuples that are swept in them."""

FLOW = 1e-3
"""The least part of a deviator's flow for which a cell is kept in that program."""

EXACT = 1e-9
MET = 1e-9

AVERAGING, SUPPORTING, PROVING, DONE = range(4)

SWEPT = "a sweep of all tuples"
BINDING = "correlation plans over relevant tuples"
FREE = "the best of all plays"


def tuple_bytes(form: SequenceForm, notion: Notion) -> float:
    """What the tuples of a large game take; 0 in other games, which need none of this."""
    if form.n_players != 2 or notion.agent or notion.deviations > 1:
        return 0.0
    count = count_tuples(form)
    return BYTES_PER_TUPLE * float(count) if count > LARGE else 0.0


def large_filling(incentives: Incentives) -> Filling[Tuples] | None:
    """How correlation plans of a large game are filled in; None if the game is small, if infosets
    have very many actions, or if it is not known how.

    Raises:
        BudgetError: If the tuples do not fit into memory.
    """
    form = incentives.form
    required = tuple_bytes(form, incentives.notion)
    if not required or count_entries(incentives) > DENSE * required / BYTES_PER_TUPLE:
        return None
    what = f"the best equilibrium of {form.game.name}"
    check_memory(what, {"tuples": required}, None, "try a smaller game")
    return Filling.of(Tuples(incentives, LARGEST_KEY, entries=np.inf))


class LargeSearch:
    """The search, iteration by iteration.

    Attributes:
        filling: How correlation plans are filled in.
        sides: Mediator and deviators.
        averages: The run whose averages give value and bound.
        bound: An upper bound on the maximized objective of every equilibrium, above its center.
        error: By how much the bound was raised because of rounding.
        worth: ``[n_players]`` by how much the objective of a mixture may exceed the bound per unit
            of a player's gap.
        source: Where the bound comes from, in words.
        plan: The best exact plan found, ``[n_tuples]``; None before there is one.
        value: Its maximized objective above the center; minus infinity before there is one.
        prices: Those that prove the bound; None before there are any.
        iteration: The number of iterations so far, of all runs.
        phase: What the search is doing.
        late: Whether the last call ran out of time.
    """

    def __init__(
        self, filling: Filling[Tuples], objective: Objective, epsilon: float = 0.0
    ) -> None:
        self.filling, self.epsilon = filling, epsilon
        self.sides = Sides(filling, objective, epsilon)
        self.averages = Saddle(self.sides, FIRST_MULTIPLIER)
        self.perturbed: Saddle | None = None
        form = self.sides.incentives.form
        self.bound, self.error, self.source = objective.most(form), 0.0, FREE
        self._least = -np.inf  # no play is worth less
        if objective.target is None:
            self._least = self.bound - (1.0 + CLOSE) * self.sides.scale
        self.worth = np.zeros(form.n_players)
        self.prices: Prices | None = None
        self.plan: Floats | None = None
        self.value = -np.inf
        self.iteration, self.phase, self.late = 0, AVERAGING, False
        self._stage = 0  # of all perturbed runs
        self._small = False  # whether a support of the present seed was small enough to try
        self._look_at = FIRST_LOOK
        self._told = 0.0

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.phase == DONE

    def next_look(self) -> int:
        """The iteration at which something may be known that was not before."""
        if self.phase == AVERAGING:
            return self.iteration + max(1, self._look_at - self.averages.iteration)
        if self.phase == SUPPORTING:
            done = 0 if self.perturbed is None else self.perturbed.iteration
            return self.iteration + max(1, STAGE[self._stage % len(STAGE)] - done)
        return self.iteration + 1

    def advance(self, iterations: int, seconds: float | None = None) -> None:
        """Make iterations, which may be cut short when ``seconds`` have passed."""
        end = np.inf if seconds is None else time.monotonic() + seconds
        self.late = False
        for _ in range(iterations):
            if self.finished:
                return
            (self._average, self._support, self._prove)[self.phase](end)
            self.iteration += 1
            if time.monotonic() > end:
                self.late = True
                return

    def relax(self, end: float) -> None:
        """Average until value and bound of the relaxation meet, the iterations are many for the
        size of the game, or half of the time until ``end`` has passed."""
        half = (time.monotonic() + end) / 2
        for _ in range(min(MOST_ROUNDS, SWEPT_TUPLES // self.sides.n_tuples)):
            if self.phase != AVERAGING or is_stopping() or time.monotonic() > half:
                break
            self.advance(1)

    def look(self) -> Averaged:
        """The losses and gains of the best plan known: the exact one, or the averaged one."""
        return self.sides.averaged(self.averages.plan if self.plan is None else self.plan)

    def _average(self, end: float) -> None:
        run = self.averages
        run.step()
        if run.iteration < self._look_at:
            return
        self._look_at = int(GROWTH * self._look_at) + 1
        sides = self.sides
        bound = self._tighten(run.prices, BINDING if sides.ties.size else SWEPT)
        losses, gains = sides.averaged(run.plan)
        penalty = run.penalty(losses, gains)
        unknown = bound - (sides.value(losses) - penalty)
        small = penalty > 2.0 * unknown and run.multiplier < LARGEST_MULTIPLIER
        if small and run.iteration >= PATIENCE:
            self.averages = Saddle(sides, 2.0 * run.multiplier)
            self.averages.step()  # before that there is no plan to look at
            self._look_at = FIRST_LOOK
        elif not small and unknown <= CLOSE * sides.scale:
            if sides.ties.size:
                self.phase = DONE
                return
            self._take(run.plan)
            self.phase = SUPPORTING if sides.n_tuples <= SUPPORTED else PROVING

    def _support(self, end: float) -> None:
        stage = self._stage % len(STAGE)
        if self.perturbed is None:
            self.perturbed = Saddle(self.sides, self.averages.multiplier)
            self._told = told_by_one(self.sides)
        run = self.perturbed
        if run.iteration == 0:
            run.noise = self._noise()
        run.step()
        if run.iteration < STAGE[stage]:
            return
        found, last = False, stage == len(STAGE) - 1
        if last or (self.sides.averaged(run.plan).gains <= NEAR + self.sides.epsilon).all():
            found = self._try_support(run, end)
        self._stage += 1
        if found and self.bound - self.value <= CLOSE * self.sides.scale:
            self.phase = PROVING
        elif self._stage % len(STAGE):
            run.restart_averages(None)
        elif self._small and self.plan is None and self._stage < SEEDS * len(STAGE):
            self.perturbed, self._small = None, False  # another seed
        else:
            self.phase = PROVING
        if self.phase == PROVING:
            self.perturbed = None

    def _noise(self) -> Floats:
        """The noise of the present stage."""
        seed, stage = divmod(self._stage, len(STAGE))
        assert self.perturbed is not None
        unit = NOISE[stage] * self.perturbed.multiplier / (4.0 * self._told)
        return unit * own_noise(self.sides, np.random.default_rng(seed))

    def _try_support(self, run: Saddle, end: float) -> bool:
        """Solve programs over supports of a perturbed run; return whether one has a better plan."""
        sides = self.sides
        for share in SHARES:
            kept = kept_tuples(sides, run.plan, share)
            if kept.sum() > SUPPORT or time.monotonic() > end:
                break
            self._small = True
            with doing(f"solving the program over {kept.sum():,} tuples"):
                found = solve_restricted(
                    sides, kept, None, 2.0 * run.multiplier,
                    solver="simplex", time_limit=_left(end), simplex_iteration_limit=PIVOTS,
                )  # fmt: skip
            if found.solved and self._take(found.plan):
                return True
        return False

    def _take(self, plan: Floats) -> bool:
        """Take a plan that is an exact equilibrium and better than the one there is, if any."""
        losses, gains = self.sides.averaged(plan)
        value = self.sides.value(losses)
        exact = bool((gains <= self.sides.epsilon + EXACT).all())
        better = value > self.value and exact and self.sides.missed(losses).max() <= EXACT
        if better:
            self.plan, self.value = plan.copy(), value
        return better

    def _prove(self, end: float) -> None:
        """Solve the program over the cells of the averaged flow, and take the bound of its duals.
        If that does not end the search, it ends here all the same."""
        sides, run = self.sides, self.averages
        self.phase = DONE
        if sides.n_tuples > PROVED or self.bound - self.error - self.value <= MET * sides.scale:
            return
        with doing("proving the bound"):
            found = solve_restricted(
                sides, np.ones(sides.n_tuples, np.bool_),
                kept_cells(sides, run.flow, FLOW * run.multiplier), 0.0,
                solver="ipm", run_crossover="off", ipm_optimality_tolerance=1e-10,
                time_limit=_left(end),
            )  # fmt: skip
        self._take(found.plan)
        flow = completed(sides, found.flow, run.flow)
        self._tighten(Prices(flow, found.gradient, found.floor, np.zeros(0)), BINDING)

    def _tighten(self, prices: Prices, source: str) -> float:
        """Replace the upper bound by that of these prices if it is smaller; return it.

        Raises:
            ArgumentError: If it proves that no equilibrium pays everybody their floor.
        """
        sides = self.sides
        bound, error = sides.bound(prices)
        if bound < self.bound:
            self.bound, self.error, self.source = bound, error, source
            mass = prices.flow[sides.root] + prices.floor
            self.worth = mass * sides.scale / sides.incentives.unit
            self.prices = Prices(*(one.copy() for one in prices))
        if sides.floored.any() and bound < self._least:
            raise ArgumentError(
                "no equilibrium pays everybody what they must get at least; try less, or optimize "
                "for the payoff of one player to see how much is possible"
            )
        return bound

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        state: dict[str, Any] = {
            "count": np.array(
                [self.iteration, self.phase, self._stage, self._look_at, int(self._small)]
            ),
            "bound": np.array([self.bound, self.error]),
            "worth": self.worth,
            "source": np.array(self.source),
            "value": np.array(self.value),
        }
        if self.plan is not None:
            state["plan"] = self.plan
        if self.prices is not None:
            state |= {f"price_{name}": value for name, value in self.prices._asdict().items()}
        for name, run in (("averages", self.averages), ("perturbed", self.perturbed)):
            if run is not None:
                state |= {f"{name}_{key}": value for key, value in run.state().items()}
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved :meth:`state`.

        Raises:
            LookupError, TypeError, ValueError: If it is not one of this game.
        """
        self.iteration, self.phase, self._stage, self._look_at, small = map(int, state["count"])
        self._small = bool(small)
        if self.phase not in range(DONE + 1):
            raise ValueError(f"there is no phase {self.phase}")
        self.bound, self.error = map(float, state["bound"])
        self.worth, self.source = np.array(state["worth"], np.float64), str(state["source"])
        self.value, self.plan = float(state["value"]), state.get("plan")
        prices = _part(state, "price_")
        self.prices = Prices(**prices) if prices else None
        if self.plan is not None and self.plan.shape != (self.sides.n_tuples,):
            raise ValueError("the plan is of another game")
        self.averages.restore(_part(state, "averages_"))
        self.perturbed = None
        if "perturbed_count" in state:
            self.perturbed = Saddle(self.sides, self.averages.multiplier)
            self.perturbed.restore(_part(state, "perturbed_"))
            self._told = told_by_one(self.sides)
            if self.perturbed.iteration:
                self.perturbed.noise = self._noise()


def _part(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}


def _left(end: float) -> float:
    return max(0.0, end - time.monotonic())
