"""Balanced K-EFR, Algorithms 3 and 8 of Song, Mei, Bai 2022: a K-EFCE from bandit feedback.

In each iteration the players take turns (the round-robin protocol of the appendix): while the
others play pi^t, player i plays the episodes of their sampling plan (``learning/estimators.py``)
and feeds the losses to the minimizers at the infosets that the episodes target.

Work is done only where an episode goes. The policy pi^t(. | x) is computed when an episode first
reaches x (``regret/sampled.py``). An estimate is zero except at the infoset and action that the
episode played at its target layer, and it concerns only the rechistories that the episode informs.
So an episode takes equally many steps in a game of a million infosets and in a game of ten, but
more time in the larger one, which does not fit into the cache (``benchmarks/episode_cost.py``).

A minimizer changes only after its policy for the iteration has been computed, so updating it at
once gives the same result as updating it at the end of the iteration.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints
from accord._jit import jit
from accord.deviations.notions import checked_k
from accord.deviations.rechistory import RechistoryTree
from accord.errors import ArgumentError
from accord.learning.estimators import sampling_plan
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import (
    FOOTPRINT,
    Infosets,
    SampledMinimizer,
    new_sampled,
    observe_episode,
    recommend_at,
    refresh,
    refresh_all,
    sample,
)
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

AS_IS, NO_EPISODE = -1, -2
"""Special numbers of episodes: an episode played by pi^t, and no episode."""


class BalancedKEFR:
    """One player's Balanced K-EFR learner.

    The learner knows its own treeplex. In each episode it is asked to :meth:`act` at the infosets
    it reaches, and is told its loss at the end; it never sees anything else. The code that runs the
    game calls, for every learner,

        begin_iteration()   before each round of episodes,
        begin_episode(e)    for each of its own episodes e = 0, 1, ... in turn,
        begin_episode()     for each episode that another learner samples,
        act(x, rng)         whenever it is to move, at the infoset it sees,
        end_episode(loss)   when the play is over.

    Args:
        plex: The player's treeplex.
        k: How many recommendations a deviator may disobey.
        method: A name as in :func:`accord.learn`, or a configured minimizer such as
            :class:`SWRHedge`.
        iterations: The paper's T, for its learning rate; not needed if the rate is given.
        exploration: How episodes explore: ``"balanced"``, as in the paper, or ``"uniform"``.
        budget: Bytes that the learner may use; by default the free memory.
        schedule: The minimizer's schedule for all players; by default for this player alone.
        player: The index of this player in ``schedule``.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If the rechistories do not fit into memory, or an iteration would take more
            than ten million episodes.
    """

    def __init__(
        self,
        plex: Treeplex,
        k: SupportsIndex | float,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        *,
        iterations: int | None = None,
        exploration: str = "balanced",
        budget: int | None = None,
        schedule: Any | None = None,
        player: int = 0,
    ) -> None:
        minimizer = configured(SAMPLED_METHODS, method)
        self.tree = RechistoryTree.build(plex, checked_k(k), budget, FOOTPRINT)
        if schedule is None:
            schedule = minimizer.schedule((plex,), self.tree.k, iterations)
        self.schedule, self.player = schedule, player
        for kernel in (recommend_at, observe_episode):
            kernel.check(schedule)
        self.plan = sampling_plan(self.tree, exploration)
        self.iteration = 0
        self.state = new_sampled(self.tree, self.plan.node_episode, self.plan.node_weight)
        self._path = np.zeros((2, max(1, plex.horizon)), np.int32)
        self._episode = NO_EPISODE
        self._seq = self._layer = 0
        self._followed = 1.0

    @property
    def n_episodes(self) -> int:
        """The number of episodes that this learner samples in each iteration."""
        return self.plan.n_episodes

    def begin_iteration(self) -> None:
        """Start the next iteration, in which policies may change. An open episode is dropped."""
        self.iteration += 1
        self._episode = NO_EPISODE

    def begin_episode(self, episode: int | None = None) -> None:
        """Start an episode: number ``episode`` of the sampling plan, or ``None`` to play pi^t."""
        if episode is not None and not 0 <= episode < self.n_episodes:
            raise ArgumentError(
                f"episode must be in the sampling plan, from 0 to {self.n_episodes - 1}; "
                f"got {episode}"
            )
        self._episode = AS_IS if episode is None else int(episode)
        self._seq, self._layer, self._followed = EMPTY_SEQUENCE, 0, 1.0

    def act(self, x: int, rng: np.random.Generator) -> int:
        """The action at infoset ``x``, which must follow the player's moves in this episode."""
        plex = self.tree.plex
        self._must_be_playing()
        if not 0 <= x < plex.n_infosets or plex.parent_seq[x] != self._seq:
            raise ArgumentError(
                f"infoset {x} cannot occur at decision {self._layer + 1} of this play: it does not "
                "follow the player's earlier moves"
            )
        own = self.state
        refresh(
            self.schedule, self.player, x, self.iteration,
            own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
        )  # fmt: skip
        draw = rng.random()
        if self._episode == AS_IS:
            action = sample(x, draw, own.infosets, own.behavior)
        else:
            action, followed = explore(
                x, self._layer, draw, int(self.plan.layer[self._episode]),
                self.plan.explores[self._episode], self.plan.descendants, own.infosets,
                own.behavior,
            )  # fmt: skip
            self._followed *= followed
            self._path[0, self._layer] = x
            self._path[1, self._layer] = action
        self._seq = int(plex.first_seq[x]) + int(action)
        self._layer += 1
        return int(action)

    def end_episode(self, loss: float) -> None:
        """End the episode, which cost ``loss`` in [0, 1]."""
        self._must_be_playing()
        if not 0.0 <= loss <= 1.0:
            raise ArgumentError(f"the loss of a play must be in [0, 1]; got {loss}")
        if self._episode != AS_IS:
            target = int(self.plan.layer[self._episode])
            if self._layer > target:  # else the play ended before it reached that layer
                observe_episode(
                    self.schedule, self._episode, target, self._layer, float(loss),
                    self._followed, self._path, *self.state,
                )  # fmt: skip
        self._episode = NO_EPISODE

    def policy(self) -> Floats:
        """A copy of pi^t at every infoset."""
        plex = self.tree.plex
        own = self.state
        refresh_all(
            self.schedule, self.player, 0, plex.n_infosets, self.iteration,
            own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
        )  # fmt: skip
        return own.behavior.copy()

    def _must_be_playing(self) -> None:
        if self._episode == NO_EPISODE:
            raise ArgumentError("an episode must be open, but none is; call begin_episode first")


@jit
def explore(
    x: int,
    layer: int,
    draw: float,
    target: int,
    explores: NDArray[np.bool_],
    descendants: Ints,
    infosets: Infosets,
    behavior: Floats,
) -> tuple[int, float]:
    """Draw an action at ``x`` for an episode that explores at layers where ``explores``.

    Also returns pi^t(a | x) if the action was drawn from pi^t before layer ``target``, else 1.
    """
    first, n = infosets[x].first_seq, infosets[x].n_actions
    if layer > target or not explores[layer]:
        a = sample(x, draw, infosets, behavior)
        return a, behavior[first + a] if layer < target else 1.0
    total = 0
    if layer < target:
        for seq in range(first, first + n):
            total += descendants[seq, target]
    if total == 0:
        return min(int(draw * n), n - 1), 1.0
    rest = int(draw * total)
    for a in range(n):
        rest -= descendants[first + a, target]
        if rest < 0:
            return a, 1.0
    return n - 1, 1.0
