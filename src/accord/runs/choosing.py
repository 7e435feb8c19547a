"""From the mixture that a search found to the device that is returned.

The mixture gets rational weights where that is possible (``optimal/proof.py``). If it needs threats
that nobody would carry out, another one with the same value may need fewer
(``optimal/credible.py``); and one joint plan may do (``optimal/single_plan.py``). Then optimality
is proved in rational arithmetic, if that is possible.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from accord._activity import doing
from accord._signals import OutOfTime
from accord.certifying.certificate import Certificate
from accord.certifying.exact import certify_judged
from accord.deviations.notions import outcome_notion
from accord.equilibrium.policy import CorrelatedPolicy
from accord.equilibrium.rounding import UNIT
from accord.errors import ArgumentError, BudgetError
from accord.game.rationals import as_rational
from accord.optimal.column_generation import OPTIMAL
from accord.optimal.credible import Goal, credible_mixture
from accord.optimal.exact_linear import Basis
from accord.optimal.exact_mixture import ExactLeaves
from accord.optimal.exact_nash import exact_nash
from accord.optimal.objective import Objective
from accord.optimal.polish import is_exact
from accord.optimal.polytope import Relaxation
from accord.optimal.proof import (
    Exact,
    Rational,
    exact_value,
    in_doubles,
    is_pure,
    prove,
    pure_plan,
    rational_mixture,
)
from accord.optimal.single_plan import equally_good_plans
from accord.optimal.zero_sum import constant_sum
from accord.runs.request import OptimizeRequest
from accord.treeplex.form import SequenceForm

CHOOSING = 10.0
"""Seconds that the choice among equally good mixtures may take."""


class Found(NamedTuple):
    """A mixture on its way to the result."""

    policy: CorrelatedPolicy
    certificate: Certificate
    exact: Exact | None  # in rational numbers, if these are known
    best: bool = False  # whether no credible mixture is better, which was proved


@dataclass(frozen=True, eq=False)
class Choice:
    """What the device of an optimum is chosen by."""

    form: SequenceForm
    request: OptimizeRequest
    objective: Objective
    commits: tuple[int, ...]

    def certified(self, policy: CorrelatedPolicy, exact: Exact | None = None) -> Found:
        """The mixture with its certificate: also against others whose hands tremble, if advice off
        the path is to be judged and the game is not too large for that."""
        with doing("certifying the mixture"):
            certificate = certify_judged(
                policy, self.request.notion, self.request.tremble, self.request.commits
            )
        if self.request.notion.foresight and certificate.nfce_gap is None:
            raise BudgetError(
                f"the equilibrium of {policy.form.game.name} cannot be certified as an NFCE: "
                f"{certificate.nfce_refusal}; try k = infinity",
                required=1,
                available=0,
            )
        return Found(policy, certificate, exact)

    def in_fractions(self, policy: CorrelatedPolicy, end: float) -> Found:
        """The mixture with the weights of a vertex in rational numbers, if possible."""
        notion, objective = outcome_notion(self.request.notion), self.objective
        if self.request.target_gap > 0 or policy.plan is not None:
            return self.certified(policy)
        if not is_pure(policy):
            return self._nash(policy, end)
        exact = rational_mixture(self.form, policy, objective, notion, end, self.commits)
        if exact is None:
            return self.certified(policy)
        leaves, _, mixture = exact
        value, spread = exact_value(objective, mixture.payoffs, leaves), objective.scale(self.form)
        found = objective.value(policy.values(), self.form.leaves.payoff_range)
        size = OPTIMAL * spread + 16 * UNIT * abs(found)
        if objective.sign * (float(value) - found) < -size:  # not the best of these plans
            return self.certified(policy)
        return self.certified(in_doubles(exact), exact)

    def _nash(self, policy: CorrelatedPolicy, end: float) -> Found:
        """The equilibrium of a zero-sum game in rational numbers, if possible; else ``policy``."""
        nash = None
        if policy.n_components == 1 and constant_sum(self.form) is not None:
            with suppress(OutOfTime, OverflowError):
                nash = exact_nash(ExactLeaves(self.form), end)
        if nash is None:
            return self.certified(policy)
        product = CorrelatedPolicy.product(self.form.game, nash.behaviors())
        return self.certified(product, (nash.plans.leaves, nash.plans, nash.mixture))

    def chosen(self, first: Found, end: float) -> Found:
        """Of the mixtures with the value of ``first`` one that threatens as little as possible, and
        a single joint plan if one has no more threats.

        Raises:
            ArgumentError: If all advice must be credible, and no such equilibrium was found.
        """
        return self._simplest(self._most_credible(first, end), end)

    def _simplest(self, found: Found, end: float) -> Found:
        """A single joint plan with the value and no more threats than ``found``; else this."""
        notion, exact = outcome_notion(self.request.notion), found.exact
        if exact is None or notion.k != 1 or found.policy.n_components == 1:
            return found
        value = exact_value(self.objective, exact[2].payoffs, exact[0])
        end = min(end, time.monotonic() + CHOOSING)
        best, fewest = found, len(found.certificate.threats)
        for other in equally_good_plans(self.form, self.objective, value, end, self.commits):
            single = self.certified(in_doubles(other), other)
            threats = len(single.certificate.threats)
            if threats < fewest or (threats == fewest and best is found):
                best, fewest = single._replace(best=found.best), threats
            if best is not found and not fewest:
                break
        return best

    def _most_credible(self, first: Found, end: float) -> Found:
        """Of the mixtures with the value of ``first`` one that threatens as little as possible;
        ``first`` itself if no other has fewer threats.

        Raises:
            ArgumentError: If all advice must be credible, and no such equilibrium was found.
        """
        request, wanted = self.request, self.request.credible
        certificate, notion = first.certificate, outcome_notion(self.request.notion)
        if certificate.is_credible or not (wanted or certificate.threats):
            return first
        found = None
        pure = first.policy.plan is None and is_pure(first.policy)
        if pure and notion.k == 1 and not request.target_gap > 0:
            plans = [pure_plan(self.form, behavior) for behavior in first.policy.behavior]
            weights = [Fraction(weight) for weight in first.policy.weights.tolist()]
            if first.exact is not None:
                payoffs = first.exact[2].payoffs
                value = exact_value(self.objective, payoffs, first.exact[0])
                goal = Goal(self.objective, value, payoffs if self.objective.target else None)
            else:
                goal = Goal(self.objective, payoffs=tuple(map(Fraction, certificate.values)))
            found = credible_mixture(
                self.form, plans, weights, goal, as_rational(request.tremble),
                min(end, time.monotonic() + CHOOSING), commits=self.commits, hard=wanted,
            )  # fmt: skip
        if found is None and wanted and is_exact(certificate, request.notion):
            raise ArgumentError(
                f"no equilibrium of {self.form.game.name} was found whose advice off the path is a "
                f"best reply if others slip with probability {request.tremble:g}; leave credible "
                "out to get the best equilibrium with its threats, or try another tremble"
            )
        if found is None:
            return first
        chosen = self.certified(in_doubles(found.exact), found.exact)
        too_many = (
            request.components is not None and chosen.policy.n_components > request.components
        )
        if not is_exact(chosen.certificate, request.notion) or too_many:
            return first
        if first.exact is None and not (wanted and found.maximized):
            chosen = chosen._replace(exact=None)  # it has nearly these payoffs
        if wanted:
            return chosen._replace(best=found.maximized and found.complete)
        fewer = len(chosen.certificate.threats) < len(certificate.threats)
        return chosen if fewer else first

    def rational(
        self, found: Found, solved: tuple[Relaxation, Basis] | None, end: float
    ) -> Rational | None:
        """The mixture in rational numbers, if they are known, and the proof if there is one."""
        if found.exact is None:
            return None
        leaves, plans, mixture = found.exact
        notion, objective = outcome_notion(self.request.notion), self.objective
        proof = (
            prove(self.form, objective, notion, found.exact, end, solved) if len(plans) else None
        )
        weights = sorted((weight for weight in mixture.weights if weight), reverse=True)
        value, zero_sum = exact_value(objective, mixture.payoffs, leaves), not is_pure(found.policy)
        nearest = objective.target is not None and value == 0
        return Rational(
            value,
            mixture.payoffs,
            (Fraction(1),) if zero_sum else tuple(weights),
            proof,
            proved=proof is not None or zero_sum or nearest,
        )
