"""Games that can only be played: what an environment must offer, and finding its players' trees.

Learning from bandit feedback needs no rules. It needs somebody to play with, and for each player
her own treeplex: which infosets there are, which actions at each, and which infoset may follow
which of her own moves. An :class:`Environment` is played one move at a time; :func:`discover` finds
the treeplexes,

* by going through every move of every player and of chance, if the environment can be cloned, its
  chance is explicit, and it is not too large: then nothing is missed;
* else by playing, in ways that explore, until many plays in a row have shown nothing new. Then what
  is rare may be missed. Learning stops with an error that says so when it sees an infoset that is
  not in the tree. A tree that grows too large is refused.

What a player is told when she is to move must hold everything that she has seen and done before
(perfect recall); this is checked. Infosets are numbered layer by layer, those that follow the same
move in the order of their labels, so it does not matter in which order they were found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from accord.errors import (
    ArgumentError,
    BudgetError,
    GameError,
    ImperfectRecallError,
    MismatchError,
)
from accord.game.labels import player_name
from accord.game.tree import CHANCE, TERMINAL
from accord.treeplex.treeplex import EMPTY_SEQUENCE, NO_INFOSET, Floats, Treeplex

MAX_NODES = 200_000
"""Moves that :func:`discover` goes through before it plays instead."""

MAX_INFOSETS = 100_000
"""Infosets, of all players together, at which :func:`discover` stops playing and gives up."""

PATIENCE = 10_000
"""Plays in a row that must show nothing new before :func:`discover` believes to know the trees."""


@runtime_checkable
class Environment(Protocol):
    """A game that can only be played. Anything with these attributes and methods is one.

    Two methods are optional. An environment whose :meth:`turn` may be ``CHANCE`` needs
    ``probabilities() -> Sequence[float]``, those of its ``actions()`` there, and is told by
    :meth:`step` what was drawn; others draw what they need from the generator given to
    :meth:`reset`. One that has ``clone() -> Environment``, an independent copy of the present
    state, and leaves all chance to its caller in this way, can be traversed by :func:`discover`.

    Attributes:
        name: How the game is called in files and reports.
        players: Their names, in the order of payoffs.
        payoff_bounds: ``(worst, best)`` of each player: no play may pay less, or more.
    """

    name: str
    players: Sequence[str]
    payoff_bounds: Sequence[tuple[float, float]]

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a new play. Whatever is random must be drawn from ``rng``."""

    def turn(self) -> int:
        """The number of the player to move, from 0; ``TERMINAL`` (-2) when the play is over."""

    def infoset(self) -> str:
        """All that the player to move has seen and done, as a label."""

    def actions(self) -> Sequence[str]:
        """Labels of her actions; the same whenever the infoset is the same."""

    def step(self, action: int) -> None:
        """Take the action with this number, from 0."""

    def payoffs(self) -> Sequence[float]:
        """What the play has paid each player, when it is over."""


@dataclass
class OwnTree:
    """What is known of one player's infosets: what leads to each, and what can be done there."""

    player: str
    parent: dict[str, tuple[str, int] | None] = field(default_factory=dict)
    actions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def see(self, infoset: str, actions: Sequence[str], before: tuple[str, int] | None) -> bool:
        """Note an infoset, the actions there and the own move before it; whether it is new.

        Raises:
            GameError: If the infoset was seen with other actions, or has none.
            ImperfectRecallError: If it was seen after another move.
        """
        here = tuple(actions)
        if not isinstance(infoset, str) or not here or len(set(here)) < len(here):
            raise GameError(
                f"{player_name(self.player)}: an infoset must be a string with one or more "
                f"distinct actions; got {infoset!r} with {here}"
            )
        if infoset not in self.parent:
            self.parent[infoset], self.actions[infoset] = before, here
            return True
        if self.parent[infoset] != before:
            raise ImperfectRecallError(
                self.player,
                infoset,
                (self._history(self.parent[infoset]), self._history(before)),
            )
        if self.actions[infoset] != here:
            raise GameError(
                f"{player_name(self.player)}, infoset {infoset!r}: the actions must always be the "
                f"same; got {here} after {self.actions[infoset]}"
            )
        return False

    def treeplex(self) -> Treeplex:
        """The infosets layer by layer."""
        return treeplex_from_parents(self.parent, self.actions)

    def _history(self, before: tuple[str, int] | None) -> tuple[tuple[str, str], ...]:
        moves: list[tuple[str, str]] = []
        while before is not None:
            infoset, action = before
            moves.append((infoset, self.actions[infoset][action]))
            before = self.parent[infoset]
        return tuple(reversed(moves))


def treeplex_from_parents(
    parent: Mapping[str, tuple[str, int] | None], actions: Mapping[str, Sequence[str]]
) -> Treeplex:
    """A treeplex from labels: before each infoset the own infoset and action, or ``None``.

    Infosets are numbered layer by layer, within a layer by the move before them, then by label.

    Raises:
        GameError: If an infoset follows one that is not there, or follows itself.
    """
    below: dict[tuple[str, int] | None, list[str]] = {}
    for infoset, before in parent.items():
        below.setdefault(before, []).append(infoset)
    order: list[str] = []
    layer = sorted(below.get(None, []))
    while layer:
        order += layer
        moves = [(infoset, a) for infoset in layer for a in range(len(actions[infoset]))]
        layer = [infoset for move in moves for infoset in sorted(below.get(move, []))]
    if len(order) < len(parent):
        lost = min(set(parent) - set(order))
        raise GameError(f"infoset {lost!r} must follow an own move, or none; got {parent[lost]}")
    number = {infoset: x for x, infoset in enumerate(order)}
    moves_before = [parent[infoset] for infoset in order]
    return Treeplex.from_parents(
        [len(actions[infoset]) for infoset in order],
        [NO_INFOSET if move is None else number[move[0]] for move in moves_before],
        [0 if move is None else move[1] for move in moves_before],
        order,
        [tuple(actions[infoset]) for infoset in order],
    )


def discover(
    env: Environment,
    *,
    max_nodes: int = MAX_NODES,
    max_infosets: int = MAX_INFOSETS,
    patience: int = PATIENCE,
    seed: int = 0,
) -> tuple[Treeplex, ...]:
    """The treeplex of each player of ``env``.

    Args:
        env: The environment; its present play is lost.
        max_nodes: How many moves to go through, if it can be cloned, before giving up and playing.
        max_infosets: How many infosets, of all players together, plays may show.
        patience: How many plays in a row must show nothing new.
        seed: Of those plays.

    Raises:
        ArgumentError: If an argument is out of range.
        BudgetError: If plays show more than ``max_infosets`` infosets.
        GameError: If the environment is no game with perfect recall.
    """
    if max_nodes < 0 or max_infosets < 1 or patience < 1:
        raise ArgumentError(
            "discover(): max_nodes must be 0 or more, max_infosets and patience 1 or more; "
            f"got {max_nodes}, {max_infosets} and {patience}"
        )
    rng = np.random.default_rng(seed)
    trees = _traversed(env, max_nodes, rng) if getattr(env, "clone", None) else None
    if trees is None:
        trees = _played(env, max_infosets, patience, rng)
    return tuple(tree.treeplex() for tree in trees)


def _traversed(env: Any, max_nodes: int, rng: np.random.Generator) -> list[OwnTree] | None:
    """All infosets, or None if there are more than ``max_nodes`` moves to go through."""
    trees = [OwnTree(str(name)) for name in env.players]
    env.reset(rng)
    Moves = tuple[tuple[str, int] | None, ...]  # the last own move of each player
    rest: list[tuple[Any, Moves]] = [(env.clone(), (None,) * len(trees))]
    seen = 0
    while rest:
        state, moves = rest.pop()
        i = whose_turn(state)
        if i == TERMINAL:
            continue
        if i == CHANCE:
            possible = [a for a, prob in enumerate(chance_law(state)) if prob > 0]
        else:
            label, actions = state.infoset(), state.actions()
            trees[i].see(label, actions, moves[i])
            possible = list(range(len(actions)))
        seen += len(possible)
        if seen > max_nodes:
            return None
        for a in possible:
            after = state.clone()
            after.step(a)
            own = moves if i == CHANCE else (*moves[:i], (label, a), *moves[i + 1 :])
            rest.append((after, own))
    return trees


def _played(env: Any, max_infosets: int, patience: int, rng: np.random.Generator) -> list[OwnTree]:
    """What plays show in which every player explores.

    At each infoset she takes an action in proportion to one more than the infosets known below it,
    as the balanced exploration policies do: so long corridors are walked to their ends.
    """
    trees = [OwnTree(str(name)) for name in env.players]
    tried: list[dict[str, np.ndarray]] = [{} for _ in trees]
    known: list[dict[str, np.ndarray]] = [{} for _ in trees]
    quiet = found = 0
    while quiet < patience:
        quiet += 1
        env.reset(rng)
        moves: list[list[tuple[str, int]]] = [[] for _ in trees]
        fresh: list[list[bool]] = [[] for _ in trees]
        while (i := whose_turn(env)) != TERMINAL:
            if i == CHANCE:
                env.step(draw_chance(env, rng))
                continue
            label, actions = env.infoset(), env.actions()
            fresh[i].append(trees[i].see(label, actions, moves[i][-1] if moves[i] else None))
            if fresh[i][-1]:
                tried[i][label] = np.zeros(len(actions))
                known[i][label] = np.ones(len(actions))
                quiet = 0
                found += 1
                if found > max_infosets:
                    raise BudgetError(
                        f"{env.name} must have at most max_infosets = {max_infosets:,} infosets, "
                        "of all players together, but plays show more and more; call "
                        "discover(env, max_infosets=...) with more and give learn() its plexes, or "
                        "choose a smaller environment",
                        found,
                        max_infosets,
                    )
            share = tried[i][label] / known[i][label]
            action = int(rng.choice(np.flatnonzero(share == share.min())))
            tried[i][label][action] += 1
            moves[i].append((label, action))
            env.step(action)
        for i in range(len(trees)):
            below = 0
            for (label, action), new in zip(reversed(moves[i]), reversed(fresh[i]), strict=True):
                known[i][label][action] += below
                below += new
    return trees


def whose_turn(env: Any) -> int:
    """``env.turn()``, refused if it is nobody's.

    Raises:
        GameError: If it is no player, nor ``CHANCE``, nor ``TERMINAL``.
    """
    i = env.turn()
    if i not in range(TERMINAL, len(env.players)):
        raise GameError(
            f"{env.name}: turn() must be a player, 0 to {len(env.players) - 1}, CHANCE ({CHANCE}) "
            f"or TERMINAL ({TERMINAL}); got {i!r}"
        )
    return int(i)


def chance_law(env: Any) -> Sequence[float]:
    """The probabilities of chance's moves.

    Raises:
        GameError: If the environment does not tell.
    """
    if not hasattr(env, "probabilities"):
        raise GameError(
            f"{env.name}: an environment whose turn() is CHANCE ({CHANCE}) must have "
            f"probabilities(); for the end of a play return TERMINAL ({TERMINAL})"
        )
    law: Sequence[float] = env.probabilities()
    return law


def draw_chance(env: Any, rng: np.random.Generator) -> int:
    """What chance does where ``env`` leaves it to its caller."""
    law = np.cumsum(chance_law(env))
    if not abs(law[-1] - 1.0) < 1e-6:
        raise GameError(
            f"{env.name}: the probabilities of chance must sum to one; they sum to {law[-1]}"
        )
    return int(np.searchsorted(law, rng.random() * law[-1], side="right"))


def checked_bounds(env: Any) -> tuple[Floats, Floats]:
    """``[n_players]`` the worst and the best payoffs that ``env`` states.

    Raises:
        GameError: If they are not finite, or the wrong way round.
    """
    try:
        bounds = np.array(env.payoff_bounds, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.shape != (len(env.players), 2) or not np.isfinite(bounds).all():
        raise GameError(
            f"{env.name}: payoff_bounds must be finite (worst, best), one pair per player; "
            f"got {env.payoff_bounds!r}"
        )
    worst, best = bounds.T
    if (worst > best).any():
        raise GameError(
            f"{env.name}: the worst payoff must not exceed the best; got {env.payoff_bounds!r}"
        )
    return worst, best


class Table:
    """One environment whose players' treeplexes are known; where plays are played.

    It translates labels to numbers and payoffs to losses, and refuses what cannot be.
    """

    def __init__(self, env: Environment, plexes: Sequence[Treeplex]) -> None:
        self.env, self.plexes = env, tuple(plexes)
        self.players = tuple(map(str, env.players))
        if not self.players or len(self.plexes) != len(self.players):
            raise MismatchError(
                f"{env.name} has {len(self.players)} players; got {len(self.plexes)} treeplexes"
            )
        self.worst, self.best = checked_bounds(env)
        self._number = [
            {label: x for x, label in enumerate(plex.infoset_labels)} for plex in self.plexes
        ]
        self._checked = [np.zeros(plex.n_infosets, bool) for plex in self.plexes]
        self._first_seq = [plex.first_seq.tolist() for plex in self.plexes]
        self._parent_seq = [plex.parent_seq.tolist() for plex in self.plexes]

    def play(self, rng: np.random.Generator, act: Any) -> Sequence[float]:
        """One play in which player i at infoset x does ``act(i, x)``; its payoffs."""
        env = self.env
        env.reset(rng)
        last = [EMPTY_SEQUENCE] * len(self.plexes)
        while (i := whose_turn(env)) != TERMINAL:
            if i == CHANCE:
                env.step(draw_chance(env, rng))
                continue
            label = env.infoset()
            x = self._number[i].get(label, NO_INFOSET) if isinstance(label, str) else NO_INFOSET
            if x == NO_INFOSET or self._parent_seq[i][x] != last[i] or not self._checked[i][x]:
                self._check(i, x, label, last[i])
            action = act(i, x)
            last[i] = self._first_seq[i][x] + action
            env.step(action)
        return env.payoffs()

    def losses(self, payoffs: Sequence[float]) -> list[float]:
        """Payoffs of a play as losses in [0, 1].

        Raises:
            GameError: If one is not finite, or outside its bounds, or there is not one per player.
        """
        if np.shape(payoffs) != (len(self.players),):
            raise GameError(
                f"{self.env.name}: payoffs() must be one number per player, "
                f"{len(self.players)}; got {payoffs!r}"
            )
        losses = []
        for i, (u, worst, best) in enumerate(zip(payoffs, self.worst, self.best, strict=True)):
            if not _is_finite(u):
                raise GameError(
                    f"{self.env.name}: payoffs() must be finite numbers; "
                    f"{player_name(self.players[i])} was paid {u!r}"
                )
            span = best - worst
            if not worst - 1e-9 * span <= u <= best + 1e-9 * span:
                raise GameError(
                    f"{self.env.name}: {player_name(self.players[i])} was paid {u}, outside the "
                    f"payoff_bounds ({worst:g}, {best:g}) that the environment states; widen them"
                )
            losses.append(min(1.0, max(0.0, float(best - u) / span)) if span > 0 else 0.0)
        return losses

    def _check(self, i: int, x: int, label: str, last: int) -> None:
        """Raise what is wrong with an infoset, or note that nothing is."""
        plex, player = self.plexes[i], self.players[i]
        if x == NO_INFOSET:
            raise MismatchError(
                f"{self.env.name}: {player_name(player)} was shown {label!r}, which is no infoset "
                "of her treeplex; discover(env, patience=...) with more patience, or give the "
                "whole treeplex yourself"
            )
        if int(plex.parent_seq[x]) != last:
            histories = (self._own(i, int(plex.parent_seq[x])), self._own(i, last))
            raise ImperfectRecallError(player, label, histories)
        actions = tuple(self.env.actions())
        if actions != tuple(plex.action_labels[x]):
            raise MismatchError(
                f"{self.env.name}: {player_name(player)}, infoset {label!r}: her treeplex has the "
                f"actions {tuple(plex.action_labels[x])}; the environment has {actions}"
            )
        self._checked[i][x] = True

    def _own(self, i: int, seq: int) -> tuple[tuple[str, str], ...]:
        plex = self.plexes[i]
        if seq == EMPTY_SEQUENCE:
            return ()
        x = int(plex.seq_infoset[seq])
        pairs = [*plex.history(x), (x, seq - int(plex.first_seq[x]))]
        return tuple((plex.infoset_labels[y], plex.action_labels[y][a]) for y, a in pairs)


def _is_finite(u: Any) -> bool:
    try:
        return math.isfinite(u)
    except (TypeError, OverflowError):
        return False


def is_environment(thing: object) -> bool:
    """Whether ``thing`` has all that an environment must have."""
    return not isinstance(thing, type) and not missing_attributes(thing)


def missing_attributes(thing: object) -> tuple[str, ...]:
    """Those attributes and methods of an environment that ``thing`` does not have."""
    methods = (name for name in vars(Environment) if not name.startswith("_"))
    needed = (*Environment.__annotations__, *methods)
    return tuple(name for name in needed if getattr(thing, name, None) is None)
