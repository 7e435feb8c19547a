"""Games written by hand.

A node of a game tree is a *history*: the moves from the root to the node. The builder takes a game
in that form, from the top down, with one statement per infoset, chance move or payoff:

    b = GameBuilder("signalling", players=["sender", "receiver"])
    b.chance({"good": "1/2", "bad": "1/2"})
    b.move("good", player="sender", infoset="good type", actions="X Y")
    b.move("bad", player="sender", infoset="bad type", actions="X Y")
    b.move("good X", "bad X", player="receiver", infoset="sees X", actions="hire refuse")
    b.move("good Y", "bad Y", player="receiver", infoset="sees Y", actions="hire refuse")
    b.payoff("good X hire", 4, 10)
    ...
    game = b.build()

A history is a string of labels separated by blanks, ``"good X"``, or a sequence of labels,
``("good", "X")``, for labels that contain blanks. The empty history, the root, is the default.
Chances and payoffs are numbers, or fractions written as ``"1/3"``, and are kept exactly beside the
nearest doubles. A wrong statement raises an error at once, in terms of the labels it used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from accord._arrays import CHANCE, NO_INFOSET, NO_NODE, TERMINAL
from accord._check import Number, as_number
from accord._format import listed
from accord.errors import ArgumentError, GameError
from accord.game.chance import CHANCE_TOLERANCE
from accord.game.exact import with_rounded_sums
from accord.game.rationals import exact_number, remember
from accord.game.tree import Game

Labels = str | Sequence[object]
"""A list of labels: a string that is split at blanks, or a sequence whose items are the labels."""

UNSTATED = -3  # stands for a player at nodes that have no statement yet


class GameBuilder:
    """Collects statements about a game; :meth:`build` returns the :class:`Game`."""

    def __init__(self, name: str = "game", *, players: int | Labels = 2) -> None:
        """Start with the root only.

        Args:
            name: Name of the game in files and reports.
            players: Their names, or their number; then the names are ``"1"``, ``"2"``, ...
        """
        labels = range(1, players + 1) if isinstance(players, int) else players
        self._name = name
        self._players = _labels(labels)
        if not self._players or len(set(self._players)) < len(self._players):
            raise GameError(
                f"a game must have at least one player, all with different names; got {players!r}"
            )
        self._node: dict[tuple[str, ...], int] = {(): 0}
        self._who = [UNSTATED]
        self._parent = [NO_NODE]
        self._action = [0]
        self._infoset = [NO_INFOSET]
        self._prob = [1.0]
        self._rewards: dict[int, list[float]] = {}
        self._exact: dict[int, list[Fraction]] = {}  # the same in rational numbers
        self._rationals: dict[float, Fraction] = {}  # the chances as given, by their doubles
        self._infosets: list[dict[str, tuple[int, tuple[str, ...]]]] = [{} for _ in self._players]
        self._outcomes: list[tuple[str, ...]] = []

    def move(
        self,
        *histories: Labels,
        player: object,
        actions: Labels,
        infoset: object = None,
    ) -> None:
        """Let ``player`` move after each of the ``histories``, which form one infoset.

        Args:
            histories: The nodes of the infoset; by default the root. A later call with the same
                label and the same actions adds nodes to it.
            player: The player's name.
            actions: The actions that the player can take there.
            infoset: Its label, unique for the player. By default the first history, or ``"root"``.
        """
        paths = self._free(histories, "move")
        i = self._player_index(player)
        label = str(infoset) if infoset is not None else " ".join(paths[0]) or "root"
        place = f"infoset {label!r} of player {self._players[i]}"
        moves = _distinct(actions, f"the actions of {place}")
        x, known = self._infosets[i].get(label, (len(self._infosets[i]), moves))
        if known != moves:
            raise GameError(
                f"all nodes of an infoset must have the same actions in the same order; {place} "
                f"already has {_listed(known)}; got {_listed(moves)}"
            )
        self._infosets[i][label] = x, moves
        for path in paths:
            self._grow(path, i, x, moves)

    def chance(self, outcomes: Mapping[str, Number], *histories: Labels) -> None:
        """Let chance move after each of the ``histories``.

        Args:
            outcomes: The probability of each outcome; all positive, with sum one.
            histories: The chance nodes; by default the root.
        """
        paths = self._free(histories, "chance move")
        place = f"the chance move after {_named(paths[0])}"
        moves = _distinct(list(outcomes), f"the outcomes of {place}")
        probs = as_numbers(outcomes.values(), place)
        for move, p in zip(moves, probs, strict=True):
            if not (math.isfinite(p) and p > 0):
                raise GameError(
                    f"{place} must give every outcome a positive probability; {move!r} has {p}; "
                    "leave out impossible outcomes"
                )
        if abs(math.fsum(probs) - 1.0) > CHANCE_TOLERANCE:
            raise GameError(f"the probabilities of {place} must sum to one; got {math.fsum(probs)}")
        remember(self._rationals, probs, outcomes.values())
        self._outcomes.append(moves)
        for path in paths:
            self._grow(path, CHANCE, len(self._outcomes) - 1, moves, probs)

    def payoff(self, history: Labels, *payoffs: Number) -> None:
        """End the game after ``history`` with these payoffs, one per player."""
        (path,) = self._free([history], "payoff")
        self._add(path, payoffs)
        self._who[self._node[path]] = TERMINAL

    def reward(self, history: Labels, *rewards: Number) -> None:
        """Pay each player when a play passes ``history``; its payoff is the sum along the path."""
        self._add(self._find(history), rewards)

    def build(self) -> Game:
        """Return the game, validated.

        Raises:
            GameError: If a history has no continuation, or a player does not have perfect recall.
        """
        loose = [path for path, node in self._node.items() if self._who[node] == UNSTATED]
        if loose:
            more = f" (and {len(loose) - 1} more)" if len(loose) > 1 else ""
            raise GameError(
                "every history must continue with a move or end with a payoff; "
                f"{_named(loose[0])}{more} does neither"
            )
        numbers = dict(self._rationals)
        for node, paid in self._rewards.items():
            for value, number in zip(paid, self._exact[node], strict=True):
                if float(number) == value:
                    numbers.setdefault(value, number)
        game = Game.from_arrays(
            n_players=len(self._players),
            player=self._who,
            parent=self._parent,
            action=self._action,
            infoset=self._infoset,
            chance_prob=self._prob,
            reward_node=list(self._rewards),
            reward=list(self._rewards.values()),
            name=self._name,
            player_labels=self._players,
            infoset_labels=[tuple(labels) for labels in self._infosets],
            action_labels=[
                [actions for _, actions in labels.values()] for labels in self._infosets
            ],
            chance_labels=self._outcomes,
            rationals=numbers,
        )
        return with_rounded_sums(game)

    def _free(self, histories: Sequence[Labels], what: str) -> list[tuple[str, ...]]:
        """The ``histories`` as tuples of labels, if all are nodes without a statement."""
        paths = [self._find(history) for history in histories] or [()]
        for path, times in Counter(paths).items():
            who = self._who[self._node[path]]
            if who == UNSTATED and times == 1:
                continue
            has = {UNSTATED: f"this {what}", TERMINAL: "a payoff", CHANCE: "a chance move"}.get(who)
            raise GameError(
                "a game is a tree, so every history has one continuation; "
                f"{_named(path)} already has {has or f'a move of player {self._players[who]}'} "
                f"and cannot also have a {what}"
            )
        return paths

    def _find(self, history: Labels) -> tuple[str, ...]:
        """The ``history`` as a tuple of labels; an error says where it leaves the tree."""
        path = _labels(history)
        if path in self._node:
            return path
        known = next(path[:n] for n in range(len(path) - 1, -1, -1) if path[:n] in self._node)
        node, move = self._node[known], path[len(known)]
        who = self._who[node]
        if who == UNSTATED:
            why = f"{_named(known)} has no move yet; add a move there first"
        elif who == TERMINAL:
            why = f"{_named(known)} has a payoff, so the game ends there"
        else:
            moves = [other[-1] for other in self._node if other and other[:-1] == known]
            why = f"{_named(known)} continues with {_listed(moves)}, not with {move!r}"
        raise GameError(f"there is no history {' '.join(path)!r}: {why}")

    def _player_index(self, player: object) -> int:
        if str(player) in self._players:
            return self._players.index(str(player))
        raise GameError(
            f"there is no player {str(player)!r}; the players are {_listed(self._players)}"
        )

    def _grow(
        self,
        path: tuple[str, ...],
        who: int,
        infoset: int,
        moves: Sequence[str],
        probs: Sequence[float] | None = None,
    ) -> None:
        above = self._node[path]
        self._who[above], self._infoset[above] = who, infoset
        for a, move in enumerate(moves):
            self._node[(*path, move)] = len(self._who)
            self._who.append(UNSTATED)
            self._parent.append(above)
            self._action.append(a)
            self._infoset.append(NO_INFOSET)
            self._prob.append(probs[a] if probs else 1.0)

    def _add(self, path: tuple[str, ...], amounts: Sequence[Number]) -> None:
        values = as_numbers(amounts, _named(path))
        if len(values) != len(self._players) or not all(map(math.isfinite, values)):
            raise GameError(
                f"{_named(path)} must pay one finite number to each of the players "
                f"{_listed(self._players)}; got {_listed(values)}"
            )
        total = self._rewards.setdefault(self._node[path], [0.0] * len(values))
        exact = self._exact.setdefault(self._node[path], [Fraction(0)] * len(values))
        for i, (value, amount) in enumerate(zip(values, amounts, strict=True)):
            total[i] += value
            exact[i] += exact_number(amount)


def _labels(labels: Labels) -> tuple[str, ...]:
    return tuple(labels.split()) if isinstance(labels, str) else tuple(map(str, labels))


def _distinct(labels: Labels, what: str) -> tuple[str, ...]:
    row = _labels(labels)
    if not row or len(set(row)) < len(row):
        raise GameError(f"{what} must be at least one, all different; got {_listed(row)}")
    return row


def as_numbers(values: Iterable[Number], what: str) -> list[float]:
    """``values`` as floats; a payoff may also be a bool, such as ``mine == yours``.

    Raises:
        GameError: If one is not a number.
    """
    given = [int(value) if isinstance(value, bool) else value for value in values]
    try:
        return [as_number(what, value) for value in given]
    except ArgumentError:
        raise GameError(f"{what} must have numbers; got {_listed(given)}") from None


def _listed(items: Sequence[object]) -> str:
    return listed(list(map(str, items)), separator=", ") or "none"


def _named(path: Sequence[str]) -> str:
    return f"history {' '.join(path)!r}" if path else "the root"
