"""Learning from episodes: all players of an environment in self-play.

In each iteration everybody first plays the shared episodes, if there are any, by pi^t, and learns
from them. Then the players take turns (the paper's round-robin protocol): each plays the episodes
of their own sampling policies, while the others play pi^t. With a ``batch`` of b every episode is
played b times under the same policies, and the learners take the mean. A game that is known is
played in the same way by a compiled simulator (``learning/simulator_play.py``).

First all episodes of an iteration are played, then the learners take them in, in order. So an
exception inside the environment leaves the learners as they were before the iteration, and it does
not matter where and in which order the episodes were played. Policies do not change within an
iteration either way: a minimizer's policy is computed before the first play that visits its infoset
is taken in.

The treeplexes need not be known, unless the sampling policies count their infosets. An episode adds
the first infoset of each player that is new, as in tree search, and no other: in a large game those
after it would hardly be seen again. After it everybody has played uniformly, which is pi^t there,
so the loss of the play is an unbiased estimate of what follows it. The same is true if there is no
room for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from accord._arrays import NO_INFOSET, Floats
from accord._signals import ticking
from accord.deviations.notions import NotionLike, as_notion, clipped_k
from accord.errors import ArgumentError, MismatchError
from accord.game.labels import player_name
from accord.learning.averaging import is_heard_everywhere, is_sampled
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.episode_learner import OWN_POLICY, EpisodeLearner
from accord.learning.exploration import (
    OWN_EXPLORATIONS,
    Explore,
    checked_exploration,
    needs_treeplexes,
    own_law,
)
from accord.learning.warm_start import WarmStart, start_tables
from accord.learning.whole_plays import WholePlayKEFR
from accord.play.bounds import bounds_of, restore_bounds
from accord.play.ends import Ends
from accord.play.environment import Environment, quoted
from accord.play.episodes import ACTIONS, Episode, Executor, LocalExecutor, placed
from accord.play.own_tree import OwnTree
from accord.play.recent import RecentPlays
from accord.play.streams import Streams
from accord.regret.methods import SAMPLED_DEFAULT, SAMPLED_METHODS, configured
from accord.regret.rates import episodes_per_iteration
from accord.regret.sampled import SampledMinimizer
from accord.treeplex.treeplex import Treeplex

EVERYBODY = -1
"""Stands for the player who samples an episode in which nobody explores and all learn."""

WITHOUT_DECISIONS = 1_000
"""Episodes without any decision after which a game counts as one that has none."""


def count_episodes(
    plexes: Sequence[Treeplex | None],
    k: NotionLike,
    minimizer: SampledMinimizer,
    exploration: str,
) -> tuple[int, list[int]]:
    """How many episodes of an iteration all players share, and how many each has alone.

    A treeplex may be unknown (``None``) if the sampling policies do not count its infosets.
    """
    if needs_treeplexes(minimizer, exploration):
        known = [plex for plex in plexes if plex is not None]
        return 0, [episodes_per_iteration(plex.horizon, clipped_k(plex, k)) for plex in known]
    own = [int(plex is None or plex.n_infosets > 0) for plex in plexes]
    return minimizer.sampling.shared if any(own) else 0, own


def learners_for(
    plexes: Sequence[Treeplex | None],
    k: NotionLike,
    minimizer: SampledMinimizer,
    exploration: str,
    iterations: int | None,
    *,
    batch: int = 1,
    budget: int | None = None,
) -> tuple[EpisodeLearner, ...]:
    """A learner per player; ``None`` stands for a treeplex that is not known."""
    known = tuple(plex for plex in plexes if plex is not None)
    schedule = minimizer.schedule(known, k, iterations)
    kind: Any = WholePlayKEFR if minimizer.whole_plays else BalancedKEFR
    return tuple(
        kind(
            plex, k, minimizer,
            exploration=exploration, budget=budget, schedule=schedule, player=i, batch=batch,
        )
        for i, plex in enumerate(plexes)
    )  # fmt: skip


def episodes_of(learners: Sequence[EpisodeLearner]) -> list[tuple[int, int]]:
    """The episodes of an iteration, in order: the player who samples it, and their policy in it."""
    own = [
        (i, int(policy))
        for i, learner in enumerate(learners)
        for policy in learner.policy_of[learner.n_shared :]
    ]
    return [(EVERYBODY, 0)] * learners[0].n_shared + own if own else []


class Kept(Protocol):
    """Where the components to save go."""

    stride: int
    averages: int

    def append(self, row: list[Floats], *, work: int, visits: int) -> None:
        """Keep a component: the policy of each player over the sequences known so far."""


class EnvironmentPlay:
    """All players of an environment learning from episodes that they play with each other.

    Args:
        env: The environment.
        k: How many recommendations a deviator may disobey, or the name of another notion.
        seed: The seed of all randomness.
        episodes: How many will be played, for the paper's learning rate.
        method: A name as in :func:`accord.learn`, or a configured minimizer.
        exploration: How episodes explore; by default the method's.
        plexes: The players' treeplexes, if they are known.
        batch: How many times the episodes of an iteration are played under the same policies.
        memory: Bytes that the tables may take; no infoset is added when they would take more.
        executor: Plays the episodes; by default this process.
        start: A policy to start from, whose treeplexes are then known.

    Attributes:
        trees: The infosets of each player seen so far.
        learners: One per player.
        iteration: How many iterations have been run.
        episodes_per_iteration: The number of episodes that all players together play in one.
        averages: How many iterates each kept component averages, at most.
        recent: The last shared episodes, in which everybody followed pi^t.
        offset: What the numbers of episodes are larger by, if others play in between.
        watch: Called with the episodes of each iteration once they are played.
        ends: The ends of the game that plays have shown.

    Raises:
        ArgumentError: If an argument is out of range, or treeplexes are needed and not known.
        MismatchError: If there is not one treeplex per player.
    """

    grows = True  # a checkpoint may have more infosets than there are when it is restored

    def __init__(
        self,
        env: Environment,
        k: NotionLike,
        seed: int,
        *,
        episodes: int | None = None,
        method: str | SampledMinimizer = SAMPLED_DEFAULT,
        exploration: str | Explore | None = None,
        plexes: Sequence[Treeplex] | None = None,
        batch: int = 1,
        memory: int | None = None,
        executor: Executor | None = None,
        start: WarmStart | None = None,
    ) -> None:
        self.env, self.players, self.memory = env, tuple(map(str, env.players)), memory
        self._minimizer, self._batch = configured(SAMPLED_METHODS, method), batch
        self._exploration = checked_exploration(self._minimizer.explorations, exploration)
        self._planned = needs_treeplexes(self._minimizer, self._exploration)
        if plexes is not None and len(plexes) != len(self.players):
            raise MismatchError(
                f"{env.name} has {len(self.players)} players; got {len(plexes)} treeplexes"
            )
        if plexes is None and self._planned:
            raise ArgumentError(
                f"{self._minimizer.name} with {self._exploration} exploration needs the players' "
                "treeplexes, because it counts their infosets before the first episode; give "
                "discover(env) as plexes"
            )
        self._notion, self._episodes = as_notion(k), episodes
        self._start = start
        if start is not None:
            plexes = start.plexes
        self._meet([None] * len(self.players) if plexes is None else plexes)
        if start is not None:
            for learner, behavior in zip(self.learners, start.behaviors, strict=True):
                start_tables(learner.tables, behavior)
        self.averages = self._minimizer.sampling.averages
        self.iteration = 0
        self.sampled = 0  # the last iteration whose policies were sampled; it may have failed since
        self.visits = 0  # decisions in all episodes
        self.recent, self.ends = RecentPlays(len(self.players)), Ends()
        self._executor: Executor = LocalExecutor(env, seed) if executor is None else executor
        self.draws = Streams(seed, ACTIONS).draws
        self.offset = 0
        self.watch: Callable[[Sequence[Episode]], object] | None = None

    def _meet(self, plexes: Sequence[Treeplex | None]) -> None:
        """Make the learners, who know these treeplexes."""
        self.trees = [
            OwnTree(name) if plex is None else OwnTree.of(name, plex)
            for name, plex in zip(self.players, plexes, strict=True)
        ]
        shared, own = count_episodes(plexes, self._notion, self._minimizer, self._exploration)
        self.episodes_per_iteration = self._batch * (shared + sum(own))
        iterations = None
        if self._episodes is not None:
            iterations = max(1, self._episodes // max(1, self.episodes_per_iteration))
        self.learners = learners_for(
            plexes, self._notion, self._minimizer, self._exploration, iterations, batch=self._batch
        )
        self._order = episodes_of(self.learners)
        if self._exploration in OWN_EXPLORATIONS:
            for i, learner in enumerate(self.learners):
                assert isinstance(learner, WholePlayKEFR)
                learner.law = partial(self._law, i)

    def _law(self, i: int, x: int) -> Floats:
        """How player i explores at an infoset, by exploration of the user's own."""
        tree = self.trees[i]
        return own_law(self._exploration, i, tree.labels[x], tree.actions[x])

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

    @property
    def sizes(self) -> list[int]:
        """The number of known sequences of each player."""
        return [tree.n_sequences for tree in self.trees]

    def advance(self, iterations: int, kept: Any = None, stride: int = 0) -> int:
        """Run ``iterations``; at every multiple of its stride append a component to ``kept``.

        Returns how many were appended.
        """
        rows = 0
        with ticking(self._executor.check_answer):
            for _ in range(iterations):
                for learner in self.learners:
                    learner.iteration = self.iteration  # it is more if an iteration has failed
                    learner.begin_iteration()
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
            learner.add_iterate(everywhere=is_heard_everywhere(self._notion))
        if t % kept.stride:
            return 0
        row = [learner.component() for learner in self.learners]
        kept.append(row, work=kept.averages * self.n_infosets, visits=self.visits)
        return 1

    def _play(self) -> None:
        first = self.offset + self.iteration * self.episodes_per_iteration
        episodes = [
            Episode(number, active, self.trees, self._choose, self.draws, policy)
            for number, (active, policy) in enumerate(self._order, first)
        ]
        self._executor.play(episodes)
        if self._start is not None and not self.iteration:
            self._check_start(self._start, episodes)
        for episode in episodes:
            try:
                if episode.fresh and self._planned:
                    self._refuse(episode)
                episode.number_infosets(self._add)
            except Exception as error:
                raise placed(error, episode.number) from error.__cause__  # type: ignore[arg-type]
        if not self.n_infosets and not self.is_full and first >= WITHOUT_DECISIONS:
            raise ArgumentError("the game must have a decision to learn, but no player has one")
        for episode in episodes:
            self.visits += len(episode.moves)
            self.ends.add(episode)
            if episode.active == EVERYBODY:
                self.recent.add(episode)
        if self.watch is not None:
            self.watch(episodes)
        for i, learner in enumerate(self.learners):
            learner.observe(
                [
                    (episode.paths[i], episode.losses[i], episode.policy)
                    for episode in episodes
                    if episode.active in (i, EVERYBODY)
                ]
            )

    def _choose(self, episode: Episode, i: int, x: int, n_actions: int) -> int:
        if x == NO_INFOSET:  # both pi^t and the policy that explores are uniform there
            return min(int(episode.draw() * n_actions), n_actions - 1)
        policy = episode.policy if episode.active == i else OWN_POLICY
        return self.learners[i].choose(x, episode.draw(), policy, len(episode.paths[i]))

    def _add(self, i: int, before: int, n_actions: int) -> bool:
        if self.is_full:
            return False
        learner = self.learners[i]
        assert isinstance(learner, WholePlayKEFR)
        learner.add(before, n_actions)
        return True

    def _check_start(self, start: WarmStart, episodes: Sequence[Episode]) -> None:
        """Refuse the policy of another game: one that knows nothing of the first plays."""
        shown = [label for episode in episodes for _, _, label, *_ in episode.moves]
        known = any(path for episode in episodes for path in episode.paths)
        if shown and not known and start.name != str(self.env.name):
            raise MismatchError(
                f"the policy to start from must be one of {self.env.name}; it is one of "
                f"{start.name}, and knows none of the infosets of the first plays, such as "
                f"{quoted(shown[0])}"
            )

    def _refuse(self, episode: Episode) -> None:
        i, _, label, *_ = next(move for move in episode.moves if move[1] == NO_INFOSET)
        raise MismatchError(
            f"{self.env.name}: {player_name(self.players[i])} was shown {quoted(label)}, which is "
            "not in their treeplex; call discover(env, patience=...) with more patience, or give "
            "the whole treeplex yourself"
        )

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        content: dict[str, Any] = {
            "iteration": np.array(self.iteration),
            "sampled": np.array(self.sampled),
            "visits": np.array(self.visits),
            "recent": self.recent.sums,
            "bounds": bounds_of(self.env),
            "players": np.array(json.dumps(self.players)),
            **{f"ends_{name}": value for name, value in self.ends.state().items()},
        }
        for i, (tree, learner) in enumerate(zip(self.trees, self.learners, strict=True)):
            content |= {f"tree{i}_{name}": value for name, value in tree.state().items()}
            content |= {f"learner{i}_{name}": value for name, value in learner.saved().items()}
        return content

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`."""

        def part(prefix: str) -> dict[str, Any]:
            start = len(prefix)
            return {name[start:]: v for name, v in state.items() if name.startswith(prefix)}

        counts = [int(state[name]) for name in ("iteration", "visits", "sampled")]
        if min(counts) < 0:
            raise ValueError("counts must not be negative")
        self.iteration, self.visits, self.sampled = counts
        self.recent.restore(state["recent"])
        restore_bounds(self.env, state["bounds"])
        self.ends.restore(part("ends_"))
        trees = [OwnTree.restored(name, part(f"tree{i}_")) for i, name in enumerate(self.players)]
        if self._planned:
            self._meet([tree.numbered() for tree in trees])
        for i, (tree, learner) in enumerate(zip(trees, self.learners, strict=True)):
            for x in range(learner.tables.n_infosets, tree.n_infosets):
                assert isinstance(learner, WholePlayKEFR)
                learner.add(tree.parent_seq[x], len(tree.actions[x]))
            learner.restore(part(f"learner{i}_"))
        self.trees = trees

    def close(self) -> None:
        """Stop playing."""
        self._executor.close()
