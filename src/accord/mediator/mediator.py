"""The mediator, which runs a correlated policy play by play.

When a play begins, the mediator draws one product policy pi of the mixture. When player i reaches
infoset x, it draws b ~ pi_i(. | x) and tells b to that player only, who then plays b or something
else. This is the other side of Algorithm 1 of Song, Mei, Bai 2022: however a player uses the
mediator, they play phi o pi_i for some K-EFCE strategy modification phi, or a lottery over several.
So in a K-EFCE nobody can do better than to follow. That holds only because the mediator refuses
everything else; ``mediator/seat.py`` has the rules.

**What it trusts.** Whoever runs the game tells the mediator which infoset a player is at and what
they played there. It checks that this fits the player's own earlier moves. It cannot check chance
moves, such as the cards that were dealt, or that the others have moved: a player who may speak to
it directly can lie about what they know, and no equilibrium promise holds any more. Use it where a
program that you trust knows the state of the game, and a :class:`~accord.Referee` where not.

At K = 0 nothing is recommended. Instead, a player chooses before their first decision: they
*delegate*, and the mediator moves for them until the play ends, or they play on their own. This is
the normal-form coarse correlated equilibrium (NFCCE), in which players commit before they see
anything. A player may delegate at every K, and then always obeys.

Draws come from the play's key (``mediator/streams.py``), so a play is its key and the players'
moves. That is all its JSON has; nothing that was recommended is in there, but whoever has the key
and the policy can compute it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from accord._arrays import Floats
from accord.deviations.notions import NotionLike, checked_k, written_k
from accord.equilibrium.policy import CorrelatedPolicy, Solved, checked_policy
from accord.errors import ArgumentError, MismatchError
from accord.game.tree import Game
from accord.mediator.seat import Name, Seat, find, shown
from accord.mediator.streams import KEY_BYTES, derive, draw, new_key, uniforms
from accord.treeplex.form import sequence_form

FORMAT, VERSION = "accord-play", 1


class Mediator:
    """Runs a correlated policy. Each play is a separate :class:`Play`; many may run at once.

    The mediator believes what it is told about chance and about who is where, as far as it fits the
    player's own earlier moves. Use a :class:`accord.Referee` if players could lie to it.

    The n-th play depends only on the seed and n, not on the other plays.
    """

    def __init__(
        self,
        game: Game,
        policy: CorrelatedPolicy | Solved,
        k: NotionLike | None = None,
        seed: SupportsIndex | np.random.Generator | None = None,
    ) -> None:
        """Prepare the mediator.

        Args:
            game: The game that is played.
            policy: The correlated policy to recommend from, or a result that has one, such as a
                :class:`Solution`.
            k: The number of deviations after which a player gets no more recommendations: 0, 1,
                ..., ``math.inf``, or a name: ``"nfcce"``, ``"efce"``, ``"bce"``. By default that of
                the result, or 1 for a policy.
            seed: Seed of all draws, for simulations, or a generator that draws one. By default
                nobody can predict the draws; with a seed everybody who knows it can.

        Raises:
            ArgumentError: If ``k`` is not a K, ``seed`` not a whole number, 0 or more, ``game`` not
                a game or ``policy`` not a policy, or if a result is not a K-EFCE and ``k`` is not
                given.
            MismatchError: If the policy is for another game.
        """
        self.game, self.policy = game, checked_policy(game, policy)
        if k is None and (k := getattr(policy, "k", 1)) is None:
            raise ArgumentError(
                "the mediator runs K-EFCE, and this result is of another notion: players could "
                "gain by disobeying; certify it at some K and give that k, or optimize at a K"
            )
        self.k = checked_k(k)
        self.form = sequence_form(game)
        self._key, self._begun = new_key(seed), 0

    def begin(self, id: str | None = None, names: Mapping[str, str] | None = None) -> Play:
        """Start a play.

        Args:
            id: The name of the play in logs and files; by default its number, from 1.
            names: The names of the people who play, by player label.

        Raises:
            ArgumentError: If ``id`` or a name is not text, or there is no such player.
        """
        self._begun += 1
        key = derive(self._key, f"play {self._begun}")
        if id is not None and not isinstance(id, str):
            raise ArgumentError(f"the id of a play must be text; got {shown(id)}")
        if names is not None and not isinstance(names, Mapping):
            raise ArgumentError(f"names must map players to names; got {shown(names)}")
        return Play(self, str(self._begun) if id is None else id, key, names or {})

    def resume(self, state: Mapping[str, Any]) -> Play:
        """Continue a play from what :meth:`Play.to_json` returned.

        Raises:
            ArgumentError: If that is not the state of a play.
            MismatchError: If it is that of a play with another game, policy or K.
        """
        check_format(state, FORMAT, VERSION, "Play.to_json")
        for field, own in self.identity.items():
            if state.get(field) != own:
                raise MismatchError(
                    f"the play was begun with another {'K' if field == 'k' else field}; resume it "
                    "with the mediator's game, policy and K of that time"
                )
        id, seats = state.get("id"), state.get("seats", [])
        try:
            key = bytes.fromhex(state["key"])
        except (KeyError, TypeError, ValueError):
            key = b""
        n = self.game.n_players
        if len(key) != KEY_BYTES or not isinstance(id, str) or not _is_list_of_seats(seats, n):
            raise ArgumentError("the state of the play is damaged")
        labels = self.game.player_labels
        names = {label: seat["name"] for label, seat in zip(labels, seats, strict=True)}
        play = Play(self, id, key, names)
        for own_seat, saved in zip(play.seats, seats, strict=True):
            own_seat.restore(saved)
        return play

    def find_player(self, player: Name) -> int:
        """The number of a player.

        Raises:
            ArgumentError: If there is no such player.
        """
        labels = self.game.player_labels
        if (found := find(player, labels)) is not None:
            return found
        raise ArgumentError(
            f"there is no player {shown(player)}; the players are {', '.join(map(repr, labels))}, "
            f"or 0 to {len(labels) - 1} as numbers"
        )

    @cached_property
    def _infosets(self) -> tuple[dict[str, int], ...]:
        """Per player the number of each infoset label."""
        return tuple(
            {label: x for x, label in enumerate(plex.infoset_labels)} for plex in self.form.plexes
        )

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The digests of game and policy, and K: what a play must agree with to be resumed."""
        digest, policy = hashlib.sha256(), self.policy
        parts = (policy.weights, policy.behavior) if policy.plan is None else (policy.plan.share,)
        for array in parts:
            digest.update(array.tobytes())
        return {
            "game": self.game.digest,
            "policy": digest.hexdigest(),
            "k": written_k(self.k),
        }

    def __repr__(self) -> str:
        return f"Mediator({self.policy!r}, k={self.k})"


class Play:
    """One play with the mediator. Made by :meth:`Mediator.begin` or :meth:`Mediator.resume`.

    It belongs to whoever runs the game. Players, or the programs that speak for them, get their
    :meth:`seat` and nothing else.

    Attributes:
        id: The name of the play.
        seats: One :class:`~accord.mediator.seat.Seat` per player.
    """

    def __init__(self, mediator: Mediator, id: str, key: bytes, names: Mapping[str, str]) -> None:
        self.id, self._mediator, self._key = id, mediator, key
        labels = mediator.game.player_labels
        called = list(labels)
        for player, name in names.items():
            if not isinstance(name, str):
                raise ArgumentError(f"the name of a player must be text; got {shown(name)}")
            called[mediator.find_player(player)] = name
        behaviors = mediator.form.split(_drawn(mediator.policy, derive(key, "component")))
        self.seats = tuple(
            Seat(
                id,
                label,
                name,
                plex,
                infosets,
                mediator.k,
                behavior.copy(),  # a view would hold on to the plans of all players
                derive(key, f"player {i}"),
            )
            for i, (label, name, plex, infosets, behavior) in enumerate(
                zip(
                    labels, called, mediator.form.plexes, mediator._infosets, behaviors, strict=True
                )
            )
        )

    def seat(self, player: Name) -> Seat:
        """The handle of a player, by label or number.

        Raises:
            ArgumentError: If there is no such player.
        """
        return self.seats[self._mediator.find_player(player)]

    def stream(self, place: str) -> bytes:
        """The key of a draw that belongs to no player, such as one of chance."""
        return derive(self._key, f"elsewhere {place}")

    def to_json(self) -> dict[str, Any]:
        """The play as JSON, from which :meth:`Mediator.resume` continues it.

        **This is secret**: ``key`` together with the policy gives every recommendation of the play,
        and ``seats`` has everybody's moves. Keep it where players cannot read it.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            **self._mediator.identity,
            "id": self.id,
            "key": self._key.hex(),
            "seats": [seat.to_json() for seat in self.seats],
        }

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a play cannot be pickled, because it holds all recommendations; save it with "
            "play.to_json() and keep that secret"
        )

    def __repr__(self) -> str:
        return f"Play({self.id!r})"


def _drawn(policy: CorrelatedPolicy, key: bytes) -> Floats:
    """``[n_sequences]`` the product policy of the mixture that a key draws."""
    if policy.plan is not None:
        return policy.plan.drawn(uniforms(key, policy.plan.n_steps))
    drawn: Floats = policy.behavior[draw(policy.weights, key)]
    return drawn


def check_format(state: Any, format: str, version: int, source: str) -> None:
    """Refuse what ``source`` did not write. The message has nothing of a state, which is secret."""
    if not isinstance(state, Mapping):
        raise ArgumentError(
            f"a play's state must come from {source}; this one is a {type(state).__name__}"
        )
    if state.get("format") != format:
        raise ArgumentError(
            f"a play's state must come from {source}, with the format {format!r}; this one has the "
            f"format {shown(state.get('format'))}"
        )
    if state.get("version") != version:
        raise ArgumentError(
            f"the play was saved in version {shown(state.get('version'))} of the format; this "
            f"version of Accord reads version {version}"
        )


def _is_list_of_seats(seats: Any, size: int) -> bool:
    return (
        isinstance(seats, list)
        and len(seats) == size
        and all(isinstance(seat, dict) and isinstance(seat.get("name"), str) for seat in seats)
    )
