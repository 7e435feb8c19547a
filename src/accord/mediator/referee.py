"""The referee, who knows where every player is and lets the mediator speak only then.

The mediator alone believes what it is told. A referee holds the true state of a play: it draws
chance moves (or has them entered by whoever deals the cards), takes every move from its player, and
walks down the tree. So players cannot claim to be where they are not, and nobody is asked before
the moves on which their infoset depends.

It plays in rounds (``mediator/timing.py``). In each round the players at whose infosets it is time
to decide are asked at once, whatever the order of their nodes in the tree; nobody sees anything of
a round before all of them have answered. If the game has no timing, or waiting times can reveal
something, :class:`Referee` warns.

The true state is a function of the play's key, the moves of the seats, and the chance moves that
were entered. The JSON of a refereed play has these and nothing else.

At K = 0, players commit before they see anything: nobody is asked until all have either delegated
or declined.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.errors import ArgumentError, MediatorError
from accord.game.labels import player_name
from accord.game.tree import total_rewards
from accord.mediator.mediator import Mediator, Play, check_format
from accord.mediator.seat import LOG, Move, Name, Seat, find, shown
from accord.mediator.streams import draw
from accord.mediator.timing import TimingWarning, timing

FORMAT, VERSION = "accord-refereed-play", 1


class Referee:
    """Runs plays in which players cannot lie to the mediator.

    Attributes:
        mediator: The mediator that speaks in these plays.
        timing: The rounds of the game; see :func:`accord.timing`.
    """

    def __init__(self, mediator: Mediator, enter_chance: bool = False) -> None:
        """Prepare the referee.

        Args:
            mediator: The mediator, with the game, the policy and K.
            enter_chance: Chance moves are made elsewhere, such as with real cards, and entered with
                :meth:`RefereedPlay.enter`. By default the referee draws them.

        Warns:
            TimingWarning: If the time at which players are asked can reveal something to them.
        """
        if not isinstance(mediator, Mediator):
            raise ArgumentError(f"mediator must be an accord.Mediator; got {shown(mediator)}")
        self.mediator, self.enter_chance = mediator, enter_chance
        self.timing = timing(mediator.game)
        if self.timing.warning:
            warnings.warn(self.timing.warning, TimingWarning, stacklevel=2)

    def begin(self, id: str | None = None, names: Mapping[str, str] | None = None) -> RefereedPlay:
        """Start a play; see :meth:`accord.Mediator.begin`."""
        return RefereedPlay(self, self.mediator.begin(id, names), [])

    def resume(self, state: Mapping[str, Any]) -> RefereedPlay:
        """Continue a play from what :meth:`RefereedPlay.to_json` returned.

        Raises:
            ArgumentError: If that is not the state of a refereed play.
            MismatchError: If it is that of a play with another game, policy or K.
        """
        check_format(state, FORMAT, VERSION, "RefereedPlay.to_json")
        entered = state.get("entered")
        if not isinstance(entered, list) or not all(type(a) is int for a in entered):
            raise ArgumentError("the state of the play is damaged")
        return RefereedPlay(self, self.mediator.resume(state.get("play", {})), entered)

    def __repr__(self) -> str:
        return f"Referee({self.mediator!r})"


class RefereedPlay:
    """One play with a referee. Made by :meth:`Referee.begin` or :meth:`Referee.resume`.

    It belongs to whoever runs the game, and so do its seats, which know the whole play. Give
    players answers, not seats.

    Attributes:
        id: The name of the play.
        game: The game.
        seats: One :class:`RefereedSeat` per player.
    """

    def __init__(self, referee: Referee, play: Play, entered: list[int]) -> None:
        self.id, self._referee, self._play, self._entered = play.id, referee, play, list(entered)
        self.game = referee.mediator.game
        self._node, self._chance_moves = 0, 0  # of those that were entered
        self._made = [0] * len(play.seats)  # moves of each player above the node
        self.seats = tuple(RefereedSeat(self, i, seat) for i, seat in enumerate(play.seats))
        self._advance()
        if not self._is_possible():
            raise ArgumentError("the state of the play is damaged")

    def seat(self, player: Name) -> RefereedSeat:
        """The handle of a player, by label or number.

        Raises:
            ArgumentError: If there is no such player.
        """
        return self.seats[self._referee.mediator.find_player(player)]

    @property
    def undecided(self) -> tuple[str, ...]:
        """At K = 0, the players who have neither delegated nor declined."""
        return tuple(seat.player for seat in self.seats if seat.undecided)

    @property
    def waiting_for(self) -> tuple[str, ...]:
        """The players who are asked for a move now and have not answered."""
        return tuple(self.game.player_labels[i] for i in self._called())

    @property
    def round(self) -> int | None:
        """The number of the present round, from 0; None if nobody is asked."""
        for i, x in self._called().items():
            return int(self._referee.timing.rounds[i][x])
        return None

    @property
    def chance(self) -> tuple[str, ...] | None:
        """The outcomes of the chance move to :meth:`enter` now; None if there is none."""
        if self.is_over or self.game.player[self._node] != CHANCE:
            return None
        outcomes: tuple[str, ...] = self.game.chance_labels[self.game.infoset[self._node]]
        return outcomes

    def enter(self, outcome: Name) -> None:
        """Enter the outcome of the present chance move, by label or number.

        Raises:
            MediatorError: If no chance move is to be entered now.
            ArgumentError: If there is no such outcome.
        """
        if (outcomes := self.chance) is None:
            raise MediatorError("no chance move is to be entered now")
        if (a := find(outcome, outcomes)) is None:
            raise ArgumentError(
                f"there is no outcome {shown(outcome)}; the outcomes are "
                f"{', '.join(map(repr, outcomes))}"
            )
        self._entered.append(a)
        self._proceed()

    @property
    def is_over(self) -> bool:
        """Whether the play has ended."""
        return bool(self.game.player[self._node] == TERMINAL)

    @property
    def payoffs(self) -> Floats | None:
        """``[n_players]`` what each player has earned; None before the end."""
        if not self.is_over:
            return None
        row: Floats = total_rewards(self.game, np.array([self._node]))[0]
        return row

    @property
    def history(self) -> tuple[str, ...]:
        """All moves so far, chance moves included. Not for players before the end."""
        return self.game.history(self._node)

    @property
    def story(self) -> tuple[tuple[int | None, str], ...]:
        """All moves so far with the player who made each; None for chance."""
        node, movers = self._node, []
        while node:
            node = int(self.game.parent[node])
            i = int(self.game.player[node])
            movers.append(None if i == CHANCE else i)
        return tuple(zip(reversed(movers), self.history, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The play as JSON, from which :meth:`Referee.resume` continues it.

        **This is secret**, as :meth:`accord.mediator.mediator.Play.to_json` explains.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "play": self._play.to_json(),
            "entered": list(self._entered),
        }

    def _called(self) -> dict[int, int]:
        """The players who are asked now, and their infosets."""
        if self.is_over or self.undecided:
            return {}
        timing, asked = self._referee.timing, {}
        for i, (seat, x) in enumerate(
            zip(self._play.seats, timing.ahead[self._node].tolist(), strict=True)
        ):
            if x >= 0 and not seat.delegated and len(seat.moves) == self._made[i]:
                asked[i] = x
        first = min((timing.rounds[i][x] for i, x in asked.items()), default=0)
        return {i: x for i, x in asked.items() if timing.rounds[i][x] == first}

    def _is_possible(self) -> bool:
        """Whether there are no more moves and recommendations than the tree explains.

        A player may be one ahead of it, at an infoset that is next for sure.
        """
        for seat, made, x in zip(
            self._play.seats, self._made, self._referee.timing.ahead[self._node], strict=True
        ):
            more = [move.infoset for move in seat.moves[made:]]
            if seat.at is not None:
                more.append(seat.at)
            if more not in ([], [x]):
                return False
        return self._chance_moves == len(self._entered)

    def _proceed(self) -> None:
        """Continue the play after a move."""
        self._advance()
        if self.is_over:
            LOG.info("play %s: is over", self.id)

    def _advance(self) -> None:
        """Walk down the tree as far as the moves that are known lead."""
        if self.undecided:
            return
        game, parent = self.game, self.game.parent
        while game.player[self._node] != TERMINAL:
            i, x = int(game.player[self._node]), int(game.infoset[self._node])
            below = np.flatnonzero(parent[self._node + 1 :] == self._node) + self._node + 1
            below = below[np.argsort(game.action[below])]
            prob = game.chance_prob[below]
            a = self._chance_move(prob) if i == CHANCE else self._next_move(i, x)
            if a is None:
                return
            self._node = int(below[a])

    def _chance_move(self, prob: Floats) -> int | None:
        if not self._referee.enter_chance:
            return draw(prob / prob.sum(), self._play.stream(f"chance {self._node}"))
        if self._chance_moves == len(self._entered):
            return None
        a = self._entered[self._chance_moves]
        if not 0 <= a < len(prob):
            raise ArgumentError("the state of the play is damaged")
        self._chance_moves += 1
        return a

    def _next_move(self, i: int, x: int) -> int | None:
        seat, n = self._play.seats[i], self._made[i]
        if n == len(seat.moves):
            if not seat.delegated:
                return None
            seat.move(x)
        if seat.moves[n].infoset != x:
            raise ArgumentError("the state of the play is damaged")
        self._made[i] += 1
        return seat.moves[n].action

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a play cannot be pickled, because it holds all recommendations; save it with "
            "play.to_json() and keep that secret"
        )

    def __repr__(self) -> str:
        return f"RefereedPlay({self.id!r})"


class RefereedSeat:
    """One player's handle in a refereed play. Made by :meth:`RefereedPlay.seat`.

    It says where the player is and what they are told when it is their turn, and takes their moves.
    Requests may be repeated; those that are refused change nothing.

    Attributes:
        player: The label of the player.
        name: The name of whoever sits here; by default the label of the player.
    """

    def __init__(self, play: RefereedPlay, player: int, seat: Seat) -> None:
        self._play, self._i, self._seat = play, player, seat
        self.player, self.name = seat.player, seat.name

    @property
    def place(self) -> int | None:
        """The number of the infoset where the player is asked to decide now."""
        return self._play._called().get(self._i)

    @property
    def infoset(self) -> str | None:
        """Where the player is asked to decide now; None while they must wait."""
        x = self.place
        return None if x is None else self._play.game.infoset_labels[self._i][x]

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions among which the player is asked to choose now."""
        x = self.place
        return () if x is None else self._play.game.action_labels[self._i][x]

    @property
    def recommendation(self) -> str | None:
        """What the mediator recommends now; None if it is silent, or the player must wait."""
        x = self.place
        if x is None or not self._seat.advises:
            return None
        return self.actions[self._seat.recommend(x)]

    def act(self, infoset: Name, action: Name) -> None:
        """Play ``action`` at ``infoset``, where the player is asked to decide now.

        Making the same move again changes nothing.

        Raises:
            MediatorError: If the player is not asked there, or has played something else there.
        """
        x = self._seat.find_infoset(infoset)
        if x != self.place and all(move.infoset != x for move in self._seat.moves):
            raise MediatorError(
                f"{player_name(self.player)} is not asked to decide at "
                f"{self._play.game.infoset_labels[self._i][x]!r} now"
            )
        made = len(self._seat.moves)
        self._seat.act(x, action)
        if len(self._seat.moves) > made:
            self._play._proceed()

    def follow(self) -> None:
        """Make the move for an absent player: as recommended, or at random if there is silence.

        A player can do the same themselves, so being absent is no way around the K-th deviation.

        Raises:
            MediatorError: If the player is not asked to decide now.
        """
        if (x := self.place) is None:
            raise MediatorError(f"{player_name(self.player)} is not asked to decide now")
        seat = self._seat
        self.act(x, seat.recommend(x) if seat.advises else seat.draw_at_random(x))

    def delegate(self) -> None:
        """Let the mediator move for the player in this play. At K = 0 this is the way to follow.

        Raises:
            MediatorError: If the player has declined, acted or got a recommendation.
        """
        self._seat.delegate()
        self._play._proceed()

    def decline(self) -> None:
        """At K = 0, decide to play on one's own.

        Raises:
            MediatorError: If the player has delegated.
        """
        self._seat.decline()
        self._play._proceed()

    @property
    def undecided(self) -> bool:
        """Whether the player must delegate or decline before the play begins, at K = 0."""
        decides = self._play.game.n_infosets[self._i] > 0
        return decides and self._play._referee.mediator.k == 0 and self._seat.undecided

    @property
    def delegated(self) -> bool:
        """Whether the mediator moves for the player."""
        return self._seat.delegated

    @property
    def moves(self) -> tuple[Move, ...]:
        """The player's own moves so far, with what they could be told at each."""
        return self._seat.moves

    @property
    def advises(self) -> bool:
        """Whether the player may still get recommendations."""
        return self._seat.advises

    @property
    def deviations(self) -> int:
        """How often the player has deviated, up to K; later moves are not counted."""
        return self._seat.deviations

    def __reduce__(self) -> NoReturn:
        raise TypeError("a seat cannot be pickled; save the play with play.to_json()")

    def __repr__(self) -> str:
        return f"RefereedSeat({self.player!r}, play={self._play.id!r})"
