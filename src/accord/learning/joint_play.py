"""Learning from joint plays: rounds of plays and of K-EFR in the game that they have shown.

With joint feedback the learner sees every move of every play. It keeps them in a tree of joint
histories (``play/joint_tree.py``). After each round K-EFR solves the completed empirical game
(``learning/empirical_game.py``), with full feedback, which takes milliseconds. The plays of the
next round explore against the mixture of its iterates (``learning/joint_exploration.py``). Rounds
become longer by a third until everything has been seen, then they double. While something is
unseen, the weights of exploration are computed again after every 3 % more episodes, and players may
learn for themselves in a part of the rounds (``learning/joint_choice.py``).

The result depends on the plays only through the tree, and on the tree only at the starts of rounds
and of these blocks. So it is the same to the bit, however many workers play, and however the
episodes are split into calls.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord._arrays import Floats
from accord._jit import jit
from accord.deviations.notions import NotionLike, as_notion
from accord.learning.averaging import UNREACHED
from accord.learning.empirical_game import completed_rows
from accord.learning.joint_choice import (
    COVERED,
    HOPELESS,
    OWN_SHARE,
    ROOM,
    STEADY,
    Choice,
    OwnLearning,
    estimate_ends,
    measured_gap,
)
from accord.learning.joint_exploration import FIRST_SHARES, exploration_weights, shares_of
from accord.learning.self_play import SelfPlay
from accord.play.joint_paths import Places
from accord.play.joint_tree import JointTree, compute_law
from accord.treeplex.form import Form
from accord.treeplex.leaves import LeafTable
from accord.treeplex.treeplex import Treeplex

FIRST_ROUND = 500
"""Episodes of the first round."""

GROWTH, GROWTH_COVERED = 1.3, 2.0
"""How much longer the run is after each round: while something is unseen, and afterwards."""

REFRESH, SHORTEST_BLOCK = 0.03, 20
"""Weights of exploration hold for this share of the episodes so far, and at least for so many."""

ROUND_ITERATIONS, ROUND_COMPONENTS = 150, 75
"""Iterations of K-EFR after a round, and the iterates that the next round follows."""

FINAL_ITERATIONS, FINAL_COMPONENTS = 600, 200
"""Iterations of K-EFR for what is saved, and how many of the iterates are saved by default."""

FOREVER = 2**62
"""More episodes than anybody plays."""

JOINT_METHOD = "prm+"
"""The minimizer of K-EFR in the empirical game."""


class Mixture(Protocol):
    """Where the components go."""

    def replace(self, parts: list[Floats]) -> list[Floats]:
        """Keep these components instead: ``[n_components, n_sequences]`` for each player.

        Returns them as they are kept.
        """


class JointPlay(ABC):
    """The rounds, wherever the episodes are played.

    Args:
        n_players: The number of players.
        k: How many recommendations a deviator may disobey, or the name of another notion.

    Attributes:
        tree: All joint histories seen.
        iteration: How many episodes have been played.
        round_end: After how many episodes the game is solved next.
        rounds: How many rounds are over.
        own_end: Until then the players play for themselves in this round; 0 if it is not theirs.
        unseen: The estimated number of ends of the game that no play has shown.
        own: The players who learn for themselves beside the joint learner; None for nobody.
        planned: How many episodes will be played.
        choice: Which of them plays next.
        champion: The best mixture that a round of the joint learner has tested, like ``behavior``.
            There is none once everything has been seen.
    """

    episodes_per_iteration = 1
    grows = True  # a checkpoint may have more histories than there are when it is restored

    def __init__(self, n_players: int, k: NotionLike) -> None:
        self.k = as_notion(k)
        self.tree = JointTree(n_players)
        self.iteration = 0
        self.round_end, self.block_end = FIRST_ROUND, SHORTEST_BLOCK
        self.unseen = math.inf
        self.rounds = 0
        self.own: OwnLearning | None = None
        self.planned = 0
        self.own_start = self.own_end = 0
        self.choice = Choice()
        self.champion: list[Floats] = []
        self._shares = FIRST_SHARES
        self.behavior = []
        self._explore = np.zeros((1, 1 + n_players))
        self._known = 0  # nodes that have weights of exploration

    @property
    def sizes(self) -> list[int]:
        """The number of known sequences of each player."""
        return list(map(int, np.diff(self.places.first_reach)))

    @property
    @abstractmethod
    def places(self) -> Places:
        """Where the sequences known now are in joint vectors."""

    @abstractmethod
    def plexes(self) -> tuple[tuple[Treeplex, ...], tuple[NDArray[np.int64], ...]]:
        """The treeplexes known now, and the number here of each of their sequences."""

    @abstractmethod
    def _play(self, episodes: int) -> None:
        """Play and record the next ``episodes``."""

    @property
    def covered(self) -> float:
        """The share of the game's ends that plays have shown, estimated."""
        return self.tree.n_ends / (self.tree.n_ends + self.unseen) if self.iteration else 0.0

    def advance(self, episodes: int, kept: Mixture | None = None, stride: int = 1) -> int:
        """Play ``episodes`` more, and begin the rounds that are due.

        After each round ``kept`` is given the mixture that the next one follows. Returns 0: nothing
        was added to it.
        """
        end = self.iteration + episodes
        while self.iteration < end:
            if self.iteration < self.own_end:
                self._play_own(min(end, self.own_end))
                continue
            size = min(end, self.block_end, self.round_end) - self.iteration
            self._play(size)
            self.iteration += size
            if self.iteration == self.round_end:
                self._begin_round(kept)
            elif self.iteration == self.block_end:
                self._begin_block()
        if not episodes:
            self._play(0)  # compiles
        return 0

    def _play_own(self, end: int) -> None:
        """Let the players learn until ``end``. An iteration is played when its last play is due."""
        assert self.own is not None
        each, start = self.own.each, self.own_start
        done = (self.iteration - start) // each
        self.own.learn((end - start) // each - done, start + done * each)
        self.iteration = end
        if end == self.own_end:
            self._record_own()
            self._begin_block()

    @abstractmethod
    def _record_own(self) -> None:
        """Record the plays of the players who learn for themselves, if they are not yet."""

    @property
    def is_full(self) -> bool:
        """Whether the joint histories have reached the limit of their memory."""
        return False

    @property
    def given_up(self) -> bool:
        """Whether the players continue alone: joint histories do not fit, or are too many."""
        return self.own_end == FOREVER

    @property
    def is_hopeless(self) -> bool:
        """Whether the game has too many ends for the planned episodes to show enough of them."""
        return bool(estimate_ends(self.tree.arrays) > HOPELESS * self.planned)

    @property
    def _unrecorded(self) -> int:
        """How many of their plays are not recorded, or not yet."""
        return 0

    @property
    def own_plays(self) -> int:
        """How many plays the players have had for themselves."""
        return 0 if self.own is None else self.own.iteration * self.own.each

    @property
    def pending(self) -> int:
        """Plays that are counted, but are played only when their iteration is complete."""
        if self.own is None or self.iteration >= self.own_end:
            return 0
        return (self.iteration - self.own_start) % self.own.each

    def conclude(self, kept: Mixture, components: int | None) -> None:
        """Give ``kept`` the mixture to save."""
        if self.own is not None and self.own_plays and self.given_up and not self.is_full:
            kept.replace(self.own.behaviors())
            return
        self._record_own()
        compared = self.own_plays and (self.given_up or not self.choice.settled)
        mixture = self.own.behaviors() if self.own is not None and compared else []
        model, order = self._model()
        if mixture:
            tested = max(self.choice.tested, self._measured(model, order, self.behavior))
            if self._measured(model, order, mixture) < tested:
                kept.replace(mixture)
                return
        if self.champion and self.covered < COVERED:
            champion = self._measured(model, order, self.champion)
            if self.choice.tested > STEADY * champion:
                kept.replace(self.champion)
                return
        kept.replace(self._solved(model, order, FINAL_ITERATIONS, components or FINAL_COMPONENTS))

    def _begin_round(self, kept: Mixture | None) -> None:
        """Solve the game, and explore against its solution."""
        model, order = self._model()
        to_players = self._decide(model, order)
        self.own_start = self.own_end = 0
        solution = self._solved(model, order, ROUND_ITERATIONS, ROUND_COMPONENTS)
        self.behavior = solution if kept is None else kept.replace(solution)
        self.rounds += 1
        self._begin_block()
        growth = GROWTH if self.unseen else GROWTH_COVERED
        self.round_end = int(self.round_end * growth) + 1
        self._shares = shares_of(self.unseen, self.round_end - self.iteration)
        self.block_end = min(self.block_end, self.round_end)
        if self.unseen == 0.0:
            self.choice.settled, self.champion = True, []
        if self.own is not None and (self.is_full or self.is_hopeless):
            self.own_start, self.own_end = self.iteration, FOREVER
            return
        coverable = ROOM * self.unseen <= self.planned - self.iteration
        if to_players and not (coverable or self.choice.settled) and self.own is not None:
            each = self.own.each
            share = int(OWN_SHARE * (self.round_end - self.iteration)) // each * each
            self.own_start, self.own_end = self.iteration, self.iteration + share

    def _decide(self, model: Form, order: Sequence[NDArray[np.int64]]) -> bool:
        """Test the mixture of the round, and say whether the next one belongs to the players."""
        if self.own is None or self.unseen == 0.0:
            return False
        tested = own = math.inf
        if self.behavior:
            tested = self._measured(model, order, self.behavior)
            if not self.own_end:  # all plays of the round have tested it
                self._challenge(tested, model, order)
        if self.own_plays and not self.choice.settled:
            own = self._measured(model, order, self.own.behaviors())
        return self.choice.decide(tested, own, self.own_plays, self.iteration)

    def _challenge(self, tested: float, model: Form, order: Sequence[NDArray[np.int64]]) -> None:
        """Make the mixture of the round champion, unless the champion has a smaller gap."""
        if not self.champion or tested <= self._measured(model, order, self.champion):
            self.champion = self.behavior

    def _measured(
        self, model: Form, order: Sequence[NDArray[np.int64]], parts: Sequence[Floats]
    ) -> float:
        """The gap of a mixture in ``model``; at infosets that it does not know it is uniform."""
        uniform, behaviors = model.split(self.places.uniform()), []
        for here, part, plain in zip(order, parts, uniform, strict=True):
            whole = np.repeat(plain[np.newaxis], len(part), axis=0)
            whole[:, : part.shape[1]] = part
            behaviors.append(whole[:, here])
        return measured_gap(model, self.k, behaviors)

    def _begin_block(self) -> None:
        """Compute the weights of exploration from all plays."""
        law = np.empty(self.tree.n_edges)
        compute_law(self.tree.arrays, law)
        self._explore, self.unseen = exploration_weights(
            self.tree, self.places, self._mean_behavior(), law
        )
        self._known = self.tree.n_nodes
        block = max(SHORTEST_BLOCK, int(self.iteration * REFRESH))
        self.block_end = self.iteration + block if self.unseen else self.round_end
        if self.block_end <= self.iteration:
            self.block_end = self.iteration + block

    def _model(self) -> tuple[Form, tuple[NDArray[np.int64], ...]]:
        """The game that plays have shown, completed, and the number here of its sequences."""
        plexes, order = self.plexes()
        rows = completed_rows(self.tree, self.places, self._mean_behavior())
        seqs = rows.seqs
        for i, (plex, here) in enumerate(zip(plexes, order, strict=True)):
            place = np.empty(plex.n_sequences, np.int32)
            place[here] = np.arange(plex.n_sequences, dtype=np.int32)
            seqs[:, i] = place[seqs[:, i]]
        ends = np.cumsum([0, *(plex.n_sequences for plex in plexes)])
        best = np.zeros(len(plexes))
        leaves = LeafTable(seqs, rows.prob, -rows.losses, None, None, best, best - 1.0, ends, 1)
        return Form(plexes, leaves), order

    def solved(self, iterations: int, components: int) -> list[Floats]:
        """``[n_components, n_sequences]`` behaviors of each player, a K-EFCE of the completed game.

        K-EFR weights iterate t by t squared. These are equally weighted iterates, which lie the
        denser the later, at equal steps of t cubed.
        """
        return self._solved(*self._model(), iterations, components)

    def _solved(
        self,
        model: Form,
        order: Sequence[NDArray[np.int64]],
        iterations: int,
        components: int,
    ) -> list[Floats]:
        play = SelfPlay(model, self.k, JOINT_METHOD, averaging=2)
        components = min(components, iterations)
        steps = (np.arange(components) + 0.5) / components
        times = np.ceil(iterations * np.cbrt(steps)).astype(int)
        kept = np.empty((components, model.n_sequences))
        for row, t in enumerate(times.tolist()):
            play.advance(t - play.iteration)
            kept[row] = play.behavior
        parts = []
        for here, part in zip(order, model.split(kept), strict=True):
            parts.append(np.empty_like(part))
            parts[-1][:, here] = part
        return parts

    def _mean_behavior(self) -> Floats:
        """The joint behavior of the players' average policies; uniform at new infosets."""
        mean = self.places.uniform()
        for i, part in enumerate(self.behavior):
            start = self.places.first_reach[i]
            mean[start : start + part.shape[1]] = self._means[i]
        return mean

    def follow(self, parts: list[Floats]) -> None:
        """Let the next plays follow this mixture, unless the first round is not over."""
        if self.rounds:
            self.behavior = parts

    @property
    def behavior(self) -> list[Floats]:
        """``[n_components, n_sequences]`` behaviors of each player in the mixture of this round.

        They cover the sequences known when it began; there are none in the first round.
        """
        return self._behavior

    @behavior.setter
    def behavior(self, parts: list[Floats]) -> None:
        self._behavior = parts
        self._means = [self._average(i, part) for i, part in enumerate(parts)]

    def _average(self, i: int, part: Floats) -> Floats:
        """The average policy of player i, by reach probabilities."""
        places = self.places
        infosets = slice(places.first_infoset[i], places.first_infoset[i + 1])
        mean = np.ones(part.shape[1])
        average_policy(
            places.first_seq[infosets] - places.first_reach[i], places.n_actions[infosets],
            self._parents(i), part, mean,
        )  # fmt: skip
        return mean

    @abstractmethod
    def _parents(self, i: int) -> NDArray[np.int64]:
        """The sequence before each infoset of player i."""

    def state(self) -> dict[str, Any]:
        """Everything needed to continue, by name."""
        own = {} if self.own is None else self.own.state()
        return {
            "iteration": np.array(self.iteration),
            "ends": np.array([self.round_end, self.block_end, self.rounds]),
            "own_ends": np.array([self.own_start, self.own_end]),
            "choice": np.array([float(self.choice.settled), *self.choice.tests]),
            **{f"champion_{i}": part for i, part in enumerate(self.champion)},
            "unseen": np.array(self.unseen),
            "shares": np.array(self._shares),
            "explore": self._explore,
            "known": np.array(self._known),
            **{f"joint_{name}": value for name, value in self.tree.state().items()},
            **{f"own_{name}": value for name, value in own.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved :meth:`state`, without the mixture, which ``behavior`` must be set to."""
        start = "joint_"
        self.tree.restore({n[len(start) :]: v for n, v in state.items() if n.startswith(start)})
        self.iteration = int(state["iteration"])
        self.round_end, self.block_end, self.rounds = state["ends"].tolist()
        self.own_start, self.own_end = state["own_ends"].tolist()
        settled, *self.choice.tests = state["choice"].tolist()
        self.choice.settled = bool(settled)
        parts = (state.get(f"champion_{i}") for i in range(self.tree.n_players))
        self.champion = [part for part in parts if part is not None]
        if self.own is not None:
            start = "own_"
            self.own.restore({n[len(start) :]: v for n, v in state.items() if n.startswith(start)})
        self.unseen, self._known = float(state["unseen"]), int(state["known"])
        self._shares = tuple(state["shares"].tolist())
        self._explore = state["explore"]
        last = self.iteration - self.pending
        if self.tree.plays + self._unrecorded != last or not 0 <= self._known <= self.tree.n_nodes:
            raise ValueError("the joint histories contradict the number of episodes")
        if not (np.isfinite(self._explore) & (self._explore >= 0.0)).all():
            raise ValueError("the weights of exploration must be finite and not negative")


@jit
def average_policy(
    first_seq: NDArray[np.int64],
    n_actions: NDArray[np.int64],
    parent: NDArray[np.int64],
    behavior: Floats,
    mean: Floats,
) -> None:
    """Overwrite ``mean`` with the average of policies by reach; where none reaches, plainly."""
    reach = np.ones(behavior.shape)
    for x in range(len(first_seq)):
        if first_seq[x] >= len(mean):
            continue
        total = 0.0
        for seq in range(first_seq[x], first_seq[x] + n_actions[x]):
            mean[seq] = 0.0
            for c in range(len(behavior)):
                reach[c, seq] = reach[c, parent[x]] * behavior[c, seq]
                mean[seq] += reach[c, seq] + UNREACHED * behavior[c, seq]
            total += mean[seq]
        for seq in range(first_seq[x], first_seq[x] + n_actions[x]):
            mean[seq] /= total
