"""Joint plays of an environment.

Where an environment leaves chance to its caller, its probabilities are told and need not be
estimated. Other chance is seen only in what players are shown next.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord._arrays import CHANCE, NO_INFOSET, Floats
from accord._draws import drawn_from
from accord.deviations.notions import NotionLike
from accord.learning.episode_play import EnvironmentPlay
from accord.learning.joint_exploration import EVERYBODY, NOBODY, UNIFORM, explorer
from accord.learning.joint_play import JointPlay
from accord.play.bounds import bounds_of, restore_bounds
from accord.play.environment import Environment
from accord.play.episodes import ACTIONS, Episode, Executor, LocalExecutor
from accord.play.joint_paths import Places, record_episodes
from accord.play.joint_tree import START
from accord.play.own_tree import OwnTree
from accord.play.recent import RecentPlays
from accord.play.streams import Streams
from accord.treeplex.treeplex import Treeplex

MIXTURE = 4
"""The purpose of the random stream of an episode that draws who explores, and a component."""


class EnvironmentJointPlay(JointPlay):
    """Joint plays of an environment, whose infosets are numbered as plays show them.

    Args:
        env: The environment.
        k: How many recommendations a deviator may disobey.
        seed: The seed of all randomness.
        memory: Bytes that the joint histories may take.
        executor: Plays the episodes; by default this process.
    """

    def __init__(
        self,
        env: Environment,
        k: NotionLike,
        seed: int,
        *,
        memory: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.env, self.memory = env, memory
        self.trees = [OwnTree(str(name)) for name in env.players]
        self.recent = RecentPlays(len(env.players))  # in which nobody explored
        self._executor: Executor = LocalExecutor(env, seed) if executor is None else executor
        self._draws, self._mixture = Streams(seed, ACTIONS).draws, Streams(seed, MIXTURE)
        self._edge: dict[int, int] = {}  # where each episode is in the tree of joint histories
        super().__init__(len(env.players), k)

    @property
    def places(self) -> Places:
        return Places.of(self.trees)

    def plexes(self) -> tuple[tuple[Treeplex, ...], tuple[NDArray[np.int64], ...]]:
        plexes, order = zip(*(tree.ordered() for tree in self.trees), strict=True)
        return plexes, order

    def _parents(self, i: int) -> NDArray[np.int64]:
        return np.array(self.trees[i].parent_seq, np.int64)

    def _play(self, episodes: int) -> None:
        components = len(self.behavior[0]) if self.behavior else 1
        batch = []
        for number in range(self.iteration, self.iteration + episodes):
            who, drawn = self._mixture.at(number).random(2).tolist()
            mode = explorer(who, self._shares, len(self.trees))
            episode = Episode(number, mode, self.trees, self._choose, self._draws)
            episode.component = min(int(drawn * components), components - 1)
            batch.append(episode)
        self._executor.play(batch)
        record_episodes(self.tree, self.trees, batch)
        for episode in batch:
            if episode.active == NOBODY:
                self.recent.add(episode)
        self._edge.clear()

    def watch(self, play: EnvironmentPlay) -> None:
        """Record the episodes of ``play``, which can then be :attr:`own`, while there is room."""

        def record(episodes: Sequence[Episode]) -> None:
            if not self.given_up:
                record_episodes(self.tree, self.trees, episodes)
            for episode in episodes:
                if episode.active == NOBODY:
                    self.recent.add(episode)

        play.watch = record

    @property
    def _unrecorded(self) -> int:
        return self.iteration - self.pending - self.own_start if self.given_up else 0

    def _record_own(self) -> None:
        """Nothing is left to do: they are recorded when they have been played."""

    def placed(self, trees: Sequence[OwnTree], rows: Sequence[Sequence[Floats]]) -> list[Floats]:
        """Components over the infosets of ``trees``, in the numbers of this learner's trees.

        Infosets that these do not know get numbers. Components are uniform where they end.
        """
        seqs = []
        for theirs, ours in zip(trees, self.trees, strict=True):
            here = np.zeros(theirs.n_sequences, np.int64)
            for x, (label, actions) in enumerate(zip(theirs.labels, theirs.actions, strict=True)):
                place, _ = ours.see(label, actions, int(here[theirs.parent_seq[x]]))
                first = theirs.first_seq[x]
                here[first : first + len(actions)] = ours.first_seq[place] + np.arange(len(actions))
            seqs.append(here)
        uniform = np.split(self.places.uniform(), self.places.first_reach[1:-1])
        parts = [np.repeat(plain[np.newaxis], len(rows), axis=0) for plain in uniform]
        for c, row in enumerate(rows):
            for part, here, behavior in zip(parts, seqs, row, strict=True):
                part[c, here[: len(behavior)]] = behavior
        return parts

    def _choose(self, episode: Episode, i: int, x: int, n_actions: int) -> int:
        edge = self._edge[episode.number] if episode.moves else START
        for _, move in episode.shown[-1]:
            edge = self.tree.after(self.tree.find(edge, CHANCE, 0), move)
        node = self.tree.find(edge, i, x)
        first = self.tree.after(node, 0)
        law = [1.0 / n_actions] * n_actions
        if episode.active in (EVERYBODY, i + 1):
            if 0 <= node < self._known:
                shares = self._explore[first : first + n_actions, episode.active]
                if (total := float(shares.sum())) > 0.0:
                    law = (UNIFORM / n_actions + (1.0 - UNIFORM) / total * shares).tolist()
        elif x != NO_INFOSET and self.behavior:
            start, part = self.trees[i].first_seq[x], self.behavior[i]
            if start < part.shape[1]:
                law = part[episode.component, start : start + n_actions].tolist()
        action = drawn_from(law, episode.draw())
        self._edge[episode.number] = self.tree.after(node, action)
        return action

    def state(self) -> dict[str, Any]:
        players = np.array(json.dumps([tree.player for tree in self.trees]))
        content = {"players": players, "recent": self.recent.sums, **super().state()}
        content["bounds"] = bounds_of(self.env)
        for i, tree in enumerate(self.trees):
            content |= {f"tree{i}_{name}": value for name, value in tree.state().items()}
        return content

    def restore(self, state: dict[str, Any]) -> None:
        for i, tree in enumerate(self.trees):
            start = f"tree{i}_"
            part = {n[len(start) :]: v for n, v in state.items() if n.startswith(start)}
            self.trees[i] = OwnTree.restored(tree.player, part)
        self.recent.restore(state["recent"])
        restore_bounds(self.env, state["bounds"])
        super().restore(state)

    @property
    def n_infosets(self) -> int:
        """The number of infosets of all players seen so far."""
        return sum(tree.n_infosets for tree in self.trees)

    @property
    def n_bytes(self) -> int:
        """The memory of the joint histories, the weights of exploration, and the labels."""
        labels = sum(tree.n_bytes for tree in self.trees)
        return self.tree.n_bytes + self._explore.nbytes + labels

    @property
    def is_full(self) -> bool:
        """Whether they have reached their limit; the game is then as large again when solved.

        The players then continue alone.
        """
        return self.memory is not None and 2 * self.n_bytes > self.memory

    def close(self) -> None:
        """Stop playing."""
        self._executor.close()
