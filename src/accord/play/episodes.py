"""Episodes of an environment, one or many at a time.

An :class:`Episode` collects the moves of one play; somebody else chooses its actions. An
:class:`Executor` plays episodes: a :class:`LocalExecutor` one after another in this process, the
workers of ``play/workers.py`` many at once. Either way an episode depends on its number and on the
actions chosen, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from accord._arrays import NO_INFOSET
from accord._signals import is_ticking, ticking
from accord.errors import AccordError
from accord.play.environment import Environment
from accord.play.losses import Losses
from accord.play.own_tree import UNSEEN_SEQUENCE, OwnTree
from accord.play.playing import ChanceMove, PendingDecision, Playing
from accord.play.streams import Streams
from accord.treeplex.treeplex import EMPTY_SEQUENCE

ENVIRONMENT, ACTIONS = 0, 1
"""The purposes of the random streams of an episode."""

Choose = Callable[["Episode", int, int, int], int]
"""``choose(episode, player, infoset, n_actions)``; the infoset may be ``NO_INFOSET``."""


class Episode:
    """One play: who explores in it, and everything that happened.

    Attributes:
        number: The number of the episode, from 0.
        active: The player who explores, or a negative number.
        policy: The number of the policy that they explore by.
        component: The component of a mixture that is recommended from, if there is one.
        chance: A random number in [0, 1) beside those for actions.
        draw: Returns the next random number for choosing actions.
        paths: For each player their infosets and actions, unless one of the infosets is new.
        moves: The player, infoset, label, actions and action of every decision.
        shown: The moves of chance before each decision and at the end, as far as they were left
            to the caller.
        fresh: Whether it met an infoset without a number.
        payoffs: The payoffs of the play, when it is over.
    """

    __slots__ = (
        "_choose", "_last", "_new_draw", "_trees", "active", "chance", "component", "draw", "fresh",
        "losses", "moves", "number", "paths", "payoffs", "policy", "shown",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        active: int,
        trees: Sequence[OwnTree],
        choose: Choose,
        draws: Callable[[int], Callable[[], float]],
        policy: int = 0,
    ) -> None:
        self.number, self.active, self.policy = number, active, policy
        self.component, self.chance = 0, 0.0
        self._trees, self._choose, self._new_draw = trees, choose, draws
        self.restart()

    def restart(self) -> None:
        """Forget what happened, in order to play it again."""
        self.draw = self._new_draw(self.number)
        self.paths: list[list[tuple[int, int]]] = [[] for _ in self._trees]
        self.moves: list[tuple[int, int, str, tuple[str, ...], int]] = []
        self.shown: list[Sequence[ChanceMove]] = []
        self._last = [EMPTY_SEQUENCE] * len(self._trees)
        self.fresh = False
        self.payoffs: Sequence[float] = ()
        self.losses: list[float] = []

    def decide(self, decision: PendingDecision) -> int:
        """The action at a decision."""
        i, label, actions, chance = decision
        self.shown.append(chance)
        tree = self._trees[i]
        x = tree.find(label, actions, self._last[i])
        action = self._choose(self, i, x, len(actions))
        if x == NO_INFOSET:
            self.fresh = True
            self._last[i] = UNSEEN_SEQUENCE
        else:
            self.paths[i].append((x, action))
            self._last[i] = tree.first_seq[x] + action
        self.moves.append((i, x, label, actions, action))
        return action

    def end(self, payoffs: Sequence[float], losses: list[float], chance: Any) -> None:
        """Note how the play ended; ``chance`` moved after the last decision."""
        self.payoffs, self.losses = payoffs, losses
        self.shown.append(chance)

    def complete(self, i: int) -> bool:
        """Whether all decisions of player i were at infosets with numbers."""
        return not self.fresh or len(self.paths[i]) == sum(move[0] == i for move in self.moves)

    def number_infosets(self, admit: Callable[[int, int, int], bool]) -> None:
        """Give a number to the first new infoset of each player, if there is one.

        ``admit(player, before, n_actions)`` is told of it and says whether there is room. The
        player's path ends there, or before it if there is no room.
        """
        if not self.fresh:
            return
        last = [EMPTY_SEQUENCE] * len(self._trees)
        self.paths = [[] for _ in self._trees]
        for i, _, label, actions, action in self.moves:
            if (before := last[i]) == UNSEEN_SEQUENCE:
                continue
            tree = self._trees[i]
            x = tree.find(label, actions, before)
            last[i] = UNSEEN_SEQUENCE
            if x != NO_INFOSET:
                last[i] = tree.first_seq[x] + action
            elif admit(i, before, len(actions)):
                x = tree.add(label, actions, before)
            else:
                continue
            self.paths[i].append((x, action))
        self.fresh = False


class Executor(Protocol):
    """Something that plays episodes."""

    def play(self, episodes: Sequence[Episode]) -> None:
        """Play all of them."""

    def check_answer(self) -> None:
        """Raise a SimulatorError if a simulator in this process does not answer. Whoever plays many
        times a second calls it by :func:`~accord._signals.ticking` for all of them at once."""

    def close(self) -> None:
        """Release what is held for playing."""


class LocalExecutor:
    """Plays episodes in this process, one after another."""

    def __init__(self, env: Environment, seed: int) -> None:
        self._playing, self._losses = Playing(env), Losses(env)
        self._streams = Streams(seed, ENVIRONMENT)

    def play(self, episodes: Sequence[Episode]) -> None:
        """Play all of them."""
        if is_ticking():
            self._play(episodes)
            return
        with ticking(self.check_answer):
            self._play(episodes)

    def _play(self, episodes: Sequence[Episode]) -> None:
        playing = self._playing
        for episode in episodes:
            try:
                decision = playing.begin(self._streams.at(episode.number))
                while decision is not None:
                    decision = playing.step(episode.decide(decision))
                payoffs = playing.payoffs()
                episode.end(payoffs, self._losses.of(payoffs), playing.chance)
            except AccordError as error:
                raise placed(error, episode.number) from error.__cause__

    def check_answer(self) -> None:
        self._playing.check_answer()

    def close(self) -> None:
        """Nothing is held."""


def placed(error: AccordError, number: int) -> AccordError:
    """The error, whose message now says in which episode it happened."""
    text = f"{error} (in episode {number + 1:,})"
    error.args = (text,)
    return error
