"""Partially observable Markov games, as in Section 2 of Song, Mei, Bai 2022.

A POMG has m players, states s, an action set A_i per player and a horizon H. The first state is
drawn from p_0. At each step h = 1, ..., H every player i sees the infoset x_i(s_h), all players
choose actions at the same time, player i gets r_{i,h}(s_h, a_h) for the joint action a_h, and the
next state is drawn from p_h(. | s_h, a_h). The play ends after step H.

The paper assumes that the states form a tree (each state is reached by one history) and that
players have perfect recall (each infoset is reached by one history of the player's own infosets and
actions). With ``tree=True`` this is checked, and the infosets are the emissions x_i(s). Otherwise
the POMG is unrolled: nodes are histories, and an infoset of player i is everything that player has
seen and done, ``x_i(s_1), a_{i,1}, ..., x_i(s_h)``. Where the paper's assumptions hold, both give
the same game.

In the game tree a simultaneous move is a sequence of hidden moves in the order of the players, the
rewards of a step are paid at the node after it, and a transition with probability one is not a
chance move. A player with a single action still has infosets, as in the paper.

Beyond the paper, plays may end early, and the actions of a player may depend on the state, as long
as they are the same wherever the player cannot tell states apart.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accord._check import Number
from accord._format import listed
from accord.errors import GameError
from accord.game.builder import GameBuilder, as_numbers
from accord.game.chance import CHANCE_TOLERANCE
from accord.game.tree import Game

State = Hashable
History = tuple[str, ...]
JointAction = tuple[Any, ...]
"""The action of each player, in the order of the players."""


@dataclass(frozen=True, kw_only=True)
class POMG:
    """A partially observable Markov game, given by functions; :meth:`from_arrays` takes arrays.

    The functions are called only for the steps, states and joint actions that some play reaches.
    Steps count from 1, players from 0. Probabilities and rewards are numbers, or fractions written
    as ``"1/3"``.

    Attributes:
        actions: The actions of each player, or their number; then they are ``0, 1, ...``. Or
            ``actions(player, state)``, which gives those in a state: none if the player does not
            move there, and then has ``None`` in the joint action. This needs ``players``.
        horizon: Number of steps of every play, at least 1.
        initial: p_0, the probability of each first state.
        transition: ``transition(h, state, joint)`` is p_h(. | state, joint), for h < horizon; an
            empty dictionary ends the play.
        reward: ``reward(h, state, joint)`` is r_{i,h}(state, joint) for every player i.
        emission: ``emission(player, state)`` is x_i(state), what the player sees.
        tree: Whether the paper's assumptions hold, so that the emissions are the infosets.
        players: Their names; by default ``"1"``, ``"2"``, ...
        name: Name of the game.
        label: ``label(state)`` is the state as chance moves show it; by default ``str(state)``.
    """

    actions: Sequence[int | Sequence[Hashable]] | Callable[[int, Any], int | Sequence[Hashable]]
    horizon: int
    initial: Mapping[Any, Number]
    transition: Callable[[int, Any, JointAction], Mapping[Any, Number]]
    reward: Callable[[int, Any, JointAction], Sequence[Number]]
    emission: Callable[[int, Any], Hashable]
    tree: bool = False
    players: Sequence[str] | None = None
    name: str = "POMG"
    label: Callable[[Any], str] = str

    @classmethod
    def from_arrays(
        cls,
        *,
        initial: ArrayLike,
        transition: ArrayLike,
        reward: ArrayLike,
        emission: ArrayLike,
        actions: Sequence[Sequence[Hashable]] | None = None,
        tree: bool = False,
        players: Sequence[str] | None = None,
        name: str = "POMG",
    ) -> POMG:
        """A POMG with states ``0..S-1``, from the paper's tables.

        Args:
            initial: ``[S]`` p_0.
            transition: ``[H, S, A_1, ..., A_m, S]`` p_h; the last step is not used.
            reward: ``[m, H, S, A_1, ..., A_m]`` r_{i,h}.
            emission: ``[m, S]`` the number of each player's infoset at each state.
            actions: Labels of each player's actions; by default their numbers.
            tree: Whether the paper's assumptions hold, so that the emissions are the infosets.
            players: Their names; by default ``"1"``, ``"2"``, ...
            name: Name of the game.
        """
        p_0, p, r, x = map(np.asarray, (initial, transition, reward, emission))
        if r.ndim < 4 or r.ndim != 3 + len(r):
            raise GameError(f"reward must have shape [m, H, S, A_1, ..., A_m]; got {r.shape}")
        m, horizon, n_states, *sizes = r.shape
        for what, table, shape in (
            ("initial", p_0, (n_states,)),
            ("transition", p, (horizon, n_states, *sizes, n_states)),
            ("emission", x, (m, n_states)),
        ):
            if table.shape != shape:
                raise GameError(
                    f"{what} must have shape {shape}, because reward has shape {r.shape}; "
                    f"got {table.shape}"
                )
        labels = [range(size) for size in sizes] if actions is None else actions
        if [len(row) for row in labels] != sizes:
            raise GameError(f"actions must be {sizes} labels, because reward has shape {r.shape}")
        number = [{a: n for n, a in enumerate(row)} for row in labels]

        def cell(h: int, state: int, joint: JointAction) -> tuple[int, ...]:
            return (h - 1, state, *(number[i][a] for i, a in enumerate(joint)))

        return cls(
            actions=labels,
            horizon=horizon,
            initial=dict(enumerate(p_0.tolist())),
            transition=lambda h, s, joint: dict(enumerate(p[cell(h, s, joint)].tolist())),
            reward=lambda h, s, joint: [table[cell(h, s, joint)] for table in r],
            emission=lambda i, s: int(x[i, s]),
            tree=tree,
            players=players,
            name=name,
        )

    def game(self) -> Game:
        """The game tree.

        Raises:
            GameError: If probabilities are not a distribution or rewards are not finite; with
                ``tree=True`` also if a state has two histories or a player does not have perfect
                recall.
        """
        if self.horizon < 1:
            raise GameError(f"a POMG must have a horizon of at least 1; got {self.horizon}")
        names = self._names()
        b = GameBuilder(self.name, players=names)
        infosets = [_InfosetLabels(name, self.tree) for name in names]
        history_of: dict[State, History] = {}
        starts = _draw(b, (), self.initial, "p_0", self.label)
        nothing: tuple[tuple[Hashable, ...], ...] = ((),) * len(names)
        todo = deque((1, history, state, nothing) for history, state in starts)
        while todo:
            h, history, state, memories = todo.popleft()
            if self.tree and history_of.setdefault(state, history) != history:
                raise GameError(
                    f"with tree=True every state must have one history; state {state!r} is reached "
                    f"by {' '.join(history_of[state])!r} and by {' '.join(history)!r}"
                )
            seen = [(*memory, self.emission(i, state)) for i, memory in enumerate(memories)]
            moves = [self._moves(i, state) for i in range(len(names))]
            acting = [i for i, own in enumerate(moves) if own or not callable(self.actions)]
            for place, i in enumerate(acting):
                before = product(*(moves[j] for j in acting[:place]))
                nodes = [(*history, *map(str, done)) for done in before]
                label = infosets[i].label(seen[i])
                b.move(*nodes, player=names[i], infoset=label, actions=moves[i])
            for taken in product(*(moves[i] for i in acting)):
                after = (*history, *map(str, taken))
                chosen = dict(zip(acting, taken, strict=True))
                joint = tuple(chosen.get(i) for i in range(len(names)))
                rewards = list(self.reward(h, state, joint))
                values = as_numbers(rewards, f"r_{h}({state}, {joint})")
                later = self.transition(h, state, joint) if h < self.horizon else {}
                if isinstance(later, Mapping) and not later:
                    b.payoff(after, *rewards)
                    continue
                if len(rewards) != len(names) or any(values):
                    b.reward(after, *rewards)
                what = f"p_{h}(. | {state}, {' '.join(map(str, taken))})"
                done = tuple(
                    (*view, chosen[i]) if i in chosen else view for i, view in enumerate(seen)
                )
                for then, following in _draw(b, after, later, what, self.label):
                    todo.append((h + 1, then, following, done))
        return b.build()

    def _names(self) -> tuple[str, ...]:
        """The names of the players."""
        if callable(self.actions):
            if not self.players:
                raise GameError(
                    "a POMG whose actions depend on the state must name its players; give "
                    'players=["1", "2"]'
                )
            return tuple(map(str, self.players))
        names = tuple(map(str, self.players or range(1, len(self.actions) + 1)))
        if len(names) != len(self.actions):
            raise GameError(
                "a POMG must have a set of actions for each player; got "
                f"{len(self.actions)} sets for {len(names)} players"
            )
        return names

    def _moves(self, player: int, state: State) -> tuple[Hashable, ...]:
        """The actions of a player in a state."""
        own = self.actions(player, state) if callable(self.actions) else self.actions[player]
        return tuple(range(own)) if isinstance(own, int) else tuple(own)


class _InfosetLabels:
    """Labels of one player's infosets, made of the player's observations and actions."""

    def __init__(self, player: str, tree: bool) -> None:
        self.player, self.tree = player, tree
        self.memory_of: dict[str, Hashable] = {}

    def label(self, memory: tuple[Hashable, ...]) -> str:
        key = memory[-1] if self.tree else memory
        label = str(key) if self.tree else " ".join(map(str, memory))
        if self.memory_of.setdefault(label, key) != key:
            raise GameError(
                "different infosets must have different labels; player "
                f"{self.player} has two called {label!r}: {self.memory_of[label]!r} and {key!r}"
            )
        return label


def _draw(
    b: GameBuilder,
    history: History,
    distribution: Mapping[State, Number],
    what: str,
    label: Callable[[Any], str],
) -> list[tuple[History, State]]:
    """Let chance draw a state after ``history``; return the possible states and their histories."""
    if not isinstance(distribution, Mapping):
        raise GameError(
            f"{what} must be a dictionary of states and their probabilities; got {distribution!r}; "
            "if one state is certain, give {state: 1.0}"
        )
    numbers = as_numbers(distribution.values(), what)
    probs = {state: p for state, p in zip(distribution, numbers, strict=True) if p != 0}
    total = math.fsum(probs.values())
    if not all(p > 0 for p in probs.values()) or not abs(total - 1.0) <= CHANCE_TOLERANCE:
        raise GameError(
            f"{what} must be a distribution, non-negative with sum one; got "
            + listed([f"{state}: {p}" for state, p in probs.items()], separator=", ")
        )
    if len(probs) == 1:
        return [(history, state) for state in probs]
    labels = [str(label(state)) for state in probs]
    if len(set(labels)) < len(labels):
        raise GameError(f"different states must have different labels; {what} has {labels}")
    given = [distribution[state] for state in probs]
    b.chance(dict(zip(labels, given, strict=True)), history)
    return [((*history, label), state) for label, state in zip(labels, probs, strict=True)]
