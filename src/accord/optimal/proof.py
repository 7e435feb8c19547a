"""Proofs of optimality without tolerances, which anybody can check.

A proof that a mixture is the best K-EFCE has three parts, all of rational numbers: the mixture,
which is an equilibrium (``optimal/exact_mixture.py``); *prices* of deviations, one flow per player
and told sequence; and *multipliers* of the equations of correlation plans (``optimal/tuples.py``).
With the gradient g of the objective and payoffs above the worst, for every K-EFCE

    objective <= g . payoffs + prices . losses by deviating + multipliers . equations,

and the right-hand side is a linear form in xi >= 0. If no coefficient but that of the empty tuple
is positive, that one is a bound on every equilibrium, so a proof has one inequality per tuple.
Prices and multipliers are the duals of the relaxation (``optimal/polytope.py``), whose basis is
solved exactly. Every K-EFCE with K >= 1 is a 1-EFCE, so proofs for K >= 1 charge the deviators of
K = 1. Those of an EFCCE leave at an infoset before being told anything. Floors of payoffs have
prices, too.

``optimal/check_proof.py`` checks a proof, given nothing else but the text of the game.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from accord._arrays import Ints
from accord._signals import OutOfTime
from accord.deviations.notions import Notion, outcome_notion
from accord.deviations.rechistory import COARSE, ROOT
from accord.equilibrium.policy import CorrelatedPolicy
from accord.errors import BudgetError
from accord.game.rationals import as_rational
from accord.interop.efg_writer import format_efg
from accord.optimal.check_proof import check
from accord.optimal.exact_linear import Basis, IntegerMatrix, part, solve_exactly
from accord.optimal.exact_mixture import ExactLeaves, ExactMixture, ExactPlans, best_exact_mixture
from accord.optimal.incentives import Incentives
from accord.optimal.objective import Objective
from accord.optimal.polytope import Relaxation
from accord.optimal.tuples import Tuples
from accord.treeplex.form import SequenceForm
from accord.treeplex.strategy import pure_behavior

PROVED_TUPLES = 20_000
"""Games with more relevant tuples get no proof."""

LONGEST_PROOF = 60.0
"""Seconds that a relaxation may take that is solved only for the proof."""

PROVED_LEAVES = 200_000
"""Plans times leaves up to which a mixture is made exact."""

Exact = tuple[ExactLeaves, ExactPlans, ExactMixture]
"""A mixture in rational numbers, and the plans that it may mix."""

Flow = dict[int, Fraction]
"""The price of a deviator at each sequence."""


@dataclass(frozen=True, eq=False, repr=False)
class Rational:
    """A best equilibrium in rational numbers."""

    value: Fraction  # of the objective
    payoffs: tuple[Fraction, ...]  # of each player
    weights: tuple[Fraction, ...]  # of each component
    proof: dict[str, Any] | None  # that no equilibrium is better, as JSON data, if it can be listed
    proved: bool  # whether that is proved without a tolerance, listed or not

    def to_json(self) -> dict[str, Any]:
        """The numbers as texts such as ``"420/79"``."""
        return {
            "value": str(self.value),
            "values": list(map(str, self.payoffs)),
            "weights": list(map(str, self.weights)),
            "proved": self.proved,
        }


def rational_mixture(
    form: SequenceForm,
    policy: CorrelatedPolicy,
    objective: Objective,
    notion: Notion,
    end: float,
    commits: Sequence[int] = (),
) -> Exact | None:
    """The best equilibrium over the components of a policy, in rational numbers; None if there is
    none, if components are not pure, or if it takes too long."""
    if notion.linear or not is_pure(policy):
        return None
    if policy.n_components * len(form.leaves) > PROVED_LEAVES:
        return None
    try:
        leaves = ExactLeaves(form)
        pure = [pure_plan(form, behavior) for behavior in policy.behavior]
        plans = ExactPlans(leaves, pure, commits)
        mixture = best_exact_mixture(plans, policy.weights.tolist(), objective, notion, end)
    except (OutOfTime, OverflowError):
        return None
    return None if mixture is None else (leaves, plans, mixture)


def in_doubles(exact: Exact) -> CorrelatedPolicy:
    """The mixture in doubles, heaviest component first."""
    leaves, plans, mixture = exact
    weights, plexes = mixture.weights, leaves.form.plexes
    kept = sorted((c for c, weight in enumerate(weights) if weight), key=lambda c: -weights[c])
    actions = [tuple(np.array(own, np.int32) for own in plans.actions[c]) for c in kept]
    behaviors = [np.concatenate(list(map(pure_behavior, plexes, own))) for own in actions]
    return CorrelatedPolicy(
        leaves.form.game, np.array([float(weights[c]) for c in kept]), np.array(behaviors)
    )


def is_pure(policy: CorrelatedPolicy) -> bool:
    """Whether all components are pure."""
    return set(np.unique(policy.behavior)) <= {0.0, 1.0}


def pure_plan(form: SequenceForm, behavior: Any) -> tuple[Ints, ...]:
    """The actions of a pure behavior, per player."""
    plan = []
    for plex, own in zip(form.plexes, form.split(behavior), strict=True):
        chosen = np.flatnonzero(own[1:] > 0.5) + 1
        plan.append((chosen - plex.first_seq[plex.seq_infoset[chosen]]).astype(np.int32))
    return tuple(plan)


def exact_value(objective: Objective, payoffs: Sequence[Fraction], leaves: ExactLeaves) -> Fraction:
    """The objective at these payoffs."""
    if objective.target is not None:
        aims = zip(payoffs, map(as_rational, objective.target), leaves.span, strict=True)
        return -sum((abs(u - v) / (span or 1) for u, v, span in aims), start=Fraction(0))
    if objective.weights is None:
        return min(payoffs)
    weights = (as_rational(w) for w in objective.weights)
    return sum((w * u for w, u in zip(weights, payoffs, strict=True)), start=Fraction(0))


class Prover:
    """Prices and multipliers that prove a bound on every equilibrium."""

    def __init__(self, relaxation: Relaxation, leaves: ExactLeaves) -> None:
        self.relaxation, self.leaves = relaxation, leaves
        self.tuples, self.objective = relaxation.tuples, relaxation.objective
        self.form = leaves.form

    def solve(self, basis: Basis, end: float) -> bool:
        """Find the duals of a basis; False if there are none."""
        matrix, costs, factor = self._program()
        found = solve_exactly(
            part(matrix, basis), [costs.get(c, 0) for c in basis.basic], end, transposed=True
        )
        if found is None:
            return False
        duals = dict(zip(basis.binding, found, strict=True))
        self.multipliers = [duals.get(g, Fraction(0)) / factor for g in range(self.n_groups)]
        self.flows: list[dict[int, Flow]] = []
        for i, start in enumerate(self.relaxation.cells):
            unit = Fraction(self.leaves.unit[i], factor)
            n_cells = self.tuples.incentives.trees[i].n_cells
            flow = {
                cell: -duals[start + cell] * unit
                for cell in range(n_cells)
                if duals.get(start + cell)
            }
            self.flows.append(self._by_told(i, flow))
        if self.objective.weights is None:
            self.gradient = self._shares(duals, self.relaxation.first_objective, self.units, factor)
        else:
            sign = -1 if self.objective.minimize else 1
            self.gradient = [sign * as_rational(w) for w in self.objective.weights]
        self.floors = self._shares(duals, self.relaxation.first_floor, self.leaves.unit, factor)
        return True

    def _shares(self, duals: Flow, first: int, units: Sequence[int], factor: int) -> list[Fraction]:
        """The prices of payoffs, from the duals of a row per player."""
        rows = range(first, first + self.form.n_players)
        return [-duals.get(r, Fraction(0)) * u / factor for r, u in zip(rows, units, strict=True)]

    def _program(self) -> tuple[IntegerMatrix, dict[int, int], int]:
        """The relaxation in integers, row by row up to a factor: entries, costs of variables, and
        the factor of the costs."""
        tuples, leaves = self.tuples, self.leaves
        self.n_groups, equations = tuples.equations()
        rows, columns = equations.rows.tolist(), equations.columns.tolist()
        values = equations.values.astype(np.int64).tolist()
        ends, variable = tuples.ends.tolist(), len(tuples)
        for i, (tree, start) in enumerate(
            zip(tuples.incentives.trees, self.relaxation.cells, strict=True)
        ):
            above = leaves.above[i]
            cells, at, leaf = (array.tolist() for array in tuples.deviating_leaves(i))
            rows += [start + cell for cell in cells] + [start + ROOT] * len(ends)
            columns += at + ends
            values += [above[place] for place in leaf] + [-value for value in above]
            decisions = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_row))[1:]
            own = np.repeat(np.arange(len(decisions)), tree.row_width[1:])
            rows += (start + np.arange(1, tree.n_cells)).tolist()
            columns += (variable + own).tolist()
            values += [1] * len(own)
            rows += (start + tree.arrays.parent_cell[decisions]).tolist()
            columns += (variable + np.arange(len(decisions))).tolist()
            values += [-1] * len(decisions)
            variable += len(decisions)
        costs: dict[int, int] = defaultdict(int)
        factor = 1
        if self.objective.weights is not None:
            sign = -1 if self.objective.minimize else 1
            weights = [
                sign * as_rational(w) / unit
                for w, unit in zip(self.objective.weights, leaves.unit, strict=True)
            ]
            factor = math.lcm(*(w.denominator for w in weights))
            for i, weight in enumerate(weights):
                for at, value in zip(ends, leaves.above[i], strict=True):
                    costs[at] -= int(weight * factor) * value
        else:  # least - payoff_i <= 0, in units of 1 / units[i]
            lowest = min(leaves.worst)
            costs[variable] = -1
            self.units = []
            for i, (worst, unit) in enumerate(zip(leaves.worst, leaves.unit, strict=True)):
                row = self.relaxation.first_objective + i
                common = math.lcm((worst - lowest).denominator, unit)
                self.units.append(common)
                rows += [row] * (1 + len(ends))
                columns += [variable, *ends]
                values += [common] + [-value * (common // unit) for value in leaves.above[i]]
        for i in range(len(leaves.unit)) if self.objective.floor is not None else ():
            rows += [self.relaxation.first_floor + i] * len(ends)
            columns += ends
            values += [-value for value in leaves.above[i]]
        return IntegerMatrix(rows, columns, values), costs, factor

    def _by_told(self, i: int, flow: Flow) -> dict[int, Flow]:
        """Flows over sequences by what the deviator was told last, or by -1 - x if they left at x
        before being told; -1 stands for the mass."""
        tree, positions = self.tuples.incentives.trees[i], self.tuples.positions[i]
        plex, arrays = tree.plex, tree.arrays
        found: dict[int, Flow] = {}
        node_of = np.repeat(np.arange(tree.n_nodes), np.diff(arrays.first_cell))
        for cell, price in flow.items():
            if cell == ROOT:
                if not (tree.is_swap.any() or tree.notion.coarse):
                    found.setdefault(0, {})[-1] = price
                continue
            node = int(node_of[cell])
            x, offset = int(tree.node_infoset[node]), cell - int(arrays.first_cell[node])
            first, n = int(plex.first_seq[x]), int(plex.n_actions[x])
            if tree.is_swap[node] or tree.kind[node] == COARSE:
                coarse = not tree.is_swap[node]
                told, action = (None, offset - 1) if coarse else divmod(offset, n)
                if action in (told, -1):
                    continue  # obeying costs nothing
                own = found.setdefault(-1 - x if told is None else first + told, {})
                own[-1] = own.get(-1, Fraction(0)) + price
                own[first + action] = price
            else:
                start = int(positions.arriving[node])
                while tree.notion.coarse and tree.kind[node] != COARSE:
                    node = int(arrays.parent[node])
                    start = -1 - int(tree.node_infoset[node])
                found.setdefault(start, {})[first + offset] = price
        return found

    def to_json(self, plans: ExactPlans, mixture: ExactMixture, notion: Notion) -> dict[str, Any]:
        """The proof."""
        game, objective = self.form.game, self.objective
        groups, told = self.tuples.groups, self.tuples.told
        multipliers = []
        for group, factor in enumerate(self.multipliers):
            if factor:
                member = int(groups.members[groups.first[group]])
                i = int(np.flatnonzero(groups.of[member] == group)[0])
                x = int(self.form.plexes[i].seq_infoset[told[i][member]])
                heard = [self._named(j, int(told[j][member])) for j in range(len(told))]
                heard[i] = None
                label = self.form.plexes[i].infoset_labels[x]
                multipliers.append([i, label, heard, str(factor)])
        prices = [
            [
                i,
                self._named(i, start),
                str(flow.get(-1, Fraction(0))),
                [[self._named(i, s), str(y)] for s, y in flow.items() if s > 0],
            ]
            for i, own in enumerate(self.flows)
            for start, flow in own.items()
        ]
        floors = enumerate(zip(objective.floor or (), self.floors, strict=False))
        return {
            "format": "accord-proof",
            "version": 2,
            "game": game.name,
            "k": notion.written,
            "objective": "egalitarian"
            if objective.weights is None
            else [str(as_rational(w)) for w in objective.weights],
            "minimize": objective.minimize,
            "commits": list(plans.commits),
            "floors": [
                [i, str(as_rational(least)), str(price)]
                for i, (least, price) in floors
                if least > -math.inf
            ],
            "value": str(exact_value(objective, mixture.payoffs, plans.leaves)),
            "payoffs": [str(u) for u in mixture.payoffs],
            "plans": [
                [
                    str(weight),
                    [
                        dict(zip(plex.infoset_labels, actions, strict=True))
                        for plex, actions in zip(self.form.plexes, own, strict=True)
                    ],
                ]
                for weight, own in zip(mixture.weights, plans.actions, strict=True)
                if weight
            ],
            "gradient": [str(g) for g in self.gradient],
            "prices": prices,
            "multipliers": multipliers,
        }

    def _named(self, i: int, seq: int) -> list[Any] | None:
        plex = self.form.plexes[i]
        if seq < 0:
            return [plex.infoset_labels[-1 - seq], None]
        if seq == 0:
            return None
        x = int(plex.seq_infoset[seq])
        return [plex.infoset_labels[x], seq - int(plex.first_seq[x])]


def prove(
    form: SequenceForm,
    objective: Objective,
    notion: Notion,
    exact: Exact,
    end: float,
    solved: tuple[Relaxation, Basis] | None = None,
) -> dict[str, Any] | None:
    """A proof that no equilibrium is better than a mixture, which was checked; None if none is
    found.

    Args:
        form: The game.
        objective: Linear or egalitarian; others have no proof.
        notion: A K-EFCE or the EFCCE; others have none either.
        exact: The mixture.
        end: When to give up, a time of ``time.monotonic``.
        solved: The relaxation and its basis, if it is solved already; used if K <= 1.
    """
    leaves, plans, mixture = exact
    programmed = outcome_notion(notion)
    if programmed.agent or programmed.has_no_tree or objective.target is not None:
        return None
    try:
        if solved is None or programmed != notion:
            tuples = Tuples(
                Incentives.build(form, programmed, commits=plans.commits), PROVED_TUPLES
            )
            relaxation = Relaxation(tuples, objective, 0.0)
            relaxed = relaxation.solve(max(0.0, min(LONGEST_PROOF, end - time.monotonic())))
            if relaxed is None or relaxed.basis is None:
                return None
            solved = relaxation, relaxed.basis
        prover = Prover(solved[0], leaves)
        if len(prover.tuples) > PROVED_TUPLES or not prover.solve(solved[1], end):
            return None
        proof = prover.to_json(plans, mixture, notion)
        check(format_efg(form.game), proof)
    except (BudgetError, OutOfTime, ValueError, LookupError):
        # The relaxation proves less, or the text of the game has other labels.
        return None
    return proof
