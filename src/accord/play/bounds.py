"""Payoff bounds that an environment does not state: they are estimated from plays.

An environment whose ``payoff_bounds`` are None has those of the plays so far: first of a few in
which everybody plays uniformly, then of all others. A payoff outside of them widens them.

Losses are payoffs in a *unit*: 0 is the best and 1 the worst payoff of the first bounds. The unit
of a run never changes, also if its bounds are widened or if it is resumed with wider ones: losses
are then below 0 or above 1. Regret matching plays the same whatever the unit is, so nothing that
was learned is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._signals import ticking
from accord.errors import MismatchError
from accord.game.labels import player_name
from accord.play.environment import Environment, checked_bounds, checked_payoffs
from accord.play.playing import Playing
from accord.play.streams import seed_for

FIRST_PLAYS = 100
"""Uniform plays that the first bounds are estimated from."""

Pairs = tuple[tuple[float, float], ...]
"""``(worst, best)`` payoffs of each player."""


class Bounded:
    """An environment with other payoff bounds than its own.

    Attributes:
        env: The environment that is played.
        payoff_bounds: ``(worst, best)`` of each player; estimated ones are widened by plays.
        unit: The bounds that losses are measured by.
        estimated: Whether the bounds are estimated.
        clips: Whether losses are in [0, 1] although a payoff is outside, as certificates need it.
    """

    def __init__(
        self,
        env: Environment,
        bounds: Sequence[tuple[float, float]],
        unit: Sequence[tuple[float, float]] | None = None,
        *,
        estimated: bool = True,
        clips: bool = False,
    ) -> None:
        self.env, self.name, self.players = env, env.name, env.players
        self.payoff_bounds: Any = _pairs(bounds)
        self.unit = self.payoff_bounds if unit is None else _pairs(unit)
        self.estimated, self.clips = estimated, clips
        self.reset, self.turn, self.infoset = env.reset, env.turn, env.infoset
        self.actions, self.step, self.payoffs = env.actions, env.step, env.payoffs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":  # asked for while it is being unpickled
            raise AttributeError(name)
        return getattr(self.env, name)

    def widen(self, payoffs: Sequence[float]) -> None:
        """Let the bounds include the payoffs of a play."""
        self.include([(paid, paid) for paid in payoffs])

    def include(self, bounds: Sequence[tuple[float, float]]) -> None:
        """Let the bounds include others."""
        both = zip(self.payoff_bounds, bounds, strict=True)
        self.payoff_bounds = _pairs((min(a, c), max(b, d)) for (a, b), (c, d) in both)
        checked_bounds(self)

    def for_certificate(self) -> Bounded:
        """The environment with losses in [0, 1] by the bounds of this moment."""
        return Bounded(self.env, self.payoff_bounds, estimated=self.estimated, clips=True)


def bounded(env: Environment, seed: int, first: Sequence[Sequence[float]] | None = None) -> Any:
    """``env`` itself if it states its bounds; else with estimated ones.

    Args:
        env: The environment.
        seed: The seed of the plays that bounds are estimated from.
        first: The bounds that a run to be resumed began with, if there is one.

    Raises:
        MismatchError: If the stated bounds do not include the first ones.
    """
    before = None if first is None else _pairs(first)
    if isinstance(env, Bounded):
        return env
    if env.payoff_bounds is None:
        return Bounded(env, before or _estimated(env, seed), before)
    if before is None:
        return env
    stated = _pairs(zip(*checked_bounds(env), strict=True))
    if before == stated:
        return env
    for who, (low, high), (worst_before, best_before) in zip(
        env.players, stated, before, strict=True
    ):
        if low > worst_before or high < best_before:
            raise MismatchError(
                f"{env.name}: payoff bounds can only be widened when a run is resumed; those of "
                f"{player_name(str(who))} were ({worst_before:g}, {best_before:g}) and are "
                f"({low:g}, {high:g}) now"
            )
    return Bounded(env, stated, before, estimated=False)


def noting(env: Environment) -> Any:
    """``env`` itself if it states its bounds; else one that takes any finite payoffs."""
    if env.payoff_bounds is not None:
        return env
    return Bounded(env, [(0.0, 0.0)] * len(env.players))


def is_estimated(env: Any) -> bool:
    """Whether the payoff bounds of ``env`` are estimated from plays."""
    return isinstance(env, Bounded) and env.estimated


def bounds_of(env: Any) -> np.ndarray:
    """``[n_players, 2]`` the payoff bounds of this moment, for a checkpoint."""
    return np.array(env.payoff_bounds, dtype=np.float64)


def restore_bounds(env: Any, saved: np.ndarray) -> None:
    """Let estimated bounds include those of a checkpoint.

    Raises:
        ValueError: If they are not pairs of finite numbers.
    """
    if saved.shape != (len(env.players), 2) or not np.isfinite(saved).all():
        raise ValueError("the payoff bounds must be pairs of finite numbers")
    if is_estimated(env):
        env.include(_pairs(saved))


def _estimated(env: Environment, seed: int) -> Pairs:
    """The payoffs of a few uniform plays."""
    rng = np.random.default_rng(seed_for("payoff bounds", seed))
    playing, paid = Playing(env), []
    with ticking(playing.check_answer):
        for _ in range(FIRST_PLAYS):
            decision = playing.begin(rng)
            while decision is not None:
                decision = playing.step(int(rng.integers(len(decision.actions))))
            paid.append(checked_payoffs(env, playing.payoffs()))
    table = np.array(paid)
    return _pairs(zip(table.min(axis=0), table.max(axis=0), strict=True))


def _pairs(bounds: Any) -> Pairs:
    return tuple((float(worst), float(best)) for worst, best in bounds)
