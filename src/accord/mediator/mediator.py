"""The mediator, which runs a correlated policy play by play.

When a play begins, the mediator draws one product policy pi of the mixture. When player i reaches
infoset x, it draws b ~ pi_i(. | x) and tells b to that player only, who then plays b or something
else. This is the other side of Algorithm 1 of Song, Mei, Bai 2022: however a player uses the
mediator, they play phi o pi_i for some K-EFCE strategy modification phi, or a lottery over several.
So in a K-EFCE nobody can do better than to follow. That holds only because the mediator refuses
everything else. It enforces these rules with a :class:`~accord.errors.MediatorError`:

* a player gets a recommendation only at the infoset they have reached: it must follow their earlier
  moves, and of all infosets that may come next they can be at only one;
* only once per infoset, and only at their own infosets;
* never again after their K-th deviation (Type-II rechistories).

Whoever runs the game tells the mediator which infoset a player is at and what they played there.
The mediator cannot check chance moves, such as the cards that were dealt.

A player may act without asking. The recommendation is drawn all the same, and playing something
else counts as a deviation: this is a phi that ignores the recommendation.

At K = 0 nothing is recommended. Instead, a player chooses before their first decision: they
*delegate*, and the mediator moves for them until the play ends, or they play on their own. This is
the normal-form coarse correlated equilibrium (NFCCE), in which players commit before they see
anything. A player may delegate at every K, and then always obeys.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import cached_property
from typing import SupportsIndex, overload

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import checked_k
from accord.equilibrium.correlated import CorrelatedPolicy, Solved, checked_policy
from accord.errors import ArgumentError, MediatorError
from accord.game.labels import player_name
from accord.game.tree import Game
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import EMPTY_SEQUENCE

Name = str | SupportsIndex
"""A player, infoset or action: its label, or its number from 0."""


class Mediator:
    """Runs a correlated policy. Each play is a separate :class:`Play`; many may run at once.

    Play n depends only on the seed and n, not on the other plays.
    """

    def __init__(
        self,
        game: Game,
        policy: CorrelatedPolicy | Solved,
        k: SupportsIndex | float | None = None,
        seed: int | None = None,
    ) -> None:
        """Prepare the mediator.

        Args:
            game: The game that is played.
            policy: The correlated policy to recommend from, or a result that has one, such as a
                :class:`Solution`.
            k: The number of deviations after which a player gets no more recommendations: 0, 1,
                ..., ``math.inf``. By default that of the result, or else 1.
            seed: Seed of all draws; by default a random one.

        Raises:
            ArgumentError: If ``k`` or ``seed`` is not a whole number, 0 or more, or if ``game`` is
                not a game or ``policy`` not a policy.
            MismatchError: If the policy is for another game.
        """
        own = getattr(policy, "k", None)  # of a result, unless its notion has no K
        k = (1 if own is None else own) if k is None else k
        self.game, self.policy, self.k = game, checked_policy(game, policy), checked_k(k)
        self.form = sequence_form(game)
        try:
            self._seeds = np.random.SeedSequence(seed)
        except (TypeError, ValueError):
            raise ArgumentError(f"seed must be a whole number, 0 or more; got {seed!r}") from None

    def begin(self) -> Play:
        """Start a play, and draw the component of the policy that it follows."""
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
            raise ArgumentError(f"{who} has {n} infosets, numbered from 0; got {infoset!r}")
        if (found := self._infosets[i].get(infoset)) is not None:
            return found
        for j, other in enumerate(self.game.player_labels):
            if infoset in self._infosets[j]:
                raise MediatorError(
                    f"{infoset!r} is an infoset of {player_name(other)}, not of {who}; players "
                    "get recommendations only at their own infosets"
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

    Give players, infosets and actions by label or by number. If the infoset is given by label the
    answer is the label of an action, otherwise its number. A refused request changes nothing.
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
        """The recommendation for ``player``, who has reached ``infoset``.

        Raises:
            MediatorError: If one of the rules forbids it.
        """
        mediator = self._mediator
        i, x = self._locate(player, infoset)
        seat, who = self._seats[i], player_name(mediator.game.player_labels[i])
        if seat.delegated:
            raise MediatorError(
                f"{who} has delegated their moves and gets no recommendations; use move"
            )
        if mediator.k == 0:
            raise MediatorError(
                "at K = 0 nothing is recommended; a player delegates before their first decision, "
                "or plays on their own"
            )
        self._check_reached(i, x)
        if seat.asked:
            raise MediatorError(
                f"{who} already has the recommendation at {self._label(i, x)!r}; it is given only "
                "once"
            )
        if seat.deviations >= mediator.k:
            raise MediatorError(
                f"{who} has used all K = {mediator.k} deviations; the mediator is now silent"
            )
        seat.asked = True
        return self._answer(i, x, self._drawn(i, x), infoset)

    def act(self, player: Name, infoset: Name, action: Name) -> None:
        """Record that ``player`` played ``action`` at ``infoset``, as recommended or not.

        Raises:
            MediatorError: If the player cannot be at ``infoset``, or has delegated their moves.
        """
        i, x = self._locate(player, infoset)
        seat = self._seats[i]
        if seat.delegated:
            raise MediatorError(
                f"{player_name(self._mediator.game.player_labels[i])} has delegated their moves in "
                "this play and cannot take them back; use move"
            )
        a = self._mediator.find_action(i, x, action)
        self._check_reached(i, x)
        if seat.deviations < self._mediator.k and self._drawn(i, x) != a:
            seat.deviations += 1
        self._leave(i, x, a)

    def delegate(self, player: Name) -> None:
        """Let the mediator move for ``player`` in this play. At K = 0 this is the way to follow.

        Raises:
            MediatorError: If the player has already delegated, acted or got a recommendation.
        """
        i = self._mediator.find_player(player)
        seat, who = self._seats[i], player_name(self._mediator.game.player_labels[i])
        if seat.delegated:
            raise MediatorError(f"{who} has already delegated their moves")
        if seat.seq != EMPTY_SEQUENCE or seat.at is not None:
            raise MediatorError(
                f"a player may delegate only before their first decision; {who} has already got a "
                "recommendation or acted"
            )
        seat.delegated = True

    @overload
    def move(self, player: Name, infoset: str) -> str: ...
    @overload
    def move(self, player: Name, infoset: SupportsIndex) -> int: ...
    def move(self, player: Name, infoset: Name) -> str | int:
        """Move for ``player``, who has delegated and reached ``infoset``; returns the action.

        Raises:
            MediatorError: If the player has not delegated, or cannot be at ``infoset``.
        """
        i, x = self._locate(player, infoset)
        if not self._seats[i].delegated:
            raise MediatorError(
                "the mediator moves only for players who have delegated before their first "
                f"decision; {player_name(self._mediator.game.player_labels[i])} has not"
            )
        self._check_reached(i, x)
        a = self._drawn(i, x)
        self._leave(i, x, a)
        return self._answer(i, x, a, infoset)

    def advises(self, player: Name) -> bool:
        """Whether ``player`` may still get recommendations."""
        seat = self._seats[self._mediator.find_player(player)]
        return not seat.delegated and seat.deviations < self._mediator.k

    def deviations(self, player: Name) -> int:
        """How often ``player`` has deviated, up to K; later moves are not counted."""
        return self._seats[self._mediator.find_player(player)].deviations

    def _locate(self, player: Name, infoset: Name) -> tuple[int, int]:
        i = self._mediator.find_player(player)
        return i, self._mediator.find_infoset(i, infoset)

    def _check_reached(self, i: int, x: int) -> None:
        """Refuse x unless it may follow player i's moves so far."""
        seat, plex = self._seats[i], self._mediator.form.plexes[i]
        who, label = player_name(self._mediator.game.player_labels[i]), self._label(i, x)
        if seat.at is not None and seat.at != x:
            raise MediatorError(
                f"{who} cannot be at {label!r}: they are at {self._label(i, seat.at)!r} and have "
                "not acted there"
            )
        if plex.parent_seq[x] != seat.seq:
            did = ", ".join(
                f"{plex.action_labels[y][a]!r} at {self._label(i, y)!r}" for y, a in seat.moves
            )
            raise MediatorError(
                f"{who} cannot be at {label!r}: it does not follow their moves in this play, "
                f"{did or 'of which there are none yet'}"
            )

    def _drawn(self, i: int, x: int) -> int:
        """The recommendation at x, drawn when first needed. From then on player i is at x."""
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

    seq: int = EMPTY_SEQUENCE  # the last move
    moves: list[tuple[int, int]] = field(default_factory=list)  # all (infoset, action) so far
    deviations: int = 0
    delegated: bool = False
    at: int | None = None  # the infoset where a recommendation is drawn and no action taken yet
    told: int = -1  # that recommendation
    asked: bool = False  # whether the player has got it


def _find(name: Name, labels: tuple[str, ...]) -> int | None:
    """The position of ``name``, a label or a number, among ``labels``."""
    if isinstance(name, str):
        return labels.index(name) if name in labels else None
    return _number(name, len(labels))


def _number(value: SupportsIndex, limit: int) -> int | None:
    """``value`` as an int if it is one of 0, ..., ``limit`` - 1."""
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if 0 <= number < limit else None


def _draw(probabilities: Floats, rng: np.random.Generator) -> int:
    """An index drawn by inverse CDF, never one of probability 0."""
    below = np.cumsum(probabilities)
    chosen = int(np.searchsorted(below, rng.random(), side="right"))
    return min(chosen, int(np.flatnonzero(probabilities)[-1]))  # sums may round to below 1
