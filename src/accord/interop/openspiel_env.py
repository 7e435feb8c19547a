"""OpenSpiel games as environments: played through their states, never enumerated.

For games too large for :func:`load_openspiel`, as long as each player's own tree can be discovered.
Infosets and actions have the labels that :func:`load_openspiel` gives them, so what is learned here
can be certified wherever the game can be loaded. A simultaneous move is a sequence of hidden moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord.errors import ArgumentError, GameError
from accord.game.tree import CHANCE, TERMINAL
from accord.interop.openspiel import SpielGame, _chance_outcomes, _labels, _load, _moves, _pyspiel


class OpenSpielEnvironment:
    """An :class:`~accord.learning.environment.Environment` of an OpenSpiel game.

    Chance is explicit and states can be cloned, so :func:`~accord.learning.environment.discover`
    goes through the tree if it is not too large. Where OpenSpiel samples chance itself it is
    hidden, is not drawn from the caller's generator, and there is nothing to clone.

    Args:
        game: A name with parameters as OpenSpiel writes them, or a ``pyspiel.Game``.
        payoff_bounds: ``(worst, best)`` of each player; by default what OpenSpiel says.

    Raises:
        ArgumentError: If there is no such game, or it does not take these parameters.
        GameError: If its states do not say what a player knows.
    """

    def __init__(
        self,
        game: str | SpielGame,
        *,
        payoff_bounds: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        pyspiel = _pyspiel()
        if isinstance(game, str):
            game = _load_even_sampled(game)
        if not isinstance(game, pyspiel.Game):
            raise ArgumentError(
                f"an OpenSpiel game must be given by name or as a pyspiel.Game; got {game!r}"
            )
        self.name = str(game)
        kind, kinds = game.get_type(), pyspiel.GameType
        if kind.dynamics == kinds.Dynamics.MEAN_FIELD:
            raise GameError(f"{self.name} cannot be played: a mean field game has no players")
        if not kind.provides_information_state_string:
            raise GameError(
                f"{self.name} cannot be played: OpenSpiel gives no information state string for "
                "it, so its infosets are unknown"
            )
        if kind.dynamics == kinds.Dynamics.SIMULTANEOUS:
            game = pyspiel.convert_to_turn_based(game)
        if kind.chance_mode == kinds.ChanceMode.SAMPLED_STOCHASTIC:
            self.clone = None  # type: ignore[method-assign, assignment]
        self.game = game
        self.players = tuple(map(str, range(game.num_players())))
        bounds = (float(game.min_utility()), float(game.max_utility()))
        self.payoff_bounds = tuple(payoff_bounds or [bounds] * len(self.players))
        self._legal_moves: list[int] | None = None  # in the order of actions, once asked for
        self._chances: list[float] = []
        self._enter(game.new_initial_state())

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play."""
        self._enter(self.game.new_initial_state())

    def turn(self) -> int:
        """The player to move, ``CHANCE`` or ``TERMINAL``."""
        if self.state.is_terminal():
            return TERMINAL
        return CHANCE if self.state.is_chance_node() else int(self.state.current_player())

    def infoset(self) -> str:
        """The information state string."""
        return str(self.state.information_state_string())

    def actions(self) -> Sequence[str]:
        """What OpenSpiel calls the moves."""
        return _labels(self.state, self.state.current_player(), self._legal())

    def probabilities(self) -> Sequence[float]:
        """Of chance's moves."""
        self._legal()
        return self._chances

    def step(self, action: int) -> None:
        """Make a move."""
        self.state.apply_action(self._legal()[action])
        self._legal_moves = None

    def payoffs(self) -> Sequence[float]:
        """The returns."""
        return [float(u) for u in self.state.returns()]

    def clone(self) -> OpenSpielEnvironment:
        """An independent copy of the present state."""
        other: OpenSpielEnvironment = object.__new__(OpenSpielEnvironment)
        other.__dict__.update(self.__dict__)
        other._enter(self.state.clone())
        return other

    def _enter(self, state: Any) -> None:
        self.state = state
        self._legal_moves = None

    def _legal(self) -> list[int]:
        if self._legal_moves is None:
            if self.state.is_chance_node():
                outcomes = _chance_outcomes(self.state)
                self._legal_moves, self._chances = list(outcomes), list(outcomes.values())
            else:
                self._legal_moves = _moves(self.state)
        return self._legal_moves


def _load_even_sampled(text: str) -> SpielGame:
    """The game called ``text``; those with sampled chance can be played, though not loaded."""
    pyspiel = _pyspiel(python_games="python_" in text)
    base = text.strip().partition("(")[0]
    sampled = pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
    for kind in pyspiel.registered_games():
        if kind.short_name == base and kind.chance_mode == sampled and kind.default_loadable:
            return pyspiel.load_game(text)
    return _load(text)
