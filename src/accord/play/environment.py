"""The interface of environments: games that can only be played.

Learning from bandit feedback does not need the rules of a game. It needs a way to play, and each
player's own treeplex (``play/discovery.py``). An :class:`Environment` is played one move at a time.
The label shown to a player on their turn must contain everything that they have seen and done
before (perfect recall); this is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.errors import ArgumentError, GameError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.game.validate import check_payoff_range

LONGEST_QUOTE = 200
"""Characters of a label or a value that an error message shows."""

WRAPPERS = {
    "pettingzoo": (
        "a PettingZoo environment, which does not say what it can pay; give "
        "accord.PettingZooEnvironment(env, payoff_bounds=(worst, best)), or without bounds to have "
        "them estimated"
    ),
    "pyspiel": "an OpenSpiel game; give accord.OpenSpielEnvironment(it)",
    "gymnasium": (
        "a Gymnasium environment, which has one agent; if it is a vector environment whose spaces "
        "have a part for each player, give accord.PettingZooEnvironment(env)"
    ),
}
"""By package: what its objects are, and how to make an environment of one."""


@runtime_checkable
class Environment(Protocol):
    """A game that can only be played: any object with these attributes and methods.

    Two methods are optional. An environment whose :meth:`turn` may be ``CHANCE`` needs
    ``probabilities() -> Sequence[float]``, the probabilities of its ``actions()`` there; the caller
    draws one and passes it to :meth:`step`. Other environments draw from the generator given to
    :meth:`reset`. If an environment leaves all chance to its caller in this way, and has
    ``clone() -> Environment`` for an independent copy of the current state, :func:`discover` can
    traverse it.

    Attributes:
        name: The name of the game in files and reports.
        players: The names of the players, in the order of payoffs.
        payoff_bounds: ``(worst, best)`` payoffs of each player, which every play must respect; or
            None if they are not known, to have them estimated from plays (``play/bounds.py``).
    """

    name: str
    players: Sequence[str]
    payoff_bounds: Sequence[tuple[float, float]] | None

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play. All randomness must be drawn from ``rng``."""

    def turn(self) -> int:
        """The number of the player to move, from 0; ``TERMINAL`` (-2) when the play is over."""

    def infoset(self) -> str:
        """A label for everything that the player to move has seen and done."""

    def actions(self) -> Sequence[str]:
        """Labels of that player's actions; the same whenever the infoset is the same."""

    def step(self, action: int) -> None:
        """Take the action with this number, from 0."""

    def payoffs(self) -> Sequence[float]:
        """The payoff of each player, when the play is over."""


def whose_turn(env: Any) -> int:
    """``env.turn()``, checked.

    Raises:
        GameError: If it is neither a player nor ``CHANCE`` nor ``TERMINAL``.
    """
    i = env.turn()
    if i not in range(TERMINAL, len(env.players)):
        raise GameError(
            f"{env.name}: turn() must be a player, 0 to {len(env.players) - 1}, CHANCE ({CHANCE}) "
            f"or TERMINAL ({TERMINAL}); got {i!r}"
        )
    return int(i)


def chance_law(env: Any) -> tuple[float, ...]:
    """The probabilities of chance's moves, one per action, made to sum to one.

    Raises:
        GameError: If the environment does not have them, or they are not a probability law.
    """
    if not hasattr(env, "probabilities"):
        raise GameError(
            f"{env.name}: an environment whose turn() is CHANCE ({CHANCE}) must have "
            f"probabilities(); for the end of a play return TERMINAL ({TERMINAL})"
        )
    given, moves = env.probabilities(), env.actions()
    try:
        law = tuple(map(float, given))
    except (TypeError, ValueError):
        law = ()
    if len(law) != len(moves) or not law:
        raise GameError(
            f"{env.name}: probabilities() must be one number for each of the {len(moves)} "
            f"actions() of chance, and there must be at least one; got {quoted(given)}"
        )
    total = sum(law)
    if not min(law) >= 0.0 or not abs(total - 1.0) < 1e-6:
        raise GameError(
            f"{env.name}: the probabilities of chance must not be negative and must sum to one; "
            f"got {quoted(given)}, which sum to {total:g}"
        )
    return law if total == 1.0 else tuple(share / total for share in law)


def quoted(value: object) -> str:
    """``value`` in an error message, not longer than a line or two."""
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."


def checked_bounds(env: Any) -> tuple[Floats, Floats]:
    """``[n_players]`` the worst and the best payoffs that ``env`` states.

    Raises:
        GameError: If they are not finite, or the wrong way round, too large or too close.
    """
    if env.payoff_bounds is None:
        raise GameError(
            f"{env.name}: payoff_bounds must be known here, but they are None; learn and "
            "certify_by_play estimate them from plays"
        )
    try:
        bounds = np.array(env.payoff_bounds, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.shape != (len(env.players), 2) or not np.isfinite(bounds).all():
        raise GameError(
            f"{env.name}: payoff_bounds must be finite pairs (worst, best), one per player; "
            f"got {env.payoff_bounds!r}"
        )
    worst, best = bounds.T
    if (worst > best).any():
        raise GameError(
            f"{env.name}: the worst payoff must not exceed the best; got {env.payoff_bounds!r}"
        )
    for label, low, high in zip(env.players, worst, best, strict=True):
        check_payoff_range(str(label), float(low), float(high))
    return worst, best


def checked_payoffs(env: Any, payoffs: Any) -> list[float]:
    """The payoffs of a play as floats.

    Raises:
        GameError: If they are not one finite number per player.
    """
    try:
        given = list(payoffs)
    except TypeError:
        given = []
    if len(given) != len(env.players):
        raise GameError(
            f"{env.name}: payoffs() must be one number per player, {len(env.players)}; "
            f"got {quoted(payoffs)}"
        )
    for label, paid in zip(env.players, given, strict=True):
        if not _is_finite(paid):
            raise GameError(
                f"{env.name}: payoffs() must be finite numbers; {player_name(str(label))} was paid "
                f"{quoted(paid)}"
            )
    return list(map(float, given))


def _is_finite(paid: Any) -> bool:
    try:
        return math.isfinite(paid)
    except (TypeError, OverflowError):
        return False


def is_environment(thing: object) -> bool:
    """Whether ``thing`` is an object, not a class, with everything an environment needs."""
    return not isinstance(thing, type) and not missing_attributes(thing)


def missing_attributes(thing: object) -> tuple[str, ...]:
    """The attributes and methods of an environment that ``thing`` lacks."""
    methods = (name for name in vars(Environment) if not name.startswith("_"))
    needed = (*Environment.__annotations__, *methods)
    absent = [name for name in needed if getattr(thing, name, None) is None]
    if hasattr(thing, "payoff_bounds"):  # None if they are not known
        absent = [name for name in absent if name != "payoff_bounds"]
    return tuple(absent)


def known_package(thing: object) -> str | None:
    """The package in :data:`WRAPPERS` that ``thing`` comes from."""
    packages = {kind.__module__.partition(".")[0] for kind in type(thing).__mro__}
    return next((package for package in WRAPPERS if package in packages), None)


def check_environment(env: Any) -> None:
    """Refuse what is not an environment, and say what to do about it."""
    if is_environment(env):
        return
    if (package := known_package(env)) is not None:
        raise ArgumentError(f"{env!r} is {WRAPPERS[package]}")
    missing = missing_attributes(env)
    flaw = f"lacks {', '.join(missing)}" if missing else "is a class, not an instance"
    hint = "; a loaded game is for learn, certify and Mediator" if isinstance(env, Game) else ""
    raise ArgumentError(f"env must be an environment; got {env!r}, which {flaw}{hint}")
