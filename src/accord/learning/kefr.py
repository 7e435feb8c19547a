"""K-EFR with full feedback, Algorithm 2 of Song, Mei, Bai 2022.

One learner per player. In every iteration it goes through its infosets, parents first, and at each

    computes the time selections S_b of the infoset's rechistories     (Lines 5-6)
    lets the infoset's regret minimizer recommend pi^t(. | x)          (Lines 7-8)

then observes its counterfactual losses (Line 11), which the minimizers take up when they are next
asked (``regret/state.py`` says why that is the same). The minimizer is WRHedge, as in the
paper, or regret matching. A learner knows its own treeplex and nothing else.

In self-play (:class:`SelfPlay`) the losses come from the leaf table: all players recommend, all
reaches are computed, all losses, in every iteration. Small games run many iterations inside one
compiled call; large ones run each player on a thread of its own. Nothing is summed in another
order, so the bits are the same.

The learner also adds up what the exact K-EFCE gap needs (``equilibrium/gap.py``), each iterate
weighed by ``t ** averaging``: the gap of the weighted average of all iterates is known at any
time without storing one of them.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.modification import Modification
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.gap import add_deviation_loss, best_deviation
from accord.errors import ArgumentError
from accord.regret.rates import paper_learning_rate
from accord.regret.regret_matching import RegretMatching, match_regrets
from accord.regret.state import (
    PREDICTIVE_RM_PLUS,
    RM,
    RM_PLUS,
    WRHEDGE,
    new_arrays,
)
from accord.regret.wrhedge import WRHedge, hedge
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import compute_cf_loss, fold_single_actions

Minimizer = WRHedge | RegretMatching


class KEFR:
    """One player's uncoupled K-EFR learner.

    Call :meth:`recommend` for the next policy, play it against anybody, and :meth:`observe` the
    immediate counterfactual losses it met, in [0, 1] over a whole play. Repeat.

    Args:
        plex: The player's treeplex: all the learner ever sees of the game.
        k: How many recommendations a deviator may disobey.
        minimizer: :class:`WRHedge` or :class:`RegretMatching`.
        iterations: The paper's T, for WRHedge's learning rate; not needed if that is given or
            anytime.
        averaging: Iterate t counts ``t ** averaging`` in the average whose regret is measured.
        behavior: Where to write policies; by default a new array.
    """

    def __init__(
        self,
        plex: Treeplex,
        k: SupportsIndex | float = 1,
        minimizer: Minimizer | None = None,
        *,
        iterations: int | None = None,
        averaging: int = 0,
        behavior: Floats | None = None,
        budget: int | None = None,
    ) -> None:
        self.plex = plex
        self.minimizer = RegretMatching() if minimizer is None else minimizer
        self.averaging = averaging
        self.iteration = 0
        self.own_loss = 0.0  # sum of w_t times the expected loss of pi^t
        self.tree = RechistoryTree.build(plex, k, budget)
        hedging = isinstance(self.minimizer, WRHedge)
        self.state = new_arrays(
            self.tree,
            np.ones(plex.n_sequences) if behavior is None else behavior,
            credit=hedging,
        )
        self.learning_rate, self.decay = 1.0, 0.0
        if isinstance(self.minimizer, WRHedge):
            self.learning_rate, self.decay = _schedule(self.minimizer, self.tree, iterations)
        else:
            self.decay = self.minimizer.decay

    @property
    def method(self) -> int:
        """The minimizer as kernels know it."""
        if isinstance(self.minimizer, WRHedge):
            return WRHEDGE
        if not self.minimizer.plus:
            return RM
        return PREDICTIVE_RM_PLUS if self.minimizer.predictive else RM_PLUS

    @property
    def total_weight(self) -> float:
        """The sum of t ** averaging so far."""
        return float((np.arange(1, self.iteration + 1, dtype=np.float64) ** self.averaging).sum())

    def recommend(self) -> Floats:
        """The next policy pi^t, over sequences. Valid until the next call."""
        weight = float(self.iteration**self.averaging) if self.iteration else 0.0
        self.iteration += 1
        recommend(
            self.plex.arrays, self.tree.arrays, self.state, self.method, weight,
            learning_rate_at(self.learning_rate, self.decay, self.iteration),
        )  # fmt: skip
        self.state.loss[:] = 0.0  # until it is observed
        self.state.cf_loss[:] = 0.0
        return self.state.behavior

    def observe(self, loss: Floats) -> None:
        """Take in the immediate counterfactual losses l^t that the last policy met.

        Before the first policy there are none. Observed again, they replace the ones before.
        """
        if self.iteration == 0:
            raise ArgumentError("recommend a policy before observing the losses that it met")
        met = np.asarray(loss, dtype=np.float64)
        if met.shape != (self.plex.n_sequences,) or not (np.isfinite(met) & (met >= 0.0)).all():
            raise ArgumentError(
                f"losses must be {self.plex.n_sequences} finite numbers, one per sequence and none "
                "negative"
            )
        replaced = float(self.state.cf_loss[0])
        self.state.loss[:] = met
        fold_single_actions(self.plex.arrays, self.state.loss)
        compute_cf_loss(self.plex.arrays, self.state.behavior, self.state.loss, self.state.cf_loss)
        expected = float(self.state.cf_loss[0])
        self.own_loss += float(self.iteration**self.averaging) * (expected - replaced)

    def regret(self) -> float:
        """The (weighted) K-EFCE regret so far, eq. (kefce-regret), in normalised losses."""
        return self.best_deviation()[0]

    def best_deviation(self) -> tuple[float, Modification]:
        """The (weighted) K-EFCE regret so far and the modification that attains it."""
        total = self.state.deviation_loss.copy()
        add_deviation_loss(  # the last iteration, which the minimizers have not taken up yet
            self.plex.arrays, self.tree.arrays, self.state.behavior, self.state.loss,
            float(self.iteration**self.averaging), np.empty(self.tree.n_nodes), total,
        )  # fmt: skip
        least, phi = best_deviation(self.tree, total)
        return self.own_loss - least, phi


def _schedule(config: WRHedge, tree: RechistoryTree, iterations: int | None) -> tuple[float, float]:
    """The learning rate at t = 1 and the power of t by which it decays."""
    if config.learning_rate is not None:
        return config.learning_rate, 0.0
    rate = config.scale * paper_learning_rate(tree.plex, tree.k)
    if config.anytime:
        return rate, 0.5
    if iterations is None:
        raise ArgumentError(
            "WRHedge needs to know the number of iterations for the paper's learning rate; give "
            "iterations, a learning_rate, or anytime=True"
        )
    return rate / float(np.sqrt(iterations)), 0.0


@jit
def learning_rate_at(rate: float, decay: float, t: int) -> float:
    """The learning rate of iteration t: WRHedge's eta, or the weight of regrets."""
    return rate * float(t) ** -decay if decay else rate


@jit
def recommend(
    plex: Any, tree: Any, state: Any, method: int, weight: float, learning_rate: float
) -> None:
    """Lines 3-10 of Algorithm 2: overwrite ``state.behavior`` with the next policy."""
    state.deviation_loss[0] += weight * state.loss[0]
    if method == WRHEDGE:
        hedge(plex, tree, state, weight, learning_rate)
    else:
        plus, predictive = method != RM, method == PREDICTIVE_RM_PLUS
        match_regrets(plex, tree, state, weight, learning_rate, plus, predictive)
