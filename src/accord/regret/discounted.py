"""Discounted regret matching, DCFR of Brown and Sandholm 2019 (Section 4).

Regret matching (``regret/regret_matching.py``) with discounted sums. Before the regrets r^s of
iteration s are added, each sum so far is multiplied by a discount d:

    R^s = R^{s-1} d + r^s,   d = (s-1)^alpha / ((s-1)^alpha + 1)  where R^{s-1} > 0,
                             d = (s-1)^beta  / ((s-1)^beta  + 1)  elsewhere,

and iterates are averaged with weights ``t ** gamma``. The paper's choice is alpha = 3/2, beta = 0
and gamma = 2, the quadratic averaging of ``regret/methods.py``. The proof only needs the positive
sums to be orthogonal to the next regrets, and the stationary distribution ensures this for all
(rechistory, modification) pairs at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.rechistory import RechistoryArrays, RechistoryTree
from accord.errors import ArgumentError
from accord.regret.regret_matching import Matching, match_regrets
from accord.regret.state import MinimizerArrays, recommend
from accord.treeplex.treeplex import TreeplexArrays


@dataclass(frozen=True)
class DiscountedRegretMatching:
    """Configuration of discounted regret matching.

    Attributes:
        alpha: After iteration t, positive sums are multiplied by ``t**alpha / (t**alpha + 1)``.
        beta: The same power for all other sums.
    """

    alpha: float = 1.5
    beta: float = 0.0

    name = "dcfr"
    keeps_credit = False

    def __post_init__(self) -> None:
        for name, power in (("alpha", self.alpha), ("beta", self.beta)):
            if not -10.0 <= power <= 10.0:
                raise ArgumentError(
                    f"DiscountedRegretMatching: {name} must be between -10 and 10; got {power}"
                )

    def schedule(self, tree: RechistoryTree, iterations: int | None) -> Discounts:
        """The powers alpha and beta."""
        return Discounts(float(self.alpha), float(self.beta))


class Discounts(NamedTuple):
    """The parameters of the kernel."""

    alpha: float
    beta: float


@recommend.kernel_for(Discounts)
def match_discounted(
    discounts: Discounts,
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    state: MinimizerArrays,
    weight: float,
    t: int,
) -> None:
    """Discount the sums, then take a step of regret matching."""
    if t > 2:  # the sums hold iterations 1 .. t-2; iteration t-1 is added below
        age = float(t - 2)
        discount(state.regret, age**discounts.alpha, age**discounts.beta)
    match_regrets(Matching(False, False, 0.0), plex, tree, state, weight, t)


@jit
def discount(regret: Floats, gains: float, losses: float) -> None:
    """Multiply positive sums by ``gains / (gains + 1)``, others by ``losses / (losses + 1)``."""
    keep, forget = gains / (gains + 1.0), losses / (losses + 1.0)
    for cell in range(len(regret)):
        regret[cell] *= keep if regret[cell] > 0.0 else forget
