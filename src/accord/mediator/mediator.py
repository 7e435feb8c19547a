"""The mediator: a correlated policy at work, one play after the other.

A play begins with the mediator drawing one product policy pi of the mixture. At an infoset x that
player i reaches it draws b ~ pi_i(. | x) and tells her, in private. She plays b or something else.
This is the other side of Algorithm 1 of Song, Mei, Bai 2022: a player who uses it in any way at all
plays phi o pi_i for some K-EFCE strategy modification phi (or a lottery over several), so in a
K-EFCE following it is the best that she can do. That is true only because of what is refused, and
each of these rules is enforced with a :class:`~accord.errors.MediatorError`:

* a recommendation is given only at the infoset a player has reached: it must follow what she did
  before, and of all infosets that may come next she can be at one;
* only once there, and only at infosets of her own;
* never again after her K-th deviation (Type-II rechistories).

The mediator is told by whoever runs the game which infoset a player is at and what she did there.
It cannot see chance or cards, so of that it believes what it is told.

To act without asking is allowed. The recommendation is then drawn all the same, and playing
something else counts as a deviation: this is the phi that does not listen, with fewer things known.

At K = 0 nobody is told anything, so nobody could follow. There a player chooses before her first
decision: either she *delegates*, and the mediator moves for her until the play ends, or she is on
her own. This is the normal-form coarse correlated equilibrium, whose players commit before they see
anything. Delegating is possible for every K; it is bound to obey.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import cached_property
from typing import SupportsIndex, overload

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import checked_k
from accord.equilibrium.correlated import CorrelatedPolicy, check_policy
from accord.errors import ArgumentError, MediatorError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import EMPTY_SEQUENCE

Name = str | SupportsIndex
"""A player, infoset or action: its label, or its number from 0."""


class Mediator:
    """Runs a correlated policy. Every play is a :class:`Play` of its own; many may go on at once.

    Play n depends only on the seed and n, whatever happens in the other plays.
    """

    def __init__(
        self,
        game: Game,
        policy: CorrelatedPolicy,
        k: SupportsIndex | float = 1,
        seed: int | None = None,
    ) -> None:
        """Get ready to play.

        Args:
            game: What is played.
            policy: What is recommended.
            k: After how many deviations a player is told nothing more: 0, 1, ..., ``math.inf``.
            seed: Of all that is drawn; without one every mediator is different.

        Raises:
            ArgumentError: If ``k`` or ``seed`` is not a whole number, 0 or more; or if there is no
                game, or no policy.
            MismatchError: If the policy is for another game.
        """
        check_policy(game, policy)
        self.game, self.policy, self.k = game, policy, checked_k(k)
        self.form = sequence_form(game)
        try:
            self._seeds = np.random.SeedSequence(seed)
        except (TypeError, ValueError):
            raise ArgumentError(f"seed must be a whole number, 0 or more; got {seed!r}") from None

    def begin(self) -> Play:
        """Start a play: draw one component of the policy for all players."""
        (own,) = self._seeds.spawn(1)
        return Play(self, np.random.default_rng(own))

    def find_player(self, player: Name) -> int:
        """The number of a player."""
        labels = self.game.player_labels
        if (found := _find(player, labels)) is not None:
            return found
        raise ArgumentError(
            f"there is no player {player!r}; the players are {', '.join(map(repr, labels))}, "
            f"or 0 to {len(labels) - 1} as numbers"
        )

    def find_infoset(self, player: Name, infoset: Name) -> int:
        """The number of an infoset of ``player``."""
        i = self.find_player(player)
        who, n = player_name(self.game.player_labels[i]), self.form.plexes[i].n_infosets
        if not isinstance(infoset, str):
            if (x := _number(infoset, n)) is not None:
                return x
            raise ArgumentError(f"{who} has {n} infosets, which count from 0; got {infoset!r}")
        if (found := self._infosets[i].get(infoset)) is not None:
            return found
        for j, other in enumerate(self.game.player_labels):
            if infoset in self._infosets[j]:
                raise MediatorError(
                    f"a mediator deals with each player in private; {infoset!r} is an infoset of "
                    f"{player_name(other)}, not of {who}"
                )
        raise ArgumentError(f"{who} has no infoset {infoset!r}")

    def find_action(self, player: Name, infoset: Name, action: Name) -> int:
        """The number of an action at an infoset of ``player``."""
        i, x = self.find_player(player), self.find_infoset(player, infoset)
        labels = self.form.plexes[i].action_labels[x]
        if (found := _find(action, labels)) is not None:
            return found
        raise ArgumentError(
            f"{player_name(self.game.player_labels[i])} has no action {action!r} at "
            f"{self.form.plexes[i].infoset_labels[x]!r}; the actions are "
            f"{', '.join(map(repr, labels))}, or 0 to {len(labels) - 1} as numbers"
        )

    @cached_property
    def _infosets(self) -> tuple[dict[str, int], ...]:
        """Per player the number of each infoset label."""
        return tuple(
            {label: x for x, label in enumerate(plex.infoset_labels)} for plex in self.form.plexes
        )

    def __repr__(self) -> str:
        return f"Mediator({self.policy!r}, k={self.k})"


class Play:
    """One play with the mediator. Made by :meth:`Mediator.begin`.

    Players, infosets and actions are given by label or by number, and an infoset given by label is
    answered by an action's label, one given by number by its number. A request that is refused
    changes nothing.
    """

    def __init__(self, mediator: Mediator, rng: np.random.Generator) -> None:
        self._mediator, self._rng = mediator, rng
        component = _draw(mediator.policy.weights, rng)
        self._behaviors = mediator.form.split(mediator.policy.behavior[component])
        self._seats = tuple(_Seat() for _ in mediator.form.plexes)

    @overload
    def recommend(self, player: Name, infoset: str) -> str: ...
    @overload
    def recommend(self, player: Name, infoset: SupportsIndex) -> int: ...
    def recommend(self, player: Name, infoset: Name) -> str | int:
        """What ``player``, who has come to ``infoset``, is told to do there.

        Raises:
            MediatorError: If one of the rules forbids to tell her.
        """
        mediator = self._mediator
        i, x = self._locate(player, infoset)
        seat, who = self._seats[i], player_name(mediator.game.player_labels[i])
        if seat.delegated:
            raise MediatorError(
                f"{who} has delegated her moves: she needs no recommendation; use move"
            )
        if mediator.k == 0:
            raise MediatorError(
                "at K = 0 nothing is recommended: a player delegates her moves before the first, "
                "or plays on her own"
            )
        self._check_reached(i, x)
        if seat.asked:
            raise MediatorError(
                f"a recommendation is given once, and {who} has had hers at {self._label(i, x)!r}"
            )
        if seat.deviations >= mediator.k:
            raise MediatorError(
                f"after {mediator.k} deviations nothing more is recommended in this play, and "
                f"{who} has deviated {seat.deviations} times"
            )
        seat.asked = True
        return self._answer(i, x, self._drawn(i, x), infoset)

    def act(self, player: Name, infoset: Name, action: Name) -> None:
        """Take note that ``player`` played ``action`` at ``infoset``, whatever she was told.

        Raises:
            MediatorError: If she cannot have been there, or has delegated her moves.
        """
        i, x = self._locate(player, infoset)
        seat = self._seats[i]
        if seat.delegated:
            raise MediatorError(
                f"{player_name(self._mediator.game.player_labels[i])} has delegated her moves in "
                "this play and cannot take them back; use move"
            )
        a = self._mediator.find_action(i, x, action)
        self._check_reached(i, x)
        if seat.deviations < self._mediator.k and self._drawn(i, x) != a:
            seat.deviations += 1
        self._leave(i, x, a)

    def delegate(self, player: Name) -> None:
        """Let the mediator move for ``player`` in this play; at K = 0 the only way to follow.

        Raises:
            MediatorError: If she has already decided something, or delegated.
        """
        i = self._mediator.find_player(player)
        seat, who = self._seats[i], player_name(self._mediator.game.player_labels[i])
        if seat.delegated:
            raise MediatorError(f"{who} has already delegated her moves")
        if seat.seq != EMPTY_SEQUENCE or seat.at is not None:
            raise MediatorError(
                f"a player delegates before her first decision, but {who} has already "
                "been told something or acted"
            )
        seat.delegated = True

    @overload
    def move(self, player: Name, infoset: str) -> str: ...
    @overload
    def move(self, player: Name, infoset: SupportsIndex) -> int: ...
    def move(self, player: Name, infoset: Name) -> str | int:
        """Move for ``player``, who has delegated and come to ``infoset``: the action taken.

        Raises:
            MediatorError: If she has not delegated, or cannot be there.
        """
        i, x = self._locate(player, infoset)
        if not self._seats[i].delegated:
            raise MediatorError(
                f"the mediator moves for those who have delegated before their first decision; "
                f"{player_name(self._mediator.game.player_labels[i])} has not"
            )
        self._check_reached(i, x)
        a = self._drawn(i, x)
        self._leave(i, x, a)
        return self._answer(i, x, a, infoset)

    def advises(self, player: Name) -> bool:
        """Whether ``player`` may still ask at infosets to come."""
        seat = self._seats[self._mediator.find_player(player)]
        return not seat.delegated and seat.deviations < self._mediator.k

    def deviations(self, player: Name) -> int:
        """How often ``player`` has deviated; not counted further once the mediator is silent."""
        return self._seats[self._mediator.find_player(player)].deviations

    def _locate(self, player: Name, infoset: Name) -> tuple[int, int]:
        i = self._mediator.find_player(player)
        return i, self._mediator.find_infoset(i, infoset)

    def _check_reached(self, i: int, x: int) -> None:
        """Whether x may come next, by what is known of player i's own moves."""
        seat, plex = self._seats[i], self._mediator.form.plexes[i]
        who, label = player_name(self._mediator.game.player_labels[i]), self._label(i, x)
        if seat.at is not None and seat.at != x:
            raise MediatorError(
                f"{who} is at {self._label(i, seat.at)!r} and has not acted there; she "
                f"cannot be at {label!r}"
            )
        if plex.parent_seq[x] != seat.seq:
            did = ", ".join(
                f"{plex.action_labels[y][a]!r} at {self._label(i, y)!r}" for y, a in seat.moves
            )
            raise MediatorError(
                f"{who} cannot be at {label!r}: it does not follow what she has done in "
                f"this play, {did or 'which is nothing yet'}"
            )

    def _drawn(self, i: int, x: int) -> int:
        """The recommendation at x, drawn when it is first needed; player i is at x from then on."""
        seat, plex = self._seats[i], self._mediator.form.plexes[i]
        if seat.at is None:
            first, end = plex.first_seq[x], plex.first_seq[x + 1]
            seat.at, seat.told = x, _draw(self._behaviors[i][first:end], self._rng)
        return seat.told

    def _leave(self, i: int, x: int, a: int) -> None:
        seat = self._seats[i]
        seat.at, seat.asked = None, False
        seat.seq = int(self._mediator.form.plexes[i].first_seq[x]) + a
        seat.moves.append((x, a))

    def _answer(self, i: int, x: int, a: int, infoset: Name) -> str | int:
        return self._mediator.form.plexes[i].action_labels[x][a] if isinstance(infoset, str) else a

    def _label(self, i: int, x: int) -> str:
        return self._mediator.form.plexes[i].infoset_labels[x]


@dataclass
class _Seat:
    """What the mediator knows of one player in one play."""

    seq: int = EMPTY_SEQUENCE  # her last move
    moves: list[tuple[int, int]] = field(default_factory=list)  # all of them
    deviations: int = 0
    delegated: bool = False
    at: int | None = None  # the infoset at which a recommendation is drawn and she has not acted
    told: int = -1  # that recommendation
    asked: bool = False  # whether she knows it


def _find(name: Name, labels: tuple[str, ...]) -> int | None:
    """Where ``name``, a label or a number, stands among ``labels``."""
    if isinstance(name, str):
        return labels.index(name) if name in labels else None
    return _number(name, len(labels))


def _number(value: SupportsIndex, limit: int) -> int | None:
    """``value`` as a number from 0 to below ``limit``."""
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if 0 <= number < limit else None


def _draw(probabilities: Floats, rng: np.random.Generator) -> int:
    """An index drawn by inverse CDF; never one of probability 0."""
    below = np.cumsum(probabilities)
    chosen = int(np.searchsorted(below, rng.random(), side="right"))
    return min(chosen, int(np.flatnonzero(probabilities)[-1]))  # a sum rounded to less than 1
