"""An environment that is played from one decision to the next.

Moves of chance that an environment leaves to its caller are drawn on the way. Whatever goes wrong
inside the environment becomes an error that says where in the play it happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord.errors import AccordError, GameError, SimulatorError
from accord.game.labels import player_name
from accord.play.environment import Environment, draw_chance, quoted, whose_turn

LONGEST_PLAY = 100_000
"""Moves of players and of chance after which a play counts as endless."""


class Decision(NamedTuple):
    """What the player to move is shown."""

    player: int
    infoset: str
    actions: tuple[str, ...]


class Playing:
    """One play at a time of ``env``.

    Attributes:
        env: The environment.
        longest: How many moves a play may have.
    """

    def __init__(self, env: Environment, longest: int = LONGEST_PLAY) -> None:
        self.env, self.longest = env, longest
        self._last: Decision | None = None
        self._moves = 0

    def begin(self, rng: np.random.Generator) -> Decision | None:
        """Begin a play; return the first decision, or None if it has none."""
        self._rng, self._last, self._moves = rng, None, 0
        try:
            self.env.reset(rng)
            return self._next()
        except Exception as error:
            self._explain(error, "at the start of the play")

    def step(self, action: int) -> Decision | None:
        """Take an action; return the next decision, or None if the play is over."""
        try:
            self._moves += 1
            self.env.step(action)
            return self._next()
        except Exception as error:
            self._explain(error, self._place(action))

    def payoffs(self) -> Sequence[float]:
        """The payoffs of the play, when it is over."""
        try:
            return self.env.payoffs()
        except Exception as error:
            self._explain(error, f"at the end of a play of {self._moves:,} moves")

    def _next(self) -> Decision | None:
        env: Any = self.env
        while (i := whose_turn(env)) == CHANCE:
            self._moves += 1
            if self._moves > self.longest:
                self._refuse()
            env.step(draw_chance(env, self._rng))
        if i == TERMINAL:
            self._last = None
            return None
        if self._moves > self.longest:
            self._refuse()
        self._last = Decision(i, env.infoset(), tuple(env.actions()))
        return self._last

    def _refuse(self) -> NoReturn:
        last = "chance" if self._last is None else self._name(self._last.player)
        shown = "" if self._last is None else f" at {quoted(self._last.infoset)}"
        raise GameError(
            f"{self.env.name}: a play must end, but this one has not after {self.longest:,} moves; "
            f"the last to decide was {last}{shown}; return TERMINAL ({TERMINAL}) from turn() when "
            "it is over, or end plays after a number of rounds"
        )

    def _place(self, action: int) -> str:
        if (last := self._last) is None:
            return "during the play"
        name = quoted(last.actions[action]) if 0 <= action < len(last.actions) else str(action)
        return f"after {self._name(last.player)} took {name} at infoset {quoted(last.infoset)}"

    def _name(self, player: int) -> str:
        return player_name(str(self.env.players[player]))

    def _explain(self, error: Exception, place: str) -> NoReturn:
        if isinstance(error, AccordError):
            raise error
        raise SimulatorError(
            f"{self.env.name}: the simulator raised {type(error).__name__}: "
            f"{quoted(str(error))[1:-1]}, {place}"
        ) from error
