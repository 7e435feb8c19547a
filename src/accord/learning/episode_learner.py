"""One player who learns from episodes.

The learner knows its own treeplex. In each episode it is asked to :meth:`~EpisodeLearner.act` at
the infosets it reaches, and is told its loss at the end; it never sees anything else. The code that
runs the game calls, for every learner,

    begin_iteration()   before each round of episodes,
    begin_episode(e)    for each of its own episodes e = 0, 1, ... in turn,
    begin_episode()     for each episode that another learner samples,
    act(x, rng)         whenever it is to move, at the infoset it sees,
    end_episode(loss)   when the play is over.

Which episodes there are, how the player explores in them and what the player learns from them is
what learners differ in: ``learning/balanced_kefr.py`` and ``learning/whole_plays.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from accord._arrays import Floats
from accord.deviations.rechistory import RechistoryTree
from accord.errors import ArgumentError
from accord.regret.sampled import SampledArrays, refresh, refresh_all, sample
from accord.treeplex.treeplex import EMPTY_SEQUENCE

AS_IS, NO_EPISODE = -1, -2
"""Special numbers of episodes: an episode played by pi^t, and no episode."""


class EpisodeLearner(ABC):
    """The part that all learners from episodes share.

    Attributes:
        tree: The rechistories of the player.
        state: The minimizers.
        iteration: How many iterations have begun.
        n_episodes: How many episodes the player samples in each iteration.
        n_shared: How many of them are shared: all players learn from the same episodes, and none of
            them explores. They come first.
    """

    n_shared: int = 0
    n_episodes: int

    def __init__(
        self, tree: RechistoryTree, schedule: Any, player: int, state: SampledArrays
    ) -> None:
        self.tree, self.schedule, self.player, self.state = tree, schedule, player, state
        self.iteration = 0
        self._path = np.zeros((2, max(1, tree.plex.horizon)), np.int32)
        self._episode = NO_EPISODE
        self._seq = self._layer = 0

    @abstractmethod
    def _explore(self, x: int, draw: float) -> int:
        """The action at ``x`` in one of the player's own episodes."""

    @abstractmethod
    def _observe(self, loss: float) -> None:
        """Learn from the loss of one of the player's own episodes."""

    def begin_iteration(self) -> None:
        """Start the next iteration, in which policies may change. An open episode is dropped."""
        self.iteration += 1
        self._episode = NO_EPISODE

    def begin_episode(self, episode: int | None = None) -> None:
        """Start the player's episode number ``episode``, or with ``None`` somebody else's."""
        if episode is not None and not 0 <= episode < self.n_episodes:
            raise ArgumentError(
                f"episode must be in the sampling plan, from 0 to {self.n_episodes - 1}; "
                f"got {episode}"
            )
        self._episode = AS_IS if episode is None else int(episode)
        self._seq, self._layer = EMPTY_SEQUENCE, 0

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
            action = int(sample(x, draw, own.infosets, own.behavior))
        else:
            action = self._explore(x, draw)
            self._path[0, self._layer] = x
            self._path[1, self._layer] = action
        self._seq = int(plex.first_seq[x]) + action
        self._layer += 1
        return action

    def end_episode(self, loss: float) -> None:
        """End the episode, which cost ``loss`` in [0, 1]."""
        self._must_be_playing()
        if not 0.0 <= loss <= 1.0:
            raise ArgumentError(f"the loss of a play must be in [0, 1]; got {loss}")
        if self._episode != AS_IS:
            self._observe(float(loss))
        self._episode = NO_EPISODE

    def policy(self) -> Floats:
        """A copy of pi^t at every infoset."""
        own = self.state
        refresh_all(
            self.schedule, self.player, 0, self.tree.plex.n_infosets, self.iteration,
            own.infosets, own.nodes, own.behavior, own.regret, own.scratch,
        )  # fmt: skip
        return own.behavior.copy()

    def _must_be_playing(self) -> None:
        if self._episode == NO_EPISODE:
            raise ArgumentError("an episode must be open, but none is; call begin_episode first")
