"""Playing an environment with known treeplexes, in numbers instead of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._arrays import CHANCE, NO_INFOSET, TERMINAL
from accord.errors import GameError, ImperfectRecallError, MismatchError
from accord.game.labels import player_name
from accord.play.environment import Environment, checked_bounds, draw_chance, whose_turn
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
        self.worst, self.best = checked_bounds(env)
        self._number = [
            {label: x for x, label in enumerate(plex.infoset_labels)} for plex in self.plexes
        ]
        self._checked = [np.zeros(plex.n_infosets, bool) for plex in self.plexes]
        self._first_seq = [plex.first_seq.tolist() for plex in self.plexes]
        self._parent_seq = [plex.parent_seq.tolist() for plex in self.plexes]

    def play(self, rng: np.random.Generator, act: Any) -> Sequence[float]:
        """The payoffs of one play, in which player i takes action ``act(i, x)`` at infoset x."""
        env = self.env
        env.reset(rng)
        last = [EMPTY_SEQUENCE] * len(self.plexes)
        while (i := whose_turn(env)) != TERMINAL:
            if i == CHANCE:
                env.step(draw_chance(env, rng))
                continue
            label = env.infoset()
            x = self._number[i].get(label, NO_INFOSET) if isinstance(label, str) else NO_INFOSET
            if x == NO_INFOSET or self._parent_seq[i][x] != last[i] or not self._checked[i][x]:
                self._check(i, x, label, last[i])
            action = act(i, x)
            last[i] = self._first_seq[i][x] + action
            env.step(action)
        return env.payoffs()

    def losses(self, payoffs: Sequence[float]) -> list[float]:
        """Payoffs of a play as losses in [0, 1].

        Raises:
            GameError: If one is not finite, or outside its bounds, or there is not one per player.
        """
        if np.shape(payoffs) != (len(self.players),):
            raise GameError(
                f"{self.env.name}: payoffs() must be one number per player, "
                f"{len(self.players)}; got {payoffs!r}"
            )
        losses = []
        for i, (u, worst, best) in enumerate(zip(payoffs, self.worst, self.best, strict=True)):
            if not _is_finite(u):
                raise GameError(
                    f"{self.env.name}: payoffs() must be finite numbers; "
                    f"{player_name(self.players[i])} was paid {u!r}"
                )
            span = best - worst
            if not worst - 1e-9 * span <= u <= best + 1e-9 * span:
                raise GameError(
                    f"{self.env.name}: {player_name(self.players[i])} was paid {u}, outside the "
                    f"payoff_bounds ({worst:g}, {best:g}) that the environment states; widen them"
                )
            losses.append(min(1.0, max(0.0, float(best - u) / span)) if span > 0 else 0.0)
        return losses

    def _check(self, i: int, x: int, label: str, last: int) -> None:
        """Refuse an infoset that does not fit the treeplex; remember one that does."""
        plex, player = self.plexes[i], self.players[i]
        if x == NO_INFOSET:
            raise MismatchError(
                f"{self.env.name}: {player_name(player)} was shown {label!r}, which is not in "
                "their treeplex; call discover(env, patience=...) with more patience, or give the "
                "whole treeplex yourself"
            )
        if int(plex.parent_seq[x]) != last:
            histories = (self._own(i, int(plex.parent_seq[x])), self._own(i, last))
            raise ImperfectRecallError(player, label, histories)
        actions = tuple(self.env.actions())
        if actions != tuple(plex.action_labels[x]):
            raise MismatchError(
                f"{self.env.name}: {player_name(player)}, infoset {label!r}: the treeplex has "
                f"the actions {tuple(plex.action_labels[x])}; the environment has {actions}"
            )
        self._checked[i][x] = True

    def _own(self, i: int, seq: int) -> tuple[tuple[str, str], ...]:
        plex = self.plexes[i]
        if seq == EMPTY_SEQUENCE:
            return ()
        x = int(plex.seq_infoset[seq])
        pairs = [*plex.history(x), (x, seq - int(plex.first_seq[x]))]
        return tuple((plex.infoset_labels[y], plex.action_labels[y][a]) for y, a in pairs)


def _is_finite(u: Any) -> bool:
    try:
        return math.isfinite(u)
    except (TypeError, OverflowError):
        return False
