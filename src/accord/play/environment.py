"""Games that can only be played: what an environment must offer.

Learning from bandit feedback needs no rules. It needs somebody to play with, and each player's own
treeplex (``play/discovery.py``). An :class:`Environment` is played one move at a time. What a
player is told when it is their turn must hold everything that they have seen and done before
(perfect recall); this is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.errors import (
    GameError,
)


@runtime_checkable
class Environment(Protocol):
    """A game that can only be played. Anything with these attributes and methods is one.

    Two methods are optional. An environment whose :meth:`turn` may be ``CHANCE`` needs
    ``probabilities() -> Sequence[float]``, those of its ``actions()`` there, and is told by
    :meth:`step` what was drawn; others draw what they need from the generator given to
    :meth:`reset`. One that has ``clone() -> Environment``, an independent copy of the present
    state, and leaves all chance to its caller in this way, can be traversed by :func:`discover`.

    Attributes:
        name: How the game is called in files and reports.
        players: Their names, in the order of payoffs.
        payoff_bounds: ``(worst, best)`` of each player: no play may pay less, or more.
    """

    name: str
    players: Sequence[str]
    payoff_bounds: Sequence[tuple[float, float]]

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play. Whatever is random must be drawn from ``rng``."""

    def turn(self) -> int:
        """The number of the player to move, from 0; ``TERMINAL`` (-2) when the play is over."""

    def infoset(self) -> str:
        """All that the player to move has seen and done, as a label."""

    def actions(self) -> Sequence[str]:
        """Labels of her actions; the same whenever the infoset is the same."""

    def step(self, action: int) -> None:
        """Take the action with this number, from 0."""

    def payoffs(self) -> Sequence[float]:
        """What the play has paid each player, when it is over."""


def whose_turn(env: Any) -> int:
    """``env.turn()``, refused if it is nobody's.

    Raises:
        GameError: If it is no player, nor ``CHANCE``, nor ``TERMINAL``.
    """
    i = env.turn()
    if i not in range(TERMINAL, len(env.players)):
        raise GameError(
            f"{env.name}: turn() must be a player, 0 to {len(env.players) - 1}, CHANCE ({CHANCE}) "
            f"or TERMINAL ({TERMINAL}); got {i!r}"
        )
    return int(i)


def chance_law(env: Any) -> Sequence[float]:
    """The probabilities of chance's moves.

    Raises:
        GameError: If the environment does not tell.
    """
    if not hasattr(env, "probabilities"):
        raise GameError(
            f"{env.name}: an environment whose turn() is CHANCE ({CHANCE}) must have "
            f"probabilities(); for the end of a play return TERMINAL ({TERMINAL})"
        )
    law: Sequence[float] = env.probabilities()
    return law


def draw_chance(env: Any, rng: np.random.Generator) -> int:
    """What chance does where ``env`` leaves it to its caller."""
    law = np.cumsum(chance_law(env))
    if not abs(law[-1] - 1.0) < 1e-6:
        raise GameError(
            f"{env.name}: the probabilities of chance must sum to one; they sum to {law[-1]}"
        )
    return int(np.searchsorted(law, rng.random() * law[-1], side="right"))


def checked_bounds(env: Any) -> tuple[Floats, Floats]:
    """``[n_players]`` the worst and the best payoffs that ``env`` states.

    Raises:
        GameError: If they are not finite, or the wrong way round.
    """
    try:
        bounds = np.array(env.payoff_bounds, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.shape != (len(env.players), 2) or not np.isfinite(bounds).all():
        raise GameError(
            f"{env.name}: payoff_bounds must be finite (worst, best), one pair per player; "
            f"got {env.payoff_bounds!r}"
        )
    worst, best = bounds.T
    if (worst > best).any():
        raise GameError(
            f"{env.name}: the worst payoff must not exceed the best; got {env.payoff_bounds!r}"
        )
    return worst, best


def is_environment(thing: object) -> bool:
    """Whether ``thing`` has all that an environment must have."""
    return not isinstance(thing, type) and not missing_attributes(thing)


def missing_attributes(thing: object) -> tuple[str, ...]:
    """Those attributes and methods of an environment that ``thing`` does not have."""
    methods = (name for name in vars(Environment) if not name.startswith("_"))
    needed = (*Environment.__annotations__, *methods)
    return tuple(name for name in needed if getattr(thing, name, None) is None)
