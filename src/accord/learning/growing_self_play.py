"""Learning by self-play in an environment, without knowing its treeplexes.

Every iteration plays the episodes of ``learning/whole_plays.py``: some in which everybody plays
pi^t and all learn, and then one for each player, who explores. With a ``batch`` of b it plays b
times as many, all under the same policies, and takes their mean. First all episodes of an iteration
are played, then the learners take them in, in order. So an exception inside the environment leaves
the learners as they were before the iteration, and it does not matter where and in which order the
episodes were played.

An episode adds the first infoset of each player that is new, as in tree search, and no other: in a
large game those after it would hardly be seen again. After it everybody has played uniformly, which
is pi^t there, so the loss of the play is an unbiased estimate of what follows it. The same is true
if there is no room for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord.deviations.notions import checked_k
from accord.errors import ArgumentError, MismatchError
from accord.learning.averaging import is_sampled
from accord.learning.growing_kefr import GrowingKEFR
from accord.play.environment import Environment
from accord.play.episodes import ACTIONS, Episode, Player, Seat, placed
from accord.play.own_tree import OwnTree
from accord.play.streams import Streams
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.sampled import SampledMinimizer
from accord.treeplex.treeplex import Treeplex

EVERYBODY = -1
"""Stands for the player who explores in an episode in which nobody does and all learn."""


class Kept(Protocol):
    """Where the components to save go."""

    stride: int
    averages: int

    def append(self, row: list[Floats], *, work: int, visits: int) -> None:
        """Keep a component: the policy of each player over the sequences known so far."""


class GrowingSelfPlay:
    """All players of an environment learning from episodes that they play with each other.

    Args:
        env: The environment.
        k: How many recommendations a deviator may disobey.
        seed: The seed of all randomness.
        method: A method that learns from whole plays, by name or configured.
        exploration: ``"spread"`` or ``"uniform"``.
        plexes: The players' treeplexes, if they are known. Then they are not learned.
        batch: How many times the episodes of an iteration are played under the same policies.
        memory: Bytes that the tables may take; no infoset is added when they would take more.
        player: Plays the episodes; by default this process.

    Attributes:
        trees: The infosets of each player seen so far.
        learners: One per player.
        iteration: How many iterations have been run.
        episodes_per_iteration: The number of episodes that all players together play in one.
        averages: How many iterates each kept component averages, at most.
    """

    grows = True  # a checkpoint may have more infosets than there are when it is restored

    def __init__(
        self,
        env: Environment,
        k: float,
        seed: int,
        *,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        exploration: str | None = None,
        plexes: Sequence[Treeplex] | None = None,
        batch: int = 1,
        memory: int | None = None,
        player: Player | None = None,
    ) -> None:
        self.memory = memory
        self.env, self.players = env, tuple(map(str, env.players))
        minimizer = configured(SAMPLED_METHODS, method)
        schedule = minimizer.schedule((), k, None)
        k = checked_k(k)
        spread = (exploration or minimizer.explorations[0]) == "spread"
        everybody = range(len(self.players))
        self.learners = [
            GrowingKEFR(k, minimizer, schedule, i, spread=spread, batch=batch) for i in everybody
        ]
        self.trees = list(map(OwnTree, self.players))
        if plexes is not None:
            if len(plexes) != len(self.players):
                raise MismatchError(
                    f"{env.name} has {len(self.players)} players; got {len(plexes)} treeplexes"
                )
            self.trees = list(map(OwnTree.of, self.players, plexes))
            for learner, plex in zip(self.learners, plexes, strict=True):
                learner.add_all(plex)
        deciding = [i for i in everybody if plexes is None or plexes[i].n_infosets]
        shared = minimizer.sampling.shared if deciding else 0
        self._active = [EVERYBODY] * (shared * batch) + [i for i in deciding for _ in range(batch)]
        self.episodes_per_iteration = len(self._active)
        self.averages = minimizer.sampling.averages
        self._everywhere = k > 1
        self.iteration = 0
        self.sampled = 0  # the last iteration whose policies were sampled; it may have failed since
        self.visits = 0  # decisions in all episodes
        self.paid = np.zeros((3, len(self.players)))  # plays, payoffs, squares; of shared episodes
        self._player: Player = Seat(env, seed) if player is None else player
        self.draws = Streams(seed, ACTIONS).draws

    @property
    def n_infosets(self) -> int:
        """The number of infosets of all players seen so far."""
        return sum(tree.n_infosets for tree in self.trees)

    @property
    def n_bytes(self) -> int:
        """The memory of all learners and labels."""
        tables = sum(learner.n_bytes for learner in self.learners)
        return tables + sum(tree.n_bytes for tree in self.trees)

    @property
    def is_full(self) -> bool:
        """Whether the tables have reached their limit. Arrays have room for twice what is used."""
        if self.memory is None:
            return False
        used = sum(learner.n_used for learner in self.learners)
        return 2 * used + sum(tree.n_bytes for tree in self.trees) > self.memory

    def advance(self, iterations: int, kept: Any = None, stride: int = 0) -> int:
        """Run ``iterations``; at every multiple of its stride append a component to ``kept``.

        Returns how many were appended.
        """
        rows = 0
        for _ in range(iterations):
            for learner in self.learners:
                learner.begin_iteration(self.iteration + 1)
            if kept is not None and self.sampled <= self.iteration:
                rows += self._keep(kept)
            self._play()
            self.iteration += 1
        return rows

    def _keep(self, kept: Kept) -> int:
        """Sample pi^t for the component of this stretch; at its end keep the component."""
        t = self.sampled = self.iteration + 1
        if not is_sampled(t, kept.stride, kept.averages):
            return 0
        for learner in self.learners:
            learner.add_iterate(everywhere=self._everywhere)
        if t % kept.stride:
            return 0
        row = [learner.average() for learner in self.learners]
        kept.append(row, work=kept.averages * self.n_infosets, visits=self.visits)
        return 1

    def _play(self) -> None:
        first = self.iteration * self.episodes_per_iteration
        episodes = [
            Episode(number, active, self.trees, self._choose, self.draws)
            for number, active in enumerate(self._active, first)
        ]
        self._player.play(episodes)
        for episode in episodes:
            try:
                episode.number_infosets(self._add)
            except Exception as error:
                raise placed(error, episode.number) from error.__cause__  # type: ignore[arg-type]
        if not self.n_infosets and not self.is_full:
            raise ArgumentError("the game must have a decision to learn, but no player has one")
        for episode in episodes:
            self.visits += len(episode.moves)
            if episode.active == EVERYBODY:
                paid = np.array(episode.payoffs, np.float64)
                self.paid += (np.ones(len(paid)), paid, paid * paid)
            for i, learner in enumerate(self.learners):
                if episode.active in (i, EVERYBODY):
                    learner.observe(episode.paths[i], episode.losses[i])

    def _choose(self, episode: Episode, i: int, x: int, n_actions: int) -> int:
        if x == NO_INFOSET:  # both pi^t and the policy that explores are uniform there
            return min(int(episode.draw() * n_actions), n_actions - 1)
        return self.learners[i].choose(x, episode.draw(), explores=episode.active == i)

    def _add(self, i: int, before: int, n_actions: int) -> bool:
        if self.is_full:
            return False
        learner = self.learners[i]
        learner.enter(learner.add(before, n_actions))
        return True

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        content: dict[str, Any] = {
            "iteration": np.array(self.iteration),
            "sampled": np.array(self.sampled),
            "visits": np.array(self.visits),
            "paid": self.paid,
            "players": np.array(json.dumps(self.players)),
        }
        for i, (tree, learner) in enumerate(zip(self.trees, self.learners, strict=True)):
            content |= {f"tree{i}_{name}": value for name, value in tree.state().items()}
            content |= {f"learner{i}_{name}": value for name, value in learner.saved().items()}
        return content

    @property
    def sizes(self) -> list[int]:
        """The number of known sequences of each player."""
        return [tree.n_sequences for tree in self.trees]

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`."""

        def part(prefix: str) -> dict[str, Any]:
            start = len(prefix)
            return {name[start:]: v for name, v in state.items() if name.startswith(prefix)}

        counts = [int(state[name]) for name in ("iteration", "visits", "sampled")]
        paid = np.array(state["paid"], np.float64)
        if min(counts) < 0 or paid.shape != self.paid.shape or not np.isfinite(paid).all():
            raise ValueError("the counts of plays must fit the players")
        (self.iteration, self.visits, self.sampled), self.paid = counts, paid
        for i, learner in enumerate(self.learners):
            known = self.trees[i].n_infosets  # those that were given as treeplexes
            tree = self.trees[i] = OwnTree.restored(self.players[i], part(f"tree{i}_"))
            for x in range(known, tree.n_infosets):
                learner.add(tree.parent_seq[x], len(tree.actions[x]))
            learner.restore(part(f"learner{i}_"))

    def close(self) -> None:
        """Stop playing."""
        self._player.close()
