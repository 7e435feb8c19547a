"""Payoffs of plays as losses: 0 for the best payoff of an environment's bounds, 1 for the worst."""

from __future__ import annotations

from collections.abc import Sequence

from accord.errors import GameError
from accord.game.labels import player_name
from accord.play.bounds import Bounded
from accord.play.environment import Environment, checked_bounds, checked_payoffs

BOUNDS_TOLERANCE = 1e-9
"""Share of the payoff range by which rounding may exceed the bounds."""


class Losses:
    """The losses of an environment's players.

    They are in [0, 1], unless the bounds have been widened since their unit was chosen.
    """

    def __init__(self, env: Environment) -> None:
        self._env, self.name, self.players = env, str(env.name), tuple(map(str, env.players))
        self._bounded = env if isinstance(env, Bounded) else None
        self._set(env)
        unit = list(zip(self.worst, self.best, strict=True))
        if self._bounded is not None:
            unit = list(self._bounded.unit)
        self.clips = self._bounded is None or self._bounded.clips
        self._zero = [best for _, best in unit]
        self.span = [best - worst for worst, best in unit]
        if self._bounded is not None and not self._bounded.clips:
            self.span = [span or 1.0 for span in self.span]  # wider bounds may follow

    def _set(self, env: Environment) -> None:
        worst, best = checked_bounds(env)
        self.worst, self.best = worst.tolist(), best.tolist()
        room = [BOUNDS_TOLERANCE * span for span in (best - worst).tolist()]
        self._low = [low - some for low, some in zip(self.worst, room, strict=True)]
        self._high = [high + some for high, some in zip(self.best, room, strict=True)]

    def of(self, payoffs: Sequence[float]) -> list[float]:
        """The loss of each player in a play with these payoffs.

        Estimated bounds are widened if they have to be.

        Raises:
            GameError: If one is not finite, or outside its bounds, or there is not one per player.
        """
        try:
            if len(payoffs) == len(self.players) and self._are_within(payoffs):
                return self._measured(payoffs)
        except TypeError:
            pass
        paid = checked_payoffs(self._env, payoffs)
        self._widen(paid)
        return self._measured(paid)

    def _are_within(self, payoffs: Sequence[float]) -> bool:
        return all(map(_is_between, self._low, payoffs, self._high))

    def _measured(self, payoffs: Sequence[float]) -> list[float]:
        losses = []
        for zero, span, paid in zip(self._zero, self.span, payoffs, strict=True):
            loss = (zero - float(paid)) / span if span > 0 else 0.0
            losses.append(min(1.0, max(0.0, loss)) if self.clips else loss)
        return losses

    def _widen(self, payoffs: Sequence[float]) -> None:
        """Widen estimated bounds; refuse payoffs that are outside of stated ones."""
        if self._bounded is not None and self._bounded.estimated:
            self._bounded.widen(payoffs)
            self._set(self._bounded)
            return
        for i, paid in enumerate(payoffs):
            if not _is_between(self._low[i], paid, self._high[i]):
                raise GameError(
                    f"{self.name}: {player_name(self.players[i])} was paid {paid}, outside the "
                    f"payoff_bounds ({self.worst[i]:g}, {self.best[i]:g}) that the environment "
                    "states; widen them, or set them to None to have them estimated; a run in a "
                    "folder can then be resumed"
                )


def _is_between(low: float, paid: float, high: float) -> bool:
    return low <= paid <= high
