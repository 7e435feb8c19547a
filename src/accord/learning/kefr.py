"""K-EFR with full feedback, Algorithm 2 of Song, Mei, Bai 2022.

There is one learner per player. In every iteration it visits its infosets, parents first, and at
each

    computes the time selections S_b of the infoset's rechistories     (Lines 5-6)
    lets the infoset's regret minimizer recommend pi^t(. | x)          (Lines 7-8)

Then it observes its counterfactual losses (Line 11). The minimizers process them when they next
recommend; ``regret/state.py`` explains why this is equivalent. The minimizer can be any from
``regret/methods.py``: the paper's WRHedge, or regret matching. A learner knows its own treeplex and
nothing else.

For other notions (``deviations/notions.py``) the tree of rechistories is another, and nothing else
changes: a notion's deviators lose, at each of their rechistories, what the minimizers there regret.

The learner also keeps the sums that determine the exact K-EFCE gap (``equilibrium/gap.py``), with
weight ``t ** averaging`` for iterate t, so the gap of the weighted average of all iterates is known
at any time without storing any of them.
"""

from __future__ import annotations

import numpy as np

from accord._arrays import Floats
from accord.deviations.modification import Modification
from accord.deviations.notions import NotionLike
from accord.deviations.rechistory import RechistoryTree
from accord.equilibrium.gap import add_deviation_loss, best_deviation
from accord.errors import ArgumentError
from accord.regret.methods import DEFAULT, METHODS, configured
from accord.regret.state import FOOTPRINT, Minimizer, new_arrays, recommend
from accord.treeplex.treeplex import Treeplex
from accord.treeplex.values import compute_cf_loss, fold_single_actions


class KEFR:
    """One player's uncoupled K-EFR learner.

    Call :meth:`recommend` for the next policy, play it against any opponents, and :meth:`observe`
    the immediate counterfactual losses it incurred, in [0, 1] over a whole play. Repeat.

    Args:
        plex: The player's treeplex: all the learner ever sees of the game.
        k: How many recommendations a deviator may disobey, or ``"efcce"``, ``"afce"`` or
            ``"afcce"``.
        method: A name as in :func:`accord.solve`, or a configured minimizer such as
            :class:`WRHedge`.
        iterations: The paper's T, for WRHedge's learning rate; not needed if the rate is given or
            anytime.
        averaging: Iterate t has weight ``t ** averaging`` in the average whose regret is measured.
        behavior: An array to write the policies to; by default a new one.
        budget: Bytes that the learner may use; by default the free memory.
    """

    def __init__(
        self,
        plex: Treeplex,
        k: NotionLike = 1,
        method: str | Minimizer = DEFAULT,
        *,
        iterations: int | None = None,
        averaging: int = 0,
        behavior: Floats | None = None,
        budget: int | None = None,
    ) -> None:
        self.plex = plex
        self.minimizer = configured(METHODS, method)
        self.averaging = averaging
        self.iteration = 0
        self.own_loss = 0.0  # sum of w_t times the expected loss of pi^t
        self.tree = RechistoryTree.build(plex, k, budget, FOOTPRINT)
        self.schedule = self.minimizer.schedule(self.tree, iterations)
        recommend.check(self.schedule)
        self.state = new_arrays(
            self.tree,
            np.ones(plex.n_sequences) if behavior is None else behavior,
            credit=self.minimizer.keeps_credit,
        )

    @property
    def total_weight(self) -> float:
        """The sum of t ** averaging so far."""
        return float((np.arange(1, self.iteration + 1, dtype=np.float64) ** self.averaging).sum())

    def recommend(self) -> Floats:
        """The next policy pi^t, over sequences. Valid until the next call."""
        weight = float(self.iteration**self.averaging) if self.iteration else 0.0
        self.iteration += 1
        self.state.deviation_loss[0] += weight * self.state.loss[0]
        recommend(
            self.schedule, self.plex.arrays, self.tree.arrays, self.state, weight, self.iteration
        )
        self.state.loss[:] = 0.0  # until they are observed
        self.state.cf_loss[:] = 0.0
        return self.state.behavior

    def observe(self, loss: Floats) -> None:
        """Observe the immediate counterfactual losses l^t that the last policy incurred.

        Call :meth:`recommend` first. Observing again replaces the losses observed before.
        """
        if self.iteration == 0:
            raise ArgumentError("there is no policy yet to observe losses of; call recommend first")
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
        """The (weighted) K-EFCE (or other) regret so far, Equation (7), in normalized losses."""
        return self.best_deviation()[0]

    def best_deviation(self) -> tuple[float, Modification]:
        """The (weighted) K-EFCE regret so far and the modification that attains it."""
        total = self.state.deviation_loss.copy()
        add_deviation_loss(  # the last iteration, which the minimizers have not processed yet
            self.plex.arrays, self.tree.arrays, self.state.behavior[np.newaxis],
            self.state.loss[np.newaxis], np.array([float(self.iteration**self.averaging)]),
            np.empty(self.tree.n_nodes), total,
        )  # fmt: skip
        least, phi = best_deviation(self.tree, total)  # in place
        return self.own_loss - least, phi
