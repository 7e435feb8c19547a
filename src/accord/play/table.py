"""Playing an environment with known treeplexes, in numbers instead of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._arrays import NO_INFOSET
from accord.errors import MismatchError
from accord.game.labels import player_name
from accord.play.environment import Environment, quoted
from accord.play.losses import Losses
from accord.play.own_tree import OwnTree
from accord.play.playing import Playing
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex


class Table:
    """An environment with the treeplexes of its players.

    It translates labels to numbers and payoffs to losses, and refuses plays that do not fit.
    """

    def __init__(self, env: Environment, plexes: Sequence[Treeplex]) -> None:
        self.env, self.plexes = env, tuple(plexes)
        self.players = tuple(map(str, env.players))
        if not self.players or len(self.plexes) != len(self.players):
            raise MismatchError(
                f"{env.name} has {len(self.players)} players; got {len(self.plexes)} treeplexes"
            )
        self.losses = Losses(env).of
        self._trees = list(map(OwnTree.of, self.players, self.plexes))
        self._playing = Playing(env)

    def play(self, rng: np.random.Generator, act: Any) -> Sequence[float]:
        """The payoffs of one play, in which player i takes action ``act(i, x)`` at infoset x."""
        playing = self._playing
        last = [EMPTY_SEQUENCE] * len(self._trees)
        decision = playing.begin(rng)
        while decision is not None:
            i, label, actions = decision
            tree = self._trees[i]
            x = tree.find(label, actions, last[i])
            if x == NO_INFOSET:
                raise MismatchError(
                    f"{self.env.name}: {player_name(tree.player)} was shown {quoted(label)}, which "
                    "is not in their treeplex; call discover(env, patience=...) with more "
                    "patience, or give the whole treeplex yourself"
                )
            action = act(i, x)
            last[i] = tree.first_seq[x] + action
            decision = playing.step(action)
        return playing.payoffs()
