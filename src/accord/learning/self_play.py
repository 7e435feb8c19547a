"""K-EFR in self-play: Algorithm 2 for all players of a game at once.

The losses come from the leaf table: in every iteration all players recommend, all reaches are
computed, then all losses. Small games run many iterations inside one compiled call; large ones run
each player on a thread of its own. The order of summation is the same, and so are the bits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.rechistory import RechistoryArrays
from accord.equilibrium.rounding import Measured, Measuring
from accord.learning.kefr import KEFR, take_turn
from accord.regret.methods import DEFAULT
from accord.regret.state import Minimizer, MinimizerArrays
from accord.treeplex.form import SequenceForm
from accord.treeplex.leaves import LeafArrays
from accord.treeplex.strategy import compute_reach
from accord.treeplex.treeplex import TreeplexArrays
from accord.treeplex.values import compute_cf_loss, compute_loss, fold_single_actions


class Player(NamedTuple):
    """One player, as the kernels see them."""

    plex: TreeplexArrays
    tree: RechistoryArrays
    leaves: LeafArrays
    state: MinimizerArrays
    schedule: Any


LARGE = 1_000_000
"""Leaves (counted per player) plus cells from which a thread per player pays off: on two cores,
six-sided Liar's Dice (1.4 million) runs 1.5 times as fast, Sheriff (200,000) no faster."""


SAVED = ("behavior", "loss", "cf_loss", "rec_reach", "regret", "credit", "deviation_loss")
"""The arrays of a learner that outlive an iteration."""


class SelfPlay:
    """All players of a game running K-EFR against each other."""

    def __init__(
        self,
        form: SequenceForm,
        k: SupportsIndex | float = 1,
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
        self._players = tuple(
            Player(
                learner.plex.arrays, learner.tree.arrays, leaves, learner.state, learner.schedule
            )
            for learner, leaves in zip(self.learners, form.leaves.arrays, strict=True)
        )
        work = len(form.leaves) * form.n_players + sum(p.tree.first_cell[-1] for p in self._players)
        wanted = form.n_players if threads is None and work >= LARGE else (threads or 1)
        self._pool = ThreadPoolExecutor(wanted) if wanted > 1 else None

    def advance(self, iterations: int, kept: Floats | None = None, stride: int = 1) -> int:
        """Run ``iterations``; if ``stride`` divides t, write pi^t to the next row of ``kept``.

        Returns the number of rows written. ``kept`` must have room for them.
        """
        if kept is None:
            kept = np.empty((0, self.form.n_sequences))
            stride = self.iteration + iterations + 1
        starts = self.form.leaves.first_reach
        rows = 0
        if self._pool is None:
            rows = _self_play(
                self._players, starts, self.reach, self.behavior, self.total_loss,
                self.iteration, iterations, self.averaging, kept, stride,
            )  # fmt: skip
            self.iteration += iterations
        else:
            for _ in range(iterations):
                self.iteration += 1
                self._advance_threaded()
                if self.iteration % stride == 0:
                    kept[rows] = self.behavior
                    rows += 1
        for learner, loss in zip(self.learners, self.total_loss, strict=True):
            learner.iteration, learner.own_loss = self.iteration, float(loss)
        return rows

    def _advance_threaded(self) -> None:
        assert self._pool is not None
        t, reaches = self.iteration, self.form.split(self.reach)
        before = float((t - 1) ** self.averaging) if t > 1 else 0.0
        jobs = [
            self._pool.submit(_take_turn, player, reach, before, t)
            for player, reach in zip(self._players, reaches, strict=True)
        ]
        for job in jobs:
            job.result()
        faced = [self._pool.submit(_face_losses, player, self.reach) for player in self._players]
        for i, value in enumerate(faced):
            self.total_loss[i] += float(t**self.averaging) * value.result()

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name; arrays are views."""
        state: dict[str, Any] = {"iteration": np.array(self.iteration), "loss": self.total_loss}
        for i, learner in enumerate(self.learners):
            for name in SAVED:
                state[f"{name}_{i}"] = getattr(learner.state, name)
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`."""
        self.iteration = int(state["iteration"])
        self.total_loss[:] = state["loss"]
        for i, learner in enumerate(self.learners):
            learner.iteration, learner.own_loss = self.iteration, float(self.total_loss[i])
            for name in SAVED:
                getattr(learner.state, name)[:] = state[f"{name}_{i}"]

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
def _take_turn(player: Player, reach: Floats, weight: float, t: int) -> None:
    """Recommend, and overwrite the player's own ``reach``."""
    take_turn(player.schedule, player.plex, player.tree, player.state, weight, t)
    compute_reach(player.plex, player.state.behavior, reach)


@jit
def _face_losses(player: Player, reach: Floats) -> float:
    """Line 11: overwrite the losses against the joint ``reach``; return the expected loss."""
    compute_loss(player.leaves, reach, player.state.loss)
    fold_single_actions(player.plex, player.state.loss)
    compute_cf_loss(player.plex, player.state.behavior, player.state.loss, player.state.cf_loss)
    return player.state.cf_loss[0]  # type: ignore[no-any-return]


@jit
def _self_play(
    players: tuple[Player, ...],
    starts: NDArray[np.int64],
    reach: Floats,
    behavior: Floats,
    total_loss: Floats,
    done: int,
    iterations: int,
    averaging: int,
    kept: Floats,
    stride: int,
) -> int:
    """Algorithm 2 for all players, ``iterations`` times; returns the rows of ``kept`` written."""
    rows = 0
    for t in range(done + 1, done + iterations + 1):
        before = float(t - 1) ** averaging if t > 1 else 0.0
        for i in range(len(players)):
            _take_turn(players[i], reach[starts[i] : starts[i + 1]], before, t)
        for i in range(len(players)):
            total_loss[i] += float(t) ** averaging * _face_losses(players[i], reach)
        if t % stride == 0:
            kept[rows] = behavior
            rows += 1
    return rows
