"""OpenSpiel games as environments: played through their states, never enumerated.

This is for games that are too large for :func:`load_openspiel`, as long as each player's own tree
can be discovered. Infosets and actions have the same labels as in :func:`load_openspiel`, so a
policy learned here can be certified wherever the game can be loaded. A simultaneous move is a
sequence of hidden moves. Games that have observations but no information states cannot be loaded,
but they can be played: there an infoset is the history of a player's own observations and actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord.equilibrium.agent import Agent
from accord.equilibrium.policy import CorrelatedPolicy
from accord.interop.openspiel_games import (
    SpielGame,
    chance_outcomes,
    game_name,
    is_sampled,
    legal_moves,
    load_by_name,
    move_labels,
    openspiel_game,
)
from accord.interop.own_history import escaped, history_after
from accord.play.environment import checked_bounds


class OpenSpielEnvironment:
    """An :class:`~accord.play.environment.Environment` of an OpenSpiel game.

    Chance moves are explicit and states can be cloned, so
    :func:`~accord.play.discovery.discover` walks through the tree if it is not too large. If
    OpenSpiel samples chance itself, chance moves are hidden and not drawn from the caller's
    generator, and states cannot be cloned.

    Args:
        game: A name with parameters as OpenSpiel writes them, or a ``pyspiel.Game``.
        payoff_bounds: ``(worst, best)`` of each player; by default OpenSpiel's bounds.
        history: Whether an infoset is the whole history of what a player was shown and did, for
            games whose own information states forget some of it.

    Raises:
        ArgumentError: If there is no such game, or it does not take these parameters.
        GameError: If its states do not tell what a player knows, or ``payoff_bounds`` are not
            finite pairs with worst <= best.
    """

    def __init__(
        self,
        game: str | SpielGame,
        *,
        payoff_bounds: Sequence[tuple[float, float]] | None = None,
        history: bool = False,
    ) -> None:
        original = load_by_name(game, played=True) if isinstance(game, str) else game
        self.game = openspiel_game(original, played=True)
        self.name = game_name(original)
        kind = original.get_type()
        if is_sampled(kind):
            self.clone = None  # type: ignore[method-assign, assignment]
        self.players = tuple(map(str, range(self.game.num_players())))
        bounds = (float(self.game.min_utility()), float(self.game.max_utility()))
        self.payoff_bounds = tuple(payoff_bounds or [bounds] * len(self.players))
        if payoff_bounds:
            checked_bounds(self)
        self._legal_moves: list[int] | None = None  # in the order of actions, computed on demand
        self._chances: list[float] = []
        self._is_informed = bool(kind.provides_information_state_string)
        # the history of each player, if OpenSpiel has no information states or they forget
        self._before: tuple[str, ...] | None = (
            None if self._is_informed and not history else ("",) * len(self.players)
        )
        self._enter(self.game.new_initial_state())

    @property
    def recall_advice(self) -> str | None:
        """What to try if infosets forget something."""
        if self._before is not None:
            return None
        return "OpenSpielEnvironment(..., history=True) does so, on the command line --history"

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play."""
        if self._before is not None:
            self._before = ("",) * len(self.players)
        self._enter(self.game.new_initial_state())

    def turn(self) -> int:
        """The player to move, ``CHANCE`` or ``TERMINAL``."""
        if self.state.is_terminal():
            return TERMINAL
        return CHANCE if self.state.is_chance_node() else int(self.state.current_player())

    def infoset(self) -> str:
        """The information state string, or the player's observations and actions so far."""
        if self._before is None:
            return str(self.state.information_state_string())
        i = self.state.current_player()
        return f"{self._before[i]}{self.shown(self.state, i)}"

    def shown(self, state: Any, i: int) -> str:
        """What player i is shown at a state, as a part of a history."""
        if self._is_informed:
            return escaped(state.information_state_string(i))
        return escaped(state.observation_string(i))

    def actions(self) -> Sequence[str]:
        """OpenSpiel's names of the moves; its numbers of those of chance."""
        if self.state.is_chance_node():
            return list(map(str, self._legal()))
        return move_labels(self.state, self.state.current_player(), self._legal())

    def probabilities(self) -> Sequence[float]:
        """The probabilities of the outcomes at a chance node."""
        self._legal()
        return self._chances

    def step(self, action: int) -> None:
        """Make a move."""
        if self._before is not None and (i := self.turn()) != CHANCE:
            history = history_after(self.infoset(), self.actions()[action])
            self._before = (*self._before[:i], history, *self._before[i + 1 :])
        self.state.apply_action(self._legal()[action])
        self._legal_moves = None

    def payoffs(self) -> Sequence[float]:
        """The returns of the play."""
        return [float(u) for u in self.state.returns()]

    def agent(self, policy: CorrelatedPolicy, player: int, seed: int = 0) -> OpenSpielAgent:
        """An agent that follows ``policy`` in OpenSpiel's own loop."""
        return OpenSpielAgent(self, player, policy.agent(player, seed))

    def clone(self) -> OpenSpielEnvironment:
        """An independent copy of the current state."""
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
                outcomes = chance_outcomes(self.state)
                self._legal_moves, self._chances = list(outcomes), list(outcomes.values())
            else:
                self._legal_moves = legal_moves(self.state)
        return self._legal_moves


class OpenSpielAgent:
    """An agent that follows a learned policy in a loop over OpenSpiel's states.

    Call :meth:`reset` with every new initial state, and :meth:`act` whenever it is its turn.
    """

    def __init__(self, env: OpenSpielEnvironment, player: int, agent: Agent) -> None:
        self._recalls, self._player, self._agent = env._before is None, player, agent
        self._shown = env.shown
        self._before = ""

    def reset(self) -> None:
        """Begin the next episode."""
        self._agent.reset()
        self._before = ""

    def act(self, state: Any) -> int:
        """OpenSpiel's number of the action to take at ``state``, where it is the player's turn."""
        moves = legal_moves(state)
        names = move_labels(state, self._player, moves)
        if self._recalls:
            return moves[self._agent.act(state.information_state_string(self._player), names)]
        infoset = f"{self._before}{self._shown(state, self._player)}"
        chosen = self._agent.act(infoset, names)
        self._before = history_after(infoset, names[chosen])
        return moves[chosen]
