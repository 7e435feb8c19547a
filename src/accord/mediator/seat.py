"""One player's side of a play: the handle through which they talk to the mediator.

A seat knows one player's treeplex, that player's part of the drawn component, and a key from which
that player's draws are made. It knows nothing about the other players or chance, so nothing that a
program does with a seat can tell it what others were told. It does hold the recommendations that
its own player has not got yet: hand players answers, not seats. Seats cannot be pickled.

A seat enforces the rules under which following a K-EFCE is optimal, with a
:class:`~accord.errors.MediatorError`:

* a player gets a recommendation only at their own infosets, and only at one that follows their
  earlier moves; of all infosets that may come next they can be at only one;
* nothing is recommended after their K-th deviation (Type-II rechistories).

The seat believes what it is told about the player's infoset and moves, as far as these rules allow:
it cannot see chance moves or the other players. A :class:`~accord.Referee` knows where everyone is.

A player may act without asking. The recommendation is drawn all the same, and playing something
else counts as a deviation: this is a phi that ignores the recommendation.

Every request may be repeated, for instance because the answer was lost: the same recommendation is
given again, and the same move made again changes nothing.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, SupportsIndex, overload

import numpy as np

from accord._arrays import Floats
from accord._format import shortened
from accord.errors import ArgumentError, MediatorError
from accord.game.labels import player_name
from accord.mediator.streams import derive, draw
from accord.treeplex.treeplex import EMPTY_SEQUENCE, Treeplex

Name = str | SupportsIndex
"""A player, infoset or action: its label, or its number from 0."""

LOG = logging.getLogger("accord.mediator")
"""Gets one line per recommendation and move: the play, the player, and which decision it was.
What was recommended or played is not in it, nor where the player is."""


class Move(NamedTuple):
    """One decision of a player: the infoset, the recommendation and the action played."""

    infoset: int
    told: int | None  # None where the mediator was silent or moved for the player
    action: int


class Seat:
    """One player's handle in one play. Made by :meth:`accord.mediator.mediator.Play.seat`.

    Give infosets and actions by label or by number. If the infoset is given by label the answer is
    the label of an action, otherwise its number. A refused request changes nothing.

    Attributes:
        play: The id of the play.
        player: The label of the player.
        name: The name of whoever sits here; by default the label of the player.
    """

    def __init__(
        self,
        play: str,
        player: str,
        name: str,
        plex: Treeplex,
        infosets: Mapping[str, int],
        k: float,
        behavior: Floats,
        key: bytes,
    ) -> None:
        self.play, self.player, self.name = play, player, name
        self._plex, self._infosets = plex, infosets
        self._k, self._behavior, self._key = k, behavior, key
        self._moves: list[Move] = []
        self._delegated: bool | None = None  # None if the player has not decided yet
        self._at: int | None = None  # where a recommendation was given and no action taken yet

    @overload
    def recommend(self, infoset: str) -> str: ...
    @overload
    def recommend(self, infoset: SupportsIndex) -> int: ...
    def recommend(self, infoset: Name) -> str | int:
        """The recommendation for the player, who has reached ``infoset``.

        It may be asked for again, also after the move there, and is always the same.

        Raises:
            MediatorError: If one of the rules forbids it.
        """
        x = self.find_infoset(infoset)
        if self._delegated:
            raise MediatorError(
                f"{self._who} has delegated their moves and gets no recommendations; use move"
            )
        if self._k == 0:
            raise MediatorError(
                "at K = 0 nothing is recommended; a player delegates before their first decision, "
                "or plays on their own"
            )
        n = self._find_decision(x)
        told = self._moves[n].told if n < len(self._moves) else self._draw_if_advised(x)
        if told is None:
            raise MediatorError(
                f"{self._who} has used all K = {self._k} deviations; the mediator is now silent"
            )
        if n == len(self._moves) and self._at is None:
            self._at = x
        return self._answer(x, told, infoset)

    def act(self, infoset: Name, action: Name) -> None:
        """Record that the player played ``action`` at ``infoset``, as recommended or not.

        Raises:
            MediatorError: If the player cannot be at ``infoset``, has played something else there,
                or has delegated their moves.
        """
        x = self.find_infoset(infoset)
        a = self.find_action(x, action)
        if self._delegated:
            raise MediatorError(
                f"{self._who} has delegated their moves in this play and cannot take them back; "
                "use move"
            )
        n = self._find_decision(x)
        if n == len(self._moves):
            self._record(Move(x, self._draw_if_advised(x), a))
        elif self._moves[n].action != a:
            played = self._plex.action_labels[x][self._moves[n].action]
            raise MediatorError(
                f"{self._who} has already played {played!r} at {self._plex.infoset_labels[x]!r}"
            )

    def delegate(self) -> None:
        """Let the mediator move for the player in this play. At K = 0 this is the way to follow.

        Raises:
            MediatorError: If the player has decided otherwise, acted or got a recommendation.
        """
        if self._delegated:
            return
        if self._delegated is False or self._moves or self._at is not None:
            raise MediatorError(
                f"a player may delegate only before their first decision; {self._who} has chosen "
                "to play on their own, got a recommendation or acted"
            )
        self._delegated = True

    def decline(self) -> None:
        """Decide not to delegate. Only a referee at K = 0 waits for this.

        Raises:
            MediatorError: If the player has delegated.
        """
        if self._delegated:
            raise MediatorError(f"{self._who} has delegated their moves in this play")
        self._delegated = False

    @overload
    def move(self, infoset: str) -> str: ...
    @overload
    def move(self, infoset: SupportsIndex) -> int: ...
    def move(self, infoset: Name) -> str | int:
        """Move for the player, who has delegated and reached ``infoset``; returns the action.

        Raises:
            MediatorError: If the player has not delegated, or cannot be at ``infoset``.
        """
        x = self.find_infoset(infoset)
        if not self._delegated:
            raise MediatorError(
                "the mediator moves only for players who have delegated before their first "
                f"decision; {self._who} has not"
            )
        n = self._find_decision(x)
        if n == len(self._moves):
            self._record(Move(x, None, self._draw(x)))
        return self._answer(x, self._moves[n].action, infoset)

    @property
    def advises(self) -> bool:
        """Whether the player may still get recommendations."""
        return not self._delegated and self.deviations < self._k

    @property
    def deviations(self) -> int:
        """How often the player has deviated, up to K; later moves are not counted."""
        return sum(move.told is not None and move.told != move.action for move in self._moves)

    @property
    def delegated(self) -> bool:
        """Whether the mediator moves for the player."""
        return bool(self._delegated)

    @property
    def undecided(self) -> bool:
        """Whether the player has neither delegated nor begun to play on their own."""
        return self._delegated is None and not self._moves

    @property
    def moves(self) -> tuple[Move, ...]:
        """The player's moves so far, with what they could be told at each."""
        return tuple(self._moves)

    @property
    def at(self) -> int | None:
        """The infoset where the player has got a recommendation and has not acted yet."""
        return self._at

    def find_infoset(self, infoset: Name) -> int:
        """The number of an infoset of the player.

        Raises:
            ArgumentError: If the player has none of this name. It does not say whether others have.
        """
        if isinstance(infoset, str):
            if (found := self._infosets.get(infoset)) is None:
                raise ArgumentError(f"{self._who} has no infoset {shown(infoset)}")
            return found
        if (found := as_index(infoset, n := self._plex.n_infosets)) is None:
            raise ArgumentError(
                f"{self._who} has {n} infosets, numbered from 0; got {shown(infoset)}"
            )
        return found

    def find_action(self, infoset: Name, action: Name) -> int:
        """The number of an action at an infoset of the player.

        Raises:
            ArgumentError: If there is none.
        """
        x = self.find_infoset(infoset)
        labels = self._plex.action_labels[x]
        if (found := find(action, labels)) is not None:
            return found
        raise ArgumentError(
            f"{self._who} has no action {shown(action)} at {self._plex.infoset_labels[x]!r}; the "
            f"actions are {', '.join(map(repr, labels))}, or 0 to {len(labels) - 1} as numbers"
        )

    def to_json(self) -> dict[str, Any]:
        """The player's moves and decisions so far. Everything else comes from the play's key."""
        return {
            "player": self.player,
            "name": self.name,
            "delegated": self._delegated,
            "at": self._at,
            "moves": [[move.infoset, move.action] for move in self._moves],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Bring a new seat to a state from :meth:`to_json`.

        Raises:
            ArgumentError: If that is not a possible state of this seat.
        """
        try:
            delegated, at, moves = state["delegated"], state["at"], state["moves"]
            if state["player"] != self.player or not isinstance(moves, list):
                raise ValueError
            if type(delegated) not in (bool, type(None)):
                raise ValueError
            for x, a in moves:
                self._check_next(x)
                told = None if delegated else self._draw_if_advised(x)
                if type(a) is not int or (delegated and a != self._draw(x)):
                    raise ValueError
                self._moves.append(Move(x, told, self.find_action(x, a)))
            if at is not None:
                self._check_next(at)
                if delegated or self.deviations >= self._k:
                    raise ValueError
        except (KeyError, TypeError, ValueError, MediatorError):
            raise ArgumentError(
                f"the state of {self._who} in play {self.play!r} is damaged"
            ) from None
        self._delegated, self._at = delegated, at

    def draw_at_random(self, x: int) -> int:
        """An action at x drawn uniformly, without looking at any plan."""
        n = int(self._plex.n_actions[x])
        return draw(np.full(n, 1.0 / n), derive(self._key, f"at random {x}"))

    def _find_decision(self, x: int) -> int:
        """The number of the decision at x: an earlier one, or else the next.

        Refuses x if it can be neither.
        """
        for n, move in enumerate(self._moves):
            if move.infoset == x:
                return n
        plex, labels = self._plex, self._plex.infoset_labels
        if self._at is not None and self._at != x:
            raise MediatorError(
                f"{self._who} cannot be at {labels[x]!r}: they are at {labels[self._at]!r} and "
                "have not acted there"
            )
        last = EMPTY_SEQUENCE
        if self._moves:
            last = int(plex.first_seq[self._moves[-1].infoset]) + self._moves[-1].action
        if plex.parent_seq[x] != last:
            did = ", ".join(
                f"{plex.action_labels[y][a]!r} at {labels[y]!r}" for y, _, a in self._moves
            )
            raise MediatorError(
                f"{self._who} cannot be at {labels[x]!r}: it does not follow their moves in this "
                f"play, {did or 'of which there are none yet'}"
            )
        return len(self._moves)

    def _check_next(self, x: Any) -> None:
        """Refuse a saved x that cannot be the infoset of the player's next decision."""
        if type(x) is not int or self._find_decision(self.find_infoset(x)) < len(self._moves):
            raise ValueError

    def _draw_if_advised(self, x: int) -> int | None:
        return self._draw(x) if self.deviations < self._k else None

    def _draw(self, x: int) -> int:
        first, end = self._plex.first_seq[x], self._plex.first_seq[x + 1]
        return draw(self._behavior[first:end], derive(self._key, f"infoset {x}"))

    def _record(self, move: Move) -> None:
        self._log("moved", len(self._moves))
        self._moves.append(move)
        self._at = None

    def _answer(self, x: int, a: int, infoset: Name) -> str | int:
        return self._plex.action_labels[x][a] if isinstance(infoset, str) else a

    def _log(self, what: str, n: int) -> None:
        LOG.info("play %s: %s %s, decision %d", self.play, self._who, what, n + 1)

    @property
    def _who(self) -> str:
        return player_name(self.player)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a seat cannot be pickled, because it holds recommendations that were not given yet; "
            "save the play with play.to_json()"
        )

    def __repr__(self) -> str:
        return f"Seat({self.player!r}, play={self.play!r})"


def find(name: Name, labels: tuple[str, ...]) -> int | None:
    """The position of ``name``, a label or a number, among ``labels``."""
    if isinstance(name, str):
        return labels.index(name) if name in labels else None
    return as_index(name, len(labels))


def as_index(value: SupportsIndex, limit: int) -> int | None:
    """``value`` as an int if it is one of 0, ..., ``limit`` - 1."""
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if 0 <= number < limit else None


def shown(value: object) -> str:
    """``value`` in an error message, at most about a line of it."""
    return shortened(repr(value), 100)
