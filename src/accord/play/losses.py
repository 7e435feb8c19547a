"""Payoffs of plays as losses in [0, 1], by the bounds that an environment states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from accord.errors import GameError
from accord.game.labels import player_name
from accord.play.environment import Environment, checked_bounds, quoted

BOUNDS_TOLERANCE = 1e-9
"""Share of the payoff range by which rounding may exceed the bounds."""


class Losses:
    """The losses of an environment's players."""

    def __init__(self, env: Environment) -> None:
        self.name, self.players = str(env.name), tuple(map(str, env.players))
        worst, best = checked_bounds(env)
        self.worst, self.best = worst.tolist(), best.tolist()
        self.span = [high - low for low, high in zip(self.worst, self.best, strict=True)]

    def of(self, payoffs: Sequence[float]) -> list[float]:
        """The loss of each player in a play with these payoffs.

        Raises:
            GameError: If one is not finite, or outside its bounds, or there is not one per player.
        """
        if not _is_list_of(payoffs, len(self.players)):
            raise GameError(
                f"{self.name}: payoffs() must be one number per player, {len(self.players)}; "
                f"got {quoted(payoffs)}"
            )
        losses = []
        for i, paid in enumerate(payoffs):
            span, best = self.span[i], self.best[i]
            try:
                short = best - paid
                within = -BOUNDS_TOLERANCE * span <= short <= (1.0 + BOUNDS_TOLERANCE) * span
            except TypeError:
                within = False
            if not within:
                self._refuse(i, paid)
            losses.append(min(1.0, max(0.0, float(short) / span)) if span > 0 else 0.0)
        return losses

    def _refuse(self, i: int, paid: Any) -> None:
        who = player_name(self.players[i])
        if not _is_finite(paid):
            raise GameError(
                f"{self.name}: payoffs() must be finite numbers; {who} was paid {quoted(paid)}"
            )
        raise GameError(
            f"{self.name}: {who} was paid {paid}, outside the payoff_bounds "
            f"({self.worst[i]:g}, {self.best[i]:g}) that the environment states; widen them"
        )


def _is_list_of(payoffs: Any, size: int) -> bool:
    try:
        return len(payoffs) == size
    except TypeError:
        return False


def _is_finite(paid: Any) -> bool:
    try:
        return math.isfinite(paid)
    except (TypeError, OverflowError):
        return False
