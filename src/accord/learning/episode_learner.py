"""One player who learns from episodes.

The learner has its own tables (``learning/tables.py``). In each episode it is asked to
:meth:`~EpisodeLearner.act` at the infosets it reaches, and is told its loss at the end; it never
sees anything else. The code that runs the game calls, for every learner,

    begin_iteration()   before each round of episodes,
    begin_episode(e)    for each of its own episodes e = 0, 1, ... in turn,
    begin_episode()     for each episode that another learner samples,
    act(x, rng)         whenever it is to move, at the infoset it sees,
    end_episode(loss)   when the play is over.

Code that plays several episodes at once keeps the player's moves in each of them itself. It calls
:meth:`~EpisodeLearner.choose` whenever the player is to move, and
:meth:`~EpisodeLearner.observe` when a play is over.

Learners differ in the policies of their episodes and in how they estimate losses from them:
``learning/balanced_kefr.py`` and ``learning/whole_plays.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats, Ints, with_room
from accord._jit import generic, jit
from accord.errors import ArgumentError
from accord.learning.averaging import Averaging, add_iterates, write_average
from accord.learning.exploration import SamplingPolicies, draw_action
from accord.learning.tables import Tables
from accord.regret.sampled import (
    Infosets,
    Nodes,
    Notes,
    SampledArrays,
    refresh,
    refresh_all,
    settle_baselines,
)
from accord.treeplex.treeplex import EMPTY_SEQUENCE

OWN_POLICY = -1
"""Stands for a sampling policy where the player plays pi^t and does not learn."""

NO_EPISODE = -2
"""Stands for the policy of an episode when none is open."""


class EpisodeLearner:
    """The part that all learners from episodes share.

    Attributes:
        tables: What the player knows and has learned.
        policies: The policies of the player's own episodes.
        estimator: How losses are estimated from an episode; its type selects the kernel.
        iteration: The number of the iteration that has begun last, from 1.
        policy_of: ``[n_episodes]`` the policy of each of the episodes that the player samples in an
            iteration.
        n_shared: How many of them are shared: all players learn from the same episodes, and none of
            them explores. They come first.
        averages_iterates: Whether a component to save averages several iterates.
    """

    n_shared = 0
    averages_iterates = True

    def __init__(
        self,
        tables: Tables,
        policies: SamplingPolicies,
        estimator: Any,
        schedule: Any,
        player: int,
    ) -> None:
        self.tables, self.policies, self.estimator = tables, policies, estimator
        self.schedule, self.player = schedule, player
        self.policy_of = np.repeat(np.arange(len(policies.episodes)), policies.episodes)
        self.iteration = 0
        self._policy, self._moves = NO_EPISODE, list[tuple[int, int]]()
        self._mixtures = list(zip(policies.follow.tolist(), policies.column.tolist(), strict=True))
        self._total, self._reach = np.zeros(0), np.ones(0)
        self._path = np.zeros((2, policies.explores.shape[1]), np.int32)
        self._path_reach = np.zeros(policies.explores.shape[1] + 1)
        self._notes = Notes.of(0)

    @property
    def state(self) -> SampledArrays:
        """The minimizers."""
        return self.tables.arrays

    @property
    def n_episodes(self) -> int:
        """How many episodes the player samples in each iteration."""
        return len(self.policy_of)

    def begin_iteration(self) -> None:
        """Start the next iteration, in which policies may change. An open episode is dropped."""
        self._settle()
        self.iteration += 1
        self._policy = NO_EPISODE

    def begin_episode(self, episode: int | None = None) -> None:
        """Start the player's episode number ``episode``, or with ``None`` somebody else's."""
        if episode is not None and not 0 <= episode < self.n_episodes:
            raise ArgumentError(
                f"episode must be in the sampling plan, from 0 to {self.n_episodes - 1}; "
                f"got {episode}"
            )
        self._policy = OWN_POLICY if episode is None else int(self.policy_of[episode])
        self._moves = []

    def act(self, x: int, rng: np.random.Generator) -> int:
        """The action at infoset ``x``, which must follow the player's moves in this episode."""
        self._must_be_playing()
        last = EMPTY_SEQUENCE
        if self._moves:
            before, action = self._moves[-1]
            last = int(self.state.infosets["first_seq"][before]) + action
        if not 0 <= x < self.tables.n_infosets or self.tables.parent_seq[x] != last:
            raise ArgumentError(
                f"infoset {x} cannot occur at decision {len(self._moves) + 1} of this play: it "
                "does not follow the player's earlier moves"
            )
        action = self.choose(x, rng.random(), self._policy, len(self._moves))
        self._moves.append((x, action))
        return action

    def end_episode(self, loss: float) -> None:
        """End the episode, which cost ``loss`` in [0, 1]."""
        self._must_be_playing()
        if not 0.0 <= loss <= 1.0:
            raise ArgumentError(f"the loss of a play must be in [0, 1]; got {loss}")
        if self._policy != OWN_POLICY:
            self.observe([(self._moves, float(loss), self._policy)])
        self._policy = NO_EPISODE

    def choose(self, x: int, draw: float, policy: int, layer: int) -> int:
        """Draw the action at ``x``.

        Args:
            x: An infoset whose ancestors have been chosen at in this iteration.
            draw: A random number in [0, 1).
            policy: The sampling policy of the episode, or ``OWN_POLICY``.
            layer: How many decisions of the player came before.
        """
        follow, column = 1.0, 0
        if policy != OWN_POLICY:
            self._make_room(layer + 1)
            if self.policies.explores[policy, layer]:
                follow, column = self._mixtures[policy]
        infosets, nodes, behavior, regret, _, scratch = self.tables.arrays
        return choose_action(
            self.schedule, self.player, x, self.iteration, draw, follow, column,
            self.policies.base, infosets, nodes, behavior, regret, scratch,
        )  # fmt: skip

    def observe(self, plays: Sequence[tuple[Sequence[tuple[int, int]], float, int]]) -> None:
        """Learn from some of the player's own episodes, in order.

        Args:
            plays: For each the player's infosets and actions, the loss of the play, in [0, 1], and
                the sampling policy that the player followed.
        """
        record: list[int] = []
        for moves, _, policy in plays:
            self._make_room(len(moves))
            record += (policy, len(moves))
            for move in moves:
                record += move
        self._notes = self._notes.with_room(int(self._notes.size[0]) + len(record) // 2)
        observe_plays(
            self.estimator, self.schedule, self.policies, np.array(record, np.int64),
            np.array([loss for _, loss, _ in plays], np.float64), self._path, self._path_reach,
            self._notes, self.state,
        )  # fmt: skip

    def policy(self) -> Floats:
        """A copy of pi^t at every infoset."""
        own = self.state
        refresh_all(
            self.schedule, self.player, 0, self.tables.n_infosets, self.iteration,
            own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
        )  # fmt: skip
        return own.behavior[: self.tables.n_sequences].copy()

    def add_iterate(self, *, everywhere: bool) -> None:
        """Add pi^t to the next component to save (``learning/averaging.py``)."""
        self._make_totals()
        everywhere = everywhere or not self.averages_iterates
        averaging = Averaging(self.tables.parent_seq, self._reach, self._total, everywhere)
        infosets = np.array([0, self.tables.n_infosets])
        add_iterates(
            self.schedule, self.player, infosets, self.iteration, averaging, self.tables.arrays
        )

    def component(self) -> Floats:
        """The average of the iterates added since the last component, or the last of them."""
        average = np.empty(self.tables.n_sequences)
        write_average(self.state.infosets[: self.tables.n_infosets], self._total, average)
        if not self.averages_iterates:
            average[:] = self.state.behavior[: len(average)]
        return average

    @property
    def n_bytes(self) -> int:
        """The memory of everything that the learner keeps."""
        return self.tables.n_bytes + self._total.nbytes + self._reach.nbytes

    @property
    def n_used(self) -> int:
        """The part of it that is in use."""
        return self.tables.n_used + 16 * self.tables.n_sequences

    def saved(self) -> dict[str, Any]:
        """Everything that cannot be rebuilt from the infosets, by name, between two iterations."""
        self._settle()
        self._make_totals()
        return {**self.tables.state(), "total": self._total[: self.tables.n_sequences]}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what :meth:`saved` returned; the infosets must have been added.

        Raises:
            ValueError: If it does not fit.
        """
        total, found = self.saved()["total"], saved["total"]
        if (found.shape, found.dtype) != (total.shape, total.dtype) or not np.isfinite(found).all():
            raise ValueError("total must be a finite number per sequence")
        total[:] = found
        self.tables.restore(saved)

    def _settle(self) -> None:
        """End the iteration: the baselines take in its plays."""
        settle_baselines(self._notes, self.state.sequences)

    def _make_totals(self) -> None:
        """Make room to add iterates."""
        if len(self._total) < (room := len(self.tables.arrays.behavior)):
            self._total = with_room(self._total, room)
            self._reach = with_room(self._reach, room, 1.0)

    def _make_room(self, length: int) -> None:
        """Make room for plays in which the player decides this often."""
        explores = self.policies.explores
        if (more := length - explores.shape[1]) > 0:  # what a policy does last, it goes on doing
            explores = np.pad(explores, ((0, 0), (0, more + explores.shape[1])), mode="edge")
            self.policies = self.policies._replace(explores=explores)
            self._path = np.zeros((2, explores.shape[1]), np.int32)
            self._path_reach = np.zeros(explores.shape[1] + 1)

    def _must_be_playing(self) -> None:
        if self._policy == NO_EPISODE:
            raise ArgumentError("an episode must be open, but none is; call begin_episode first")


@jit
def choose_action(
    schedule: Any,
    player: int,
    x: int,
    t: int,
    draw: float,
    follow: float,
    column: int,
    base: Floats,
    infosets: Infosets,
    nodes: Nodes,
    behavior: Floats,
    regret: Floats,
    scratch: Floats,
) -> int:
    """Bring ``x`` up to date and draw an action there, from a sampling policy.

    It takes arrays one by one because it is called from Python at every decision: with tuples a
    call takes 11 microseconds instead of 5.
    """
    refresh(schedule, player, x, t, infosets, nodes, behavior, regret, scratch)
    return draw_action(x, draw, follow, column, base, infosets, behavior)


@jit
def observe_plays(
    estimator: Any,
    schedule: Any,
    policies: SamplingPolicies,
    record: NDArray[np.int64],
    losses: Floats,
    path: Ints,
    reach: Floats,
    notes: Notes,
    state: SampledArrays,
) -> None:
    """Feed episodes of one player to the player's minimizers, in order.

    ``record`` has for each of them the policy, the number of decisions, and for each decision the
    infoset and the action. ``path`` and ``reach`` are working memory.
    """
    at = 0
    for n in range(len(losses)):
        policy, length = record[at], record[at + 1]
        at += 2
        for j in range(length):
            path[0, j] = record[at]
            path[1, j] = record[at + 1]
            at += 2
        observe_play(
            estimator, schedule, policies, 0, len(policies.episodes), policy, path, length,
            losses[n], reach, notes, state,
        )  # fmt: skip


@generic
def observe_play(
    estimator: Any,
    schedule: Any,
    policies: SamplingPolicies,
    first: int,
    end: int,
    policy: int,
    path: Ints,
    length: int,
    loss: float,
    reach: Floats,
    notes: Notes,
    state: SampledArrays,
) -> None:
    """Feed an episode to the minimizers of the player who sampled it.

    Args:
        estimator: The parameters of the estimates.
        schedule: The minimizer's parameters.
        policies: Sampling policies of all players.
        first: The player's are this one and those up to ``end - 1``.
        end: See above.
        policy: The one that the player followed.
        path: ``[2, horizon]`` infoset and action at each layer.
        length: The number of the player's decisions.
        loss: The loss of the play, in [0, 1].
        reach: ``[horizon + 1]`` working memory.
        notes: What it says about baselines is added to them.
        state: The minimizers.
    """
