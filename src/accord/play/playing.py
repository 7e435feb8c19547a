"""An environment that is played from one decision to the next.

Moves of chance that an environment leaves to its caller are drawn on the way. Whatever goes wrong
inside the environment becomes an error that says where in the play it happened.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from accord._arrays import CHANCE, TERMINAL
from accord._draws import drawn_from
from accord._signals import is_stopping
from accord.errors import AccordError, GameError, SimulatorError
from accord.game.labels import player_name
from accord.play.environment import (
    Environment,
    chance_law,
    quoted,
    whose_turn,
)

LONGEST_PLAY = 100_000
"""Moves of players and of chance after which a play counts as endless."""


STEP_SECONDS = 600.0
"""Seconds in which a simulator must answer, if it has no ``step_seconds`` of its own."""

STOPPING_SECONDS = 1.0
"""Seconds in which it must answer once the user has asked to stop."""


def check_patience(env: Environment, seconds: float) -> None:
    """Raise a SimulatorError if a simulator that has not answered for ``seconds`` is given up."""
    most = float(getattr(env, "step_seconds", STEP_SECONDS))
    if seconds > most:
        raise SimulatorError(
            f"{env.name}: the simulator must answer within {most:g} seconds, but has not; it "
            "hangs, or needs longer: give it an attribute step_seconds, or --step-seconds"
        )
    if seconds > STOPPING_SECONDS and is_stopping():
        raise SimulatorError(f"{env.name}: interrupted while the simulator did not answer")


ChanceMove = tuple[tuple[float, ...], int]
"""The probabilities of a move of chance that was left to the caller, and what was drawn."""


class PendingDecision(NamedTuple):
    """What the player to move is shown; and what chance did before, which no player is shown."""

    player: int
    infoset: str
    actions: tuple[str, ...]
    chance: tuple[ChanceMove, ...] = ()


class Playing:
    """One play at a time of ``env``.

    Attributes:
        env: The environment.
        longest: How many moves a play may have.
        chance: The moves of chance since the last decision that were left to the caller.
    """

    def __init__(self, env: Environment, longest: int = LONGEST_PLAY) -> None:
        self.env, self.longest = env, longest
        self._last: PendingDecision | None = None
        self._moves = 0
        self._since: float | None = None  # when the simulator was asked, until it has answered
        self.chance: tuple[ChanceMove, ...] = ()

    def begin(self, rng: np.random.Generator) -> PendingDecision | None:
        """Begin a play; return the first decision, or None if it has none."""
        self._rng, self._last, self._moves = rng, None, 0
        self._since = time.monotonic()
        try:
            self.env.reset(rng)
            return self._next()
        except (Exception, SystemExit) as error:
            self._explain(error, "at the start of the play")
        finally:
            self._since = None

    def step(self, action: int) -> PendingDecision | None:
        """Take an action; return the next decision, or None if the play is over."""
        self._since = time.monotonic()
        try:
            self._moves += 1
            self.env.step(action)
            return self._next()
        except (Exception, SystemExit) as error:
            self._explain(error, self._place(action))
        finally:
            self._since = None

    def payoffs(self) -> Sequence[float]:
        """The payoffs of the play, when it is over."""
        try:
            return self.env.payoffs()
        except (Exception, SystemExit) as error:
            self._explain(error, f"at the end of a play of {self._moves:,} moves")

    def check_answer(self) -> None:
        """Raise a SimulatorError if the simulator does not answer: for too long, or for a moment
        after the user has asked to stop."""
        if self._since is not None:
            check_patience(self.env, time.monotonic() - self._since)

    def _next(self) -> PendingDecision | None:
        env: Any = self.env
        chance: tuple[ChanceMove, ...] = ()
        while (i := whose_turn(env)) == CHANCE:
            self._moves += 1
            if self._moves > self.longest:
                self._refuse()
            law = chance_law(env)
            move = drawn_from(law, self._rng.random())
            chance += ((law, move),)
            env.step(move)
        self.chance = chance
        if i == TERMINAL:
            self._last = None
            return None
        if self._moves > self.longest:
            self._refuse()
        self._last = PendingDecision(i, env.infoset(), tuple(env.actions()), chance)
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

    def _explain(self, error: Exception | SystemExit, place: str) -> NoReturn:
        if isinstance(error, AccordError):
            raise error
        if isinstance(error, SystemExit):  # would end the command as if all were well
            raise SimulatorError(
                f"{self.env.name}: the simulator must not end the program, but it called "
                f"sys.exit({error.code!r}), {place}"
            ) from error
        raise SimulatorError(
            f"{self.env.name}: the simulator raised {type(error).__name__}: "
            f"{quoted(str(error))[1:-1]}, {place}"
        ) from error
