"""K-EFR in self-play: Algorithm 2 for all players of a game at once.

The losses come from the leaf table: in every iteration all players recommend, all reaches are
computed, then all losses. Small games run many iterations inside one compiled call, in which all
players are one (``learning/joint.py``). Large games take a call per player, each on a thread of its
own. The order of summation is the same, and so are the bits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.notions import NotionLike
from accord.deviations.rechistory import RechistoryArrays
from accord.equilibrium.rounding import Measured, Measuring
from accord.learning.joint import JointLearner, join_learners
from accord.learning.kefr import KEFR
from accord.regret.methods import DEFAULT
from accord.regret.state import Minimizer, MinimizerArrays, recommend
from accord.treeplex.form import Form
from accord.treeplex.strategy import compute_reach
from accord.treeplex.treeplex import TreeplexArrays
from accord.treeplex.values import compute_cf_loss, compute_loss, fold_single_actions

LARGE = 1_000_000
"""Leaves (counted per player) plus cells from which a thread per player pays off: on two cores,
six-sided Liar's Dice (1.4 million) runs 1.5 times as fast, Sheriff (200,000) no faster."""


SAVED = ("behavior", "loss", "cf_loss", "rec_reach", "regret", "credit", "deviation_loss")
"""The arrays of a learner that outlive an iteration."""


class SelfPlay:
    """All players of a game running K-EFR against each other."""

    grows = False  # all infosets are known from the start

    def __init__(
        self,
        form: Form,
        k: NotionLike = 1,
        method: str | Minimizer = DEFAULT,
        *,
        iterations: int | None = None,
        averaging: int = 2,
        threads: int | None = None,
        budget: int | None = None,
    ) -> None:
        self.form, self.averaging = form, averaging
        self._measuring = Measuring(form)
        self.behavior = np.ones(form.n_sequences)  # joint: every player's pi^t
        self.reach = np.ones(form.n_sequences)
        self.learners = tuple(
            KEFR(
                plex, k, method,
                iterations=iterations, averaging=averaging, behavior=behavior, budget=budget,
            )
            for plex, behavior in zip(form.plexes, form.split(self.behavior), strict=True)
        )  # fmt: skip
        self.iteration = 0
        self.total_loss = np.zeros(form.n_players)  # sum of w_t times each player's expected loss
        cells = sum(learner.tree.n_cells for learner in self.learners)
        large = len(form.leaves) * form.n_players + cells >= LARGE
        wanted = form.n_players if threads is None and large else (threads or 1)
        self._pool = ThreadPoolExecutor(wanted) if wanted > 1 else None
        self._compiled = all(recommend.is_compiled(learner.schedule) for learner in self.learners)
        alone = large or self._pool is not None or not self._compiled
        self._joint = None if alone else join_learners(form, self.learners)
        if self._joint is not None:
            self.behavior = self._joint.state.behavior

    @property
    def sizes(self) -> list[int]:
        """The number of sequences of each player."""
        return [plex.n_sequences for plex in self.form.plexes]

    def advance(self, iterations: int, kept: Floats | None = None, stride: int = 1) -> int:
        """Run ``iterations``; if ``stride`` divides t, write pi^t to the next row of ``kept``.

        Returns the number of rows written. ``kept`` must have room for them.
        """
        if kept is None:
            kept = np.empty((0, self.form.n_sequences))
            stride = self.iteration + iterations + 1
        rows = 0
        if self._joint is not None:
            rows = _self_play(
                self._joint, self.reach, self.total_loss,
                self.iteration, iterations, self.averaging, kept, stride,
            )  # fmt: skip
            self.iteration += iterations
        else:
            for _ in range(iterations):
                self.iteration += 1
                self._advance_each()
                if self.iteration % stride == 0:
                    kept[rows] = self.behavior
                    rows += 1
        for learner, loss in zip(self.learners, self.total_loss, strict=True):
            learner.iteration, learner.own_loss = self.iteration, float(loss)
        return rows

    def _advance_each(self) -> None:
        """One iteration, with a call per player: on a thread each if there is a pool."""
        run = map if self._pool is None else self._pool.map
        players, weight = range(self.form.n_players), float(self.iteration**self.averaging)
        for _ in run(self._take_turn, players):
            pass
        for i, loss in enumerate(run(self._face_losses, players)):
            self.total_loss[i] += weight * loss

    def _take_turn(self, i: int) -> None:
        """Lines 3-10 of Algorithm 2 for player ``i``, and the player's reach."""
        learner, t = self.learners[i], self.iteration
        before = float((t - 1) ** self.averaging) if t > 1 else 0.0
        plex, tree, state = learner.plex.arrays, learner.tree.arrays, learner.state
        if self._compiled:
            _recommend_alone(learner.schedule, plex, tree, state, before, t)
        else:
            state.deviation_loss[0] += before * state.loss[0]
            recommend(learner.schedule, plex, tree, state, before, t)
        compute_reach(plex, state.behavior, self.form.split(self.reach)[i])

    def _face_losses(self, i: int) -> float:
        """Line 11 for player ``i``: losses against the joint reach; returns the expected loss."""
        plex, state = self.learners[i].plex.arrays, self.learners[i].state
        compute_loss(self.form.leaves.arrays[i], self.reach, state.loss)
        fold_single_actions(plex, state.loss)
        compute_cf_loss(plex, state.behavior, state.loss, state.cf_loss)
        return float(state.cf_loss[0])

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name; arrays are views."""
        state: dict[str, Any] = {"iteration": np.array(self.iteration), "loss": self.total_loss}
        for i, learner in enumerate(self.learners):
            for name in SAVED:
                state[f"{name}_{i}"] = getattr(learner.state, name)
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`, array by array, each of which is then gone."""
        self.iteration = int(state["iteration"])
        self.total_loss[:] = state["loss"]
        for i, learner in enumerate(self.learners):
            learner.iteration, learner.own_loss = self.iteration, float(self.total_loss[i])
            for name in SAVED:
                getattr(learner.state, name)[:] = state.pop(f"{name}_{i}")

    def measured(self) -> Measured:
        """Gaps and values of the weighted average of all iterates, with their errors."""
        regrets = np.array([learner.regret() for learner in self.learners])
        return self._measuring.measured(
            self.total_loss, regrets, self.learners[0].total_weight, self.iteration
        )

    def gaps(self) -> Floats:
        """``[n_players]`` exact K-EFCE gaps of the weighted average of all iterates, in payoffs."""
        return self.measured().gaps

    def values(self) -> Floats:
        """``[n_players]`` expected payoffs of the same average."""
        return self.measured().values


@jit
def _recommend_alone(
    schedule: Any,
    plex: TreeplexArrays,
    tree: RechistoryArrays,
    state: MinimizerArrays,
    weight: float,
    t: int,
) -> None:
    """Lines 3-10 of Algorithm 2 for one player."""
    state.deviation_loss[0] += weight * state.loss[0]
    recommend(schedule, plex, tree, state, weight, t)


@jit
def _self_play(
    joint: JointLearner,
    reach: Floats,
    total_loss: Floats,
    done: int,
    iterations: int,
    averaging: int,
    kept: Floats,
    stride: int,
) -> int:
    """Algorithm 2 for all players, ``iterations`` times; returns the rows of ``kept`` written."""
    rows = 0
    plex, state, first_seq = joint.plex, joint.state, joint.first_seq
    for t in range(done + 1, done + iterations + 1):
        before = float(t - 1) ** averaging if t > 1 else 0.0
        for i in range(len(total_loss)):
            state.deviation_loss[joint.first_cell[i]] += before * state.loss[first_seq[i]]
        recommend(joint.schedule, plex, joint.tree, state, before, t)
        compute_reach(plex, state.behavior, reach)
        compute_loss(joint.leaves, reach, state.loss)
        fold_single_actions(plex, state.loss)
        compute_cf_loss(plex, state.behavior, state.loss, state.cf_loss)
        for i in range(len(total_loss)):
            total_loss[i] += float(t) ** averaging * state.cf_loss[first_seq[i]]
        if t % stride == 0:
            for seq in range(len(reach)):
                kept[rows, seq] = state.behavior[seq]
            rows += 1
    return rows
